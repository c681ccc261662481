/* The matrix of an implicit step, and related data: the only file that depends on the form in which it is stored.
 *
 * Assembled, on the system's pattern; or, for long chains, as recursions over the tree (tree_matrix.c), in which case the assembled
 * form is used if the recursions encounter an unacceptable pivot. */
#include <string.h>

#include "contact.h"
#include "integrate.h"
#include "tree_matrix.h"

void pl_step_linearize(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_evaluate(w, t, q, v);
  pl_step_linearize_here(w, q, v, a, lambda);
}

void pl_step_linearize_here(pl_work *w, const double *q, const double *v, const double *a, const double *lambda) {
  pl_unbalanced_here(w, q, v, a, lambda);
  pl_step_tangents(w, q, v, a, lambda);
}

void pl_step_tangents(pl_work *w, const double *q, const double *v, const double *a, const double *lambda) {
  if (w->tree && !(w->contacts && w->contacts->n)) {
    if (w->contacts) w->contacts->in_matrix = 0;
    pl_tree_linearize(w, q, v, a, lambda);
  } else pl_tangents(w, q, v, a, lambda);
}

int pl_step_matrix(pl_work *w, double cM, double cC, double cK, const double *blocks, const double *rows, int roughly) {
  const pl_tables *T = w->T;
  if (w->tree && !(w->contacts && w->contacts->in_matrix)) {
    w->factorizations++;
    w->by_tree = pl_tree_factor(w, cM, cC, cK, blocks, rows) == PL_OK;
    if (w->by_tree) return PL_OK;
    pl_tangents(w, w->tree->q, w->tree->v, w->tree->a, w->tree->lambda);
  }
  const int status = pl_assemble(w, cM, cC, cK, blocks);
  if (status) return status;
  for (int n = 0; rows && n < T->nnz_j; ++n)
    if (w->row_active[T->j_row[n]]) w->saddle->values[w->saddle->of_j[n]] = rows[n];
  return roughly ? pl_factor_roughly(w) : pl_factor(w);
}

int pl_step_mass_matrix(pl_work *w) {
  if (w->tree) {
    w->factorizations++;
    pl_inertias(w);
    pl_tree_masses(w);
    w->by_tree = pl_tree_factor(w, 1, 0, 0, NULL, NULL) == PL_OK;
    if (w->by_tree) return PL_OK;
  }
  pl_mass_matrix(w);
  const int status = pl_assemble(w, 1, 0, 0, NULL);
  return status ? status : pl_factor_mass(w);
}

void pl_step_solve(pl_work *w, double *x) {
  if (w->by_tree) pl_tree_solve(w, x);
  else pl_linear_solve(w->saddle->linear, x);
}

void pl_step_product(pl_work *w, const double *a, const double *v, double *y) {
  const pl_tables *T = w->T;
  if (w->by_tree) {
    pl_tree_product(w, a, v, y);
    return;
  }
  memset(y, 0, T->nv * sizeof(double));
  for (int j = 0; j < T->nv; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k) y[T->row[k]] += w->M[k] * a[j] + (v ? w->C[k] * v[j] : 0);
  if (v) pl_contact_product(w, 1, 0, v, y);
}

void pl_step_inertias(pl_work *w, double *out) {
  const pl_tables *T = w->T;
  if (w->by_tree) {
    pl_tree_inertias(w, out);
    return;
  }
  for (int e = 0; e < T->n_elem; ++e)
    for (int j = 0; j < T->elem_k[e]; ++j) out[T->elem_v[e] + j] = w->M[T->elem_pos[e] + (T->elem_stride[e] + 1) * j];
}
