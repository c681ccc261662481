/* Interactions of two frames, several of one type at once: small algebra on lanes, and their contributions to the system's matrices.
 * A coordinate acts on a frame by its columns, expressed in it; an interaction computes the block of two coordinates from those. */
#ifndef PLIANT_LANE_PAIRS_H
#define PLIANT_LANE_PAIRS_H

#include "lanes.h"
#include "pliant.h"

/* -- small algebra -------------------------------------------------------------------------------------------------- */

/* n numbers into one lane */
static inline void lanes_put(const double *x, int n, int lane, pl_lanes *out) {
  for (int i = 0; i < n; ++i) ((double *)out)[PL_WIDTH * i + lane] = x[i];
}

/* Four numbers on four lanes become four times four numbers in a row, and back. */
#ifdef __GNUC__
#ifdef __clang__
#define PL_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PL_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (pl_mask){__VA_ARGS__})
#endif
static inline void lanes_transpose(const pl_lanes *x, pl_lanes *y) {
  const pl_lanes a = PL_SHUFFLE(x[0], x[1], 0, 4, 2, 6), b = PL_SHUFFLE(x[0], x[1], 1, 5, 3, 7);
  const pl_lanes c = PL_SHUFFLE(x[2], x[3], 0, 4, 2, 6), d = PL_SHUFFLE(x[2], x[3], 1, 5, 3, 7);
  y[0] = PL_SHUFFLE(a, c, 0, 1, 4, 5), y[1] = PL_SHUFFLE(b, d, 0, 1, 4, 5);
  y[2] = PL_SHUFFLE(a, c, 2, 3, 6, 7), y[3] = PL_SHUFFLE(b, d, 2, 3, 6, 7);
}
#endif

/* n numbers of each lane, from where each has them. They go through registers: lanes that were stored number by number would
 * have to be waited for. */
static inline void lanes_gather(const double *const *from, int n, pl_lanes *out) {
  int i = 0;
#ifdef __GNUC__
  for (; i + PL_WIDTH <= n; i += PL_WIDTH) {
    pl_lanes x[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) x[l] = *(const pl_lanes *)(from[l] + i);
    lanes_transpose(x, out + i);
  }
  for (; i < n; ++i) out[i] = (pl_lanes){from[0][i], from[1][i], from[2][i], from[3][i]};
#else
  for (; i < n; ++i) out[i] = from[0][i];
#endif
}

/* Adds n numbers of each of the first `count` lanes to where each has them. */
static inline void lanes_add(const pl_lanes *x, int n, int count, double *const *to) {
  int i = 0;
#ifdef __GNUC__
  for (; i + PL_WIDTH <= n; i += PL_WIDTH) {
    pl_lanes own[PL_WIDTH];
    lanes_transpose(x + i, own);
    for (int l = 0; l < count; ++l) *(pl_lanes *)(to[l] + i) += own[l];
  }
#endif
  for (; i < n; ++i)
    for (int l = 0; l < count; ++l) to[l][i] += PL_LANE(x[i], l);
}

/* The same, replacing the previous numbers. */
static inline void lanes_take(const pl_lanes *x, int n, int count, double *const *to) {
  int i = 0;
#ifdef __GNUC__
  for (; i + PL_WIDTH <= n; i += PL_WIDTH) {
    pl_lanes own[PL_WIDTH];
    lanes_transpose(x + i, own);
    for (int l = 0; l < count; ++l) *(pl_lanes *)(to[l] + i) = own[l];
  }
#endif
  for (; i < n; ++i)
    for (int l = 0; l < count; ++l) to[l][i] = PL_LANE(x[i], l);
}

static inline void lanes_cross(const pl_lanes *a, const pl_lanes *b, pl_lanes *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* a x b for twists */
static inline void lanes_cross_twist(const pl_lanes *a, const pl_lanes *b, pl_lanes *c) {
  pl_lanes d[3];
  lanes_cross(a + 3, b, c), lanes_cross(a, b + 3, d);
  for (int i = 0; i < 3; ++i) c[i] += d[i];
  lanes_cross(a + 3, b + 3, c + 3);
}

/* y = R x, and back */
static inline void lanes_rotate(const pl_lanes *R, const pl_lanes *x, pl_lanes *y) {
  for (int i = 0; i < 3; ++i) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

static inline void lanes_rotate_back(const pl_lanes *R, const pl_lanes *x, pl_lanes *y) {
  for (int i = 0; i < 3; ++i) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

/* a pose (R, p) becomes the one that stands at x in it */
static inline void lanes_place(pl_lanes *pose, const pl_lanes *x) {
  pl_lanes R[9], d[3];
  for (int j = 0; j < 3; ++j) lanes_rotate(pose, x + 3 * j, R + 3 * j);
  lanes_rotate(pose, x + 9, d);
  for (int i = 0; i < 9; ++i) pose[i] = R[i];
  for (int i = 0; i < 3; ++i) pose[9 + i] += d[i];
}

/* the pose b relative to a */
static inline void lanes_relative(const pl_lanes *a, const pl_lanes *b, pl_lanes *x) {
  const pl_lanes d[3] = {b[9] - a[9], b[10] - a[10], b[11] - a[11]};
  for (int j = 0; j < 3; ++j) lanes_rotate_back(a, b + 3 * j, x + 3 * j);
  lanes_rotate_back(a, d, x + 9);
}

/* a twist at the world's origin, expressed in a pose */
static inline void lanes_see(const pl_lanes *pose, const pl_lanes *V, pl_lanes *x) {
  pl_lanes u[3];
  lanes_cross(V + 3, pose + 9, u);
  for (int i = 0; i < 3; ++i) u[i] += V[i];
  lanes_rotate_back(pose, u, x);
  lanes_rotate_back(pose, V + 3, x + 3);
}

/* a wrench in a pose, at the world's origin */
static inline void lanes_to_world(const pl_lanes *pose, const pl_lanes *f, pl_lanes *F) {
  pl_lanes moment[3];
  lanes_rotate(pose, f, F), lanes_rotate(pose, f + 3, F + 3);
  lanes_cross(pose + 9, F, moment);
  for (int i = 0; i < 3; ++i) F[3 + i] += moment[i];
}

/* y = X x, or y += X x, for a block of six rows and columns in a matrix of `rows` rows */
static inline void lanes_times(const pl_lanes *X, int rows, const pl_lanes *x, pl_lanes *y) {
  for (int i = 0; i < 6; ++i) {
    pl_lanes sum = X[i] * x[0];
    for (int n = 1; n < 6; ++n) sum += X[rows * n + i] * x[n];
    y[i] = sum;
  }
}

static inline void lanes_add_times(const pl_lanes *X, int rows, const pl_lanes *x, pl_lanes *y) {
  for (int i = 0; i < 6; ++i) {
    pl_lanes sum = X[i] * x[0];
    for (int n = 1; n < 6; ++n) sum += X[rows * n + i] * x[n];
    y[i] += sum;
  }
}

static inline pl_lanes lanes_dot(const pl_lanes *a, const pl_lanes *b) {
  return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/* -- instances ------------------------------------------------------------------------------------------------------ */

/* Instances of one type at once; lanes beyond `count` repeat the last one. */
typedef struct pl_batch {
  int kind, first, count;
} pl_batch;

static inline int pl_instance(const pl_batch *b, int lane) { return b->first + (lane < b->count ? lane : b->count - 1); }

/* Batches of all instances, kind by kind: from `begin[kind]` to `begin[kind + 1]`. */
#define PL_EACH_BATCH(b, kinds, begin)                                                                         \
  for (pl_batch b = {0}; b.kind < (kinds); ++b.kind)                                                           \
    for (b.first = (begin)[b.kind];                                                                            \
         b.count = (begin)[b.kind + 1] - b.first < PL_WIDTH ? (begin)[b.kind + 1] - b.first : PL_WIDTH,        \
        b.count > 0;                                                                                           \
         b.first += PL_WIDTH)

/* Poses (12) and twists (6) of one node per lane. */
static inline void pl_lanes_nodes(const pl_work *w, const int *nodes, pl_lanes *pose, pl_lanes *twist) {
  const double *R[PL_WIDTH], *p[PL_WIDTH], *V[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) R[l] = w->R + 9 * nodes[l], p[l] = w->p + 3 * nodes[l], V[l] = w->V + 6 * nodes[l];
  lanes_gather(R, 9, pose), lanes_gather(p, 3, pose + 9), lanes_gather(V, 6, twist);
}

/* Numbers of each instance, from those of the robot at `at[instance]`. */
static inline void pl_lanes_numbers(const pl_batch *b, const double *all, const int *at, int skip, int count, pl_lanes *out) {
  const double *from[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) from[l] = all + at[pl_instance(b, l)] + skip;
  lanes_gather(from, count, out);
}

/* Poses and twists of the node of frame `end` (0 or 1) of each instance; `nodes` has two for each. */
void pl_lanes_gather(const pl_work *, const pl_batch *, const int *nodes, int end, pl_lanes *pose, pl_lanes *twist);
/* Evaluates a kernel, with sizes of its arguments and results; in single lanes until its code for several is available. */
void pl_call_lanes(const pl_work *, const pl_kernel *, int arguments, const int *in, const pl_lanes *const *arg, int results,
                   const int *out, pl_lanes *const *res);
/* Up to six columns (6 numbers each) of one node per lane from column `first` on, out of S, Vq, Av or Aq: at the world's origin. */
void pl_lanes_columns(const pl_work *, const int *nodes, int first, int count, const double *from, pl_lanes *out);

/* -- blocks --------------------------------------------------------------------------------------------------------- */

/* Contributions to K, C and M of pairs of nodes, one on the path to each frame: `columns` prepares up to six of a node per lane for frame
 * `end` (0 or 1), in PL_COLUMN lanes each at most, `block` computes the block of two of them, 6 by 6, of which `rows` and `count`
 * are used. */
enum { PL_COLUMN = 30 };

typedef struct pl_pairs {
  const int *begin, *a, *b, *row, *col, *pos; /* index tables: pairs of each instance, their frames, nodes and block */
  const int *plain;                           /* whether each frame of an instance is connected to the ground by at most one
  element */ const int *nodes;                           /* of the frames, two for each instance */
  const int *index, *active;                  /* active[index[instance]] is whether it is active; null for always */
  void (*columns)(const pl_work *, const void *batch, int end, const int *nodes, int first, int count, pl_lanes *out);
  void (*block)(const void *batch, int row_end, int column_end, int rows, const pl_lanes *row, int count,
                const pl_lanes *column, pl_lanes *K, pl_lanes *C, pl_lanes *M);
  double *K, *C, *M;                          /* destination of values; null for none */
  double factor;                              /* of what is added */
  int first_node, end_node;                   /* blocks in the columns of these nodes are added, and no others */
} pl_pairs;

/* `batch` begins with a pl_batch. */
void pl_add_pairs(const pl_work *, const pl_pairs *, const void *batch);
/* Prefetch the destinations of the blocks of these instances while kernels are evaluated. Blocks of
 * large matrices are scattered over memory, and would cause a cache miss each. */
void pl_expect_pairs(const pl_work *, const pl_pairs *, const pl_batch *);

#endif
