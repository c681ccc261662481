/* A fleet on a GPU whose robots the runtime steps: one thread per robot, with an arena each. */
#include "device_library.h"

typedef double real;
namespace {
#include "robot.h"

#include "fleet.h"
#include "robots.h"

/* The memory of robot `at`, of `bytes` each, becomes that of this thread. */
__device__ void use_arena(char *memory, long long bytes, long long at) { arenas[threadIdx.x] = (arena *)(memory + at * bytes); }
}

extern "C" __global__ void fleet_make(fleet F, char *memory, long long bytes) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= F.count) return;
  use_arena(memory, bytes, at);
  arena *a = arenas[threadIdx.x];
  a->size = (size_t)(bytes - (arena_begin(a) - (char *)a)), a->used = a->most = 0;
  make(&F, at);
}

extern "C" __global__ void fleet_step(fleet F, char *memory, long long bytes, long long n, double h) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= F.count) return;
  use_arena(memory, bytes, at);
  advance(&F, at, n, h);
}

extern "C" __global__ void fleet_values(fleet F, char *memory, long long bytes, int frame) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= F.count) return;
  use_arena(memory, bytes, at);
  evaluate(&F, at, frame);
}

/* How much of its arena each robot has used at most [bytes]. */
extern "C" __global__ void fleet_memory(long long count, char *memory, long long bytes, long long *most) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  arena *a = (arena *)(memory + at * bytes);
  most[at] = (long long)(a->most + (size_t)(arena_begin(a) - (char *)a));
}
