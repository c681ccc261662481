/* Recursions over the tree of frames.
 *
 * Everything is expressed in world axes at the world's origin, so going from a frame to its base is an addition: no
 * spatial transforms. An element owns coordinates and one or more nodes (frames) that move with them; a joint has one
 * node, a rod segment has one per quadrature point and attachment.
 */
#include <math.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"

void pl_kinematics(pl_work *w, const double *q, const double *v) {
  const pl_tables *T = w->T;
  const double *arg[3];
  double Rr[9], pr[3], s[6 * PL_MAX_K], sd[6 * PL_MAX_K];
  double *res[4] = {Rr, pr, s, sd};
  for (int e = 0; e < T->n_elem; ++e) {
    const int b = T->elem_base[e], k = T->elem_k[e], first = T->elem_node[e], end = first + T->elem_nodes[e];
    const double *qe = q + T->elem_q[e], *ve = v + T->elem_v[e];
    const double *Rb = w->R + 9 * b, *pb = w->p + 3 * b, *Vb = w->V + 6 * b;
    for (int g = first; g < end; ++g) {
      const double *placement = w->theta + T->node_theta[g];
      double *R0 = w->R0 + 9 * g, *p0 = w->p0 + 3 * g, *R = w->R + 9 * g, *p = w->p + 3 * g;
      double *S = w->S + T->node_s[g], *Sd = w->Sd + T->node_s[g], *V = w->V + 6 * g, *c = w->c + 6 * g;
      arg[0] = qe, arg[1] = ve, arg[2] = placement + 12;
      T->motion_kinematics[T->node_kind[g]](arg, res, w->kernel_iw, w->kernel_w, 0);
      matmul3(Rb, placement, R0);
      rotate3(Rb, placement + 9, p0);
      p0[0] += pb[0], p0[1] += pb[1], p0[2] += pb[2];
      matmul3(R0, Rr, R);
      rotate3(R0, pr, p);
      p[0] += p0[0], p[1] += p0[1], p[2] += p0[2];
      double relative[6] = {0};
      for (int j = 0; j < k; ++j) {
        twist_to_world(R0, p0, s + 6 * j, S + 6 * j);
        for (int i = 0; i < 6; ++i) relative[i] += S[6 * j + i] * ve[j];
      }
      for (int i = 0; i < 6; ++i) V[i] = Vb[i] + relative[i];
      cross_twist(Vb, relative, c);
      if (!T->node_constant[g])
        for (int j = 0; j < k; ++j) {
          twist_to_world(R0, p0, sd + 6 * j, Sd + 6 * j);
          for (int i = 0; i < 6; ++i) c[i] += Sd[6 * j + i] * ve[j];
        }
    }
  }
}

/* Inertia and velocity-dependent wrench of the node's own mass, minus the external wrench on it. */
static inline void node_mass(pl_work *w, int g, double *inertia, double *bias) {
  const int at = w->T->node_mass[g];
  const double *V = w->V + 6 * g, *wrench = w->wrench + 6 * g;
  if (at < 0) {
    memset(inertia, 0, 36 * sizeof(double));
    for (int i = 0; i < 6; ++i) bias[i] = -wrench[i];
    return;
  }
  world_inertia(w->theta + at, w->R + 9 * g, w->p + 3 * g, inertia);
  double momentum[6];
  matvec6(inertia, V, momentum);
  cross_wrench(V, momentum, bias);
  for (int i = 0; i < 6; ++i) bias[i] -= wrench[i];
}

static inline void base_acceleration(pl_work *w) {
  /* gravity as an upward acceleration of the ground */
  for (int i = 0; i < 3; ++i) w->A[i] = -w->theta[i], w->A[3 + i] = 0;
}

static int cholesky(double *D, int k) {
  for (int j = 0; j < k; ++j) {
    double d = D[k * j + j];
    for (int m = 0; m < j; ++m) d -= D[k * m + j] * D[k * m + j];
    if (!(d > 0)) return isnan(d) ? PL_NOT_FINITE : PL_SINGULAR;
    d = sqrt(d);
    D[k * j + j] = d;
    for (int i = j + 1; i < k; ++i) {
      double x = D[k * j + i];
      for (int m = 0; m < j; ++m) x -= D[k * m + i] * D[k * m + j];
      D[k * j + i] = x / d;
    }
  }
  return PL_OK;
}

static void cholesky_solve(const double *D, int k, double *x) {
  for (int i = 0; i < k; ++i) {
    double y = x[i];
    for (int m = 0; m < i; ++m) y -= D[k * m + i] * x[m];
    x[i] = y / D[k * i + i];
  }
  for (int i = k - 1; i >= 0; --i) {
    double y = x[i];
    for (int m = i + 1; m < k; ++m) y -= D[k * i + m] * x[m];
    x[i] = y / D[k * i + i];
  }
}

/* One coordinate, one node: the common case, free of inner loops over coordinates. */
static inline int articulate_single(pl_work *w, int e, int g, int b) {
  const double *IA = w->IA + 36 * g, *pA = w->pA + 6 * g, *S = w->S + w->T->node_s[g], *c = w->c + 6 * g;
  double U[6], pc[6];
  matvec6(IA, S, U);
  const double D = dot6(S, U);
  if (!(D > 0)) return isnan(D) ? PL_NOT_FINITE : PL_SINGULAR;
  matvec6(IA, c, pc);
  for (int i = 0; i < 6; ++i) pc[i] += pA[i];
  const int at = w->T->elem_v[e];
  const double inverse = 1 / D, u = w->tau[at] - dot6(S, pc);
  double *Us = w->U + 6 * at;
  for (int i = 0; i < 6; ++i) Us[i] = U[i];
  w->u[at] = u, w->D[w->T->elem_d[e]] = inverse;
  if (b) {
    double *IAb = w->IA + 36 * b, *pb = w->pA + 6 * b;
    for (int j = 0; j < 6; ++j) {
      const double x = U[j] * inverse;
      for (int i = 0; i < 6; ++i) IAb[6 * j + i] += IA[6 * j + i] - U[i] * x;
      pb[j] += pc[j] + x * u;
    }
  }
  return PL_OK;
}

static int articulate(pl_work *w, int e, int b) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], at = T->elem_v[e], first = T->elem_node[e], end = first + T->elem_nodes[e];
  double *U = w->U + 6 * at, *D = w->D + T->elem_d[e], *u = w->u + at, sum[36] = {0}, pc[6], total[6] = {0};
  memset(U, 0, 6 * k * sizeof(double));
  memset(D, 0, k * k * sizeof(double));
  for (int j = 0; j < k; ++j) u[j] = w->tau[at + j];
  for (int g = first; g < end; ++g) {
    const double *IA = w->IA + 36 * g, *S = w->S + T->node_s[g];
    matvec6(IA, w->c + 6 * g, pc);
    for (int i = 0; i < 6; ++i) pc[i] += w->pA[6 * g + i], total[i] += pc[i];
    for (int i = 0; i < 36; ++i) sum[i] += IA[i];
    for (int j = 0; j < k; ++j) {
      double x[6];
      matvec6(IA, S + 6 * j, x);
      for (int i = 0; i < 6; ++i) U[6 * j + i] += x[i];
      for (int i = 0; i < k; ++i) D[k * j + i] += dot6(S + 6 * i, x);
      u[j] -= dot6(S + 6 * j, pc);
    }
  }
  const int status = cholesky(D, k);
  if (status) return status;
  if (!b) return PL_OK;
  double *IAb = w->IA + 36 * b, *pb = w->pA + 6 * b, y[PL_MAX_K];
  for (int j = 0; j < k; ++j) y[j] = u[j];
  cholesky_solve(D, k, y);
  for (int i = 0; i < 6; ++i) {
    double x = total[i];
    for (int j = 0; j < k; ++j) x += U[6 * j + i] * y[j];
    pb[i] += x;
  }
  for (int n = 0; n < 6; ++n) {
    for (int j = 0; j < k; ++j) y[j] = U[6 * j + n];
    cholesky_solve(D, k, y);
    for (int i = 0; i < 6; ++i) {
      double x = sum[6 * n + i];
      for (int j = 0; j < k; ++j) x -= U[6 * j + i] * y[j];
      IAb[6 * n + i] += x;
    }
  }
  return PL_OK;
}

/* Accelerations of an unconstrained tree in one sweep in and one out (articulated-body algorithm). */
int pl_articulated(pl_work *w, const double *v, double *a) {
  (void)v; /* the twists of pl_kinematics hold all that depends on it */
  const pl_tables *T = w->T;
  base_acceleration(w);
  for (int g = 1; g < T->n_node; ++g) node_mass(w, g, w->IA + 36 * g, w->pA + 6 * g);
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e];
    const int status = T->elem_k[e] == 1 && T->elem_nodes[e] == 1 ? articulate_single(w, e, T->elem_node[e], b)
                                                                   : articulate(w, e, b);
    if (status) return status;
  }
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e], at = T->elem_v[e];
    const double *Ab = w->A + 6 * T->elem_base[e];
    if (k == 1 && T->elem_nodes[e] == 1) {
      const int g = T->elem_node[e];
      const double x = (w->u[at] - dot6(w->U + 6 * at, Ab)) * w->D[T->elem_d[e]], *S = w->S + T->node_s[g];
      for (int i = 0; i < 6; ++i) w->A[6 * g + i] = Ab[i] + w->c[6 * g + i] + S[i] * x;
      a[at] = x;
      continue;
    }
    for (int j = 0; j < k; ++j) a[at + j] = w->u[at + j] - dot6(w->U + 6 * (at + j), Ab);
    cholesky_solve(w->D + T->elem_d[e], k, a + at);
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = w->S + T->node_s[g];
      for (int i = 0; i < 6; ++i) {
        double x = Ab[i] + w->c[6 * g + i];
        for (int j = 0; j < k; ++j) x += S[6 * j + i] * a[at + j];
        w->A[6 * g + i] = x;
      }
    }
  }
  return PL_OK;
}

static void accelerations(pl_work *w, const double *a) {
  const pl_tables *T = w->T;
  base_acceleration(w);
  for (int e = 0; e < T->n_elem; ++e) {
    const double *Ab = w->A + 6 * T->elem_base[e], *ae = a + T->elem_v[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = w->S + T->node_s[g];
      for (int i = 0; i < 6; ++i) {
        double x = Ab[i] + w->c[6 * g + i];
        for (int j = 0; j < T->elem_k[e]; ++j) x += S[6 * j + i] * ae[j];
        w->A[6 * g + i] = x;
      }
    }
  }
}

/* r = M a + h: the generalized forces that are missing for the motion (v, a); fills node inertias and forces. */
void pl_residual(pl_work *w, const double *v, const double *a, double *r) {
  (void)v; /* the twists of pl_kinematics hold all that depends on it */
  const pl_tables *T = w->T;
  accelerations(w, a);
  for (int g = 1; g < T->n_node; ++g) {
    double *F = w->force + 6 * g, x[6];
    node_mass(w, g, w->inertia + 36 * g, F);
    matvec6(w->inertia + 36 * g, w->A + 6 * g, x);
    for (int i = 0; i < 6; ++i) F[i] += x[i];
  }
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e], at = T->elem_v[e];
    for (int j = 0; j < T->elem_k[e]; ++j) r[at + j] = -w->tau[at + j];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *F = w->force + 6 * g, *S = w->S + T->node_s[g];
      for (int j = 0; j < T->elem_k[e]; ++j) r[at + j] += dot6(S + 6 * j, F);
      for (int i = 0; i < 6; ++i) w->force[6 * b + i] += b ? F[i] : 0;
    }
  }
}

static void composite(pl_work *w, double *X) {
  const pl_tables *T = w->T;
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e];
    if (!b) continue;
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g)
      for (int i = 0; i < 36; ++i) X[36 * b + i] += X[36 * g + i];
  }
}

/* M on the system pattern by composite inertias. */
void pl_mass_matrix(pl_work *w) {
  const pl_tables *T = w->T;
  double unused[6];
  memset(w->M, 0, T->nnz * sizeof(double));
  for (int g = 1; g < T->n_node; ++g) node_mass(w, g, w->inertia + 36 * g, unused);
  composite(w, w->inertia);
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e];
    double *P = w->P + 6 * T->elem_v[e];
    memset(P, 0, 6 * k * sizeof(double));
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = w->S + T->node_s[g];
      for (int j = 0; j < k; ++j) {
        double x[6];
        matvec6(w->inertia + 36 * g, S + 6 * j, x);
        for (int i = 0; i < 6; ++i) P[6 * j + i] += x[i];
        for (int i = 0; i < k; ++i) w->M[T->elem_pos[e] + T->elem_stride[e] * j + i] += dot6(S + 6 * i, x);
      }
    }
    for (int n = T->path_begin[e]; n < T->path_begin[e + 1]; ++n) {
      const int g = T->path_node[n], h = T->node_elem[g];
      const double *S = w->S + T->node_s[g];
      for (int j = 0; j < T->elem_k[h]; ++j)
        for (int i = 0; i < k; ++i) {
          const double x = dot6(P + 6 * i, S + 6 * j);
          w->M[T->path_lower[n] + T->elem_stride[h] * j + i] = x;
          w->M[T->path_upper[n] + T->elem_stride[e] * i + j] = x;
        }
    }
  }
}

/* B with  d(I A + V x* I V) = I eta_ddot + B eta_dot  in convected form. */
static void coriolis(const double *I, const double *V, double *B) {
  double X[36], h[6];
  for (int j = 0; j < 6; ++j) cross_wrench(V, I + 6 * j, X + 6 * j);
  matvec6(I, V, h);
  for (int j = 0; j < 6; ++j)
    for (int i = 0; i < 6; ++i) B[6 * j + i] = X[6 * j + i] + X[6 * i + j];
  /* plus the matrix of eta_dot x* h */
  for (int n = 0; n < 2; ++n) {
    const double *x = h + 3 * n;
    const int rows = 3 * n;
    B[6 * 4 + rows + 0] += x[2], B[6 * 5 + rows + 0] -= x[1];
    B[6 * 3 + rows + 1] -= x[2], B[6 * 5 + rows + 1] += x[0];
    B[6 * 3 + rows + 2] += x[1], B[6 * 4 + rows + 2] -= x[0];
  }
  B[6 * 1 + 3] += h[2], B[6 * 2 + 3] -= h[1];
  B[6 * 0 + 4] -= h[2], B[6 * 2 + 4] += h[0];
  B[6 * 0 + 5] += h[1], B[6 * 1 + 5] -= h[0];
}

/* World matrices Vq, Av, Aq of one node: eta_dot = Vq dq + S dv, eta_ddot = Aq dq + Av dv + S da. */
static void node_tangent(pl_work *w, int e, int g, const double *q, const double *v, const double *a) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], b = T->elem_base[e], at = T->node_s[g];
  const double *Vb = w->V + 6 * b, *Ab = w->A + 6 * b, *R0 = w->R0 + 9 * g, *p0 = w->p0 + 3 * g;
  double vq[6 * PL_MAX_K], av[6 * PL_MAX_K], aq[6 * PL_MAX_K];
  if (!T->node_constant[g]) {
    const double *arg[4] = {q + T->elem_q[e], v + T->elem_v[e], a + T->elem_v[e], w->theta + T->node_theta[g] + 12};
    double *res[3] = {vq, av, aq};
    T->motion_tangent[T->node_kind[g]](arg, res, w->kernel_iw, w->kernel_w, 0);
  }
  for (int j = 0; j < k; ++j) {
    const double *S = w->S + at + 6 * j;
    double *Vq = w->Vq + at + 6 * j, *Av = w->Av + at + 6 * j, *Aq = w->Aq + at + 6 * j, x[6], y[6];
    cross_twist(Vb, S, Vq);
    cross_twist(Ab, S, Aq);
    cross_twist(Vb, Vq, x);
    for (int i = 0; i < 6; ++i) Aq[i] += x[i], Av[i] = 2 * Vq[i];
    if (!T->node_constant[g]) {
      twist_to_world(R0, p0, vq + 6 * j, x);
      cross_twist(Vb, x, y);
      for (int i = 0; i < 6; ++i) Vq[i] += x[i], Aq[i] += 2 * y[i];
      twist_to_world(R0, p0, av + 6 * j, x);
      for (int i = 0; i < 6; ++i) Av[i] += x[i];
      twist_to_world(R0, p0, aq + 6 * j, x);
      for (int i = 0; i < 6; ++i) Aq[i] += x[i];
    }
  }
}

/* K = dr/dq, C = dr/dv, M on the system pattern for the tree itself (call after pl_residual at the same state).
 *
 * With F the wrench carried by a node (itself and everything beyond), I and B its composites: for a coordinate k above
 * coordinate j, dr_j/dq_k = S_j'(I Aq_k + B Vq_k) with the composites of j; for k below j the composites are those of
 * k and S_k x* F_k is added. */
void pl_tangent(pl_work *w, const double *q, const double *v, const double *a) {
  const pl_tables *T = w->T;
  memset(w->M, 0, T->nnz * sizeof(double));
  memset(w->C, 0, T->nnz * sizeof(double));
  memset(w->K, 0, T->nnz * sizeof(double));
  for (int g = 1; g < T->n_node; ++g) coriolis(w->inertia + 36 * g, w->V + 6 * g, w->B + 36 * g);
  composite(w, w->inertia);
  composite(w, w->B);
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e], at = 6 * T->elem_v[e], pos = T->elem_pos[e], stride = T->elem_stride[e];
    double *P = w->P + at, *Q = w->Q + at, *W = w->W + at, *Y = w->Y + at;
    memset(P, 0, 6 * k * sizeof(double)), memset(Q, 0, 6 * k * sizeof(double));
    memset(W, 0, 6 * k * sizeof(double)), memset(Y, 0, 6 * k * sizeof(double));
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = w->S + T->node_s[g], *I = w->inertia + 36 * g, *B = w->B + 36 * g, *F = w->force + 6 * g;
      node_tangent(w, e, g, q, v, a);
      const double *Vq = w->Vq + T->node_s[g], *Av = w->Av + T->node_s[g], *Aq = w->Aq + T->node_s[g];
      for (int j = 0; j < k; ++j) {
        double x[6], y[6], z[6], own[6], vel[6];
        matvec6(I, S + 6 * j, x);
        matvec6t(B, S + 6 * j, y);
        for (int i = 0; i < 6; ++i) P[6 * j + i] += x[i], Q[6 * j + i] += y[i];
        for (int i = 0; i < k; ++i) w->M[pos + stride * j + i] += dot6(S + 6 * i, x);
        matvec6(I, Aq + 6 * j, own);
        matvec6(B, Vq + 6 * j, y);
        cross_wrench(S + 6 * j, F, z);
        for (int i = 0; i < 6; ++i) own[i] += y[i] + z[i], W[6 * j + i] += own[i];
        matvec6(I, Av + 6 * j, vel);
        matvec6(B, S + 6 * j, y);
        for (int i = 0; i < 6; ++i) vel[i] += y[i], Y[6 * j + i] += vel[i];
        for (int i = 0; i < k; ++i) {
          w->K[pos + stride * j + i] += dot6(S + 6 * i, own);
          w->C[pos + stride * j + i] += dot6(S + 6 * i, vel);
        }
      }
      if (!T->node_constant[g]) {
        double f[6], block[PL_MAX_K * PL_MAX_K];
        wrench_to_local(w->R0 + 9 * g, w->p0 + 3 * g, F, f);
        const double *arg[3] = {q + T->elem_q[e], w->theta + T->node_theta[g] + 12, f};
        double *res[1] = {block};
        T->motion_own[T->node_kind[g]](arg, res, w->kernel_iw, w->kernel_w, 0);
        for (int j = 0; j < k; ++j)
          for (int i = 0; i < k; ++i) w->K[pos + stride * j + i] += block[k * j + i];
      }
    }
    for (int n = T->path_begin[e]; n < T->path_begin[e + 1]; ++n) {
      const int g = T->path_node[n], h = T->node_elem[g], up = T->path_upper[n], low = T->path_lower[n];
      const double *S = w->S + T->node_s[g], *Vq = w->Vq + T->node_s[g], *Av = w->Av + T->node_s[g],
                   *Aq = w->Aq + T->node_s[g];
      for (int j = 0; j < T->elem_k[h]; ++j)
        for (int i = 0; i < k; ++i) {
          const int lower = low + T->elem_stride[h] * j + i, upper = up + stride * i + j;
          const double x = dot6(P + 6 * i, S + 6 * j);
          w->M[lower] = x, w->M[upper] = x;
          w->K[lower] = dot6(P + 6 * i, Aq + 6 * j) + dot6(Q + 6 * i, Vq + 6 * j);
          w->C[lower] = dot6(P + 6 * i, Av + 6 * j) + dot6(Q + 6 * i, S + 6 * j);
          w->K[upper] = dot6(S + 6 * j, W + 6 * i);
          w->C[upper] = dot6(S + 6 * j, Y + 6 * i);
        }
    }
  }
}

double pl_kinetic_energy(pl_work *w) {
  double total = 0, I[36], h[6];
  for (int g = 1; g < w->T->n_node; ++g) {
    if (w->T->node_mass[g] < 0) continue;
    world_inertia(w->theta + w->T->node_mass[g], w->R + 9 * g, w->p + 3 * g, I);
    matvec6(I, w->V + 6 * g, h);
    total += 0.5 * dot6(h, w->V + 6 * g);
  }
  return total;
}

double pl_gravity_energy(pl_work *w) {
  double total = 0, h[3];
  for (int g = 0; g < w->T->n_node; ++g) {
    if (w->T->node_mass[g] < 0) continue;
    const double *c = w->theta + w->T->node_mass[g];
    rotate3(w->R + 9 * g, c + 1, h);
    for (int i = 0; i < 3; ++i) total -= w->theta[i] * (h[i] + c[0] * w->p[3 * g + i]);
  }
  return total;
}
