/* Contacts with surfaces made of triangles: boxes, meshes, fabrics; and with edges of nets, which belong to no triangle.
 *
 * A contact is a local minimum of the distance: of a vertex from a triangle, from an edge outside of whose triangles it is, or
 * from a
 * vertex outside of whose edges it is; of two crossing edges. Each edge and each vertex is assigned to the first item that contains
 * it, so that it is counted once.
 *
 * Solids have an interior. A vertex inside of a solid is pushed out along the shortest path; it is inside if it is behind the
 * closest
 * surface. Other surfaces push towards the side of the vertex. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact_geometry.h"
#include "spatial.h"

#define AT_END 1e-9 /* fraction of an edge or triangle from its end within which a point is at the end */
#define TILT 0.2    /* sine of the accepted angle between faces at crossing edges */

/* The point of an item that is closest to a given point. */
typedef struct {
  int feature;         /* 0: within the triangle; 1 to 3: on an edge; 4 to 6: a vertex */
  double s, r;         /* barycentric coordinates of the second and third vertex of the triangle; s: of the second vertex of the
  edge */ double distance;     /* never negative */
  double y[3];         /* from the closest point to the given point */
} spot;

static const int *vertices_of(const pl_tables *T, int item) { return T->item_vertex + 3 * item; }
static const int *ends_of(const pl_tables *T, int edge) { return T->edge_vertex + 2 * edge; }

static int vertex_in(const pl_tables *T, int item, int vertex) {
  const int *v = vertices_of(T, item);
  return v[0] == vertex || v[1] == vertex || v[2] == vertex;
}

static void normal_of(const pl_work *w, int item, double *n) {
  const int *v = vertices_of(w->T, item);
  double a[3], b[3];
  difference(place_of(w, v[1]), place_of(w, v[0]), a), difference(place_of(w, v[2]), place_of(w, v[0]), b);
  cross3(a, b, n);
  const double size = sqrt(dot3(n, n));
  for (int k = 0; k < 3; ++k) n[k] = size > 0 ? n[k] / size : 0;
}

/* Direction within a triangle from one of its edges to the vertex opposite to it, normal to the edge. */
static void inward(const pl_work *w, int edge, int item, double *out) {
  const int *end = ends_of(w->T, edge), *v = vertices_of(w->T, item);
  const int opposite = v[0] + v[1] + v[2] - end[0] - end[1];
  double e[3];
  difference(place_of(w, end[1]), place_of(w, end[0]), e);
  difference(place_of(w, opposite), place_of(w, end[0]), out);
  const double along = dot3(out, e) / dot3(e, e);
  for (int k = 0; k < 3; ++k) out[k] -= along * e[k];
}

/* Barycentric coordinate of the vertex opposite to an edge of the projection of x: negative beyond the edge. */
static double share_across(const pl_work *w, int edge, int item, const double *x) {
  double t[3], to[3];
  inward(w, edge, item, t);
  difference(x, place_of(w, ends_of(w->T, edge)[0]), to);
  return dot3(t, to) / dot3(t, t);
}

static void on_edge(const pl_work *w, int item, int k, const double *x, spot *out) {
  const int edge = w->T->item_edge[3 * item + k], *end = ends_of(w->T, edge), *v = vertices_of(w->T, item);
  const double *a = place_of(w, end[0]);
  double e[3], to[3];
  difference(place_of(w, end[1]), a, e), difference(x, a, to);
  const double s = dot3(to, e) / dot3(e, e);
  out->s = s <= AT_END ? 0 : s >= 1 - AT_END ? 1 : s;
  out->feature = 1 + k;
  for (int j = 0; j < 3 && (out->s == 0 || out->s == 1); ++j)
    if (v[j] == end[out->s == 1]) out->feature = 4 + j;
  for (int l = 0; l < 3; ++l) out->y[l] = to[l] - out->s * e[l];
  out->distance = sqrt(dot3(out->y, out->y));
}

static void nearest(const pl_work *w, int item, const double *x, spot *best) {
  const int sides = size_of(w->T, item) == 3 ? 3 : 1, *v = vertices_of(w->T, item);
  double share[3] = {0};
  int within = sides == 3;
  for (int k = 0; k < sides && sides == 3; ++k) {
    share[k] = share_across(w, w->T->item_edge[3 * item + k], item, x);
    within = within && share[k] > AT_END;
  }
  if (within) {
    double n[3], to[3];
    normal_of(w, item, n), difference(x, place_of(w, v[0]), to);
    const double height = dot3(n, to);
    best->feature = 0, best->s = share[2], best->r = share[0], best->distance = fabs(height);
    for (int l = 0; l < 3; ++l) best->y[l] = height * n[l];
    return;
  }
  best->distance = INFINITY;
  for (int k = 0; k < sides; ++k) {
    spot other;
    if (share[k] > AT_END) continue;
    on_edge(w, item, k, x, &other);
    if (other.distance < best->distance) *best = other;
  }
}

/* Whether no neighbour of a vertex is further in the direction y than the vertex, up to a tolerance. */
static int is_outermost(const pl_work *w, int vertex, const double *y) {
  const pl_tables *T = w->T;
  for (int k = T->around_begin[vertex]; k < T->around_begin[vertex + 1]; ++k)
    for (int j = 0; j < size_of(T, T->around[k]); ++j) {
      double to[3];
      difference(place_of(w, vertices_of(T, T->around[k])[j]), place_of(w, vertex), to);
      if (dot3(to, y) > AT_END * dot3(to, to)) return 0;
    }
  return 1;
}

/* Whether the closest point of an item is a local minimum of the distance, and is assigned to this item. */
static int is_smallest(const pl_work *w, int item, const double *x, const spot *at) {
  const pl_tables *T = w->T;
  if (!at->feature) return 1;
  if (at->feature > 3) {
    const int vertex = vertices_of(T, item)[at->feature - 4];
    return T->vertex_item[vertex] == item && is_outermost(w, vertex, at->y);
  }
  const int edge = T->item_edge[3 * item + at->feature - 1], *face = T->edge_face + 2 * edge;
  if (face[0] != item) return 0;
  for (int k = 0; k < 2; ++k)
    if (face[k] >= 0 && size_of(T, face[k]) == 3 && share_across(w, edge, face[k], x) > AT_END) return 0;
  return 1;
}

/* -- inside and outside ------------------------------------------------------------------------------------------------ */

static int at_border(const pl_tables *T, int item, int vertex) {
  for (int k = 0; k < 3; ++k) {
    const int edge = T->item_edge[3 * item + k], *end = ends_of(T, edge);
    if ((end[0] == vertex || end[1] == vertex) && T->edge_face[2 * edge + 1] < 0) return 1;
  }
  return 0;
}

/* Normal of a solid at a vertex, weighted by the angles of its triangles (Baerentzen and Aanaes, 2005): its sign along the
 * direction to the closest point is correct. Also returns whether the surface ends there. */
static int normal_at(const pl_work *w, int vertex, double *sum) {
  const pl_tables *T = w->T;
  int border = 0;
  for (int k = T->around_begin[vertex]; k < T->around_begin[vertex + 1]; ++k) {
    const int item = T->around[k], *v = vertices_of(T, item);
    const int j = v[0] == vertex ? 0 : v[1] == vertex ? 1 : 2;
    double n[3], a[3], b[3];
    border |= at_border(T, item, vertex);
    normal_of(w, item, n);
    difference(place_of(w, v[(j + 1) % 3]), place_of(w, vertex), a);
    difference(place_of(w, v[(j + 2) % 3]), place_of(w, vertex), b);
    const double angle = acos(fmax(-1, fmin(1, dot3(a, b) / sqrt(dot3(a, a) * dot3(b, b)))));
    for (int l = 0; l < 3; ++l) sum[l] += angle * n[l];
  }
  return border;
}

/* 1 outside, -1 inside, 0 behind a surface that is not closed, beyond its border. */
static int side_of(const pl_work *w, int item, const spot *at) {
  const pl_tables *T = w->T;
  double sum[3] = {0}, n[3];
  int border = 0;
  if (at->feature > 3)
    border = normal_at(w, vertices_of(T, item)[at->feature - 4], sum);
  else if (at->feature) {
    const int *face = T->edge_face + 2 * T->item_edge[3 * item + at->feature - 1];
    border = face[1] < 0;
    for (int k = 0; k < 2 && face[k] >= 0; ++k) {
      normal_of(w, face[k], n);
      for (int l = 0; l < 3; ++l) sum[l] += n[l];
    }
  } else
    normal_of(w, item, sum);
  return dot3(sum, at->y) > 0 ? 1 : border ? 0 : -1;
}

/* -- contacts ---------------------------------------------------------------------------------------------------------- */

static void on_face(pl_work *w, int law, int vertex, int item, const spot *at, int sign) {
  const int *v = vertices_of(w->T, item);
  double n[3];
  normal_of(w, item, n);
  const double side = sign * dot3(n, at->y) < 0 ? -1 : 1, share = pl_share_on(w, vertex, n);
  if (share < 1e-6) return;
  pl_touch *t = pl_new_touch(w, law, key_of(w->T, vertex, w->T->n_vertex + item), share);
  if (!t) return;
  t->parameters = 2, t->oriented = 1;
  for (int k = 0; k < 3; ++k) t->n[k] = side * n[k];
  pl_touch_vertex(t, vertex, 1, 0, 0), pl_touch_vertex(t, v[0], at->s + at->r - 1, 1, 1);
  pl_touch_vertex(t, v[1], -at->s, -1, 0), pl_touch_vertex(t, v[2], -at->r, 0, -1);
  pl_finish_touch(w, t);
}

/* Corners and edges of two solids: only if the vertex is the extreme one of its solid towards the other. */
static int shows(const pl_work *w, int vertex, const spot *at) {
  const double back[3] = {-at->y[0], -at->y[1], -at->y[2]};
  const int kind = w->T->shape_kind[w->T->vertex_shape[vertex]];
  return kind == PL_SHAPE_FACES ? is_outermost(w, vertex, back) : kind != PL_SHAPE_SIDE;
}

/* The same closest point as one of its triangle. */
static spot within_face(const pl_work *w, int vertex, int item, const spot *at) {
  spot found = *at;
  const double *x = place_of(w, vertex);
  found.feature = 0;
  found.s = share_across(w, w->T->item_edge[3 * item + 2], item, x), found.r = share_across(w, w->T->item_edge[3 * item], item, x);
  return found;
}

static void touch(pl_work *w, int law, int vertex, int item, const spot *at, int sign) {
  const pl_tables *T = w->T;
  const int own = T->shape_kind[T->vertex_shape[vertex]];
  if (!at->feature) {
    on_face(w, law, vertex, item, at, sign);
    return;
  }
  if (at->feature <= 3 && T->shape_closed[T->item_shape[item]] && !T->edge_sharp[T->item_edge[3 * item + at->feature - 1]]) {
    const spot flat = within_face(w, vertex, item, at); /* the triangles at both sides of the edge are one face */
    on_face(w, law, vertex, item, &flat, sign);
    return;
  }
  if (sign > 0 && !shows(w, vertex, at)) return;
  if (at->feature <= 3) {
    const int edge = T->item_edge[3 * item + at->feature - 1];
    const double share = pl_share_along(w, vertex, ends_of(T, edge));
    if (share > 1e-6) pl_vertex_edge(w, law, vertex, ends_of(T, edge), T->n_item + edge, at->s, share, sign);
  } else {
    const int other = vertices_of(T, item)[at->feature - 4];
    if (own == PL_SHAPE_FACES && other < vertex) return; /* found from both sides */
    pl_vertex_vertex(w, law, vertex, other, 1);
  }
}

static int are_adjacent(const pl_tables *T, int vertex, int item) {
  if (T->vertex_shape[vertex] != T->item_shape[item]) return 0;
  for (int k = T->around_begin[vertex]; k < T->around_begin[vertex + 1]; ++k)
    for (int j = 0; j < size_of(T, T->around[k]); ++j)
      if (vertex_in(T, item, vertices_of(T, T->around[k])[j])) return 1;
  return 0;
}

static void note(pl_contacts *c, pl_near near) {
  if (c->n_near == c->near_capacity) {
    const int capacity = 2 * c->near_capacity + 64;
    pl_near *grown = (pl_near *)realloc(c->near, (size_t)capacity * sizeof *grown);
    if (!grown) {
      c->failed = 1;
      return;
    }
    c->near = grown, c->near_capacity = capacity;
  }
  c->near[c->n_near++] = near;
}

/* Distance from a vertex beyond which surfaces are irrelevant [m]. */
static double reach_of(const pl_work *w, int vertex, int item) {
  const pl_tables *T = w->T;
  const int shape = T->item_shape[item];
  double radius = 0;
  for (int k = 0; k < size_of(T, item); ++k) radius = fmax(radius, number_of(w, vertices_of(T, item)[k], VERTEX_RADIUS));
  const double both = radius + number_of(w, vertex, VERTEX_RADIUS) + w->contacts->reach;
  return T->shape_closed[shape] ? fmax(both, w->theta[T->shape_theta[shape]]) : both;
}

/* Height over the plane of a triangle: a lower bound of the distance. */
static double height_over(const pl_work *w, int item, const double *x) {
  const int *v = vertices_of(w->T, item);
  double a[3], b[3], to[3], n[3];
  if (v[2] < 0) return 0;
  difference(place_of(w, v[1]), place_of(w, v[0]), a), difference(place_of(w, v[2]), place_of(w, v[0]), b);
  difference(x, place_of(w, v[0]), to);
  cross3(a, b, n);
  return fabs(dot3(n, to)) / sqrt(dot3(n, n));
}

static void vertex_item(pl_work *w, int law, int vertex, int item) {
  const pl_tables *T = w->T;
  const int shape = T->item_shape[item];
  const double *x = place_of(w, vertex), reach = reach_of(w, vertex, item);
  spot at;
  if (height_over(w, item, x) > reach || are_adjacent(T, vertex, item)) return;
  nearest(w, item, x, &at);
  if (at.distance > reach || !is_smallest(w, item, x, &at)) return;
  if (!T->shape_closed[shape]) {
    if (at.distance > 0) touch(w, law, vertex, item, &at, 1);
    return;
  }
  const int side = side_of(w, item, &at);
  if (side > 0 || (side < 0 && at.distance <= w->theta[T->shape_theta[shape]]))
    note(w->contacts, PL_VALUE(pl_near){vertex, shape, item, side < 0, at.distance});
}

static int by_distance(const void *a, const void *b) {
  const pl_near *x = (const pl_near *)a, *y = (const pl_near *)b;
  if (x->vertex != y->vertex) return x->vertex < y->vertex ? -1 : 1;
  if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

void pl_contact_solids(pl_work *w) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  if (!c->n_near) return;
  if (c->n_near) qsort(c->near, c->n_near, sizeof *c->near, by_distance);
  int inside = 0;
  for (int i = 0; i < c->n_near; ++i) {
    const pl_near *at = c->near + i;
    const int first = !i || at[-1].vertex != at->vertex || at[-1].shape != at->shape;
    spot here;
    if (first) inside = at->inside;
    else if (inside || at->inside) continue;
    nearest(w, at->item, place_of(w, at->vertex), &here);
    touch(w, law_between(T, T->vertex_shape[at->vertex], at->shape), at->vertex, at->item, &here, inside ? -1 : 1);
  }
}

/* -- edges that cross -------------------------------------------------------------------------------------------------- */

/* Edges assigned to an item, as their ends and number among items and edges, and the edge of a surface or -1. */
typedef struct {
  const int *end;
  int number, edge;
} side;

static int own_edges(const pl_tables *T, int item, side *out) {
  const int shape = T->item_shape[item];
  int n = 0;
  if (is_chain(T, shape)) {
    out[0] = PL_VALUE(side){vertices_of(T, item), item, -1};
    return 1;
  }
  for (int k = 0; k < 3 && T->shape_kind[shape] == PL_SHAPE_FACES; ++k) {
    const int edge = T->item_edge[3 * item + k];
    if (edge >= 0 && T->edge_face[2 * edge] == item && T->edge_sharp[edge]) out[n++] = PL_VALUE(side){ends_of(T, edge), T->n_item + edge, edge};
  }
  return n;
}

/* Whether a direction from an edge points away from all its triangles, up to a tolerance. */
static int leaves(const pl_work *w, int edge, const double *n) {
  for (int k = 0; k < 2 && edge >= 0; ++k) {
    const int face = w->T->edge_face[2 * edge + k];
    double t[3];
    if (face < 0 || size_of(w->T, face) < 3) continue;
    inward(w, edge, face, t);
    if (dot3(n, t) > TILT * sqrt(dot3(t, t))) return 0;
  }
  return 1;
}

/* Whether crossing edges touch, with y from one to the other: 1 if this direction points away from their triangles; -1 if it did
 * at the beginning of the step, and they have passed through each other since. */
static int way_of(const pl_work *w, const side *a, const side *b, const double *y) {
  const pl_tables *T = w->T;
  const double size = sqrt(dot3(y, y));
  if (!(size > 0)) return 0;
  const double out[3] = {y[0] / size, y[1] / size, y[2] / size}, back[3] = {-out[0], -out[1], -out[2]};
  if (leaves(w, a->edge, back) && leaves(w, b->edge, out)) return 1;
  const pl_remembered *old = pl_remembered_contact(w->contacts->memory, key_of(T, T->n_vertex + a->number, T->n_vertex + b->number));
  return old && leaves(w, a->edge, out) && leaves(w, b->edge, back) ? -1 : 0;
}

/* Share of an edge around a section of a rod: its part of the rod's length. That of other edges is 1. */
static double share_across_rod(const pl_work *w, const side *s) {
  const pl_tables *T = w->T;
  const int shape = T->vertex_shape[s->end[0]], first = T->shape_vertex[shape], around = T->shape_corners[shape];
  if (!around || (s->end[0] - first) / around != (s->end[1] - first) / around) return 1;
  return number_of(w, s->end[0], VERTEX_SHARE) + number_of(w, s->end[1], VERTEX_SHARE);
}

static void cross_edges(pl_work *w, int law, int i, int j) {
  side a[3], b[3];
  const int n = own_edges(w->T, i, a), m = own_edges(w->T, j, b);
  for (int k = 0; k < n; ++k)
    for (int l = 0; l < m; ++l) {
      double s, r, sine, y[3];
      if (!pl_crossing(w, a[k].end, b[l].end, &s, &r, &sine, y)) continue;
      if (fmin(fmin(s, 1 - s), fmin(r, 1 - r)) <= AT_END) continue; /* assigned to their ends */
      double share = a[k].edge < 0 || b[l].edge < 0 ? sine : fmin(1, 10 * sine);
      share *= share_across_rod(w, a + k) * share_across_rod(w, b + l);
      const int way = way_of(w, a + k, b + l, y);
      if (way) pl_edge_edge(w, law, a[k].end, a[k].number, b[l].end, b[l].number, s, r, share, way);
    }
}

/* Vertices assigned to an item. */
static int own_vertices(const pl_tables *T, int item, int *out) {
  int n = 0;
  for (int k = 0; k < size_of(T, item); ++k)
    if (T->vertex_item[vertices_of(T, item)[k]] == item) out[n++] = vertices_of(T, item)[k];
  return n;
}

static void vertices_chain(pl_work *w, int law, int item, int edge) {
  const pl_tables *T = w->T;
  int own[3];
  for (int k = 0, n = own_vertices(T, item, own); k < n; ++k) {
    const int *end = vertices_of(T, edge);
    double e[3], to[3];
    difference(place_of(w, end[1]), place_of(w, end[0]), e), difference(place_of(w, own[k]), place_of(w, end[0]), to);
    const double s = dot3(to, e) / dot3(e, e);
    spot at = {.feature = 1, .s = s};
    for (int l = 0; l < 3; ++l) at.y[l] = to[l] - s * e[l];
    if (s > 0 && s < 1 && shows(w, own[k], &at)) pl_vertex_edge(w, law, own[k], end, edge, s, number_of(w, own[k], VERTEX_SHARE), 1);
  }
}

void pl_contact_faces(pl_work *w, int law, int i, int j) {
  const pl_tables *T = w->T;
  int own[3];
  cross_edges(w, law, i, j);
  for (int turn = 0; turn < 2; ++turn) {
    const int from = turn ? j : i, to = turn ? i : j;
    if (T->shape_kind[T->item_shape[to]] == PL_SHAPE_FACES)
      for (int k = 0, n = own_vertices(T, from, own); k < n; ++k) vertex_item(w, law, own[k], to);
    else if (is_chain(T, T->item_shape[to]))
      vertices_chain(w, law, from, to);
  }
}
