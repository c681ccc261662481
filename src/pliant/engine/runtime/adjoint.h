/* Gradients of a run by its discrete adjoint.
 *
 * A recorded run stores the initial states of its steps (tape.c). The backward pass converts, step by step, the derivative of a number
 * with respect to the state at the end of a step to derivatives with respect to the state at its beginning, parameters and
 * inputs: exactly those of the steps taken, not of the equations they approximate. There is one function per method
 * (adjoint_steps.c); all of them consist of a few linear operations and their transposes (adjoint.c, adjoint_pairing.c).
 *
 * Cotangents of configurations refer to body-side increments, like K. */
#ifndef PLIANT_ADJOINT_H
#define PLIANT_ADJOINT_H

#include "integrate.h"

/* The beginning of a step: all data needed to repeat it. */
typedef struct pl_tape_step {
  double t, h, t_floor, t_cap;
  int refreshed; /* inputs jumped after it: accelerations were recomputed, and prescribed velocities changed */
} pl_tape_step;

typedef struct pl_tape pl_tape;

/* Record the run from its current state on, in at most about this much memory; zero memory ends it. */
int pl_run_record(pl_run *, size_t bytes);
void pl_tape_free(pl_tape *);
/* A step of size h is about to be accepted; inputs have jumped at the end of the one before. */
int pl_tape_add(pl_run *, double h);
void pl_tape_refreshed(pl_run *);
/* Number of recorded steps, and their initial times, unless null. */
long pl_run_recorded(const pl_run *, double *times);
long pl_tape_count(const pl_tape *);
const pl_tape_step *pl_tape_at(const pl_tape *, long step);
/* Whether the stages of the step restored last were recorded, and stand in the run's memory again: those of Rosenbrock's method
 * where nothing is done to its end. */
int pl_tape_stages(const pl_run *);
/* Restore the beginning of step `step`. */
int pl_tape_restore(pl_run *, long step);

/* Variables of differentiation, and the sums of their derivatives. */
typedef struct pl_credit {
  int n;                                        /* parameters */
  const double *constants, *parameters;         /* a row per parameter: how those of the binding change with it */
  const double *step;                           /* perturbation */
  const double *input_scale;                    /* per input, a typical size of its values */
  double *by_parameter, *by_held, *by_poly;     /* n; per input; per coefficient of the series, as the binding has them */
} pl_credit;

/* Cotangents of a state: by increments of q, v, a, multipliers, and generalized-alpha's lead. */
typedef struct pl_cotangent {
  double *q, *v, *a, *multipliers, *lead;
} pl_cotangent;

/* Cotangents of signals at one time, and of their derivatives, until they are propagated to inputs and parameters. */
typedef struct pl_signal_cotangents {
  double t;
  int any;
  double *signal, *rate, *acceleration, *jerk;
} pl_signal_cotangents;

typedef struct pl_adjoint {
  pl_run *r;
  const pl_credit *credit;
  pl_cotangent state;              /* in: at the end of a step; out: at its beginning */
  /* a pairing w.r + y_c.c + y_phi.phi + y_rate.phi_rate in some state; null for none */
  const double *w, *y_c, *y_phi, *y_rate;
  double lift;                     /* part of the signals' accelerations that is added to those of the constraints */
  double *gq, *gv, *ga, *gl;       /* its gradient: nv, nv, nv, m */
  double *K, *C, *M, *J, *Eq, *Ev; /* tangents of the initial state of a step */
  double *Eq_here, *Ev_here;       /* m x nv, of the state evaluated last */
  double *by_signal, *by_rate;     /* nv x n_signal */
  double *from_signal, *from_rate; /* the same in the initial state of a step */
  pl_signal_cotangents at_start, at_last; /* at the time that a step begins, and at the one in question last */
  double *store;                   /* temporary: what signals are, 6 x n_signal */
  double *temporary[19];           /* nq + nv + m each */
  double *stages;                  /* cotangents of stages, 6 x (3 nv + m) or of (q, a), 6 x (nq + nv) */
  double *scratch;                 /* of pl_parameter_change */
  int *transposed;                 /* position of the transpose of each entry of the matrix */
  void *block;
} pl_adjoint;

/* A direction in the space of (q, v, a, multipliers, time) from the state that a step begins with: of q an increment. */
typedef struct pl_direction {
  double t;
  const double *from_v, *from_a, *from_multipliers;
  const double *q, *v, *a, *multipliers;
  double time, h; /* what passes along it; the step that it belongs to */
  int both_sides; /* for long directions at constant time: inputs are read from the beginning of the step on */
} pl_direction;

/* Cotangents at samples, rows of nv and m numbers. */
typedef struct pl_sample_cotangents {
  const double *q, *v, *a, *multipliers;
} pl_sample_cotangents;

/* From the end of step `last` - 1 back to the beginning of step `first`, over all or some of the recorded steps. credit: see
 * pl_credit, added to; cotangents of samples (rows of nv or m numbers, which steps have ended on), of which those after
 * *next_sample have been met; by_state: the cotangent of the state at the end, which becomes that at the beginning (q, v, a, lead
 * and multipliers in a row). */
int pl_run_adjoint(pl_run *, long first, long last, int *next_sample, int n, const double *constants, const double *parameters,
                   const double *step, const double *input_scale, const double *sample_q, const double *sample_v,
                   const double *sample_a, const double *sample_multipliers, double *by_parameter, double *by_held,
                   double *by_poly, double *by_state);

/* adjoint_pairing.c */
/* The gradient of the pairing in a state, from new tangents there. */
void pl_adjoint_gradient(pl_adjoint *, double t, const double *q, const double *v, const double *a, const double *lambda);
/* The same from given tangents. */
void pl_adjoint_products(pl_adjoint *, const double *K, const double *C, const double *M, const double *J, const double *Eq,
                         const double *Ev);
/* Subtracts the gradient of the pairing's derivative along a direction from cotangents of the state that the step begins with, and
 * its change with parameters and inputs from their credit. The tangents of that state are K, ..., Ev of A, and kept by pl_adjoint_keep;
 * the gradient there has just been found. */
void pl_adjoint_second(pl_adjoint *, const pl_direction *, double *bar_q, double *bar_v, double *bar_a, double *bar_multipliers);
/* Keeps the tangents of the state that a step begins with, which were just evaluated: r->q, and v, at the time of the step's inputs. */
void pl_adjoint_keep(pl_adjoint *, const double *v);
/* Whether the state was evaluated last, must be evaluated, or is that of pl_adjoint_keep. */
typedef enum pl_evaluated { PL_LAST, PL_ANEW, PL_KEPT } pl_evaluated;
/* Subtracts `factor` times the pairing's change with parameters and inputs from their credit. */
void pl_adjoint_credit(pl_adjoint *, double factor, double t, const double *q, const double *v, const double *a,
                       const double *lambda, pl_evaluated);
/* Propagate the collected cotangents of signals; called at the end. */
void pl_adjoint_settle(pl_adjoint *);
/* adjoint.c */
/* Accelerations and multipliers as functions of (q, v): their cotangents are propagated to those of q and v. */
int pl_adjoint_forward(pl_adjoint *, double t, const double *q, const double *v, const double *a, const double *lambda);
/* Velocities nearest to v that satisfy the constraints' rates: cotangents of the result become those of v and q. `after`: the
 * result. */
int pl_adjoint_velocities(pl_adjoint *, double t, const double *q, const double *before, const double *after);
/* The driver's projection of a step's end, of which q and `after` are the result. */
int pl_adjoint_project(pl_adjoint *, double t, const double *q, const double *q_before, const double *before, const double *after);
/* Factorizes the transpose of [(cM M + cC C) B + cK K, -J'; L, 0] of the tangents evaluated last. */
int pl_adjoint_matrix(pl_adjoint *, double cM, double cC, double cK, const double *blocks, const double *rows);
void pl_adjoint_solve(pl_adjoint *, double *x);

/* adjoint_steps.c */
/* q1 = q0 o exp(x): cotangents of q1 as those of x (added to by_x) and of q0 (added to by_q). */
void pl_undo_increment(const pl_tables *, const double *x, const double *by, double *by_x, double *by_q);
/* Adjoint of the step from the run's state, of size h. */
int pl_adjoint_step(pl_adjoint *, double h);

/* integrate.c: one step from the run's state, including the driver's treatment of its end. */
int pl_run_attempt(pl_run *, double h, double *error);
/* Whether constraints prescribe motions in time. */
int pl_run_driven(const pl_run *);

#endif
