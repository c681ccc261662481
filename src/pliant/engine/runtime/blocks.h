/* Many arrays in one block of memory.
 *
 * A function that places the arrays of a structure runs twice: without a block, to find how large it must be, and with it.
 * Each array starts on a cache line, so that wide loads and stores stay within one. */
#ifndef PLIANT_BLOCKS_H
#define PLIANT_BLOCKS_H

#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define PL_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PL_GUARDED 1
#endif
#endif

#ifdef PL_GUARDED /* memory between two arrays must not be accessed */
#include <sanitizer/asan_interface.h>
#define PL_GUARD(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#else
#define PL_GUARD(start, bytes) ((void)(start))
#endif

enum { PL_CACHE_LINE = 64 };

typedef struct pl_memory {
  char *block; /* null while sizes are summed */
  size_t used;
} pl_memory;

static inline void *pl_place(pl_memory *m, size_t bytes) {
  const size_t taken = (bytes / PL_CACHE_LINE + 2) * PL_CACHE_LINE;
  char *start = m->block ? m->block + m->used : NULL;
  if (start) PL_GUARD(start + bytes, taken - bytes);
  m->used += taken;
  return start;
}

static inline double *pl_doubles(pl_memory *m, size_t n) { return (double *)pl_place(m, n * sizeof(double)); }
static inline int *pl_ints(pl_memory *m, size_t n) { return (int *)pl_place(m, n * sizeof(int)); }

/* A block of zeros for the arrays placed so far, to be freed by the caller; null without memory. */
static inline void *pl_block(pl_memory *m) {
  char *allocated = (char *)calloc(1, m->used + PL_CACHE_LINE);
  if (allocated) m->block = allocated + (PL_CACHE_LINE - (size_t)allocated % PL_CACHE_LINE) % PL_CACHE_LINE;
  m->used = 0;
  return allocated;
}

#endif
