/* What follows from the states of a fleet: outputs and poses of frames, one row per number. */
#ifndef FLEET_VALUES_H
#define FLEET_VALUES_H

FN void evaluate(const fleet *F, long long at) {
  clocks now;
  R q[NQ + 1], v[NV + 1], a[NV + 1], y[NM + 1], u[NU + 1], c[NC + 1], values[N_VALUES];
  read_rows(q, F->q, NQ, F->stride, at), read_rows(v, F->v, NV, F->stride, at);
  read_rows(u, F->u, NU, F->stride, at), read_rows(c, F->c, NC, F->stride, at);
  for (int l = 0; l < LANES; ++l) now.t[l] = F->time[at + l];
  const R t = at_time(&now, 0);
#ifdef WITH_ACCELERATIONS
  robot_forward(&t, q, v, u, c, a, y);
#else
  for (int i = 0; i < NV; ++i) a[i] = R_OF(0);
  for (int i = 0; i < NM; ++i) y[i] = R_OF(0);
#endif
  robot_values(&t, q, v, a, u, c, y, values);
  write_rows(values, F->values, N_VALUES, F->stride, at);
}

#endif
