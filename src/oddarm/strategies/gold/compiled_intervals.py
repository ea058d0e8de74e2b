"""The interval form of GOLD on simulated 0/1 rewards, compiled.

Whole sweeps are pulled here while no community can have split. When one may have, the run itself
finds the communities.
"""

from __future__ import annotations

import math
from ctypes import byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats
from oddarm.kernels.native import Record, fields, function, layout
from oddarm.strategies.gold.compiled import finish_sweep

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold.intervals import GoldIntervalRun

__all__ = ["Chains", "advance", "chains_of", "fits"]


class _Sweeps(Record):
    """What the kernel works on; as `struct sweeps` of oddarm.h."""

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


@dataclass(frozen=True)
class Chains:
    """Some arms of each community that overlap one after the other, by ascending values.

    As long as they do and every arm in play overlaps one of them, no community has split: the
    compiled loop looks at that after each sweep, and needs no sort.

    Attributes:
        arms: The arms of all chains, one chain after the other.
        first: Where in `arms` each chain begins.
    """

    arms: NDArray[np.int64]
    first: NDArray[np.int64]


def chains_of(run: GoldIntervalRun) -> Chains:
    """Let the run find its communities; return chains of those that are still in play.

    Arms in a chain overlap by about half, so that it holds for long.
    """
    communities = [members for members in run.split() if not run.stage[members[0]]]
    chains = [_chain(members, run.low, run.high) for members in communities]
    first = np.cumsum([0, *(len(chain) for chain in chains[:-1])])
    return Chains(np.array([arm for chain in chains for arm in chain], dtype=np.int64), first)


def _chain(members: NDArray[np.intp], low: Floats, high: Floats) -> list[int]:
    """Return arms of a community that overlap one after the other, from its one end to the other.

    Args:
        members: The community, by ascending lower ends.
        low: Lower ends of the intervals of all arms.
        high: Upper ends.
    """
    lows = low[members]
    chain = [int(members[0])]
    while high[chain[-1]] < lows[-1]:
        last = chain[-1]
        # The last to begin before the middle; where arms are sparse, the one that reaches furthest.
        place = int(np.searchsorted(lows, (low[last] + high[last]) / 2, side="right")) - 1
        if high[members[place]] <= high[last]:
            beside = members[: np.searchsorted(lows, high[last], side="right")]
            place = int(np.argmax(high[beside]))
        chain.append(int(members[place]))
    return chain


def fits(run: GoldIntervalRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: arms pulled in turn."""
    return arms.zero_one and run.in_turn and bool((arms.drawn == run.tally.counts).all())


def advance(run: GoldIntervalRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally = run.tally
    n = run.context.n
    sweeps = _Sweeps(
        counts=tally.counts,
        totals=tally.totals,
        limits=np.ceil(arms.means * 2.0**53).astype(np.int64),
        starts=arms.starts,
        increments=arms.increments,
        low=run.low,
        high=run.high,
        b=run.b,
        sigma=run.context.rewards.sigma,
        r=run.radius.r,
        level=-2.0 * math.log(run.radius.alpha),
    )
    sweeps.reserve(n, "since until begin end")
    while run.verdict == "running" and tally.pulls < stop_at:
        rest = run.rest_of_sweep()
        in_play = n - int(np.count_nonzero(run.stage))
        rounds = (stop_at - tally.pulls) // in_play
        if not run.level or not rounds or len(rest) < in_play:
            finish_sweep(run, arms, stop_at)
            run.update_many(rest)
            continue
        if run.chains is None:
            run.chains = chains_of(run)
        sweeps.give(
            arms=rest,
            size=in_play,
            chain=run.chains.arms,
            length=len(run.chains.arms),
            first=run.chains.first,
            chains=len(run.chains.first),
            rounds=rounds,
        )
        holds = _sweep(byref(sweeps))
        tally.pulls += sweeps.made * in_play
        run.position = (int(rest[-1]) + 1) % n
        run.level = int(tally.counts[rest[0]])
        if not holds:
            run.chains = chains_of(run)
    arms.drawn[:] = tally.counts
