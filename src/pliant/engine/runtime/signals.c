/* Functions of time: inputs from expressions, recorded series or the caller, then signals computed from them. */
#include <math.h>

#include "pliant.h"

int pl_series_piece(const pl_binding *b, int i, double *t, int *outside) {
  const int first = b->series_begin[i], count = b->series_begin[i + 1] - first;
  const double *time = b->series_time + first;
  *outside = *t < time[0] || *t > time[count - 1];
  if (*t < time[0]) *t = time[0];
  if (*t > time[count - 1]) *t = time[count - 1];
  int low = 0, high = count - 1;
  while (high - low > 1) {
    const int mid = (low + high) / 2;
    if (*t >= time[mid]) low = mid; else high = mid;
  }
  return first + (*t >= time[count - 1] ? count - 1 : low);
}

static void series(const pl_binding *b, int i, double t, double *y, double *yd, double *ydd) {
  int outside;
  const int piece = pl_series_piece(b, i, &t, &outside);
  const double x = t - b->series_time[piece], *k = b->series_poly + PL_SERIES_TERMS * piece;
  *y = k[0] + x * (k[1] + x * (k[2] + x * (k[3] + x * (k[4] + x * k[5]))));
  *yd = outside ? 0 : k[1] + x * (2 * k[2] + x * (3 * k[3] + x * (4 * k[4] + x * 5 * k[5])));
  *ydd = outside ? 0 : 2 * k[2] + x * (6 * k[3] + x * (12 * k[4] + x * 20 * k[5]));
}

void pl_signals(pl_work *w, double t) {
  const pl_tables *T = w->T;
  const pl_binding *b = &w->bound;
  if (!T->n_signal) return;
  if (T->has_input_kernel) {
    const double *arg[2] = {&t, w->parameters};
    double *res[3] = {w->input, w->input_rate, w->input_acceleration};
    pl_call(T->input_kernel, arg, res, w);
  }
  for (int i = 0; i < T->n_input; ++i) {
    if (b->input_kind[i] == PL_INPUT_HELD) {
      w->input[i] = w->held[i];
      w->input_rate[i] = w->input_acceleration[i] = 0;
    } else if (b->input_kind[i] == PL_INPUT_SERIES)
      series(b, b->input_series[i], t, w->input + i, w->input_rate + i, w->input_acceleration + i);
  }
  const double *arg[5] = {&t, w->input, w->input_rate, w->input_acceleration, w->parameters};
  double *res[3] = {w->signal, w->signal_rate, w->signal_acceleration};
  pl_call(T->signal_kernel, arg, res, w);
}

void pl_signal_weights(pl_work *w, double t, double *of_inputs, double *of_signals) {
  const pl_tables *T = w->T;
  pl_signals(w, t);
  if (!T->has_round_off_kernel) {
    for (int i = 0; i < T->n_signal; ++i) of_signals[i] = fabs(w->signal[i]);
    return;
  }
  const double *arg[4] = {&t, w->input, w->input, w->parameters};
  double *res[2] = {of_inputs, NULL};
  pl_call(T->round_off_kernel, arg, res, w);
  for (int i = 0; i < T->n_input; ++i)
    if (w->bound.input_kind[i] != PL_INPUT_EXPRESSION) of_inputs[i] = fabs(w->input[i]);
  arg[2] = of_inputs, res[0] = NULL, res[1] = of_signals;
  pl_call(T->round_off_kernel, arg, res, w);
}
