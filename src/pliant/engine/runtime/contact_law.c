/* The law of a contact: forces, and their derivatives with respect to the motion of the frames that carry its vertices.
 *
 * Frame i contributes with its vertex x_i and weight W_i (negative on side B). With r_i = x_i + rho, rho from the closest point
 * of its
 * side to the contact point, a twist (v, o) of the frame moves its surface there by W_i (v + o x r_i). Sums over the frames are the
 * sliding velocity u and, over a step, the slip z; the wrench on frame i is W_i (f, r_i x f). So action equals reaction, without a
 * remaining moment. The rate of the distance is n . u. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact.h"
#include "spatial.h"

#define AT_FRICTION 1e-9 /* margin of friction below its maximum at which sliding surfaces begin to stick */

/* x without its component along n */
static inline void flatten(const double *n, double *x) {
  const double along = dot3(n, x);
  for (int k = 0; k < 3; ++k) x[k] -= along * n[k];
}

static const double *rho_of(const pl_touch *c, int i) { return c->rho[i >= c->first_count]; }

static int node_of(const pl_work *w, const pl_touch *c, int i) { return w->T->vertex_node[c->vertex[i]]; }

/* velocity of a point that moves with a twist */
static inline void velocity(const double *V, const double *x, double *out) {
  memcpy(out, V, 3 * sizeof(double));
  add_cross3(V + 3, x, out);
}

/* Contact point relative to the closest points of both sides: halfway between the surfaces. */
static void find_place(const pl_work *w, pl_touch *c) {
  const double arm = c->radius[0] + 0.5 * c->gap;
  double on_a[3] = {0};
  for (int i = 0; i < c->first_count; ++i)
    for (int k = 0; k < 3; ++k) on_a[k] += c->W[i] * w->contacts->x[3 * c->vertex[i] + k];
  for (int k = 0; k < 3; ++k) {
    c->rho[0][k] = -arm * c->n[k];
    c->rho[1][k] = c->y[k] + c->rho[0][k];
    c->place[k] = on_a[k] + c->rho[0][k];
  }
}

/* Velocity of side A's surface relative to side B's at the contact point, with these twists of the nodes. */
static void find_velocity(const pl_work *w, const pl_touch *c, const double *V, double *u) {
  memset(u, 0, 3 * sizeof(double));
  for (int i = 0; i < c->count; ++i) {
    double r[3], x[3];
    for (int k = 0; k < 3; ++k) r[k] = w->contacts->x[3 * c->vertex[i] + k] + rho_of(c, i)[k];
    velocity(V + 6 * node_of(w, c, i), r, x);
    for (int k = 0; k < 3; ++k) u[k] += c->W[i] * x[k];
  }
}

static void find_rates(const pl_work *w, pl_touch *c) {
  double *u = c->slip_rate;
  find_velocity(w, c, w->V, u);
  c->rate = dot3(c->n, u);
  for (int k = 0; k < 3; ++k) u[k] -= c->rate * c->n[k];
}

/* Approach velocity of surfaces that have just come into contact, at the beginning of the step. */
static double approach(const pl_work *w, const pl_touch *c) {
  const pl_contact_memory *m = w->contacts->memory;
  double u[3];
  if (!m || m->kind != PL_MEMORY_STEP) return fmax(0, -c->rate);
  find_velocity(w, c, m->V, u);
  return fmax(0, -dot3(c->n, u));
}

/* A vector rotated with a node since the beginning of the step. */
static void turn_along(const pl_work *w, int node, const double *x, double *out) {
  const double *R0 = w->contacts->memory->R + 9 * node;
  double local[3];
  for (int k = 0; k < 3; ++k) local[k] = dot3(R0 + 3 * k, x);
  rotate3(w->R + 9 * node, local, out);
}

/* Rotation vector of a node since the beginning of the step, relative to another one. */
static void find_turn(const pl_work *w, int node, int base, double *out) {
  double P[3][3] = {{0}};
  for (int k = 0; k < 3; ++k) {
    const double *now = w->R + 9 * node + 3 * k;
    double with_base[3];
    turn_along(w, base, w->contacts->memory->R + 9 * node + 3 * k, with_base);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) P[i][j] += now[i] * with_base[j];
  }
  out[0] = 0.5 * (P[2][1] - P[1][2]), out[1] = 0.5 * (P[0][2] - P[2][0]), out[2] = 0.5 * (P[1][0] - P[0][1]);
  const double sine2 = dot3(out, out), sine = sqrt(sine2), cosine = 0.5 * (P[0][0] + P[1][1] + P[2][2] - 1);
  const double scale = sine2 < 1e-6 && cosine > 0 ? 1 + sine2 / 6 : atan2(sine, cosine) / fmax(sine, 1e-12);
  for (int k = 0; k < 3; ++k) out[k] *= scale;
}

/* Slip since the beginning of the step relative to side B, so that common motions of both sides cause none: the displacements of
 * the vertices, and the rotations of their frames about the contact point. Rolling causes no slip for any rotation within a step.
 * Also the fraction of the step during which surfaces that were apart have been in contact. */
static void find_slip(const pl_work *w, pl_touch *c, double *z) {
  const pl_contact_memory *m = w->contacts->memory;
  const int base = node_of(w, c, c->first_count);
  double before[3] = {0};
  memset(z, 0, 3 * sizeof(double));
  for (int i = 0; i < c->count; ++i) {
    const int node = node_of(w, c, i);
    const double *R = w->R + 9 * node, *x = w->contacts->x + 3 * c->vertex[i];
    double local[3], vertex[3], x0[3], from_base[3], with_base[3], turn[3], rolled[3];
    for (int k = 0; k < 3; ++k) vertex[k] = x[k] - w->p[3 * node + k];
    for (int k = 0; k < 3; ++k) local[k] = dot3(R + 3 * k, vertex);
    rotate3(m->R + 9 * node, local, x0);
    for (int k = 0; k < 3; ++k) {
      x0[k] += m->p[3 * node + k];
      before[k] += c->W[i] * x0[k];
      from_base[k] = x0[k] - m->p[3 * base + k];
    }
    if (node == base) continue;
    turn_along(w, base, from_base, with_base);
    find_turn(w, node, base, turn);
    cross3(turn, rho_of(c, i), rolled);
    for (int k = 0; k < 3; ++k) z[k] += c->W[i] * (x[k] - w->p[3 * base + k] - with_base[k] + rolled[k]);
  }
  flatten(c->n, z);
  const double gap = dot3(c->n, before) - c->radius[0] - c->radius[1], closed = gap - c->gap;
  if (!c->known && gap > 0) c->since = -c->gap / closed, c->since_by_gap = -gap / (closed * closed);
  for (int k = 0; k < 3; ++k) z[k] *= c->since;
}

const pl_remembered *pl_remembered_contact(const pl_contact_memory *m, long long key) {
  int low = 0, high = m ? m->count : 0;
  while (low < high) {
    const int mid = (low + high) / 2;
    if (m->entry[mid].key < key) low = mid + 1;
    else high = mid;
  }
  return m && low < m->count && m->entry[low].key == key ? m->entry + low : NULL;
}

void pl_contact_find_gone(pl_work *w) {
  pl_contacts *c = w->contacts;
  const pl_contact_memory *m = c->memory;
  c->n_gone = 0;
  if (!m) return;
  if (m->count > c->gone_capacity) {
    int *grown = (int *)realloc(c->gone, 2 * (size_t)m->count * sizeof *grown);
    if (!grown) {
      c->failed = 1;
      return;
    }
    c->gone = grown, c->gone_capacity = 2 * m->count;
  }
  for (int i = 0, n = 0; i < m->count; ++i) { /* both by key */
    while (n < c->n && c->touch[n].key < m->entry[i].key) ++n;
    if (n == c->n || c->touch[n].key != m->entry[i].key) c->gone[c->n_gone++] = i;
  }
}

/* Whether a side of a contact has adjacent items: spheres and planes have none. */
static int has_neighbours(const pl_tables *T, int vertex) {
  const int kind = T->shape_kind[T->vertex_shape[vertex]];
  return kind != PL_SHAPE_POINT && kind != PL_SHAPE_PLANE;
}

/* The predecessor of a contact that has moved to the next edge or vertex: the closest vanished one of the same law. */
static const pl_remembered *moved_on(const pl_work *w, const pl_touch *c) {
  if (!has_neighbours(w->T, c->vertex[0]) && !has_neighbours(w->T, c->vertex[c->first_count])) return NULL;
  const pl_contact_memory *m = w->contacts->memory;
  const double reach = c->radius[0] + c->radius[1];
  const pl_remembered *best = NULL;
  double nearest = reach * reach;
  for (int i = 0; i < w->contacts->n_gone; ++i) {
    const pl_remembered *e = m->entry + w->contacts->gone[i];
    double away[3];
    if (e->law != c->law) continue;
    for (int k = 0; k < 3; ++k) away[k] = e->place[k] - c->place[k];
    if (dot3(away, away) < nearest) nearest = dot3(away, away), best = e;
  }
  return best;
}

static void press(pl_touch *c, const double *law) {
  const double k = law[PL_LAW_STIFFNESS] * c->share, p = law[PL_LAW_EXPONENT], depth = -c->gap;
  const double slope = p == 1 ? k : k * pow(depth, p - 1), spring = slope * depth;
  double loss = law[PL_LAW_DISSIPATION], loss_by_rate = 0;
  if (law[PL_LAW_IMPACT] > 0) {
    loss = law[PL_LAW_IMPACT] / fmax(c->speed, law[PL_LAW_SLOW]);
    /* without a memory the approach velocity is the present one, so the force of an impact does not depend on it */
    if (c->speed_is_rate && c->speed > law[PL_LAW_SLOW]) loss_by_rate = loss / c->speed;
  }
  const double factor = 1 - loss * c->rate;
  c->loss = loss;
  c->energy = spring * depth / (p + 1);
  c->pressing = factor > 0 ? spring * factor : 0;
  c->by_gap = factor > 0 ? -p * slope * factor : 0;
  c->by_rate = factor > 0 ? -(loss + c->rate * loss_by_rate) * spring : 0;
  c->dissipation = (spring - c->pressing) * c->rate;
  c->k_t = law[PL_LAW_TANGENTIAL] * slope, c->c_t = c->k_t * loss * depth;
  c->k_t_by_gap = -(p - 1) * c->k_t / depth, c->c_t_by_gap = -p * c->k_t * loss;
  c->c_t_by_rate = c->k_t * loss_by_rate * depth;
}

/* Tangential force f from the trial force: the trial force itself, or its projection on the cone; D and Dv from the stiffness and
 * damping of both directions. With `secant` they are those of a spring with this force: sliding friction does not change with the
 * slip along it, so Newton's method would step across the point at which surfaces begin to stick, and back again. */
static void rub(pl_touch *c, const double *law, const double *stretch, const double *z, int slid, int secant) {
  const double mu[2] = {law[PL_LAW_FRICTION], law[PL_LAW_ACROSS]}, most = fmax(mu[0], mu[1]);
  const double *t[2] = {c->along, c->across};
  double trial[3] = {0}, size2 = 0, f[2], ratio[2];
  memcpy(c->stretch, stretch, sizeof c->stretch);
  memset(c->D, 0, sizeof c->D), memset(c->Dv, 0, sizeof c->Dv), memset(c->by_cap, 0, sizeof c->by_cap);
  memset(c->by_gap_along, 0, sizeof c->by_gap_along), memset(c->by_rate_along, 0, sizeof c->by_rate_along);
  c->sliding = 0;
  if (!(most > 0)) {
    memset(c->stretch, 0, sizeof c->stretch);
    return;
  }
  for (int j = 0; j < 2; ++j) {
    ratio[j] = mu[j] / most;
    const double s = dot3(t[j], stretch) + dot3(t[j], z), u = dot3(t[j], c->slip_rate);
    f[j] = -ratio[j] * (c->k_t * s + c->c_t * u);
    size2 += mu[j] > 0 ? f[j] * f[j] / (mu[j] * mu[j]) : 0;
    for (int k = 0; k < 3; ++k) trial[k] += f[j] * t[j][k];
  }
  /* sliding surfaces at the friction limit continue to slide, despite round-off */
  const double size = sqrt(size2), bears = c->pressing * (slid ? 1 - AT_FRICTION : law[PL_LAW_STATIC]);
  c->sliding = size > bears;
  const double scale = c->sliding ? c->pressing / size : 1;
  for (int a = 0; a < 3; ++a) {
    c->force[a] += scale * trial[a];
    if (c->sliding && !secant) c->by_cap[a] = trial[a] / size;
  }
  /* d force = scale (1 - trial (trial / mu^2)' / size^2 if sliding) d trial */
  for (int j = 0; j < 2; ++j) {
    double column[3];
    const double share = c->sliding && !secant && mu[j] > 0 ? f[j] / (mu[j] * mu[j] * size2) : 0;
    for (int a = 0; a < 3; ++a) column[a] = scale * (t[j][a] - trial[a] * share);
    const double s = dot3(t[j], stretch) + dot3(t[j], z), u = dot3(t[j], c->slip_rate);
    for (int a = 0; a < 3; ++a) c->by_gap_along[a] -= ratio[j] * (c->k_t_by_gap * s + c->c_t_by_gap * u) * column[a];
    for (int a = 0; a < 3; ++a) c->by_rate_along[a] -= ratio[j] * c->c_t_by_rate * u * column[a];
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) {
        c->D[a][b] -= ratio[j] * c->k_t * column[a] * t[j][b];
        c->Dv[a][b] -= ratio[j] * c->c_t * column[a] * t[j][b];
      }
  }
  for (int k = 0; k < 3; ++k) c->stretch[k] = 0;
  for (int j = 0; j < 2; ++j) {
    if (!(ratio[j] > 0)) continue;
    const double reached = dot3(t[j], stretch) + dot3(t[j], z), bearing = -scale * f[j] / (ratio[j] * c->k_t);
    /* a sliding spring carries the friction, but its stretch is limited by the slip: in an impact the damper carries the rest */
    const double s = c->sliding && fabs(bearing) < fabs(reached) ? bearing : reached;
    for (int k = 0; k < 3; ++k) c->stretch[k] += s * t[j][k];
    c->stored += 0.5 * ratio[j] * c->k_t * s * s;
    const double u = dot3(t[j], c->slip_rate);
    c->dissipation -= c->sliding ? scale * f[j] * u : -ratio[j] * c->c_t * u * u;
  }
  c->energy += c->stored;
}

void pl_contact_law(pl_work *w, pl_touch *c) {
  const pl_contact_memory *m = w->contacts->memory;
  const pl_memory_kind kind = m ? m->kind : PL_MEMORY_NONE;
  const double *law = w->theta + w->T->law_theta[c->law];
  double stretch[3] = {0}, z[3] = {0};
  find_place(w, c);
  find_rates(w, c);
  const pl_remembered *old = pl_remembered_contact(m, c->key);
  if (!old) old = moved_on(w, c);
  c->known = old != NULL, c->since = 1, c->since_by_gap = 0;
  c->share_here = c->share;
  if (old) c->share = old->share, c->stored_before = old->stored;
  c->speed = old ? old->speed : approach(w, c);
  c->speed_is_rate = !old && kind != PL_MEMORY_STEP;
  if (old) {
    const double length = sqrt(dot3(old->stretch, old->stretch));
    if (kind == PL_MEMORY_STEP) turn_along(w, node_of(w, c, c->first_count), old->stretch, stretch);
    else memcpy(stretch, old->stretch, sizeof stretch);
    flatten(c->n, stretch);
    const double flat = sqrt(dot3(stretch, stretch));
    for (int k = 0; k < 3 && flat > 0.5 * length && flat > 0; ++k) stretch[k] *= length / flat; /* rotated with the surfaces */
  }
  memcpy(c->held, stretch, sizeof stretch);
  if (kind == PL_MEMORY_STEP) find_slip(w, c, z);
  /* without a memory, surfaces are assumed to have been sliding at the current velocity */
  const double recent = kind == PL_MEMORY_NONE ? law[PL_LAW_RECENT] : 0;
  if (kind == PL_MEMORY_NONE)
    for (int k = 0; k < 3; ++k) z[k] = recent * c->slip_rate[k];
  press(c, law);
  for (int k = 0; k < 3; ++k) c->force[k] = c->pressing * c->n[k];
  rub(c, law, stretch, z, old ? old->slid : kind == PL_MEMORY_NONE, w->contacts->secant);
  for (int a = 0; a < 3; ++a) c->by_since[a] = c->since < 1 ? dot3(c->D[a], z) / c->since : 0;
  const double now = kind == PL_MEMORY_NONE ? 0 : c->since;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) c->Dv[a][b] += recent * c->D[a][b], c->D[a][b] *= now;
}

/* -- tangents ------------------------------------------------------------------------------------------------------- */

/* Derivative of the geometry of a contact with respect to one component of the motion of frame j. */
typedef struct {
  double W[PL_TOUCH_VERTICES], n[3], rho[2][3];
} variation;

static void vary(const pl_touch *c, int j, const double *moved, const double *turn, variation *d) {
  double y[3], s[2] = {0};
  for (int k = 0; k < 3; ++k) y[k] = c->W[j] * moved[k];
  memset(d, 0, sizeof *d);
  for (int l = 0; l < c->parameters; ++l) {
    double g[2];
    for (int k = 0; k < c->parameters; ++k) g[k] = dot3(c->E[k], y) + c->G[j][k] * dot3(c->y, moved);
    for (int k = 0; k < c->parameters; ++k) s[l] -= c->H[l][k] * g[k];
  }
  for (int k = 0; k < 3; ++k)
    for (int l = 0; l < c->parameters; ++l) y[k] += c->E[l][k] * s[l];
  for (int i = 0; i < c->count; ++i)
    for (int l = 0; l < c->parameters; ++l) d->W[i] += c->G[i][l] * s[l];
  const double along = dot3(c->n, y); /* the contribution of the parameters to y is normal to n */
  double nearer = along;
  if (c->flat) {
    if (j >= c->first_count) cross3(turn, c->n, d->n);
    nearer += dot3(d->n, c->y);
  } else {
    for (int k = 0; k < 3 && c->parameters < 2; ++k) d->n[k] = (y[k] - along * c->n[k]) / c->d;
    /* between two edges the normal follows from their directions, for any distance */
    for (int l = 0; l < 2 && c->parameters == 2; ++l) {
      const double tilt = dot3(c->n, moved) * (c->H[l][0] * c->G[j][0] + c->H[l][1] * c->G[j][1]);
      for (int k = 0; k < 3; ++k) d->n[k] -= c->E[l][k] * tilt;
    }
  }
  const double arm = c->radius[0] + 0.5 * c->gap;
  for (int k = 0; k < 3; ++k) {
    d->rho[0][k] = -arm * d->n[k] - 0.5 * nearer * c->n[k];
    d->rho[1][k] = y[k] + d->rho[0][k];
  }
}

/* Change `out` of f for a motion (shift, turn) of frame j, including sliding velocity and slip. */
static void vary_force(const pl_work *w, const pl_touch *c, int j, const double *moved, const double *turn, const variation *d,
                       double *out) {
  double z[3], u[3] = {0}, o[3];
  const double *rho = rho_of(c, j), *Vj = w->V + 6 * node_of(w, c, j), *xj = w->contacts->x + 3 * c->vertex[j];
  cross3(turn, rho, o);
  for (int k = 0; k < 3; ++k) z[k] = c->W[j] * (moved[k] + o[k]);
  if (j == c->first_count) { /* the spring rotates with side B about the normal */
    double spun[3];
    cross3(c->n, c->held, spun);
    const double spin = dot3(turn, c->n);
    for (int k = 0; k < 3; ++k) z[k] += spin * spun[k];
  }
  for (int i = 0; i < c->count; ++i) {
    const double *V = w->V + 6 * node_of(w, c, i), *x = w->contacts->x + 3 * c->vertex[i];
    double r[3], speed[3], turned[3];
    for (int k = 0; k < 3; ++k) r[k] = x[k] + rho_of(c, i)[k];
    velocity(V, r, speed);
    cross3(V + 3, d->rho[i >= c->first_count], turned);
    for (int k = 0; k < 3; ++k) u[k] += d->W[i] * speed[k] + c->W[i] * turned[k];
  }
  double speed[3], turned[3], spun[3], spin[3];
  velocity(Vj, xj, speed);
  cross3(turn, speed, turned), cross3(turn, Vj + 3, spin), cross3(spin, rho, spun);
  for (int k = 0; k < 3; ++k) u[k] += c->W[j] * (turned[k] + spun[k]);
  const double rate = dot3(c->n, u) + dot3(d->n, c->slip_rate);
  const double nearer = dot3(c->n, z), pressing = c->by_gap * nearer + c->by_rate * rate;
  double tangential[3];
  for (int k = 0; k < 3; ++k) u[k] -= c->rate * d->n[k], tangential[k] = c->force[k] - c->pressing * c->n[k];
  const double tilt = dot3(d->n, tangential);
  for (int a = 0; a < 3; ++a) {
    out[a] = pressing * (c->n[a] + c->by_cap[a]) + nearer * (c->by_gap_along[a] + c->since_by_gap * c->by_since[a]) +
             c->pressing * d->n[a] - tilt * c->n[a] + rate * c->by_rate_along[a];
    for (int b = 0; b < 3; ++b) out[a] += c->D[a][b] * z[b] + c->Dv[a][b] * u[b];
  }
}

static void fill_column(const pl_work *w, const pl_touch *c, int j, const double *shift, const double *turn, double *column) {
  const double *xj = w->contacts->x + 3 * c->vertex[j];
  double moved[3], f[3];
  variation d;
  memcpy(moved, shift, sizeof moved);
  add_cross3(turn, xj, moved);
  vary(c, j, moved, turn, &d);
  vary_force(w, c, j, moved, turn, &d, f);
  for (int i = 0; i < c->count; ++i) {
    if (!node_of(w, c, i)) continue;
    const double *x = w->contacts->x + 3 * c->vertex[i], *rho = rho_of(c, i), *by = d.rho[i >= c->first_count];
    double r[3], g[3], arm[3], *out = column + 6 * i;
    for (int k = 0; k < 3; ++k) {
      r[k] = x[k] + rho[k], g[k] = d.W[i] * c->force[k] + c->W[i] * f[k];
      arm[k] = c->W[i] * (by[k] + (i == j ? moved[k] : 0));
    }
    memcpy(out, g, sizeof g);
    cross3(r, g, out + 3);
    add_cross3(arm, c->force, out + 3);
    if (i != j) continue;
    double wrench[6], twist[6], carried[6];
    for (int k = 0; k < 3; ++k) wrench[k] = c->W[i] * c->force[k], twist[k] = shift[k], twist[3 + k] = turn[k];
    cross3(r, wrench, wrench + 3);
    cross_wrench(twist, wrench, carried);
    for (int k = 0; k < 6; ++k) out[k] -= carried[k];
  }
}

void pl_contact_blocks(const pl_work *w, const pl_touch *c, double *K, double *C) {
  const int size = 6 * c->count;
  double A[3][3]; /* derivative of the force with respect to velocity */
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      double flat = 0;
      for (int k = 0; k < 3; ++k) flat += c->Dv[a][k] * ((k == b) - c->n[k] * c->n[b]);
      A[a][b] = flat + (c->by_rate * (c->n[a] + c->by_cap[a]) + c->by_rate_along[a]) * c->n[b];
    }
  for (int j = 0; j < c->count; ++j)
    for (int l = 0; l < 6 && node_of(w, c, j); ++l) { /* the ground does not move */
      double twist[6] = {0}, r[3], u[3], f[3];
      twist[l] = 1;
      fill_column(w, c, j, twist, twist + 3, K + size * (6 * j + l));
      for (int k = 0; k < 3; ++k) r[k] = w->contacts->x[3 * c->vertex[j] + k] + rho_of(c, j)[k];
      velocity(twist, r, u);
      for (int a = 0; a < 3; ++a) f[a] = c->W[j] * dot3(A[a], u);
      for (int i = 0; i < c->count; ++i) {
        double *out = C + size * (6 * j + l) + 6 * i;
        for (int k = 0; k < 3; ++k) {
          r[k] = w->contacts->x[3 * c->vertex[i] + k] + rho_of(c, i)[k];
          out[k] = c->W[i] * f[k];
        }
        cross3(r, out, out + 3);
      }
    }
}
