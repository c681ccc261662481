/* Forces on coordinates, forces between frames, constraints: values, and tangents scattered into the system. */
#include <math.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"

#define CANCELLED 2e-14 /* relative value of a sum whose terms should cancel */

static void gather(const pl_work *w, const int *nodes, int count, double *pose, double *twist) {
  for (int f = 0; f < count; ++f) {
    memcpy(pose + 12 * f, w->R + 9 * nodes[f], 9 * sizeof(double));
    memcpy(pose + 12 * f + 9, w->p + 3 * nodes[f], 3 * sizeof(double));
    memcpy(twist + 6 * f, w->V + 6 * nodes[f], 6 * sizeof(double));
  }
}

/* Forces of the caller; their power is supplied. */
static void push(pl_work *w) {
  for (int i = 0; i < w->n_push; ++i) {
    const pl_push *x = w->pushes + i;
    double arm[3], F[6];
    rotate3(w->R + 9 * x->node, x->point, arm);
    for (int k = 0; k < 3; ++k) arm[k] += w->p[3 * x->node + k], F[k] = x->force[k], F[3 + k] = x->moment[k];
    add_cross3(arm, F, F + 3);
    for (int k = 0; k < 6; ++k) w->wrench[6 * x->node + k] += F[k];
    w->supply += dot6(F, w->V + 6 * x->node);
  }
}

/* Fills wrenches on nodes, generalized forces, and the scalars energy, dissipation and supply. */
void pl_forces(pl_work *w, const double *q, const double *v) {
  const pl_tables *T = w->T;
  memset(w->wrench, 0, 6 * T->n_node * sizeof(double));
  memset(w->tau, 0, T->nv * sizeof(double));
  w->energy = w->dissipation = w->supply = 0;
  double scalars[3];
  for (int i = 0; i < T->n_cforce; ++i) {
    if (!w->cforce_active[i]) continue;
    double *f = w->temporary.f;
    const double *arg[4] = {q + T->cforce_q[i], v + T->cforce_v[i], w->theta + T->cforce_theta[i],
                            w->signal + T->cforce_signal[i]};
    double *res[2] = {f, scalars};
    pl_call(T->cforce_value + T->cforce_kind[i], arg, res, w);
    for (int j = 0; j < T->cforce_k[i]; ++j) w->tau[T->cforce_v[i] + j] += f[j];
    w->energy += scalars[0], w->dissipation += scalars[1], w->supply += scalars[2];
  }
  for (int i = 0; i < T->n_fforce; ++i) {
    if (!w->fforce_active[T->fforce_index[i]]) continue;
    const int *nodes = T->fforce_nodes + T->fforce_begin[i], count = T->fforce_begin[i + 1] - T->fforce_begin[i];
    double *pose = w->temporary.pose, *twist = w->temporary.twist, *f = w->temporary.wrench;
    gather(w, nodes, count, pose, twist);
    const double *arg[4] = {pose, twist, w->theta + T->fforce_theta[i], w->signal + T->fforce_signal[i]};
    double *res[2] = {f, scalars};
    pl_call(T->fforce_value + T->fforce_kind[i], arg, res, w);
    for (int a = 0; a < count; ++a)
      for (int j = 0; j < 6; ++j) w->wrench[6 * nodes[a] + j] += f[6 * a + j];
    w->energy += scalars[0], w->dissipation += scalars[1], w->supply += scalars[2];
  }
  pl_relative_forces(w);
  pl_route_forces(w);
  pl_contact_forces(w);
  push(w);
}

/* -= S_row' (X S_col or Vq_col) for one pair of nodes; X is the (a, b) block of a 6n x 6n matrix. */
static inline void scatter(const pl_work *w, int row, int col, const double *X, int ld, const double *right, int at,
                           double *out) {
  const pl_tables *T = w->T;
  const int er = T->node_elem[row], ec = T->node_elem[col], kr = T->elem_k[er], kc = T->elem_k[ec];
  const double *S = w->S + T->node_s[row], *Z = right + T->node_s[col];
  for (int j = 0; j < kc; ++j) {
    double x[6] = {0};
    for (int n = 0; n < 6; ++n)
      for (int i = 0; i < 6; ++i) x[i] += X[ld * n + i] * Z[6 * j + n];
    for (int i = 0; i < kr; ++i) out[at + T->elem_stride[ec] * j + i] -= dot6(S + 6 * i, x);
  }
}

/* Of one force on coordinates, in w->temporary: dq and dv, k x k. */
void pl_coordinate_force_tangent(pl_work *w, int i, const double *q, const double *v) {
  const pl_tables *T = w->T;
  const double *arg[4] = {q + T->cforce_q[i], v + T->cforce_v[i], w->theta + T->cforce_theta[i],
                          w->signal + T->cforce_signal[i]};
  double *res[3] = {w->temporary.dq, w->temporary.dv, 0};
  pl_call(T->cforce_tangent + T->cforce_kind[i], arg, res, w);
}

/* Of one force between n frames: K and C in convected form, 6n x 6n. */
void pl_frame_force_tangent(pl_work *w, int i, double *K, double *C) {
  const pl_tables *T = w->T;
  double *pose = w->temporary.pose, *twist = w->temporary.twist, *res[3] = {K, C, 0};
  gather(w, T->fforce_nodes + T->fforce_begin[i], T->fforce_begin[i + 1] - T->fforce_begin[i], pose, twist);
  const double *arg[4] = {pose, twist, w->theta + T->fforce_theta[i], w->signal + T->fforce_signal[i]};
  pl_call(T->fforce_tangent + T->fforce_kind[i], arg, res, w);
}

/* Of the wrenches G' lambda of one constraint: K in convected form, 6n x 6n. */
void pl_frame_constraint_tangent(pl_work *w, int i, const double *lambda, double *K) {
  const pl_tables *T = w->T;
  double *pose = w->temporary.pose, *twist = w->temporary.twist, *res[3] = {K, 0, 0};
  gather(w, T->con_nodes + T->con_begin[i], T->con_begin[i + 1] - T->con_begin[i], pose, twist);
  const double *arg[5] = {pose, twist, w->zero, w->theta + T->con_theta[i], lambda + T->con_row[i]};
  pl_call(T->con_tangent + T->con_kind[i], arg, res, w);
}

static void add_coordinate_forces(pl_work *w, const double *q, const double *v) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_cforce; ++i) {
    const int k = T->cforce_k[i];
    const double *dq = w->temporary.dq, *dv = w->temporary.dv;
    if (!w->cforce_active[i]) continue;
    pl_coordinate_force_tangent(w, i, q, v);
    for (int j = 0; j < k; ++j)
      for (int n = 0; n < k; ++n) {
        const int at = T->cforce_column[T->cforce_begin[i] + j] + n;
        w->K[at] -= dq[k * j + n], w->C[at] -= dv[k * j + n];
      }
  }
}

/* Adds the part of forces between frames to K and C (after pl_tangent), with the loads that inertias have put on nodes (after
 * pl_inertia_tangent). */
void pl_frame_tangents(pl_work *w) {
  const pl_tables *T = w->T;
  double *K = w->temporary.K, *C = w->temporary.C;
  for (int i = 0; i < T->n_fforce; ++i) {
    if (!w->fforce_active[T->fforce_index[i]]) continue;
    pl_frame_force_tangent(w, i, K, C);
    const int ld = 6 * (T->fforce_begin[i + 1] - T->fforce_begin[i]);
    if (T->n_weightless && ld == 6) {
      pl_add_load(w, T->fforce_nodes[T->fforce_begin[i]], 1, -1, C, ld);
      pl_add_load(w, T->fforce_nodes[T->fforce_begin[i]], 2, -1, K, ld);
      continue;
    }
    for (int n = T->fpair_begin[i]; n < T->fpair_begin[i + 1]; ++n) {
      const int block = ld * 6 * T->fpair_b[n] + 6 * T->fpair_a[n], row = T->fpair_row[n], col = T->fpair_col[n];
      scatter(w, row, col, K + block, ld, w->S, T->fpair_pos[n], w->K);
      scatter(w, row, col, C + block, ld, w->Vq, T->fpair_pos[n], w->K);
      scatter(w, row, col, C + block, ld, w->S, T->fpair_pos[n], w->C);
    }
  }
  if (T->n_weightless) pl_project_loads(w, 1);
  pl_relative_tangent(w);
  pl_route_tangent(w);
  pl_contact_tangents(w);
}

/* Adds the forces' part to K and C (after pl_tangent). */
void pl_force_tangent(pl_work *w, const double *q, const double *v) {
  add_coordinate_forces(w, q, v);
  pl_frame_tangents(w);
}

/* dr/dsignal, nv x n_signal, of the forces (signals of constraints do not enter r). */
void pl_input_tangent(pl_work *w, const double *q, const double *v, double *out) {
  const pl_tables *T = w->T;
  memset(out, 0, (size_t)T->nv * T->n_signal * sizeof(double));
  double *pose = w->temporary.pose, *twist = w->temporary.twist;
  for (int i = 0; i < T->n_cforce; ++i) {
    const int k = T->cforce_k[i];
    if (!T->cforce_signals[i] || !w->cforce_active[i]) continue;
    double *ds = w->temporary.ds;
    const double *arg[4] = {q + T->cforce_q[i], v + T->cforce_v[i], w->theta + T->cforce_theta[i],
                            w->signal + T->cforce_signal[i]};
    double *res[3] = {0, 0, ds};
    pl_call(T->cforce_tangent + T->cforce_kind[i], arg, res, w);
    for (int s = 0; s < T->cforce_signals[i]; ++s)
      for (int n = 0; n < k; ++n) out[(size_t)T->nv * (T->cforce_signal[i] + s) + T->cforce_v[i] + n] -= ds[k * s + n];
  }
  for (int i = 0; i < T->n_fforce; ++i) {
    if (!T->fforce_signals[i] || !w->fforce_active[T->fforce_index[i]]) continue;
    double *ds = w->temporary.by_signals;
    const int *nodes = T->fforce_nodes + T->fforce_begin[i], count = T->fforce_begin[i + 1] - T->fforce_begin[i];
    gather(w, nodes, count, pose, twist);
    const double *arg[4] = {pose, twist, w->theta + T->fforce_theta[i], w->signal + T->fforce_signal[i]};
    double *res[3] = {0, 0, ds};
    pl_call(T->fforce_tangent + T->fforce_kind[i], arg, res, w);
    for (int s = 0; s < T->fforce_signals[i]; ++s)
      for (int a = 0; a < count; ++a)
        for (int n = nodes[a]; n; n = T->elem_base[T->node_elem[n]]) {
          const int e = T->node_elem[n];
          for (int j = 0; j < T->elem_k[e]; ++j)
            out[(size_t)T->nv * (T->fforce_signal[i] + s) + T->elem_v[e] + j] -=
                dot6(w->S + T->node_s[n] + 6 * j, ds + 6 * count * s + 6 * a);
        }
  }
  pl_relative_input_tangent(w, out);
  pl_route_input_tangent(w, out);
}

/* Whether a constraint row, of the derivatives G of m of them by the twists of some frames, is a length: it changes as frames move,
 * not only as they turn. */
static int is_length(const double *G, int m, int frames, int row) {
  for (int f = 0; f < frames; ++f)
    for (int l = 0; l < 3; ++l)
      if (G[6 * m * f + m * l + row]) return 1;
  return 0;
}

double pl_largest_row(const pl_work *w, const double *x) {
  double y = 0;
  for (int r = 0; r < w->T->m; ++r)
    if (w->row_active[r]) y = fmax(y, fabs(x[r]) / w->row_size[r]);
  return y;
}

double pl_constraint_gap(const pl_work *w) { return pl_largest_row(w, w->phi); }

/* Values, rates, Jacobian and convective terms of all constraints:
 * phi_rate = J v - signal_rate, d2phi = J a + gamma (gamma includes minus the signal's acceleration). */
void pl_constraints(pl_work *w, const double *q, const double *v) {
  const pl_tables *T = w->T;
  if (!T->m) return;
  const double reach = fmax(pl_farthest(w), pl_reach(w));
  memset(w->Jval, 0, T->nnz_j * sizeof(double)), memset(w->Jsum, 0, T->nnz_j * sizeof(double));
  double *e = w->temporary.e, *G = w->temporary.G, *g = w->temporary.g;
  double *pose = w->temporary.pose, *twist = w->temporary.twist;
  for (int i = 0; i < T->n_con; ++i) {
    const int *nodes = T->con_nodes + T->con_begin[i], count = T->con_begin[i + 1] - T->con_begin[i];
    const int m = T->con_size[i], row = T->con_row[i];
    gather(w, nodes, count, pose, twist);
    const double *arg[3] = {pose, twist, w->theta + T->con_theta[i]};
    double *res[3] = {e, G, g};
    pl_call(T->con_value + T->con_kind[i], arg, res, w);
    for (int r = 0; r < m; ++r) {
      w->phi[row + r] = e[r], w->gamma[row + r] = g[r];
      w->row_size[row + r] = is_length(G, m, count, r) ? reach : 1;
    }
    /* G acceleration with the tree's own convective part: A = (J a) + c summed along the path */
    for (int n = T->conj_begin[i]; n < T->conj_begin[i + 1]; ++n) {
      const int node = T->conj_node[n], k = T->elem_k[T->node_elem[node]];
      const double *S = w->S + T->node_s[node], *c = w->c + 6 * node, *Gf = G + 6 * m * T->conj_frame[n];
      for (int r = 0; r < m; ++r) {
        for (int j = 0; j < k; ++j) {
          const int at = T->conj_pos[n] + m * j + r;
          for (int l = 0; l < 6; ++l) {
            const double x = Gf[m * l + r] * S[6 * j + l];
            w->Jval[at] += x, w->Jsum[at] += fabs(x);
          }
        }
        for (int l = 0; l < 6; ++l) w->gamma[row + r] += Gf[m * l + r] * c[l];
      }
    }
  }
  /* a point on the axis of rotation does not move: the remainder is round-off, which must not act as a constraint */
  for (int n = 0; n < T->nnz_j; ++n)
    if (fabs(w->Jval[n]) < CANCELLED * w->Jsum[n]) w->Jval[n] = 0;
  for (int i = 0; i < T->n_linear; ++i) {
    const int row = T->linear_row[i];
    w->phi[row] = -w->theta[T->linear_theta[i]], w->row_size[row] = 0;
    w->gamma[row] = 0;
    for (int n = T->linear_begin[i]; n < T->linear_begin[i + 1]; ++n) {
      const double coefficient = w->theta[T->linear_coefficient[n]];
      const int e = T->linear_elem[n];
      w->phi[row] += coefficient * q[T->linear_q[n]];
      w->row_size[row] = fmax(w->row_size[row], fabs(coefficient) * pl_rate_size(w, e, T->linear_v[n] - T->elem_v[e], reach));
      w->Jval[T->linear_pos[n]] = coefficient;
    }
  }
  pl_constraint_product(w, v, w->phi_rate);
  for (int r = 0; r < T->m; ++r)
    if (T->row_signal[r] >= 0) {
      w->phi[r] -= w->signal[T->row_signal[r]];
      w->phi_rate[r] -= w->signal_rate[T->row_signal[r]];
      w->gamma[r] -= w->signal_acceleration[T->row_signal[r]];
    }
}

/* y = J x */
void pl_constraint_product(const pl_work *w, const double *x, double *y) {
  const pl_tables *T = w->T;
  for (int r = 0; r < T->m; ++r) y[r] = 0;
  for (int n = 0; n < T->nnz_j; ++n) y[T->j_row[n]] += w->Jval[n] * x[T->j_col[n]];
}

/* r -= J' lambda */
void pl_add_constraint_force(const pl_work *w, const double *lambda, double *r) {
  const pl_tables *T = w->T;
  for (int n = 0; n < T->nnz_j; ++n) r[T->j_col[n]] -= w->Jval[n] * lambda[T->j_row[n]];
}

/* K -= d(J' lambda)/dq. The constraint wrenches must be in w->wrench when the tree's tangent is taken, so that the
 * turning of the frames above them is counted there; see pl_linearized. */
void pl_constraint_tangent(pl_work *w, const double *lambda) {
  const pl_tables *T = w->T;
  double *K = w->temporary.K;
  for (int i = 0; i < T->n_con; ++i) {
    const int ld = 6 * (T->con_begin[i + 1] - T->con_begin[i]);
    pl_frame_constraint_tangent(w, i, lambda, K);
    for (int n = T->cpair_begin[i]; n < T->cpair_begin[i + 1]; ++n)
      scatter(w, T->cpair_row[n], T->cpair_col[n], K + ld * 6 * T->cpair_b[n] + 6 * T->cpair_a[n], ld, w->S,
              T->cpair_pos[n], w->K);
  }
}

/* Adds the wrenches G' lambda of the constraints to the nodes. */
void pl_constraint_wrenches(pl_work *w, const double *lambda) {
  const pl_tables *T = w->T;
  double *e = w->temporary.e, *G = w->temporary.G, *g = w->temporary.g;
  double *pose = w->temporary.pose, *twist = w->temporary.twist;
  for (int i = 0; i < T->n_con; ++i) {
    const int *nodes = T->con_nodes + T->con_begin[i], count = T->con_begin[i + 1] - T->con_begin[i];
    const int m = T->con_size[i];
    gather(w, nodes, count, pose, twist);
    const double *arg[3] = {pose, twist, w->theta + T->con_theta[i]};
    double *res[3] = {e, G, g};
    pl_call(T->con_value + T->con_kind[i], arg, res, w);
    for (int a = 0; a < count; ++a)
      for (int l = 0; l < 6; ++l)
        for (int r = 0; r < m; ++r) w->wrench[6 * nodes[a] + l] += G[m * (6 * a + l) + r] * lambda[T->con_row[i] + r];
  }
  for (int i = 0; i < T->n_linear; ++i)
    for (int n = T->linear_begin[i]; n < T->linear_begin[i + 1]; ++n)
      w->tau[T->linear_v[n]] += w->theta[T->linear_coefficient[n]] * lambda[T->linear_row[i]];
}

/* d(J a + gamma)/dq and /dv, dense m x nv each (call after pl_linearized, which leaves S, Vq, Av, Aq and A). */
void pl_constraint_acceleration_tangent(pl_work *w, double *Eq, double *Ev) {
  const pl_tables *T = w->T;
  memset(Eq, 0, (size_t)T->m * T->nv * sizeof(double));
  memset(Ev, 0, (size_t)T->m * T->nv * sizeof(double));
  double *e = w->temporary.e, *G = w->temporary.G, *g = w->temporary.g, *dq = w->temporary.Gq, *dv = w->temporary.Gv;
  double *pose = w->temporary.pose, *twist = w->temporary.twist, *acceleration = w->temporary.acceleration;
  for (int i = 0; i < T->n_con; ++i) {
    const int *nodes = T->con_nodes + T->con_begin[i], count = T->con_begin[i + 1] - T->con_begin[i];
    const int m = T->con_size[i], row = T->con_row[i];
    gather(w, nodes, count, pose, twist);
    for (int f = 0; f < count; ++f)
      for (int l = 0; l < 6; ++l)
        /* A contains gravity as an acceleration of the ground: subtract it */
        acceleration[6 * f + l] = w->A[6 * nodes[f] + l] - w->A[l];
    const double *arg[3] = {pose, twist, w->theta + T->con_theta[i]};
    double *res[3] = {e, G, g};
    pl_call(T->con_value + T->con_kind[i], arg, res, w);
    const double *arg2[5] = {pose, twist, acceleration, w->theta + T->con_theta[i], w->zero};
    double *res2[3] = {0, dq, dv};
    pl_call(T->con_tangent + T->con_kind[i], arg2, res2, w);
    for (int n = T->conj_begin[i]; n < T->conj_begin[i + 1]; ++n) {
      const int node = T->conj_node[n], el = T->node_elem[node], off = 6 * m * T->conj_frame[n], at = T->node_s[node];
      double gravity[6];
      for (int j = 0; j < T->elem_k[el]; ++j) {
        /* Aq was formed with gravity in A: subtract (ground acceleration) x S to get the true eta_ddot */
        cross_twist(w->A, w->S + at + 6 * j, gravity);
        for (int r = 0; r < m; ++r) {
          double x = 0, y = 0;
          for (int l = 0; l < 6; ++l) {
            const double Gl = G[off + m * l + r], Q = dq[off + m * l + r], V = dv[off + m * l + r];
            x += Q * w->S[at + 6 * j + l] + V * w->Vq[at + 6 * j + l] + Gl * (w->Aq[at + 6 * j + l] - gravity[l]);
            y += V * w->S[at + 6 * j + l] + Gl * w->Av[at + 6 * j + l];
          }
          Eq[(size_t)T->m * (T->elem_v[el] + j) + row + r] += x;
          Ev[(size_t)T->m * (T->elem_v[el] + j) + row + r] += y;
        }
      }
    }
  }
}
