"""Compiles the kernels when the package is built or installed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from compile_kernels import chosen_target, compile_kernels, compiler


class CompiledKernels(BuildHookInterface[Any]):
    """Makes a wheel for one platform and any Python, for the library knows nothing of Python.

    The platform is this one, or the one that ODDARM_TARGET names.
    """

    PLUGIN_NAME = "custom"
    folder: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return what a build needs: a C compiler from PyPI where this system has none."""
        return [] if compiler(chosen_target()) else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tag the wheel."""
        target = chosen_target()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{target.platform}"
        if version == "editable":  # the checkout is what Python imports
            compile_kernels()
            return
        # Elsewhere, so that no wheel has a library that an earlier build left in the checkout.
        self.folder = tempfile.TemporaryDirectory()
        library = Path(self.folder.name) / target.library
        compile_kernels(library, target=target)
        build_data["force_include"][str(library)] = f"oddarm/kernels/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled for the wheel."""
        del version, build_data, artifact_path
        if self.folder:
            self.folder.cleanup()
