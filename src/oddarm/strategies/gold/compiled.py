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
from oddarm.strategies.gold.compiled_sweep import finish_sweep

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold import GoldRun
    from oddarm.strategies.gold.graph import NeighbourGraph

__all__ = ["advance", "fits"]

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


def _record(run: GoldRun, graph: NeighbourGraph, arms: SimulatedArms, stop_at: int) -> _Gold:
    """Return the arrays of a run and its arms, and working memory."""
    kind, r, level = AGRESTI, 0.0, 0.0
    if isinstance(run.radius, NormalMixture):
        kind, r, level = PER_PULL, run.radius.r, -2.0 * math.log(run.radius.alpha)
    elif isinstance(run.radius, PaperBounded):
        kind = HOEFFDING
    n = run.context.n
    pairs = n * (n - 1) // 2
    # The system provides only the pages of this memory that are written to.
    return _Gold(
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
        least=np.empty(n, dtype=np.int32),
        most=np.empty(n, dtype=np.int32),
        close=np.empty(n, dtype=np.uint8),
        order=np.empty(n, dtype=np.int64),
        turn=np.empty(n, dtype=np.int64),
        hub=np.zeros(n, dtype=np.int64),
        times=np.empty(pairs, dtype=np.int64),
        ones=np.empty(pairs, dtype=np.int32),
        others=np.empty(pairs, dtype=np.int32),
        latest=np.empty(BLOCK * n + 1, dtype=np.int64),
        before=np.empty(pairs, dtype=np.int64),
        queue=np.empty(n, dtype=np.int64),
        seen=np.empty(n, dtype=np.bool_),
    )
