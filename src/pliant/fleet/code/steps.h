/* Fixed steps of one robot, or of one in each lane: the methods of the runtime (explicit.c, semi_implicit.c, rosenbrock.c). */
#ifndef FLEET_STEPS_H
#define FLEET_STEPS_H

typedef struct {
  clocks now;
  R q[NQ], v[NV], u[NU + 1], c[NC + 1];
#ifndef SEMI_IMPLICIT
  R a[NV]; /* accelerations of the state, from the step before */
#endif
} robots;

#ifdef EXPLICIT
CONSTANT real A[7][6] = {{0},
    {K(1.0 / 5)},
    {K(3.0 / 40), K(9.0 / 40)},
    {K(44.0 / 45), K(-56.0 / 15), K(32.0 / 9)},
    {K(19372.0 / 6561), K(-25360.0 / 2187), K(64448.0 / 6561), K(-212.0 / 729)},
    {K(9017.0 / 3168), K(-355.0 / 33), K(46732.0 / 5247), K(49.0 / 176), K(-5103.0 / 18656)},
    {K(35.0 / 384), K(0), K(500.0 / 1113), K(125.0 / 192), K(-2187.0 / 6784), K(11.0 / 84)}};
CONSTANT double TIMES[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};

FN void begin(robots *x) {
  const R t = at_time(&x->now, 0);
  robot_forward(&t, x->q, x->v, x->u, x->c, x->a);
}

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
    const R t = at_time(&x->now, TIMES[s] * h);
    robot_normalize(q1, q);
    robot_forward(&t, q, v1, x->u, x->c, s < 6 ? kv[s] : x->a);
    if (s < 6) robot_rates(q1, v1, kq[s]);
  }
  for (int i = 0; i < NQ; ++i) q1[i] = q[i];
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

FN void begin(robots *x) {
  const R t = at_time(&x->now, 0);
  robot_forward(&t, x->q, x->v, x->u, x->c, x->a);
}

/* RODASP on positions, rates and accelerations; see rosenbrock.c of the runtime for the equations. */
FN void step(robots *x, double h, R *q1, R *v1) {
  const double s = 4 / h;
  const R s_all = R_OF(s), now = at_time(&x->now, 0);
  R factors[N_FACTORS], M[N_M + 1], C[N_C + 1], f[NV];
  R kx[STAGES][NV], kv[STAGES][NV], kz[STAGES][NV], bx[NV], bz[NV], r[NV], y[NV], dx[NV], z[NV];
  robot_linear(&now, x->q, x->v, x->a, x->u, x->c, &s_all, factors, M, C, f);
  for (int i = 0; i < STAGES; ++i) {
    for (int l = 0; l < NV; ++l) {
      dx[l] = R_OF(0), v1[l] = x->v[l], z[l] = x->a[l];
      for (int j = 0; j < i; ++j)
        dx[l] += A[i][j] * kx[j][l], v1[l] += A[i][j] * kv[j][l], z[l] += A[i][j] * kz[j][l];
    }
    const R t = at_time(&x->now, TIMES[i] * h);
    robot_increment(x->q, dx, q1);
    robot_residual(&t, q1, v1, z, x->u, x->c, r);
    robot_increment_rate(dx, v1, bx);
    for (int l = 0; l < NV; ++l) {
      bz[l] = z[l];
      for (int j = 0; j < i; ++j) {
        const real c = G[i][j] * K(1 / h);
        bx[l] += c * kx[j][l], bz[l] += c * kv[j][l];
      }
      y[l] = bz[l] + K(s) * bx[l];
    }
    robot_product(M, C, y, bx, dx);
    for (int l = 0; l < NV; ++l) dx[l] += K(h * SLOPES[i]) * f[l] - r[l];
    robot_solve(factors, dx, kx[i]);
    robot_turn(x->v, &s_all, kx[i], kv[i]);
    for (int l = 0; l < NV; ++l) kv[i][l] -= bx[l], kz[i][l] = K(s) * kv[i][l] - bz[l];
  }
  for (int l = 0; l < NV; ++l) {
    dx[l] = kx[STAGES - 1][l], v1[l] += kv[STAGES - 1][l], x->a[l] = z[l] + kz[STAGES - 1][l];
    for (int j = 0; j < STAGES - 1; ++j) dx[l] += A[STAGES - 1][j] * kx[j][l];
  }
  robot_increment(x->q, dx, q1);
}
#endif

#endif
