/* Inertia between two frames, several instances of one type at once: kinetic energy 1/2 W'M W, W the body twists of both.
 *
 * Kernels work in the frames' own axes, as those of inertia.c do and with the same equations: with the columns J = dW/dv,
 *
 *   r = J' f,   dr/da = J' M J,   dr/dv = J' (Y J + M dA_v),   dr/dq = J' (X delta + Y dW_q + M dA_q),
 *
 * delta the relative motion of the frames, seen from the first. The turning of J is in the wrenches that the tree carries.
 */
#include <string.h>

#include "lane_pairs.h"
#include "spatial.h"

enum { FRAMES = 24, N = 12 }; /* numbers of the placements of both frames, and in W */

typedef struct inertias {
  pl_batch of;
  pl_lanes pose[2][12], V[2][6]; /* of both frames in the world */
  pl_lanes relative[12], W[N];   /* pose of the second seen from the first; body twists */
  pl_lanes X[6 * N], Y[N * N], M[N * N];
} inertias;

static void gather(const pl_work *w, const pl_batch *b, inertias *x) {
  const pl_tables *T = w->T;
  pl_lanes placement[FRAMES];
  x->of = *b;
  for (int f = 0; f < 2; ++f) pl_lanes_gather(w, b, T->shared_nodes, f, x->pose[f], x->V[f]);
  pl_lanes_numbers(b, w->theta, T->shared_theta, 0, FRAMES, placement);
  for (int f = 0; f < 2; ++f) {
    lanes_place(x->pose[f], placement + 12 * f);
    lanes_see(x->pose[f], x->V[f], x->W + 6 * f);
  }
  lanes_relative(x->pose[0], x->pose[1], x->relative);
}

static void call(const pl_work *w, const inertias *x, const pl_lanes *W_rate, const pl_kernel *kernel, int results,
                 const int *out, pl_lanes *const *res) {
  const int constants = w->T->shared_constants[x->of.kind];
  pl_lanes *own = (pl_lanes *)w->temporary.lanes_numbers;
  pl_lanes_numbers(&x->of, w->theta, w->T->shared_theta, FRAMES, constants, own);
  const pl_lanes *arg[4] = {x->relative, x->W, W_rate, own};
  const int in[4] = {12, N, N, constants};
  pl_call_lanes(w, kernel, 4, in, arg, results, out, res);
}

/* dW/dt from the nodes' accelerations */
static void body_accelerations(const pl_work *w, const inertias *x, pl_lanes *out) {
  for (int f = 0; f < 2; ++f) {
    pl_lanes A[6];
    const double *from[PL_WIDTH];
    for (int l = 0; l < PL_WIDTH; ++l) from[l] = w->A + 6 * w->T->shared_nodes[2 * pl_instance(&x->of, l) + f];
    lanes_gather(from, 6, A);
    if (w->T->shared_weightless[x->of.kind])
      for (int i = 0; i < 3; ++i) A[i] += w->theta[i];
    lanes_see(x->pose[f], A, out + 6 * f);
  }
}

/* Add the wrenches required by the motion to the nodes' bias. */
void pl_shared_inertia_wrenches(pl_work *w) {
  const pl_tables *T = w->T;
  PL_EACH_BATCH(b, T->n_shared_kind, T->shared_begin) {
    inertias x;
    pl_lanes rate[N], f[N], F[6], *res[1] = {f};
    static const int out[1] = {N};
    gather(w, &b, &x);
    body_accelerations(w, &x, rate);
    call(w, &x, rate, T->shared_value + b.kind, 1, out, res);
    for (int frame = 0; frame < 2; ++frame) {
      lanes_to_world(x.pose[frame], f + 6 * frame, F);
      for (int l = 0; l < b.count; ++l) {
        const int g = T->shared_nodes[2 * (b.first + l) + frame];
        for (int i = 0; g && i < 6; ++i) w->bias[6 * g + i] += PL_LANE(F[i], l);
      }
    }
  }
}

/* Of each coordinate on the way to a frame: J; dA_v; dW_q; dA_q; delta. */
static void columns(const pl_work *w, const void *batch, int end, const int *nodes, int first, int count, pl_lanes *out) {
  const inertias *x = (const inertias *)batch;
  pl_lanes S[36], Av[36], Vq[36], Aq[36], y[6], turned[6];
  pl_lanes_columns(w, nodes, first, count, w->S, S), pl_lanes_columns(w, nodes, first, count, w->Av, Av);
  pl_lanes_columns(w, nodes, first, count, w->Vq, Vq), pl_lanes_columns(w, nodes, first, count, w->Aq, Aq);
  for (int j = 0; j < count; ++j) {
    lanes_see(x->pose[end], S + 6 * j, out + 6 * j);
    lanes_cross_twist(S + 6 * j, x->V[end], turned);
    for (int i = 0; i < 6; ++i) y[i] = Av[6 * j + i] + turned[i];
    lanes_see(x->pose[end], y, out + 36 + 6 * j);
    lanes_see(x->pose[end], Vq + 6 * j, out + 72 + 6 * j);
    lanes_cross_twist(Vq + 6 * j, x->V[end], turned);
    for (int i = 0; i < 6; ++i) y[i] = Aq[6 * j + i] + turned[i];
    if (w->T->shared_weightless[x->of.kind]) { /* S x (-gravity, 0) */
      const double *g = w->theta;
      const pl_lanes *o = S + 6 * j + 3;
      y[0] += o[2] * g[1] - o[1] * g[2], y[1] += o[0] * g[2] - o[2] * g[0], y[2] += o[1] * g[0] - o[0] * g[1];
    }
    lanes_see(x->pose[end], y, out + 108 + 6 * j);
    lanes_see(x->pose[0], S + 6 * j, out + 144 + 6 * j);
  }
}

static void block(const void *batch, int row_end, int column_end, int rows, const pl_lanes *row, int count,
                  const pl_lanes *column, pl_lanes *K, pl_lanes *C, pl_lanes *M) {
  const inertias *x = (const inertias *)batch;
  const pl_lanes *X = x->X + 6 * row_end, *Y = x->Y + 6 * row_end + 6 * N * column_end;
  const pl_lanes *mass = x->M + 6 * row_end + 6 * N * column_end;
  for (int j = 0; j < count; ++j) {
    const pl_lanes *J = column + 6 * j, *delta = J + 144;
    pl_lanes k[6], c[6], m[6];
    lanes_times(X, N, delta, k);
    if (!column_end)
      for (int i = 0; i < 6; ++i) k[i] = -k[i];
    lanes_add_times(Y, N, J + 72, k), lanes_add_times(mass, N, J + 108, k);
    lanes_times(Y, N, J, c), lanes_add_times(mass, N, J + 36, c);
    lanes_times(mass, N, J, m);
    for (int i = 0; i < rows; ++i) {
      K[6 * j + i] = lanes_dot(row + 6 * i, k), C[6 * j + i] = lanes_dot(row + 6 * i, c);
      M[6 * j + i] = lanes_dot(row + 6 * i, m);
    }
  }
}

/* J and J' M J alone */
static void mass_columns(const pl_work *w, const void *batch, int end, const int *nodes, int first, int count, pl_lanes *out) {
  const inertias *x = (const inertias *)batch;
  pl_lanes S[36];
  pl_lanes_columns(w, nodes, first, count, w->S, S);
  for (int j = 0; j < count; ++j) lanes_see(x->pose[end], S + 6 * j, out + 6 * j);
}

static void mass_block(const void *batch, int row_end, int column_end, int rows, const pl_lanes *row, int count,
                       const pl_lanes *column, pl_lanes *K, pl_lanes *C, pl_lanes *M) {
  const inertias *x = (const inertias *)batch;
  (void)K, (void)C;
  for (int j = 0; j < count; ++j) {
    pl_lanes m[6];
    lanes_times(x->M + 6 * row_end + 6 * N * column_end, N, column + 6 * j, m);
    for (int i = 0; i < rows; ++i) M[6 * j + i] = lanes_dot(row + 6 * i, m);
  }
}

static pl_pairs pairs_of(const pl_work *w) {
  const pl_tables *T = w->T;
  return PL_VALUE(pl_pairs){.begin = T->sharedpair_begin, .a = T->sharedpair_a, .b = T->sharedpair_b, .row = T->sharedpair_row,
                    .col = T->sharedpair_col, .pos = T->sharedpair_pos, .plain = T->shared_plain,
                    .nodes = T->shared_nodes, .M = w->M, .factor = 1, .end_node = T->n_node};
}

static void mass_of(const pl_work *w, const pl_batch *b, inertias *x) {
  pl_lanes rate[N] = {{0}}, *res[1] = {x->M};
  static const int out[1] = {N * N};
  gather(w, b, x);
  call(w, x, rate, w->T->shared_mass + b->kind, 1, out, res);
}

/* Adds J' M J to the mass matrix. */
void pl_shared_inertia_mass(pl_work *w) {
  pl_pairs pairs = pairs_of(w);
  pairs.columns = mass_columns, pairs.block = mass_block;
  PL_EACH_BATCH(b, w->T->n_shared_kind, w->T->shared_begin) {
    inertias x;
    mass_of(w, &b, &x);
    pl_add_pairs(w, &pairs, &x);
  }
}

/* Adds to K, C and M (after pl_tangent, which leaves S, Vq, Av, Aq and A). */
void pl_shared_inertia_tangent(pl_work *w) {
  pl_pairs pairs = pairs_of(w);
  pairs.columns = columns, pairs.block = block, pairs.K = w->K, pairs.C = w->C;
  PL_EACH_BATCH(b, w->T->n_shared_kind, w->T->shared_begin) {
    inertias x;
    pl_lanes rate[N], *res[3] = {x.X, x.Y, x.M};
    static const int out[3] = {6 * N, N * N, N * N};
    gather(w, &b, &x);
    body_accelerations(w, &x, rate);
    call(w, &x, rate, w->T->shared_tangent + b.kind, 3, out, res);
    pl_add_pairs(w, &pairs, &x);
  }
}

/* Adds kinetic energy, and gravity's from what a common translation of the frames moves: the moment of the momentum of a unit
 * velocity along axis j is h x e_j, with h the first moment of mass. */
void pl_shared_inertia_energy(pl_work *w, double *kinetic, double *gravity) {
  PL_EACH_BATCH(b, w->T->n_shared_kind, w->T->shared_begin) {
    inertias x;
    pl_lanes energy = pl_lanes_of(0), moment[9];
    mass_of(w, &b, &x);
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i) energy += 0.5 * x.W[i] * x.M[N * j + i] * x.W[j];
    for (int j = 0; j < 3; ++j) {
      pl_lanes momentum[N], F[2][6];
      for (int i = 0; i < N; ++i) {
        momentum[i] = pl_lanes_of(0);
        for (int f = 0; f < 2; ++f)
          for (int l = 0; l < 3; ++l) momentum[i] += x.M[N * (6 * f + l) + i] * x.pose[f][3 * l + j];
      }
      for (int f = 0; f < 2; ++f) lanes_to_world(x.pose[f], momentum + 6 * f, F[f]);
      for (int l = 0; l < 3; ++l) moment[3 * j + l] = F[0][3 + l] + F[1][3 + l];
    }
    const pl_lanes h[3] = {0.5 * (moment[5] - moment[7]), 0.5 * (moment[6] - moment[2]), 0.5 * (moment[1] - moment[3])};
    for (int l = 0; l < b.count; ++l) {
      *kinetic += PL_LANE(energy, l);
      for (int i = 0; i < 3 && !w->T->shared_weightless[b.kind]; ++i) *gravity -= w->theta[i] * PL_LANE(h[i], l);
    }
  }
}
