/* Tangents of the tree: derivatives of inverse dynamics.
 *
 * Variations are world-side increments eta of the nodes' poses; wrenches are varied in convected form, rotating
 * with their node. A rigid body of inertia I, momentum (l, k), twist (v, w), first moment h, second moments J then has
 *
 *   d(I A + V x* I V) = I eta_ddot + B eta_dot,   B = [0, -2 l^; 0, G],
 *   G = 2 (v.h) 1 - h v' - v h' + (w^ J - J w^) - k^,
 *
 * and B, like I, is summed over bodies that move together. Only the angular part of eta_dot has an effect.
 */
#include <string.h>

#include "lane_pairs.h"
#include "spatial.h"
#include "work_parts.h"

enum { FEW = 6 }; /* coordinates of an element that PL_BY_SIZE knows */

/* Momentum l and G of the mass of every node. */
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
  int rates;      /* whether Vq, Av and Aq are needed in addition to S */
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

/* Set the path to that of element e's base. */
static void follow(pl_work *w, path *p, int e) {
  const pl_tables *T = w->T;
  const int b = T->elem_base[e];
  if (p->top == b) return;
  const int above = b ? T->elem_base[T->node_elem[b]] : 0;
  if (!b || above != p->top) { /* not the next node on the same path: collect it from the ground outward */
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
  if (at[begin] + T->elem_k[T->node_elem[T->path_node[begin]]] - at[end - 1] == depth) { /* contiguous rows */
    memcpy(X + at[end - 1], x, depth * sizeof(double));
    return;
  }
  for (int n = begin, d = depth; n < end; ++n) {
    const int k = T->elem_k[T->node_elem[T->path_node[n]]];
    d -= k;
    for (int j = 0; j < k; ++j) X[at[n] + j] = x[d + j];
  }
}

/* Sums of an element for its own block and its path: P = I S, Q = B'S, and the columns W and Y of dr/dq and dr/dv, summed over
 * its nodes. */
typedef struct sums {
  double *P, *Q, *W, *Y; /* 6 x k, Q 3 x k */
} sums;

/* The same for some columns of one element at once, with their contribution to the element's own blocks, row by row. */
typedef struct side {
  int first, count; /* columns; lanes beyond `count` repeat the last one */
  pl_lanes P[6], Q[3], W[6], Y[6];
  pl_lanes *M, *K, *C; /* k each; null if not needed */
} side;

/* Those columns out of S, Vq, Av or Aq of a node. */
static inline void get_columns(const side *x, const double *from, pl_lanes *out) {
  const double *column[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) column[l] = from + 6 * (x->first + (l < x->count ? l : x->count - 1));
  lanes_gather(column, 6, out);
}

static inline void lanes_rigid_times(const double *I, const pl_lanes *x, pl_lanes *y) {
  const double *h = I + 1, *J = I + 4;
  const pl_lanes *z = x + 3;
  y[0] = I[0] * x[0] + z[1] * h[2] - z[2] * h[1];
  y[1] = I[0] * x[1] + z[2] * h[0] - z[0] * h[2];
  y[2] = I[0] * x[2] + z[0] * h[1] - z[1] * h[0];
  y[3] = J[0] * z[0] + J[3] * z[1] + J[4] * z[2] + h[1] * x[2] - h[2] * x[1];
  y[4] = J[3] * z[0] + J[1] * z[1] + J[5] * z[2] + h[2] * x[0] - h[0] * x[2];
  y[5] = J[4] * z[0] + J[5] * z[1] + J[2] * z[2] + h[0] * x[1] - h[1] * x[0];
}

static inline void lanes_add_rate_times(const double *B, const pl_lanes *x, pl_lanes *y) {
  const double *G = B + 3;
  y[0] += 2 * (x[1] * B[2] - x[2] * B[1]);
  y[1] += 2 * (x[2] * B[0] - x[0] * B[2]);
  y[2] += 2 * (x[0] * B[1] - x[1] * B[0]);
  for (int i = 0; i < 3; ++i) y[3 + i] += G[i] * x[0] + G[3 + i] * x[1] + G[6 + i] * x[2];
}

/* += the angular part of B' x */
static inline void lanes_add_rate_transposed(const double *B, const pl_lanes *x, pl_lanes *y) {
  const double *G = B + 3;
  y[0] += 2 * (B[1] * x[2] - B[2] * x[1]) + G[0] * x[3] + G[1] * x[4] + G[2] * x[5];
  y[1] += 2 * (B[2] * x[0] - B[0] * x[2]) + G[3] * x[3] + G[4] * x[4] + G[5] * x[5];
  y[2] += 2 * (B[0] * x[1] - B[1] * x[0]) + G[6] * x[3] + G[7] * x[4] + G[8] * x[5];
}

/* += x x* F */
static inline void lanes_add_turned_wrench(const pl_lanes *x, const double *F, pl_lanes *y) {
  const pl_lanes *z = x + 3;
  const double *n = F + 3;
  y[0] += z[1] * F[2] - z[2] * F[1];
  y[1] += z[2] * F[0] - z[0] * F[2];
  y[2] += z[0] * F[1] - z[1] * F[0];
  y[3] += (z[1] * n[2] - z[2] * n[1]) + (x[1] * F[2] - x[2] * F[1]);
  y[4] += (z[2] * n[0] - z[0] * n[2]) + (x[2] * F[0] - x[0] * F[2]);
  y[5] += (z[0] * n[1] - z[1] * n[0]) + (x[0] * F[1] - x[1] * F[0]);
}

/* rows from `first` on of a block += S' x, sum += x */
PL_INLINE void add_rows(const int k, int first, const double *S, const pl_lanes *x, pl_lanes *block, pl_lanes *sum) {
  for (int i = 0; i < 6; ++i) sum[i] += x[i];
  for (int i = first; i < k; ++i) {
    const double *s = S + 6 * i;
    block[i] += (s[0] * x[0] + s[1] * x[1] + s[2] * x[2]) + (s[3] * x[3] + s[4] * x[4] + s[5] * x[5]);
  }
}

/* Add the contribution of one node. M is symmetric: rows above the first column follow from others. */
PL_INLINE void add_node(const int k, const pl_work *w, int g, side *x) {
  const double *S = w->S + w->T->node_s[g], *I = w->inertia + RIGID * g, *B = w->B + RATE * g;
  pl_lanes s[6], rate[6], y[6];
  get_columns(x, S, s);
  lanes_rigid_times(I, s, y);
  add_rows(k, x->first, S, y, x->M, x->P);
  if (!x->K) return;
  lanes_add_rate_transposed(B, s, x->Q);
  get_columns(x, w->Aq + w->T->node_s[g], rate);
  lanes_rigid_times(I, rate, y);
  get_columns(x, w->Vq + w->T->node_s[g], rate);
  lanes_add_rate_times(B, rate + 3, y);
  lanes_add_turned_wrench(s, w->force + 6 * g, y);
  add_rows(k, 0, S, y, x->K, x->W);
  get_columns(x, w->Av + w->T->node_s[g], rate);
  lanes_rigid_times(I, rate, y);
  lanes_add_rate_times(B, s + 3, y);
  add_rows(k, 0, S, y, x->C, x->Y);
}

/* Some rows of these columns into a matrix whose columns are `stride` apart. */
PL_INLINE void put_columns(const side *x, int rows, const pl_lanes *from, int stride, double *X) {
  double *to[PL_WIDTH];
  for (int l = 0; l < x->count; ++l) to[l] = X + stride * (x->first + l);
  lanes_take(from, rows, x->count, to);
}

/* Sums for the element's path; elements on the ground have none. */
static inline void put_sums(const side *x, int tangents, const sums *out) {
  put_columns(x, 6, x->P, 6, out->P);
  if (!tangents) return;
  put_columns(x, 3, x->Q, 3, out->Q), put_columns(x, 6, x->W, 6, out->W), put_columns(x, 6, x->Y, 6, out->Y);
}

/* Add the blocks of nodes whose subspace depends on the coordinates, from column `still` on. */
PL_INLINE void add_own_blocks(const int k, pl_work *w, int e, int still) {
  const pl_tables *T = w->T;
  double *K = w->K + T->elem_pos[e];
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    if (T->node_constant[g]) continue;
    const double *block = pl_own_block(w, e, g);
    for (int j = still; j < k; ++j)
      for (int i = 0; i < k; ++i) K[T->elem_stride[e] * j + i] += block[k * j + i];
  }
}

static inline void add_to(int n, const double *x, double *sum) {
  for (int i = 0; i < n; ++i) sum[i] += x[i];
}

/* As own_blocks for one coordinate, which would fill one lane of four. */
static void own_numbers(pl_work *w, int e, int tangents, const sums *out) {
  const pl_tables *T = w->T;
  double M = 0, K = 0, C = 0, P[6] = {0}, Q[3] = {0}, W[6] = {0}, Y[6] = {0};
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const int at = T->node_s[g];
    const double *S = w->S + at, *I = w->inertia + RIGID * g, *B = w->B + RATE * g;
    double x[6], y[6], z[6];
    rigid_times(I, S, x);
    add_to(6, x, P), M += dot6(S, x);
    if (!tangents) continue;
    rate_times_transposed(B, S, y), add_to(3, y, Q);
    rigid_times(I, w->Aq + at, x), rate_times(B, w->Vq + at + 3, y), cross_wrench(S, w->force + 6 * g, z);
    for (int i = 0; i < 6; ++i) x[i] += y[i] + z[i];
    add_to(6, x, W), K += dot6(S, x);
    rigid_times(I, w->Av + at, x), rate_times(B, S + 3, y);
    add_to(6, y, x), add_to(6, x, Y), C += dot6(S, x);
    if (!T->node_constant[g]) K += *pl_own_block(w, e, g);
  }
  w->M[T->elem_pos[e]] = M, memcpy(out->P, P, sizeof P);
  if (!tangents) return;
  w->K[T->elem_pos[e]] = K, w->C[T->elem_pos[e]] = C;
  memcpy(out->Q, Q, sizeof Q), memcpy(out->W, W, sizeof W), memcpy(out->Y, Y, sizeof Y);
}

/* The element's own blocks, of M and with `tangents` of K and C, and its sums. */
PL_INLINE void own_blocks(const int k, pl_work *w, int e, int tangents, const sums *out) {
  const pl_tables *T = w->T;
  const int first = T->elem_node[e], end = first + T->elem_nodes[e], stride = T->elem_stride[e];
  double *M = w->M + T->elem_pos[e], *K = w->K + T->elem_pos[e], *C = w->C + T->elem_pos[e];
  const size_t bytes = k * sizeof(pl_lanes);
  int still = tangents ? pl_still_columns(T, e, first) : k;
  for (int g = first + 1; tangents && g < end; ++g)
    if (pl_still_columns(T, e, g) < still) still = pl_still_columns(T, e, g);
  pl_lanes few[3 * FEW], *rows = k <= FEW ? few : (pl_lanes *)w->temporary.own_rows;
  for (int j = 0, count; j < k; j += count) {
    const int past = j < still ? still : k;
    count = past - j < PL_WIDTH ? past - j : PL_WIDTH;
    side x = {.first = j, .count = count, .M = rows, .K = j < still ? NULL : rows + k, .C = rows + 2 * k};
    memset(rows, 0, (x.K ? 3 : 1) * bytes);
    for (int g = first; g < end; ++g) add_node(k, w, g, &x);
    put_columns(&x, k - j, x.M + j, stride, M + j);
    if (T->elem_base[e]) put_sums(&x, tangents, out);
    if (!tangents) continue;
    if (!x.K) memset(x.K = rows + k, 0, 2 * bytes);
    put_columns(&x, k, x.K, stride, K), put_columns(&x, k, x.C, stride, C);
  }
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < j; ++i) M[stride * j + i] = M[stride * i + j];
  if (tangents) add_own_blocks(k, w, e, still);
}

static void blocks_of(pl_work *w, int e, int tangents, const sums *out) {
  const int k = w->T->elem_k[e];
  if (k == 1) own_numbers(w, e, tangents, out);
  else PL_BY_SIZE(own_blocks, k, w, e, tangents, out);
}

/* M on the system pattern by composite inertias. */
void pl_mass_matrix(pl_work *w) {
  const pl_tables *T = w->T;
  double *out = w->path + w->path_stride * PATH_RESULTS;
  const sums own = {.P = w->temporary.P};
  path p = {0};
  if (!w->pattern_is_tree) memset(w->M, 0, T->nnz * sizeof(double));
  pl_inertias(w);
  pl_composite(T, w->inertia, RIGID);
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e];
    blocks_of(w, e, 0, &own);
    if (!T->elem_base[e]) continue;
    follow(w, &p, e);
    for (int i = 0; i < k; ++i) {
      mass_products(w->path, w->path_stride, p.depth, own.P + 6 * i, out);
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

typedef struct motion {
  const double *v, *a;
} motion;

/* K = dr/dq, C = dr/dv, M on the system pattern for the tree itself (call after pl_residual at the same state).
 *
 * With F the wrench carried by a node (itself and everything beyond), I and B its composites: for a coordinate k above
 * coordinate j, dr_j/dq_k = S_j'(I Aq_k + B Vq_k) with the composites of j; for k below j the composites are those of
 * k and S_k x* F_k is added. */
static void some_tangents(pl_work *w, const pl_elements *of, const void *now) {
  const pl_tables *T = w->T;
  const motion *at = (const motion *)now;
  const int width = w->path_stride;
  double *all[3] = {w->M, w->K, w->C}, *out = w->path + width * PATH_RESULTS;
  const sums own = {w->temporary.P, w->temporary.Q, w->temporary.W, w->temporary.Y};
  path p = {.rates = 1};
  if (!w->pattern_is_tree)
    for (int n = 0; n < 3; ++n) {
      const int first = T->colptr[of->first_v];
      memset(all[n] + first, 0, (T->colptr[of->end_v] - first) * sizeof(double));
    }
  for (int e = of->begin; e < of->end; ++e) {
    const int k = T->elem_k[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) pl_node_tangent(w, e, g, at->v, at->a);
    blocks_of(w, e, 1, &own);
    if (!T->elem_base[e]) continue;
    follow(w, &p, e);
    for (int i = 0; i < k; ++i) {
      path_products(w->path, width, p.depth, own.P + 6 * i, own.Q + 3 * i, own.W + 6 * i, own.Y + 6 * i, out);
      spread_below(T, e, i, p.depth, out, w->M), spread_above(T, e, i, p.depth, out, w->M);
      spread_below(T, e, i, p.depth, out + width, w->K), spread_above(T, e, i, p.depth, out + 3 * width, w->K);
      spread_below(T, e, i, p.depth, out + 2 * width, w->C), spread_above(T, e, i, p.depth, out + 4 * width, w->C);
    }
  }
}

void pl_tangent(pl_work *w, const double *q, const double *v, const double *a) {
  const motion at = {v, a};
  pl_rate_matrices(w);
  pl_kernel_tangents(w, q, v, a);
  pl_composite(w->T, w->inertia, RIGID);
  pl_composite(w->T, w->B, RATE);
  pl_over_elements(w, !w->on_ground, some_tangents, &at);
}
