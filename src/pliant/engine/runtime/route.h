/* Shared by route.c and route_friction.c. */
#ifndef PL_ROUTE_H
#define PL_ROUTE_H

#include "pliant.h"
#include "spatial.h"

/* Entries of a point in w->route_point: position, velocity, direction and length of the span that begins there, its rate. */
enum { POSITION = 0, VELOCITY = 3, DIRECTION = 6, SPAN = 9, SPAN_RATE = 10 };
_Static_assert(SPAN_RATE + 1 == PL_ROUTE_POINT, "eleven numbers per point");

typedef struct pl_route_law {
  double length, rate, tension, scalars[3];
  double by_length, by_rate, *by_signal, *by_signal_rate;
} pl_route_law;

static inline double *route_point(const pl_work *w, int n) { return w->route_point + PL_ROUTE_POINT * n; }

/* Adds a force at a point to a wrench. */
static inline void add_force(const double *x, const double *f, double scale, double *wrench) {
  double moment[3];
  cross3(x, f, moment);
  for (int k = 0; k < 3; ++k) wrench[k] += scale * f[k], wrench[3 + k] += scale * moment[k];
}

/* Sums of wrenches on the nodes that change line i, in w->route_sum: set to zero; with the span that begins at point n added; and
 * converted to gradients with respect to the coordinates (nv each, those of other elements are unchanged). z may be null. */
void pl_route_clear(pl_work *w, int i);
void pl_route_add_span(pl_work *w, int n);
void pl_route_collect(pl_work *w, int i, double *g, double *z);

/* Friction of line i, whose law has been evaluated: tensions of its spans into w->route_tension, powers added to the scalars. */
void pl_friction_forces(pl_work *w, int i, pl_route_law *l);
/* The same, and the derivatives of the tensions, added to K and C. */
void pl_friction_tangent(pl_work *w, int i, pl_route_law *l);
/* out (nv) += change of r for a change `law` of the law's tension and `winding` of the rate at which the line is wound in. */
void pl_friction_by_signal(pl_work *w, int i, pl_route_law *l, double law, double winding, double *out);

#endif
