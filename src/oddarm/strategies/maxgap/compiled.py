"""MaxGap on simulated rewards, compiled: maxgap.c chooses the arms, along `strategies.paths`."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oddarm.kernels.native import Record, fields, function, layout
from oddarm.strategies import paths
from oddarm.strategies.maxgap.rule import DOMINANCE
from oddarm.strategies.paths import fits

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.maxgap.rule import MaxGapRun

__all__ = ["advance", "fits"]


class _MaxGap(Record):
    """What the kernel works on; as `struct maxgap` of oddarm.h."""

    kinds: ClassVar = layout("""
        whole values dominance
        flag border
        wholes order mirrored
        floats most downs ups starts least
        wholes after
        floats tree
    """)
    _fields_: ClassVar = fields(kinds)


_rounds = function("maxgap_rounds", "record record", "whole")


def advance(run: MaxGapRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    n = run.context.n
    dominance = DOMINANCE if run.by_counts else 0
    state = _MaxGap(values=run.values, dominance=dominance, border=run.border)
    state.give(order=np.arange(n), mirrored=np.arange(n))
    state.reserve(n, "most downs ups starts least after")
    state.reserve(2 * n, "tree")
    paths.advance(run, arms, stop_at, lambda record: _rounds(byref(record), byref(state)))
