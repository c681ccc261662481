/* Generalized-alpha on the group of configurations with constraints at position level (Chung and Hulbert 1993; Arnold and
 * Bruels 2007), followed by a projection of the velocities and accelerations that the equations give for the new state
 * (Lunk and Simeon 2006): without it multipliers start with an error of first order that dies out slowly or, without
 * numerical damping, not at all. Newmark's method is the case alpha_m = alpha_f = 0.
 *
 * Newton's unknowns are increments y of the configuration reached, dx = B(x) y for the increment x of the whole step, and
 * the multipliers. With the equations scaled by s = dx/da all blocks stay of order one as the step shrinks:
 *   [(M + s g C) B + s K, -J'; J, 0] [y; s dlambda] = -[s r; phi],     g = dv/dx */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define MAX_FACTORIZATIONS 25
#define MAX_ITERATIONS 200
#define NEWTON_TOLERANCE 1e-8 /* of the acceleration, relative to 1 + |a| */
#define CONSTRAINT_TOLERANCE 1e-11
#define KEEP_BELOW 0.1      /* rate of convergence at which factors are kept ... */
#define KEEP_WITH_STEPS 0.8 /* ... when steps taken with them improve them */
#define LOST 30             /* a step so many times as long as the first one will not lead back */
#define SEARCH_ABOVE 1e-6   /* steps that change the acceleration by less are taken as they are */
#define OVERSHOT 0.8        /* of the work of a step at its start, what may be left of it at its end with the other sign */
#define FOUND 0.5           /* and what a shortened step leaves at most */
#define SEARCHES 12
#define STRICTER 4          /* than the estimate asks for: these errors add up over a run as those of higher order do not */
#define MARGIN 0.05         /* of an interval, searched points keep at least so far from its ends */

/* Moves the unknowns by a share of a Newton step: change of x, and of the multipliers times s. */
static void move(pl_run *r, double share, double s, double to_v, const double *change, const double *multipliers, double *x) {
  for (int i = 0; i < r->w->T->nv; ++i) {
    const double d = share * change[i];
    x[i] += d, r->v1[i] += to_v * d, r->a1[i] += d / s;
  }
  for (int i = 0; i < r->w->T->m; ++i) r->multipliers1[i] += share * multipliers[i] / s;
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

static double largest_violation(const pl_work *w) {
  double y = 0;
  for (int i = 0; i < w->T->m; ++i)
    if (w->row_active[i]) y = fmax(y, fabs(w->phi[i]));
  return y;
}

/* Velocities that satisfy the constraints' rates (nearest in the mass metric), then accelerations and multipliers of the
 * state; one factorization serves both. */
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

/* Local error of positions (level 0) and velocities (level 1) from differences of the acceleration. */
static void raw_error(const pl_run *r, double h, int level, double *e) {
  const pl_tables *T = r->w->T;
  const double am = r->alpha_m, af = r->alpha_f, beta = r->beta, gamma = r->gamma, shift = am - af;
  /* coefficients of h^3 a' in positions, h^2 a' and h^3 a'' in velocities */
  const double c_q = fmax(fabs(beta + 0.5 * shift - 1.0 / 6), 1.0 / 24), c_v = gamma + shift - 0.5;
  const double c_vv = shift * (am - 0.5) + gamma * (0.5 + shift) - 1.0 / 6;
  const double past = r->h_before > 0 ? h / r->h_before : 0, curve = past > 0 ? 2 * past / (1 + past) : 0;
  for (int i = 0; i < T->nv; ++i) {
    const double jump = r->a1[i] - r->a[i];
    e[i] = level ? h * (c_v * jump + c_vv * curve * (jump - past * (r->a[i] - r->a_before[i]))) : c_q * h * h * jump;
  }
  for (int i = 0; !level && i < T->n_quat; ++i) { /* the axis turns within the step */
    const double *o = r->v + T->quat_v[i], *b = r->a + T->quat_v[i], c = -h * h * h / 12;
    double *z = e + T->quat_v[i];
    z[0] += c * (o[1] * b[2] - o[2] * b[1]);
    z[1] += c * (o[2] * b[0] - o[0] * b[2]);
    z[2] += c * (o[0] * b[1] - o[1] * b[0]);
  }
}

/* The part that the constraints allow. What stiffness holds back does not count: the estimate goes through Newton's last
 * matrix, as in Hairer and Wanner, Solving ODEs II, section IV.8. */
static void allowed_error(pl_run *r, double h, double *errors, double *raw) {
  pl_work *w = r->w;
  const int nv = w->T->nv;
  for (int level = 0; level < 2; ++level) {
    raw_error(r, h, level, raw);
    pl_step_product(w, raw, NULL, w->rhs);
    memset(w->rhs + nv, 0, w->T->m * sizeof(double));
    pl_step_solve(w, w->rhs);
    memcpy(errors + nv * level, w->rhs, nv * sizeof(double));
  }
}

/* Adds the part against the constraints, which shows how well the step resolves a prescribed motion. */
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

/* Work of a step against what is out of balance at the state evaluated last: of its displacements y against forces (the
 * residual) and of its multipliers against constraints. Where equations are those of a minimum it grows along the step from
 * below zero. */
static double work_along(const pl_work *w, double s, const double *step, const double *residual) {
  const int nv = w->T->nv;
  double y = 0;
  for (int i = 0; i < nv; ++i) y += s * step[i] * residual[i];
  for (int i = 0; i < w->T->m; ++i)
    if (w->row_active[i]) y += step[nv + i] * w->phi[i];
  return y;
}

/* A step went past the balance along it, as where ropes go slack or beams buckle: finds the share of it at which its work
 * is next to nothing (method of false position, Illinois variant), and goes back to there. */
static int shorten(pl_run *r, double t, double s, double to_v, const double *step, const double *turned, double *x,
                   double at_start, double at_end) {
  double low = 0, high = 1, below = at_start, above = at_end, share = 1;
  for (int search = 0; search < SEARCHES; ++search) {
    const double margin = MARGIN * (high - low), guess = low - below * (high - low) / (above - below);
    const double next = fmin(fmax(guess, low + margin), high - margin);
    move(r, next - share, s, to_v, turned, step + r->w->T->nv, x);
    share = next;
    pl_increment(r->w->T, r->q, x, r->q1);
    r->newton++;
    pl_unbalanced(r->w, t, r->q1, r->v1, r->a1, r->multipliers1);
    const double work = work_along(r->w, s, step, r->w->rhs);
    if (!isfinite(work)) return PL_NO_CONVERGENCE;
    if (fabs(work) < -FOUND * at_start) return PL_OK;
    if (work > 0) high = share, above = work, below /= 2;
    else low = share, below = work, above /= 2;
  }
  return PL_OK;
}

/* Sum of the squares of what is out of balance for an increment x of the step. */
static double imbalance(pl_run *r, double t, const double *x) {
  double y = 0;
  pl_increment(r->w->T, r->q, x, r->q1);
  r->newton++;
  pl_unbalanced(r->w, t, r->q1, r->v1, r->a1, r->multipliers1);
  for (int i = 0; i < r->w->T->nv; ++i) y += r->w->rhs[i] * r->w->rhs[i];
  return y;
}

/* Starts from unchanged rates where that is nearer to balance: an acceleration that lasts stretches ropes which pulled for
 * a moment only. */
static void better_start(pl_run *r, double t, double h, double s, double to_v, double *x, double *change) {
  const double before = imbalance(r, t, x);
  for (int i = 0; i < r->w->T->nv; ++i) change[i] = h * r->v[i] - x[i];
  move(r, 1, s, to_v, change, NULL, x);
  const double after = imbalance(r, t, x);
  if (!(after < before)) move(r, -1, s, to_v, change, NULL, x);
}

int pl_step_generalized_alpha(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  const double am = r->alpha_m, af = r->alpha_f, beta = r->beta, gamma = r->gamma;
  const double s = h * h * beta * (1 - af) / (1 - am), to_v = gamma / (h * beta);
  double *x = r->memory.alpha.x, *blocks = r->memory.alpha.blocks, *unit = r->memory.alpha.unit;
  double *column = r->memory.alpha.column, *turned = r->memory.alpha.turned, *errors = r->memory.alpha.errors;
  double *step = r->memory.alpha.step, *residual = r->memory.alpha.residual;
  const double t = pl_time(r, r->t + h);
  /* start Newton from an unchanged acceleration */
  for (int i = 0; i < nv; ++i) {
    const double before = r->a[i] + h * r->lead[i], after = (r->a[i] - am * before) / (1 - am);
    x[i] = h * (r->v[i] + h * ((0.5 - beta) * before + beta * after));
    r->v1[i] = r->v[i] + h * ((1 - gamma) * before + gamma * after);
    r->a1[i] = r->a[i];
  }
  memcpy(r->multipliers1, r->multipliers, m * sizeof(double));
  if (r->secant) better_start(r, t, h, s, to_v, x, turned);
  double last = INFINITY, last_size = INFINITY, first_size = INFINITY, work = 0;
  for (int iteration = 0, factorizations = 0, converged = 0, keep = 0;; ++iteration) {
    pl_increment(T, r->q, x, r->q1);
    if (converged) {
      if (!m) break;
      pl_signals(w, t), pl_kinematics(w, r->q1, r->v1), pl_constraints(w, r->q1, r->v1);
      if (largest_violation(w) <= CONSTRAINT_TOLERANCE) break;
    }
    if (iteration == MAX_ITERATIONS || factorizations == MAX_FACTORIZATIONS) return PL_NO_CONVERGENCE;
    r->newton++;
    if (keep) pl_unbalanced(w, t, r->q1, r->v1, r->a1, r->multipliers1);
    else pl_step_linearize(w, t, r->q1, r->v1, r->a1, r->multipliers1);
    if (work < 0 && last > SEARCH_ABOVE) {
      const double left = work_along(w, s, step, w->rhs);
      if (!isfinite(left)) return PL_NO_CONVERGENCE;
      if (left > -OVERSHOT * work) {
        if (shorten(r, t, s, to_v, step, turned, x, work, left)) return PL_NO_CONVERGENCE;
        keep = 0, last = last_size = INFINITY;
        pl_step_linearize(w, t, r->q1, r->v1, r->a1, r->multipliers1);
      }
    }
    work = 0;
    memcpy(residual, w->rhs, nv * sizeof(double));
    for (int i = 0; i < nv; ++i)
      if (!isfinite(residual[i])) return PL_NO_CONVERGENCE; /* beyond what a law describes: a shorter step stays within */
    if (!keep) {
      turn_blocks(T, x, blocks, unit, column);
      factorizations++;
      const int status = pl_step_matrix(w, 1, s * to_v, s, blocks, NULL);
      if (status) return status;
      if (r->secant) pl_secant_restart(r->secant, w);
    }
    for (int i = 0; i < nv; ++i) w->rhs[i] *= -s;
    for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -w->phi[i] : 0;
    pl_step_solve(w, w->rhs);
    if (r->secant) pl_secant_improve(r->secant, w->rhs);
    pl_increment_rate(T, x, w->rhs, turned);
    double norm = 0, size = 0;
    for (int i = 0; i < nv; ++i) {
      const double d = turned[i];
      norm = fmax(norm, fabs(d) / (h * h * (1 + fabs(r->a1[i] + d / s))));
      size = fmax(size, fabs(d));
    }
    if (keep && !(norm < last)) { /* longer than the step before: the old factors do not serve here */
      keep = 0;
      continue;
    }
    if (!isfinite(norm) || (norm > SEARCH_ABOVE && size > LOST * first_size)) return PL_NO_CONVERGENCE;
    if (!iteration) first_size = size;
    work = work_along(w, s, w->rhs, residual);
    memcpy(step, w->rhs, (nv + m) * sizeof(double));
    /* what is left is smaller by the rate of convergence; or nothing but round-off is left */
    const double rate = last < INFINITY ? norm / last : 1;
    converged = norm < 1e-3 * NEWTON_TOLERANCE || (rate < 1 && rate / (1 - rate) * norm < NEWTON_TOLERANCE) ||
                (last < INFINITY && rate > 0.3 && size < 1e-12);
    if (r->secant) {
      keep = r->secant->count < PL_SECANT_DEPTH && (!keep || rate < KEEP_WITH_STEPS);
      if (keep) pl_secant_add(r->secant, step);
    } else keep = (!T->kkt_dense || w->tree) && last < INFINITY && size < KEEP_BELOW * last_size;
    last = norm, last_size = size;
    move(r, 1, s, to_v, turned, step + nv, x);
  }
  if (!r->fixed) allowed_error(r, h, errors, unit);
  if (m) {
    const int status = consistent_rates(r);
    if (status) return status;
    if (!r->fixed) constrained_error(r, h, errors, unit);
  }
  if (!r->fixed) {
    for (int i = 0; i < nv; ++i) errors[nv + i] *= PL_RATES_COUNT;
    *error = STRICTER * pl_motion_error(r, h, errors, errors + nv);
  }
  for (int i = 0; i < nv; ++i) {
    const double before = r->a[i] + h * r->lead[i];
    const double after = ((1 - af) * r->a1[i] + af * r->a[i] - am * before) / (1 - am);
    r->lead1[i] = (after - r->a1[i]) / h;
  }
  return PL_OK;
}
