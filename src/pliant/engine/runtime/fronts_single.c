/* Factors in single precision: half the memory, and twice as many numbers per vector. */
typedef float number;
#define LANES 8

/* Values that decay over a large mesh fall below the range of these numbers. Denormal numbers take some hundred cycles each on
 * x86 processors, unless they are flushed to zero. */
#ifdef __SSE2__
#include <immintrin.h>
#define TINY_ARE_ZERO 0x8040u
static inline unsigned enter(void) {
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | TINY_ARE_ZERO);
  return mode;
}
static inline void leave(unsigned mode) { _mm_setcsr(mode); }
#else
static inline unsigned enter(void) { return 0; }
static inline void leave(unsigned mode) { (void)mode; }
#endif

#include "front_numbers.h"

int pl_factor_single(pl_fronts *F, const pl_scaled_matrix *matrix) {
  const unsigned mode = enter();
  const int status = factor(F, matrix);
  leave(mode);
  return status;
}

/* Scaled to about one first: single precision has a smaller range. */
void pl_solve_single(pl_fronts *F, double *x) {
  double size = 0;
  for (int i = 0; i < F->n; ++i) size = larger(fabs(x[i]), size);
  if (!(size > 0 && size < INFINITY)) return; /* solved, or not solvable */
  const unsigned mode = enter();
  for (int i = 0; i < F->n; ++i) x[i] /= size;
  solve(F, x);
  leave(mode);
  for (int i = 0; i < F->n; ++i) x[i] *= size;
}
