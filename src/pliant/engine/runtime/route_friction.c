/* Friction of routed lines at the points between their ends, as in parts/formula/route.py.
 *
 * With lengths l and their rates r of the spans 0 .. n-1, the turns theta at the points 1 .. n-1, and sums A, R of l and r over the
 * spans from point i on, the line slides at point i towards its first point with
 *
 *   s_i = -R_i + (A_i / L) e',
 *
 * where e' is the rate at which an elastic line is elongated (0 for a given tension), and span j has the tension T_0 f_j with
 *
 *   log f_j = -mu sum_{i <= j} theta_i tanh((s_i + shift) / slip).
 *
 * The law gives T_0, or of an elastic line the mean T = T_0 m, m = sum f_j l_j / L. r contains sum_j T_j dl_j/dq: a change of the
 * tensions adds sum_j g_j dT_j' to K and C, with g_j = dl_j/dq and dT_j by the chain rule from the changes of l, r and theta.
 */
#include <math.h>
#include <string.h>

#include "route.h"

static const double SMALLEST_TURN = 1e-4; /* as in parts/formula/route.py */

/* Entries of a point in w->friction: of the span that begins there its ratio f, of the turn at the point theta, S = sqrt(sin^2 +
 * SMALLEST_TURN^2), the direction of sliding tanh(..), its derivative with respect to the speed, the speed, and the sum A of
 * lengths from there on. */
enum { SHARE = 0, TURN, SINE, WAY, WAY_RATE, SPEED, BEYOND };
_Static_assert(BEYOND + 1 == PL_FRICTION_POINT, "seven numbers per point");

typedef struct line {
  int begin, n; /* first point, number of spans */
  int stretches;
  double mu, slip, shift, winding, elongation_rate, mean;
} line;

static double *at(const pl_work *w, int j) { return w->friction + PL_FRICTION_POINT * j; }

static line slide(pl_work *w, int i, pl_route_law *l) {
  const pl_tables *T = w->T;
  const double *c = w->theta + T->route_friction[i];
  line x = {T->route_begin[i], T->route_begin[i + 1] - T->route_begin[i] - 1, T->route_stretches[i], c[0], c[1], c[2], 0, 0, 1};
  if (x.stretches) {
    x.winding = T->route_signals[i] ? w->signal_rate[T->route_signal[i]] : 0;
    x.elongation_rate = l->rate + x.winding;
  }
  double beyond = 0, beyond_rate = 0;
  for (int j = x.n - 1; j >= 0; --j) {
    const double *p = route_point(w, x.begin + j);
    double *f = at(w, j);
    beyond += p[SPAN], beyond_rate += p[SPAN_RATE];
    f[BEYOND] = beyond, f[SPEED] = beyond / l->length * x.elongation_rate - beyond_rate;
  }
  double share = 1, sum = 0;
  for (int j = 0; j < x.n; ++j) {
    const double *p = route_point(w, x.begin + j);
    double *f = at(w, j);
    if (j) {
      const double *a = route_point(w, x.begin + j - 1) + DIRECTION, *b = p + DIRECTION;
      double aside[3];
      cross3(a, b, aside);
      f[SINE] = sqrt(aside[0] * aside[0] + aside[1] * aside[1] + aside[2] * aside[2] + SMALLEST_TURN * SMALLEST_TURN);
      f[TURN] = atan2(f[SINE], a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) - atan2(SMALLEST_TURN, 1);
      f[WAY] = tanh((f[SPEED] + x.shift) / x.slip), f[WAY_RATE] = (1 - f[WAY] * f[WAY]) / x.slip;
      share *= exp(-x.mu * f[TURN] * f[WAY]);
    }
    f[SHARE] = share, sum += share * p[SPAN];
  }
  if (x.stretches) x.mean = sum / l->length;
  for (int j = 0; j < x.n; ++j) w->route_tension[j] = l->tension / x.mean * at(w, j)[SHARE];
  return x;
}

void pl_friction_forces(pl_work *w, int i, pl_route_law *l) {
  const line x = slide(w, i, l);
  for (int j = 1; j < x.n; ++j) l->scalars[1] += (w->route_tension[j - 1] - w->route_tension[j]) * at(w, j)[SPEED];
  l->scalars[2] += (w->route_tension[0] - l->tension) * x.winding;
}

/* Changes of the tensions for changes dl, dr of lengths and rates (of each span) and dturn of the turns (of the point that it
 * begins at); any of them may be null. */
static void change(const pl_work *w, const line *x, const pl_route_law *l, const double *dl, const double *dr,
                   const double *dturn, double dwinding, double dlaw, int stride, double *out) {
  double length = 0, rate = dwinding, beyond = 0, beyond_rate = 0;
  for (int j = 0; j < x->n; ++j) length += dl ? dl[stride * j] : 0, rate += dr ? dr[stride * j] : 0;
  for (int j = x->n - 1; j >= 0; --j) { /* the changes of the speeds first, from the end */
    beyond += dl ? dl[stride * j] : 0, beyond_rate += dr ? dr[stride * j] : 0;
    out[j] = -beyond_rate;
    if (x->stretches)
      out[j] += (beyond - at(w, j)[BEYOND] * length / l->length) / l->length * x->elongation_rate +
                at(w, j)[BEYOND] / l->length * rate;
  }
  double log_share = 0, mean = 0;
  for (int j = 0; j < x->n; ++j) {
    const double *f = at(w, j);
    if (j) log_share -= x->mu * ((dturn ? dturn[stride * j] * f[WAY] : 0) + f[TURN] * f[WAY_RATE] * out[j]);
    out[j] = log_share;
    mean += f[SHARE] * (log_share * route_point(w, x->begin + j)[SPAN] + (dl ? dl[stride * j] : 0));
  }
  mean = x->stretches ? (mean / l->length - x->mean * length / l->length) / x->mean : 0;
  for (int j = 0; j < x->n; ++j)
    out[j] = dlaw / x->mean * at(w, j)[SHARE] + w->route_tension[j] * (out[j] - mean);
}

/* Gradients of the lengths, of their rates and of the turns: columns of nv numbers in w->friction_gradient. */
static void gradients(pl_work *w, int i, const line *x, double **g, double **z, double **turn) {
  const pl_tables *T = w->T;
  const size_t nv = T->nv, size = nv * T->max_friction;
  *g = w->friction_gradient, *z = *g + size, *turn = *z + size;
  for (int j = 0; j < x->n; ++j) {
    const int n = x->begin + j;
    pl_route_clear(w, i), pl_route_add_span(w, n), pl_route_collect(w, i, *g + nv * j, *z + nv * j);
    if (!j) {
      memset(*turn, 0, nv * sizeof(double));
      continue;
    }
    const double *p[3] = {route_point(w, n - 1), route_point(w, n), route_point(w, n + 1)};
    const double *a = p[0] + DIRECTION, *b = p[1] + DIRECTION, d = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    double force[2][3]; /* the turn changes by force[0] (dx_1 - dx_0) + force[1] (dx_2 - dx_1) */
    for (int k = 0; k < 3; ++k) {
      force[0][k] = -(b[k] - d * a[k]) / (p[0][SPAN] * at(w, j)[SINE]);
      force[1][k] = -(a[k] - d * b[k]) / (p[1][SPAN] * at(w, j)[SINE]);
    }
    pl_route_clear(w, i);
    for (int k = 0; k < 2; ++k) {
      add_force(p[k], force[k], -1, w->route_sum + 12 * T->route_slot[n - 1 + k]);
      add_force(p[k + 1], force[k], 1, w->route_sum + 12 * T->route_slot[n + k]);
    }
    pl_route_collect(w, i, *turn + nv * j, 0);
  }
}

void pl_friction_tangent(pl_work *w, int i, pl_route_law *l) {
  const pl_tables *T = w->T;
  const line x = slide(w, i, l);
  const int nv = T->nv, elements = T->relem_begin[i + 1] - T->relem_begin[i];
  double *g, *z, *turn, *by_q = w->friction_change, *by_v = by_q + T->max_friction;
  gradients(w, i, &x, &g, &z, &turn);
  for (int b = 0; b < elements; ++b) {
    const int col = T->relem[T->relem_begin[i] + b], stride = T->elem_stride[col];
    for (int c = 0; c < T->elem_k[col]; ++c) {
      const int v = T->elem_v[col] + c;
      double length = 0, rate = 0;
      for (int j = 0; j < x.n; ++j) length += g[nv * j + v], rate += z[nv * j + v];
      change(w, &x, l, g + v, z + v, turn + v, 0, l->by_length * length + l->by_rate * rate, nv, by_q);
      change(w, &x, l, 0, g + v, 0, 0, l->by_rate * length, nv, by_v);
      for (int a = 0; a < elements; ++a) {
        const int row = T->relem[T->relem_begin[i] + a], pos = T->rblock_pos[T->rblock_begin[i] + a * elements + b];
        for (int k = 0; k < T->elem_k[row]; ++k) {
          double q = 0, s = 0;
          for (int j = 0; j < x.n; ++j) {
            const double gj = g[nv * j + T->elem_v[row] + k];
            q += gj * by_q[j], s += gj * by_v[j];
          }
          w->K[pos + stride * c + k] += q, w->C[pos + stride * c + k] += s;
        }
      }
    }
  }
}

void pl_friction_by_signal(pl_work *w, int i, pl_route_law *l, double law, double winding, double *out) {
  const pl_tables *T = w->T;
  const line x = slide(w, i, l);
  double *g, *z, *turn, *by = w->friction_change;
  gradients(w, i, &x, &g, &z, &turn);
  change(w, &x, l, 0, 0, 0, x.stretches ? winding : 0, law, 1, by);
  for (int n = T->relem_begin[i]; n < T->relem_begin[i + 1]; ++n)
    for (int v = T->elem_v[T->relem[n]]; v < T->elem_v[T->relem[n]] + T->elem_k[T->relem[n]]; ++v)
      for (int j = 0; j < x.n; ++j) out[v] += g[(size_t)T->nv * j + v] * by[j];
}
