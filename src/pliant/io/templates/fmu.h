/* What both versions of FMI are made of: the robot as variables with numbers (value references), and its simulation. */
#ifndef ROBOT_FMU_H
#define ROBOT_FMU_H

#include "@name@.h"

/* Variables: the time, then parameters, inputs, outputs, positions, rates, and the time derivatives of positions and rates. */
enum {
  FMU_TIME = 0,
  FMU_PARAMETERS = 1,
  FMU_INPUTS = FMU_PARAMETERS + ROBOT_PARAMETERS,
  FMU_OUTPUTS = FMU_INPUTS + ROBOT_INPUTS,
  FMU_POSITIONS = FMU_OUTPUTS + ROBOT_OUTPUTS,
  FMU_RATES = FMU_POSITIONS + ROBOT_POSITIONS,
  FMU_POSITION_RATES = FMU_RATES + ROBOT_RATES,
  FMU_ACCELERATIONS = FMU_POSITION_RATES + ROBOT_POSITIONS,
  FMU_VARIABLES = FMU_ACCELERATIONS + ROBOT_RATES,
  FMU_STATES = ROBOT_POSITIONS + ROBOT_RATES
};

extern const char *const robot_token;
/* Whether accelerations follow from state, inputs and parameters alone, so that others can integrate the robot. */
extern const int robot_model_exchange;
/* Changes of the states that turn a part of the robot by a radian or move it by the robot's size; of rates per second. */
extern const double robot_nominals[];

typedef enum { FMU_INSTANTIATED, FMU_INITIALIZING, FMU_EVENT, FMU_CONTINUOUS, FMU_STEPPING, FMU_TERMINATED } robot_fmu_mode;

typedef struct robot_fmu {
  robot_robot *robot;
  int exchange; /* the importer integrates, rather than robot_step */
  robot_fmu_mode mode;
  double t, next_event;
  double state[FMU_STATES + 1]; /* positions, then rates */
  int start_is_set[FMU_STATES + 1];
  int moved[ROBOT_INPUTS + 1]; /* inputs of prescribed motions that the next step leads to `target` */
  double target[ROBOT_INPUTS + 1];
  int derivatives_known, outputs_known;
  double derivatives[FMU_STATES + 1], outputs[ROBOT_OUTPUTS + 1];
} robot_fmu;

/* All functions return a status of @name@.h. */
robot_fmu *robot_fmu_new(int exchange);
void robot_fmu_free(robot_fmu *);
int robot_fmu_reset(robot_fmu *);
/* From the parameters, inputs and states that are set, the start at a time [s]. */
int robot_fmu_initialize(robot_fmu *);
int robot_fmu_get(robot_fmu *, unsigned variable, double *value);
int robot_fmu_set(robot_fmu *, unsigned variable, double value);
int robot_fmu_set_time(robot_fmu *, double t);
int robot_fmu_set_states(robot_fmu *, const double *x);
int robot_fmu_derivatives(robot_fmu *, double *out);
/* Whether integration has moved the state off constraints or quaternions off unit length; and back onto them. */
int robot_fmu_has_drifted(robot_fmu *, int *drifted);
int robot_fmu_handle_event(robot_fmu *, int *states_changed);
/* On to a later time [s], in equal steps of at most the exported one. */
int robot_fmu_step(robot_fmu *, double end);
/* sensitivity = d(unknowns)/d(knowns) seed, by central differences. */
int robot_fmu_directional(robot_fmu *, const unsigned *unknowns, int n_unknowns, const unsigned *knowns, int n_knowns,
                          const double *seed, double *sensitivity);
size_t robot_fmu_state_bytes(const robot_fmu *);
void robot_fmu_save(const robot_fmu *, void *bytes);
int robot_fmu_restore(robot_fmu *, const void *bytes, size_t size);

#endif
