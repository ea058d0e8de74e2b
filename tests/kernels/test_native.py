"""What is in C and in Python too gives the same."""

import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oddarm
from oddarm.kernels.blocks import resort
from oddarm.kernels.intervals import erfcinv, jeffreys_narrow
from reference import numerics


@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.005, 1e-9])
def test_intervals_of_jeffreys_are_the_same_to_the_last_bit(alpha):
    """Small counts, where what Stirling's formula leaves out is tabulated, and large ones."""
    level = -math.log(alpha)
    pairs = [(s, m) for m in range(1, 40) for s in range(m + 1)]
    for m in (100, 12_345, 10**6, 10**9, 10**12):
        pairs += [(s, m) for s in (0, 1, 15, 16, m // 3, m // 2, m - 16, m - 15, m - 1, m)]
    totals = np.array([float(s) for s, _ in pairs])
    counts = np.array([m for _, m in pairs])
    low, high = np.zeros(len(pairs)), np.ones(len(pairs))
    jeffreys_narrow(totals, counts, np.arange(len(pairs)), level, low, high)
    plain = [numerics.jeffreys_interval(float(s), float(m), level) for s, m in pairs]
    assert [*zip(low.tolist(), high.tolist(), strict=True)] == plain


def test_only_intervals_of_the_arms_named_are_narrowed():
    """In any order; not that of an arm without pulls."""
    totals, counts = np.array([3.0, 0.0, 9.0, 5.0]), np.array([7, 0, 20, 9])
    low, high = np.zeros(4), np.ones(4)
    jeffreys_narrow(totals, counts, np.array([2, 1, 0]), 4.0, low, high)
    assert (low[0], high[0]) == numerics.jeffreys_interval(3.0, 7.0, 4.0)
    assert (low[2], high[2]) == numerics.jeffreys_interval(9.0, 20.0, 4.0)
    assert (low[[1, 3]], high[[1, 3]]) == (pytest.approx([0, 0]), pytest.approx([1, 1]))


def test_erfcinv_is_the_same_to_the_last_bit():
    """In its centre, its middle and its tail."""
    points = [*np.linspace(0.001, 1.0, 1000).tolist(), *np.logspace(-300, -3, 1000).tolist()]
    assert [erfcinv(x) for x in points] == [numerics.erfcinv(x) for x in points]


def test_arrays_that_a_kernel_cannot_take_are_refused():
    """Those that may not be written to, those with gaps, and those of another type."""
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    for refused in (fixed, np.zeros(8)[::2], np.zeros(4, dtype=np.int64)):
        with pytest.raises(TypeError):
            resort(np.arange(4), refused)


class Struck(np.ndarray):
    """An array whose type cannot be looked at for the first time without a Ctrl-C."""

    looked = False

    @property
    def dtype(self):
        """Press Ctrl-C."""
        if not Struck.looked:
            Struck.looked = True
            signal.raise_signal(signal.SIGINT)
        return np.dtype(float)


def test_an_interrupt_stays_one():
    """Ctrl-C while an array is handed to a kernel is a KeyboardInterrupt, not an ArgumentError."""
    with pytest.raises(KeyboardInterrupt):
        resort(np.arange(4), np.zeros(4).view(Struck))


@pytest.mark.parametrize("library", ["missing", "older than its sources"])
def test_kernels_that_are_not_compiled_are_an_error_that_says_what_to_do(tmp_path, library):
    """No library, or one that was compiled from other sources, is not run."""
    copy = shutil.copytree(Path(oddarm.__file__).parent, tmp_path / "oddarm")
    (copied,) = (copy / "kernels").glob("_native.*")
    if library == "missing":
        copied.unlink()
    else:
        source = copy / "kernels" / "changed.c"
        source.touch()
        os.utime(source, (copied.stat().st_mtime + 1,) * 2)
    ran = subprocess.run(
        [sys.executable, "-c", "import oddarm.kernels.blocks"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "run: python tools/compile_kernels.py" in ran.stderr
