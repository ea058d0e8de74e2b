"""GOLD's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from oddarm.errors import ParameterError
from oddarm.strategies.base import RunContext, Strategy
from oddarm.strategies.gold.algorithm import GoldRun
from oddarm.strategies.gold.anytime import AnytimeRun
from oddarm.strategies.gold.intervals import GoldIntervalRun
from oddarm.strategies.gold.sweep import SweepRun

__all__ = ["Gold"]


@dataclass(frozen=True)
class Gold(Strategy):
    """Pull all arms in turn until small communities split off from the rest.

    Two arms are neighbours while |ŷᵢ-ŷⱼ| ≤ b(βᵢ+βⱼ); a community is a connected component. An arm
    whose community has at most c members is terminal: it is no longer pulled, and its score S is
    the round T in which that happened. The run ends when c arms are terminal, and ranks by S.

    With `bound="paper"` everything is as printed, with `bound="anytime"` as proved.

    Promises: every member of every outlier group ranks before all arms outside the group, with
    probability at least 1-δ, for `bound="anytime"` (proof in docs/guarantees.md). It does not say
    whether a group exists.

    Finds: upper, lower, intermediate and mixed groups.

    Cost: O(n) per pull and n² bytes; about n·m pulls where m separates the group from the rest.
    The form "intervals" has the same promise and nearly always the same answer. It costs O(n log n)
    per sweep and some 50 bytes per arm: use it for thousands of arms and more
    (docs/strategies.md). It needs `bound="anytime"`.

    Args:
        form: "edges", the algorithm as printed; or "intervals", its form for many arms.

    Examples:
        >>> import oddarm
        >>> result = oddarm.simulate([0.1, 0.12, 0.15, 0.17, 0.9], "gold", max_outliers=1)
        >>> result.ranking[0], result.verdict
        (4, 'ranked')
    """

    name: ClassVar[str] = "gold"
    finite: ClassVar[bool] = False
    form: Literal["edges", "intervals"] = "edges"

    def __post_init__(self) -> None:
        if self.form not in ("edges", "intervals"):
            raise ParameterError(f"form == {self.form!r}, must be 'edges' or 'intervals'.")

    def start(self, context: RunContext) -> SweepRun:
        """Return a new run."""
        self.check(context)
        if self.form == "intervals":
            return GoldIntervalRun(context)
        return GoldRun(context) if context.bound == "paper" else AnytimeRun(context)
