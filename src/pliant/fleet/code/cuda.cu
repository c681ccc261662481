/* A fleet on a GPU: one thread per robot. */
#include "cuda.h"

#include "arrays.h"
#include "robot.h"

#ifdef WITH_STEPS
#include "steps.h"
#include "loop.h"

extern "C" __global__ void fleet_step(fleet F, long long n, double h) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at < F.count) advance(&F, at, n, h);
}
#endif

#ifdef WITH_VALUES
#include "values.h"

extern "C" __global__ void fleet_values(fleet F) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at < F.count) evaluate(&F, at);
}
#endif
