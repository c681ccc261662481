/* Contacts in a run: their memory from step to step, and their records at samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "integrate.h"

#define CROWD 30        /* number of contacts above which a single one is insignificant */
#define REBOUND 0.1     /* relevant rebound, relative to the speed before it, or the largest of the run */
#define RESOLVED 0.5    /* fraction of the impact speed that remains after the first step of a resolved impact */
#define SAME_PLACE 1e-9 /* fraction of the robot's extent: nodes that moved by more between two steps were set by the caller */

int pl_run_contacts_new(pl_run *r) {
  if (!r->w->contacts) return PL_OK;
  for (int i = 0; i < 2; ++i) {
    r->contact[i] = (pl_contact_memory *)calloc(1, sizeof *r->contact[i]);
    if (!r->contact[i] || pl_contact_memory_new(r->contact[i], r->w->T)) return PL_OUT_OF_MEMORY;
  }
  return PL_OK;
}

void pl_run_contacts_free(pl_run *r) {
  for (int i = 0; i < 2; ++i) {
    if (r->contact[i]) pl_contact_memory_free(r->contact[i]);
    free(r->contact[i]);
  }
  free(r->log.begin), free(r->log.record);
}

void pl_run_use_contacts(pl_run *r) {
  if (r->touched) r->w->contacts->memory = r->contact[0];
}

void pl_run_forget_contacts(pl_run *r) {
  r->touched = r->colliding = 0;
  if (r->w->contacts) r->w->contacts->memory = NULL;
}

/* Whether nodes are in the poses of the memory. */
static int in_place(const pl_run *r) {
  const double *p = r->w->p, *remembered = r->contact[0]->p;
  const int n = 3 * r->w->T->n_node;
  double reach = 0;
  for (int i = 0; i < n; ++i) reach = fmax(reach, fabs(p[i]));
  for (int i = 0; i < n; ++i)
    if (!(fabs(p[i] - remembered[i]) <= SAME_PLACE * reach)) return 0;
  return 1;
}

/* Contacts specified by the caller are used unchanged; evaluated again, a sliding one would differ slightly. */
static void keep_given(pl_run *r) {
  const pl_contact_memory *given = r->w->contacts->memory;
  pl_contact_memory *own = r->contact[0];
  if (!given || given->kind != PL_MEMORY_HELD) return;
  for (int i = 0, j = 0; i < own->count; ++i) {
    while (j < given->count && given->entry[j].key < own->entry[i].key) ++j;
    if (j < given->count && given->entry[j].key == own->entry[i].key) {
      const double stored = own->entry[i].stored;
      own->entry[i] = given->entry[j], own->entry[i].stored = stored;
    }
  }
}

int pl_run_begin_contacts(pl_run *r) {
  pl_work *w = r->w;
  if (!w->contacts || (r->touched && in_place(r))) return PL_OK;
  if (r->touched) { /* the caller has set another state: there is no memory */
    w->contacts->memory = NULL;
    pl_evaluate(w, pl_time(r, r->t), r->q, r->v);
  }
  const int status = pl_contact_remember(w, r->contact[0]);
  if (!status && !r->touched) keep_given(r);
  r->touched = !status;
  pl_run_use_contacts(r);
  return status;
}

int pl_run_contacts_changed(const pl_run *r) {
  const pl_contacts *c = r->w->contacts;
  if (!r->touched) return 0;
  if (c->n != r->contact[0]->count) return 1;
  for (int i = 0; i < c->n; ++i)
    if (c->touch[i].key != r->contact[0]->entry[i].key) return 1;
  return 0;
}

int pl_run_contacts_slip(const pl_run *r) {
  const pl_contacts *c = r->w->contacts;
  if (!r->touched || c->n != r->contact[0]->count) return r->touched;
  for (int i = 0; i < c->n; ++i)
    if (c->touch[i].sliding != r->contact[0]->entry[i].slid) return 1;
  return 0;
}

int pl_run_crowded(const pl_run *r) { return r->touched && r->contact[0]->count > CROWD; }

double pl_run_impact(const pl_run *r) {
  const pl_contacts *c = r->w->contacts;
  const pl_contact_memory *m = r->contact[0];
  double hardest = 0;
  if (!r->touched) return 0;
  for (int i = 0, k = 0; i < c->n || k < m->count;) { /* both by key */
    const int met = i < c->n && (k == m->count || c->touch[i].key < m->entry[k].key);
    const int parted = !met && (i == c->n || c->touch[i].key > m->entry[k].key);
    if (met) hardest = fmax(hardest, c->touch[i].speed / (1 + c->touch[i].loss * c->touch[i].speed)); /* as it leaves again */
    if (parted) hardest = fmax(hardest, fabs(m->entry[k].rate));
    i += !parted, k += !met;
  }
  return hardest;
}

int pl_run_passed(pl_run *r, double t) {
  pl_work *w = r->w;
  if (!r->touched || !w->T->n_item) return 0;
  if (!(r->evaluated == t)) pl_evaluate(w, t, r->q1, r->v1), r->evaluated = t;
  return pl_contact_passed(w, r->contact[0]);
}

/* Impacts of this step that would lead to a rebound, and that the step has mostly passed over. */
static int passed_over(const pl_run *r) {
  const pl_contacts *c = r->w->contacts;
  int count = 0;
  for (int i = 0; i < c->n; ++i) {
    const pl_touch *t = c->touch + i;
    const double rebound = t->speed / (1 + t->loss * t->speed);
    count += !t->known && rebound > REBOUND * fmax(r->extent.all.speed, t->speed) && t->rate > -RESOLVED * t->speed;
  }
  return count;
}

/* The largest depth of contacts of each shape so far. */
static void note_depths(pl_run *r) {
  const pl_contacts *c = r->w->contacts;
  for (int i = 0; i < c->n; ++i) {
    const pl_touch *t = c->touch + i;
    const int first = r->w->T->vertex_shape[t->vertex[0]], second = r->w->T->vertex_shape[t->vertex[t->first_count]];
    r->deepest[first] = fmax(r->deepest[first], -t->gap), r->deepest[second] = fmax(r->deepest[second], -t->gap);
  }
}

int pl_run_commit_contacts(pl_run *r, double t) {
  pl_work *w = r->w;
  if (!w->contacts) return PL_OK;
  if (!(r->evaluated == t)) pl_evaluate(w, t, r->q1, r->v1);
  r->brief += passed_over(r);
  r->colliding = pl_run_contacts_changed(r);
  note_depths(r);
  const int status = pl_contact_remember(w, r->contact[1]);
  pl_contact_memory *before = r->contact[0];
  r->contact[0] = r->contact[1], r->contact[1] = before;
  /* forces are the same with the new memory, but not their derivatives */
  r->evaluated = w->contacts->n ? NAN : t;
  pl_run_use_contacts(r);
  return status;
}

double pl_run_slip_loss(pl_run *r, double t) {
  const pl_contacts *c = r->w->contacts;
  if (!c || (!r->contact[0]->count && !c->n)) return 0;
  if (!(r->evaluated == t)) pl_evaluate(r->w, t, r->q1, r->v1), r->evaluated = t;
  double loss = 0;
  for (int i = 0; i < r->contact[0]->count; ++i) loss += r->contact[0]->entry[i].stored;
  for (int i = 0; i < c->n; ++i) loss -= c->touch[i].sliding ? c->touch[i].stored : c->touch[i].stored_before;
  return loss;
}

int pl_run_log_contacts(pl_run *r, int sample, double t, const double *q, const double *v) {
  pl_work *w = r->w;
  pl_contact_log *log = &r->log;
  if (!w->contacts) return PL_OK;
  if (log->samples < r->n_sample + 1) {
    int *grown = (int *)realloc(log->begin, (size_t)(r->n_sample + 1) * sizeof(int));
    if (!grown) return PL_OUT_OF_MEMORY;
    log->begin = grown, log->samples = r->n_sample + 1;
  }
  if (!sample) log->begin[0] = 0;
  pl_evaluate(w, t, q, v);
  r->evaluated = NAN;
  const int first = log->begin[sample], count = w->contacts->n;
  if (first + count > log->capacity) {
    const int capacity = 2 * (first + count);
    double *grown = (double *)realloc(log->record, (size_t)PL_CONTACT_RECORD * capacity * sizeof(double));
    if (!grown) return PL_OUT_OF_MEMORY;
    log->record = grown, log->capacity = capacity;
  }
  if (count) pl_contact_records(w, count, log->record + (size_t)PL_CONTACT_RECORD * first);
  log->begin[sample + 1] = first + count;
  return PL_OK;
}

int pl_run_contacts_now(pl_run *r, int capacity, double *out) {
  if (!r->w->contacts) return 0;
  pl_run_use_contacts(r);
  r->evaluated = NAN;
  return pl_contacts_at(r->w, r->t, r->q, r->v, capacity, out);
}

/* For callers: index of the first record of each sample, and all records. */
void pl_run_contacts(const pl_run *r, const int **begin, const double **record) { *begin = r->log.begin, *record = r->log.record; }
