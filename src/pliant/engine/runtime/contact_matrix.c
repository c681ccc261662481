/* Contacts in the matrix of an implicit step.
 *
  * Contacts appear and disappear, and couple elements that are otherwise not coupled. The pattern of the matrix is then that of the
  * robot and the blocks of these elements; it is determined again, with its own elimination order, when a new pair of elements
  * occurs. */
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "spatial.h"

struct pl_contact_matrix {
  int n_pair, capacity, *pair; /* pairs of elements (larger first) beyond the robot's pattern, ascending */
  int *memory;                 /* holds the arrays of `saddle` */
  pl_saddle saddle, *used;     /* with these pairs; this one, or the robot's if there are none */
  double *K, *C;               /* of all contacts together, on the pattern in use */
};

void pl_contact_matrix_free(pl_contact_matrix *m) {
  if (!m) return;
  pl_linear_free(m->saddle.linear);
  free(m->saddle.values), free(m->memory), free(m->pair), free(m->K), free(m);
}

/* Index of entry (row, column) in a matrix, or -1. */
static int find_entry(const int *colptr, const int *rows, int row, int column) {
  int low = colptr[column], high = colptr[column + 1];
  while (low < high) {
    const int mid = (low + high) / 2;
    if (rows[mid] < row) low = mid + 1;
    else high = mid;
  }
  return low < colptr[column + 1] && rows[low] == row ? low : -1;
}

static int is_coupled(const pl_tables *T, int a, int b) {
  return !T->elem_k[a] || !T->elem_k[b] || find_entry(T->colptr, T->row, T->elem_v[a], T->elem_v[b]) >= 0;
}

static int compare(const void *a, const void *b) {
  const int *x = (const int *)a, *y = (const int *)b;
  return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

static int add_pair(pl_contact_matrix *m, int a, int b) {
  if (m->n_pair == m->capacity) {
    const int capacity = 2 * m->capacity + 32;
    int *grown = (int *)realloc(m->pair, 2 * (size_t)capacity * sizeof(int));
    if (!grown) return 1;
    m->pair = grown, m->capacity = capacity;
  }
  m->pair[2 * m->n_pair] = a > b ? a : b, m->pair[2 * m->n_pair + 1] = a > b ? b : a;
  m->n_pair++;
  return 0;
}

static void sort_pairs(pl_contact_matrix *m) {
  if (!m->n_pair) return; /* there may be no array yet */
  qsort(m->pair, m->n_pair, 2 * sizeof(int), compare);
  int kept = 0;
  for (int i = 0; i < m->n_pair; ++i)
    if (!kept || compare(m->pair + 2 * i, m->pair + 2 * kept - 2)) memmove(m->pair + 2 * kept++, m->pair + 2 * i, 2 * sizeof(int));
  m->n_pair = kept;
}

/* visit(a, b) for all pairs of elements that move a contact's vertices and have no block in the robot's pattern. */
static int for_new_pairs(const pl_work *w, const pl_touch *t, pl_contact_matrix *m, int (*visit)(pl_contact_matrix *, int, int)) {
  const pl_tables *T = w->T;
  for (int i = 0; i < t->count; ++i)
    for (int j = 0; j < i; ++j)
      for (int a = T->vertex_node[t->vertex[i]]; a; a = T->elem_base[T->node_elem[a]])
        for (int b = T->vertex_node[t->vertex[j]]; b; b = T->elem_base[T->node_elem[b]])
          if (!is_coupled(T, T->node_elem[a], T->node_elem[b]) && visit(m, T->node_elem[a], T->node_elem[b])) return 1;
  return 0;
}

static int is_missing(pl_contact_matrix *m, int a, int b) {
  const int key[2] = {a > b ? a : b, a > b ? b : a};
  return !m->n_pair || !bsearch(key, m->pair, m->n_pair, 2 * sizeof(int), compare);
}

/* -- the pattern ------------------------------------------------------------------------------------------------------ */

/* Neighbours of every element: those with a block in the robot's pattern, and those of pairs. */
static int element_graph(const pl_work *w, const pl_contact_matrix *m, int **begin_out, int **list_out) {
  const pl_tables *T = w->T;
  const int n = T->n_elem;
  int *owner = (int *)malloc((size_t)(T->nv + 1) * sizeof(int)), *begin = (int *)calloc(n + 2, sizeof(int)), *list = NULL;
  if (owner && begin) {
    for (int i = 0; i < T->nv; ++i) owner[i] = -1;
    for (int e = 0; e < n; ++e)
      if (T->elem_k[e]) owner[T->elem_v[e]] = e;
    for (int pass = 0; pass < 2; ++pass) {
      for (int e = 0; e < n; ++e) {
        if (!T->elem_k[e]) continue;
        for (int k = T->colptr[T->elem_v[e]]; k < T->colptr[T->elem_v[e] + 1]; ++k) {
          const int other = owner[T->row[k]];
          if (other < 0 || other == e) continue;
          if (pass) list[begin[e + 1]++] = other;
          else begin[e + 2]++;
        }
      }
      for (int i = 0; i < m->n_pair; ++i)
        for (int side = 0; side < 2; ++side) {
          const int e = m->pair[2 * i + side], other = m->pair[2 * i + 1 - side];
          if (pass) list[begin[e + 1]++] = other;
          else begin[e + 2]++;
        }
      if (pass) break;
      for (int e = 0; e < n; ++e) begin[e + 2] += begin[e + 1];
      list = (int *)malloc((size_t)(begin[n + 1] + 1) * sizeof(int));
      if (!list) break;
    }
  }
  free(owner);
  *begin_out = begin, *list_out = list;
  return begin && list ? PL_OK : PL_OUT_OF_MEMORY;
}

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Position of the multipliers of rows first ... first + count: after elements with as many coordinates as there are rows. */
static int rank_of_rows(const pl_tables *T, const int *elements, const int *rank, const int *owner, int first, int count,
                        int *touched) {
  int n = 0, size = 0;
  for (int k = 0; k < T->nnz_j; ++k)
    if (T->j_row[k] >= first && T->j_row[k] < first + count) touched[n++] = rank[owner[T->j_col[k]]];
  qsort(touched, n, sizeof(int), ascending);
  for (int k = 0; k < n; ++k) {
    if (k && touched[k] == touched[k - 1]) continue;
    size += T->elem_k[elements[touched[k]]];
    if (size >= count) return touched[k];
  }
  return n ? touched[n - 1] : T->n_elem;
}

/* Columns of the entire matrix in elimination order. */
static int find_order(const pl_work *w, const pl_contact_matrix *m, int *order) {
  const pl_tables *T = w->T;
  const int n = T->n_elem, size = T->nv + T->m;
  int *begin = NULL, *list = NULL, status = element_graph(w, m, &begin, &list);
  int *memory = (int *)malloc(((size_t)2 * n + 2 * T->nv + T->nnz_j + size + 2 * (n + 2) + 8) * sizeof(int));
  if (!status && !memory) status = PL_OUT_OF_MEMORY;
  if (!status) {
    int *elements = memory, *rank = elements + n, *owner = rank + n, *touched = owner + T->nv, *key = touched + T->nnz_j + 1;
    int *count = key + size;
    status = pl_minimum_degree(n, begin, list, elements);
    for (int i = 0; i < n && !status; ++i) rank[elements[i]] = i;
    for (int e = 0; e < n && !status; ++e)
      for (int j = 0; j < T->elem_k[e]; ++j) owner[T->elem_v[e] + j] = e, key[T->elem_v[e] + j] = 2 * rank[e];
    for (int i = 0; i < T->n_con && !status; ++i) {
      const int at = rank_of_rows(T, elements, rank, owner, T->con_row[i], T->con_size[i], touched);
      for (int r = 0; r < T->con_size[i]; ++r) key[T->nv + T->con_row[i] + r] = 2 * at + 1;
    }
    for (int i = 0; i < T->n_linear && !status; ++i)
      key[T->nv + T->linear_row[i]] = 2 * rank_of_rows(T, elements, rank, owner, T->linear_row[i], 1, touched) + 1;
    if (!status) {
      memset(count, 0, (2 * (size_t)n + 3) * sizeof(int));
      for (int i = 0; i < size; ++i) count[key[i] + 1]++;
      for (int k = 0; k < 2 * n + 2; ++k) count[k + 1] += count[k];
      for (int i = 0; i < size; ++i) order[count[key[i]]++] = i;
    }
  }
  free(begin), free(list), free(memory);
  return status;
}

static int entries_of_pairs(const pl_tables *T, const pl_contact_matrix *m) {
  int sum = 0;
  for (int i = 0; i < m->n_pair; ++i) sum += 2 * T->elem_k[m->pair[2 * i]] * T->elem_k[m->pair[2 * i + 1]];
  return sum;
}

/* The robot's pattern and the blocks of the pairs, and the positions of the robot's entries in it. */
static void merge(const pl_tables *T, const pl_contact_matrix *m, int *colptr, int *row, int *where) {
  const int size = T->nv + T->m;
  int *fill = colptr; /* counts, then ends */
  memset(colptr, 0, (size + 1) * sizeof(int));
  for (int c = 0; c < size; ++c) colptr[c + 1] = T->kkt_colptr[c + 1] - T->kkt_colptr[c];
  for (int i = 0; i < m->n_pair; ++i)
    for (int side = 0; side < 2; ++side) {
      const int a = m->pair[2 * i + side], b = m->pair[2 * i + 1 - side];
      for (int j = 0; j < T->elem_k[b]; ++j) colptr[T->elem_v[b] + j + 1] += T->elem_k[a];
    }
  for (int c = 0; c < size; ++c) fill[c + 1] += fill[c];
  /* entries of pairs first, at the end of each column; then the robot's are merged from the end */
  for (int c = 0; c < size; ++c) {
    const int n = T->kkt_colptr[c + 1] - T->kkt_colptr[c];
    memcpy(row + colptr[c], T->kkt_row + T->kkt_colptr[c], n * sizeof(int));
    where[c] = colptr[c] + n;
  }
  for (int i = 0; i < m->n_pair; ++i)
    for (int side = 0; side < 2; ++side) {
      const int a = m->pair[2 * i + side], b = m->pair[2 * i + 1 - side];
      for (int j = 0; j < T->elem_k[b]; ++j)
        for (int k = 0; k < T->elem_k[a]; ++k) row[where[T->elem_v[b] + j]++] = T->elem_v[a] + k;
    }
  for (int c = 0; c < size; ++c) qsort(row + colptr[c], colptr[c + 1] - colptr[c], sizeof(int), ascending);
  for (int c = 0; c < size; ++c)
    for (int k = T->kkt_colptr[c], at = colptr[c]; k < T->kkt_colptr[c + 1]; ++k) {
      while (row[at] != T->kkt_row[k]) at++;
      where[k] = at;
    }
}

static int rebuild(pl_work *w, pl_contact_matrix *m) {
  const pl_tables *T = w->T;
  const size_t size = T->nv + T->m, nnz = (size_t)T->nnz_kkt + entries_of_pairs(T, m);
  const size_t longest = size > (size_t)T->nnz_kkt ? size : (size_t)T->nnz_kkt;
  pl_linear_free(m->saddle.linear), free(m->saddle.values), free(m->memory);
  memset(&m->saddle, 0, sizeof m->saddle);
  m->memory = (int *)malloc((size + 1 + nnz + longest + T->nnz + 2 * (size_t)T->nnz_j + T->m + size) * sizeof(int));
  m->saddle.values = (double *)malloc(nnz * sizeof(double));
  if (!m->memory || !m->saddle.values) return PL_OUT_OF_MEMORY;
  int *colptr = m->memory, *row = colptr + size + 1, *where = row + nnz, *of = where + longest, *of_j = of + T->nnz;
  int *of_jt = of_j + T->nnz_j, *of_diagonal = of_jt + T->nnz_j, *order = of_diagonal + T->m;
  merge(T, m, colptr, row, where);
  for (int i = 0; i < T->nnz; ++i) of[i] = where[T->kkt_of[i]];
  for (int i = 0; i < T->nnz_j; ++i) of_j[i] = where[T->kkt_of_j[i]], of_jt[i] = where[T->kkt_of_jt[i]];
  for (int i = 0; i < T->m; ++i) of_diagonal[i] = where[T->kkt_of_diagonal[i]];
  const int status = find_order(w, m, order);
  if (status) return status;
  pl_saddle *s = &m->saddle;
  s->nnz = (int)nnz, s->colptr = colptr, s->row = row, s->of = of, s->of_j = of_j, s->of_jt = of_jt;
  s->of_diagonal = of_diagonal;
  s->linear = pl_linear_new((int)size, colptr, row, order, T->kkt_dense);
  return s->linear ? PL_OK : PL_OUT_OF_MEMORY;
}

/* Ensure that the pattern contains all pairs of elements coupled by contacts. */
static int cover(pl_work *w, pl_contact_matrix *m) {
  pl_contacts *c = w->contacts;
  int missing = 0;
  for (int n = 0; n < c->n && !missing; ++n) missing = for_new_pairs(w, c->touch + n, m, is_missing);
  if (!missing && m->K) return PL_OK;
  const int before = m->n_pair;
  for (int n = 0; n < c->n; ++n)
    if (for_new_pairs(w, c->touch + n, m, add_pair)) return PL_OUT_OF_MEMORY;
  if (before > m->n_pair - before + 32) { /* most of its pairs are not needed any more */
    memmove(m->pair, m->pair + 2 * before, 2 * (size_t)(m->n_pair - before) * sizeof(int));
    m->n_pair -= before;
  }
  sort_pairs(m);
  if (m->n_pair) {
    const int status = rebuild(w, m);
    if (status) return status;
  }
  m->used = m->n_pair ? &m->saddle : &w->own_saddle;
  double *grown = (double *)realloc(m->K, 2 * (size_t)m->used->nnz * sizeof(double));
  if (!grown) return PL_OUT_OF_MEMORY;
  m->K = grown, m->C = grown + m->used->nnz;
  return PL_OK;
}

/* -- values ----------------------------------------------------------------------------------------------------------- */

/* Y += X S, X with columns ld apart: six numbers at a time */
static inline void multiply(int ld, const double *X, int k, const double *S, double *Y) {
  for (int j = 0; j < k; ++j, S += 6, Y += 6) {
    double sum[6];
    memcpy(sum, Y, sizeof sum);
    for (int n = 0; n < 6; ++n) {
      const double s = S[n], *x = X + ld * n;
      for (int i = 0; i < 6; ++i) sum[i] += x[i] * s;
    }
    memcpy(Y, sum, sizeof sum);
  }
}

/* -= S' Y, on the block of two elements */
static void project(int kr, int kc, const double *S, const double *Y, int stride, double *out) {
  for (int j = 0; j < kc; ++j)
    for (int i = 0; i < kr; ++i) out[stride * j + i] -= dot6(S + 6 * i, Y + 6 * j);
}

/* K of one contact, including the contribution of C through the rates, and C, in coordinates. */
static void scatter(const pl_work *w, pl_contact_matrix *m, const pl_touch *t, const double *K, const double *C) {
  const pl_tables *T = w->T;
  const int ld = 6 * t->count;
  double *Y = w->contacts->columns, *Z = Y + 6 * T->max_k;
  for (int j = 0; j < t->count; ++j)
    for (int b = T->vertex_node[t->vertex[j]]; b; b = T->elem_base[T->node_elem[b]]) {
      const int kc = T->elem_k[T->node_elem[b]], v = T->elem_v[T->node_elem[b]];
      if (!kc) continue;
      const int stride = m->used->colptr[v + 1] - m->used->colptr[v]; /* columns of an element have the same pattern */
      for (int i = 0; i < t->count; ++i) {
        const int at = ld * 6 * j + 6 * i, first = T->vertex_node[t->vertex[i]];
        if (!first) continue;
        memset(Y, 0, 6 * (size_t)kc * sizeof(double)), memset(Z, 0, 6 * (size_t)kc * sizeof(double));
        multiply(ld, K + at, kc, w->S + T->node_s[b], Y);
        multiply(ld, C + at, kc, w->Vq + T->node_s[b], Y);
        multiply(ld, C + at, kc, w->S + T->node_s[b], Z);
        for (int a = first; a; a = T->elem_base[T->node_elem[a]]) {
          const int row = T->node_elem[a];
          if (!T->elem_k[row]) continue;
          const int entry = find_entry(m->used->colptr, m->used->row, T->elem_v[row], v);
          project(T->elem_k[row], kc, w->S + T->node_s[a], Y, stride, m->K + entry);
          project(T->elem_k[row], kc, w->S + T->node_s[a], Z, stride, m->C + entry);
        }
      }
    }
}

void pl_contact_tangents(pl_work *w) {
  pl_contacts *c = w->contacts;
  if (!c) return;
  c->in_matrix = 0;
  if (!c->n) return;
  if (!c->matrix) c->matrix = (pl_contact_matrix *)calloc(1, sizeof *c->matrix);
  if (!c->matrix || cover(w, c->matrix)) {
    c->failed = 1;
    return;
  }
  pl_contact_matrix *m = c->matrix;
  double K[PL_TOUCH_COLUMNS * PL_TOUCH_COLUMNS], C[PL_TOUCH_COLUMNS * PL_TOUCH_COLUMNS];
  memset(m->K, 0, 2 * (size_t)m->used->nnz * sizeof(double));
  for (int n = 0; n < c->n; ++n) {
    pl_contact_blocks(w, c->touch + n, K, C);
    scatter(w, m, c->touch + n, K, C);
  }
  c->in_matrix = 1;
}

pl_saddle *pl_contact_saddle(const pl_work *w) { return w->contacts->matrix->used; }

void pl_contact_assemble(const pl_work *w, double cC, double cK, const double *turns) {
  const pl_tables *T = w->T;
  const pl_contact_matrix *m = w->contacts->matrix;
  const pl_saddle *s = m->used;
  for (int n = 0; n < s->nnz; ++n) s->values[n] += cK * m->K[n] + cC * m->C[n];
  for (int q = 0; turns && q < T->n_quat; ++q, turns += 9) {
    /* the three columns of a rotation have the same pattern */
    const int c = T->quat_v[q], size = s->colptr[c + 1] - s->colptr[c];
    for (int j = 0; j < 3; ++j)
      for (int l = 0; l < 3; ++l)
        for (int i = 0; i < size; ++i) s->values[s->colptr[c + j] + i] += cC * m->C[s->colptr[c + l] + i] * turns[3 * j + l];
  }
}

void pl_contact_product(const pl_work *w, double cC, double cK, const double *x, double *y) {
  if (!w->contacts || !w->contacts->in_matrix) return;
  const pl_contact_matrix *m = w->contacts->matrix;
  const pl_saddle *s = m->used;
  for (int j = 0; j < w->T->nv; ++j)
    for (int k = s->colptr[j]; k < s->colptr[j + 1] && s->row[k] < w->T->nv; ++k)
      y[s->row[k]] += (cC * m->C[k] + cK * m->K[k]) * x[j];
}

int pl_contact_entries(const pl_work *w, int capacity, int *row, int *column, double *K, double *C) {
  int count = 0;
  if (!w->contacts || !w->contacts->in_matrix) return 0;
  const pl_contact_matrix *m = w->contacts->matrix;
  const pl_saddle *s = m->used;
  for (int j = 0; j < w->T->nv; ++j)
    for (int k = s->colptr[j]; k < s->colptr[j + 1] && s->row[k] < w->T->nv; ++k) {
      if (m->K[k] == 0 && m->C[k] == 0) continue;
      if (count < capacity) row[count] = s->row[k], column[count] = j, K[count] = m->K[k], C[count] = m->C[k];
      count++;
    }
  return count;
}

void pl_contact_begin(pl_work *w) {
  pl_contact_matrix *m = w->contacts->matrix;
  if (!m) return;
  /* the next matrix determines its own pattern */
  m->n_pair = 0;
  free(m->K);
  m->K = m->C = NULL;
  w->contacts->in_matrix = 0;
}
