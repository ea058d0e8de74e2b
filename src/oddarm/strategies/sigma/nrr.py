"""NRR: naive round robin, a baseline of Zhuang, Wang and Wang (NIPS 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oddarm._typing import Indices
from oddarm.state import Arms, Kind, OrNone, Whole
from oddarm.strategies.base import Run, RunContext
from oddarm.strategies.sigma.rule import SigmaRun, SigmaStrategy

__all__ = ["NRR"]


class NRRRun(SigmaRun):
    """Cyclic pulls, and how long the estimate has been the same.

    Attributes:
        latest: The arms above the estimated threshold, ascending.
        unchanged: For how many pulls it has been the same.
    """

    proved: ClassVar[bool] = False
    reason: ClassVar[str] = "the rule stops when its estimate has not changed for 1/delta pulls"

    def __init__(self, context: RunContext, k: float) -> None:
        super().__init__(context, k)
        self.latest: list[int] | None = None
        self.unchanged = 0

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        latest = OrNone(Arms(self.context.n))
        return {**super().fields(), "latest": latest, "unchanged": Whole()}

    def update_many(self, arms: Indices) -> None:
        """Decide after each arm, since the number of pulls decides."""
        Run.update_many(self, arms)

    def decide(self, arm: int) -> None:
        """Stop when the estimate has been the same for 1/δ pulls."""
        del arm
        now = sorted(self.estimate())
        if now == self.latest:
            self.unchanged += 1
        else:
            self.latest, self.unchanged = now, 0
        if self.unchanged >= 1 / self.context.problem.delta:
            self.finish(self.estimate())


@dataclass(frozen=True)
class NRR(SigmaStrategy):
    """Pull all arms in turn until the estimated set has not changed for 1/δ pulls.

    Promises: nothing. It is fast and often wrong.

    Finds: high outliers only, under the k-sigma rule.

    Cost: O(n) per pull.

    Examples:
        >>> import oddarm
        >>> high = [0.10, 0.11, 0.12, 0.13, 0.14, 0.15, 0.95]
        >>> result = oddarm.simulate(high, "nrr", max_outliers=1)
        >>> result.pulls, result.provenance["delta_proved"]
        (27, False)
    """

    name: ClassVar[str] = "nrr"
    run: ClassVar = NRRRun
    promise: ClassVar[str] = "the estimate has not changed for 1/delta pulls"
