/* Factors in double precision. */
typedef double number;
#define LANES 4

static inline unsigned enter(void) { return 0; }
static inline void leave(unsigned mode) { (void)mode; }

#include "front_numbers.h"

int pl_factor_double(pl_fronts *F, const pl_scaled_matrix *matrix) { return factor(F, matrix); }
void pl_solve_double(pl_fronts *F, double *x) { solve(F, x); }
