"""GOLD on simulated 0/1 rewards, compiled.

gold.c says how. The decisions are those of looking at every edge after every pull. The kernel
works on the arrays of a `GoldRun` and its tally, so a run can be advanced here, then by ask and
tell, then here again.
"""

from __future__ import annotations

import math
from ctypes import byref
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oddarm.bounds import NormalMixture, PaperBounded
from oddarm.kernels.native import Record, fields, function, layout

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold import GoldRun
    from oddarm.strategies.gold.graph import NeighbourGraph
    from oddarm.strategies.gold.sweep import SweepRun

__all__ = ["advance", "finish_sweep", "fits"]

PER_PULL, AGRESTI, HOEFFDING = 0, 1, 2
"""Kinds of radii; as `struct gold` of oddarm.h."""
BLOCK = 128
"""Sweeps drawn at once; as `struct gold` of oddarm.h."""


class _Gold(Record):
    """What the kernel works on; as `struct gold` of oddarm.h."""

    kinds: ClassVar = layout("""
        whole n
        flags edges
        wholes stage score counts
        floats totals means
        words starts increments
        whole position pulls stop_at
        real b
        whole max_members enough kind
        real sigma r level spent parts
        bytes path
        floats share
        small_wholes least most
        bytes close
        wholes order turn hub times
        small_wholes ones others
        wholes latest before queue
        flags seen
    """)
    _fields_: ClassVar = fields(kinds)


_advance = function("gold_advance", "record", "flag")
_pull = function("sweep_pull", "wholes whole wholes floats floats words words")


def fits(run: GoldRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: arms pulled in turn."""
    if not arms.zero_one or not run.in_turn or (arms.drawn != run.tally.counts).any():
        return False
    return run.up_to_date


def advance(run: GoldRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally = run.tally
    while run.graph is None and tally.pulls < stop_at:
        finish_sweep(run, arms, stop_at)
        run.update(run.context.n - 1)
    if run.graph is None or not run.up_to_date or run.verdict != "running":
        return
    gold = _record(run, run.graph, arms, stop_at)
    over = _advance(byref(gold))
    run.position, tally.pulls = gold.position, gold.pulls
    arms.drawn[:] = tally.counts
    run.judge_all()
    if over:
        run.verdict = "ranked"


def finish_sweep(run: SweepRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull what is left of the sweep, or all of the next, up to `stop_at` pulls in all.

    Only for runs that decide nothing before the end of a sweep.
    """
    tally = run.tally
    rest = run.rest_of_sweep()[: stop_at - tally.pulls]
    rewards = tally.counts, tally.totals, arms.means, arms.starts, arms.increments
    _pull(rest, len(rest), *rewards)
    tally.pulls += len(rest)
    arms.drawn[rest] = tally.counts[rest]
    run.position = (int(rest[-1]) + 1) % run.context.n


def _record(run: GoldRun, graph: NeighbourGraph, arms: SimulatedArms, stop_at: int) -> _Gold:
    """Return the arrays of a run and its arms, and working memory."""
    kind, r, level = AGRESTI, 0.0, 0.0
    if isinstance(run.radius, NormalMixture):
        kind, r, level = PER_PULL, run.radius.r, -2.0 * math.log(run.radius.alpha)
    elif isinstance(run.radius, PaperBounded):
        kind = HOEFFDING
    n = run.context.n
    gold = _Gold(
        n=n,
        edges=graph.edges,
        stage=run.stage,
        score=run.score,
        counts=run.tally.counts,
        totals=run.tally.totals,
        means=arms.means,
        starts=arms.starts,
        increments=arms.increments,
        position=run.position,
        pulls=run.tally.pulls,
        stop_at=stop_at,
        b=run.b,
        max_members=run.max_members,
        enough=run.enough,
        kind=kind,
        sigma=run.context.rewards.sigma,
        r=r,
        level=level,
        spent=6 * run.context.problem.delta,
        parts=math.pi**2 * n,
        path=np.empty((n, BLOCK + 1), dtype=np.uint8),
        share=np.ones(n),
        hub=np.zeros(n, dtype=np.int64),
    )
    # The system provides only the pages of this memory that are written to.
    gold.reserve(n, "least most close order turn queue seen")
    gold.reserve(n * (n - 1) // 2, "times ones others before")
    gold.reserve(BLOCK * n + 1, "latest")
    return gold
