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
  double Rr[9], pr[3], *s = w->temporary.s, *sd = w->temporary.sd;
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
      res[3] = T->node_constant[g] ? 0 : sd;
      pl_call(T->motion_kinematics + T->node_kind[g], arg, res, w);
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
  pl_inertia_values(w, q, v);
}

/* Inertia, momentum, and the wrench that the velocity asks for minus the external one, of each node's own mass. */
void pl_inertias(pl_work *w) {
  const pl_tables *T = w->T;
  for (int g = 1; g < T->n_node; ++g) {
    const int at = T->node_mass[g];
    const double *V = w->V + 6 * g, *wrench = w->wrench + 6 * g;
    double *I = w->inertia + RIGID * g, *momentum = w->momentum + 6 * g, *bias = w->bias + 6 * g;
    if (at < 0) {
      for (int i = 0; i < RIGID; ++i) I[i] = 0;
      for (int i = 0; i < 6; ++i) momentum[i] = 0, bias[i] = -wrench[i];
      continue;
    }
    world_inertia(w->theta + at, w->R + 9 * g, w->p + 3 * g, I);
    rigid_times(I, V, momentum);
    cross_wrench(V, momentum, bias);
    for (int i = 0; i < 6; ++i) bias[i] -= wrench[i];
  }
}

static inline void base_acceleration(pl_work *w) {
  /* gravity as an upward acceleration of the ground */
  for (int i = 0; i < 3; ++i) w->A[i] = -w->theta[i], w->A[3 + i] = 0;
}

int pl_cholesky(double *D, int k) {
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

void pl_cholesky_solve(const double *D, int k, double *x) {
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
  const double *IA = w->IA + FULL * g, *pA = w->pA + COLUMN * g, *S = w->S + w->T->node_s[g], *c = w->c + 6 * g;
  const int at = w->T->elem_v[e];
  const column U = full_times(IA, S), pc = SUM(load(pA), full_times(IA, c));
  const double D = dot_column(S, &U), u = w->tau[at] - dot_column(S, &pc);
  if (!(D > 0)) return isnan(D) ? PL_NOT_FINITE : PL_SINGULAR;
  const double inverse = 1 / D;
  for (int i = 0; i < 6; ++i) w->U[6 * at + i] = ENTRY(U, i);
  w->u[at] = u, w->D[w->T->elem_d[e]] = inverse;
  if (b) {
    double *IAb = w->IA + FULL * b, *pb = w->pA + COLUMN * b;
    const column X = SCALED(U, -inverse), p = SUM(SUM(load(pb), pc), SCALED(X, -u));
    for (int j = 0; j < 6; ++j) {
      const column sum = SUM(load(IAb + COLUMN * j), load(IA + COLUMN * j)), total = SUM(sum, SCALED(U, ENTRY(X, j)));
      store(IAb + COLUMN * j, &total);
    }
    store(pb, &p);
  }
  return PL_OK;
}

/* What an element of inertia `sum` and bias `total` hands to its base: sum - U D^-1 U' and total + U D^-1 u. */
PL_NOINLINE static void pass_on(int k, const double *restrict D, const double *restrict U, const double *restrict u,
                                double *restrict sum, double *restrict total, double *restrict rows,
                                double *restrict IAb, double *restrict pb) {
  /* all right-hand sides side by side: the six rows of U, u, and one that stays empty */
  for (int j = 0; j < k; ++j) {
    for (int n = 0; n < 6; ++n) rows[COLUMN * j + n] = U[6 * j + n];
    rows[COLUMN * j + 6] = u[j], rows[COLUMN * j + 7] = 0;
  }
  solve_rows(D, k, COLUMN, rows);
  for (int j = 0; j < k; ++j) {
    const double *y = rows + COLUMN * j;
    for (int i = 0; i < 6; ++i) total[i] += U[6 * j + i] * y[6];
    for (int n = 0; n < 6; ++n)
      for (int i = 0; i < 6; ++i) sum[COLUMN * n + i] -= U[6 * j + i] * y[n];
  }
  for (int i = 0; i < FULL; ++i) IAb[i] += sum[i];
  for (int i = 0; i < 6; ++i) pb[i] += total[i];
}

static int articulate(pl_work *w, int e, int b) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], at = T->elem_v[e], first = T->elem_node[e], end = first + T->elem_nodes[e];
  double *U = w->U + 6 * at, *D = w->D + T->elem_d[e], *u = w->u + at, sum[FULL] = {0}, pc[COLUMN], total[6] = {0};
  if (T->n_inertia) {
    memcpy(U, w->own_H + 6 * at, 6 * k * sizeof(double));
    memcpy(D, w->own_m + T->elem_d[e], k * k * sizeof(double));
    for (int j = 0; j < k; ++j) u[j] = w->tau[at + j] - w->own[at + j];
  } else {
    memset(U, 0, 6 * k * sizeof(double));
    memset(D, 0, k * k * sizeof(double));
    for (int j = 0; j < k; ++j) u[j] = w->tau[at + j];
  }
  for (int g = first; g < end; ++g) {
    const double *IA = w->IA + FULL * g, *S = w->S + T->node_s[g];
    const column product = full_times(IA, w->c + 6 * g);
    store(pc, &product);
    for (int i = 0; i < 6; ++i) pc[i] += w->pA[COLUMN * g + i], total[i] += pc[i];
    for (int i = 0; i < FULL; ++i) sum[i] += IA[i];
    for (int j = 0; j < k; ++j) {
      double x[COLUMN];
      const column product = full_times(IA, S + 6 * j);
      store(x, &product);
      for (int i = 0; i < 6; ++i) U[6 * j + i] += x[i];
      for (int i = 0; i < k; ++i) D[k * j + i] += dot6(S + 6 * i, x);
      u[j] -= dot6(S + 6 * j, pc);
    }
  }
  const int status = pl_cholesky(D, k);
  if (status) return status;
  if (!b) return PL_OK;
  pass_on(k, D, U, u, sum, total, w->temporary.rows, w->IA + FULL * b, w->pA + COLUMN * b);
  return PL_OK;
}

/* Accelerations of an unconstrained tree in one sweep in and one out (articulated-body algorithm). */
int pl_articulated(pl_work *w, const double *v, double *a) {
  (void)v; /* the twists of pl_kinematics hold all that depends on it */
  const pl_tables *T = w->T;
  base_acceleration(w);
  pl_inertias(w);
  pl_inertia_articulated(w);
  for (int g = 1; g < T->n_node; ++g) {
    rigid_to_full(w->inertia + RIGID * g, w->IA + FULL * g);
    for (int i = 0; i < COLUMN; ++i) w->pA[COLUMN * g + i] = i < 6 ? w->bias[6 * g + i] : 0;
  }
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e];
    const int status = PL_IS_SINGLE(T, e) ? articulate_single(w, e, T->elem_node[e], b) : articulate(w, e, b);
    if (status) return status;
  }
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e], at = T->elem_v[e];
    const double *Ab = w->A + 6 * T->elem_base[e];
    if (PL_IS_SINGLE(T, e)) {
      const int g = T->elem_node[e];
      const double x = (w->u[at] - dot6(w->U + 6 * at, Ab)) * w->D[T->elem_d[e]], *S = w->S + T->node_s[g];
      for (int i = 0; i < 6; ++i) w->A[6 * g + i] = Ab[i] + w->c[6 * g + i] + S[i] * x;
      a[at] = x;
      continue;
    }
    for (int j = 0; j < k; ++j) a[at + j] = w->u[at + j] - dot6(w->U + 6 * (at + j), Ab);
    pl_cholesky_solve(w->D + T->elem_d[e], k, a + at);
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

/* Wrench of every node and all that hangs on it, from accelerations; its work on the coordinates in r. */
void pl_wrenches(pl_work *w, double *r) {
  const pl_tables *T = w->T;
  for (int g = 1; g < T->n_node; ++g) {
    double *F = w->force + 6 * g;
    rigid_times(w->inertia + RIGID * g, w->A + 6 * g, F);
    for (int i = 0; i < 6; ++i) F[i] += w->bias[6 * g + i];
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

/* r = M a + h: the generalized forces that are missing for the motion (v, a); fills node inertias and forces. */
void pl_residual(pl_work *w, const double *v, const double *a, double *r) {
  (void)v; /* the twists of pl_kinematics hold all that depends on it */
  accelerations(w, a);
  pl_inertias(w);
  pl_inertia_wrenches(w, a);
  pl_shared_inertia_wrenches(w);
  pl_wrenches(w, r);
  if (w->T->n_inertia)
    for (int i = 0; i < w->T->nv; ++i) r[i] += w->own[i];
}

/* Sums of `size` numbers per node over all that hangs on it. */
void pl_composite(const pl_tables *T, double *X, int size) {
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e];
    if (!b) continue;
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g)
      for (int i = 0; i < size; ++i) X[size * b + i] += X[size * g + i];
  }
}

double pl_kinetic_energy(pl_work *w) {
  double total = 0, I[RIGID], h[6];
  for (int g = 1; g < w->T->n_node; ++g) {
    if (w->T->node_mass[g] < 0) continue;
    world_inertia(w->theta + w->T->node_mass[g], w->R + 9 * g, w->p + 3 * g, I);
    rigid_times(I, w->V + 6 * g, h);
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
