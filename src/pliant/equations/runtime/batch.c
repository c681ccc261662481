/* Quantities along a saved motion, many times in one call. */
#include <string.h>

#include "pliant.h"

/* For each of `count` states: energies (5, as pl_energies; null if they are not wanted), inputs, signals and their rates, and
 * pose and twist of every node. */
void pl_batch(pl_work *w, int count, const double *t, const double *q, const double *v, double *energies,
              double *inputs, double *signals, double *signal_rates, double *R, double *p, double *V) {
  const pl_tables *T = w->T;
  const size_t nodes = T->n_node;
  for (int i = 0; i < count; ++i) {
    const double *q_i = q + (size_t)T->nq * i, *v_i = v + (size_t)T->nv * i;
    if (energies) pl_energies(w, t[i], q_i, v_i, energies + 5 * i);
    else pl_signals(w, t[i]), pl_kinematics(w, q_i, v_i);
    memcpy(inputs + (size_t)T->n_input * i, w->input, T->n_input * sizeof(double));
    memcpy(signals + (size_t)T->n_signal * i, w->signal, T->n_signal * sizeof(double));
    memcpy(signal_rates + (size_t)T->n_signal * i, w->signal_rate, T->n_signal * sizeof(double));
    memcpy(R + 9 * nodes * i, w->R, 9 * nodes * sizeof(double));
    memcpy(p + 3 * nodes * i, w->p, 3 * nodes * sizeof(double));
    memcpy(V + 6 * nodes * i, w->V, 6 * nodes * sizeof(double));
  }
}

/* pl_carried in each of `count` states, for `wanted` nodes: 6 x wanted numbers each. */
void pl_batch_carried(pl_work *w, int count, const double *t, const double *q, const double *v, const double *a,
                      const double *lambda, int wanted, const int *nodes, double *out) {
  const pl_tables *T = w->T;
  for (int i = 0; i < count; ++i)
    pl_carried(w, t[i], q + (size_t)T->nq * i, v + (size_t)T->nv * i, a + (size_t)T->nv * i, lambda + (size_t)T->m * i,
               wanted, nodes, out + (size_t)6 * wanted * i);
}
