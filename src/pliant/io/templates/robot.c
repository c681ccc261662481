/* The functions of @name@.h on top of the runtime: keeps parameters, inputs and the simulation's state together. */
#include "@name@.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "@name@_equations.h"

#define PROJECTION_TOLERANCE 1e-12
/* kinds of inputs: the caller holds the value; a series gives it */
#define HELD 0
#define SERIES 2
#define LONGEST_STEP 0.5   /* of the iterations that close loops, relative to sizes of coordinates: the nearest solution is wanted */
#define POSE_SIZE 18       /* of a node: rotation, position, twist */
#define POSITION_JUMP 1e-8 /* of constraint values, relative to their sizes */

/* Everything from `stale` on is plain data, which robot_save_state copies. */
struct robot_robot {
  pl_work *work;
  pl_run *run;
  int stale;   /* parameters have changed since the constants were computed */
  int started; /* the run's accelerations belong to its state, inputs and parameters */
  int changed; /* inputs of positions or parameters have changed: constraints may not hold any more */
  int counted; /* energies are counted since the state was set */
  double energies[4], exchanged; /* at that time, as counted_energies gives them, and the most that was exchanged since [J] */
  /* what the equations are evaluated with */
  double constants[ROBOT_ALL_CONSTANTS + 1], parameters[ROBOT_PARAMETERS + 1], held[ROBOT_INPUTS + ROBOT_FOLLOWED + 1];
  int input_kind[ROBOT_INPUTS + ROBOT_FOLLOWED + 1], input_series[ROBOT_INPUTS + ROBOT_FOLLOWED + 1];
  int input_is_set[ROBOT_INPUTS + 1];
  double input_value[ROBOT_INPUTS + 1];
  int switch_count;
  double switches[ROBOT_SWITCHES + 1]; /* times at which expressions of inputs jump or bend */
  double stops[2];                     /* where the step being taken ends, and a time after it */
  double symbolic[ROBOT_SYMBOLIC_CONSTANTS + 1], zero_rates[ROBOT_RATES + 1];
  /* of robot_outputs */
  double accelerations[ROBOT_RATES + 1], forces[ROBOT_CONSTRAINTS + 1], carried[6 * ROBOT_CARRYING + 1];
  double contact_sums[PL_SUM_SIZE * ROBOT_QUESTIONS + 1];
  /* of robot_set_push, and the frames that are pushed */
  int push_count, push_frame[ROBOT_PUSHES];
  pl_push pushes[ROBOT_PUSHES];
  /* recorded series; at the end two times for each position that a prescribed rate or acceleration leads to, then three for
   * each input that prescribes a position or a rate */
  double series_time[ROBOT_OWN_TIMES + 1], series_poly[PL_SERIES_TERMS * ROBOT_OWN_TIMES + 1];
  /* of robot_initial_state */
  double start_q[ROBOT_POSITIONS + 1], start_step[ROBOT_RATES + ROBOT_CONSTRAINTS + 1], start_v[ROBOT_RATES + 1];
  double start_sizes[ROBOT_RATES + 1], start_row_sizes[ROBOT_CONSTRAINTS + 1];
  double signal_rates[2 * ROBOT_SIGNALS + 1], carried_from[2 * POSE_SIZE * ROBOT_CARRIED + 1];
  int start_rows[ROBOT_CONSTRAINTS + 1];
};

/* Evaluate with this robot's own numbers, which start as the model's. */
static void bind(robot_robot *robot) {
  pl_binding binding = robot_binding;
  memcpy(robot->constants, binding.constants, ROBOT_ALL_CONSTANTS * sizeof(double));
  memcpy(robot->parameters, binding.parameters, ROBOT_PARAMETERS * sizeof(double));
  memcpy(robot->input_kind, binding.input_kind, (ROBOT_INPUTS + ROBOT_FOLLOWED) * sizeof(int));
  memcpy(robot->input_series, binding.input_series, (ROBOT_INPUTS + ROBOT_FOLLOWED) * sizeof(int));
  if (ROBOT_OWN_TIMES) {
    memcpy(robot->series_time, binding.series_time, ROBOT_OWN_TIMES * sizeof(double));
    memcpy(robot->series_poly, binding.series_poly, PL_SERIES_TERMS * ROBOT_OWN_TIMES * sizeof(double));
    binding.series_time = robot->series_time, binding.series_poly = robot->series_poly;
  }
  binding.constants = robot->constants, binding.parameters = robot->parameters;
  binding.held = robot->held, binding.input_kind = robot->input_kind, binding.input_series = robot->input_series;
  pl_bind(robot->work, &binding);
  robot->work->pushes = robot->pushes, robot->work->n_push = robot->push_count;
}

robot_robot *robot_new(void) {
  robot_robot *robot = (robot_robot *)calloc(1, sizeof *robot);
  if (!robot) return NULL;
  robot->work = pl_work_new(&robot_tables);
  robot->run = robot->work ? pl_run_new(robot->work, ROBOT_METHOD) : NULL;
  if (!robot->run || pl_work_reserve(robot->work, robot_lower_entries, robot_upper_entries)) {
    robot_free(robot);
    return NULL;
  }
  bind(robot);
  pl_run *r = robot->run;
  r->alpha_m = robot_alpha_m, r->alpha_f = robot_alpha_f, r->beta = robot_beta, r->gamma = robot_gamma;
  r->fixed = 1;
  r->rtol = r->atol = 1; /* for the error estimate, which a fixed step does not use */
  r->projection_tolerance = PROJECTION_TOLERANCE;
  r->stop = robot->stops;
  robot->stale = 1;
  /* a start that cannot be assembled is reported by the caller's own robot_initial_state or robot_step */
  (void)robot_initial_state(robot);
  return robot;
}

void robot_free(robot_robot *robot) {
  if (!robot) return;
  if (robot->run) pl_run_free(robot->run);
  if (robot->work) pl_work_free(robot->work);
  free(robot);
}

const char *robot_message(int status) {
  switch (status) {
@messages@
    case ROBOT_BAD_ARGUMENT: return "an index, a value or a step is outside what is allowed";
    default: return "unknown status";
  }
}

int robot_find(const char *const *names, const char *name) {
  for (int i = 0; names[i]; ++i)
    if (!strcmp(names[i], name)) return i;
  return -1;
}

/* ---- Parameters and inputs --------------------------------------------------------------------------------------- */

int robot_set_parameter(robot_robot *robot, int parameter, double value) {
  if (parameter < 0 || parameter >= ROBOT_PARAMETERS || !isfinite(value)) return ROBOT_BAD_ARGUMENT;
  if (robot->parameters[parameter] != value) robot->stale = 1;
  robot->parameters[parameter] = value;
  return ROBOT_OK;
}

double robot_parameter(const robot_robot *robot, int parameter) {
  return parameter < 0 || parameter >= ROBOT_PARAMETERS ? NAN : robot->parameters[parameter];
}

/* Which of the inputs that prescribe positions this is, or -1. */
static int moved_slot(int input) {
  for (int k = 0; k < ROBOT_MOVED; ++k)
    if (robot_moved_input[k] == input) return k;
  return -1;
}

int robot_set_input(robot_robot *robot, int input, double value) {
  if (input < 0 || input >= ROBOT_INPUTS || !isfinite(value)) return ROBOT_BAD_ARGUMENT;
  const int same = robot->input_is_set[input] && robot->input_kind[input] == HELD && robot->held[input] == value;
  robot->input_kind[input] = HELD, robot->input_is_set[input] = 1, robot->held[input] = value;
  if (!same) robot->started = 0, robot->changed |= moved_slot(input) >= 0;
  return ROBOT_OK;
}

int robot_release_input(robot_robot *robot, int input) {
  if (input < 0 || input >= ROBOT_INPUTS) return ROBOT_BAD_ARGUMENT;
  if (!robot->input_is_set[input]) return ROBOT_OK;
  robot->input_kind[input] = robot_binding.input_kind[input], robot->input_is_set[input] = 0;
  robot->input_series[input] = robot_binding.input_series[input];
  robot->held[input] = robot->input_value[input];
  robot->started = 0, robot->changed |= moved_slot(input) >= 0;
  return ROBOT_OK;
}

int robot_input_is_motion(int input) { return moved_slot(input) >= 0; }

/* Times in increasing order; those that do not exist (0/0) or never come are left out. */
static void sort_switches(robot_robot *robot) {
  int count = 0;
  for (int i = 0; i < ROBOT_SWITCHES; ++i) {
    const double time = robot->switches[i];
    if (!isfinite(time)) continue;
    int at = count++;
    for (; at > 0 && robot->switches[at - 1] > time; --at) robot->switches[at] = robot->switches[at - 1];
    robot->switches[at] = time;
  }
  robot->switch_count = count;
}

/* Pushed frames are where their parameters place them on their nodes. */
static void place_pushes(robot_robot *robot) {
  for (int k = 0; k < robot->push_count; ++k)
    memcpy(robot->pushes[k].point, robot->constants + robot_frame_constants[robot->push_frame[k]] + 9, 3 * sizeof(double));
}

int robot_set_push(robot_robot *robot, int frame, const double *force, const double *moment) {
  if (frame < 0 || frame >= ROBOT_FRAMES) return ROBOT_BAD_ARGUMENT;
  double F[6] = {0};
  for (int i = 0; i < 6; ++i) {
    if (i < 3 ? force : moment) F[i] = i < 3 ? force[i] : moment[i - 3];
    if (!isfinite(F[i])) return ROBOT_BAD_ARGUMENT;
  }
  const int none = !(F[0] || F[1] || F[2] || F[3] || F[4] || F[5]);
  int k = 0;
  while (k < robot->push_count && robot->push_frame[k] != frame) ++k;
  if (none && k == robot->push_count) return ROBOT_OK;
  if (k == ROBOT_PUSHES) return ROBOT_BAD_ARGUMENT;
  pl_push *push = robot->pushes + k;
  if (none) *push = robot->pushes[--robot->push_count], robot->push_frame[k] = robot->push_frame[robot->push_count];
  else {
    push->node = robot_frame_node[frame];
    memcpy(push->force, F, sizeof push->force), memcpy(push->moment, F + 3, sizeof push->moment);
    if (k == robot->push_count) robot->push_frame[robot->push_count++] = frame;
  }
  robot->work->n_push = robot->push_count;
  place_pushes(robot);
  robot->started = 0;
  return ROBOT_OK;
}

/* Everything that follows from the parameters. */
static int update(robot_robot *robot) {
  if (!robot->stale) return ROBOT_OK;
  pl_work *w = robot->work;
  const double *arg[1] = {robot->parameters};
  double *constants[1] = {robot->symbolic}, *inputs[1] = {robot->input_value}, *switches[1] = {robot->switches};
  robot_evaluate_constants(arg, constants, w->kernel_iw, w->kernel_w, 0);
  for (int i = 0; i < ROBOT_SYMBOLIC_CONSTANTS; ++i)
    if (!isfinite(robot->symbolic[i])) return ROBOT_NOT_FINITE;
  for (int i = 0; i < ROBOT_SYMBOLIC_CONSTANTS; ++i) robot->constants[robot_symbolic_at[i]] = robot->symbolic[i];
  place_pushes(robot);
  robot_evaluate_inputs(arg, inputs, w->kernel_iw, w->kernel_w, 0);
  for (int i = 0; i < ROBOT_INPUTS; ++i)
    if (!robot->input_is_set[i]) robot->held[i] = robot->input_value[i];
  robot_evaluate_switches(arg, switches, w->kernel_iw, w->kernel_w, 0);
  sort_switches(robot);
  robot->stale = robot->started = 0, robot->changed = 1;
  return ROBOT_OK;
}

double robot_input(robot_robot *robot, int input, double t) {
  if (input < 0 || input >= ROBOT_INPUTS || update(robot)) return NAN;
  pl_signals(robot->work, t);
  return robot->work->input[input];
}

/* ---- Equations --------------------------------------------------------------------------------------------------- */

int robot_forward_dynamics(robot_robot *robot, double t, const double *q, const double *v, double *a,
                           double *multipliers) {
  int status = update(robot);
  if (!status) status = pl_forward(robot->work, t, q, v, a);
  if (!status && multipliers) memcpy(multipliers, robot->work->lambda, ROBOT_CONSTRAINTS * sizeof(double));
  return status;
}

int robot_position_rates(robot_robot *robot, const double *q, const double *v, double *q_dot) {
  pl_rates(robot->work->T, q, v, q_dot);
  return ROBOT_OK;
}

int robot_inverse_dynamics(robot_robot *robot, double t, const double *q, const double *v, const double *a,
                           double *force) {
  const int status = update(robot);
  return status ? status : pl_inverse(robot->work, t, q, v, a, force);
}

int robot_mass_matrix(robot_robot *robot, const double *q, double *M) {
  const int status = update(robot);
  if (status) return status;
  pl_work *w = robot->work;
  const pl_tables *T = w->T;
  pl_kinematics(w, q, robot->zero_rates);
  memset(w->wrench, 0, 6 * (size_t)T->n_node * sizeof(double));
  pl_mass_matrix(w);
  memset(M, 0, sizeof(double) * ROBOT_RATES * ROBOT_RATES);
  for (int j = 0; j < ROBOT_RATES; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k) M[(size_t)ROBOT_RATES * j + T->row[k]] = w->M[k];
  return ROBOT_OK;
}

int robot_constraints(robot_robot *robot, double t, const double *q, const double *v, double *value, double *rate,
                      double *jacobian) {
  const int status = update(robot);
  if (status) return status;
  pl_work *w = robot->work;
  const pl_tables *T = w->T;
  pl_signals(w, t);
  pl_kinematics(w, q, v);
  pl_constraints(w, q, v);
  if (value) memcpy(value, w->phi, ROBOT_CONSTRAINTS * sizeof(double));
  if (rate) memcpy(rate, w->phi_rate, ROBOT_CONSTRAINTS * sizeof(double));
  if (jacobian) {
    memset(jacobian, 0, sizeof(double) * ROBOT_CONSTRAINTS * ROBOT_RATES);
    for (int n = 0; n < T->nnz_j; ++n) jacobian[(size_t)ROBOT_CONSTRAINTS * T->j_col[n] + T->j_row[n]] += w->Jval[n];
  }
  return ROBOT_OK;
}

double robot_drift(robot_robot *robot, double t, const double *q) {
  if (update(robot)) return INFINITY;
  pl_work *w = robot->work;
  double largest = 0;
  memcpy(w->q_new, q, ROBOT_POSITIONS * sizeof(double));
  pl_normalize(w->T, w->q_new);
  for (int i = 0; i < ROBOT_POSITIONS; ++i) largest = fmax(largest, fabs(w->q_new[i] - q[i]));
  pl_signals(w, t);
  pl_kinematics(w, q, robot->zero_rates);
  pl_constraints(w, q, robot->zero_rates);
  return fmax(largest, pl_constraint_gap(w));
}

/* y = R x + p, or R x without p; R is column-major */
static void transform(const double *R, const double *p, const double *x, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = (p ? p[i] : 0) + R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

static void matrix_quaternion(const double *R, double *Q) {
  const double trace = R[0] + R[4] + R[8];
  int largest = 0; /* 0: w, 1..3: x, y, z */
  double most = trace;
  for (int i = 0; i < 3; ++i)
    if (R[4 * i] > most) most = R[4 * i], largest = i + 1;
  if (!largest) {
    Q[0] = 1 + trace;
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      Q[1 + i] = R[3 * j + k] - R[3 * k + j];
    }
  } else {
    const int i = largest - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    Q[0] = R[3 * j + k] - R[3 * k + j];
    Q[1 + i] = 1 + R[4 * i] - R[4 * j] - R[4 * k];
    Q[1 + j] = R[3 * j + i] + R[3 * i + j];
    Q[1 + k] = R[3 * k + i] + R[3 * i + k];
  }
  const double norm = sqrt(Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]);
  const double scale = (Q[0] < 0 ? -1 : 1) / norm;
  for (int i = 0; i < 4; ++i) Q[i] *= scale;
}

/* Kinematics in a state; the frame's node, and the world position of its origin. */
static int locate(robot_robot *robot, const double *q, const double *v, int frame, int *node, double *position) {
  if (frame < 0 || frame >= ROBOT_FRAMES) return ROBOT_BAD_ARGUMENT;
  const int status = update(robot);
  if (status) return status;
  const pl_work *w = robot->work;
  pl_kinematics(robot->work, q, v);
  *node = robot_frame_node[frame];
  transform(w->R + 9 * *node, w->p + 3 * *node, w->theta + robot_frame_constants[frame] + 9, position);
  return ROBOT_OK;
}

int robot_frame_pose(robot_robot *robot, const double *q, int frame, double position[3], double quaternion[4]) {
  int node;
  double R[9];
  const int status = locate(robot, q, robot->zero_rates, frame, &node, position);
  if (status) return status;
  const double *placement = robot->work->theta + robot_frame_constants[frame];
  for (int j = 0; j < 3; ++j) transform(robot->work->R + 9 * node, NULL, placement + 3 * j, R + 3 * j);
  matrix_quaternion(R, quaternion);
  return ROBOT_OK;
}

/* Velocity of the point p and angular velocity, of a twist at the world's origin. */
static void twist_at(const double *twist, const double *p, double *velocity, double *angular_velocity) {
  const double *w = twist + 3;
  velocity[0] = twist[0] + w[1] * p[2] - w[2] * p[1];
  velocity[1] = twist[1] + w[2] * p[0] - w[0] * p[2];
  velocity[2] = twist[2] + w[0] * p[1] - w[1] * p[0];
  memcpy(angular_velocity, w, 3 * sizeof(double));
}

int robot_frame_velocity(robot_robot *robot, const double *q, const double *v, int frame, double velocity[3],
                         double angular_velocity[3]) {
  int node;
  double position[3];
  const int status = locate(robot, q, v, frame, &node, position);
  if (!status) twist_at(robot->work->V + 6 * node, position, velocity, angular_velocity);
  return status;
}

int robot_frame_jacobian(robot_robot *robot, const double *q, int frame, double *J) {
  int node;
  double position[3];
  const int status = locate(robot, q, robot->zero_rates, frame, &node, position);
  if (status) return status;
  const pl_tables *T = robot->work->T;
  memset(J, 0, sizeof(double) * 6 * ROBOT_RATES);
  while (node) {
    const int element = T->node_elem[node];
    for (int j = 0; j < T->elem_k[element]; ++j) {
      double *column = J + 6 * (T->elem_v[element] + j);
      twist_at(robot->work->S + T->node_s[node] + 6 * j, position, column, column + 3);
    }
    node = T->elem_base[element];
  }
  return ROBOT_OK;
}

int robot_energy(robot_robot *robot, double t, const double *q, const double *v, double *kinetic, double *potential) {
  double out[5];
  const int status = update(robot);
  if (status) return status;
  pl_energies(robot->work, t, q, v, out);
  *kinetic = out[0], *potential = out[1];
  return ROBOT_OK;
}

int robot_outputs(robot_robot *robot, double t, const double *q, const double *v, double *values) {
  double energies[5];
  const int status = robot_forward_dynamics(robot, t, q, v, robot->accelerations, robot->forces);
  if (status) return status;
  pl_work *w = robot->work;
  pl_energies(w, t, q, v, energies);
  energies[2] = 0;
  pl_carried(w, t, q, v, robot->accelerations, robot->forces, ROBOT_CARRYING, robot_carrying, robot->carried);
  if (ROBOT_QUESTIONS) {
    pl_evaluate(w, t, q, v);
    pl_contact_sums(w, q, ROBOT_QUESTIONS, robot_question_law, robot_question_side, robot_question_gap, robot->contact_sums);
  }
  const double *arg[10] = {q,         v,           robot->accelerations, robot->forces, robot->constants,
                           w->signal, w->signal_rate, robot->carried,     energies,      robot->contact_sums};
  double *res[1] = {values};
  robot_evaluate_outputs(arg, res, w->kernel_iw, w->kernel_w, 0);
  return ROBOT_OK;
}

/* ---- Simulation -------------------------------------------------------------------------------------------------- */

/* Where in the series the two times of followed position k stand, and the three of position input k. */
static int followed_at(int k) { return ROBOT_OWN_TIMES - 3 * ROBOT_MOVED - 2 * (ROBOT_FOLLOWED - k); }
static int moved_at(int k) { return ROBOT_OWN_TIMES - 3 * (ROBOT_MOVED - k); }

/* Sets followed position k from t to stop: x and its rate at t, and an acceleration (or the rate itself) that is g0, gm and g1 at
 * t, half way and at the stop, and a parabola in between. */
static void set_followed(robot_robot *robot, int k, double t, double stop, double x, double rate, double g0, double gm,
                         double g1) {
  double *time = robot->series_time + followed_at(k), *c = robot->series_poly + PL_SERIES_TERMS * followed_at(k);
  const double h = stop - t, slope = h > 0 ? (4 * gm - 3 * g0 - g1) / h : 0;
  const double bend = h > 0 ? 2 * (g0 - 2 * gm + g1) / (h * h) : 0, *e = c;
  time[0] = t, time[1] = stop;
  c[0] = x, c[5] = 0;
  if (robot_followed_order[k] == 1) c[1] = g0, c[2] = slope / 2, c[3] = bend / 3, c[4] = 0;
  else c[1] = rate, c[2] = g0 / 2, c[3] = slope / 6, c[4] = bend / 12;
  c += PL_SERIES_TERMS;
  c[0] = x + h * (e[1] + h * (e[2] + h * (e[3] + h * e[4])));
  c[1] = e[1] + h * (2 * e[2] + h * (3 * e[3] + 4 * h * e[4])), c[2] = e[2] + h * (3 * e[3] + 6 * h * e[4]);
  c[3] = c[4] = c[5] = 0;
}

/* A piece of length h from x0 to x1: value, rate and acceleration each. */
static void set_piece(double *c, double h, const double *x0, const double *x1) {
  const double d = x1[0] - x0[0] - h * (x0[1] + 0.5 * h * x0[2]), e = h * (x1[1] - x0[1] - h * x0[2]);
  const double f = 0.5 * h * h * (x1[2] - x0[2]), h3 = h * h * h;
  c[0] = x0[0], c[1] = x0[1], c[2] = 0.5 * x0[2];
  c[3] = (10 * d - 4 * e + f) / h3, c[4] = (-15 * d + 7 * e - 2 * f) / (h3 * h), c[5] = (6 * d - 3 * e + f) / (h3 * h * h);
}

int robot_move_input(robot_robot *robot, int input, double value, double duration) {
  if (input < 0 || input >= ROBOT_INPUTS || !isfinite(value) || !(duration > 0)) return ROBOT_BAD_ARGUMENT;
  const int k = moved_slot(input), status = update(robot);
  if (status) return status;
  if (k < 0) return robot_set_input(robot, input, value);
  pl_work *w = robot->work;
  const double t = robot->run->t, h = duration;
  pl_signals(w, t);
  const double x0[3] = {w->input[input], w->input_rate[input], w->input_acceleration[input]};
  const double beyond = value - x0[0] - h * (x0[1] + 0.5 * h * x0[2]);
  const double x1[3] = {value, x0[1] + h * x0[2] + 1.5 * beyond / h, x0[2] + beyond / (h * h)}, rest[3] = {value, 0, 0};
  double *time = robot->series_time + moved_at(k), *c = robot->series_poly + PL_SERIES_TERMS * moved_at(k);
  time[0] = t, time[1] = t + h, time[2] = t + 2 * h;
  set_piece(c, h, x0, x1), set_piece(c + PL_SERIES_TERMS, h, x1, rest);
  memset(c + 2 * PL_SERIES_TERMS, 0, PL_SERIES_TERMS * sizeof(double)), c[2 * PL_SERIES_TERMS] = value;
  robot->input_kind[input] = SERIES, robot->input_series[input] = robot_moved_series[k];
  robot->input_is_set[input] = 1, robot->held[input] = value, robot->started = 0;
  return ROBOT_OK;
}

/* Prescribed rates and accelerations start from the values and rates that their constraints have in the state. */
static void begin_following(robot_robot *robot) {
  pl_work *w = robot->work;
  const pl_run *r = robot->run;
  if (!ROBOT_FOLLOWED) return;
  for (int k = 0; k < ROBOT_FOLLOWED; ++k) set_followed(robot, k, r->t, r->t, 0, 0, 0, 0, 0);
  pl_signals(w, r->t);
  pl_kinematics(w, r->q, r->v);
  pl_constraints(w, r->q, r->v);
  for (int k = 0; k < ROBOT_FOLLOWED; ++k) {
    const double a = w->signal[robot_followed_signal[k]];
    set_followed(robot, k, r->t, r->t, w->phi[robot_followed_row[k]], w->phi_rate[robot_followed_row[k]], a, a,
                 a);
  }
}

/* Prescribed rates and accelerations up to a stop, read at both ends (at the stop before anything jumps there) and half way. */
static void follow(robot_robot *robot, double stop) {
  const double t = robot->run->t;
  for (int k = 0; k < ROBOT_FOLLOWED; ++k) {
    const double *time = robot->series_time + followed_at(k);
    const double *c = robot->series_poly + PL_SERIES_TERMS * followed_at(k), h = t - time[0];
    const double x = c[0] + h * (c[1] + h * (c[2] + h * (c[3] + h * c[4])));
    const double rate = c[1] + h * (2 * c[2] + h * (3 * c[3] + 4 * h * c[4]));
    const double *a = robot->work->signal + robot_followed_signal[k];
    pl_signals(robot->work, t + 1e-9 * (stop - t));
    const double a0 = *a;
    pl_signals(robot->work, 0.5 * (t + stop));
    const double am = *a;
    pl_signals(robot->work, stop - 1e-9 * (stop - t));
    set_followed(robot, k, t, stop, x, rate, a0, am, *a);
  }
}

int robot_project(robot_robot *robot) {
  const int status = update(robot);
  pl_run *r = robot->run;
  robot->started = robot->changed = robot->counted = 0;
  return status ? status : pl_project(robot->work, r->t, r->q, r->v, PROJECTION_TOLERANCE);
}

/* ---- The start: as in Pliant, prescribed coordinates follow their motions, carried nodes their carriers, and loops are closed
 * by the coordinates that the model leaves open, before rods and meshes are deformed ---- */

/* The model's start at some parameters, before it is moved onto the constraints. */
static void evaluate_start(robot_robot *robot, const double *parameters, double *q, double *v) {
  const double *arg[1] = {parameters};
  double *res[2] = {q, v};
  robot_evaluate_start(arg, res, robot->work->kernel_iw, robot->work->kernel_w, 0);
}

/* When rates of signals are read for the start: just after 0 if they jump there, otherwise at 0 [s]. */
static double time_of_start_rates(robot_robot *robot) {
  pl_work *w = robot->work;
  double *rate = robot->signal_rates, *acceleration = rate + ROBOT_SIGNALS;
  const double after = 1.8e-15;
  pl_signals(w, 0);
  memcpy(rate, w->signal_rate, ROBOT_SIGNALS * sizeof(double));
  memcpy(acceleration, w->signal_acceleration, ROBOT_SIGNALS * sizeof(double));
  pl_signals(w, after);
  for (int i = 0; i < ROBOT_SIGNALS; ++i) {
    const double allowed = 1e-9 * (fabs(rate[i]) + fabs(w->signal_rate[i])) +
                           4 * after * (fabs(acceleration[i]) + fabs(w->signal_acceleration[i]));
    if (fabs(w->signal_rate[i] - rate[i]) > allowed) return after;
  }
  return 0;
}

static void copy_pose(const pl_work *w, int node, double *out) {
  memcpy(out, w->R + 9 * node, 9 * sizeof(double));
  memcpy(out + 9, w->p + 3 * node, 3 * sizeof(double));
  memcpy(out + 12, w->V + 6 * node, 6 * sizeof(double));
}

/* Where carried nodes and their carriers are in a state, before it changes. */
static void remember_carried(robot_robot *robot, const double *q, const double *v) {
  if (!ROBOT_CARRIED) return;
  pl_kinematics(robot->work, q, v);
  for (int i = 0; i < ROBOT_CARRIED; ++i) {
    copy_pose(robot->work, robot_carried_node[i], robot->carried_from + 2 * POSE_SIZE * i);
    copy_pose(robot->work, robot_carried_by[i], robot->carried_from + 2 * POSE_SIZE * i + POSE_SIZE);
  }
}

/* y = R x or R' x, R column-major */
static void turned(const double *R, const double *x, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}
static void turned_back(const double *R, const double *x, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}
static void cross(const double *a, const double *b, double *y) {
  y[0] = a[1] * b[2] - a[2] * b[1], y[1] = a[2] * b[0] - a[0] * b[2], y[2] = a[0] * b[1] - a[1] * b[0];
}

/* The quaternion (w, x, y, z) of a rotation matrix, of the sign nearest to `near`. */
static void quaternion_near(const double *R, const double *near, double *Q) {
  const double d[4] = {R[0] + R[4] + R[8], R[0] - R[4] - R[8], R[4] - R[0] - R[8], R[8] - R[0] - R[4]};
  int k = 0;
  for (int i = 1; i < 4; ++i)
    if (d[i] > d[k]) k = i;
  if (k == 0) Q[0] = 1 + d[0], Q[1] = R[5] - R[7], Q[2] = R[6] - R[2], Q[3] = R[1] - R[3];
  else if (k == 1) Q[0] = R[5] - R[7], Q[1] = 1 + d[1], Q[2] = R[1] + R[3], Q[3] = R[6] + R[2];
  else if (k == 2) Q[0] = R[6] - R[2], Q[1] = R[1] + R[3], Q[2] = 1 + d[2], Q[3] = R[5] + R[7];
  else Q[0] = R[1] - R[3], Q[1] = R[6] + R[2], Q[2] = R[5] + R[7], Q[3] = 1 + d[3];
  const double size = sqrt(Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]);
  const double sign = Q[0] * near[0] + Q[1] * near[1] + Q[2] * near[2] + Q[3] * near[3] < 0 ? -1 : 1;
  for (int i = 0; i < 4; ++i) Q[i] *= sign / size;
}

enum carried_motion { TRANSLATES, MOVES_FREELY, MOVES_IN_XZ, MOVES_IN_YZ };

/* Coordinates of a carried node at a rotation R and position p relative to its placement. */
static void set_pose(int motion, const double *R, const double *p, const int *keep, double *q) {
  double own[7] = {p[0], p[1], p[2], 0, 0, 0, 0};
  int count = 3;
  if (motion == MOVES_FREELY) quaternion_near(R, q + 3, own + 3), count = 7;
  if (motion == MOVES_IN_XZ || motion == MOVES_IN_YZ) {
    const int along = motion == MOVES_IN_YZ;
    const double turn = 2 * acos(-1.0), angle = atan2(R[6 + along], R[8]) * (along ? -1 : 1);
    own[0] = p[along], own[1] = p[2], own[2] = angle + turn * round((q[2] - angle) / turn);
  }
  for (int i = 0; i < count; ++i)
    if (!keep[i]) q[i] = own[i];
}

/* The rates of a carried node with the velocity u of its origin and the angular velocity o, in the axes of its placement; R is its
 * rotation there. */
static void set_rates(int motion, const double *R, const double *u, const double *o, const int *keep, double *v) {
  double own[6] = {u[0], u[1], u[2], 0, 0, 0};
  int count = 3;
  if (motion == MOVES_FREELY) turned_back(R, o, own + 3), count = 6;
  if (motion == MOVES_IN_XZ) own[1] = u[2], own[2] = o[1];
  if (motion == MOVES_IN_YZ) own[0] = u[1], own[1] = u[2], own[2] = o[0];
  for (int i = 0; i < count; ++i)
    if (!keep[i]) v[i] = own[i];
}

/* Moves carried nodes as their carriers have moved since remember_carried: positions q and, unless null, rates v. */
static void carry(robot_robot *robot, double *q, double *v) {
  pl_work *w = robot->work;
  for (int i = 0; i < ROBOT_CARRIED; ++i) {
    const double *was = robot->carried_from + 2 * POSE_SIZE * i, *by = was + POSE_SIZE;
    const int carrier = robot_carried_by[i];
    const double *placed = robot->constants + robot_carried_constants[i];
    double arm[3], moved[3], p[3], R[9], local[3], R_local[9], x[3];
    /* nodes of a level are carried by those of the levels before it */
    if (!i || robot_carried_level[i] != robot_carried_level[i - 1]) pl_kinematics(w, q, v ? v : robot->zero_rates);
    const double *Rc = w->R + 9 * carrier, *pc = w->p + 3 * carrier;
    for (int k = 0; k < 3; ++k) arm[k] = was[9 + k] - by[9 + k];
    turned_back(by, arm, x), turned(Rc, x, moved);
    for (int k = 0; k < 3; ++k) p[k] = pc[k] + moved[k];
    for (int k = 0; k < 3; ++k) turned_back(by, was + 3 * k, x), turned(Rc, x, R + 3 * k);
    for (int k = 0; k < 3; ++k) x[k] = p[k] - placed[9 + k];
    turned_back(placed, x, local);
    for (int k = 0; k < 3; ++k) turned_back(placed, R + 3 * k, R_local + 3 * k);
    set_pose(robot_carried_motion[i], R_local, local, robot_specified_q + robot_carried_q[i], q + robot_carried_q[i]);
    if (!v) continue;
    /* the velocity relative to the carrier turns with it */
    double spin[3], slide[3], u[3], o[3];
    const double *V = w->V + 6 * carrier;
    for (int k = 0; k < 3; ++k) spin[k] = was[15 + k] - by[15 + k];
    cross(spin, was + 9, slide);
    for (int k = 0; k < 3; ++k) slide[k] += was[12 + k] - by[12 + k];
    turned_back(by, slide, x), turned(Rc, x, slide);
    turned_back(by, spin, x), turned(Rc, x, spin);
    cross(V + 3, p, u);
    for (int k = 0; k < 3; ++k) u[k] += V[k] + slide[k], o[k] = V[3 + k] + spin[k];
    turned_back(placed, u, x), memcpy(u, x, sizeof u);
    turned_back(placed, o, x), memcpy(o, x, sizeof o);
    set_rates(robot_carried_motion[i], R_local, u, o, robot_specified_v + robot_carried_v[i], v + robot_carried_v[i]);
  }
}

/* Prescribed coordinates at their motions, and everything that they carry. */
static void place_driven(robot_robot *robot, double t_rates, double *q, double *v) {
  if (!ROBOT_DRIVEN) return;
  pl_work *w = robot->work;
  remember_carried(robot, q, v);
  pl_signals(w, 0);
  for (int k = 0; k < ROBOT_DRIVEN; ++k)
    q[robot_driven_q[k]] = w->signal[robot_driven_signal[k]] + robot->constants[robot_driven_constant[k]];
  pl_signals(w, t_rates);
  for (int k = 0; k < ROBOT_DRIVEN; ++k) v[robot_driven_v[k]] = w->signal_rate[robot_driven_signal[k]];
  carry(robot, q, v);
}

/* Increments, in robot->start_step, that change the constraints by -error while some coordinates are held: the smallest in the mass
 * metric, after pl_constraints. */
static int held_correction(robot_robot *robot, const int *held, const double *error) {
  pl_work *w = robot->work;
  const pl_tables *T = w->T;
  const int *active = w->row_active;
  int *rows = robot->start_rows;
  memset(w->wrench, 0, 6 * (size_t)T->n_node * sizeof(double));
  pl_mass_matrix(w);
  for (int j = 0; j < T->nv; ++j)
    for (int k = T->colptr[j]; k < T->colptr[j + 1]; ++k)
      if (T->row[k] != j && (held[j] || held[T->row[k]])) w->M[k] = 0;
  memset(rows, 0, T->m * sizeof(int));
  for (int n = 0; n < T->nnz_j; ++n) {
    if (held[T->j_col[n]]) w->Jval[n] = 0;
    if (w->Jval[n] != 0) rows[T->j_row[n]] = active[T->j_row[n]]; /* others do not depend on what may move */
  }
  double *step = robot->start_step;
  memset(step, 0, T->nv * sizeof(double));
  for (int r = 0; r < T->m; ++r) step[T->nv + r] = rows[r] ? -error[r] : 0;
  w->row_active = rows;
  pl_begin(w);
  int status = pl_assemble(w, 1, 0, 0, NULL);
  if (!status) status = pl_factor_mass(w);
  if (!status) pl_linear_solve(w->saddle->linear, step);
  pl_begin(w);
  w->row_active = active;
  for (int i = 0; i < T->nv; ++i)
    if (!isfinite(step[i])) return PL_NOT_FINITE;
  return status;
}

/* The largest constraint value, and the norm of all, relative to their sizes. */
static double start_gap(robot_robot *robot, const double *q, double *norm) {
  pl_work *w = robot->work;
  pl_signals(w, 0);
  pl_kinematics(w, q, robot->zero_rates);
  pl_constraints(w, q, robot->zero_rates);
  double gap = 0, square = 0;
  for (int r = 0; r < ROBOT_CONSTRAINTS; ++r) {
    const double x = fabs(w->phi[r]) / robot->start_row_sizes[r];
    if (!isfinite(x)) return *norm = INFINITY;
    gap = fmax(gap, x), square += x * x;
  }
  *norm = sqrt(square);
  return gap;
}

/* Closes the loops of positions q while some coordinates are held; carried nodes move along if they keep their shapes. */
static int close_positions(robot_robot *robot, const int *held, int keeps_shapes, double *q) {
  pl_work *w = robot->work;
  double norm, gap;
  pl_signals(w, 0);
  pl_kinematics(w, q, robot->zero_rates);
  pl_constraints(w, q, robot->zero_rates);
  memcpy(robot->start_row_sizes, w->row_size, ROBOT_CONSTRAINTS * sizeof(double));
  gap = start_gap(robot, q, &norm);
  pl_rate_sizes(w, pl_reach(w), robot->start_sizes);
  for (int iteration = 0; iteration < 100 && gap > 0.01 * PROJECTION_TOLERANCE; ++iteration) {
    const int status = held_correction(robot, held, w->phi);
    if (status) return gap <= PROJECTION_TOLERANCE ? ROBOT_OK : status;
    static const double shares[] = {1, 0.5, 0.25, 0.1, 0.03, 0.01};
    double found = INFINITY, next = INFINITY, longest = LONGEST_STEP;
    int nearer = 0;
    for (int i = 0; i < ROBOT_RATES; ++i) longest = fmax(longest, fabs(robot->start_step[i]) / robot->start_sizes[i]);
    for (int k = 0; k < 6 && !nearer; ++k) {
      double *x = robot->start_v;
      for (int i = 0; i < ROBOT_RATES; ++i) x[i] = shares[k] * robot->start_step[i] * LONGEST_STEP / longest;
      if (keeps_shapes) remember_carried(robot, q, robot->zero_rates);
      pl_increment(w->T, q, x, robot->start_q);
      if (keeps_shapes) carry(robot, robot->start_q, NULL);
      found = start_gap(robot, robot->start_q, &next);
      nearer = next < (1 - 1e-3 * shares[k]) * norm;
    }
    if (!nearer) {
      start_gap(robot, q, &norm);
      break;
    }
    memcpy(q, robot->start_q, ROBOT_POSITIONS * sizeof(double));
    gap = found, norm = next;
  }
  return gap <= POSITION_JUMP ? ROBOT_OK : ROBOT_PROJECTION;
}

/* Rates that satisfy the constraints while some are held. */
static int close_rates(robot_robot *robot, const int *held, double t_rates, const double *q, double *v) {
  pl_work *w = robot->work;
  double before = 0, left = 0;
  pl_signals(w, t_rates);
  pl_kinematics(w, q, v);
  pl_constraints(w, q, v);
  for (int r = 0; r < ROBOT_CONSTRAINTS; ++r)
    if (w->row_active[r]) before = fmax(before, fabs(w->phi_rate[r]) / w->row_size[r]);
  if (before <= PROJECTION_TOLERANCE) return ROBOT_OK;
  const int status = held_correction(robot, held, w->phi_rate);
  if (status) return status;
  for (int i = 0; i < ROBOT_RATES; ++i) robot->start_v[i] = v[i] + robot->start_step[i];
  pl_kinematics(w, q, robot->start_v);
  pl_constraints(w, q, robot->start_v);
  for (int r = 0; r < ROBOT_CONSTRAINTS; ++r)
    if (w->row_active[r]) left = fmax(left, fabs(w->phi_rate[r]) / w->row_size[r]);
  if (!(left <= POSITION_JUMP * before)) return ROBOT_PROJECTION;
  memcpy(v, robot->start_v, ROBOT_RATES * sizeof(double));
  return ROBOT_OK;
}

/* Closes the loops of the start with the first set of held coordinates that allows it. */
static int close_loops(robot_robot *robot, double t_rates, double *q, double *v) {
  double closed[ROBOT_POSITIONS + 1];
  int status = ROBOT_PROJECTION;
  for (int k = 0; k < robot_position_sets && status; ++k) {
    memcpy(closed, q, ROBOT_POSITIONS * sizeof(double));
    status = close_positions(robot, robot_position_holds + (size_t)k * ROBOT_RATES, robot_keeps_shapes[k], closed);
  }
  if (status) return status;
  remember_carried(robot, q, v);
  if (memcmp(q, closed, ROBOT_POSITIONS * sizeof(double))) {
    double still[ROBOT_POSITIONS + 1]; /* their positions are those found above */
    memcpy(still, closed, sizeof still);
    carry(robot, still, v);
    memcpy(q, closed, ROBOT_POSITIONS * sizeof(double));
  }
  status = ROBOT_PROJECTION;
  for (int k = 0; k < robot_rate_sets && status; ++k)
    status = close_rates(robot, robot_rate_holds + (size_t)k * ROBOT_RATES, t_rates, q, v);
  return status;
}

int robot_initial_state(robot_robot *robot) {
  const int status = update(robot);
  if (status) return status;
  pl_run *r = robot->run;
  double own_q[ROBOT_POSITIONS + 1], own_v[ROBOT_RATES + 1];
  evaluate_start(robot, robot_binding.parameters, own_q, own_v);
  evaluate_start(robot, robot->parameters, r->q, r->v);
  /* what inputs of motions give at export is not what inputs that were set since give */
  int own = !memcmp(robot->parameters, robot_binding.parameters, ROBOT_PARAMETERS * sizeof(double));
  for (int k = 0; k < ROBOT_MOVED; ++k) own &= !robot->input_is_set[robot_moved_input[k]];
  /* other starts than the initial state of the model are moved as they were at export, where they keep given values */
  for (int i = 0; i < ROBOT_POSITIONS; ++i)
    if (own || robot_keeps_positions) r->q[i] = own ? robot_assembled_q[i] : r->q[i] + (robot_assembled_q[i] - own_q[i]);
  for (int i = 0; i < ROBOT_RATES; ++i)
    if (own || robot_keeps_rates) r->v[i] = own ? robot_assembled_v[i] : r->v[i] + (robot_assembled_v[i] - own_v[i]);
  pl_normalize(&robot_tables, r->q);
  r->t = r->work[0] = r->work[1] = 0;
  pl_run_forget(r);
  begin_following(robot);
  robot->started = robot->changed = robot->counted = 0;
  int result = ROBOT_OK;
  if (ROBOT_CONSTRAINTS) {
    const double t_rates = time_of_start_rates(robot);
    place_driven(robot, t_rates, r->q, r->v);
    result = close_loops(robot, t_rates, r->q, r->v);
    if (result) result = robot_project(robot);
  }
  if (result) {
    /* the model's values are too far from closing the loops: start from where they were closed at export */
    memcpy(r->q, robot_assembled_q, ROBOT_POSITIONS * sizeof(double));
    result = robot_project(robot);
  }
  begin_following(robot);
  return result;
}

int robot_set_state(robot_robot *robot, double t, const double *q, const double *v) {
  int finite = isfinite(t);
  for (int i = 0; i < ROBOT_POSITIONS; ++i) finite = finite && isfinite(q[i]);
  for (int i = 0; i < ROBOT_RATES; ++i) finite = finite && isfinite(v[i]);
  if (!finite) return ROBOT_BAD_ARGUMENT;
  memmove(robot->run->q, q, ROBOT_POSITIONS * sizeof(double));
  memmove(robot->run->v, v, ROBOT_RATES * sizeof(double));
  pl_normalize(&robot_tables, robot->run->q);
  pl_run_forget(robot->run);
  robot->run->t = t;
  robot->started = robot->counted = 0;
  const int status = update(robot);
  robot->changed = 0;
  if (!status) begin_following(robot);
  return status;
}

/* Other inputs and parameters take effect: prescribed rates at once, with the work of that; positions cannot. */
static int take_effect(robot_robot *robot) {
  pl_work *w = robot->work;
  pl_run *r = robot->run;
  if (!robot->changed || !ROBOT_CONSTRAINTS) return ROBOT_OK;
  pl_signals(w, r->t);
  pl_kinematics(w, r->q, r->v);
  pl_constraints(w, r->q, r->v);
  if (pl_constraint_gap(w) > POSITION_JUMP) return ROBOT_POSITION_JUMPS;
  const double before = pl_kinetic_energy(w);
  const int status = pl_project(w, r->t, r->q, r->v, PROJECTION_TOLERANCE);
  if (status) return status;
  pl_kinematics(w, r->q, r->v);
  r->work[1] += pl_kinetic_energy(w) - before;
  robot->changed = 0;
  return ROBOT_OK;
}

/* Accelerations at the state, when something has changed since the last step. */
static int start(robot_robot *robot) {
  if (robot->started) return ROBOT_OK;
  const int status = pl_run_start(robot->run);
  robot->started = !status;
  return status;
}

/* Kinetic, potential, dissipated and supplied energy of the motion [J]. */
static void counted_energies(robot_robot *robot, double *out) {
  const pl_run *r = robot->run;
  double values[5];
  pl_energies(robot->work, r->t, r->q, r->v, values);
  out[0] = values[0], out[1] = values[1], out[2] = r->work[0], out[3] = r->work[1];
}

/* Energies are counted from here on, unless they already are. */
static void begin_counting(robot_robot *robot) {
  if (robot->counted) return;
  counted_energies(robot, robot->energies);
  robot->exchanged = 0, robot->counted = 1;
}

int robot_energy_balance(robot_robot *robot, double *missing, double *exchanged) {
  const int status = update(robot);
  double now[4], *was = robot->energies;
  if (status) return status;
  begin_counting(robot);
  counted_energies(robot, now);
  *missing = was[0] + was[1] + was[2] - was[3] - (now[0] + now[1] + now[2] - now[3]);
  robot->exchanged = fmax(robot->exchanged, fmax(was[0], now[0]));
  for (int i = 1; i < 4; ++i) robot->exchanged = fmax(robot->exchanged, fabs(now[i] - was[i]));
  *exchanged = robot->exchanged;
  /* at rest nothing is exchanged but round-off */
  if (robot->exchanged <= 1e-12 * (fabs(was[0]) + fabs(was[1]) + fabs(now[2]) + fabs(now[3]))) *missing = *exchanged = 0;
  return ROBOT_OK;
}

/* As robot_next_jump, when everything follows from the parameters already. */
static double next_jump(const robot_robot *robot, double t) {
  double next = INFINITY;
  for (int i = 0; i < robot->switch_count && next == INFINITY; ++i)
    if (robot->switches[i] > t) next = robot->switches[i];
  for (int i = 0; i < ROBOT_INPUTS; ++i) {
    const int series = robot_binding.input_series[i];
    if (robot->input_is_set[i] || series < 0 || !robot_series_bends[series]) continue;
    int low = robot_binding.series_begin[series] - 1, high = robot_binding.series_begin[series + 1];
    const int end = high;
    while (high - low > 1) { /* times up to low are at or before t, those from high on after it */
      const int middle = low + (high - low) / 2;
      if (robot_binding.series_time[middle] > t) high = middle;
      else low = middle;
    }
    if (high < end) next = fmin(next, robot_binding.series_time[high]);
  }
  return next;
}

int robot_step(robot_robot *robot, double dt) {
  pl_run *r = robot->run;
  const double end = r->t + dt, near = 1e-9 * dt;
  if (!(dt > 0 && end > r->t && isfinite(end))) return ROBOT_BAD_ARGUMENT;
  int status;
  r->part = 0; /* after a step that failed in the middle, this one begins there */
  do {
    if ((status = update(robot))) return status;
    const double jump = next_jump(robot, r->t + near);
    const int jumps = jump <= end + near;
    /* a second stop, which is not reached, makes the run read its inputs again at the first */
    robot->stops[0] = jumps ? jump : end, robot->stops[1] = end + 2 * dt;
    r->n_stop = jumps ? 2 : 1, r->next_stop = 0;
    r->h = 1.001 * dt; /* round-off of times aside what is left at most, so that the whole stretch is one step */
    follow(robot, robot->stops[0]);
    begin_counting(robot);
    if ((status = take_effect(robot)) || (status = start(robot))) return status;
    status = pl_run_advance(r, 1);
    if (status == PL_MAX_STEPS) status = PL_OK;
    robot->started = !status && !(jumps && ROBOT_FOLLOWED);
  } while (!status && r->t < end - near);
  return status;
}

double robot_next_jump(robot_robot *robot, double t) { return update(robot) ? INFINITY : next_jump(robot, t); }

/* ---- The simulation as bytes ------------------------------------------------------------------------------------- */

#define KEPT_AT offsetof(robot_robot, stale)
#define KEPT (sizeof(robot_robot) - KEPT_AT)

/* FNV-1a: tells states of other robots and damaged ones. */
static unsigned long long checksum(const unsigned char *bytes, size_t count) {
  unsigned long long sum = 14695981039346656037ull;
  for (const char *c = robot_signature; *c; ++c) sum = (sum ^ (unsigned char)*c) * 1099511628211ull;
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 1099511628211ull;
  return sum;
}

size_t robot_state_bytes(const robot_robot *robot) {
  return sizeof(unsigned long long) + KEPT + pl_run_state_bytes(robot->run);
}

void robot_save_state(const robot_robot *robot, void *bytes) {
  unsigned char *at = (unsigned char *)bytes + sizeof(unsigned long long);
  memcpy(at, (const char *)robot + KEPT_AT, KEPT);
  pl_run_save_state(robot->run, at + KEPT);
  const unsigned long long sum = checksum(at, robot_state_bytes(robot) - sizeof sum);
  memcpy(bytes, &sum, sizeof sum);
}

int robot_restore_state(robot_robot *robot, const void *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes + sizeof(unsigned long long);
  unsigned long long sum;
  if (size < sizeof sum + KEPT) return ROBOT_BAD_ARGUMENT;
  memcpy(&sum, bytes, sizeof sum);
  if (sum != checksum(at, size - sizeof sum)) return ROBOT_BAD_ARGUMENT;
  const int status = pl_run_restore_state(robot->run, at + KEPT, size - sizeof sum - KEPT);
  if (status) return status == PL_OUT_OF_MEMORY ? status : ROBOT_BAD_ARGUMENT;
  memcpy((char *)robot + KEPT_AT, at, KEPT);
  pl_bind(robot->work, &robot->work->bound); /* the same arrays: derived quantities are recomputed */
  robot->work->n_push = robot->push_count;
  pl_run_use_contacts(robot->run);
  return ROBOT_OK;
}

double robot_time(const robot_robot *robot) { return robot->run->t; }
const double *robot_q(const robot_robot *robot) { return robot->run->q; }
const double *robot_v(const robot_robot *robot) { return robot->run->v; }
const double *robot_multipliers(const robot_robot *robot) { return robot->run->multipliers; }
