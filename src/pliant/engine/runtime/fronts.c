/* LU factorization by fronts (Duff and Reid 1983) for a matrix with a fixed symmetric pattern.
 *
  * Columns of the same structure are eliminated together, as one dense front: k pivots above m rows that it shares with fronts
  * further up. The Schur complement of the shared part is added to the front of its parent. The structure is determined once; a
  * factorization consists of loops over small dense matrices. Rows are exchanged among a front's pivots only: if that is not
  * sufficient the factorization is rejected, and linear.c pivots over the entire column.
  *
  * Subtrees of fronts are independent: in large matrices several are eliminated concurrently, each in a separate part of the stack,
  * and then the trunk above them.
 *
 * A front keeps its own columns (k + m rows) and then its own rows of the shared columns (k x m), column by column. This file
 * determines the structure; front_numbers.h computes the numbers, in double or single precision in the same memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "front_structure.h"
#include "pliant.h"

#define BRANCHES_FROM 4e6  /* number of multiplications above which subtrees are eliminated in several threads ... */
#define BALANCED 8         /* ... none with more than this fraction of the work, if possible */
#define MERGE_UP_TO 12     /* fronts of fewer pivots are merged with their parent in any case ... */
#define MERGE_ZEROS 0.05   /* ... others if at most this fraction of the merged front is zero */

/* Temporary data for the determination of the structure. */
typedef struct structure {
  int *begin, *list, *place, *parent, *scratch[4];
  double *work; /* multiplications of each front and all below it */
} structure;

static void place_structure(int n, int entries, structure *t, pl_memory *m) {
  t->begin = pl_ints(m, (size_t)n + 2), t->list = pl_ints(m, 2 * (size_t)entries);
  t->place = pl_ints(m, n), t->parent = pl_ints(m, n), t->work = pl_doubles(m, n);
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

/* Parent of every column in the elimination tree (Liu 1986). */
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

/* Reorders so that every subtree is contiguous, children before parents, and otherwise unchanged. */
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

/* Number of zeros of a front when merged with the previous one, its child. */
static double merged_zeros(const front *child, const front *f) {
  return child->zeros + f->zeros + 2.0 * child->pivots * (f->pivots + f->shared - child->shared);
}

static int worth_merging(const front *child, const front *f) {
  const double pivots = child->pivots + f->pivots, entries = pivots * (pivots + 2.0 * f->shared);
  return pivots <= MERGE_UP_TO || merged_zeros(child, f) <= MERGE_ZEROS * entries;
}

/* Fronts with their shared rows: columns of the same structure together, then small ones merged. */
static int find_fronts(pl_fronts *F, const structure *t) {
  const int n = F->n, *begin = t->begin, *list = t->list, *place = t->place;
  size_t room = 4 * (size_t)n + 16, used = 0;
  int *index = (int *)malloc(room * sizeof(int)), *mark = t->scratch[0], *child = t->scratch[1], *sibling = t->scratch[2];
  int count = 0;
  front *fronts = (front *)malloc(((size_t)n + 1) * sizeof(front));
  F->fronts = fronts, F->index = index;
  if (!fronts || !index) return PL_OUT_OF_MEMORY;
  for (int k = 0; k < n; ++k) mark[k] = child[k] = -1;
  /* child[k]: a front whose first shared row is k, as a list through sibling */
  for (int k = 0; k < n; ++k) {
    const size_t start = used;
    if (used + n > room) {
      room = 2 * (used + n);
      index = (int *)realloc(F->index, room * sizeof(int));
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
      fronts[count] = PL_VALUE(front){.first = k, .pivots = 1, .shared = shared, .index = start};
      last = fronts + count++;
    }
    if (shared) { /* listed under its first shared row; when that row joins the front it is listed again */
      const int c = (int)(last - fronts), up = index[last->index];
      sibling[c] = child[up], child[up] = c;
    }
  }
  /* merge with parents that follow immediately */
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
  F->entries = (entry *)pl_place(m, F->count_of_values * sizeof(entry)), F->target = pl_ints(m, F->rows);
  F->factors = pl_doubles(m, F->size), F->stack = pl_doubles(m, F->waiting), F->y = pl_doubles(m, n + F->above);
  F->least = pl_doubles(m, n), F->pivot = pl_ints(m, n);
  for (int b = 0; b <= F->subtrees; ++b) {
    branch *of = F->branches + b;
    of->map = pl_ints(m, F->widest), of->run = pl_ints(m, F->widest), of->shared = pl_doubles(m, F->widest);
  }
}

/* Position in its front of a value at these places of row and column. */
static int slot_of(const pl_fronts *F, const front *f, int r, int c) {
  const int height = f->pivots + f->shared, other = r < c ? c : r;
  int local = other - f->first;
  if (local >= f->pivots) {
    const int *found = (const int *)bsearch(&other, F->index + f->index, f->shared, sizeof(int), ascending);
    local = f->pivots + (int)(found - (F->index + f->index));
  }
  if (c - f->first < f->pivots) return height * (c - f->first) + (r == other ? local : r - f->first); /* one of its own columns */
  return height * f->pivots + f->pivots * (local - f->pivots) + (r - f->first);
}

/* The matrix's values front by front, in the order of the matrix within each. */
static void place_values(pl_fronts *F, const int *colptr, const int *row, const int *place, const int *front_of) {
  for (int pass = 0; pass < 2; ++pass) { /* count them, then place them */
    for (int j = 0; j < F->n; ++j)
      for (int k = colptr[j]; k < colptr[j + 1]; ++k) {
        const int r = place[row[k]], c = place[j];
        front *f = F->fronts + front_of[r < c ? r : c];
        if (pass) F->entries[f->values] = PL_VALUE(entry){.value = k, .row = row[k], .column = j, .slot = slot_of(F, f, r, c)};
        f->values++;
      }
    for (int s = F->count - 1, end = F->count_of_values; !pass && s >= 0; --s) end -= F->fronts[s].values, F->fronts[s].values = end;
  }
  for (int s = F->count - 1; s > 0; --s) F->fronts[s].values = F->fronts[s - 1].values;
  if (F->count) F->fronts[0].values = 0;
}

static double multiplications(double pivots, double shared) {
  return pivots * (pivots * pivots / 3 + shared * pivots + shared * shared);
}

/* Parents and children of all fronts. */
static void link_fronts(pl_fronts *F, const int *front_of) {
  for (int s = 0; s < F->count; ++s) {
    front *f = F->fronts + s;
    f->parent = f->shared ? front_of[F->index[f->index]] : -1;
    f->child = f->sibling = -1;
  }
  for (int s = 0; s < F->count; ++s)
    if (F->fronts[s].parent >= 0) {
      front *parent = F->fronts + F->fronts[s].parent;
      F->fronts[s].sibling = parent->child, parent->child = s;
    }
}

/* Replace the subtree with the most work by those of its children, if they fit; returns whether it did. */
static int split(pl_fronts *F, const double *work, const int *begin) {
  int most = 0, children = 0;
  for (int b = 1; b < F->subtrees; ++b)
    if (work[F->branches[b].end - 1] > work[F->branches[most].end - 1]) most = b;
  const int root = F->branches[most].end - 1;
  for (int c = F->fronts[root].child; c >= 0; c = F->fronts[c].sibling) ++children;
  if (work[root] <= F->work / BALANCED || !children || F->subtrees - 1 + children > PL_MOST_BRANCHES) return 0;
  F->branches[most] = F->branches[--F->subtrees];
  for (int c = F->fronts[root].child; c >= 0; c = F->fronts[c].sibling)
    F->branches[F->subtrees++] = PL_VALUE(branch){.begin = begin[c], .end = c + 1};
  return 1;
}

/* Subtrees with similar amounts of work, the largest first, and the trunk. */
static void find_branches(pl_fronts *F, const structure *t) {
  int *begin = t->scratch[1], roots = 0;
  double *work = t->work;
  F->subtrees = 0;
  for (int s = 0; s < F->count; ++s) begin[s] = s, work[s] = 0;
  for (int s = 0; s < F->count; ++s) {
    const front *f = F->fronts + s;
    work[s] += multiplications(f->pivots, f->shared);
    if (f->parent < 0) F->work += work[s], ++roots;
    else work[f->parent] += work[s], begin[f->parent] = begin[s] < begin[f->parent] ? begin[s] : begin[f->parent];
  }
  if (F->work >= BRANCHES_FROM && roots <= PL_MOST_BRANCHES) {
    for (int s = 0; s < F->count; ++s)
      if (F->fronts[s].parent < 0) F->branches[F->subtrees++] = PL_VALUE(branch){.begin = begin[s], .end = s + 1};
    while (split(F, work, begin)) continue;
    for (int b = 1; b < F->subtrees; ++b)
      for (int a = b; a > 0 && work[F->branches[a].end - 1] > work[F->branches[a - 1].end - 1]; --a) {
        const branch x = F->branches[a];
        F->branches[a] = F->branches[a - 1], F->branches[a - 1] = x;
      }
  }
  F->branches[F->subtrees] = PL_VALUE(branch){.end = F->count};
  for (int s = 0; s < F->count; ++s) F->fronts[s].branch = F->subtrees;
  for (int b = 0; b < F->subtrees; ++b)
    for (int s = F->branches[b].begin; s < F->branches[b].end; ++s) F->fronts[s].branch = b;
}

/* Memory for the shared parts of a branch: pending children of a front are directly below it, the last one on top. */
static void lay_out_stack(pl_fronts *F, int of) {
  size_t end = F->waiting;
  for (int s = F->branches[of].begin; s < F->branches[of].end; ++s) {
    front *f = F->fronts + s;
    if (f->branch != of) continue;
    f->rest = f->left = end;
    for (int c = f->child; c >= 0; c = F->fronts[c].sibling)
      if (F->fronts[c].branch == of) f->left -= (size_t)F->fronts[c].shared * F->fronts[c].shared;
    const size_t size = (size_t)f->shared * f->shared;
    if (end + size > F->waiting) F->waiting = end + size;
    end = f->left + size;
  }
}

/* Contributions of a subtree to rows of the trunk are summed separately, so that solutions of subtrees are independent. All these
 * rows are among those shared by its last front. */
static void place_targets(pl_fronts *F) {
  for (int s = 0; s < F->count; ++s) {
    const front *f = F->fronts + s, *last = F->fronts + F->branches[f->branch].end - 1;
    const int *index = F->index + f->index, *handed_on = F->index + last->index, apart = f->branch < F->subtrees;
    int *target = F->target + f->rows;
    for (int i = 0, j = 0; i < f->shared; ++i) {
      target[i] = index[i];
      if (!apart || index[i] < last->first + last->pivots) continue;
      while (handed_on[j] != index[i]) ++j;
      target[i] = F->n + F->branches[f->branch].above + j;
    }
  }
}

/* Offsets of all arrays. */
static int lay_out(pl_fronts *F, const int *colptr, const int *row, const structure *t) {
  const int n = F->n, *place = t->place;
  int *front_of = t->scratch[0];
  for (int s = 0; s < F->count; ++s) {
    front *f = F->fronts + s;
    for (int k = f->first; k < f->first + f->pivots; ++k) front_of[k] = s;
    f->at = F->size;
    F->size += (size_t)f->pivots * (f->pivots + 2 * (size_t)f->shared);
    f->rows = F->rows, F->rows += f->shared;
    if (f->shared > F->widest) F->widest = f->shared;
  }
  link_fronts(F, front_of);
  find_branches(F, t);
  for (int b = 0; b <= F->subtrees; ++b) lay_out_stack(F, b);
  for (int b = 0; b < F->subtrees; ++b) F->branches[b].above = F->above, F->above += F->fronts[F->branches[b].end - 1].shared;
  F->count_of_values = colptr[n];
  pl_memory m = {0};
  place_numbers(F, &m);
  F->bytes = m.used;
  F->block = pl_block(&m);
  if (!F->block) return PL_OUT_OF_MEMORY;
  place_numbers(F, &m);
  place_values(F, colptr, row, place, front_of);
  place_targets(F);
  return PL_OK;
}

/* The entire matrix as one front. */
static int one_front(pl_fronts *F, const structure *t) {
  for (int k = 0; k < F->n; ++k) F->order[k] = t->place[k] = k;
  F->fronts = (front *)calloc(1, sizeof(front)), F->index = (int *)malloc(sizeof(int)), F->count = F->n > 0;
  if (!F->fronts || !F->index) return PL_OUT_OF_MEMORY;
  F->fronts[0] = PL_VALUE(front){.pivots = F->n};
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
  pl_fronts *F = (pl_fronts *)calloc(1, sizeof *F);
  void *temporary = pl_block(&m);
  int status = F && temporary ? PL_OK : PL_OUT_OF_MEMORY;
  if (!status) {
    place_structure(n, whole ? 0 : colptr[n], &t, &m);
    F->n = n, F->colptr = colptr, F->row = row, F->order = order;
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
double pl_fronts_work(const pl_fronts *F) { return F->work; }

size_t pl_fronts_bytes(const pl_fronts *F) {
  size_t shared = 0;
  for (int s = 0; s < F->count; ++s) shared += F->fronts[s].shared;
  return sizeof *F + F->count * sizeof(front) + shared * sizeof(int) + F->bytes;
}

int pl_fronts_factor(pl_fronts *F, const double *values, const double *row_scale, const double *column_scale,
                     double singular_below, double smallest_share, int single) {
  const pl_scaled_matrix A = {values, row_scale, column_scale, singular_below, smallest_share};
  F->single = single;
  return single ? pl_factor_single(F, &A) : pl_factor_double(F, &A);
}

void pl_fronts_solve(pl_fronts *F, double *x) {
  if (F->single) pl_solve_single(F, x);
  else pl_solve_double(F, x);
}
