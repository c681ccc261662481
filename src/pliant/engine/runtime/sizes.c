/* Reference sizes of lengths and coordinates of a robot, in the configuration evaluated last. Tolerances are relative to these,
 * so that a robot written in other units is solved with the same steps. */
#include <math.h>
#include <string.h>

#include "pliant.h"
#include "spatial.h"

static void include(double box[2][3], const double *x, double radius) {
  for (int i = 0; i < 3; ++i) box[0][i] = fmin(box[0][i], x[i] - radius), box[1][i] = fmax(box[1][i], x[i] + radius);
}

/* Extend the size by the radius of gyration of a mass about its centre, which gives single bodies a size. */
static void include_mass(double box[2][3], const double *c, const double *R, const double *p) {
  double centre[3];
  if (!(c[0] > 0)) return;
  rotate3(R, c + 1, centre);
  for (int i = 0; i < 3; ++i) centre[i] /= c[0];
  const double square = 0.5 * (c[4] + c[5] + c[6]) / c[0] - dot3(centre, centre);
  for (int i = 0; i < 3; ++i) centre[i] += p[i];
  include(box, centre, sqrt(fmax(0, square)));
}

static double diagonal(double box[2][3]) {
  const double sides[3] = {box[1][0] - box[0][0], box[1][1] - box[0][1], box[1][2] - box[0][2]};
  return sqrt(dot3(sides, sides));
}

static double far_out(const pl_work *w) {
  double y = 0;
  for (int i = 3; i < 3 * w->T->n_node; ++i) y = fmax(y, fabs(w->p[i]));
  return y;
}

/* Points closer to the origin than this [m] are at the origin, up to round-off. */
#define AT_ORIGIN 1e-12

double pl_farthest(const pl_work *w) {
  const double y = far_out(w);
  return y > AT_ORIGIN ? y : 1;
}

/* Nodes closer to each other than this share of their distance from the origin are at one point, up to round-off. */
#define AT_ONE_POINT 1e-12

/* Whether only free-flying bodies move relative to the ground. */
static int flies(const pl_tables *T) {
  for (int e = 0; e < T->n_elem; ++e)
    if (!T->elem_base[e] && T->elem_k[e] != 6) return 0;
  return 1;
}

double pl_reach(const pl_work *w) {
  const pl_tables *T = w->T;
  const double nothing[2][3] = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
  double nodes[2][3], masses[2][3];
  if (T->n_node < 2) return 1;
  memcpy(nodes, nothing, sizeof nodes);
  for (int g = 1; g < T->n_node; ++g) include(nodes, w->p + 3 * g, 0);
  memcpy(masses, nodes, sizeof masses);
  for (int g = 1; g < T->n_node; ++g)
    if (T->node_mass[g] >= 0) include_mass(masses, w->theta + T->node_mass[g], w->R + 9 * g, w->p + 3 * g);
  const double size = diagonal(masses);
  /* guided nodes at one point: the distance from there to the ground's origin, if larger */
  if (diagonal(nodes) > AT_ONE_POINT * far_out(w) || (size > 0 && flies(T))) return size;
  return size > 0 ? fmax(size, far_out(w)) : pl_farthest(w);
}

double pl_rate_size(const pl_work *w, int element, int j, double reach) {
  const pl_tables *T = w->T;
  double motion = 0;
  for (int g = T->elem_node[element]; g < T->elem_node[element] + T->elem_nodes[element]; ++g) {
    const double *S = w->S + T->node_s[g] + 6 * j, *p = w->p + 3 * g;
    double moved[3] = {S[0], S[1], S[2]};
    add_cross3(S + 3, p, moved);
    motion = fmax(motion, fmax(sqrt(dot3(S + 3, S + 3)), sqrt(dot3(moved, moved)) / reach));
  }
  return motion > 0 ? 1 / motion : 1;
}

void pl_rate_sizes(const pl_work *w, double reach, double *size) {
  const pl_tables *T = w->T;
  for (int e = 0; e < T->n_elem; ++e)
    for (int j = 0; j < T->elem_k[e]; ++j) size[T->elem_v[e] + j] = pl_rate_size(w, e, j, reach);
}
