/* Fixed steps of one robot, or of one in each lane: the methods of the runtime (explicit.c, symplectic_euler.c, semi_implicit.c,
 * rosenbrock.c). */
#ifndef FLEET_STEPS_H
#define FLEET_STEPS_H

typedef struct {
  clocks now;
  R q[NQ], v[NV], u[NU + 1], c[NC + 1];
#ifndef SEMI_IMPLICIT
  R a[NV], y[NM + 1]; /* accelerations and multipliers of the state, from the step before */
#endif
} robots;

#if NM
/* Iterations that bring a state back onto its constraints, and how far off it may be, of their sizes: round-off. */
#define PROJECTIONS 8
#ifdef FLEET_SINGLE
#define CLOSED K(1e-6)
#else
#define CLOSED K(1e-14)
#endif

/* The nearest state (in the mass metric) that satisfies the constraints and their rates. */
FN void project(const robots *x, double ahead, R *q, R *v) {
  const R t = at_time(&x->now, ahead);
  R gap, dx[NV], q1[NQ];
  for (int k = 0; k < PROJECTIONS; ++k) {
    robot_gap(&t, q, v, x->u, x->c, &gap);
    const B open = B_OF(gap > R_OF(CLOSED));
    if (!any_lane(open)) break;
    robot_nearer(&t, q, v, x->u, x->c, dx);
    robot_increment(q, dx, q1);
    for (int i = 0; i < NQ; ++i) q[i] = f_choose(open, q1[i], q[i]);
  }
  robot_along(&t, q, v, x->u, x->c, dx);
  for (int i = 0; i < NV; ++i) v[i] += dx[i];
}
#endif

#ifndef SEMI_IMPLICIT
FN void begin(robots *x) {
  const R t = at_time(&x->now, 0);
  robot_forward(&t, x->q, x->v, x->u, x->c, x->a, x->y);
}
#endif

#ifdef EXPLICIT
CONSTANT real A[7][6] = {{0},
    {K(1.0 / 5)},
    {K(3.0 / 40), K(9.0 / 40)},
    {K(44.0 / 45), K(-56.0 / 15), K(32.0 / 9)},
    {K(19372.0 / 6561), K(-25360.0 / 2187), K(64448.0 / 6561), K(-212.0 / 729)},
    {K(9017.0 / 3168), K(-355.0 / 33), K(46732.0 / 5247), K(49.0 / 176), K(-5103.0 / 18656)},
    {K(35.0 / 384), K(0), K(500.0 / 1113), K(125.0 / 192), K(-2187.0 / 6784), K(11.0 / 84)}};
CONSTANT double TIMES[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};

/* Dormand and Prince, order 5; the last stage is the new state. */
FN void step(robots *x, double h, R *q1, R *v1) {
  R kq[6][NQ], kv[6][NV], q[NQ];
  for (int i = 0; i < NV; ++i) kv[0][i] = x->a[i];
  robot_rates(x->q, x->v, kq[0]);
  for (int s = 1; s < 7; ++s) {
    for (int i = 0; i < NQ; ++i) {
      R sum = R_OF(0);
      for (int j = 0; j < s; ++j) sum += A[s][j] * kq[j][i];
      q1[i] = x->q[i] + K(h) * sum;
    }
    for (int i = 0; i < NV; ++i) {
      R sum = R_OF(0);
      for (int j = 0; j < s; ++j) sum += A[s][j] * kv[j][i];
      v1[i] = x->v[i] + K(h) * sum;
    }
    robot_normalize(q1, q);
    if (s == 6) break;
    const R t = at_time(&x->now, TIMES[s] * h);
    robot_forward(&t, q, v1, x->u, x->c, kv[s], x->y);
    robot_rates(q1, v1, kq[s]);
  }
  for (int i = 0; i < NQ; ++i) q1[i] = q[i];
#if NM
  project(x, h, q1, v1);
#endif
  const R end = at_time(&x->now, h);
  robot_forward(&end, q1, v1, x->u, x->c, x->a, x->y);
}
#endif

#ifdef SYMPLECTIC_EULER
/* Rates with the accelerations of the state, positions with the new rates. */
FN void step(robots *x, double h, R *q1, R *v1) {
  R dx[NV];
  for (int i = 0; i < NV; ++i) v1[i] = x->v[i] + K(h) * x->a[i], dx[i] = K(h) * v1[i];
  robot_increment(x->q, dx, q1);
#if NM
  project(x, h, q1, v1);
#endif
  const R end = at_time(&x->now, h);
  robot_forward(&end, q1, v1, x->u, x->c, x->a, x->y);
}
#endif

#ifdef SEMI_IMPLICIT
FN void begin(robots *x) { (void)x; }

/* Velocities implicit in stiffness and damping, positions from them. */
FN void step(robots *x, double h, R *q1, R *v1) {
  const R t = at_time(&x->now, h), h_all = R_OF(h);
  R dv[NV];
  robot_change(&t, x->q, x->v, x->u, x->c, &h_all, dv);
  for (int i = 0; i < NV; ++i) v1[i] = x->v[i] + dv[i], dv[i] = K(h) * v1[i];
  robot_increment(x->q, dv, q1);
#if NM
  project(x, h, q1, v1);
#endif
}
#endif

#ifdef ROSENBROCK
#define STAGES 6
CONSTANT real A[6][5] = {{0},
    {K(3)},
    {K(1.831036793486759), K(0.4955183967433795)},
    {K(2.304376582692669), K(-0.05249275245743001), K(-1.176798761832782)},
    {K(-7.170454962423024), K(-4.741636671481785), K(-16.31002631330971), K(-1.062004044111401)},
    {K(-7.170454962423024), K(-4.741636671481785), K(-16.31002631330971), K(-1.062004044111401), K(1)}};
CONSTANT real G[6][5] = {{0},
    {K(-12)},
    {K(-8.791795173947035), K(-2.207865586973518)},
    {K(10.81793056857153), K(6.780270611428266), K(19.5348594464241)},
    {K(34.19095006749676), K(15.49671153725963), K(54.7476087596413), K(14.16005392148534)},
    {K(34.62605830930532), K(15.30084976114473), K(56.99955578662667), K(18.40807009793095), K(-5.714285714285717)}};
CONSTANT double TIMES[6] = {0, 0.75, 0.21, 0.63, 1, 1};
CONSTANT double SLOPES[6] = {0.25, -0.5, -0.023504, -0.0362, 0, 0};

/* Increments, rates, accelerations and multipliers that stage i begins with. */
INLINE void sums(const robots *x, int i, R k[][NM + NV], R kv[][NV], R kz[][NV], R *dx, R *v, R *z, R *y) {
  for (int l = 0; l < NM; ++l) {
    y[l] = x->y[l];
    for (int j = 0; j < i; ++j) y[l] += A[i][j] * k[j][l];
  }
  for (int l = 0; l < NV; ++l) {
    dx[l] = R_OF(0), v[l] = x->v[l], z[l] = x->a[l];
    for (int j = 0; j < i; ++j)
      dx[l] += A[i][j] * k[j][NM + l], v[l] += A[i][j] * kv[j][l], z[l] += A[i][j] * kz[j][l];
  }
}

#if NM
#define ROUNDS 12 /* iterations with the same matrix */

/* Moves a state onto its constraints and their rates by the matrix of the step, in whose metric stiff parts keep their forces. */
FN void restore(const robots *x, double h, const R *factors, R *q, R *v) {
  const double s = 4 / h;
  const R t = at_time(&x->now, h);
  R gap, right[NM + NV], dx[NM + NV], q1[NQ];
  for (int l = 0; l < NV; ++l) right[NM + l] = R_OF(0);
  for (int k = 0; k < ROUNDS; ++k) {
    robot_open(&t, q, v, x->u, x->c, right, &gap);
    const B open = B_OF(gap > R_OF(CLOSED));
    if (!any_lane(open)) break;
    for (int l = 0; l < NM; ++l) right[l] *= K(-s * s);
    robot_solve(factors, right, dx);
    robot_increment(q, dx + NM, q1);
    for (int i = 0; i < NQ; ++i) q[i] = f_choose(open, q1[i], q[i]);
  }
  for (int k = 0; k < ROUNDS; ++k) {
    robot_opening(&t, q, v, x->u, x->c, right, &gap);
    const B open = B_OF(gap * K(h) > R_OF(CLOSED));
    if (!any_lane(open)) break;
    for (int l = 0; l < NM; ++l) right[l] *= K(-s * s);
    robot_solve(factors, right, dx);
    for (int i = 0; i < NV; ++i) v[i] = f_choose(open, v[i] + dx[NM + i], v[i]);
  }
}
#endif

/* RODASP on positions, rates, accelerations and multipliers; see rosenbrock.c of the runtime for the equations. */
FN void step(robots *x, double h, R *q1, R *v1) {
  const double s = 4 / h;
  const R s_all = R_OF(s), now = at_time(&x->now, 0);
  R factors[N_FACTORS], M[N_M + 1], C[N_C + 1], J[N_J + 1], L[N_L + 1], f[NM + NV];
  /* in systems of equations, constraints stand before the others */
  R k[STAGES][NM + NV], kv[STAGES][NV], kz[STAGES][NV], bx[NV], bz[NV], r[NM + NV], right[NM + NV], dx[NV], z[NV], y[NM + 1];
  robot_linear(&now, x->q, x->v, x->a, x->u, x->c, x->y, &s_all, factors, M, C, J, L, f);
  for (int i = 0; i < STAGES; ++i) {
    sums(x, i, k, kv, kz, dx, v1, z, y);
    const R t = at_time(&x->now, TIMES[i] * h);
    robot_increment(x->q, dx, q1);
    robot_residual(&t, q1, v1, z, x->u, x->c, y, r);
    robot_increment_rate(dx, v1, bx);
    for (int l = 0; l < NV; ++l) {
      bz[l] = z[l];
      for (int j = 0; j < i; ++j) {
        const real c = G[i][j] * K(1 / h);
        bx[l] += c * k[j][NM + l], bz[l] += c * kv[j][l];
      }
      dx[l] = bz[l] + K(s) * bx[l];
    }
    robot_product(M, C, J, L, bz, dx, bx, right);
    for (int l = 0; l < NM + NV; ++l) right[l] += K(h * SLOPES[i]) * f[l] - r[l];
    robot_solve(factors, right, k[i]);
    robot_turn(x->v, &s_all, k[i] + NM, kv[i]);
    for (int l = 0; l < NV; ++l) kv[i][l] -= bx[l], kz[i][l] = K(s) * kv[i][l] - bz[l];
  }
  for (int l = 0; l < NM; ++l) x->y[l] = y[l] + k[STAGES - 1][l];
  for (int l = 0; l < NV; ++l) x->a[l] = z[l] + kz[STAGES - 1][l], v1[l] += kv[STAGES - 1][l];
  for (int l = 0; l < NV; ++l) {
    dx[l] = k[STAGES - 1][NM + l];
    for (int j = 0; j < STAGES - 1; ++j) dx[l] += A[STAGES - 1][j] * k[j][NM + l];
  }
  robot_increment(x->q, dx, q1);
#if NM
  restore(x, h, factors, q1, v1);
  project(x, h, q1, v1);
#endif
}
#endif

#endif
