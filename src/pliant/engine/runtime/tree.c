/* Recursions over the tree of frames.
 *
 * Everything is expressed in world axes at the world's origin, so a transfer from a frame to its base is an addition: no
 * spatial transforms. An element owns coordinates and one or more nodes (frames) that move with them; a joint has one
 * node, a rod segment has one per quadrature point and attachment.
 */
#include <string.h>

#include "pliant.h"
#include "spatial.h"
#include "work_parts.h"

/* Inertia, momentum, and the wrench required by the velocity minus the external one, of the mass of each node. */
static void some_inertias(pl_work *w, const pl_elements *of, const void *unused) {
  const pl_tables *T = w->T;
  (void)unused;
  for (int g = of->first_node ? of->first_node : 1; g < of->end_node; ++g) {
    const int at = T->node_mass[g];
    const double *V = w->V + 6 * g, *wrench = w->wrench + 6 * g;
    double *I = w->inertia + RIGID * g, *momentum = w->momentum + 6 * g, *bias = w->bias + 6 * g;
    if (at < 0) {
      for (int i = 0; i < RIGID; ++i) I[i] = 0;
      for (int i = 0; i < 6; ++i) momentum[i] = 0, bias[i] = -wrench[i];
      continue;
    }
    world_inertia(w->theta + at, w->R + 9 * g, w->p + 3 * g, I);
    rigid_times(I, V, momentum);
    cross_wrench(V, momentum, bias);
    for (int i = 0; i < 6; ++i) bias[i] -= wrench[i];
  }
}

void pl_inertias(pl_work *w) { pl_over_elements(w, 0, some_inertias, NULL); }

/* Gravity as an upward acceleration of the ground. */
void pl_ground_acceleration(pl_work *w) {
  for (int i = 0; i < 3; ++i) w->A[i] = -w->theta[i], w->A[3 + i] = 0;
}

static void some_accelerations(pl_work *w, const pl_elements *of, const void *rates) {
  const pl_tables *T = w->T;
  const double *a = (const double *)rates;
  for (int e = of->begin; e < of->end; ++e) {
    const double *Ab = w->A + 6 * T->elem_base[e], *ae = a + T->elem_v[e];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *S = w->S + T->node_s[g];
      for (int i = 0; i < 6; ++i) {
        double x = Ab[i] + w->c[6 * g + i];
        for (int j = 0; j < T->elem_k[e]; ++j) x += S[6 * j + i] * ae[j];
        w->A[6 * g + i] = x;
      }
    }
  }
}

static void some_wrenches(pl_work *w, const pl_elements *of, const void *result) {
  const pl_tables *T = w->T;
  double *r = *(double *const *)result;
  for (int g = of->first_node ? of->first_node : 1; g < of->end_node; ++g) {
    double *F = w->force + 6 * g;
    rigid_times(w->inertia + RIGID * g, w->A + 6 * g, F);
    for (int i = 0; i < 6; ++i) F[i] += w->bias[6 * g + i];
  }
  for (int e = of->end - 1; e >= of->begin; --e) {
    const int b = T->elem_base[e], at = T->elem_v[e];
    for (int j = 0; j < T->elem_k[e]; ++j) r[at + j] = -w->tau[at + j];
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const double *F = w->force + 6 * g, *S = w->S + T->node_s[g];
      for (int j = 0; j < T->elem_k[e]; ++j) r[at + j] += dot6(S + 6 * j, F);
      for (int i = 0; b && i < 6; ++i) w->force[6 * b + i] += F[i];
    }
  }
}

/* Wrench of every node and everything supported by it, from accelerations; its work on the coordinates in r. */
void pl_wrenches(pl_work *w, double *r) { pl_over_elements(w, !w->on_ground, some_wrenches, &r); }

/* r = M a + h: the generalized forces required by the motion (v, a); fills node inertias and forces. */
void pl_residual(pl_work *w, const double *v, const double *a, double *r) {
  (void)v; /* the twists of pl_kinematics contain all that depends on it */
  pl_ground_acceleration(w);
  pl_over_elements(w, !w->on_ground, some_accelerations, a);
  pl_inertias(w);
  pl_inertia_wrenches(w, a);
  pl_shared_inertia_wrenches(w);
  pl_wrenches(w, r);
  if (w->T->n_inertia)
    for (int i = 0; i < w->T->nv; ++i) r[i] += w->own[i];
}

/* Sums of `size` numbers per node over everything supported by it. */
void pl_composite(const pl_tables *T, double *X, int size) {
  for (int e = T->n_elem - 1; e >= 0; --e) {
    const int b = T->elem_base[e];
    if (!b) continue;
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g)
      for (int i = 0; i < size; ++i) X[size * b + i] += X[size * g + i];
  }
}

double pl_kinetic_energy(pl_work *w) {
  double total = 0, I[RIGID], h[6];
  for (int g = 1; g < w->T->n_node; ++g) {
    if (w->T->node_mass[g] < 0) continue;
    world_inertia(w->theta + w->T->node_mass[g], w->R + 9 * g, w->p + 3 * g, I);
    rigid_times(I, w->V + 6 * g, h);
    total += 0.5 * dot6(h, w->V + 6 * g);
  }
  return total;
}

double pl_gravity_energy(pl_work *w) {
  double total = 0, h[3];
  for (int g = 0; g < w->T->n_node; ++g) {
    if (w->T->node_mass[g] < 0) continue;
    const double *c = w->theta + w->T->node_mass[g];
    rotate3(w->R + 9 * g, c + 1, h);
    for (int i = 0; i < 3; ++i) total -= w->theta[i] * (h[i] + c[0] * w->p[3 * g + i]);
  }
  return total;
}
