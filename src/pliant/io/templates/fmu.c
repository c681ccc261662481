/* The functions of @name@_fmu.h. */
#include "@name@_fmu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRIFT 1e-9       /* of constraints, relative to their sizes, and of quaternions' length, above which the state is projected */
#define DIFFERENCE 1e-6  /* in directional derivatives, relative to a variable and, of states, to its nominal value */

const char *const robot_token = "@token@";
const int robot_model_exchange = @exchange@;
const double robot_nominals[] = {@nominals@};

static int forget(robot_fmu *f, int status) {
  f->derivatives_known = f->outputs_known = 0;
  return status;
}

/* Both kinds show the same state: the importer's, or that of the simulation. */
static void read_state(robot_fmu *f) {
  f->t = robot_time(f->robot);
  memcpy(f->state, robot_q(f->robot), ROBOT_POSITIONS * sizeof(double));
  memcpy(f->state + ROBOT_POSITIONS, robot_v(f->robot), ROBOT_RATES * sizeof(double));
  forget(f, ROBOT_OK);
}

/* Inputs are read before a jump that is still to come: integrators require it at the very time of the event. */
static double reading_time(const robot_fmu *f) {
  if (f->mode != FMU_CONTINUOUS || f->t < f->next_event) return f->t;
  return f->next_event - 1e-12 * (1 + fabs(f->next_event));
}

static int evaluate_derivatives(robot_fmu *f) {
  if (f->derivatives_known) return ROBOT_OK;
  const double *q = f->state, *v = f->state + ROBOT_POSITIONS;
  int status = robot_position_rates(f->robot, q, v, f->derivatives);
  if (!status) status = robot_forward_dynamics(f->robot, reading_time(f), q, v, f->derivatives + ROBOT_POSITIONS, NULL);
  f->derivatives_known = !status;
  return status;
}

static int evaluate_outputs(robot_fmu *f) {
  if (f->outputs_known) return ROBOT_OK;
  const int status = robot_outputs(f->robot, reading_time(f), f->state, f->state + ROBOT_POSITIONS, f->outputs);
  f->outputs_known = !status;
  return status;
}

robot_fmu *robot_fmu_new(int exchange) {
  robot_fmu *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->exchange = exchange;
  if (robot_fmu_reset(f)) {
    robot_fmu_free(f);
    return NULL;
  }
  return f;
}

void robot_fmu_free(robot_fmu *f) {
  if (!f) return;
  robot_free(f->robot);
  free(f);
}

int robot_fmu_reset(robot_fmu *f) {
  robot_robot *fresh = robot_new();
  if (!fresh) return ROBOT_OUT_OF_MEMORY;
  const int exchange = f->exchange;
  robot_free(f->robot);
  memset(f, 0, sizeof *f);
  f->robot = fresh, f->exchange = exchange, f->next_event = INFINITY;
  read_state(f);
  return ROBOT_OK;
}

int robot_fmu_initialize(robot_fmu *f) {
  const double t = f->t;
  double given[FMU_STATES + 1];
  memcpy(given, f->state, sizeof given);
  int status = robot_initial_state(f->robot), any = t != 0;
  if (status) return status;
  read_state(f);
  for (int i = 0; i < FMU_STATES; ++i)
    if (f->start_is_set[i]) f->state[i] = given[i], any = 1;
  if (any) {
    status = robot_set_state(f->robot, t, f->state, f->state + ROBOT_POSITIONS);
    if (!status) status = robot_project(f->robot);
    if (status) return status;
    read_state(f);
  }
  f->next_event = robot_next_jump(f->robot, t);
  return ROBOT_OK;
}

int robot_fmu_get(robot_fmu *f, unsigned variable, double *value) {
  int status = ROBOT_OK;
  if (variable >= FMU_VARIABLES) return ROBOT_BAD_ARGUMENT;
  if (variable >= FMU_POSITION_RATES) status = evaluate_derivatives(f);
  else if (variable >= FMU_OUTPUTS && variable < FMU_POSITIONS) status = evaluate_outputs(f);
  if (status) return status;
  if (variable == FMU_TIME) *value = f->t;
  else if (variable < FMU_INPUTS) *value = robot_parameter(f->robot, (int)variable - FMU_PARAMETERS);
  else if (variable < FMU_OUTPUTS) {
    const int input = (int)variable - FMU_INPUTS;
    *value = f->moved[input] ? f->target[input] : robot_input(f->robot, input, reading_time(f));
  } else if (variable < FMU_POSITIONS) *value = f->outputs[variable - FMU_OUTPUTS];
  else if (variable < FMU_POSITION_RATES) *value = f->state[variable - FMU_POSITIONS];
  else *value = f->derivatives[variable - FMU_POSITION_RATES];
  return ROBOT_OK;
}

static int set_input(robot_fmu *f, int input, double value) {
  const int starting = f->mode == FMU_INSTANTIATED || f->mode == FMU_INITIALIZING;
  if (f->exchange || starting || !robot_input_is_motion(input)) return robot_set_input(f->robot, input, value);
  if (!isfinite(value)) return ROBOT_BAD_ARGUMENT;
  f->moved[input] = 1, f->target[input] = value;
  return ROBOT_OK;
}

int robot_fmu_set(robot_fmu *f, unsigned variable, double value) {
  if (variable < FMU_PARAMETERS || variable >= FMU_POSITION_RATES) return ROBOT_BAD_ARGUMENT;
  if (variable < FMU_INPUTS) return forget(f, robot_set_parameter(f->robot, (int)variable - FMU_PARAMETERS, value));
  if (variable < FMU_OUTPUTS) return forget(f, set_input(f, (int)variable - FMU_INPUTS, value));
  if (variable < FMU_POSITIONS || !isfinite(value)) return ROBOT_BAD_ARGUMENT;
  if (f->mode != FMU_INSTANTIATED && f->mode != FMU_INITIALIZING && !f->exchange) return ROBOT_BAD_ARGUMENT;
  const int i = (int)variable - FMU_POSITIONS;
  f->state[i] = value, f->start_is_set[i] = 1;
  return forget(f, ROBOT_OK);
}

int robot_fmu_set_time(robot_fmu *f, double t) {
  if (!isfinite(t)) return ROBOT_BAD_ARGUMENT;
  f->t = t;
  return forget(f, ROBOT_OK);
}

int robot_fmu_set_states(robot_fmu *f, const double *x) {
  memcpy(f->state, x, FMU_STATES * sizeof(double));
  return forget(f, ROBOT_OK);
}

int robot_fmu_derivatives(robot_fmu *f, double *out) {
  const int status = evaluate_derivatives(f);
  memcpy(out, f->derivatives, FMU_STATES * sizeof(double));
  return status;
}

int robot_fmu_has_drifted(robot_fmu *f, int *drifted) {
  *drifted = robot_drift(f->robot, reading_time(f), f->state) > DRIFT;
  return ROBOT_OK;
}

int robot_fmu_handle_event(robot_fmu *f, int *states_changed) {
  double before[FMU_STATES + 1];
  memcpy(before, f->state, sizeof before);
  int status = robot_set_state(f->robot, f->t, f->state, f->state + ROBOT_POSITIONS);
  if (!status) status = robot_project(f->robot);
  if (status) return status;
  read_state(f);
  *states_changed = memcmp(before, f->state, FMU_STATES * sizeof(double)) != 0;
  f->next_event = robot_next_jump(f->robot, f->t);
  return ROBOT_OK;
}

int robot_fmu_step(robot_fmu *f, double end) {
  const double begin = f->t, h = end - begin, parts = fmax(1, ceil(h / robot_default_step - 1e-6));
  int status = ROBOT_OK;
  if (!(h > 0 && parts < 1e12)) return ROBOT_BAD_ARGUMENT;
  for (int i = 0; i < ROBOT_INPUTS && !status; ++i)
    if (f->moved[i]) status = robot_move_input(f->robot, i, f->target[i], h), f->moved[i] = 0;
  for (double k = 1; k <= parts && !status; ++k) {
    const double next = k < parts ? begin + h * (k / parts) : end;
    status = robot_step(f->robot, next - robot_time(f->robot));
  }
  read_state(f);
  if (!status) f->next_event = robot_next_jump(f->robot, f->t);
  return status;
}

/* Variables of the importer's list moved by a multiple of the seed. */
static int shift(robot_fmu *f, const unsigned *knowns, int count, const double *seed, const double *values, double by) {
  int status = ROBOT_OK;
  for (int i = 0; i < count && !status; ++i) {
    const double value = values[i] + by * seed[i];
    if (knowns[i] >= FMU_POSITIONS && knowns[i] < FMU_POSITION_RATES) f->state[knowns[i] - FMU_POSITIONS] = value;
    else if (knowns[i] >= FMU_INPUTS && knowns[i] < FMU_OUTPUTS)
      status = robot_set_input(f->robot, (int)knowns[i] - FMU_INPUTS, value);
    else status = robot_fmu_set(f, knowns[i], value);
  }
  return forget(f, status);
}

/* Parameters are as small or large as they are; states and inputs may pass through zero. */
static double scale(unsigned known, double value) {
  if (known < FMU_INPUTS && value != 0) return fabs(value);
  const int is_state = known >= FMU_POSITIONS && known < FMU_POSITION_RATES;
  return fmax(is_state ? robot_nominals[known - FMU_POSITIONS] : 1, fabs(value));
}

static int read_all(robot_fmu *f, const unsigned *variables, int count, double *values) {
  int status = ROBOT_OK;
  for (int i = 0; i < count && !status; ++i) status = robot_fmu_get(f, variables[i], values + i);
  return status;
}

int robot_fmu_directional(robot_fmu *f, const unsigned *unknowns, int n_unknowns, const unsigned *knowns, int n_knowns,
                          const double *seed, double *sensitivity) {
  const size_t bytes = robot_fmu_state_bytes(f);
  double *memory = malloc((size_t)(n_unknowns + n_knowns + 1) * sizeof(double) + bytes);
  if (!memory) return ROBOT_OUT_OF_MEMORY;
  double *values = memory, *ahead = memory + n_knowns, step = INFINITY;
  void *kept = memory + n_knowns + n_unknowns + 1;
  robot_fmu_save(f, kept);
  int status = read_all(f, knowns, n_knowns, values);
  for (int i = 0; i < n_knowns && !status; ++i)
    if (seed[i]) step = fmin(step, DIFFERENCE * scale(knowns[i], values[i]) / fabs(seed[i]));
  if (isinf(step)) memset(sensitivity, 0, n_unknowns * sizeof(double));
  else {
    if (!status) status = shift(f, knowns, n_knowns, seed, values, step);
    if (!status) status = read_all(f, unknowns, n_unknowns, ahead);
    if (!status) status = shift(f, knowns, n_knowns, seed, values, -step);
    if (!status) status = read_all(f, unknowns, n_unknowns, sensitivity);
    for (int i = 0; i < n_unknowns; ++i) sensitivity[i] = (ahead[i] - sensitivity[i]) / (2 * step);
  }
  const int restored = robot_fmu_restore(f, kept, bytes);
  free(memory);
  return status ? status : restored;
}

size_t robot_fmu_state_bytes(const robot_fmu *f) { return sizeof *f + robot_state_bytes(f->robot); }

void robot_fmu_save(const robot_fmu *f, void *bytes) {
  robot_fmu plain = *f;
  plain.robot = NULL;
  memcpy(bytes, &plain, sizeof plain);
  robot_save_state(f->robot, (char *)bytes + sizeof plain);
}

int robot_fmu_restore(robot_fmu *f, const void *bytes, size_t size) {
  if (size < sizeof *f) return ROBOT_BAD_ARGUMENT;
  const int status = robot_restore_state(f->robot, (const char *)bytes + sizeof *f, size - sizeof *f);
  if (status) return status;
  robot_robot *own = f->robot;
  const int exchange = f->exchange;
  memcpy(f, bytes, sizeof *f);
  f->robot = own, f->exchange = exchange;
  return ROBOT_OK;
}
