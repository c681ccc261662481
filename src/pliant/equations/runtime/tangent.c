/* Tangents of the tree: what inverse dynamics gives for a neighbouring motion.
 *
 * Variations are world-side increments eta of the nodes' poses; wrenches are varied in convected form, turning along
 * with their node. A rigid body of inertia I, momentum (l, k), twist (v, w), first moment h, second moments J then has
 *
 *   d(I A + V x* I V) = I eta_ddot + B eta_dot,   B = [0, -2 l^; 0, G],
 *   G = 2 (v.h) 1 - h v' - v h' + (w^ J - J w^) - k^,
 *
 * and B, like I, adds up over bodies that move together. Only the angular part of eta_dot enters.
 */
#include <string.h>

#include "pliant.h"
#include "spatial.h"
#include "work_parts.h"

/* Momentum l and G of every node's own mass. */
static void some_rate_matrices(pl_work *w, const pl_elements *of, const void *unused) {
  (void)unused;
  for (int g = of->first_node ? of->first_node : 1; g < of->end_node; ++g) {
    const double *I = w->inertia + RIGID * g, *h = I + 1, *v = w->V + 6 * g, *o = v + 3, *k = w->momentum + 6 * g + 3;
    const double J[9] = {I[4], I[7], I[8], I[7], I[5], I[9], I[8], I[9], I[6]};
    double *l = w->B + RATE * g, *G = l + 3, X[9];
    for (int i = 0; i < 3; ++i) l[i] = w->momentum[6 * g + i], cross3(o, J + 3 * i, X + 3 * i);
    const double trace = 2 * (v[0] * h[0] + v[1] * h[1] + v[2] * h[2]);
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i)
        G[3 * j + i] = X[3 * j + i] + X[3 * i + j] - h[i] * v[j] - v[i] * h[j] + (i == j ? trace : 0);
    G[1] -= k[2], G[3] += k[2], G[2] += k[1], G[6] -= k[1], G[5] -= k[0], G[7] += k[0];
  }
}

void pl_rate_matrices(pl_work *w) { pl_over_elements(w, 0, some_rate_matrices, NULL); }

/* The columns of S, Vq (angular part), Av and Aq of all coordinates on a path, component by component. */
enum { PATH_S = 0, PATH_VQ = 6, PATH_AV = 9, PATH_AQ = 15, PATH_RESULTS = 21 };
_Static_assert(PATH_RESULTS + 5 == PL_PATH_ROWS, "five rows of results");

typedef struct path {
  int depth, top; /* coordinates on it, and the node that it ends on */
  int rates;      /* whether Vq, Av and Aq are wanted beside S */
} path;

static void push(pl_work *w, path *p, int g) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[T->node_elem[g]], n = w->path_stride;
  for (int j = 0; j < k; ++j) {
    const int from = T->node_s[g] + 6 * j;
    double *X = w->path + p->depth++;
    for (int i = 0; i < 6; ++i) X[n * (PATH_S + i)] = w->S[from + i];
    if (!p->rates) continue;
    for (int i = 0; i < 3; ++i) X[n * (PATH_VQ + i)] = w->Vq[from + 3 + i];
    for (int i = 0; i < 6; ++i) X[n * (PATH_AV + i)] = w->Av[from + i], X[n * (PATH_AQ + i)] = w->Aq[from + i];
  }
  p->top = g;
}

/* Make the path that of element e's base. */
static void follow(pl_work *w, path *p, int e) {
  const pl_tables *T = w->T;
  const int b = T->elem_base[e];
  if (p->top == b) return;
  const int above = b ? T->elem_base[T->node_elem[b]] : 0;
  if (!b || above != p->top) { /* not the next node on the same path: collect it from the ground up */
    p->depth = p->top = 0;
    /* the base itself comes last; it is not on the path where it has no coordinates */
    for (int n = T->path_begin[e + 1] - 1; n >= T->path_begin[e]; --n)
      if (T->path_node[n] != b) push(w, p, T->path_node[n]);
  }
  if (b) push(w, p, b);
}

/* Products of one coordinate's P = I S with all columns of the path. */
PL_NOINLINE static void mass_products(const double *restrict X, int n, int depth, const double *restrict P,
                                      double *restrict out) {
  for (int d = 0; d < depth; ++d) {
    const double *S = X + d;
    out[d] = P[0] * S[0] + P[1] * S[n] + P[2] * S[2 * n] + P[3] * S[3 * n] + P[4] * S[4 * n] + P[5] * S[5 * n];
  }
}

/* Products of P, Q = B' S, W and Y: M, and K and C on both sides of the diagonal. */
PL_NOINLINE static void path_products(const double *restrict X, int n, int depth, const double *restrict P,
                                      const double *restrict Q, const double *restrict W, const double *restrict Y,
                                      double *restrict out) {
#define DOT6(a, x) (a[0] * x[0] + a[1] * x[n] + a[2] * x[2 * n] + a[3] * x[3 * n] + a[4] * x[4 * n] + a[5] * x[5 * n])
#define DOT3(a, x) (a[0] * x[0] + a[1] * x[n] + a[2] * x[2 * n])
  for (int d = 0; d < depth; ++d) {
    const double *S = X + d, *Sa = S + n * 3, *Vq = S + n * PATH_VQ, *Av = S + n * PATH_AV, *Aq = S + n * PATH_AQ;
    out[d] = DOT6(P, S);
    out[n + d] = DOT6(P, Aq) + DOT3(Q, Vq);
    out[2 * n + d] = DOT6(P, Av) + DOT3(Q, Sa);
    out[3 * n + d] = DOT6(W, S);
    out[4 * n + d] = DOT6(Y, S);
  }
#undef DOT6
#undef DOT3
}

/* x[d] into row i of element e below the diagonal, at the columns of the path. */
PL_NOINLINE static void spread_below(const pl_tables *T, int e, int i, int depth, const double *restrict x,
                                     double *restrict X) {
  const int *restrict at = T->path_lower, begin = T->path_begin[e], end = T->path_begin[e + 1];
  if (depth == end - begin) { /* one coordinate per node */
    for (int n = begin, d = depth; n < end; ++n) X[at[n] + i] = x[--d];
    return;
  }
  for (int n = begin, d = depth; n < end; ++n) {
    const int h = T->node_elem[T->path_node[n]];
    d -= T->elem_k[h];
    for (int j = 0; j < T->elem_k[h]; ++j) X[at[n] + T->elem_stride[h] * j + i] = x[d + j];
  }
}

/* The same above the diagonal: column i of the element, at the rows of the path. */
static void spread_above(const pl_tables *T, int e, int i, int depth, const double *x, double *X) {
  const int *at = T->path_upper, begin = T->path_begin[e], end = T->path_begin[e + 1];
  if (begin == end) return;
  X += T->elem_stride[e] * i;
  if (at[begin] + T->elem_k[T->node_elem[T->path_node[begin]]] - at[end - 1] == depth) { /* one stretch of rows */
    memcpy(X + at[end - 1], x, depth * sizeof(double));
    return;
  }
  for (int n = begin, d = depth; n < end; ++n) {
    const int k = T->elem_k[T->node_elem[T->path_node[n]]];
    d -= k;
    for (int j = 0; j < k; ++j) X[at[n] + j] = x[d + j];
  }
}

static void clear_block(const pl_tables *T, int e, double *X) {
  for (int j = 0; j < T->elem_k[e]; ++j) memset(X + T->elem_pos[e] + T->elem_stride[e] * j, 0, T->elem_k[e] * sizeof(double));
}

/* The element's own block of M; and P = I S, summed over its nodes. */
PL_INLINE void own_mass(const int k, pl_work *w, int e, double *P) {
  const pl_tables *T = w->T;
  const int stride = T->elem_stride[e];
  double *M = w->M + T->elem_pos[e];
  clear_block(T, e, w->M);
  memset(P, 0, 6 * k * sizeof(double));
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *S = w->S + T->node_s[g];
    for (int j = 0; j < k; ++j) {
      double x[6];
      rigid_times(w->inertia + RIGID * g, S + 6 * j, x);
      for (int i = 0; i < 6; ++i) P[6 * j + i] += x[i];
      for (int i = j; i < k; ++i) M[stride * j + i] += dot6(S + 6 * i, x);
    }
  }
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < j; ++i) M[stride * j + i] = M[stride * i + j];
}

/* M on the system pattern by composite inertias. */
void pl_mass_matrix(pl_work *w) {
  const pl_tables *T = w->T;
  double *out = w->path + w->path_stride * PATH_RESULTS;
  double *P = w->temporary.P;
  path p = {0};
  if (!w->pattern_is_tree) memset(w->M, 0, T->nnz * sizeof(double));
  pl_inertias(w);
  pl_composite(T, w->inertia, RIGID);
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e];
    PL_BY_SIZE(own_mass, k, w, e, P);
    if (!T->elem_base[e]) continue;
    follow(w, &p, e);
    for (int i = 0; i < k; ++i) {
      mass_products(w->path, w->path_stride, p.depth, P + 6 * i, out);
      spread_below(T, e, i, p.depth, out, w->M);
      spread_above(T, e, i, p.depth, out, w->M);
    }
  }
  pl_inertia_mass(w);
  pl_shared_inertia_mass(w);
}

int pl_still_columns(const pl_tables *T, int e, int g) {
  if (T->elem_base[e]) return 0;
  switch (T->node_form[g]) {
    case PL_MOTION_FREE:
    case PL_MOTION_TRANSLATION: return 3;
    case PL_MOTION_PLANAR_XZ:
    case PL_MOTION_PLANAR_YZ: return 2;
    default: return 0;
  }
}

/* The element's own blocks of K and C; and, summed over its nodes, Q = B'S and the columns W and Y that dr/dq and dr/dv have
 * on its path. */
PL_INLINE void own_tangent(const int k, pl_work *w, int e, const double *q, double *Q, double *W, double *Y) {
  const pl_tables *T = w->T;
  const int stride = T->elem_stride[e];
  double *K = w->K + T->elem_pos[e], *C = w->C + T->elem_pos[e], *block = w->temporary.block;
  clear_block(T, e, w->K), clear_block(T, e, w->C);
  memset(Q, 0, 3 * k * sizeof(double)), memset(W, 0, 6 * k * sizeof(double)), memset(Y, 0, 6 * k * sizeof(double));
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *S = w->S + T->node_s[g], *I = w->inertia + RIGID * g, *B = w->B + RATE * g, *F = w->force + 6 * g;
    const double *Vq = w->Vq + T->node_s[g], *Av = w->Av + T->node_s[g], *Aq = w->Aq + T->node_s[g];
    const int still = pl_still_columns(T, e, g);
    for (int j = still; j < k; ++j) {
      double x[6], y[6], z[6];
      rate_times_transposed(B, S + 6 * j, y);
      for (int i = 0; i < 3; ++i) Q[3 * j + i] += y[i];
      rigid_times(I, Aq + 6 * j, x);
      rate_times(B, Vq + 6 * j + 3, y);
      cross_wrench(S + 6 * j, F, z);
      for (int i = 0; i < 6; ++i) x[i] += y[i] + z[i], W[6 * j + i] += x[i];
      for (int i = 0; i < k; ++i) K[stride * j + i] += dot6(S + 6 * i, x);
      rigid_times(I, Av + 6 * j, x);
      rate_times(B, S + 6 * j + 3, y);
      for (int i = 0; i < 6; ++i) x[i] += y[i], Y[6 * j + i] += x[i];
      for (int i = 0; i < k; ++i) C[stride * j + i] += dot6(S + 6 * i, x);
    }
    if (T->node_constant[g]) continue;
    pl_own_block(w, e, g, q, block);
    for (int j = still; j < k; ++j)
      for (int i = 0; i < k; ++i) K[stride * j + i] += block[k * j + i];
  }
}

typedef struct motion {
  const double *q, *v, *a;
} motion;

/* K = dr/dq, C = dr/dv, M on the system pattern for the tree itself (call after pl_residual at the same state).
 *
 * With F the wrench carried by a node (itself and everything beyond), I and B its composites: for a coordinate k above
 * coordinate j, dr_j/dq_k = S_j'(I Aq_k + B Vq_k) with the composites of j; for k below j the composites are those of
 * k and S_k x* F_k is added. */
static void some_tangents(pl_work *w, const pl_elements *of, const void *now) {
  const pl_tables *T = w->T;
  const motion *at = now;
  const int width = w->path_stride;
  double *all[3] = {w->M, w->K, w->C}, *out = w->path + width * PATH_RESULTS;
  double *P = w->temporary.P, *Q = w->temporary.Q, *W = w->temporary.W, *Y = w->temporary.Y;
  path p = {.rates = 1};
  if (!w->pattern_is_tree)
    for (int n = 0; n < 3; ++n) {
      const int first = T->colptr[of->first_v];
      memset(all[n] + first, 0, (T->colptr[of->end_v] - first) * sizeof(double));
    }
  for (int e = of->begin; e < of->end; ++e) {
    const int k = T->elem_k[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) pl_node_tangent(w, e, g, at->q, at->v, at->a);
    PL_BY_SIZE(own_mass, k, w, e, P);
    PL_BY_SIZE(own_tangent, k, w, e, at->q, Q, W, Y);
    if (!T->elem_base[e]) continue;
    follow(w, &p, e);
    for (int i = 0; i < k; ++i) {
      path_products(w->path, width, p.depth, P + 6 * i, Q + 3 * i, W + 6 * i, Y + 6 * i, out);
      spread_below(T, e, i, p.depth, out, w->M), spread_above(T, e, i, p.depth, out, w->M);
      spread_below(T, e, i, p.depth, out + width, w->K), spread_above(T, e, i, p.depth, out + 3 * width, w->K);
      spread_below(T, e, i, p.depth, out + 2 * width, w->C), spread_above(T, e, i, p.depth, out + 4 * width, w->C);
    }
  }
}

void pl_tangent(pl_work *w, const double *q, const double *v, const double *a) {
  const motion at = {q, v, a};
  pl_rate_matrices(w);
  pl_composite(w->T, w->inertia, RIGID);
  pl_composite(w->T, w->B, RATE);
  pl_over_elements(w, !w->on_ground, some_tangents, &at);
}
