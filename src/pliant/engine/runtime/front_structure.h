/* Fronts of a matrix as fronts.c finds them, and what eliminates them in one precision or the other (front_numbers.h). */
#ifndef PL_FRONT_STRUCTURE_H
#define PL_FRONT_STRUCTURE_H

#include "fronts.h"

typedef struct front {
  int first, pivots, shared; /* first pivot, how many, and the number of rows shared with fronts above */
  int parent, child, sibling; /* fronts, -1 for none: `child` is the last of its children, `sibling` the one before */
  int values;                /* first of the matrix's values that belong to it in `entries` */
  size_t index, rows;        /* where its shared rows stand in `index`, and in `target` */
  size_t at;                 /* where its numbers stand in `factors` */
  size_t rest, left;         /* where its shared part is added up in `stack`, and where what is left of it waits for its parent */
  int branch;                /* that it belongs to */
  double zeros;              /* of them, those that are there only because fronts were merged */
} front;

/* Fronts that are eliminated together, in a separate part of the stack: a subtree, which is independent of other ones; or the
 * trunk, all that is above the subtrees. */
typedef struct branch {
  int begin, end;  /* its fronts are among these */
  int *map, *run;  /* where rows of a child stand in its parent, and the end of the run that they belong to: rows side by side in both */
  void *shared;    /* numbers of a front's shared rows, in solutions */
  int above;       /* where in `y` a subtree adds up what it hands on to the trunk, row by row of its last front's shared ones */
  double share;    /* its smallest pivot, as that of all fronts */
  int status;
} branch;

enum { PL_MOST_BRANCHES = 16 };

/* One value of the matrix: which, its row and column, and where it goes in its front. */
typedef struct entry {
  int value, row, column, slot;
} entry;

struct pl_fronts {
  int n, count;
  const int *colptr, *row;
  int *order;      /* column at each place */
  front *fronts;
  int *index;      /* shared rows of all fronts, as places in ascending order */
  int *target;     /* of each of them, where in `y` solutions add to it: its place, or in a subtree the sum for the trunk */
  entry *entries;  /* front by front */
  branch branches[PL_MOST_BRANCHES + 1]; /* `subtrees` of them, and then the trunk */
  int subtrees, above; /* how many there are, and the number of rows that they hand on to the trunk */
  void *factors, *stack, *y; /* numbers of one precision or the other */
  double *least;   /* by place, what a pivot must exceed */
  size_t size, waiting, rows; /* numbers in `factors`, at most in `stack`, and in `target` */
  double work;     /* multiplications of a factorization */
  int single;      /* whether the factors are in single precision */
  int count_of_values, widest; /* the largest number of shared rows */
  int *pivot;      /* row that was exchanged for each place's */
  double share;    /* the smallest pivot against what stood below it */
  void *block;     /* holds all arrays but `fronts` and `index` */
  size_t bytes;    /* of that block */
};

/* The matrix to be factorized, and which pivots are sound. */
typedef struct pl_scaled_matrix {
  const double *values, *row_scale, *column_scale;
  double singular_below, smallest_share;
} pl_scaled_matrix;

int pl_factor_double(pl_fronts *, const pl_scaled_matrix *);
int pl_factor_single(pl_fronts *, const pl_scaled_matrix *);
void pl_solve_double(pl_fronts *, double *x);
void pl_solve_single(pl_fronts *, double *x);

#endif
