"""The process that compiles MJCF: it reads a text and its files, and writes the compiled model or errors.

It is run by its path and imports nothing of Pliant. MuJoCo is a large C++ library that may hang, crash or exhaust memory on
malicious files; the operating system limits this process only. Messages in both directions consist of a length, JSON, and binary
data of the sizes stated in it.
"""

import json
import os
import sys
import warnings
from typing import Any, BinaryIO

SECTIONS = ("opt",)
"""Structures of a model whose entries are sent under names such as opt_gravity."""

OUT_OF_MEMORY = ("bad_alloc", "llocate", "unknown exception")
"""Parts of MuJoCo's messages about insufficient memory."""


def main() -> None:
    """Answer one request from standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)  # libraries may print, which must not mix with the answer
    os.dup2(silent, 2)
    request, (text, *assets) = receive(sys.stdin.buffer)
    sys.path[:] = request["path"]
    answer: dict[str, Any] = {"warnings": [], "disabled": []}
    arrays: dict[str, Any] = {}
    try:
        import mujoco  # noqa: F401 - before the limits, which apply to the compilation only

        _limit(request["seconds"], request["memory"])
        arrays = _compiled(text.decode(), dict(zip(request["assets"], assets, strict=True)), answer)
    except MemoryError as error:
        answer["memory"] = str(error)
    except ImportError as error:
        answer["missing"] = str(error)
    except Exception as error:  # MuJoCo's ValueError and FatalError, and any others of its bindings
        answer["memory" if any(word in str(error) for word in OUT_OF_MEMORY) else "refused"] = str(error)
    answer["arrays"] = [[key, value.dtype.str, value.shape] for key, value in arrays.items()]
    send(answers, answer, [value.tobytes() for value in arrays.values()])


def _limit(seconds: int, memory: int | None) -> None:
    """Set limits of the operating system: processor time [s], address space [bytes], no files, no core dumps."""
    try:
        import resource
    except ImportError:  # Windows: only the caller limits the time
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
    """Numbers and arrays of the compiled model by name. Warnings and disabled features are added to `answer`."""
    import mujoco
    import numpy as np

    messages = answer["warnings"]
    mujoco.set_mju_user_warning(messages.append)  # otherwise MuJoCo writes warnings to a file
    with warnings.catch_warnings(record=True) as more:
        warnings.simplefilter("always")
        models = {name: data for name, data in assets.items() if name.endswith(".xml")}
        model = mujoco.MjSpec.from_string(text, include=models, assets=assets).compile()
    messages += [str(warning.message) for warning in more]
    bits = mujoco.mjtDisableBit.__members__.items()  # their numbers differ between versions
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
