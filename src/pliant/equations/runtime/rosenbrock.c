/* Linearly implicit method RODAS of order 4(3), L-stable (Hairer and Wanner, Solving ODEs II, section IV.7), for
 * unconstrained systems, in local increments x of the step's start: q = q0 o exp(x), dx/dt = dexpinv(x) v.
 *
 * With s = 1/(gamma h) every stage solves, after elimination of its velocity part,
 *   [(s M + C)(s + Gamma/2) + K] kx = M bv + (s M + C) bx,     kv = (s + Gamma/2) kx - bx,
 * where Gamma is hat(w) on rotations: one factorization of the size of v per step. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define STAGES 6
static const double GAMMA = 0.25;
static const double A[6][5] = {{0},
                               {1.544},
                               {0.9466785280815826, 0.2557011698983284},
                               {3.314825187068521, 2.896124015972201, 0.9986419139977817},
                               {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
                               {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1}};
static const double G[6][5] = {{0},
                               {-5.6688},
                               {-2.430093356833875, -0.2063599157091915},
                               {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
                               {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
                               {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
                                -6.058818238834054}};
static const double C[6] = {0, 0.386, 0.21, 0.63, 1, 1};
static const double D[6] = {0.25, -0.1043, 0.1035, -0.03620000000000023, 0, 0};

/* y = M x on the system pattern */
static void multiply(const pl_tables *T, const double *values, const double *x, double *y) {
  memset(y, 0, T->nv * sizeof(double));
  for (int j = 0; j < T->nv; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k) y[T->row[k]] += values[k] * x[j];
}

/* out = in + hat(w) in / 2 on rotations, times one elsewhere: (s + Gamma/2) x with s given */
static void half_bracket(const pl_tables *T, const double *v, double s, const double *x, double *out) {
  for (int i = 0; i < T->nv; ++i) out[i] = s * x[i];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *o = v + T->quat_v[i], *y = x + T->quat_v[i];
    double *z = out + T->quat_v[i];
    z[0] += 0.5 * (o[1] * y[2] - o[2] * y[1]);
    z[1] += 0.5 * (o[2] * y[0] - o[0] * y[2]);
    z[2] += 0.5 * (o[0] * y[1] - o[1] * y[0]);
  }
}

/* dx/dt of the increment coordinates: dexpinv(x) v, that is w + x x w / 2 + c x x (x x w) on rotations */
static void increment_rate(const pl_tables *T, const double *x, const double *v, double *out) {
  memcpy(out, v, T->nv * sizeof(double));
  for (int i = 0; i < T->n_quat; ++i) {
    const double *p = x + T->quat_v[i], *o = v + T->quat_v[i];
    double *z = out + T->quat_v[i];
    const double a2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2], a = sqrt(a2);
    const double c = a < 1e-2 ? 1.0 / 12 + a2 / 720 : (1 - 0.5 * a * sin(a) / (1 - cos(a))) / a2;
    const double y[3] = {p[1] * o[2] - p[2] * o[1], p[2] * o[0] - p[0] * o[2], p[0] * o[1] - p[1] * o[0]};
    const double yy[3] = {p[1] * y[2] - p[2] * y[1], p[2] * y[0] - p[0] * y[2], p[0] * y[1] - p[1] * y[0]};
    for (int k = 0; k < 3; ++k) z[k] = o[k] + 0.5 * y[k] + c * yy[k];
  }
}

int pl_step_rosenbrock(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nq = T->nq, nv = T->nv;
  if (T->m) return PL_SINGULAR;
  double *kx = r->buffer + 8 * (nq + nv), *kv = kx + STAGES * nv, *x = kv + STAGES * nv, *v = x + nv, *a = v + nv,
         *bx = a + nv, *bv = bx + nv, *y = bv + nv, *z = y + nv, *dt = z + nv, *q = dt + nv;
  const double s = 1 / (GAMMA * h);
  pl_linearized(w, r->t, r->q, r->v, r->a, r->lambda);
  /* explicit dependence on time, by a difference: inputs are data, not formulas */
  int moving = 0;
  if (T->n_signal) {
    const double step = fmin(1e-6 * fmax(1e-3, h), 0.01 * h), later = pl_time(r, r->t + step);
    if (later > r->t) {
      if (pl_forward(w, later, r->q, r->v, dt)) return PL_SINGULAR;
      for (int i = 0; i < nv; ++i) dt[i] = (dt[i] - r->a[i]) / (later - r->t), moving |= dt[i] != 0;
    }
  }
  /* w->M, C, K survive pl_forward of an unconstrained system (articulated bodies touch none of them) */
  memset(w->kkt, 0, T->nnz_kkt * sizeof(double));
  for (int n = 0; n < T->nnz; ++n) w->kkt[T->kkt_of[n]] = s * (s * w->M[n] + w->C[n]) + w->K[n];
  for (int i = 0; i < T->n_quat; ++i) {
    const int c = T->quat_v[i];
    const double *o = r->v + c;
    const int c0 = T->colptr[c], c1 = T->colptr[c + 1], c2 = T->colptr[c + 2];
    for (int k = 0; k < c1 - c0; ++k) {
      const double X0 = s * w->M[c0 + k] + w->C[c0 + k], X1 = s * w->M[c1 + k] + w->C[c1 + k],
                   X2 = s * w->M[c2 + k] + w->C[c2 + k];
      w->kkt[T->kkt_of[c0 + k]] += 0.5 * (X1 * o[2] - X2 * o[1]);
      w->kkt[T->kkt_of[c1 + k]] += 0.5 * (X2 * o[0] - X0 * o[2]);
      w->kkt[T->kkt_of[c2 + k]] += 0.5 * (X0 * o[1] - X1 * o[0]);
    }
  }
  w->factorizations++;
  if (pl_linear_factor(w->linear, w->kkt)) return PL_SINGULAR;
  for (int i = 0; i < STAGES; ++i) {
    memset(x, 0, nv * sizeof(double)), memcpy(v, r->v, nv * sizeof(double));
    for (int j = 0; j < i; ++j)
      for (int n = 0; n < nv; ++n) x[n] += A[i][j] * kx[nv * j + n], v[n] += A[i][j] * kv[nv * j + n];
    if (i == 0) {
      memcpy(a, r->a, nv * sizeof(double));
    } else {
      pl_increment(T, r->q, x, q);
      if (pl_forward(w, pl_time(r, r->t + C[i] * h), q, v, a)) return PL_SINGULAR;
    }
    increment_rate(T, x, v, bx);
    memcpy(bv, a, nv * sizeof(double));
    for (int j = 0; j < i; ++j) {
      const double c = G[i][j] / h;
      for (int n = 0; n < nv; ++n) bx[n] += c * kx[nv * j + n], bv[n] += c * kv[nv * j + n];
    }
    if (moving)
      for (int n = 0; n < nv; ++n) bv[n] += h * D[i] * dt[n];
    /* right-hand side M (bv + s bx) + C bx */
    for (int n = 0; n < nv; ++n) y[n] = bv[n] + s * bx[n];
    multiply(T, w->M, y, w->rhs);
    multiply(T, w->C, bx, z);
    for (int n = 0; n < nv; ++n) w->rhs[n] += z[n];
    pl_linear_solve(w->linear, w->rhs);
    memcpy(kx + nv * i, w->rhs, nv * sizeof(double));
    half_bracket(T, r->v, s, w->rhs, kv + nv * i);
    for (int n = 0; n < nv; ++n) kv[nv * i + n] -= bx[n];
  }
  for (int n = 0; n < nv; ++n) x[n] += kx[nv * 5 + n], r->v1[n] = v[n] + kv[nv * 5 + n];
  pl_increment(T, r->q, x, r->q1);
  /* rotations are measured in radians, plain coordinates against their own size */
  for (int n = 0; n < nv; ++n) z[n] = 1;
  for (int i = 0; i < T->n_plain; ++i) z[T->plain_v[i]] = fmax(fabs(r->q[T->plain_q[i]]), fabs(r->q1[T->plain_q[i]]));
  double sum = 0;
  for (int n = 0; n < nv; ++n) {
    const double ex = kx[nv * 5 + n] / (r->atol + r->rtol * z[n]);
    const double ev = kv[nv * 5 + n] / (r->atol + r->rtol * fmax(fabs(r->v[n]), fabs(r->v1[n])));
    sum += ex * ex + ev * ev;
  }
  *error = sqrt(sum / (2 * nv));
  return PL_OK;
}
