/* Who touches whom, and where.
 *
 * Items (single vertices, edges, triangles) that are nearer to each other than a margin are listed by sorting their boxes along one
 * axis, and listed anew when a vertex has moved by half the margin. The list decides nothing: contacts are found in it in the
 * order of their numbers, so the state alone says what comes out.
 *
 * Rods and capsules against each other: where edges cross, their closest points touch; where they run along each other, the
 * vertices of each touch the edges of the other. The squared sine and cosine of the angle between them share the stiffness. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "spatial.h"

enum { VERTEX_RADIUS = 3, VERTEX_SHARE = 4 };

static inline double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void difference(const double *a, const double *b, double *c) {
  for (int k = 0; k < 3; ++k) c[k] = a[k] - b[k];
}

static inline double *place_of(const pl_work *w, int vertex) { return w->contacts->x + 3 * vertex; }
static inline double number_of(const pl_work *w, int vertex, int which) {
  return w->theta[w->T->vertex_theta[vertex] + which];
}

static void find_places(pl_work *w) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_vertex; ++i) {
    const int node = T->vertex_node[i];
    double *x = place_of(w, i);
    rotate3(w->R + 9 * node, w->theta + T->vertex_theta[i], x);
    for (int k = 0; k < 3; ++k) x[k] += w->p[3 * node + k];
  }
}

/* -- candidates ------------------------------------------------------------------------------------------------------ */

static void find_boxes(pl_work *w) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  for (int i = 0; i < T->n_item; ++i)
    for (int k = 0; k < 3; ++k) {
      double low = INFINITY, high = -INFINITY;
      for (int j = 0; j < 3; ++j) {
        const int vertex = T->item_vertex[3 * i + j];
        if (vertex < 0) break;
        const double x = place_of(w, vertex)[k], radius = number_of(w, vertex, VERTEX_RADIUS);
        low = fmin(low, x - radius), high = fmax(high, x + radius);
      }
      c->low[3 * i + k] = low - 0.5 * c->margin, c->high[3 * i + k] = high + 0.5 * c->margin;
    }
}

/* A quarter of the usual size of an item. */
static double find_margin(const pl_work *w) {
  const pl_tables *T = w->T;
  const pl_contacts *c = w->contacts;
  double sum = 0;
  for (int i = 0; i < T->n_item; ++i)
    for (int k = 0; k < 3; ++k) sum += c->high[3 * i + k] - c->low[3 * i + k];
  return T->n_item ? 0.25 * sum / (3 * T->n_item) : 0;
}

static int law_between(const pl_tables *T, int a, int b) { return T->group_law[T->n_group * T->shape_group[a] + T->shape_group[b]]; }

static int is_excluded(const pl_tables *T, int a, int b) {
  const int key = a < b ? a * T->n_shape + b : b * T->n_shape + a;
  int low = 0, high = T->n_excluded;
  while (low < high) {
    const int mid = (low + high) / 2;
    if (T->excluded[mid] < key) low = mid + 1;
    else high = mid;
  }
  return low < T->n_excluded && T->excluded[low] == key;
}

/* Whether two items can touch at all, by one law only or, with -1, any. */
static int may_touch(const pl_tables *T, int only, int i, int j) {
  const int a = T->item_shape[i], b = T->item_shape[j], law = law_between(T, a, b);
  if (law < 0 || (only >= 0 && law != only)) return 0;
  if (a == b) return abs(i - j) > T->shape_skip[a];
  return !is_excluded(T, a, b);
}

static int add_pair(pl_contacts *c, int i, int j) {
  if (c->n_pair == c->pair_capacity) {
    const int capacity = 2 * c->pair_capacity + 64;
    int *grown = realloc(c->pair, 2 * (size_t)capacity * sizeof(int));
    if (!grown) return c->failed = 1;
    c->pair = grown, c->pair_capacity = capacity;
  }
  c->pair[2 * c->n_pair] = i < j ? i : j, c->pair[2 * c->n_pair + 1] = i < j ? j : i;
  c->n_pair++;
  return 0;
}

static int by_numbers(const void *a, const void *b) {
  const int *x = a, *y = b;
  return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Items in the order of their lower ends along an axis: the order before is nearly right. */
static void sort_items(pl_contacts *c, int n, int axis) {
  for (int i = 1; i < n; ++i) {
    const int item = c->order[i];
    const double low = c->low[3 * item + axis];
    int j = i;
    for (; j > 0 && c->low[3 * c->order[j - 1] + axis] > low; --j) c->order[j] = c->order[j - 1];
    c->order[j] = item;
  }
}

static int widest_axis(const pl_contacts *c, int n) {
  double best = -1;
  int axis = 0;
  for (int k = 0; k < 3; ++k) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; ++i) mean += c->low[3 * i + k] / n;
    for (int i = 0; i < n; ++i) square += (c->low[3 * i + k] - mean) * (c->low[3 * i + k] - mean);
    if (square > best) best = square, axis = k;
  }
  return axis;
}

void pl_contact_pairs(pl_work *w) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  const int n = T->n_item;
  const int axis = widest_axis(c, n);
  sort_items(c, n, axis);
  c->n_pair = 0;
  for (int s = 0; s < n; ++s) {
    const int i = c->order[s];
    for (int t = s + 1; t < n; ++t) {
      const int j = c->order[t];
      if (c->low[3 * j + axis] > c->high[3 * i + axis]) break;
      int apart = 0;
      for (int k = 0; k < 3; ++k) apart |= c->low[3 * j + k] > c->high[3 * i + k] || c->low[3 * i + k] > c->high[3 * j + k];
      if (!apart && may_touch(T, c->only, i, j) && add_pair(c, i, j)) return;
    }
  }
  qsort(c->pair, c->n_pair, 2 * sizeof(int), by_numbers);
}

static void list_pairs(pl_work *w) {
  pl_contacts *c = w->contacts;
  c->margin = 0;
  find_boxes(w);
  c->margin = fmax(find_margin(w), c->reach);
  find_boxes(w);
  pl_contact_pairs(w);
  memcpy(c->x_listed, c->x, 3 * (size_t)w->T->n_vertex * sizeof(double));
  c->listed = 1;
}

static int list_is_old(const pl_work *w) {
  const pl_contacts *c = w->contacts;
  const double limit = 0.25 * c->margin * c->margin;
  for (int i = 0; i < w->T->n_vertex; ++i) {
    double moved[3];
    difference(c->x + 3 * i, c->x_listed + 3 * i, moved);
    if (!(dot3(moved, moved) < limit)) return 1;
  }
  return 0;
}

/* -- contacts -------------------------------------------------------------------------------------------------------- */

static pl_touch *new_touch(pl_contacts *c) {
  if (c->n == c->capacity) {
    const int capacity = 2 * c->capacity + 16;
    pl_touch *grown = realloc(c->touch, (size_t)capacity * sizeof *grown);
    if (!grown) return c->failed = 1, NULL;
    c->touch = grown, c->capacity = capacity;
  }
  pl_touch *t = c->touch + c->n++;
  memset(t, 0, sizeof *t);
  return t;
}

static void add_vertex(pl_touch *t, int vertex, double W, double G0, double G1) {
  t->vertex[t->count] = vertex, t->W[t->count] = W, t->G[t->count][0] = G0, t->G[t->count][1] = G1;
  t->count++;
}

/* Direction of a rod or capsule at one of its vertices, not of unit length; nothing for others. */
static int tangent_at(const pl_work *w, int vertex, double *out) {
  const pl_tables *T = w->T;
  const int shape = T->vertex_shape[vertex], first = T->shape_vertex[shape], last = T->shape_vertex[shape + 1] - 1;
  if (T->shape_kind[shape] != PL_SHAPE_WIRE) return 0;
  difference(place_of(w, vertex < last ? vertex + 1 : last), place_of(w, vertex > first ? vertex - 1 : first), out);
  return 1;
}

static int is_tip(const pl_tables *T, int vertex) {
  const int shape = T->vertex_shape[vertex];
  return vertex == T->shape_vertex[shape] || vertex == T->shape_vertex[shape + 1] - 1;
}

/* Directions in the tangent plane: along the rod of side A, or else of side B, or anything. */
static void find_directions(const pl_work *w, pl_touch *t) {
  double d[3];
  int found = tangent_at(w, t->vertex[0], d);
  if (!found && t->first_count < t->count) found = tangent_at(w, t->vertex[t->first_count], d);
  double along = found ? dot3(d, t->n) : 0, size = 0;
  if (found) {
    const double whole = dot3(d, d);
    for (int k = 0; k < 3; ++k) d[k] -= along * t->n[k];
    size = dot3(d, d);
    if (size < 1e-6 * whole) found = 0;
  }
  if (!found) {
    int k = 0;
    for (int l = 1; l < 3; ++l)
      if (fabs(t->n[l]) < fabs(t->n[k])) k = l;
    for (int l = 0; l < 3; ++l) d[l] = (l == k) - t->n[k] * t->n[l];
    size = dot3(d, d);
  }
  for (int k = 0; k < 3; ++k) t->along[k] = d[k] / sqrt(size);
  cross3(t->n, t->along, t->across);
}

/* Distance and normal from the vertices and weights of a contact; whether its surfaces are within reach. */
static int complete(const pl_work *w, pl_touch *t) {
  memset(t->y, 0, sizeof t->y), memset(t->E, 0, sizeof t->E), memset(t->radius, 0, sizeof t->radius);
  for (int i = 0; i < t->count; ++i) {
    const double *x = place_of(w, t->vertex[i]);
    t->radius[i >= t->first_count] += fabs(t->W[i]) * number_of(w, t->vertex[i], VERTEX_RADIUS);
    for (int k = 0; k < 3; ++k) {
      t->y[k] += t->W[i] * x[k];
      for (int l = 0; l < t->parameters; ++l) t->E[l][k] += t->G[i][l] * x[k];
    }
  }
  if (!t->flat) {
    t->d = sqrt(dot3(t->y, t->y));
    if (!(t->d > 0)) return 0;
    for (int k = 0; k < 3; ++k) t->n[k] = t->y[k] / t->d;
  } else
    t->d = dot3(t->n, t->y);
  t->gap = t->d - t->radius[0] - t->radius[1];
  return t->gap < w->contacts->reach;
}

static void keep_or_drop(pl_work *w, pl_touch *t, int keep) {
  if (keep) find_directions(w, t);
  else w->contacts->n--;
}

static long long key_of(const pl_tables *T, int a, int b) { return (long long)a * (T->n_vertex + T->n_item) + b; }

static void vertex_vertex(pl_work *w, int law, int a, int b, double share) {
  pl_touch *t = new_touch(w->contacts);
  if (!t) return;
  t->key = key_of(w->T, a, b), t->law = law, t->first_count = 1, t->share = share;
  add_vertex(t, a, 1, 0, 0), add_vertex(t, b, -1, 0, 0);
  keep_or_drop(w, t, complete(w, t));
}

/* Where on the line through the vertices of an edge the point nearest to x is, 0 to 1 between them. */
static double nearest_on(const pl_work *w, int edge, const double *x) {
  const int *vertex = w->T->item_vertex + 3 * edge;
  double e[3], to[3];
  difference(place_of(w, vertex[1]), place_of(w, vertex[0]), e);
  difference(x, place_of(w, vertex[0]), to);
  const double length = dot3(e, e);
  return length > 0 ? dot3(to, e) / length : 0;
}

static double squared_cosine(const double *a, const double *b) {
  const double ab = dot3(a, b), aa = dot3(a, a), bb = dot3(b, b);
  return aa > 0 && bb > 0 ? ab * ab / (aa * bb) : 0;
}

/* Of a vertex against an edge: the part of the stiffness that it has. */
static double share_along(const pl_work *w, int vertex, int edge) {
  const double own = number_of(w, vertex, VERTEX_SHARE);
  const int *end = w->T->item_vertex + 3 * edge;
  double tangent[3], e[3];
  if (!tangent_at(w, vertex, tangent)) return own;
  difference(place_of(w, end[1]), place_of(w, end[0]), e);
  const double parallel = squared_cosine(tangent, e);
  return 0.5 * own * parallel + (is_tip(w->T, vertex) ? 1 - parallel : 0);
}

/* A vertex against an edge of a chain. Where the nearest point is a vertex that two edges share, the edge that begins there has it,
 * if the one before agrees. */
static void vertex_edge(pl_work *w, int law, int vertex, int edge) {
  const pl_tables *T = w->T;
  const int shape = T->item_shape[edge], *end = T->item_vertex + 3 * edge;
  const double *x = place_of(w, vertex), s = nearest_on(w, edge, x), share = share_along(w, vertex, edge);
  if (share < 1e-6) return;
  if (s <= 0) {
    if (edge > T->shape_item[shape] && nearest_on(w, edge - 1, x) < 1) return;
    vertex_vertex(w, law, vertex, end[0], share);
  } else if (s >= 1) {
    if (edge == T->shape_item[shape + 1] - 1) vertex_vertex(w, law, vertex, end[1], share);
  } else {
    pl_touch *t = new_touch(w->contacts);
    if (!t) return;
    t->key = key_of(T, vertex, T->n_vertex + edge), t->law = law, t->first_count = 1, t->parameters = 1, t->share = share;
    add_vertex(t, vertex, 1, 0, 0), add_vertex(t, end[0], s - 1, 1, 0), add_vertex(t, end[1], -s, -1, 0);
    const int keep = complete(w, t);
    t->H[0][0] = 1 / dot3(t->E[0], t->E[0]);
    keep_or_drop(w, t, keep);
  }
}

/* Edges that cross: closest points inside of both. */
static void edge_edge(pl_work *w, int law, int i, int j) {
  const pl_tables *T = w->T;
  const int *a = T->item_vertex + 3 * i, *b = T->item_vertex + 3 * j;
  double e[3], f[3], y[3];
  difference(place_of(w, a[1]), place_of(w, a[0]), e), difference(place_of(w, b[0]), place_of(w, b[1]), f);
  difference(place_of(w, a[0]), place_of(w, b[0]), y);
  const double ee = dot3(e, e), ef = dot3(e, f), ff = dot3(f, f), det = ee * ff - ef * ef, sine = det / (ee * ff);
  if (!(sine > 1e-4)) return;
  const double s = (ef * dot3(f, y) - ff * dot3(e, y)) / det, r = (ef * dot3(e, y) - ee * dot3(f, y)) / det;
  if (!(s > 0 && s < 1 && r > 0 && r < 1)) return;
  pl_touch *t = new_touch(w->contacts);
  if (!t) return;
  t->key = key_of(T, T->n_vertex + i, T->n_vertex + j), t->law = law, t->first_count = 2, t->parameters = 2, t->share = sine;
  add_vertex(t, a[0], 1 - s, -1, 0), add_vertex(t, a[1], s, 1, 0);
  add_vertex(t, b[0], r - 1, 0, 1), add_vertex(t, b[1], -r, 0, -1);
  t->H[0][0] = ff / det, t->H[1][1] = ee / det, t->H[0][1] = t->H[1][0] = -ef / det;
  keep_or_drop(w, t, complete(w, t));
}

/* Vertices of an edge that it answers for: its first one, and at the end of a chain the last. */
static int own_vertices(const pl_tables *T, int edge, int *out) {
  const int last = edge == T->shape_item[T->item_shape[edge] + 1] - 1;
  out[0] = T->item_vertex[3 * edge], out[1] = T->item_vertex[3 * edge + 1];
  return 1 + last;
}

static void chain_chain(pl_work *w, int law, int i, int j) {
  int own[2];
  edge_edge(w, law, i, j);
  for (int k = 0, n = own_vertices(w->T, i, own); k < n; ++k) vertex_edge(w, law, own[k], j);
  for (int k = 0, n = own_vertices(w->T, j, own); k < n; ++k) vertex_edge(w, law, own[k], i);
}

static void item_item(pl_work *w, int i, int j) {
  const pl_tables *T = w->T;
  const int law = law_between(T, T->item_shape[i], T->item_shape[j]);
  const int wire_i = T->item_vertex[3 * i + 1] >= 0, wire_j = T->item_vertex[3 * j + 1] >= 0;
  if (wire_i && wire_j) chain_chain(w, law, i, j);
  else if (wire_j) vertex_edge(w, law, T->item_vertex[3 * i], j);
  else if (wire_i) vertex_edge(w, law, T->item_vertex[3 * j], i);
  else vertex_vertex(w, law, T->item_vertex[3 * i], T->item_vertex[3 * j], 1);
}

/* Vertices beyond a plane. */
static void against_plane(pl_work *w, int plane) {
  const pl_tables *T = w->T;
  const int origin = T->shape_vertex[plane], node = T->vertex_node[origin];
  double n[3];
  rotate3(w->R + 9 * node, w->theta + T->shape_theta[plane], n);
  for (int shape = 0; shape < T->n_shape; ++shape) {
    const int law = law_between(T, shape, plane);
    if (law < 0 || T->shape_kind[shape] == PL_SHAPE_PLANE || is_excluded(T, shape, plane)) continue;
    if (w->contacts->only >= 0 && law != w->contacts->only) continue;
    for (int v = T->shape_vertex[shape]; v < T->shape_vertex[shape + 1]; ++v) {
      double y[3];
      difference(place_of(w, v), place_of(w, origin), y);
      if (T->vertex_node[v] == node || dot3(n, y) >= number_of(w, v, VERTEX_RADIUS) + w->contacts->reach)
        continue;
      pl_touch *t = new_touch(w->contacts);
      if (!t) return;
      t->key = key_of(T, v, origin), t->law = law, t->first_count = 1, t->flat = 1;
      t->share = number_of(w, v, VERTEX_SHARE);
      memcpy(t->n, n, sizeof n);
      add_vertex(t, v, 1, 0, 0), add_vertex(t, origin, -1, 0, 0);
      keep_or_drop(w, t, complete(w, t));
    }
  }
}

static int by_key(const void *a, const void *b) {
  const long long x = ((const pl_touch *)a)->key, y = ((const pl_touch *)b)->key;
  return (x > y) - (x < y);
}

void pl_contact_search(pl_work *w) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  find_places(w);
  c->n = 0;
  if (T->n_item && (!c->listed || list_is_old(w))) list_pairs(w);
  for (int k = 0; k < c->n_pair; ++k) item_item(w, c->pair[2 * k], c->pair[2 * k + 1]);
  for (int shape = 0; shape < T->n_shape; ++shape)
    if (T->shape_kind[shape] == PL_SHAPE_PLANE) against_plane(w, shape);
  qsort(c->touch, c->n, sizeof *c->touch, by_key);
}

/* -- distances ------------------------------------------------------------------------------------------------------- */

/* No two vertices are further apart than that. */
static double extent(const pl_work *w) {
  double sum = 0;
  for (int k = 0; k < 3; ++k) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < w->T->n_vertex; ++i) low = fmin(low, place_of(w, i)[k]), high = fmax(high, place_of(w, i)[k]);
    sum += (high - low) * (high - low);
  }
  return sqrt(sum);
}

static int is_asked_for(const pl_tables *T, const pl_touch *t, const int *side) {
  if (!side) return 1;
  const int a = side[T->vertex_shape[t->vertex[0]]], b = side[T->vertex_shape[t->vertex[t->first_count]]];
  return ((a & 1) && (b & 2)) || ((a & 2) && (b & 1));
}

double pl_contact_gap(pl_work *w, const double *q, int law, const int *side) {
  pl_contacts *c = w->contacts;
  double gap = INFINITY;
  pl_kinematics(w, q, w->zero);
  find_places(w);
  const double most = extent(w);
  c->only = law;
  /* surfaces within a reach that grows until some are found */
  for (c->reach = 1e-3 * most + 1e-9; !(gap < c->reach); c->reach *= 4) {
    c->listed = 0;
    pl_contact_search(w);
    for (int i = 0; i < c->n; ++i)
      if (is_asked_for(w->T, c->touch + i, side)) gap = fmin(gap, c->touch[i].gap);
    if (c->reach > most) break;
  }
  c->reach = 0, c->only = -1, c->listed = 0, c->n = 0;
  return gap;
}
