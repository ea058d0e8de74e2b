"""Compile the kernels, in a checkout or when the package is built; needs only Python.

The compiler is the one that CC names, one of the system (cc, gcc, clang), or the one in the package
ziglang. For another system than this one, ODDARM_TARGET names one of `TARGETS`, and ziglang
compiles.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A system that the library is compiled for.

    Attributes:
        triple: Its name for zig, with the oldest version that the library shall run on; None for
            this system, by the compiler at hand.
        platform: The tag of its wheels.
    """

    triple: str | None
    platform: str

    @property
    def windows(self) -> bool:
        """Whether it is Windows."""
        return self.platform.startswith("win")

    @property
    def library(self) -> str:
        """The name of the library; `oddarm.kernels.native` loads it by this name."""
        return "_native.dll" if self.windows else "_native.so"

    @property
    def flags(self) -> list[str]:
        """What its compiler is told besides `FLAGS`."""
        if self.platform.startswith("macosx"):
            # A library of macOS has a name within, by default the path that it was compiled to.
            return ["-fPIC", f"-Wl,-install_name,{self.library}"]
        return [] if self.windows else ["-fPIC"]


HERE = Target(None, sysconfig.get_platform().replace("-", "_").replace(".", "_"))
TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "linux-aarch64": Target(
        "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"
    ),
    "macos-x86_64": Target("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64"),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64"),
}
"""What `make wheels` builds for."""

SOURCES = Path(__file__).parent.parent / "src" / "oddarm" / "kernels"
LIBRARY = SOURCES / HERE.library
FLAGS = [
    "-std=c11",
    "-O3",
    "-shared",
    "-Wall",
    "-Wextra",
    "-Werror=implicit-function-declaration",
    "-Werror=missing-prototypes",  # so that the headers have every function
    "-fvisibility=hidden",
    # Like numpy, the kernels do not fuse products with sums. They read neither errno nor the
    # processor's exceptions, so no result depends on the last two flags.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
]


def chosen_target() -> Target:
    """Return the target that ODDARM_TARGET names; this system if it names none."""
    name = os.environ.get("ODDARM_TARGET")
    if not name:
        return HERE
    if name not in TARGETS:
        raise SystemExit(f"ODDARM_TARGET={name}: must be one of {', '.join(TARGETS)}")
    return TARGETS[name]


def compiler(target: Target = HERE) -> list[str] | None:
    """Return the command of a C compiler that works; None if there is none."""
    zig = (
        [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"] if find_spec("ziglang") else None
    )
    if target.triple:
        return [*zig, "-target", target.triple, "-s"] if zig else None
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) and _works([name]):
            return [name]
    return zig


def _works(command: list[str]) -> bool:
    """Return whether a compiler has the headers of C, which some systems install separately."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "one.c"
        source.write_text("#include <math.h>\ndouble one(void) { return exp(0.0); }\n")
        compile_one = [*command, "-shared", *HERE.flags, str(source), "-o", f"{folder}/one", "-lm"]
        return subprocess.run(compile_one, capture_output=True, check=False).returncode == 0


def compile_kernels(library: Path = LIBRARY, *options: str, target: Target = HERE) -> None:
    """Compile the library, by default for this system into the folder of its sources."""
    command = compiler(target)
    if command is None:
        raise SystemExit("no C compiler: install one, or run: pip install ziglang")
    flags = [*FLAGS, *target.flags, *options]
    files = sorted(str(file) for file in SOURCES.glob("*.c"))
    # In a folder of its own first: another process may be using the library, and for Windows zig
    # leaves other files beside it.
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="compiling-") as folder:
        made = Path(folder) / library.name
        subprocess.run([*command, *flags, *files, "-o", str(made), "-lm"], check=True)
        made.replace(library)


if __name__ == "__main__":
    compile_kernels()
