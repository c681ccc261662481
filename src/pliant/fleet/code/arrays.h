/* Rows of the arrays of a fleet, read and written for one robot in each lane. */
#ifndef FLEET_ARRAYS_H
#define FLEET_ARRAYS_H

#include "fleet.h"

/* Time [s] of each lane: counted in double precision, whatever numbers are. */
typedef struct {
  double t[LANES];
} clocks;

INLINE R at_time(const clocks *x, double ahead) {
  R t = R_OF(0);
  for (int l = 0; l < LANES; ++l) LANE(t, l) = (real)(x->t[l] + ahead);
  return t;
}

INLINE void read_rows(R *x, const real *rows, int n, long long stride, long long at) {
  for (int i = 0; i < n; ++i)
    for (int l = 0; l < LANES; ++l) LANE(x[i], l) = rows[i * stride + at + l];
}

INLINE void write_rows(const R *x, real *rows, int n, long long stride, long long at) {
  for (int i = 0; i < n; ++i)
    for (int l = 0; l < LANES; ++l) rows[i * stride + at + l] = LANE(x[i], l);
}

#endif
