/* A loop in several threads; see threads.c. */
#ifndef PL_THREADS_H
#define PL_THREADS_H

#include "pliant.h"

/* Does the part from `begin` to `end` of a loop. Parts run concurrently and must be independent. */
typedef void (*pl_part)(const void *loop, int begin, int end);

/* Does a loop over 0 ... count in parts of `size`, some of them in other threads where there are any. */
void pl_in_parts(int count, int size, pl_part part, const void *loop);
/* Set the maximum number of threads, including the caller's: 1 for no others, 0 for the number of processors. */
void pl_use_threads(int most);

#endif
