/* Which level of the x86-64 instruction set this processor and its operating system offer: 1 or 3; 0 elsewhere.
   It decides which of the compiled variants are loaded, so it is built for the lowest level. */

#if defined(_WIN32)
#define PL_EXPORT __declspec(dllexport)
#else
#define PL_EXPORT
#endif

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned saved_registers(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static int has(unsigned word, unsigned bits) { return (word & bits) == bits; }

PL_EXPORT int pl_processor_level(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
  /* SSE3, SSSE3, FMA, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C */
  if (!has(c, 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29))
    return 1;
  if (!has(saved_registers(), 0x6)) return 1;
  if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !has(c, 1u << 0 | 1u << 5)) return 1; /* LAHF, LZCNT */
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && has(b, 1u << 3 | 1u << 5 | 1u << 8) ? 3 : 1; /* BMI1, AVX2, BMI2 */
}
#else
PL_EXPORT int pl_processor_level(void) { return 0; }
#endif
