/* Derivatives of functions of the equations with respect to a parameter, in a fixed state.
 *
 * Constants and parameters of the binding are moved along their exact tangents, and the function is differenced: to fourth order, with
 * steps so long that large numbers that do not depend on the parameter cause little noise. If the steps cross a kink (of a line that
 * goes slack, for example) the derivative is that of the current branch: even differences over one and two steps are then inconsistent,
 * and shorter steps are tried. Noise is inconsistent too, but grows as steps get shorter: the result of shorter steps is accepted if
 * even shorter ones confirm it. If the kink is in the state itself, the derivative is that for an increasing parameter. The same
 * method for functions in Python is in gradient/parameter_derivatives.py. */
#include <math.h>
#include <string.h>

#include "integrate.h"

size_t pl_parameter_change_size(const pl_tables *T, int n) { return T->n_theta + T->n_parameter + 8 * (size_t)n; }

static void add(int n, double c, const double *x, double *y) {
  for (int i = 0; i < n; ++i) y[i] += c * x[i];
}

/* Differences over steps of one length, in `out`; returns their misfit per step, and what they are measured against. */
static double attempt(pl_work *w, const pl_binding *own, const double *constants, const double *parameters, double step, int n,
                      pl_parameter_function f, void *given, const double *here, double *scratch, double *out, double *upward,
                      double *change) {
  static const double offset[4] = {1, -1, 2, -2}, odd[4] = {8, -8, -1, 1}, even[4] = {4, 4, -1, -1}, up[4] = {2, 0, -0.5, 0};
  const pl_tables *T = w->T;
  double *theta = scratch, *p = theta + T->n_theta, *value = p + T->n_parameter, *bent = value + n, misfit = 0;
  memset(out, 0, n * sizeof(double));
  for (int i = 0; i < n; ++i) bent[i] = -6 * here[i], upward[i] = -1.5 / step * here[i];
  for (int side = 0; side < 4; ++side) {
    memcpy(theta, own->constants, T->n_theta * sizeof(double)), memcpy(p, own->parameters, T->n_parameter * sizeof(double));
    add(T->n_theta, offset[side] * step, constants, theta), add(T->n_parameter, offset[side] * step, parameters, p);
    pl_binding changed = *own;
    changed.constants = theta, changed.parameters = p;
    pl_bind(w, &changed);
    f(w, given, value);
    add(n, odd[side] / (12 * step), value, out), add(n, even[side], value, bent), add(n, up[side] / step, value, upward);
  }
  *change = 0;
  for (int i = 0; i < n; ++i) misfit += fabs(bent[i]) / step, *change += fabs(out[i]);
  return misfit;
}

static double distance(int n, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += fabs(x[i] - y[i]);
  return sum;
}

void pl_parameter_change(pl_work *w, const double *constants, const double *parameters, double step, int n,
                         pl_parameter_function f, void *given, double *scratch, double *out) {
  const pl_binding own = w->bound;
  double *here = scratch, *shorter = here + n, *shortest = shorter + n, *first = shortest + n;
  double *above = first + n, *upward = above + n, *rest = upward + n, change;
  f(w, given, here);
  const double misfit = attempt(w, &own, constants, parameters, step, n, f, given, here, rest, out, above, &change);
  if (misfit > PL_KINK_MISFIT * change) {
    memcpy(first, out, n * sizeof(double));
    double before = INFINITY;
    int constant = 1;
    for (int k = 1; k < PL_KINK_ATTEMPTS; ++k) {
      step *= PL_KINK_SHORTER;
      const double left =
          attempt(w, &own, constants, parameters, step, n, f, given, here, rest, shortest, k > 1 ? upward : above, &change);
      constant = constant && (k == 1 || (left <= PL_KINK_CONSTANT * before && before <= PL_KINK_CONSTANT * left));
      if (before < PL_KINK_BETTER * misfit && distance(n, shortest, shorter) <= PL_KINK_CONFIRMED * distance(n, shorter, first)) {
        memcpy(out, shorter, n * sizeof(double));
        constant = 0;
        break;
      }
      double *last = shorter;
      shorter = shortest, shortest = last, before = left;
    }
    if (constant) memcpy(out, above, n * sizeof(double));
  }
  pl_bind(w, &own);
}
