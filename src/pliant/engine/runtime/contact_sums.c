/* Sums over contacts of one law, or between some of its shapes, for outputs. */
#include <math.h>
#include <string.h>

#include "contact.h"
#include "spatial.h"

/* 1 if side A of a contact is one of the first shapes, -1 if it is one of the second, 0 if the contact is not requested. */
static int direction(const pl_tables *T, const pl_touch *t, const int *side) {
  const int a = side[T->vertex_shape[t->vertex[0]]], b = side[T->vertex_shape[t->vertex[t->first_count]]];
  return (a & 1) && (b & 2) ? 1 : (a & 2) && (b & 1) ? -1 : 0;
}

static void add(const pl_touch *t, int sign, double *out) {
  const double pressing = dot3(t->force, t->n), speed = sqrt(dot3(t->slip_rate, t->slip_rate));
  for (int k = 0; k < 3; ++k) {
    out[PL_SUM_FORCE + k] += sign * t->force[k];
    out[PL_SUM_FRICTION + k] += sign * (t->force[k] - pressing * t->n[k]);
    out[PL_SUM_PLACE + k] += pressing * t->place[k];
  }
  out[PL_SUM_NORMAL] += pressing, out[PL_SUM_COUNT] += 1, out[PL_SUM_ENERGY] += t->energy;
  out[PL_SUM_SPEED] = fmax(out[PL_SUM_SPEED], speed);
}

void pl_contact_sums(pl_work *w, const double *q, int count, const int *law, const int *side, const int *with_gap,
                     double *out) {
  const pl_contacts *c = w->contacts;
  const int shapes = w->T->n_shape;
  memset(out, 0, (size_t)PL_SUM_SIZE * count * sizeof(double));
  for (int k = 0; k < count; ++k) {
    double *sum = out + PL_SUM_SIZE * k;
    for (int i = 0; i < c->n; ++i) {
      const int sign = c->touch[i].law == law[k] ? direction(w->T, c->touch + i, side + (size_t)shapes * k) : 0;
      if (sign) add(c->touch + i, sign, sum);
    }
    for (int l = 0; l < 3; ++l) sum[PL_SUM_PLACE + l] /= sum[PL_SUM_NORMAL]; /* undefined: NaN */
  }
  for (int k = 0; k < count; ++k)
    out[PL_SUM_SIZE * k + PL_SUM_GAP] = with_gap[k] ? pl_contact_gap(w, q, law[k], side + (size_t)shapes * k) : NAN;
}
