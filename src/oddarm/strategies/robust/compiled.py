"""ROAI on simulated rewards, compiled: roai.c chooses the arms, along `strategies.paths`."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oddarm.kernels.native import Record, fields, function, layout
from oddarm.strategies import paths
from oddarm.strategies.paths import fits
from oddarm.strategies.robust.lucb import ROAILUCBRun
from oddarm.strategies.robust.rule import NORMAL

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.robust.rule import RobustRun

__all__ = ["advance", "fits"]

ORDERS = "by_low by_high by_mean by_near by_far by_middle"


class _Roai(Record):
    """What the kernel works on; as `struct roai` of oddarm.h."""

    kinds: ClassVar = layout("""
        flag lucb
        real scale
        words stream
        floats y closest near far middle
        wholes by_low by_high by_mean by_near by_far by_middle
        flags at_threshold at_median at_mad
        flags below
    """)
    _fields_: ClassVar = fields(kinds)


_rounds = function("roai_rounds", "record record", "whole")


def advance(run: RobustRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    n, lucb = run.context.n, isinstance(run, ROAILUCBRun)
    state = _Roai(lucb=lucb, scale=run.k * NORMAL)
    if isinstance(run, ROAILUCBRun):
        state.give(stream=np.array(run.stream, dtype=np.uint64))
    state.reserve(n, "y closest near far middle at_threshold at_median at_mad below")
    state.give(**{order: np.arange(n) for order in ORDERS.split()})
    paths.advance(run, arms, stop_at, lambda record: _rounds(byref(record), byref(state)))
