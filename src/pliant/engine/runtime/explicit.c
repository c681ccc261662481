/* Explicit Runge-Kutta of order 5(4), Dormand and Prince (1980), on (q, v); quaternions are renormalized by the driver. */
#include <math.h>
#include <string.h>

#include "coefficients.h"
#include "integrate.h"

#define A EXPLICIT_WEIGHTS
#define C EXPLICIT_TIMES
#define STRICTER 4 /* safety factor on the estimate: these errors accumulate over the periods of an undamped oscillation */

static const double E[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

/* Increments x (nv) of a change dq of the configuration. */
static void increments(const pl_tables *T, const double *q, const double *dq, double *x) {
  for (int i = 0; i < T->n_plain; ++i) x[T->plain_v[i]] = dq[T->plain_q[i]];
  for (int i = 0; i < T->n_quat; ++i)
    pl_rotation_rates(q + T->quat_q[i], dq + T->quat_q[i], 0, x + T->quat_v[i], 0);
}

int pl_step_explicit(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nq = T->nq, nv = T->nv, n = nq + nv + 2;
  double *k = r->memory.runge_kutta.k, *x = r->memory.runge_kutta.x;
  for (int s = 0; s < 7; ++s) {
    double *ks = k + n * s, *q = x, *v = x + nq;
    for (int i = 0; i < nq; ++i) q[i] = r->q[i];
    for (int i = 0; i < nv; ++i) v[i] = r->v[i];
    for (int j = 0; j < s; ++j) {
      const double c = h * A[s][j], *kj = k + n * j;
      if (c == 0) continue;
      for (int i = 0; i < nq + nv; ++i) x[i] += c * kj[i];
    }
    if (s == 0) { /* known from the previous step */
      memcpy(ks + nq, r->a, nv * sizeof(double));
      ks[nq + nv] = r->power[0], ks[nq + nv + 1] = r->power[1];
    } else {
      const double *at = q;
      if (T->n_quat) memcpy(r->q1, q, nq * sizeof(double)), pl_normalize(T, r->q1), at = r->q1;
      int status = pl_check_finite(r, v);
      if (!status) status = pl_next_forward(w, pl_time(r, r->t + C[s] * h), at, v, ks + nq);
      if (status) return status;
      pl_power_here(r, w->lambda, ks + nq + nv);
    }
    pl_rates(T, q, v, ks);
  }
  memcpy(r->q1, x, nq * sizeof(double)), memcpy(r->v1, x + nq, nv * sizeof(double));
  for (int i = 0; i < 2; ++i) {
    r->work1[i] = r->work[i];
    for (int j = 0; j < 6; ++j) r->work1[i] += h * A[6][j] * k[n * j + nq + nv + i];
  }
  if (!T->m && !T->n_quat) { /* without projection or normalization the last stage is the new state */
    memcpy(r->a1, k + 6 * n + nq, nv * sizeof(double));
    memcpy(r->power1, k + 6 * n + nq + nv, 2 * sizeof(double));
    r->complete = 1;
  }
  if (r->fixed) return PL_OK;
  double *ex = r->memory.runge_kutta.error, *ev = ex + nv;
  for (int i = 0; i < nq + nv; ++i) {
    double e = 0;
    for (int s = 0; s < 7; ++s) e += E[s] * k[n * s + i];
    x[i] = h * e;
  }
  memcpy(ev, x + nq, nv * sizeof(double));
  increments(T, r->q1, x, ex);
  *error = STRICTER * pl_motion_error(r, h, ex, ev);
  return PL_OK;
}
