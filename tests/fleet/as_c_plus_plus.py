"""CUDA programs of fleets compiled as C++ for the processor, with one thread: how they are tested where there is no GPU."""

from __future__ import annotations

from collections.abc import Iterable

AS_C_PLUS_PLUS = """
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#undef offsetof
#undef INFINITY
#undef NAN
#undef __GNUC__ /* no vectors, as in the compilers of GPUs */
#undef __SSE2__
#define INFINITY __builtin_inf()
#define NAN __builtin_nan("")
using namespace std;
#define __device__
#define __noinline__
#define __forceinline__ inline
#define __global__
#define __shared__
struct Place { unsigned x; };
static Place blockIdx, threadIdx, blockDim = {1};
"""


def numbers(values: Iterable[float]) -> str:
    """Numbers of an array as C."""
    return ", ".join(repr(float(x)) for x in values)
