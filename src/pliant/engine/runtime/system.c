/* Evaluations of the entire system, and related functions for integrators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "contact.h"
#include "lanes.h"
#include "pliant.h"
#include "spatial.h"
#include "tree_matrix.h"
#include "work_parts.h"

/* Coordinates on the longest path to the ground, rounded up to full vectors; and whether such paths determine the entire pattern.
 * */
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

#define PARTS_FROM 2000 /* elements */

/* Whether elements may be evaluated in parts, and which of their loops. */
static void measure_parts(pl_work *w) {
  const pl_tables *T = w->T;
  int in_order = 1;
  w->on_ground = w->pairs_are_plain = 1;
  for (int e = 0; e < T->n_elem; ++e) {
    w->on_ground &= !T->elem_base[e];
    in_order &= !e || (T->elem_node[e] > T->elem_node[e - 1] && T->elem_v[e] >= T->elem_v[e - 1]);
  }
  for (int i = 0; T->n_rel_kind && i < T->rel_begin[T->n_rel_kind]; ++i) w->pairs_are_plain &= T->rel_plain[i];
  w->in_parts = in_order && T->n_elem >= PARTS_FROM;
}

static size_t largest(size_t a, size_t b) { return a > b ? a : b; }

static void place_temporary(const pl_tables *T, pl_temporary *x, pl_memory *m) {
  const size_t k = T->max_k, frames = T->max_frames, rows = T->max_rows, signals = T->max_signals, n = T->max_inertia;
  x->lanes_motion = pl_doubles(m, PL_WIDTH * (PL_LOCAL + 24 * k + k * k)); /* tangents, own block and S */
  x->P = pl_doubles(m, 6 * k), x->Q = pl_doubles(m, 3 * k), x->W = pl_doubles(m, 6 * k), x->Y = pl_doubles(m, 6 * k);
  x->own_rows = pl_doubles(m, 3 * PL_WIDTH * k);
  x->block = pl_doubles(m, k * k), x->rows = pl_doubles(m, PL_LANES * k);
  x->f = pl_doubles(m, k), x->dq = pl_doubles(m, k * k), x->dv = pl_doubles(m, k * k), x->ds = pl_doubles(m, k * signals);
  x->pose = pl_doubles(m, 12 * frames), x->twist = pl_doubles(m, 6 * frames);
  x->acceleration = pl_doubles(m, 6 * frames), x->wrench = pl_doubles(m, 6 * frames);
  x->K = pl_doubles(m, 36 * frames * frames), x->C = pl_doubles(m, 36 * frames * frames);
  x->by_signals = pl_doubles(m, 6 * frames * signals);
  x->e = pl_doubles(m, rows), x->g = pl_doubles(m, rows), x->G = pl_doubles(m, 6 * frames * rows);
  x->Gq = pl_doubles(m, 6 * frames * rows), x->Gv = pl_doubles(m, 6 * frames * rows);
  x->span = pl_doubles(m, 18 * k);
  x->tension_by_signal = pl_doubles(m, signals), x->tension_by_signal_rate = pl_doubles(m, signals);
  x->lanes_numbers = pl_doubles(m, (size_t)PL_WIDTH * T->max_lane_numbers);
  x->lanes_by_signals = pl_doubles(m, 6 * PL_WIDTH * signals);
  /* in addition to numbers: at most 36 arguments and 360 results, those of a motion, and those of an inertia's tangent */
  x->single = pl_doubles(m, 400 + 18 * k + k * k + T->max_lane_numbers + 6 * signals + (T->n_inertia ? 8 * n + 2 * n * n : 0));
  if (!T->n_inertia) return;
  x->inertia_lanes = pl_doubles(m, PL_WIDTH * (n + 2 * n * n)), x->inertia_columns = pl_doubles(m, PL_WIDTH * 3 * n);
  x->rate = pl_doubles(m, n), x->column = pl_doubles(m, n);
  x->Y_W = pl_doubles(m, n * n), x->Z = pl_doubles(m, n * n);
}

static void place(pl_work *w, pl_memory *m) {
  const pl_tables *T = w->T;
  const size_t nodes = T->n_node, nv = T->nv, rows = T->m, inputs = T->n_input, signals = T->n_signal;
  const size_t inertias = T->n_inertia, n = T->max_inertia;
  place_temporary(T, &w->temporary, m);
  w->signal = pl_doubles(m, signals), w->signal_rate = pl_doubles(m, signals);
  w->signal_acceleration = pl_doubles(m, signals);
  w->input = pl_doubles(m, inputs), w->input_rate = pl_doubles(m, inputs), w->input_acceleration = pl_doubles(m, inputs);
  w->route_point = pl_doubles(m, (size_t)PL_ROUTE_POINT * T->n_route_point), w->route_gradient = pl_doubles(m, 2 * nv);
  w->route_sum = pl_doubles(m, 12 * nodes), w->route_tension = pl_doubles(m, T->max_points);
  w->friction = pl_doubles(m, (size_t)PL_FRICTION_POINT * T->max_friction);
  w->friction_gradient = pl_doubles(m, 3 * nv * T->max_friction), w->friction_change = pl_doubles(m, 2 * T->max_friction);
  w->R = pl_doubles(m, 9 * nodes), w->p = pl_doubles(m, 3 * nodes);
  w->V = pl_doubles(m, 6 * nodes), w->A = pl_doubles(m, 6 * nodes);
  w->R0 = pl_doubles(m, 9 * nodes), w->p0 = pl_doubles(m, 3 * nodes), w->c = pl_doubles(m, 6 * nodes);
  w->local = pl_doubles(m, T->n_motion ? PL_LOCAL * nodes + T->n_s : 0);
  w->S = pl_doubles(m, T->n_s);
  w->kernel_blocks = pl_doubles(m, T->n_motion ? (size_t)T->max_k * (T->n_s / 6) : 0);
  w->Vq = pl_doubles(m, T->n_s), w->Av = pl_doubles(m, T->n_s), w->Aq = pl_doubles(m, T->n_s);
  w->inertia = pl_doubles(m, RIGID * nodes), w->momentum = pl_doubles(m, 6 * nodes), w->bias = pl_doubles(m, 6 * nodes);
  w->force = pl_doubles(m, 6 * nodes), w->wrench = pl_doubles(m, 6 * nodes), w->tau = pl_doubles(m, nv);
  w->IA = pl_doubles(m, FULL * nodes), w->pA = pl_doubles(m, COLUMN * nodes);
  w->U = pl_doubles(m, COLUMN * nv), w->D = pl_doubles(m, T->n_d), w->u = pl_doubles(m, nv);
  w->bulk = pl_doubles(m, 2 * nodes), w->least = pl_doubles(m, T->max_k);
  w->B = pl_doubles(m, RATE * nodes), w->path = pl_doubles(m, (size_t)PL_PATH_ROWS * w->path_stride);
  w->BA = pl_doubles(m, 3 * COLUMN * nodes), w->HB = pl_doubles(m, 3 * nv);
  w->lanes = pl_doubles(m, 6 * PL_LANES * nodes), w->lanes_eta = pl_doubles(m, 3 * PL_LANES * nodes);
  w->lanes_a = pl_doubles(m, PL_LANES * nv), w->lanes_node = pl_ints(m, 2 * nodes);
  w->K = pl_doubles(m, T->nnz), w->C = pl_doubles(m, T->nnz), w->M = pl_doubles(m, T->nnz);
  w->Jval = pl_doubles(m, T->nnz_j), w->Jsum = pl_doubles(m, T->nnz_j);
  w->row_size = pl_doubles(m, T->m);
  w->phi = pl_doubles(m, rows), w->phi_rate = pl_doubles(m, rows), w->gamma = pl_doubles(m, rows);
  w->lambda = pl_doubles(m, rows);
  w->zero = pl_doubles(m, largest(largest(nv + 6, rows), largest(T->max_rows, 6 * (size_t)T->max_frames)));
  w->q_new = pl_doubles(m, T->nq);
  w->kernel_w = pl_doubles(m, T->kernel_w), w->kernel_iw = (long long *)pl_place(m, (size_t)T->kernel_iw * sizeof(long long));
  for (int i = 0; w->in_parts && i < PL_WORK_PARTS; ++i) {
    pl_scratch *x = w->parts + i;
    place_temporary(T, &x->temporary, m);
    x->kernel_w = pl_doubles(m, T->kernel_w), x->kernel_iw = (long long *)pl_place(m, (size_t)T->kernel_iw * sizeof(long long));
  }
  w->own_saddle.values = pl_doubles(m, T->nnz_kkt), w->rhs = pl_doubles(m, nv + rows), w->scale = pl_doubles(m, nv + rows);
  if (!inertias) return;
  w->inertia_pose = pl_doubles(m, 12 * inertias), w->inertia_M = pl_doubles(m, n * n * inertias);
  w->inertia_W = pl_doubles(m, n * inertias), w->inertia_h = pl_doubles(m, n * inertias);
  w->inertia_lanes = pl_doubles(m, PL_WIDTH * (12 + n * (n + 2)) * (inertias / PL_WIDTH + T->n_inertia_run + 1));
  w->inertia_J = pl_doubles(m, 6 * (size_t)T->inertia_columns);
  if (T->n_weightless) w->load = pl_doubles(m, 108 * nodes), w->load_path = pl_doubles(m, 25 * (size_t)w->path_stride);
  w->own = pl_doubles(m, nv), w->own_H = pl_doubles(m, COLUMN * nv), w->own_m = pl_doubles(m, T->n_d);
}

static void make_linear(pl_work *w) {
  const pl_tables *T = w->T;
  w->own_saddle.linear = pl_linear_new(T->nv + T->m, T->kkt_colptr, T->kkt_row, T->kkt_order, T->kkt_dense);
}

static void place_saddle(pl_work *w) {
  const pl_tables *T = w->T;
  pl_saddle *s = &w->own_saddle;
  s->nnz = T->nnz_kkt, s->colptr = T->kkt_colptr, s->row = T->kkt_row, s->of = T->kkt_of;
  s->of_j = T->kkt_of_j, s->of_jt = T->kkt_of_jt, s->of_diagonal = T->kkt_of_diagonal;
  w->saddle = s;
}

pl_work *pl_work_new(const pl_tables *T) {
  pl_memory m = {0};
  pl_work *w = (pl_work *)calloc(1, sizeof *w);
  if (!w) return NULL;
  w->T = T;
  measure_paths(w);
  measure_parts(w);
  place(w, &m);
  w->bytes = m.used;
  w->memory = pl_block(&m);
  if (w->memory) {
    place(w, &m);
    if (T->by_tree) w->tree = pl_tree_new(T);
    else make_linear(w);
    place_saddle(w);
    if (T->n_shape) w->contacts = pl_contacts_new(T);
  }
  if ((!w->own_saddle.linear && !w->tree) || (T->n_shape && !w->contacts)) {
    pl_work_free(w);
    return NULL;
  }
  for (int i = 0; i < 3; ++i) w->R[4 * i] = 1;
  return w;
}

void pl_work_free(pl_work *w) {
  if (!w) return;
  pl_linear_free(w->own_saddle.linear), pl_tree_free(w->tree), pl_contacts_free(w->contacts);
  free(w->memory), free(w);
}

void pl_bind(pl_work *w, const pl_binding *b) {
  w->bound = *b;
  w->theta = b->constants, w->parameters = b->parameters, w->held = b->held;
  w->row_active = b->row_active, w->cforce_active = b->coordinate_force_active;
  w->fforce_active = b->frame_force_active, w->route_active = b->route_active;
  if (w->contacts) pl_contact_bind(w);
}

int pl_memory_status(pl_work *w) {
  if (!w->contacts || !w->contacts->failed) return PL_OK;
  w->contacts->failed = 0;
  return PL_OUT_OF_MEMORY;
}

long pl_evaluations(const pl_work *w) { return w->evaluations; }
long pl_factorizations(const pl_work *w) { return w->factorizations; }

size_t pl_work_bytes(const pl_work *w) {
  return sizeof *w + w->bytes + (w->own_saddle.linear ? pl_linear_bytes(w->own_saddle.linear) : 0) + (w->tree ? w->tree->bytes : 0);
}

size_t pl_layout_size(int which) {
  static const size_t sizes[] = {sizeof(pl_tables), sizeof(pl_binding), sizeof(pl_arguments), sizeof(pl_run_head)};
  return which >= 0 && which < 4 ? sizes[which] : 0;
}

/* Signals, kinematics and forces: the beginning of every evaluation. */
void pl_evaluate(pl_work *w, double t, const double *q, const double *v) {
  pl_signals(w, t);
  pl_kinematics(w, q, v);
  pl_forces(w, q, v);
  w->evaluations++;
}

/* A sum of M, C and K. */
typedef struct weights {
  double M, C, K;
  const double *turns;
} weights;

/* += (cM M + cC C) (B - 1) on the columns of rotations; `blocks` holds B - 1, 3x3 column-major each. */
static void turn_columns(pl_work *w, const pl_elements *of, double cM, double cC, const double *blocks) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_quat; ++i, blocks += 9) {
    /* the three columns of a rotation have the same pattern */
    const int c = T->quat_v[i];
    if (c < of->first_v || c >= of->end_v) continue;
    const int c0 = T->colptr[c], c1 = T->colptr[c + 1], c2 = T->colptr[c + 2];
    for (int k = 0; k < c1 - c0; ++k) {
      const double X0 = cM * w->M[c0 + k] + cC * w->C[c0 + k], X1 = cM * w->M[c1 + k] + cC * w->C[c1 + k],
                   X2 = cM * w->M[c2 + k] + cC * w->C[c2 + k];
      w->saddle->values[w->saddle->of[c0 + k]] += X0 * blocks[0] + X1 * blocks[1] + X2 * blocks[2];
      w->saddle->values[w->saddle->of[c1 + k]] += X0 * blocks[3] + X1 * blocks[4] + X2 * blocks[5];
      w->saddle->values[w->saddle->of[c2 + k]] += X0 * blocks[6] + X1 * blocks[7] + X2 * blocks[8];
    }
  }
}

static void some_columns(pl_work *w, const pl_elements *of, const void *sum) {
  const pl_tables *T = w->T;
  const weights *x = (const weights *)sum;
  double *values = w->saddle->values;
  const int *to = w->saddle->of;
  for (int n = T->colptr[of->first_v]; n < T->colptr[of->end_v]; ++n)
    values[to[n]] = x->M * w->M[n] + (x->C ? x->C * w->C[n] : 0) + (x->K ? x->K * w->K[n] : 0);
  if (x->turns) turn_columns(w, of, x->M, x->C, x->turns);
}

int pl_assemble(pl_work *w, double cM, double cC, double cK, const double *turns) {
  const pl_tables *T = w->T;
  const int touching = w->contacts && w->contacts->in_matrix && (cC || cK);
  pl_saddle *s = w->saddle = touching ? pl_contact_saddle(w) : &w->own_saddle;
  const int status = pl_memory_status(w);
  if (status) return status;
  if (s->nnz > T->nnz) memset(s->values, 0, s->nnz * sizeof(double)); /* else all are set */
  const weights x = {cM, cC, cK, turns};
  pl_over_elements(w, 0, some_columns, &x);
  for (int n = 0; n < T->nnz_j; ++n)
    if (w->row_active[T->j_row[n]]) {
      s->values[s->of_j[n]] = w->Jval[n];
      s->values[s->of_jt[n]] = -w->Jval[n];
    }
  for (int r = 0; r < T->m; ++r) s->values[s->of_diagonal[r]] = w->row_active[r] ? 0 : 1;
  if (touching) pl_contact_assemble(w, cC, cK, turns);
  return PL_OK;
}

void pl_begin(pl_work *w) {
  if (w->own_saddle.linear) pl_linear_forget(w->own_saddle.linear);
  if (w->contacts) pl_contact_begin(w);
  w->beginnings++;
}

static pl_linear *own_linear(pl_work *w) {
  if (!w->own_saddle.linear) make_linear(w);
  return w->own_saddle.linear;
}

static int factor(pl_work *w, int (*by)(pl_linear *, const double *)) {
  w->factorizations++, w->by_tree = 0;
  if (w->saddle == &w->own_saddle && !own_linear(w)) return PL_OUT_OF_MEMORY;
  return by(w->saddle->linear, w->saddle->values);
}

int pl_factor(pl_work *w) { return factor(w, pl_linear_factor); }
int pl_factor_roughly(pl_work *w) { return factor(w, pl_linear_factor_roughly); }

int pl_work_reserve(pl_work *w, int lower, int upper) {
  return own_linear(w) ? pl_linear_reserve(w->own_saddle.linear, lower, upper) : PL_OUT_OF_MEMORY;
}

/* Scale the inertia of each coordinate to one, so that no entry of M is larger, and also the largest entry of every constraint
 * row. */
static void scale_by_mass(pl_work *w) {
  const pl_tables *T = w->T;
  double *scale = w->scale, *largest = scale + T->nv;
  for (int e = 0; e < T->n_elem; ++e)
    for (int j = 0; j < T->elem_k[e]; ++j) {
      const double inertia = w->M[T->elem_pos[e] + (T->elem_stride[e] + 1) * j];
      if (!(inertia > 0 && inertia < INFINITY)) return;
      scale[T->elem_v[e] + j] = 1 / sqrt(inertia);
    }
  for (int r = 0; r < T->m; ++r) largest[r] = w->row_active[r] ? 0 : 1;
  for (int n = 0; n < T->nnz_j; ++n)
    if (w->row_active[T->j_row[n]])
      largest[T->j_row[n]] = fmax(largest[T->j_row[n]], fabs(w->Jval[n]) * scale[T->j_col[n]]);
  for (int r = 0; r < T->m; ++r) {
    if (!(largest[r] > 0 && largest[r] < INFINITY)) return;
    largest[r] = 1 / largest[r];
  }
  pl_linear_scale(w->own_saddle.linear, scale);
}

int pl_factor_mass(pl_work *w) {
  if (own_linear(w) && !pl_linear_is_scaled(w->own_saddle.linear)) scale_by_mass(w);
  return pl_factor(w);
}

/* Accelerations (and multipliers in w->lambda) in the state (q, v) at time t. */
int pl_next_forward(pl_work *w, double t, const double *q, const double *v, double *a) {
  const pl_tables *T = w->T;
  /* a diverged state would appear as a singular matrix below: distinguish the two here */
  for (int i = 0; i < T->nv; ++i)
    if (!isfinite(v[i])) return PL_NOT_FINITE;
  pl_evaluate(w, t, q, v);
  int status = pl_memory_status(w);
  if (status) return status;
  if (!T->m && !T->n_coupled) return pl_articulated(w, v, a);
  pl_constraints(w, q, v);
  pl_residual(w, v, w->zero, w->rhs);
  if ((status = pl_step_mass_matrix(w))) return status;
  for (int i = 0; i < T->nv; ++i) w->rhs[i] = -w->rhs[i];
  for (int r = 0; r < T->m; ++r) w->rhs[T->nv + r] = w->row_active[r] ? -w->gamma[r] : 0;
  pl_step_solve(w, w->rhs);
  memcpy(a, w->rhs, T->nv * sizeof(double));
  memcpy(w->lambda, w->rhs + T->nv, T->m * sizeof(double));
  return PL_OK;
}

int pl_forward(pl_work *w, double t, const double *q, const double *v, double *a) {
  pl_begin(w);
  return pl_next_forward(w, t, q, v, a);
}

/* r = M a + h without constraint forces. */
int pl_inverse(pl_work *w, double t, const double *q, const double *v, const double *a, double *r) {
  pl_evaluate(w, t, q, v);
  pl_residual(w, v, a, r);
  return pl_memory_status(w);
}

/* r (in w->rhs, multipliers included) and constraints at the state. */
void pl_unbalanced(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_evaluate(w, t, q, v);
  pl_unbalanced_here(w, q, v, a, lambda);
}

void pl_unbalanced_here(pl_work *w, const double *q, const double *v, const double *a, const double *lambda) {
  if (w->T->m) {
    pl_constraints(w, q, v);
    pl_constraint_wrenches(w, lambda);
  }
  pl_residual(w, v, a, w->rhs);
}

/* Wrenches transmitted by nodes to their bases, 6 each: of everything that is fixed to them or supported by them, from inertia,
 * weight, all forces and the constraints; as exerted by the base on the node. */
void pl_carried(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda, int count,
                const int *nodes, double *out) {
  pl_unbalanced(w, t, q, v, a, lambda);
  for (int i = 0; i < count; ++i) memcpy(out + 6 * i, w->force + 6 * nodes[i], 6 * sizeof(double));
}

/* K, C, M on the system pattern, after pl_unbalanced. */
void pl_tangents(pl_work *w, const double *q, const double *v, const double *a, const double *lambda) {
  pl_tangent(w, q, v, a);
  pl_inertia_tangent(w, q, a);
  pl_shared_inertia_tangent(w);
  pl_force_tangent(w, q, v);
  if (w->T->m) pl_constraint_tangent(w, lambda);
}

/* r and constraints as by pl_unbalanced, and K, C, M, J. */
int pl_linearized(pl_work *w, double t, const double *q, const double *v, const double *a, const double *lambda) {
  pl_unbalanced(w, t, q, v, a, lambda);
  pl_tangents(w, q, v, a, lambda);
  return pl_memory_status(w);
}

static double largest_active(const pl_work *w, const double *x) {
  double y = 0;
  for (int r = 0; r < w->T->m; ++r)
    if (w->row_active[r] && fabs(x[r]) > y) y = fabs(x[r]);
  return y;
}

/* Closest state (in the mass metric) that satisfies the constraints and their rates. */
int pl_next_project(pl_work *w, double t, double *q, double *v, double tolerance) {
  const pl_tables *T = w->T;
  if (!T->m) return PL_OK;
  double previous = INFINITY;
  for (int iteration = 0;; ++iteration) {
    pl_signals(w, t);
    pl_kinematics(w, q, v);
    pl_constraints(w, q, v);
    if (!isfinite(largest_active(w, w->phi)) || iteration > 50) return PL_PROJECTION;
    const double error = pl_constraint_gap(w);
    memset(w->wrench, 0, 6 * T->n_node * sizeof(double));
    const int status = pl_step_mass_matrix(w);
    if (status) return status;
    if (error <= tolerance && (error < 0.01 * tolerance || error >= previous)) break;
    previous = error;
    memset(w->rhs, 0, T->nv * sizeof(double));
    for (int r = 0; r < T->m; ++r) w->rhs[T->nv + r] = w->row_active[r] ? -w->phi[r] : 0;
    pl_step_solve(w, w->rhs);
    pl_increment(T, q, w->rhs, w->q_new);
    memcpy(q, w->q_new, T->nq * sizeof(double));
  }
  memset(w->rhs, 0, T->nv * sizeof(double));
  for (int r = 0; r < T->m; ++r) w->rhs[T->nv + r] = w->row_active[r] ? -w->phi_rate[r] : 0;
  pl_step_solve(w, w->rhs);
  for (int i = 0; i < T->nv; ++i) v[i] += w->rhs[i];
  return PL_OK;
}

int pl_project(pl_work *w, double t, double *q, double *v, double tolerance) {
  pl_begin(w);
  return pl_next_project(w, t, q, v, tolerance);
}

/* kinetic, potential (gravity and stored), dissipated power, supplied power, largest constraint error */
void pl_energies(pl_work *w, double t, const double *q, const double *v, double *out) {
  pl_evaluate(w, t, q, v);
  out[0] = pl_kinetic_energy(w);
  out[1] = pl_gravity_energy(w) + w->energy;
  pl_inertia_energy(w, out, out + 1);
  pl_shared_inertia_energy(w, out, out + 1);
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
