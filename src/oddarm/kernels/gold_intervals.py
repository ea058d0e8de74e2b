"""The interval form of GOLD on simulated 0/1 rewards, compiled.

Whole sweeps are pulled here while the cover holds; where it does not, the run itself finds the
communities anew.
"""

from __future__ import annotations

import math
from ctypes import byref
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oddarm.kernels.native import Record, fields, function, layout
from oddarm.kernels.sweeps import finish_sweep

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold_intervals import GoldIntervalRun

__all__ = ["advance", "fits"]


class _Sweeps(Record):
    """What the kernel works on; as in gold_intervals.c."""

    kinds: ClassVar = layout("""
        wholes counts
        floats totals
        wholes limits
        words starts increments
        floats low high
        real b sigma r level
        wholes arms
        whole size
        wholes chain
        whole length
        wholes first
        whole chains rounds made
        wholes since until
        floats begin end
    """)
    _fields_: ClassVar = fields(kinds)


_sweep = function("interval_sweeps", "record", "flag")


def fits(run: GoldIntervalRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: arms pulled in turn."""
    return arms.zero_one and run.in_turn and bool((arms.drawn == run.tally.counts).all())


def advance(run: GoldIntervalRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally = run.tally
    n = run.setting.n
    sweeps = _Sweeps(
        counts=tally.counts,
        totals=tally.totals,
        limits=np.ceil(arms.means * 2.0**53).astype(np.int64),
        starts=arms.starts,
        increments=arms.increments,
        low=run.low,
        high=run.high,
        b=run.b,
        sigma=run.setting.rewards.sigma,
        r=run.radius.r,
        level=-2.0 * math.log(run.radius.alpha),
        since=np.empty(n, dtype=np.int64),
        until=np.empty(n, dtype=np.int64),
        begin=np.empty(n),
        end=np.empty(n),
    )
    while run.verdict == "running" and tally.pulls < stop_at:
        rest = run.rest_of_sweep()
        in_play = n - int(np.count_nonzero(run.stage))
        rounds = (stop_at - tally.pulls) // in_play
        if run.cover is None or not rounds or len(rest) < in_play:
            finish_sweep(run, arms, stop_at)
            run.update_many(rest)
            continue
        sweeps.give(
            arms=rest,
            size=in_play,
            chain=run.cover.arms,
            length=len(run.cover.arms),
            first=run.cover.first,
            chains=len(run.cover.first),
            rounds=rounds,
        )
        holds = _sweep(byref(sweeps))
        tally.pulls += sweeps.made * in_play
        run.position = (int(rest[-1]) + 1) % n
        run.judged(int(tally.counts[rest[0]]))
        if not holds:
            run.split()
    arms.drawn[:] = tally.counts
