"""Compile the kernels, in a checkout or when the package is built; needs only Python.

The compiler is the one that CC names, one of the system (cc, gcc, clang), or the one in the package
ziglang.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src" / "oddarm" / "kernels"
LIBRARY = SOURCES / ("_native.dll" if sys.platform == "win32" else "_native.so")
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
POSITION = [] if sys.platform == "win32" else ["-fPIC"]


def compiler() -> list[str] | None:
    """Return the command of a C compiler that works; None if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) and _works([name]):
            return [name]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    return None


def _works(command: list[str]) -> bool:
    """Return whether a compiler has the headers of C, which some systems install separately."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "one.c"
        source.write_text("#include <math.h>\ndouble one(void) { return exp(0.0); }\n")
        compile_one = [*command, "-shared", *POSITION, str(source), "-o", f"{folder}/one", "-lm"]
        return subprocess.run(compile_one, capture_output=True, check=False).returncode == 0


def compile_kernels(library: Path = LIBRARY, *options: str) -> None:
    """Compile the library, by default into the folder of its sources."""
    command = compiler()
    if command is None:
        raise SystemExit("no C compiler: install one, or run: pip install ziglang")
    # A file of its own first, because another process may be using the library.
    temporary = library.with_stem(f"{library.stem}{os.getpid()}")
    flags = [*FLAGS, *POSITION, *options]
    files = sorted(str(file) for file in SOURCES.glob("*.c"))
    try:
        subprocess.run([*command, *flags, *files, "-o", str(temporary), "-lm"], check=True)
        temporary.replace(library)
    finally:
        temporary.unlink(missing_ok=True)


if __name__ == "__main__":
    compile_kernels()
