/* Small fixed-size algebra: 3-vectors, twists and wrenches (linear part first), inertias.
 *
 * A rigid inertia is ten numbers: mass, first moment (3), second moments xx yy zz xy xz yz. An articulated inertia is a
 * full 6x6 matrix by columns of eight rows: the linear part, a zero, the angular part, a zero, so that each part has the
 * width of a vector. Wrenches used with it are such columns too.
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

static inline double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* y = R x, R column-major */
static inline void rotate3(const double *R, const double *x, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

static inline void matmul3(const double *A, const double *B, double *C) {
  for (int j = 0; j < 3; ++j) rotate3(A, B + 3 * j, C + 3 * j);
}

/* two independent sums, which shortens the dependency chain */
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

enum { RIGID = 10, COLUMN = 8, ANGULAR = 4, FULL = 6 * COLUMN };

/* Index of component i of six in a column. */
#define ROW(i) ((i) < 3 ? (i) : (i) + 1)

/* c . x for a column c and six numbers x */
static inline double dot_numbers(const double *c, const double *x) {
  return (c[0] * x[0] + c[1] * x[1] + c[2] * x[2]) + (c[4] * x[3] + c[5] * x[4] + c[6] * x[5]);
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

/* A column and one of its parts as values, where the compiler knows vectors. Functions take them by address: how they are
 * passed depends on the machine. */
#ifdef __GNUC__
/* so does how they are returned, but those functions are inlined */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#elif __has_warning("-Wpsabi") /* earlier versions do not know it */
#pragma clang diagnostic ignored "-Wpsabi"
#endif
typedef double column __attribute__((vector_size(COLUMN * sizeof(double))));
typedef double part __attribute__((vector_size(ANGULAR * sizeof(double))));
/* The same anywhere in memory: compilers copy bytes in smaller pieces, which stalls store forwarding. */
typedef double placed_column __attribute__((vector_size(COLUMN * sizeof(double)), aligned(8), may_alias));
typedef double placed_part __attribute__((vector_size(ANGULAR * sizeof(double)), aligned(8), may_alias));
#define SUM(a, b) ((a) + (b))
#define SCALED(a, x) ((a) * (x))
#define ENTRY(a, i) ((a)[i])
#define PART(x, y, z, end) ((part){x, y, z, end})
#define PART_SUM(a, b) ((a) + (b))
#define PART_DIFFERENCE(a, b) ((a) - (b))
#define PART_PRODUCT(a, b) ((a) * (b))
#define PART_SCALED(a, x) ((a) * (x))
#else
typedef struct column {
  double at[COLUMN];
} column;
typedef struct part {
  double at[ANGULAR];
} part;
typedef column placed_column;
typedef part placed_part;

static inline column SUM(column a, column b) {
  for (int i = 0; i < COLUMN; ++i) a.at[i] += b.at[i];
  return a;
}
static inline column SCALED(column a, double x) {
  for (int i = 0; i < COLUMN; ++i) a.at[i] *= x;
  return a;
}
static inline part PART(double x, double y, double z, double end) {
  const part made = {{x, y, z, end}};
  return made;
}
static inline part PART_SUM(part a, part b) {
  for (int i = 0; i < ANGULAR; ++i) a.at[i] += b.at[i];
  return a;
}
static inline part PART_DIFFERENCE(part a, part b) {
  for (int i = 0; i < ANGULAR; ++i) a.at[i] -= b.at[i];
  return a;
}
static inline part PART_PRODUCT(part a, part b) {
  for (int i = 0; i < ANGULAR; ++i) a.at[i] *= b.at[i];
  return a;
}
static inline part PART_SCALED(part a, double x) {
  for (int i = 0; i < ANGULAR; ++i) a.at[i] *= x;
  return a;
}
#define ENTRY(a, i) ((a).at[i])
#endif

static inline column load(const double *x) { return *(const placed_column *)x; }
static inline void store(double *x, const column *y) { *(placed_column *)x = *y; }
static inline part load_part(const double *x) { return *(const placed_part *)x; }
static inline void store_part(double *x, const part *y) { *(placed_part *)x = *y; }

/* x X_0 + y X_1 + z X_2 */
static inline part combine(const part *X, double x, double y, double z) {
  return PART_SUM(PART_SUM(PART_SCALED(X[0], x), PART_SCALED(X[1], y)), PART_SCALED(X[2], z));
}

/* A vector by its next components, (y, z, x) and (z, x, y): the other factor of a cross product needs the same. */
typedef struct lever {
  part yzx, zxy;
} lever;

static inline lever lever_of(const part *p) {
  const lever made = {PART(ENTRY(*p, 1), ENTRY(*p, 2), ENTRY(*p, 0), ENTRY(*p, 3)),
                      PART(ENTRY(*p, 2), ENTRY(*p, 0), ENTRY(*p, 1), ENTRY(*p, 3))};
  return made;
}

/* p x b */
static inline part cross_lever(const lever *p, const part *b) {
  const lever other = lever_of(b);
  return PART_DIFFERENCE(PART_PRODUCT(p->yzx, other.zxy), PART_PRODUCT(p->zxy, other.yzx));
}

static inline part cross_part(const part *a, const part *b) {
  const lever p = lever_of(a);
  return cross_lever(&p, b);
}

/* Three numbers as a part, and back. */
static inline part part_at(const double *x) { return PART(x[0], x[1], x[2], 0); }

static inline void put_part(double *x, const part *y) { x[0] = ENTRY(*y, 0), x[1] = ENTRY(*y, 1), x[2] = ENTRY(*y, 2); }

/* R x for a matrix of three columns */
static inline part turned(const part *R, const double *x) { return combine(R, x[0], x[1], x[2]); }

/* Rigid inertia about the world's origin in world axes, from one about the origin of a frame (R, p) in its axes. */
static inline void world_inertia(const double *c, const double *R, const double *p, double *I) {
  const double m = c[0], L[9] = {c[4], c[7], c[8], c[7], c[5], c[9], c[8], c[9], c[6]};
  const part columns[3] = {part_at(R), part_at(R + 3), part_at(R + 6)}, P = part_at(p);
  const part T[3] = {turned(columns, L), turned(columns, L + 3), turned(columns, L + 6)}; /* R L */
  const part h = turned(columns, c + 1), moment = PART_SUM(h, PART_SCALED(P, m));
  double first[3], total[3];
  put_part(first, &h), put_part(total, &moment);
  /* parallel axis: -(p^ h^ + h^ p^ + m p^ p^) = 2 (p.h) 1 - p h' - h p' + m (p.p 1 - p p') */
  const double trace = p[0] * (first[0] + total[0]) + p[1] * (first[1] + total[1]) + p[2] * (first[2] + total[2]);
  part J[3];
  for (int j = 0; j < 3; ++j) {
    const part away = PART_SUM(PART_SCALED(P, first[j]), PART_SCALED(moment, p[j]));
    J[j] = PART_DIFFERENCE(combine(T, R[j], R[3 + j], R[6 + j]), away);
  }
  I[0] = m, I[1] = total[0], I[2] = total[1], I[3] = total[2];
  I[4] = ENTRY(J[0], 0) + trace, I[5] = ENTRY(J[1], 1) + trace, I[6] = ENTRY(J[2], 2) + trace;
  I[7] = ENTRY(J[1], 0), I[8] = ENTRY(J[2], 0), I[9] = ENTRY(J[2], 1);
}

/* Parts are stored as vectors: loading a vector stalls if its numbers were stored one by one. */
static inline void put_column(double *x, double a, double b, double c, double d, double e, double f) {
  const part linear = PART(a, b, c, 0), angular = PART(d, e, f, 0);
  store_part(x, &linear), store_part(x + ANGULAR, &angular);
}

/* Six numbers as a column. */
static inline void to_column(const double *x, double *y) {
  put_column(y, x[0], x[1], x[2], x[3], x[4], x[5]);
}

/* The full matrix of a rigid inertia. */
static inline void rigid_to_full(const double *I, double *A) {
  const double m = I[0], *h = I + 1, *J = I + 4;
  put_column(A, m, 0, 0, 0, h[2], -h[1]);
  put_column(A + COLUMN, 0, m, 0, -h[2], 0, h[0]);
  put_column(A + 2 * COLUMN, 0, 0, m, h[1], -h[0], 0);
  put_column(A + 3 * COLUMN, 0, -h[2], h[1], J[0], J[3], J[4]);
  put_column(A + 4 * COLUMN, h[2], 0, -h[0], J[3], J[1], J[5]);
  put_column(A + 5 * COLUMN, -h[1], h[0], 0, J[4], J[5], J[2]);
}

/* A x for a full matrix */
static inline column full_times(const double *A, const double *x) {
  column y[6];
  for (int j = 0; j < 6; ++j) y[j] = load(A + COLUMN * j), y[j] = SCALED(y[j], x[j]);
  return SUM(SUM(SUM(y[0], y[1]), y[2]), SUM(SUM(y[3], y[4]), y[5]));
}

static inline double dot_column(const double *a, const column *b) {
  return (a[0] * ENTRY(*b, 0) + a[1] * ENTRY(*b, 1) + a[2] * ENTRY(*b, 2)) +
         (a[3] * ENTRY(*b, 4) + a[4] * ENTRY(*b, 5) + a[5] * ENTRY(*b, 6));
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
