/* Steps of Newton's method with factors of an earlier matrix, improved by what the steps since then have shown (Broyden's
 * update in the form of Kelley, Iterative Methods for Linear and Nonlinear Equations, 1995, section 7.3): only the steps
 * themselves are stored. Lengths are measured by the inertia of each coordinate, so that rotations and displacements of
 * one node stand side by side. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "integrate.h"

static void place(pl_secant *s, pl_memory *m) {
  s->steps = pl_doubles(m, (size_t)PL_SECANT_DEPTH * s->n), s->weight = pl_doubles(m, s->n);
}

pl_secant *pl_secant_new(int n) {
  pl_memory m = {0};
  pl_secant *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->n = n;
  place(s, &m);
  s->block = pl_block(&m);
  if (!s->block) {
    free(s);
    return NULL;
  }
  place(s, &m);
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

void pl_secant_restart(pl_secant *s, pl_work *w) {
  s->count = 0;
  pl_step_inertias(w, s->weight);
}

void pl_secant_add(pl_secant *s, const double *step) {
  double *own = s->steps + (size_t)s->n * s->count;
  memcpy(own, step, s->n * sizeof(double));
  s->square[s->count++] = product(s, own, own);
}

void pl_secant_improve(const pl_secant *s, double *x) {
  for (int j = 0; j < s->count; ++j) {
    const double *own = s->steps + (size_t)s->n * j, share = product(s, own, x) / s->square[j];
    if (j + 1 < s->count) {
      const double *next = own + s->n;
      for (int i = 0; i < s->n; ++i) x[i] += share * next[i];
    } else
      for (int i = 0; i < s->n; ++i) x[i] /= 1 - share;
  }
}
