/* Lines through points fixed to nodes, straight in between, with one tension T(length, rate) along them; with friction at the
 * points see route_friction.c.
 *
 * The derivative of the length L of a span from point x to point y along u are the wrenches -u at x and u at y. It depends
 * only on the difference of the increments of the two nodes of its ends: common motions do not change it.
 * With P = (1 - u u')/L and (s, w) the first end's increment minus the second's, the convected change of these wrenches is
 *
 *   the force  P (s + w x y)  at x,     and the force  -P (s + w x x)  at y.
 *
 * Since r contains + T dl/dq, this times T goes into K = dr/dq. The tension itself changes by T_l dl + T_r d(rate), which adds
 * the products g (T_l g + T_r z)' to K and T_r g g' to C, with g = dl/dq = d(rate)/dv and z = d(rate)/dq.
 */
#include <math.h>
#include <string.h>

#include "route.h"

static const double MEETING = 1e-7, AT_ORIGIN = 2e-12; /* as in parts/formula/route.py and base.py */

static double meeting_square(double square) {
  double away = fmin(square / (AT_ORIGIN * AT_ORIGIN), 1e4);
  for (int k = 0; k < 3; ++k) away *= away;
  return MEETING * MEETING * (square + 1 / (1 + away));
}

/* Positions, velocities and spans of line i; its length and rate. */
static void measure(pl_work *w, int i, pl_route_law *l) {
  const pl_tables *T = w->T;
  const int begin = T->route_begin[i], end = T->route_begin[i + 1];
  double size = 0;
  l->length = l->rate = 0;
  for (int n = begin; n < end; ++n) {
    const int g = T->route_nodes[n];
    const double *V = w->V + 6 * g;
    double *x = route_point(w, n), *v = x + VELOCITY;
    rotate3(w->R + 9 * g, w->theta + T->route_theta[i] + 3 * (n - begin), x);
    for (int k = 0; k < 3; ++k) x[k] += w->p[3 * g + k];
    cross3(V + 3, x, v);
    for (int k = 0; k < 3; ++k) v[k] += V[k];
    size += dot3(x, x);
  }
  const double least = meeting_square(size);
  for (int n = begin; n < end - 1; ++n) {
    double *x = route_point(w, n), *u = x + DIRECTION;
    const double *y = route_point(w, n + 1);
    double square = least;
    for (int k = 0; k < 3; ++k) u[k] = y[k] - x[k], square += u[k] * u[k];
    x[SPAN] = sqrt(square);
    l->length += x[SPAN];
    x[SPAN_RATE] = 0;
    for (int k = 0; k < 3; ++k) u[k] /= x[SPAN], x[SPAN_RATE] += u[k] * (y[VELOCITY + k] - x[VELOCITY + k]);
    l->rate += x[SPAN_RATE];
  }
}

static void answer(pl_work *w, int i, pl_route_law *l, int derivatives) {
  const pl_tables *T = w->T;
  l->by_signal = w->temporary.tension_by_signal, l->by_signal_rate = w->temporary.tension_by_signal_rate;
  const double *arg[5] = {&l->length, &l->rate, w->theta + T->route_law[i], w->signal + T->route_signal[i],
                          w->signal_rate + T->route_signal[i]};
  double *value[2] = {&l->tension, l->scalars}, *tangent[4] = {&l->by_length, &l->by_rate, l->by_signal,
                                                               l->by_signal_rate};
  pl_call(T->route_value + T->route_kind[i], arg, value, w);
  if (derivatives) pl_call(T->route_tangent + T->route_kind[i], arg, tangent, w);
}

/* Tensions of the spans in w->route_tension, without friction. */
static void one_tension(pl_work *w, int i, const pl_route_law *l) {
  for (int n = w->T->route_begin[i]; n < w->T->route_begin[i + 1] - 1; ++n)
    w->route_tension[n - w->T->route_begin[i]] = l->tension;
}

void pl_route_forces(pl_work *w) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_route; ++i) {
    if (!w->route_active[i]) continue;
    pl_route_law l;
    measure(w, i, &l);
    answer(w, i, &l, 0);
    if (T->route_friction[i] >= 0) pl_friction_forces(w, i, &l);
    else one_tension(w, i, &l);
    for (int n = T->route_begin[i]; n < T->route_begin[i + 1] - 1; ++n) {
      const double *x = route_point(w, n), *y = route_point(w, n + 1), tension = w->route_tension[n - T->route_begin[i]];
      add_force(x, x + DIRECTION, tension, w->wrench + 6 * T->route_nodes[n]);
      add_force(y, x + DIRECTION, -tension, w->wrench + 6 * T->route_nodes[n + 1]);
    }
    w->energy += l.scalars[0], w->dissipation += l.scalars[1], w->supply += l.scalars[2];
  }
}

/* y = P (s + w x point) for an increment S */
static inline void across(const double *span, const double *point, const double *S, double *y) {
  const double *u = span + DIRECTION;
  cross3(S + 3, point, y);
  double along = 0;
  for (int k = 0; k < 3; ++k) y[k] += S[k], along += u[k] * y[k];
  for (int k = 0; k < 3; ++k) y[k] = (y[k] - along * u[k]) / span[SPAN];
}

/* K += T d(unit wrenches) of the span that begins at point n */
static void span_tangent(pl_work *w, int n, double tension) {
  const pl_tables *T = w->T;
  const double *x = route_point(w, n), *y = route_point(w, n + 1);
  for (int c = T->rcol_begin[n]; c < T->rcol_begin[n + 1]; ++c) {
    const int col = T->rcol_node[c], ec = T->node_elem[col], kc = T->elem_k[ec], stride = T->elem_stride[ec];
    double *X[3] = {w->temporary.span, w->temporary.span + 6 * kc, w->temporary.span + 12 * kc};
    memset(X[0], 0, 18 * kc * sizeof(double));
    for (int j = 0; j < kc; ++j) {
      const double *S = w->S + T->node_s[col] + 6 * j, scale = tension * T->rcol_sign[c];
      double a[3];
      across(x, y, S, a);
      add_force(x, a, scale, X[0] + 6 * j), add_force(x, a, scale, X[2] + 6 * j);
      across(x, x, S, a);
      add_force(y, a, -scale, X[1] + 6 * j), add_force(y, a, -scale, X[2] + 6 * j);
    }
    for (int r = T->rrow_begin[c]; r < T->rrow_begin[c + 1]; ++r) {
      const int row = T->rrow_node[r], kr = T->elem_k[T->node_elem[row]];
      const double *S = w->S + T->node_s[row], *Y = X[T->rrow_case[r]];
      for (int j = 0; j < kc; ++j)
        for (int k = 0; k < kr; ++k) w->K[T->rrow_pos[r] + stride * j + k] += dot6(S + 6 * k, Y + 6 * j);
    }
  }
}

/* Sums over nodes that move together are propagated inward; w->route_sum contains for each node the wrench of dl and that of the
 * points' motion in d(rate). */
void pl_route_clear(pl_work *w, int i) {
  const pl_tables *T = w->T;
  memset(w->route_sum, 0, 12 * sizeof(double));
  for (int n = T->rtouch_begin[i]; n < T->rtouch_begin[i + 1]; ++n)
    memset(w->route_sum + 12 * T->rtouch_node[n], 0, 12 * sizeof(double));
}

void pl_route_add_span(pl_work *w, int n) {
  const pl_tables *T = w->T;
  const double *x = route_point(w, n), *y = route_point(w, n + 1), *u = x + DIRECTION;
  double *first = w->route_sum + 12 * T->route_slot[n], *second = w->route_sum + 12 * T->route_slot[n + 1];
  double a[2][3];
  for (int k = 0; k < 2; ++k) { /* P times the velocities of both ends */
    const double *v = (k ? y : x) + VELOCITY, along = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    for (int m = 0; m < 3; ++m) a[k][m] = (v[m] - along * u[m]) / x[SPAN];
  }
  for (int sign = 1; sign >= -1; sign -= 2) {
    double *sum = sign > 0 ? first : second;
    add_force(sign > 0 ? x : y, u, -sign, sum);
    add_force(y, a[0], sign, sum + 6), add_force(x, a[1], -sign, sum + 6);
  }
}

void pl_route_collect(pl_work *w, int i, double *g, double *z) {
  const pl_tables *T = w->T;
  for (int n = T->relem_begin[i]; n < T->relem_begin[i + 1]; ++n) {
    const int e = T->relem[n];
    memset(g + T->elem_v[e], 0, T->elem_k[e] * sizeof(double));
    if (z) memset(z + T->elem_v[e], 0, T->elem_k[e] * sizeof(double));
  }
  for (int n = T->rtouch_begin[i]; n < T->rtouch_begin[i + 1]; ++n) {
    const int node = T->rtouch_node[n], e = T->node_elem[node];
    const double *sum = w->route_sum + 12 * node, *S = w->S + T->node_s[node], *Vq = w->Vq + T->node_s[node];
    double *base = w->route_sum + 12 * T->rtouch_base[n];
    for (int k = 0; k < 12; ++k) base[k] += sum[k];
    for (int j = 0; j < T->elem_k[e]; ++j) {
      g[T->elem_v[e] + j] += dot6(S + 6 * j, sum);
      if (z) z[T->elem_v[e] + j] += dot6(S + 6 * j, sum + 6) + dot6(Vq + 6 * j, sum);
    }
  }
}

/* g and z of line i in w->route_gradient, on the coordinates that change its length. */
static void gradients(pl_work *w, int i) {
  const pl_tables *T = w->T;
  pl_route_clear(w, i);
  for (int n = T->route_begin[i]; n < T->route_begin[i + 1] - 1; ++n) pl_route_add_span(w, n);
  pl_route_collect(w, i, w->route_gradient, w->route_gradient + T->nv);
}

void pl_route_tangent(pl_work *w) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_route; ++i) {
    if (!w->route_active[i]) continue;
    pl_route_law l;
    measure(w, i, &l);
    answer(w, i, &l, 1);
    const int rubs = T->route_friction[i] >= 0;
    if (rubs) pl_friction_tangent(w, i, &l);
    else one_tension(w, i, &l);
    if (l.tension != 0)
      for (int n = T->route_begin[i]; n < T->route_begin[i + 1] - 1; ++n)
        span_tangent(w, n, w->route_tension[n - T->route_begin[i]]);
    if (rubs) continue;
    if (T->rblock_begin[i] == T->rblock_begin[i + 1] || (l.by_length == 0 && l.by_rate == 0)) continue;
    gradients(w, i);
    const double *g = w->route_gradient, *z = g + T->nv;
    const int *pos = T->rblock_pos + T->rblock_begin[i];
    for (int a = T->relem_begin[i]; a < T->relem_begin[i + 1]; ++a)
      for (int b = T->relem_begin[i]; b < T->relem_begin[i + 1]; ++b, ++pos) {
        const int row = T->relem[a], col = T->relem[b], stride = T->elem_stride[col];
        for (int j = 0; j < T->elem_k[col]; ++j) {
          const int v = T->elem_v[col] + j;
          const double by_q = l.by_length * g[v] + l.by_rate * z[v], by_v = l.by_rate * g[v];
          for (int k = 0; k < T->elem_k[row]; ++k) {
            w->K[*pos + stride * j + k] += g[T->elem_v[row] + k] * by_q;
            w->C[*pos + stride * j + k] += g[T->elem_v[row] + k] * by_v;
          }
        }
      }
  }
}

/* out (nv x n_signal) += g dT/dsignal, or with respect to the signals' rates */
static void by_signals(pl_work *w, double *out, int rates) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_route; ++i) {
    if (!T->route_signals[i] || !w->route_active[i]) continue;
    pl_route_law l;
    measure(w, i, &l);
    answer(w, i, &l, 1);
    const double *by = rates ? l.by_signal_rate : l.by_signal;
    if (T->route_friction[i] >= 0) {
      for (int s = 0; s < T->route_signals[i]; ++s)
        pl_friction_by_signal(w, i, &l, by[s], rates && !s, out + (size_t)T->nv * (T->route_signal[i] + s));
      continue;
    }
    gradients(w, i);
    for (int n = T->relem_begin[i]; n < T->relem_begin[i + 1]; ++n)
      for (int v = T->elem_v[T->relem[n]]; v < T->elem_v[T->relem[n]] + T->elem_k[T->relem[n]]; ++v)
        for (int s = 0; s < T->route_signals[i]; ++s)
          out[(size_t)T->nv * (T->route_signal[i] + s) + v] += w->route_gradient[v] * by[s];
  }
}

void pl_route_input_tangent(pl_work *w, double *out) { by_signals(w, out, 0); }
void pl_route_rate_tangent(pl_work *w, double *out) { by_signals(w, out, 1); }

/* r_time (nv) += time derivative of r due to changing rates of signals */
void pl_route_time_tangent(pl_work *w, double *out) {
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_route; ++i) {
    if (!T->route_signals[i] || !w->route_active[i]) continue;
    pl_route_law l;
    measure(w, i, &l);
    answer(w, i, &l, 1);
    double change = 0;
    for (int s = 0; s < T->route_signals[i]; ++s)
      change += l.by_signal_rate[s] * w->signal_acceleration[T->route_signal[i] + s];
    if (T->route_friction[i] >= 0) {
      pl_friction_by_signal(w, i, &l, change, w->signal_acceleration[T->route_signal[i]], out);
      continue;
    }
    if (change == 0) continue;
    gradients(w, i);
    for (int n = T->relem_begin[i]; n < T->relem_begin[i + 1]; ++n)
      for (int v = T->elem_v[T->relem[n]]; v < T->elem_v[T->relem[n]] + T->elem_k[T->relem[n]]; ++v)
        out[v] += w->route_gradient[v] * change;
  }
}
