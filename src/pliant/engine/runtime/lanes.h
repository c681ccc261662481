/* Several instances of one type at once: `pl_lanes` contains one number of each, and every operation acts on all of them.
 *
 * The arguments of such kernels are interleaved, number by number. Each lane is rounded as it would be alone.
 * Compilers without vector types have one lane.
 */
#ifndef PLIANT_LANES_H
#define PLIANT_LANES_H

#include <math.h>

#ifdef __GNUC__
/* nothing of this type is passed between files by value */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#elif __has_warning("-Wpsabi") /* earlier versions do not know it */
#pragma clang diagnostic ignored "-Wpsabi"
#endif
enum { PL_WIDTH = 4 };
typedef double pl_lanes __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long pl_mask __attribute__((vector_size(32)));

static inline pl_lanes pl_lanes_of(double x) { return (pl_lanes){x, x, x, x}; }

#define PL_LANE(x, l) ((x)[l])
#define PL_PER_LANE(function, x) ((pl_lanes){function((x)[0]), function((x)[1]), function((x)[2]), function((x)[3])})
#define PL_PER_LANE_TWO(function, x, y) \
  ((pl_lanes){function((x)[0], (y)[0]), function((x)[1], (y)[1]), function((x)[2], (y)[2]), function((x)[3], (y)[3])})
/* conditions are masks */
#define PL_MASK(condition) ((pl_mask)(condition))
#define PL_NOT(c) (~(c))
/* x where c holds, else y: a macro, because GCC warns if masks are passed to functions */
#define pl_choose(c, x, y) ((pl_lanes)(((c) & (pl_mask)(x)) | (~(c) & (pl_mask)(y))))
#define lanes_pick(c, x) ((pl_lanes)((c) & (pl_mask)(x)))
#else
enum { PL_WIDTH = 1 };
typedef double pl_lanes;
typedef int pl_mask;

static inline pl_lanes pl_lanes_of(double x) { return x; }

#define PL_LANE(x, l) (x)
#define PL_PER_LANE(function, x) function(x)
#define PL_PER_LANE_TWO(function, x, y) function(x, y)
#define PL_MASK(condition) (condition)
#define PL_NOT(c) (!(c))
#define pl_choose(c, x, y) ((c) ? (x) : (y))
#define lanes_pick(c, x) ((c) ? (x) : 0.0)
#endif

#define PL_EACH(name, function) \
  static inline pl_lanes name(pl_lanes x) { return PL_PER_LANE(function, x); }
#define PL_EACH_TWO(name, function) \
  static inline pl_lanes name(pl_lanes x, pl_lanes y) { return PL_PER_LANE_TWO(function, x, y); }

/* Operations used in C code from CasADi. */
PL_EACH(lanes_sin, sin)
PL_EACH(lanes_cos, cos)
PL_EACH(lanes_tan, tan)
PL_EACH(lanes_asin, asin)
PL_EACH(lanes_acos, acos)
PL_EACH(lanes_atan, atan)
PL_EACH(lanes_sinh, sinh)
PL_EACH(lanes_cosh, cosh)
PL_EACH(lanes_tanh, tanh)
PL_EACH(lanes_asinh, asinh)
PL_EACH(lanes_acosh, acosh)
PL_EACH(lanes_atanh, atanh)
PL_EACH(lanes_exp, exp)
PL_EACH(lanes_log, log)
PL_EACH(lanes_log1p, log1p)
PL_EACH(lanes_expm1, expm1)
PL_EACH(lanes_sqrt, sqrt)
PL_EACH(lanes_fabs, fabs)
PL_EACH(lanes_floor, floor)
PL_EACH(lanes_ceil, ceil)
PL_EACH(lanes_erf, erf)
PL_EACH_TWO(lanes_atan2, atan2)
PL_EACH_TWO(lanes_fmod, fmod)
PL_EACH_TWO(lanes_copysign, copysign)
PL_EACH_TWO(lanes_hypot, hypot)

PL_EACH_TWO(pl_each_pow, pow)
/* zero exponents, as of linear laws, are common and need no logarithm */
static inline pl_lanes lanes_pow(pl_lanes x, pl_lanes y) {
  int nonzero = 0;
  for (int l = 0; l < PL_WIDTH; ++l) nonzero |= PL_LANE(y, l) != 0;
  return nonzero ? pl_each_pow(x, y) : pl_lanes_of(1);
}

static inline void lanes_sincos(pl_lanes x, pl_lanes *sine, pl_lanes *cosine) { *sine = lanes_sin(x), *cosine = lanes_cos(x); }
#define lanes_one(c) lanes_pick(c, pl_lanes_of(1))
/* the first of two equal numbers, as in CasADi's virtual machine */
static inline pl_lanes lanes_fmax(pl_lanes x, pl_lanes y) { return pl_choose((y > x) | (x != x), y, x); }
static inline pl_lanes lanes_fmin(pl_lanes x, pl_lanes y) { return pl_choose((y < x) | (x != x), y, x); }
static inline pl_lanes lanes_sign(pl_lanes x) {
  const pl_lanes zero = pl_lanes_of(0);
  return pl_choose(x < zero, pl_lanes_of(-1), pl_choose(x > zero, pl_lanes_of(1), x));
}

#endif
