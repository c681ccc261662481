"""Temporary."""
import ctypes
import time

from pliant.equations.compile import *
from pliant.equations.compile import (
    FLAGS,
    KERNEL_FLAGS,
    LARGE_KERNEL,
    LARGE_KERNEL_FLAGS,
    RUNTIME_FOLDER,
    build_library,
    kernel_source,
)
from pliant.equations.layout import header


def runtime_sources():
    sources = {p.name: p.read_text(encoding="utf-8") for p in sorted(RUNTIME_FOLDER.glob("*.[ch]"))}
    sources["pl_layout.h"] = header()
    return sources
def runtime_library():
    s=runtime_sources()
    return ctypes.CDLL(str(build_library("runtime", s, [n for n in s if n.endswith('.c')], FLAGS)))
class KernelCode:
    pending=False
    seconds=0.0
    description="compiled"
    def __init__(self, libs):
        self.libs=libs
    def connect(self, name, entry):
        for l in self.libs:
            try: f=getattr(l,name)
            except AttributeError: continue
            entry.call=ctypes.cast(f,ctypes.c_void_p).value
            return
        raise KeyError(name)
    def refresh(self): return True
def load_kernels(kernels):
    t=time.perf_counter(); libs=[]
    for k in kernels:
        text = kernel_source(k.functions, "kernels")
        n = sum(f.n_instructions() for f in k.functions)
        libs.append(ctypes.CDLL(str(build_library(k.name, {"kernels.c": text}, ["kernels.c"], KERNEL_FLAGS if n<LARGE_KERNEL else LARGE_KERNEL_FLAGS))))
    c=KernelCode(libs); c.seconds=time.perf_counter()-t; return c
