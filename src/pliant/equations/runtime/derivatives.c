/* Derivatives of the accelerations of an unconstrained tree: the articulated-body algorithm, differentiated.
 *
 * For one coordinate of one element, q or v, the variation of every node's acceleration follows from the same two
 * sweeps as the accelerations themselves. Nodes beyond the element have one common eta_dot, so what B (tangent.c) adds
 * is carried inward once for all as articulated matrices BA, by columns for the angular part of eta_dot:
 *
 *   BA_base += BA - U D^-1 HB,  HB = S' BA.
 *
 * With x = IA Aq + BA Vq + S x* F at the element itself (IA Av + BA S for a derivative by v):
 *
 *   inward    u = -S'x - own,            p = x + U D^-1 u         at the element,
 *             u = -S'p,                  p_base = p + U D^-1 u    above it,
 *   outward   da = D^-1 (u - U'A_base - HB eta_dot),   A = A_base + S da (+ Aq at the element).
 *
 * PL_LANES columns are treated at once: all quantities of the sweeps are rows of that many numbers.
 */
#include <string.h>

#include "pliant.h"
#include "spatial.h"

enum { LANES = PL_LANES };

/* Which derivatives are being taken. */
typedef struct columns {
  int first, count;                 /* coordinates that the lanes belong to */
  int e_first, e_last;              /* and their elements */
  int by_q;                         /* by q or by v */
  const double *eta_dot, *eta_ddot; /* per unit of the coordinate: Vq and Aq, or S and Av */
  const double *forces;             /* K or C of the forces on the system's pattern, or null */
} columns;

/* c . X over the rows of X, lane l; two short sums instead of a long one keep the arithmetic units busy */
static inline double dot_lane(const double *c, const double *X, int l) {
  return (c[0] * X[l] + c[1] * X[LANES + l] + c[2] * X[2 * LANES + l]) +
         (c[3] * X[3 * LANES + l] + c[4] * X[4 * LANES + l] + c[5] * X[5 * LANES + l]);
}

static inline double dot_lane3(const double *c, const double *X, int l) {
  return c[0] * X[l] + c[1] * X[LANES + l] + c[2] * X[2 * LANES + l];
}

PL_NOINLINE static void solve(const double *restrict D, int k, double *restrict x) { solve_rows(D, k, LANES, x); }

/* BA and HB. */
static void articulate_rates(pl_work *w) {
  const pl_tables *T = w->T;
  for (int g = 1; g < T->n_node; ++g) {
    const double *l = w->B + RATE * g, *G = l + 3;
    const double top[9] = {0, -2 * l[2], 2 * l[1], 2 * l[2], 0, -2 * l[0], -2 * l[1], 2 * l[0], 0};
    double *BA = w->BA + 3 * COLUMN * g;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) BA[COLUMN * j + i] = top[3 * j + i], BA[COLUMN * j + 3 + i] = G[3 * j + i];
  }
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e], k = T->elem_k[e], at = T->elem_v[e];
    double *HB = w->HB + 3 * at, *BAb = w->BA + 3 * COLUMN * b, *restrict y = w->temporary.y;
    memset(HB, 0, 3 * k * sizeof(double));
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *BA = w->BA + 3 * COLUMN * g, *S = w->S + T->node_s[g];
      for (int i = 0; i < k; ++i)
        for (int j = 0; j < 3; ++j) HB[3 * i + j] += dot6(S + 6 * i, BA + COLUMN * j);
      if (b)
        for (int i = 0; i < 3 * COLUMN; ++i) BAb[i] += BA[i];
    }
    if (!b) continue;
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < k; ++i) y[i] = HB[3 * i + j];
      if (PL_IS_SINGLE(T, e)) y[0] *= w->D[T->elem_d[e]];
      else pl_cholesky_solve(w->D + T->elem_d[e], k, y);
      for (int n = 0; n < k; ++n)
        for (int i = 0; i < 6; ++i) BAb[COLUMN * j + i] -= w->U[6 * (at + n) + i] * y[n];
    }
  }
}

/* Zeros at a node that no wrench has reached yet. */
static double *reach(pl_work *w, int g) {
  double *p = w->lanes + 6 * LANES * g;
  if (!w->lanes_node[g]) memset(p, 0, 6 * LANES * sizeof(double)), w->lanes_node[g] = 1;
  return p;
}

/* The element's own columns: x onto its nodes, -own into u. */
static void start(pl_work *w, const columns *c, int e, const double *q) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], at = T->elem_v[e];
  const int from = at > c->first ? 0 : c->first - at, past = c->first + c->count - at, to = k < past ? k : past;
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *S = w->S + T->node_s[g], *IA = w->IA + FULL * g, *BA = w->BA + 3 * COLUMN * g;
    double *p = reach(w, g), *block = w->temporary.block;
    const int own = c->by_q && !T->node_constant[g];
    if (own) pl_own_block(w, e, g, q, block);
    for (int j = from; j < to; ++j) {
      const int lane = at + j - c->first;
      const double *rate = c->eta_dot + T->node_s[g] + 6 * j + 3;
      const column product = full_times(IA, c->eta_ddot + T->node_s[g] + 6 * j);
      double x[COLUMN], turn[6];
      store(x, &product);
      for (int i = 0; i < 6; ++i)
        x[i] += BA[i] * rate[0] + BA[COLUMN + i] * rate[1] + BA[2 * COLUMN + i] * rate[2];
      if (c->by_q) {
        cross_wrench(S + 6 * j, w->force + 6 * g, turn);
        for (int i = 0; i < 6; ++i) x[i] += turn[i];
      }
      for (int i = 0; i < 6; ++i) p[LANES * i + lane] += x[i];
      for (int i = 0; own && i < k; ++i) w->lanes_a[LANES * (at + i) + lane] -= block[k * j + i];
    }
  }
}

/* One coordinate, one node: u = D^-1 (u - S'p), p_base += p + U u. */
PL_NOINLINE static void in_single(const double *restrict S, const double *restrict U, double D,
                                  const double *restrict p, double *restrict u, double *restrict pb) {
  for (int l = 0; l < LANES; ++l) {
    const double y = D * (u[l] - dot_lane(S, p, l));
    u[l] = y;
    for (int i = 0; i < 6; ++i) pb[LANES * i + l] += p[LANES * i + l] + U[i] * y;
  }
}

/* The same outward: a = u - D^-1 (U'A_base + HB eta_dot), A = A_base + S a. */
PL_NOINLINE static void out_single(const double *restrict S, const double *restrict U, const double *restrict HB,
                                   double D, const double *restrict Ab, const double *restrict eta,
                                   double *restrict a, double *restrict A) {
  for (int l = 0; l < LANES; ++l) {
    const double x = a[l] - D * (dot_lane(U, Ab, l) + dot_lane3(HB, eta, l));
    a[l] = x;
    for (int i = 0; i < 6; ++i) A[LANES * i + l] = Ab[LANES * i + l] + S[i] * x;
  }
}

/* U'A_base + HB eta_dot, k rows */
PL_NOINLINE static void base_products(int k, const double *restrict U, const double *restrict HB,
                                      const double *restrict Ab, const double *restrict eta, double *restrict x) {
  for (int i = 0; i < k; ++i)
    for (int l = 0; l < LANES; ++l) x[LANES * i + l] = dot_lane(U + 6 * i, Ab, l) + dot_lane3(HB + 3 * i, eta, l);
}

/* Wrenches from the columns' elements to the ground; leaves D^-1 u of every element reached in w->lanes_a. */
static void sweep_in(pl_work *w, const columns *c, const double *q) {
  const pl_tables *T = w->T;
  int *reached = w->lanes_node;
  memset(w->lanes_a, 0, (size_t)LANES * T->nv * sizeof(double));
  if (c->forces)
    for (int l = 0; l < c->count; ++l)
      for (int n = T->colptr[c->first + l]; n < T->colptr[c->first + l + 1]; ++n)
        w->lanes_a[LANES * T->row[n] + l] -= c->forces[n];
  for (int e = c->forces ? T->n_elem - 1 : c->e_last; e >= 0; --e) {
    const int k = T->elem_k[e], at = T->elem_v[e], first = T->elem_node[e], end = first + T->elem_nodes[e];
    if (e >= c->e_first && e <= c->e_last) start(w, c, e, q);
    int any = c->forces != 0;
    for (int g = first; g < end; ++g) any |= reached[g];
    if (!any) continue;
    double *u = w->lanes_a + LANES * at, *pb = reach(w, T->elem_base[e]);
    if (PL_IS_SINGLE(T, e)) {
      in_single(w->S + T->node_s[first], w->U + 6 * at, w->D[T->elem_d[e]], reach(w, first), u, pb);
      reached[first] = 0;
      continue;
    }
    for (int g = first; g < end; ++g) {
      if (!reached[g]) continue;
      const double *p = w->lanes + 6 * LANES * g, *S = w->S + T->node_s[g];
      reached[g] = 0;
      for (int i = 0; i < 6 * LANES; ++i) pb[i] += p[i];
      for (int i = 0; i < k; ++i)
        for (int l = 0; l < LANES; ++l) u[LANES * i + l] -= dot_lane(S + 6 * i, p, l);
    }
    solve(w->D + T->elem_d[e], k, u);
    for (int i = 0; i < k; ++i)
      for (int n = 0; n < 6; ++n)
        for (int l = 0; l < LANES; ++l) pb[LANES * n + l] += w->U[6 * (at + i) + n] * u[LANES * i + l];
  }
}

/* Accelerations from the ground outward, into rows of `out`. */
static void sweep_out(pl_work *w, const columns *c, double *out) {
  const pl_tables *T = w->T;
  int *eta_of = w->lanes_node + T->n_node; /* the node whose eta_dot a node shares; 0 without any */
  w->lanes_node[0] = 0, reach(w, 0);       /* the ground rests */
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e], at = T->elem_v[e], b = T->elem_base[e], own = e >= c->e_first && e <= c->e_last;
    const double *Ab = w->lanes + 6 * LANES * b, *eta = w->lanes_eta + 3 * LANES * eta_of[b];
    double *a = w->lanes_a + LANES * at, *x = w->temporary.rows;
    if (PL_IS_SINGLE(T, e)) {
      const int g = T->elem_node[e];
      double *A = w->lanes + 6 * LANES * g;
      out_single(w->S + T->node_s[g], w->U + 6 * at, w->HB + 3 * at, w->D[T->elem_d[e]], Ab, eta, a, A);
    } else {
      base_products(k, w->U + 6 * at, w->HB + 3 * at, Ab, eta, x);
      solve(w->D + T->elem_d[e], k, x);
      for (int i = 0; i < LANES * k; ++i) a[i] -= x[i];
      for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
        const double *S = w->S + T->node_s[g];
        for (int n = 0; n < 6; ++n)
          for (int l = 0; l < LANES; ++l) {
            double y = Ab[LANES * n + l];
            for (int i = 0; i < k; ++i) y += S[6 * i + n] * a[LANES * i + l];
            w->lanes[LANES * (6 * g + n) + l] = y;
          }
      }
    }
    for (int i = 0; i < k; ++i)
      memcpy(out + (size_t)T->nv * (at + i) + c->first, a + LANES * i, c->count * sizeof(double));
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      eta_of[g] = eta_of[b];
      if (!own) continue;
      double *A = w->lanes + 6 * LANES * g, *mine = w->lanes_eta + 3 * LANES * g;
      memcpy(mine, eta, 3 * LANES * sizeof(double));
      eta_of[g] = g;
      for (int j = 0; j < k; ++j) {
        const int lane = at + j - c->first, from = T->node_s[g] + 6 * j;
        if (lane < 0 || lane >= c->count) continue;
        for (int i = 0; i < 3; ++i) mine[LANES * i + lane] += c->eta_dot[from + 3 + i];
        for (int i = 0; i < 6; ++i) A[LANES * i + lane] += c->eta_ddot[from + i];
      }
    }
  }
}

/* The same from the assembled matrices: inertia that is not rigid has no place in the sweeps. */
static int assembled_derivatives(pl_work *w, double t, const double *q, const double *v, double *a, double *da_dq,
                                 double *da_dv) {
  const int n = w->T->nv;
  pl_begin(w);
  int status = pl_next_forward(w, t, q, v, a);
  if (status) return status;
  pl_linearized(w, t, q, v, a, w->lambda);
  pl_assemble(w, 1, 0, 0);
  if ((status = pl_factor_mass(w))) return status;
  for (int j = 0; j < n; ++j)
    for (int by_q = 0; by_q < 2; ++by_q) {
      const double *X = by_q ? w->K : w->C;
      double *out = by_q ? da_dq : da_dv;
      memset(w->rhs, 0, n * sizeof(double));
      for (int i = w->T->colptr[j]; i < w->T->colptr[j + 1]; ++i) w->rhs[w->T->row[i]] = -X[i];
      pl_linear_solve(w->linear, w->rhs);
      for (int i = 0; i < n; ++i) out[(size_t)n * i + j] = w->rhs[i];
    }
  return PL_OK;
}

/* Accelerations a, and da/dq (per increment of q) and da/dv by rows. */
int pl_forward_derivatives(pl_work *w, double t, const double *q, const double *v, double *a, double *da_dq,
                           double *da_dv) {
  const pl_tables *T = w->T;
  if (T->m) return PL_SINGULAR;
  if (T->n_inertia || T->n_shared_kind) return assembled_derivatives(w, t, q, v, a, da_dq, da_dv);
  pl_evaluate(w, t, q, v);
  const int status = pl_articulated(w, v, a);
  if (status) return status;
  pl_wrenches(w, w->rhs);
  pl_rate_matrices(w);
  articulate_rates(w);
  for (int e = 0; e < T->n_elem; ++e)
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) pl_node_tangent(w, e, g, q, v, a);
  const int forces = T->n_cforce || T->n_fforce || T->n_rel_kind || T->n_route;
  if (forces) {
    memset(w->K, 0, T->nnz * sizeof(double));
    memset(w->C, 0, T->nnz * sizeof(double));
    pl_force_tangent(w, q, v);
  }
  columns c = {0};
  for (c.first = 0; c.first < T->nv; c.first += LANES) {
    c.count = T->nv - c.first < LANES ? T->nv - c.first : LANES;
    while (T->elem_v[c.e_first] + T->elem_k[c.e_first] <= c.first) c.e_first++;
    c.e_last = c.e_first;
    while (T->elem_v[c.e_last] + T->elem_k[c.e_last] < c.first + c.count) c.e_last++;
    for (c.by_q = 1; c.by_q >= 0; --c.by_q) {
      c.eta_dot = c.by_q ? w->Vq : w->S, c.eta_ddot = c.by_q ? w->Aq : w->Av;
      c.forces = forces ? (c.by_q ? w->K : w->C) : 0;
      sweep_in(w, &c, q);
      sweep_out(w, &c, c.by_q ? da_dq : da_dv);
    }
  }
  return PL_OK;
}
