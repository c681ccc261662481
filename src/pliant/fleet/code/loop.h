/* Steps of a fleet: states are read once, advanced n steps, and written back. Rows of arrays are numbers, columns are robots.
 *
 * A robot whose rates are no longer finite, or too large to continue with, keeps its last valid state; its status is set. */
#ifndef FLEET_LOOP_H
#define FLEET_LOOP_H

#ifdef FLEET_SINGLE
#define LARGEST_RATE K(1e9) /* beyond, squares of squares overflow */
#else
#define LARGEST_RATE K(1e75)
#endif

/* n steps of size h [s] of the robots from column `at` on, one per lane. */
FN void advance(const fleet *F, long long at, long long n, double h) {
  robots x;
  B sound = B_OF(R_OF(0) == R_OF(0));
  double begin_time[LANES];
  read_rows(x.q, F->q, NQ, F->stride, at), read_rows(x.v, F->v, NV, F->stride, at);
  read_rows(x.u, F->u, NU, F->stride, at), read_rows(x.c, F->c, NC, F->stride, at);
  for (int l = 0; l < LANES; ++l) {
    x.now.t[l] = begin_time[l] = F->time[at + l];
    if (F->status[at + l]) LANE(sound, l) = 0;
  }
  begin(&x);
  for (long long k = 0; k < n; ++k) {
    R q1[NQ + 1], v1[NV + 1];
    step(&x, h, q1, v1);
    B good = sound;
    for (int i = 0; i < NV; ++i) good &= B_OF(f_fabs(v1[i]) < R_OF(LARGEST_RATE));
    for (int i = 0; i < NQ; ++i) {
      good &= B_OF(q1[i] == q1[i]);
      x.q[i] = f_choose(good, q1[i], x.q[i]);
    }
    for (int i = 0; i < NV; ++i) x.v[i] = f_choose(good, v1[i], x.v[i]);
    for (int l = 0; l < LANES; ++l) {
      if (LANE(good, l)) x.now.t[l] = begin_time[l] + (double)(k + 1) * h;
      else if (LANE(sound, l)) F->status[at + l] = 1;
    }
    sound = good;
  }
  write_rows(x.q, F->q, NQ, F->stride, at), write_rows(x.v, F->v, NV, F->stride, at);
  for (int l = 0; l < LANES; ++l) F->time[at + l] = x.now.t[l];
}

#endif
