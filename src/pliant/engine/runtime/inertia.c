/* Non-rigid inertia: kinetic energy 1/2 W'M W, W the body twist of a frame and rates of coordinates.
 * (Inertia that two frames share is in shared_inertia.c.)
 *
 * Kernels work in the frame's own axes and give forces = M dW/dt + h. A body twist is the world's seen from its frame
 * (R, p); for a world-side increment eta of the frame it changes by eta_dot and the body acceleration by
 * eta_ddot + eta_dot x V, both seen from there, while the wrench in convected form changes as it does in the frame.
 * So each coordinate has a column J = dW/dv, and
 *
 *   dr/da = J' M J,   dr/dv = J' (Y J + M dA_v),   dr/dq = J' (Y dW_q + M dA_q + Z)
 *
 * over the coordinates ("movers") on the path of the frame and those that the inertia itself counts in. The turning of
 * J is in the wrenches that the tree carries; see tangent.c.
 */
#include <string.h>

#include "lane_pairs.h"
#include "spatial.h"

typedef struct inertia {
  int i, k, n, node;        /* its number; rates of its own, numbers in W; node of its frame */
  double *pose, *M, *W, *h; /* R, p: 12; n x n; n; n */
} inertia;

static inertia get(const pl_work *w, int i) {
  const pl_tables *T = w->T;
  inertia x = {.i = i, .k = T->inertia_k[i], .node = T->inertia_node[i]};
  x.n = 6 + x.k;
  const size_t at = (size_t)T->max_inertia * i;
  x.pose = w->inertia_pose + 12 * (size_t)i, x.M = w->inertia_M + at * T->max_inertia;
  x.W = w->inertia_W + at, x.h = w->inertia_h + at;
  return x;
}

/* a twist at the world's origin, seen from a frame (R, p) */
static inline void twist_to_local(const double *pose, const double *V, double *x) {
  const double *R = pose, *p = pose + 9;
  const double u[3] = {V[0] + V[4] * p[2] - V[5] * p[1], V[1] + V[5] * p[0] - V[3] * p[2],
                       V[2] + V[3] * p[1] - V[4] * p[0]};
  for (int i = 0; i < 3; ++i) {
    x[i] = R[3 * i] * u[0] + R[3 * i + 1] * u[1] + R[3 * i + 2] * u[2];
    x[3 + i] = R[3 * i] * V[3] + R[3 * i + 1] * V[4] + R[3 * i + 2] * V[5];
  }
}

static inline void wrench_to_world(const double *pose, const double *f, double *F) {
  rotate3(pose, f, F);
  rotate3(pose, f + 3, F + 3);
  add_cross3(pose + 9, F, F + 3);
}

/* y += A x, A with n rows */
static inline void add_product(int n, int columns, const double *A, const double *x, double *y) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < n; ++i) y[i] += A[n * j + i] * x[j];
}

static inline double dot(int n, const double *a, const double *b) {
  double x = 0;
  for (int i = 0; i < n; ++i) x += a[i] * b[i];
  return x;
}

/* The rates of its own coordinates out of v (or accelerations out of a), or back, added. */
static void gather_own(const pl_tables *T, int i, const double *v, double *x) {
  for (int n = T->inertia_begin[i]; n < T->inertia_begin[i] + T->inertia_owned[i]; ++n) {
    const int e = T->mover_elem[n];
    memcpy(x + T->mover_own[n], v + T->elem_v[e], T->elem_k[e] * sizeof(double));
  }
}

static void add_own(const pl_tables *T, int i, const double *x, double *r) {
  for (int n = T->inertia_begin[i]; n < T->inertia_begin[i] + T->inertia_owned[i]; ++n) {
    const int e = T->mover_elem[n];
    for (int j = 0; j < T->elem_k[e]; ++j) r[T->elem_v[e] + j] += x[T->mover_own[n] + j];
  }
}

/* Several of one type at once: poses, W, M and h on lanes. */
typedef struct inertias {
  pl_batch of;
  int k, n;
  pl_lanes *pose, *W, *M, *h;
} inertias;

static inertias side_by_side(const pl_work *w, const pl_batch *b, int slot) {
  const pl_tables *T = w->T;
  inertias x = {.of = *b, .k = T->inertia_k[b->first]};
  const size_t n = T->max_inertia;
  x.n = 6 + x.k;
  x.pose = (pl_lanes *)w->inertia_lanes + (12 + n * (n + 2)) * slot;
  x.W = x.pose + 12, x.M = x.W + n, x.h = x.M + n * n;
  return x;
}

/* The element of the n-th coordinate in the inertia of a lane; all lanes have one type. */
static inline int owned(const pl_tables *T, const pl_batch *b, int lane, int n) {
  return T->mover_elem[T->inertia_begin[pl_instance(b, lane)] + n];
}

/* Calls the kernel of a batch. `W_rate` is for tangents only. */
static void call(const pl_work *w, const inertias *x, const double *q, const pl_lanes *W_rate, int results, const int *out,
                 pl_lanes *const *res) {
  const pl_tables *T = w->T;
  const int first = x->of.first, kind = T->inertia_kind[first], constants = T->inertia_constants[first];
  pl_lanes *numbers = (pl_lanes *)w->temporary.lanes_numbers, *own = numbers + constants;
  int size = 0;
  pl_lanes_numbers(&x->of, w->theta, T->inertia_theta, 12, constants, numbers);
  for (int n = 0; n < T->inertia_owned[first]; ++n) {
    const int e = owned(T, &x->of, 0, n), count = (e + 1 < T->n_elem ? T->elem_q[e + 1] : T->nq) - T->elem_q[e];
    const double *from[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) from[l] = q + T->elem_q[owned(T, &x->of, l, n)];
    lanes_gather(from, count, own + size), size += count;
  }
  /* the first argument, the pose of a second frame, is empty */
  const int in[5] = {0, size, x->n, W_rate ? x->n : constants, constants};
  const pl_lanes *arg[5] = {own, own, x->W, W_rate ? W_rate : numbers, numbers};
  pl_call_lanes(w, (W_rate ? T->inertia_tangent : T->inertia_value) + kind, W_rate ? 5 : 4, in, arg, results, out, res);
}

/* Pose of the frame, W, M and h in the state: everything else here uses them. */
void pl_inertia_values(pl_work *w, const double *q, const double *v) {
  const pl_tables *T = w->T;
  int slot = 0;
  w->inertia_singled = 0;
  PL_EACH_BATCH(b, T->n_inertia_run, T->inertia_run) {
    const inertias x = side_by_side(w, &b, slot++);
    pl_lanes V[6], placement[12];
    int nodes[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) nodes[l] = T->inertia_node[pl_instance(&b, l)];
    pl_lanes_nodes(w, nodes, x.pose, V);
    pl_lanes_numbers(&b, w->theta, T->inertia_theta, 0, 12, placement);
    lanes_place(x.pose, placement);
    lanes_see(x.pose, V, x.W);
    for (int n = 0; n < T->inertia_owned[b.first]; ++n) {
      const double *from[PL_WIDTH];
      for (int l = 0; l < PL_WIDTH; ++l) from[l] = v + T->elem_v[owned(T, &b, l, n)];
      lanes_gather(from, T->elem_k[owned(T, &b, 0, n)], x.W + 6 + T->mover_own[T->inertia_begin[b.first] + n]);
    }
    pl_lanes *res[2] = {x.M, x.h};
    const int out[2] = {x.n * x.n, x.n};
    call(w, &x, q, 0, 2, out, res);
  }
}

static void take_lane(const pl_lanes *from, int lane, int count, double *out) {
  for (int i = 0; i < count; ++i) out[i] = PL_LANE(from[i], lane);
}

/* Results of a batch for each inertia, for functions that process them one by one. */
static void single_out(pl_work *w) {
  int slot = 0;
  if (w->inertia_singled) return;
  PL_EACH_BATCH(b, w->T->n_inertia_run, w->T->inertia_run) {
    const inertias x = side_by_side(w, &b, slot++);
    for (int l = 0; l < b.count; ++l) {
      const inertia one = get(w, b.first + l);
      take_lane(x.pose, l, 12, one.pose), take_lane(x.W, l, x.n, one.W);
      take_lane(x.M, l, x.n * x.n, one.M), take_lane(x.h, l, x.n, one.h);
    }
  }
  w->inertia_singled = 1;
}

/* Gravity seen from the frame: what its acceleration lacks of that of a ground without weight. */
static void local_gravity(const pl_work *w, const inertia *x, double *out) {
  const double *R = x->pose;
  for (int i = 0; i < 3; ++i) out[i] = R[3 * i] * w->theta[0] + R[3 * i + 1] * w->theta[1] + R[3 * i + 2] * w->theta[2];
}

/* dW/dt from the node's acceleration and a; without that of the ground by gravity if it has no weight */
static void body_accelerations(const pl_work *w, const inertia *x, const double *a, double *out) {
  twist_to_local(x->pose, w->A + 6 * x->node, out);
  if (w->T->inertia_weightless[x->i]) {
    double g[3];
    local_gravity(w, x, g);
    for (int i = 0; i < 3; ++i) out[i] += g[i];
  }
  gather_own(w->T, x->i, a, out + 6);
}

/* Gravity seen from the frames of a batch. */
static inline void lanes_local_gravity(const pl_work *w, const inertias *x, pl_lanes *out) {
  const pl_lanes *R = x->pose;
  for (int i = 0; i < 3; ++i) out[i] = R[3 * i] * w->theta[0] + R[3 * i + 1] * w->theta[1] + R[3 * i + 2] * w->theta[2];
}

/* f += M x for the first columns of M, 6 x 6 */
static inline void lanes_add_mass_times(int columns, const pl_lanes *M, const pl_lanes *x, pl_lanes *f) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < 6; ++i) f[i] += M[6 * j + i] * x[j];
}

/* M dW/dt + h of inertia without weight, several at once. */
static void weightless_wrenches(pl_work *w, const inertias *x) {
  const pl_tables *T = w->T;
  const double *from[PL_WIDTH];
  pl_lanes A[6], rate[6], f[6], F[6], g[3];
  for (int l = 0; l < PL_WIDTH; ++l) from[l] = w->A + 6 * T->inertia_node[pl_instance(&x->of, l)];
  lanes_gather(from, 6, A);
  lanes_see(x->pose, A, rate);
  lanes_local_gravity(w, x, g);
  for (int i = 0; i < 3; ++i) rate[i] += g[i];
  memcpy(f, x->h, sizeof f);
  lanes_add_mass_times(6, x->M, rate, f);
  lanes_to_world(x->pose, f, F);
  for (int l = 0; l < x->of.count; ++l) {
    const int node = T->inertia_node[x->of.first + l];
    for (int j = 0; node && j < 6; ++j) w->bias[6 * node + j] += PL_LANE(F[j], l);
  }
}

/* M dW/dt + h: wrenches into the nodes' bias, generalized forces into w->own. */
void pl_inertia_wrenches(pl_work *w, const double *a) {
  const pl_tables *T = w->T;
  int slot = 0;
  if (!T->n_inertia) return;
  memset(w->own, 0, T->nv * sizeof(double));
  PL_EACH_BATCH(b, T->n_inertia_run, T->inertia_run) {
    const inertias some = side_by_side(w, &b, slot++);
    if (T->inertia_weightless[b.first]) {
      weightless_wrenches(w, &some);
      continue;
    }
    single_out(w);
    for (int i = b.first; i < b.first + b.count; ++i) {
      const inertia x = get(w, i);
      double *rate = w->temporary.rate, *f = w->temporary.column, F[6];
      body_accelerations(w, &x, a, rate);
      memcpy(f, x.h, x.n * sizeof(double));
      add_product(x.n, x.n, x.M, rate, f);
      wrench_to_world(x.pose, f, F);
      for (int j = 0; x.node && j < 6; ++j) w->bias[6 * x.node + j] += F[j];
      add_own(T, i, f + 6, w->own);
    }
  }
}

/* The block of M of its one frame, which is that of a rigid body, in the world: as world_inertia in spatial.h. */
static void rigid_part(const inertias *x, pl_lanes *I) {
  const pl_lanes *M = x->M, *R = x->pose, *p = x->pose + 9, m = M[0];
  const int n = x->n;
  const pl_lanes local[3] = {M[n + 5], M[2 * n + 3], M[4]};
  pl_lanes h[3], T[9];
  lanes_rotate(R, local, h);
  for (int j = 0; j < 3; ++j) lanes_rotate(R, M + n * (3 + j) + 3, T + 3 * j);
  const pl_lanes trace = 2 * (p[0] * h[0] + p[1] * h[1] + p[2] * h[2]) + m * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
#define SECOND(i, j) \
  (T[i] * R[j] + T[3 + i] * R[3 + j] + T[6 + i] * R[6 + j] - p[i] * h[j] - h[i] * p[j] - m * p[i] * p[j])
  I[4] = SECOND(0, 0) + trace, I[5] = SECOND(1, 1) + trace, I[6] = SECOND(2, 2) + trace;
  I[7] = SECOND(0, 1), I[8] = SECOND(0, 2), I[9] = SECOND(1, 2);
#undef SECOND
  I[0] = m;
  for (int i = 0; i < 3; ++i) I[1 + i] = h[i] + m * p[i];
}

/* Add the rigid-body part of the inertia to the node of each lane; not to the ground. */
static void add_rigid(pl_work *w, const inertias *x) {
  pl_lanes I[RIGID], F[6];
  double *inertia[PL_WIDTH], *bias[PL_WIDTH], unused[RIGID] = {0};
  rigid_part(x, I);
  lanes_to_world(x->pose, x->h, F);
  for (int l = 0; l < x->of.count; ++l) {
    const int g = w->T->inertia_node[x->of.first + l];
    inertia[l] = g ? w->inertia + RIGID * g : unused, bias[l] = g ? w->bias + 6 * g : unused;
  }
  lanes_add(I, RIGID, x->of.count, inertia), lanes_add(F, 6, x->of.count, bias);
}

/* Add the part of its coordinates to the element of each lane: forces, mass, and the coupling to the base as columns. */
PL_INLINE void add_moving(const int k, pl_work *w, const inertias *x) {
  double *own[PL_WIDTH], *H[PL_WIDTH], *m[PL_WIDTH];
  for (int l = 0; l < x->of.count; ++l) {
    const int e = owned(w->T, &x->of, l, 0), at = w->T->elem_v[e];
    own[l] = w->own + at, H[l] = w->own_H + COLUMN * at, m[l] = w->own_m + w->T->elem_d[e];
  }
  lanes_add(x->h + 6, k, x->of.count, own);
  for (int j = 0; j < k; ++j) {
    const pl_lanes *column = x->M + x->n * (6 + j);
    pl_lanes F[COLUMN];
    lanes_to_world(x->pose, column, F);
    for (int i = 6; i > 3; --i) F[i] = F[i - 1];
    F[3] = F[7] = pl_lanes_of(0);
    lanes_add(F, COLUMN, x->of.count, H), lanes_add(column + 6, k, x->of.count, m);
    for (int l = 0; l < x->of.count; ++l) H[l] += COLUMN, m[l] += k;
  }
}

/* For articulated bodies: the rigid-body part of a frame is added to its node, the rest to its element. */
void pl_inertia_articulated(pl_work *w) {
  const pl_tables *T = w->T;
  int slot = 0;
  if (!T->n_inertia) return;
  memset(w->own, 0, T->nv * sizeof(double));
  memset(w->own_H, 0, COLUMN * T->nv * sizeof(double));
  memset(w->own_m, 0, T->n_d * sizeof(double));
  PL_EACH_BATCH(b, T->n_inertia_run, T->inertia_run) {
    const inertias x = side_by_side(w, &b, slot++);
    if (T->inertia_weightless[b.first]) continue;
    add_rigid(w, &x);
    if (x.k) PL_BY_SIZE(add_moving, x.k, w, &x);
  }
}

/* X T for T = diag(world twists seen from the frame, 1), columns of n numbers in place. */
static void columns_from_world(const inertia *x, double *X) {
  for (int i = 0; i < x->n; ++i) {
    double *y = X + i, turned[6], force[6];
    for (int j = 0; j < 6; ++j) force[j] = y[x->n * j];
    wrench_to_world(x->pose, force, turned); /* a row is a wrench: its work on twists stays the same */
    for (int j = 0; j < 6; ++j) y[x->n * j] = turned[j];
  }
}

/* T' X, columns of n numbers in place. */
static void rows_to_world(const inertia *x, int columns, double *X) {
  for (int j = 0; j < columns; ++j) {
    double F[6];
    wrench_to_world(x->pose, X + x->n * j, F);
    memcpy(X + x->n * j, F, sizeof F);
  }
}

/* For articulated bodies: inertia without weight, any symmetric matrix, is added to the full one of its node. */
void pl_inertia_weightless(pl_work *w) {
  const pl_tables *T = w->T;
  int slot = 0;
  if (!T->n_weightless) return;
  PL_EACH_BATCH(b, T->n_inertia_run, T->inertia_run) {
    const inertias x = side_by_side(w, &b, slot++);
    pl_lanes g[3], f[6], F[6], half[36], M[36];
    if (!T->inertia_weightless[b.first]) continue;
    lanes_local_gravity(w, &x, g);
    memcpy(f, x.h, sizeof f);
    lanes_add_mass_times(3, x.M, g, f);
    lanes_to_world(x.pose, f, F);
    for (int j = 0; j < 6; ++j) lanes_to_world(x.pose, x.M + 6 * j, half + 6 * j);
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 6; ++j) f[j] = half[6 * j + i];
      lanes_to_world(x.pose, f, M + 6 * i);
    }
    for (int l = 0; l < b.count; ++l) {
      const int node = T->inertia_node[b.first + l];
      double *IA = w->IA + FULL * node, *pA = w->pA + COLUMN * node;
      if (!node) continue;
      for (int j = 0; j < 6; ++j) {
        pA[ROW(j)] += PL_LANE(F[j], l);
        for (int k = 0; k < 6; ++k) IA[COLUMN * j + ROW(k)] += PL_LANE(M[6 * j + k], l);
      }
    }
  }
}

/* Some columns of the movers of one inertia at once. */
typedef struct columns {
  int count, mover[PL_WIDTH], j[PL_WIDTH]; /* column and mover; lanes beyond `count` repeat the last one */
  int in_frame;                            /* whether any of them moves the frame */
  pl_lanes pose[12], V[6];                 /* of the frame, alike in all lanes */
  pl_lanes *M, *C, *K;                     /* derivatives of forces with respect to accelerations, rates, coordinates: n each; K
  null for M only */
} columns;

/* The next columns after (mover, j), which moves on; none when all are done. */
static int next_columns(const pl_tables *T, const inertia *x, int *mover, int *j, columns *c) {
  c->count = c->in_frame = 0;
  for (; *mover < T->inertia_begin[x->i + 1] && c->count < PL_WIDTH; ++*mover, *j = 0)
    for (; *j < T->elem_k[T->mover_elem[*mover]]; ++*j) {
      if (c->count == PL_WIDTH) return c->count;
      c->mover[c->count] = *mover, c->j[c->count++] = *j;
      c->in_frame |= T->mover_node[*mover] != 0;
    }
  for (int l = c->count; c->count && l < PL_WIDTH; ++l) c->mover[l] = c->mover[c->count - 1], c->j[l] = c->j[c->count - 1];
  return c->count;
}

/* Their columns of X (n numbers for each rate of the inertia), zeros for other coordinates. */
static void own_columns(const pl_work *w, const inertia *x, const columns *c, const double *X, pl_lanes *out) {
  const double *from[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) {
    const int own = w->T->mover_own[c->mover[l]];
    from[l] = own < 0 ? w->zero : X + x->n * (own + c->j[l]);
  }
  lanes_gather(from, x->n, out);
}

/* World twists at the nodes (S, Vq, ...) of the movers of the frame. */
static void frame_columns(const pl_work *w, const columns *c, const double *twists, pl_lanes *out) {
  const double *from[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) {
    const int g = w->T->mover_node[c->mover[l]];
    from[l] = g ? twists + w->T->node_s[g] + 6 * c->j[l] : w->zero;
  }
  lanes_gather(from, 6, out);
}

/* y += A x for the first six columns of A, which has n rows */
static void add_frame_product(int n, const double *A, const pl_lanes *x, pl_lanes *y) {
  for (int i = 0; i < n; ++i)
    y[i] += (A[i] * x[0] + A[n + i] * x[1] + A[2 * n + i] * x[2]) + (A[3 * n + i] * x[3] + A[4 * n + i] * x[4] + A[5 * n + i] * x[5]);
}

/* Change of the acceleration by gravity, as seen from a frame that is displaced by S: S x (-gravity, 0). */
static inline void lanes_gravity_change(const pl_work *w, const pl_lanes *S, pl_lanes *out) {
  const double *g = w->theta;
  out[0] = S[5] * g[1] - S[4] * g[2], out[1] = S[3] * g[2] - S[5] * g[0], out[2] = S[4] * g[0] - S[3] * g[1];
}

/* y += M (eta_ddot + eta_dot x V) */
static void add_acceleration(const inertia *x, const columns *c, const pl_lanes *eta_ddot, const pl_lanes *eta_dot, pl_lanes *y) {
  pl_lanes change[6], local[6];
  lanes_cross_twist(eta_dot, c->V, change);
  for (int i = 0; i < 6; ++i) change[i] += eta_ddot[i];
  lanes_see(c->pose, change, local);
  add_frame_product(x->n, x->M, local, y);
}

/* The columns of M J, and with Y and Z those of dr/dv and dr/dq. */
static void fill_columns(const pl_work *w, const inertia *x, const double *Y, const double *Z, columns *c) {
  pl_lanes S[6], Vq[6], rate[6], local[6];
  own_columns(w, x, c, x->M + 6 * x->n, c->M);
  if (c->K) own_columns(w, x, c, Y + 6 * x->n, c->C), own_columns(w, x, c, Z, c->K);
  if (!c->in_frame) return;
  frame_columns(w, c, w->S, S);
  lanes_see(c->pose, S, local);
  add_frame_product(x->n, x->M, local, c->M);
  if (!c->K) return;
  add_frame_product(x->n, Y, local, c->C);
  frame_columns(w, c, w->Av, rate);
  add_acceleration(x, c, rate, S, c->C);
  frame_columns(w, c, w->Vq, Vq), frame_columns(w, c, w->Aq, rate);
  if (w->T->inertia_weightless[x->i]) {
    pl_lanes turned[3];
    lanes_gravity_change(w, S, turned);
    for (int i = 0; i < 3; ++i) rate[i] += turned[i];
  }
  lanes_see(c->pose, Vq, local);
  add_frame_product(x->n, Y, local, c->K);
  add_acceleration(x, c, rate, Vq, c->K);
}

/* values += J' X on the system's pattern; J are the twists of the frame per rate of all movers, six numbers each. */
static void scatter(const pl_work *w, const inertia *x, const double *J, const columns *c, const pl_lanes *X, double *values) {
  const pl_tables *T = w->T;
  const int begin = T->inertia_begin[x->i], movers = T->inertia_begin[x->i + 1] - begin;
  pl_lanes *rows = (pl_lanes *)w->temporary.own_rows;
  for (int a = begin; a < begin + movers; ++a) {
    const int k = T->elem_k[T->mover_elem[a]], own = T->mover_own[a];
    double *to[PL_WIDTH];
    for (int i = 0; i < k; ++i, J += 6) {
      rows[i] = own < 0 ? pl_lanes_of(0) : X[6 + own + i];
      if (T->mover_node[a])
        rows[i] += (J[0] * X[0] + J[1] * X[1] + J[2] * X[2]) + (J[3] * X[3] + J[4] * X[4] + J[5] * X[5]);
    }
    for (int l = 0; l < c->count; ++l) {
      const int b = c->mover[l], at = T->mover_pos[T->inertia_pair[x->i] + movers * (b - begin) + a - begin];
      to[l] = values + at + T->elem_stride[T->mover_elem[b]] * c->j[l];
    }
    lanes_add(rows, k, c->count, to);
  }
}

/* Twists of the frame per rate of all movers, six numbers each. */
static void jacobian(const pl_work *w, const inertia *x, double *J) {
  const pl_tables *T = w->T;
  for (int n = T->inertia_begin[x->i]; n < T->inertia_begin[x->i + 1]; ++n)
    for (int j = 0; j < T->elem_k[T->mover_elem[n]]; ++j, J += 6)
      if (T->mover_node[n]) twist_to_local(x->pose, w->S + T->node_s[T->mover_node[n]] + 6 * j, J);
}

/* Adds J' M J to M, and with Y and Z the contribution of one inertia to K and C. */
static void add_columns(pl_work *w, const inertia *x, const double *Y, const double *Z) {
  double *J = w->inertia_J;
  columns c;
  c.M = (pl_lanes *)w->temporary.inertia_columns, c.C = c.M + x->n, c.K = Y ? c.C + x->n : NULL;
  for (int i = 0; i < 12; ++i) c.pose[i] = pl_lanes_of(x->pose[i]);
  for (int i = 0; i < 6; ++i) c.V[i] = pl_lanes_of(w->V[6 * x->node + i]);
  jacobian(w, x, J);
  for (int mover = w->T->inertia_begin[x->i], j = 0; next_columns(w->T, x, &mover, &j, &c);) {
    fill_columns(w, x, Y, Z, &c);
    scatter(w, x, J, &c, c.M, w->M);
    if (Y) scatter(w, x, J, &c, c.C, w->C), scatter(w, x, J, &c, c.K, w->K);
  }
}

/* M, Y and Z of an inertia in its frame, as those of `pl_inertia_in_world`. */
static void into_world(const pl_work *w, const inertia *x, double *M, double *Y, double *Z) {
  const int n = x->n;
  columns_from_world(x, M);
  if (Y) {
    columns_from_world(x, Y);
    for (int j = 0; j < 6; ++j) { /* eta_dot x V is an acceleration too */
      double unit[6] = {0}, y[6];
      unit[j] = 1;
      cross_twist(unit, w->V + 6 * x->node, y);
      add_product(n, 6, M, y, Y + n * j);
    }
    rows_to_world(x, n, Y), rows_to_world(x, x->k, Z);
  }
  rows_to_world(x, n, M);
  if (!Y || !w->T->inertia_weightless[x->i]) return;
  memset(Z, 0, 36 * sizeof(double));
  for (int j = 3; j < 6; ++j) {
    double unit[3] = {j == 3, j == 4, j == 5}, turned[3];
    cross3(w->theta, unit, turned);
    add_product(6, 3, M, turned, Z + 6 * j);
  }
}

/* Add an inertia without weight to the loads of its node; Y in its frame, null for M alone. */
static void add_to_node(pl_work *w, const inertia *x, double *Y) {
  double M[36], Z[36];
  if (!x->node) return;
  memcpy(M, x->M, sizeof M);
  into_world(w, x, M, Y, Z);
  pl_add_load(w, x->node, 0, 1, M, 6);
  if (Y) pl_add_load(w, x->node, 1, 1, Y, 6), pl_add_load(w, x->node, 2, 1, Z, 6);
}

/* Adds J' M J to the mass matrix. */
void pl_inertia_mass(pl_work *w) {
  single_out(w);
  if (w->T->n_weightless) pl_clear_loads(w);
  for (int i = 0; i < w->T->n_inertia; ++i) {
    const inertia x = get(w, i);
    if (w->T->inertia_weightless[i]) add_to_node(w, &x, NULL);
    else add_columns(w, &x, NULL, NULL);
  }
  if (w->T->n_weightless) pl_project_loads(w, 0);
}

/* Y and Z of a batch in w->temporary.inertia_lanes. */
static void tangents(pl_work *w, const inertias *x, const double *q, const double *a, pl_lanes **res) {
  pl_lanes *rate = (pl_lanes *)w->temporary.inertia_lanes;
  const size_t n = w->T->max_inertia;
  pl_lanes *const found[3] = {0, rate + n, rate + n + n * n}; /* no dependence on a second frame */
  const int out[3] = {0, x->n * x->n, x->n * x->k};
  res[0] = found[1], res[1] = found[2];
  for (int l = 0; l < PL_WIDTH; ++l) {
    const inertia one = get(w, pl_instance(&x->of, l));
    body_accelerations(w, &one, a, w->temporary.rate);
    lanes_put(w->temporary.rate, x->n, l, rate);
  }
  call(w, x, q, rate, 3, out, found);
}

/* The same of a single one, in all lanes of the last slot. */
static void tangents_of_one(pl_work *w, const inertia *one, const double *q, const double *a, pl_lanes **res) {
  const pl_batch alone = {.kind = 0, .first = one->i, .count = 1};
  const inertias x = side_by_side(w, &alone, w->T->n_inertia / PL_WIDTH + w->T->n_inertia_run);
  for (int i = 0; i < 12; ++i) x.pose[i] = pl_lanes_of(one->pose[i]);
  for (int i = 0; i < x.n; ++i) x.W[i] = pl_lanes_of(one->W[i]);
  tangents(w, &x, q, a, res);
}

/* Adds to K, C and M (after pl_tangent, which leaves S, Vq, Av, Aq and A). */
void pl_inertia_tangent(pl_work *w, const double *q, const double *a) {
  double *Y = w->temporary.Y_W, *Z = w->temporary.Z;
  int slot = 0;
  single_out(w);
  if (w->T->n_weightless) pl_clear_loads(w);
  PL_EACH_BATCH(b, w->T->n_inertia_run, w->T->inertia_run) {
    const inertias x = side_by_side(w, &b, slot++);
    pl_lanes *res[2];
    tangents(w, &x, q, a, res);
    for (int l = 0; l < b.count; ++l) {
      const inertia one = get(w, b.first + l);
      take_lane(res[0], l, x.n * x.n, Y), take_lane(res[1], l, x.n * x.k, Z);
      if (w->T->inertia_weightless[b.first]) add_to_node(w, &one, Y);
      else add_columns(w, &one, Y, Z);
    }
  }
}

/* Tangents of an inertia, for motions of that frame in world axes and its own coordinates (n x n each):
 *   change of its forces = M (eta_ddot, da) + Y (eta_dot, dv) + Z dq, or + Z eta without weight,
 * Z with a column for each of its own rates, or six. Without Y, M alone. */
void pl_inertia_in_world(pl_work *w, int i, const double *q, const double *a, double *M, double *Y, double *Z) {
  single_out(w);
  const inertia x = get(w, i);
  const int n = x.n;
  memcpy(M, x.M, (size_t)n * n * sizeof(double));
  if (Y) {
    pl_lanes *res[2];
    tangents_of_one(w, &x, q, a, res);
    take_lane(res[0], 0, n * n, Y), take_lane(res[1], 0, n * x.k, Z);
  }
  into_world(w, &x, M, Y, Z);
}

/* Add kinetic energy, and that of gravity from the mass moved by a translation of the frame. */
void pl_inertia_energy(pl_work *w, double *kinetic, double *gravity) {
  single_out(w);
  for (int i = 0; i < w->T->n_inertia; ++i) {
    const inertia x = get(w, i);
    double *momentum = w->temporary.column, moment[9];
    memset(momentum, 0, x.n * sizeof(double));
    add_product(x.n, x.n, x.M, x.W, momentum);
    *kinetic += 0.5 * dot(x.n, x.W, momentum);
    if (w->T->inertia_weightless[i]) continue;
    for (int j = 0; j < 3; ++j) { /* total momentum of a unit velocity along axis j: its moment is h x e_j */
      const double shift[3] = {x.pose[j], x.pose[3 + j], x.pose[6 + j]};
      double *p = w->temporary.rate, F[6];
      memset(p, 0, x.n * sizeof(double));
      add_product(x.n, 3, x.M, shift, p);
      wrench_to_world(x.pose, p, F);
      memcpy(moment + 3 * j, F + 3, 3 * sizeof(double));
    }
    *gravity -= w->theta[0] * 0.5 * (moment[5] - moment[7]) + w->theta[1] * 0.5 * (moment[6] - moment[2]) +
                w->theta[2] * 0.5 * (moment[1] - moment[3]);
  }
}
