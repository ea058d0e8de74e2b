"""Plain compiled loops to measure against, compiled for the processor of this machine."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from tools.compile_kernels import FLAGS, HERE, compiler

from oddarm.sources import SimulatedArms

__all__ = ["draw_only", "spin"]


@cache
def _library() -> ctypes.CDLL:
    command = compiler()
    if command is None:
        raise SystemExit("the benchmarks need a C compiler")
    source = Path(__file__).with_name("loops.c")
    with tempfile.TemporaryDirectory() as folder:
        library_path = f"{folder}/loops.so"
        options = [*FLAGS, *HERE.flags, "-march=native"]
        subprocess.run([*command, *options, str(source), "-o", library_path], check=True)
        return ctypes.CDLL(library_path)


def draw_only(arms: SimulatedArms, sweeps: int) -> np.ndarray:
    """Draw the rewards of arms in turn and add them up, nothing else."""
    limits = np.ceil(arms.means * 2.0**53).astype(np.int64)
    totals = np.zeros(len(limits), dtype=np.int64)
    arrays = limits, arms.starts, arms.increments, totals
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
    _library().draw_only(*pointers, ctypes.c_int64(len(limits)), ctypes.c_int64(sweeps))
    return totals


def spin(turns: int) -> None:
    """Compute something for a while, without the interpreter's lock."""
    _library().spin(ctypes.c_int64(turns))
