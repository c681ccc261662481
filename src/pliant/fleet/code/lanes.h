/* Numbers of several robots side by side, one per lane of the processor's vectors, for straight-line code of one robot.
 *
 * R holds one number of each robot, B one boolean. Every operation acts on all lanes; there are no branches on values, so
 * a robot's numbers depend on no other's. Compilers without vector types have one lane. */
#ifndef FLEET_LANES_H
#define FLEET_LANES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define FN static
#define PART static
#define INLINE static inline
#define K(x) ((real)(x))

#ifdef FLEET_SINGLE
typedef float real;
typedef int32_t bits;
#define SIGN_BIT INT32_MIN
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#define EACH(name) name##f
#else
typedef double real;
typedef int64_t bits;
#define SIGN_BIT INT64_MIN
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
#define EACH(name) name
#endif

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wpsabi" /* nothing of these types is passed between files */
#ifdef __AVX512F__
#define FLEET_BYTES 64
#else
#define FLEET_BYTES 32
#endif
enum { LANES = FLEET_BYTES / sizeof(real) };
typedef real R __attribute__((vector_size(FLEET_BYTES)));
typedef bits B __attribute__((vector_size(FLEET_BYTES)));
#define R_OF(x) ((R){0} + K(x))
#define B_OF(condition) ((B)(condition))
#define B_NOT(x) (~(x))
#define LANE(x, l) ((x)[l])
#define f_choose(c, x, y) ((R)(((c) & (B)(x)) | (~(c) & (B)(y))))
#define f_pick(c, x) ((R)((c) & (B)(x)))
#define AS_BITS(x) ((B)(x))
#define AS_NUMBER(x) ((R)(x))
#define TO_BITS(x) __builtin_convertvector(x, B)
#define TO_NUMBER(x) __builtin_convertvector(x, R)
#else
#include <string.h>
enum { LANES = 1 };
typedef real R;
typedef bits B;
#define R_OF(x) K(x)
#define B_OF(condition) (-(bits)(condition))
#define B_NOT(x) (~(x))
#define LANE(x, l) (*((void)(l), &(x)))
#define f_choose(c, x, y) ((c) ? (x) : (y))
#define f_pick(c, x) ((c) ? (x) : K(0))
INLINE bits AS_BITS(real x) { bits y; memcpy(&y, &x, sizeof y); return y; }
INLINE real AS_NUMBER(bits x) { real y; memcpy(&y, &x, sizeof y); return y; }
#define TO_BITS(x) ((bits)(x))
#define TO_NUMBER(x) ((real)(x))
#endif
#define f_one(c) f_pick(c, R_OF(1))
#define ALL(x, y) for (int l = 0; l < LANES; ++l) LANE(y, l) = (x)

INLINE int any_lane(B x) {
  bits found = 0;
  for (int l = 0; l < LANES; ++l) found |= LANE(x, l);
  return found != 0;
}

/* -- functions --------------------------------------------------------------------------------------------------------- */

#define PER_LANE(name) \
  INLINE R f_##name(R x) { \
    R y; \
    for (int l = 0; l < LANES; ++l) LANE(y, l) = EACH(name)(LANE(x, l)); \
    return y; \
  }
#define PER_LANE_TWO(name) \
  INLINE R f_##name(R x, R z) { \
    R y; \
    for (int l = 0; l < LANES; ++l) LANE(y, l) = EACH(name)(LANE(x, l), LANE(z, l)); \
    return y; \
  }
PER_LANE(sqrt) PER_LANE(fabs) PER_LANE(floor) PER_LANE(ceil) /* one instruction each */
PER_LANE(tan) PER_LANE(asin) PER_LANE(acos) PER_LANE(atan) PER_LANE(sinh) PER_LANE(cosh) PER_LANE(tanh) PER_LANE(asinh)
PER_LANE(acosh) PER_LANE(atanh) PER_LANE(log) PER_LANE(log1p) PER_LANE(expm1) PER_LANE(erf)
PER_LANE_TWO(atan2) PER_LANE_TWO(fmod) PER_LANE_TWO(copysign) PER_LANE_TWO(hypot) PER_LANE_TWO(pow)

/* the first of two equal numbers, as CasADi's virtual machine takes it */
INLINE R f_fmax(R x, R y) { return f_choose(B_OF(y > x) | B_OF(x != x), y, x); }
INLINE R f_fmin(R x, R y) { return f_choose(B_OF(y < x) | B_OF(x != x), y, x); }
INLINE R f_sign(R x) { return f_choose(B_OF(x < R_OF(0)), R_OF(-1), f_choose(B_OF(x > R_OF(0)), R_OF(1), x)); }

/* Rounds to the nearest whole number, for |x| < 2^(MANTISSA_BITS - 1): adding 1.5 * 2^MANTISSA_BITS leaves it in the last bits. */
#define ROUNDER ((real)3 * (real)((bits)1 << (MANTISSA_BITS - 1)))

/* Sine and cosine: x = n pi/2 + y with |y| <= pi/4 in three parts of pi/2, then polynomials (those of the Cephes library, S. L.
 * Moshier). Angles beyond LARGEST_ANGLE, to which pi is not known well enough here, go to the library one by one. */
#ifdef FLEET_SINGLE
#define LARGEST_ANGLE K(8192)
#define HALF_PI_1 K(1.5703125)
#define HALF_PI_2 K(4.837512969970703125e-4)
#define HALF_PI_3 K(7.549789948768648e-8)
INLINE R sine_part(R y, R z) { return y + y * z * ((K(-1.9515295891e-4) * z + K(8.3321608736e-3)) * z - K(1.6666654611e-1)); }
INLINE R cosine_part(R z) {
  return K(1) - K(0.5) * z + z * z * ((K(2.443315711809948e-5) * z - K(1.388731625493765e-3)) * z + K(4.166664568298827e-2));
}
#else
#define LARGEST_ANGLE K(1048576)
#define HALF_PI_1 K(1.57079625129699707031e0)
#define HALF_PI_2 K(7.54978941586159635335e-8)
#define HALF_PI_3 K(5.39030285815811905290e-15)
INLINE R sine_part(R y, R z) {
  R p = K(1.58962301576546568060e-10) * z - K(2.50507477628578072866e-8);
  p = p * z + K(2.75573136213857245213e-6);
  p = p * z - K(1.98412698295895385996e-4);
  p = p * z + K(8.33333333332211858878e-3);
  p = p * z - K(1.66666666666666307295e-1);
  return y + y * z * p;
}
INLINE R cosine_part(R z) {
  R p = K(-1.13585365213876817300e-11) * z + K(2.08757008419747316778e-9);
  p = p * z - K(2.75573141792967388112e-7);
  p = p * z + K(2.48015872888517045348e-5);
  p = p * z - K(1.38888888888730564116e-3);
  p = p * z + K(4.16666666666665929218e-2);
  return K(1) - K(0.5) * z + z * z * p;
}
#endif

FN void f_sincos(R x, R *sine, R *cosine) {
  const R shifted = x * K(0.63661977236758134308) + ROUNDER, n = shifted - ROUNDER;
  const B quarter = AS_BITS(shifted); /* its last two bits are n modulo 4 */
  const R y = ((x - n * HALF_PI_1) - n * HALF_PI_2) - n * HALF_PI_3, z = y * y;
  const R s = sine_part(y, z), c = cosine_part(z);
  const B odd = B_OF((quarter & 1) != 0);
  const B top = (B){0} + SIGN_BIT;
  const B s_sign = B_OF((quarter & 2) != 0) & top, c_sign = B_OF(((quarter + 1) & 2) != 0) & top;
  R a = AS_NUMBER(AS_BITS(f_choose(odd, c, s)) ^ s_sign), b = AS_NUMBER(AS_BITS(f_choose(odd, s, c)) ^ c_sign);
  const B far = B_NOT(B_OF(f_fabs(x) <= R_OF(LARGEST_ANGLE)));
  if (any_lane(far))
    for (int l = 0; l < LANES; ++l)
      if (LANE(far, l)) LANE(a, l) = EACH(sin)(LANE(x, l)), LANE(b, l) = EACH(cos)(LANE(x, l));
  *sine = a, *cosine = b;
}

INLINE R f_sin(R x) {
  R s, c;
  f_sincos(x, &s, &c);
  return s;
}

INLINE R f_cos(R x) {
  R s, c;
  f_sincos(x, &s, &c);
  return c;
}

/* exp(x) = 2^n exp(y) with |y| <= log(2)/2; beyond the range of numbers 0 or infinity. */
FN R f_exp(R x) {
#ifdef FLEET_SINGLE
  const R least = R_OF(-87.3), most = R_OF(88.72);
#else
  const R least = R_OF(-708.3), most = R_OF(709.7);
#endif
  const R inside = f_fmin(f_fmax(x, least), most);
  const R shifted = inside * K(1.44269504088896340736) + ROUNDER, n = shifted - ROUNDER;
#ifdef FLEET_SINGLE
  const R y = (inside - n * K(0.693359375)) - n * K(-2.12194440e-4);
  R p = K(1.9875691500e-4) * y + K(1.3981999507e-3);
  p = p * y + K(8.3334519073e-3);
  p = p * y + K(4.1665795894e-2);
  p = p * y + K(1.6666665459e-1);
  p = p * y + K(5.0000001201e-1);
  const R value = p * y * y + y + K(1);
#else
  const R y = (inside - n * K(6.93145751953125e-1)) - n * K(1.42860682030941723212e-6), z = y * y;
  const R a = y * ((K(1.26177193074810590878e-4) * z + K(3.02994407707441961300e-2)) * z + K(9.99999999999999999910e-1));
  const R b = ((K(3.00198505138664455042e-6) * z + K(2.52448340349684104192e-3)) * z + K(2.27265548208155028766e-1)) * z + K(2);
  const R value = K(1) + K(2) * (a / (b - a));
#endif
  /* 2^n in two factors, since n may be one more than the largest exponent */
  const B whole = TO_BITS(n), half = whole >> 1;
  const R first = AS_NUMBER((half + EXPONENT_BIAS) << MANTISSA_BITS), second = AS_NUMBER((whole - half + EXPONENT_BIAS) << MANTISSA_BITS);
  R found = value * first * second;
  found = f_choose(B_OF(x < least), R_OF(0), found);
  found = f_choose(B_OF(x > most), R_OF(INFINITY), found);
  return f_choose(B_OF(x != x), x, found);
}

#endif
