/* The fastest vibration or decay about a state, which limits the steps of explicit methods. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pliant.h"

enum { ITERATIONS = 25 };

/* A direction that is not orthogonal to any mode; the same each time. */
static void begin(double *x, int n) {
  unsigned long state = 1;
  for (int i = 0; i < n; ++i) {
    state = (state * 1103515245UL + 12345UL) & 0x7fffffffUL;
    x[i] = (double)state / 0x40000000UL - 1;
  }
}

/* Largest |eigenvalue| of the accelerations that the forces A x cause, by power iterations with the factors of
 * [M, -J'; J, 0]. x has nv numbers, y nv + m. */
static double largest(pl_work *w, const double *A, double *x, double *y) {
  const pl_tables *T = w->T;
  double size = 0;
  begin(x, T->nv);
  for (int k = 0; k < ITERATIONS; ++k) {
    memset(y, 0, (T->nv + T->m) * sizeof(double));
    for (int j = 0; j < T->nv; ++j)
      for (int n = T->colptr[j]; n < T->colptr[j + 1]; ++n) y[T->row[n]] += A[n] * x[j];
    pl_linear_solve(w->saddle->linear, y);
    size = 0;
    for (int i = 0; i < T->nv; ++i) size += y[i] * y[i];
    size = sqrt(size);
    if (!(size > 0 && size < INFINITY)) return size;
    for (int i = 0; i < T->nv; ++i) x[i] = y[i] / size;
  }
  return size;
}

/* Its magnitude [1/s]; infinite if a coordinate has no mass. */
int pl_call_fastest_rate(pl_work *w, const pl_arguments *x, double *const *out) {
  const pl_tables *T = w->T;
  double *a = (double *)calloc((size_t)3 * T->nv + 2 * T->m + 1, sizeof(double));
  if (!a) return PL_OUT_OF_MEMORY;
  double *lambda = a + T->nv, *direction = lambda + T->m, *change = direction + T->nv;
  int status = pl_forward(w, x->t, x->q, x->v, a);
  if (!status) {
    memcpy(lambda, w->lambda, T->m * sizeof(double));
    status = pl_linearized(w, x->t, x->q, x->v, a, lambda);
  }
  if (!status) status = pl_assemble(w, 1, 0, 0, NULL);
  if (!status) {
    pl_begin(w); /* scales and pivots independent of earlier factorizations */
    out[0][0] = INFINITY;
    if (!pl_factor_mass(w)) {
      const double stiff = sqrt(largest(w, w->K, direction, change)), damped = largest(w, w->C, direction, change);
      out[0][0] = fmax(stiff, damped);
    }
  }
  free(a);
  return status;
}
