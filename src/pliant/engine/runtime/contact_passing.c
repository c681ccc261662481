/* Detection of surfaces that have passed through each other within a step: thin, fast ones may be on opposite sides at its
 * beginning and its end, without contact at either. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact_geometry.h"
#include "spatial.h"

#define HALFWAY 0.1  /* fraction of both radii: closer axes have almost passed each other */
#define HARMLESS 0.5 /* fraction of the smallest radius: smaller motions within a step cannot pass through anything */
#define GRAZING 0.02 /* fraction of both radii: contacts of smaller depth may be passed over */
enum { ADVANCES = 64 }; /* smallest fraction of a step by which the search for a contact within it advances */

static double radius_of(const pl_work *w, int item) {
  return w->theta[w->T->vertex_theta[w->T->item_vertex[3 * item]] + 3];
}

static double clamp(double x) { return fmin(1, fmax(0, x)); }

/* Vector from the closest point of edge b to that of edge a (after Ericson, Real-Time Collision Detection, 2005, section 5.1.9);
 * vertices are edges with coincident ends. */
static void nearest(const double *a0, const double *a1, const double *b0, const double *b1, double *y) {
  double e[3], f[3], r[3], s = 0, t = 0;
  for (int k = 0; k < 3; ++k) e[k] = a1[k] - a0[k], f[k] = b1[k] - b0[k], r[k] = a0[k] - b0[k];
  const double ee = dot3(e, e), ff = dot3(f, f), ef = dot3(e, f), er = dot3(e, r), fr = dot3(f, r);
  const double det = ee * ff - ef * ef;
  if (det > 1e-12 * ee * ff) s = clamp((ef * fr - er * ff) / det);
  if (ff > 0) t = (ef * s + fr) / ff;
  if (t < 0 || t > 1 || !(ff > 0)) {
    t = clamp(t);
    if (ee > 0) s = clamp((ef * t - er) / ee);
  }
  for (int k = 0; k < 3; ++k) y[k] = r[k] + s * e[k] - t * f[k];
}

static const double *end_of(const pl_tables *T, const double *x, int item, int end) {
  const int vertex = T->item_vertex[3 * item + end];
  return x + 3 * (vertex < 0 ? T->item_vertex[3 * item] : vertex);
}

/* Whether two items have passed through each other between x0 and x. */
static int pair_passed(const pl_work *w, const double *x0, const double *x, int i, int j) {
  const pl_tables *T = w->T;
  double before[3], after[3], way[3];
  nearest(end_of(T, x0, i, 0), end_of(T, x0, i, 1), end_of(T, x0, j, 0), end_of(T, x0, j, 1), before);
  nearest(end_of(T, x, i, 0), end_of(T, x, i, 1), end_of(T, x, j, 0), end_of(T, x, j, 1), after);
  const double inside = HALFWAY * (radius_of(w, i) + radius_of(w, j));
  if (dot3(after, after) < inside * inside) return 1; /* another such step would end on the other side */
  if (dot3(before, after) >= 0) return 0;
  for (int k = 0; k < 3; ++k) way[k] = after[k] - before[k];
  /* smallest distance from zero along the straight line between both, relative to its length */
  const double along = -dot3(before, way) / dot3(way, way);
  double miss[3];
  for (int k = 0; k < 3; ++k) miss[k] = before[k] + clamp(along) * way[k];
  return dot3(miss, miss) < 0.25 * fmin(dot3(before, before), dot3(after, after));
}

/* Height of a point over a triangle, and whether its projection is outside. */
static double height_over(const double *const *v, const double *x, int *beside) {
  double e[3], f[3], n[3], to[3];
  for (int k = 0; k < 3; ++k) e[k] = v[1][k] - v[0][k], f[k] = v[2][k] - v[0][k], to[k] = x[k] - v[0][k];
  cross3(e, f, n);
  const double nn = dot3(n, n);
  double ef[3], fe[3];
  cross3(to, f, ef), cross3(e, to, fe);
  const double s = dot3(ef, n) / nn, r = dot3(fe, n) / nn;
  *beside = !(s >= 0 && r >= 0 && s + r <= 1);
  return dot3(to, n) / sqrt(nn);
}

/* Whether a vertex of item i went through the triangle j: it is on the other side, and its path crosses the triangle. */
static int went_through(const pl_work *w, const double *x0, const double *x, int i, int j) {
  const int *corner = w->T->item_vertex + 3 * j;
  const double *before[3], *after[3];
  for (int k = 0; k < 3; ++k) before[k] = x0 + 3 * corner[k], after[k] = x + 3 * corner[k];
  for (int k = 0; k < 3 && w->T->item_vertex[3 * i + k] >= 0; ++k) {
    const int vertex = w->T->item_vertex[3 * i + k];
    int beside, beside_before;
    const double h0 = height_over(before, x0 + 3 * vertex, &beside_before), h = height_over(after, x + 3 * vertex, &beside);
    if (h0 * h < 0 && !beside && !beside_before) return 1;
  }
  return 0;
}

/* -- contacts within a step that has none at its ends --------------------------------------------------------------------- */

/* The corners of an item, at a fraction of the step on straight paths. */
typedef struct {
  int n;
  double x[3][3];
} simplex;

static simplex simplex_at(const pl_work *w, const double *x0, const double *x, int item, double s) {
  simplex out;
  out.n = size_of(w->T, item);
  for (int j = 0; j < out.n; ++j)
    for (int k = 0; k < 3; ++k) {
      const size_t at = 3 * (size_t)w->T->item_vertex[3 * item + j] + k;
      out.x[j][k] = x0[at] + s * (x[at] - x0[at]);
    }
  return out;
}

/* Smallest squared distance of corners of a from the inside of the triangle b. */
static double over_face(const simplex *a, const simplex *b, double least) {
  const double *corner[3] = {b->x[0], b->x[1], b->x[2]};
  for (int j = 0; j < a->n && b->n == 3; ++j) {
    int beside;
    const double h = height_over(corner, a->x[j], &beside);
    if (!beside) least = fmin(least, h * h);
  }
  return least;
}

/* Distance of two items that do not intersect. */
static double distance_of(const simplex *a, const simplex *b) {
  const int sides_a = a->n == 3 ? 3 : 1, sides_b = b->n == 3 ? 3 : 1;
  double least = INFINITY, y[3];
  for (int i = 0; i < sides_a; ++i)
    for (int j = 0; j < sides_b; ++j) {
      nearest(a->x[i], a->x[(i + 1) % a->n], b->x[j], b->x[(j + 1) % b->n], y);
      least = fmin(least, dot3(y, y));
    }
  return sqrt(over_face(b, a, over_face(a, b, least)));
}

/* Upper bound of the relative displacement of points of two items within the step. */
static double relative_way(const pl_work *w, const double *x0, const double *x, int i, int j) {
  double most = 0;
  for (int a = 0; a < size_of(w->T, i); ++a)
    for (int b = 0; b < size_of(w->T, j); ++b) {
      const size_t u = 3 * (size_t)w->T->item_vertex[3 * i + a], v = 3 * (size_t)w->T->item_vertex[3 * j + b];
      double way[3];
      for (int k = 0; k < 3; ++k) way[k] = x[u + k] - x0[u + k] - (x[v + k] - x0[v + k]);
      most = fmax(most, dot3(way, way));
    }
  return sqrt(most);
}

/* Whether two items touch within the step, but at neither end of it: by conservative advancement (Mirtich, 1996), which moves on by
 * the time in which their distance cannot vanish. */
static int touched_between(const pl_work *w, const double *x0, const double *x, int i, int j) {
  const double both = radius_of(w, i) + radius_of(w, j), way = relative_way(w, x0, x, i, j);
  if (way <= HARMLESS * w->contacts->thinnest) return 0;
  const double close = (1 - GRAZING) * both + (both < 2 * way / ADVANCES ? way / ADVANCES : 0);
  double s = 0;
  for (int ends = 1; ends >= 0; --ends) {
    const simplex a = simplex_at(w, x0, x, i, ends), b = simplex_at(w, x0, x, j, ends);
    const double gap = distance_of(&a, &b) - close;
    if (gap <= 0) return 0;
    if (!ends) s = gap / way;
  }
  while (s < 1) {
    const simplex a = simplex_at(w, x0, x, i, s), b = simplex_at(w, x0, x, j, s);
    const double gap = distance_of(&a, &b) - close;
    if (gap <= 0) return 1;
    s += fmax(gap / way, 1.0 / ADVANCES);
  }
  return 0;
}

/* The shape of one side of a contact, from its part of the key. */
static int shape_of(const pl_tables *T, long long part) {
  if (part < T->n_vertex) return T->vertex_shape[part];
  if (part < (long long)T->n_vertex + T->n_item) return T->item_shape[part - T->n_vertex];
  return T->vertex_shape[T->edge_vertex[2 * (part - T->n_vertex - T->n_item)]];
}

static int is_between(const pl_tables *T, long long key, int a, int b) {
  const long long base = (long long)T->n_vertex + T->n_item + T->n_edge;
  const int first = shape_of(T, key / base), second = shape_of(T, key % base);
  return (first == a && second == b) || (first == b && second == a);
}

/* Whether two rigid shapes are in contact at the beginning or at the end of the step: then it resolves their contact. */
static int are_in_contact(const pl_work *w, const pl_contact_memory *m, int a, int b) {
  const pl_contacts *c = w->contacts;
  if (w->T->shape_node[a] < 0 || w->T->shape_node[b] < 0) return 0;
  for (int i = 0; i < c->n; ++i)
    if (is_between(w->T, c->touch[i].key, a, b)) return 1;
  for (int i = 0; i < m->count; ++i)
    if (is_between(w->T, m->entry[i].key, a, b)) return 1;
  return 0;
}

/* Whether a vertex of item i entered the solid of triangle j so deep that the shortest way out may be another one. */
static int went_deep(const pl_work *w, const double *x0, const double *x, int i, int j) {
  const pl_tables *T = w->T;
  const int *corner = T->item_vertex + 3 * j;
  const double limit = 0.5 * w->theta[T->shape_theta[T->item_shape[j]]];
  const double *before[3], *after[3], *then[3];
  double middle[3][3], point[3];
  for (int k = 0; k < 3; ++k) before[k] = x0 + 3 * (size_t)corner[k], after[k] = x + 3 * (size_t)corner[k], then[k] = middle[k];
  for (int a = 0; a < size_of(T, i); ++a) {
    const size_t at = 3 * (size_t)T->item_vertex[3 * i + a];
    int beside;
    const double h0 = height_over(before, x0 + at, &beside), h = height_over(after, x + at, &beside);
    if (!(h0 >= 0 && h < -limit)) continue;
    const double s = h0 / (h0 - h);
    for (int k = 0; k < 3; ++k) {
      point[k] = x0[at + k] + s * (x[at + k] - x0[at + k]);
      for (int l = 0; l < 3; ++l) middle[l][k] = before[l][k] + s * (after[l][k] - before[l][k]);
    }
    height_over(then, point, &beside);
    if (!beside) return 1;
  }
  return 0;
}

/* Triangles of a surface that encloses nothing; vertices within a solid are repelled up to its depth. */
static int is_face(const pl_tables *T, int item) { return T->item_vertex[3 * item + 2] >= 0; }
static int is_solid(const pl_tables *T, int item) { return is_face(T, item) && T->shape_closed[T->item_shape[item]]; }
static int is_sheet(const pl_tables *T, int item) { return is_face(T, item) && !T->shape_closed[T->item_shape[item]]; }

int pl_contact_passed(pl_work *w, const pl_contact_memory *m) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  if (pl_contact_way(w, m) <= HARMLESS * c->thinnest) return 0;
  pl_contact_ways(w, m);
  int passed = 0, a = -1, b = -1, touching = 0;
  for (int k = 0; k < c->items.n && !passed; ++k) {
    const int i = c->items.pair[2 * k], j = c->items.pair[2 * k + 1];
    if (!is_face(T, i) && !is_face(T, j)) passed = pair_passed(w, c->x_before, c->x, i, j);
    if (is_sheet(T, j)) passed = passed || went_through(w, c->x_before, c->x, i, j);
    if (is_sheet(T, i)) passed = passed || went_through(w, c->x_before, c->x, j, i);
    if (is_solid(T, j)) passed = passed || went_deep(w, c->x_before, c->x, i, j);
    if (is_solid(T, i)) passed = passed || went_deep(w, c->x_before, c->x, j, i);
    if (passed) break;
    if (T->item_shape[i] != a || T->item_shape[j] != b) {
      a = T->item_shape[i], b = T->item_shape[j];
      touching = a == b || are_in_contact(w, m, a, b);
    }
    if (!touching) passed = touched_between(w, c->x_before, c->x, i, j);
  }
  return passed;
}
