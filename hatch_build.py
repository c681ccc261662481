"""Build hook: compiles the C runtime into the package, for every level of the instruction set that the platform has, and the
extension module that calls it.

Without a C compiler on the machine the package `ziglang` is asked for, which brings one. Without Python's headers there is no
extension module, and the wheel serves every Python: calls then go through ctypes. Kernels that `make wheel` has prebuilt into
`binary/kernels` go into the wheel too; other builds have none.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = Path(__file__).parent / "src" / "pliant" / "engine"


def _module(name: str) -> Any:
    """A module of the package by its path: the package itself cannot be imported in a build."""
    spec = importlib.util.spec_from_file_location(f"_pliant_{name}", ENGINE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def platform_tag() -> str:
    """The platform this machine builds for; nothing is promised about older systems."""
    from packaging.tags import platform_tags

    return next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))


class RuntimeBuildHook(BuildHookInterface):
    """Builds `src/pliant/engine/binary` for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs besides: a compiler, where the machine has none, and NumPy's headers for the extension module."""
        if self.target_name != "wheel":
            return []
        compiling = _module("compiling")
        compiler = [] if compiling.find_compiler() else ["ziglang>=0.13"]
        return [*compiler, *(["numpy>=2.0"] if "python" in compiling.extension_headers() else [])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is missing or out of date, and have it packed."""
        if self.target_name != "wheel":
            return
        compiling, layout = _module("compiling"), _module("layout")
        folder = Path(compiling.BINARY_FOLDER)
        folder.mkdir(exist_ok=True)
        sources = [compiling.runtime_source(layout.header(), level) for level in compiling.levels()]
        sources.append(compiling.processor_source())
        self._compile(compiling, sources, folder)
        if extension := self._extension(compiling, layout, folder):
            sources.append(extension)
        wanted = {Path(source.file_name()).stem for source in sources}
        for file in folder.iterdir():
            if file.is_file() and file.stem not in wanted:
                file.unlink()
        build_data["pure_python"] = False
        build_data["tag"] = f"{'cp311-abi3' if extension else 'py3-none'}-{platform_tag()}"
        for place in ("", "kernels/"):
            for end in (compiling.SUFFIX, ".sum"):
                build_data["artifacts"].append(f"src/pliant/engine/binary/{place}*{end}")

    def _extension(self, compiling: Any, layout: Any, folder: Path) -> Any:
        """What the extension module was compiled from; None where it cannot be."""
        headers = compiling.extension_headers()
        if not {"python", "numpy2"} <= headers.keys():
            self.app.display_info(
                "without the headers of Python and NumPy 2, calls of Pliant's runtime go through ctypes"
            )
            return None
        source = compiling.extension_source(layout.header(), "numpy2", headers)
        try:
            self._compile(compiling, [source], folder)
        except RuntimeError as reason:
            self.app.display_warning(f"{reason}\nCalls of Pliant's runtime go through ctypes, which takes longer.")
            return None
        return source

    def _compile(self, compiling: Any, sources: list[Any], folder: Path) -> None:
        missing = [source for source in sources if not compiling.is_sound(folder / source.file_name())]
        if not missing:
            return
        compiler = compiling.find_compiler()
        if compiler is None:
            raise RuntimeError(
                "Pliant's runtime is written in C and there is no compiler for it. Install gcc or clang, or set the environment "
                "variable CC to one, or install the package ziglang (it is fetched by itself unless builds are not isolated)."
            )
        self.app.display_info(f"compiling Pliant's runtime with {shlex.join(compiler)}")
        with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(compiling.AT_ONCE) as pool:
            os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", temporary)

            def build(source: Any) -> None:
                compiling.build(compiler, source, folder / source.file_name())

            try:
                list(pool.map(build, missing))
            except (compiling.CompileError, OSError) as reason:
                raise RuntimeError(
                    f"{reason}\nPliant's runtime could not be compiled. Try another compiler: set the environment variable CC, for "
                    "example CC=clang, or CC='python -m ziglang cc' after pip install ziglang."
                ) from None
