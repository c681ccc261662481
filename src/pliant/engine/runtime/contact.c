/* Contacts in the equations of motion: wrenches, memory from step to step, tangents. */
#include "contact.h"

#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "spatial.h"

static void place(const pl_tables *T, pl_contacts *c, pl_memory *m) {
  c->x = pl_doubles(m, 3 * (size_t)T->n_vertex), c->x_listed = pl_doubles(m, 3 * (size_t)T->n_vertex);
  c->frame = pl_doubles(m, 6 * (size_t)T->n_shape), c->corner = pl_doubles(m, 24 * (size_t)T->n_shape);
  c->box = pl_doubles(m, 6 * (size_t)T->n_item), c->tree = pl_doubles(m, 12 * (size_t)T->n_item);
  c->count_of_item = pl_ints(m, T->n_item + 1), c->live = pl_ints(m, T->n_vertex), c->is_live = pl_ints(m, T->n_vertex);
  c->x_before = pl_doubles(m, 3 * (size_t)T->n_vertex);
  c->columns = pl_doubles(m, 12 * (size_t)T->max_k);
}

pl_contacts *pl_contacts_new(const pl_tables *T) {
  pl_memory m = {0};
  pl_contacts *c = (pl_contacts *)calloc(1, sizeof *c);
  if (!c) return NULL;
  place(T, c, &m);
  c->block = pl_block(&m);
  if (!c->block) {
    free(c);
    return NULL;
  }
  place(T, c, &m);
  c->order = (pl_extended *)calloc(T->n_shape + 1, sizeof *c->order);
  if (!c->order || pl_contact_memory_new(&c->bound, T)) {
    free(c->order), free(c->block), free(c);
    return NULL;
  }
  for (int i = 0; i < T->n_shape; ++i)
    if (T->shape_item[i + 1] > T->shape_item[i]) c->order[c->n_order++].shape = i;
  c->only = -1;
  return c;
}

void pl_contacts_free(pl_contacts *c) {
  if (!c) return;
  pl_contact_matrix_free(c->matrix), pl_contact_memory_free(&c->bound);
  free(c->items.pair), free(c->planes.pair), free(c->unsorted.pair), free(c->order), free(c->near), free(c->touch), free(c->ranked), free(c->gone), free(c->block), free(c);
}

int pl_contact_memory_new(pl_contact_memory *m, const pl_tables *T) {
  memset(m, 0, sizeof *m);
  m->R = (double *)calloc(18 * (size_t)T->n_node, sizeof(double));
  if (!m->R) return PL_OUT_OF_MEMORY;
  m->p = m->R + 9 * (size_t)T->n_node, m->V = m->p + 3 * (size_t)T->n_node;
  return PL_OK;
}

void pl_contact_memory_free(pl_contact_memory *m) {
  free(m->entry), free(m->R);
  memset(m, 0, sizeof *m);
}

int pl_contact_memory_reserve(pl_contact_memory *m, int count) {
  if (count <= m->capacity) return PL_OK;
  pl_remembered *grown = (pl_remembered *)realloc(m->entry, 2 * (size_t)count * sizeof *grown);
  if (!grown) return PL_OUT_OF_MEMORY;
  m->entry = grown, m->capacity = 2 * count;
  return PL_OK;
}

int pl_contact_remember(const pl_work *w, pl_contact_memory *m) {
  const pl_contacts *c = w->contacts;
  if (pl_contact_memory_reserve(m, c->n)) return PL_OUT_OF_MEMORY;
  m->kind = PL_MEMORY_STEP, m->count = c->n;
  for (int i = 0; i < c->n; ++i) {
    const pl_touch *t = c->touch + i;
    pl_remembered *e = m->entry + i;
    e->key = t->key, e->law = t->law, e->speed = t->speed, e->share = t->share_here, e->stored = t->stored;
    e->slid = t->sliding, e->rate = t->rate;
    memcpy(e->stretch, t->stretch, sizeof e->stretch), memcpy(e->place, t->place, sizeof e->place);
  }
  memcpy(m->R, w->R, 9 * (size_t)w->T->n_node * sizeof(double));
  memcpy(m->p, w->p, 3 * (size_t)w->T->n_node * sizeof(double));
  memcpy(m->V, w->V, 6 * (size_t)w->T->n_node * sizeof(double));
  return PL_OK;
}

int pl_contact_hold(pl_work *w, int count, const double *records) {
  pl_contacts *c = w->contacts;
  pl_contact_memory *m = &c->bound;
  c->unbound = pl_contact_memory_reserve(m, count) != PL_OK;
  if (c->unbound) return c->failed = 1, PL_OUT_OF_MEMORY;
  c->memory = m;
  m->kind = PL_MEMORY_HELD, m->count = count;
  for (int i = 0; i < count; ++i) {
    const double *x = records + (size_t)PL_CONTACT_RECORD * i;
    pl_remembered *e = m->entry + i;
    e->key = (long long)x[0], e->law = (int)x[1], e->speed = x[8], e->share = x[9], e->stored = 0;
    e->slid = x[10] != 0, e->rate = x[21];
    memcpy(e->stretch, x + 2, sizeof e->stretch), memcpy(e->place, x + 5, sizeof e->place);
  }
  return PL_OK;
}

int pl_contact_bind(pl_work *w) {
  pl_contacts *c = w->contacts;
  pl_contact_memory *m = &c->bound;
  const int kind = w->bound.contact_state[0], count = w->bound.contact_state[1];
  c->listed = PL_NOTHING_LISTED;
  c->memory = NULL, c->unbound = 0;
  if (kind == PL_MEMORY_NONE) return PL_OK;
  const int status = pl_contact_hold(w, count, w->bound.contact_records);
  if (status || kind != PL_MEMORY_STEP) return status;
  m->kind = (pl_memory_kind)kind;
  memcpy(m->R, w->bound.contact_poses, 9 * (size_t)w->T->n_node * sizeof(double));
  memcpy(m->p, w->bound.contact_poses + 9 * (size_t)w->T->n_node, 3 * (size_t)w->T->n_node * sizeof(double));
  return PL_OK;
}

int pl_contact_records(const pl_work *w, int capacity, double *out) {
  const pl_contacts *c = w->contacts;
  for (int i = 0; i < c->n && i < capacity; ++i, out += PL_CONTACT_RECORD) {
    const pl_touch *t = c->touch + i;
    out[0] = (double)t->key, out[1] = t->law, out[8] = t->speed, out[9] = t->share_here, out[10] = t->sliding;
    out[17] = t->gap, out[21] = t->rate;
    out[22] = w->T->vertex_shape[t->vertex[0]], out[23] = w->T->vertex_shape[t->vertex[t->first_count]];
    memcpy(out + 2, t->stretch, sizeof t->stretch), memcpy(out + 5, t->place, sizeof t->place);
    memcpy(out + 11, t->force, sizeof t->force), memcpy(out + 14, t->n, sizeof t->n);
    memcpy(out + 18, t->slip_rate, sizeof t->slip_rate);
    out[24] = t->energy;
  }
  return c->n;
}

int pl_contacts_at(pl_work *w, double t, const double *q, const double *v, int capacity, double *out) {
  pl_evaluate(w, t, q, v);
  const int status = pl_memory_status(w);
  return status ? -status : pl_contact_records(w, capacity, out);
}

/* If only one law is active, or none, contacts of the others are ignored. */
static void keep_law(pl_work *w) {
  pl_contacts *c = w->contacts;
  const int law = w->bound.contact_state[2];
  if (law == PL_ALL_LAWS) return;
  int kept = 0;
  for (int n = 0; n < c->n; ++n)
    if (c->touch[n].law == law) c->touch[kept++] = c->touch[n];
  c->n = kept;
}

void pl_contact_forces(pl_work *w) {
  pl_contacts *c = w->contacts;
  if (!c || (c->unbound && pl_contact_bind(w))) return;
  pl_contact_search(w);
  keep_law(w);
  pl_contact_find_gone(w);
  for (int n = 0; n < c->n; ++n) {
    pl_touch *t = c->touch + n;
    pl_contact_law(w, t);
    w->energy += t->energy, w->dissipation += t->dissipation;
    for (int i = 0; i < t->count; ++i) {
      const int node = w->T->vertex_node[t->vertex[i]];
      double r[3], f[3];
      for (int k = 0; k < 3; ++k) {
        r[k] = c->x[3 * t->vertex[i] + k] + t->rho[i >= t->first_count][k];
        f[k] = t->W[i] * t->force[k], w->wrench[6 * node + k] += f[k];
      }
      add_cross3(r, f, w->wrench + 6 * node + 3);
    }
  }
}
