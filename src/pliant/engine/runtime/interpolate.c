/* Interpolation within a step: dense output, samples. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define FAIR_SHARE 0.2

void pl_rotation_rates(const double *Q, const double *D, const double *DD, double *o, double *o_dot) {
  const double size = Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3], scale = 2 / size;
  o[0] = scale * (Q[0] * D[1] - Q[1] * D[0] - Q[2] * D[3] + Q[3] * D[2]);
  o[1] = scale * (Q[0] * D[2] + Q[1] * D[3] - Q[2] * D[0] - Q[3] * D[1]);
  o[2] = scale * (Q[0] * D[3] - Q[1] * D[2] + Q[2] * D[1] - Q[3] * D[0]);
  if (!o_dot) return;
  const double growth = scale * (Q[0] * D[0] + Q[1] * D[1] + Q[2] * D[2] + Q[3] * D[3]);
  o_dot[0] = scale * (Q[0] * DD[1] - Q[1] * DD[0] - Q[2] * DD[3] + Q[3] * DD[2]) - growth * o[0];
  o_dot[1] = scale * (Q[0] * DD[2] + Q[1] * DD[3] - Q[2] * DD[0] - Q[3] * DD[1]) - growth * o[1];
  o_dot[2] = scale * (Q[0] * DD[3] - Q[1] * DD[2] + Q[2] * DD[1] - Q[3] * DD[0]) - growth * o[2];
}

/* Whether accelerations at the ends are representative of the step: a jump moves stiff parts off balance, which they regain long
 * before the step ends, and a polynomial with such an acceleration would deviate far more than the motion. Its midpoint then
 * differs from that of the cubic through positions and rates by a large fraction of all rates of the step. */
static int smooth(double way, double d0, double d1, double dd0, double dd1, double h) {
  const double rates = fabs(d0) + fabs(d1) + 1.5 * fabs(way);
  return fabs(0.375 * way - 0.1875 * (d0 + d1) + 0.03125 * h * (dd1 - dd0)) <= FAIR_SHARE * rates;
}

/* Second derivatives of the cubic replace those that are not smooth; all components of a rotation together. */
static void limit(const pl_run *r, double h, int at, int count, const double *d0, const double *d1, double *dd0, double *dd1) {
  int sound = 1;
  for (int i = at; i < at + count; ++i) sound &= smooth((r->q1[i] - r->q[i]) / h, d0[i], d1[i], dd0[i], dd1[i], h);
  for (int i = at; i < at + count && !sound; ++i) {
    const double way = (r->q1[i] - r->q[i]) / h;
    dd0[i] = (6 * way - 4 * d0[i] - 2 * d1[i]) / h, dd1[i] = (-6 * way + 2 * d0[i] + 4 * d1[i]) / h;
  }
}

/* First and second derivatives of q at both ends of the step. */
static void end_derivatives(const pl_run *r) {
  const pl_tables *T = r->w->T;
  pl_rates(T, r->q, r->v, r->memory.between.d0), pl_rates(T, r->q1, r->v1, r->memory.between.d1);
  pl_rates_of_rates(T, r->q, r->v, r->a, r->memory.between.dd0);
  pl_rates_of_rates(T, r->q1, r->v1, r->a1, r->memory.between.dd1);
}

int pl_step_is_smooth(pl_run *r, double h) {
  const double *d0 = r->memory.between.d0, *d1 = r->memory.between.d1;
  const double *dd0 = r->memory.between.dd0, *dd1 = r->memory.between.dd1;
  end_derivatives(r);
  for (int i = 0; i < r->w->T->nq; ++i)
    if (!smooth((r->q1[i] - r->q[i]) / h, d0[i], d1[i], dd0[i], dd1[i], h)) return 0;
  return 1;
}

void pl_interpolate(const pl_run *r, double h, double x, double *q, double *v, double *a) {
  const pl_tables *T = r->w->T;
  const int n = T->nq;
  double *d0 = r->memory.between.d0, *d1 = r->memory.between.d1, *dd0 = r->memory.between.dd0;
  double *dd1 = r->memory.between.dd1, *qd = r->memory.between.qd, *qdd = r->memory.between.qdd;
  end_derivatives(r);
  if (r->h_before == 0 && !r->tape) { /* the step begins at a jump; where derivatives are requested, no sample is within it */
    for (int i = 0; i < T->n_plain; ++i) limit(r, h, T->plain_q[i], 1, d0, d1, dd0, dd1);
    for (int i = 0; i < T->n_quat; ++i) limit(r, h, T->quat_q[i], 4, d0, d1, dd0, dd1);
  }
  const double x2 = x * x, x3 = x2 * x, x4 = x3 * x, x5 = x4 * x;
  const double b0 = 1 - 10 * x3 + 15 * x4 - 6 * x5, b1 = 10 * x3 - 15 * x4 + 6 * x5;
  const double c0 = x - 6 * x3 + 8 * x4 - 3 * x5, c1 = -4 * x3 + 7 * x4 - 3 * x5;
  const double e0 = 0.5 * (x2 - 3 * x3 + 3 * x4 - x5), e1 = 0.5 * (x3 - 2 * x4 + x5);
  const double B = -30 * x2 + 60 * x3 - 30 * x4, BB = -60 * x + 180 * x2 - 120 * x3;
  const double C0 = 1 - 18 * x2 + 32 * x3 - 15 * x4, C1 = -12 * x2 + 28 * x3 - 15 * x4;
  const double CC0 = -36 * x + 96 * x2 - 60 * x3, CC1 = -24 * x + 84 * x2 - 60 * x3;
  const double E0 = 0.5 * (2 * x - 9 * x2 + 12 * x3 - 5 * x4), E1 = 0.5 * (3 * x2 - 8 * x3 + 5 * x4);
  const double EE0 = 1 - 9 * x + 18 * x2 - 10 * x3, EE1 = 3 * x - 12 * x2 + 10 * x3;
  for (int i = 0; i < n; ++i) {
    const double back = (r->q[i] - r->q1[i]) / h;
    q[i] = b0 * r->q[i] + b1 * r->q1[i] + h * (c0 * d0[i] + c1 * d1[i]) + h * h * (e0 * dd0[i] + e1 * dd1[i]);
    qd[i] = B * back + C0 * d0[i] + C1 * d1[i] + h * (E0 * dd0[i] + E1 * dd1[i]);
    qdd[i] = (BB * back + CC0 * d0[i] + CC1 * d1[i]) / h + EE0 * dd0[i] + EE1 * dd1[i];
  }
  for (int i = 0; i < T->n_plain; ++i) {
    v[T->plain_v[i]] = qd[T->plain_q[i]];
    if (a) a[T->plain_v[i]] = qdd[T->plain_q[i]];
  }
  for (int i = 0; i < T->n_quat; ++i) {
    const int at = T->quat_q[i], to = T->quat_v[i];
    pl_rotation_rates(q + at, qd + at, qdd + at, v + to, a ? a + to : 0);
  }
  pl_normalize(T, q);
}

void pl_interpolate_work(const double *work0, const double *work1, const double *power0, const double *power1, double h,
                         double x, double *work) {
  const double x2 = x * x, x3 = x2 * x;
  for (int k = 0; k < 2; ++k)
    work[k] = (1 - 3 * x2 + 2 * x3) * work0[k] + (3 * x2 - 2 * x3) * work1[k] +
              h * ((x - 2 * x2 + x3) * power0[k] + (x3 - x2) * power1[k]);
}

/* The sample, in a step of size h, is complete when its contacts are recorded too. */
static int logged(pl_run *r, double h) {
  const int n = r->next_sample;
  if (r->sample_step) r->sample_step[n] = h;
  const double *q = r->sample_q + (size_t)r->w->T->nq * n, *v = r->sample_v + (size_t)r->w->T->nv * n;
  const int status = pl_run_log_contacts(r, n, pl_time(r, r->sample_t[n]), q, v);
  if (!status) r->next_sample++;
  return status;
}

/* One sample at fraction x of the step (0 the state, to which the last step has led, 1 the candidate). */
static int sample(pl_run *r, double h, double x) {
  const pl_tables *T = r->w->T;
  const int n = r->next_sample, nq = T->nq, nv = T->nv, m = T->m;
  double *q = r->sample_q + (size_t)nq * n, *v = r->sample_v + (size_t)nv * n, *a = r->sample_a + (size_t)nv * n;
  double *lambda = r->sample_multipliers + (size_t)m * n, *work = r->sample_work + 2 * n;
  const int at_start = x <= 1e-10, at_end = x >= 1 - 1e-10;
  if (at_start || at_end) {
    memcpy(q, at_end ? r->q1 : r->q, nq * sizeof(double));
    memcpy(v, at_end ? r->v1 : r->v, nv * sizeof(double));
    memcpy(a, at_end ? r->a1 : r->a, nv * sizeof(double));
    memcpy(lambda, at_end ? r->multipliers1 : r->multipliers, m * sizeof(double));
    memcpy(work, at_end ? r->work1 : r->work, 2 * sizeof(double));
    return logged(r, at_end ? h : r->h_last);
  }
  pl_interpolate(r, h, x, q, v, a);
  /* second derivatives of the polynomial are only as accurate as the values at the ends: for low-order methods not better than a
   * straight line, which does not overshoot */
  if (r->method == PL_GENERALIZED_ALPHA || r->method == PL_SEMI_IMPLICIT || r->method == PL_SYMPLECTIC_EULER)
    for (int i = 0; i < nv; ++i) a[i] = (1 - x) * r->a[i] + x * r->a1[i];
  for (int i = 0; i < m; ++i) lambda[i] = (1 - x) * r->multipliers[i] + x * r->multipliers1[i];
  if (m || r->method == PL_EXPLICIT) r->evaluated = NAN;
  const double t = pl_time(r, r->sample_t[n]);
  int status = r->method == PL_ROSENBROCK && m ? pl_rosenbrock_project(r, t, h, q, v)
                                               : pl_next_project(r->w, t, q, v, r->projection_tolerance);
  if (!status && r->method == PL_EXPLICIT) { /* not stiff, so evaluating the equations is most accurate */
    status = pl_next_forward(r->w, t, q, v, a);
    memcpy(lambda, r->w->lambda, m * sizeof(double));
  }
  if (status) return status;
  pl_interpolate_work(r->work, r->work1, r->power, r->power1, h, x, work);
  return logged(r, h);
}

int pl_sample_step(pl_run *r, double h, int with_end) {
  while (r->next_sample < r->n_sample) {
    const double x = (r->sample_t[r->next_sample] - r->t) / h;
    if (x > 1 + 1e-10 || (!with_end && x >= 1 - 1e-10)) break;
    const int status = sample(r, h, x);
    if (status) return status;
  }
  return PL_OK;
}

void pl_sample_state(pl_run *r) {
  while (r->next_sample < r->n_sample && r->sample_t[r->next_sample] <= r->t + PL_INSTANT * fabs(r->t))
    if (sample(r, 1, 0)) return; /* repeated in the next step, which reports the reason */
}
