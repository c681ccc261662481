/* @title@: steps many robots on a GPU and says how fast.
 *     nvcc -O3 -arch=native -o fleet main.cu        (single precision: -DFLEET_SINGLE -ftz=true)
 *     ./fleet [ROBOTS [STEPS]]
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fleet.cu"

static const double START_Q[] = {@q@}, START_V[] = {@v@}, INPUTS[] = {@u@};

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/* An array on the GPU with `n` rows, all robots alike. */
static real *rows(const double *values, int n, long long count) {
  std::vector<real> all((size_t)(n > 0 ? n : 1) * count);
  for (int i = 0; i < n; ++i)
    for (long long k = 0; k < count; ++k) all[(size_t)i * count + k] = (real)values[i];
  real *there;
  check(cudaMalloc(&there, all.size() * sizeof(real)), "memory on the GPU");
  check(cudaMemcpy(there, all.data(), all.size() * sizeof(real), cudaMemcpyHostToDevice), "copy to the GPU");
  return there;
}

int main(int argc, char **argv) {
  const long long count = argc > 1 ? std::atoll(argv[1]) : 65536, steps = argc > 2 ? std::atoll(argv[2]) : 1000;
  const double step = @step@; /* [s] */
  const int block = 64;
  if (count < 1 || steps < 1) return std::fprintf(stderr, "give numbers of robots and steps above zero\n"), 2;
  fleet F = {};
  F.q = rows(START_Q, NQ, count), F.v = rows(START_V, NV, count), F.u = rows(INPUTS, NU, count), F.c = rows(START_Q, 0, count);
  check(cudaMalloc(&F.time, count * sizeof(double)), "memory on the GPU");
  check(cudaMalloc(&F.status, count * sizeof(int)), "memory on the GPU");
  check(cudaMemset(F.time, 0, count * sizeof(double)), "times");
  check(cudaMemset(F.status, 0, count * sizeof(int)), "status");
  F.stride = F.count = count;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  cudaEventRecord(begin);
  fleet_step<<<(unsigned)((count + block - 1) / block), block>>>(F, steps, step);
  check(cudaGetLastError(), "launch");
  cudaEventRecord(end);
  check(cudaEventSynchronize(end), "steps");
  float milliseconds;
  cudaEventElapsedTime(&milliseconds, begin, end);
  std::vector<int> status(count);
  std::vector<real> q((size_t)NQ * count);
  check(cudaMemcpy(status.data(), F.status, count * sizeof(int), cudaMemcpyDeviceToHost), "copy");
  check(cudaMemcpy(q.data(), F.q, q.size() * sizeof(real), cudaMemcpyDeviceToHost), "copy");
  long long failed = 0;
  for (int x : status) failed += x != 0;
  std::printf("%lld robots, %lld steps of %g s: %.3g steps/s; %lld failed\n", count, steps, step,
              1e3 * (double)count * (double)steps / milliseconds, failed);
  std::printf("positions of the first robot:");
  for (int i = 0; i < NQ; ++i) std::printf(" %.9g", (double)q[(size_t)i * count]);
  std::printf("\n");
  return 0;
}
