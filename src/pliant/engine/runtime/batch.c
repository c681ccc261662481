/* Quantities at many states of a saved motion in one call. */
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "pliant.h"

/* Contacts at each state of a motion: index of the first record of each, and all records; null if unknown. */
static void remember(pl_work *w, int i, const int *begin, const double *records) {
  if (w->contacts && begin) pl_contact_hold(w, begin[i + 1] - begin[i], records + (size_t)PL_CONTACT_RECORD * begin[i]);
}

/* Restore the contact memory of the binding; returns whether memory was insufficient. */
static int forget(pl_work *w) {
  const int status = pl_memory_status(w);
  if (w->contacts) pl_contact_bind(w);
  return status;
}

/* For each of `count` states, with its contacts: energies (5, as pl_energies; null if they are not wanted), inputs,
 * signals and their rates, and pose and twist of every node (null if they are not wanted). */
int pl_batch(pl_work *w, int count, const double *t, const double *q, const double *v, const int *begin,
             const double *records, double *energies, double *inputs, double *signals, double *signal_rates,
             double *R, double *p, double *V) {
  const pl_tables *T = w->T;
  const size_t nodes = T->n_node;
  for (int i = 0; i < count; ++i) {
    const double *q_i = q + (size_t)T->nq * i, *v_i = v + (size_t)T->nv * i;
    if (energies) {
      remember(w, i, begin, records);
      pl_energies(w, t[i], q_i, v_i, energies + 5 * i);
    } else {
      pl_signals(w, t[i]);
      if (R) pl_kinematics(w, q_i, v_i);
    }
    memcpy(inputs + (size_t)T->n_input * i, w->input, T->n_input * sizeof(double));
    memcpy(signals + (size_t)T->n_signal * i, w->signal, T->n_signal * sizeof(double));
    memcpy(signal_rates + (size_t)T->n_signal * i, w->signal_rate, T->n_signal * sizeof(double));
    if (!R) continue;
    memcpy(R + 9 * nodes * i, w->R, 9 * nodes * sizeof(double));
    memcpy(p + 3 * nodes * i, w->p, 3 * nodes * sizeof(double));
    memcpy(V + 6 * nodes * i, w->V, 6 * nodes * sizeof(double));
  }
  return forget(w);
}

/* pl_contact_sums in each of `count` states, for `wanted` questions. */
int pl_batch_contact_sums(pl_work *w, int count, const double *t, const double *q, const double *v, const int *begin,
                          const double *records, int wanted, const int *law, const int *side, const int *with_gap,
                          double *out) {
  const pl_tables *T = w->T;
  for (int i = 0; i < count; ++i) {
    const double *here = q + (size_t)T->nq * i;
    remember(w, i, begin, records);
    pl_evaluate(w, t[i], here, v + (size_t)T->nv * i);
    pl_contact_sums(w, here, wanted, law, side, with_gap, out + (size_t)PL_SUM_SIZE * wanted * i);
  }
  return forget(w);
}

/* pl_carried in each of `count` states, for `wanted` nodes: 6 x wanted numbers each. */
int pl_batch_carried(pl_work *w, int count, const double *t, const double *q, const double *v, const double *a,
                     const double *lambda, const int *begin, const double *records, int wanted, const int *nodes,
                     double *out) {
  const pl_tables *T = w->T;
  for (int i = 0; i < count; ++i) {
    remember(w, i, begin, records);
    pl_carried(w, t[i], q + (size_t)T->nq * i, v + (size_t)T->nv * i, a + (size_t)T->nv * i, lambda + (size_t)T->m * i,
               wanted, nodes, out + (size_t)6 * wanted * i);
  }
  return forget(w);
}

/* Results of a kernel in `count` rows. Its i-th argument of row k is at arg[i] + arg_step[i] * k, and likewise its results;
 * sizes: of the arrays arg, res, iw and w of the kernel. */
int pl_rows(const pl_kernel *kernel, int count, int n_arg, const double *const *arg, const int *arg_step, int n_res,
            double *const *res, const int *res_step, const int *sizes) {
  const double **from = calloc((size_t)sizes[0] + 1, sizeof *from);
  double **to = calloc((size_t)sizes[1] + 1, sizeof *to);
  long long *iw = calloc((size_t)sizes[2] + 1, sizeof *iw);
  double *w = calloc((size_t)sizes[3] + 1, sizeof *w);
  int status = from && to && iw && w ? PL_OK : PL_OUT_OF_MEMORY;
  for (int k = 0; k < count && !status; ++k) {
    for (int i = 0; i < n_arg; ++i) from[i] = arg[i] + (size_t)arg_step[i] * k;
    for (int i = 0; i < n_res; ++i) to[i] = res[i] + (size_t)res_step[i] * k;
    kernel->call(from, to, iw, w, kernel->number);
  }
  free(from), free(to), free(iw), free(w);
  return status;
}
