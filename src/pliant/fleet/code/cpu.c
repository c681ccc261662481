/* A fleet on the lanes of a processor. */
#include "lanes.h"

#define CONSTANT static const

#include "arrays.h"
#include "robot.h"

/* Single precision: numbers too small to matter count as zero, since processors are slow where digits are lost (subnormals). */
#if defined(FLEET_SINGLE) && defined(__SSE__)
#include <xmmintrin.h>
static unsigned tiny_as_zero(void) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  return before;
}
#define tiny_as_before(x) _mm_setcsr(x)
#else
static unsigned tiny_as_zero(void) { return 0; }
#define tiny_as_before(x) ((void)(x))
#endif

#ifdef WITH_STEPS
#include "steps.h"
#include "loop.h"

/* Steps of the robots in columns first to last, which are whole groups of lanes. */
void fleet_step(const fleet *F, long long first, long long last, long long n, double h) {
  const unsigned before = tiny_as_zero();
  for (long long at = first; at < last; at += LANES) advance(F, at, n, h);
  tiny_as_before(before);
}
#endif

#ifdef WITH_VALUES
#include "values.h"

void fleet_values(const fleet *F, long long first, long long last) {
  const unsigned before = tiny_as_zero();
  for (long long at = first; at < last; at += LANES) evaluate(F, at);
  tiny_as_before(before);
}
#endif
