/* The time loop: step size, stops, constraints, samples. Methods only supply the step. */
#include "integrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *doubles(size_t n) { return calloc(n + 8, sizeof(double)); }

typedef int (*step_function)(pl_run *, double, double *);

static const step_function STEP[] = {pl_step_explicit, pl_step_rosenbrock, pl_step_generalized_alpha,
                                     pl_step_semi_implicit};
static const int ORDER[] = {5, 4, 2, 1};

pl_run *pl_run_new(pl_work *w, int method) {
  pl_run *r = calloc(1, sizeof *r);
  const pl_tables *T = w->T;
  r->w = w, r->method = method;
  double **states[] = {&r->q, &r->q1}, **rates[] = {&r->v, &r->a, &r->alg, &r->v1, &r->a1, &r->alg1};
  for (int i = 0; i < 2; ++i) *states[i] = doubles(T->nq);
  for (int i = 0; i < 6; ++i) *rates[i] = doubles(T->nv);
  r->lambda = doubles(T->m), r->lambda1 = doubles(T->m), r->work = doubles(2), r->work1 = doubles(2);
  r->buffer = doubles((size_t)40 * (T->nq + T->nv + T->m + 8));
  return r;
}

void pl_run_free(pl_run *r) {
  double *all[] = {r->q, r->v, r->a, r->lambda, r->alg, r->work, r->q1, r->v1, r->a1, r->lambda1, r->alg1, r->work1, r->buffer};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) free(all[i]);
  free(r);
}

double pl_time(const pl_run *r, double t) { return t < r->t_cap ? t : r->t_cap; }

void pl_power(pl_run *r, double t, const double *q, const double *v, const double *lambda, double *out) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  pl_signals(w, t);
  pl_kinematics(w, q, v);
  pl_forces(w, q, v);
  out[0] = w->dissipation, out[1] = w->supply;
  for (int i = 0; i < T->m; ++i)
    if (T->row_signal[i] >= 0) out[1] += lambda[i] * w->signal_rate[T->row_signal[i]];
}

void pl_interpolate(const pl_run *r, double h, double x, double *q, double *v) {
  const pl_tables *T = r->w->T;
  const int n = T->nq;
  double *d0 = r->buffer, *d1 = d0 + n, *dd0 = d1 + n, *dd1 = dd0 + n, *qd = dd1 + n;
  pl_rates(T, r->q, r->v, d0), pl_rates(T, r->q1, r->v1, d1);
  pl_rates_of_rates(T, r->q, r->v, r->a, dd0), pl_rates_of_rates(T, r->q1, r->v1, r->a1, dd1);
  const double x2 = x * x, x3 = x2 * x, x4 = x3 * x, x5 = x4 * x;
  const double b0 = 1 - 10 * x3 + 15 * x4 - 6 * x5, b1 = 10 * x3 - 15 * x4 + 6 * x5;
  const double c0 = x - 6 * x3 + 8 * x4 - 3 * x5, c1 = -4 * x3 + 7 * x4 - 3 * x5;
  const double e0 = 0.5 * (x2 - 3 * x3 + 3 * x4 - x5), e1 = 0.5 * (x3 - 2 * x4 + x5);
  const double B = -30 * x2 + 60 * x3 - 30 * x4;
  const double C0 = 1 - 18 * x2 + 32 * x3 - 15 * x4, C1 = -12 * x2 + 28 * x3 - 15 * x4;
  const double E0 = 0.5 * (2 * x - 9 * x2 + 12 * x3 - 5 * x4), E1 = 0.5 * (3 * x2 - 8 * x3 + 5 * x4);
  for (int i = 0; i < n; ++i) {
    q[i] = b0 * r->q[i] + b1 * r->q1[i] + h * (c0 * d0[i] + c1 * d1[i]) + h * h * (e0 * dd0[i] + e1 * dd1[i]);
    qd[i] = B * (r->q[i] - r->q1[i]) / h + C0 * d0[i] + C1 * d1[i] + h * (E0 * dd0[i] + E1 * dd1[i]);
  }
  for (int i = 0; i < T->n_plain; ++i) v[T->plain_v[i]] = qd[T->plain_q[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *Q = q + T->quat_q[i], *D = qd + T->quat_q[i];
    const double scale = 2 / (Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]);
    double *o = v + T->quat_v[i];
    o[0] = scale * (Q[0] * D[1] - Q[1] * D[0] - Q[2] * D[3] + Q[3] * D[2]);
    o[1] = scale * (Q[0] * D[2] + Q[1] * D[3] - Q[2] * D[0] - Q[3] * D[1]);
    o[2] = scale * (Q[0] * D[3] - Q[1] * D[2] + Q[2] * D[1] - Q[3] * D[0]);
  }
  pl_normalize(T, q);
}

void pl_step_work(pl_run *r, double h) {
  const pl_tables *T = r->w->T;
  r->work1[0] = r->work[0], r->work1[1] = r->work[1];
  if (!T->n_cforce && !T->n_fforce && !T->n_signal) return;
  double start[2], middle[2], end[2], *q = r->buffer + 5 * T->nq, *v = q + T->nq, *l = v + T->nv;
  pl_power(r, r->t, r->q, r->v, r->lambda, start);
  pl_interpolate(r, h, 0.5, q, v);
  for (int i = 0; i < T->m; ++i) l[i] = 0.5 * (r->lambda[i] + r->lambda1[i]);
  pl_power(r, pl_time(r, r->t + 0.5 * h), q, v, l, middle);
  pl_power(r, pl_time(r, r->t + h), r->q1, r->v1, r->lambda1, end);
  for (int k = 0; k < 2; ++k) r->work1[k] += h / 6 * (start[k] + 4 * middle[k] + end[k]);
}

static int first_not_finite(const double *x, int n) {
  for (int i = 0; i < n; ++i)
    if (!isfinite(x[i])) return i;
  return -1;
}

/* Accelerations at the start, and a first guess of the step. */
int pl_run_start(pl_run *r) {
  const pl_tables *T = r->w->T;
  r->t_cap = INFINITY;
  const int status = pl_forward(r->w, r->t, r->q, r->v, r->a);
  if (status) return status;
  memcpy(r->lambda, r->w->lambda, T->m * sizeof(double));
  memcpy(r->alg, r->a, T->nv * sizeof(double));
  r->where = first_not_finite(r->a, T->nv);
  if (r->where >= 0) return PL_NOT_FINITE;
  r->previous_error = 1;
  if (!r->fixed && !(r->h > 0)) {
    double d0 = 0, d1 = 0, d2 = 0;
    for (int i = 0; i < T->nv; ++i) {
      const double scale = r->atol + r->rtol * (1e-3 + fabs(r->v[i]));
      d0 += 1 / (scale * scale), d1 += r->v[i] * r->v[i] / (scale * scale), d2 += r->a[i] * r->a[i] / (scale * scale);
    }
    /* the step in which a constant acceleration moves the state by a hundredth of a unit at most */
    const double span = r->stop[r->n_stop - 1] - r->t;
    r->h = fmin(1e-3 * span, 0.01 * sqrt((d0 + 1e-300) / (d1 + d2 + 1e-300)));
  }
  return PL_OK;
}

static int emit_samples(pl_run *r, double h) {
  const pl_tables *T = r->w->T;
  while (r->next_sample < r->n_sample && r->sample_t[r->next_sample] <= r->t + h + 1e-12 * fabs(r->t + h)) {
    const int n = r->next_sample;
    const double x = h > 0 ? (r->sample_t[n] - r->t) / h : 1;
    double *q = r->sample_q + (size_t)T->nq * n, *v = r->sample_v + (size_t)T->nv * n;
    if (x >= 1 - 1e-12) {
      memcpy(q, r->q1, T->nq * sizeof(double)), memcpy(v, r->v1, T->nv * sizeof(double));
    } else if (x <= 1e-12) {
      memcpy(q, r->q, T->nq * sizeof(double)), memcpy(v, r->v, T->nv * sizeof(double));
    } else {
      pl_interpolate(r, h, x, q, v);
      const int status = pl_project(r->w, r->sample_t[n], q, v, r->projection_tolerance);
      if (status) return status;
    }
    for (int i = 0; i < T->nv; ++i) r->sample_a[(size_t)T->nv * n + i] = (1 - x) * r->a[i] + x * r->a1[i];
    for (int i = 0; i < T->m; ++i) r->sample_lambda[(size_t)T->m * n + i] = (1 - x) * r->lambda[i] + x * r->lambda1[i];
    for (int k = 0; k < 2; ++k) r->sample_work[2 * n + k] = (1 - x) * r->work[k] + x * r->work1[k];
    r->next_sample++;
  }
  return PL_OK;
}

static void swap(double **a, double **b) {
  double *x = *a;
  *a = *b, *b = x;
}

/* Advance to the last stop, or until max_steps more steps are done. */
int pl_run_advance(pl_run *r, long max_steps) {
  const pl_tables *T = r->w->T;
  const int order = ORDER[r->method];
  const long last = r->steps + max_steps;
  int failures = 0;
  while (r->next_stop < r->n_stop) {
    if (r->steps >= last) return PL_MAX_STEPS;
    const double stop = r->stop[r->next_stop], left = stop - r->t;
    if (left <= 1e-13 * fmax(fabs(stop), fabs(r->t))) {
      r->t = stop;
      r->next_stop++;
      continue;
    }
    double h = r->h;
    int lands = 0;
    /* stretch or shrink the last step before a stop rather than leave a sliver */
    if (h >= left * (1 - 1e-9)) h = left, lands = 1;
    else if (!r->fixed && 2 * h > left) h = 0.5 * left;
    r->t_cap = lands ? stop - 1e-12 * fmax(fabs(stop), left) : INFINITY;
    double error = 0;
    int status = STEP[r->method](r, h, &error);
    if (!status && (r->where = first_not_finite(r->v1, T->nv)) >= 0) status = PL_NOT_FINITE;
    if (!status && !isfinite(error)) status = PL_NOT_FINITE, r->where = 0;
    if (status) {
      if (r->fixed) return status;
      r->rejected++;
      r->h = 0.25 * h;
      if (++failures > 60 || r->h < r->h_min) return status == PL_NO_CONVERGENCE ? PL_STEP_TOO_SMALL : status;
      continue;
    }
    if (!r->fixed && error > 1) {
      r->rejected++;
      r->h = h * fmax(0.2, 0.9 * pow(error, -1.0 / order));
      if (r->h < r->h_min) return PL_STEP_TOO_SMALL;
      continue;
    }
    failures = 0;
    pl_normalize(T, r->q1);
    if (r->method != PL_GENERALIZED_ALPHA) { /* which satisfies the constraints by itself */
      status = pl_project(r->w, pl_time(r, r->t + h), r->q1, r->v1, r->projection_tolerance);
      if (status) return status;
      /* accelerations of the accepted state: the next step's first stage and the interpolation's end */
      status = pl_forward(r->w, pl_time(r, r->t + h), r->q1, r->v1, r->a1);
      if (status) return status;
      memcpy(r->lambda1, r->w->lambda, T->m * sizeof(double));
    }
    if (r->method != PL_EXPLICIT) pl_step_work(r, h);
    status = emit_samples(r, h);
    if (status) return status;
    r->t = lands ? stop : r->t + h;
    swap(&r->q, &r->q1), swap(&r->v, &r->v1), swap(&r->a, &r->a1), swap(&r->lambda, &r->lambda1);
    swap(&r->alg, &r->alg1), swap(&r->work, &r->work1);
    r->steps++;
    if (!r->fixed) {
      /* proportional-integral control of the step size */
      const double e = fmax(error, 1e-10);
      double factor = 0.9 * pow(e, -0.7 / order) * pow(r->previous_error, 0.4 / order);
      factor = fmin(5, fmax(0.2, factor));
      if (!lands || factor < 1) r->h = fmin(r->h_max, h * factor);
      else r->h = fmin(r->h_max, fmax(r->h, h * factor));
      r->previous_error = e;
    }
    if (lands) {
      r->next_stop++;
      if (r->next_stop < r->n_stop) {
        /* inputs may have jumped: read them anew */
        r->t_cap = INFINITY;
        status = pl_forward(r->w, r->t, r->q, r->v, r->a);
        if (status) return status;
        memcpy(r->lambda, r->w->lambda, T->m * sizeof(double));
        memcpy(r->alg, r->a, T->nv * sizeof(double));
      }
    }
  }
  return PL_OK;
}
