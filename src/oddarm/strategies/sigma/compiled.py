"""RR and WRR on simulated 0/1 rewards, compiled.

A pull costs O(1) with Hoeffding's radii and with the proved intervals, where only the pulled arm's
changes, and O(n) with the Bernoulli radii as printed, which all change with T.
"""

from __future__ import annotations

import math
from ctypes import byref
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oddarm.bounds import BetaMixture
from oddarm.bounds.sigma import SigmaBernoulli, SigmaBounded, l_of_k
from oddarm.kernels.native import Record, fields, function, layout
from oddarm.strategies.sigma.wrr import WRRRun

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.sigma.rule import SigmaRun

__all__ = ["advance", "fits"]

HOEFFDING, AGRESTI, PROVED = 0, 1, 2


class _Visits(Record):
    """What the kernel works on; as `struct visits` of oddarm.h."""

    kinds: ClassVar = layout("""
        whole n kind position pulls stop_at
        real k delta span root level weight
        flag weighted over
        wholes counts
        floats totals low high
        flags overlap
        floats quota means
        words starts increments
        floats y m p part radius
    """)
    _fields_: ClassVar = fields(kinds)


_advance = function("sigma_advance", "record")


def fits(run: SigmaRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: at the end of a visit or a sweep."""
    bounds = SigmaBounded | SigmaBernoulli | BetaMixture
    known = arms.zero_one and isinstance(run.bound, bounds)
    counts = run.tally.counts
    waiting = bool((run.asked != counts).any()) or bool(run.queue)
    return known and run.ready and not waiting and bool((arms.drawn == counts).all())


def advance(run: SigmaRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally, bound, delta = run.tally, run.bound, run.context.problem.delta
    n = run.context.n
    kind, level, span = PROVED, 0.0, 1.0
    if isinstance(bound, SigmaBounded):
        kind, span = HOEFFDING, bound.high - bound.low
    elif isinstance(bound, SigmaBernoulli):
        kind = AGRESTI
    elif isinstance(bound, BetaMixture):
        level = -math.log(bound.alpha)
    visits = run if isinstance(run, WRRRun) else None
    state = _Visits(
        n=n,
        kind=kind,
        position=visits.position if visits else n - 1,
        pulls=tally.pulls,
        stop_at=stop_at,
        k=run.k,
        delta=delta,
        span=span,
        root=math.sqrt(l_of_k(run.k, n, delta)),
        level=level,
        weight=visits.weight if visits else 0.0,
        weighted=visits is not None,
        counts=tally.counts,
        totals=tally.totals,
        low=run.intervals.low,
        high=run.intervals.high,
        overlap=visits.overlap if visits else np.ones(n, dtype=np.bool_),
        quota=visits.quota if visits else None,
        means=arms.means,
        starts=arms.starts,
        increments=arms.increments,
    )
    state.reserve(n, "y m p part radius")
    _advance(byref(state))
    tally.pulls = state.pulls
    run.asked[:] = tally.counts
    arms.drawn[:] = tally.counts
    if kind != PROVED:
        run.intervals.low, run.intervals.high = bound.interval(tally)
    if visits:
        visits.position = state.position
    elif not state.over:
        run.queue = list(range(state.position + 1, n))
    if state.over:
        run.finish(run.decided())
