/* Uninterrupted runs, from their start to their kept results in one call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "integrate.h"

int pl_call_fastest_rate(pl_work *, const pl_arguments *, double *const *out);

/* pl_call_fastest_rate with several bindings, each in a state of its own; NAN if it fails. */
int pl_fastest_rates(const pl_tables *T, int count, const pl_binding *const *bound, double t, const double *const *q,
                     const double *const *v, double *out) {
  pl_work *w = pl_work_new(T);
  if (!w) return PL_OUT_OF_MEMORY;
  for (int k = 0; k < count; ++k) {
    const pl_arguments x = {.t = t, .q = q[k], .v = v[k]};
    double *rate = out + k;
    pl_bind(w, bound[k]);
    if (pl_call_fastest_rate(w, &x, &rate)) out[k] = NAN;
  }
  pl_work_free(w);
  return PL_OK;
}

/* Unused arguments of outputs: transmitted wrenches, energies, sums of contacts. */
static const double nothing[3] = {0};

/* Outputs at all samples: `kernel` as `output_function` of Python, `sizes` as in pl_rows, results of n numbers in res. */
static int sample_outputs(pl_work *w, const pl_run_head *asked, const pl_kernel *kernel, int n_res, double *const *res,
                          const int *res_step, const int *sizes) {
  const pl_tables *T = w->T;
  const double **from = (const double **)calloc((size_t)sizes[0] + 1, sizeof *from);
  double **to = (double **)calloc((size_t)sizes[1] + 1, sizeof *to);
  long long *iw = (long long *)calloc((size_t)sizes[2] + 1, sizeof *iw);
  double *work = (double *)calloc((size_t)sizes[3] + 1, sizeof *work);
  const int status = from && to && iw && work ? PL_OK : PL_OUT_OF_MEMORY;
  for (int k = 0; k < asked->n_sample && !status; ++k) {
    pl_signals(w, asked->sample_t[k]);
    const double *arguments[] = {asked->sample_q + (size_t)T->nq * k, asked->sample_v + (size_t)T->nv * k,
                                 asked->sample_a + (size_t)T->nv * k, asked->sample_multipliers + (size_t)T->m * k,
                                 w->theta, w->signal, w->signal_rate, nothing, nothing, nothing};
    memcpy(from, arguments, sizeof arguments);
    for (int i = 0; i < n_res; ++i) to[i] = res[i] + (size_t)res_step[i] * k;
    kernel->call(from, to, iw, work, kernel->number);
  }
  free(from), free(to), free(iw), free(work);
  return status;
}

/* A run with a maximum number of steps; asked: its initial state and the arrays of its samples, and on return its progress.
 * PL_OK: it has reached its end, and outputs (if a kernel of them is given) are evaluated at all samples. */
int pl_run_whole(const pl_tables *T, const pl_binding *bound, pl_run_head *asked, long most_steps,
                 const pl_kernel *kernel, int n_res, double *const *res, const int *res_step, const int *sizes) {
  pl_work *w = pl_work_new(T);
  pl_run *r = NULL;
  int status = PL_OUT_OF_MEMORY;
  if (w) pl_bind(w, bound), r = pl_run_new(w, asked->method);
  if (r) {
    pl_run_head *head = (pl_run_head *)r;
    const pl_run_head own = *head;
    *head = *asked;
    head->q = own.q, head->v = own.v, head->a = own.a, head->multipliers = own.multipliers, head->work = own.work;
    head->moved = own.moved, head->lost = own.lost, head->pulse = own.pulse, head->deepest = own.deepest, head->pause = own.pause;
    memcpy(head->q, asked->q, T->nq * sizeof(double)), memcpy(head->v, asked->v, T->nv * sizeof(double));
    status = pl_run_start(r);
    if (!status) status = pl_run_advance(r, most_steps);
    asked->t = r->t, asked->steps = r->steps, asked->rejected = r->rejected, asked->next_sample = r->next_sample;
    asked->missed = r->missed;
    if (!status && kernel) status = sample_outputs(w, asked, kernel, n_res, res, res_step, sizes);
  }
  pl_run_free(r), pl_work_free(w);
  return status;
}
