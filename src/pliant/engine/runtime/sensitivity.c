/* Derivatives of a motion with respect to parameters: the variational equations, integrated with it step by step (without constraints).
 *
 * With X the derivative of the configuration with respect to a parameter (a body-side increment) and V that of the rates,
 *   dX/dt = V - Gamma X,   M dV/dt + C V + K X + R = 0,   R = dr/dparameter,
 * where M, C, K are the exact tangents along the motion and Gamma is hat(w) on rotations. The method is the L-stable, stiffly
 * accurate, singly diagonally implicit one of order 3 with three stages (Alexander, SIAM J. Numer. Anal. 14, 1977): it takes
 * the steps that the motion itself takes, and one factorization per stage for all parameters. R comes from differences of
 * the residual alone, in a fixed state (parameter_change.c), which leaves ten digits or more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "contact.h"
#include "integrate.h"

#define STAGES 3
#define GAMMA 0.43586652150845899942
static const double A[STAGES][STAGES] = {
    {GAMMA},
    {0.5 * (1 - GAMMA), GAMMA},
    {-0.25 * (6 * GAMMA * GAMMA - 16 * GAMMA + 1), 0.25 * (6 * GAMMA * GAMMA - 20 * GAMMA + 5), GAMMA}};
static const double NODE[STAGES] = {GAMMA, 0.5 * (1 + GAMMA), 1};

struct pl_sensitivity {
  int n, next_sample, started;
  const double *constants, *parameters, *step; /* per parameter: how constants and parameters change with it; what it is raised by */
  double *X, *V, *FX, *FV;                     /* state and its rate of change, a column of nv per parameter */
  double *sample_X, *sample_V;
  double *KX, *KV;                             /* rates of change of the stages */
  double *stage_X, *stage_V, *R;               /* state and R of a stage */
  double *q, *v, *a, *x, *y, *z, *blocks;
  double *scratch;                             /* of pl_parameter_change */
  void *block;
};

static void place(const pl_tables *T, pl_sensitivity *s, pl_memory *m) {
  const size_t columns = (size_t)s->n * T->nv, nv = T->nv;
  s->FX = pl_doubles(m, columns), s->FV = pl_doubles(m, columns);
  s->KX = pl_doubles(m, STAGES * columns), s->KV = pl_doubles(m, STAGES * columns);
  s->stage_X = pl_doubles(m, columns), s->stage_V = pl_doubles(m, columns), s->R = pl_doubles(m, columns);
  s->q = pl_doubles(m, T->nq), s->v = pl_doubles(m, nv), s->a = pl_doubles(m, nv);
  s->x = pl_doubles(m, nv), s->y = pl_doubles(m, nv), s->z = pl_doubles(m, nv), s->blocks = pl_doubles(m, 9 * (size_t)T->n_quat);
  s->scratch = pl_doubles(m, pl_parameter_change_size(T, T->nv));
}

/* Follow n parameters from X and V at the start of the run (which are changed in place); samples: n_sample x n x nv. */
int pl_run_follow(pl_run *r, int n, const double *constants, const double *parameters, const double *step, double *X,
                  double *V, double *sample_X, double *sample_V) {
  pl_memory m = {0};
  pl_sensitivity *s = (pl_sensitivity *)calloc(1, sizeof *s);
  if (!s) return PL_OUT_OF_MEMORY;
  s->n = n, s->constants = constants, s->parameters = parameters, s->step = step;
  s->X = X, s->V = V, s->sample_X = sample_X, s->sample_V = sample_V;
  place(r->w->T, s, &m);
  s->block = pl_block(&m);
  if (!s->block) {
    free(s);
    return PL_OUT_OF_MEMORY;
  }
  place(r->w->T, s, &m);
  pl_run_unfollow(r);
  r->sensitivity = s;
  return PL_OK;
}

void pl_run_unfollow(pl_run *r) {
  if (r->sensitivity) free(r->sensitivity->block);
  free(r->sensitivity);
  r->sensitivity = 0;
}

typedef struct state {
  double t;
  const double *q, *v, *a;
} state;

static void residual_there(pl_work *w, void *given, double *out) {
  const state *x = (const state *)given;
  pl_evaluate(w, x->t, x->q, x->v);
  pl_residual(w, x->v, x->a, out);
}

/* R: dr/dparameter in a state, a column per parameter. */
static void by_parameters(const pl_run *r, double t, const double *q, const double *v, const double *a, double *R) {
  const pl_tables *T = r->w->T;
  const pl_sensitivity *s = r->sensitivity;
  state x = {t, q, v, a};
  for (int k = 0; k < s->n; ++k)
    pl_parameter_change(r->w, s->constants + (size_t)T->n_theta * k, s->parameters + (size_t)T->n_parameter * k, s->step[k], T->nv,
                        residual_there, &x, s->scratch, R + (size_t)T->nv * k);
}

/* out = Gamma x, that is v cross x on rotations, nothing elsewhere */
static void turn(const pl_tables *T, const double *v, const double *x, double *out) {
  memset(out, 0, T->nv * sizeof(double));
  for (int i = 0; i < T->n_quat; ++i) {
    const double *o = v + T->quat_v[i], *y = x + T->quat_v[i];
    double *z = out + T->quat_v[i];
    z[0] = o[1] * y[2] - o[2] * y[1], z[1] = o[2] * y[0] - o[0] * y[2], z[2] = o[0] * y[1] - o[1] * y[0];
  }
}

/* Gamma / s on rotations, column by column */
static void turn_blocks(const pl_tables *T, const double *v, double s, double *blocks) {
  for (int i = 0; i < T->n_quat; ++i, blocks += 9) {
    const double *o = v + T->quat_v[i], c = 1 / s;
    const double hat[9] = {0, c * o[2], -c * o[1], -c * o[2], 0, c * o[0], c * o[1], -c * o[0], 0};
    memcpy(blocks, hat, sizeof hat);
  }
}

/* Rates of change at the very start: dV/dt = -M^-1 (C V + K X + R). */
static int start(pl_run *r) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  pl_sensitivity *s = r->sensitivity;
  const int nv = T->nv;
  double *R = s->R, *x = s->x, *y = s->y;
  by_parameters(r, pl_time(r, r->t), r->q, r->v, r->a, R);
  pl_linearized(w, pl_time(r, r->t), r->q, r->v, r->a, r->multipliers);
  int status = pl_assemble(w, 1, 0, 0, NULL);
  if (status || (status = pl_factor(w))) return status;
  for (int k = 0; k < s->n; ++k) {
    double *X = s->X + (size_t)nv * k, *V = s->V + (size_t)nv * k, *FX = s->FX + (size_t)nv * k, *FV = s->FV + (size_t)nv * k;
    turn(T, r->v, X, x);
    for (int i = 0; i < nv; ++i) FX[i] = V[i] - x[i];
    pl_multiply(T, w->C, V, x), pl_multiply(T, w->K, X, y);
    pl_contact_product(w, 1, 0, V, x), pl_contact_product(w, 0, 1, X, y);
    for (int i = 0; i < nv; ++i) w->rhs[i] = -x[i] - y[i] - R[(size_t)nv * k + i];
    pl_linear_solve(w->saddle->linear, w->rhs);
    memcpy(FV, w->rhs, nv * sizeof(double));
  }
  return PL_OK;
}

/* Samples between the ends of the step by cubic Hermite polynomials. */
static void sample(pl_run *r, double h, const double *X1, const double *V1, const double *FX1, const double *FV1) {
  pl_sensitivity *s = r->sensitivity;
  const size_t block = (size_t)s->n * r->w->T->nv;
  while (s->next_sample < r->n_sample) {
    const double x = (r->sample_t[s->next_sample] - r->t) / h;
    if (x > 1 + 1e-10) return;
    const double x2 = x * x, x3 = x2 * x, b0 = 1 - 3 * x2 + 2 * x3, b1 = 1 - b0, c0 = h * (x - 2 * x2 + x3), c1 = h * (x3 - x2);
    double *X = s->sample_X + block * s->next_sample, *V = s->sample_V + block * s->next_sample;
    for (size_t i = 0; i < block; ++i) {
      X[i] = b0 * s->X[i] + b1 * X1[i] + c0 * s->FX[i] + c1 * FX1[i];
      V[i] = b0 * s->V[i] + b1 * V1[i] + c0 * s->FV[i] + c1 * FV1[i];
    }
    s->next_sample++;
  }
}

/* The step of size h that the run is about to accept, from its state to the candidate. */
int pl_sensitivity_step(pl_run *r, double h) {
  pl_work *w = r->w;
  const pl_tables *T = w->T;
  pl_sensitivity *s = r->sensitivity;
  const int nv = T->nv, n = s->n;
  const size_t block = (size_t)n * nv;
  double *KX = s->KX, *KV = s->KV, *X = s->stage_X, *V = s->stage_V, *R = s->R;
  double *q = s->q, *v = s->v, *a = s->a, *x = s->x, *y = s->y, *z = s->z;
  const double c = 1 / (GAMMA * h);
  int status;
  if (!s->started && (status = start(r))) return status;
  s->started = 1;
  for (int i = 0; i < STAGES; ++i) {
    const double t = pl_time(r, r->t + NODE[i] * h);
    if (i == STAGES - 1) {
      memcpy(q, r->q1, T->nq * sizeof(double)), memcpy(v, r->v1, nv * sizeof(double)), memcpy(a, r->a1, nv * sizeof(double));
    } else
      pl_interpolate(r, h, NODE[i], q, v, a);
    by_parameters(r, t, q, v, a, R);
    pl_linearized(w, t, q, v, a, r->multipliers);
    turn_blocks(T, v, c, s->blocks);
    if ((status = pl_assemble(w, c * c, c, 1, s->blocks)) || (status = pl_factor(w))) return status;
    for (int k = 0; k < n; ++k) {
      const size_t at = (size_t)nv * k;
      /* what the stages before contribute: X = Xp + h gamma (V - Gamma X), V = Vp + h gamma dV/dt */
      double *Xp = X + at, *Vp = V + at, *kx = KX + block * i + at, *kv = KV + block * i + at;
      for (int l = 0; l < nv; ++l) {
        Xp[l] = s->X[at + l], Vp[l] = s->V[at + l];
        for (int j = 0; j < i; ++j) Xp[l] += h * A[i][j] * KX[block * j + at + l], Vp[l] += h * A[i][j] * KV[block * j + at + l];
        x[l] = c * Xp[l] + Vp[l];
      }
      pl_multiply(T, w->M, x, y), pl_multiply(T, w->C, Xp, z), pl_contact_product(w, 1, 0, Xp, z);
      for (int l = 0; l < nv; ++l) w->rhs[l] = c * (y[l] + z[l]) - R[at + l];
      pl_linear_solve(w->saddle->linear, w->rhs);
      for (int l = 0; l < nv; ++l) kx[l] = c * (w->rhs[l] - Xp[l]);
      memcpy(Xp, w->rhs, nv * sizeof(double));
      turn(T, v, Xp, y);
      for (int l = 0; l < nv; ++l) {
        const double rate = kx[l] + y[l];
        kv[l] = c * (rate - Vp[l]), Vp[l] = rate;
      }
    }
  }
  const double *FX1 = KX + (STAGES - 1) * block, *FV1 = KV + (STAGES - 1) * block;
  sample(r, h, X, V, FX1, FV1);
  memcpy(s->X, X, block * sizeof(double)), memcpy(s->V, V, block * sizeof(double));
  memcpy(s->FX, FX1, block * sizeof(double)), memcpy(s->FV, FV1, block * sizeof(double));
  return PL_OK;
}
