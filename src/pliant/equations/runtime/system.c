/* Evaluations of the whole system, and what integrators need around them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"

/* Zeros that start on a cache line, so that wide loads and stores stay within one; the block's own address stands
   right before them. */
static double *doubles(size_t n) {
  char *block = calloc(1, n * sizeof(double) + 192);
  char *start = block + (64 - (size_t)block % 64) % 64 + 64;
  memcpy(start - sizeof block, &block, sizeof block);
  return (double *)start;
}

static void release(double *x) {
  char *block;
  memcpy(&block, (char *)x - sizeof block, sizeof block);
  free(block);
}

/* Coordinates on the longest way to the ground, in whole vectors; and whether such ways explain the whole pattern. */
static void measure_paths(pl_work *w) {
  const pl_tables *T = w->T;
  int longest = 0, entries = 0;
  for (int e = 0; e < T->n_elem; ++e) {
    int depth = 0;
    for (int n = T->path_begin[e]; n < T->path_begin[e + 1]; ++n) depth += T->elem_k[T->node_elem[T->path_node[n]]];
    entries += T->elem_k[e] * (T->elem_k[e] + 2 * depth);
    if (depth > longest) longest = depth;
  }
  w->path_stride = (longest + 8) / 8 * 8, w->pattern_is_tree = entries == T->nnz;
}

pl_work *pl_work_new(const pl_tables *T) {
  pl_work *w = calloc(1, sizeof *w);
  const int nodes = T->n_node, nv = T->nv, m = T->m;
  w->T = T;
  w->theta = doubles(T->n_theta), w->held = doubles(T->n_input), w->parameters = doubles(T->n_parameter);
  w->signal = doubles(T->n_signal), w->signal_rate = doubles(T->n_signal), w->signal_acceleration = doubles(T->n_signal);
  w->input = doubles(T->n_input), w->input_rate = doubles(T->n_input), w->input_acceleration = doubles(T->n_input);
  w->row_active = malloc((m + 1) * sizeof(int));
  w->cforce_active = malloc((T->n_cforce + 1) * sizeof(int)), w->fforce_active = malloc((T->n_fforce + 1) * sizeof(int));
  w->route_active = malloc((T->n_route + 1) * sizeof(int));
  for (int i = 0; i < m; ++i) w->row_active[i] = 1;
  for (int i = 0; i < T->n_cforce; ++i) w->cforce_active[i] = 1;
  for (int i = 0; i < T->n_fforce; ++i) w->fforce_active[i] = 1;
  for (int i = 0; i < T->n_route; ++i) w->route_active[i] = 1;
  w->route_point = doubles(PL_ROUTE_POINT * T->n_route_point), w->route_gradient = doubles(2 * nv);
  w->route_sum = doubles(12 * nodes);
  w->R = doubles(9 * nodes), w->p = doubles(3 * nodes), w->V = doubles(6 * nodes), w->A = doubles(6 * nodes);
  w->R0 = doubles(9 * nodes), w->p0 = doubles(3 * nodes), w->c = doubles(6 * nodes);
  w->S = doubles(T->n_s), w->Sd = doubles(T->n_s), w->Vq = doubles(T->n_s), w->Av = doubles(T->n_s), w->Aq = doubles(T->n_s);
  w->inertia = doubles(RIGID * nodes), w->momentum = doubles(6 * nodes), w->bias = doubles(6 * nodes);
  w->force = doubles(6 * nodes), w->wrench = doubles(6 * nodes), w->tau = doubles(nv);
  w->IA = doubles(FULL * nodes), w->pA = doubles(COLUMN * nodes), w->U = doubles(6 * nv), w->D = doubles(T->n_d);
  w->u = doubles(nv), w->B = doubles(RATE * nodes);
  measure_paths(w), w->path = doubles((size_t)PL_PATH_ROWS * w->path_stride);
  w->BA = doubles(3 * COLUMN * nodes), w->HB = doubles(3 * nv), w->lanes = doubles((size_t)6 * PL_LANES * nodes);
  w->lanes_eta = doubles((size_t)3 * PL_LANES * nodes), w->lanes_a = doubles((size_t)PL_LANES * nv);
  w->lanes_node = calloc(2 * nodes, sizeof(int));
  w->K = doubles(T->nnz), w->C = doubles(T->nnz), w->M = doubles(T->nnz), w->Jval = doubles(T->nnz_j);
  w->phi = doubles(m), w->phi_rate = doubles(m), w->gamma = doubles(m), w->lambda = doubles(m);
  w->scratch = doubles(4 * (nv + m) + 4 * T->nq);
  w->kernel_w = doubles(T->kernel_w), w->kernel_iw = calloc(T->kernel_iw + 8, sizeof(long long));
  w->kkt = doubles(T->nnz_kkt), w->rhs = doubles(nv + m);
  w->linear = pl_linear_new(nv + m, T->kkt_colptr, T->kkt_row, T->kkt_order, T->kkt_dense);
  for (int i = 0; i < 3; ++i) w->R[4 * i] = 1;
  pl_inertia_new(w);
  return w;
}

void pl_work_free(pl_work *w) {
  double *all[] = {w->theta, w->held, w->parameters, w->signal, w->signal_rate, w->signal_acceleration, w->input,
                   w->input_rate, w->input_acceleration, w->R, w->p, w->V, w->A, w->R0, w->p0, w->c, w->S, w->Sd, w->Vq,
                   w->Av, w->Aq, w->inertia, w->momentum, w->bias, w->force, w->wrench, w->tau, w->IA, w->pA, w->U, w->D,
                   w->u, w->B, w->path, w->BA, w->HB, w->lanes, w->lanes_eta, w->lanes_a, w->K, w->C, w->M, w->Jval,
                   w->phi, w->phi_rate, w->gamma, w->lambda, w->scratch, w->kernel_w, w->kkt, w->rhs,
                   w->route_point, w->route_sum, w->route_gradient};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) release(all[i]);
  free(w->row_active), free(w->cforce_active), free(w->fforce_active), free(w->route_active);
  free(w->kernel_iw), free(w->lanes_node);
  pl_inertia_free(w);
  pl_linear_free(w->linear);
  free(w);
}

/* Signals, kinematics and forces: what every evaluation starts with. */
void pl_evaluate(pl_work *w, double t, const double *q, const double *v) {
  pl_signals(w, t);
  pl_kinematics(w, q, v);
  pl_forces(w, q, v);
  w->evaluations++;
}

/* kkt = [cM M + cC C + cK K, -J'; J, 0], rows that are switched off replaced by lambda = 0 */
void pl_assemble(pl_work *w, double cM, double cC, double cK) {
  const pl_tables *T = w->T;
  memset(w->kkt, 0, T->nnz_kkt * sizeof(double));
  for (int n = 0; n < T->nnz; ++n) w->kkt[T->kkt_of[n]] = cM * w->M[n] + (cC ? cC * w->C[n] : 0) + (cK ? cK * w->K[n] : 0);
  for (int n = 0; n < T->nnz_j; ++n)
    if (w->row_active[T->j_row[n]]) {
      w->kkt[T->kkt_of_j[n]] = w->Jval[n];
      w->kkt[T->kkt_of_jt[n]] = -w->Jval[n];
    }
  for (int r = 0; r < T->m; ++r) w->kkt[T->kkt_of_diagonal[r]] = w->row_active[r] ? 0 : 1;
}

static int factor(pl_work *w) {
  w->factorizations++;
  return pl_linear_factor(w->linear, w->kkt);
}

/* Accelerations (and multipliers in w->lambda) in the state (q, v) at time t. */
int pl_forward(pl_work *w, double t, const double *q, const double *v, double *a) {
  const pl_tables *T = w->T;
  /* a diverged state would come out as a singular matrix further down: tell the two apart here */
  for (int i = 0; i < T->nv; ++i)
    if (!isfinite(v[i])) return PL_NOT_FINITE;
  pl_evaluate(w, t, q, v);
  if (!T->m && !T->n_coupled) return pl_articulated(w, v, a);
  double *zero = w->scratch;
  memset(zero, 0, T->nv * sizeof(double));
  pl_constraints(w, q, v);
  pl_residual(w, v, zero, w->rhs);
  pl_mass_matrix(w);
  pl_assemble(w, 1, 0, 0);
  if (factor(w)) return PL_SINGULAR;
  for (int i = 0; i < T->nv; ++i) w->rhs[i] = -w->rhs[i];
  for (int r = 0; r < T->m; ++r) w->rhs[T->nv + r] = w->row_active[r] ? -w->gamma[r] : 0;
  pl_linear_solve(w->linear, w->rhs);
  memcpy(a, w->rhs, T->nv * sizeof(double));
  memcpy(w->lambda, w->rhs + T->nv, T->m * sizeof(double));
  return PL_OK;
}

/* r = M a + h without constraint forces. */
int pl_inverse(pl_work *w, double t, const double *q, const double *v, const double *a, double *r) {
  pl_evaluate(w, t, q, v);
  pl_residual(w, v, a, r);
  return PL_OK;
}

/* r (in w->rhs, multipliers included) and constraints at the state. */
void pl_unbalanced(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_evaluate(w, t, q, v);
  if (w->T->m) {
    pl_constraints(w, q, v);
    pl_constraint_wrenches(w, lambda);
  }
  pl_residual(w, v, a, w->rhs);
}

/* The same, and K, C, M, J. */
int pl_linearized(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_unbalanced(w, t, q, v, a, lambda);
  pl_tangent(w, q, v, a);
  pl_inertia_tangent(w, q, a);
  pl_force_tangent(w, q, v);
  if (w->T->m) pl_constraint_tangent(w, lambda);
  return PL_OK;
}

static double largest_active(const pl_work *w, const double *x) {
  double y = 0;
  for (int r = 0; r < w->T->m; ++r)
    if (w->row_active[r] && fabs(x[r]) > y) y = fabs(x[r]);
  return y;
}

/* Nearest state (in the mass metric) that satisfies the constraints and their rates. */
int pl_project(pl_work *w, double t, double *q, double *v, double tolerance) {
  const pl_tables *T = w->T;
  if (!T->m) return PL_OK;
  double *q_new = w->scratch + 2 * (T->nv + T->m);
  double previous = INFINITY;
  for (int iteration = 0;; ++iteration) {
    pl_signals(w, t);
    pl_kinematics(w, q, v);
    pl_constraints(w, q, v);
    const double error = largest_active(w, w->phi);
    if (!isfinite(error) || iteration > 50) return PL_PROJECTION;
    memset(w->wrench, 0, 6 * T->n_node * sizeof(double));
    pl_mass_matrix(w);
    pl_assemble(w, 1, 0, 0);
    if (factor(w)) return PL_SINGULAR;
    if (error <= tolerance && (error < 0.01 * tolerance || error >= previous)) break;
    previous = error;
    memset(w->rhs, 0, T->nv * sizeof(double));
    for (int r = 0; r < T->m; ++r) w->rhs[T->nv + r] = w->row_active[r] ? -w->phi[r] : 0;
    pl_linear_solve(w->linear, w->rhs);
    pl_increment(T, q, w->rhs, q_new);
    memcpy(q, q_new, T->nq * sizeof(double));
  }
  memset(w->rhs, 0, T->nv * sizeof(double));
  for (int r = 0; r < T->m; ++r) w->rhs[T->nv + r] = w->row_active[r] ? -w->phi_rate[r] : 0;
  pl_linear_solve(w->linear, w->rhs);
  for (int i = 0; i < T->nv; ++i) v[i] += w->rhs[i];
  return PL_OK;
}

/* kinetic, potential (gravity and stored), dissipated power, supplied power, largest constraint error */
void pl_energies(pl_work *w, double t, const double *q, const double *v, double *out) {
  pl_evaluate(w, t, q, v);
  out[0] = pl_kinetic_energy(w);
  out[1] = pl_gravity_energy(w) + w->energy;
  pl_inertia_energy(w, out, out + 1);
  out[2] = w->dissipation;
  out[3] = w->supply;
  out[4] = 0;
  if (w->T->m) {
    pl_constraints(w, q, v);
    out[4] = largest_active(w, w->phi);
  }
}

void pl_rates(const pl_tables *T, const double *q, const double *v, double *qdot) {
  for (int i = 0; i < T->n_plain; ++i) qdot[T->plain_q[i]] = v[T->plain_v[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *Q = q + T->quat_q[i], *o = v + T->quat_v[i];
    double *d = qdot + T->quat_q[i];
    d[0] = 0.5 * (-Q[1] * o[0] - Q[2] * o[1] - Q[3] * o[2]);
    d[1] = 0.5 * (Q[0] * o[0] - Q[3] * o[1] + Q[2] * o[2]);
    d[2] = 0.5 * (Q[3] * o[0] + Q[0] * o[1] - Q[1] * o[2]);
    d[3] = 0.5 * (-Q[2] * o[0] + Q[1] * o[1] + Q[0] * o[2]);
  }
}

/* d2q/dt2 = N(dq/dt) v + N(q) a; N is linear in q */
void pl_rates_of_rates(const pl_tables *T, const double *q, const double *v, const double *a, double *qddot) {
  pl_rates(T, q, a, qddot);
  for (int i = 0; i < T->n_quat; ++i) {
    const double *Q = q + T->quat_q[i], *o = v + T->quat_v[i];
    /* N(N(Q) w) w = -|w|^2 Q / 4 */
    const double x = -0.25 * (o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
    for (int k = 0; k < 4; ++k) qddot[T->quat_q[i] + k] += x * Q[k];
  }
}

/* q_new = q with the increment x applied on the group (q_new may not overlap q) */
void pl_increment(const pl_tables *T, const double *q, const double *x, double *q_new) {
  for (int i = 0; i < T->n_plain; ++i) q_new[T->plain_q[i]] = q[T->plain_q[i]] + x[T->plain_v[i]];
  for (int i = 0; i < T->n_quat; ++i) {
    const double *a = q + T->quat_q[i], *o = x + T->quat_v[i];
    const double angle2 = o[0] * o[0] + o[1] * o[1] + o[2] * o[2], half = 0.5 * sqrt(angle2);
    const double s = half < 1e-4 ? 0.5 * (1 - half * half / 6) : sin(half) / (2 * half), c = cos(half);
    const double b[4] = {c, s * o[0], s * o[1], s * o[2]};
    double *r = q_new + T->quat_q[i];
    r[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    r[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    r[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    r[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  }
  pl_normalize(T, q_new);
}

void pl_normalize(const pl_tables *T, double *q) {
  for (int i = 0; i < T->n_quat; ++i) {
    double *Q = q + T->quat_q[i];
    const double scale = 1 / sqrt(Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]);
    for (int k = 0; k < 4; ++k) Q[k] *= scale;
  }
}
