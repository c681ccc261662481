/* Elimination of fronts in one precision: included by fronts_double.c and fronts_single.c, which define the type `number`, how many
 * of them (LANES) make a vector of 32 bytes, and the mode of a thread (`enter`, `leave`). See fronts.c for how a front is
 * stored. */
#include <math.h>
#include <string.h>

#include "front_structure.h"
#include "threads.h"

#define PANEL 8            /* columns that are eliminated one by one */
#define STRIP (2 * LANES)  /* rows of a product that stay in registers */
#define ROWS (12 * LANES)  /* of a product at a time ... */
#define DEPTH 64           /* ... and columns of its left factor: together they fill most of the L1 cache */
#define SHARED_FROM 1e6    /* number of multiplications above which a product uses several threads ... */
#define PARTS 6            /* ... in about this number of parts */

/* -- dense kernels ------------------------------------------------------------------------------------------------ */

#ifdef __GNUC__
typedef number lane __attribute__((vector_size(LANES * sizeof(number)), aligned(sizeof(number)), may_alias));
#if LANES == 8
#define ALL(x) ((lane){x, x, x, x, x, x, x, x})
#else
#define ALL(x) ((lane){x, x, x, x})
#endif
#define MINUS_PRODUCT(c, a, b) ((c) -= (a) * ALL(b))
#else
typedef struct lane {
  number x[LANES];
} lane;
#define MINUS_PRODUCT(c, a, b) \
  do \
    for (int l = 0; l < LANES; ++l) (c).x[l] -= (a).x[l] * (b); \
  while (0)
#endif
#define LOAD(x) (*(const lane *)(x))
#define STORE(x, y) (*(lane *)(x) = (y))

static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* Four columns of C, a strip or half a strip of rows, stay in registers while looping over A and B. */
static inline void subtract_strip(int k, const number *restrict A, const number *restrict B, int ldb, number *restrict C, int ldc) {
  lane c[8];
  for (int j = 0; j < 4; ++j) c[j] = LOAD(C + (size_t)ldc * j), c[4 + j] = LOAD(C + (size_t)ldc * j + LANES);
  for (int p = 0; p < k; ++p, A += STRIP) {
    const lane a = LOAD(A), d = LOAD(A + LANES);
    for (int j = 0; j < 4; ++j) {
      const number b = B[(size_t)ldb * j + p];
      MINUS_PRODUCT(c[j], a, b);
      MINUS_PRODUCT(c[4 + j], d, b);
    }
  }
  for (int j = 0; j < 4; ++j) STORE(C + (size_t)ldc * j, c[j]), STORE(C + (size_t)ldc * j + LANES, c[4 + j]);
}

static inline void subtract_half(int k, const number *restrict A, const number *restrict B, int ldb, number *restrict C, int ldc) {
  lane c[4];
  for (int j = 0; j < 4; ++j) c[j] = LOAD(C + (size_t)ldc * j);
  for (int p = 0; p < k; ++p, A += STRIP) {
    const lane a = LOAD(A);
    for (int j = 0; j < 4; ++j) MINUS_PRODUCT(c[j], a, B[(size_t)ldb * j + p]);
  }
  for (int j = 0; j < 4; ++j) STORE(C + (size_t)ldc * j, c[j]);
}

/* The same for the remaining rows, which do not fill a strip: in a padded copy. */
static void subtract_part(int rows, int k, const number *A, const number *B, int ldb, number *C, int ldc) {
  number copy[4 * STRIP] = {0};
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < rows; ++i) copy[STRIP * j + i] = C[(size_t)ldc * j + i];
  if (rows > LANES) subtract_strip(k, A, B, ldb, copy, STRIP);
  else subtract_half(k, A, B, ldb, copy, STRIP);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < rows; ++i) C[(size_t)ldc * j + i] = copy[STRIP * j + i];
}

static void subtract_some(int m, int n, int k, const number *restrict A, int lda, const number *restrict B, int ldb,
                          number *restrict C, int ldc) {
  for (int j = 0; j < n; ++j)
    for (int p = 0; p < k; ++p) {
      const number b = B[(size_t)ldb * j + p], *a = A + (size_t)lda * p;
      for (int i = 0; i < m; ++i) C[(size_t)ldc * j + i] -= a[i] * b;
    }
}

/* Strips of rows of A, each stored column by column; zeros fill the last one. */
static void pack(int rows, int depth, const number *restrict A, int lda, number *restrict packed) {
  for (int i = 0; i < rows; i += STRIP) {
    const int count = smaller(STRIP, rows - i);
    if (count == STRIP)
      for (int p = 0; p < depth; ++p, packed += STRIP) memcpy(packed, A + (size_t)lda * p + i, STRIP * sizeof(number));
    else
      for (int p = 0; p < depth; ++p, packed += STRIP)
        for (int l = 0; l < STRIP; ++l) packed[l] = l < count ? A[(size_t)lda * p + i + l] : 0;
  }
}

/* C -= A B for m x k and k x n matrices stored by columns: A in packed blocks that stay in the cache while looping over B. */
PL_NOINLINE static void subtract_columns(int m, int n, int k, const number *restrict A, int lda, const number *restrict B,
                                         int ldb, number *restrict C, int ldc) {
  number packed[ROWS * DEPTH];
  const int columns = n - n % 4;
  for (int p = 0; p < k; p += DEPTH) {
    const int depth = smaller(DEPTH, k - p);
    const number *a = A + (size_t)lda * p, *b = B + p;
    for (int begin = 0; columns && begin < m; begin += ROWS) {
      const int count = smaller(ROWS, m - begin);
      pack(count, depth, a + begin, lda, packed);
      for (int j = 0; j < columns; j += 4) {
        number *c = C + (size_t)ldc * j + begin;
        int i = 0;
        for (; i + STRIP <= count; i += STRIP)
          subtract_strip(depth, packed + (size_t)depth * i, b + (size_t)ldb * j, ldb, c + i, ldc);
        if (i < count) subtract_part(count - i, depth, packed + (size_t)depth * i, b + (size_t)ldb * j, ldb, c + i, ldc);
      }
    }
    subtract_some(m, n - columns, depth, a, lda, b + (size_t)ldb * columns, ldb, C + (size_t)ldc * columns, ldc);
  }
}

typedef struct product {
  int m, k, lda, ldb, ldc;
  const number *A, *B;
  number *C;
} product;

static void some_columns(const void *loop, int begin, int end) {
  const product *x = (const product *)loop;
  subtract_columns(x->m, end - begin, x->k, x->A, x->lda, x->B + (size_t)x->ldb * begin, x->ldb, x->C + (size_t)x->ldc * begin, x->ldc);
}

static void some_columns_apart(const void *loop, int begin, int end) {
  const unsigned mode = enter();
  some_columns(loop, begin, end);
  leave(mode);
}

/* The same, large products in several threads. */
static void subtract_product(int m, int n, int k, const number *A, int lda, const number *B, int ldb, number *C, int ldc) {
  const product x = {m, k, lda, ldb, ldc, A, B, C};
  if ((double)m * n * k < SHARED_FROM) some_columns(&x, 0, n);
  else pl_in_parts(n, (n / PARTS + 7) / 8 * 8, some_columns_apart, &x);
}

/* Half of k columns, rounded to full strips of the products. */
static int half(int k) { return k > 16 ? (k / 2 + 7) / 8 * 8 : (k / 2 + 3) / 4 * 4; }

/* X = L^-1 X for the unit lower triangle of k columns, n right-hand sides: first one half of the rows, then the other. */
static void lower_solve(int k, int n, const number *L, int ldl, number *X, int ldx) {
  if (k > 4) {
    const int h = half(k);
    lower_solve(h, n, L, ldl, X, ldx);
    subtract_product(k - h, n, h, L + h, ldl, X, ldx, X + h, ldx);
    lower_solve(k - h, n, L + (size_t)ldl * h + h, ldl, X + h, ldx);
    return;
  }
  for (int j = 0; j < n; ++j) {
    number *x = X + (size_t)ldx * j;
    for (int p = 0; p < k; ++p)
      for (int i = p + 1; i < k; ++i) x[i] -= L[(size_t)ldl * p + i] * x[p];
  }
}

static void swap_rows(number *X, int ld, int from, int to, int a, int b) {
  for (int j = from; j < to; ++j) {
    number *x = X + (size_t)ld * j, y = x[a];
    x[a] = x[b], x[b] = y;
  }
}

/* LU of columns `begin` to `end` of a front's own, rows exchanged among its pivots. */
static int factor_panel(pl_fronts *F, branch *of, const front *f, double smallest_share, number *A, number *U, int begin, int end) {
  const int k = f->pivots, rows = k + f->shared;
  for (int p = begin; p < end; ++p) {
    number *a = A + (size_t)rows * p, largest = 0, below = 0;
    int best = p;
    for (int i = p; i < k; ++i)
      if (fabs(a[i]) > largest) largest = fabs(a[i]), best = i;
    for (int i = k; i < rows; ++i) below = larger(fabs(a[i]), below);
    if (!(largest > F->least[f->first + p]) || !(largest >= smallest_share * below) || !isfinite(largest + below))
      return PL_SINGULAR;
    if (largest < of->share * below) of->share = largest / below;
    F->pivot[f->first + p] = best;
    if (best != p) swap_rows(A, rows, 0, k, p, best), swap_rows(U, k, 0, f->shared, p, best);
    const number inverse = 1 / a[p];
    for (int i = p + 1; i < rows; ++i) a[i] *= inverse;
    for (int j = p + 1; j < end; ++j) {
      number *restrict c = A + (size_t)rows * j;
      const number y = c[p];
      if (y != 0)
        for (int i = p + 1; i < rows; ++i) c[i] -= a[i] * y;
    }
  }
  return PL_OK;
}

/* The same, of many columns: first one half of them, then the other. */
static int factor_columns(pl_fronts *F, branch *of, const front *f, double smallest_share, number *A, number *U, int begin, int end) {
  if (end - begin <= PANEL) return factor_panel(F, of, f, smallest_share, A, U, begin, end);
  const int rows = f->pivots + f->shared, middle = begin + half(end - begin);
  const int status = factor_columns(F, of, f, smallest_share, A, U, begin, middle);
  if (status) return status;
  number *left = A + (size_t)rows * begin, *right = A + (size_t)rows * middle;
  lower_solve(middle - begin, end - middle, left + begin, rows, right + begin, rows);
  subtract_product(rows - middle, end - middle, middle - begin, left + middle, rows, right + begin, rows, right + middle, rows);
  return factor_columns(F, of, f, smallest_share, A, U, middle, end);
}

/* -- numbers ------------------------------------------------------------------------------------------------------ */

/* Adds the rows from `begin` to `end` of a column, run by run, at the mapped positions. */
static inline void add_runs(const branch *of, int begin, int end, const number *restrict x, number *restrict out) {
  for (int i = begin; i < end;) {
    number *restrict to = out + of->map[i] - i;
    for (const int last = of->run[i]; i < last; ++i) to[i] += x[i];
  }
}

/* Add the Schur complement of a child to its parent's front. */
PL_NOINLINE static void extend_add(pl_fronts *F, const branch *of, const front *c, const front *f) {
  const int m = c->shared, k = f->pivots, rows = k + f->shared;
  const int *index = F->index + c->index, *up = F->index + f->index;
  int *map = of->map, *run = of->run, own = 0;
  const number *left = (number *)F->stack + c->left;
  number *A = (number *)F->factors + f->at, *U = A + (size_t)rows * k, *rest = (number *)F->stack + f->rest;
  for (int i = 0, j = 0; i < m; ++i) {
    if (index[i] < f->first + k) map[i] = index[i] - f->first, own = i + 1;
    else {
      while (up[j] != index[i]) ++j;
      map[i] = j;
    }
  }
  for (int i = m - 1; i >= 0; --i) run[i] = i + 1 < m && i + 1 != own && map[i + 1] == map[i] + 1 ? run[i + 1] : i + 1;
  for (int j = 0; j < m; ++j) {
    const number *x = left + (size_t)m * j;
    number *above = j < own ? A + (size_t)rows * map[j] : U + (size_t)k * map[j];
    add_runs(of, 0, own, x, above);
    add_runs(of, own, m, x, j < own ? above + k : rest + (size_t)f->shared * map[j]);
  }
}

/* A front's own numbers from the scaled matrix, and the lower bounds of its pivots. */
static void load(pl_fronts *F, int s, const pl_scaled_matrix *matrix) {
  const front *f = F->fronts + s;
  const int end = s + 1 < F->count ? f[1].values : F->count_of_values;
  const double *values = matrix->values, *row_scale = matrix->row_scale, *column_scale = matrix->column_scale;
  number *A = (number *)F->factors + f->at;
  memset(A, 0, (size_t)f->pivots * (f->pivots + 2 * (size_t)f->shared) * sizeof(number));
  for (const entry *e = F->entries + f->values; e < F->entries + end; ++e)
    A[e->slot] = (number)(values[e->value] * row_scale[e->row] * column_scale[e->column]);
  for (int p = f->first; p < f->first + f->pivots; ++p) {
    const int j = F->order[p];
    double top = 0;
    for (int n = F->colptr[j]; n < F->colptr[j + 1]; ++n) top = larger(fabs(values[n] * row_scale[F->row[n]] * column_scale[j]), top);
    F->least[p] = matrix->singular_below * top;
  }
}

static int eliminate(pl_fronts *F, branch *of, int s, const pl_scaled_matrix *matrix) {
  const front *f = F->fronts + s;
  const int k = f->pivots, m = f->shared, rows = k + m;
  const size_t size = (size_t)m * m * sizeof(number);
  number *A = (number *)F->factors + f->at, *U = A + (size_t)rows * k, *rest = (number *)F->stack + f->rest;
  load(F, s, matrix);
  memset(rest, 0, size);
  for (int c = f->child; c >= 0; c = F->fronts[c].sibling) extend_add(F, of, F->fronts + c, f);
  if (factor_columns(F, of, f, matrix->smallest_share, A, U, 0, k)) return PL_SINGULAR;
  if (!m) return PL_OK;
  lower_solve(k, m, A, rows, U, k);
  subtract_product(m, m, k, A + k, rows, U, k, rest, m);
  if (f->left != f->rest) memmove((number *)F->stack + f->left, rest, size);
  return PL_OK;
}

static void eliminate_branch(pl_fronts *F, int number_of, const pl_scaled_matrix *matrix) {
  branch *of = F->branches + number_of;
  of->share = 1, of->status = PL_OK;
  for (int s = of->begin; s < of->end && !of->status; ++s)
    if (F->fronts[s].branch == number_of) of->status = eliminate(F, of, s, matrix);
}

typedef struct subtrees {
  pl_fronts *F;
  const pl_scaled_matrix *matrix;
} subtrees;

static void some_subtrees(const void *loop, int begin, int end) {
  const subtrees *x = (const subtrees *)loop;
  const unsigned mode = enter();
  for (int b = begin; b < end; ++b) eliminate_branch(x->F, b, x->matrix);
  leave(mode);
}

static int factor(pl_fronts *F, const pl_scaled_matrix *matrix) {
  const subtrees all = {F, matrix};
  if (F->subtrees) pl_in_parts(F->subtrees, 1, some_subtrees, &all);
  F->share = 1;
  for (int b = 0; b <= F->subtrees; ++b) {
    if (b == F->subtrees) eliminate_branch(F, b, matrix);
    if (F->branches[b].status) return F->branches[b].status;
    F->share = F->branches[b].share < F->share ? F->branches[b].share : F->share;
  }
  return PL_OK;
}

/* y -= A x for m x k numbers stored by columns. */
static void subtract_vector(int m, int k, const number *restrict A, int lda, const number *restrict x, number *restrict y) {
  int p = 0;
  for (; p + 4 <= k; p += 4) {
    const number *a = A + (size_t)lda * p, *b = a + lda, *c = b + lda, *d = c + lda;
    const number x0 = x[p], x1 = x[p + 1], x2 = x[p + 2], x3 = x[p + 3];
    for (int i = 0; i < m; ++i) y[i] -= a[i] * x0 + b[i] * x1 + c[i] * x2 + d[i] * x3;
  }
  for (; p < k; ++p)
    for (int i = 0; i < m; ++i) y[i] -= A[(size_t)lda * p + i] * x[p];
}

/* own = L^-1 own for the unit lower triangle, or U^-1 own for the upper one, of k columns. */
static void forward(int k, const number *A, int lda, number *own) {
  for (int b = 0; b < k; b += 4) {
    const int end = smaller(b + 4, k);
    for (int p = b; p < end; ++p)
      for (int i = p + 1; i < end; ++i) own[i] -= A[(size_t)lda * p + i] * own[p];
    subtract_vector(k - end, end - b, A + (size_t)lda * b + end, lda, own + b, own + end);
  }
}

static void backward(int k, const number *A, int lda, number *own) {
  for (int end = k; end > 0; end -= 4) {
    const int b = end > 4 ? end - 4 : 0;
    for (int p = end - 1; p >= b; --p) {
      const number z = own[p] /= A[(size_t)lda * p + p];
      for (int i = b; i < p; ++i) own[i] -= A[(size_t)lda * p + i] * z;
    }
    subtract_vector(b, end - b, A + (size_t)lda * b, lda, own + b, own);
  }
}

/* Apply L^-1 to one branch, and update the rows above it. */
static void forward_branch(const pl_fronts *F, int number_of) {
  const branch *of = F->branches + number_of;
  number *y = (number *)F->y, *shared = (number *)of->shared;
  for (int s = of->begin; s < of->end; ++s) {
    const front *f = F->fronts + s;
    if (f->branch != number_of) continue;
    const int k = f->pivots, m = f->shared, rows = k + m, *target = F->target + f->rows;
    const number *A = (number *)F->factors + f->at;
    number *own = y + f->first;
    for (int p = 0; p < k; ++p) {
      const int best = F->pivot[f->first + p];
      const number z = own[best];
      own[best] = own[p], own[p] = z;
    }
    forward(k, A, rows, own);
    memset(shared, 0, m * sizeof(number));
    subtract_vector(m, k, A + k, rows, own, shared);
    for (int i = 0; i < m; ++i) y[target[i]] += shared[i];
  }
}

/* Apply U^-1 to one branch, after those above it are solved. */
static void backward_branch(const pl_fronts *F, int number_of) {
  const branch *of = F->branches + number_of;
  number *y = (number *)F->y, *shared = (number *)of->shared;
  for (int s = of->end - 1; s >= of->begin; --s) {
    const front *f = F->fronts + s;
    if (f->branch != number_of) continue;
    const int k = f->pivots, m = f->shared, rows = k + m, *index = F->index + f->index;
    const number *A = (number *)F->factors + f->at;
    number *own = y + f->first;
    for (int i = 0; i < m; ++i) shared[i] = y[index[i]];
    subtract_vector(k, m, A + (size_t)rows * k, k, shared, own);
    backward(k, A, rows, own);
  }
}

static void forward_subtrees(const void *loop, int begin, int end) {
  const unsigned mode = enter();
  for (int b = begin; b < end; ++b) forward_branch((const pl_fronts *)loop, b);
  leave(mode);
}

static void backward_subtrees(const void *loop, int begin, int end) {
  const unsigned mode = enter();
  for (int b = begin; b < end; ++b) backward_branch((const pl_fronts *)loop, b);
  leave(mode);
}

static void solve(pl_fronts *F, double *x) {
  const int n = F->n;
  number *y = (number *)F->y;
  for (int k = 0; k < n; ++k) y[k] = (number)x[F->order[k]];
  memset(y + n, 0, F->above * sizeof(number));
  if (F->subtrees) pl_in_parts(F->subtrees, 1, forward_subtrees, F);
  for (int b = 0; b < F->subtrees; ++b) {
    const front *last = F->fronts + F->branches[b].end - 1;
    const number *sums = y + n + F->branches[b].above;
    for (int i = 0; i < last->shared; ++i) y[F->index[last->index + i]] += sums[i];
  }
  forward_branch(F, F->subtrees);
  backward_branch(F, F->subtrees);
  if (F->subtrees) pl_in_parts(F->subtrees, 1, backward_subtrees, F);
  for (int k = 0; k < n; ++k) x[F->order[k]] = y[k];
}
