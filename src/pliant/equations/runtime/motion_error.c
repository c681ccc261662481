/* The error of a step as motion of frames: the error of each frame after the step in position, direction and their rates,
 * relative to
 * the motion of the robot so far.
 *
 * Errors of coordinates depend on the description: the extension of a steel strip is a coordinate like its bending, and a relative
 * error of a thousandth in it moves nothing by a visible distance. The largest displacement and speed of any frame since the start
 * are the size of the motion, so that a small vibration is integrated with the same steps as a large one. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define ROUND_OFF 1e-14 /* errors, in the same units, that are round-off */

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
static void extend(const pl_run *r, pl_extent *x) {
  const pl_work *w = r->w;
  double speed, spin;
  *x = r->extent;
  for (int g = 1; g < w->T->n_node; ++g) {
    const double *p = w->p + 3 * g, *p0 = r->memory.extent.p + 3 * g, *R = w->R + 9 * g, *R0 = r->memory.extent.R + 9 * g;
    const double way[3] = {p[0] - p0[0], p[1] - p0[1], p[2] - p0[2]};
    double square = 0;
    for (int i = 0; i < 9; ++i) square += (R[i] - R0[i]) * (R[i] - R0[i]);
    x->way = fmax(x->way, length(way)), x->turn = fmax(x->turn, sqrt(0.5 * square));
  }
  largest(w, w->V, &speed, &spin);
  x->speed = fmax(x->speed, speed), x->spin = fmax(x->spin, spin);
}

void pl_largest_motion(pl_run *r, const double *x, double *moving, double *turning) {
  pl_twists(r->w, x, r->memory.extent.V);
  largest(r->w, r->memory.extent.V, moving, turning);
}

double pl_motion_error(pl_run *r, double h, const double *ex, const double *ev) {
  double way, turn, speed, spin;
  pl_extent *x = &r->extent1;
  extend(r, x);
  const double size = fmax(x->size, x->way), per_size = 1 / size;
  pl_largest_motion(r, ex, &way, &turn);
  pl_largest_motion(r, ev, &speed, &spin);
  /* the accuracy of motions far below the robot's size is limited by this, and by the caller's tolerance */
  const double least = fmax(r->rtol * PL_SMALLEST, ROUND_OFF), far = r->atol + least * size, wide = r->atol + least;
  const double ways = far + r->rtol * fmax(x->way, size * x->turn), turns = wide + r->rtol * fmax(x->turn, per_size * x->way);
  const double speeds = far / h + r->rtol * fmax(x->speed, size * x->spin);
  const double spins = wide / h + r->rtol * fmax(x->spin, per_size * x->speed);
  return fmax(fmax(way / ways, turn / turns), fmax(speed / speeds, spin / spins));
}
