/* Vibrations that the steps of an implicit method are too long for.
 *
 * Such steps erase vibrations within a few of them. Error control accepts this if the rest of the robot moves much more, but a frame
 * that moves only by such a vibration then has a wrong motion. Per frame, this account of the erased speed is compared with the
 * largest speed of the same frame.
 *
 * With the matrix A = m M + c C + k K of the step, F = m A^-1 M passes vibrations slower than the step and removes faster ones: of
 * an undamped one with the frequency w, F = m / (m + k w^2). The changes of rates in a step that do not follow from the accelerations at
 * its ends by the trapezoidal rule are small for resolved motions and for stiff parts that follow slow forces; for an erased
 * vibration they are its speed or more. Damping of the robot itself erases vibrations rightly: it is the ratio of c A^-1 C to F. */
#include <math.h>
#include <string.h>

#include "contact.h"
#include "integrate.h"

#define NOTICED 0.05 /* change of a frame's rates, relative to the largest ones of that frame, above which a step is examined */

#define FORGOTTEN 0.5 /* factor of earlier steps in the sum of speeds lost recently: a vibration is erased within a few steps */

void pl_vibration_begin(pl_run *r) {
  const pl_work *w = r->w;
  const size_t bytes = 2 * (size_t)w->T->n_node * sizeof(double);
  memset(r->lost, 0, bytes), memset(r->pulse, 0, bytes), memset(r->moved, 0, bytes);
  memset(r->memory.vibration.recent, 0, bytes);
  for (int g = 1; g < w->T->n_node; ++g) pl_node_rates(w, w->V, g, r->moved + 2 * g, r->moved + 2 * g + 1);
}

/* y = A^-1 B x, where B is m M, or c C if `damping`; with the constraint rates of x if `constrained`. */
static void filtered(pl_run *r, const pl_step_factors *A, int damping, int constrained, const double *x, double *y) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv;
  const double factor = damping ? A->damping : A->mass;
  double *z = r->memory.vibration.x;
  memcpy(z, x, nv * sizeof(double));
  if (r->secant) pl_secant_displace(r->secant, T, 1, z);
  pl_step_product(w, damping ? w->zero : z, damping ? z : NULL, w->rhs);
  for (int i = 0; i < nv; ++i) w->rhs[i] *= factor;
  memset(w->rhs + nv, 0, T->m * sizeof(double));
  for (int l = 0; constrained && l < T->nnz_j; ++l)
    if (w->row_active[T->j_row[l]]) w->rhs[nv + T->j_row[l]] += (A->rows ? A->rows[l] : w->Jval[l]) * x[T->j_col[l]];
  pl_step_solve(w, w->rhs);
  if (r->secant) pl_secant_displace(r->secant, T, 0, w->rhs);
  memcpy(y, w->rhs, nv * sizeof(double));
}

/* x - F x, the part that is faster than the step; y = F x. */
static void fast_part(pl_run *r, const pl_step_factors *A, const double *x, double *fast, double *y) {
  filtered(r, A, 0, 1, x, y);
  for (int i = 0; i < r->w->T->nv; ++i) fast[i] = x[i] - y[i];
}

/* The changes in the step without those by the robot's own damping, and the frequency w, from the fast part of the changes. */
static void without_damped(pl_run *r, double h, const pl_step_factors *A) {
  const pl_work *w = r->w;
  double *fast = r->memory.vibration.fast, *y = r->memory.vibration.y, *V = r->memory.vibration.V, *W = r->memory.vibration.W;
  filtered(r, A, 0, 0, fast, y), pl_twists(w, y, V);
  filtered(r, A, 1, 0, fast, y), pl_twists(w, y, W);
  for (int g = 1; g < w->T->n_node; ++g) {
    double passed[2], damped[2];
    pl_node_rates(w, V, g, passed, passed + 1), pl_node_rates(w, W, g, damped, damped + 1);
    for (int k = 0; k < 2; ++k) {
      double *step = r->memory.vibration.step + 2 * g + k, *rate = r->memory.vibration.rate + 2 * g + k;
      *rate = passed[k] > 0 ? sqrt(A->mass / A->stiffness * fmax(0, (*step - damped[k]) / passed[k] - 1)) : 0;
      if (passed[k] > 0) *step *= exp(-0.5 * h * damped[k] / passed[k] * A->mass / A->damping);
    }
  }
}

/* At most the speeds of the vibrations at the beginning of the step: by rates, and by accelerations of the opposite phase. */
static void limit(pl_run *r, const pl_step_factors *A) {
  const pl_work *w = r->w;
  double *fast = r->memory.vibration.fast, *y = r->memory.vibration.y, *V = r->memory.vibration.V, *W = r->memory.vibration.W;
  double *X = r->memory.extent.V;
  fast_part(r, A, r->v, fast, y), pl_twists(w, fast, V);
  fast_part(r, A, r->a, fast, y), pl_twists(w, fast, W), pl_twists(w, y, X);
  for (int g = 1; g < w->T->n_node; ++g) {
    double rate[2], acceleration[2], passed[2];
    pl_node_rates(w, V, g, rate, rate + 1), pl_node_rates(w, W, g, acceleration, acceleration + 1);
    pl_node_rates(w, X, g, passed, passed + 1);
    for (int k = 0; k < 2; ++k) {
      double *step = r->memory.vibration.step + 2 * g + k;
      *step = fmin(*step, sqrt(rate[k] * rate[k] + passed[k] * acceleration[k] * A->stiffness / A->mass));
    }
  }
}

void pl_vibration_step(pl_run *r, double h, const pl_step_factors *A) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  double *change = r->memory.vibration.change, *fast = r->memory.vibration.fast, *V = r->memory.vibration.V;
  double *step = r->memory.vibration.step;
  r->erases = 0;
  if (w->contacts && pl_run_contacts_changed(r)) return;
  for (int i = 0; i < T->nv; ++i) change[i] = r->v1[i] - r->v[i] - 0.5 * h * (r->a[i] + r->a1[i]);
  fast_part(r, A, change, fast, r->memory.vibration.y);
  pl_twists(w, fast, V);
  /* smaller changes are within the tolerance, or round-off */
  const pl_extent *all = &r->extent;
  const double size = fmax(all->size, all->all.way), least = fmax(r->rtol * PL_SMALLEST, PL_SMALLEST * PL_SMALLEST) / h;
  const double speeds = least * size + r->rtol * fmax(all->all.speed, size * all->all.spin);
  const double spins = least + r->rtol * fmax(all->all.spin, all->all.speed / size);
  for (int g = 1; g < T->n_node; ++g) {
    double *x = step + 2 * g;
    pl_node_rates(w, V, g, x, x + 1);
    if (!(x[0] > speeds && x[0] > NOTICED * r->moved[2 * g])) x[0] = 0;
    if (!(x[1] > spins && x[1] > NOTICED * r->moved[2 * g + 1])) x[1] = 0;
    r->erases |= x[0] > 0 || x[1] > 0;
  }
  if (!r->erases) return;
  without_damped(r, h, A);
  limit(r, A);
}

void pl_vibration_accept(pl_run *r) {
  const pl_work *w = r->w;
  const int n = 2 * w->T->n_node;
  double *recent = r->memory.vibration.recent;
  if (r->erases)
    for (int i = 2; i < n; ++i) {
      recent[i] = FORGOTTEN * recent[i] + r->memory.vibration.step[i];
      if (recent[i] > r->lost[i]) r->lost[i] = recent[i], r->pulse[i] = r->memory.vibration.rate[i];
    }
  for (int g = 1; g < w->T->n_node; ++g) {
    double rate[2];
    pl_node_rates(w, w->V, g, rate, rate + 1);
    for (int k = 0; k < 2; ++k) r->moved[2 * g + k] = fmax(r->moved[2 * g + k], rate[k]);
  }
}
