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

#define PANEL 16           /* pivots eliminated before the rest of a front is brought up to date */
#define MERGE_UP_TO 12     /* fronts of fewer pivots are merged with their parent in any case ... */
#define MERGE_ZEROS 0.2    /* ... others if at most this share of the merged front is zero */

typedef struct front {
  int first, pivots, shared; /* first pivot, how many, and the number of rows shared with fronts above */
  int parent, child, sibling; /* fronts, -1 for none: `child` is the last of its children, `sibling` the one before */
  size_t index;              /* where its shared rows stand in `index` */
  size_t at;                 /* where its numbers stand in `factors` */
  double zeros;              /* of them, those that are there only because fronts were merged */
} front;

struct pl_fronts {
  int n, count;
  int *order;      /* column at each place */
  front *fronts;
  int *index;      /* shared rows of all fronts, as places in ascending order */
  size_t *slot;    /* where each value of the matrix goes */
  double *factors, *stack, *least, *y;
  size_t size, waiting; /* numbers in `factors`, and at most in `stack` */
  int entries;
  int *map, *pivot, *column_of;
  const int *row;
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
  const size_t n = F->n, entries = F->entries;
  F->slot = pl_place(m, entries * sizeof(size_t)), F->column_of = pl_ints(m, entries);
  F->factors = pl_doubles(m, F->size), F->stack = pl_doubles(m, F->waiting);
  F->least = pl_doubles(m, n), F->y = pl_doubles(m, n), F->map = pl_ints(m, n), F->pivot = pl_ints(m, n);
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
  F->entries = colptr[n];
  pl_memory m = {0};
  place_numbers(F, &m);
  F->bytes = m.used;
  F->block = pl_block(&m);
  if (!F->block) return PL_OUT_OF_MEMORY;
  place_numbers(F, &m);
  for (int j = 0; j < n; ++j)
    for (int k = colptr[j]; k < colptr[j + 1]; ++k) {
      const int r = place[row[k]], c = place[j];
      const front *f = F->fronts + front_of[r < c ? r : c];
      const int height = f->pivots + f->shared, other = r < c ? c : r;
      int local = other - f->first;
      if (local >= f->pivots) {
        const int *found = bsearch(&other, F->index + f->index, f->shared, sizeof(int), ascending);
        local = f->pivots + (int)(found - (F->index + f->index));
      }
      F->column_of[k] = j;
      if (c - f->first < f->pivots) /* one of its own columns */
        F->slot[k] = f->at + (size_t)height * (c - f->first) + (r == other ? local : r - f->first);
      else F->slot[k] = f->at + (size_t)height * f->pivots + (size_t)f->pivots * (local - f->pivots) + (r - f->first);
    }
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
    F->n = n, F->order = order, F->row = row;
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

/* C -= A B for m x k and k x n matrices stored by columns; four columns of A on four of C at a time. */
PL_NOINLINE static void subtract_product(int m, int n, int k, const double *restrict A, int lda, const double *restrict B,
                                         int ldb, double *restrict C, int ldc) {
  int j = 0;
  for (; j + 4 <= n; j += 4) {
    const double *b0 = B + (size_t)ldb * j, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
    double *restrict c0 = C + (size_t)ldc * j, *restrict c1 = c0 + ldc, *restrict c2 = c1 + ldc, *restrict c3 = c2 + ldc;
    int p = 0;
    for (; p + 4 <= k; p += 4) {
      const double *restrict a0 = A + (size_t)lda * p, *restrict a1 = a0 + lda, *restrict a2 = a1 + lda, *restrict a3 = a2 + lda;
      for (int i = 0; i < m; ++i) {
        const double x0 = a0[i], x1 = a1[i], x2 = a2[i], x3 = a3[i];
        c0[i] -= x0 * b0[p] + x1 * b0[p + 1] + x2 * b0[p + 2] + x3 * b0[p + 3];
        c1[i] -= x0 * b1[p] + x1 * b1[p + 1] + x2 * b1[p + 2] + x3 * b1[p + 3];
        c2[i] -= x0 * b2[p] + x1 * b2[p + 1] + x2 * b2[p + 2] + x3 * b2[p + 3];
        c3[i] -= x0 * b3[p] + x1 * b3[p + 1] + x2 * b3[p + 2] + x3 * b3[p + 3];
      }
    }
    for (; p < k; ++p) {
      const double *restrict a = A + (size_t)lda * p;
      for (int i = 0; i < m; ++i) {
        const double x = a[i];
        c0[i] -= x * b0[p], c1[i] -= x * b1[p], c2[i] -= x * b2[p], c3[i] -= x * b3[p];
      }
    }
  }
  for (; j < n; ++j) {
    double *restrict c = C + (size_t)ldc * j;
    for (int p = 0; p < k; ++p) {
      const double *restrict a = A + (size_t)lda * p, b = B[(size_t)ldb * j + p];
      for (int i = 0; i < m; ++i) c[i] -= a[i] * b;
    }
  }
}

/* X = L^-1 X for the unit lower triangle of k columns, n right-hand sides. */
static void lower_solve(int k, int n, const double *L, int ldl, double *X, int ldx) {
  for (int b = 0; b < k; b += PANEL) {
    const int end = b + PANEL < k ? b + PANEL : k;
    for (int j = 0; j < n; ++j) {
      double *x = X + (size_t)ldx * j;
      for (int p = b; p < end; ++p) {
        const double y = x[p], *l = L + (size_t)ldl * p;
        for (int i = p + 1; i < end; ++i) x[i] -= l[i] * y;
      }
    }
    if (end < k) subtract_product(k - end, n, end - b, L + (size_t)ldl * b + end, ldl, X + b, ldx, X + end, ldx);
  }
}

static void swap_rows(double *X, int ld, int from, int to, int a, int b) {
  for (int j = from; j < to; ++j) {
    double *x = X + (size_t)ld * j, y = x[a];
    x[a] = x[b], x[b] = y;
  }
}

/* LU of a front's own columns, rows exchanged among its pivots. */
static int factor_columns(pl_fronts *F, const front *f, double singular_share, double *A, double *U) {
  const int k = f->pivots, rows = k + f->shared;
  for (int b = 0; b < k; b += PANEL) {
    const int end = b + PANEL < k ? b + PANEL : k;
    for (int p = b; p < end; ++p) {
      double *a = A + (size_t)rows * p, largest = 0, below = 0;
      int best = p;
      for (int i = p; i < k; ++i)
        if (fabs(a[i]) > largest) largest = fabs(a[i]), best = i;
      for (int i = k; i < rows; ++i) below = fmax(below, fabs(a[i]));
      if (!(largest > F->least[f->first + p]) || !(largest >= singular_share * below) || !isfinite(largest + below))
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
    if (end == k) break;
    double *corner = A + (size_t)rows * b + b, *right = A + (size_t)rows * end + b;
    lower_solve(end - b, k - end, corner, rows, right, rows);
    subtract_product(rows - end, k - end, end - b, corner + (end - b), rows, right, rows, right + (end - b), rows);
  }
  return PL_OK;
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

int pl_fronts_factor(pl_fronts *F, const double *values, const double *row_scale, const double *column_scale,
                     double singular_below, double smallest_share) {
  const int n = F->n;
  memset(F->factors, 0, F->size * sizeof(double));
  double *top = F->y; /* by column */
  for (int j = 0; j < n; ++j) top[j] = 0;
  for (int k = 0; k < F->entries; ++k) {
    const int j = F->column_of[k];
    const double y = values[k] * row_scale[F->row[k]] * column_scale[j];
    F->factors[F->slot[k]] = y, top[j] = fmax(top[j], fabs(y));
  }
  for (int k = 0; k < n; ++k) F->least[k] = singular_below * top[F->order[k]];
  F->share = 1;
  double *end = F->stack;
  for (int s = 0; s < F->count; ++s) {
    const front *f = F->fronts + s;
    const int k = f->pivots, m = f->shared, rows = k + m;
    double *A = F->factors + f->at, *U = A + (size_t)rows * k, *rest = end, *children = end;
    memset(rest, 0, (size_t)m * m * sizeof(double));
    /* children stand on the stack right below, the last one on top */
    for (int c = f->child; c >= 0; c = F->fronts[c].sibling) {
      const front *child = F->fronts + c;
      children -= (size_t)child->shared * child->shared;
      extend_add(F, child, f, children, rest);
    }
    if (factor_columns(F, f, smallest_share, A, U)) return PL_SINGULAR;
    if (m) {
      lower_solve(k, m, A, rows, U, k);
      subtract_product(m, m, k, A + k, rows, U, k, rest, m);
      if (children != rest) memmove(children, rest, (size_t)m * m * sizeof(double));
    }
    end = children + (size_t)m * m;
  }
  return PL_OK;
}

void pl_fronts_solve(pl_fronts *F, double *x) {
  const int n = F->n;
  double *y = F->y;
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
    for (int p = 0; p < k; ++p) {
      const double z = own[p], *a = A + (size_t)rows * p;
      for (int i = p + 1; i < k; ++i) own[i] -= a[i] * z;
      for (int i = 0; i < m; ++i) y[index[i]] -= a[k + i] * z;
    }
  }
  for (int s = F->count - 1; s >= 0; --s) {
    const front *f = F->fronts + s;
    const int k = f->pivots, m = f->shared, rows = k + m, *index = F->index + f->index;
    const double *A = F->factors + f->at, *U = A + (size_t)rows * k;
    double *own = y + f->first;
    for (int j = 0; j < m; ++j) {
      const double z = y[index[j]], *u = U + (size_t)k * j;
      for (int i = 0; i < k; ++i) own[i] -= u[i] * z;
    }
    for (int p = k - 1; p >= 0; --p) {
      const double *a = A + (size_t)rows * p, z = own[p] /= a[p];
      for (int i = 0; i < p; ++i) own[i] -= a[i] * z;
    }
  }
  for (int k = 0; k < n; ++k) x[F->order[k]] = y[k];
}
