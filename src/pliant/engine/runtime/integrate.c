/* The time loop: step size, stops, constraints, samples. Methods only supply the step. */
#include "integrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adjoint.h"
#include "blocks.h"
#include "contact.h"

#define MAX_HALVINGS 6   /* of a fixed step that Newton's method cannot solve */
#define WHOLE (1 << MAX_HALVINGS) /* a fixed step, in parts of the shortest one */
#define LEAST_STEP 1e-18 /* smallest step, relative to the time to the next stop */
#define TOUCH_STRICTER 100 /* factor on the tolerances if contacts open or close: estimates assume smooth motions */
#define GENTLE 0.05       /* fraction of the largest speed of the run: slower rebounds are negligible */
#define POSITION_JUMP 1e-8 /* of constraint values, relative to their sizes: prescribed positions that differ by more jump */
#define SUDDEN 4           /* ratio of power dissipated after and before a jump, above which the next step resolves the damping */
#define SHARE_DAMPED 0.5   /* fraction of a jump's energy dissipated in such a step, at the power of its beginning */
#define CALM_STEPS 16    /* steps after which a longer one is tried again */

typedef struct {
  int (*step)(pl_run *, double, double *);
  int exponent;  /* the error estimate shrinks with this power of the step */
  int projected; /* the driver restores the constraints after the step */
  int evaluated; /* the driver computes accelerations and multipliers from the equations at the new state */
} method;

static const method METHODS[] = {{pl_step_explicit, 5, 1, 1},
                                 {pl_step_rosenbrock, 4, 1, 0},
                                 {pl_step_generalized_alpha, 3, 0, 0},
                                 {pl_step_semi_implicit, 2, 1, 0},
                                 {pl_step_symplectic_euler, 2, 1, 1}};

static void place_method(pl_run *r, pl_memory *m) {
  const pl_tables *T = r->w->T;
  pl_run_memory *x = &r->memory;
  const size_t nq = T->nq, nv = T->nv, rows = T->m, n = nq + nv + 2, stage = 3 * nv + rows, dense = nv * rows;
  switch (r->method) {
    case PL_EXPLICIT:
      x->runge_kutta.k = pl_doubles(m, 7 * n), x->runge_kutta.x = pl_doubles(m, n);
      x->runge_kutta.error = pl_doubles(m, nv + nv);
      break;
    case PL_SEMI_IMPLICIT:
      x->semi_implicit.x = pl_doubles(m, nv), x->semi_implicit.rate = pl_doubles(m, rows);
      break;
    case PL_SYMPLECTIC_EULER:
      x->symplectic_euler.x = pl_doubles(m, nv);
      break;
    case PL_GENERALIZED_ALPHA:
      x->alpha.x = pl_doubles(m, nv), x->alpha.blocks = pl_doubles(m, 3 * nv), x->alpha.unit = pl_doubles(m, nv);
      x->alpha.column = pl_doubles(m, nv), x->alpha.turned = pl_doubles(m, nv), x->alpha.errors = pl_doubles(m, 2 * nv);
      x->alpha.step = pl_doubles(m, nv + rows), x->alpha.residual = pl_doubles(m, nv), x->alpha.unchanged = pl_doubles(m, nv);
      x->alpha.solved = pl_doubles(m, rows);
      break;
    case PL_ROSENBROCK:
      x->rosenbrock.k = pl_doubles(m, 6 * stage), x->rosenbrock.sum = pl_doubles(m, stage);
      x->rosenbrock.bx = pl_doubles(m, nv), x->rosenbrock.bz = pl_doubles(m, nv), x->rosenbrock.f = pl_doubles(m, nv);
      x->rosenbrock.g = pl_doubles(m, rows), x->rosenbrock.force = pl_doubles(m, nv), x->rosenbrock.row = pl_doubles(m, rows);
      x->rosenbrock.q = pl_doubles(m, nq), x->rosenbrock.blocks = pl_doubles(m, 3 * nv);
      x->rosenbrock.by_signal = pl_doubles(m, nv * T->n_signal);
      x->rosenbrock.L = pl_doubles(m, dense), x->rosenbrock.Eq = pl_doubles(m, dense), x->rosenbrock.LS = pl_doubles(m, dense);
      x->rosenbrock.J = pl_doubles(m, T->nnz_j), x->rosenbrock.rows = pl_doubles(m, T->nnz_j);
      x->rosenbrock.moved = pl_doubles(m, 2 * (nv + rows));
      break;
  }
}

static void place(pl_run *r, pl_memory *m) {
  const pl_tables *T = r->w->T;
  pl_run_memory *x = &r->memory;
  const size_t nq = T->nq, nv = T->nv, rows = T->m, signals = T->n_signal;
  double **states[] = {&r->q, &r->q1, &x->middle.q};
  double **rates[] = {&r->v,          &r->a,      &r->lead,   &r->v1,     &r->a1,       &r->lead1,   &r->a_before,
                      &x->middle.v, &x->middle.a};
  double **between[] = {&x->between.d0, &x->between.d1, &x->between.dd0, &x->between.dd1, &x->between.qd, &x->between.qdd};
  for (size_t i = 0; i < sizeof states / sizeof *states; ++i) *states[i] = pl_doubles(m, nq);
  for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) *rates[i] = pl_doubles(m, nv);
  for (size_t i = 0; i < sizeof between / sizeof *between; ++i) *between[i] = pl_doubles(m, nq);
  r->multipliers = pl_doubles(m, rows), r->multipliers1 = pl_doubles(m, rows), x->middle.multipliers = pl_doubles(m, rows);
  r->work = pl_doubles(m, 2), r->work1 = pl_doubles(m, 2);
  x->left.value = pl_doubles(m, signals), x->left.rate = pl_doubles(m, signals);
  x->left.acceleration = pl_doubles(m, signals);
  x->right.value = pl_doubles(m, signals), x->right.rate = pl_doubles(m, signals);
  x->right.acceleration = pl_doubles(m, signals), x->right.largest = pl_doubles(m, signals), x->right.here = pl_doubles(m, signals);
  x->at_places = pl_doubles(m, 2 * signals), x->input_weights = pl_doubles(m, T->n_input);
  x->round_off = pl_doubles(m, signals);
  x->extent.p = pl_doubles(m, 3 * T->n_node), x->extent.R = pl_doubles(m, 9 * T->n_node);
  x->extent.V = pl_doubles(m, 6 * T->n_node), x->extent.rates = pl_doubles(m, T->nv);
  r->moved = pl_doubles(m, 2 * T->n_node), r->lost = pl_doubles(m, 2 * T->n_node), r->pulse = pl_doubles(m, 2 * T->n_node);
  x->vibration.x = pl_doubles(m, nv), x->vibration.fast = pl_doubles(m, nv), x->vibration.y = pl_doubles(m, nv);
  x->vibration.change = pl_doubles(m, nv), x->vibration.V = pl_doubles(m, 6 * T->n_node);
  x->vibration.W = pl_doubles(m, 6 * T->n_node);
  x->vibration.step = pl_doubles(m, 2 * T->n_node), x->vibration.recent = pl_doubles(m, 2 * T->n_node);
  x->vibration.rate = pl_doubles(m, 2 * T->n_node);
  r->deepest = pl_doubles(m, T->n_shape);
  place_method(r, m);
}

pl_run *pl_run_new(pl_work *w, int method) {
  pl_memory m = {0};
  pl_run *r = (pl_run *)calloc(1, sizeof *r);
  if (!r) return NULL;
  r->w = w, r->method = method, r->pause = INFINITY, r->beginning = -1;
  place(r, &m);
  r->block = pl_block(&m);
  const int keeps = method == PL_GENERALIZED_ALPHA;
  if (keeps) r->secant = pl_secant_new(w->T);
  if (!r->block || (keeps && !r->secant) || pl_run_contacts_new(r)) {
    pl_run_free(r);
    return NULL;
  }
  place(r, &m);
  return r;
}

void pl_run_free(pl_run *r) {
  if (!r) return;
  pl_run_unfollow(r);
  pl_tape_free(r->tape);
  pl_secant_free(r->secant);
  pl_run_contacts_free(r);
  free(r->block), free(r);
}

double pl_time(const pl_run *r, double t) { return fmin(fmax(t, r->t_floor), r->t_cap); }

/* A few units in the last place of times around t, the width of a jump. */
static double instant(double t, double span) { return 0.5 * PL_INSTANT * fmax(fabs(t), fabs(span)); }

/* From now on inputs are read after the state's time. */
static void pass_jump(pl_run *r) {
  r->t_floor = r->t + instant(r->t, r->next_stop < r->n_stop ? r->stop[r->next_stop] - r->t : 0);
}

/* Includes numbers whose fourth power overflows: forces and inertias of such a state are not finite. */
int pl_check_finite(pl_run *r, const double *v) {
  r->where = -1;
  for (int i = 0; i < r->w->T->nv; ++i)
    if (!(fabs(v[i]) < 1e75)) return r->where = i, PL_NOT_FINITE;
  return PL_OK;
}

/* -- shared by the methods ----------------------------------------------------------------------------------------- */

void pl_power_here(const pl_run *r, const double *lambda, double *out) {
  const pl_work *w = r->w;
  out[0] = w->dissipation, out[1] = w->supply;
  for (int i = 0; i < w->T->m; ++i)
    if (w->T->row_signal[i] >= 0) out[1] += lambda[i] * w->signal_rate[w->T->row_signal[i]];
}

void pl_power(pl_run *r, double t, const double *q, const double *v, const double *lambda, double *out) {
  pl_evaluate(r->w, t, q, v);
  pl_power_here(r, lambda, out);
}

/* B(x) v = v + x x v / 2 + c x x (x x v), c = (1 - a/2 cot(a/2)) / a^2 with the angle a = |x| */
void pl_increment_rate(const pl_tables *T, const double *x, const double *v, double *out) {
  memcpy(out, v, T->nv * sizeof(double));
  for (int i = 0; i < T->n_quat; ++i) {
    const double *p = x + T->quat_v[i], *o = v + T->quat_v[i];
    double *z = out + T->quat_v[i];
    const double a2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2], a = sqrt(a2);
    const double c = a < 0.3 ? 1.0 / 12 + a2 * (1.0 / 720 + a2 * (1.0 / 30240 + a2 * (1.0 / 1209600 + a2 / 47900160)))
                             : (1 - 0.5 * a / tan(0.5 * a)) / a2;
    const double y[3] = {p[1] * o[2] - p[2] * o[1], p[2] * o[0] - p[0] * o[2], p[0] * o[1] - p[1] * o[0]};
    const double yy[3] = {p[1] * y[2] - p[2] * y[1], p[2] * y[0] - p[0] * y[2], p[0] * y[1] - p[1] * y[0]};
    for (int k = 0; k < 3; ++k) z[k] = o[k] + 0.5 * y[k] + c * yy[k];
  }
}

void pl_multiply(const pl_tables *T, const double *X, const double *x, double *y) {
  memset(y, 0, T->nv * sizeof(double));
  for (int j = 0; j < T->nv; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k) y[T->row[k]] += X[k] * x[j];
}

/* -- start and restart --------------------------------------------------------------------------------------------- */

/* Factorizations reuse pivots of this run, not of others in the same workspace. */
static void resume(pl_run *r) {
  pl_run_use_contacts(r);
  if (r->beginning == r->w->beginnings) return;
  pl_begin(r->w);
  r->evaluated = NAN;
  r->beginning = r->w->beginnings;
}

/* Accelerations and powers of the state, without memory of previous steps. */
static int refresh(pl_run *r) {
  const pl_tables *T = r->w->T;
  r->t_cap = INFINITY;
  r->evaluated = NAN;
  pass_jump(r);
  int status = pl_next_forward(r->w, pl_time(r, r->t), r->q, r->v, r->a);
  if (status || (status = pl_run_begin_contacts(r))) return status;
  memcpy(r->multipliers, r->w->lambda, T->m * sizeof(double));
  memset(r->lead, 0, T->nv * sizeof(double));
  r->h_before = 0, r->part = 0;
  if (r->secant) pl_secant_forget(r->secant), r->prediction = 0;
  pl_power_here(r, r->multipliers, r->power);
  pl_drift_interrupt(r);
  return pl_check_finite(r, r->a);
}

void pl_run_forget(pl_run *r) {
  pl_run_forget_contacts(r);
  r->steps = 0, r->halvings = r->calm = r->part = 0;
  r->beginning = -1;
}

/* First step size: a hundredth of the time in which the robot, with its initial rates and accelerations, moves by its own size.
 * Error control adapts it. */
static double first_step(pl_run *r) {
  const double span = r->stop[r->next_stop] - r->t, size = r->extent.size;
  double speed, spin, acceleration, angular;
  pl_largest_motion(r, r->v, &speed, &spin);
  pl_largest_motion(r, r->a, &acceleration, &angular);
  double time = INFINITY;
  if (speed > 0) time = fmin(time, size / speed);
  if (acceleration > 0) time = fmin(time, sqrt(size / acceleration));
  if (spin > 0) time = fmin(time, 1 / spin);
  if (angular > 0) time = fmin(time, sqrt(1 / angular));
  return fmin(0.01 * time, 0.01 * span);
}

/* Accelerations at the start, a first guess of the step, samples at the start. May be called again between advances after
 * the caller has changed inputs or constants. */
int pl_run_start(pl_run *r) {
  resume(r);
  const int status = refresh(r);
  if (status) return status;
  if (r->tape) pl_tape_refreshed(r);
  r->previous_error = 1;
  if (!r->steps) {
    pl_extent_begin(r);
    pl_drift_begin(r);
    pl_signal_range(r);
  }
  if (!r->fixed) {
    if (!(r->h > 0) && r->next_stop < r->n_stop && r->stop[r->next_stop] > r->t) r->h = first_step(r);
    r->h = fmin(r->h, r->h_max);
  }
  pl_sample_state(r);
  return PL_OK;
}

/* Return to a state inside the last step (of an event); later samples are dropped. */
int pl_run_go_to(pl_run *r, double t, const double *q, const double *v) {
  resume(r);
  double work[2];
  if (r->steps) {
    pl_interpolate_work(r->work1, r->work, r->power1, r->power, r->h_last, 1 + (t - r->t) / r->h_last, work);
    memcpy(r->work, work, sizeof work);
  }
  r->t = t;
  memcpy(r->q, q, r->w->T->nq * sizeof(double)), memcpy(r->v, v, r->w->T->nv * sizeof(double));
  while (r->next_sample > 0 && r->sample_t[r->next_sample - 1] > t) r->next_sample--;
  while (r->next_stop > 0 && r->stop[r->next_stop - 1] > t) r->next_stop--;
  if (r->w->contacts) { /* relative to the beginning of the step that led here */
    if (r->steps) r->w->contacts->memory = r->contact[1];
    pl_evaluate(r->w, pl_time(r, t), r->q, r->v);
    const int status = pl_contact_remember(r->w, r->contact[0]);
    if (status) return status;
    pl_run_use_contacts(r);
  }
  return refresh(r);
}

int pl_run_driven(const pl_run *r) {
  for (int i = 0; i < r->w->T->m; ++i)
    if (r->w->T->row_signal[i] >= 0 && r->w->row_active[i]) return 1;
  return 0;
}

static int differs(double x, double y, double slack) { return fabs(x - y) > 1e-9 * (fabs(x) + fabs(y)) + slack; }

/* Whether signals differ between just before the state's time (t_cap) and after it; of prescribed motions also their rates. */
static int signals_jump(pl_run *r) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int n = T->n_signal;
  const double between = 4 * (r->t_floor - r->t_cap);
  int jumps = 0;
  double *left = r->memory.left.value, *left_rate = r->memory.left.rate;
  double *left_acceleration = r->memory.left.acceleration;
  pl_signals(w, r->t_cap);
  memcpy(left, w->signal, n * sizeof(double)), memcpy(left_rate, w->signal_rate, n * sizeof(double));
  memcpy(left_acceleration, w->signal_acceleration, n * sizeof(double));
  pl_signals(w, r->t_floor);
  for (int i = 0; i < n; ++i)
    jumps |= differs(left[i], w->signal[i], between * (fabs(left_rate[i]) + fabs(w->signal_rate[i])));
  if (jumps) { /* signals that cancel differ by round-off */
    double *right = r->memory.right.value, *round_off = r->memory.round_off;
    memcpy(right, w->signal, n * sizeof(double));
    pl_signal_round_off(r, r->t_floor, round_off);
    for (int i = 0; i < n; ++i)
      if (differs(left[i], right[i], between * (fabs(left_rate[i]) + fabs(w->signal_rate[i])) + round_off[i])) return 1;
  }
  for (int k = 0; k < T->m; ++k) {
    const int i = T->row_signal[k];
    if (i < 0) continue;
    const double slack = between * (fabs(left_acceleration[i]) + fabs(w->signal_acceleration[i]));
    if (differs(left_rate[i], w->signal_rate[i], slack) || differs(left_acceleration[i], w->signal_acceleration[i], 0))
      return 1;
  }
  return 0;
}

/* Energy of the change of velocity from v0 [J]. */
static double energy_of_change(pl_run *r, double *v0) {
  for (int i = 0; i < r->w->T->nv; ++i) v0[i] = r->v[i] - v0[i];
  pl_kinematics(r->w, r->q, v0);
  return pl_kinetic_energy(r->w);
}

/* A jump of prescribed velocities excites stiff vibrations that damping ends within a fraction of a step. The work of that damping is
 * integrated from a few points of the step, so the next one ends before the vibrations do.
 * energy: of the jump; before: power dissipated with the velocities until then, by the forces after the jump */
static void resolve_damping(pl_run *r, double energy, double before) {
  const double power = r->power[0] - before;
  if (!r->fixed && power > SUDDEN * before) r->h = fmin(r->h, SHARE_DAMPED * energy / power);
}

/* Whether constraints are off by more than prescribed motions move in the instant in which inputs are read. Robots whose parts are
 * all at one point have hardly any size to compare with. */
static int positions_jump(const pl_run *r) {
  const pl_work *w = r->w;
  const double between = 4 * (r->t_floor - r->t_cap);
  for (int i = 0; i < w->T->m; ++i) {
    const int signal = w->T->row_signal[i];
    const double slack = signal < 0 ? 0 : between * fabs(w->signal_rate[signal]);
    if (w->row_active[i] && fabs(w->phi[i]) > POSITION_JUMP * w->row_size[i] + slack) return 1;
  }
  return 0;
}

int pl_run_pass_jump(pl_run *r) {
  pl_work *w = r->w;
  if (!pl_run_driven(r)) return refresh(r);
  pl_evaluate(w, r->t_floor, r->q, r->v);
  pl_constraints(w, r->q, r->v);
  if (positions_jump(r)) return PL_POSITION_JUMPS;
  const double before = pl_kinetic_energy(w), damped = w->dissipation;
  double *v0 = r->memory.middle.v;
  memcpy(v0, r->v, w->T->nv * sizeof(double));
  int status = pl_next_project(w, r->t_floor, r->q, r->v, r->projection_tolerance);
  if (status) return status;
  pl_kinematics(w, r->q, r->v);
  r->work[1] += pl_kinetic_energy(w) - before;
  const double energy = energy_of_change(r, v0);
  if (!(status = refresh(r))) resolve_damping(r, energy, damped);
  return status;
}

/* Energy added to springs by a jump of signals, as of a winch that winds in some line. */
static double stored_by_jump(pl_run *r) {
  pl_evaluate(r->w, r->t_cap, r->q, r->v);
  const double before = r->w->energy;
  pl_evaluate(r->w, r->t_floor, r->q, r->v);
  return r->w->energy - before;
}

/* Continue on the other side of a stop. Where inputs have jumped, prescribed velocities take effect at once; prescribed positions
 * cannot. */
static int cross_stop(pl_run *r) {
  int status = PL_OK;
  pass_jump(r);
  if (r->w->T->n_signal && signals_jump(r)) {
    r->work[1] += stored_by_jump(r);
    status = pl_run_pass_jump(r);
    if (!status && r->tape) pl_tape_refreshed(r);
  }
  /* the caller may change inputs before continuing: pl_run_start then samples the state */
  if (!status && r->t < r->pause) pl_sample_state(r);
  return status;
}

/* -- steps --------------------------------------------------------------------------------------------------------- */

/* Powers in the interpolated middle of the step; of methods of second order at the mean rate of the step, with which the trapezoidal
 * rule balances its energy exactly: rates of vibrations faster than the step alternate, and their damping would count many times. */
static int middle_power(pl_run *r, double h, double *power) {
  const pl_tables *T = r->w->T;
  const double half = pl_time(r, r->t + 0.5 * h);
  double *q = r->memory.middle.q, *v = r->memory.middle.v, *l = r->memory.middle.multipliers;
  pl_interpolate(r, h, 0.5, q, v, 0);
  if (r->method == PL_ROSENBROCK && T->m && pl_run_driven(r)) { /* multipliers to the method's own order */
    const int status = pl_next_forward(r->w, half, q, v, r->memory.middle.a);
    if (!status) pl_power_here(r, r->w->lambda, power);
    return status;
  }
  if (r->method == PL_GENERALIZED_ALPHA)
    for (int i = 0; i < T->nv; ++i) v[i] = r->memory.alpha.x[i] / h;
  for (int i = 0; i < T->m; ++i) l[i] = 0.5 * (r->multipliers[i] + r->multipliers1[i]);
  pl_power(r, half, q, v, l, power);
  return PL_OK;
}

/* Powers of the candidate, and their integrals over the step: by Simpson's rule, of methods of second order by the midpoint rule, of
 * first order by the trapezoidal rule.
 * The candidate is evaluated last: the next step may begin with that. Explicit steps integrate them with their own stages. */
static int add_work(pl_run *r, double h) {
  const int simple = r->method == PL_SEMI_IMPLICIT || r->method == PL_SYMPLECTIC_EULER;
  double middle[2] = {0};
  if (!simple) {
    const int status = middle_power(r, h, middle);
    if (status) return status;
  }
  if (!r->complete && !METHODS[r->method].evaluated) {
    const double t1 = pl_time(r, r->t + h);
    pl_power(r, t1, r->q1, r->v1, r->multipliers1, r->power1);
    r->evaluated = t1;
  }
  for (int k = 0; k < 2; ++k) {
    const double ends = r->power[k] + r->power1[k], all = r->method == PL_GENERALIZED_ALPHA ? 6 * middle[k] : ends + 4 * middle[k];
    r->work1[k] = r->work[k] + (simple ? 0.5 * h * ends : h / 6 * all);
  }
  return PL_OK;
}

/* A step of size h to a candidate that satisfies the constraints, unless its error is too large. */
int pl_run_attempt(pl_run *r, double h, double *error) {
  const pl_tables *T = r->w->T;
  const method *m = METHODS + r->method;
  const double t1 = pl_time(r, r->t + h);
  const int powered = T->n_cforce || T->n_fforce || T->n_rel || T->n_route || T->n_shape || T->n_signal;
  r->complete = r->restored = r->erases = 0;
  *error = 0;
  int status = m->step(r, h, error);
  if (!status) status = pl_memory_status(r->w);
  /* generalized-alpha measures kinks itself, which is sufficient if there are many impacts */
  const int measured = r->method == PL_GENERALIZED_ALPHA && pl_run_crowded(r);
  if (!status && !r->fixed && !measured && pl_run_impact(r) > GENTLE * r->extent.all.speed) *error *= TOUCH_STRICTER;
  r->evaluated = NAN;
  if (status) return status;
  if ((status = pl_check_finite(r, r->v1))) return status;
  if (!isfinite(*error)) return r->where = 0, PL_NOT_FINITE;
  if (!r->fixed && *error > 1) return PL_OK;
  if (!r->complete) {
    pl_normalize(T, r->q1);
    if (m->projected && !r->restored && (status = pl_next_project(r->w, t1, r->q1, r->v1, r->projection_tolerance))) return status;
    if (m->evaluated) {
      if ((status = pl_next_forward(r->w, t1, r->q1, r->v1, r->a1))) return status;
      memcpy(r->multipliers1, r->w->lambda, T->m * sizeof(double));
      pl_power_here(r, r->multipliers1, r->power1);
    }
  }
  if ((status = pl_check_finite(r, r->a1))) return status;
  if (!powered) r->work1[0] = r->work[0], r->work1[1] = r->work[1];
  else if (r->method != PL_EXPLICIT && (status = add_work(r, h))) return status;
  if (powered || r->method == PL_EXPLICIT) pl_drift_measure(r);
  r->work1[0] += pl_run_slip_loss(r, t1);
  return pl_run_passed(r, t1) ? PL_PASSED_THROUGH : PL_OK;
}

static void swap(double **a, double **b) {
  double *x = *a;
  *a = *b, *b = x;
}

static void accept(pl_run *r, double h, double t) {
  pl_vibration_accept(r);
  double *before = r->a_before;
  r->a_before = r->a, r->a = r->a1, r->a1 = before;
  swap(&r->q, &r->q1), swap(&r->v, &r->v1), swap(&r->multipliers, &r->multipliers1), swap(&r->lead, &r->lead1);
  swap(&r->work, &r->work1);
  for (int k = 0; k < 2; ++k) {
    const double old = r->power[k];
    r->power[k] = r->power1[k], r->power1[k] = old;
  }
  r->h_before = r->h_last = h;
  r->extent = r->extent1;
  r->t = t;
  r->steps++;
  pl_drift_accept(r);
}

/* Whether a sample lies within a step in which a polynomial would show spurious motion and energy: where contacts open or
 * close, or rebound within the step, and after a jump, where stiff parts reach equilibrium within the step, as they do where a
 * vibration is erased. */
static int sampled_where_rough(pl_run *r, double h) {
  const int jumped = r->h_before == 0 || r->erases;
  if (r->fixed || !(r->w->contacts || jumped) || r->next_sample >= r->n_sample) return 0;
  const double ahead = r->sample_t[r->next_sample] - r->t;
  if (!(ahead > 1e-9 * h && ahead < h * (1 - 1e-9))) return 0;
  return (r->w->contacts && pl_run_contacts_changed(r)) || !pl_step_is_smooth(r, h);
}

/* The next fixed step. The time to a stop is divided into equal steps, because a very short last step would degrade accelerations;
 * these are halved as often as Newton's method requires. */
static double fixed_step(const pl_run *r, double left, int *lands) {
  const double done = r->part / (double)WHOLE;
  /* round-off of the sum of many steps needs no further step */
  const double slack = fmin(0.5, 1e-6 + DBL_EPSILON * r->steps * fabs(r->t) / r->h);
  const double count = fmax(1, ceil(left / r->h + done - slack));
  *lands = count == 1 && r->part + (WHOLE >> r->halvings) == WHOLE;
  return ldexp(left / (count - done), -r->halvings);
}

/* After a fixed step: halved ones fill the whole step that they replace before steps become longer again, so that the motion does
 * not depend on how far away the next stop is. */
static void finish_part(pl_run *r) {
  r->part = (r->part + (WHOLE >> r->halvings)) % WHOLE;
  if (!r->halvings || ++r->calm < CALM_STEPS || r->part % (2 * WHOLE >> r->halvings)) return;
  r->halvings--, r->calm = 0;
}

/* Advance to the last stop, or until max_steps more steps are done. */
int pl_run_advance(pl_run *r, long max_steps) {
  const int exponent = METHODS[r->method].exponent;
  const long last = r->steps + max_steps;
  int failures = 0;
  double sample_ahead = 0; /* alternative end of the next step, if not zero [s] */
  resume(r);
  while (r->next_stop < r->n_stop) {
    const double stop = r->stop[r->next_stop], left = stop - r->t;
    if (left <= PL_INSTANT * fmax(fabs(stop), fabs(r->t))) {
      r->next_stop++;
      continue;
    }
    if (r->steps >= last || r->t >= r->pause) return PL_MAX_STEPS;
    double h = r->h;
    int lands = 0;
    if (r->fixed) h = fixed_step(r, left, &lands);
    else if (h >= left * (1 - 1e-9)) h = left, lands = 1;
    else if (2 * h > left) h = 0.5 * left;
    if (sample_ahead > 0 && sample_ahead < h) h = sample_ahead, lands = 0;
    if (!lands && !(r->t + h > r->t)) return PL_STEP_TOO_SMALL; /* the time would not advance */
    r->t_cap = lands ? stop - instant(stop, left) : INFINITY;
    const double missed = pl_signal_error(r, h);
    double error = missed;
    int status = missed > 1 ? PL_OK : pl_run_attempt(r, h, &error);
    error = fmax(error, missed);
    if (status == PL_OUT_OF_MEMORY) return status; /* shorter steps need as much */
    if (status || (!r->fixed && error > 1)) {
      r->rejected++, failures++;
      if (r->fixed) { /* steps that Newton's method cannot solve are temporarily shortened */
        if ((status != PL_NO_CONVERGENCE && status != PL_PASSED_THROUGH) || r->halvings == MAX_HALVINGS) return status;
        r->halvings++, r->calm = 0;
        continue;
      }
      r->h = h * (status ? 0.25 : fmax(0.2, 0.9 * pow(error, -1.0 / exponent)));
      if (r->h < fmax(LEAST_STEP * left, 16 * DBL_EPSILON * fabs(r->t))) return status ? status : PL_STEP_TOO_SMALL;
      continue;
    }
    if (sampled_where_rough(r, h)) {
      r->rejected++, sample_ahead = r->sample_t[r->next_sample] - r->t;
      continue;
    }
    sample_ahead = 0;
    const int more_stops = r->next_stop + 1 < r->n_stop;
    /* a sample at a jump is the state after it */
    if ((status = pl_sample_step(r, h, !(lands && more_stops)))) return status;
    if (r->sensitivity) {
      r->evaluated = NAN;
      if ((status = pl_sensitivity_step(r, h))) return status;
    }
    if (r->tape && (status = pl_tape_add(r, h))) return status;
    if ((status = pl_run_commit_contacts(r, pl_time(r, r->t + h)))) return status;
    accept(r, h, lands ? stop : r->t + h);
    if (!r->fixed) {
      /* proportional-integral control of the step size */
      const double e = fmax(error, 1e-4);
      double factor = 0.9 * pow(fmax(error, 1e-10), -0.7 / exponent) * pow(r->previous_error, 0.4 / exponent);
      factor = fmin(failures ? 1 : 5, fmax(0.2, factor));
      /* a step truncated by a stop does not affect the planned step size */
      r->h = fmin(r->h_max, factor < 1 || failures ? h * factor : fmax(r->h, h * factor));
      r->previous_error = e;
    } else
      finish_part(r);
    failures = 0;
    if (lands) {
      r->next_stop++;
      if (more_stops && (status = cross_stop(r))) return status;
    }
  }
  return PL_OK;
}
