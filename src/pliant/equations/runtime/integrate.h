/* Time integration: one driver, one step function per method. */
#ifndef PLIANT_INTEGRATE_H
#define PLIANT_INTEGRATE_H

#include "pliant.h"

enum { PL_EXPLICIT = 0, PL_ROSENBROCK = 1, PL_GENERALIZED_ALPHA = 2, PL_SEMI_IMPLICIT = 3 };

typedef struct pl_run {
  pl_work *w;
  int method, fixed;        /* fixed: constant step `h`, no error control */
  double t, h, h_min, h_max, rtol, atol;
  double option[8];         /* coefficients of the method */
  /* state: (q, v) at t with acceleration, multipliers and the two energy integrals (dissipated, supplied) */
  double *q, *v, *a, *lambda, *alg, *work;
  /* candidate after a step */
  double *q1, *v1, *a1, *lambda1, *alg1, *work1;
  /* times that a step must end on (inputs jump there); the last one is the end of the run */
  const double *stop;
  int n_stop, next_stop;
  /* samples */
  const double *sample_t;
  int n_sample, next_sample;
  double *sample_q, *sample_v, *sample_a, *sample_lambda, *sample_work;
  double projection_tolerance;
  double t_cap;             /* inputs are never read beyond this time inside a step */
  long steps, rejected, newton;
  int where;                /* index in v of the first number that is not finite */
  double previous_error;
  double *buffer;           /* method's own memory */
} pl_run;

pl_run *pl_run_new(pl_work *, int method);
void pl_run_free(pl_run *);
int pl_run_start(pl_run *);
int pl_run_advance(pl_run *, long max_steps);

/* Step functions fill the candidate; *error is the scaled error estimate (accept when <= 1). */
int pl_step_explicit(pl_run *, double h, double *error);
int pl_step_rosenbrock(pl_run *, double h, double *error);
int pl_step_generalized_alpha(pl_run *, double h, double *error);
int pl_step_semi_implicit(pl_run *, double h, double *error);

/* Rates of dissipated and supplied energy at a state. */
void pl_power(pl_run *, double t, const double *q, const double *v, const double *lambda, double *out);
/* Integrals of both over a step by Simpson's rule on the interpolated midpoint. */
void pl_step_work(pl_run *, double h);
/* Quintic Hermite interpolation at fraction x of the step from the state to the candidate. */
void pl_interpolate(const pl_run *, double h, double x, double *q, double *v);
double pl_time(const pl_run *, double t);

#endif
