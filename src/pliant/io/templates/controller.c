/* State feedback, with an observer where states are not measured; see @name@_controller.h. */
#include "@name@_controller.h"

#include <string.h>

enum { STATES = @state_count@, PLANT = @plant_count@, MEASURED = @measured_count@, COMMANDS = @command_count@, OBSERVED = @observed@ };

@data@

static double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

void robot_controller_reset(robot_controller *c) {
  memset(c, 0, sizeof *c);
  for (int i = 0; i < PLANT && OBSERVED; ++i) c->state[i] = guess[i];
  memcpy(c->last, rest, sizeof c->last);
}

void robot_controller_command(robot_controller *c, const double *measured, double *command) {
  double x[STATES + 1], error[MEASURED];
  memcpy(x, c->state, sizeof x);
  for (int k = 0; k < MEASURED; ++k) error[k] = measured[k] - zero[k];
  if (OBSERVED) {
    for (int k = 0; k < MEASURED; ++k) {
      for (int i = 0; i < STATES; ++i) error[k] -= C[STATES * k + i] * c->state[i];
      for (int j = 0; j < COMMANDS; ++j) error[k] -= D[COMMANDS * k + j] * (c->last[j] - rest[j]);
    }
    for (int i = 0; i < PLANT; ++i)
      for (int k = 0; k < MEASURED; ++k) x[i] += L[MEASURED * i + k] * error[k];
  } else
    for (int i = 0; i < PLANT; ++i) {
      x[i] = 0;
      for (int k = 0; k < MEASURED; ++k) x[i] += L[MEASURED * i + k] * error[k];
    }
  for (int j = 0; j < COMMANDS; ++j) {
    double u = rest[j];
    for (int i = 0; i < STATES; ++i) u -= K[STATES * j + i] * x[i];
    const double low = lower[j] > c->last[j] - reach[j] ? lower[j] : c->last[j] - reach[j];
    const double high = upper[j] < c->last[j] + reach[j] ? upper[j] : c->last[j] + reach[j];
    command[j] = within(u, low < high ? low : high, low < high ? high : low);
  }
  for (int i = 0; i < STATES; ++i) {
    double next = 0;
    for (int n = 0; n < STATES; ++n) next += A[STATES * i + n] * x[n];
    for (int j = 0; j < COMMANDS; ++j) next += B[COMMANDS * i + j] * (command[j] - rest[j]);
    c->state[i] = next;
  }
  memcpy(c->last, command, sizeof c->last);
}
