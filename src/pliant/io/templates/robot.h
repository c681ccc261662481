/* @title@: equations of motion and a simulation with a fixed step.
 *
 * Written by Pliant @version@. Plain C11. All numbers are in SI units and radians; matrices are column-major.
 * Positions q and rates v are arrays in the order of ROBOT_Q_... and ROBOT_V_...; a free rotation is a unit quaternion
 * (w, x, y, z) in q and an angular velocity in body axes in v, so q may be longer than v.
 *
 * Memory is taken in robot_new alone, and by robots with contacts where more things touch than ever before. One robot_robot may be used by one thread at a time; several are independent.
 */
#ifndef ROBOT_H
#define ROBOT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

@enums@
/* Frames that can be pushed at a time. */
enum { ROBOT_PUSHES = 16 };

/* What functions return: ROBOT_OK, or what went wrong. robot_message gives a sentence. */
enum {
@statuses@
  ROBOT_BAD_ARGUMENT = 100
};

/* The step [s] and the method this robot was exported with. */
extern const double robot_default_step;
extern const char *const robot_method;

/* Names as in the model, in the order of the enumerations, each list ended by a null pointer. */
extern const char *const robot_q_names[];
extern const char *const robot_v_names[];
extern const char *const robot_parameter_names[];
extern const char *const robot_input_names[];
extern const char *const robot_frame_names[];
extern const char *const robot_constraint_names[];
extern const char *const robot_output_names[];

typedef struct robot_robot robot_robot;

/* A robot with the model's parameters and inputs, at its start; a null pointer when there is no memory. */
robot_robot *robot_new(void);
void robot_free(robot_robot *);

const char *robot_message(int status);
/* Index of a name in one of the lists above, or -1. */
int robot_find(const char *const *names, const char *name);

/* ---- Parameters and inputs: both take effect with the next call ------------------------------------------------- */

int robot_set_parameter(robot_robot *, int parameter, double value);
double robot_parameter(const robot_robot *, int parameter);
/* Holds an input at a value, until it is set again or released. */
int robot_set_input(robot_robot *, int input, double value);
/* Leads an input that prescribes a position or a rate to a value within a duration > 0 [s], smoothly from where it is: a position
 * cannot jump, and robot_step returns ROBOT_POSITION_JUMPS where one was set to another value. To be called at every sample of
 * a controller with its sample time; without another call the input comes to rest after the duration once more. Other inputs
 * are set at once. */
int robot_move_input(robot_robot *, int input, double value, double duration);
/* The value that an input has at a time [s]. */
double robot_input(robot_robot *, int input, double t);
/* Whether an input prescribes a position or a rate, so that it cannot jump: see robot_move_input. */
int robot_input_is_motion(int input);
/* Gives an input back to what the model says: an expression of time, a recorded series, or its own value. */
int robot_release_input(robot_robot *, int input);
/* Pushes a frame's origin with a force [N] and a moment [N*m] in world axes, beside all forces of the model, until it is set again;
 * null for none. Up to ROBOT_PUSHES frames at a time. They act in the simulation and in the equations below. */
int robot_set_push(robot_robot *, int frame, const double *force, const double *moment);

/* ---- Equations: functions of the time t [s] and the state (q, v), apart from the simulation ---------------------- *
 * Only where the model prescribes a rate or an acceleration do they take the position it has led to from the simulation, and
 * friction of contacts what it has led to: in the simulation's own state they give the forces of its last step. */

/* Accelerations a [ROBOT_RATES]; constraint multipliers [ROBOT_CONSTRAINTS] unless `multipliers` is null. */
int robot_forward_dynamics(robot_robot *, double t, const double *q, const double *v, double *a, double *multipliers);
/* Time derivatives of the positions [ROBOT_POSITIONS]: the rates, but for quaternions. */
int robot_position_rates(robot_robot *, const double *q, const double *v, double *q_dot);
/* force = M a + h [ROBOT_RATES]: what the motion needs beside all forces of the model (constraints not included). */
int robot_inverse_dynamics(robot_robot *, double t, const double *q, const double *v, const double *a, double *force);
/* M, ROBOT_RATES x ROBOT_RATES. */
int robot_mass_matrix(robot_robot *, const double *q, double *M);
/* Values and rates of the constraints [ROBOT_CONSTRAINTS], zero when they hold, and their Jacobian
 * (ROBOT_CONSTRAINTS x ROBOT_RATES); any of the three may be null. */
int robot_constraints(robot_robot *, double t, const double *q, const double *v, double *value, double *rate,
                      double *jacobian);
/* Largest error of the positions: of constraints, relative to 1 rad for angles and to the extent of the robot for lengths, and of
 * the length of quaternions. */
double robot_drift(robot_robot *, double t, const double *q);
/* Position [m] and unit quaternion (w, x, y, z) of a frame in the world. */
int robot_frame_pose(robot_robot *, const double *q, int frame, double position[3], double quaternion[4]);
/* Velocity [m/s] of a frame's origin and angular velocity [rad/s] of the frame, in world axes. */
int robot_frame_velocity(robot_robot *, const double *q, const double *v, int frame, double velocity[3],
                         double angular_velocity[3]);
/* J, 6 x ROBOT_RATES: (velocity, angular velocity) as above = J v. */
int robot_frame_jacobian(robot_robot *, const double *q, int frame, double *J);
/* Kinetic and potential energy [J]. */
int robot_energy(robot_robot *, double t, const double *q, const double *v, double *kinetic, double *potential);
/* The model's outputs [ROBOT_OUTPUTS] in the order of ROBOT_OUTPUT_..., with the accelerations and constraint forces of the free
 * motion from this state. Dissipated energy, which is counted along a motion, is not among them. */
int robot_outputs(robot_robot *, double t, const double *q, const double *v, double *values);

/* ---- Simulation -------------------------------------------------------------------------------------------------- */

/* Back to t = 0 and the model's start at the present parameters, moved onto the constraints. */
int robot_initial_state(robot_robot *);
/* Continue from another state; quaternions are normalized, constraints are not touched (see robot_project). What contacts
 * remember is forgotten: friction builds up again. */
int robot_set_state(robot_robot *, double t, const double *q, const double *v);
/* Moves the state to the nearest one that satisfies the constraints. */
int robot_project(robot_robot *);
/* One step of dt > 0 [s]; where inputs of the model jump within it, it is divided there, and where the iterations of an
 * implicit method do not converge, it is done in halves. On failure the state is the last good one, which robot_time
 * tells. */
int robot_step(robot_robot *, double dt);

/* What the steps themselves have lost (below zero: gained) of the energy since the state was set, and the most that kinetic, potential,
 * dissipated or supplied energy have changed by, as far as this function has seen [J]: a missing share of some percent says that
 * the step is too long for the method. Energy that springs store at once when you set an input or a parameter counts as gained. */
int robot_energy_balance(robot_robot *, double *missing, double *exchanged);

/* The first time after t [s] at which an input of the model jumps or bends; infinite without one. */
double robot_next_jump(robot_robot *, double t);

/* The simulation between two steps as bytes: time, state, inputs, parameters, and what contacts and the method remember. The same
 * robot takes them back, in this process or another one on a machine like this: what follows is the same to the tolerance of
 * iterations. robot_restore_state returns ROBOT_BAD_ARGUMENT, and changes nothing, if the bytes are not a state of this robot. */
size_t robot_state_bytes(const robot_robot *);
void robot_save_state(const robot_robot *, void *bytes);
int robot_restore_state(robot_robot *, const void *bytes, size_t size);

/* The state reached: time [s], positions, rates, constraint multipliers. The pointers hold until the next step. */
double robot_time(const robot_robot *);
const double *robot_q(const robot_robot *);
const double *robot_v(const robot_robot *);
const double *robot_multipliers(const robot_robot *);

#ifdef __cplusplus
}
#endif

#endif
