/* Generalized-alpha on the group of configurations with constraints at position level (Chung and Hulbert 1993; Arnold and
 * Bruels 2007). Newmark's method is the case alpha_m = alpha_f = 0.
 * option: alpha_m, alpha_f, beta, gamma. */
#include <math.h>
#include <string.h>

#include "integrate.h"

#define MAX_ITERATIONS 25

int pl_step_generalized_alpha(pl_run *r, double h, double *error) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  const int nv = T->nv, m = T->m;
  const double am = r->option[0], af = r->option[1], beta = r->option[2], gamma = r->option[3];
  const double to_a = (1 - am) / (h * h * beta * (1 - af)), to_v = gamma / (h * beta);
  double *x = r->buffer + 8 * (T->nq + nv + m), *lambda = x + nv;
  for (int i = 0; i < nv; ++i) {
    const double alg = (af * r->a[i] - am * r->alg[i]) / (1 - am);
    x[i] = h * (r->v[i] + h * ((0.5 - beta) * r->alg[i] + beta * alg));
    r->v1[i] = r->v[i] + h * ((1 - gamma) * r->alg[i] + gamma * alg);
    r->alg1[i] = alg;
    r->a1[i] = 0;
    /* start Newton from an unchanged acceleration */
    const double step = r->a[i] / to_a;
    x[i] += step, r->v1[i] += to_v * step, r->a1[i] += to_a * step;
  }
  memcpy(lambda, r->lambda, m * sizeof(double));
  const double t = pl_time(r, r->t + h);
  double last = INFINITY;
  int iteration = 0;
  for (;; ++iteration) {
    if (iteration == MAX_ITERATIONS) return PL_NO_CONVERGENCE;
    pl_increment(T, r->q, x, r->q1);
    pl_linearized(w, t, r->q1, r->v1, r->a1, lambda);
    double phi = 0;
    for (int i = 0; i < m; ++i)
      if (w->row_active[i]) phi = fmax(phi, fabs(w->phi[i]));
    if (iteration && last < 1e-9 && phi <= 1e-11) break;
    pl_assemble(w, to_a, to_v, 1);
    w->factorizations++, r->newton++;
    if (pl_linear_factor(w->linear, w->kkt)) return PL_SINGULAR;
    for (int i = 0; i < nv; ++i) w->rhs[i] = -w->rhs[i];
    for (int i = 0; i < m; ++i) w->rhs[nv + i] = w->row_active[i] ? -w->phi[i] : 0;
    pl_linear_solve(w->linear, w->rhs);
    double norm = 0;
    for (int i = 0; i < nv; ++i) {
      const double d = w->rhs[i];
      x[i] += d, r->v1[i] += to_v * d, r->a1[i] += to_a * d;
      norm = fmax(norm, fabs(d) / (1e-3 + fabs(x[i])));
    }
    for (int i = 0; i < m; ++i) lambda[i] += w->rhs[nv + i];
    if (!isfinite(norm) || (iteration > 6 && norm > 2 * last && norm > 1e-6)) return PL_NO_CONVERGENCE;
    last = norm;
  }
  memcpy(r->lambda1, lambda, m * sizeof(double));
  double sum = 0;
  for (int i = 0; i < nv; ++i) {
    r->alg1[i] += (1 - af) / (1 - am) * r->a1[i];
    const double e = h * h / 12 * (r->alg1[i] - r->alg[i]) / (r->atol + r->rtol * fmax(fabs(x[i]), h * fabs(r->v1[i]) + 1e-3));
    sum += e * e;
  }
  *error = sqrt(sum / nv);
  return PL_OK;
}
