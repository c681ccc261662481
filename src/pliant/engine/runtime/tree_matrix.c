/* The matrix of an implicit step without a matrix: elimination over the tree of elements, with cost linear in their number.
 *
 * Between coordinates along one path every entry of K, C and M is nonzero, so assembled matrices of chains are dense. But the
 * unknowns y of a step act on the equations only through the nodes. With da = cM B y, dv = cC B y and dq = cK y (B turns
 * columns of rotations, see step_matrix.c) the motion z = (eta_ddot, eta_dot, eta) that they make of a node on base b is
 *
 *   z = z_b + Z y,    Z = (cK Aq + (cC Av + cM S) B,  cK Vq + cC S B,  cK S),
 *
 * and the wrench f on the node, in convected form, is that of its own mass and interactions and that
 * passed on by its elements. A node passes on f + (cK S y) x* F, with F its transmitted wrench; the rows of its element are S' of
 * that and the forces on the element's coordinates themselves. So from the tips inward, as for articulated bodies (tree.c),
 *
 *   f = P z + p,   D = S' (P Z + cK S x* F) + own,   G = P Z + cK S x* F,   U = S' P,
 *   y = D^-1 (right-hand side - S' p - U z_b),   P_b += P - G D^-1 U,   p_b += p + G D^-1 (right-hand side - S' p),
 *
 * summed over an element's nodes. P starts from the node's inertia I, rate matrix B (tangent.c), and interactions.
 *
 * Constraints, and interactions between several moving nodes (links), have additional unknowns: multipliers, and changes of
 * the wrenches on their frames. They border the tree's matrix H,
 *
 *   [H, -N; L, E] [y; x] = [b; c],   (E + L H^-1 N) x = c - L H^-1 b,   y = H^-1 b + H^-1 N x,
 *
 * one solution with H for each, so the cost stays linear if they are few. */
#include <math.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"
#include "tree_matrix.h"

#define SOUND 1e-8    /* smallest pivot, relative to its column before elimination */
#define CANCELS 1e-3  /* smallest size of a diagonal entry, relative to its summands */

/* The weights of a step's matrix. */
typedef struct weights {
  double M, C, K;
  const double *blocks;
} weights;

/* -- small dense matrices by rows ----------------------------------------------------------------------------------------- */

/* y += c x; n is a multiple of four */
static inline void add_scaled(int n, double c, const double *restrict x, double *restrict y) {
  for (int i = 0; i < n; i += 4)
    for (int l = 0; l < 4; ++l) y[i + l] += c * x[i + l];
}

/* LU with rows exchanged, after scaling rows and columns alike by the diagonal: coordinates of one element have different units.
 * `scale` contains the size of the summands of each diagonal entry. */
static int factor(int k, int stride, double *A, double *scale, int *pivot) {
  for (int i = 0; i < k; ++i) {
    const double *row = A + (size_t)stride * i;
    double largest = fmax(fabs(row[i]), CANCELS * scale[i]);
    for (int j = 0; largest == 0 && j < k; ++j) largest = fmax(largest, fabs(row[j]));
    if (!(largest > 0 && largest < INFINITY)) return PL_SINGULAR;
    scale[i] = 1 / sqrt(largest);
  }
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j) A[(size_t)stride * i + j] *= scale[i] * scale[j];
  for (int p = 0; p < k; ++p) {
    double *row = A + (size_t)stride * p, stood = 0;
    int best = p;
    for (int i = 0; i < k; ++i) stood = fmax(stood, fabs(A[(size_t)stride * i + p]));
    for (int i = p + 1; i < k; ++i)
      if (fabs(A[(size_t)stride * i + p]) > fabs(A[(size_t)stride * best + p])) best = i;
    pivot[p] = best;
    if (best != p)
      for (int j = 0; j < k; ++j) {
        const double x = row[j];
        row[j] = A[(size_t)stride * best + j], A[(size_t)stride * best + j] = x;
      }
    if (!(fabs(row[p]) > SOUND * fmax(stood, 1)) || !isfinite(row[p])) return PL_SINGULAR;
    const double inverse = 1 / row[p];
    for (int i = p + 1; i < k; ++i) {
      double *other = A + (size_t)stride * i;
      const double x = other[p] *= inverse;
      for (int j = p + 1; j < k; ++j) other[j] -= x * row[j];
    }
  }
  return PL_OK;
}

/* X = A^-1 X for rows of `width` numbers */
static inline void solve_factored(int k, int stride, const double *A, const double *scale, const int *pivot, int width,
                                  double *X) {
  for (int i = 0; i < k; ++i)
    for (int l = 0; l < width; ++l) X[width * i + l] *= scale[i];
  for (int p = 0; p < k; ++p)
    if (pivot[p] != p)
      for (int l = 0; l < width; ++l) {
        const double x = X[width * p + l];
        X[width * p + l] = X[width * pivot[p] + l], X[width * pivot[p] + l] = x;
      }
  for (int i = 1; i < k; ++i)
    for (int j = 0; j < i; ++j) {
      const double c = A[(size_t)stride * i + j];
      for (int l = 0; l < width; ++l) X[width * i + l] -= c * X[width * j + l];
    }
  for (int i = k - 1; i >= 0; --i) {
    for (int j = i + 1; j < k; ++j) {
      const double c = A[(size_t)stride * i + j];
      for (int l = 0; l < width; ++l) X[width * i + l] -= c * X[width * j + l];
    }
    const double c = 1 / A[(size_t)stride * i + i];
    for (int l = 0; l < width; ++l) X[width * i + l] *= c;
  }
  for (int i = 0; i < k; ++i)
    for (int l = 0; l < width; ++l) X[width * i + l] *= scale[i];
}

/* -- the tree's part of the matrix ------------------------------------------------------------------------------------------ */

/* X B on the rotations of element e, for `rows` rows; `first` is the first rotation that may be its own. */
static void turn_rows(const pl_tables *T, const weights *c, int e, int first, int rows, int stride, double *X) {
  for (int i = first; i < T->n_quat && T->quat_v[i] < T->elem_v[e] + T->elem_k[e]; ++i) {
    const double *B = c->blocks + 9 * i;
    double *x = X + T->quat_v[i] - T->elem_v[e];
    for (int r = 0; r < rows; ++r, x += stride) {
      const double x0 = x[0], x1 = x[1], x2 = x[2];
      x[0] += x0 * B[0] + x1 * B[1] + x2 * B[2];
      x[1] += x0 * B[3] + x1 * B[4] + x2 * B[5];
      x[2] += x0 * B[6] + x1 * B[7] + x2 * B[8];
    }
  }
}

/* Z of one node. */
static void weigh_node(pl_work *w, const weights *c, int e, int g, int rotation) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], at = T->node_s[g], n = w->tree->stride[e];
  const double *S = w->tree->S + at, *Vq = w->Vq + at, *Av = w->Av + at, *Aq = w->Aq + at;
  double *Z = w->tree->Z + w->tree->at_Z[g];
  if (!c->blocks) { /* mass alone */
    memset(Z, 0, MOTION * n * sizeof(double));
    for (int j = 0; j < k; ++j)
      for (int i = 0; i < 6; ++i) Z[n * i + j] = c->M * S[6 * j + i];
    return;
  }
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < 6; ++i) {
      const int from = 6 * j + i, to = n * i + j;
      Z[to] = c->M * S[from] + c->C * Av[from], Z[n * BY_V + to] = c->C * S[from], Z[n * BY_Q + to] = c->K * S[from];
    }
  turn_rows(T, c, e, rotation, BY_Q, n, Z);
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < 6; ++i) {
      const int from = 6 * j + i, to = n * i + j;
      Z[to] += c->K * Aq[from], Z[n * BY_V + to] += c->K * Vq[from];
    }
}

/* (cM M + cC C) B + cK K for blocks of an element, `rows` rows of its stride */
static void weigh_block(const pl_tables *T, const weights *c, int e, int rotation, int rows, int stride, const double *M,
                        const double *C, const double *K, double *out) {
  const int size = rows * stride;
  for (int i = 0; i < size; ++i) out[i] = c->M * M[i];
  if (!c->blocks) return; /* mass alone */
  for (int i = 0; i < size; ++i) out[i] += c->C * C[i];
  turn_rows(T, c, e, rotation, rows, stride, out);
  for (int i = 0; i < size; ++i) out[i] += c->K * K[i];
}

/* Wrench by the motion of the node itself: inertia, rate matrix, interactions. */
static void start_node(const pl_work *w, int g, int rates, double *P) {
  const pl_tree *t = w->tree;
  memset(P, 0, 6 * WIDE * sizeof(double));
  if (w->T->node_mass[g] >= 0) {
    const double *I = t->I + RIGID * g, *h = I + 1, *J = I + 4, *l = w->B + RATE * g, *R = l + 3;
    const double inertia[6][6] = {
        {I[0], 0, 0, 0, h[2], -h[1]},       {0, I[0], 0, -h[2], 0, h[0]},       {0, 0, I[0], h[1], -h[0], 0},
        {0, -h[2], h[1], J[0], J[3], J[4]}, {h[2], 0, -h[0], J[3], J[1], J[5]}, {-h[1], h[0], 0, J[4], J[5], J[2]}};
    const double momentum[3][3] = {{0, 2 * l[2], -2 * l[1]}, {-2 * l[2], 0, 2 * l[0]}, {2 * l[1], -2 * l[0], 0}};
    for (int i = 0; i < 6; ++i) memcpy(P + WIDE * i + BY_A, inertia[i], 6 * sizeof(double));
    for (int i = 0; rates && i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        P[WIDE * i + BY_V + 3 + j] = momentum[i][j], P[WIDE * (3 + i) + BY_V + 3 + j] = R[3 * j + i];
  }
  if (t->loaded[g] < 0) return;
  const double *load = t->load + 108 * (size_t)t->loaded[g];
  for (int level = 0; level < 3; ++level, load += 36)
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) P[WIDE * i + 6 * level + j] += load[6 * i + j];
}

/* PZ = P Z + cK S x* F */
static inline void node_columns(int width, int k, int n, const double *restrict P, const double *restrict Z,
                                const double *restrict S, const double *restrict F, double cK, double *restrict PZ) {
  for (int i = 0; i < 6; ++i) {
    double *row = PZ + n * i;
    for (int j = 0; j < n; ++j) row[j] = 0;
    for (int m = 0; m < (width < MOTION ? width : MOTION); ++m) add_scaled(n, P[WIDE * i + m], Z + n * m, row);
  }
  if (cK == 0) return;
  for (int j = 0; j < k; ++j) {
    double turned[6];
    cross_wrench(S + 6 * j, F, turned);
    for (int i = 0; i < 6; ++i) PZ[n * i + j] += cK * turned[i];
  }
}

/* D += S' PZ, G += PZ; U += S' P and sum += P where there is a base to hand on to; the size of what D's diagonal sums up */
static inline void add_node(int width, int k, int n, const double *restrict S, const double *restrict P,
                            const double *restrict PZ, double *restrict D, double *restrict G, double *restrict U,
                            double *restrict sum, double *restrict size) {
  for (int i = 0; i < k; ++i)
    for (int r = 0; r < 6; ++r) {
      add_scaled(n, S[6 * i + r], PZ + n * r, D + n * i);
      size[i] += fabs(S[6 * i + r] * PZ[n * r + i]);
    }
  if (!sum) return;
  for (int i = 0; i < 6 * n; ++i) G[i] += PZ[i];
  for (int i = 0; i < k; ++i)
    for (int r = 0; r < 6; ++r) add_scaled(width, S[6 * i + r], P + WIDE * r, U + WIDE * i);
  for (int r = 0; r < 6; ++r) add_scaled(width, 1, P + WIDE * r, sum + WIDE * r);
}

static int eliminate(pl_work *w, const weights *c, int e, int rotation) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], b = T->elem_base[e], n = t->stride[e], at = T->elem_v[e];
  const size_t own = t->at_own[e], base = t->at_base[e];
  double *D = t->D + own, *G = t->G + base, *U = t->U + (size_t)WIDE * at, *sum = b ? t->sum : NULL;
  weigh_block(T, c, e, rotation, k, n, t->own_M + own, t->own_C + own, t->own_K + own, D);
  memset(U, 0, (size_t)WIDE * k * sizeof(double));
  if (T->n_inertia) {
    weigh_block(T, c, e, rotation, 6, n, t->base_M + base, t->base_C + base, t->base_K + base, G);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < 6; ++j)
        U[WIDE * i + BY_A + j] = t->by_A[6 * (at + i) + j], U[WIDE * i + BY_V + j] = t->by_V[6 * (at + i) + j];
  } else memset(G, 0, 6 * (size_t)n * sizeof(double));
  if (sum) memset(sum, 0, 6 * WIDE * sizeof(double));
  for (int i = 0; i < k; ++i) t->scale[at + i] = fabs(D[n * i + i]);
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *S = t->S + T->node_s[g], *Z = t->Z + t->at_Z[g], *P = t->P + 6 * WIDE * (size_t)g;
    weigh_node(w, c, e, g, rotation);
    if (t->width[g] == NARROW) {
      node_columns(NARROW, k, n, P, Z, S, w->force + 6 * g, c->K, t->PZ);
      add_node(NARROW, k, n, S, P, t->PZ, D, G, U, sum, t->scale + at);
    } else {
      node_columns(WIDE, k, n, P, Z, S, w->force + 6 * g, c->K, t->PZ);
      add_node(WIDE, k, n, S, P, t->PZ, D, G, U, sum, t->scale + at);
    }
  }
  const int status = factor(k, n, D, t->scale + at, t->pivot + at);
  if (status || !b) return status;
  solve_factored(k, n, D, t->scale + at, t->pivot + at, WIDE, U);
  double *Pb = t->P + 6 * WIDE * (size_t)b;
  for (int r = 0; r < 6; ++r) {
    add_scaled(WIDE, 1, sum + WIDE * r, Pb + WIDE * r);
    for (int i = 0; i < k; ++i) add_scaled(WIDE, -G[n * r + i], U + WIDE * i, Pb + WIDE * r);
  }
  return PL_OK;
}

/* x = H^-1 x over the tree */
static void solve_tree(pl_work *w, double *x) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  for (int g = 0; g < T->n_node; ++g)
    if (t->inner[g]) memset(t->p + 6 * (size_t)g, 0, 6 * sizeof(double));
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int k = T->elem_k[e], b = T->elem_base[e], n = t->stride[e], at = T->elem_v[e];
    double *u = x + at, *pb = t->p + 6 * (size_t)b;
    const double *G = t->G + t->at_base[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      if (!t->inner[g]) continue;
      const double *p = t->p + 6 * (size_t)g, *S = t->S + T->node_s[g];
      for (int i = 0; i < k; ++i) u[i] -= dot6(S + 6 * i, p);
      for (int r = 0; r < 6; ++r) pb[r] += p[r];
    }
    solve_factored(k, n, t->D + t->at_own[e], t->scale + at, t->pivot + at, 1, u);
    if (b)
      for (int r = 0; r < 6; ++r)
        for (int i = 0; i < k; ++i) pb[r] += G[n * r + i] * u[i];
  }
  memset(t->z, 0, WIDE * sizeof(double));
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e], b = T->elem_base[e], n = t->stride[e], at = T->elem_v[e];
    const int motion = t->width[b] == WIDE ? MOTION : NARROW;
    const double *zb = t->z + WIDE * (size_t)b, *U = t->U + (size_t)WIDE * at;
    double *y = x + at;
    for (int i = 0; b && i < k; ++i) {
      double sum = 0;
      for (int m = 0; m < motion; ++m) sum += U[WIDE * i + m] * zb[m];
      y[i] -= sum;
    }
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      if (!t->inner[g]) continue;
      const double *Z = t->Z + t->at_Z[g];
      double *z = t->z + WIDE * (size_t)g;
      for (int m = 0; m < motion; ++m) {
        double sum = zb[m];
        for (int i = 0; i < k; ++i) sum += Z[n * m + i] * y[i];
        z[m] = sum;
      }
    }
  }
}

/* -- constraints and links --------------------------------------------------------------------------------------------------- */

/* Columns N and rows L of a link: its wrenches on the coordinates, and minus their derivatives with respect to the motion of its
 * frames. */
static void link_border(pl_work *w, const pl_link *x) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  const int ld = 6 * x->count;
  for (int f = 0; f < x->count; ++f)
    for (int g = x->nodes[f]; g; g = T->elem_base[T->node_elem[g]]) {
      const int e = T->node_elem[g], n = t->stride[e];
      const double *S = t->S + T->node_s[g], *Z = t->Z + t->at_Z[g];
      for (int j = 0; j < T->elem_k[e]; ++j) {
        const size_t at = T->elem_v[e] + j;
        for (int r = 0; r < 6; ++r) t->right[(size_t)T->nv * (x->first + 6 * f + r) + at] += S[6 * j + r];
        for (int r = 0; r < ld; ++r) {
          double sum = 0;
          for (int m = 0; m < 6; ++m) {
            const size_t entry = x->at + (size_t)ld * (6 * f + m) + r;
            sum += t->link_C[entry] * Z[n * (BY_V + m) + j] + t->link_K[entry] * Z[n * (BY_Q + m) + j];
          }
          t->left[(size_t)T->nv * (x->first + r) + at] -= sum;
        }
      }
    }
}

static int factor_border(pl_work *w, const double *rows) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  const int n = t->n_beside;
  if (!n) return PL_OK;
  memset(t->left, 0, (size_t)n * T->nv * sizeof(double)), memset(t->right, 0, (size_t)n * T->nv * sizeof(double));
  for (int i = 0; i < T->nnz_j; ++i) {
    const size_t at = (size_t)T->nv * T->j_row[i] + T->j_col[i];
    if (w->row_active[T->j_row[i]]) t->right[at] = w->Jval[i], t->left[at] = rows ? rows[i] : w->Jval[i];
  }
  for (int i = 0; i < t->n_link; ++i) link_border(w, t->link + i);
  for (int j = 0; j < n; ++j) solve_tree(w, t->right + (size_t)T->nv * j);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const double *a = t->left + (size_t)T->nv * i, *b = t->right + (size_t)T->nv * j;
      double sum = i == j && (i >= T->m || !w->row_active[i]);
      for (int l = 0; l < T->nv; ++l) sum += a[l] * b[l];
      t->corner[(size_t)n * i + j] = sum;
    }
  memset(t->corner_scale, 0, n * sizeof(double));
  return factor(n, n, t->corner, t->corner_scale, t->corner_pivot);
}

/* -- the complete matrix ----------------------------------------------------------------------------------------------------- */

int pl_tree_factor(pl_work *w, double cM, double cC, double cK, const double *blocks, const double *rows) {
  const pl_tables *T = w->T;
  const weights c = {cM, cC, cK, blocks};
  int rotation = T->n_quat;
  for (int g = 1; g < T->n_node; ++g) start_node(w, g, blocks != NULL, w->tree->P + 6 * WIDE * (size_t)g);
  for (int e = T->n_elem - 1; e >= 0; --e) {
    while (rotation > 0 && T->quat_v[rotation - 1] >= T->elem_v[e]) --rotation;
    const int status = eliminate(w, &c, e, rotation);
    if (status) return status;
  }
  return factor_border(w, rows);
}

void pl_tree_solve(pl_work *w, double *x) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  const int n = t->n_beside;
  double *beside = t->beside;
  solve_tree(w, x);
  if (!n) return;
  for (int i = 0; i < n; ++i) {
    const double *a = t->left + (size_t)T->nv * i;
    beside[i] = i < T->m ? x[T->nv + i] : 0;
    for (int l = 0; l < T->nv; ++l) beside[i] -= a[l] * x[l];
  }
  solve_factored(n, n, t->corner, t->corner_scale, t->corner_pivot, 1, beside);
  for (int i = 0; i < n; ++i) {
    const double *b = t->right + (size_t)T->nv * i;
    for (int l = 0; l < T->nv; ++l) x[l] += b[l] * beside[i];
  }
  memcpy(x + T->nv, beside, T->m * sizeof(double));
}

/* -- products ---------------------------------------------------------------------------------------------------------------- */

/* y += S x for columns of six */
static inline void add_columns(int k, const double *restrict S, const double *restrict x, double *restrict y) {
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < 6; ++i) y[i] += S[6 * j + i] * x[j];
}

/* eta_ddot and eta_dot of all nodes, and the wrenches that these require of each node alone. */
static void product_wrenches(pl_work *w, const double *a, const double *v) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  memset(t->motion, 0, 18 * sizeof(double));
  for (int e = 0; e < T->n_elem; ++e) {
    const int k = T->elem_k[e], at = T->elem_v[e];
    const double *base = t->motion + 18 * (size_t)T->elem_base[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = t->S + T->node_s[g], *Av = w->Av + T->node_s[g];
      double *A = t->motion + 18 * (size_t)g, *V = A + 6, *F = A + 12;
      memcpy(A, base, 12 * sizeof(double));
      add_columns(k, S, a + at, A);
      if (v) add_columns(k, Av, v + at, A), add_columns(k, S, v + at, V);
      rigid_times(t->I + RIGID * g, A, F);
      if (v) {
        double turned[6];
        rate_times(w->B + RATE * g, V + 3, turned);
        for (int i = 0; i < 6; ++i) F[i] += turned[i];
      }
      if (t->loaded[g] < 0) continue;
      const double *load = t->load + 108 * (size_t)t->loaded[g];
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) F[i] += load[6 * i + j] * A[j] + (v ? load[36 + 6 * i + j] * V[j] : 0);
    }
  }
  for (int i = 0; v && i < t->n_link; ++i) {
    const pl_link *x = t->link + i;
    const int ld = 6 * x->count;
    for (int f = 0; f < x->count; ++f)
      for (int r = 0; r < ld; ++r)
        for (int m = 0; m < 6; ++m)
          t->motion[18 * (size_t)x->nodes[r / 6] + 12 + r % 6] -=
              t->link_C[x->at + (size_t)ld * (6 * f + m) + r] * t->motion[18 * (size_t)x->nodes[f] + 6 + m];
  }
}

void pl_tree_product(pl_work *w, const double *a, const double *v, double *y) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  product_wrenches(w, a, v);
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int k = T->elem_k[e], n = t->stride[e], at = T->elem_v[e];
    const double *M = t->own_M + t->at_own[e], *C = t->own_C + t->at_own[e];
    double *base = t->motion + 18 * (size_t)T->elem_base[e];
    for (int i = 0; i < k; ++i) {
      double x = 0;
      for (int j = 0; j < k; ++j) x += M[n * i + j] * a[at + j] + (v ? C[n * i + j] * v[at + j] : 0);
      for (int j = 0; T->n_inertia && j < 6; ++j)
        x += t->by_A[6 * (at + i) + j] * base[j] + (v ? t->by_V[6 * (at + i) + j] * base[6 + j] : 0);
      y[at + i] = x;
    }
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *F = t->motion + 18 * (size_t)g + 12, *S = t->S + T->node_s[g];
      for (int i = 0; i < k; ++i) y[at + i] += dot6(S + 6 * i, F);
      for (int r = 0; r < 6; ++r) base[12 + r] += F[r];
    }
    const double *base_M = t->base_M + t->at_base[e], *base_C = t->base_C + t->at_base[e];
    for (int r = 0; T->n_inertia && r < 6; ++r)
      for (int j = 0; j < k; ++j) base[12 + r] += base_M[n * r + j] * a[at + j] + (v ? base_C[n * r + j] * v[at + j] : 0);
  }
}

/* The diagonal of M by composite inertias, in P, which is not needed for solutions. */
void pl_tree_inertias(pl_work *w, double *out) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  for (int g = 1; g < T->n_node; ++g) start_node(w, g, 0, t->P + 6 * WIDE * (size_t)g);
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int k = T->elem_k[e], b = T->elem_base[e], n = t->stride[e], at = T->elem_v[e];
    double *Pb = t->P + 6 * WIDE * (size_t)b;
    for (int j = 0; j < k; ++j) out[at + j] = t->own_M[t->at_own[e] + (size_t)(n + 1) * j];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *P = t->P + 6 * WIDE * (size_t)g, *S = t->S + T->node_s[g];
      for (int j = 0; j < k; ++j)
        for (int r = 0; r < 6; ++r) out[at + j] += S[6 * j + r] * dot6(P + WIDE * r, S + 6 * j);
      for (int r = 0; b && r < 6; ++r)
        for (int i = 0; i < 6; ++i) Pb[WIDE * r + i] += P[WIDE * r + i];
    }
  }
}
