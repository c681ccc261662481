/* Linear equations with a square matrix whose sparsity pattern never changes.
 *
  * By fronts (fronts.c): dense blocks in a fill-reducing order, rows exchanged within blocks. If that does not give acceptable
  * pivots the matrix is factorized column by column (left-looking, Gilbert and Peierls) with rows exchanged over the entire column;
  * its pivots and fill are reused for a while, and only determined again when one has become small relative to its column. A dense
  * matrix is a single front, without a fallback.
  *
  * If solutions are used in iterations that correct their errors, large matrices are factorized in single precision, which takes
  * half
  * the time and half the memory traffic. A known solution is used now and then to measure the accuracy of such factors: if it is
  * not
  * sufficient for the condition of the matrix, factors are computed in double precision.
  *
  * Rows and columns are scaled first, so that inertia and constraints of any size are comparable; a pivot that is then negligible
  * relative to its column indicates a singular matrix. The scales, like the pivots, are kept until they are not suitable any more.
  */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "fronts.h"
#include "pliant.h"

#define DIAGONAL_PREFERENCE 1e-2 /* the diagonal is the pivot if it is at least this fraction of the largest entry */
#define REUSE_LIMIT 1e-3         /* a reused pivot below this fraction of its column requires new pivots */
#define SINGULAR_BELOW 1e-13     /* a pivot below this fraction of its column before elimination is the result of cancellation */
#define SCALING_SWEEPS 5         /* number of scaling sweeps, each of which takes the square root of the remaining factor; more if
it exceeds ... */
#define FAR_OFF 4                /* ... this factor */
#define MOST_SWEEPS 20
#define FRONT_LIMIT 1e-6         /* a front's pivot below this fraction of the rows below is not accepted */
#define REFINE_BELOW 1e-2        /* solutions with a front's pivot below this fraction are refined */
#define REFINEMENTS 3            /* at most */
#define REFINED 1e-14            /* residual, relative to the size of the summands */
#define GENERAL_ROUNDS 8         /* factorizations with general pivots before fronts are tried again */
#define SINGLE_FROM 1e7          /* number of multiplications above which single precision is faster */
#define SINGLE_LIMIT 1e-4        /* smallest pivot, instead of SINGULAR_BELOW and FRONT_LIMIT */
#define SINGLE_ERROR 2e-2        /* largest error of their solutions, relative to their size */
#define SINGLE_ROUNDS 8          /* factorizations before they are tested on a known solution again */
#define DOUBLE_ROUNDS 30         /* factorizations in double precision before single is tried again */

struct pl_linear {
  int n, dense, scaled;
  const int *colptr, *row;
  int *order;
  double *row_scale, *column_scale, *x;
  pl_fronts *fronts;
  double *values, *right, *residual; /* scaled, for refinement */
  int refine;
  int trusted, only_double; /* remaining factorizations in single precision without a test, or in double precision */
  /* general pivots; `general` counts the remaining factorizations with them */
  int general, analysed;
  int *Lp, *Li, *Up, *Ui, *p, *pinv, *stack, *state, *head;
  double *Lx, *Ux, *diagonal;
  int l_size, u_size;
  void *block; /* holds all arrays but the factors with general pivots */
  size_t bytes; /* of that block */
};

static void place(pl_linear *f, pl_memory *m) {
  const size_t n = f->n;
  f->order = pl_ints(m, n);
  f->x = pl_doubles(m, n), f->row_scale = pl_doubles(m, n), f->column_scale = pl_doubles(m, n);
  if (f->dense) return;
  f->values = pl_doubles(m, f->colptr[n]), f->right = pl_doubles(m, n), f->residual = pl_doubles(m, n);
  f->Lp = pl_ints(m, n + 1), f->Up = pl_ints(m, n + 1), f->p = pl_ints(m, n), f->pinv = pl_ints(m, n);
  f->stack = pl_ints(m, n), f->state = pl_ints(m, n), f->head = pl_ints(m, n), f->diagonal = pl_doubles(m, n);
}

pl_linear *pl_linear_new(int n, const int *colptr, const int *row, const int *order, int dense) {
  pl_memory m = {0};
  pl_linear *f = (pl_linear *)calloc(1, sizeof *f);
  if (!f) return NULL;
  f->n = n, f->dense = dense, f->colptr = colptr, f->row = row;
  place(f, &m);
  f->bytes = m.used;
  f->block = pl_block(&m);
  if (f->block) {
    place(f, &m);
    memcpy(f->order, order, n * sizeof(int));
    f->fronts = pl_fronts_new(n, colptr, row, f->order, dense);
  }
  if (!f->fronts) {
    pl_linear_free(f);
    return NULL;
  }
  return f;
}

size_t pl_linear_bytes(const pl_linear *f) {
  const size_t general = (size_t)f->l_size + f->u_size;
  return sizeof *f + f->bytes + general * (sizeof(int) + sizeof(double)) + pl_fronts_bytes(f->fronts);
}

void pl_linear_free(pl_linear *f) {
  if (!f) return;
  pl_fronts_free(f->fronts);
  free(f->Li), free(f->Lx), free(f->Ui), free(f->Ux), free(f->block), free(f);
}

static double power_of_two(double x) {
  int exponent;
  frexp(x, &exponent);
  return ldexp(1.0, exponent);
}

/* Initial scales, by the diagonal: they remove the units of coordinates, so that all following steps are independent of units. */
static void scale_by_diagonal(pl_linear *f, const double *values) {
  double *r = f->row_scale, *c = f->column_scale;
  for (int j = 0; j < f->n; ++j) {
    r[j] = 0;
    for (int k = f->colptr[j]; k < f->colptr[j + 1]; ++k)
      if (f->row[k] == j && values[k] && isfinite(values[k])) r[j] = 1 / sqrt(fabs(values[k]));
  }
  for (int j = 0; j < f->n; ++j) { /* scales of multipliers, by the coordinates that they act on */
    double largest = 0;
    c[j] = r[j];
    for (int k = f->colptr[j]; k < f->colptr[j + 1] && !r[j]; ++k) largest = fmax(largest, fabs(values[k]) * r[f->row[k]]);
    if (!r[j]) c[j] = largest > 0 && isfinite(largest) ? 1 / largest : 1;
  }
  for (int j = 0; j < f->n; ++j) r[j] = c[j];
}

/* Scales that bring the largest entry of every row and column near one (Ruiz 2001): powers of two, without round-off. */
static int equilibrate(pl_linear *f, const double *values) {
  const int n = f->n;
  double *r = f->row_scale, *c = f->column_scale, *largest = f->x;
  scale_by_diagonal(f, values);
  double least = 0, most = INFINITY;
  for (int sweep = 0; sweep < SCALING_SWEEPS || (sweep < MOST_SWEEPS && most > FAR_OFF * least); ++sweep) {
    least = INFINITY, most = 0;
    for (int i = 0; i < n; ++i) largest[i] = 0;
    for (int j = 0; j < n; ++j) {
      double top = 0;
      for (int k = f->colptr[j]; k < f->colptr[j + 1]; ++k) {
        const double y = fabs(values[k]) * r[f->row[k]] * c[j];
        if (!isfinite(y)) return PL_SINGULAR;
        if (y > top) top = y; /* fmax would be a function call */
        if (y > largest[f->row[k]]) largest[f->row[k]] = y;
      }
      if (!(top > 0)) return PL_SINGULAR;
      least = fmin(least, top), most = fmax(most, top);
      c[j] /= sqrt(top);
    }
    for (int i = 0; i < n; ++i) {
      if (!(largest[i] > 0)) return PL_SINGULAR;
      r[i] /= sqrt(largest[i]);
    }
  }
  for (int i = 0; i < n; ++i) r[i] = power_of_two(r[i]), c[i] = power_of_two(c[i]);
  memset(f->x, 0, n * sizeof(double));
  return PL_OK;
}

/* Rows reached from the pattern of a column through the columns of L found so far, in topological order at
 * stack[top..n-1]. Iterative depth-first search. */
static int reach(pl_linear *f, int column, int mark) {
  const int n = f->n;
  int top = n;
  for (int k = f->colptr[column]; k < f->colptr[column + 1]; ++k) {
    if (f->state[f->row[k]] == mark) continue;
    int depth = 0;
    f->stack[0] = f->row[k];
    f->head[0] = -1;
    while (depth >= 0) {
      const int r = f->stack[depth], j = f->pinv[r];
      if (f->state[r] != mark) {
        f->state[r] = mark;
        f->head[depth] = j < 0 ? 0 : f->Lp[j];
      }
      int descended = 0;
      if (j >= 0)
        for (int i = f->head[depth]; i < f->Lp[j + 1]; ++i)
          if (f->state[f->Li[i]] != mark) {
            f->head[depth] = i + 1;
            f->stack[++depth] = f->Li[i];
            descended = 1;
            break;
          }
      if (!descended) {
        --depth;
        f->stack[--top] = r; /* never collides: depth + (n - top) <= n */
      }
    }
  }
  return top;
}

static int grow(int **index, double **value, int *size, int need) {
  if (need <= *size) return PL_OK;
  const int larger = need > INT_MAX / 2 ? INT_MAX : 2 * need;
  int *more_index = (int *)realloc(*index, larger * sizeof(int));
  if (more_index) *index = more_index;
  double *more_value = (double *)realloc(*value, larger * sizeof(double));
  if (more_value) *value = more_value;
  if (!more_index || !more_value) return PL_OUT_OF_MEMORY; /* the previous array is unchanged */
  *size = larger;
  return PL_OK;
}

/* Reserve memory for factors with this number of entries (and one more column), so that later factorizations allocate none. */
int pl_linear_reserve(pl_linear *f, int lower, int upper) {
  if (f->dense) return PL_OK;
  const int status = grow(&f->Li, &f->Lx, &f->l_size, lower + f->n);
  return status ? status : grow(&f->Ui, &f->Ux, &f->u_size, upper + f->n);
}

/* x = the scaled column; returns its largest entry. */
static inline double scatter(pl_linear *f, int column, const double *values) {
  const double scale = f->column_scale[column];
  double top = 0;
  for (int i = f->colptr[column]; i < f->colptr[column + 1]; ++i) {
    const double y = values[i] * f->row_scale[f->row[i]] * scale;
    f->x[f->row[i]] = y, top = fmax(top, fabs(y));
  }
  return top;
}

static int sparse_analyse(pl_linear *f, const double *values) {
  const int n = f->n;
  double *x = f->x;
  int l = 0, u = 0;
  for (int i = 0; i < n; ++i) f->pinv[i] = -1, f->state[i] = -1, x[i] = 0;
  for (int k = 0; k < n; ++k) {
    const int column = f->order[k];
    f->Lp[k] = l, f->Up[k] = u;
    /* columns of L not yet closed must look empty to the search */
    f->Lp[k + 1] = l;
    const int top = reach(f, column, k);
    if (grow(&f->Li, &f->Lx, &f->l_size, l + n) || grow(&f->Ui, &f->Ux, &f->u_size, u + n)) return PL_OUT_OF_MEMORY;
    const double least = SINGULAR_BELOW * scatter(f, column, values);
    for (int i = top; i < n; ++i) {
      const int r = f->stack[i], j = f->pinv[r];
      if (j < 0) continue;
      const double y = x[r];
      f->Ui[u] = j, f->Ux[u++] = y;
      for (int m = f->Lp[j]; m < f->Lp[j + 1]; ++m) x[f->Li[m]] -= f->Lx[m] * y;
    }
    int best = -1;
    double largest = 0;
    for (int i = top; i < n; ++i) {
      const int r = f->stack[i];
      if (f->pinv[r] < 0 && fabs(x[r]) > largest) largest = fabs(x[r]), best = r;
    }
    if (best < 0 || !(largest > least) || !isfinite(largest)) {
      memset(x, 0, n * sizeof(double));
      return PL_SINGULAR;
    }
    if (f->state[column] == k && f->pinv[column] < 0 && fabs(x[column]) >= DIAGONAL_PREFERENCE * largest) best = column;
    const double pivot = x[best];
    f->pinv[best] = k, f->p[k] = best, f->diagonal[k] = pivot;
    for (int i = top; i < n; ++i) {
      const int r = f->stack[i];
      if (f->pinv[r] < 0) f->Li[l] = r, f->Lx[l++] = x[r] / pivot;
      x[r] = 0;
    }
    f->Lp[k + 1] = l, f->Up[k + 1] = u;
  }
  return PL_OK;
}

static int sparse_refactor(pl_linear *f, const double *values) {
  const int n = f->n;
  double *x = f->x;
  int good = 1;
  for (int k = 0; k < n && good; ++k) {
    const int column = f->order[k];
    const double least = SINGULAR_BELOW * scatter(f, column, values);
    for (int i = f->Up[k]; i < f->Up[k + 1]; ++i) {
      const int j = f->Ui[i], r = f->p[j];
      const double y = x[r];
      x[r] = 0, f->Ux[i] = y;
      for (int m = f->Lp[j]; m < f->Lp[j + 1]; ++m) x[f->Li[m]] -= f->Lx[m] * y;
    }
    const double pivot = x[f->p[k]];
    double largest = fabs(pivot);
    x[f->p[k]] = 0, f->diagonal[k] = pivot;
    for (int i = f->Lp[k]; i < f->Lp[k + 1]; ++i) {
      const int r = f->Li[i];
      if (fabs(x[r]) > largest) largest = fabs(x[r]);
      f->Lx[i] = x[r] / pivot, x[r] = 0;
    }
    good = isfinite(largest) && fabs(pivot) > REUSE_LIMIT * largest && fabs(pivot) > least;
  }
  if (!good) memset(x, 0, n * sizeof(double));
  return good ? PL_OK : PL_SINGULAR;
}

static int by_fronts(pl_linear *f, const double *values) {
  f->analysed = 0;
  if (pl_fronts_factor(f->fronts, values, f->row_scale, f->column_scale, SINGULAR_BELOW, FRONT_LIMIT, 0)) return PL_SINGULAR;
  f->refine = !f->dense && pl_fronts_share(f->fronts) < REFINE_BELOW;
  if (f->refine)
    for (int j = 0; j < f->n; ++j)
      for (int k = f->colptr[j]; k < f->colptr[j + 1]; ++k)
        f->values[k] = values[k] * f->row_scale[f->row[k]] * f->column_scale[j];
  return PL_OK;
}

int pl_linear_is_scaled(const pl_linear *f) { return f->scaled; }

void pl_linear_scale(pl_linear *f, const double *scales) {
  memcpy(f->row_scale, scales, f->n * sizeof(double)), memcpy(f->column_scale, scales, f->n * sizeof(double));
  f->scaled = 1;
}

void pl_linear_forget(pl_linear *f) { f->scaled = f->general = f->trusted = f->only_double = 0; }

int pl_linear_factor(pl_linear *f, const double *values) {
  if (f->general && f->analysed) {
    if (sparse_refactor(f, values) == PL_OK) return --f->general, PL_OK;
    f->scaled = 0;
  }
  f->general = 0;
  if (f->scaled && by_fronts(f, values) == PL_OK) return PL_OK;
  f->scaled = 0;
  if (equilibrate(f, values)) {
    memset(f->x, 0, f->n * sizeof(double));
    return PL_SINGULAR;
  }
  int status = by_fronts(f, values);
  if (status && !f->dense) {
    status = sparse_analyse(f, values);
    f->analysed = status == PL_OK, f->general = f->analysed ? GENERAL_ROUNDS : 0;
  }
  f->scaled = status == PL_OK;
  return status;
}

/* Error of a solution with the current factors if all its scaled unknowns are one. */
static double error_of_ones(pl_linear *f, const double *values) {
  const int n = f->n;
  double *x = f->x, error = 0;
  for (int j = 0; j < n; ++j)
    for (int k = f->colptr[j]; k < f->colptr[j + 1]; ++k) x[f->row[k]] += values[k] * f->row_scale[f->row[k]] * f->column_scale[j];
  pl_fronts_solve(f->fronts, x);
  for (int i = 0; i < n; ++i) error = fabs(x[i] - 1) <= error ? error : fabs(x[i] - 1); /* also if it is NaN */
  memset(x, 0, n * sizeof(double));
  return error;
}

static int by_single_fronts(pl_linear *f, const double *values) {
  f->analysed = f->refine = 0;
  if (pl_fronts_factor(f->fronts, values, f->row_scale, f->column_scale, SINGLE_LIMIT, SINGLE_LIMIT, 1)) return PL_SINGULAR;
  if (f->trusted) return f->trusted--, PL_OK;
  if (!(error_of_ones(f, values) <= SINGLE_ERROR)) return PL_SINGULAR;
  f->trusted = SINGLE_ROUNDS;
  return PL_OK;
}

int pl_linear_factor_roughly(pl_linear *f, const double *values) {
  if (f->only_double) f->only_double--;
  else if (!f->dense && !f->general && pl_fronts_work(f->fronts) >= SINGLE_FROM) {
    if (!f->scaled && equilibrate(f, values) == PL_OK) f->scaled = 1;
    if (f->scaled && by_single_fronts(f, values) == PL_OK) return PL_OK;
    f->trusted = 0, f->only_double = DOUBLE_ROUNDS;
  }
  return pl_linear_factor(f, values);
}

static void sparse_solve(pl_linear *f, double *x) {
  const int n = f->n;
  double *y = f->x;
  for (int k = 0; k < n; ++k) {
    y[k] = x[f->p[k]];
    for (int i = f->Lp[k]; i < f->Lp[k + 1]; ++i) x[f->Li[i]] -= f->Lx[i] * y[k];
  }
  for (int k = n - 1; k >= 0; --k) {
    y[k] /= f->diagonal[k];
    for (int i = f->Up[k]; i < f->Up[k + 1]; ++i) y[f->Ui[i]] -= f->Ux[i] * y[k];
  }
  for (int k = 0; k < n; ++k) x[f->order[k]] = y[k];
  memset(y, 0, n * sizeof(double));
}

/* Correct x, the solution for f->right, by its residual. */
static void refine(pl_linear *f, double *x) {
  const int n = f->n;
  double *r = f->residual, *size = f->x, worst = 1;
  for (int round = 0; round < REFINEMENTS; ++round) {
    for (int i = 0; i < n; ++i) r[i] = f->right[i], size[i] = fabs(r[i]);
    for (int j = 0; j < n; ++j)
      for (int k = f->colptr[j]; k < f->colptr[j + 1]; ++k) {
        const double y = f->values[k] * x[j];
        r[f->row[k]] -= y, size[f->row[k]] += fabs(y);
      }
    double left = 0;
    for (int i = 0; i < n; ++i) left = fmax(left, size[i] > 0 ? fabs(r[i]) / size[i] : 0);
    if (left < REFINED || !(left < 0.5 * worst)) break;
    worst = left;
    pl_fronts_solve(f->fronts, r);
    for (int i = 0; i < n; ++i) x[i] += r[i];
  }
  memset(f->x, 0, n * sizeof(double));
}

void pl_linear_solve(pl_linear *f, double *x) {
  for (int i = 0; i < f->n; ++i) x[i] *= f->row_scale[i];
  if (f->analysed) sparse_solve(f, x);
  else {
    if (f->refine) memcpy(f->right, x, f->n * sizeof(double));
    pl_fronts_solve(f->fronts, x);
    if (f->refine) refine(f, x);
  }
  for (int i = 0; i < f->n; ++i) x[i] *= f->column_scale[i];
}
