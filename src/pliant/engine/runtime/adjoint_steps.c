/* Adjoints of steps: from cotangents at the end of a step to those at its beginning, one function per method; see adjoint.h.
 *
 * Each first repeats the step, which leaves its stages in the run's memory, unless these were recorded. */
#include <math.h>
#include <string.h>

#include "adjoint.h"
#include "coefficients.h"
#include "spatial.h"

/* -- rotations ------------------------------------------------------------------------------------------------------------- */

/* z = y + a x x y + b x x (x x y) */
static void turned_by(const double *x, double a, double b, const double *y, double *z) {
  double u[3], v[3];
  cross3(x, y, u), cross3(x, u, v);
  for (int k = 0; k < 3; ++k) z[k] = y[k] + a * u[k] + b * v[k];
}

void pl_undo_increment(const pl_tables *T, const double *x, const double *by, double *by_x, double *by_q) {
  for (int i = 0; i < T->n_plain; ++i) by_x[T->plain_v[i]] += by[T->plain_v[i]], by_q[T->plain_v[i]] += by[T->plain_v[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const int at = T->quat_v[i];
    const double a2 = dot3(x + at, x + at), a = sqrt(a2);
    /* (1 - cos a) / a^2, sin a / a, (a - sin a) / a^3 */
    const double half = a < 1e-4 ? 1 - a2 / 24 : sin(0.5 * a) / (0.5 * a), c = 0.5 * half * half;
    const double s = a < 1e-4 ? 1 - a2 / 6 : sin(a) / a;
    const double d = a < 0.3 ? 1.0 / 6 - a2 * (1.0 / 120 - a2 * (1.0 / 5040 - a2 * (1.0 / 362880 - a2 / 39916800)))
                             : (a - sin(a)) / (a * a2);
    double z[3];
    turned_by(x + at, c, d, by + at, z);
    for (int k = 0; k < 3; ++k) by_x[at + k] += z[k];
    turned_by(x + at, s, c, by + at, z);
    for (int k = 0; k < 3; ++k) by_q[at + k] += z[k];
  }
}

/* y = B(x) v of pl_increment_rate: cotangents of y are added to those of x and v. */
static void undo_increment_rate(const pl_tables *T, const double *x, const double *v, const double *by, double *by_x, double *by_v) {
  for (int i = 0; i < T->n_plain; ++i) by_v[T->plain_v[i]] += by[T->plain_v[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const int at = T->quat_v[i];
    const double *p = x + at, *o = v + at, *y = by + at, a2 = dot3(p, p), a = sqrt(a2);
    double c, slope; /* slope: dc/da / a */
    if (a < 0.3) {
      c = 1.0 / 12 + a2 * (1.0 / 720 + a2 * (1.0 / 30240 + a2 * (1.0 / 1209600 + a2 / 47900160)));
      slope = 2.0 / 720 + a2 * (4.0 / 30240 + a2 * (6.0 / 1209600 + a2 * 8.0 / 47900160));
    } else {
      const double f = 0.5 * a / tan(0.5 * a), sine = sin(0.5 * a), df = 0.5 / tan(0.5 * a) - 0.25 * a / (sine * sine);
      c = (1 - f) / a2, slope = (-df / a2 - 2 * (1 - f) / (a * a2)) / a;
    }
    double z[3], w[3];
    turned_by(p, -0.5, c, y, z); /* B(x)' = B(-x) */
    for (int k = 0; k < 3; ++k) by_v[at + k] += z[k];
    cross3(o, y, w);
    /* y . x x (x x v) = (x.y)(x.v) - (y.v)(x.x) */
    const double xy = dot3(p, y), xv = dot3(p, o), yv = dot3(y, o), double_product = xy * xv - yv * a2;
    for (int k = 0; k < 3; ++k)
      by_x[at + k] += 0.5 * w[k] + c * (y[k] * xv + o[k] * xy - 2 * yv * p[k]) + slope * double_product * p[k];
  }
}

/* S x = (s + Gamma/2) x of rosenbrock.c, transposed; added to out. */
static void undo_turn(const pl_tables *T, const double *v, double s, const double *x, double *out) {
  for (int i = 0; i < T->nv; ++i) out[i] += s * x[i];
  for (int i = 0; i < T->n_quat; ++i) {
    const int at = T->quat_v[i];
    double z[3];
    cross3(x + at, v + at, z);
    for (int k = 0; k < 3; ++k) out[at + k] += 0.5 * z[k];
  }
}

static void add(int n, double c, const double *x, double *y) {
  for (int i = 0; i < n; ++i) y[i] += c * x[i];
}

static void clear(int n, double *x) { memset(x, 0, n * sizeof(double)); }

static void set_pair(pl_adjoint *A, const double *w, const double *y_c, const double *y_phi) {
  const int m = A->r->w->T->m;
  A->w = w, A->y_rate = NULL, A->y_c = m ? y_c : NULL, A->y_phi = m ? y_phi : NULL;
}

/* The driver's share of a step that ends in the candidate, which is projected onto the constraints: `before` is what the step
 * itself gave, rates first. */
static int undo_end(pl_adjoint *A, double h, const double *before) {
  const pl_run *r = A->r;
  if (r->restored) return PL_OK;
  return pl_adjoint_project(A, pl_time(r, r->t + h), r->q1, before + r->w->T->nv, before, r->v1);
}

/* Takes the step again: its stages in memory, its projected end in the candidate, rates and configuration before projection in
 * `before`. */
static int again(pl_adjoint *A, double h, int (*step)(pl_run *, double, double *), double *before) {
  pl_run *r = A->r;
  double error = 0;
  r->complete = r->restored = 0;
  int status = step(r, h, &error);
  if (status) return status;
  const pl_tables *T = r->w->T;
  if (!r->complete) pl_normalize(T, r->q1);
  memcpy(before, r->v1, T->nv * sizeof(double)), memcpy(before + T->nv, r->q1, T->nq * sizeof(double));
  if (r->complete || r->restored) return PL_OK;
  return pl_next_project(r->w, pl_time(r, r->t + h), r->q1, r->v1, r->projection_tolerance);
}

/* Accelerations and multipliers at the end of a step, which the driver computes from the equations there. */
static int undo_evaluation(pl_adjoint *A, double h) {
  pl_run *r = A->r;
  const double t1 = pl_time(r, r->t + h);
  const int status = r->complete ? PL_OK : pl_next_forward(r->w, t1, r->q1, r->v1, r->a1);
  if (status) return status;
  memcpy(r->multipliers1, r->w->lambda, r->w->T->m * sizeof(double));
  return pl_adjoint_forward(A, t1, r->q1, r->v1, r->a1, r->multipliers1);
}

/* -- explicit -------------------------------------------------------------------------------------------------------------- */

/* Convert cotangents of increments to those of the four numbers of quaternions, Q of any length. */
static void raw(const pl_tables *T, const double *q, const double *by, double *out) {
  for (int i = 0; i < T->n_plain; ++i) out[T->plain_q[i]] += by[T->plain_v[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *Q = q + T->quat_q[i], *o = by + T->quat_v[i];
    const double s = 2 / (Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]);
    double *d = out + T->quat_q[i];
    d[0] += s * (-Q[1] * o[0] - Q[2] * o[1] - Q[3] * o[2]);
    d[1] += s * (Q[0] * o[0] - Q[3] * o[1] + Q[2] * o[2]);
    d[2] += s * (Q[3] * o[0] + Q[0] * o[1] - Q[1] * o[2]);
    d[3] += s * (-Q[2] * o[0] + Q[1] * o[1] + Q[0] * o[2]);
  }
}

/* d = N(q) v of pl_rates: cotangents of d are propagated to q and v. */
static void undo_rates(const pl_tables *T, const double *q, const double *v, const double *by, double *by_q, double *by_v) {
  for (int i = 0; i < T->n_plain; ++i) by_v[T->plain_v[i]] += by[T->plain_q[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *Q = q + T->quat_q[i], *o = v + T->quat_v[i], *d = by + T->quat_q[i];
    double *x = by_q + T->quat_q[i], *y = by_v + T->quat_v[i];
    y[0] += 0.5 * (-Q[1] * d[0] + Q[0] * d[1] + Q[3] * d[2] - Q[2] * d[3]);
    y[1] += 0.5 * (-Q[2] * d[0] - Q[3] * d[1] + Q[0] * d[2] + Q[1] * d[3]);
    y[2] += 0.5 * (-Q[3] * d[0] + Q[2] * d[1] - Q[1] * d[2] + Q[0] * d[3]);
    x[0] += 0.5 * (o[0] * d[1] + o[1] * d[2] + o[2] * d[3]);
    x[1] += 0.5 * (-o[0] * d[0] - o[2] * d[2] + o[1] * d[3]);
    x[2] += 0.5 * (-o[1] * d[0] + o[2] * d[1] - o[0] * d[3]);
    x[3] += 0.5 * (-o[2] * d[0] - o[1] * d[1] + o[0] * d[2]);
  }
}

/* A stage as a sum of previous ones: q, v and the rates of change k of all stages. */
static void stage_state(const pl_run *r, int s, double h, double *q, double *v) {
  const pl_tables *T = r->w->T;
  const int n = T->nq + T->nv + 2;
  memcpy(q, r->q, T->nq * sizeof(double)), memcpy(v, r->v, T->nv * sizeof(double));
  for (int j = 0; j < s; ++j) {
    const double c = h * EXPLICIT_WEIGHTS[s][j], *k = r->memory.runge_kutta.k + n * j;
    add(T->nq, c, k, q), add(T->nv, c, k + T->nq, v);
  }
}

static int undo_explicit(pl_adjoint *A, double h) {
  pl_run *r = A->r;
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nq = T->nq, nv = T->nv, n = nq + nv;
  pl_cotangent *s = &A->state;
  double *before = A->temporary[4], *q = A->temporary[5], *v = A->temporary[6], *unit = A->temporary[7];
  double *by_raw = A->temporary[8], *by_v = A->temporary[9], *end_q = A->temporary[10], *stage_q = A->temporary[11];
  double *bars = A->stages; /* of (dq/dt, dv/dt) of each stage */
  int status = again(A, h, pl_step_explicit, before);
  if (status) return status;
  if ((status = undo_evaluation(A, h))) return status;
  if ((status = undo_end(A, h, before))) return status;
  memcpy(end_q, s->q, nv * sizeof(double));
  clear(6 * n, bars), clear(nq, by_raw);
  memcpy(by_v, s->v, nv * sizeof(double));
  stage_state(r, 6, h, q, v);
  raw(T, q, end_q, by_raw); /* the end is normalized: changes of length have no effect */
  for (int j = 0; j < 6; ++j) add(nq, h * EXPLICIT_WEIGHTS[6][j], by_raw, bars + n * j), add(nv, h * EXPLICIT_WEIGHTS[6][j], by_v, bars + n * j + nq);
  for (int stage = 5; stage >= 0; --stage) {
    double *bar = bars + n * stage;
    const double *k = r->memory.runge_kutta.k + (n + 2) * stage;
    stage_state(r, stage, h, q, v);
    clear(nq, stage_q), clear(nv, s->v);
    undo_rates(T, q, v, bar, stage_q, s->v);
    if (stage) {
      const double t = pl_time(r, r->t + EXPLICIT_TIMES[stage] * h);
      memcpy(unit, q, nq * sizeof(double)), pl_normalize(T, unit);
      clear(nv, s->q), memcpy(s->a, bar + nq, nv * sizeof(double));
      double *multipliers = r->multipliers1, *a = r->a1; /* pl_adjoint_forward requires the state of this stage */
      memcpy(a, k + nq, nv * sizeof(double));
      if (T->m) {
        if ((status = pl_next_forward(w, t, unit, v, a))) return status;
        memcpy(multipliers, w->lambda, T->m * sizeof(double));
      }
      double *kept_q = A->temporary[12], *kept_v = A->temporary[13];
      memcpy(kept_q, stage_q, nq * sizeof(double)), memcpy(kept_v, s->v, nv * sizeof(double));
      clear(nv, s->v);
      if ((status = pl_adjoint_forward(A, t, unit, v, a, multipliers))) return status;
      memcpy(stage_q, kept_q, nq * sizeof(double));
      raw(T, q, s->q, stage_q), add(nv, 1, kept_v, s->v);
    } else memcpy(s->a, bar + nq, nv * sizeof(double)); /* known from the previous step */
    add(nq, 1, stage_q, by_raw), add(nv, 1, s->v, by_v);
    for (int j = 0; j < stage; ++j) {
      const double c = h * EXPLICIT_WEIGHTS[stage][j];
      add(nq, c, stage_q, bars + n * j), add(nv, c, s->v, bars + n * j + nq);
    }
  }
  /* with respect to increments of q0: its rates of change along each of them */
  memcpy(s->v, by_v, nv * sizeof(double)), clear(nv, s->q);
  for (int i = 0; i < T->n_plain; ++i) s->q[T->plain_v[i]] = by_raw[T->plain_q[i]];
  if (T->n_quat) {
    double *nothing = A->temporary[12];
    clear(nv, s->q), clear(nq, nothing);
    undo_rates(T, r->q, w->zero, by_raw, nothing, s->q);
  }
  return PL_OK;
}

/* -- symplectic Euler ------------------------------------------------------------------------------------------------------- */

static int undo_symplectic_euler(pl_adjoint *A, double h) {
  pl_run *r = A->r;
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv;
  pl_cotangent *s = &A->state;
  double *before = A->temporary[4], *x = A->temporary[5], *by_x = A->temporary[6], *by_q = A->temporary[7];
  int status = again(A, h, pl_step_symplectic_euler, before);
  if (status || (status = undo_evaluation(A, h))) return status;
  if ((status = undo_end(A, h, before))) return status;
  for (int i = 0; i < nv; ++i) x[i] = h * before[i];
  clear(nv, by_x), clear(nv, by_q);
  pl_undo_increment(T, x, s->q, by_x, by_q);
  add(nv, h, by_x, s->v);
  memcpy(s->q, by_q, nv * sizeof(double));
  for (int i = 0; i < nv; ++i) s->a[i] = h * s->v[i];
  return PL_OK;
}

/* -- semi-implicit ---------------------------------------------------------------------------------------------------------- */

/* With p the impulses of constraints, whose pairing is
 *   w.(M dv + h C dv + h^2 K (v + dv) - J'p + h r) + y.(J (v + dv) + phi / h + h (gamma + s''/2)) */
static int undo_semi_implicit(pl_adjoint *A, double h) {
  pl_run *r = A->r;
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  const double t = pl_time(r, r->t + h);
  pl_cotangent *s = &A->state;
  double *before = A->temporary[4], *x = A->temporary[5], *solution = A->temporary[6], *dv = A->temporary[7];
  double *by_x = A->stages, *by_q = by_x + nv, *by_v = by_q + nv, *by_a = by_v + nv, *by_l = by_a + nv;
  double *xi = by_l + m, *beta = xi + nv, *impulse = beta + nv, *weighted = impulse + m;
  int status = again(A, h, pl_step_semi_implicit, before);
  if (status) return status;
  for (int i = 0; i < nv; ++i) dv[i] = before[i] - r->v[i], x[i] = h * before[i];
  for (int i = 0; i < m; ++i) impulse[i] = h * r->multipliers1[i];
  if ((status = undo_end(A, h, before))) return status;
  clear(4 * nv + m, by_x);
  pl_undo_increment(T, x, s->q, by_x, by_q);
  for (int i = 0; i < nv; ++i) by_v[i] = s->v[i] + h * by_x[i], solution[i] = by_v[i] + s->a[i] / h;
  for (int i = 0; i < m; ++i) solution[nv + i] = s->multipliers[i] / h;
  pl_linearized(w, t, r->q, r->v, w->zero, w->zero);
  pl_adjoint_keep(A, r->v);
  if ((status = pl_adjoint_matrix(A, 1, h, h * h, NULL, NULL))) return status;
  pl_adjoint_solve(A, solution);
  const double *y = solution + nv;
  for (int i = 0; i < nv; ++i) weighted[i] = h * solution[i], xi[i] = h * before[i], dv[i] /= h, beta[i] = h * dv[i];
  for (int i = 0; i < m; ++i) impulse[i] /= h;
  set_pair(A, weighted, NULL, NULL);
  pl_adjoint_products(A, A->K, A->C, A->M, A->J, A->Eq, A->Ev);
  add(nv, -h, A->gq, by_v);
  const pl_direction d = {t, r->v, w->zero, w->zero, xi, beta, dv, impulse, 0, h, 1};
  pl_adjoint_second(A, &d, by_q, by_v, by_a, by_l);
  double *y_c = weighted + nv, *y_phi = xi; /* xi is not needed any more */
  for (int i = 0; i < m; ++i) y_c[i] = h * y[i], y_phi[i] = y[i] / h;
  set_pair(A, weighted, y_c, y_phi);
  pl_adjoint_gradient(A, t, r->q, r->v, w->zero, w->zero);
  add(nv, -1, A->gq, by_q), add(nv, -1, A->gv, by_v);
  A->lift = 0.5;
  pl_adjoint_credit(A, 1, t, r->q, r->v, w->zero, w->zero, PL_LAST);
  A->lift = 0;
  if (m) {
    set_pair(A, NULL, y, NULL); /* J (v + dv) are the constraints' accelerations from rest */
    pl_adjoint_gradient(A, t, r->q, w->zero, before, w->zero);
    add(nv, -1, A->gq, by_q), add(nv, -1, A->ga, by_v);
    A->lift = 1;
    pl_adjoint_credit(A, 1, t, r->q, w->zero, before, w->zero, PL_LAST);
    A->lift = 0;
  }
  memcpy(s->q, by_q, nv * sizeof(double)), memcpy(s->v, by_v, nv * sizeof(double));
  clear(nv, s->a), clear(m, s->multipliers);
  return PL_OK;
}

/* -- generalized-alpha ------------------------------------------------------------------------------------------------------- */

/* The averaged accelerations A0 = a0 + h lead0 and A1, (1 - am) A1 + am A0 = (1 - af) a1 + af a0, move the state:
 *   x = h v0 + h^2 ((1/2 - beta) A0 + beta A1),   v1 = v0 + h ((1 - gamma) A0 + gamma A1),   lead1 = (A1 - a1) / h,
 * with r(q0 o exp(x), v1, a1) = 0. With constraints, accelerations and velocities are then replaced by those of the equations. */
static int undo_generalized_alpha(pl_adjoint *A, double h) {
  pl_run *r = A->r;
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  const double t = pl_time(r, r->t + h), am = r->alpha_m, af = r->alpha_f, beta = r->beta, gamma = r->gamma;
  const double to_A = (1 - af) / (1 - am), s = h * h * beta * to_A;
  pl_cotangent *c = &A->state;
  double *x = A->temporary[4], *v1 = A->temporary[5], *a1 = A->temporary[6], *b = A->temporary[7];
  double *by_A0 = A->stages, *by_A1 = by_A0 + nv, *by_a0 = by_A1 + nv, *by_x = by_a0 + nv, *by_q = by_x + nv, *end = by_q + nv;
  const double *multipliers = r->memory.alpha.solved;
  memcpy(x, r->memory.alpha.x, nv * sizeof(double)); /* recorded */
  for (int i = 0; i < nv; ++i) {
    const double A0 = r->a[i] + h * r->lead[i], A1 = (x[i] / (h * h) - r->v[i] / h - (0.5 - beta) * A0) / beta;
    v1[i] = r->v[i] + h * ((1 - gamma) * A0 + gamma * A1);
    a1[i] = ((1 - am) * A1 + am * A0 - af * r->a[i]) / (1 - af);
  }
  int status = pl_alpha_end(r, t, v1, a1);
  if (status) return status;
  clear(5 * nv, by_A0);
  for (int i = 0; i < nv; ++i) { /* lead1 and the quantities it depends on */
    const double by = c->lead[i] / h;
    c->a[i] += (to_A - 1) * by;
    by_a0[i] += af / (1 - am) * by, by_A0[i] -= am / (1 - am) * by;
  }
  if (m) {
    if ((status = pl_adjoint_forward(A, t, r->q1, r->v1, r->a1, r->multipliers1))) return status;
    if ((status = pl_adjoint_velocities(A, t, r->q1, v1, r->v1))) return status;
  }
  pl_linearized(w, t, r->q1, v1, a1, multipliers);
  pl_alpha_turns(r);
  if ((status = pl_adjoint_matrix(A, 1, s * gamma / (h * beta), s, r->memory.alpha.blocks, NULL))) return status;
  /* b = cotangent of a1, of which everything else at the end is a function; then B' b */
  clear(nv, by_x), clear(nv, by_q);
  pl_undo_increment(T, x, c->q, by_x, by_q);
  for (int i = 0; i < nv; ++i) end[i] = c->a[i] + to_A * (beta * h * h * by_x[i] + h * gamma * c->v[i]);
  clear(nv + m, b);
  double *nothing = A->temporary[8];
  clear(nv, nothing);
  undo_increment_rate(T, x, w->zero, end, nothing, b);
  for (int i = 0; i < m; ++i) b[nv + i] = 0;
  pl_adjoint_solve(A, b);
  double *y = A->temporary[9];
  for (int i = 0; i < m; ++i) y[i] = b[nv + i] / s;
  set_pair(A, b, NULL, y);
  pl_adjoint_products(A, w->K, w->C, w->M, w->Jval, NULL, NULL);
  for (int i = 0; i < nv; ++i) c->q[i] -= A->gq[i], c->v[i] -= A->gv[i];
  pl_adjoint_credit(A, 1, t, r->q1, v1, a1, multipliers, PL_LAST);
  clear(nv, by_x), clear(nv, by_q);
  pl_undo_increment(T, x, c->q, by_x, by_q);
  for (int i = 0; i < nv; ++i) {
    /* beta h^2 by_x + h gamma c->v, as the matrix has it: in stiff directions by_x is a small difference of large numbers, whose
     * round-off accelerations would magnify */
    const double by = (A->ga[i] - c->a[i]) / to_A, by_move = (by - h * gamma * c->v[i]) / beta;
    by_A0[i] += (0.5 - beta) * by_move + h * (1 - gamma) * c->v[i] - am / (1 - am) * by;
    by_a0[i] += af / (1 - am) * by + by_A0[i];
    c->v[i] += by_move / h;
    c->q[i] = by_q[i], c->a[i] = by_a0[i], c->lead[i] = h * by_A0[i];
  }
  clear(m, c->multipliers);
  return PL_OK;
}

/* -- Rosenbrock --------------------------------------------------------------------------------------------------------------- */

/* The adjoint of pl_rosenbrock_restore at the end of a step, after which the constraints and their rates hold: with P the motions by
 * which the step's matrix closes gaps, x' = x - P (J P)^-1 phi. Cotangents become by' = by - J' y, y = (J P)^-T P' by, which
 * is iterated as the restoration is. */
static void undo_closing(pl_adjoint *A, double s, const double *J, double *by, double *y) {
  const pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  double *x = A->temporary[7], before = INFINITY;
  clear(m, y);
  for (int round = 0; round < 40; ++round) {
    double change = 0;
    memcpy(x, by, nv * sizeof(double)), clear(m, x + nv);
    pl_adjoint_solve(A, x);
    for (int i = 0; i < m; ++i) {
      x[nv + i] = w->row_active[i] ? s * s * x[nv + i] : 0;
      y[i] += x[nv + i], change = fmax(change, fabs(x[nv + i]) * w->row_size[i]);
    }
    for (int n = 0; n < T->nnz_j; ++n) by[T->j_col[n]] -= J[n] * x[nv + T->j_row[n]];
    if (!(change < 0.7 * before) || change == 0) break;
    before = change;
  }
}

static void undo_restored(pl_adjoint *A, double h, double s) {
  pl_run *r = A->r;
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv;
  const double t = pl_time(r, r->t + h);
  double *J = r->memory.rosenbrock.J, *y = A->temporary[8];
  pl_cotangent *c = &A->state;
  pl_linearized(w, t, r->q1, w->zero, r->v1, w->zero);
  pl_constraint_acceleration_tangent(w, A->Eq_here, A->Ev_here);
  memcpy(J, w->Jval, T->nnz_j * sizeof(double));
  undo_closing(A, s, J, c->v, y);
  set_pair(A, NULL, y, NULL); /* J v are the constraints' accelerations from rest */
  pl_adjoint_products(A, w->K, w->C, w->M, J, A->Eq_here, A->Ev_here);
  add(nv, -1, A->gq, c->q);
  A->y_c = NULL, A->y_rate = y;
  pl_adjoint_credit(A, 1, t, r->q1, r->v1, w->zero, w->zero, PL_ANEW);
  undo_closing(A, s, J, c->q, y);
  set_pair(A, NULL, NULL, y);
  pl_adjoint_credit(A, 1, t, r->q1, r->v1, w->zero, w->zero, PL_ANEW);
}

/* How the motions onto the constraints change with the matrix of the step: `by`, their cotangents, to those of the beginning. */
static void undo_metric(pl_adjoint *A, double h, double s, const double *moved, const double *by, double *by_q) {
  pl_run *r = A->r;
  const pl_tables *T = r->w->T;
  const int nv = T->nv, m = T->m;
  pl_cotangent *c = &A->state;
  double *solution = A->temporary[5], *alpha = A->temporary[6], *kv = A->temporary[13], *kz = A->temporary[3];
  memcpy(solution, by, nv * sizeof(double)), clear(m, solution + nv);
  pl_adjoint_solve(A, solution);
  for (int i = 0; i < m; ++i)
    if (!r->w->row_active[i]) solution[nv + i] = 0;
  set_pair(A, solution, solution + nv, NULL);
  pl_adjoint_products(A, A->K, A->C, A->M, A->J, A->Eq, A->Ev);
  for (int i = 0; i < nv; ++i) alpha[i] = s * A->ga[i] + A->gv[i];
  for (int i = 0; i < nv; ++i) kv[i] = s * moved[i];
  for (int j = 0; j < T->n_quat; ++j) {
    const int at = T->quat_v[j];
    double z[3];
    cross3(r->v + at, moved + at, z);
    for (int l = 0; l < 3; ++l) kv[at + l] += 0.5 * z[l];
  }
  for (int i = 0; i < nv; ++i) kz[i] = s * kv[i];
  const pl_direction d = {pl_time(r, r->t), r->v, r->a, r->multipliers, moved, kv, kz, moved + nv, 0, h, 0};
  pl_adjoint_second(A, &d, by_q, c->v, c->a, c->multipliers);
  for (int j = 0; j < T->n_quat; ++j) {
    double z[3];
    cross3(moved + T->quat_v[j], alpha + T->quat_v[j], z);
    for (int l = 0; l < 3; ++l) c->v[T->quat_v[j] + l] -= 0.5 * z[l];
  }
}

/* Every stage solves, in its own unknowns kx, kv, kz, ky,
 *   S kx - kv = bx,   s kv - kz = bz,   K kx + C kv + M kz - J' ky = -r - h d r_t,   Eq kx + Ev kv + J kz = -c - h d c_t,
 * with multipliers alpha, beta, w, y. Eliminating the first two leaves the transpose of the step's matrix. The tangents are those
 * of the beginning, on which the pairing therefore depends by second derivatives. */
static int undo_rosenbrock(pl_adjoint *A, double h) {
  pl_run *r = A->r;
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m, n = 3 * nv + m, stages = ROSENBROCK_STAGES;
  const double s = 1 / (ROSENBROCK_GAMMA * h), now = pl_time(r, r->t);
  pl_cotangent *c = &A->state;
  double *before = A->temporary[4], *sum = A->stages + n * stages, *solution = A->temporary[5], *alpha = A->temporary[6];
  double *by_x = A->temporary[7], *q = A->temporary[1], *by_q0 = A->temporary[2], *turned_back = A->temporary[3];
  double *bars = A->stages;
  const double *k = r->memory.rosenbrock.k;
  int status = PL_OK;
  if (!pl_tape_stages(r)) {
    if ((status = again(A, h, pl_step_rosenbrock, before))) return status;
    if ((status = undo_end(A, h, before))) return status;
  }
  pl_rosenbrock_turns(r, h);
  pl_linearized(w, now, r->q, r->v, r->a, r->multipliers);
  pl_adjoint_keep(A, r->v);
  if ((status = pl_adjoint_matrix(A, s * s, s, 1, r->memory.rosenbrock.blocks, m ? r->memory.rosenbrock.rows : NULL)))
    return status;
  if (m) undo_restored(A, h, s);
  /* the end is the sum of all stages, the last with weight one */
  const double *weights = ROSENBROCK_WEIGHTS[stages - 1];
  clear(n, sum), clear(nv, by_q0), clear(nv, by_x);
  for (int j = 0; j < stages; ++j) add(n, j < stages - 1 ? weights[j] : 1, k + n * j, sum);
  pl_undo_increment(T, sum, c->q, by_x, by_q0);
  for (int j = 0; j < stages; ++j) {
    const double weight = j < stages - 1 ? weights[j] : 1;
    double *bar = bars + n * j;
    for (int i = 0; i < nv; ++i)
      bar[i] = weight * by_x[i], bar[nv + i] = weight * c->v[i], bar[2 * nv + i] = weight * c->a[i];
    for (int i = 0; i < m; ++i) bar[3 * nv + i] = weight * c->multipliers[i];
  }
  if (m) {
    double *by_rates = A->temporary[0];
    memcpy(by_rates, c->v, nv * sizeof(double));
    undo_metric(A, h, s, r->memory.rosenbrock.moved, c->q, by_q0);
    undo_metric(A, h, s, r->memory.rosenbrock.moved + nv + m, by_rates, by_q0);
  }
  memcpy(c->q, by_q0, nv * sizeof(double)); /* from here on all cotangents of the state belong to the beginning */
  for (int i = stages - 1; i >= 0; --i) {
    double *bar = bars + n * i, *bar_v = bar + nv, *bar_z = bar_v + nv;
    const double *ki = k + n * i;
    const double *history = ROSENBROCK_HISTORY[i], *stage_weights = ROSENBROCK_WEIGHTS[i];
    for (int l = 0; l < nv; ++l) alpha[l] = bar_v[l] + s * bar_z[l];
    clear(nv, turned_back);
    undo_turn(T, r->v, s, alpha, turned_back);
    for (int l = 0; l < nv; ++l) solution[l] = bar[l] + turned_back[l];
    for (int l = 0; l < m; ++l) solution[nv + l] = bar[3 * nv + l];
    pl_adjoint_solve(A, solution);
    for (int l = 0; l < m; ++l)
      if (!w->row_active[l]) solution[nv + l] = 0;
    set_pair(A, solution, solution + nv, NULL);
    pl_adjoint_products(A, A->K, A->C, A->M, A->J, A->Eq, A->Ev);
    double *beta = bar_z; /* bar_z is not needed after alpha is known */
    for (int l = 0; l < nv; ++l) {
      const double b = A->ga[l] - bar_z[l];
      alpha[l] = s * b + A->gv[l] - bar_v[l], beta[l] = b;
    }
    /* the tangents, and S, which depends on the rates */
    const pl_direction d = {now, r->v, r->a, r->multipliers, ki, ki + nv, ki + 2 * nv, ki + 3 * nv, h * ROSENBROCK_SLOPES[i], h, 0};
    pl_adjoint_second(A, &d, c->q, c->v, c->a, c->multipliers);
    for (int j = 0; j < T->n_quat; ++j) {
      double z[3];
      cross3(ki + T->quat_v[j], alpha + T->quat_v[j], z);
      for (int l = 0; l < 3; ++l) c->v[T->quat_v[j] + l] -= 0.5 * z[l];
    }
    /* the state of the stage */
    double *by_v = A->temporary[8], *by_a = A->temporary[9], *by_l = A->temporary[10], *v = A->temporary[12], *a = A->temporary[13];
    double *lambda = A->temporary[14], *x = sum;
    clear(n, x);
    for (int j = 0; j < i; ++j) add(n, stage_weights[j], k + n * j, x);
    for (int l = 0; l < nv; ++l) v[l] = r->v[l] + x[nv + l], a[l] = r->a[l] + x[2 * nv + l];
    for (int l = 0; l < m; ++l) lambda[l] = r->multipliers[l] + x[3 * nv + l];
    const double t = pl_time(r, r->t + ROSENBROCK_TIMES[i] * h);
    clear(nv, by_x);
    if (i) {
      pl_increment(T, r->q, x, q);
      pl_adjoint_gradient(A, t, q, v, a, lambda);
      for (int l = 0; l < nv; ++l) A->gq[l] = -A->gq[l];
      pl_undo_increment(T, x, A->gq, by_x, c->q);
    } else {
      pl_adjoint_products(A, A->K, A->C, A->M, A->J, A->Eq, A->Ev);
      memcpy(q, r->q, T->nq * sizeof(double));
      add(nv, -1, A->gq, c->q);
    }
    for (int l = 0; l < nv; ++l) by_v[l] = -A->gv[l], by_a[l] = -A->ga[l] + beta[l];
    for (int l = 0; l < m; ++l) by_l[l] = -A->gl[l];
    pl_adjoint_credit(A, 1, t, q, v, a, lambda, i ? PL_LAST : PL_KEPT);
    undo_increment_rate(T, x, v, alpha, by_x, by_v);
    add(nv, 1, by_v, c->v), add(nv, 1, by_a, c->a), add(m, 1, by_l, c->multipliers);
    for (int j = 0; j < i; ++j) {
      double *earlier = bars + n * j;
      const double g = history[j] / h, weight = stage_weights[j];
      for (int l = 0; l < nv; ++l) {
        earlier[l] += weight * by_x[l] + g * alpha[l];
        earlier[nv + l] += weight * by_v[l] + g * beta[l];
        earlier[2 * nv + l] += weight * by_a[l];
      }
      for (int l = 0; l < m; ++l) earlier[3 * nv + l] += weight * by_l[l];
    }
  }
  return PL_OK;
}

int pl_adjoint_step(pl_adjoint *A, double h) {
  switch (A->r->method) {
    case PL_EXPLICIT: return undo_explicit(A, h);
    case PL_SYMPLECTIC_EULER: return undo_symplectic_euler(A, h);
    case PL_SEMI_IMPLICIT: return undo_semi_implicit(A, h);
    case PL_GENERALIZED_ALPHA: return undo_generalized_alpha(A, h);
    default: return undo_rosenbrock(A, h);
  }
}
