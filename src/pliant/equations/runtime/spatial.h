/* Small fixed-size algebra: 3-vectors, twists and wrenches (linear part first), 6x6 symmetric inertias. */
#ifndef PLIANT_SPATIAL_H
#define PLIANT_SPATIAL_H

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

static inline double dot6(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
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

/* y = I x for a full 6x6 column-major matrix */
static inline void matvec6(const double *A, const double *x, double *y) {
  for (int i = 0; i < 6; ++i) y[i] = 0;
  for (int j = 0; j < 6; ++j)
    for (int i = 0; i < 6; ++i) y[i] += A[6 * j + i] * x[j];
}

/* y = A' x */
static inline void matvec6t(const double *A, const double *x, double *y) {
  for (int j = 0; j < 6; ++j) y[j] = dot6(A + 6 * j, x);
}

/* World inertia of a rigid body from (mass, first moment, inertia about the frame's origin xx yy zz xy xz yz),
   all in the axes of the frame (R, p); 6x6 about the world's origin; moment = world first moment. */
static inline void world_inertia(const double *c, const double *R, const double *p, double *A) {
  const double m = c[0];
  double hr[3], T[9], I[9], L[9];
  rotate3(R, c + 1, hr);
  L[0] = c[4], L[4] = c[5], L[8] = c[6];
  L[1] = L[3] = c[7], L[2] = L[6] = c[8], L[5] = L[7] = c[9];
  matmul3(R, L, T);
  for (int j = 0; j < 3; ++j)
    for (int i = j; i < 3; ++i) {
      double x = T[i] * R[j] + T[3 + i] * R[3 + j] + T[6 + i] * R[6 + j];
      /* parallel axis: -(p^ h^ + h^ p^ + m p^ p^) = 2 (p.h) 1 - p h' - h p' + m (p.p 1 - p p') */
      x -= p[i] * hr[j] + hr[i] * p[j] + m * p[i] * p[j];
      I[3 * j + i] = I[3 * i + j] = x;
    }
  const double trace = 2 * (p[0] * hr[0] + p[1] * hr[1] + p[2] * hr[2]) + m * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  I[0] += trace, I[4] += trace, I[8] += trace;
  const double h[3] = {hr[0] + m * p[0], hr[1] + m * p[1], hr[2] + m * p[2]};
  for (int i = 0; i < 36; ++i) A[i] = 0;
  A[0] = A[7] = A[14] = m;
  /* force = m a - h x alpha, moment = h x a + I alpha */
  A[6 * 4 + 0] = A[6 * 0 + 4] = h[2];
  A[6 * 5 + 0] = A[6 * 0 + 5] = -h[1];
  A[6 * 3 + 1] = A[6 * 1 + 3] = -h[2];
  A[6 * 5 + 1] = A[6 * 1 + 5] = h[0];
  A[6 * 3 + 2] = A[6 * 2 + 3] = h[1];
  A[6 * 4 + 2] = A[6 * 2 + 4] = -h[0];
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) A[6 * (3 + j) + 3 + i] = I[3 * j + i];
}

#endif
