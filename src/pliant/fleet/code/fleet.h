/* The arrays of a fleet: rows are numbers, columns are robots. `real` is the type of the numbers. */
#ifndef FLEET_H
#define FLEET_H

/* Each array has `stride` columns, of which the first `count` are robots; times and status have one row. */
typedef struct {
  double *time; /* [s] */
  real *q, *v;
  const real *u, *c;
  int *status; /* 0 while all is well */
  real *values; /* what is computed from states */
  void **robots; /* those of the runtime, where it steps them */
  long long stride, count;
} fleet;

#endif
