/* Iterations of Newton's method with factors of an earlier matrix, improved by the iterations since then (Broyden's update in the
 * form of
 * Kelley, Iterative Methods for Linear and Nonlinear Equations, 1995, section 7.3): only the changes of the unknowns are stored.
 * Lengths are weighted by the inertia of each coordinate, so that rotations and displacements of a node are comparable; multipliers
 * have no weight.
 *
 * Free nodes are displaced along axes of the ground, but their stiffness is constant in their own axes: if a rod swings, the matrix
 * rotates with it. So factors can be reused longer if they are rotated too: with Q the rotations of all nodes' displacements
 * since the
 * factorization, Q A Q' is closer to the matrix of the current state than A, and has the same factors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "integrate.h"
#include "spatial.h"

static void place(pl_secant *s, pl_memory *m) {
  s->steps = pl_doubles(m, (size_t)PL_SECANT_DEPTH * s->size), s->weight = pl_doubles(m, s->n);
  s->axes = pl_doubles(m, 9 * (size_t)s->nodes), s->turn = pl_doubles(m, 9 * (size_t)s->nodes), s->node = pl_ints(m, s->nodes);
}

/* Whether a node has displacements along axes of the ground and a free rotation. */
static int is_free(const pl_tables *T, int g) {
  const int e = T->node_elem[g];
  if (T->elem_base[e] || T->elem_nodes[e] != 1) return 0;
  return T->node_form[g] == PL_MOTION_FREE || T->node_form[g] == PL_MOTION_PLANAR_XZ || T->node_form[g] == PL_MOTION_PLANAR_YZ;
}

pl_secant *pl_secant_new(const pl_tables *T) {
  pl_memory m = {0};
  pl_secant *s = (pl_secant *)calloc(1, sizeof *s);
  if (!s) return NULL;
  s->n = T->nv, s->size = T->nv + T->m;
  for (int g = 1; g < T->n_node; ++g) s->nodes += is_free(T, g);
  pl_secant_forget(s);
  place(s, &m);
  s->block = pl_block(&m);
  if (!s->block) {
    free(s);
    return NULL;
  }
  place(s, &m);
  for (int g = 1, k = 0; g < T->n_node; ++g)
    if (is_free(T, g)) s->node[k++] = g;
  return s;
}

void pl_secant_free(pl_secant *s) {
  if (!s) return;
  free(s->block), free(s);
}

static double product(const pl_secant *s, const double *a, const double *b) {
  double y = 0;
  for (int i = 0; i < s->n; ++i) y += s->weight[i] * a[i] * b[i];
  return y;
}

void pl_secant_restart(pl_secant *s, pl_work *w, double scale) {
  s->count = 0, s->excess = 0, s->factorization = w->factorizations, s->scale = scale;
  pl_step_inertias(w, s->weight);
  for (int k = 0; k < s->nodes; ++k) memcpy(s->axes + 9 * k, w->R + 9 * s->node[k], 9 * sizeof(double));
  s->turned = 0;
}

/* P' (R now) (R then)' P, with P the axes of the displacements */
void pl_secant_turn(pl_secant *s, const pl_work *w) {
  const pl_tables *T = w->T;
  for (int k = 0; k < s->nodes; ++k) {
    const int g = s->node[k], n = pl_still_columns(T, T->node_elem[g], g);
    const double *S = w->S + T->node_s[g];
    for (int j = 0; j < n; ++j) {
      double then[3], now[3];
      for (int i = 0; i < 3; ++i) then[i] = dot3(s->axes + 9 * k + 3 * i, S + 6 * j);
      rotate3(w->R + 9 * g, then, now);
      for (int i = 0; i < n; ++i) s->turn[9 * k + 3 * j + i] = dot3(S + 6 * i, now);
    }
  }
  s->turned = 1;
}

void pl_secant_displace(const pl_secant *s, const pl_tables *T, int back, double *x) {
  for (int k = 0; s->turned && k < s->nodes; ++k) {
    const int g = s->node[k], e = T->node_elem[g], n = pl_still_columns(T, e, g), by_row = back ? 3 : 1, by_column = back ? 1 : 3;
    const double *Q = s->turn + 9 * k;
    double *z = x + T->elem_v[e], y[3] = {0};
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) y[i] += Q[by_column * j + by_row * i] * z[j];
    memcpy(z, y, n * sizeof(double));
  }
}

void pl_secant_solve(const pl_secant *s, pl_work *w, double *x) {
  pl_secant_displace(s, w->T, 1, x);
  pl_step_solve(w, x);
  pl_secant_displace(s, w->T, 0, x);
}

void pl_secant_forget(pl_secant *s) { s->factorization = -1; }

int pl_secant_serves(pl_secant *s, const pl_work *w, double scale, double tolerance) {
  s->count = 0;
  return s->factorization == w->factorizations && fabs(scale - s->scale) < tolerance * s->scale;
}

void pl_secant_add(pl_secant *s, const double *step) {
  if (s->count == PL_SECANT_DEPTH) return;
  double *own = s->steps + (size_t)s->size * s->count;
  memcpy(own, step, s->size * sizeof(double));
  s->square[s->count++] = product(s, own, own);
}

void pl_secant_improve(const pl_secant *s, double *x) {
  for (int j = 0; j < s->count; ++j) {
    const double *own = s->steps + (size_t)s->size * j, share = s->square[j] > 0 ? product(s, own, x) / s->square[j] : 0;
    if (j + 1 < s->count) {
      const double *next = own + s->size;
      for (int i = 0; i < s->size; ++i) x[i] += share * next[i];
    } else
      for (int i = 0; i < s->size; ++i) x[i] /= 1 - share;
  }
}
