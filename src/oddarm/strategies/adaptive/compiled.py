"""The adaptive strategy on simulated 0/1 rewards: rounds drawn and intervals kept in compiled code.

The run itself says what to pull and what is decided, with the compiled parts of
`kernels.blocks`, `kernels.groups`, `kernels.pairs` and `kernels.plans`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oddarm.bounds import CentredBeta
from oddarm.kernels.native import function

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.adaptive import AdaptiveRun

__all__ = ["advance", "fits"]

_draw_round = function(
    "adaptive_draw", "whole wholes floats wholes flags words words floats whole", "whole"
)
_refresh = function("adaptive_refresh", "whole wholes floats flags real floats floats floats")


def fits(run: AdaptiveRun, arms: SimulatedArms) -> bool:
    """Whether the compiled rounds can take over: 0/1 rewards, none in flight."""
    del arms
    return isinstance(run.bound, CentredBeta) and bool((run.asked == run.tally.counts).all())


def advance(run: AdaptiveRun, arms: SimulatedArms, stop: int) -> None:
    """Pull until all is decided or `stop` rewards have been told."""
    assert isinstance(run.bound, CentredBeta)
    tally, needed, n = run.tally, run.bound.level, run.context.n
    while run.verdict == "running" and tally.pulls < stop:
        if not run.round.quota.any():
            run.begin_round()
        tally.pulls += _draw_round(
            n,
            tally.counts,
            tally.totals,
            run.round.quota,
            run.dirty,
            arms.starts,
            arms.increments,
            arms.means,
            stop - tally.pulls,
        )
        run.asked[:] = tally.counts
        if not run.round.quota.any():
            _refresh(n, tally.counts, tally.totals, run.dirty, needed, run.low, run.high, run.means)
            run.round.note_all(tally.counts)
            if run.ready:
                run.decide()
    run.round.begin(tally.counts, tally.counts)
    arms.drawn[:] = tally.counts
