/* A loop in several threads, for the few computations that are long enough.
 *
  * A caller offers its loop to waiting helper threads, and processes parts of it itself until none are left. So it never waits
  * for a
  * thread that the system has not woken yet, only for one in the middle of a part; and the result of each part does not depend on
  * the
  * thread. Helper threads serve one caller at a time: others run their loops alone.
 *
 * Compiled with PL_WITH_THREADS only (POSIX threads); without it, as in exported C, loops run in the caller. */
#include "threads.h"

#ifdef PL_WITH_THREADS
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_HELPERS 3

static struct {
  pthread_mutex_t serving; /* held by the caller that the helper threads serve */
  pthread_mutex_t lock;    /* guards what follows */
  pthread_cond_t offered, idle;
  pl_part part;            /* null while nothing is offered */
  const void *loop;
  int count, size, helpers, busy;
  atomic_int next;         /* first index that has not been taken yet */
} pool = {.serving = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .offered = PTHREAD_COND_INITIALIZER,
          .idle = PTHREAD_COND_INITIALIZER};

static atomic_int limit; /* 0: not requested yet */

static void take_parts(void) {
  const int count = pool.count, size = pool.size;
  for (int begin; (begin = atomic_fetch_add(&pool.next, size)) < count;)
    pool.part(pool.loop, begin, begin + size < count ? begin + size : count);
}

static void *help(void *unused) {
  (void)unused;
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    while (!pool.part || atomic_load(&pool.next) >= pool.count) pthread_cond_wait(&pool.offered, &pool.lock);
    pool.busy++;
    pthread_mutex_unlock(&pool.lock);
    take_parts();
    pthread_mutex_lock(&pool.lock);
    if (!--pool.busy) pthread_cond_signal(&pool.idle);
  }
  return NULL;
}

/* Threads do not exist in a forked process, where their locks must be released. */
static void in_child(void) {
  pthread_mutex_init(&pool.serving, NULL), pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.offered, NULL), pthread_cond_init(&pool.idle, NULL);
  pool.part = NULL, pool.helpers = pool.busy = 0;
}

static void start_helpers(int wanted) {
  static int prepared;
  if (!prepared) prepared = pthread_atfork(NULL, NULL, in_child) == 0;
  while (prepared && pool.helpers < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, help, NULL)) return;
    pthread_detach(thread);
    pool.helpers++;
  }
}

void pl_use_threads(int most) {
  if (most < 1) most = (int)sysconf(_SC_NPROCESSORS_ONLN);
  atomic_store(&limit, most < 1 ? 1 : most > MOST_HELPERS + 1 ? MOST_HELPERS + 1 : most);
}

static int threads(void) {
  if (!atomic_load(&limit)) {
    const char *asked = getenv("PLIANT_THREADS");
    pl_use_threads(asked ? atoi(asked) : 0);
  }
  return atomic_load(&limit);
}

void pl_in_parts(int count, int size, pl_part part, const void *loop) {
  const int wanted = threads() - 1;
  if (wanted < 1 || count <= size || pthread_mutex_trylock(&pool.serving)) {
    part(loop, 0, count);
    return;
  }
  pthread_mutex_lock(&pool.lock);
  start_helpers(wanted);
  pool.part = part, pool.loop = loop, pool.count = count, pool.size = size;
  atomic_store(&pool.next, 0);
  pthread_cond_broadcast(&pool.offered);
  pthread_mutex_unlock(&pool.lock);
  take_parts();
  pthread_mutex_lock(&pool.lock);
  while (pool.busy) pthread_cond_wait(&pool.idle, &pool.lock);
  pool.part = NULL;
  pthread_mutex_unlock(&pool.lock);
  pthread_mutex_unlock(&pool.serving);
}

#else

void pl_in_parts(int count, int size, pl_part part, const void *loop) {
  (void)size;
  part(loop, 0, count);
}

void pl_use_threads(int most) { (void)most; }

#endif
