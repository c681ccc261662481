/* LU factorization by fronts (Duff and Reid 1983) for a matrix with a fixed symmetric pattern.
 *
 * Columns with one structure are eliminated together, as one dense front: k pivots of its own above m rows that it shares
 * with fronts further up. What is left of the shared part is added into the front of its parent. All structure is found
 * once; a factorization is loops over small dense matrices. Rows are exchanged among a front's own pivots only: where
 * that is not enough the factorization is refused, and linear.c pivots over the whole column.
 *
 * A front keeps its own columns (k + m rows) and then its own rows of the shared columns (k x m), column by column.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "fronts.h"
#include "pliant.h"
#include "threads.h"

#define PANEL 8            /* columns that are eliminated one by one */
#define ROWS 48            /* of a product at a time ... */
#define DEPTH 64           /* ... and columns of its left factor: together they fill most of the first cache */
#define PACKED_FROM 32     /* columns from which it pays to copy them there */
#define SHARED_FROM 1e6    /* multiplications from which a product is done in several threads ... */
#define PARTS 6            /* ... in about so many parts */
#define MERGE_UP_TO 12     /* fronts of fewer pivots are merged with their parent in any case ... */
#define MERGE_ZEROS 0.2    /* ... others if at most this share of the merged front is zero */

typedef struct front {
  int first, pivots, shared; /* first pivot, how many, and the number of rows shared with fronts above */
  int parent, child, sibling; /* fronts, -1 for none: `child` is the last of its children, `sibling` the one before */
  int values;                /* first of the matrix's values that belong to it in `entries` */
  size_t index;              /* where its shared rows stand in `index` */
  size_t at;                 /* where its numbers stand in `factors` */
  double zeros;              /* of them, those that are there only because fronts were merged */
} front;

/* One value of the matrix: which, its row and column, and where it goes in its front. */
typedef struct entry {
  int value, row, column, slot;
} entry;

struct pl_fronts {
  int n, count;
  int *order;      /* column at each place */
  front *fronts;
  int *index;      /* shared rows of all fronts, as places in ascending order */
  entry *entries;  /* front by front */
  double *factors, *stack, *least, *y, *shared;
  size_t size, waiting; /* numbers in `factors`, and at most in `stack` */
  int count_of_values, widest; /* the largest number of shared rows */
  int *map, *pivot;
  double share;
  void *block;     /* holds all arrays but `fronts` and `index` */
  size_t bytes;    /* of that block */
};

/* What is needed while the structure is found. */
typedef struct structure {
  int *begin, *list, *place, *parent, *scratch[4];
  size_t *left;
} structure;

static void place_structure(int n, int entries, structure *t, pl_memory *m) {
  t->begin = pl_ints(m, (size_t)n + 2), t->list = pl_ints(m, 2 * (size_t)entries);
  t->place = pl_ints(m, n), t->parent = pl_ints(m, n), t->left = pl_place(m, ((size_t)n + 1) * sizeof(size_t));
  for (int i = 0; i < 4; ++i) t->scratch[i] = pl_ints(m, n);
}

/* -- structure --------------------------------------------------------------------------------------------------- */

/* Neighbours of every column in the symmetric pattern, as (begin, list); begin has n + 2 zeros. */
static void neighbours(int n, const int *colptr, const int *row, int *begin, int *list) {
  for (int j = 0; j < n; ++j)
    for (int k = colptr[j]; k < colptr[j + 1]; ++k)
      if (row[k] != j) begin[j + 2]++, begin[row[k] + 2]++;
  for (int j = 0; j < n; ++j) begin[j + 2] += begin[j + 1];
  for (int j = 0; j < n; ++j)
    for (int k = colptr[j]; k < colptr[j + 1]; ++k)
      if (row[k] != j) list[begin[j + 1]++] = row[k], list[begin[row[k] + 1]++] = j;
}

/* Parent of every place in the elimination tree (Liu 1986). */
static void elimination_tree(int n, const structure *t, const int *order) {
  int *parent = t->parent, *ancestor = t->scratch[0];
  const int *begin = t->begin, *list = t->list, *place = t->place;
  for (int k = 0; k < n; ++k) {
    parent[k] = ancestor[k] = -1;
    for (int i = begin[order[k]]; i < begin[order[k] + 1]; ++i)
      for (int j = place[list[i]], next; j >= 0 && j < k; j = next) {
        next = ancestor[j], ancestor[j] = k;
        if (next < 0) parent[j] = k;
        else if (next == k) break;
      }
  }
}

/* Reorders so that every subtree is contiguous, children before parents, and otherwise as it was. */
static void postorder(int n, const structure *t, int *order) {
  int *head = t->scratch[0], *next = t->scratch[1], *stack = t->scratch[2], *out = t->scratch[3], count = 0;
  const int *parent = t->parent;
  for (int k = 0; k < n; ++k) head[k] = -1;
  for (int k = n - 1; k >= 0; --k)
    if (parent[k] >= 0) next[k] = head[parent[k]], head[parent[k]] = k;
  for (int root = 0; root < n; ++root) {
    if (parent[root] >= 0) continue;
    int depth = 0;
    stack[0] = root;
    while (depth >= 0) {
      const int k = stack[depth];
      if (head[k] >= 0) stack[++depth] = head[k], head[k] = next[head[k]];
      else out[count++] = order[k], --depth;
    }
  }
  memcpy(order, out, n * sizeof(int));
}

static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Zeros that a front has when it is merged with the one right before it, its child. */
static double merged_zeros(const front *child, const front *f) {
  return child->zeros + f->zeros + 2.0 * child->pivots * (f->pivots + f->shared - child->shared);
}

static int worth_merging(const front *child, const front *f) {
  const double pivots = child->pivots + f->pivots, entries = pivots * (pivots + 2.0 * f->shared);
  return pivots <= MERGE_UP_TO || merged_zeros(child, f) <= MERGE_ZEROS * entries;
}

/* Fronts with their shared rows: columns of one structure together, then small ones merged. */
static int find_fronts(pl_fronts *F, const structure *t) {
  const int n = F->n, *begin = t->begin, *list = t->list, *place = t->place;
  size_t room = 4 * (size_t)n + 16, used = 0;
  int *index = malloc(room * sizeof(int)), *mark = t->scratch[0], *child = t->scratch[1], *sibling = t->scratch[2];
  int count = 0;
  front *fronts = malloc(((size_t)n + 1) * sizeof(front));
  F->fronts = fronts, F->index = index;
  if (!fronts || !index) return PL_OUT_OF_MEMORY;
  for (int k = 0; k < n; ++k) mark[k] = child[k] = -1;
  /* child[k]: a front whose first shared row is k, as a list through sibling */
  for (int k = 0; k < n; ++k) {
    const size_t start = used;
    if (used + n > room) {
      room = 2 * (used + n);
      index = realloc(F->index, room * sizeof(int));
      if (!index) return PL_OUT_OF_MEMORY;
      F->index = index;
    }
    mark[k] = k;
    for (int i = begin[F->order[k]]; i < begin[F->order[k] + 1]; ++i) {
      const int j = place[list[i]];
      if (j > k && mark[j] != k) mark[j] = k, index[used++] = j;
    }
    for (int c = child[k]; c >= 0; c = sibling[c])
      for (int i = 0; i < fronts[c].shared; ++i) {
        const int j = index[fronts[c].index + i];
        if (mark[j] != k) mark[j] = k, index[used++] = j;
      }
    const int shared = (int)(used - start);
    qsort(index + start, shared, sizeof(int), ascending);
    front *last = fronts + count - 1;
    if (count && last->shared == shared + 1 && index[last->index] == k) { /* same structure: one more pivot */
      memmove(index + last->index, index + start, shared * sizeof(int));
      used = last->index + shared;
      last->pivots++, last->shared = shared;
    } else {
      fronts[count] = (front){.first = k, .pivots = 1, .shared = shared, .index = start};
      last = fronts + count++;
    }
    if (shared) { /* listed under its first shared row; when that row joins the front it is listed anew */
      const int c = (int)(last - fronts), up = index[last->index];
      sibling[c] = child[up], child[up] = c;
    }
  }
  /* merge with parents that follow at once */
  int kept = 0;
  for (int s = 0; s < count; ++s) {
    front f = fronts[s];
    while (kept && fronts[kept - 1].shared && index[fronts[kept - 1].index] < f.first + f.pivots &&
           worth_merging(fronts + kept - 1, &f)) {
      --kept;
      f.zeros = merged_zeros(fronts + kept, &f);
      f.first = fronts[kept].first, f.pivots += fronts[kept].pivots;
    }
    fronts[kept++] = f;
  }
  F->count = kept;
  return PL_OK;
}

static void place_numbers(pl_fronts *F, pl_memory *m) {
  const size_t n = F->n;
  F->entries = pl_place(m, F->count_of_values * sizeof(entry)), F->shared = pl_doubles(m, F->widest);
  F->factors = pl_doubles(m, F->size), F->stack = pl_doubles(m, F->waiting);
  F->least = pl_doubles(m, n), F->y = pl_doubles(m, n), F->map = pl_ints(m, n), F->pivot = pl_ints(m, n);
}

/* Where a value at these places of row and column goes in its front. */
static int slot_of(const pl_fronts *F, const front *f, int r, int c) {
  const int height = f->pivots + f->shared, other = r < c ? c : r;
  int local = other - f->first;
  if (local >= f->pivots) {
    const int *found = bsearch(&other, F->index + f->index, f->shared, sizeof(int), ascending);
    local = f->pivots + (int)(found - (F->index + f->index));
  }
  if (c - f->first < f->pivots) return height * (c - f->first) + (r == other ? local : r - f->first); /* one of its own columns */
  return height * f->pivots + f->pivots * (local - f->pivots) + (r - f->first);
}

/* The matrix's values front by front, in the order of the matrix within each. */
static void place_values(pl_fronts *F, const int *colptr, const int *row, const int *place, const int *front_of) {
  for (int pass = 0; pass < 2; ++pass) { /* count them, then put them down */
    for (int j = 0; j < F->n; ++j)
      for (int k = colptr[j]; k < colptr[j + 1]; ++k) {
        const int r = place[row[k]], c = place[j];
        front *f = F->fronts + front_of[r < c ? r : c];
        if (pass) F->entries[f->values] = (entry){.value = k, .row = row[k], .column = j, .slot = slot_of(F, f, r, c)};
        f->values++;
      }
    for (int s = F->count - 1, end = F->count_of_values; !pass && s >= 0; --s) end -= F->fronts[s].values, F->fronts[s].values = end;
  }
  for (int s = F->count - 1; s > 0; --s) F->fronts[s].values = F->fronts[s - 1].values;
  if (F->count) F->fronts[0].values = 0;
}

/* Where everything stands, and the room that fronts waiting for their parents take at most. */
static int lay_out(pl_fronts *F, const int *colptr, const int *row, const structure *t) {
  const int n = F->n, *place = t->place;
  int *front_of = t->scratch[0];
  size_t waiting = 0, *left = t->left;
  memset(left, 0, (size_t)F->count * sizeof(size_t));
  F->size = 0;
  for (int s = 0; s < F->count; ++s) {
    front *f = F->fronts + s;
    for (int k = f->first; k < f->first + f->pivots; ++k) front_of[k] = s;
    f->at = F->size;
    F->size += (size_t)f->pivots * (f->pivots + 2 * (size_t)f->shared);
    if (f->shared > F->widest) F->widest = f->shared;
  }
  for (int s = 0; s < F->count; ++s) {
    front *f = F->fronts + s;
    f->parent = f->shared ? front_of[F->index[f->index]] : -1;
    f->child = f->sibling = -1;
    waiting += (size_t)f->shared * f->shared;
    if (waiting > F->waiting) F->waiting = waiting;
    waiting -= left[s];
    if (f->parent >= 0) left[f->parent] += (size_t)f->shared * f->shared;
  }
  for (int s = 0; s < F->count; ++s)
    if (F->fronts[s].parent >= 0) {
      front *parent = F->fronts + F->fronts[s].parent;
      F->fronts[s].sibling = parent->child, parent->child = s;
    }
  F->count_of_values = colptr[n];
  pl_memory m = {0};
  place_numbers(F, &m);
  F->bytes = m.used;
  F->block = pl_block(&m);
  if (!F->block) return PL_OUT_OF_MEMORY;
  place_numbers(F, &m);
  place_values(F, colptr, row, place, front_of);
  return PL_OK;
}

/* The whole matrix as one front. */
static int one_front(pl_fronts *F, const structure *t) {
  for (int k = 0; k < F->n; ++k) F->order[k] = t->place[k] = k;
  F->fronts = calloc(1, sizeof(front)), F->index = malloc(sizeof(int)), F->count = F->n > 0;
  if (!F->fronts || !F->index) return PL_OUT_OF_MEMORY;
  F->fronts[0] = (front){.pivots = F->n};
  return PL_OK;
}

static int several_fronts(pl_fronts *F, const int *colptr, const int *row, const structure *t) {
  const int n = F->n;
  neighbours(n, colptr, row, t->begin, t->list);
  for (int k = 0; k < n; ++k) t->place[F->order[k]] = k;
  elimination_tree(n, t, F->order);
  postorder(n, t, F->order);
  for (int k = 0; k < n; ++k) t->place[F->order[k]] = k;
  return find_fronts(F, t);
}

pl_fronts *pl_fronts_new(int n, const int *colptr, const int *row, int *order, int whole) {
  pl_memory m = {0};
  structure t;
  place_structure(n, whole ? 0 : colptr[n], &t, &m);
  pl_fronts *F = calloc(1, sizeof *F);
  void *temporary = pl_block(&m);
  int status = F && temporary ? PL_OK : PL_OUT_OF_MEMORY;
  if (!status) {
    place_structure(n, whole ? 0 : colptr[n], &t, &m);
    F->n = n, F->order = order;
    status = whole ? one_front(F, &t) : several_fronts(F, colptr, row, &t);
  }
  if (!status) status = lay_out(F, colptr, row, &t);
  free(temporary);
  if (!status) return F;
  pl_fronts_free(F);
  return NULL;
}

void pl_fronts_free(pl_fronts *F) {
  if (!F) return;
  free(F->fronts), free(F->index), free(F->block), free(F);
}

double pl_fronts_share(const pl_fronts *F) { return F->share; }

size_t pl_fronts_bytes(const pl_fronts *F) {
  size_t shared = 0;
  for (int s = 0; s < F->count; ++s) shared += F->fronts[s].shared;
  return sizeof *F + F->count * sizeof(front) + shared * sizeof(int) + F->bytes;
}

/* -- dense kernels ------------------------------------------------------------------------------------------------ */

#ifdef __GNUC__
typedef double four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));
#define LOAD4(x) (*(const four *)(x))
#define STORE4(x, y) (*(four *)(x) = (y))
#define ALL4(x) ((four){x, x, x, x})
#define MINUS_PRODUCT(c, a, b) ((c) -= (a) * (b))
#else
typedef struct four {
  double x[4];
} four;
#define LOAD4(x) (*(const four *)(x))
#define STORE4(x, y) (*(four *)(x) = (y))
#define ALL4(y) ((four){{y, y, y, y}})
#define MINUS_PRODUCT(c, a, b) \
  do \
    for (int l = 0; l < 4; ++l) (c).x[l] -= (a).x[l] * (b).x[l]; \
  while (0)
#endif

/* 8 x 4 and 4 x 4 blocks of C stay in registers while all of A and B go by. */
static inline void subtract_8x4(int k, const double *restrict A, int lda, const double *restrict B, int ldb,
                                double *restrict C, int ldc) {
  four c[8];
  for (int j = 0; j < 4; ++j) c[j] = LOAD4(C + (size_t)ldc * j), c[4 + j] = LOAD4(C + (size_t)ldc * j + 4);
  for (int p = 0; p < k; ++p, A += lda) {
    const four a = LOAD4(A), d = LOAD4(A + 4);
    for (int j = 0; j < 4; ++j) {
      const four b = ALL4(B[(size_t)ldb * j + p]);
      MINUS_PRODUCT(c[j], a, b);
      MINUS_PRODUCT(c[4 + j], d, b);
    }
  }
  for (int j = 0; j < 4; ++j) STORE4(C + (size_t)ldc * j, c[j]), STORE4(C + (size_t)ldc * j + 4, c[4 + j]);
}

static inline void subtract_4x4(int k, const double *restrict A, int lda, const double *restrict B, int ldb,
                                double *restrict C, int ldc) {
  four c[4];
  for (int j = 0; j < 4; ++j) c[j] = LOAD4(C + (size_t)ldc * j);
  for (int p = 0; p < k; ++p, A += lda) {
    const four a = LOAD4(A);
    for (int j = 0; j < 4; ++j) MINUS_PRODUCT(c[j], a, ALL4(B[(size_t)ldb * j + p]));
  }
  for (int j = 0; j < 4; ++j) STORE4(C + (size_t)ldc * j, c[j]);
}

static inline void subtract_some(int m, int n, int k, const double *restrict A, int lda, const double *restrict B, int ldb,
                                 double *restrict C, int ldc) {
  for (int j = 0; j < n; ++j)
    for (int p = 0; p < k; ++p) {
      const double b = B[(size_t)ldb * j + p], *a = A + (size_t)lda * p;
      for (int i = 0; i < m; ++i) C[(size_t)ldc * j + i] -= a[i] * b;
    }
}

/* Strips of eight rows of A, each stored row of eight after row of eight. */
static void pack(int rows, int depth, const double *restrict A, int lda, double *restrict packed) {
  for (int i = 0; i < rows; i += 8)
    for (int p = 0; p < depth; ++p, packed += 8) memcpy(packed, A + (size_t)lda * p + i, 8 * sizeof(double));
}

/* C -= A B for m x k and k x n matrices stored by columns: A in blocks that are packed and stay in the cache while B goes by. */
PL_NOINLINE static void subtract_columns(int m, int n, int k, const double *restrict A, int lda, const double *restrict B,
                                         int ldb, double *restrict C, int ldc) {
  double packed[ROWS * DEPTH];
  const int columns = n - n % 4, rows = m - m % 8, is_packed = n >= PACKED_FROM && k >= PACKED_FROM;
  for (int p = 0; p < k; p += DEPTH) {
    const int depth = smaller(DEPTH, k - p);
    const double *a = A + (size_t)lda * p, *b = B + p;
    for (int begin = 0; begin < rows; begin += ROWS) {
      const int count = smaller(ROWS, rows - begin);
      if (is_packed) pack(count, depth, a + begin, lda, packed);
      for (int j = 0; j < columns; j += 4)
        for (int i = 0; i < count; i += 8)
          subtract_8x4(depth, is_packed ? packed + (size_t)depth * i : a + begin + i, is_packed ? 8 : lda, b + (size_t)ldb * j, ldb,
                       C + (size_t)ldc * j + begin + i, ldc);
    }
    int left = rows;
    for (; left + 4 <= m; left += 4)
      for (int j = 0; j < columns; j += 4)
        subtract_4x4(depth, a + left, lda, b + (size_t)ldb * j, ldb, C + (size_t)ldc * j + left, ldc);
    subtract_some(m - left, columns, depth, a + left, lda, b, ldb, C + left, ldc);
    subtract_some(m, n - columns, depth, a, lda, b + (size_t)ldb * columns, ldb, C + (size_t)ldc * columns, ldc);
  }
}

typedef struct product {
  int m, k, lda, ldb, ldc;
  const double *A, *B;
  double *C;
} product;

static void some_columns(const void *loop, int begin, int end) {
  const product *x = loop;
  subtract_columns(x->m, end - begin, x->k, x->A, x->lda, x->B + (size_t)x->ldb * begin, x->ldb, x->C + (size_t)x->ldc * begin, x->ldc);
}

/* The same, large products in several threads. */
static void subtract_product(int m, int n, int k, const double *A, int lda, const double *B, int ldb, double *C, int ldc) {
  const product x = {m, k, lda, ldb, ldc, A, B, C};
  if ((double)m * n * k < SHARED_FROM) some_columns(&x, 0, n);
  else pl_in_parts(n, (n / PARTS + 7) / 8 * 8, some_columns, &x);
}

/* Half of k columns, in whole strips of the products. */
static int half(int k) { return k > 16 ? (k / 2 + 7) / 8 * 8 : (k / 2 + 3) / 4 * 4; }

/* X = L^-1 X for the unit lower triangle of k columns, n right-hand sides: first one half of the rows, then the other. */
static void lower_solve(int k, int n, const double *L, int ldl, double *X, int ldx) {
  if (k > 4) {
    const int h = half(k);
    lower_solve(h, n, L, ldl, X, ldx);
    subtract_product(k - h, n, h, L + h, ldl, X, ldx, X + h, ldx);
    lower_solve(k - h, n, L + (size_t)ldl * h + h, ldl, X + h, ldx);
    return;
  }
  for (int j = 0; j < n; ++j) {
    double *x = X + (size_t)ldx * j;
    for (int p = 0; p < k; ++p)
      for (int i = p + 1; i < k; ++i) x[i] -= L[(size_t)ldl * p + i] * x[p];
  }
}

static void swap_rows(double *X, int ld, int from, int to, int a, int b) {
  for (int j = from; j < to; ++j) {
    double *x = X + (size_t)ld * j, y = x[a];
    x[a] = x[b], x[b] = y;
  }
}

/* LU of columns `begin` to `end` of a front's own, rows exchanged among its pivots. */
static int factor_panel(pl_fronts *F, const front *f, double smallest_share, double *A, double *U, int begin, int end) {
  const int k = f->pivots, rows = k + f->shared;
  for (int p = begin; p < end; ++p) {
    double *a = A + (size_t)rows * p, largest = 0, below = 0;
    int best = p;
    for (int i = p; i < k; ++i)
      if (fabs(a[i]) > largest) largest = fabs(a[i]), best = i;
    for (int i = k; i < rows; ++i) below = larger(fabs(a[i]), below);
    if (!(largest > F->least[f->first + p]) || !(largest >= smallest_share * below) || !isfinite(largest + below))
      return PL_SINGULAR;
    if (largest < F->share * below) F->share = largest / below;
    F->pivot[f->first + p] = best;
    if (best != p) swap_rows(A, rows, 0, k, p, best), swap_rows(U, k, 0, f->shared, p, best);
    const double inverse = 1 / a[p];
    for (int i = p + 1; i < rows; ++i) a[i] *= inverse;
    for (int j = p + 1; j < end; ++j) {
      double *restrict c = A + (size_t)rows * j;
      const double y = c[p];
      if (y != 0)
        for (int i = p + 1; i < rows; ++i) c[i] -= a[i] * y;
    }
  }
  return PL_OK;
}

/* The same, of many columns: first one half of them, then the other. */
static int factor_columns(pl_fronts *F, const front *f, double smallest_share, double *A, double *U, int begin, int end) {
  if (end - begin <= PANEL) return factor_panel(F, f, smallest_share, A, U, begin, end);
  const int rows = f->pivots + f->shared, middle = begin + half(end - begin);
  const int status = factor_columns(F, f, smallest_share, A, U, begin, middle);
  if (status) return status;
  double *left = A + (size_t)rows * begin, *right = A + (size_t)rows * middle;
  lower_solve(middle - begin, end - middle, left + begin, rows, right + begin, rows);
  subtract_product(rows - middle, end - middle, middle - begin, left + middle, rows, right + begin, rows, right + middle, rows);
  return factor_columns(F, f, smallest_share, A, U, middle, end);
}

/* -- numbers ------------------------------------------------------------------------------------------------------ */

/* Adds what a child left into its parent's front. */
static void extend_add(pl_fronts *F, const front *c, const front *f, const double *left, double *rest) {
  const int m = c->shared, k = f->pivots, rows = k + f->shared;
  const int *index = F->index + c->index;
  int *map = F->map, own = 0;
  double *A = F->factors + f->at, *U = A + (size_t)rows * k;
  const int *up = F->index + f->index;
  for (int i = 0, j = 0; i < m; ++i) {
    if (index[i] < f->first + k) map[i] = index[i] - f->first, own = i + 1;
    else {
      while (up[j] != index[i]) ++j;
      map[i] = j;
    }
  }
  for (int j = 0; j < m; ++j) {
    const double *x = left + (size_t)m * j;
    if (j < own) {
      double *a = A + (size_t)rows * map[j];
      for (int i = 0; i < own; ++i) a[map[i]] += x[i];
      for (int i = own; i < m; ++i) a[k + map[i]] += x[i];
    } else {
      double *u = U + (size_t)k * map[j], *r = rest + (size_t)f->shared * map[j];
      for (int i = 0; i < own; ++i) u[map[i]] += x[i];
      for (int i = own; i < m; ++i) r[map[i]] += x[i];
    }
  }
}

/* A front's own numbers from the scaled matrix; `top` keeps the largest value of each column so far. */
static void load(pl_fronts *F, int s, const double *values, const double *row_scale, const double *column_scale, double *top) {
  const front *f = F->fronts + s;
  const int end = s + 1 < F->count ? f[1].values : F->count_of_values;
  double *A = F->factors + f->at;
  memset(A, 0, (size_t)f->pivots * (f->pivots + 2 * (size_t)f->shared) * sizeof(double));
  for (const entry *e = F->entries + f->values; e < F->entries + end; ++e) {
    const double y = values[e->value] * row_scale[e->row] * column_scale[e->column];
    A[e->slot] = y, top[e->column] = larger(fabs(y), top[e->column]);
  }
}

int pl_fronts_factor(pl_fronts *F, const double *values, const double *row_scale, const double *column_scale,
                     double singular_below, double smallest_share) {
  double *end = F->stack, *top = F->y; /* by column */
  memset(top, 0, F->n * sizeof(double));
  F->share = 1;
  for (int s = 0; s < F->count; ++s) {
    const front *f = F->fronts + s;
    const int k = f->pivots, m = f->shared, rows = k + m;
    double *A = F->factors + f->at, *U = A + (size_t)rows * k, *rest = end, *children = end;
    load(F, s, values, row_scale, column_scale, top);
    /* what stands above the diagonal of these columns was loaded with the fronts before */
    for (int p = f->first; p < f->first + k; ++p) F->least[p] = singular_below * top[F->order[p]];
    memset(rest, 0, (size_t)m * m * sizeof(double));
    /* children stand on the stack right below, the last one on top */
    for (int c = f->child; c >= 0; c = F->fronts[c].sibling) {
      const front *child = F->fronts + c;
      children -= (size_t)child->shared * child->shared;
      extend_add(F, child, f, children, rest);
    }
    if (factor_columns(F, f, smallest_share, A, U, 0, k)) return PL_SINGULAR;
    if (m) {
      lower_solve(k, m, A, rows, U, k);
      subtract_product(m, m, k, A + k, rows, U, k, rest, m);
      if (children != rest) memmove(children, rest, (size_t)m * m * sizeof(double));
    }
    end = children + (size_t)m * m;
  }
  return PL_OK;
}

/* y -= A x for m x k numbers stored by columns. */
static void subtract_vector(int m, int k, const double *restrict A, int lda, const double *restrict x, double *restrict y) {
  int p = 0;
  for (; p + 4 <= k; p += 4) {
    const double *a = A + (size_t)lda * p, *b = a + lda, *c = b + lda, *d = c + lda;
    const double x0 = x[p], x1 = x[p + 1], x2 = x[p + 2], x3 = x[p + 3];
    for (int i = 0; i < m; ++i) y[i] -= a[i] * x0 + b[i] * x1 + c[i] * x2 + d[i] * x3;
  }
  for (; p < k; ++p)
    for (int i = 0; i < m; ++i) y[i] -= A[(size_t)lda * p + i] * x[p];
}

/* own = L^-1 own for the unit lower triangle, or U^-1 own for the upper one, of k columns. */
static void forward(int k, const double *A, int lda, double *own) {
  for (int b = 0; b < k; b += 4) {
    const int end = smaller(b + 4, k);
    for (int p = b; p < end; ++p)
      for (int i = p + 1; i < end; ++i) own[i] -= A[(size_t)lda * p + i] * own[p];
    subtract_vector(k - end, end - b, A + (size_t)lda * b + end, lda, own + b, own + end);
  }
}

static void backward(int k, const double *A, int lda, double *own) {
  for (int end = k; end > 0; end -= 4) {
    const int b = end > 4 ? end - 4 : 0;
    for (int p = end - 1; p >= b; --p) {
      const double z = own[p] /= A[(size_t)lda * p + p];
      for (int i = b; i < p; ++i) own[i] -= A[(size_t)lda * p + i] * z;
    }
    subtract_vector(b, end - b, A + (size_t)lda * b, lda, own + b, own);
  }
}

void pl_fronts_solve(pl_fronts *F, double *x) {
  const int n = F->n;
  double *y = F->y, *shared = F->shared;
  for (int k = 0; k < n; ++k) y[k] = x[F->order[k]];
  for (int s = 0; s < F->count; ++s) {
    const front *f = F->fronts + s;
    const int k = f->pivots, m = f->shared, rows = k + m, *index = F->index + f->index;
    const double *A = F->factors + f->at;
    double *own = y + f->first;
    for (int p = 0; p < k; ++p) {
      const int best = F->pivot[f->first + p];
      const double z = own[best];
      own[best] = own[p], own[p] = z;
    }
    forward(k, A, rows, own);
    memset(shared, 0, m * sizeof(double));
    subtract_vector(m, k, A + k, rows, own, shared);
    for (int i = 0; i < m; ++i) y[index[i]] += shared[i];
  }
  for (int s = F->count - 1; s >= 0; --s) {
    const front *f = F->fronts + s;
    const int k = f->pivots, m = f->shared, rows = k + m, *index = F->index + f->index;
    const double *A = F->factors + f->at;
    double *own = y + f->first;
    for (int i = 0; i < m; ++i) shared[i] = y[index[i]];
    subtract_vector(k, m, A + (size_t)rows * k, k, shared, own);
    backward(k, A, rows, own);
  }
  for (int k = 0; k < n; ++k) x[F->order[k]] = y[k];
}
