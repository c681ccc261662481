/* Products of a row vector with the tangents: x'K, x'C and x'M without the matrices.
 *
 * x is a motion of the tree, in which node g has the twist W = W_base + S x. With P = sum I W and Q = sum B'W over a node and
 * everything beyond it, and F its transmitted wrench (I, B and F as in tangent.c), the node adds for coordinate j of its element
 *
 *   x'M_j = P.S_j,   x'C_j = P.Av_j + Q.S_j,   x'K_j = P.Aq_j + Q.Vq_j - (W x* F).S_j + x'(own block)_j,
 *
 * where Q is multiplied with angular parts only. So the cost for the tree is that of one evaluation. Forces on coordinates are
 * multiplied block by block; all other contributions to the tangents are assembled in separate matrices. */
#include <string.h>

#include "pliant.h"
#include "spatial.h"

/* Of a node: W, P, Q, in memory that is otherwise used by derivatives.c. */
enum { PRODUCTS = 16, P_AT = 6, Q_AT = 12 };
_Static_assert((int)PRODUCTS <= 6 * PL_LANES, "room for the products of a node");

static double *products_of(const pl_work *w, int g) { return w->lanes + PRODUCTS * g; }

/* Twists of all nodes from the ground outward, and the contributions of their masses to P and Q. */
static void sweep_out(pl_work *w, const double *x) {
  const pl_tables *T = w->T;
  memset(products_of(w, 0), 0, PRODUCTS * sizeof(double));
  for (int e = 0; e < T->n_elem; ++e) {
    const double *base = products_of(w, T->elem_base[e]), *xe = x + T->elem_v[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = w->S + T->node_s[g];
      double *W = products_of(w, g);
      memcpy(W, base, 6 * sizeof(double));
      for (int j = 0; j < T->elem_k[e]; ++j)
        for (int i = 0; i < 6; ++i) W[i] += S[6 * j + i] * xe[j];
      rigid_times(w->inertia + RIGID * g, W, W + P_AT);
      rate_times_transposed(w->B + RATE * g, W, W + Q_AT);
    }
  }
}

/* Contribution of a node to the products of its element. */
PL_INLINE void add_node(const int k, const pl_work *w, int g, double *xK, double *xC, double *xM) {
  const int at = w->T->node_s[g];
  const double *S = w->S + at, *Vq = w->Vq + at, *Av = w->Av + at, *Aq = w->Aq + at;
  const double *W = products_of(w, g), *P = W + P_AT, *Q = W + Q_AT;
  double turned[6];
  cross_wrench(W, w->force + 6 * g, turned);
  for (int j = 0; j < k; ++j) {
    const int n = 6 * j;
    xM[j] += dot6(P, S + n);
    xC[j] += dot6(P, Av + n) + dot3(Q, S + n + 3);
    xK[j] += dot6(P, Aq + n) + dot3(Q, Vq + n + 3) - dot6(turned, S + n);
  }
}

static void add_own_block(pl_work *w, int e, int g, const double *xe, double *xK) {
  const int k = w->T->elem_k[e];
  const double *block = pl_own_block(w, e, g);
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < k; ++i) xK[j] += xe[i] * block[k * j + i];
}

/* Products of all elements, from the tips inward. */
static void sweep_in(pl_work *w, const double *x, double *xK, double *xC, double *xM) {
  const pl_tables *T = w->T;
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e], at = T->elem_v[e];
    double *base = products_of(w, b);
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *own = products_of(w, g);
      PL_BY_SIZE(add_node, T->elem_k[e], w, g, xK + at, xC + at, xM + at);
      if (!T->node_constant[g]) add_own_block(w, e, g, x + at, xK + at);
      for (int i = P_AT; b && i < Q_AT + 3; ++i) base[i] += own[i];
    }
  }
}

static void tree_products(pl_work *w, const double *q, const double *v, const double *a, const double *x, double *xK, double *xC,
                          double *xM) {
  const pl_tables *T = w->T;
  pl_rate_matrices(w);
  pl_kernel_tangents(w, q, v, a);
  for (int e = 0; e < T->n_elem; ++e)
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) pl_node_tangent(w, e, g, v, a);
  sweep_out(w, x);
  sweep_in(w, x, xK, xC, xM);
}

static void coordinate_force_products(pl_work *w, const double *q, const double *v, const double *x, double *xK, double *xC) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_cforce; ++i) {
    const int k = T->cforce_k[i], at = T->cforce_v[i];
    const double *dq = w->temporary.dq, *dv = w->temporary.dv;
    if (!w->cforce_active[i]) continue;
    pl_coordinate_force_tangent(w, i, q, v);
    for (int j = 0; j < k; ++j)
      for (int n = 0; n < k; ++n) xK[at + j] -= x[at + n] * dq[k * j + n], xC[at + j] -= x[at + n] * dv[k * j + n];
  }
}

void pl_add_products(const pl_tables *T, const double *K, const double *C, const double *M, const double *x, double *xK, double *xC,
                     double *xM) {
  for (int j = 0; j < T->nv; ++j) {
    double by_K = 0, by_C = 0, by_M = 0;
    for (int n = T->colptr[j]; n < T->colptr[j + 1]; ++n) {
      const double xn = x[T->row[n]];
      by_K += K[n] * xn, by_C += C[n] * xn, by_M += M[n] * xn;
    }
    xK[j] += by_K, xC[j] += by_C, xM[j] += by_M;
  }
}

void pl_tangent_products(pl_work *w, const double *q, const double *v, const double *a, const double *lambda, const double *x,
                         double *xK, double *xC, double *xM) {
  const pl_tables *T = w->T;
  const size_t bytes = T->nnz * sizeof(double), row = T->nv * sizeof(double);
  memset(xK, 0, row), memset(xC, 0, row), memset(xM, 0, row);
  tree_products(w, q, v, a, x, xK, xC, xM);
  coordinate_force_products(w, q, v, x, xK, xC);
  if (!(T->n_inertia || T->n_shared_kind || T->n_fforce || T->n_rel_kind || T->n_route || T->n_shape || T->n_con)) return;
  memset(w->K, 0, bytes), memset(w->C, 0, bytes), memset(w->M, 0, bytes);
  pl_inertia_tangent(w, q, a);
  pl_shared_inertia_tangent(w);
  pl_frame_tangents(w);
  if (T->m) pl_constraint_tangent(w, lambda);
  pl_add_products(T, w->K, w->C, w->M, x, xK, xC, xM);
}
