/* @title@: @what@.
 *
 * Written by Pliant @version@. Call robot_controller_reset once, then robot_controller_command every @sample@ s with @measured@, and
 * put the commands in force @delay@ s after the measurement.
 */
#ifndef ROBOT_CONTROLLER_H
#define ROBOT_CONTROLLER_H

enum { ROBOT_CONTROLLER_MEASURED = @measured_count@, ROBOT_CONTROLLER_COMMANDS = @command_count@ };

typedef struct robot_controller {
  double state[@state_count@ + 1];  /* estimate of the states, then past commands, as deviations */
  double last[@command_count@];     /* the command before */
} robot_controller;

extern const double robot_controller_sample_time;
/* Names in order, ended by a null pointer. */
extern const char *const robot_controller_measured_names[], *const robot_controller_command_names[];

void robot_controller_reset(robot_controller *);
/* From measurements to commands, both in SI units. */
void robot_controller_command(robot_controller *, const double *measured, double *command);

#endif
