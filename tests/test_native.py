"""What is in C and in Python too gives the same."""

import math
import os
import shutil
import subprocess
import sys
from ctypes import ArgumentError
from pathlib import Path

import numpy as np
import pytest

import oddarm
from oddarm.bounds.beta_mixture import jeffreys_interval
from oddarm.bounds.numerics import erfcinv
from oddarm.kernels.blocks import resort
from oddarm.kernels.jeffreys import jeffreys_intervals
from oddarm.kernels.native import function


@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.005, 1e-9])
def test_intervals_of_jeffreys_are_the_same_to_the_last_bit(alpha):
    """Small counts, where what Stirling's formula leaves out is tabulated, and large ones."""
    level = -math.log(alpha)
    pairs = [(s, m) for m in range(1, 40) for s in range(m + 1)]
    for m in (100, 12_345, 10**6, 10**9, 10**12):
        pairs += [(s, m) for s in (0, 1, 15, 16, m // 3, m // 2, m - 16, m - 15, m - 1, m)]
    totals = np.array([float(s) for s, _ in pairs])
    counts = np.array([m for _, m in pairs])
    low, high = np.empty(len(pairs)), np.empty(len(pairs))
    jeffreys_intervals(totals, counts, np.arange(len(pairs)), level, low, high)
    plain = [jeffreys_interval(float(s), float(m), level) for s, m in pairs]
    assert [*zip(low.tolist(), high.tolist(), strict=True)] == plain


def test_arms_in_the_order_given_and_without_pulls():
    """Arms may be named in any order and more than once."""
    totals, counts = np.array([3.0, 0.0, 9.0]), np.array([7, 0, 20])
    arms = np.array([2, 0, 1, 2])
    low, high = np.empty(4), np.empty(4)
    jeffreys_intervals(totals, counts, arms, 4.0, low, high)
    assert (low[2], high[2]) == (0.0, 1.0)
    for k, (s, m) in {0: (9.0, 20.0), 1: (3.0, 7.0), 3: (9.0, 20.0)}.items():
        assert (low[k], high[k]) == jeffreys_interval(s, m, 4.0)


def test_erfcinv_is_the_same_to_the_last_bit():
    """In its centre, its middle and its tail."""
    compiled = function("erfcinv", "real", "real")
    points = [*np.linspace(0.001, 1.0, 1000).tolist(), *np.logspace(-300, -3, 1000).tolist()]
    assert [compiled(x) for x in points] == [erfcinv(x) for x in points]


def test_arrays_that_a_kernel_cannot_take_are_refused():
    """Those that may not be written to, those with gaps, and those of another type."""
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    for refused in (fixed, np.zeros(8)[::2], np.zeros(4, dtype=np.int64)):
        with pytest.raises(ArgumentError):
            resort(np.arange(4), refused)


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
