/* Shared by the files of contact detection: data of shapes, and contacts under construction. */
#ifndef PLIANT_CONTACT_GEOMETRY_H
#define PLIANT_CONTACT_GEOMETRY_H

#include "contact.h"
#include "spatial.h"

enum { VERTEX_RADIUS = 3, VERTEX_SHARE = 4 };

static inline void difference(const double *a, const double *b, double *c) {
  for (int k = 0; k < 3; ++k) c[k] = a[k] - b[k];
}

static inline double *place_of(const pl_work *w, int vertex) { return w->contacts->x + 3 * (size_t)vertex; }
static inline double number_of(const pl_work *w, int vertex, int which) { return w->theta[w->T->vertex_theta[vertex] + which]; }

static inline int law_between(const pl_tables *T, int a, int b) {
  return T->group_law[T->n_group * T->shape_group[a] + T->shape_group[b]];
}

/* Number of vertices of an item. */
static inline int size_of(const pl_tables *T, int item) {
  const int *vertex = T->item_vertex + 3 * item;
  return vertex[1] < 0 ? 1 : vertex[2] < 0 ? 2 : 3;
}

static inline int is_chain(const pl_tables *T, int shape) {
  return T->shape_kind[shape] == PL_SHAPE_WIRE || T->shape_kind[shape] == PL_SHAPE_SIDE;
}

static inline long long key_of(const pl_tables *T, int a, int b) {
  return (long long)a * (T->n_vertex + T->n_item + T->n_edge) + b;
}

/* contact_tree.c */
int pl_is_excluded(const pl_tables *, int a, int b);

/* contact_search.c: create a contact of a law with this key and fraction of the stiffness, whose vertices are then added (those of side A first);
 * null without memory. */
pl_touch *pl_new_touch(pl_work *, int law, long long key, double share);
void pl_touch_vertex(pl_touch *, int vertex, double W, double G0, double G1);
/* Compute distance and normal; the contact is kept if its surfaces overlap. */
void pl_finish_touch(pl_work *, pl_touch *);
void pl_vertex_vertex(pl_work *, int law, int a, int b, double share);
/* A vertex against the edge through two others, at fraction s of it. `number` is that of the edge among items and edges; `sign` is
 * -1 if the vertex is inside of a solid. */
void pl_vertex_edge(pl_work *, int law, int vertex, const int *end, int number, double s, double share, int sign);
/* Edges that cross: where on each the closest points are (0 to 1 between its vertices), the squared sine of their angle, and y =
 * x_A - x_B; whether they cross between their ends. */
int pl_crossing(const pl_work *, const int *a, const int *b, double *s, double *r, double *sine, double *y);
/* sign: -1 if the edges have passed through each other. */
void pl_edge_edge(pl_work *, int law, const int *a, int number_a, const int *b, int number_b, double s, double r, double share, int sign);
/* Fraction of the stiffness of a vertex against a face with this normal: on its side a rod has the share of its length, on its end that
 * of a corner; a cylinder touches faces with its side only if it lies there. */
double pl_share_on(const pl_work *, int vertex, const double *n);
/* Fraction of the stiffness of a vertex against an edge. */
double pl_share_along(const pl_work *, int vertex, const int *end);

#endif
