"""What a bound is: intervals from a tally."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from oddarm._checks import error_probability, real_number, whole_number
from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import ParameterError
from oddarm.rewards import LARGEST
from oddarm.tally import Tally

__all__ = ["Bound", "RadiusBound", "around", "at_level", "check_parameters"]


def check_parameters(bound: object) -> None:
    """Check the parameters of a new bound and make them floats, or raise ParameterError.

    Their names say what they are: alpha and delta are error probabilities, low and high the ends
    of a range, n the number of arms, k and sigma scales.
    """
    for name, value in vars(bound).items():
        if name in ("alpha", "delta"):
            checked: float = error_probability(name, value)
        elif name == "n":
            checked = whole_number(name, value, 1)
        elif name in ("low", "high"):
            checked = real_number(name, value, "a number", lambda x: not math.isnan(x))
        elif name in ("k", "sigma"):
            rule = f"a number from 0 to {LARGEST:g}"
            checked = real_number(name, value, rule, lambda x: 0 <= x <= LARGEST)
        else:
            continue
        object.__setattr__(bound, name, checked)
    low, high = getattr(bound, "low", 0.0), getattr(bound, "high", 1.0)
    if not low < high:
        raise ParameterError(f"low == {low!r} and high == {high!r}, must be low < high.")


def at_level(bound: Bound, alpha: float) -> Bound:
    """Return the same bets at another error probability.

    Their capital does not depend on the level, so the level at which a claim becomes certain is an
    e-value. docs/guarantees.md, "Evidence".
    """
    known = vars(bound)
    changes = {"alpha": alpha}
    if "tuned_for" in known:
        changes["tuned_for"] = known["tuned_for"] or known["alpha"]
    return replace(bound, **changes)  # type: ignore[type-var]


class Bound(Protocol):
    """An interval for each arm's mean.

    Attributes:
        proved: Whether the stated error probability is proved for these intervals.
        reason: A few words that say why, or why not.
    """

    @property
    def proved(self) -> bool: ...  # noqa: D102 - described above

    @property
    def reason(self) -> str: ...  # noqa: D102

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the lower and upper ends, one of each per arm, as of now.

        They hold at all times at once, so the running intersection of what is returned over time
        is valid too; those of `bounds.fixed_sample` hold at one look only.
        """
        ...

    def interval_of(self, tally: Tally, arm: int) -> tuple[float, float]:
        """Return the ends of one arm alone; some bounds have a faster way."""
        low, high = self.interval(tally.at(arm))
        return float(low[0]), float(high[0])

    def narrow(self, tally: Tally, arm: int, low: Floats, high: Floats) -> None:
        """Intersect the interval of an arm so far, in `low` and `high`, with that of now.

        Crossed ends mean that an interval has failed, which may happen with probability δ/n. Then
        the latest interval is kept alone, so that the search can end.
        """
        now = self.interval_of(tally, arm)
        both = max(now[0], float(low[arm])), min(now[1], float(high[arm]))
        low[arm], high[arm] = both if both[0] <= both[1] else now

    def narrow_many(self, tally: Tally, arms: Indices, low: Floats, high: Floats) -> None:
        """Narrow the intervals of several arms, to the last bit as `narrow` does."""
        for arm in arms.tolist():
            self.narrow(tally, arm, low, high)


class RadiusBound(Bound, Protocol):
    """A bound that is symmetric around the sample mean, as GOLD's graph needs.

    Attributes:
        warmup: How often every arm is pulled before the graph is built.
    """

    @property
    def warmup(self) -> int: ...  # noqa: D102 - described above

    def radii(self, counts: Wholes, totals: Floats, pulls: int) -> Floats:
        """Return β for arms with these pulls and reward sums, after `pulls` pulls in all."""
        ...


def around(bound: RadiusBound, tally: Tally, low: float, high: float) -> tuple[Floats, Floats]:
    """Return ŷ ± β, cut to the range; the whole range for an arm that was never pulled."""
    unseen = tally.counts == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = bound.radii(tally.counts, tally.totals, max(tally.pulls, 1))
        means = tally.means
    return (
        np.where(unseen, low, np.maximum(means - radius, low)),
        np.where(unseen, high, np.minimum(means + radius, high)),
    )
