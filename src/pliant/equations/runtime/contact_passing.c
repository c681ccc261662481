/* Detection of surfaces that have passed through each other within a step: thin, fast ones may be on opposite sides at its
 * beginning and its end, without contact at either. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "spatial.h"

#define HALFWAY 0.1  /* fraction of both radii: closer axes have almost passed each other */
#define HARMLESS 0.5 /* fraction of the smallest radius: smaller motions within a step cannot pass through anything */

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

/* For solids only exits through the far side matter: they repel vertices up to their known depth. */
static int is_sheet(const pl_tables *T, int item) { return T->item_vertex[3 * item + 2] >= 0 && !T->shape_closed[T->item_shape[item]]; }

int pl_contact_passed(pl_work *w, const pl_contact_memory *m) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  if (pl_contact_way(w, m) <= HARMLESS * c->thinnest) return 0;
  pl_contact_ways(w, m);
  int passed = 0;
  for (int k = 0; k < c->items.n && !passed; ++k) {
    const int i = c->items.pair[2 * k], j = c->items.pair[2 * k + 1];
    if (T->item_vertex[3 * i + 2] < 0 && T->item_vertex[3 * j + 2] < 0) passed = pair_passed(w, c->x_before, c->x, i, j);
    if (is_sheet(T, j)) passed = passed || went_through(w, c->x_before, c->x, i, j);
    if (is_sheet(T, i)) passed = passed || went_through(w, c->x_before, c->x, j, i);
  }
  return passed;
}
