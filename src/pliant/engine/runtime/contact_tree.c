/* Candidates for contacts: items that are close to each other.
 *
 * Each shape has a tree of bounding boxes over its items, whose order keeps neighbours together: the halves of a run of items are
 * its
 * branches. Overlapping boxes of shapes are found by sorting them along one axis, then their trees are compared. Boxes are
 * enlarged by
 * half a margin, and candidates are listed again when something has moved by this distance. The list does not affect results, which
 * depend on the state alone.
 *
 * A shape on one node is rigid. If it is large, its boxes move like their extreme corners, and only the vertices needed for
 * candidates
 * are placed. A shape on the world is placed once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact_geometry.h"
#include "spatial.h"

enum { LEAF = 4, FEW = 8 };  /* items of a leaf; rigid shapes with more vertices are large */
#define FAR 10.0             /* fraction of the robot's size: larger items are ignored in the choice of the margin */
#define LEAST_MARGIN 1e-4    /* of the robot's size */

static int is_static(const pl_tables *T, int shape) { return T->shape_node[shape] == 0; }
static int is_large(const pl_tables *T, int shape) {
  return T->shape_node[shape] > 0 && T->shape_vertex[shape + 1] - T->shape_vertex[shape] > FEW;
}

static void place_vertex(pl_work *w, int i) {
  const int node = w->T->vertex_node[i];
  double *x = place_of(w, i);
  rotate3(w->R + 9 * node, w->theta + w->T->vertex_theta[i], x);
  for (int k = 0; k < 3; ++k) x[k] += w->p[3 * node + k];
}

static void place_shape(pl_work *w, int shape) {
  for (int i = w->T->shape_vertex[shape]; i < w->T->shape_vertex[shape + 1]; ++i) place_vertex(w, i);
}

/* -- boxes ------------------------------------------------------------------------------------------------------------ */

static void empty(double *box) {
  for (int k = 0; k < 3; ++k) box[k] = INFINITY, box[3 + k] = -INFINITY;
}

static void include(double *box, const double *other) {
  for (int k = 0; k < 3; ++k) box[k] = fmin(box[k], other[k]), box[3 + k] = fmax(box[3 + k], other[3 + k]);
}

static int overlap(const double *a, const double *b) {
  for (int k = 0; k < 3; ++k)
    if (a[k] > b[3 + k] || b[k] > a[3 + k]) return 0;
  return 1;
}

static double *box_of(const pl_work *w, int item) { return w->contacts->box + 6 * (size_t)item; }

/* Depth up to which exits of a solid are searched for [m]. */
static double depth_of(const pl_work *w, int shape) {
  return w->T->shape_closed[shape] ? w->theta[w->T->shape_theta[shape]] : 0;
}

static void find_box(const pl_work *w, int item, double more) {
  const int *vertex = w->T->item_vertex + 3 * item;
  double *box = box_of(w, item);
  empty(box);
  for (int j = 0; j < 3 && vertex[j] >= 0; ++j) {
    const double *x = place_of(w, vertex[j]), reach = number_of(w, vertex[j], VERTEX_RADIUS) + more;
    for (int k = 0; k < 3; ++k) box[k] = fmin(box[k], x[k] - reach), box[3 + k] = fmax(box[3 + k], x[k] + reach);
  }
}

/* A run of items: its branches are runs [first, mid) at node + 1 and [mid, last) after them. */
typedef struct {
  int first, last;
  double *box;
} run;

static run whole(const pl_work *w, int shape) {
  const int first = w->T->shape_item[shape];
  return PL_VALUE(run){first, w->T->shape_item[shape + 1], w->contacts->tree + 12 * (size_t)first};
}

static int split(run r, run *left, run *right) {
  if (r.last - r.first <= LEAF) return 0;
  const int mid = (r.first + r.last) / 2;
  *left = PL_VALUE(run){r.first, mid, r.box + 6};
  *right = PL_VALUE(run){mid, r.last, r.box + 12 * (size_t)(mid - r.first)};
  return 1;
}

static void fit(const pl_work *w, run r) {
  run left, right;
  empty(r.box);
  if (split(r, &left, &right)) {
    fit(w, left), fit(w, right);
    include(r.box, left.box), include(r.box, right.box);
  } else
    for (int i = r.first; i < r.last; ++i) include(r.box, box_of(w, i));
}

static void find_boxes(pl_work *w, int shape) {
  const pl_tables *T = w->T;
  const double more = depth_of(w, shape) + 0.5 * w->contacts->margin;
  for (int i = T->shape_item[shape]; i < T->shape_item[shape + 1]; ++i) find_box(w, i, more);
  if (T->shape_item[shape + 1] > T->shape_item[shape]) fit(w, whole(w, shape));
}

/* A quarter of the typical size of a moving item. */
static double find_margin(pl_work *w) {
  const pl_tables *T = w->T;
  const double robot = pl_reach(w);
  double sum = 0;
  int count = 0;
  for (int shape = 0; shape < T->n_shape; ++shape) {
    if (is_static(T, shape)) continue;
    for (int i = T->shape_item[shape]; i < T->shape_item[shape + 1]; ++i) {
      find_box(w, i, 0);
      double size = 0;
      for (int k = 0; k < 3; ++k) size += (box_of(w, i)[3 + k] - box_of(w, i)[k]) / 3;
      if (size < FAR * robot) sum += size, count++;
    }
  }
  return fmax(fmax(count ? 0.25 * sum / count : 0, LEAST_MARGIN * robot), w->contacts->reach);
}

/* -- pairs ------------------------------------------------------------------------------------------------------------ */

static int make_room(pl_contacts *c, pl_pair_list *list, int n) {
  if (n <= list->capacity) return 0;
  int *grown = (int *)realloc(list->pair, 4 * (size_t)n * sizeof(int));
  if (!grown) return c->failed = 1;
  list->pair = grown, list->capacity = 2 * n;
  return 0;
}

static int add(pl_contacts *c, pl_pair_list *list, int i, int j) {
  if (list->n == list->capacity && make_room(c, list, list->n + 32)) return 1;
  list->pair[2 * list->n] = i, list->pair[2 * list->n + 1] = j;
  list->n++;
  return 0;
}

/* Neighbouring items of one shape never touch: consecutive ones of a chain, else those that share a vertex. */
static int are_neighbours(const pl_tables *T, int i, int j) {
  const int shape = T->item_shape[i];
  if (is_chain(T, shape)) return abs(i - j) <= T->shape_skip[shape];
  for (int a = 0; a < size_of(T, i); ++a)
    for (int b = 0; b < size_of(T, j); ++b)
      if (T->item_vertex[3 * i + a] == T->item_vertex[3 * j + b]) return 1;
  return 0;
}

static void pair_leaves(pl_work *w, run a, run b, int same) {
  for (int i = a.first; i < a.last; ++i)
    for (int j = same ? i + 1 : b.first; j < b.last; ++j) {
      if (!overlap(box_of(w, i), box_of(w, j))) continue;
      if (w->T->item_shape[i] == w->T->item_shape[j] && are_neighbours(w->T, i, j)) continue;
      if (add(w->contacts, &w->contacts->items, i < j ? i : j, i < j ? j : i)) return;
    }
}

static void pair_runs(pl_work *w, run a, run b) {
  run left, right;
  if (!overlap(a.box, b.box)) return;
  const int larger = a.last - a.first >= b.last - b.first;
  if (split(larger ? a : b, &left, &right)) {
    pair_runs(w, larger ? left : a, larger ? b : left);
    pair_runs(w, larger ? right : a, larger ? b : right);
  } else
    pair_leaves(w, a, b, 0);
}

static void pair_within(pl_work *w, run r) {
  run left, right;
  if (split(r, &left, &right)) {
    pair_within(w, left), pair_within(w, right);
    pair_runs(w, left, right);
  } else
    pair_leaves(w, r, r, 1);
}

int pl_is_excluded(const pl_tables *T, int a, int b) {
  const int key = a < b ? a * T->n_shape + b : b * T->n_shape + a;
  int low = 0, high = T->n_excluded;
  while (low < high) {
    const int mid = (low + high) / 2;
    if (T->excluded[mid] < key) low = mid + 1;
    else high = mid;
  }
  return low < T->n_excluded && T->excluded[low] == key;
}

/* Whether two shapes can touch at all, by one law only or, with -1, any. */
static int may_touch(const pl_tables *T, int only, int a, int b) {
  const int law = law_between(T, a, b);
  if (law < 0 || (only >= 0 && law != only)) return 0;
  return !(T->shape_node[a] >= 0 && T->shape_node[a] == T->shape_node[b]) && !pl_is_excluded(T, a, b);
}

static int by_low_end(const void *a, const void *b) {
  const pl_extended *x = (const pl_extended *)a, *y = (const pl_extended *)b;
  return x->low != y->low ? (x->low > y->low) - (x->low < y->low) : x->shape - y->shape;
}

/* Shapes in the order of their lower ends along an axis. */
static void sort_shapes(pl_work *w, int axis) {
  pl_contacts *c = w->contacts;
  for (int i = 0; i < c->n_order; ++i) {
    const double *box = whole(w, c->order[i].shape).box;
    c->order[i].low = box[axis];
    memcpy(c->order[i].box, box, sizeof c->order[i].box);
  }
  qsort(c->order, c->n_order, sizeof *c->order, by_low_end);
}

static int widest_axis(const pl_work *w) {
  const pl_tables *T = w->T;
  double all[6];
  int axis = 0;
  empty(all);
  for (int shape = 0; shape < T->n_shape; ++shape)
    if (!is_static(T, shape) && T->shape_item[shape + 1] > T->shape_item[shape]) include(all, whole(w, shape).box);
  for (int k = 1; k < 3; ++k)
    if (all[3 + k] - all[k] > all[3 + axis] - all[axis]) axis = k;
  return axis;
}

static void pair_shapes(pl_work *w) {
  const pl_tables *T = w->T;
  const pl_extended *order = w->contacts->order;
  const int n = w->contacts->n_order, axis = widest_axis(w), only = w->contacts->only;
  sort_shapes(w, axis);
  for (int s = 0; s < n; ++s) {
    const pl_extended *a = order + s;
    if (T->shape_node[a->shape] < 0 && may_touch(T, only, a->shape, a->shape)) pair_within(w, whole(w, a->shape));
    for (const pl_extended *b = a + 1; b < order + n && b->low <= a->box[3 + axis]; ++b)
      if (overlap(a->box, b->box) && may_touch(T, only, a->shape, b->shape)) pair_runs(w, whole(w, a->shape), whole(w, b->shape));
  }
}

/* Sort pairs by their numbers: counting sort by the first ones, then among the few with the same first number. */
static void sort_pairs(pl_work *w) {
  pl_contacts *c = w->contacts;
  const int n = c->items.n;
  int *pair = c->items.pair, *begin = c->count_of_item;
  if (!n || make_room(c, &c->unsorted, n)) return;
  const int *from = (const int *)memcpy(c->unsorted.pair, pair, 2 * (size_t)n * sizeof(int));
  memset(begin, 0, ((size_t)w->T->n_item + 1) * sizeof(int));
  for (int k = 0; k < n; ++k) begin[from[2 * k] + 1]++;
  for (int i = 0; i < w->T->n_item; ++i) begin[i + 1] += begin[i];
  for (int k = 0; k < n; ++k) memcpy(pair + 2 * begin[from[2 * k]]++, from + 2 * k, 2 * sizeof(int));
  for (int k = 1; k < n; ++k) {
    const int i = pair[2 * k], j = pair[2 * k + 1];
    int at = k;
    for (; at > 0 && pair[2 * at - 2] == i && pair[2 * at - 1] > j; --at) pair[2 * at + 1] = pair[2 * at - 1];
    pair[2 * at + 1] = j;
  }
}

/* Vertices close to a plane; a moving plane may touch any. */
static void pair_plane(pl_work *w, int plane) {
  const pl_tables *T = w->T;
  const int origin = T->shape_vertex[plane];
  double n[3], y[3];
  rotate3(w->R + 9 * T->vertex_node[origin], w->theta + T->shape_theta[plane], n);
  for (int shape = 0; shape < T->n_shape; ++shape) {
    if (T->shape_kind[shape] == PL_SHAPE_PLANE || !may_touch(T, w->contacts->only, shape, plane)) continue;
    for (int v = T->shape_vertex[shape]; v < T->shape_vertex[shape + 1]; ++v) {
      difference(place_of(w, v), place_of(w, origin), y);
      const double reach = number_of(w, v, VERTEX_RADIUS) + w->contacts->margin;
      if (T->vertex_node[v] == T->vertex_node[origin]) continue;
      if ((!is_static(T, plane) || dot3(n, y) < reach) && add(w->contacts, &w->contacts->planes, v, origin)) return;
    }
  }
}

static int by_numbers(const void *a, const void *b) {
  const int *x = (const int *)a, *y = (const int *)b;
  return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* -- vertices of large rigid shapes ----------------------------------------------------------------------------------- */

static void need(pl_work *w, int vertex) {
  pl_contacts *c = w->contacts;
  if (c->is_live[vertex] || !is_large(w->T, w->T->vertex_shape[vertex])) return;
  c->is_live[vertex] = 1, c->live[c->n_live++] = vertex;
}

/* Place the vertices needed for a vertex: those of all adjacent items. */
static void need_around(pl_work *w, int vertex) {
  const pl_tables *T = w->T;
  need(w, vertex);
  for (int k = T->around_begin[vertex]; k < T->around_begin[vertex + 1]; ++k)
    for (int j = 0; j < size_of(T, T->around[k]); ++j) need(w, T->item_vertex[3 * T->around[k] + j]);
}

static void find_live(pl_work *w) {
  pl_contacts *c = w->contacts;
  for (int i = 0; i < c->n_live; ++i) c->is_live[c->live[i]] = 0;
  c->n_live = 0;
  for (int k = 0; k < 2 * c->items.n; ++k)
    for (int j = 0; j < size_of(w->T, c->items.pair[k]); ++j) need_around(w, w->T->item_vertex[3 * c->items.pair[k] + j]);
  for (int k = 0; k < 2 * c->planes.n; ++k) need_around(w, c->planes.pair[k]);
}

/* The box around a large rigid shape in the axes of its node, and the positions of its corners. */
static void find_frame(pl_work *w, int shape) {
  const pl_tables *T = w->T;
  double *box = w->contacts->frame + 6 * (size_t)shape;
  empty(box);
  for (int v = T->shape_vertex[shape]; v < T->shape_vertex[shape + 1]; ++v) {
    const double *x = w->theta + T->vertex_theta[v], point[6] = {x[0], x[1], x[2], x[0], x[1], x[2]};
    include(box, point);
  }
}

static void find_corners(const pl_work *w, int shape, const double *R, const double *p, double *corner) {
  const int node = w->T->shape_node[shape];
  const double *box = w->contacts->frame + 6 * (size_t)shape;
  for (int k = 0; k < 8; ++k, corner += 3) {
    const double local[3] = {box[k & 1 ? 3 : 0], box[k & 2 ? 4 : 1], box[k & 4 ? 5 : 2]};
    rotate3(R + 9 * node, local, corner);
    for (int l = 0; l < 3; ++l) corner[l] += p[3 * node + l];
  }
}

/* -- the list --------------------------------------------------------------------------------------------------------- */

/* Largest motion within a step that cannot pass through anything [m]. */
static double find_thinnest(const pl_work *w) {
  const pl_tables *T = w->T;
  double thinnest = INFINITY;
  for (int shape = 0; shape < T->n_shape; ++shape)
    for (int v = T->shape_vertex[shape]; v < T->shape_vertex[shape + 1] && T->shape_kind[shape] != PL_SHAPE_PLANE; ++v)
      thinnest = fmin(thinnest, number_of(w, v, VERTEX_RADIUS) + depth_of(w, shape));
  return thinnest;
}

static void place_all(pl_work *w) {
  for (int shape = 0; shape < w->T->n_shape; ++shape)
    if (w->contacts->listed == PL_NOTHING_LISTED || !is_static(w->T, shape)) place_shape(w, shape);
}

static void make_list(pl_work *w) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  const int first = c->listed == PL_NOTHING_LISTED;
  c->items.n = c->planes.n = 0;
  place_all(w);
  if (first) c->margin = find_margin(w), c->thinnest = find_thinnest(w);
  for (int shape = 0; shape < T->n_shape; ++shape)
    if (first || !is_static(T, shape)) find_boxes(w, shape);
  pair_shapes(w);
  sort_pairs(w);
  for (int shape = 0; shape < T->n_shape; ++shape) {
    if (T->shape_kind[shape] == PL_SHAPE_PLANE) pair_plane(w, shape);
    if (is_large(T, shape) && first) find_frame(w, shape);
    if (is_large(T, shape)) find_corners(w, shape, w->R, w->p, c->corner + 24 * (size_t)shape);
  }
  if (c->planes.n) qsort(c->planes.pair, c->planes.n, 2 * sizeof(int), by_numbers);
  find_live(w);
  memcpy(c->x_listed, c->x, 3 * (size_t)T->n_vertex * sizeof(double));
  c->listed = c->failed ? PL_NOTHING_LISTED : PL_LISTED;
}

/* Square of the largest displacement of points (3 each). */
static double longest_way(const double *x, const double *before, int points) {
  double most = 0;
  for (int i = 0; i < points; ++i) {
    double moved[3];
    difference(x + 3 * i, before + 3 * i, moved);
    const double way = dot3(moved, moved);
    if (!(way <= most)) most = way;
  }
  return most;
}

static int list_is_old(const pl_work *w) {
  const pl_tables *T = w->T;
  const pl_contacts *c = w->contacts;
  const double limit = 0.25 * c->margin * c->margin;
  for (int shape = 0; shape < T->n_shape; ++shape) {
    const size_t first = 3 * (size_t)T->shape_vertex[shape];
    double corner[24];
    if (is_static(T, shape)) continue;
    if (is_large(T, shape)) find_corners(w, shape, w->R, w->p, corner);
    const double way = is_large(T, shape) ? longest_way(corner, c->corner + 24 * (size_t)shape, 8)
                                          : longest_way(c->x + first, c->x_listed + first, T->shape_vertex[shape + 1] - T->shape_vertex[shape]);
    if (!(way < limit)) return 1;
  }
  return 0;
}

void pl_contact_places(pl_work *w) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  if (c->listed == PL_LISTED) {
    for (int shape = 0; shape < T->n_shape; ++shape)
      if (!is_static(T, shape) && !is_large(T, shape)) place_shape(w, shape);
    for (int i = 0; i < c->n_live; ++i) place_vertex(w, c->live[i]);
  }
  if (c->listed != PL_LISTED || list_is_old(w)) make_list(w);
}

/* -- paths within a step ------------------------------------------------------------------------------------------------ */

static void place_before(const pl_work *w, const pl_contact_memory *m, int i) {
  const int node = w->T->vertex_node[i];
  double *x = w->contacts->x_before + 3 * (size_t)i;
  rotate3(m->R + 9 * node, w->theta + w->T->vertex_theta[i], x);
  for (int k = 0; k < 3; ++k) x[k] += m->p[3 * node + k];
}

double pl_contact_way(const pl_work *w, const pl_contact_memory *m) {
  const pl_tables *T = w->T;
  const pl_contacts *c = w->contacts;
  double most = 0;
  for (int shape = 0; shape < T->n_shape; ++shape) {
    const int first = T->shape_vertex[shape], last = T->shape_vertex[shape + 1];
    double now[24], then[24];
    if (is_static(T, shape)) continue;
    if (is_large(T, shape)) {
      find_corners(w, shape, w->R, w->p, now), find_corners(w, shape, m->R, m->p, then);
      most = fmax(most, longest_way(now, then, 8));
    } else {
      for (int v = first; v < last; ++v) place_before(w, m, v);
      most = fmax(most, longest_way(c->x + 3 * (size_t)first, c->x_before + 3 * (size_t)first, last - first));
    }
  }
  return sqrt(most);
}

void pl_contact_ways(pl_work *w, const pl_contact_memory *m) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  place_all(w);
  memcpy(c->x_before, c->x, 3 * (size_t)T->n_vertex * sizeof(double));
  for (int shape = 0; shape < T->n_shape; ++shape) {
    if (is_static(T, shape)) continue;
    for (int v = T->shape_vertex[shape]; v < T->shape_vertex[shape + 1]; ++v) place_before(w, m, v);
    for (int i = T->shape_item[shape]; i < T->shape_item[shape + 1]; ++i) {
      double *box = box_of(w, i);
      empty(box);
      for (int j = 0; j < size_of(T, i); ++j) {
        const double *x = place_of(w, T->item_vertex[3 * i + j]), *x0 = c->x_before + 3 * (size_t)T->item_vertex[3 * i + j];
        const double radius = number_of(w, T->item_vertex[3 * i + j], VERTEX_RADIUS);
        const double both[6] = {fmin(x[0], x0[0]) - radius, fmin(x[1], x0[1]) - radius, fmin(x[2], x0[2]) - radius,
                                fmax(x[0], x0[0]) + radius, fmax(x[1], x0[1]) + radius, fmax(x[2], x0[2]) + radius};
        include(box, both);
      }
    }
    if (T->shape_item[shape + 1] > T->shape_item[shape]) fit(w, whole(w, shape));
  }
  c->items.n = 0;
  pair_shapes(w);
  c->listed = PL_WORLD_LISTED; /* the list has changed */
}
