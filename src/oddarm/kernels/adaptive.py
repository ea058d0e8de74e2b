"""The adaptive strategy on simulated 0/1 rewards: rounds drawn and intervals kept in compiled code.

What to pull and what is decided is the run's own business, with the compiled parts of
`kernels.blocks` and `kernels.groups`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oddarm.bounds import CentredBeta
from oddarm.kernels.centred import centred_interval
from oddarm.kernels.compiling import kernel
from oddarm.kernels.streams import draw

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.adaptive import AdaptiveRun

__all__ = ["advance", "fits"]


def fits(run: AdaptiveRun, arms: SimulatedArms) -> bool:
    """Whether the compiled rounds can take over: 0/1 rewards, none on their way."""
    del arms
    return isinstance(run.bound, CentredBeta) and bool((run.asked == run.tally.counts).all())


def advance(run: AdaptiveRun, arms: SimulatedArms, stop: int) -> None:
    """Pull until all is decided or `stop` rewards have been told."""
    assert isinstance(run.bound, CentredBeta)
    tally, level = run.tally, run.bound.level
    while run.verdict == "running" and tally.pulls < stop:
        if not run.quota.any():
            run.begin_round(again=True)
        tally.pulls += _draw_round(
            tally.counts,
            tally.totals,
            run.quota,
            run.dirty,
            arms.starts,
            arms.increments,
            arms.means,
            stop - tally.pulls,
        )
        run.asked[:] = tally.counts
        if not run.quota.any():
            _refresh(tally.counts, tally.totals, run.dirty, level, run.low, run.high, run.means)
            run.goal[:] = 0
            run.waiting = 0
            if run.ready:
                run.decide()
    run.goal[:] = np.where(run.quota > 0, tally.counts + run.quota, 0)
    run.waiting = int((run.quota > 0).sum())
    arms.drawn[:] = tally.counts


@kernel
def _draw_round(
    counts: Any,
    totals: Any,
    quota: Any,
    dirty: Any,
    starts: Any,
    increments: Any,
    rates: Any,
    room: int,
) -> int:
    """Pull what the round asks for, at most `room` rewards; return how many."""
    pulls = 0
    for arm in range(len(counts)):
        some = min(quota[arm], room - pulls)
        if some <= 0:
            continue
        count, total = counts[arm], totals[arm]
        for k in range(1, some + 1):
            total += draw(starts[arm], increments[arm], count + k, rates[arm])
        counts[arm] = count + some
        totals[arm] = total
        quota[arm] -= some
        dirty[arm] = True
        pulls += some
    return pulls


@kernel
def _refresh(
    counts: Any, totals: Any, dirty: Any, level: float, low: Any, high: Any, means: Any
) -> None:
    """Bring the intervals up to date, as the run itself would."""
    for arm in range(len(counts)):
        if not dirty[arm]:
            continue
        dirty[arm] = False
        one, two = centred_interval(totals[arm], float(counts[arm]), level)
        if max(one, low[arm]) <= min(two, high[arm]):
            one, two = max(one, low[arm]), min(two, high[arm])
        low[arm], high[arm] = one, two
        means[arm] = min(max(totals[arm] / counts[arm], one), two)
