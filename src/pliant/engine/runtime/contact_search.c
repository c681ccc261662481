/* Contact detection: single vertices, chains of edges, planes (faces: contact_faces.c), among the candidates listed by
 * contact_tree.c.
 * Contacts are found in the order of their numbers, so that the result depends on the state alone.
 *
 * Rods and capsules in contact with each other: if edges cross, their closest points touch, or the vertex between two edges that
 * end
 * before the crossing; if they are parallel, the vertices of each touch the edges of the other. The squared sine and cosine of the
 * angle between them divide the stiffness among these.
 *
 * The side of a cylinder is an edge without ends: its flat ends are faces. Lying on a plane it nevertheless touches with its ends;
 * when it is tilted, the rims of its ends take over. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact_geometry.h"
#include "spatial.h"

#define RAISED 0.03 /* squared sine of the angle to a plane above which a cylinder stands on a rim */

/* -- contacts under construction -------------------------------------------------------------------------------------- */

pl_touch *pl_new_touch(pl_work *w, int law, long long key, double share) {
  pl_contacts *c = w->contacts;
  if (c->n == c->capacity) {
    const int capacity = 2 * c->capacity + 16;
    pl_touch *grown = (pl_touch *)realloc(c->touch, (size_t)capacity * sizeof *grown);
    if (!grown) {
      c->failed = 1;
      return NULL;
    }
    c->touch = grown, c->capacity = capacity;
  }
  pl_touch *t = c->touch + c->n++;
  memset(t, 0, sizeof *t);
  t->key = key, t->law = law, t->share = share, t->first_count = 1;
  return t;
}

void pl_touch_vertex(pl_touch *t, int vertex, double W, double G0, double G1) {
  t->vertex[t->count] = vertex, t->W[t->count] = W, t->G[t->count][0] = G0, t->G[t->count][1] = G1;
  t->count++;
}

/* Vertices per section of a rod or capsule; 0 for other shapes. */
static int corners_of(const pl_tables *T, int shape) { return is_chain(T, shape) ? 1 : T->shape_corners[shape]; }

/* Direction of a rod or capsule at one of its vertices, not normalized; zero for others. */
static int tangent_at(const pl_work *w, int vertex, double *out) {
  const pl_tables *T = w->T;
  const int shape = T->vertex_shape[vertex], around = corners_of(T, shape);
  const int before = vertex - around, after = vertex + around;
  if (!around) return 0;
  difference(place_of(w, after < T->shape_vertex[shape + 1] ? after : vertex),
             place_of(w, before >= T->shape_vertex[shape] ? before : vertex), out);
  return 1;
}

static int is_tip(const pl_tables *T, int vertex) {
  const int shape = T->vertex_shape[vertex], around = corners_of(T, shape);
  return vertex < T->shape_vertex[shape] + around || vertex >= T->shape_vertex[shape + 1] - around;
}

/* Directions in the tangent plane: along the rod of side A, or else of side B, or arbitrary. */
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
  for (int i = 0; i < t->count; ++i) {
    const double *x = place_of(w, t->vertex[i]);
    t->radius[i >= t->first_count] += fabs(t->W[i]) * number_of(w, t->vertex[i], VERTEX_RADIUS);
    for (int k = 0; k < 3; ++k) {
      t->y[k] += t->W[i] * x[k];
      for (int l = 0; l < t->parameters; ++l) t->E[l][k] += t->G[i][l] * x[k];
    }
  }
  if (!t->oriented) {
    t->d = (t->inside ? -1 : 1) * sqrt(dot3(t->y, t->y));
    if (!(fabs(t->d) > 0)) return 0;
    for (int k = 0; k < 3; ++k) t->n[k] = t->y[k] / t->d;
  } else
    t->d = dot3(t->n, t->y);
  t->gap = t->d - t->radius[0] - t->radius[1];
  return t->gap < w->contacts->reach;
}

/* Inverse of the Gram matrix of the edges of its parameters. */
static void invert(pl_touch *t) {
  const double aa = dot3(t->E[0], t->E[0]), ab = dot3(t->E[0], t->E[1]), bb = dot3(t->E[1], t->E[1]);
  if (t->parameters == 1) t->H[0][0] = 1 / aa;
  if (t->parameters < 2) return;
  const double det = aa * bb - ab * ab;
  t->H[0][0] = bb / det, t->H[1][1] = aa / det, t->H[0][1] = t->H[1][0] = -ab / det;
}

/* Items fixed to one node do not touch each other: nodes of a fabric fixed to a body. */
static int is_one_piece(const pl_tables *T, const pl_touch *t) {
  for (int i = 1; i < t->count; ++i)
    if (T->vertex_node[t->vertex[i]] != T->vertex_node[t->vertex[0]]) return 0;
  return 1;
}

void pl_finish_touch(pl_work *w, pl_touch *t) {
  if (!is_one_piece(w->T, t) && complete(w, t)) find_directions(w, t), invert(t);
  else w->contacts->n--;
}

/* -- pairs of simplices ----------------------------------------------------------------------------------------------- */

/* Most candidates are not in contact, which is checked first. */
static int are_apart(const pl_work *w, int a, int b) {
  const double reach = number_of(w, a, VERTEX_RADIUS) + number_of(w, b, VERTEX_RADIUS) + w->contacts->reach;
  double y[3];
  difference(place_of(w, a), place_of(w, b), y);
  return dot3(y, y) > reach * reach;
}

void pl_vertex_vertex(pl_work *w, int law, int a, int b, double share) {
  if (are_apart(w, a, b)) return;
  pl_touch *t = pl_new_touch(w, law, key_of(w->T, a, b), share);
  if (!t) return;
  pl_touch_vertex(t, a, 1, 0, 0), pl_touch_vertex(t, b, -1, 0, 0);
  pl_finish_touch(w, t);
}

/* Parameter of the point closest to x on the line through the vertices of an edge, 0 to 1 between them. */
static double nearest_on(const pl_work *w, const int *end, const double *x) {
  double e[3], to[3];
  difference(place_of(w, end[1]), place_of(w, end[0]), e);
  difference(x, place_of(w, end[0]), to);
  const double length = dot3(e, e);
  return length > 0 ? dot3(to, e) / length : 0;
}

static double squared_cosine(const double *a, const double *b) {
  const double ab = dot3(a, b), aa = dot3(a, a), bb = dot3(b, b);
  return aa > 0 && bb > 0 ? ab * ab / (aa * bb) : 0;
}

int pl_crossing(const pl_work *w, const int *a, const int *b, double *s, double *r, double *sine, double *y) {
  double e[3], f[3];
  difference(place_of(w, a[1]), place_of(w, a[0]), e), difference(place_of(w, b[0]), place_of(w, b[1]), f);
  difference(place_of(w, a[0]), place_of(w, b[0]), y);
  const double ee = dot3(e, e), ef = dot3(e, f), ff = dot3(f, f), det = ee * ff - ef * ef;
  *sine = det / (ee * ff);
  if (!(*sine > 1e-4)) return 0;
  *s = (ef * dot3(f, y) - ff * dot3(e, y)) / det, *r = (ef * dot3(e, y) - ee * dot3(f, y)) / det;
  for (int k = 0; k < 3; ++k) y[k] += *s * e[k] + *r * f[k];
  return *s > 0 && *s < 1 && *r > 0 && *r < 1;
}

/* Whether a chain touches an edge at one of its inner vertices: the crossing is beyond both edges that end there, as on the outer
 * side of a bend, so that neither of them crosses the other edge. Decided from the same numbers as for these, so that no contact
 * is missed between them. */
static int crosses_at(const pl_work *w, int vertex, const int *end) {
  const int before[2] = {vertex - 1, vertex}, after[2] = {vertex, vertex + 1};
  double last = 0, first = 1, r, sine, y[3];
  pl_crossing(w, before, end, &last, &r, &sine, y), pl_crossing(w, after, end, &first, &r, &sine, y);
  return last >= 1 && first <= 0;
}

double pl_share_on(const pl_work *w, int vertex, const double *n) {
  const pl_tables *T = w->T;
  const double own = number_of(w, vertex, VERTEX_SHARE);
  const int side = T->shape_kind[T->vertex_shape[vertex]] == PL_SHAPE_SIDE;
  double tangent[3];
  if (!tangent_at(w, vertex, tangent) || !(side || is_tip(T, vertex))) return own;
  const double upright = squared_cosine(n, tangent);
  return side ? own * (1 - upright / RAISED) : own + (1 - own) * upright;
}

double pl_share_along(const pl_work *w, int vertex, const int *end) {
  const double own = number_of(w, vertex, VERTEX_SHARE);
  double tangent[3], e[3];
  if (!tangent_at(w, vertex, tangent)) return own;
  difference(place_of(w, end[1]), place_of(w, end[0]), e);
  const double parallel = squared_cosine(tangent, e);
  if (!is_chain(w->T, w->T->vertex_shape[vertex])) return is_tip(w->T, vertex) ? 1 + (own - 1) * parallel : own;
  const int wire = w->T->shape_kind[w->T->vertex_shape[vertex]] == PL_SHAPE_WIRE;
  const int across = wire && (is_tip(w->T, vertex) || crosses_at(w, vertex, end));
  return 0.5 * own * parallel + (across ? 1 - parallel : 0);
}

void pl_vertex_edge(pl_work *w, int law, int vertex, const int *end, int number, double s, double share, int sign) {
  pl_touch *t = pl_new_touch(w, law, key_of(w->T, vertex, w->T->n_vertex + number), share);
  if (!t) return;
  t->parameters = 1, t->inside = sign < 0;
  pl_touch_vertex(t, vertex, 1, 0, 0), pl_touch_vertex(t, end[0], s - 1, 1, 0), pl_touch_vertex(t, end[1], -s, -1, 0);
  pl_finish_touch(w, t);
}

/* A vertex against an edge of a chain. If the closest point is a vertex shared by two edges, the contact belongs to the edge that
 * begins there, if the previous one agrees. The side of a cylinder has no ends. */
static void vertex_chain(pl_work *w, int law, int vertex, int edge) {
  const pl_tables *T = w->T;
  const int shape = T->item_shape[edge], *end = T->item_vertex + 3 * edge, ends = T->shape_kind[shape] == PL_SHAPE_WIRE;
  const double *x = place_of(w, vertex), s = nearest_on(w, end, x), share = pl_share_along(w, vertex, end);
  if (share < 1e-6) return;
  if (s <= 0) {
    if (edge == T->shape_item[shape] ? !ends : nearest_on(w, end - 3, x) < 1) return;
    pl_vertex_vertex(w, law, vertex, end[0], share);
  } else if (s >= 1) {
    if (ends && edge == T->shape_item[shape + 1] - 1) pl_vertex_vertex(w, law, vertex, end[1], share);
  } else
    pl_vertex_edge(w, law, vertex, end, edge, s, share, 1);
}

void pl_edge_edge(pl_work *w, int law, const int *a, int number_a, const int *b, int number_b, double s, double r, double share, int sign) {
  const int n = w->T->n_vertex;
  pl_touch *t = pl_new_touch(w, law, key_of(w->T, n + number_a, n + number_b), share);
  if (!t) return;
  t->first_count = 2, t->parameters = 2, t->inside = sign < 0;
  pl_touch_vertex(t, a[0], 1 - s, -1, 0), pl_touch_vertex(t, a[1], s, 1, 0);
  pl_touch_vertex(t, b[0], r - 1, 0, 1), pl_touch_vertex(t, b[1], -r, 0, -1);
  pl_finish_touch(w, t);
}

/* Vertices assigned to an edge: its first one, and at the end of a chain the last. */
static int own_vertices(const pl_tables *T, int edge, int *out) {
  const int last = edge == T->shape_item[T->item_shape[edge] + 1] - 1;
  out[0] = T->item_vertex[3 * edge], out[1] = T->item_vertex[3 * edge + 1];
  return 1 + last;
}

static void chain_chain(pl_work *w, int law, int i, int j) {
  const int *a = w->T->item_vertex + 3 * i, *b = w->T->item_vertex + 3 * j;
  double s, r, sine, y[3];
  int own[2];
  if (pl_crossing(w, a, b, &s, &r, &sine, y)) pl_edge_edge(w, law, a, i, b, j, s, r, sine, 1);
  for (int k = 0, n = own_vertices(w->T, i, own); k < n; ++k) vertex_chain(w, law, own[k], j);
  for (int k = 0, n = own_vertices(w->T, j, own); k < n; ++k) vertex_chain(w, law, own[k], i);
}

static void item_item(pl_work *w, int i, int j) {
  const pl_tables *T = w->T;
  const int law = law_between(T, T->item_shape[i], T->item_shape[j]);
  const int kind_i = T->shape_kind[T->item_shape[i]], kind_j = T->shape_kind[T->item_shape[j]];
  if (kind_i == PL_SHAPE_FACES || kind_j == PL_SHAPE_FACES) pl_contact_faces(w, law, i, j);
  else if (kind_i != PL_SHAPE_POINT && kind_j != PL_SHAPE_POINT) chain_chain(w, law, i, j);
  else if (kind_j != PL_SHAPE_POINT) vertex_chain(w, law, T->item_vertex[3 * i], j);
  else if (kind_i != PL_SHAPE_POINT) vertex_chain(w, law, T->item_vertex[3 * j], i);
  else pl_vertex_vertex(w, law, T->item_vertex[3 * i], T->item_vertex[3 * j], 1);
}

/* A vertex below a plane. */
static void vertex_plane(pl_work *w, int v, int origin) {
  const pl_tables *T = w->T;
  const int shape = T->vertex_shape[v], plane = T->vertex_shape[origin];
  double n[3], y[3];
  rotate3(w->R + 9 * T->vertex_node[origin], w->theta + T->shape_theta[plane], n);
  difference(place_of(w, v), place_of(w, origin), y);
  if (dot3(n, y) >= number_of(w, v, VERTEX_RADIUS) + w->contacts->reach) return;
  const double share = pl_share_on(w, v, n);
  if (share < 1e-6) return;
  pl_touch *t = pl_new_touch(w, law_between(T, shape, plane), key_of(T, v, origin), share);
  if (!t) return;
  t->flat = t->oriented = 1;
  memcpy(t->n, n, sizeof n);
  pl_touch_vertex(t, v, 1, 0, 0), pl_touch_vertex(t, origin, -1, 0, 0);
  pl_finish_touch(w, t);
}

static int by_key(const void *a, const void *b) {
  const pl_ranked *x = (const pl_ranked *)a, *y = (const pl_ranked *)b;
  return (x->key > y->key) - (x->key < y->key);
}

/* Sort contacts by key. If they are out of order, each is moved once, to its final position. */
static void sort_touches(pl_contacts *c) {
  int sorted = 1;
  for (int i = 1; i < c->n && sorted; ++i) sorted = c->touch[i - 1].key < c->touch[i].key;
  if (sorted) return;
  if (c->n > c->ranked_capacity) {
    pl_ranked *grown = (pl_ranked *)realloc(c->ranked, (size_t)c->capacity * sizeof *grown);
    if (!grown) {
      c->failed = 1;
      return;
    }
    c->ranked = grown, c->ranked_capacity = c->capacity;
  }
  for (int i = 0; i < c->n; ++i) c->ranked[i] = PL_VALUE(pl_ranked){c->touch[i].key, i};
  if (c->n) qsort(c->ranked, c->n, sizeof *c->ranked, by_key);
  for (int i = 0; i < c->n; ++i) { /* along each cycle of the permutation */
    if (c->ranked[i].place == i) continue;
    const pl_touch first = c->touch[i];
    int to = i;
    for (int from = c->ranked[to].place; from != i; from = c->ranked[to].place) {
      c->touch[to] = c->touch[from], c->ranked[to].place = to;
      to = from;
    }
    c->touch[to] = first, c->ranked[to].place = to;
  }
}

static long long key_of_items(const pl_tables *T, const int *pair) {
  return key_of(T, T->item_vertex[3 * pair[0]], T->item_vertex[3 * pair[1]]);
}

void pl_contact_search(pl_work *w) {
  pl_contacts *c = w->contacts;
  pl_contact_places(w);
  c->n = c->n_near = 0;
  const int *items = c->items.pair, *planes = c->planes.pair;
  for (int k = 0, l = 0; k < c->items.n || l < c->planes.n;) { /* spheres are found in the order of their keys */
    if (l == c->planes.n || (k < c->items.n && key_of_items(w->T, items + 2 * k) < key_of(w->T, planes[2 * l], planes[2 * l + 1])))
      item_item(w, items[2 * k], items[2 * k + 1]), k++;
    else
      vertex_plane(w, planes[2 * l], planes[2 * l + 1]), l++;
  }
  pl_contact_solids(w);
  sort_touches(c);
}

/* -- distances ------------------------------------------------------------------------------------------------------- */

/* Upper bound of the distance of two vertices. */
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
  c->only = law, c->listed = PL_NOTHING_LISTED;
  pl_contact_places(w);
  const double most = extent(w);
  /* surfaces within a distance that is increased until some are found */
  for (c->reach = 1e-3 * most + 1e-9 * pl_reach(w); !(gap < c->reach); c->reach *= 4) {
    c->listed = PL_NOTHING_LISTED;
    pl_contact_search(w);
    for (int i = 0; i < c->n; ++i)
      if (is_asked_for(w->T, c->touch + i, side)) gap = fmin(gap, c->touch[i].gap);
    if (c->reach > most) break;
  }
  c->reach = 0, c->only = -1, c->n = 0, c->listed = PL_NOTHING_LISTED;
  return gap;
}
