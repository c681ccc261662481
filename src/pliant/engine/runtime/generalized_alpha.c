/* Generalized-alpha on the group of configurations with constraints at position level (Chung and Hulbert 1993; Arnold and
 * Bruels 2007), followed by a projection of the velocities and accelerations that the equations give for the new state
  * (Lunk and Simeon 2006): without it multipliers start with an error of first order that decays slowly or, without
  * numerical damping, not at all. Newmark's method is the case alpha_m = alpha_f = 0.
 *
 * Newton's unknowns are increments y of the configuration reached, dx = B(x) y for the increment x of the entire step, and
 * the multipliers. With the equations scaled by s = dx/da all blocks stay of order one as the step shrinks:
 *   [(M + s g C) B + s K, -J'; J, 0] [y; s dlambda] = -[s r; phi],     g = dv/dx */
#include <math.h>
#include <string.h>

#include "contact.h"
#include "integrate.h"

#define MAX_FACTORIZATIONS 25
#define MAX_ITERATIONS 200
#define NEWTON_TOLERANCE 1e-8 /* of the acceleration, relative to it and to IN_PLAY of the typical ones */
#define KEPT_TOLERANCE 1e-9   /* the same with old factors, with which stiff components converge last */
#define EULER_TOLERANCE 1e-4  /* the same for steps with impacts, which are of first order */
#define IN_PLAY 0.1           /* fraction of gravity, or of the acceleration that moves the robot within the step ... */
#define STILL 1e-5            /* ... by this fraction of its size, or rotates it by this angle [rad] */
#define ROUND_OFF 1e-12       /* changes, relative to the robot's size or in rad, that may be round-off */
#define CONSTRAINT_TOLERANCE 1e-11 /* of constraint values, relative to their sizes */
#define SAME_POWER 1e-7       /* powers are not evaluated again after a smaller iteration */
#define ROUGH 1             /* change of the acceleration, as above, down to which sliding friction is treated as a spring */
#define ROUGH_ITERATIONS 12 /* and for at most this number of iterations */
#define SMALL 6             /* number of unknowns up to which every iteration computes new tangents, which are then cheap */
#define RENEWAL 10          /* cost of a new matrix and its factors in iterations */
#define USUAL 2             /* typical number of iterations of a step with good factors */
#define SAME_STEP 0.1       /* change of s up to which factors of another step are reused */
#define SMOOTH 0.1          /* rate of convergence of the first iterations up to which factors are reused in the next step */
#define LOST 30             /* an iteration that is longer than the first by this factor has diverged */
#define SEARCH_ABOVE 1e-6   /* iterations with a smaller change of the acceleration are accepted without a line search */
#define OVERSHOT 0.8        /* fraction of the initial work of an iteration that may remain at its end with the opposite sign */
#define FOUND 0.5           /* and the largest fraction that remains after a shortened one */
#define SEARCHES 12
#define STRICTER 4          /* safety factor on the estimate: unlike those of higher order, these errors accumulate over a run */
#define MARGIN 0.05         /* minimum distance of searched points from the ends of an interval, relative to its length */

/* The iterations of one step. */
typedef struct newton {
  double t, h, s, to_v;               /* time reached; s = dx/da and dv/dx, as above */
  double in_play;                     /* fraction of typical accelerations [1/s^2], of coordinates relative to their sizes */
  double last, first_size;            /* norm of the previous iteration, largest change of the first one */
  double first_rate;                  /* of convergence, from the first iteration to the second */
  double work;                        /* initial work of the last iteration, zero without a line search */
  int keep, used;                     /* whether the current factors are reused, and iterations since they were computed */
  int stayed;                         /* the last iteration was rejected: the state is still the evaluated one */
  int iterations, factorizations;
} newton;

/* Move the unknowns by a fraction of an iteration: change of x, and of the multipliers times s. */
static void move(pl_run *r, const newton *n, double share, const double *change, const double *multipliers) {
  double *x = r->memory.alpha.x;
  for (int i = 0; i < r->w->T->nv; ++i) {
    const double d = share * change[i];
    x[i] += d, r->v1[i] += n->to_v * d, r->a1[i] += d / n->s;
  }
  for (int i = 0; i < r->w->T->m; ++i) r->multipliers1[i] += share * multipliers[i] / n->s;
}

/* B(x) - 1 on rotations, column by column */
static void turn_blocks(const pl_tables *T, const double *x, double *blocks, double *unit, double *column) {
  for (int j = 0; j < 3; ++j) {
    memset(unit, 0, T->nv * sizeof(double));
    for (int i = 0; i < T->n_quat; ++i) unit[T->quat_v[i] + j] = 1;
    pl_increment_rate(T, x, unit, column);
    for (int i = 0; i < T->n_quat; ++i)
      for (int k = 0; k < 3; ++k) blocks[9 * i + 3 * j + k] = column[T->quat_v[i] + k] - (k == j);
  }
}

void pl_alpha_turns(pl_run *r) {
  turn_blocks(r->w->T, r->memory.alpha.x, r->memory.alpha.blocks, r->memory.alpha.unit, r->memory.alpha.column);
}

/* Velocities that satisfy the constraints' rates (closest in the mass metric), then accelerations and multipliers of the state,
 * with one factorization for both. */
static int consistent_rates(pl_run *r) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  const int status = pl_step_mass_matrix(w);
  if (status) return status;
  memset(w->rhs, 0, nv * sizeof(double));
  for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -w->phi_rate[i] : 0;
  pl_step_solve(w, w->rhs);
  for (int i = 0; i < nv; ++i) r->v1[i] += w->rhs[i];
  pl_kinematics(w, r->q1, r->v1);
  pl_forces(w, r->q1, r->v1);
  pl_constraints(w, r->q1, r->v1);
  pl_residual(w, r->v1, w->zero, w->rhs);
  for (int i = 0; i < nv; ++i) w->rhs[i] = -w->rhs[i];
  for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -w->gamma[i] : 0;
  pl_step_solve(w, w->rhs);
  memcpy(r->a1, w->rhs, nv * sizeof(double));
  memcpy(r->multipliers1, w->rhs + nv, m * sizeof(double));
  pl_power_here(r, r->multipliers1, r->power1);
  r->complete = 1;
  return PL_OK;
}

int pl_alpha_end(pl_run *r, double t, const double *v, const double *a) {
  const pl_tables *T = r->w->T;
  pl_increment(T, r->q, r->memory.alpha.x, r->q1);
  memcpy(r->v1, v, T->nv * sizeof(double)), memcpy(r->a1, a, T->nv * sizeof(double));
  if (!T->m) return PL_OK;
  pl_signals(r->w, t), pl_kinematics(r->w, r->q1, r->v1), pl_constraints(r->w, r->q1, r->v1);
  return consistent_rates(r);
}

/* Local error of positions (level 0) and velocities (level 1) from differences of the acceleration. */
static void raw_error(const pl_run *r, double h, int level, double *e) {
  const pl_tables *T = r->w->T;
  if (r->kinked) { /* accelerations jump within the step */
    for (int i = 0; i < T->nv; ++i) {
      const double jump = r->a1[i] - r->a[i];
      e[i] = level ? 0.5 * h * jump : 0.5 * h * h * (r->euler ? r->a1[i] : jump);
    }
    return;
  }
  const double am = r->alpha_m, af = r->alpha_f, beta = r->beta, gamma = r->gamma, shift = am - af;
  /* coefficients of h^3 a' in positions, h^2 a' and h^3 a'' in velocities */
  const double c_q = fmax(fabs(beta + 0.5 * shift - 1.0 / 6), 1.0 / 24), c_v = gamma + shift - 0.5;
  const double c_vv = shift * (am - 0.5) + gamma * (0.5 + shift) - 1.0 / 6;
  const double past = r->h_before > 0 ? h / r->h_before : 0, curve = past > 0 ? 2 * past / (1 + past) : 0;
  for (int i = 0; i < T->nv; ++i) {
    const double jump = r->a1[i] - r->a[i];
    e[i] = level ? h * (c_v * jump + c_vv * curve * (jump - past * (r->a[i] - r->a_before[i]))) : c_q * h * h * jump;
  }
  for (int i = 0; !level && i < T->n_quat; ++i) { /* the axis rotates within the step */
    const double *o = r->v + T->quat_v[i], *b = r->a + T->quat_v[i], c = -h * h * h / 12;
    double *z = e + T->quat_v[i];
    z[0] += c * (o[1] * b[2] - o[2] * b[1]);
    z[1] += c * (o[2] * b[0] - o[0] * b[2]);
    z[2] += c * (o[0] * b[1] - o[1] * b[0]);
  }
}

/* The component allowed by the constraints. Components limited by stiffness are filtered: the estimate passes through Newton's last
 * matrix, as in Hairer and Wanner, Solving ODEs II, section IV.8. */
static void allowed_error(pl_run *r, double h, double *errors, double *raw) {
  pl_work *w = r->w;
  const int nv = w->T->nv;
  for (int level = 0; level < 2; ++level) {
    raw_error(r, h, level, raw);
    pl_secant_displace(r->secant, w->T, 1, raw);
    pl_step_product(w, raw, NULL, w->rhs);
    memset(w->rhs + nv, 0, w->T->m * sizeof(double));
    pl_step_solve(w, w->rhs);
    pl_secant_displace(r->secant, w->T, 0, w->rhs);
    memcpy(errors + nv * level, w->rhs, nv * sizeof(double));
  }
}

/* Add the component against the constraints, which measures how well the step resolves a prescribed motion. */
static void constrained_error(pl_run *r, double h, double *errors, double *raw) {
  pl_work *w = r->w;
  const int nv = w->T->nv;
  for (int level = 0; level < 2; ++level) {
    raw_error(r, h, level, raw);
    memset(w->rhs, 0, nv * sizeof(double));
    pl_constraint_product(w, raw, w->rhs + nv);
    for (int i = 0; i < w->T->m; ++i) w->rhs[nv + i] *= w->row_active[i];
    pl_step_solve(w, w->rhs);
    for (int i = 0; i < nv; ++i) errors[nv * level + i] += w->rhs[i];
  }
}

/* Work of an iteration against the imbalance of the state evaluated last: of its displacements y against forces (the residual)
 * and of its multipliers against constraints. For equations of a minimum it increases along the iteration, from a negative value.
 * */
static double work_along(const pl_work *w, double s, const double *step, const double *residual) {
  const int nv = w->T->nv;
  double y = 0;
  for (int i = 0; i < nv; ++i) y += s * step[i] * residual[i];
  for (int i = 0; i < w->T->m; ++i)
    if (w->row_active[i]) y += step[nv + i] * w->phi[i];
  return y;
}

/* An iteration went past the balance along it, as if ropes go slack or beams buckle: find the fraction of it at which its work is
 * nearly zero (method of false position, Illinois variant), and go back to it. */
static int shorten(pl_run *r, const newton *n, double at_end) {
  const double *step = r->memory.alpha.step, at_start = n->work;
  double low = 0, high = 1, below = at_start, above = at_end, share = 1;
  for (int search = 0; search < SEARCHES; ++search) {
    const double margin = MARGIN * (high - low), guess = low - below * (high - low) / (above - below);
    const double next = fmin(fmax(guess, low + margin), high - margin);
    move(r, n, next - share, r->memory.alpha.turned, step + r->w->T->nv);
    share = next;
    pl_increment(r->w->T, r->q, r->memory.alpha.x, r->q1);
    r->newton++;
    pl_unbalanced(r->w, n->t, r->q1, r->v1, r->a1, r->multipliers1);
    const double work = work_along(r->w, n->s, step, r->w->rhs);
    if (!isfinite(work)) return PL_NO_CONVERGENCE;
    if (fabs(work) < -FOUND * at_start) return PL_OK;
    if (work > 0) high = share, above = work, below /= 2;
    else low = share, below = work, above /= 2;
  }
  return PL_OK;
}

/* Predictors of Newton's method: a constant acceleration, one that continues to change, or constant rates. */
enum { UNKNOWN, UNCHANGED, EXTRAPOLATED, COASTING, PREDICTIONS };

/* Difference of a prediction from a constant acceleration of a coordinate, for which its increment would be x. */
static double predicted(const pl_run *r, const newton *n, int prediction, int i, double x) {
  switch (prediction) {
    case EXTRAPOLATED: return r->h_before > 0 ? n->h / r->h_before * (r->a[i] - r->a_before[i]) : 0;
    case COASTING: return (n->h * r->v[i] - x) / n->s;
    default: return 0;
  }
}

static void predict(pl_run *r, const newton *n, int prediction) {
  const double am = r->alpha_m, beta = r->beta, gamma = r->gamma, h = n->h;
  double *x = r->memory.alpha.x, *unchanged = r->memory.alpha.unchanged;
  for (int i = 0; i < r->w->T->nv; ++i) {
    const double before = r->a[i] + h * r->lead[i], after = (r->a[i] - am * before) / (1 - am);
    const double at_x = r->euler ? r->a[i] : (0.5 - beta) * before + beta * after;
    const double at_v = r->euler ? r->a[i] : (1 - gamma) * before + gamma * after;
    unchanged[i] = h * (r->v[i] + h * at_x);
    const double change = predicted(r, n, prediction, i, unchanged[i]);
    x[i] = unchanged[i] + n->s * change;
    r->v1[i] = r->v[i] + h * at_v + n->to_v * n->s * change;
    r->a1[i] = r->a[i] + change;
  }
  memcpy(r->multipliers1, r->multipliers, r->w->T->m * sizeof(double));
}

/* Sum of squares of the imbalance after a prediction, as work on motions of unit size. */
static double imbalance(pl_run *r, const newton *n, int prediction) {
  const double *size = r->memory.extent.rates;
  double y = 0;
  predict(r, n, prediction);
  pl_increment(r->w->T, r->q, r->memory.alpha.x, r->q1);
  r->newton++;
  pl_unbalanced(r->w, n->t, r->q1, r->v1, r->a1, r->multipliers1);
  for (int i = 0; i < r->w->T->nv; ++i) y += size[i] * r->w->rhs[i] * size[i] * r->w->rhs[i];
  return y;
}

/* If previous steps give no information, constant rates may be closer to balance: a constant acceleration would stretch ropes
 * that pulled only for a moment. */
static void start(pl_run *r, const newton *n) {
  int prediction = r->prediction;
  if (prediction == UNKNOWN) {
    const int compares = r->secant->size > SMALL && !r->w->T->m;
    prediction = compares && imbalance(r, n, COASTING) < imbalance(r, n, UNCHANGED) ? COASTING : UNCHANGED;
  }
  predict(r, n, prediction);
  r->prediction = UNKNOWN; /* until this step is solved */
}

/* The prediction that would have been best for the step just solved, weighted by inertia, is used for the next one. */
static void choose_prediction(pl_run *r, const newton *n) {
  const double *weight = r->secant->weight, *unchanged = r->memory.alpha.unchanged;
  double miss[PREDICTIONS] = {0};
  r->prediction = UNCHANGED;
  for (int k = UNCHANGED; k < PREDICTIONS; ++k) {
    for (int i = 0; i < r->w->T->nv; ++i) {
      const double d = r->a1[i] - r->a[i] - predicted(r, n, k, i, unchanged[i]);
      miss[k] += weight[i] * d * d;
    }
    if (miss[k] < miss[r->prediction]) r->prediction = k;
  }
}

/* Tangents of sliding friction: those of a spring, until it is known which surfaces stick at the end of the step. */
static void choose_friction(pl_run *r, newton *n) {
  pl_contacts *c = r->w->contacts;
  if (!c) return;
  const int before = c->secant, unsettled = n->last > ROUGH && n->iterations < ROUGH_ITERATIONS;
  c->secant = unsettled && (r->euler || n->last < INFINITY);
  if (before != c->secant) n->keep = 0;
}

/* The imbalance (in w->rhs, forces also in `residual`) after the last iteration, which is shortened if it went too far; with new
 * tangents unless factors are kept. */
static int evaluate(pl_run *r, newton *n) {
  pl_work *w = r->w;
  const int nv = w->T->nv;
  double *residual = r->memory.alpha.residual;
  r->newton++;
  choose_friction(r, n);
  if (n->stayed) memcpy(w->rhs, residual, nv * sizeof(double));
  else pl_unbalanced(w, n->t, r->q1, r->v1, r->a1, r->multipliers1);
  if (n->work < 0 && n->last > SEARCH_ABOVE) {
    const double left = work_along(w, n->s, r->memory.alpha.step, w->rhs);
    if (!isfinite(left)) return PL_NO_CONVERGENCE;
    if (left > -OVERSHOT * n->work) {
      if (shorten(r, n, left)) return PL_NO_CONVERGENCE;
      n->keep = 0, n->last = INFINITY;
    }
  }
  n->work = 0, n->stayed = 0;
  memcpy(residual, w->rhs, nv * sizeof(double));
  for (int i = 0; i < nv; ++i)
    if (!isfinite(residual[i])) return PL_NO_CONVERGENCE; /* beyond the range of a law: a shorter iteration stays within */
  if (!n->keep) pl_step_tangents(w, r->q1, r->v1, r->a1, r->multipliers1);
  return PL_OK;
}

static int factorize(pl_run *r, newton *n) {
  pl_work *w = r->w;
  double *blocks = r->memory.alpha.blocks;
  pl_alpha_turns(r);
  n->factorizations++, n->used = 0;
  const int status = pl_step_matrix(w, 1, n->s * n->to_v, n->s, blocks, NULL, 1);
  if (!status) pl_secant_restart(r->secant, w, n->s);
  return status;
}

/* Whether the current factors are reused for the next iteration: the additional iterations that they have cost, and will cost at
 * this rate of convergence, compared with the cost of new ones. */
static int worth_keeping(const pl_run *r, const newton *n, double norm, double rate) {
  if (r->secant->size <= SMALL) return 0;
  if (n->last == INFINITY) return 1;
  if (r->secant->count == PL_SECANT_DEPTH || rate >= 1) return 0;
  return r->secant->excess + n->used - USUAL + log(NEWTON_TOLERANCE / norm) / log(rate) < RENEWAL;
}

/* One iteration from the state evaluated last; none if the factors turn out to be unsuitable. */
static int iterate(pl_run *r, newton *n, int *converged) {
  pl_work *w = r->w;
  const int nv = w->T->nv, m = w->T->m;
  const double *rates = r->memory.extent.rates;
  double *turned = r->memory.alpha.turned, *step = r->memory.alpha.step, norm = 0, size = 0;
  for (int i = 0; i < nv; ++i) w->rhs[i] *= -n->s;
  for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -w->phi[i] : 0;
  pl_secant_solve(r->secant, w, w->rhs);
  pl_secant_improve(r->secant, w->rhs);
  pl_increment_rate(w->T, r->memory.alpha.x, w->rhs, turned);
  for (int i = 0; i < nv; ++i) {
    const double d = turned[i], a = r->a1[i] + d / n->s;
    norm = fmax(norm, fabs(d) / (n->h * n->h * (fabs(a) + n->in_play * rates[i])));
    size = fmax(size, fabs(d) / rates[i]);
  }
  *converged = 0;
  if (n->keep && !(norm < n->last)) return n->keep = 0, n->stayed = 1, PL_OK; /* longer than the previous one */
  if (!isfinite(norm) || (norm > SEARCH_ABOVE && size > LOST * n->first_size)) return PL_NO_CONVERGENCE;
  n->used++;
  n->work = work_along(w, n->s, w->rhs, r->memory.alpha.residual);
  memcpy(step, w->rhs, (nv + m) * sizeof(double));
  /* the remaining error is smaller by the rate of convergence; or only round-off is left */
  const int first = n->last == INFINITY;
  const double rate = first ? 1 : norm / n->last;
  const double left = r->euler ? EULER_TOLERANCE : n->keep ? KEPT_TOLERANCE : NEWTON_TOLERANCE;
  *converged = norm < 1e-3 * NEWTON_TOLERANCE || (rate < 1 && rate / (1 - rate) * norm < left) ||
               (!first && rate > 0.3 && size < ROUND_OFF);
  if (n->iterations == 0) n->first_size = size;
  if (n->iterations == 1) n->first_rate = rate;
  n->keep = worth_keeping(r, n, norm, rate);
  pl_secant_add(r->secant, step);
  n->last = norm;
  move(r, n, 1, turned, step + nv);
  return PL_OK;
}

static int solve_from_here(pl_run *r, newton *n) {
  pl_work *w = r->w;
  int converged = 0, status = PL_OK;
  for (;; ++n->iterations) {
    pl_increment(w->T, r->q, r->memory.alpha.x, r->q1);
    if (converged) {
      if (!w->T->m) break;
      pl_signals(w, n->t), pl_kinematics(w, r->q1, r->v1), pl_constraints(w, r->q1, r->v1);
      if (pl_constraint_gap(w) <= CONSTRAINT_TOLERANCE) break;
    }
    if (n->iterations == MAX_ITERATIONS || n->factorizations == MAX_FACTORIZATIONS) return PL_NO_CONVERGENCE;
    if ((status = evaluate(r, n))) return status;
    if (n->keep && !n->iterations) pl_secant_turn(r->secant, w);
    if (!n->keep && (status = factorize(r, n))) return status;
    if ((status = iterate(r, n, &converged))) return status;
  }
  if (!w->T->m && n->last < SAME_POWER) pl_power_here(r, r->multipliers1, r->power1), r->complete = 1;
  r->secant->excess += fmax(0.0, n->used - USUAL);
  choose_prediction(r, n);
  /* if a step is not smooth, the first iteration of the next one needs its tangents */
  if (n->first_rate > SMOOTH || r->secant->size <= SMALL) pl_secant_forget(r->secant);
  return PL_OK;
}

static int solve(pl_run *r, newton *n) {
  const int status = solve_from_here(r, n);
  if (r->w->contacts) r->w->contacts->secant = 0;
  return status;
}

/* Newton's iterations by the coefficients of a method. Contacts that open or close within a step would gain energy by
 * averages of accelerations before and after; there the implicit Euler method is used, which loses some. */
static int solve_step(pl_run *r, newton *n) {
  int status = PL_OK;
  r->euler = 0;
  if (!r->colliding || !(r->fixed || pl_run_crowded(r))) {
    start(r, n);
    status = solve(r, n);
    if (status || !pl_run_contacts_changed(r)) return status;
  }
  const newton again = {.t = n->t, .h = n->h, .s = n->h * n->h, .to_v = 1 / n->h, .in_play = n->in_play,
                        .last = INFINITY, .first_size = INFINITY};
  *n = again, r->euler = 1;
  pl_secant_forget(r->secant);
  predict(r, n, COASTING);
  status = solve(r, n);
  pl_secant_forget(r->secant);
  return status;
}

/* Reference size of changes of accelerations, in addition to the accelerations themselves. */
static double in_play(const pl_run *r, double h) {
  const double *g = r->w->theta;
  return IN_PLAY * fmax(sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) / r->extent.size, STILL / (h * h));
}

int pl_step_generalized_alpha(pl_run *r, double h, double *error) {
  const int nv = r->w->T->nv, m = r->w->T->m;
  const double am = r->alpha_m, af = r->alpha_f, beta = r->beta, gamma = r->gamma;
  const double s = h * h * beta * (1 - af) / (1 - am);
  double *errors = r->memory.alpha.errors, *unit = r->memory.alpha.unit;
  newton n = {.t = pl_time(r, r->t + h), .h = h, .s = s, .to_v = gamma / (h * beta), .in_play = in_play(r, h),
              .last = INFINITY, .first_size = INFINITY, .keep = pl_secant_serves(r->secant, r->w, s, SAME_STEP)};
  int status = solve_step(r, &n);
  if (status) return status;
  r->kinked = r->euler || pl_run_contacts_slip(r);
  const pl_step_factors factors = {1, n.s * n.to_v, n.s, NULL};
  if (!r->kinked) pl_vibration_step(r, h, &factors);
  if (!r->fixed) allowed_error(r, h, errors, unit);
  if (m) {
    memcpy(r->memory.alpha.solved, r->multipliers1, m * sizeof(double));
    if ((status = consistent_rates(r))) return status;
    if (!r->fixed) constrained_error(r, h, errors, unit);
  }
  if (!r->fixed) {
    for (int i = 0; i < nv; ++i) errors[nv + i] *= PL_RATES_COUNT;
    *error = STRICTER * pl_motion_error(r, h, errors, errors + nv);
  }
  for (int i = 0; i < nv; ++i) {
    const double before = r->a[i] + h * r->lead[i];
    const double after = ((1 - af) * r->a1[i] + af * r->a[i] - am * before) / (1 - am);
    r->lead1[i] = r->euler ? 0 : (after - r->a1[i]) / h;
  }
  return PL_OK;
}
