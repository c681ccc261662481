/* Error control of signals: their variation within a step has to be represented by its ends.
 *
 * A stiff robot takes long steps, after each of which it is in balance with the current forces. Such a step does not detect a force
 * that oscillates within it and is the same at the end; but samples within the step, and the work, would be wrong. Features that are
 * shorter than steps may be are examined at `watch`, times of the caller at which they are visible.
 *
 * Signals may cancel: of a chamber's moment about the axis of a symmetric actuator, round-off of the moments of all chambers is left. A
 * deviation counts by what it exceeds the round-off of the signal by. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define ALLOWED 1e-3     /* tolerance, relative to the largest value of a signal in the step */
#define SMALL 1e-3       /* or to this fraction of its largest value in the run, where it is smaller */
#define SURVEYED 16      /* number of times at which signals are evaluated at the start of a run */
/* Deviations up to this fraction of what signals are sums of are round-off: a hundred units of the last place, of rates and of
 * accelerations too, relative to a value that has hundreds of periods within a step. */
#define ROUND_OFF 1e-11

#define NOTICED 1e-2     /* share of the tolerance below which an error does not affect the next step */
#define PASSED 0.2       /* what fixed steps may miss of a signal: five steps in a period of a sine do */
#define NOW_AND_THEN 16  /* of this number of fixed steps without times to watch one is examined: oscillations last */

/* Points within the step that do not coincide with simple fractions of a period. */
static const double PLACES[] = {0.381966, 0.693147};

void pl_signal_range(pl_run *r) {
  pl_work *w = r->w;
  double *largest = r->memory.right.largest;
  const int n = w->T->n_signal;
  memset(largest, 0, n * sizeof(double));
  if (!n || r->next_stop >= r->n_stop) return;
  const double span = r->stop[r->n_stop - 1] - r->t;
  for (int k = 1; k <= SURVEYED; ++k) {
    pl_signals(w, r->t + span * fmod(k * PLACES[0], 1));
    for (int i = 0; i < n; ++i)
      if (isfinite(w->signal[i])) largest[i] = fmax(largest[i], fabs(w->signal[i]));
  }
  pl_signals(w, pl_time(r, r->t));
}

void pl_signal_round_off(pl_run *r, double t, double *out) {
  const int n = r->w->T->n_signal;
  pl_signal_weights(r->w, t, r->memory.input_weights, out);
  for (int i = 0; i < n; ++i) out[i] = out[i] > 0 ? ROUND_OFF * out[i] : 0; /* not where it is undefined, as of 0 * infinity */
}

/* Error at a fraction x of the step, relative to the tolerance, of signals evaluated there (y). */
static double error_at(pl_run *r, double h, double x, const double *y) {
  const pl_run_memory *m = &r->memory;
  const double *y0 = m->left.value, *d0 = m->left.rate, *a0 = m->left.acceleration;
  const double *y1 = m->right.value, *d1 = m->right.rate, *a1 = m->right.acceleration;
  const int n = r->w->T->n_signal;
  const double x2 = x * x, x3 = x2 * x, x4 = x3 * x, x5 = x4 * x, b = 10 * x3 - 15 * x4 + 6 * x5;
  const double c0 = h * (x - 6 * x3 + 8 * x4 - 3 * x5), c1 = h * (-4 * x3 + 7 * x4 - 3 * x5);
  const double e0 = 0.5 * h * h * (x2 - 3 * x3 + 3 * x4 - x5), e1 = 0.5 * h * h * (x3 - 2 * x4 + x5);
  double *largest = m->right.largest, *here = m->right.here, error = 0;
  int measured = 0;
  for (int i = 0; i < n; ++i) {
    here[i] = fmax(here[i], fabs(y[i])), largest[i] = fmax(largest[i], here[i]);
    double off = fabs(y[i] - (y0[i] + b * (y1[i] - y0[i]) + c0 * d0[i] + c1 * d1[i] + e0 * a0[i] + e1 * a1[i]));
    const double allowed = ALLOWED * fmax(here[i], SMALL * largest[i]);
    if (!(off > error * allowed)) continue;
    if (off > NOTICED * allowed && r->w->T->has_round_off_kernel) {
      if (!measured) pl_signal_round_off(r, pl_time(r, r->t + x * h), m->round_off), measured = 1;
      off -= m->round_off[i];
    }
    if (off > 0) error = fmax(error, off / allowed);
  }
  return error;
}

/* Of a fixed step at a fraction x: its method sees nothing but values at a few times. */
static void note_passed(pl_run *r, double x, double t, const double *y) {
  const double *y0 = r->memory.left.value, *y1 = r->memory.right.value;
  double *largest = r->memory.right.largest;
  for (int i = 0; i < r->w->T->n_signal; ++i) {
    largest[i] = fmax(largest[i], fmax(fabs(y[i]), fmax(fabs(y0[i]), fabs(y1[i]))));
    const double off = fabs(y[i] - (1 - x) * y0[i] - x * y1[i]);
    if (!(off > PASSED * largest[i] && off > r->missed * largest[i])) continue;
    pl_signal_round_off(r, t, r->memory.round_off);
    if (off > r->memory.round_off[i]) r->missed = off / largest[i], r->missed_at = t, r->missed_signal = i;
  }
}

/* Index of the first time to watch after t. */
static int next_watch(const pl_run *r, double t) {
  int low = 0, high = r->n_watch;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (r->watch[middle] > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

double pl_signal_error(pl_run *r, double h) {
  pl_work *w = r->w;
  pl_run_memory *m = &r->memory;
  const int n = w->T->n_signal;
  if (!n) return 0;
  double *y0 = m->left.value, *d0 = m->left.rate, *a0 = m->left.acceleration;
  double *y1 = m->right.value, *d1 = m->right.rate, *a1 = m->right.acceleration;
  const size_t bytes = n * sizeof(double);
  const double now = pl_time(r, r->t), end = pl_time(r, r->t + h);
  int watched = next_watch(r, now);
  const int within = watched < r->n_watch && r->watch[watched] < end;
  if (r->fixed && !within && r->steps % NOW_AND_THEN) return 0;
  pl_signals(w, end);
  memcpy(y1, w->signal, bytes), memcpy(d1, w->signal_rate, bytes), memcpy(a1, w->signal_acceleration, bytes);
  pl_signals(w, now);
  memcpy(y0, w->signal, bytes), memcpy(d0, w->signal_rate, bytes), memcpy(a0, w->signal_acceleration, bytes);
  if (!within && !memcmp(y0, y1, bytes) && !memcmp(d0, d1, bytes)) {
    int still = 1;
    for (int i = 0; i < n; ++i) still &= d0[i] == 0 && a0[i] == 0 && a1[i] == 0;
    if (still) return 0;
  }
  const int places = sizeof PLACES / sizeof *PLACES;
  double *y = m->at_places, error = 0;
  for (int i = 0; i < n; ++i) m->right.here[i] = fmax(fabs(y0[i]), fabs(y1[i]));
  for (int k = 0; k < places; ++k) {
    pl_signals(w, pl_time(r, r->t + PLACES[k] * h));
    memcpy(y + (size_t)n * k, w->signal, bytes);
    for (int i = 0; i < n; ++i) m->right.here[i] = fmax(m->right.here[i], fabs(w->signal[i]));
  }
  for (int k = 0; k < places; ++k) {
    const double *there = y + (size_t)n * k;
    if (r->fixed) note_passed(r, PLACES[k], r->t + PLACES[k] * h, there);
    else error = fmax(error, error_at(r, h, PLACES[k], there));
  }
  for (; watched < r->n_watch && r->watch[watched] < end; ++watched) {
    const double t = r->watch[watched], x = (t - r->t) / h;
    pl_signals(w, t);
    memcpy(y, w->signal, bytes);
    if (r->fixed) note_passed(r, x, t, y);
    else error = fmax(error, error_at(r, h, x, y));
  }
  pl_signals(w, now);
  return error;
}
