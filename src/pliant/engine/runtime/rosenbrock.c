/* Linearly implicit method RODASP of order 4(3), L-stable and stiffly accurate (Steinebach 1995; the family is described in
 * Hairer and Wanner, Solving ODEs II, sections IV.7 and VI.4), on the original equations, with accelerations z and
 * multipliers y as algebraic unknowns:
 *   dx/dt = B(x) v,   dv/dt = z,   0 = r(t, q, v, z, y),   0 = c(t, q, v, z) = J z + gamma
 * with local increments x of the step's start, q = q0 o exp(x). A stiff force then affects only the coordinates it acts on;
 * solved for accelerations, the equations would spread its stage errors over all of them.
 *
 * With s = 1/(gamma h) every stage solves, after elimination of kz = s kv - bz and kv = S kx - bx, S = s + Gamma/2,
 *   [(s M + C) S + K,   -J'] [kx]   [-r + M (bz + s bx) + C bx + h d f]
 *   [(s J + Ev) S + Eq,  0 ] [ky] = [-c + J bz + (s J + Ev) bx + h d g],
 * where Gamma is hat(w) on rotations, Eq and Ev are derivatives of the constraints' accelerations, f = -dr/dt and
 * g = -dc/dt the explicit dependence on time: one factorization of the size of (v, y) per step. */
#include <math.h>
#include <string.h>

#include "coefficients.h"
#include "integrate.h"

#define STAGES ROSENBROCK_STAGES
#define GAMMA ROSENBROCK_GAMMA
#define A ROSENBROCK_WEIGHTS
#define G ROSENBROCK_HISTORY
#define C ROSENBROCK_TIMES
#define D ROSENBROCK_SLOPES

/* S x = (s + Gamma/2) x */
static void turn(const pl_tables *T, const double *v, double s, const double *x, double *out) {
  for (int i = 0; i < T->nv; ++i) out[i] = s * x[i];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *o = v + T->quat_v[i], *y = x + T->quat_v[i];
    double *z = out + T->quat_v[i];
    z[0] += 0.5 * (o[1] * y[2] - o[2] * y[1]);
    z[1] += 0.5 * (o[2] * y[0] - o[0] * y[2]);
    z[2] += 0.5 * (o[0] * y[1] - o[1] * y[0]);
  }
}

/* S / s - 1 on rotations, column by column */
static void turn_blocks(const pl_tables *T, const double *v, double s, double *blocks) {
  for (int i = 0; i < T->n_quat; ++i, blocks += 9) {
    const double *o = v + T->quat_v[i], c = 0.5 / s;
    const double hat[9] = {0, c * o[2], -c * o[1], -c * o[2], 0, c * o[0], c * o[1], -c * o[0], 0};
    memcpy(blocks, hat, sizeof hat);
  }
}

void pl_rosenbrock_turns(pl_run *r, double h) { turn_blocks(r->w->T, r->v, 1 / (GAMMA * h), r->memory.rosenbrock.blocks); }

/* Explicit dependence on time: f = -dr/dt and g, minus the constraints' d(gamma)/dt, which is the third derivative of their
 * signals and comes from a difference. Inputs are read from t on, so a preceding jump has no effect. */
static int time_derivatives(pl_run *r, double h, double *f, double *g) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  memset(f, 0, T->nv * sizeof(double)), memset(g, 0, T->m * sizeof(double));
  if (!T->n_signal) return 0;
  const double *by_signal = r->memory.rosenbrock.by_signal;
  pl_input_tangent(w, r->q, r->v, r->memory.rosenbrock.by_signal);
  for (int j = 0; j < T->n_signal; ++j)
    for (int i = 0; i < T->nv; ++i) f[i] += by_signal[(size_t)T->nv * j + i] * w->signal_rate[j];
  pl_route_time_tangent(w, f);
  for (int i = 0; i < T->nv; ++i) f[i] = -f[i];
  int driven = 0;
  for (int i = 0; i < T->m; ++i)
    if (T->row_signal[i] >= 0) g[i] = w->signal_acceleration[T->row_signal[i]], driven = 1;
  if (driven) {
    const double now = pl_time(r, r->t), later = pl_time(r, r->t + 1e-5 * h);
    pl_signals(w, later);
    for (int i = 0; i < T->m; ++i)
      if (T->row_signal[i] >= 0) g[i] = (w->signal_acceleration[T->row_signal[i]] - g[i]) / (later - now);
    pl_signals(w, now);
  }
  return 1;
}

/* The lower left block: L = s J + Ev kept dense (column-major) for the right-hand sides, L S + Eq on the pattern of J for the
 * matrix. */
static void constraint_block(pl_run *r, double s, double *rows) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int m = T->m;
  double *L = r->memory.rosenbrock.L, *Eq = r->memory.rosenbrock.Eq, *LS = r->memory.rosenbrock.LS;
  pl_constraint_acceleration_tangent(w, Eq, L);
  for (int n = 0; n < T->nnz_j; ++n) L[(size_t)m * T->j_col[n] + T->j_row[n]] += s * w->Jval[n];
  for (size_t n = 0; n < (size_t)m * T->nv; ++n) LS[n] = Eq[n] + s * L[n];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *o = r->v + T->quat_v[i], *L0 = L + (size_t)m * T->quat_v[i], *L1 = L0 + m, *L2 = L1 + m;
    double *z = LS + (size_t)m * T->quat_v[i];
    for (int k = 0; k < m; ++k) {
      z[k] += 0.5 * (L1[k] * o[2] - L2[k] * o[1]);
      z[m + k] += 0.5 * (L2[k] * o[0] - L0[k] * o[2]);
      z[2 * m + k] += 0.5 * (L0[k] * o[1] - L1[k] * o[0]);
    }
  }
  for (int n = 0; n < T->nnz_j; ++n) rows[n] = LS[(size_t)m * T->j_col[n] + T->j_row[n]];
}

/* Residuals of the equations and of the constraints' accelerations, after pl_unbalanced with the accelerations a. */
static void residuals(const pl_work *w, const double *a, double *force, double *acceleration) {
  memcpy(force, w->rhs, w->T->nv * sizeof(double));
  if (!w->T->m) return;
  pl_constraint_product(w, a, acceleration);
  for (int i = 0; i < w->T->m; ++i) acceleration[i] += w->gamma[i];
}

/* The matrix of the step, from tangents of the state that were just evaluated. */
static int factor(pl_run *r, double h) {
  const double s = 1 / (GAMMA * h);
  const int m = r->w->T->m;
  pl_rosenbrock_turns(r, h);
  if (m) constraint_block(r, s, r->memory.rosenbrock.rows);
  const int status = pl_step_matrix(r->w, s * s, s, 1, r->memory.rosenbrock.blocks, m ? r->memory.rosenbrock.rows : NULL, 0);
  r->step_factors = r->w->factorizations;
  return status;
}

/* The motion by which the step's matrix closes gaps of constraints, in w->rhs with its multipliers; added to `moved`. */
static void close_gap(pl_work *w, double s, const double *gap, double *moved) {
  const int nv = w->T->nv, m = w->T->m;
  memset(w->rhs, 0, nv * sizeof(double));
  for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -s * s * gap[i] : 0;
  pl_step_solve(w, w->rhs);
  for (int i = 0; i < nv + m; ++i) moved[i] += w->rhs[i];
}

#define ROUNDS 12    /* iterations with the same matrix, which usually reduce a gap to a tenth or less */
#define CLOSED 1e-5  /* share of the tolerance at which they end: close to round-off, as after Newton's method */

int pl_rosenbrock_restore(pl_run *r, double t, double h, double *q, double *v) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, rows = nv + T->m;
  const double s = 1 / (GAMMA * h), tolerance = r->projection_tolerance;
  double *moved = r->memory.rosenbrock.moved, before = INFINITY, gap;
  memset(moved, 0, 2 * rows * sizeof(double));
  pl_normalize(T, q);
  pl_signals(w, t);
  for (int round = 0;; ++round) {
    pl_kinematics(w, q, v);
    pl_constraints(w, q, v);
    gap = pl_constraint_gap(w);
    if (!(gap > CLOSED * tolerance && gap < 0.5 * before) || round == ROUNDS) break;
    before = gap;
    close_gap(w, s, w->phi, moved);
    pl_increment(T, q, w->rhs, w->q_new);
    memcpy(q, w->q_new, T->nq * sizeof(double));
  }
  if (!(gap <= tolerance)) return 0;
  before = INFINITY;
  for (int round = 0;; ++round) {
    gap = h * pl_largest_row(w, w->phi_rate);
    if (!(gap > CLOSED * tolerance && gap < 0.5 * before) || round == ROUNDS) break;
    before = gap;
    close_gap(w, s, w->phi_rate, moved + rows);
    for (int i = 0; i < nv; ++i) v[i] += w->rhs[i];
    pl_constraints(w, q, v);
  }
  return gap <= 0.01 * tolerance;
}

int pl_rosenbrock_project(pl_run *r, double t, double h, double *q, double *v) {
  int status = PL_OK;
  if (r->w->factorizations != r->step_factors) { /* another matrix has replaced that of the step */
    pl_step_linearize(r->w, pl_time(r, r->t), r->q, r->v, r->a, r->multipliers);
    status = factor(r, h);
  }
  if (status || pl_rosenbrock_restore(r, t, h, q, v)) return status;
  return pl_next_project(r->w, t, q, v, r->projection_tolerance);
}

int pl_step_rosenbrock(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m, n = 3 * nv + m;
  /* x, v, z, y follow each other as kx, kv, kz, ky of every stage do */
  double *k = r->memory.rosenbrock.k, *x = r->memory.rosenbrock.sum, *v = x + nv, *z = v + nv, *y = z + nv;
  double *bx = r->memory.rosenbrock.bx, *bz = r->memory.rosenbrock.bz, *f = r->memory.rosenbrock.f;
  double *g = r->memory.rosenbrock.g, *force = r->memory.rosenbrock.force, *row = r->memory.rosenbrock.row;
  double *q = r->memory.rosenbrock.q, *J = r->memory.rosenbrock.J, *rhs = w->rhs;
  const double *L = r->memory.rosenbrock.L;
  const double s = 1 / (GAMMA * h);
  const double now = pl_time(r, r->t);
  if (r->evaluated == now) pl_step_linearize_here(w, r->q, r->v, r->a, r->multipliers);
  else pl_step_linearize(w, now, r->q, r->v, r->a, r->multipliers);
  residuals(w, r->a, force, row); /* of the first stage, which is the state itself */
  memcpy(J, w->Jval, T->nnz_j * sizeof(double)); /* evaluations of the stages overwrite it */
  const int moving = time_derivatives(r, h, f, g);
  const int status = factor(r, h);
  if (status) return status;
  for (int i = 0; i < STAGES; ++i) {
    double *kx = k + n * i, *kv = kx + nv, *kz = kv + nv, *ky = kz + nv;
    memset(x, 0, nv * sizeof(double)), memcpy(v, r->v, nv * sizeof(double)), memcpy(z, r->a, nv * sizeof(double));
    memcpy(y, r->multipliers, m * sizeof(double));
    for (int j = 0; j < i; ++j)
      for (int l = 0; l < n; ++l) x[l] += A[i][j] * k[n * j + l];
    if (pl_check_finite(r, v)) return PL_NOT_FINITE;
    if (i) {
      pl_increment(T, r->q, x, q);
      pl_unbalanced(w, pl_time(r, r->t + C[i] * h), q, v, z, y);
      residuals(w, z, force, row);
    }
    pl_increment_rate(T, x, v, bx);
    memcpy(bz, z, nv * sizeof(double));
    for (int j = 0; j < i; ++j) {
      const double c = G[i][j] / h, *kj = k + n * j;
      for (int l = 0; l < nv; ++l) bx[l] += c * kj[l], bz[l] += c * kj[nv + l];
    }
    for (int l = 0; l < nv; ++l) kv[l] = bz[l] + s * bx[l];
    pl_step_product(w, kv, bx, rhs);
    for (int l = 0; l < nv; ++l) rhs[l] += -force[l] + (moving ? h * D[i] * f[l] : 0);
    for (int l = 0; l < m; ++l) rhs[nv + l] = -row[l] + (moving ? h * D[i] * g[l] : 0);
    for (int l = 0; l < T->nnz_j; ++l)
      rhs[nv + T->j_row[l]] += J[l] * bz[T->j_col[l]] + L[(size_t)m * T->j_col[l] + T->j_row[l]] * bx[T->j_col[l]];
    for (int l = 0; l < m; ++l)
      if (!w->row_active[l]) rhs[nv + l] = 0;
    pl_step_solve(w, rhs);
    memcpy(kx, rhs, nv * sizeof(double)), memcpy(ky, rhs + nv, m * sizeof(double));
    turn(T, r->v, s, kx, kv);
    for (int l = 0; l < nv; ++l) kv[l] -= bx[l], kz[l] = s * kv[l] - bz[l];
  }
  /* the last stage's own contribution is the error of the embedded method of order 3 */
  const double *ex = k + n * (STAGES - 1), *ev = ex + nv;
  for (int l = 0; l < n; ++l) x[l] += ex[l];
  memcpy(r->v1, v, nv * sizeof(double)), memcpy(r->a1, z, nv * sizeof(double));
  memcpy(r->multipliers1, y, m * sizeof(double));
  pl_increment(T, r->q, x, r->q1);
  const pl_step_factors factors = {s * s, s, 1, r->memory.rosenbrock.rows};
  if (r->fixed) {
    pl_vibration_step(r, h, &factors);
    if (m) r->restored = pl_rosenbrock_restore(r, pl_time(r, r->t + h), h, r->q1, r->v1);
    return PL_OK;
  }
  /* rates of vibrations faster than the step are weighted by their displacements: filtered twice by the matrix of the step */
  memcpy(v, ev, nv * sizeof(double));
  for (int k = 0; k < 2; ++k) {
    pl_step_product(w, v, NULL, rhs);
    for (int l = 0; l < nv; ++l) rhs[l] *= s * s;
    memset(rhs + nv, 0, m * sizeof(double));
    pl_step_solve(w, rhs);
    memcpy(v, rhs, nv * sizeof(double));
  }
  for (int l = 0; l < nv; ++l) v[l] *= PL_RATES_COUNT;
  *error = pl_motion_error(r, h, ex, v);
  if (*error <= 1) {
    pl_vibration_step(r, h, &factors);
    if (m) r->restored = pl_rosenbrock_restore(r, pl_time(r, r->t + h), h, r->q1, r->v1);
  }
  return PL_OK;
}
