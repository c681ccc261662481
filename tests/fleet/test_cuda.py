"""Fleets on a GPU, if there is one: as on the CPU; and the message if there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_fleet import ARM, SPINNER, STEPS

import pliant
from pliant.targets.cuda import export_cuda


def _cupy():
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            pytest.skip("needs a GPU")
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("needs a GPU")
    return cupy


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize(("text", "method"), [(ARM, "explicit"), (ARM, "implicit"), (SPINNER, "semi_implicit")])
def test_moves_as_on_the_cpu(text: str, method: str, precision: str) -> None:
    cupy = _cupy()
    eqs = pliant.derive(pliant.load_text(text))
    fleets = [
        pliant.Fleet(eqs, 5, device=d, precision=precision, method=method, step=STEPS[method]) for d in ("cpu", "cuda")
    ]
    name = fleets[0].input_names[0]
    pushed = np.linspace(0, 0.02, 5)
    fleets[0].step({name: pushed}, n=100)
    fleets[1].step({name: cupy.asarray(pushed)}, n=100)
    there, here = fleets[1].q.get(), fleets[0].q
    assert np.abs(there - here).max() <= (1e-10 if precision == "double" else 1e-4) * np.abs(here).max()
    fleets[1].reset(fleets[1].time > 0)
    assert np.array_equal(fleets[1].q.get()[0], fleets[1].q.get()[1])


def test_outputs_on_the_gpu() -> None:
    _cupy()
    eqs = pliant.derive(pliant.load_text(ARM))
    masses = np.linspace(0.1, 0.4, 3)
    options = {"method": "semi_implicit", "step": 1e-3, "parameters": {"mass": masses}}
    here, there = (pliant.Fleet(eqs, 3, device=device, **options) for device in ("cpu", "cuda"))
    for fleet in (here, there):
        fleet.step(n=50)
    for name in ("place", "pull", "energy"):
        assert np.allclose(there.outputs(name)[name].get(), here.outputs(name)[name], rtol=1e-9, atol=1e-12)
    assert np.allclose(there.frame("tip.tip").rotation.get(), here.frame("tip.tip").rotation, atol=1e-12)


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    eqs = pliant.derive(pliant.load("pendulum"))
    with pytest.raises(ValueError, match=r"needs CuPy, which is not installed.*device='cpu'"):
        pliant.Fleet(eqs, 3, device="cuda", step=1e-3)


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    class Runtime:
        CUDARuntimeError = RuntimeError

        @staticmethod
        def getDeviceCount() -> int:
            raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    class Cupy:
        class cuda:
            runtime = Runtime

    monkeypatch.setitem(sys.modules, "cupy", Cupy)
    eqs = pliant.derive(pliant.load("pendulum"))
    with pytest.raises(ValueError, match=r"no CUDA GPU is available: cudaErrorNoDevice.*device='cpu'"):
        pliant.Fleet(eqs, 3, device="cuda", step=1e-3)


# what a C++ compiler without CUDA needs to compile the program for the processor
WITHOUT_CUDA = """
#include <cmath>
#include <cstring>
#include <cstdlib>
using namespace std;
#define __device__
#define __noinline__
#define __forceinline__ inline
#define __global__
struct Place { unsigned x; };
static Place blockIdx, threadIdx, blockDim = {1};
"""
RUN_WITHOUT_CUDA = """
#include <cstdio>
int main() {
  static const double start_q[] = {Q_NUMBERS}, start_v[] = {V_NUMBERS}, held[] = {0.0, 0.0};
  double time = 0, q[NQ], v[NV], u[NU + 1], c[1] = {0};
  int status = 0;
  for (int i = 0; i < NQ; ++i) q[i] = start_q[i];
  for (int i = 0; i < NV; ++i) v[i] = start_v[i];
  for (int i = 0; i < NU; ++i) u[i] = held[i];
  fleet F = {&time, q, v, u, c, &status, 0, 0, 1, 1};
  fleet_step(F, 100, 1e-3);
  for (int i = 0; i < NQ; ++i) printf("%.17g ", q[i]);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("method", ["semi_implicit", "implicit"])
def test_exported_program_is_the_same_one(tmp_path: Path, method: str) -> None:
    """The exported kernel, compiled for the processor by a C++ compiler: one thread moves as `simulate` does."""
    eqs = pliant.derive(pliant.load_text(ARM))
    done = export_cuda(eqs, tmp_path / "arm", method=method, step=1e-3)
    assert {file.name for file in done.files} >= {"main.cu", "fleet.cu", "robot.h", "README.txt"}
    start = eqs.initial_state()
    text = RUN_WITHOUT_CUDA
    for key, values in (("Q_NUMBERS", start.q), ("V_NUMBERS", start.v)):
        text = text.replace(key, ", ".join(map(repr, map(float, values))))
    source = tmp_path / "arm" / "tried.cpp"
    source.write_text(f'{WITHOUT_CUDA}#include "fleet.cu"\n{text}')
    program = tmp_path / "tried"
    subprocess.run(["g++", "-std=c++17", "-O0", "-w", "-o", program, source], check=True, timeout=100)
    said = subprocess.run([program], capture_output=True, text=True, check=True, timeout=20).stdout
    run = pliant.simulate(eqs, 0.1, method=method, step=1e-3)
    assert np.allclose(
        [float(x) for x in said.split()], run.final.q, rtol=1e-10, atol=1e-12 * np.abs(run.final.q).max()
    )
