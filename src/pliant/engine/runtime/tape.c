/* The record of a run: the beginnings of its steps.
 *
 * Times of all steps are stored, but only as many states as fit in memory: when it is full every second one is dropped, and missing
 * ones are recomputed from the previous one, for several steps at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adjoint.h"
#include "coefficients.h"

struct pl_tape {
  size_t size;             /* numbers in a state */
  long count, capacity;    /* number of recorded steps, and capacity */
  pl_tape_step *step;
  long stride, room, kept; /* a state of every stride-th step; capacity, and number */
  double *state;
  double *stretch;         /* recomputed states between two stored ones */
  long first, filled;      /* the first of them, and their number */
  int stages;              /* whether the state restored last has recorded stages */
};

/* Size of the stages, if they are recorded; of generalized-alpha the solution of Newton's method, which may not converge again from
 * another initial guess. */
static size_t stage_size(const pl_run *r) {
  const pl_tables *T = r->w->T;
  if (r->method == PL_GENERALIZED_ALPHA) return T->nv + (size_t)T->m;
  return r->method == PL_ROSENBROCK && !T->m ? ROSENBROCK_STAGES * 3 * (size_t)T->nv : 0;
}

/* Copy the stages of the run to the record, or back. */
static void exchange_stages(const pl_run *r, double *x, int out) {
  const size_t nv = r->w->T->nv, m = r->w->T->m, alpha = r->method == PL_GENERALIZED_ALPHA;
  double *part[2] = {alpha ? r->memory.alpha.x : r->memory.rosenbrock.k, alpha ? r->memory.alpha.solved : NULL};
  const size_t size[2] = {alpha ? nv : stage_size(r), alpha ? m : 0};
  for (int i = 0; i < 2; x += size[i++])
    if (size[i]) out ? memcpy(x, part[i], size[i] * sizeof(double)) : memcpy(part[i], x, size[i] * sizeof(double));
}

static size_t state_size(const pl_run *r) {
  const pl_tables *T = r->w->T;
  return T->nq + 3 * (size_t)T->nv + T->m + stage_size(r);
}

static void put(const pl_run *r, double *x) {
  const pl_tables *T = r->w->T;
  memcpy(x, r->q, T->nq * sizeof(double)), x += T->nq;
  memcpy(x, r->v, T->nv * sizeof(double)), x += T->nv;
  memcpy(x, r->a, T->nv * sizeof(double)), x += T->nv;
  memcpy(x, r->lead, T->nv * sizeof(double)), x += T->nv;
  memcpy(x, r->multipliers, T->m * sizeof(double)), x += T->m;
  exchange_stages(r, x, 1);
}

static void get(pl_run *r, double *x) {
  const pl_tables *T = r->w->T;
  memcpy(r->q, x, T->nq * sizeof(double)), x += T->nq;
  memcpy(r->v, x, T->nv * sizeof(double)), x += T->nv;
  memcpy(r->a, x, T->nv * sizeof(double)), x += T->nv;
  memcpy(r->lead, x, T->nv * sizeof(double)), x += T->nv;
  memcpy(r->multipliers, x, T->m * sizeof(double)), x += T->m;
  exchange_stages(r, x, 0);
}

int pl_run_record(pl_run *r, size_t bytes) {
  pl_tape_free(r->tape), r->tape = NULL;
  if (!bytes) return PL_OK;
  pl_tape *x = (pl_tape *)calloc(1, sizeof *x);
  if (!x) return PL_OUT_OF_MEMORY;
  x->size = state_size(r), x->stride = 1;
  if (!x->size) x->size = 1; /* of a robot without coordinates */
  const size_t room = bytes / (x->size * sizeof(double));
  x->room = room < 16 ? 16 : room > 1L << 30 ? 1L << 30 : (long)room;
  r->tape = x;
  return PL_OK;
}

void pl_tape_free(pl_tape *x) {
  if (!x) return;
  free(x->step), free(x->state), free(x->stretch), free(x);
}

long pl_tape_count(const pl_tape *x) { return x->count; }
const pl_tape_step *pl_tape_at(const pl_tape *x, long step) { return x->step + step; }

/* Make space for one more state: allocate more memory, or drop every second one. */
static int make_room(pl_tape *x) {
  static const long FIRST = 64;
  if (x->kept == x->room) {
    for (long i = 0; 2 * i < x->kept; ++i)
      memmove(x->state + x->size * i, x->state + x->size * 2 * i, x->size * sizeof(double));
    x->kept = (x->kept + 1) / 2, x->stride *= 2;
    return PL_OK;
  }
  if (x->kept && (x->kept < FIRST || (x->kept & (x->kept - 1)))) return PL_OK;
  long larger = x->kept ? 2 * x->kept : FIRST;
  larger = larger < x->room ? larger : x->room;
  double *more = (double *)realloc(x->state, larger * x->size * sizeof(double));
  if (!more) return PL_OUT_OF_MEMORY;
  x->state = more;
  return PL_OK;
}

int pl_tape_add(pl_run *r, double h) {
  pl_tape *x = r->tape;
  if (x->count == x->capacity) {
    const long larger = x->capacity ? 2 * x->capacity : 256;
    pl_tape_step *more = (pl_tape_step *)realloc(x->step, larger * sizeof *more);
    if (!more) return PL_OUT_OF_MEMORY;
    x->step = more, x->capacity = larger;
  }
  x->step[x->count] = PL_VALUE(pl_tape_step){r->t, h, r->t_floor, r->t_cap, 0};
  if (x->count % x->stride == 0) {
    const int status = make_room(x);
    if (status) return status;
    if (x->count % x->stride == 0) put(r, x->state + x->size * x->kept++);
  }
  x->count++;
  return PL_OK;
}

void pl_tape_refreshed(pl_run *r) {
  if (r->tape->count) r->tape->step[r->tape->count - 1].refreshed = 1;
}

long pl_run_recorded(const pl_run *r, double *times) {
  const long count = r->tape ? r->tape->count : 0;
  for (long n = 0; times && n < count; ++n) times[n] = r->tape->step[n].t;
  return count;
}

static void place_time(pl_run *r, long step) {
  const pl_tape_step *s = r->tape->step + step;
  r->t = s->t, r->t_floor = s->t_floor, r->t_cap = s->t_cap;
  r->h_before = 0, r->evaluated = NAN, r->prediction = 0;
  if (r->secant) pl_secant_forget(r->secant);
}

/* Recompute the states from the last stored one up to `step`, with their stages. */
static int fill(pl_run *r, long step) {
  pl_tape *x = r->tape;
  const long first = step / x->stride * x->stride;
  if (!x->stretch && !(x->stretch = (double *)malloc(x->stride * x->size * sizeof(double)))) return PL_OUT_OF_MEMORY;
  x->first = first, x->filled = 0;
  memcpy(x->stretch, x->state + x->size * (first / x->stride), x->size * sizeof(double));
  for (long n = first; n <= step; ++n) {
    double error, *here = x->stretch + x->size * (n - first);
    const int prediction = r->prediction;
    get(r, here), place_time(r, n);
    if (n > first && !x->step[n - 1].refreshed) r->prediction = prediction; /* Newton's iterations begin as they did */
    int status = pl_run_attempt(r, x->step[n].h, &error);
    if (status) return status;
    put(r, here);
    x->filled++;
    if (n == step) break;
    double *q = r->q, *v = r->v, *a = r->a, *lead = r->lead, *multipliers = r->multipliers;
    r->q = r->q1, r->v = r->v1, r->a = r->a1, r->lead = r->lead1, r->multipliers = r->multipliers1;
    r->t = x->step[n + 1].t, r->t_floor = x->step[n + 1].t_floor;
    if (x->step[n].refreshed) status = pl_run_pass_jump(r);
    put(r, here + x->size);
    r->q = q, r->v = v, r->a = a, r->lead = lead, r->multipliers = multipliers;
    if (status) return status;
  }
  return PL_OK;
}

int pl_tape_restore(pl_run *r, long step) {
  pl_tape *x = r->tape;
  int status = PL_OK;
  x->stages = stage_size(r) > 0;
  if (step % x->stride == 0) get(r, x->state + x->size * (step / x->stride));
  else {
    if (!(x->filled && step >= x->first && step < x->first + x->filled)) status = fill(r, step);
    if (!status) get(r, x->stretch + x->size * (step - x->first));
  }
  place_time(r, step);
  return status;
}

int pl_tape_stages(const pl_run *r) { return r->tape->stages; }
