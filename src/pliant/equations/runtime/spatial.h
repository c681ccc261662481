/* Small fixed-size algebra: 3-vectors, twists and wrenches (linear part first), inertias.
 *
 * A rigid inertia is ten numbers: mass, first moment (3), second moments xx yy zz xy xz yz. An articulated inertia is a
 * full 6x6 matrix by columns, each padded to eight rows of which the last two stay zero: columns of a vector's width.
 */
#ifndef PLIANT_SPATIAL_H
#define PLIANT_SPATIAL_H

#include <string.h>

static inline void cross3(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void add_cross3(const double *a, const double *b, double *c) {
  c[0] += a[1] * b[2] - a[2] * b[1];
  c[1] += a[2] * b[0] - a[0] * b[2];
  c[2] += a[0] * b[1] - a[1] * b[0];
}

/* y = R x, R column-major */
static inline void rotate3(const double *R, const double *x, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

static inline void matmul3(const double *A, const double *B, double *C) {
  for (int j = 0; j < 3; ++j) rotate3(A, B + 3 * j, C + 3 * j);
}

/* two short sums instead of a long one: neither waits for the other */
static inline double dot6(const double *a, const double *b) {
  return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/* a x b for twists */
static inline void cross_twist(const double *a, const double *b, double *c) {
  cross3(a + 3, b, c);
  add_cross3(a, b + 3, c);
  cross3(a + 3, b + 3, c + 3);
}

/* a x* f for wrenches */
static inline void cross_wrench(const double *a, const double *f, double *c) {
  cross3(a + 3, f, c);
  cross3(a + 3, f + 3, c + 3);
  add_cross3(a, f, c + 3);
}

/* twist in a frame (R, p), rewritten at the world's origin in world axes */
static inline void twist_to_world(const double *R, const double *p, const double *s, double *S) {
  rotate3(R, s + 3, S + 3);
  rotate3(R, s, S);
  add_cross3(p, S + 3, S);
}

/* wrench at the world's origin, rewritten in a frame (R, p) */
static inline void wrench_to_local(const double *R, const double *p, const double *F, double *f) {
  double n[3] = {F[3], F[4], F[5]};
  n[0] -= p[1] * F[2] - p[2] * F[1];
  n[1] -= p[2] * F[0] - p[0] * F[2];
  n[2] -= p[0] * F[1] - p[1] * F[0];
  for (int i = 0; i < 3; ++i) {
    f[i] = R[3 * i] * F[0] + R[3 * i + 1] * F[1] + R[3 * i + 2] * F[2];
    f[3 + i] = R[3 * i] * n[0] + R[3 * i + 1] * n[1] + R[3 * i + 2] * n[2];
  }
}

enum { RIGID = 10, COLUMN = 8, FULL = 6 * COLUMN };

/* Rigid inertia about the world's origin in world axes, from one about the origin of a frame (R, p) in its axes. */
static inline void world_inertia(const double *c, const double *R, const double *p, double *I) {
  const double m = c[0];
  const double L[9] = {c[4], c[7], c[8], c[7], c[5], c[9], c[8], c[9], c[6]};
  double h[3], T[9];
  rotate3(R, c + 1, h);
  matmul3(R, L, T);
  /* parallel axis: -(p^ h^ + h^ p^ + m p^ p^) = 2 (p.h) 1 - p h' - h p' + m (p.p 1 - p p') */
  const double trace = 2 * (p[0] * h[0] + p[1] * h[1] + p[2] * h[2]) + m * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
#define SECOND(i, j) \
  (T[i] * R[j] + T[3 + i] * R[3 + j] + T[6 + i] * R[6 + j] - p[i] * h[j] - h[i] * p[j] - m * p[i] * p[j])
  I[4] = SECOND(0, 0) + trace, I[5] = SECOND(1, 1) + trace, I[6] = SECOND(2, 2) + trace;
  I[7] = SECOND(0, 1), I[8] = SECOND(0, 2), I[9] = SECOND(1, 2);
#undef SECOND
  I[0] = m;
  for (int i = 0; i < 3; ++i) I[1 + i] = h[i] + m * p[i];
}

/* y = I x for a rigid inertia: force = m a - h x alpha, moment = h x a + J alpha */
static inline void rigid_times(const double *I, const double *x, double *y) {
  const double *h = I + 1, *J = I + 4, *z = x + 3;
  y[0] = I[0] * x[0] + z[1] * h[2] - z[2] * h[1];
  y[1] = I[0] * x[1] + z[2] * h[0] - z[0] * h[2];
  y[2] = I[0] * x[2] + z[0] * h[1] - z[1] * h[0];
  y[3] = J[0] * z[0] + J[3] * z[1] + J[4] * z[2] + h[1] * x[2] - h[2] * x[1];
  y[4] = J[3] * z[0] + J[1] * z[1] + J[5] * z[2] + h[2] * x[0] - h[0] * x[2];
  y[5] = J[4] * z[0] + J[5] * z[1] + J[2] * z[2] + h[0] * x[1] - h[1] * x[0];
}

/* The full matrix of a rigid inertia. */
static inline void rigid_to_full(const double *I, double *A) {
  const double *h = I + 1, *J = I + 4;
  const double columns[6][6] = {
      {I[0], 0, 0, 0, h[2], -h[1]},          {0, I[0], 0, -h[2], 0, h[0]},          {0, 0, I[0], h[1], -h[0], 0},
      {0, -h[2], h[1], J[0], J[3], J[4]},    {h[2], 0, -h[0], J[3], J[1], J[5]},    {-h[1], h[0], 0, J[4], J[5], J[2]},
  };
  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < 6; ++i) A[COLUMN * j + i] = columns[j][i];
    A[COLUMN * j + 6] = A[COLUMN * j + 7] = 0;
  }
}

/* A column as one value, where the compiler knows vectors. Macros: how vectors are passed depends on the machine. */
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpsabi" /* the same for returned ones, but those functions are inlined */
typedef double column __attribute__((vector_size(COLUMN * sizeof(double))));
#define SUM(a, b) ((a) + (b))
#define SCALED(a, x) ((a) * (x))
#define ENTRY(a, i) ((a)[i])
#else
typedef struct column {
  double at[COLUMN];
} column;

static inline column SUM(column a, column b) {
  for (int i = 0; i < COLUMN; ++i) a.at[i] += b.at[i];
  return a;
}
static inline column SCALED(column a, double x) {
  for (int i = 0; i < COLUMN; ++i) a.at[i] *= x;
  return a;
}
#define ENTRY(a, i) ((a).at[i])
#endif

static inline column load(const double *x) {
  column y;
  memcpy(&y, x, sizeof y);
  return y;
}

static inline void store(double *x, const column *y) { memcpy(x, y, sizeof *y); }

/* A x for a full matrix */
static inline column full_times(const double *A, const double *x) {
  column y[6];
  for (int j = 0; j < 6; ++j) y[j] = load(A + COLUMN * j), y[j] = SCALED(y[j], x[j]);
  return SUM(SUM(SUM(y[0], y[1]), y[2]), SUM(SUM(y[3], y[4]), y[5]));
}

static inline double dot_column(const double *a, const column *b) {
  return (a[0] * ENTRY(*b, 0) + a[1] * ENTRY(*b, 1) + a[2] * ENTRY(*b, 2)) +
         (a[3] * ENTRY(*b, 3) + a[4] * ENTRY(*b, 4) + a[5] * ENTRY(*b, 5));
}

/* B of tangent.c as twelve numbers: l, then G by columns. */
enum { RATE = 12 };

/* y = B x, where x is the angular part */
static inline void rate_times(const double *B, const double *x, double *y) {
  cross3(x, B, y);
  for (int i = 0; i < 3; ++i) y[i] *= 2;
  rotate3(B + 3, x, y + 3);
}

/* y = the angular part of B' x (the linear part is zero) */
static inline void rate_times_transposed(const double *B, const double *x, double *y) {
  const double *G = B + 3;
  cross3(B, x, y);
  for (int i = 0; i < 3; ++i) y[i] = 2 * y[i] + G[3 * i] * x[3] + G[3 * i + 1] * x[4] + G[3 * i + 2] * x[5];
}

#endif
