/* Robots that the runtime steps: each is one of the exported C, with memory of its own.
 *
 * Before it: the exported C, `fleet` (fleet.h), ROBOT(function) with the robot's prefix, and what the fleet sets: FLEET_INPUTS inputs
 * (indices fleet_input), FLEET_PARAMETERS parameters that differ (fleet_parameter), and FLEET_SET others that differ from the
 * model's own (fleet_set, fleet_set_to). */
#ifndef FLEET_ROBOTS_H
#define FLEET_ROBOTS_H

enum { DIVERGED = 1, NO_MEMORY = 2 }; /* status */

/* Inputs and parameters of a robot as the arrays have them; returns a status of the robot. */
static int put_values(const fleet *F, long long at, ROBOT(robot) *x) {
  int status = 0;
  for (int i = 0; i < FLEET_PARAMETERS && !status; ++i)
    status = ROBOT(set_parameter)(x, fleet_parameter[i], F->c[i * F->stride + at]);
  for (int i = 0; i < FLEET_INPUTS && !status; ++i) status = ROBOT(set_input)(x, fleet_input[i], F->u[i * F->stride + at]);
  return status;
}

/* The state of the arrays; contacts restart where it is not the one that the robot has reached. */
static int put_state(const fleet *F, long long at, ROBOT(robot) *x) {
  double q[NQ + 1], v[NV + 1];
  int is_there = ROBOT(time)(x) == F->time[at];
  for (int i = 0; i < NQ; ++i) q[i] = F->q[i * F->stride + at], is_there &= q[i] == ROBOT(q)(x)[i];
  for (int i = 0; i < NV; ++i) v[i] = F->v[i * F->stride + at], is_there &= v[i] == ROBOT(v)(x)[i];
  return is_there ? 0 : ROBOT(set_state)(x, F->time[at], q, v);
}

static void take_state(const fleet *F, long long at, const ROBOT(robot) *x) {
  F->time[at] = ROBOT(time)(x);
  for (int i = 0; i < NQ; ++i) F->q[i * F->stride + at] = ROBOT(q)(x)[i];
  for (int i = 0; i < NV; ++i) F->v[i * F->stride + at] = ROBOT(v)(x)[i];
}

/* A robot, with the parameters that all have. */
static void make(const fleet *F, long long at) {
  ROBOT(robot) *x = ROBOT(new)();
  F->robots[at] = x;
  if (!x) {
    F->status[at] = NO_MEMORY;
    return;
  }
  for (int i = 0; i < FLEET_SET; ++i) (void)ROBOT(set_parameter)(x, fleet_set[i], fleet_set_to[i]);
}

/* n steps of size h [s]; a robot that fails stays at its last sound state. */
static void advance(const fleet *F, long long at, long long n, double h) {
  ROBOT(robot) *x = (ROBOT(robot) *)F->robots[at];
  if (F->status[at] || !x) return;
  int status = put_values(F, at, x);
  if (!status) status = put_state(F, at, x);
  for (long long k = 0; k < n && !status; ++k) {
    status = ROBOT(step)(x, h);
    if (!status) take_state(F, at, x);
  }
  if (status) F->status[at] = status == PL_OUT_OF_MEMORY ? NO_MEMORY : DIVERGED;
}

/* Outputs, or the pose of a frame (rotation matrix by rows, position), one row per number. */
static void evaluate(const fleet *F, long long at, int frame) {
  ROBOT(robot) *x = (ROBOT(robot) *)F->robots[at];
  double q[NQ + 1], v[NV + 1], values[(N_VALUES > 12 ? N_VALUES : 12) + 1];
  int status = !x || put_values(F, at, x) || put_state(F, at, x);
  for (int i = 0; i < NQ; ++i) q[i] = F->q[i * F->stride + at];
  for (int i = 0; i < NV; ++i) v[i] = F->v[i * F->stride + at];
  const int count = frame < 0 ? N_VALUES : 12;
  if (!status && frame < 0) status = ROBOT(outputs)(x, F->time[at], q, v, values);
  if (!status && frame >= 0) {
    double p[3], e[4];
    status = ROBOT(frame_pose)(x, q, frame, p, e);
    const double w = e[0], a = e[1], b = e[2], c = e[3];
    const double R[9] = {1 - 2 * (b * b + c * c), 2 * (a * b - w * c),     2 * (a * c + w * b),
                         2 * (a * b + w * c),     1 - 2 * (a * a + c * c), 2 * (b * c - w * a),
                         2 * (a * c - w * b),     2 * (b * c + w * a),     1 - 2 * (a * a + b * b)};
    for (int i = 0; i < 9; ++i) values[i] = R[i];
    for (int i = 0; i < 3; ++i) values[9 + i] = p[i];
  }
  for (int i = 0; i < count; ++i) F->values[i * F->stride + at] = status ? NAN : values[i];
}

#endif
