/* Accelerations of an unconstrained tree in one sweep in and one out (articulated-body algorithm).
 *
  * An element of subspace S, articulated inertia IA and bias pA of its nodes, has U = IA S and D = S'U; w->D contains D^-1.
  * It passes IA - U D^-1 U' and pA + IA c + U D^-1 u to its base, u = tau - S'(pA + IA c), and outward its accelerations are
  * a = D^-1 (u - U'A_base). Elements that move freely except for a point, or entirely freely, have shorter formulas:
  *
 *   free rotation   relative to its centre of rotation p, force = M x + H y and moment = H'x + J y of the linear and
 *                   angular acceleration: the base is loaded by M - H J^-1 H' at p, and by no other inertia
 *   translation     the same with the parts exchanged: J - H' M^-1 H, for any reference point
 *   free frame      the base is loaded by the forces on the coordinates only
 *
 * and their accelerations do not depend on the axes of the rates.
 *
 * Inertias are those about the world's origin, so what moves no mass has round-off of either sign as its D: a pivot counts as
 * zero if it is at round-off of the inertia of everything that the coordinate carries, had it no coordinates of its own (w->bulk).
 */
#include <math.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"

/* Symmetric 3x3 matrices are six numbers: xx yy zz xy xz yz. */
enum { SYMMETRIC = 6 };

/* Pivots below this fraction of the inertia that they are the rest of are zero: a few times the round-off of its sums. */
#define ROUND_OFF 2e-15

static int failed(double pivot) { return isnan(pivot) ? PL_NOT_FINITE : PL_SINGULAR; }

/* What the pivot of a coordinate must exceed, as far as it moves node g; s: its column of S. */
static inline double round_off(const pl_work *w, int g, const double *s) {
  const double *bulk = w->bulk + 2 * g;
  return ROUND_OFF * (bulk[0] * dot3(s, s) + bulk[1] * dot3(s + 3, s + 3));
}

/* The same of three displacements, and of three rotations about p. */
static inline void round_off_of_displacements(const pl_work *w, int g, double *least) {
  least[0] = least[1] = least[2] = ROUND_OFF * w->bulk[2 * g];
}

static inline void round_off_of_rotations(const pl_work *w, int g, const double *p, double *least) {
  least[0] = least[1] = least[2] = ROUND_OFF * (w->bulk[2 * g] * dot3(p, p) + w->bulk[2 * g + 1]);
}

/* X = A^-1 by elimination; the status is an error unless all pivots exceed `least` >= 0. */
static inline int invert3(const double *A, const double *least, double *X) {
  if (!(A[0] > least[0])) return failed(A[0]);
  const double d0 = 1 / A[0], l1 = A[3] * d0, l2 = A[4] * d0, b = A[1] - l1 * A[3], f = A[5] - l2 * A[3];
  if (!(b > least[1])) return failed(b);
  const double d1 = 1 / b, l3 = f * d1, c = A[2] - l2 * A[4] - l3 * f;
  if (!(c > least[2])) return failed(c);
  const double d2 = 1 / c, x = l1 * l3 - l2;
  X[2] = d2, X[5] = -l3 * d2, X[4] = x * d2;
  X[1] = d1 + l3 * l3 * d2, X[3] = -l1 * d1 - l3 * X[4], X[0] = d0 + l1 * l1 * d1 + x * X[4];
  return PL_OK;
}

static inline void symmetric_times(const double *A, const double *x, double *y) {
  y[0] = A[0] * x[0] + A[3] * x[1] + A[4] * x[2];
  y[1] = A[3] * x[0] + A[1] * x[1] + A[5] * x[2];
  y[2] = A[4] * x[0] + A[5] * x[1] + A[2] * x[2];
}

/* y = H'x */
static inline void transposed_times(const double *H, const double *x, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = H[3 * i] * x[0] + H[3 * i + 1] * x[1] + H[3 * i + 2] * x[2];
}

static inline void transpose3(const double *H, double *Ht) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) Ht[3 * j + i] = H[3 * i + j];
}

/* K = H A for a symmetric A */
static inline void times_symmetric(const double *H, const double *A, double *K) {
  const double columns[9] = {A[0], A[3], A[4], A[3], A[1], A[5], A[4], A[5], A[2]};
  matmul3(H, columns, K);
}

/* M - K H', which is symmetric */
static inline void reduce(const double *M, const double *K, const double *H, double *out) {
#define PRODUCT(i, j) (K[i] * H[j] + K[3 + i] * H[3 + j] + K[6 + i] * H[6 + j])
  out[0] = M[0] - PRODUCT(0, 0), out[1] = M[1] - PRODUCT(1, 1), out[2] = M[2] - PRODUCT(2, 2);
  out[3] = M[3] - PRODUCT(0, 1), out[4] = M[4] - PRODUCT(0, 2), out[5] = M[5] - PRODUCT(1, 2);
#undef PRODUCT
}

/* X = M p^ for a symmetric M */
static inline void symmetric_times_cross(const double *M, const double *p, double *X) {
  const double a[3] = {M[0], M[3], M[4]}, b[3] = {M[3], M[1], M[5]}, c[3] = {M[4], M[5], M[2]};
  for (int i = 0; i < 3; ++i) {
    X[i] = p[2] * b[i] - p[1] * c[i];
    X[3 + i] = p[0] * c[i] - p[2] * a[i];
    X[6 + i] = p[1] * a[i] - p[0] * b[i];
  }
}

/* Blocks of an articulated inertia: M and J symmetric, H by columns. */
typedef struct parts {
  double M[SYMMETRIC], H[9], J[SYMMETRIC];
} parts;

static inline void split(const double *IA, parts *x) {
  const double *a = IA, *b = IA + COLUMN, *c = IA + 2 * COLUMN;
  const double *d = IA + 3 * COLUMN, *e = IA + 4 * COLUMN, *f = IA + 5 * COLUMN;
  x->M[0] = a[0], x->M[1] = b[1], x->M[2] = c[2], x->M[3] = b[0], x->M[4] = c[0], x->M[5] = c[1];
  x->J[0] = d[4], x->J[1] = e[5], x->J[2] = f[6], x->J[3] = e[4], x->J[4] = f[4], x->J[5] = f[5];
  for (int i = 0; i < 3; ++i) x->H[i] = d[i], x->H[3 + i] = e[i], x->H[6 + i] = f[i];
}

/* The same relative to p: H + M p^ and J - Y - Y' - p^ M p^, Y = p^ H. */
static inline void see_from(const double *p, parts *x) {
  double X[9], Y[9], Z[9];
  symmetric_times_cross(x->M, p, X);
  for (int j = 0; j < 3; ++j) cross3(p, x->H + 3 * j, Y + 3 * j), cross3(p, X + 3 * j, Z + 3 * j);
  for (int i = 0; i < 9; ++i) x->H[i] += X[i];
  x->J[0] -= 2 * Y[0] + Z[0], x->J[1] -= 2 * Y[4] + Z[4], x->J[2] -= 2 * Y[8] + Z[8];
  x->J[3] -= Y[3] + Y[1] + Z[3], x->J[4] -= Y[6] + Y[2] + Z[6], x->J[5] -= Y[7] + Y[5] + Z[7];
}

static inline void add_turning(const double *J, double *IA) {
  double *d = IA + 3 * COLUMN + ANGULAR, *e = d + COLUMN, *f = e + COLUMN;
  d[0] += J[0], d[1] += J[3], d[2] += J[4];
  e[0] += J[3], e[1] += J[1], e[2] += J[5];
  f[0] += J[4], f[1] += J[5], f[2] += J[2];
}

/* Relative to p: the linear part of an acceleration, and the moment of a wrench, which is a column. */
static inline void linear_at(const double *A, const double *p, double *x) {
  for (int i = 0; i < 3; ++i) x[i] = A[i];
  add_cross3(A + 3, p, x);
}

static inline void moment_at(const double *F, const double *p, double *x) {
  cross3(F, p, x);
  for (int i = 0; i < 3; ++i) x[i] += F[ANGULAR + i];
}

/* X p^ by columns */
static inline void times_cross(const part *X, const double *p, part *out) {
  out[0] = PART_DIFFERENCE(PART_SCALED(X[1], p[2]), PART_SCALED(X[2], p[1]));
  out[1] = PART_DIFFERENCE(PART_SCALED(X[2], p[0]), PART_SCALED(X[0], p[2]));
  out[2] = PART_DIFFERENCE(PART_SCALED(X[0], p[1]), PART_SCALED(X[1], p[0]));
}

/* Adds the force f at the point p to a column. */
static inline void add_force_at(const part *f, const lever *p, double *to) {
  const part force = PART_SUM(load_part(to), *f), moment = PART_SUM(load_part(to + ANGULAR), cross_lever(p, f));
  store_part(to, &force), store_part(to + ANGULAR, &moment);
}

/* Free rotation about p, inward. Stores z = J^-1 (tau - moment) in u and K = H J^-1 in U for the outward sweep. */
static inline int in_rotation(pl_work *w, int e, int g, int b) {
  const int at = w->T->elem_v[e];
  const double *p = w->p + 3 * g, *pA = w->pA + COLUMN * g, *IA = w->IA + FULL * g;
  double inverse[SYMMETRIC], least[3], tau[3], n[3], *z = w->u + at, h[3 * ANGULAR];
  part M[3], Ht[3], H[3], J[3], K[3];
  const part point = part_at(p);
  const lever arm = lever_of(&point);
  for (int j = 0; j < 3; ++j) {
    M[j] = load_part(IA + COLUMN * j), Ht[j] = load_part(IA + COLUMN * j + ANGULAR);
    H[j] = load_part(IA + COLUMN * (3 + j)), J[j] = load_part(IA + COLUMN * (3 + j) + ANGULAR);
  }
  part X[3], Y[3];
  times_cross(M, p, X), times_cross(Ht, p, Y);
  for (int j = 0; j < 3; ++j) { /* relative to p */
    H[j] = PART_SUM(H[j], X[j]);
    J[j] = PART_DIFFERENCE(PART_SUM(J[j], Y[j]), cross_lever(&arm, H + j));
  }
  const double D[SYMMETRIC] = {ENTRY(J[0], 0), ENTRY(J[1], 1), ENTRY(J[2], 2),
                               ENTRY(J[1], 0), ENTRY(J[2], 0), ENTRY(J[2], 1)};
  round_off_of_rotations(w, g, p, least);
  const int status = invert3(D, least, inverse);
  if (status) return status;
  rotate3(w->R + 9 * g, w->tau + at, tau);
  moment_at(pA, p, n);
  for (int i = 0; i < 3; ++i) n[i] = tau[i] - n[i];
  symmetric_times(inverse, n, z);
  K[0] = combine(H, inverse[0], inverse[3], inverse[4]);
  K[1] = combine(H, inverse[3], inverse[1], inverse[5]);
  K[2] = combine(H, inverse[4], inverse[5], inverse[2]);
  for (int j = 0; j < 3; ++j) store_part(w->U + COLUMN * at + 3 * j, K + j), store_part(h + ANGULAR * j, H + j);
  if (!b) return PL_OK;
  double c[3], *IAb = w->IA + FULL * b, *pb = w->pA + COLUMN * b;
  for (int j = 0; j < 3; ++j)
    M[j] = PART_SUM(M[j], combine(K, -h[j], -h[ANGULAR + j], -h[2 * ANGULAR + j]));
  linear_at(w->c + 6 * g, p, c);
  const part f = PART_SUM(load_part(pA), PART_SUM(turned(M, c), turned(H, z)));
  add_force_at(&f, &arm, pb);
  for (int i = 0; i < 3; ++i) pb[ANGULAR + i] += tau[i];
  for (int j = 0; j < 3; ++j) add_force_at(M + j, &arm, IAb + COLUMN * j);
  times_cross(M, p, X);
  for (int j = 0; j < 3; ++j) {
    X[j] = PART_SCALED(X[j], -1);
    add_force_at(X + j, &arm, IAb + COLUMN * (3 + j));
  }
  return PL_OK;
}

static inline void out_rotation(pl_work *w, int e, int g, const double *Ab, double *a) {
  const int at = w->T->elem_v[e];
  const double *p = w->p + 3 * g, *c = w->c + 6 * g;
  double *A = w->A + 6 * g, start[6], x[3], y[3], relative[3];
  for (int i = 0; i < 6; ++i) start[i] = Ab[i] + c[i];
  linear_at(start, p, x);
  transposed_times(w->U + COLUMN * at, x, y);
  for (int i = 0; i < 3; ++i) A[3 + i] = w->u[at + i] - y[i], relative[i] = A[3 + i] - start[3 + i], A[i] = x[i];
  add_cross3(p, A + 3, A);
  transposed_times(w->R + 9 * g, relative, a + at);
}

/* Translation along the axes of S, inward. Stores z = M^-1 (tau - force) in u and K = M^-1 H in U. */
static inline int in_translation(pl_work *w, int e, int g, int b) {
  const int at = w->T->elem_v[e];
  const double *pA = w->pA + COLUMN * g, *R0 = w->R + 9 * g; /* the axes do not rotate */
  double inverse[SYMMETRIC], least[3], tau[3], f[3], *K = w->U + COLUMN * at, *z = w->u + at;
  parts x;
  split(w->IA + FULL * g, &x);
  round_off_of_displacements(w, g, least);
  const int status = invert3(x.M, least, inverse);
  if (status) return status;
  rotate3(R0, w->tau + at, tau);
  for (int i = 0; i < 3; ++i) f[i] = tau[i] - pA[i], symmetric_times(inverse, x.H + 3 * i, K + 3 * i);
  symmetric_times(inverse, f, z);
  if (!b) return PL_OK;
  double J[SYMMETRIC], n[3], moment[3], Kt[9], Ht[9], *pb = w->pA + COLUMN * b;
  transpose3(K, Kt), transpose3(x.H, Ht);
  reduce(x.J, Kt, Ht, J);
  symmetric_times(J, w->c + 6 * g + 3, n);
  transposed_times(x.H, z, moment);
  add_turning(J, w->IA + FULL * b);
  for (int i = 0; i < 3; ++i) pb[i] += tau[i], pb[ANGULAR + i] += pA[ANGULAR + i] + n[i] + moment[i];
  return PL_OK;
}

static inline void out_translation(pl_work *w, int e, int g, const double *Ab, double *a) {
  const int at = w->T->elem_v[e];
  const double *c = w->c + 6 * g;
  double *A = w->A + 6 * g, y[3], relative[3];
  for (int i = 0; i < 3; ++i) A[3 + i] = Ab[3 + i] + c[3 + i];
  rotate3(w->U + COLUMN * at, A + 3, y);
  for (int i = 0; i < 3; ++i) A[i] = w->u[at + i] - y[i], relative[i] = A[i] - Ab[i] - c[i];
  transposed_times(w->R + 9 * g, relative, a + at);
}

/* Free frame, inward: its acceleration, into w->A, depends only on the forces on it. */
static inline int in_free(pl_work *w, int e, int g, int b) {
  const int at = w->T->elem_v[e];
  const double *p = w->p + 3 * g, *pA = w->pA + COLUMN * g, *S = w->S + w->T->node_s[g], *tau = w->tau + at;
  double inverse[SYMMETRIC], J[SYMMETRIC], Jinverse[SYMMETRIC], K[9], Ht[9], F[6], f[3], n[3], x[3], y[3], least[3];
  parts I;
  split(w->IA + FULL * g, &I);
  see_from(p, &I);
  for (int i = 0; i < 3; ++i) F[i] = S[i] * tau[0] + S[6 + i] * tau[1] + S[12 + i] * tau[2];
  rotate3(w->R + 9 * g, tau + 3, F + 3);
  moment_at(pA, p, n);
  for (int i = 0; i < 3; ++i) f[i] = F[i] - pA[i], n[i] = F[3 + i] - n[i];
  /* M x + H y = f, H'x + J y = n */
  round_off_of_displacements(w, g, least);
  int status = invert3(I.M, least, inverse);
  if (status) return status;
  transpose3(I.H, Ht);
  times_symmetric(Ht, inverse, K);
  reduce(I.J, K, Ht, J);
  round_off_of_rotations(w, g, p, least);
  if ((status = invert3(J, least, Jinverse))) return status;
  double *A = w->A + 6 * g;
  rotate3(K, f, x);
  for (int i = 0; i < 3; ++i) n[i] -= x[i];
  symmetric_times(Jinverse, n, A + 3);
  rotate3(I.H, A + 3, y);
  for (int i = 0; i < 3; ++i) f[i] -= y[i];
  symmetric_times(inverse, f, A);
  add_cross3(p, A + 3, A);
  if (!b) return PL_OK;
  double *pb = w->pA + COLUMN * b;
  add_cross3(p, F, F + 3);
  for (int i = 0; i < 6; ++i) pb[ROW(i)] += F[i];
  return PL_OK;
}

static inline void out_free(const pl_work *w, int e, int g, const double *Ab, double *a) {
  const double *S = w->S + w->T->node_s[g];
  double relative[6], x[3];
  for (int i = 0; i < 6; ++i) relative[i] = w->A[6 * g + i] - Ab[i] - w->c[6 * g + i];
  linear_at(relative, w->p + 3 * g, x);
  a += w->T->elem_v[e];
  for (int j = 0; j < 3; ++j) a[j] = S[6 * j] * x[0] + S[6 * j + 1] * x[1] + S[6 * j + 2] * x[2];
  transposed_times(w->R + 9 * g, relative + 3, a + 3);
}

/* One coordinate, one node: the common case, without inner loops over coordinates. */
static inline int in_single(pl_work *w, int e, int g, int b) {
  const double *IA = w->IA + FULL * g, *pA = w->pA + COLUMN * g, *S = w->S + w->T->node_s[g], *c = w->c + 6 * g;
  const int at = w->T->elem_v[e];
  const column U = full_times(IA, S), pc = SUM(load(pA), full_times(IA, c));
  const double D = dot_column(S, &U), u = w->tau[at] - dot_column(S, &pc);
  if (!(D > round_off(w, g, S))) return failed(D);
  const double inverse = 1 / D;
  store(w->U + COLUMN * at, &U);
  w->u[at] = u, w->D[w->T->elem_d[e]] = inverse;
  if (b) {
    double *IAb = w->IA + FULL * b, *pb = w->pA + COLUMN * b;
    const column X = SCALED(U, -inverse), p = SUM(SUM(load(pb), pc), SCALED(X, -u));
    for (int j = 0; j < 6; ++j) {
      const column sum = SUM(load(IAb + COLUMN * j), load(IA + COLUMN * j)), total = SUM(sum, SCALED(U, ENTRY(X, ROW(j))));
      store(IAb + COLUMN * j, &total);
    }
    store(pb, &p);
  }
  return PL_OK;
}

static inline void out_single(pl_work *w, int e, int g, const double *Ab, double *a) {
  const int at = w->T->elem_v[e];
  const double x = (w->u[at] - dot_numbers(w->U + COLUMN * at, Ab)) * w->D[w->T->elem_d[e]], *S = w->S + w->T->node_s[g];
  for (int i = 0; i < 6; ++i) w->A[6 * g + i] = Ab[i] + w->c[6 * g + i] + S[i] * x;
  a[at] = x;
}

/* D = D^-1 of three coordinates, from its lower triangle. */
static inline int invert_block3(double *D, const double *least) {
  const double A[SYMMETRIC] = {D[0], D[4], D[8], D[1], D[2], D[5]};
  double X[SYMMETRIC];
  const int status = invert3(A, least, X);
  if (status) return status;
  D[0] = X[0], D[4] = X[1], D[8] = X[2];
  D[1] = D[3] = X[3], D[2] = D[6] = X[4], D[5] = D[7] = X[5];
  return PL_OK;
}

/* D = D^-1 by the Cholesky factor L, whose inverse temporarily occupies the lower triangle. */
PL_INLINE int invert(double *D, const double *least, const int k) {
  if (k == 3) return invert_block3(D, least);
  for (int j = 0; j < k; ++j) {
    double d = D[k * j + j];
    for (int m = 0; m < j; ++m) d -= D[k * m + j] * D[k * m + j];
    if (!(d > least[j])) return failed(d);
    D[k * j + j] = d = 1 / sqrt(d);
    for (int i = j + 1; i < k; ++i) {
      double x = D[k * j + i];
      for (int m = 0; m < j; ++m) x -= D[k * m + i] * D[k * m + j];
      D[k * j + i] = x * d;
    }
  }
  for (int j = 0; j < k; ++j)
    for (int i = j + 1; i < k; ++i) {
      double x = 0;
      for (int m = j; m < i; ++m) x -= D[k * m + i] * D[k * j + m];
      D[k * j + i] = x * D[k * i + i];
    }
  for (int j = 0; j < k; ++j)
    for (int i = j; i < k; ++i) {
      double x = 0;
      for (int m = i; m < k; ++m) x += D[k * i + m] * D[k * j + m];
      D[k * j + i] = D[k * i + j] = x;
    }
  return PL_OK;
}

/* Add the contribution of one node to U and to the lower triangle of D. */
PL_INLINE void project(const double *IA, const double *S, const int k, double *U, double *D) {
  for (int j = 0; j < k; ++j) {
    const column x = full_times(IA, S + 6 * j), sum = SUM(load(U + COLUMN * j), x);
    store(U + COLUMN * j, &sum);
    for (int i = j; i < k; ++i) D[k * j + i] += dot_column(S + 6 * i, &x);
  }
}

/* Reduction of the base's inertia and contribution to its bias by the coordinates: U D^-1 U' and U D^-1 u. Upper half, then
 * lower: half of the base's columns fit into registers. */
PL_INLINE void pass_on(const double *U, const double *D, const double *u, const int k, double *IAb, double *pb) {
  for (int half = 0; half < COLUMN; half += ANGULAR) {
    part left[6], p = load_part(pb + half);
    for (int n = 0; n < 6; ++n) left[n] = load_part(IAb + COLUMN * n + half);
    for (int j = 0; j < k; ++j) {
      part X = PART_SCALED(load_part(U + half), D[k * j]);
      for (int i = 1; i < k; ++i) X = PART_SUM(X, PART_SCALED(load_part(U + COLUMN * i + half), D[k * j + i]));
      p = PART_SUM(p, PART_SCALED(X, u[j]));
      for (int n = 0; n < 6; ++n) left[n] = PART_DIFFERENCE(left[n], PART_SCALED(X, U[COLUMN * j + ROW(n)]));
    }
    store_part(pb + half, &p);
    for (int n = 0; n < 6; ++n) store_part(IAb + COLUMN * n + half, left + n);
  }
}

/* Any element, inward. */
PL_INLINE void in_general(const int k, pl_work *w, int e, int b, int *status) {
  const pl_tables *T = w->T;
  const int at = T->elem_v[e], first = T->elem_node[e], end = first + T->elem_nodes[e];
  double *U = w->U + COLUMN * at, *D = w->D + T->elem_d[e], *u = w->u + at, *least = w->least;
  double *IAb = w->IA + FULL * b, *pb = w->pA + COLUMN * b;
  memset(U, 0, COLUMN * k * sizeof(double));
  memset(D, 0, k * k * sizeof(double));
  memcpy(u, w->tau + at, k * sizeof(double));
  if (T->n_inertia) {
    memcpy(D, w->own_m + T->elem_d[e], k * k * sizeof(double));
    memcpy(U, w->own_H + COLUMN * at, COLUMN * k * sizeof(double));
    for (int j = 0; j < k; ++j) u[j] -= w->own[at + j];
  }
  for (int j = 0; j < k; ++j) least[j] = ROUND_OFF * D[(k + 1) * j];
  for (int g = first; g < end; ++g) {
    const double *IA = w->IA + FULL * g, *S = w->S + T->node_s[g];
    const column pc = SUM(load(w->pA + COLUMN * g), full_times(IA, w->c + 6 * g));
    project(IA, S, k, U, D);
    for (int j = 0; j < k; ++j) u[j] -= dot_column(S + 6 * j, &pc), least[j] += round_off(w, g, S + 6 * j);
    if (!b) continue;
    const column p = SUM(load(pb), pc);
    store(pb, &p);
    for (int i = 0; i < FULL; ++i) IAb[i] += IA[i];
  }
  *status = invert(D, least, k);
  if (!*status && b) pass_on(U, D, u, k, IAb, pb);
}

PL_INLINE void out_general(const int k, pl_work *w, int e, const double *Ab, double *a) {
  const pl_tables *T = w->T;
  const double *U = w->U + COLUMN * T->elem_v[e], *D = w->D + T->elem_d[e];
  double *left = w->u + T->elem_v[e], *x = a + T->elem_v[e];
  for (int j = 0; j < k; ++j) left[j] -= dot_numbers(U + COLUMN * j, Ab);
  for (int j = 0; j < k; ++j) {
    x[j] = 0;
    for (int i = 0; i < k; ++i) x[j] += D[k * j + i] * left[i];
  }
  for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
    const double *S = w->S + T->node_s[g];
    for (int i = 0; i < 6; ++i) {
      double y = Ab[i] + w->c[6 * g + i];
      for (int j = 0; j < k; ++j) y += S[6 * j + i] * x[j];
      w->A[6 * g + i] = y;
    }
  }
}

static int inward(pl_work *w, int e) {
  const int b = w->T->elem_base[e], g = w->T->elem_node[e], k = w->T->elem_k[e], end = g + w->T->elem_nodes[e];
  for (int i = g; b && i < end; ++i) w->bulk[2 * b] += w->bulk[2 * i], w->bulk[2 * b + 1] += w->bulk[2 * i + 1];
  switch (w->T->elem_form[e]) {
    case PL_ELEMENT_SINGLE: return in_single(w, e, g, b);
    case PL_ELEMENT_ROTATION: return in_rotation(w, e, g, b);
    case PL_ELEMENT_TRANSLATION: return in_translation(w, e, g, b);
    case PL_ELEMENT_FREE: return in_free(w, e, g, b);
  }
  int status = PL_OK;
  PL_BY_SIZE(in_general, k, w, e, b, &status);
  return status;
}

static void outward(pl_work *w, int e, double *a) {
  const int g = w->T->elem_node[e], k = w->T->elem_k[e];
  const double *Ab = w->A + 6 * w->T->elem_base[e];
  switch (w->T->elem_form[e]) {
    case PL_ELEMENT_SINGLE: out_single(w, e, g, Ab, a); return;
    case PL_ELEMENT_ROTATION: out_rotation(w, e, g, Ab, a); return;
    case PL_ELEMENT_TRANSLATION: out_translation(w, e, g, Ab, a); return;
    case PL_ELEMENT_FREE: out_free(w, e, g, Ab, a); return;
  }
  PL_BY_SIZE(out_general, k, w, e, Ab, a);
}

int pl_articulated(pl_work *w, const double *v, double *a) {
  (void)v; /* the twists of pl_kinematics contain all that depends on it */
  const pl_tables *T = w->T;
  pl_ground_acceleration(w);
  pl_inertias(w);
  pl_inertia_articulated(w);
  for (int g = 1; g < T->n_node; ++g) {
    const double *I = w->inertia + RIGID * g;
    rigid_to_full(I, w->IA + FULL * g);
    w->bulk[2 * g] = I[0], w->bulk[2 * g + 1] = I[4] + I[5] + I[6];
    to_column(w->bias + 6 * g, w->pA + COLUMN * g);
  }
  pl_inertia_weightless(w);
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int status = inward(w, e);
    if (status) return status;
  }
  for (int e = 0; e < T->n_elem; ++e) outward(w, e, a);
  return PL_OK;
}

/* U and D^-1 of the elements that do not need them in the sweeps (after pl_articulated). */
int pl_articulated_columns(pl_work *w) {
  const pl_tables *T = w->T;
  for (int e = 0; e < T->n_elem; ++e) {
    const int form = T->elem_form[e], k = T->elem_k[e], g = T->elem_node[e];
    if (form == PL_ELEMENT_GENERAL || form == PL_ELEMENT_SINGLE) continue;
    double *U = w->U + COLUMN * T->elem_v[e], *D = w->D + T->elem_d[e];
    const double *IA = w->IA + FULL * g, *S = w->S + T->node_s[g];
    memset(U, 0, COLUMN * k * sizeof(double));
    memset(D, 0, k * k * sizeof(double));
    if (k == 3) project(IA, S, 3, U, D);
    else project(IA, S, 6, U, D);
    const int status = k == 3 ? invert(D, w->zero, 3) : invert(D, w->zero, 6);
    if (status) return status;
  }
  return PL_OK;
}
