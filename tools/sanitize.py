"""Tests of the engine with the C runtime and the extension module under sanitizers: `make sanitize`.

    python tools/sanitize.py tests/equations tests/contact -k "not printing"

Both are compiled with AddressSanitizer and UndefinedBehaviorSanitizer into the folder `out/sanitize`, and the tests named run in a
Python whose allocations AddressSanitizer watches. What is wrong is listed at the end; an address that is wrong ends the process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from pliant.equations import compiling, libraries
from pliant.equations.compiling import Source, extension_headers, find_compiler, processor_source
from pliant.equations.layout import header

ROOT = Path(__file__).parents[1]
SANITIZERS = ("-fsanitize=address,undefined", "-fno-omit-frame-pointer")
REPORT = re.compile(r"\w+\.[ch]:\d+:\d+: runtime error: .*")
"""How UndefinedBehaviorSanitizer says what is wrong; AddressSanitizer ends the process as well."""
WATCHING = "PLIANT_SANITIZED"
SHIM = """#define _GNU_SOURCE
#include <dlfcn.h>
void *dlopen(const char *file, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(file, flags & ~RTLD_DEEPBIND);
}
"""
"""CasADi loads its solvers with a flag at which AddressSanitizer ends the process."""


def sanitized(source: Source) -> Source:
    """The same code under sanitizers, optimized a little."""
    flags = [flag for flag in source.flags if not flag.startswith("-O")]
    return replace(source, flags=[*flags, "-O1", *SANITIZERS])


def use_sanitizers() -> None:
    """Have the package load its runtime and extension module so; names of files follow from flags, so nothing else is taken."""
    for name in ("runtime_source", "extension_source"):
        made = getattr(compiling, name)
        setattr(libraries, name, lambda *given, made=made: sanitized(made(*given)))


def build() -> None:
    """Compile what will be loaded, outside of the watched process: compilers need not be watched."""
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
    """Run the tests that are named, watched."""
    use_sanitizers()
    if os.environ.get(WATCHING):
        os.environ.pop("LD_PRELOAD")  # compilers and other programs that tests start go without
        sys.path[:0] = [str(ROOT)]  # as with `python -m pytest`: processes that tests start import these by name
        import pytest

        return int(pytest.main(["-q", "-s", "-p", "no:cacheprovider", *sys.argv[1:]]))
    os.environ.setdefault("PLIANT_CACHE", str(ROOT / "out" / "sanitize"))
    build()
    # Python keeps what it loads, and has memory of its own that looks lost
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
