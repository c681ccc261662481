/* The matrix of an implicit step, and what a step needs beside it: the one place that knows in which form it is kept. */
#include <string.h>

#include "integrate.h"

void pl_step_linearize(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_linearized(w, t, q, v, a, lambda);
}

int pl_step_matrix(pl_work *w, double cM, double cC, double cK, const double *blocks, const double *rows) {
  const pl_tables *T = w->T;
  pl_assemble(w, cM, cC, cK);
  pl_turn_columns(w, cM, cC, blocks);
  for (int n = 0; rows && n < T->nnz_j; ++n)
    if (w->row_active[T->j_row[n]]) w->kkt[T->kkt_of_j[n]] = rows[n];
  return pl_factor(w);
}

int pl_step_mass_matrix(pl_work *w) {
  pl_mass_matrix(w);
  pl_assemble(w, 1, 0, 0);
  return pl_factor(w);
}

void pl_step_solve(pl_work *w, double *x) { pl_linear_solve(w->linear, x); }

void pl_step_product(pl_work *w, const double *a, const double *v, double *y) {
  const pl_tables *T = w->T;
  memset(y, 0, T->nv * sizeof(double));
  for (int j = 0; j < T->nv; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k) y[T->row[k]] += w->M[k] * a[j] + (v ? w->C[k] * v[j] : 0);
}
