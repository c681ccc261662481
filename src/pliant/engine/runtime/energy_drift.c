/* Control of the energy balance: error control limits errors per step, which add up over hundreds of periods of a vibration.
 *
 * Kinetic, potential and dissipated energy less the energy supplied is constant in an exact motion. Where its change, continued at the
 * present rate up to the end of the run, exceeds a small share of the energies exchanged, the tolerance of the steps is reduced in
 * proportion. Damped motions, and short ones, hardly ever need it.
 *
 * Contacts lose energy in impacts by their own laws, and are left alone. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "integrate.h"

#define ALLOWED 3e-3        /* change of the balance up to the end relative to the energies exchanged, at a tolerance of 1e-3 */
#define USUAL_TOLERANCE 1e-3
#define NOTICED 0.05        /* share of that below which changes are not continued */
#define LEFT 0.3            /* at least this share of it is available for the rest of the run */
#define ROUND_OFF 1e-12     /* relative to the energies themselves */
#define MEASURED_EVERY 8    /* steps: it takes a fraction of an evaluation */
#define EXAMINED 0.01       /* fraction of the run over which the rate of the change is measured at least, and steps: */
#define STEPS 50            /* within a few, the work of forces is known less accurately */
#define STRICTEST 1e-4      /* smallest factor on the tolerance */
#define LEAST_CHANGE 0.5    /* factors of one examination */
#define LARGEST_CHANGE 0.1
#define RELAXED 2           /* factor if the rate is below a half of what is allowed */
#define SAME_RATE 0.7       /* share of the rate of change above which a tolerance that is stricter by this factor has not helped: */
#define TRIED 0.1           /* the balance itself is inaccurate, as of stiff parts, and not controlled any more */

void pl_drift_begin(pl_run *r) {
  pl_drift *d = &r->drift;
  memset(d, 0, sizeof *d);
  for (int i = 0; i < 4; ++i) d->lowest[i] = INFINITY, d->highest[i] = -INFINITY;
  d->begin = d->mark = r->t, d->factor = 1;
  r->exchanged = 0;
}

void pl_drift_interrupt(pl_run *r) { r->drift.known = 0; }

void pl_drift_measure(pl_run *r) {
  pl_drift *d = &r->drift;
  pl_work *w = r->w;
  d->measured = 0;
  if (r->fixed || w->T->n_shape || r->method > PL_GENERALIZED_ALPHA) return;
  if (d->known && r->steps % MEASURED_EVERY) return;
  d->candidate[0] = pl_kinetic_energy(w);
  d->candidate[1] = pl_gravity_energy(w) + w->energy;
  pl_inertia_energy(w, d->candidate, d->candidate + 1);
  pl_shared_inertia_energy(w, d->candidate, d->candidate + 1);
  d->candidate[2] = r->work1[0], d->candidate[3] = r->work1[1];
  d->measured = 1;
}

/* Adapts the factor; exchanged: energy; size: of the energies themselves. */
static void control(pl_run *r, double exchanged, double size) {
  pl_drift *d = &r->drift;
  const double end = r->stop[r->n_stop - 1], left = end - r->t, past = r->t - d->mark;
  if (!(left > 0 && past > EXAMINED * (end - d->begin)) || r->steps - d->mark_steps < STEPS || d->in_vain) return;
  const double allowed = ALLOWED * cbrt(r->rtol / USUAL_TOLERANCE) * exchanged, change = fabs(d->total - d->mark_total);
  const double goal = fmax(allowed - fabs(d->total), LEFT * allowed) / left, rate = change / past;
  const int noticed = change > NOTICED * allowed + ROUND_OFF * size;
  if (noticed && rate > goal) {
    const int tried = d->factor <= TRIED * d->at_factor;
    d->in_vain = tried && rate > SAME_RATE * d->rate;
    if (tried || !(d->rate > 0)) d->rate = rate, d->at_factor = d->factor;
    d->factor = d->in_vain ? 1 : fmax(STRICTEST, d->factor * fmin(LEAST_CHANGE, fmax(LARGEST_CHANGE, goal / rate)));
  } else if (d->factor < 1 && rate < 0.5 * goal)
    d->factor = fmin(1, RELAXED * d->factor);
  else
    return;
  d->mark = r->t, d->mark_total = d->total, d->mark_steps = r->steps;
}

void pl_drift_accept(pl_run *r) {
  pl_drift *d = &r->drift;
  double exchanged = d->highest[0], size = 0;
  if (!d->measured) return;
  d->measured = 0;
  const double balance = d->candidate[0] + d->candidate[1] + d->candidate[2] - d->candidate[3];
  for (int i = 0; i < 4; ++i) {
    d->lowest[i] = fmin(d->lowest[i], d->candidate[i]), d->highest[i] = fmax(d->highest[i], d->candidate[i]);
    exchanged = fmax(exchanged, i ? d->highest[i] - d->lowest[i] : d->highest[i]);
    size = fmax(size, fabs(d->candidate[i]));
  }
  r->exchanged = exchanged;
  if (d->known) d->total += balance - d->last;
  d->last = balance, d->known = 1;
  control(r, exchanged, size);
}
