/* What @name@.c needs of the generated equations. */
#ifndef ROBOT_EQUATIONS_H
#define ROBOT_EQUATIONS_H

#include "runtime/integrate.h"

enum { ROBOT_SYMBOLIC_CONSTANTS = @symbolic@, ROBOT_SWITCHES = @switches@, ROBOT_METHOD = @method_number@ };

extern const pl_tables robot_tables;
/* Constants of all elements; those that depend on parameters stand at robot_symbolic_at. */
extern const double robot_constants[];
extern const int robot_symbolic_at[];
extern const double robot_parameter_values[];
/* Positions that satisfy the constraints at the model's own parameters, and the constraint rows in force. */
extern const double robot_assembled_q[];
extern const int robot_row_active[];
extern const int robot_frame_node[];
extern const int robot_frame_constants[];
extern const double robot_method_options[8];
/* Bounds on the entries of the factors of the system matrix, whatever the pivots. */
extern const int robot_lower_entries, robot_upper_entries;

/* Functions of the parameters: constants at robot_symbolic_at; q and v at the start; values of inputs that nothing else
 * determines; times at which inputs may jump. Called with (arg, res, iw, w, mem). */
int robot_evaluate_constants(const double **, double **, long long *, double *, int);
int robot_evaluate_start(const double **, double **, long long *, double *, int);
int robot_evaluate_inputs(const double **, double **, long long *, double *, int);
int robot_evaluate_switches(const double **, double **, long long *, double *, int);

#endif
