/* Derivatives of the accelerations of an unconstrained tree: the articulated-body algorithm, differentiated.
 *
 * For one coordinate of one element, q or v, the variation of every node's acceleration follows from the same two
  * sweeps as the accelerations themselves. Nodes beyond the element have a common eta_dot, so the contribution of B (tangent.c)
  * is propagated inward once for all as articulated matrices BA, by columns for the angular part of eta_dot:
 *
 *   BA_base += BA - U D^-1 HB,  HB = S' BA.
 *
 * With x = IA Aq + BA Vq + S x* F at the element itself (IA Av + BA S for a derivative with respect to v):
 *
 *   inward    u = -S'x - own,            p = x + U D^-1 u         at the element,
 *             u = -S'p,                  p_base = p + U D^-1 u    above it,
 *   outward   da = D^-1 (u - U'A_base - HB eta_dot),   A = A_base + S da (+ Aq at the element).
 *
  * PL_LANES columns are treated at once: all quantities of the sweeps are rows of that many numbers. The operations of an element
  * in
  * a sweep are inlined for each common number of coordinates.
 */
#include <string.h>

#include "contact.h"
#include "pliant.h"
#include "spatial.h"

enum { LANES = PL_LANES };

/* Which derivatives are being taken. */
typedef struct columns {
  int first, count;                 /* coordinates of the lanes */
  int e_first, e_last;              /* and their elements */
  int by_q;                         /* with respect to q or v */
  const double *eta_dot, *eta_ddot; /* per unit of the coordinate: Vq and Aq, or S and Av */
  const double *forces;             /* K or C of the forces on the system's pattern, or null */
} columns;

/* Some lanes as one value, where the compiler knows vectors. */
#ifdef __GNUC__
typedef double some __attribute__((vector_size(4 * sizeof(double))));
#else
typedef double some;
#endif
enum { SOME = sizeof(some) / sizeof(double), FEW = 6 };
_Static_assert(2 * SOME <= LANES, "room for two values per coordinate");

/* Lanes from `x` on of the given row. */
static inline some get(const double *x, int row) {
  some y;
  memcpy(&y, x + LANES * row, sizeof y);
  return y;
}

static inline void put(double *x, int row, const some *y) { memcpy(x + LANES * row, y, sizeof *y); }

/* two independent sums, which shortens the dependency chain */
static inline some dot_lanes(const double *linear, const double *angular, const some *X) {
  return (X[0] * linear[0] + X[1] * linear[1] + X[2] * linear[2]) +
         (X[3] * angular[0] + X[4] * angular[1] + X[5] * angular[2]);
}

/* HB of an element, and the part of BA passed to its base. */
PL_INLINE void hand_on_rates(const int k, pl_work *w, int e) {
  const pl_tables *T = w->T;
  const int b = T->elem_base[e], at = T->elem_v[e];
  const double *U = w->U + COLUMN * at, *D = w->D + T->elem_d[e];
  double *HB = w->HB + 3 * at, *BAb = w->BA + 3 * COLUMN * b;
  memset(HB, 0, 3 * k * sizeof(double));
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *BA = w->BA + 3 * COLUMN * g, *S = w->S + T->node_s[g];
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < 3; ++j) HB[3 * i + j] += dot_numbers(BA + COLUMN * j, S + 6 * i);
    if (b)
      for (int i = 0; i < 3 * COLUMN; ++i) BAb[i] += BA[i];
  }
  if (!b) return;
  for (int n = 0; n < k; ++n) {
    double y[3] = {0};
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < 3; ++j) y[j] += D[k * n + i] * HB[3 * i + j];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < COLUMN; ++i) BAb[COLUMN * j + i] -= U[COLUMN * n + i] * y[j];
  }
}

/* BA and HB. */
static void articulate_rates(pl_work *w) {
  const pl_tables *T = w->T;
  for (int g = 1; g < T->n_node; ++g) {
    const double *l = w->B + RATE * g, *G = l + 3;
    const double top[9] = {0, -2 * l[2], 2 * l[1], 2 * l[2], 0, -2 * l[0], -2 * l[1], 2 * l[0], 0};
    double *BA = w->BA + 3 * COLUMN * g;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) BA[COLUMN * j + i] = top[3 * j + i], BA[COLUMN * j + ANGULAR + i] = G[3 * j + i];
  }
  for (int e = T->n_elem - 1; e >= 0; --e) PL_BY_SIZE(hand_on_rates, T->elem_k[e], w, e);
}

/* Zeros at a node without a wrench so far. */
static double *reach(pl_work *w, int g) {
  double *p = w->lanes + 6 * LANES * g;
  if (!w->lanes_node[g]) memset(p, 0, 6 * LANES * sizeof(double)), w->lanes_node[g] = 1;
  return p;
}

/* The element's own columns: x onto its nodes, -own into u. */
static void start(pl_work *w, const columns *c, int e) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], at = T->elem_v[e];
  const int from = at > c->first ? 0 : c->first - at, past = c->first + c->count - at, to = k < past ? k : past;
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *S = w->S + T->node_s[g], *IA = w->IA + FULL * g, *BA = w->BA + 3 * COLUMN * g;
    double *p = reach(w, g);
    const double *own = c->by_q && !T->node_constant[g] ? pl_own_block(w, e, g) : NULL;
    for (int j = from; j < to; ++j) {
      const int lane = at + j - c->first;
      const double *rate = c->eta_dot + T->node_s[g] + 6 * j + 3;
      const column product = full_times(IA, c->eta_ddot + T->node_s[g] + 6 * j);
      double x[COLUMN], turn[6];
      store(x, &product);
      for (int i = 0; i < COLUMN; ++i)
        x[i] += BA[i] * rate[0] + BA[COLUMN + i] * rate[1] + BA[2 * COLUMN + i] * rate[2];
      if (c->by_q) {
        cross_wrench(S + 6 * j, w->force + 6 * g, turn);
        for (int i = 0; i < 6; ++i) x[ROW(i)] += turn[i];
      }
      for (int i = 0; i < 6; ++i) p[LANES * i + lane] += x[ROW(i)];
      for (int i = 0; own && i < k; ++i) w->lanes_a[LANES * (at + i) + lane] -= own[k * j + i];
    }
  }
}

/* Inputs of one element in a sweep, and memory for one value per coordinate. */
typedef struct swept {
  int nodes;
  const double *S, *U, *D, *HB;
  some *room;
} swept;

static inline swept get_swept(const pl_work *w, int e) {
  const pl_tables *T = w->T;
  const int at = T->elem_v[e];
  return PL_VALUE(swept){T->elem_nodes[e], w->S + T->node_s[T->elem_node[e]], w->U + COLUMN * at,
                 w->D + T->elem_d[e], w->HB + 3 * at, (some *)w->temporary.rows};
}

/* left -= S'p, sum += p for one node */
PL_INLINE void node_in(const int k, const double *S, const double *p, some *left, some *sum) {
  some P[6];
  for (int i = 0; i < 6; ++i) P[i] = get(p, i), sum[i] += P[i];
  for (int j = 0; j < k; ++j) left[j] -= dot_lanes(S + 6 * j, S + 6 * j + 3, P);
}

/* u = D^-1 (u - S'p), p_base += p + U u, over all nodes of the element. */
PL_INLINE void element_in(const int k, swept x, const double *p, double *u, double *pb) {
  some few[FEW], *left = k <= FEW ? few : x.room;
  for (int l = 0; l < LANES; l += SOME) {
    some sum[6];
    for (int i = 0; i < 6; ++i) sum[i] = get(pb + l, i);
    for (int j = 0; j < k; ++j) left[j] = get(u + l, j);
    node_in(k, x.S, p + l, left, sum);
    for (int g = 1; g < x.nodes; ++g) node_in(k, x.S + 6 * k * g, p + 6 * LANES * g + l, left, sum);
    for (int j = 0; j < k; ++j) {
      some y = left[0] * x.D[k * j];
      for (int i = 1; i < k; ++i) y += left[i] * x.D[k * j + i];
      put(u + l, j, &y);
      for (int i = 0; i < 6; ++i) sum[i] += y * x.U[COLUMN * j + ROW(i)];
    }
    for (int i = 0; i < 6; ++i) put(pb + l, i, sum + i);
  }
}

/* A = A_base + S a for one node */
PL_INLINE void node_out(const int k, const double *S, const some *base, const some *a, double *A) {
  for (int i = 0; i < 6; ++i) {
    some y = base[i];
    for (int j = 0; j < k; ++j) y += a[j] * S[6 * j + i];
    put(A, i, &y);
  }
}

/* a = u - D^-1 (U'A_base + HB eta_dot), A = A_base + S a. */
PL_INLINE void element_out(const int k, swept x, const double *Ab, const double *eta, double *a, double *A) {
  some few[2 * FEW], *drawn = k <= FEW ? few : x.room, *found = drawn + k;
  for (int l = 0; l < LANES; l += SOME) {
    some base[6], turn[3];
    for (int i = 0; i < 6; ++i) base[i] = get(Ab + l, i);
    for (int i = 0; i < 3; ++i) turn[i] = get(eta + l, i);
    for (int j = 0; j < k; ++j) {
      const double *HB = x.HB + 3 * j, *U = x.U + COLUMN * j;
      drawn[j] = dot_lanes(U, U + ANGULAR, base) + (turn[0] * HB[0] + turn[1] * HB[1] + turn[2] * HB[2]);
    }
    for (int j = 0; j < k; ++j) {
      some y = get(a + l, j);
      for (int i = 0; i < k; ++i) y -= drawn[i] * x.D[k * j + i];
      found[j] = y;
      put(a + l, j, &y);
    }
    node_out(k, x.S, base, found, A + l);
    for (int g = 1; g < x.nodes; ++g) node_out(k, x.S + 6 * k * g, base, found, A + 6 * LANES * g + l);
  }
}

/* Wrenches from the columns' elements to the ground; leaves D^-1 u of every element reached in w->lanes_a. */
static void sweep_in(pl_work *w, const columns *c) {
  const pl_tables *T = w->T;
  int *reached = w->lanes_node;
  memset(w->lanes_a, 0, (size_t)LANES * T->nv * sizeof(double));
  if (c->forces)
    for (int l = 0; l < c->count; ++l)
      for (int n = T->colptr[c->first + l]; n < T->colptr[c->first + l + 1]; ++n)
        w->lanes_a[LANES * T->row[n] + l] -= c->forces[n];
  for (int e = c->forces ? T->n_elem - 1 : c->e_last; e >= 0; --e) {
    const int first = T->elem_node[e], end = first + T->elem_nodes[e];
    if (e >= c->e_first && e <= c->e_last) start(w, c, e);
    int any = c->forces != 0;
    for (int g = first; g < end; ++g) any |= reached[g];
    if (!any) continue;
    for (int g = first; g < end; ++g) reach(w, g), reached[g] = 0;
    double *u = w->lanes_a + LANES * T->elem_v[e], *pb = reach(w, T->elem_base[e]), *p = w->lanes + 6 * LANES * first;
    const swept x = get_swept(w, e);
    PL_BY_SIZE(element_in, T->elem_k[e], x, p, u, pb);
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
    double *a = w->lanes_a + LANES * at;
    const swept x = get_swept(w, e);
    PL_BY_SIZE(element_out, k, x, Ab, eta, a, w->lanes + 6 * LANES * T->elem_node[e]);
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

/* The same from the assembled matrices: the sweeps do not support non-rigid inertia. */
static int assembled_derivatives(pl_work *w, double t, const double *q, const double *v, double *a, double *da_dq,
                                 double *da_dv) {
  const int n = w->T->nv;
  double *unit = w->lanes_a;
  pl_begin(w);
  int status = pl_next_forward(w, t, q, v, a);
  if (status) return status;
  pl_linearized(w, t, q, v, a, w->lambda);
  if ((status = pl_assemble(w, 1, 0, 0, NULL)) || (status = pl_factor_mass(w))) return status;
  for (int j = 0; j < n; ++j)
    for (int by_q = 0; by_q < 2; ++by_q) {
      const double *X = by_q ? w->K : w->C;
      double *out = by_q ? da_dq : da_dv;
      memset(w->rhs, 0, n * sizeof(double));
      for (int i = w->T->colptr[j]; i < w->T->colptr[j + 1]; ++i) w->rhs[w->T->row[i]] = -X[i];
      if (w->contacts && w->contacts->n) {
        memset(unit, 0, n * sizeof(double));
        unit[j] = -1;
        pl_contact_product(w, !by_q, by_q, unit, w->rhs);
      }
      pl_linear_solve(w->saddle->linear, w->rhs);
      for (int i = 0; i < n; ++i) out[(size_t)n * i + j] = w->rhs[i];
    }
  return PL_OK;
}

/* Accelerations a, and da/dq (per increment of q) and da/dv by rows. */
int pl_forward_derivatives(pl_work *w, double t, const double *q, const double *v, double *a, double *da_dq,
                           double *da_dv) {
  const pl_tables *T = w->T;
  if (T->m) return PL_SINGULAR;
  if (T->n_inertia || T->n_shared_kind || T->n_shape) return assembled_derivatives(w, t, q, v, a, da_dq, da_dv);
  pl_evaluate(w, t, q, v);
  int status = pl_articulated(w, v, a);
  if (status) return status;
  if ((status = pl_articulated_columns(w))) return status;
  pl_wrenches(w, w->rhs);
  pl_rate_matrices(w);
  articulate_rates(w);
  pl_kernel_tangents(w, q, v, a);
  for (int e = 0; e < T->n_elem; ++e)
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) pl_node_tangent(w, e, g, v, a);
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
      sweep_in(w, &c);
      sweep_out(w, &c, c.by_q ? da_dq : da_dv);
    }
  }
  return PL_OK;
}
