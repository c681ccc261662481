/* The adjoint of a run: what goes back over its steps, and the operations on constraints and matrices that steps share; see
 * adjoint.h. */
#include "adjoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* -- accelerations and constraints ------------------------------------------------------------------------------------------ */

/* [M, -J'; J, 0] is its own transpose except for the sign of multipliers. */
static int solve_mass(pl_adjoint *A, const double *b, const double *c, double *x) {
  pl_work *w = A->r->w;
  const int nv = w->T->nv, m = w->T->m;
  const int status = pl_step_mass_matrix(w);
  if (status) return status;
  memcpy(x, b, nv * sizeof(double));
  for (int i = 0; i < m; ++i) x[nv + i] = c && w->row_active[i] ? -c[i] : 0;
  pl_step_solve(w, x);
  for (int i = 0; i < m; ++i) x[nv + i] = w->row_active[i] ? -x[nv + i] : 0;
  return PL_OK;
}

static void pair(pl_adjoint *A, const double *w, const double *y_c, const double *y_phi, const double *y_rate) {
  A->w = w;
  const int m = A->r->w->T->m;
  A->y_c = m ? y_c : NULL, A->y_phi = m ? y_phi : NULL, A->y_rate = m ? y_rate : NULL;
}

static int is_zero(int n, const double *x) {
  for (int i = 0; i < n; ++i)
    if (x[i] != 0) return 0;
  return 1;
}

int pl_adjoint_forward(pl_adjoint *A, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_work *w = A->r->w;
  const int nv = w->T->nv, m = w->T->m;
  pl_cotangent *s = &A->state;
  double *x = A->temporary[0];
  if (is_zero(nv, s->a) && is_zero(m, s->multipliers)) return PL_OK;
  pl_linearized(w, t, q, v, a, lambda);
  if (m) pl_constraint_acceleration_tangent(w, A->Eq_here, A->Ev_here);
  double *K = A->K, *C = A->C; /* the mass matrix replaces the tangents */
  memcpy(K, w->K, w->T->nnz * sizeof(double)), memcpy(C, w->C, w->T->nnz * sizeof(double));
  memcpy(A->M, w->M, w->T->nnz * sizeof(double)), memcpy(A->J, w->Jval, w->T->nnz_j * sizeof(double));
  const int status = solve_mass(A, s->a, s->multipliers, x);
  if (status) return status;
  pair(A, x, x + nv, NULL, NULL);
  pl_adjoint_products(A, K, C, A->M, A->J, A->Eq_here, A->Ev_here);
  for (int i = 0; i < nv; ++i) s->q[i] -= A->gq[i], s->v[i] -= A->gv[i], s->a[i] = 0;
  memset(s->multipliers, 0, m * sizeof(double));
  pl_adjoint_credit(A, 1, t, q, v, a, lambda, PL_ANEW);
  return PL_OK;
}

/* The smallest motion u in the metric of M with J u = -gap, and its multipliers: M u - J' mu = 0. After pl_constraints. */
static int least_motion(pl_work *w, const double *gap, double *u, double *multipliers) {
  const int nv = w->T->nv, m = w->T->m, status = pl_step_mass_matrix(w);
  if (status) return status;
  memset(w->rhs, 0, nv * sizeof(double));
  for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -gap[i] : 0;
  pl_step_solve(w, w->rhs);
  if (u) memcpy(u, w->rhs, nv * sizeof(double));
  memcpy(multipliers, w->rhs + nv, m * sizeof(double));
  return PL_OK;
}

#define FAST 1e9 /* accelerations in shares of a coordinate's size [1/s^2] beside which those that stiffness holds leave no round-off */

/* The cotangent of q, and of parameters, for the pairing x.(M u - J' mu), the change of forces with (u, mu). It is linear in
 * these, which are made large: beside forces of stiff parts, that are taken off again, small ones would be lost in round-off. */
static void undo_least_motion(pl_adjoint *A, double t, const double *q, const double *x, double *u, double *mu) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  double largest = 0;
  for (int i = 0; i < T->nv; ++i) largest = fmax(largest, fabs(u[i]) / A->r->memory.extent.rates[i]);
  if (!(largest > 0)) return;
  const double scale = fmax(1, FAST / largest);
  for (int i = 0; i < T->nv; ++i) u[i] *= scale;
  for (int i = 0; i < T->m; ++i) mu[i] *= scale;
  pair(A, x, NULL, NULL, NULL);
  for (int side = 0; side < 2; ++side) {
    const double *a = side ? w->zero : u, *multipliers = side ? w->zero : mu, part = (side ? -1 : 1) / scale;
    pl_adjoint_gradient(A, t, q, w->zero, a, multipliers);
    for (int i = 0; i < T->nv; ++i) A->state.q[i] -= part * A->gq[i];
    pl_adjoint_credit(A, part, t, q, w->zero, a, multipliers, PL_ANEW);
  }
}

int pl_adjoint_velocities(pl_adjoint *A, double t, const double *q, const double *before, const double *after) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  pl_cotangent *s = &A->state;
  double *x = A->temporary[0], *change = A->temporary[1], *multipliers = A->temporary[2];
  if (!m) return PL_OK;
  /* of w.(M u - J' mu) + y.(J (v + u) - rate): gradient of the second term with respect to q, as for an acceleration v + u from rest */
  pl_linearized(w, t, q, w->zero, after, w->zero);
  pl_constraint_acceleration_tangent(w, A->Eq_here, A->Ev_here);
  memcpy(A->J, w->Jval, T->nnz_j * sizeof(double));
  int status = solve_mass(A, s->v, NULL, x);
  if (status) return status;
  pair(A, NULL, x + nv, NULL, NULL);
  pl_adjoint_products(A, w->K, w->C, w->M, A->J, A->Eq_here, A->Ev_here);
  for (int i = 0; i < nv; ++i) s->q[i] -= A->gq[i];
  for (int n = 0; n < T->nnz_j; ++n) s->v[T->j_col[n]] -= A->J[n] * x[nv + T->j_row[n]];
  pair(A, NULL, NULL, NULL, x + nv);
  pl_adjoint_credit(A, 1, t, q, after, w->zero, w->zero, PL_ANEW);
  /* and of the first term, in which M u - J' mu = 0 */
  for (int i = 0; i < nv; ++i) change[i] = after[i] - before[i];
  pl_evaluate(w, t, q, w->zero), pl_constraints(w, q, before);
  if ((status = least_motion(w, w->phi_rate, NULL, multipliers))) return status;
  undo_least_motion(A, t, q, x, change, multipliers);
  return PL_OK;
}

#define SHORT 1e-10 /* correction onto the constraints [m or rad] below which its direction is negligible */

/* The first correction onto the constraints, from q. The directions of later ones are negligible. */
static int undo_way(pl_adjoint *A, double t, const double *q) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv;
  pl_cotangent *s = &A->state;
  double *x = A->temporary[0], *way = A->temporary[1], *multipliers = A->temporary[2], *by_way = A->temporary[3];
  double *by_q = A->temporary[8], longest = 0;
  pl_evaluate(w, t, q, w->zero), pl_constraints(w, q, w->zero);
  int status = least_motion(w, w->phi, way, multipliers);
  if (status) return status;
  for (int i = 0; i < nv; ++i) longest = fmax(longest, fabs(way[i]));
  if (longest < SHORT) return PL_OK;
  memset(by_way, 0, nv * sizeof(double)), memset(by_q, 0, nv * sizeof(double));
  pl_undo_increment(T, way, s->q, by_way, by_q);
  memcpy(s->q, by_q, nv * sizeof(double));
  /* of w.(M x - J' mu) + y.(J x + phi): J x are the constraints' accelerations from rest */
  pl_linearized(w, t, q, w->zero, way, w->zero);
  pl_constraint_acceleration_tangent(w, A->Eq_here, A->Ev_here);
  memcpy(A->J, w->Jval, T->nnz_j * sizeof(double));
  if ((status = solve_mass(A, by_way, NULL, x))) return status;
  pair(A, NULL, x + nv, x + nv, NULL);
  pl_adjoint_products(A, w->K, w->C, w->M, A->J, A->Eq_here, A->Ev_here);
  for (int i = 0; i < nv; ++i) s->q[i] -= A->gq[i];
  A->lift = 1;
  pl_adjoint_credit(A, 1, t, q, w->zero, way, w->zero, PL_ANEW);
  A->lift = 0;
  undo_least_motion(A, t, q, x, way, multipliers);
  return PL_OK;
}

int pl_adjoint_project(pl_adjoint *A, double t, const double *q, const double *q_before, const double *before,
                       const double *after) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv;
  pl_cotangent *s = &A->state;
  double *x = A->temporary[0];
  if (!T->m) return PL_OK;
  int status = pl_adjoint_velocities(A, t, q, before, after);
  if (status) return status;
  pl_evaluate(w, t, q, after), pl_constraints(w, q, after);
  memcpy(A->J, w->Jval, T->nnz_j * sizeof(double));
  if ((status = solve_mass(A, s->q, NULL, x))) return status;
  for (int n = 0; n < T->nnz_j; ++n) s->q[T->j_col[n]] -= A->J[n] * x[nv + T->j_row[n]];
  pair(A, NULL, NULL, x + nv, NULL);
  pl_adjoint_credit(A, 1, t, q, after, w->zero, w->zero, PL_ANEW);
  return undo_way(A, t, q_before);
}

/* -- the transposed matrix --------------------------------------------------------------------------------------------------- */

/* Position of each entry's transpose: the pattern is symmetric. */
static void find_transposed(const pl_saddle *s, int n, int *next, int *out) {
  for (int j = 0; j < n; ++j) next[j] = s->colptr[j];
  for (int j = 0; j < n; ++j)
    for (int k = s->colptr[j]; k < s->colptr[j + 1]; ++k) {
      const int i = s->row[k];
      int l = next[i]; /* rows of column i are visited in ascending order */
      if (!(l < s->colptr[i + 1] && s->row[l] == j))
        for (l = s->colptr[i]; l < s->colptr[i + 1] && s->row[l] != j; ++l) {}
      else next[i] = l + 1;
      out[k] = l;
    }
}

int pl_adjoint_matrix(pl_adjoint *A, double cM, double cC, double cK, const double *blocks, const double *rows) {
  pl_work *w = A->r->w;
  const pl_tables *T = w->T;
  int status = pl_assemble(w, cM, cC, cK, blocks);
  if (status) return status;
  double *values = w->saddle->values;
  for (int n = 0; rows && n < T->nnz_j; ++n)
    if (w->row_active[T->j_row[n]]) values[w->saddle->of_j[n]] = rows[n];
  for (int k = 0; k < w->saddle->nnz; ++k) {
    const int l = A->transposed[k];
    if (l > k) {
      const double x = values[k];
      values[k] = values[l], values[l] = x;
    }
  }
  return pl_factor(w);
}

void pl_adjoint_solve(pl_adjoint *A, double *x) {
  const pl_work *w = A->r->w;
  for (int i = 0; i < w->T->m; ++i)
    if (!w->row_active[i]) x[w->T->nv + i] = 0;
  pl_linear_solve(w->saddle->linear, x);
}

/* -- the run ------------------------------------------------------------------------------------------------------------------ */

static void place(pl_adjoint *A, const pl_tables *T, pl_memory *m) {
  const size_t nq = T->nq, nv = T->nv, rows = T->m, n = nq + nv + rows, dense = nv * rows, signals = T->n_signal;
  double **per_rate[] = {&A->state.q, &A->state.v, &A->state.a, &A->state.lead, &A->gq, &A->gv, &A->ga};
  for (size_t i = 0; i < sizeof per_rate / sizeof *per_rate; ++i) *per_rate[i] = pl_doubles(m, nv);
  A->state.multipliers = pl_doubles(m, rows), A->gl = pl_doubles(m, rows);
  A->K = pl_doubles(m, T->nnz), A->C = pl_doubles(m, T->nnz), A->M = pl_doubles(m, T->nnz), A->J = pl_doubles(m, T->nnz_j);
  A->Eq = pl_doubles(m, dense), A->Ev = pl_doubles(m, dense);
  A->Eq_here = pl_doubles(m, dense), A->Ev_here = pl_doubles(m, dense);
  A->by_signal = pl_doubles(m, nv * signals), A->by_rate = pl_doubles(m, nv * signals);
  A->from_signal = pl_doubles(m, nv * signals), A->from_rate = pl_doubles(m, nv * signals);
  pl_signal_cotangents *at[] = {&A->at_start, &A->at_last};
  for (int i = 0; i < 2; ++i) {
    at[i]->signal = pl_doubles(m, signals), at[i]->rate = pl_doubles(m, signals);
    at[i]->acceleration = pl_doubles(m, signals), at[i]->jerk = pl_doubles(m, signals);
  }
  A->store = pl_doubles(m, 6 * signals);
  for (int i = 0; i < 19; ++i) A->temporary[i] = pl_doubles(m, n);
  A->stages = pl_doubles(m, 7 * (nq + 4 * nv + rows));
  A->scratch = pl_doubles(m, pl_parameter_change_size(T, 1));
  A->transposed = pl_ints(m, T->nnz_kkt);
}

static pl_adjoint *adjoint_new(pl_run *r, const pl_credit *credit) {
  pl_memory m = {0};
  pl_adjoint *A = (pl_adjoint *)calloc(1, sizeof *A);
  if (!A) return NULL;
  place(A, r->w->T, &m);
  A->block = pl_block(&m);
  if (!A->block) {
    free(A);
    return NULL;
  }
  place(A, r->w->T, &m);
  A->r = r, A->credit = credit;
  return A;
}

/* Add the cotangents of samples at the time of a state. */
static void add_samples(pl_adjoint *A, const pl_sample_cotangents *c, double t, int *next) {
  const pl_run *r = A->r;
  const int nv = r->w->T->nv, m = r->w->T->m;
  const double slack = 1e-12 * fmax(fabs(t), fabs(r->sample_t[r->n_sample - 1]));
  for (; *next >= 0 && r->sample_t[*next] >= t - slack; --*next) {
    const size_t row = (size_t)*next;
    for (int i = 0; i < nv; ++i) {
      A->state.q[i] += c->q[row * nv + i];
      A->state.v[i] += c->v[row * nv + i];
      A->state.a[i] += c->a[row * nv + i];
    }
    for (int i = 0; i < m; ++i) A->state.multipliers[i] += c->multipliers[row * m + i];
  }
}

/* Accelerations that were recomputed from q and v just after time t. */
static int undo_refresh(pl_adjoint *A, double t) {
  pl_run *r = A->r;
  const int nv = r->w->T->nv;
  memset(A->state.lead, 0, nv * sizeof(double));
  return pl_adjoint_forward(A, t, r->q, r->v, r->a, r->multipliers);
}

/* Adjoint of a jump of inputs at the end of step n: recomputed accelerations, and prescribed velocities that changed. */
static int undo_jump(pl_adjoint *A, long n, double h) {
  pl_run *r = A->r;
  const pl_tables *T = r->w->T;
  double *q = A->temporary[9], *v = A->temporary[10], error;
  int status = pl_tape_restore(r, n + 1);
  if (status) return status;
  const double t = pl_time(r, r->t);
  if ((status = undo_refresh(A, t)) || !pl_run_driven(r)) return status;
  memcpy(q, r->q, T->nq * sizeof(double)), memcpy(v, r->v, T->nv * sizeof(double));
  if ((status = pl_tape_restore(r, n)) || (status = pl_run_attempt(r, h, &error))) return status;
  return pl_adjoint_project(A, t, q, r->q1, r->v1, v);
}

/* Adjoint of the beginning of step n: samples there, and its initial accelerations. */
static int undo_beginning(pl_adjoint *A, const pl_sample_cotangents *c, long n, int *next) {
  pl_run *r = A->r;
  add_samples(A, c, pl_tape_at(r->tape, n)->t, next);
  if (n) return pl_tape_at(r->tape, n - 1)->refreshed ? undo_jump(A, n - 1, pl_tape_at(r->tape, n - 1)->h) : PL_OK;
  const int status = pl_tape_restore(r, 0);
  return status ? status : undo_refresh(A, pl_time(r, r->t));
}

/* From the end of step `last` - 1 to the beginning of step `first`. */
static int back(pl_adjoint *A, const pl_sample_cotangents *c, long first, long last, int *next) {
  pl_run *r = A->r;
  const pl_tables *T = r->w->T;
  int status = PL_OK;
  find_transposed(&r->w->own_saddle, T->nv + T->m, (int *)A->temporary[0], A->transposed);
  for (long n = last - 1; n >= first; --n) {
    const pl_tape_step *step = pl_tape_at(r->tape, n);
    if (n + 1 == pl_tape_count(r->tape)) add_samples(A, c, step->t + step->h, next);
    if ((status = pl_tape_restore(r, n))) return status;
    if ((status = pl_adjoint_step(A, step->h))) return status;
    if ((status = undo_beginning(A, c, n, next))) return status;
  }
  pl_adjoint_settle(A);
  return PL_OK;
}

/* Cotangents of a state, concatenated: q, v, a, lead, multipliers. */
static void exchange(pl_adjoint *A, double *row, int out) {
  const int nv = A->r->w->T->nv, m = A->r->w->T->m;
  double *parts[] = {A->state.q, A->state.v, A->state.a, A->state.lead, A->state.multipliers};
  for (int i = 0; i < 5; ++i) {
    const size_t size = (i < 4 ? nv : m) * sizeof(double);
    out ? memcpy(row + i * nv, parts[i], size) : memcpy(parts[i], row + i * nv, size);
  }
}

int pl_run_adjoint(pl_run *r, long first, long last, int *next_sample, int n, const double *constants, const double *parameters,
                   const double *step, const double *input_scale, const double *sample_q, const double *sample_v,
                   const double *sample_a, const double *sample_multipliers, double *by_parameter, double *by_held,
                   double *by_poly, double *by_state) {
  const pl_credit credit = {n, constants, parameters, step, input_scale, by_parameter, by_held, by_poly};
  const pl_sample_cotangents samples = {sample_q, sample_v, sample_a, sample_multipliers};
  pl_adjoint *A = r->tape ? adjoint_new(r, &credit) : NULL;
  if (!A) return PL_OUT_OF_MEMORY;
  const int fixed = r->fixed;
  r->fixed = 1; /* steps are repeated exactly: no errors are estimated */
  pl_begin(r->w);
  exchange(A, by_state, 0);
  const int status = back(A, &samples, first, last, next_sample);
  r->fixed = fixed;
  exchange(A, by_state, 1);
  free(A->block), free(A);
  return status;
}
