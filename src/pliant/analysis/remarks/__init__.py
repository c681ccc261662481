"""Remarks on results: functions of the equations and the result, outside the solvers."""
