/* One linear solve per step: velocities implicit in stiffness, damping and constraints, positions from them. First order,
 * for fast loops with a fixed step.   (M + h C + h^2 K) dv = -h (r + h K v),   J (v + dv) = ds/dt - phi/h   */
#include <math.h>
#include <string.h>

#include "integrate.h"

int pl_step_semi_implicit(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  double *zero = r->buffer + 8 * (T->nq + nv + m), *x = zero + nv, *no_force = x + nv;
  memset(zero, 0, nv * sizeof(double)), memset(no_force, 0, m * sizeof(double));
  const double t = pl_time(r, r->t + h);
  pl_linearized(w, t, r->q, r->v, zero, no_force);
  pl_assemble(w, 1, h, h * h);
  w->factorizations++;
  if (pl_linear_factor(w->linear, w->kkt)) return PL_SINGULAR;
  for (int j = 0; j < nv; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k) w->rhs[T->row[k]] += h * w->K[k] * r->v[j];
  for (int i = 0; i < nv; ++i) w->rhs[i] *= -h;
  for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -w->phi_rate[i] - w->phi[i] / h : 0;
  pl_linear_solve(w->linear, w->rhs);
  for (int i = 0; i < nv; ++i) r->v1[i] = r->v[i] + w->rhs[i], x[i] = h * r->v1[i];
  pl_increment(T, r->q, x, r->q1);
  *error = 0;
  return PL_OK;
}
