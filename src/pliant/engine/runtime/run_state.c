/* A run between two steps as bytes: everything that its next steps depend on, except factors, which are recomputed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "integrate.h"

typedef struct {
  double t, h_last, h_before, previous_error, t_floor, work[2], power[2];
  pl_extent extent;
  pl_drift drift;
  long steps;
  int touched, prediction, euler, kinked, colliding, halvings, calm, part, count[2], kind[2];
} scalars;

typedef struct {
  char *at;
  int reading;
} stream;

static void transfer(stream *s, void *data, size_t bytes) {
  if (!bytes) return;
  if (s->reading) memcpy(data, s->at, bytes);
  else memcpy(s->at, data, bytes);
  s->at += bytes;
}

static void transfer_arrays(stream *s, pl_run *r) {
  const pl_tables *T = r->w->T;
  transfer(s, r->q, T->nq * sizeof(double));
  double *const rates[] = {r->v, r->a, r->lead, r->a_before};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) transfer(s, rates[i], T->nv * sizeof(double));
  transfer(s, r->multipliers, T->m * sizeof(double));
  transfer(s, r->memory.extent.rates, T->nv * sizeof(double));
  transfer(s, r->memory.extent.p, 3 * (size_t)T->n_node * sizeof(double));
  transfer(s, r->memory.extent.R, 9 * (size_t)T->n_node * sizeof(double));
  for (int i = 0; i < 2 && r->contact[i]; ++i) {
    transfer(s, r->contact[i]->entry, r->contact[i]->count * sizeof *r->contact[i]->entry);
    transfer(s, r->contact[i]->R, 18 * (size_t)T->n_node * sizeof(double)); /* R, p and V stand in one block */
  }
}

static size_t bytes_of(const pl_run *r, const int *contacts) {
  const pl_tables *T = r->w->T;
  size_t bytes = sizeof(scalars) + ((size_t)T->nq + 5 * (size_t)T->nv + T->m + 12 * (size_t)T->n_node) * sizeof(double);
  for (int i = 0; i < 2 && r->contact[i]; ++i)
    bytes += contacts[i] * sizeof *r->contact[i]->entry + 18 * (size_t)T->n_node * sizeof(double);
  return bytes;
}

static void count_contacts(const pl_run *r, int *count) {
  for (int i = 0; i < 2; ++i) count[i] = r->contact[i] ? r->contact[i]->count : 0;
}

size_t pl_run_state_bytes(const pl_run *r) {
  int count[2];
  count_contacts(r, count);
  return bytes_of(r, count);
}

void pl_run_save_state(const pl_run *r, void *bytes) {
  scalars x;
  memset(&x, 0, sizeof x); /* gaps between members too: equal states give equal bytes */
  x.t = r->t, x.h_last = r->h_last, x.h_before = r->h_before, x.previous_error = r->previous_error, x.t_floor = r->t_floor;
  memcpy(x.work, r->work, sizeof x.work), memcpy(x.power, r->power, sizeof x.power);
  x.extent = r->extent, x.drift = r->drift, x.steps = r->steps;
  x.touched = r->touched, x.prediction = r->prediction, x.euler = r->euler, x.kinked = r->kinked;
  x.colliding = r->colliding, x.halvings = r->halvings, x.calm = r->calm, x.part = r->part;
  count_contacts(r, x.count);
  for (int i = 0; i < 2; ++i) x.kind[i] = r->contact[i] ? (int)r->contact[i]->kind : 0;
  stream s = {(char *)bytes, 0};
  transfer(&s, &x, sizeof x);
  transfer_arrays(&s, (pl_run *)r); /* only read here */
}

int pl_run_restore_state(pl_run *r, const void *bytes, size_t size) {
  scalars x;
  stream s = {(char *)bytes, 1}; /* only read here */
  if (size < sizeof x) return PL_NOT_FINITE;
  transfer(&s, &x, sizeof x);
  if (x.count[0] < 0 || x.count[1] < 0 || bytes_of(r, x.count) != size) return PL_NOT_FINITE;
  for (int i = 0; i < 2 && r->contact[i]; ++i)
    if (pl_contact_memory_reserve(r->contact[i], x.count[i])) return PL_OUT_OF_MEMORY;
  for (int i = 0; i < 2 && r->contact[i]; ++i)
    r->contact[i]->count = x.count[i], r->contact[i]->kind = (pl_memory_kind)x.kind[i];
  r->t = x.t, r->h_last = x.h_last, r->h_before = x.h_before, r->previous_error = x.previous_error;
  r->t_floor = x.t_floor;
  memcpy(r->work, x.work, sizeof x.work), memcpy(r->power, x.power, sizeof x.power);
  r->extent = r->extent1 = x.extent, r->drift = x.drift, r->steps = x.steps;
  r->touched = x.touched, r->prediction = x.prediction, r->euler = x.euler, r->kinked = x.kinked;
  r->colliding = x.colliding, r->halvings = x.halvings, r->calm = x.calm, r->part = x.part;
  transfer_arrays(&s, r);
  if (!r->touched) pl_run_forget_contacts(r);
  pl_run_use_contacts(r);
  r->evaluated = NAN;
  r->beginning = -1; /* the next step restarts in the workspace */
  if (r->secant) pl_secant_forget(r->secant);
  return PL_OK;
}
