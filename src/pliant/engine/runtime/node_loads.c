/* Tangents of what acts on single nodes: their changes with the motion of the node are summed toward the ground, like inertias, and
 * projected once. With A, Y and K of a node (and all beyond it), for the accelerations, velocities and displacements of that node,
 *
 *   k above j:   dr_j/dq_k = S_j' (A_j Aq_k + Y_j Vq_k + K_j S_k)
 *   k below j:   dr_j/dq_k = S_j' (A_k Aq_k + Y_k Vq_k + K_k S_k)
 *
 * Used for robots with inertia without weight, whose many pieces would otherwise each form products with all coordinates on their
 * paths. */
#include <string.h>

#include "pliant.h"
#include "spatial.h"

enum { BLOCK = 36, ROWS = 24 };

void pl_clear_loads(pl_work *w) { memset(w->load, 0, 3 * BLOCK * (size_t)w->T->n_node * sizeof(double)); }

/* Add share times a block, of which columns are ld apart; level: 0 accelerations, 1 velocities, 2 displacements */
void pl_add_load(pl_work *w, int g, int level, double share, const double *X, int ld) {
  double *to = w->load + BLOCK * ((size_t)level * w->T->n_node + g);
  for (int j = 0; j < 6; ++j)
    for (int i = 0; i < 6; ++i) to[6 * j + i] += share * X[ld * j + i];
}

/* y += X x */
static inline void add_times(const double *X, const double *x, double *y) {
  for (int j = 0; j < 6; ++j)
    for (int i = 0; i < 6; ++i) y[i] += X[6 * j + i] * x[j];
}

/* y += X' x */
static inline void add_transposed(const double *X, const double *x, double *y) {
  for (int j = 0; j < 6; ++j) y[j] += dot6(X + 6 * j, x);
}

/* S, Vq, Av and Aq of all coordinates on the path to an element's base, component by component; returns their number. */
static int collect(pl_work *w, int e, int tangents) {
  const pl_tables *T = w->T;
  const double *from[4] = {w->S, w->Vq, w->Av, w->Aq};
  int depth = 0;
  for (int n = T->path_begin[e]; n < T->path_begin[e + 1]; ++n) {
    const int g = T->path_node[n], k = T->elem_k[T->node_elem[g]];
    for (int j = 0; j < k; ++j, ++depth)
      for (int level = 0; level < (tangents ? 4 : 1); ++level)
        for (int i = 0; i < 6; ++i) w->load_path[w->path_stride * (6 * level + i) + depth] = from[level][T->node_s[g] + 6 * j + i];
  }
  return depth;
}

/* out[d] (+)= a . x_d */
static void dot_path(const double *restrict X, int n, int depth, const double *restrict a, int add, double *restrict out) {
  for (int d = 0; d < depth; ++d) {
    const double *x = X + d;
    const double y = (a[0] * x[0] + a[1] * x[n] + a[2] * x[2 * n]) + (a[3] * x[3 * n] + a[4] * x[4 * n] + a[5] * x[5 * n]);
    out[d] = add ? out[d] + y : y;
  }
}

/* Add to row i of the element at the columns of the path, or to its column i at the rows of the path. */
static void add_to_path(const pl_tables *T, int e, int i, int below, const double *x, double *X) {
  for (int n = T->path_begin[e]; n < T->path_begin[e + 1]; ++n) {
    const int h = T->node_elem[T->path_node[n]], k = T->elem_k[h];
    double *to = X + (below ? T->path_lower[n] + i : T->path_upper[n] + T->elem_stride[e] * i);
    for (int j = 0; j < k; ++j) to[below ? T->elem_stride[h] * j : j] += x[j];
    x += k;
  }
}

/* The sums of one coordinate of an element, with its contributions to the element's own blocks. */
typedef struct sums {
  double M[6], C[6], K[6], Y[6], Z[6]; /* A S; A Av + Y S; A Aq + Y Vq + K S; Y' S; K' S */
} sums;

static void of_coordinate(pl_work *w, int e, int i, int tangents, sums *x) {
  const pl_tables *T = w->T;
  const size_t level = BLOCK * (size_t)T->n_node;
  const int k = T->elem_k[e], at = T->elem_pos[e] + T->elem_stride[e] * i;
  memset(x, 0, sizeof *x);
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *A = w->load + BLOCK * (size_t)g, *Y = A + level, *Z = Y + level, *S = w->S + T->node_s[g];
    const int own = T->node_s[g] + 6 * i;
    double M[6] = {0}, C[6] = {0}, K[6] = {0};
    add_times(A, w->S + own, M);
    if (tangents) {
      add_times(A, w->Av + own, C), add_times(Y, w->S + own, C);
      add_times(A, w->Aq + own, K), add_times(Y, w->Vq + own, K), add_times(Z, w->S + own, K);
      add_transposed(Y, w->S + own, x->Y), add_transposed(Z, w->S + own, x->Z);
    }
    for (int j = 0; j < k; ++j) {
      w->M[at + j] += dot6(S + 6 * j, M);
      if (tangents) w->C[at + j] += dot6(S + 6 * j, C), w->K[at + j] += dot6(S + 6 * j, K);
    }
    for (int j = 0; j < 6; ++j) x->M[j] += M[j], x->C[j] += C[j], x->K[j] += K[j];
  }
}

/* Add the loads of all nodes to M and, with `tangents`, to C and K. */
void pl_project_loads(pl_work *w, int tangents) {
  const pl_tables *T = w->T;
  const int n = w->path_stride;
  double *out = w->load_path + ROWS * n;
  for (int level = 0; level < (tangents ? 3 : 1); ++level) pl_composite(T, w->load + BLOCK * (size_t)level * T->n_node, BLOCK);
  for (int e = 0; e < T->n_elem; ++e) {
    const int depth = collect(w, e, tangents);
    const double *S = w->load_path, *Vq = S + 6 * n, *Av = S + 12 * n, *Aq = S + 18 * n;
    for (int i = 0; i < T->elem_k[e]; ++i) {
      sums x;
      of_coordinate(w, e, i, tangents, &x);
      dot_path(S, n, depth, x.M, 0, out);
      add_to_path(T, e, i, 0, out, w->M), add_to_path(T, e, i, 1, out, w->M);
      if (!tangents) continue;
      dot_path(S, n, depth, x.C, 0, out), add_to_path(T, e, i, 0, out, w->C);
      dot_path(S, n, depth, x.K, 0, out), add_to_path(T, e, i, 0, out, w->K);
      dot_path(Av, n, depth, x.M, 0, out), dot_path(S, n, depth, x.Y, 1, out), add_to_path(T, e, i, 1, out, w->C);
      dot_path(Aq, n, depth, x.M, 0, out), dot_path(Vq, n, depth, x.Y, 1, out), dot_path(S, n, depth, x.Z, 1, out);
      add_to_path(T, e, i, 1, out, w->K);
    }
  }
}
