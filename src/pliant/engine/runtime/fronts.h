/* Factors by fronts; see fronts.c. */
#ifndef PL_FRONTS_H
#define PL_FRONTS_H

#include "pliant.h"

typedef struct pl_fronts pl_fronts;

/* The pattern is taken as symmetric (what is missing counts as zero); `order` is improved in place to one in which
 * children stand before their parents. With `whole` everything is one front: a dense matrix. */
pl_fronts *pl_fronts_new(int n, const int *colptr, const int *row, int *order, int whole);
void pl_fronts_free(pl_fronts *);
/* Factors of the scaled matrix, in single or double precision; columns whose pivot is below `singular_below` of their
 * largest entry, or below `smallest_share` of the entries below it, are rejected. */
int pl_fronts_factor(pl_fronts *, const double *values, const double *row_scale, const double *column_scale,
                     double singular_below, double smallest_share, int single);
/* With the factors made last, whose precision the solution has. */
void pl_fronts_solve(pl_fronts *, double *x);
/* Smallest pivot against its column in the last factorization: a measure of the accuracy of the solution without refinement. */
double pl_fronts_share(const pl_fronts *);
/* Multiplications that a factorization takes. */
double pl_fronts_work(const pl_fronts *);
/* Memory that it holds. */
size_t pl_fronts_bytes(const pl_fronts *);

#endif
