/* What @name@.c needs of the generated equations. */
#ifndef ROBOT_EQUATIONS_H
#define ROBOT_EQUATIONS_H

#include "runtime/contact.h"
#include "runtime/integrate.h"

/* ROBOT_FOLLOWED: positions that prescribed rates and accelerations lead to, inputs after the named ones. ROBOT_MOVED: inputs
 * that prescribe positions or rates. ROBOT_OWN_TIMES: times of all series, when a robot needs its own copy of them. */
enum {
  ROBOT_ALL_CONSTANTS = @constants@,
  ROBOT_SYMBOLIC_CONSTANTS = @symbolic@,
  ROBOT_SWITCHES = @switches@,
  ROBOT_METHOD = @method_number@,
  ROBOT_FOLLOWED = @followed@,
  ROBOT_CARRYING = @carrying@, /* nodes whose carried wrenches the outputs need */
  ROBOT_QUESTIONS = @questions@, /* what the outputs ask of contacts, as in pl_contact_sums */
  ROBOT_MOVED = @moved@,
  ROBOT_SIGNALS = @signals@,
  ROBOT_DRIVEN = @driven@,   /* coordinates that follow motions */
  ROBOT_CARRIED = @carried@, /* nodes with their own poses that move with another node before the first step */
  ROBOT_OWN_TIMES = @own_times@
};

/* Identifies the sources of this robot. */
extern const char *const robot_signature;
extern const pl_tables robot_tables;
/* The model's own constants, parameters and inputs, and the active constraint rows. Constants that depend on parameters
 * stand at robot_symbolic_at. */
extern const pl_binding robot_binding;
extern const int robot_symbolic_at[];
/* Positions and rates that satisfy the constraints at the model's own parameters. */
extern const double robot_assembled_q[], robot_assembled_v[];
/* Whether all positions and rates that the model gives are as given there. */
extern const int robot_keeps_positions, robot_keeps_rates;
/* Whether a recorded series jumps or bends at its times, so that steps have to end there. */
extern const int robot_series_bends[];
/* The signal that is the rate (order 1) or the acceleration (2) of a followed position, and its constraint row. */
extern const int robot_followed_signal[], robot_followed_order[], robot_followed_row[];
/* The inputs that prescribe positions or rates, and the series that each is moved along. */
extern const int robot_moved_input[], robot_moved_series[];
/* Coordinates that follow motions: indices in q and v, their signals, and the constants added to these. */
extern const int robot_driven_q[], robot_driven_v[], robot_driven_signal[], robot_driven_constant[];
/* Carried nodes, after their carriers if those are carried too: their motions (of enum carried_motion), the indices of their
 * coordinates, rates and placements, and positions and rates that the model specifies. */
extern const int robot_carried_node[], robot_carried_by[], robot_carried_level[], robot_carried_motion[], robot_carried_q[], robot_carried_v[];
extern const int robot_carried_constants[], robot_specified_q[], robot_specified_v[];
/* Sets of coordinates that are held while loops are closed, each ROBOT_RATES, to be tried in this order: for positions and rates;
 * whether the rods and meshes in a set keep their shapes. */
extern const int robot_position_sets, robot_rate_sets;
extern const int robot_position_holds[], robot_rate_holds[], robot_keeps_shapes[];
extern const int robot_frame_node[];
extern const int robot_frame_constants[];
extern const int robot_carrying[];
extern const int robot_question_law[], robot_question_side[], robot_question_gap[];
/* Coefficients of generalized-alpha and Newmark. */
extern const double robot_alpha_m, robot_alpha_f, robot_beta, robot_gamma;
/* Bounds on the entries of the factors of the system matrix, whatever the pivots. */
extern const int robot_lower_entries, robot_upper_entries;

/* Functions of the parameters: constants at robot_symbolic_at; q and v at the start; values of inputs that nothing else
 * determines; times at which inputs may jump. Called with (arg, res, iw, w, mem). */
int robot_evaluate_constants(const double **, double **, long long *, double *, int);
int robot_evaluate_start(const double **, double **, long long *, double *, int);
int robot_evaluate_inputs(const double **, double **, long long *, double *, int);
int robot_evaluate_switches(const double **, double **, long long *, double *, int);
/* Outputs from q, v, a, multipliers, constants, signals, their rates, carried wrenches, energies and sums of contacts. */
int robot_evaluate_outputs(const double **, double **, long long *, double *, int);

#endif
