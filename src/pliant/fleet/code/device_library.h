/* What the runtime uses of the C library, on a GPU. Memory of a robot comes from an arena of its own. */
#define restrict __restrict__
#define NOT_INLINED __noinline__
#define PL_COMPACT
#define _Static_assert(...) /* checked where the same code is compiled for the processor */
#define offsetof(type, member) ((size_t)((char *)&((type *)16)->member - (char *)16))
#ifndef INFINITY
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#endif
#define DBL_EPSILON 2.220446049250313e-16
#define DBL_MAX 1.7976931348623157e308
#define DBL_MIN 2.2250738585072014e-308
#define FLT_EPSILON 1.1920929e-7f
#define FLT_MAX 3.402823466e38f
#define FLT_MIN 1.175494351e-38f
#define INT_MAX 2147483647

enum { ARENA_UNIT = 16 };

/* Blocks of memory one after the other, each behind a head; `used` is the end of the last one, `most` the largest end so far. */
typedef struct arena {
  size_t size, used, most;
} arena;
typedef struct arena_block {
  size_t size; /* of the block with its head; a multiple of ARENA_UNIT */
  size_t is_free;
} arena_block;

extern __shared__ arena *arenas[]; /* that of each thread of a block */

__device__ static char *arena_begin(arena *a) { return (char *)a + (sizeof(arena) + ARENA_UNIT - 1) / ARENA_UNIT * ARENA_UNIT; }

/* The first free block that is large enough, free neighbours taken together, or a new one at the end. */
__device__ static void *arena_take(arena *a, size_t bytes) {
  const size_t size = (bytes + sizeof(arena_block) + ARENA_UNIT - 1) / ARENA_UNIT * ARENA_UNIT;
  char *begin = arena_begin(a), *end = begin + a->used;
  for (char *at = begin; at < end; at += ((arena_block *)at)->size) {
    arena_block *x = (arena_block *)at;
    if (!x->is_free) continue;
    for (char *next = at + x->size; next < end && ((arena_block *)next)->is_free; next = at + x->size) x->size += ((arena_block *)next)->size;
    if (at + x->size >= end) { /* the last one: given back */
      a->used = (size_t)(at - begin);
      break;
    }
    if (x->size < size) continue;
    if (x->size >= size + 2 * sizeof(arena_block)) {
      arena_block *rest = (arena_block *)(at + size);
      rest->size = x->size - size, rest->is_free = 1, x->size = size;
    }
    x->is_free = 0;
    return x + 1;
  }
  if (a->used + size > a->size) return 0;
  arena_block *x = (arena_block *)(begin + a->used);
  x->size = size, x->is_free = 0;
  a->used += size;
  if (a->used > a->most) a->most = a->used;
  return x + 1;
}

__device__ static void *robot_malloc(size_t bytes) { return arena_take(arenas[threadIdx.x], bytes); }
__device__ static void robot_free_memory(void *x) {
  if (x) ((arena_block *)x - 1)->is_free = 1;
}
__device__ static void *robot_calloc(size_t n, size_t size) {
  void *x = robot_malloc(n * size);
  if (x) memset(x, 0, n * size);
  return x;
}
__device__ static void *robot_realloc(void *old, size_t size) {
  void *x = robot_malloc(size);
  if (x && old) {
    const size_t had = ((arena_block *)old - 1)->size - sizeof(arena_block);
    memcpy(x, old, had < size ? had : size);
    robot_free_memory(old);
  }
  return x;
}
__device__ static void robot_memmove(void *to, const void *from, size_t n) {
  unsigned char *x = (unsigned char *)to;
  const unsigned char *y = (const unsigned char *)from;
  if (x < y)
    for (size_t i = 0; i < n; ++i) x[i] = y[i];
  else
    for (size_t i = n; i-- > 0;) x[i] = y[i];
}
__device__ static int robot_memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
  for (size_t i = 0; i < n; ++i)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
__device__ static int robot_strcmp(const char *x, const char *y) {
  for (; *x && *x == *y; ++x) ++y;
  return (int)(unsigned char)*x - (int)(unsigned char)*y;
}
/* By insertion: lists are short, or nearly in order. */
__device__ static void robot_qsort(void *base, size_t n, size_t size, int (*order)(const void *, const void *)) {
  char *x = (char *)base;
  for (size_t i = 1; i < n; ++i)
    for (size_t j = i; j && order(x + (j - 1) * size, x + j * size) > 0; --j)
      for (size_t k = 0; k < size; ++k) {
        const char c = x[(j - 1) * size + k];
        x[(j - 1) * size + k] = x[j * size + k], x[j * size + k] = c;
      }
}
__device__ static void *robot_bsearch(const void *key, const void *base, size_t n, size_t size,
                                      int (*order)(const void *, const void *)) {
  size_t low = 0, high = n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const char *x = (const char *)base + middle * size;
    const int c = order(key, x);
    if (!c) return (void *)x;
    if (c < 0) high = middle;
    else low = middle + 1;
  }
  return 0;
}
#define malloc robot_malloc
#define free robot_free_memory
#define calloc robot_calloc
#define realloc robot_realloc
#define memmove robot_memmove
#define memcmp robot_memcmp
#define strcmp robot_strcmp
#define qsort robot_qsort
#define bsearch robot_bsearch
