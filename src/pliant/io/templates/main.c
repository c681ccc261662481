/* A short simulation: prints time, positions and energies.
 *
 *     @name@_main [seconds [lines]] [parameter=value | input=value] ...
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@name@.h"

static int set(robot_robot *robot, const char *argument) {
  const char *equals = strchr(argument, '=');
  char name[256], *end;
  const size_t length = (size_t)(equals - argument);
  const double value = strtod(equals + 1, &end);
  if (length >= sizeof name || end == equals + 1 || *end) return ROBOT_BAD_ARGUMENT;
  memcpy(name, argument, length);
  name[length] = 0;
  const int parameter = robot_find(robot_parameter_names, name);
  if (parameter >= 0) return robot_set_parameter(robot, parameter, value);
  return robot_set_input(robot, robot_find(robot_input_names, name), value);
}

static double missing, exchanged; /* energies [J], as robot_energy_balance explains */

static int print(robot_robot *robot) {
  const double t = robot_time(robot), *q = robot_q(robot);
  double kinetic, potential;
  int status = robot_energy(robot, t, q, robot_v(robot), &kinetic, &potential);
  if (!status) status = robot_energy_balance(robot, &missing, &exchanged);
  printf("%.17g", t);
  for (int i = 0; i < ROBOT_POSITIONS; ++i) printf(" %.17g", q[i]);
  printf(" %.17g %.17g\n", kinetic, potential);
  return status;
}

static int run(robot_robot *robot, long steps, long lines) {
  int status = robot_initial_state(robot);
  if (!status) status = print(robot);
  for (long step = 1, line = 1; !status && step <= steps; ++step) {
    status = robot_step(robot, robot_default_step);
    if (!status && step >= (double)steps * (double)line / (double)lines) {
      status = print(robot);
      ++line;
    }
  }
  return status;
}

int main(int argc, char **argv) {
  double number[2] = {1, 10};
  int given = 0, status = ROBOT_OK;
  robot_robot *robot = robot_new();
  if (!robot) {
    fprintf(stderr, "no memory\n");
    return EXIT_FAILURE;
  }
  for (int i = 1; i < argc; ++i) {
    char *end = argv[i];
    if (strchr(argv[i], '=')) status = set(robot, argv[i]);
    else if (given < 2) number[given++] = strtod(argv[i], &end), status = *end || end == argv[i] ? ROBOT_BAD_ARGUMENT : ROBOT_OK;
    else status = ROBOT_BAD_ARGUMENT;
    if (status) {
      fprintf(stderr, "cannot use '%s'\nusage: %s [seconds [lines]] [name=value] ...\n", argv[i], argv[0]);
      robot_free(robot);
      return EXIT_FAILURE;
    }
  }
  const double steps = number[0] / robot_default_step + 0.5;
  if (!(steps >= 0 && steps < 1e9 && number[1] >= 1 && number[1] < 1e9)) {
    fprintf(stderr, "seconds must not be negative or too large for the step; lines must be at least 1\n");
    robot_free(robot);
    return EXIT_FAILURE;
  }
  printf("# t");
  for (int i = 0; i < ROBOT_POSITIONS; ++i) printf(" %s", robot_q_names[i]);
  printf(" kinetic_energy potential_energy\n");
  status = run(robot, (long)steps, (long)number[1]);
  if (fabs(missing) > 0.05 * exchanged)
    printf("# %.0f %% of the energy exchanged %s in the steps: take a smaller step, or another method\n",
           100 * fabs(missing) / exchanged, missing > 0 ? "was lost" : "came");
  if (status) fprintf(stderr, "stopped at t = %g s: %s\n", robot_time(robot), robot_message(status));
  robot_free(robot);
  return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
