/* Numbers of one robot, for straight-line code of one robot that every thread of a GPU runs on its own. */
#ifndef FLEET_CUDA_H
#define FLEET_CUDA_H

#ifdef FLEET_SINGLE
typedef float real;
#else
typedef double real;
#endif
typedef real R;
typedef bool B;
enum { LANES = 1 };

/* one copy of each function, with its parts in one piece: their registers are shared out together */
#define FN static __device__ __noinline__
#define PART static __device__ __forceinline__
#define INLINE static __device__ __forceinline__
#define CONSTANT static __device__ const
#define K(x) ((real)(x))
#define R_OF(x) K(x)
#define B_OF(condition) (condition)
#define B_NOT(x) (!(x))
#define LANE(x, l) (x)
#ifndef INFINITY
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#endif

INLINE R f_choose(B c, R x, R y) { return c ? x : y; }
INLINE R f_pick(B c, R x) { return c ? x : K(0); }
INLINE R f_one(B c) { return c ? K(1) : K(0); }

INLINE bool any_lane(B x) { return x; }

#define ONE(name) \
  INLINE R f_##name(R x) { return name(x); }
#define TWO(name) \
  INLINE R f_##name(R x, R y) { return name(x, y); }
ONE(sqrt) ONE(fabs) ONE(floor) ONE(ceil) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh)
ONE(asinh) ONE(acosh) ONE(atanh) ONE(exp) ONE(log) ONE(log1p) ONE(expm1) ONE(erf)
TWO(atan2) TWO(fmod) TWO(copysign) TWO(hypot) TWO(pow)
#ifdef FLEET_SINGLE
INLINE void f_sincos(R x, R *sine, R *cosine) { sincosf(x, sine, cosine); }
#else
INLINE void f_sincos(R x, R *sine, R *cosine) { sincos(x, sine, cosine); }
#endif
/* the first of two equal numbers, as CasADi's virtual machine takes it */
INLINE R f_fmax(R x, R y) { return y > x || x != x ? y : x; }
INLINE R f_fmin(R x, R y) { return y < x || x != x ? y : x; }
INLINE R f_sign(R x) { return x < K(0) ? K(-1) : x > K(0) ? K(1) : x; }

#endif
