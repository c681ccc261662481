/* One evaluation of the equations per step: rates are advanced with the accelerations of the state, positions with the new rates.
 *   v1 = v + h a(q, v, t),   q1 = q (+) h v1
 * First order. Energy of undamped motions stays bounded if the step is short compared with the fastest vibration. */
#include "integrate.h"

int pl_step_symplectic_euler(pl_run *r, double h, double *error) {
  const pl_tables *T = r->w->T;
  double *x = r->memory.symplectic_euler.x;
  for (int i = 0; i < T->nv; ++i) {
    r->v1[i] = r->v[i] + h * r->a[i];
    x[i] = h * r->v1[i];
  }
  pl_increment(T, r->q, x, r->q1);
  *error = 0;
  return PL_OK;
}
