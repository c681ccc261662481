/* Evaluations under one signature, for a caller that lists them in a table (engine/program.py): arguments by name, results
 * copied into arrays of the caller. The workspace is not read after they have returned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"

static void give(double *out, const double *from, size_t count) {
  if (count) memcpy(out, from, count * sizeof(double));
}

/* Columns of 3 x 3 matrices become rows. */
static void give_rotations(double *out, const double *R, int count) {
  for (int g = 0; g < count; ++g)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) out[9 * g + 3 * i + j] = R[9 * g + 3 * j + i];
}

int pl_call_forward(pl_work *w, const pl_arguments *x, double *const *out) {
  const int status = pl_forward(w, x->t, x->q, x->v, out[0]);
  give(out[1], w->lambda, w->T->m);
  return status;
}

int pl_call_forward_derivatives(pl_work *w, const pl_arguments *x, double *const *out) {
  return pl_forward_derivatives(w, x->t, x->q, x->v, out[0], out[1], out[2]);
}

int pl_call_inverse(pl_work *w, const pl_arguments *x, double *const *out) {
  return pl_inverse(w, x->t, x->q, x->v, x->a, out[0]);
}

int pl_call_linearized(pl_work *w, const pl_arguments *x, double *const *out) {
  const pl_tables *T = w->T;
  const int status = pl_linearized(w, x->t, x->q, x->v, x->a, x->multipliers);
  give(out[0], w->rhs, T->nv);
  give(out[1], w->K, T->nnz), give(out[2], w->C, T->nnz), give(out[3], w->M, T->nnz);
  give(out[4], w->phi, T->m), give(out[5], w->Jval, T->nnz_j);
  pl_rate_sizes(w, pl_reach(w), out[6]), give(out[7], w->row_size, T->m);
  return status;
}

static void constraints(pl_work *w, const pl_arguments *x) {
  pl_signals(w, x->t);
  pl_kinematics(w, x->q, x->v);
  pl_constraints(w, x->q, x->v);
}

int pl_call_constraints(pl_work *w, const pl_arguments *x, double *const *out) {
  const pl_tables *T = w->T;
  constraints(w, x);
  give(out[0], w->phi, T->m), give(out[1], w->phi_rate, T->m), give(out[2], w->gamma, T->m);
  give(out[3], w->Jval, T->nnz_j);
  return PL_OK;
}

/* Reference sizes of constraint values. */
int pl_call_constraint_sizes(pl_work *w, const pl_arguments *x, double *const *out) {
  constraints(w, x);
  give(out[0], w->row_size, w->T->m);
  return PL_OK;
}

/* Size of the robot, and reference sizes of changes of its coordinates. */
int pl_call_sizes(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, w->zero);
  *out[0] = pl_reach(w);
  pl_rate_sizes(w, *out[0], out[1]);
  return PL_OK;
}

/* four independent sums, which shortens the dependency chain */
static double dot(const double *a, const double *b, int n) {
  double x[4] = {0};
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) x[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) x[0] += a[i] * b[i];
  return (x[0] + x[1]) + (x[2] + x[3]);
}

/* Ratio of the smallest to the largest pivot in the orthogonalization of the rows of J, with the longest remaining row as pivot.
 * `squares` has space for a number per row. */
static double smallest_pivot(double *J, double *squares, int rows, int n) {
  double largest = 0, pivot = 0;
  for (int r = 0; r < rows; ++r) squares[r] = dot(J + (size_t)n * r, J + (size_t)n * r, n);
  for (int k = 0; k < rows; ++k) {
    int longest = k;
    for (int r = k; r < rows; ++r)
      if (!(squares[r] <= squares[longest])) longest = r;
    pivot = sqrt(squares[longest]);
    if (k == 0) largest = pivot;
    if (!(pivot > 0)) break;
    double *first = J + (size_t)n * k, *other = J + (size_t)n * longest;
    for (int i = 0; i < n; ++i) {
      const double x = other[i] / pivot;
      other[i] = first[i], first[i] = x;
    }
    squares[longest] = squares[k];
    for (int r = k + 1; r < rows; ++r) {
      double *row = J + (size_t)n * r;
      const double x = dot(first, row, n);
      if (!x) continue;
      for (int i = 0; i < n; ++i) row[i] -= x * first[i];
      squares[r] = dot(row, row, n);
    }
  }
  return largest > 0 ? pivot / largest : 0;
}

/* Columns, then rows, divided by their largest entries: dependence must not depend on the units of coordinates and constraints. */
static void equilibrate(double *J, int rows, int n) {
  for (int i = 0; i < n; ++i) {
    double largest = 0;
    for (int r = 0; r < rows; ++r) largest = fmax(largest, fabs(J[(size_t)n * r + i]));
    for (int r = 0; r < rows && largest > 0; ++r) J[(size_t)n * r + i] /= largest;
  }
  for (int r = 0; r < rows; ++r) {
    double largest = 0;
    for (int i = 0; i < n; ++i) largest = fmax(largest, fabs(J[(size_t)n * r + i]));
    for (int i = 0; i < n && largest > 0; ++i) J[(size_t)n * r + i] /= largest;
  }
}

/* Distance of the constraint rows from linear dependence in this pose: at most 1, and 0 if they are dependent or one of them has
 * no effect. */
int pl_call_row_independence(pl_work *w, const pl_arguments *x, double *const *out) {
  const pl_tables *T = w->T;
  double *J = calloc((size_t)T->m * (T->nv + 1) + 1, sizeof(double));
  if (!J) return PL_OUT_OF_MEMORY;
  constraints(w, x);
  for (int n = 0; n < T->nnz_j; ++n) J[(size_t)T->nv * T->j_row[n] + T->j_col[n]] += w->Jval[n];
  equilibrate(J, T->m, T->nv);
  out[0][0] = smallest_pivot(J, J + (size_t)T->m * T->nv, T->m, T->nv);
  free(J);
  return PL_OK;
}

/* d(J a + gamma)/dq and /dv, each by columns of length m. */
int pl_call_acceleration_tangent(pl_work *w, const pl_arguments *x, double *const *out) {
  const int status = pl_linearized(w, x->t, x->q, x->v, x->a, w->zero);
  pl_constraint_acceleration_tangent(w, out[0], out[1]);
  return status;
}

int pl_call_input_tangent(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_evaluate(w, x->t, x->q, x->v);
  pl_input_tangent(w, x->q, x->v, out[0]);
  return PL_OK;
}

int pl_call_mass_matrix(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, w->zero);
  pl_mass_matrix(w);
  give(out[0], w->M, w->T->nnz);
  return PL_OK;
}

int pl_call_energies(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_energies(w, x->t, x->q, x->v, out[0]);
  return pl_memory_status(w);
}

/* Inputs, signals, and first and second time derivatives of the signals. */
int pl_call_signals(pl_work *w, const pl_arguments *x, double *const *out) {
  const pl_tables *T = w->T;
  pl_signals(w, x->t);
  give(out[0], w->input, T->n_input), give(out[1], w->signal, T->n_signal);
  give(out[2], w->signal_rate, T->n_signal), give(out[3], w->signal_acceleration, T->n_signal);
  return PL_OK;
}

int pl_call_project(pl_work *w, const pl_arguments *x, double *const *out) {
  give(out[0], x->q, w->T->nq), give(out[1], x->v, w->T->nv);
  return pl_project(w, x->t, out[0], out[1], x->tolerance);
}

/* q with the increment v applied. */
int pl_call_increment(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_increment(w->T, x->q, x->v, out[0]);
  return PL_OK;
}

/* -- nodes and frames -- */

int pl_call_node_poses(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, w->zero);
  give_rotations(out[0], w->R, w->T->n_node);
  give(out[1], w->p, (size_t)3 * w->T->n_node);
  return PL_OK;
}

int pl_call_node_twists(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, x->v);
  give(out[0], w->V, (size_t)6 * w->T->n_node);
  return PL_OK;
}

/* A contains gravity as an acceleration of the ground, node 0, which is subtracted. */
int pl_call_node_accelerations(pl_work *w, const pl_arguments *x, double *const *out) {
  const int status = pl_inverse(w, x->t, x->q, x->v, x->a, w->rhs);
  for (int g = 0; g < w->T->n_node; ++g)
    for (int i = 0; i < 6; ++i) out[0][6 * g + i] = w->A[6 * g + i] - w->A[i];
  return status;
}

int pl_call_node_subspaces(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, w->zero);
  give(out[0], w->S, w->T->n_s);
  return PL_OK;
}

/* World twist of a node per rate, 6 x nv by rows. */
static void node_jacobian(const pl_work *w, int node, double *out) {
  const pl_tables *T = w->T;
  memset(out, 0, (size_t)6 * T->nv * sizeof(double));
  for (int n = node; n; n = T->elem_base[T->node_elem[n]]) {
    const double *S = w->S + T->node_s[n];
    const int e = T->node_elem[n];
    for (int j = 0; j < T->elem_k[e]; ++j)
      for (int i = 0; i < 6; ++i) out[(size_t)T->nv * i + T->elem_v[e] + j] = S[6 * j + i];
  }
}

int pl_call_node_jacobian(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, w->zero);
  node_jacobian(w, x->frames[0], out[0]);
  return PL_OK;
}

/* A frame is a pair: its node, and the index of its placement among the constants. */
static void give_place(const pl_work *w, const int *frame, double *p) {
  const double *own = w->p + 3 * frame[0];
  rotate3(w->R + 9 * frame[0], w->theta + frame[1] + 9, p);
  for (int i = 0; i < 3; ++i) p[i] += own[i];
}

/* Rotations by rows and positions. */
static void give_frame_poses(const pl_work *w, const pl_arguments *x, double *const *out) {
  for (int k = 0; k < x->count; ++k) {
    const int *frame = x->frames + 2 * k;
    double R[9];
    matmul3(w->R + 9 * frame[0], w->theta + frame[1], R);
    give_rotations(out[0] + 9 * k, R, 1);
    give_place(w, frame, out[1] + 3 * k);
  }
}

int pl_call_frame_poses(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, w->zero);
  give_frame_poses(w, x, out);
  return PL_OK;
}

/* Poses, then velocities of the origins and angular velocities. */
static void give_frame_velocities(const pl_work *w, const pl_arguments *x, double *const *out) {
  give_frame_poses(w, x, out);
  for (int k = 0; k < x->count; ++k) {
    const double *V = w->V + 6 * x->frames[2 * k];
    double *velocity = out[2] + 3 * k;
    give(velocity, V, 3), give(out[3] + 3 * k, V + 3, 3);
    add_cross3(V + 3, out[1] + 3 * k, velocity);
  }
}

int pl_call_frame_velocities(pl_work *w, const pl_arguments *x, double *const *out) {
  pl_kinematics(w, x->q, x->v);
  give_frame_velocities(w, x, out);
  return PL_OK;
}

/* Poses and velocities, then accelerations: d/dt of (v0 + w x p), with v0 the velocity of the body point now at the world's
 * origin. */
int pl_call_frame_accelerations(pl_work *w, const pl_arguments *x, double *const *out) {
  const int status = pl_inverse(w, 0, x->q, x->v, x->a, w->rhs);
  give_frame_velocities(w, x, out);
  for (int k = 0; k < x->count; ++k) {
    const double *A = w->A + 6 * x->frames[2 * k];
    double *rate = out[4] + 3 * k, *turn = out[5] + 3 * k;
    for (int i = 0; i < 3; ++i) rate[i] = A[i] - w->A[i], turn[i] = A[3 + i] - w->A[3 + i];
    add_cross3(turn, out[1] + 3 * k, rate);
    add_cross3(out[3] + 3 * k, out[2] + 3 * k, rate);
  }
  return status;
}

/* Velocity of a frame's origin and its angular velocity per rate, 6 x nv by rows. */
int pl_call_frame_jacobian(pl_work *w, const pl_arguments *x, double *const *out) {
  const int nv = w->T->nv;
  double p[3];
  pl_kinematics(w, x->q, w->zero);
  node_jacobian(w, x->frames[0], out[0]);
  give_place(w, x->frames, p);
  for (int j = 0; j < nv; ++j) {
    const double turn[3] = {out[0][3 * nv + j], out[0][4 * nv + j], out[0][5 * nv + j]};
    double moved[3];
    cross3(turn, p, moved);
    for (int i = 0; i < 3; ++i) out[0][i * nv + j] += moved[i];
  }
  return PL_OK;
}
