/* The matrix of an implicit step as recursions over the tree; see tree_matrix.c. */
#ifndef PLIANT_TREE_MATRIX_H
#define PLIANT_TREE_MATRIX_H

#include "pliant.h"

/* The motion of a node due to the unknowns of a step: eta_ddot, eta_dot, eta, six numbers each. If nothing on a node or
 * beyond it requires eta, only the first two are used. Rows are padded to full vectors. */
enum { BY_A = 0, BY_V = 6, BY_Q = 12, MOTION = 18, NARROW = 12, WIDE = 20 };

typedef enum { PL_FRAME_FORCE, PL_RELATIVE_FORCE, PL_FRAME_CONSTRAINT } pl_link_sort;

/* A force or constraint between frames on several moving nodes: additional unknowns, six per frame. */
typedef struct pl_link {
  pl_link_sort sort;
  int index;             /* its index among those of its type */
  int count, first;      /* frames; its first unknown */
  size_t at;             /* index of its tangents in `link_C` and `link_K` */
  const int *nodes;
} pl_link;

typedef struct pl_tree {
  const pl_tables *T;
  const double *q, *v, *a, *lambda; /* of the state that was linearized */
  /* per node */
  int *width;                   /* NARROW or WIDE */
  int *inner;                   /* whether elements are based on it */
  int *loaded;                  /* its index in `load`, -1 for none */
  size_t *at_Z;                 /* index of its rows of Z */
  double *S, *I;                /* as in the workspace */
  double *Z, *P, *p, *z;        /* see tree_matrix.c */
  double *load;                 /* change of the wrench on a node by its own eta_ddot, eta_dot, eta: 6 x 6 each, by rows */
  /* per element; matrices by rows, rows of its rates with `stride` numbers */
  int *stride;                  /* rates, rounded up to whole vectors */
  size_t *at_own, *at_base;     /* indices of its blocks of k rows, and of six */
  double *own_M, *own_C, *own_K;    /* dr/da, dr/dv, dr/dq in addition to the contributions through the nodes */
  double *base_M, *base_C, *base_K; /* change of the wrench on its base by its own a, v, q; with inertias that are not rigid */
  double *by_A, *by_V;          /* change of its r by eta_ddot and eta_dot of its base, k x 6; with such inertias */
  double *D, *G, *U, *scale;    /* factors; see tree_matrix.c */
  int *pivot;
  int *force_element;           /* of every coordinate force */
  /* links and constraints */
  int n_link, n_beside;         /* how many links; unknowns beside the coordinates */
  pl_link *link;
  double *link_C, *link_K;
  double *left, *right, *corner, *corner_scale, *beside; /* their rows, H^-1 of their columns; n x n; n; n */
  int *corner_pivot;
  double *world[3];             /* temporary: an inertia in world axes, see pl_inertia_in_world */
  double *frames_C, *frames_K;  /* temporary: tangents of one force */
  double *weighted, *PZ, *sum;  /* temporary: k x stride, 6 x stride, 6 x WIDE */
  double *motion;               /* 6 numbers for eta_ddot, eta_dot and wrench of every node, in products */
  void *memory;
  size_t bytes;
} pl_tree;

/* tree_tangent.c. Null when there is no memory. */
pl_tree *pl_tree_new(const pl_tables *);
void pl_tree_free(pl_tree *);
/* All tangents at this state; after pl_unbalanced. */
void pl_tree_linearize(pl_work *, const double *q, const double *v, const double *a, const double *lambda);
/* Masses alone; after pl_inertias. */
void pl_tree_masses(pl_work *);

/* tree_matrix.c. PL_SINGULAR where a pivot is not sound; `blocks` is null for [M, -J'; J, 0] after pl_tree_masses. */
int pl_tree_factor(pl_work *, double cM, double cC, double cK, const double *blocks, const double *rows);
void pl_tree_solve(pl_work *, double *x);
void pl_tree_product(pl_work *, const double *a, const double *v, double *y);
void pl_tree_inertias(pl_work *, double *out);

#endif
