/* Factors in single precision: half the memory, and twice as many numbers at a time. */
typedef float number;
#define LANES 8

/* What decays over a large mesh falls below the range of these numbers. On the way there are some with fewer digits, for each of
 * which x86 processors take some hundred cycles unless they are set to flush them to zero. */
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

/* Brought near one first: numbers of single precision have a smaller range. */
void pl_solve_single(pl_fronts *F, double *x) {
  double size = 0;
  for (int i = 0; i < F->n; ++i) size = larger(fabs(x[i]), size);
  if (!(size > 0 && size < INFINITY)) return; /* solved, or beyond solving */
  const unsigned mode = enter();
  for (int i = 0; i < F->n; ++i) x[i] /= size;
  solve(F, x);
  leave(mode);
  for (int i = 0; i < F->n; ++i) x[i] *= size;
}
