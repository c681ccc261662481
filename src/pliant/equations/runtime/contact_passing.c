/* Whether surfaces have passed through one another within a step: thin ones that are fast may be on one side at its beginning, on the
 * other at its end, and touch at neither. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "spatial.h"

#define HALFWAY 0.1  /* of both radii: axes so near have all but passed each other */
#define HARMLESS 0.5 /* of the smallest radius: what moves less within a step passes through nothing */

static inline double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double radius_of(const pl_work *w, int item) {
  return w->theta[w->T->vertex_theta[w->T->item_vertex[3 * item]] + 3];
}

static double clamp(double x) { return fmin(1, fmax(0, x)); }

/* From the nearest point of edge b to that of edge a (after Ericson, Real-Time Collision Detection, 2005, section 5.1.9); vertices
 * are edges whose ends are the same. */
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

/* Whether two items are on the other side of each other at x than at x0, along a way that led through. */
static int pair_passed(const pl_work *w, const double *x0, const double *x, int i, int j) {
  const pl_tables *T = w->T;
  double before[3], after[3], way[3];
  nearest(end_of(T, x0, i, 0), end_of(T, x0, i, 1), end_of(T, x0, j, 0), end_of(T, x0, j, 1), before);
  nearest(end_of(T, x, i, 0), end_of(T, x, i, 1), end_of(T, x, j, 0), end_of(T, x, j, 1), after);
  const double inside = HALFWAY * (radius_of(w, i) + radius_of(w, j));
  if (dot3(after, after) < inside * inside) return 1; /* one more step like this would lead out on the other side */
  if (dot3(before, after) >= 0) return 0;
  for (int k = 0; k < 3; ++k) way[k] = after[k] - before[k];
  /* the nearest that the straight way from one to the other comes to zero, against how far it goes */
  const double along = -dot3(before, way) / dot3(way, way);
  double miss[3];
  for (int k = 0; k < 3; ++k) miss[k] = before[k] + clamp(along) * way[k];
  return dot3(miss, miss) < 0.25 * fmin(dot3(before, before), dot3(after, after));
}

/* Places of all vertices at the beginning of the step; returns how far the fastest has come since. */
static double places_before(const pl_work *w, const pl_contact_memory *m, double *x0) {
  const pl_tables *T = w->T;
  double most = 0;
  for (int i = 0; i < T->n_vertex; ++i) {
    const int node = T->vertex_node[i];
    double *x = x0 + 3 * i, way = 0;
    rotate3(m->R + 9 * node, w->theta + T->vertex_theta[i], x);
    for (int k = 0; k < 3; ++k) {
      x[k] += m->p[3 * node + k];
      way += (x[k] - w->contacts->x[3 * i + k]) * (x[k] - w->contacts->x[3 * i + k]);
    }
    most = fmax(most, way);
  }
  return sqrt(most);
}

static double smallest_radius(const pl_work *w) {
  double smallest = INFINITY;
  for (int i = 0; i < w->T->n_item; ++i)
    for (int k = 0; k < 3; ++k) {
      const int vertex = w->T->item_vertex[3 * i + k];
      if (vertex >= 0) smallest = fmin(smallest, w->theta[w->T->vertex_theta[vertex] + 3]);
    }
  return smallest;
}

static void boxes_of_ways(const pl_work *w, const double *x0) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  for (int i = 0; i < T->n_item; ++i)
    for (int k = 0; k < 3; ++k) {
      double low = INFINITY, high = -INFINITY;
      for (int j = 0; j < 3; ++j) {
        const int vertex = T->item_vertex[3 * i + j];
        if (vertex < 0) break;
        low = fmin(low, fmin(x0[3 * vertex + k], c->x[3 * vertex + k]));
        high = fmax(high, fmax(x0[3 * vertex + k], c->x[3 * vertex + k]));
      }
      c->low[3 * i + k] = low, c->high[3 * i + k] = high;
    }
}

int pl_contact_passed(pl_work *w, const pl_contact_memory *m) {
  const pl_tables *T = w->T;
  pl_contacts *c = w->contacts;
  double *x0 = c->x_before;
  if (places_before(w, m, x0) <= HARMLESS * smallest_radius(w)) return 0;
  boxes_of_ways(w, x0);
  pl_contact_pairs(w);
  int passed = 0;
  for (int k = 0; k < c->n_pair && !passed; ++k) {
    const int i = c->pair[2 * k], j = c->pair[2 * k + 1];
    if (T->item_vertex[3 * i + 2] < 0 && T->item_vertex[3 * j + 2] < 0) passed = pair_passed(w, x0, c->x, i, j);
  }
  c->listed = 0; /* these are other pairs */
  return passed;
}
