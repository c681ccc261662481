/* Pairings of equations with multipliers, and their derivatives with respect to the state, parameters and inputs, to first order and
 * along a direction; see adjoint.h.
 *
 * Every operation of a step is a set of equations F(unknowns, state, parameters, inputs) = 0, paired with multipliers w (forces) and y
 * (constraints) that balance the cotangents of the unknowns. The cotangent of the state is then minus the derivative of the pairing
 * with respect to it. Derivatives with respect to parameters are differences of the pairing alone, in a fixed state. */
#include <math.h>
#include <string.h>

#include "adjoint.h"

/* -- the pairing ------------------------------------------------------------------------------------------------------- */

static double dot(int n, const double *x, const double *y) {
  double z = 0;
  for (int i = 0; i < n; ++i) z += x[i] * y[i];
  return z;
}

static double pairing(const pl_adjoint *A, const double *a) {
  const pl_work *w = A->r->w;
  const int m = w->T->m;
  double z = A->w ? dot(w->T->nv, A->w, w->rhs) : 0;
  if (A->y_c) {
    pl_constraint_product(w, a, A->temporary[15]);
    for (int i = 0; i < m; ++i) {
      const int k = w->T->row_signal[i];
      z += A->y_c[i] * (A->temporary[15][i] + w->gamma[i] + (k >= 0 ? A->lift * w->signal_acceleration[k] : 0));
    }
  }
  if (A->y_phi) z += dot(m, A->y_phi, w->phi);
  if (A->y_rate) z += dot(m, A->y_rate, w->phi_rate);
  return z;
}

/* Contribution of constraints to the gradient. */
static void add_constraint_products(pl_adjoint *A, const double *J, const double *Eq, const double *Ev) {
  const pl_tables *T = A->r->w->T;
  const int nv = T->nv, m = T->m;
  memset(A->gl, 0, m * sizeof(double));
  for (int n = 0; A->w && n < T->nnz_j; ++n) A->gl[T->j_row[n]] -= J[n] * A->w[T->j_col[n]];
  if (A->y_c) {
    for (int j = 0; j < nv; ++j) {
      A->gq[j] += dot(m, A->y_c, Eq + (size_t)m * j);
      A->gv[j] += dot(m, A->y_c, Ev + (size_t)m * j);
    }
    for (int n = 0; n < T->nnz_j; ++n) A->ga[T->j_col[n]] += J[n] * A->y_c[T->j_row[n]];
  }
  for (int n = 0; A->y_phi && n < T->nnz_j; ++n) A->gq[T->j_col[n]] += J[n] * A->y_phi[T->j_row[n]];
  for (int n = 0; A->y_rate && n < T->nnz_j; ++n) A->gv[T->j_col[n]] += J[n] * A->y_rate[T->j_row[n]];
}

void pl_adjoint_products(pl_adjoint *A, const double *K, const double *C, const double *M, const double *J, const double *Eq,
                         const double *Ev) {
  const pl_tables *T = A->r->w->T;
  const size_t size = T->nv * sizeof(double);
  memset(A->gq, 0, size), memset(A->gv, 0, size), memset(A->ga, 0, size);
  if (A->w) pl_add_products(T, K, C, M, A->w, A->gq, A->gv, A->ga);
  add_constraint_products(A, J, Eq, Ev);
}

void pl_adjoint_gradient(pl_adjoint *A, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_work *w = A->r->w;
  pl_unbalanced(w, t, q, v, a, lambda);
  pl_tangent_products(w, q, v, a, lambda, A->w ? A->w : w->zero, A->gq, A->gv, A->ga);
  if (w->T->m && A->y_c) pl_constraint_acceleration_tangent(w, A->Eq_here, A->Ev_here);
  add_constraint_products(A, w->Jval, A->Eq_here, A->Ev_here);
}

/* -- cotangents of parameters and inputs ------------------------------------------------------------------------------------------------------------ */

/* Derivatives of a series with respect to its coefficients, at time t. */
static void credit_series(const pl_binding *b, int i, double t, const double *by, double *poly) {
  int outside;
  const int piece = pl_series_piece(b, i, &t, &outside);
  const double x = t - b->series_time[piece];
  double *c = poly + PL_SERIES_TERMS * piece, power[PL_SERIES_TERMS] = {1};
  for (int k = 1; k < PL_SERIES_TERMS; ++k) power[k] = x * power[k - 1];
  for (int k = 0; k < PL_SERIES_TERMS; ++k) {
    c[k] += by[0] * power[k];
    if (outside) continue;
    if (k > 0) c[k] += by[1] * k * power[k - 1];
    if (k > 1) c[k] += by[2] * k * (k - 1) * power[k - 2];
    if (k > 2) c[k] += by[3] * k * (k - 1) * (k - 2) * power[k - 3];
  }
}

static int is_zero(int n, const double *x) {
  for (int k = 0; k < n; ++k)
    if (x[k] != 0) return 0;
  return 1;
}

/* What the signals' cotangents are as those of one input, its rate and its acceleration, and of the rate of that. Signals are
 * formulas of inputs: central differences, exact where they are linear. */
static void by_input(pl_adjoint *A, const pl_signal_cotangents *x, int i, int orders, double *by) {
  pl_work *w = A->r->w;
  const int n = w->T->n_signal;
  double *side[2] = {A->store, A->store + 3 * n}, *input[3] = {w->input, w->input_rate, w->input_acceleration};
  const double delta = 1e-4 * A->credit->input_scale[i];
  for (int order = 0; order < orders; ++order) {
    const double kept = input[order][i];
    for (int s = 0; s < 2; ++s) {
      const double *arg[5] = {&x->t, w->input, w->input_rate, w->input_acceleration, w->parameters};
      double *res[3] = {side[s], side[s] + n, side[s] + 2 * n};
      input[order][i] = s ? kept - delta : kept + delta;
      pl_call(w->T->signal_kernel, arg, res, w);
    }
    input[order][i] = kept;
    for (int k = 0; k < n; ++k) {
      const double value = side[0][k] - side[1][k], rate = side[0][n + k] - side[1][n + k];
      const double acceleration = side[0][2 * n + k] - side[1][2 * n + k];
      by[order] += (x->signal[k] * value + x->rate[k] * rate + x->acceleration[k] * acceleration) / (2 * delta);
      /* rates of accelerations depend on each other as accelerations do */
      if (order == 2) by[3] += x->jerk[k] * acceleration / (2 * delta);
    }
  }
}

/* Propagate the signals' cotangents to inputs and parameters. */
static void pass_on(pl_adjoint *A, pl_signal_cotangents *x) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  const pl_binding *b = &w->bound;
  const pl_credit *c = A->credit;
  const int n = T->n_signal;
  if (!x->any) return;
  pl_signals(w, x->t);
  /* values of signals depend only on values of inputs */
  const int orders = is_zero(n, x->rate) && is_zero(n, x->acceleration) && is_zero(n, x->jerk) ? 1 : 3;
  for (int i = 0; i < T->n_input; ++i) {
    if (b->input_kind[i] == PL_INPUT_EXPRESSION) continue; /* an expression: the cotangents of its parameters account for it */
    double by[4] = {0};
    by_input(A, x, i, orders, by);
    if (b->input_kind[i] == PL_INPUT_SERIES) credit_series(b, b->input_series[i], x->t, by, c->by_poly);
    else c->by_held[i] += by[0];
  }
  const size_t size = n * sizeof(double);
  memset(x->signal, 0, size), memset(x->rate, 0, size), memset(x->acceleration, 0, size), memset(x->jerk, 0, size);
  x->any = 0;
}

void pl_adjoint_settle(pl_adjoint *A) { pass_on(A, &A->at_start), pass_on(A, &A->at_last); }

/* Collect cotangents of signals at time t from now on: those of another time are propagated first, which evaluates signals there. */
static pl_signal_cotangents *at_time(pl_adjoint *A, pl_signal_cotangents *x, double t) {
  if (x->t != t) pass_on(A, x);
  x->t = t, x->any = 1;
  return x;
}

/* Derivatives of r with respect to signals and to their rates, nv x n_signal, in the state evaluated last. */
static void find_signals(pl_adjoint *A, const double *q, const double *v, double *by_signal, double *by_rate) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  pl_input_tangent(w, q, v, by_signal);
  if (!T->n_route) return; /* only tendons depend on rates of signals */
  memset(by_rate, 0, (size_t)T->nv * T->n_signal * sizeof(double));
  pl_route_rate_tangent(w, by_rate);
}

/* Cotangents of signals -= factor x derivative of the pairing. */
static void credit_signals(const pl_adjoint *A, double factor, const double *by_signal, const double *by_rate,
                           pl_signal_cotangents *x) {
  const pl_tables *T = A->r->w->T;
  for (int k = 0; A->w && k < T->n_signal; ++k) {
    x->signal[k] -= factor * dot(T->nv, A->w, by_signal + (size_t)T->nv * k);
    if (T->n_route) x->rate[k] -= factor * dot(T->nv, A->w, by_rate + (size_t)T->nv * k);
  }
  for (int i = 0; i < T->m; ++i) {
    const int k = T->row_signal[i];
    if (k < 0) continue;
    if (A->y_phi) x->signal[k] += factor * A->y_phi[i];
    if (A->y_rate) x->rate[k] += factor * A->y_rate[i];
    if (A->y_c) x->acceleration[k] += factor * (1 - A->lift) * A->y_c[i];
  }
}

/* The same for the time derivative of the pairing, at the beginning of the step: cotangents of a signal become those of its rate. */
static void credit_passing(const pl_adjoint *A, double time, pl_signal_cotangents *x) {
  const pl_tables *T = A->r->w->T;
  for (int k = 0; A->w && k < T->n_signal; ++k) {
    x->rate[k] -= time * dot(T->nv, A->w, A->from_signal + (size_t)T->nv * k);
    if (T->n_route) x->acceleration[k] -= time * dot(T->nv, A->w, A->from_rate + (size_t)T->nv * k);
  }
  for (int i = 0; A->y_c && i < T->m; ++i)
    if (T->row_signal[i] >= 0) x->jerk[T->row_signal[i]] += time * A->y_c[i];
}

/* A state, in which the pairing is a function of the equations' constants. */
typedef struct paired_state {
  pl_adjoint *A;
  double t;
  const double *q, *v, *a, *lambda;
} paired_state;

static void paired_there(pl_work *w, void *given, double *out) {
  const paired_state *x = (const paired_state *)given;
  pl_unbalanced(w, x->t, x->q, x->v, x->a, x->lambda);
  *out = pairing(x->A, x->a);
}

/* The pairing's change with a parameter, in a state. */
static double by_parameter(pl_adjoint *A, int k, paired_state x) {
  const pl_tables *T = A->r->w->T;
  const pl_credit *c = A->credit;
  double change;
  pl_parameter_change(A->r->w, c->constants + (size_t)T->n_theta * k, c->parameters + (size_t)T->n_parameter * k, c->step[k], 1,
                      paired_there, &x, A->scratch, &change);
  return change;
}

void pl_adjoint_credit(pl_adjoint *A, double factor, double t, const double *q, const double *v, const double *a,
                       const double *lambda, pl_evaluated evaluated) {
  pl_work *w = A->r->w;
  if (w->T->n_signal && w->T->n_input) {
    if (evaluated == PL_KEPT) credit_signals(A, factor, A->from_signal, A->from_rate, at_time(A, &A->at_start, t));
    else {
      if (evaluated == PL_ANEW) pl_unbalanced(w, t, q, v, a, lambda);
      find_signals(A, q, v, A->by_signal, A->by_rate);
      credit_signals(A, factor, A->by_signal, A->by_rate, at_time(A, &A->at_last, t));
    }
  }
  for (int k = 0; k < A->credit->n; ++k)
    A->credit->by_parameter[k] -= factor * by_parameter(A, k, (paired_state){A, t, q, v, a, lambda});
}

void pl_adjoint_keep(pl_adjoint *A, const double *v) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  memcpy(A->K, w->K, T->nnz * sizeof(double)), memcpy(A->C, w->C, T->nnz * sizeof(double));
  memcpy(A->M, w->M, T->nnz * sizeof(double)), memcpy(A->J, w->Jval, T->nnz_j * sizeof(double));
  if (T->m) pl_constraint_acceleration_tangent(w, A->Eq, A->Ev);
  if (T->n_signal && T->n_input) find_signals(A, A->r->q, v, A->from_signal, A->from_rate);
}

/* -- second derivatives --------------------------------------------------------------------------------------------------- */

#define NEAR 2e-4   /* step along a direction, for differences of gradients */
#define AWAY 1e-2   /* step along a direction, for second differences */
#define MOVED 6e-7  /* share of the robot's size, or angle [rad], that differences of gradients go at least ... */
#define FURTHER 1e-5 /* ... and those of differences */
#define LONGEST 1e12 /* of a direction, in any case */
#define STILL 1e-5  /* length of a direction below which inputs that change in time are followed apart from it */
#define INCONSISTENT 1e-3 /* relative misfit of differences over one and two steps from which they cross a bend ... */
#define NOISE 1e-8  /* ... if it is more than this share of what is differenced */
#define SHARE 1e-2  /* of the steps, that the next ones are long */
#define SHORTER 4   /* lengths that are tried */
#define BENT 1e-9   /* estimated error, relative to a gradient, up to which a first-order difference is used */

/* The length of a direction: of its displacements, and of those of its rates and accelerations in a step, relative to sizes. */
static double length_of(const pl_adjoint *A, const pl_direction *d) {
  const double *size = A->r->memory.extent.rates;
  double longest = 0;
  for (int i = 0; i < A->r->w->T->nv; ++i)
    longest = fmax(longest, fmax(fabs(d->q[i]), d->h * fmax(fabs(d->v[i]), d->h * fabs(d->a[i]))) / size[i]);
  return longest;
}

/* Whether signals change along with the time of a direction, of which a share is gone. */
static int signals_change(pl_adjoint *A, const pl_direction *d, double share) {
  pl_work *w = A->r->w;
  const size_t size = w->T->n_signal * sizeof(double);
  if (d->time == 0 || !size) return 0;
  pl_signals(w, pl_time(A->r, d->t + share * fabs(d->time))); /* differences go forward in time */
  double *kept[3] = {A->store, A->store + w->T->n_signal, A->store + 2 * w->T->n_signal};
  memcpy(kept[0], w->signal, size), memcpy(kept[1], w->signal_rate, size), memcpy(kept[2], w->signal_acceleration, size);
  pl_signals(w, d->t);
  return memcmp(kept[0], w->signal, size) || memcmp(kept[1], w->signal_rate, size) ||
         memcmp(kept[2], w->signal_acceleration, size);
}

/* The state at a multiple of a direction. */
static void move(pl_adjoint *A, const pl_direction *d, double share, double *q, double *v, double *a, double *lambda) {
  const pl_run *r = A->r;
  const pl_tables *T = r->w->T;
  double *x = A->temporary[14];
  for (int i = 0; i < T->nv; ++i) {
    x[i] = share * d->q[i];
    v[i] = d->from_v[i] + share * d->v[i], a[i] = d->from_a[i] + share * d->a[i];
  }
  for (int i = 0; i < T->m; ++i) lambda[i] = d->from_multipliers[i] + share * d->multipliers[i];
  pl_increment(T, r->q, x, q);
}

/* Add a multiple of the current gradient. */
static void add_gradient(const pl_adjoint *A, double by, double *bar_q, double *bar_v, double *bar_a, double *bar_multipliers) {
  const pl_tables *T = A->r->w->T;
  for (int i = 0; i < T->nv; ++i) bar_q[i] += by * A->gq[i], bar_v[i] += by * A->gv[i], bar_a[i] += by * A->ga[i];
  for (int i = 0; i < T->m; ++i) bar_multipliers[i] += by * A->gl[i];
}

/* Relative change of a gradient: the largest of its parts with respect to q, v and a. */
static double changed_share(const pl_adjoint *A, const double *const *was) {
  const double *now[3] = {A->gq, A->gv, A->ga};
  double most = 0;
  for (int k = 0; k < 3; ++k) {
    double change = 0, size = 0;
    for (int i = 0; i < A->r->w->T->nv; ++i) change += fabs(now[k][i] - was[k][i]), size += fabs(was[k][i]);
    if (change > 0) most = fmax(most, size > 0 ? change / size : INFINITY);
  }
  return most;
}

/* Subtracts the change of the gradient along a direction, by differences over `near` of it. The gradient at its beginning is in the
 * temporary arrays 12 and 16 to 18. */
static void gradient_along(pl_adjoint *A, const pl_direction *d, double near, double *bar_q, double *bar_v, double *bar_a,
                           double *bar_multipliers) {
  const pl_run *r = A->r;
  const pl_tables *T = r->w->T;
  const int nv = T->nv, m = T->m, with_inputs = T->n_signal && T->n_input;
  double *q = A->temporary[8], *v = A->temporary[9], *a = A->temporary[10], *lambda = A->temporary[11];
  const double *g = A->temporary[12], *gv = A->temporary[16], *ga = A->temporary[17], *gl = A->temporary[18];
  /* (f(near) - f(-near)) / (2 near), or differences that read inputs on one side alone: (f(near) - f(0)) / near, and where this is
   * too coarse (-3 f(0) + 4 f(near) - f(2 near)) / (2 near) */
  static const double at[3][2] = {{1}, {1, 2}, {1, -1}}, parts[3][2] = {{1}, {2, -0.5}, {0.5, -0.5}}, own[3] = {1, 1.5, 0};
  const double share = d->time < 0 ? -near : near;
  int kind = d->both_sides ? 2 : 1;
  for (int k = 0; k < (kind ? 2 : 1); ++k) {
    const double offset = share * at[kind][k];
    move(A, d, offset, q, v, a, lambda);
    pl_adjoint_gradient(A, pl_time(r, d->t + offset * d->time), q, v, a, lambda);
    if (kind == 1 && !k) {
      /* a gradient that changes by the share c over the way `near` bends by c^2 or so */
      const double *const was[3] = {g, gv, ga};
      const double change = changed_share(A, was) / near;
      if (0.5 * near * change * change < BENT) kind = 0;
    }
    const double by = parts[kind][k] / share;
    add_gradient(A, -by, bar_q, bar_v, bar_a, bar_multipliers);
    if (!with_inputs) continue;
    find_signals(A, q, v, A->by_signal, A->by_rate);
    credit_signals(A, by, A->by_signal, A->by_rate, at_time(A, &A->at_start, d->t));
  }
  const double here = own[kind] / share;
  for (int i = 0; i < nv; ++i) bar_q[i] += here * g[i], bar_v[i] += here * gv[i], bar_a[i] += here * ga[i];
  for (int i = 0; i < m; ++i) bar_multipliers[i] += here * gl[i];
  if (with_inputs && here != 0) credit_signals(A, -here, A->from_signal, A->from_rate, at_time(A, &A->at_start, d->t));
}

/* The change along a direction of the pairing's change with a parameter. Differences over one and two steps that are inconsistent
 * cross a bend, such as that of a damper with a power below one near its rest: then shorter steps are taken. */
static double parameter_along(pl_adjoint *A, int k, const pl_direction *d, double share) {
  /* (-3 f(0) + 4 f(away) - f(2 away)) / (2 away), or (8 (f(away) - f(-away)) - (f(2 away) - f(-2 away))) / (12 away) */
  static const double offsets[2][4] = {{0, 1, 2}, {1, -1, 2, -2}};
  static const double weights[2][4] = {{-1.5, 2, -0.5}, {8.0 / 12, -8.0 / 12, -1.0 / 12, 1.0 / 12}};
  double *q = A->temporary[8], *v = A->temporary[9], *a = A->temporary[10], *lambda = A->temporary[11];
  double away = d->time < 0 ? -share : share, total = 0;
  const int central = d->time == 0;
  for (int shorter = 0; shorter < SHORTER; ++shorter, away *= SHARE) {
    double f[4] = {0}, largest = 0;
    total = 0;
    for (int n = 0; n < 3 + central; ++n) {
      const double offset = away * offsets[central][n];
      move(A, d, offset, q, v, a, lambda);
      f[n] = by_parameter(A, k, (paired_state){A, pl_time(A->r, d->t + offset * d->time), q, v, a, lambda});
      total += weights[central][n] / away * f[n], largest = fmax(largest, fabs(f[n]));
    }
    const double one = central ? 0.5 * (f[0] - f[1]) : f[1] - f[0], two = central ? 0.25 * (f[2] - f[3]) : 0.5 * (f[2] - f[0]);
    if (fabs(one - two) <= fmax(INCONSISTENT * fabs(one), NOISE * largest)) break;
  }
  return total;
}

/* Parameters' credit -= the change along a direction of the pairing's change with each. */
static void parameters_along(pl_adjoint *A, const pl_direction *d, double share) {
  for (int k = 0; k < A->credit->n; ++k) A->credit->by_parameter[k] -= parameter_along(A, k, d, share);
}

void pl_adjoint_second(pl_adjoint *A, const pl_direction *d, double *bar_q, double *bar_v, double *bar_a,
                       double *bar_multipliers) {
  const pl_tables *T = A->r->w->T;
  const int nv = T->nv, m = T->m;
  double *g = A->temporary[12], *gv = A->temporary[16], *ga = A->temporary[17], *gl = A->temporary[18]; /* the gradient here */
  memcpy(g, A->gq, nv * sizeof(double)), memcpy(gv, A->gv, nv * sizeof(double)), memcpy(ga, A->ga, nv * sizeof(double));
  memcpy(gl, A->gl, m * sizeof(double));
  /* short directions are followed far beyond their ends, so that differences are no round-off; but not in time, in which inputs may
   * have kinks */
  const double length = length_of(A, d);
  pl_direction way = *d, waiting = *d;
  double near = fmin(fmax(NEAR, MOVED / length), LONGEST), away = fmin(fmax(AWAY, FURTHER / length), LONGEST);
  const int passing = signals_change(A, d, NEAR), apart = passing && length < STILL;
  if (passing && !apart) near = NEAR, away = AWAY;
  if (!passing || apart) way.time = 0;
  gradient_along(A, &way, near, bar_q, bar_v, bar_a, bar_multipliers);
  if (apart) {
    waiting.q = waiting.v = waiting.a = waiting.multipliers = A->r->w->zero;
    gradient_along(A, &waiting, NEAR, bar_q, bar_v, bar_a, bar_multipliers);
  }
  for (int i = 0; i < T->n_quat; ++i) { /* increments at the beginning are applied before the direction */
    const double *o = d->q + T->quat_v[i], *y = g + T->quat_v[i];
    double *z = bar_q + T->quat_v[i];
    z[0] -= o[1] * y[2] - o[2] * y[1], z[1] -= o[2] * y[0] - o[0] * y[2], z[2] -= o[0] * y[1] - o[1] * y[0];
  }
  if (T->n_signal && T->n_input) credit_passing(A, d->time, at_time(A, &A->at_start, d->t));
  if (!A->credit->n) return;
  parameters_along(A, &way, away);
  if (apart) parameters_along(A, &waiting, AWAY);
}
