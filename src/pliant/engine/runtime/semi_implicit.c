/* One linear solve per step: velocities implicit in stiffness, damping and constraints, positions from them. First order,
 * for fast loops with a fixed step.
 *   (M + h C + h^2 K) dv - J' p = -h (r + h K v),   J (v + dv) = -phi(q, t + h) / h - h (dJ/dt v - s''/2)
 * Signals s are read at the step's end, so that phi carries the way a prescribed position goes during the step; the last
 * term makes the new velocity fit the new configuration's constraints, and so p / h a multiplier. */
#include <math.h>

#include "contact.h"
#include "integrate.h"

int pl_step_semi_implicit(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  double *x = r->memory.semi_implicit.x, *rate = r->memory.semi_implicit.rate;
  pl_linearized(w, pl_time(r, r->t + h), r->q, r->v, w->zero, w->zero);
  int status = pl_assemble(w, 1, h, h * h, NULL);
  if (status || (status = pl_factor(w))) return status;
  pl_multiply(T, w->K, r->v, x);
  pl_contact_product(w, 0, 1, r->v, x);
  pl_constraint_product(w, r->v, rate);
  for (int i = 0; i < nv; ++i) w->rhs[i] = -h * (w->rhs[i] + h * x[i]);
  for (int i = 0; i < m; ++i) {
    const int signal = T->row_signal[i];
    const double turning = w->gamma[i] + (signal >= 0 ? 0.5 * w->signal_acceleration[signal] : 0);
    w->rhs[nv + i] = w->row_active[i] ? -rate[i] - w->phi[i] / h - h * turning : 0;
  }
  pl_linear_solve(w->saddle->linear, w->rhs);
  for (int i = 0; i < nv; ++i) {
    r->a1[i] = w->rhs[i] / h;
    r->v1[i] = r->v[i] + w->rhs[i];
    x[i] = h * r->v1[i];
  }
  for (int i = 0; i < m; ++i) r->multipliers1[i] = w->rhs[nv + i] / h;
  pl_increment(T, r->q, x, r->q1);
  const pl_step_factors factors = {1, h, h * h, NULL};
  pl_vibration_step(r, h, &factors);
  *error = 0;
  return PL_OK;
}
