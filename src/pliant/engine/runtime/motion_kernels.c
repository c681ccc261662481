/* Motions by kernels, several nodes of one type at once, which are independent. Poses and subspaces are in the axes of (R0, p0),
 * because the bases have to be placed first; tangents, which are computed after all poses are known, in world axes. */
#include "lane_pairs.h"
#include "motion_kernels.h"

/* Several nodes at once: their arrays, and the coordinates, rates and constants of their kernels. */
typedef struct motions {
  pl_batch of;
  int k, node[PL_WIDTH], base[PL_WIDTH];
  int size[3];
  pl_lanes *q, *v, *theta, *next; /* `next`: room after them */
} motions;

/* k numbers of the rates of each lane's element. */
static void gather_rates(const pl_tables *T, const motions *x, const double *rates, pl_lanes *out) {
  const double *from[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) from[l] = rates + T->elem_v[T->node_elem[x->node[l]]];
  lanes_gather(from, x->k, out);
}

static motions side_by_side(const pl_work *w, const pl_batch *b, const double *q, const double *v) {
  const pl_tables *T = w->T;
  const int e = T->node_elem[T->motion_node[b->first]], k = T->elem_k[e], constants = T->motion_constants[b->kind];
  const int size = (e + 1 < T->n_elem ? T->elem_q[e + 1] : T->nq) - T->elem_q[e];
  pl_lanes *numbers = (pl_lanes *)w->temporary.lanes_numbers;
  motions x = {.of = *b, .k = k, .size = {size, k, constants}, .q = numbers, .v = numbers + size, .theta = numbers + size + k,
               .next = numbers + size + k + constants};
  const double *from_q[PL_WIDTH], *from_theta[PL_WIDTH];
  for (int l = 0; l < PL_WIDTH; ++l) {
    const int g = x.node[l] = T->motion_node[pl_instance(b, l)], own = T->node_elem[g];
    x.base[l] = T->elem_base[own];
    from_q[l] = q + T->elem_q[own], from_theta[l] = w->theta + T->node_theta[g] + 12;
  }
  lanes_gather(from_q, size, x.q), lanes_gather(from_theta, constants, x.theta);
  gather_rates(T, &x, v, x.v);
  return x;
}

void pl_kernel_motions(const pl_work *w, const double *q, const double *v) {
  const pl_tables *T = w->T;
  PL_EACH_BATCH(b, T->n_motion, T->motion_begin) {
    const motions x = side_by_side(w, &b, q, v);
    pl_lanes *R = (pl_lanes *)w->temporary.lanes_motion, *res[4] = {R, R + 9, R + PL_LOCAL, R + 12};
    const pl_lanes *arg[3] = {x.q, x.v, x.theta};
    const int out[4] = {9, 3, 6 * x.k, 6};
    double *to[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) to[l] = pl_local_motion(w, x.node[l]);
    pl_call_lanes(w, T->motion_kinematics + b.kind, 3, x.size, arg, 4, out, res);
    lanes_take(R, PL_LOCAL + 6 * x.k, b.count, to);
  }
}

/* A twist in the axes of a pose, in the world. */
static inline void twist_to_world(const pl_lanes *pose, pl_lanes *s) {
  pl_lanes turning[3], moving[3], S[3];
  lanes_rotate(pose, s + 3, turning), lanes_rotate(pose, s, moving);
  lanes_cross(pose + 9, turning, S);
  for (int i = 0; i < 3; ++i) s[i] = moving[i] + S[i], s[3 + i] = turning[i];
}

/* The transmitted wrenches of the nodes, in the axes of the poses. */
static void local_wrench(const pl_work *w, const motions *x, const pl_lanes *pose, pl_lanes *f) {
  const double *from[PL_WIDTH];
  pl_lanes F[6], moment[3];
  for (int l = 0; l < PL_WIDTH; ++l) from[l] = w->force + 6 * x->node[l];
  lanes_gather(from, 6, F);
  lanes_cross(pose + 9, F, moment);
  for (int i = 0; i < 3; ++i) moment[i] = F[3 + i] - moment[i];
  lanes_rotate_back(pose, F, f), lanes_rotate_back(pose, moment, f + 3);
}

/* Vq, Av and Aq from those of a base at rest, with S in the world; as in pl_node_tangent. */
static void add_base(const pl_work *w, const motions *x, const pl_lanes *pose, const pl_lanes *S, pl_lanes *const *rates) {
  const double *from_V[PL_WIDTH], *from_A[PL_WIDTH];
  pl_lanes V[6], A[6];
  for (int l = 0; l < PL_WIDTH; ++l) from_V[l] = w->V + 6 * x->base[l], from_A[l] = w->A + 6 * x->base[l];
  lanes_gather(from_V, 6, V), lanes_gather(from_A, 6, A);
  for (int j = 0; j < 6 * x->k; j += 6) {
    pl_lanes *Vq = rates[0] + j, *Av = rates[1] + j, *Aq = rates[2] + j, turn[6], twice[6], y[6], z[6];
    for (int n = 0; n < 3; ++n) twist_to_world(pose, rates[n] + j);
    lanes_cross_twist(V, S + j, turn);
    for (int i = 0; i < 6; ++i) twice[i] = 2 * Vq[i] + turn[i], Vq[i] += turn[i], Av[i] += 2 * turn[i];
    lanes_cross_twist(V, twice, y), lanes_cross_twist(A, S + j, z);
    for (int i = 0; i < 6; ++i) Aq[i] += z[i] + y[i];
  }
}

/* One batch: columns into w->Vq, w->Av and w->Aq, blocks into w->kernel_blocks. */
static void place_tangents(const pl_work *w, const motions *x, const pl_lanes *pose, pl_lanes *const *res) {
  const pl_tables *T = w->T;
  const int columns = 6 * x->k;
  double *all[3] = {w->Vq, w->Av, w->Aq}, *to[PL_WIDTH];
  const double *from[PL_WIDTH];
  pl_lanes *S = res[3] + x->k * x->k;
  for (int l = 0; l < PL_WIDTH; ++l) from[l] = w->S + T->node_s[x->node[l]];
  lanes_gather(from, columns, S);
  add_base(w, x, pose, S, res);
  for (int n = 0; n < 3; ++n) {
    for (int l = 0; l < x->of.count; ++l) to[l] = all[n] + T->node_s[x->node[l]];
    lanes_take(res[n], columns, x->of.count, to);
  }
  for (int l = 0; l < x->of.count; ++l) to[l] = pl_kernel_block(w, x->node[l]);
  lanes_take(res[3], x->k * x->k, x->of.count, to);
}

void pl_kernel_tangents(const pl_work *w, const double *q, const double *v, const double *a) {
  const pl_tables *T = w->T;
  PL_EACH_BATCH(b, T->n_motion, T->motion_begin) {
    if (T->node_constant[T->motion_node[b.first]]) continue;
    const motions x = side_by_side(w, &b, q, v);
    const int columns = 6 * x.k, in[5] = {x.size[0], x.k, x.k, x.size[2], 6}, out[4] = {columns, columns, columns, x.k * x.k};
    const double *from_R[PL_WIDTH], *from_p[PL_WIDTH];
    pl_lanes pose[12], force[6], *acceleration = x.next, *found = (pl_lanes *)w->temporary.lanes_motion;
    pl_lanes *res[4] = {found, found + columns, found + 2 * columns, found + 3 * columns};
    const pl_lanes *arg[5] = {x.q, x.v, acceleration, x.theta, force};
    for (int l = 0; l < PL_WIDTH; ++l) from_R[l] = w->R0 + 9 * x.node[l], from_p[l] = w->p0 + 3 * x.node[l];
    lanes_gather(from_R, 9, pose), lanes_gather(from_p, 3, pose + 9);
    gather_rates(T, &x, a, acceleration);
    local_wrench(w, &x, pose, force);
    pl_call_lanes(w, T->motion_tangent + b.kind, 5, in, arg, 4, out, res);
    place_tangents(w, &x, pose, res);
  }
}
