"""Tests of the engine with the C runtime and the extension module under sanitizers: `make sanitize`.

    python tools/sanitize.py tests/engine tests/parts/contact -k "not printing"

Both are compiled with AddressSanitizer and UndefinedBehaviorSanitizer into the folder `out/sanitize`, and the given tests run in a
Python process monitored by AddressSanitizer. Errors are listed at the end; an invalid address ends the process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from pliant.engine import compiling, libraries
from pliant.engine.compiling import Source, extension_headers, find_compiler, processor_source
from pliant.engine.layout import header

ROOT = Path(__file__).parents[1]
SANITIZERS = ("-fsanitize=address,undefined", "-fno-omit-frame-pointer")
REPORT = re.compile(r"\w+\.[ch]:\d+:\d+: runtime error: .*")
"""Format of UndefinedBehaviorSanitizer's messages; AddressSanitizer also ends the process."""
WATCHING = "PLIANT_SANITIZED"
SHIM = """#define _GNU_SOURCE
#include <dlfcn.h>
void *dlopen(const char *file, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(file, flags & ~RTLD_DEEPBIND);
}
"""
"""CasADi loads its solvers with a flag for which AddressSanitizer ends the process."""


def sanitized(source: Source) -> Source:
    """The same code with sanitizers, slightly optimized."""
    flags = [flag for flag in source.flags if not flag.startswith("-O")]
    return replace(source, flags=[*flags, "-O1", *SANITIZERS])


def use_sanitizers() -> None:
    """Make the package load this runtime and extension module; names of files depend on flags, so nothing else is loaded."""
    for name in ("runtime_source", "extension_source"):
        made = getattr(compiling, name)
        setattr(libraries, name, lambda *given, made=made: sanitized(made(*given)))


def build() -> None:
    """Compile the libraries outside of the monitored process."""
    headers = extension_headers()
    numpy = "numpy1" if "numpy1" in headers else "numpy2"
    libraries._build(processor_source())
    libraries._build(libraries.extension_source(header(), numpy, headers))
    libraries._build(libraries.runtime_source(header(), libraries.processor_level()))


def preloaded(folder: Path) -> str:
    """Libraries that have to be there first: the shim, AddressSanitizer, and that of C++, whose exceptions it has to find
    (CasADi's)."""
    compiler = find_compiler()
    assert compiler is not None, "sanitizers need a C compiler"
    names = ("libasan.so", "libubsan.so", "libstdc++.so.6")
    found = [subprocess.check_output([*compiler, f"-print-file-name={name}"], text=True).strip() for name in names]
    source, shim = folder / "dlopen.c", folder / "dlopen.so"
    source.write_text(SHIM, encoding="utf-8")
    subprocess.check_call([*compiler, "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"])
    return " ".join(str(Path(path).resolve()) for path in (shim, *found))


def main() -> int:
    """Run the given tests, monitored."""
    use_sanitizers()
    if os.environ.get(WATCHING):
        os.environ.pop("LD_PRELOAD")  # compilers and other programs started by tests are not monitored
        sys.path[:0] = [str(ROOT)]  # as with `python -m pytest`: processes that tests start import these by name
        import pytest

        return int(pytest.main(["-q", "-s", "-p", "no:cacheprovider", *sys.argv[1:]]))
    os.environ.setdefault("PLIANT_CACHE", str(ROOT / "out" / "sanitize"))
    build()
    # Python keeps loaded modules, and its own memory management looks like leaks
    options = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0"}
    first = preloaded(Path(os.environ["PLIANT_CACHE"]))
    watched = {**os.environ, **options, WATCHING: "1", "LD_PRELOAD": first, "PYTHONMALLOC": "malloc"}
    with subprocess.Popen(
        [sys.executable, __file__, *sys.argv[1:]], env=watched, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        wrong = Counter[str]()
        for line in run.stderr:
            sys.stderr.write(line)
            if found := REPORT.search(line):
                wrong[found.group()] += 1
    for line, count in wrong.most_common():
        print(f"{count} x {line}", file=sys.stderr)
    return run.returncode or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
