/* Iterations of Newton's method with factors of an earlier matrix, improved by what the iterations since then have shown
 * (Broyden's update in the form of Kelley, Iterative Methods for Linear and Nonlinear Equations, 1995, section 7.3): only the
 * changes of the unknowns are stored. Lengths are measured by the inertia of each coordinate, so that rotations and displacements
 * of one node stand side by side; multipliers have none and go along. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "integrate.h"

static void place(pl_secant *s, pl_memory *m) {
  s->steps = pl_doubles(m, (size_t)PL_SECANT_DEPTH * s->size), s->weight = pl_doubles(m, s->n);
}

pl_secant *pl_secant_new(int n, int rows) {
  pl_memory m = {0};
  pl_secant *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->n = n, s->size = n + rows;
  pl_secant_forget(s);
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

void pl_secant_restart(pl_secant *s, pl_work *w, double scale) {
  s->count = 0, s->excess = 0, s->factorization = w->factorizations, s->scale = scale;
  pl_step_inertias(w, s->weight);
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
