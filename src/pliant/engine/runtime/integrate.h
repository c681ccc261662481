/* Time integration: one driver, one step function per method. */
#ifndef PLIANT_INTEGRATE_H
#define PLIANT_INTEGRATE_H

#include "pliant.h"

enum { PL_EXPLICIT = 0, PL_ROSENBROCK = 1, PL_GENERALIZED_ALPHA = 2, PL_SEMI_IMPLICIT = 3, PL_SYMPLECTIC_EULER = 4 };

typedef struct pl_sensitivity pl_sensitivity;
typedef struct pl_tape pl_tape;

/* Contacts at the samples taken so far, those of sample i from begin[i] to begin[i + 1]. */
typedef struct pl_contact_log {
  int capacity, samples, *begin;
  double *record;
} pl_contact_log;

/* Newton's iterations since a matrix was factorized, and data of its factors; see secant.c. */
#define PL_SECANT_DEPTH 12
typedef struct pl_secant {
  int n, size, count;       /* coordinates; these and multipliers; iterations stored */
  double *steps, *weight, square[PL_SECANT_DEPTH];
  long factorization;       /* its number in the workspace, -1 for none */
  double scale;             /* of the step that it was made for */
  double excess;            /* iterations of previous steps that better factors would have saved */
  int nodes, turned;        /* free nodes; whether they have turned since the factorization, as `turn` says */
  int *node;                /* which they are */
  double *axes, *turn;      /* of each, its axes at the factorization, and by what its displacements have turned since: 3x3 */
  void *block;
} pl_secant;

/* Largest displacement [m], turn [rad], speed and spin of any frame. */
typedef struct pl_motion_size {
  double way, turn, speed, spin;
} pl_motion_size;

/* Size of the motion of a run: size of the robot at the start [m], the motion since, and that of the frames relative to each other. */
typedef struct pl_extent {
  double size;
  pl_motion_size all, own;
} pl_extent;

/* The energy balance of a run and the factor on its tolerance that keeps it; see energy_drift.c. */
typedef struct pl_drift {
  double lowest[4], highest[4]; /* of kinetic, potential, dissipated and supplied energy */
  double candidate[4], last;    /* these after the step that was attempted; the balance when it was measured last */
  double begin, total;          /* time and change of the balance since the start */
  double mark, mark_total;      /* and where the factor has changed last, after `mark_steps` */
  long mark_steps;
  double factor;
  double rate, at_factor;       /* a rate of change, and at which factor; a tenth of it has to be better */
  int measured, known, in_vain; /* the candidate was measured; `last` is; a stricter tolerance has not helped */
} pl_drift;

/* Arrays of a run beside its state. */
typedef struct pl_run_memory {
  struct { double *value, *rate, *acceleration; } left;             /* signals before a jump, or at the beginning of a step */
  /* at its end; their largest values in the step and in the run */
  struct { double *value, *rate, *acceleration, *here, *largest; } right;
  double *at_places, *input_weights, *round_off;                    /* signal_error.c: signals at other times, their round-off */
  struct { double *d0, *d1, *dd0, *dd1, *qd, *qdd; } between;       /* pl_interpolate: derivatives of q at both ends */
  struct { double *q, *v, *a, *multipliers; } middle;               /* add_work */
  struct { double *p, *R, *V, *rates; } extent; /* positions of all nodes at the start; twists; sizes of rates, as pl_rate_sizes */
  /* vibration.c: of rates; twists; erased speed and spin of every node in this step and in recent ones, frequencies */
  struct { double *x, *change, *fast, *y, *V, *W, *step, *recent, *rate; } vibration;
  struct { double *k, *x, *error; } runge_kutta;                    /* seven stages; (q, v); error */
  struct { double *x, *rate; } semi_implicit;
  struct { double *x; } symplectic_euler;
  struct { double *x, *blocks, *unit, *column, *turned, *errors, *step, *residual, *unchanged, *solved; } alpha;
  struct {
    double *k, *sum;                                                /* six stages of (x, v, z, y), and their sum */
    double *bx, *bz, *f, *g, *force, *row, *q, *blocks;
    double *by_signal;                                              /* nv x n_signal */
    double *L, *Eq, *LS, *J, *rows;                                 /* m x nv; J and the matrix's rows on its pattern */
    double *moved;                                                  /* onto the constraints, with multipliers: q, then rates */
  } rosenbrock;
} pl_run_memory;

typedef struct pl_run {
  struct {
    PL_RUN_HEAD
  };
  pl_work *w;
  /* generalized-alpha's averaged acceleration is a + h lead, for any next step h */
  double *lead;
  /* candidate after a step */
  double *q1, *v1, *a1, *multipliers1, *lead1, *work1;
  double t_cap;             /* latest time at which inputs are read inside a step */
  double previous_error;
  /* power dissipated and supplied at the state and at the candidate; after a step the latter, as work1, is the old one */
  double power[2], power1[2];
  double h_last;            /* the step that led to the state */
  double t_floor;           /* earliest time at which inputs are read: just after a jump at the state's time */
  int erases;               /* the step erases vibrations, as memory.vibration.step says */
  int complete;             /* the step has filled a1, multipliers1 and power1 of the candidate */
  int restored;             /* the step has moved the candidate onto the constraints itself */
  long step_factors;        /* number of factorizations of the workspace up to that of the step's matrix */
  double evaluated;         /* the time at which the workspace has evaluated the state, or the candidate, last; or NAN */
  double *a_before, h_before; /* acceleration one step earlier and that step; h_before is 0 after a jump */
  pl_sensitivity *sensitivity; /* null unless parameters are followed */
  pl_tape *tape;            /* null unless the run records */
  int halvings, calm;       /* halvings of a fixed step required by Newton's method, and steps taken since */
  int part;                 /* of such a step that has been taken, in parts of its shortest fraction; 0 where a whole one begins */
  int prediction;           /* predictor of the next step of generalized-alpha */
  pl_secant *secant;        /* null unless the method keeps factors */
  pl_extent extent, extent1; /* of the motion up to the state, and up to the candidate */
  pl_drift drift;
  pl_contact_memory *contact[2]; /* contacts at the beginning of this step, and of the one before; null without shapes */
  int touched;              /* whether the first is filled */
  int euler;                /* generalized-alpha has taken a step of the implicit Euler method instead */
  int kinked;               /* and contacts began, ended, stuck or slid within its last step */
  int colliding;            /* contacts opened or closed in the previous step: in a pile they will in the next one too */
  pl_contact_log log;
  long beginning;           /* w->beginnings when the run last began: whether the workspace has been used otherwise since */
  pl_run_memory memory;
  void *block;              /* holds all arrays */
} pl_run;
_Static_assert(offsetof(pl_run, newton) == offsetof(pl_run_head, newton), "a run begins with its head");

/* Null when there is no memory. */
pl_run *pl_run_new(pl_work *, int method);
void pl_run_free(pl_run *);
int pl_run_start(pl_run *);
int pl_run_advance(pl_run *, long max_steps);
int pl_run_go_to(pl_run *, double t, const double *q, const double *v);
/* Another motion begins with the next pl_run_start, in a state that the caller sets: nothing depends on the steps so far. */
void pl_run_forget(pl_run *);

/* After a jump of inputs: apply prescribed velocities, and recompute accelerations. */
int pl_run_pass_jump(pl_run *);

/* Step functions fill the candidate; *error is the scaled error estimate (accept when <= 1). */
int pl_step_explicit(pl_run *, double h, double *error);
int pl_step_rosenbrock(pl_run *, double h, double *error);
int pl_step_generalized_alpha(pl_run *, double h, double *error);
int pl_step_semi_implicit(pl_run *, double h, double *error);
int pl_step_symplectic_euler(pl_run *, double h, double *error);
/* Of generalized-alpha, B(x) - 1 of the increment reached, in its `blocks`. */
void pl_alpha_turns(pl_run *);
/* Of generalized-alpha, the candidate for the increment in its memory, which leads to rates v and accelerations a. */
int pl_alpha_end(pl_run *, double t, const double *v, const double *a);
/* Of Rosenbrock's, S / s - 1 of a step from the state. */
void pl_rosenbrock_turns(pl_run *, double h);
/* Moves (q, v) onto the constraints and their rates by the matrix of the step, in whose metric stiff parts keep their forces; in that
 * of the mass the error of a step would deform them. Returns whether it did so to the tolerance; the other projects the rest. */
int pl_rosenbrock_restore(pl_run *, double t, double h, double *q, double *v);
/* The same for a state within the step, completely. */
int pl_rosenbrock_project(pl_run *, double t, double h, double *q, double *v);

/* secant.c */
pl_secant *pl_secant_new(const pl_tables *);
void pl_secant_free(pl_secant *);
/* The matrix of w was factorized again, for a step of this scale. */
void pl_secant_restart(pl_secant *, pl_work *w, double scale);
/* Do not reuse the factors in another step. */
void pl_secant_forget(pl_secant *);
/* At the beginning of a step: whether its factors are still there and nearly those of this scale. */
int pl_secant_serves(pl_secant *, const pl_work *w, double scale, double tolerance);
/* Reuse the factors in the state evaluated last. */
void pl_secant_turn(pl_secant *, const pl_work *w);
/* Solve with the factors, rotated with the free nodes. */
void pl_secant_solve(const pl_secant *, pl_work *w, double *x);
/* Store an iteration; convert the solution x with the factors to that with the updated matrix. */
void pl_secant_add(pl_secant *, const double *step);
void pl_secant_improve(const pl_secant *, double *x);
/* Rotate displacements of free nodes with their rotation since the factorization, or back. */
void pl_secant_displace(const pl_secant *, const pl_tables *, int back, double *x);

/* run_contacts.c: all do nothing without shapes */
int pl_run_contacts_new(pl_run *);
void pl_run_contacts_free(pl_run *);
/* Another state without memory is about to be set. */
void pl_run_forget_contacts(pl_run *);
/* Activate the run's own memory of contacts. */
void pl_run_use_contacts(pl_run *);
/* The evaluated state is the beginning of the next step; there are no previous steps. */
int pl_run_begin_contacts(pl_run *);
/* Whether surfaces have passed through each other on the way to the candidate at time t. */
int pl_run_passed(pl_run *, double t);
/* Whether the contacts evaluated last differ from those at the beginning of the step. */
int pl_run_contacts_changed(const pl_run *);
/* Whether some of them have changed between sticking and sliding. */
int pl_run_contacts_slip(const pl_run *);
/* Whether there are so many that some begin or end in nearly every step. */
int pl_run_crowded(const pl_run *);
/* The largest speed at which surfaces that meet within the step will part again, or have parted [m/s]. */
double pl_run_impact(const pl_run *);
/* Energy that springs of friction have lost in the step to the candidate at time t because their surfaces slid or came apart. While
 * they slide, all work of friction counts as dissipated; what the springs have gained or lost meanwhile was not. */
double pl_run_slip_loss(pl_run *, double t);
/* The candidate at time t is about to be accepted. */
int pl_run_commit_contacts(pl_run *, double t);
/* Contacts in the state, as many as there is room for; returns how many there are. */
int pl_run_contacts_now(pl_run *, int capacity, double *out);
/* Contacts at a sample. */
int pl_run_log_contacts(pl_run *, int sample, double t, const double *q, const double *v);

/* run_state.c */
/* The run between two steps as bytes, which `pl_run_restore_state` takes in any run of the same robot and method; it rejects
 * bytes of another size, with a status other than PL_OK. */
size_t pl_run_state_bytes(const pl_run *);
void pl_run_save_state(const pl_run *, void *bytes);
int pl_run_restore_state(pl_run *, const void *bytes, size_t size);

/* Relative difference below which times are equal: sixteen units in the last place. */
#define PL_INSTANT 3.6e-15

/* signal_error.c */
/* Finds the largest values of signals by a few times of the run: those at its start may be round-off, as 1 - cos(x) of a small x. */
void pl_signal_range(pl_run *);
/* Deviation of signals within the step from the interpolation of its ends, relative to the tolerance (accept when <= 1). Of fixed
 * steps it is 0, and `missed` contains what they have missed. The signals of the workspace are those of the state afterwards. */
double pl_signal_error(pl_run *, double h);
/* Round-off of the signals at t, and of their rates and accelerations over a step, as a bound; the signals of the workspace are
 * those at t afterwards. */
void pl_signal_round_off(pl_run *, double t, double *out);

/* motion_error.c */
/* Weight of errors of rates in implicit methods: fast vibrations have large rates with little energy. */
#define PL_RATES_COUNT 0.1
/* Minimum size of the motion for relative errors, relative to the robot's size and in rad. */
#define PL_SMALLEST 1e-5
/* The motion begins in the configuration evaluated last. */
void pl_extent_begin(pl_run *);
/* World twists of all nodes for the rates x, in the configuration evaluated last. */
void pl_twists(const pl_work *, const double *x, double *V);
/* Rates of displacement and of rotation of a node in the twists V. */
void pl_node_rates(const pl_work *, const double *V, int node, double *moving, double *turning);
/* Largest rate of displacement [m/s] and of turning [rad/s] of any frame for the rates x (nv), in the configuration evaluated last. */
void pl_largest_motion(pl_run *, const double *x, double *moving, double *turning);
/* Error of a step relative to the tolerances (accept when <= 1), for errors of its increment (nv) and of its rates (nv). The
 * workspace has evaluated the candidate, or a state next to it, last. */
double pl_motion_error(pl_run *, double h, const double *increment, const double *rates);

/* energy_drift.c: all do nothing for fixed steps and with contacts */
void pl_drift_begin(pl_run *);
/* The state was set, or forces have jumped: the balance continues from the next step. */
void pl_drift_interrupt(pl_run *);
/* The workspace has evaluated the candidate, whose work is known. */
void pl_drift_measure(pl_run *);
/* The candidate is the state now. */
void pl_drift_accept(pl_run *);

/* vibration.c */
/* No vibrations were lost so far. */
void pl_vibration_begin(pl_run *);
/* The matrix [mass M + damping C + stiffness K, -J'; rows, 0] that was factorized last; rows: null for J. */
typedef struct pl_step_factors {
  double mass, damping, stiffness;
  const double *rows;
} pl_step_factors;
/* Account of the vibrations that a step of an implicit method erases because it is too long for them. */
void pl_vibration_step(pl_run *, double h, const pl_step_factors *);
/* The step is accepted. */
void pl_vibration_accept(pl_run *);

/* parameter_change.c */
/* What a function of the equations gives, n numbers in `out`. */
typedef void (*pl_parameter_function)(pl_work *, void *given, double *out);
/* How it changes with a parameter, per unit of it. constants, parameters: how those of the binding change with it; step: by how much
 * it is raised; scratch: as many numbers as pl_parameter_change_size tells. */
void pl_parameter_change(pl_work *, const double *constants, const double *parameters, double step, int n, pl_parameter_function,
                         void *given, double *scratch, double *out);
size_t pl_parameter_change_size(const pl_tables *, int n);

/* sensitivity.c */
int pl_run_follow(pl_run *, int n, const double *constants, const double *parameters, const double *step, double *X,
                  double *V, double *sample_X, double *sample_V);
void pl_run_unfollow(pl_run *);
int pl_sensitivity_step(pl_run *, double h);

/* interpolate.c */
/* v (and, unless null, a) of the quaternion Q that moves with D and DD and need not have unit length. */
void pl_rotation_rates(const double *Q, const double *D, const double *DD, double *o, double *o_dot);
/* Whether a polynomial through both ends of the step represents the motion in between. */
int pl_step_is_smooth(pl_run *, double h);
/* Quintic Hermite interpolation at fraction x of the step from the state to the candidate; `a` may be null. */
void pl_interpolate(const pl_run *, double h, double x, double *q, double *v, double *a);
/* Energies at fraction x of a step, from both ends' energies and powers. */
void pl_interpolate_work(const double *work0, const double *work1, const double *power0, const double *power1, double h,
                         double x, double *work);
/* Samples within the step of size h to the candidate, those at its end only when requested. */
int pl_sample_step(pl_run *, double h, int with_end);
/* Samples at the state's own time. */
void pl_sample_state(pl_run *);

/* The time to read inputs at: t, but on this side of jumps at both ends of the step. */
double pl_time(const pl_run *, double t);
/* PL_NOT_FINITE, and the index, if a rate or acceleration is not finite. */
int pl_check_finite(pl_run *, const double *v);
/* Rates of dissipated and supplied energy in the state evaluated last. */
void pl_power_here(const pl_run *, const double *lambda, double *out);
/* The same in any state. */
void pl_power(pl_run *, double t, const double *q, const double *v, const double *lambda, double *out);
/* y = B(x) v: rate of the increment coordinates x, the inverse of exp's tangent on rotations. */
void pl_increment_rate(const pl_tables *, const double *x, const double *v, double *y);
/* y = X x for values X on the system's pattern. */
void pl_multiply(const pl_tables *, const double *X, const double *x, double *y);

#endif
