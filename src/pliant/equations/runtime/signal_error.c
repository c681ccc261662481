/* Error control of signals: their variation within a step has to be represented by its ends.
 *
 * A stiff robot takes long steps, after each of which it is in balance with the current forces. Such a step does not detect a force
 * that oscillates within it and is the same at the end; but samples within the step, and the work, would be wrong. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define ALLOWED 1e-3 /* tolerance, relative to the largest value of a signal */
#define SURVEYED 16  /* number of times at which signals are evaluated at the start of a run */

/* Points within the step that do not coincide with simple fractions of a period. */
static const double PLACES[] = {0.381966, 0.693147};

void pl_signal_range(pl_run *r) {
  pl_work *w = r->w;
  double *largest = r->memory.right.largest;
  const int n = w->T->n_signal;
  memset(largest, 0, n * sizeof(double));
  if (!n || r->fixed || r->next_stop >= r->n_stop) return;
  const double span = r->stop[r->n_stop - 1] - r->t;
  for (int k = 1; k <= SURVEYED; ++k) {
    pl_signals(w, r->t + span * fmod(k * PLACES[0], 1));
    for (int i = 0; i < n; ++i)
      if (isfinite(w->signal[i])) largest[i] = fmax(largest[i], fabs(w->signal[i]));
  }
  pl_signals(w, pl_time(r, r->t));
}

double pl_signal_error(pl_run *r, double h) {
  pl_work *w = r->w;
  const int n = w->T->n_signal;
  if (!n) return 0;
  double *y0 = r->memory.left.value, *d0 = r->memory.left.rate, *dd0 = r->memory.left.acceleration;
  double *y1 = r->memory.right.value, *d1 = r->memory.right.rate, *dd1 = r->memory.right.acceleration;
  double *largest = r->memory.right.largest, error = 0;
  const size_t bytes = n * sizeof(double);
  const double now = pl_time(r, r->t);
  pl_signals(w, pl_time(r, r->t + h));
  memcpy(y1, w->signal, bytes), memcpy(d1, w->signal_rate, bytes), memcpy(dd1, w->signal_acceleration, bytes);
  pl_signals(w, now);
  memcpy(y0, w->signal, bytes), memcpy(d0, w->signal_rate, bytes), memcpy(dd0, w->signal_acceleration, bytes);
  if (!memcmp(y0, y1, bytes) && !memcmp(d0, d1, bytes)) {
    int still = 1;
    for (int i = 0; i < n; ++i) still &= d0[i] == 0 && dd0[i] == 0 && dd1[i] == 0;
    if (still) return 0; /* constant: pulses between such times are not searched for */
  }
  for (int i = 0; i < n; ++i) largest[i] = fmax(largest[i], fmax(fabs(y0[i]), fabs(y1[i])));
  for (size_t k = 0; k < sizeof PLACES / sizeof *PLACES; ++k) {
    const double x = PLACES[k], x2 = x * x, x3 = x2 * x, x4 = x3 * x, x5 = x4 * x, b = 10 * x3 - 15 * x4 + 6 * x5;
    const double c0 = h * (x - 6 * x3 + 8 * x4 - 3 * x5), c1 = h * (-4 * x3 + 7 * x4 - 3 * x5);
    const double e0 = 0.5 * h * h * (x2 - 3 * x3 + 3 * x4 - x5), e1 = 0.5 * h * h * (x3 - 2 * x4 + x5);
    pl_signals(w, pl_time(r, r->t + x * h));
    for (int i = 0; i < n; ++i) {
      const double y = y0[i] + b * (y1[i] - y0[i]) + c0 * d0[i] + c1 * d1[i] + e0 * dd0[i] + e1 * dd1[i];
      const double off = fabs(w->signal[i] - y);
      largest[i] = fmax(largest[i], fabs(w->signal[i]));
      if (off > 0) error = fmax(error, off / (ALLOWED * largest[i]));
    }
  }
  pl_signals(w, now);
  return error;
}
