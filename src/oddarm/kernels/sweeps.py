"""One sweep over the arms in play on simulated 0/1 rewards, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oddarm.kernels.compiling import kernel
from oddarm.kernels.streams import draw

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.sweeps import SweepRun

__all__ = ["finish_sweep"]


def finish_sweep(run: SweepRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull what is left of the sweep, or all of the next, up to `stop_at` pulls in all.

    Only for runs that decide nothing before the end of a sweep.
    """
    tally = run.tally
    rest = run.rest_of_sweep()[: stop_at - tally.pulls]
    _pull(rest, tally.counts, tally.totals, arms.means, arms.starts, arms.increments)
    tally.pulls += len(rest)
    arms.drawn[rest] = tally.counts[rest]
    run.position = (int(rest[-1]) + 1) % run.setting.n


@kernel
def _pull(arms: Any, counts: Any, totals: Any, means: Any, starts: Any, increments: Any) -> None:
    for i in arms:
        counts[i] += 1
        totals[i] += draw(starts[i], increments[i], counts[i], means[i])
