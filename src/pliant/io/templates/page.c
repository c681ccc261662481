/* What the page of @name@ calls: one robot with its controllers, pulled by the pointer, and the poses that are drawn. */
#include "@name@.inc"
@controller_headers@
#define CALLED(name) __attribute__((export_name(#name))) name
#define CONTROLLERS @controller_count@
#define SAME_TIME 1e-9 /* relative to a sample time */

int robot_evaluate_arcs(const double **, double **, long long *, double *, int);

static robot_robot *robot;
static double outputs[ROBOT_OUTPUTS + 1], energies[2], arcs[@arc_numbers@ + 1], arc_memory[@arc_w@ + 1];
static long long arc_integers[@arc_iw@ + 1];

/* ---- Controllers: sampled at multiples of their sample times, commands in force a delay later --------------------- */

typedef struct {
  const double *sample_time;
  double delay;
  int measured, commands, observed; /* observed: outputs are measured, otherwise all positions and rates */
  const int *measured_at, *command_at;
  void (*reset)(void);
  void (*command)(const double *, double *);
  double *pending; /* commands that are not in force yet */
} controller;

@controllers@
static struct { long sample; double due; int active; } clock_of[CONTROLLERS + 1];

static void reset_controllers(void) {
  for (int k = 0; k < CONTROLLERS; ++k) {
    controllers[k].reset();
    clock_of[k].sample = 0, clock_of[k].due = INFINITY;
    for (int j = 0; j < controllers[k].commands; ++j) robot_release_input(robot, controllers[k].command_at[j]);
  }
}

static int put_in_force(int k) {
  const controller *c = controllers + k;
  int status = ROBOT_OK;
  for (int j = 0; j < c->commands && !status; ++j)
    status = robot_input_is_motion(c->command_at[j])
                 ? robot_move_input(robot, c->command_at[j], c->pending[j], *c->sample_time)
                 : robot_set_input(robot, c->command_at[j], c->pending[j]);
  clock_of[k].due = INFINITY;
  return status;
}

static int sample(int k) {
  const controller *c = controllers + k;
  static double measured[ROBOT_OUTPUTS + ROBOT_POSITIONS + ROBOT_RATES + 1];
  if (c->observed) {
    const int status = robot_outputs(robot, robot_time(robot), robot_q(robot), robot_v(robot), outputs);
    if (status) return status;
    for (int i = 0; i < c->measured; ++i) measured[i] = outputs[c->measured_at[i]];
  } else {
    memcpy(measured, robot_q(robot), ROBOT_POSITIONS * sizeof(double));
    memcpy(measured + ROBOT_POSITIONS, robot_v(robot), ROBOT_RATES * sizeof(double));
  }
  c->command(measured, c->pending);
  clock_of[k].due = *c->sample_time * clock_of[k].sample++ + c->delay;
  return c->delay > 0 ? ROBOT_OK : put_in_force(k);
}

/* Commands and samples at the present time, and the next time at which there are any. */
static int control(double *next) {
  *next = INFINITY;
  for (int k = 0; k < CONTROLLERS; ++k) {
    if (!clock_of[k].active) continue;
    const double period = *controllers[k].sample_time, now = robot_time(robot) + SAME_TIME * period;
    int status = ROBOT_OK;
    if (clock_of[k].due <= now) status = put_in_force(k);
    if (!status && clock_of[k].sample * period <= now) status = sample(k);
    if (status) return status;
    *next = fmin(*next, fmin(clock_of[k].due, clock_of[k].sample * period));
  }
  return ROBOT_OK;
}

int CALLED(page_control)(int k, int active) {
  if (clock_of[k].active == active) return ROBOT_OK;
  clock_of[k].active = active, clock_of[k].due = INFINITY;
  clock_of[k].sample = (long)ceil(robot_time(robot) / *controllers[k].sample_time - SAME_TIME);
  controllers[k].reset();
  for (int j = 0; j < controllers[k].commands; ++j) robot_release_input(robot, controllers[k].command_at[j]);
  return ROBOT_OK;
}

/* ---- The pointer: a spring and a damper from a point of a node to a target ---------------------------------------- */

static struct { double target[3], stiffness, damping; } hand;
static pl_push pull;

static void point_of_pull(double *x, double *velocity) {
  pl_work *w = robot->work;
  double spin[3];
  pl_kinematics(w, robot_q(robot), robot_v(robot));
  transform(w->R + 9 * pull.node, w->p + 3 * pull.node, pull.point, x);
  twist_at(w->V + 6 * pull.node, x, velocity, spin);
}

static void use_pull(int active) {
  robot->work->pushes = active ? &pull : robot->pushes;
  robot->work->n_push = active ? 1 : robot->push_count;
}

static void aim(void) {
  double x[3], velocity[3];
  if (hand.stiffness <= 0) return;
  point_of_pull(x, velocity);
  for (int i = 0; i < 3; ++i) pull.force[i] = hand.stiffness * (hand.target[i] - x[i]) - hand.damping * velocity[i];
}

/* The mass [kg] that a force on a point of a node accelerates along itself: the least over the axes of the world. */
double CALLED(page_mass)(int node, double x, double y, double z) {
  double least = INFINITY, none[ROBOT_RATES + 1], some[ROBOT_RATES + 1];
  const double point[3] = {x, y, z}, t = robot_time(robot), *q = robot_q(robot), *v = robot->zero_rates;
  pull.node = node;
  memcpy(pull.point, point, sizeof point), memset(pull.force, 0, sizeof pull.force);
  use_pull(1);
  for (int axis = 0; axis < 3; ++axis) {
    double velocity[2][3], spin[3], at[3];
    for (int k = 0; k < 2; ++k) {
      pull.force[axis] = k;
      if (robot_forward_dynamics(robot, t, q, v, k ? some : none, 0)) break;
      pl_kinematics(robot->work, q, k ? some : none);
      transform(robot->work->R + 9 * node, robot->work->p + 3 * node, point, at);
      twist_at(robot->work->V + 6 * node, at, velocity[k], spin);
    }
    pull.force[axis] = 0;
    const double mobility = velocity[1][axis] - velocity[0][axis];
    if (mobility > 0) least = fmin(least, 1 / mobility);
  }
  use_pull(0);
  return least;
}

void CALLED(page_pull)(int node, double px, double py, double pz, double x, double y, double z, double stiffness, double damping) {
  const double point[3] = {px, py, pz}, target[3] = {x, y, z};
  pull.node = node, hand.stiffness = stiffness, hand.damping = damping;
  memcpy(pull.point, point, sizeof point), memcpy(hand.target, target, sizeof target);
  robot->started = 0;
  use_pull(stiffness > 0);
}

/* ---- Simulation --------------------------------------------------------------------------------------------------- */

int CALLED(page_reset)(void) {
  page_pull(0, 0, 0, 0, 0, 0, 0, 0, 0);
  reset_controllers();
  return robot_initial_state(robot);
}

int CALLED(page_start)(void) {
  robot = robot_new();
  if (!robot) return ROBOT_OUT_OF_MEMORY;
  for (int k = 0; k < CONTROLLERS; ++k) clock_of[k].active = 1;
  return page_reset();
}

/* Steps of h [s], divided where controllers act. */
int CALLED(page_advance)(int steps, double h) {
  for (int n = 0; n < steps; ++n) {
    const double end = robot_time(robot) + h, near = SAME_TIME * h;
    do {
      double next;
      int status = control(&next);
      if (status) return status;
      aim();
      if (hand.stiffness > 0) robot->started = 0;
      if ((status = robot_step(robot, fmin(next < end - near ? next : end, end) - robot_time(robot)))) return status;
    } while (robot_time(robot) < end - near);
  }
  return ROBOT_OK;
}

int CALLED(page_set_parameter)(int i, double value) { return robot_set_parameter(robot, i, value); }
int CALLED(page_set_input)(int i, double value, double duration) {
  return robot_input_is_motion(i) ? robot_move_input(robot, i, value, duration) : robot_set_input(robot, i, value);
}
int CALLED(page_release_input)(int i) { return robot_release_input(robot, i); }
double CALLED(page_input)(int i) { return robot_input(robot, i, robot_time(robot)); }
double CALLED(page_time)(void) { return robot_time(robot); }
const char *CALLED(page_message)(int status) { return robot_message(status); }
const double *CALLED(page_q)(void) { return robot_q(robot); }
const double *CALLED(page_v)(void) { return robot_v(robot); }

const double *CALLED(page_outputs)(void) {
  return robot_outputs(robot, robot_time(robot), robot_q(robot), robot_v(robot), outputs) ? 0 : outputs;
}

const double *CALLED(page_energies)(void) {
  robot_energy(robot, robot_time(robot), robot_q(robot), robot_v(robot), energies, energies + 1);
  return energies;
}

/* ---- Drawing ------------------------------------------------------------------------------------------------------ */

/* Rotations of all nodes, by columns; their positions follow from page_positions. */
const double *CALLED(page_rotations)(void) {
  update(robot);
  pl_kinematics(robot->work, robot_q(robot), robot->zero_rates);
  return robot->work->R;
}
const double *CALLED(page_positions)(void) { return robot->work->p; }
/* Poses of points along arcs relative to the arcs' bases, 12 numbers each. */
const double *CALLED(page_arcs)(void) {
  const double *arg[2] = {robot_q(robot), robot->constants};
  double *res[1] = {arcs};
  robot_evaluate_arcs(arg, res, arc_integers, arc_memory, 0);
  return arcs;
}
