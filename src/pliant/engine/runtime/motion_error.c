/* The error of a step as motion of frames: the error of each frame after the step in position, direction and their rates,
 * relative to the motion of the robot so far.
 *
 * Errors of coordinates depend on the description: the extension of a steel strip is a coordinate like its bending, and a relative
 * error of a thousandth in it moves nothing by a visible distance. The largest displacement and speed of any frame since the start
 * are the size of the motion, so that a small vibration is integrated with the same steps as a large one.
 *
 * A robot that flies or turns as a whole moves much more than its parts move relative to each other. The rigid motion closest to that
 * of all frames is therefore separated, from the motion and from the error: what is left of the error is compared with what is left
 * of the motion. This changes nothing where both are of similar size. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define ROUND_OFF 1e-14 /* errors, in the same units, that are round-off */
#define COMMON 10       /* ratio of all motion to that of parts relative to each other above which the latter is resolved for itself */
#define SMALL 1e-3      /* of which displacements below this fraction of the robot's size count as this: else every step of a
                         * stiff robot that swings would resolve its vibrations */

void pl_twists(const pl_work *w, const double *x, double *V) {
  const pl_tables *T = w->T;
  memset(V, 0, 6 * sizeof(double));
  for (int e = 0; e < T->n_elem; ++e) {
    const double *base = V + 6 * T->elem_base[e], *xe = x + T->elem_v[e];
    const int k = T->elem_k[e], end = T->elem_node[e] + T->elem_nodes[e];
    for (int g = T->elem_node[e]; g < end; ++g) {
      const double *S = w->S + T->node_s[g];
      double sum[6];
      memcpy(sum, base, sizeof sum);
      for (int j = 0; j < k; ++j)
        for (int i = 0; i < 6; ++i) sum[i] += S[6 * j + i] * xe[j];
      memcpy(V + 6 * g, sum, sizeof sum);
    }
  }
}

static double length(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

void pl_node_rates(const pl_work *w, const double *V, int g, double *moving, double *turning) {
  const double *u = V + 6 * g, *o = u + 3, *p = w->p + 3 * g;
  const double at[3] = {u[0] + o[1] * p[2] - o[2] * p[1], u[1] + o[2] * p[0] - o[0] * p[2],
                        u[2] + o[0] * p[1] - o[1] * p[0]};
  *moving = length(at), *turning = length(o);
}

/* Largest rate of displacement of any node in the twists V, and of rotation. */
static void largest(const pl_work *w, const double *V, double *moving, double *turning) {
  *moving = *turning = 0;
  for (int g = 1; g < w->T->n_node; ++g) {
    double speed, spin;
    pl_node_rates(w, V, g, &speed, &spin);
    *moving = fmax(*moving, speed), *turning = fmax(*turning, spin);
  }
}

/* Y = X^-T det X, and det X */
static double cofactors(const double *X, double *Y) {
  for (int i = 0; i < 3; ++i) {
    const double *a = X + 3 * ((i + 1) % 3), *b = X + 3 * ((i + 2) % 3);
    for (int j = 0; j < 3; ++j) Y[3 * i + j] = a[(j + 1) % 3] * b[(j + 2) % 3] - a[(j + 2) % 3] * b[(j + 1) % 3];
  }
  return X[0] * Y[0] + X[1] * Y[1] + X[2] * Y[2];
}

static void mean_position(const double *p, int n_node, double *mean) {
  memset(mean, 0, 3 * sizeof(double));
  for (int g = 1; g < n_node; ++g)
    for (int i = 0; i < 3; ++i) mean[i] += p[3 * g + i] / (n_node - 1);
}

/* Subtracts from the twists V that of the rigid body whose points at the nodes move most like them; turns count by `size`. */
static void subtract_common(const pl_work *w, double size, double *V) {
  const int n = w->T->n_node - 1;
  double middle[3], mean[3] = {0}, I[9] = {0}, L[3] = {0}, inverse[9], common[6];
  mean_position(w->p, n + 1, middle);
  for (int g = 1; g <= n; ++g) {
    const double *u = V + 6 * g, *o = u + 3, *p = w->p + 3 * g;
    const double d[3] = {p[0] - middle[0], p[1] - middle[1], p[2] - middle[2]};
    const double at[3] = {u[0] + o[1] * p[2] - o[2] * p[1], u[1] + o[2] * p[0] - o[0] * p[2], u[2] + o[0] * p[1] - o[1] * p[0]};
    const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + size * size;
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      mean[i] += at[i] / n;
      L[i] += d[j] * at[k] - d[k] * at[j] + size * size * o[i];
      for (int l = 0; l < 3; ++l) I[3 * i + l] += (i == l ? square : 0) - d[i] * d[l];
    }
  }
  const double det = cofactors(I, inverse);
  if (!(det > 0)) return;
  double *W = common + 3;
  for (int i = 0; i < 3; ++i) W[i] = (inverse[3 * i] * L[0] + inverse[3 * i + 1] * L[1] + inverse[3 * i + 2] * L[2]) / det;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    common[i] = mean[i] - (W[j] * middle[k] - W[k] * middle[j]);
  }
  for (int g = 1; g <= n; ++g)
    for (int i = 0; i < 6; ++i) V[6 * g + i] -= common[i];
}

#define ROTATION_FOUND 1e-15 /* squared change of the entries of a rotation in an iteration, which converges quadratically */

/* The rotation Q for which positions and directions of the nodes are closest to Q times those at the start: the polar factor of
 * their products, by Newton's iterations. Returns 0 where there is none, as if parts turn in opposite directions. */
static int common_rotation(const pl_run *r, double size, const double *middle, const double *middle0, double *Q) {
  const pl_work *w = r->w;
  const double *p0 = r->memory.extent.p, *R0 = r->memory.extent.R;
  double Y[9], scale = 0;
  memset(Q, 0, 9 * sizeof(double));
  for (int g = 1; g < w->T->n_node; ++g)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum = (w->p[3 * g + i] - middle[i]) * (p0[3 * g + j] - middle0[j]);
        for (int k = 0; k < 3; ++k) /* columns of R are axes */
          sum += size * size * w->R[9 * g + 3 * k + i] * R0[9 * g + 3 * k + j];
        Q[3 * i + j] += sum;
      }
  for (int i = 0; i < 9; ++i) scale = fmax(scale, fabs(Q[i]));
  if (!(scale > 0)) return 0;
  for (int i = 0; i < 9; ++i) Q[i] /= scale;
  for (int round = 0; round < 30; ++round) {
    const double det = cofactors(Q, Y);
    double change = 0;
    if (!(det > 1e-9)) return 0;
    const double even = round < 3 ? pow(det, -1.0 / 3) : 1;
    for (int i = 0; i < 9; ++i) {
      const double next = 0.5 * (even * Q[i] + Y[i] / (det * even));
      change += (next - Q[i]) * (next - Q[i]), Q[i] = next;
    }
    if (change < ROTATION_FOUND) return 1;
  }
  return 0;
}

/* Largest displacement and turn of the nodes since the start, beside those of the rigid motion closest to it. */
static void own_displacement(const pl_run *r, double size, double *way, double *turn) {
  const pl_work *w = r->w;
  const int n = w->T->n_node;
  const double *p0 = r->memory.extent.p, *R0 = r->memory.extent.R;
  double middle[3], middle0[3], Q[9];
  *way = *turn = 0;
  mean_position(w->p, n, middle), mean_position(p0, n, middle0);
  if (!common_rotation(r, size, middle, middle0, Q)) {
    *way = r->extent1.all.way, *turn = r->extent1.all.turn;
    return;
  }
  for (int g = 1; g < n; ++g) {
    double d[3], square = 0;
    for (int i = 0; i < 3; ++i) {
      d[i] = w->p[3 * g + i] - middle[i];
      for (int j = 0; j < 3; ++j) d[i] -= Q[3 * i + j] * (p0[3 * g + j] - middle0[j]);
      for (int k = 0; k < 3; ++k) {
        double x = w->R[9 * g + 3 * k + i];
        for (int j = 0; j < 3; ++j) x -= Q[3 * i + j] * R0[9 * g + 3 * k + j];
        square += x * x;
      }
    }
    *way = fmax(*way, length(d)), *turn = fmax(*turn, sqrt(0.5 * square));
  }
}

void pl_extent_begin(pl_run *r) {
  const pl_work *w = r->w;
  const int n = w->T->n_node;
  memcpy(r->memory.extent.p, w->p, 3 * n * sizeof(double)), memcpy(r->memory.extent.R, w->R, 9 * n * sizeof(double));
  memset(&r->extent, 0, sizeof r->extent);
  r->extent.size = pl_reach(w);
  r->extent1 = r->extent;
  pl_rate_sizes(w, r->extent.size, r->memory.extent.rates);
  pl_vibration_begin(r);
}

/* The size of the motion, including the configuration and rates evaluated last. */
static void extend(pl_run *r) {
  const pl_work *w = r->w;
  pl_extent *x = &r->extent1;
  double speed, spin, way, turn;
  *x = r->extent;
  for (int g = 1; g < w->T->n_node; ++g) {
    const double *p = w->p + 3 * g, *p0 = r->memory.extent.p + 3 * g, *R = w->R + 9 * g, *R0 = r->memory.extent.R + 9 * g;
    const double moved[3] = {p[0] - p0[0], p[1] - p0[1], p[2] - p0[2]};
    double square = 0;
    for (int i = 0; i < 9; ++i) square += (R[i] - R0[i]) * (R[i] - R0[i]);
    x->all.way = fmax(x->all.way, length(moved)), x->all.turn = fmax(x->all.turn, sqrt(0.5 * square));
  }
  largest(w, w->V, &speed, &spin);
  x->all.speed = fmax(x->all.speed, speed), x->all.spin = fmax(x->all.spin, spin);
  own_displacement(r, x->size, &way, &turn);
  x->own.way = fmax(x->own.way, way), x->own.turn = fmax(x->own.turn, turn);
  memcpy(r->memory.extent.V, w->V, 6 * (size_t)w->T->n_node * sizeof(double));
  subtract_common(w, x->size, r->memory.extent.V);
  largest(w, r->memory.extent.V, &speed, &spin);
  x->own.speed = fmax(x->own.speed, speed), x->own.spin = fmax(x->own.spin, spin);
}

void pl_largest_motion(pl_run *r, const double *x, double *moving, double *turning) {
  pl_twists(r->w, x, r->memory.extent.V);
  largest(r->w, r->memory.extent.V, moving, turning);
}

/* The size of the motion of parts relative to each other that errors of it are compared with: that of all motion, unless this is much
 * larger, and then less and less of it. */
static double relative_to(double all, double own) {
  const double most = COMMON * own;
  return all <= most ? all : fmax(own, most * most / all);
}

/* The largest error of a node, given as twists, relative to the tolerances of displacements and turns. */
static double share_of(const pl_work *w, const double *V, const double *tolerance) {
  double moving, turning;
  largest(w, V, &moving, &turning);
  return fmax(moving / tolerance[0], turning / tolerance[1]);
}

double pl_motion_error(pl_run *r, double h, const double *ex, const double *ev) {
  const pl_work *w = r->w;
  const pl_extent *x = &r->extent1;
  extend(r);
  const pl_motion_size *all = &x->all, *own = &x->own;
  const double rtol = r->rtol * r->drift.factor;
  const double size = fmax(x->size, all->way), per_size = 1 / size;
  /* the accuracy of motions far below the robot's size is limited by this, and by the caller's tolerance */
  const double least = fmax(rtol * PL_SMALLEST, ROUND_OFF), far = r->atol + least * size, wide = r->atol + least;
  const double ways = fmax(all->way, size * all->turn), speeds = fmax(all->speed, size * all->spin);
  const double places[2] = {far + rtol * ways, wide + rtol * fmax(all->turn, per_size * all->way)};
  const double rates[2] = {far / h + rtol * speeds, wide / h + rtol * fmax(all->spin, per_size * all->speed)};
  double *V = r->memory.extent.V;
  pl_twists(w, ex, V);
  double error = share_of(w, V, places);
  const double near = r->atol + least * x->size, fine = SMALL * x->size;
  const double own_way = relative_to(ways, fmax(fine, fmax(own->way, x->size * own->turn)));
  const double own_speed = relative_to(speeds, fmax(fine / h, fmax(own->speed, x->size * own->spin)));
  const int separate = w->T->n_node > 2;
  if (separate && own_way < ways) {
    const double own_places[2] = {near + rtol * own_way, (near + rtol * own_way) / x->size};
    subtract_common(w, x->size, V);
    error = fmax(error, share_of(w, V, own_places));
  }
  pl_twists(w, ev, V);
  error = fmax(error, share_of(w, V, rates));
  if (separate && own_speed < speeds) {
    const double own_rates[2] = {near / h + rtol * own_speed, (near / h + rtol * own_speed) / x->size};
    subtract_common(w, x->size, V);
    error = fmax(error, share_of(w, V, own_rates));
  }
  return error;
}
