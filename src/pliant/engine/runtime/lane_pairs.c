/* Several interactions of two frames at once: gathering, kernels, and blocks of the system's matrices; see lane_pairs.h. */
#include <string.h>

#include "lane_pairs.h"

enum { AT_ONCE = 6 }; /* columns */

void pl_lanes_gather(const pl_work *w, const pl_batch *b, const int *nodes, int end, pl_lanes *pose, pl_lanes *twist) {
  int g[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) g[l] = nodes[2 * pl_instance(b, l) + end];
  pl_lanes_nodes(w, g, pose, twist);
}

static void call_singly(const pl_work *w, const pl_kernel *kernel, int lane, int arguments, const int *in,
                        const pl_lanes *const *arg, int results, const int *out, pl_lanes *const *res) {
  const double *single_arg[8];
  double *single_res[8], *next = w->temporary.single;
  for (int n = 0; n < arguments; ++n) {
    single_arg[n] = next;
    for (int i = 0; i < in[n]; ++i) *next++ = ((const double *)arg[n])[PL_WIDTH * i + lane];
  }
  for (int n = 0; n < results; ++n) single_res[n] = res[n] ? next : 0, next += res[n] ? out[n] : 0;
  kernel->call(single_arg, single_res, w->kernel_iw, w->kernel_w, kernel->number);
  for (int n = 0; n < results; ++n)
    if (res[n]) lanes_put(single_res[n], out[n], lane, res[n]);
}

void pl_call_lanes(const pl_work *w, const pl_kernel *kernel, int arguments, const int *in, const pl_lanes *const *arg,
                   int results, const int *out, pl_lanes *const *res) {
  if (kernel->lanes) {
    const double *lanes_arg[8];
    double *lanes_res[8];
    for (int n = 0; n < arguments; ++n) lanes_arg[n] = (const double *)arg[n];
    for (int n = 0; n < results; ++n) lanes_res[n] = (double *)res[n];
    kernel->lanes(lanes_arg, lanes_res, w->kernel_iw, w->kernel_w, 0);
    return;
  }
  for (int l = 0; l < PL_WIDTH; ++l) call_singly(w, kernel, l, arguments, in, arg, results, out, res);
}

void pl_lanes_columns(const pl_work *w, const int *nodes, int first, int count, const double *from, pl_lanes *out) {
  static const double none[6 * AT_ONCE] = {0};
  const pl_tables *T = w->T;
  const double *all[PL_WIDTH];
  int whole = 1; /* all columns of all lanes, or none: those of the ground */
  for (int l = 0; l < PL_WIDTH; ++l) {
    all[l] = nodes[l] ? from + T->node_s[nodes[l]] + 6 * first : none;
    whole &= !nodes[l] || T->elem_k[T->node_elem[nodes[l]]] >= first + count;
  }
  if (whole) {
    lanes_gather(all, 6 * count, out);
    return;
  }
  for (int l = 0; l < PL_WIDTH; ++l) {
    int k = nodes[l] ? T->elem_k[T->node_elem[nodes[l]]] - first : 0;
    k = k < 0 ? 0 : k > count ? count : k;
    if (k) lanes_put(from + T->node_s[nodes[l]] + 6 * first, 6 * k, l, out);
    for (int i = 6 * k; i < 6 * count; ++i) ((double *)out)[PL_WIDTH * i + l] = 0;
  }
}

static int most_columns(const pl_tables *T, const int *nodes) {
  int most = 0;
  for (int l = 0; l < PL_WIDTH; ++l) {
    const int k = nodes[l] ? T->elem_k[T->node_elem[nodes[l]]] : 0;
    if (k > most) most = k;
  }
  return most;
}

static inline void add_lane(int rows, int columns, int stride, double factor, const pl_lanes *block, int lane, double *at) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) at[stride * j + i] += factor * PL_LANE(block[6 * j + i], lane);
}

/* Adds one lane of a block that begins at (row, column) of the pair's; loops over common sizes are unrolled. */
static inline void add(const pl_tables *T, int pair, const pl_pairs *p, int lane, int row, int column, const pl_lanes *block,
                       double *out) {
  const int er = T->node_elem[p->row[pair]], ec = T->node_elem[p->col[pair]], stride = T->elem_stride[ec];
  const int rows = T->elem_k[er] - row < AT_ONCE ? T->elem_k[er] - row : AT_ONCE;
  const int columns = T->elem_k[ec] - column < AT_ONCE ? T->elem_k[ec] - column : AT_ONCE;
  double *at = out + p->pos[pair] + stride * column + row;
  if (rows == 3 && columns == 3) add_lane(3, 3, stride, p->factor, block, lane, at);
  else if (rows == 6 && columns == 6) add_lane(6, 6, stride, p->factor, block, lane, at);
  else add_lane(rows, columns, stride, p->factor, block, lane, at);
}

static void add_all(const pl_tables *T, int pair, const pl_pairs *p, int lane, int row, int column, const pl_lanes *K,
                    const pl_lanes *C, const pl_lanes *M) {
  if (p->K) add(T, pair, p, lane, row, column, K, p->K);
  if (p->C) add(T, pair, p, lane, row, column, C, p->C);
  if (p->M) add(T, pair, p, lane, row, column, M, p->M);
}

static inline int counts(const pl_pairs *p, int i) { return !p->active || p->active[p->index[i]]; }

static inline int is_wanted(const pl_pairs *p, int pair) { return p->col[pair] >= p->first_node && p->col[pair] < p->end_node; }

/* The pair of an instance on the paths to these ends, or -1. */
static int pair_of(const pl_pairs *p, int i, int row, int column) {
  for (int n = p->begin[i]; counts(p, i) && n < p->begin[i + 1]; ++n)
    if (p->a[n] == row && p->b[n] == column) return is_wanted(p, n) ? n : -1;
  return -1;
}

/* Add a block to the matrix of each lane that has a pair; all have this number of rows and columns. */
static void add_lanes(const pl_tables *T, const pl_pairs *p, const int *pair, int lanes, int rows, int columns, pl_lanes *block,
                      double *out) {
  double *to[PL_WIDTH], unused[AT_ONCE];
  int stride[PL_WIDTH];
  for (int l = 0; l < lanes; ++l) {
    to[l] = pair[l] < 0 ? unused : out + p->pos[pair[l]];
    stride[l] = pair[l] < 0 ? 0 : T->elem_stride[T->node_elem[p->col[pair[l]]]];
  }
  for (int i = 0; i < AT_ONCE; ++i) unused[i] = 0;
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) block[6 * j + i] *= p->factor;
    lanes_add(block + 6 * j, rows, lanes, to);
    for (int l = 0; l < lanes; ++l) to[l] += stride[l];
  }
}

/* Whether the nodes of all pairs have this number of coordinates. */
static int alike(const pl_tables *T, const pl_pairs *p, const int *pair, int lanes, int rows, int columns) {
  for (int l = 0; l < lanes; ++l)
    if (pair[l] >= 0 && (T->elem_k[T->node_elem[p->row[pair[l]]]] != rows || T->elem_k[T->node_elem[p->col[pair[l]]]] != columns))
      return 0;
  return 1;
}

/* Frames moved by at most one element of up to six coordinates: the columns of all lanes at once. */
static void add_plain(const pl_work *w, const pl_pairs *p, const pl_batch *b, const int nodes[2][PL_WIDTH], const int *k) {
  pl_lanes columns[2][AT_ONCE * PL_COLUMN], K[36], C[36], M[36];
  for (int end = 0; end < 2; ++end) p->columns(w, b, end, nodes[end], 0, k[end], columns[end]);
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 2; ++column) {
      if (!k[row] || !k[column]) continue;
      p->block(b, row, column, k[row], columns[row], k[column], columns[column], K, C, M);
      int pair[PL_WIDTH];
      for (int l = 0; l < b->count; ++l) pair[l] = pair_of(p, b->first + l, row, column);
      if (alike(w->T, p, pair, b->count, k[row], k[column])) {
        if (p->K) add_lanes(w->T, p, pair, b->count, k[row], k[column], K, p->K);
        if (p->C) add_lanes(w->T, p, pair, b->count, k[row], k[column], C, p->C);
        if (p->M) add_lanes(w->T, p, pair, b->count, k[row], k[column], M, p->M);
      } else
        for (int l = 0; l < b->count; ++l)
          if (pair[l] >= 0) add_all(w->T, pair[l], p, l, 0, 0, K, C, M);
    }
}

/* Other frames: pair by pair, each in the lane of its instance. */
static void add_chained(const pl_work *w, const pl_pairs *p, const pl_batch *b, int lane) {
  const pl_tables *T = w->T;
  const int i = b->first + lane;
  for (int n = p->begin[i]; n < p->begin[i + 1]; ++n) {
    if (!is_wanted(p, n)) continue;
    pl_lanes row[AT_ONCE * PL_COLUMN], column[AT_ONCE * PL_COLUMN], K[36], C[36], M[36];
    int rows[PL_WIDTH], columns[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) rows[l] = p->row[n], columns[l] = p->col[n];
    const int k_row = most_columns(T, rows), k_column = most_columns(T, columns);
    for (int c = 0; c < k_column; c += AT_ONCE) {
      const int count = k_column - c < AT_ONCE ? k_column - c : AT_ONCE;
      p->columns(w, b, p->b[n], columns, c, count, column);
      for (int r = 0; r < k_row; r += AT_ONCE) {
        const int height = k_row - r < AT_ONCE ? k_row - r : AT_ONCE;
        p->columns(w, b, p->a[n], rows, r, height, row);
        p->block(b, p->a[n], p->b[n], height, row, count, column, K, C, M);
        add_all(T, n, p, lane, r, c, K, C, M);
      }
    }
  }
}

#ifdef __GNUC__
static inline void expect(const double *column, int rows) {
  __builtin_prefetch(column, 1), __builtin_prefetch(column + rows - 1, 1);
}
#else
static inline void expect(const double *column, int rows) { (void)column, (void)rows; }
#endif

void pl_expect_pairs(const pl_work *w, const pl_pairs *p, const pl_batch *b) {
  const pl_tables *T = w->T;
  for (int n = p->begin[b->first]; n < p->begin[b->first + b->count]; ++n) {
    const int e = T->node_elem[p->col[n]], rows = T->elem_k[T->node_elem[p->row[n]]];
    for (int j = 0, at = p->pos[n]; is_wanted(p, n) && j < T->elem_k[e]; ++j, at += T->elem_stride[e]) {
      if (p->K) expect(p->K + at, rows);
      if (p->C) expect(p->C + at, rows);
      if (p->M) expect(p->M + at, rows);
    }
  }
}

void pl_add_pairs(const pl_work *w, const pl_pairs *p, const void *batch) {
  const pl_batch *b = (const pl_batch *)batch;
  int plain = 1, nodes[2][PL_WIDTH], k[2];
  for (int end = 0; end < 2; ++end) {
    for (int l = 0; l < PL_WIDTH; ++l) nodes[end][l] = p->nodes[2 * pl_instance(b, l) + end];
    k[end] = most_columns(w->T, nodes[end]);
  }
  for (int l = 0; l < b->count; ++l) plain &= p->plain[b->first + l];
  if (plain && k[0] <= AT_ONCE && k[1] <= AT_ONCE) {
    add_plain(w, p, (const pl_batch *)batch, (const int(*)[PL_WIDTH])nodes, k);
    return;
  }
  for (int l = 0; l < b->count; ++l)
    if (counts(p, b->first + l)) add_chained(w, p, (const pl_batch *)batch, l);
}
