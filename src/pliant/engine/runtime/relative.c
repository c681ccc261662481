/* Forces between two frames that depend on their relative pose and twist only, several instances of one type at once.
 *
 * Kernels use the pose of the second end relative to the first and return the wrench w on it, with its derivatives K with respect
 * to the relative increment and C by the relative twist. With L = Ad(first)^-1 S the columns of a coordinate, seen from there too,
 * the forces of the ends are -L'w and L'w. The relative twist changes by the increment's rate and by `delta x` the second end's
 * twist, and the second end's wrench turns with its own frame, so that
 *
 *   K_first = K - C twist_matrix(second),    K_second = K_first - (delta x* w).
 */
#include <string.h>

#include "lane_pairs.h"
#include "spatial.h"
#include "work_parts.h"

enum { ENDS = 24 }; /* numbers of the placements of both ends, which come first among the constants */

typedef struct forces {
  pl_batch of;
  pl_lanes first[12];                   /* pose of the first end */
  pl_lanes pose[12], twist[6], seen[6]; /* the second, relative twist, twist of the second, seen from the first */
  pl_lanes K[2][36], C[36];             /* derivatives of both ends' wrenches; see `differentiate` */
} forces;

static void gather(const pl_work *w, const pl_batch *b, forces *x) {
  const pl_tables *T = w->T;
  pl_lanes second[12], V[2][6], ends[ENDS], relative[6];
  x->of = *b;
  pl_lanes_gather(w, b, T->rel_nodes, 0, x->first, V[0]);
  pl_lanes_gather(w, b, T->rel_nodes, 1, second, V[1]);
  if (T->rel_placed[b->kind]) {
    pl_lanes_numbers(b, w->theta, T->rel_theta, 0, ENDS, ends);
    lanes_place(x->first, ends), lanes_place(second, ends + 12);
  }
  for (int i = 0; i < 6; ++i) relative[i] = V[1][i] - V[0][i];
  lanes_see(x->first, relative, x->twist), lanes_see(x->first, V[1], x->seen);
  lanes_relative(x->first, second, x->pose);
}

static void call(const pl_work *w, const forces *x, const pl_kernel *kernel, int results, const int *out, pl_lanes *const *res) {
  const pl_tables *T = w->T;
  const int kind = x->of.kind, constants = T->rel_constants[kind], signals = T->rel_signals[kind];
  pl_lanes *own = (pl_lanes *)w->temporary.lanes_numbers, *driven = own + constants;
  pl_lanes_numbers(&x->of, w->theta, T->rel_theta, T->rel_placed[kind] ? ENDS : 0, constants, own);
  pl_lanes_numbers(&x->of, w->signal, T->rel_signal, 0, signals, driven);
  const pl_lanes *arg[4] = {x->pose, x->twist, own, driven};
  const int in[4] = {12, 6, constants, signals};
  pl_call_lanes(w, kernel, 4, in, arg, results, out, res);
}

/* Whether one of the ends belongs to these elements. */
static inline int reaches(const pl_tables *T, const pl_batch *b, const pl_elements *of) {
  for (int i = 2 * b->first; i < 2 * (b->first + b->count); ++i)
    if (pl_owns_node(of, T->rel_nodes[i])) return 1;
  return 0;
}

/* Wrenches on the nodes of some elements; energies count where the first end is. */
static void some_forces(pl_work *w, const pl_elements *of, const void *unused) {
  const pl_tables *T = w->T;
  (void)unused;
  PL_EACH_BATCH(b, T->n_rel_kind, T->rel_begin) {
    if (!reaches(T, &b, of)) continue;
    forces x;
    pl_lanes wrench[6], scalars[3], F[6], *res[2] = {wrench, scalars};
    static const int out[2] = {6, 3};
    gather(w, &b, &x);
    call(w, &x, T->rel_value + b.kind, 2, out, res);
    lanes_to_world(x.first, wrench, F);
    for (int l = 0; l < b.count; ++l) {
      const int i = b.first + l;
      if (!w->fforce_active[T->rel_force[i]]) continue;
      const int first = T->rel_nodes[2 * i], second = T->rel_nodes[2 * i + 1];
      for (int n = 0; n < 6 && pl_owns_node(of, second); ++n) w->wrench[6 * second + n] += PL_LANE(F[n], l);
      if (!pl_owns_node(of, first)) continue;
      for (int n = 0; n < 6; ++n) w->wrench[6 * first + n] -= PL_LANE(F[n], l);
      w->energy += PL_LANE(scalars[0], l), w->dissipation += PL_LANE(scalars[1], l), w->supply += PL_LANE(scalars[2], l);
    }
  }
}

void pl_relative_forces(pl_work *w) { pl_over_elements(w, !w->T->n_rel_kind, some_forces, NULL); }

/* X -= A hat(a), for three columns of six rows */
static inline void subtract_turned(const pl_lanes *A, const pl_lanes *a, pl_lanes *X) {
  for (int i = 0; i < 6; ++i) {
    X[i] -= A[6 + i] * a[2] - A[12 + i] * a[1];
    X[6 + i] -= A[12 + i] * a[0] - A[i] * a[2];
    X[12 + i] -= A[i] * a[1] - A[6 + i] * a[0];
  }
}

/* X += hat(a), in three rows and columns of a matrix of six rows */
static inline void add_hat(const pl_lanes *a, pl_lanes *X) {
  X[1] += a[2], X[2] -= a[1], X[6] -= a[2], X[8] += a[0], X[12] += a[1], X[13] -= a[0];
}

/* K of the first end's wrench and of the second's, and C, 6 x 6 by columns. */
static void differentiate(const pl_work *w, forces *x) {
  pl_lanes wrench[6], *K = x->K[0], *res[4] = {wrench, K, x->C, 0};
  const int out[4] = {6, 36, 36, 6 * w->T->rel_signals[x->of.kind]};
  call(w, x, w->T->rel_tangent + x->of.kind, 4, out, res);
  subtract_turned(x->C, x->seen + 3, K);
  subtract_turned(x->C, x->seen, K + 18);
  subtract_turned(x->C + 18, x->seen + 3, K + 18);
  memcpy(x->K[1], K, sizeof x->K[0]);
  add_hat(wrench, x->K[1] + 18), add_hat(wrench, x->K[1] + 3), add_hat(wrench + 3, x->K[1] + 21);
}

/* S and Vq, seen from the first end */
static void columns(const pl_work *w, const void *batch, int end, const int *nodes, int first, int count, pl_lanes *out) {
  const forces *x = (const forces *)batch;
  pl_lanes S[36];
  (void)end;
  pl_lanes_columns(w, nodes, first, count, w->S, S);
  for (int j = 0; j < count; ++j) lanes_see(x->first, S + 6 * j, out + 6 * j);
  pl_lanes_columns(w, nodes, first, count, w->Vq, S);
  for (int j = 0; j < count; ++j) lanes_see(x->first, S + 6 * j, out + 36 + 6 * j);
}

/* L' (K L + C L_rate) and L' C L; the ends move against each other */
static void block(const void *batch, int row_end, int column_end, int rows, const pl_lanes *row, int count,
                  const pl_lanes *column, pl_lanes *K, pl_lanes *C, pl_lanes *M) {
  const forces *x = (const forces *)batch;
  const double sign = row_end == column_end ? 1 : -1;
  (void)M;
  for (int j = 0; j < count; ++j) {
    pl_lanes y[6], z[6];
    lanes_times(x->K[row_end], 6, column + 6 * j, y);
    lanes_add_times(x->C, 6, column + 36 + 6 * j, y);
    lanes_times(x->C, 6, column + 6 * j, z);
    for (int i = 0; i < rows; ++i)
      K[6 * j + i] = sign * lanes_dot(row + 6 * i, y), C[6 * j + i] = sign * lanes_dot(row + 6 * i, z);
  }
}

/* Ends that are displaced along fixed directions, as nodes of nets are: only forces and displacements matter. */
static int only_displaced(const pl_tables *T, const pl_batch *b) {
  for (int l = 0; l < b->count; ++l)
    for (int end = 0; end < 2; ++end) {
      const int g = T->rel_nodes[2 * (b->first + l) + end];
      if (g && (T->node_form[g] != PL_MOTION_TRANSLATION || T->elem_base[T->node_elem[g]])) return 0;
    }
  return 1;
}

/* Displacements in S, seen from the first end: three numbers each */
static void directions(const pl_work *w, const void *batch, int end, const int *nodes, int first, int count, pl_lanes *out) {
  static const double none[3] = {0};
  const forces *x = (const forces *)batch;
  (void)end, (void)first;
  for (int j = 0; j < count; ++j) {
    pl_lanes S[3];
    const double *from[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) from[l] = nodes[l] ? w->S + w->T->node_s[nodes[l]] + 6 * j : none;
    lanes_gather(from, 3, S);
    lanes_rotate_back(x->first, S, out + 3 * j);
  }
}

static void displaced_block(const void *batch, int row_end, int column_end, int rows, const pl_lanes *row, int count,
                            const pl_lanes *column, pl_lanes *K, pl_lanes *C, pl_lanes *M) {
  const forces *x = (const forces *)batch;
  const double sign = row_end == column_end ? 1 : -1;
  (void)M;
  for (int j = 0; j < count; ++j) {
    const pl_lanes *a = column + 3 * j, *X = x->K[0], *Y = x->C;
    pl_lanes y[3], z[3];
    for (int i = 0; i < 3; ++i) {
      y[i] = X[i] * a[0] + X[6 + i] * a[1] + X[12 + i] * a[2];
      z[i] = Y[i] * a[0] + Y[6 + i] * a[1] + Y[12 + i] * a[2];
    }
    for (int i = 0; i < rows; ++i) {
      const pl_lanes *r = row + 3 * i;
      K[6 * j + i] = sign * (r[0] * y[0] + r[1] * y[1] + r[2] * y[2]);
      C[6 * j + i] = sign * (r[0] * z[0] + r[1] * z[1] + r[2] * z[2]);
    }
  }
}

/* In the columns of some elements. */
static void some_tangents(pl_work *w, const pl_elements *of, const void *unused) {
  const pl_tables *T = w->T;
  const pl_pairs pairs = {.begin = T->relpair_begin, .a = T->relpair_a, .b = T->relpair_b, .row = T->relpair_row,
                          .col = T->relpair_col, .pos = T->relpair_pos, .plain = T->rel_plain,
                          .nodes = T->rel_nodes, .index = T->rel_force, .active = w->fforce_active,
                          .columns = columns, .block = block, .K = w->K, .C = w->C, .factor = -1,
                          .first_node = of->first_node, .end_node = of->end_node};
  (void)unused;
  pl_pairs displaced = pairs;
  displaced.columns = directions, displaced.block = displaced_block;
  PL_EACH_BATCH(b, T->n_rel_kind, T->rel_begin) {
    if (w->pairs_are_plain && !reaches(T, &b, of)) continue;
    forces x;
    if (w->in_parts) pl_expect_pairs(w, &pairs, &b);
    gather(w, &b, &x);
    differentiate(w, &x);
    pl_add_pairs(w, only_displaced(T, &b) ? &displaced : &pairs, &x);
  }
}

/* Ends moved by several elements affect other parts: all columns are then filled at once. */
void pl_relative_tangent(pl_work *w) { pl_over_elements(w, !w->pairs_are_plain || !w->T->n_rel_kind, some_tangents, NULL); }

/* Of one instance: K and C of both wrenches at the world's origin, in convected form, 12 x 12. */
void pl_relative_force_tangent(pl_work *w, int i, double *K, double *C) {
  const pl_tables *T = w->T;
  pl_batch b = {.first = i, .count = 1};
  forces x;
  while (i >= T->rel_begin[b.kind + 1]) ++b.kind;
  gather(w, &b, &x);
  differentiate(w, &x);
  for (int column = 0; column < 6; ++column) {
    pl_lanes unit[6], L[6], y[6], F[6];
    for (int j = 0; j < 6; ++j) unit[j] = pl_lanes_of(j == column);
    lanes_see(x.first, unit, L);
    for (int n = 0; n < 3; ++n) { /* K of both ends, and C */
      lanes_times(n < 2 ? x.K[n] : x.C, 6, L, y);
      lanes_to_world(x.first, y, F);
      for (int j = 0; j < 6; ++j)
        for (int row = 0; row < 2; ++row) {
          if (n < 2 && n != row) continue;
          for (int of = 0; of < 2; ++of)
            (n < 2 ? K : C)[12 * (6 * of + column) + 6 * row + j] = (row == of ? 1 : -1) * PL_LANE(F[j], 0);
        }
    }
  }
}

/* One instance's dr/dsignal for a wrench at the world's origin on the second end, and its opposite on the first. */
static void add_column(const pl_work *w, int i, const double *wrench, double *column) {
  const pl_tables *T = w->T;
  for (int end = 0; end < 2; ++end)
    for (int n = T->rel_nodes[2 * i + end]; n; n = T->elem_base[T->node_elem[n]]) {
      const int e = T->node_elem[n];
      for (int j = 0; j < T->elem_k[e]; ++j)
        column[T->elem_v[e] + j] -= (end ? 1 : -1) * dot6(w->S + T->node_s[n] + 6 * j, wrench);
    }
}

void pl_relative_input_tangent(pl_work *w, double *out) {
  const pl_tables *T = w->T;
  PL_EACH_BATCH(b, T->n_rel_kind, T->rel_begin) {
    const int signals = T->rel_signals[b.kind], sizes[4] = {6, 36, 36, 6 * signals};
    if (!signals) continue;
    forces x;
    pl_lanes *by_signals = (pl_lanes *)w->temporary.lanes_by_signals, *res[4] = {0, 0, 0, by_signals};
    gather(w, &b, &x);
    call(w, &x, T->rel_tangent + b.kind, 4, sizes, res);
    for (int s = 0; s < signals; ++s) {
      pl_lanes F[6];
      lanes_to_world(x.first, by_signals + 6 * s, F);
      for (int l = 0; l < b.count; ++l) {
        const int i = b.first + l;
        double wrench[6];
        for (int n = 0; n < 6; ++n) wrench[n] = PL_LANE(F[n], l);
        if (w->fforce_active[T->rel_force[i]]) add_column(w, i, wrench, out + (size_t)T->nv * (T->rel_signal[i] + s));
      }
    }
  }
}
