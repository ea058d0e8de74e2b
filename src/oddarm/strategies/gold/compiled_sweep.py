"""One sweep over the arms in play on simulated 0/1 rewards, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oddarm.kernels.native import function

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold.sweep import SweepRun

__all__ = ["finish_sweep"]

_pull = function("sweep_pull", "wholes whole wholes floats floats words words")


def finish_sweep(run: SweepRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull what is left of the sweep, or all of the next, up to `stop_at` pulls in all.

    Only for runs that decide nothing before the end of a sweep.
    """
    tally = run.tally
    rest = run.rest_of_sweep()[: stop_at - tally.pulls]
    _pull(
        rest,
        len(rest),
        tally.counts,
        tally.totals,
        arms.means,
        arms.starts,
        arms.increments,
    )
    tally.pulls += len(rest)
    arms.drawn[rest] = tally.counts[rest]
    run.position = (int(rest[-1]) + 1) % run.context.n
