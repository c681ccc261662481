"""The process that compiles MJCF: reads a text and its files, writes the compiled model or its errors.

It is run by its path and imports nothing of Pliant. MuJoCo is a large library in C++ that may hang, crash or fill the memory on
files that were made for it; limits of the system hold for this process alone. Messages in both directions are a length, JSON,
and bytes of the sizes in it.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any, BinaryIO

SECTIONS = ("opt",)
"""Structures of a model whose entries are written by names such as opt_gravity."""

OUT_OF_MEMORY = ("bad_alloc", "llocate", "unknown exception")
"""Words of MuJoCo where memory is short."""


def main() -> None:
    """Answer one request from the standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)  # what a library prints is no part of the answer
    os.dup2(silent, 2)
    request, (text, *assets) = receive(sys.stdin.buffer)
    sys.path[:] = request["path"]
    answer: dict[str, Any] = {"warnings": [], "disabled": []}
    arrays: dict[str, Any] = {}
    try:
        import mujoco  # noqa: F401 - before the limits, which are for what the text requires

        _limit(request["seconds"], request["memory"])
        arrays = _compiled(text.decode(), dict(zip(request["assets"], assets, strict=True)), answer)
    except MemoryError as error:
        answer["memory"] = str(error)
    except ImportError as error:
        answer["missing"] = str(error)
    except Exception as error:  # MuJoCo's ValueError and FatalError, and whatever its bindings raise
        answer["memory" if any(word in str(error) for word in OUT_OF_MEMORY) else "refused"] = str(error)
    answer["arrays"] = [[key, value.dtype.str, value.shape] for key, value in arrays.items()]
    send(answers, answer, [value.tobytes() for value in arrays.values()])


def _limit(seconds: int, memory: int | None) -> None:
    """Limits of the system: time of the processor [s], address space [bytes], no files, no dumps."""
    try:
        import resource
    except ImportError:  # Windows: the caller's clock alone
        return
    wanted = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    if memory is not None:
        wanted[resource.RLIMIT_AS] = memory
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (allowed, allowed))
        except (ValueError, OSError):  # a system without this limit
            continue


def _compiled(text: str, assets: dict[str, bytes], answer: dict[str, Any]) -> dict[str, Any]:
    """Numbers and arrays of the compiled model by their names; answer: takes warnings, and what the options disable."""
    import mujoco
    import numpy as np

    told = answer["warnings"]
    mujoco.set_mju_user_warning(told.append)  # otherwise MuJoCo writes warnings into a file
    with warnings.catch_warnings(record=True) as more:
        warnings.simplefilter("always")
        models = {name: data for name, data in assets.items() if name.endswith(".xml")}
        model = mujoco.MjSpec.from_string(text, include=models, assets=assets).compile()
    told += [str(warning.message) for warning in more]
    bits = mujoco.mjtDisableBit.__members__.items()  # whose numbers differ between versions
    answer["disabled"] = [name.removeprefix("mjDSBL_") for name, bit in bits if model.opt.disableflags & int(bit)]
    found: dict[str, Any] = {}
    for prefix, owner in (("", model), *((f"{name}_", getattr(model, name)) for name in SECTIONS)):
        for key in dir(owner):
            value = getattr(owner, key) if not key.startswith("_") else None
            if isinstance(value, bytes):
                found[prefix + key] = np.frombuffer(value, dtype=np.uint8)
            elif isinstance(value, (int, float, np.ndarray)):
                found[prefix + key] = np.asarray(value, order="C")
    return found


def send(pipe: BinaryIO, head: dict[str, Any], parts: list[bytes]) -> None:
    """Write a message."""
    text = json.dumps({**head, "sizes": [len(part) for part in parts]}).encode()
    pipe.write(len(text).to_bytes(8, "little") + text)
    for part in parts:
        pipe.write(part)
    pipe.flush()


def receive(pipe: BinaryIO) -> tuple[dict[str, Any], list[bytes]]:
    """Read a message."""
    head = json.loads(pipe.read(int.from_bytes(pipe.read(8), "little")))
    return head, [pipe.read(size) for size in head["sizes"]]


if __name__ == "__main__":
    main()
