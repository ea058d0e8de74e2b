"""ADE: arms and threshold explored in balance (Zhang, Zhuang, Zhang and Zhou, AAAI 2020).

X. Zhang, H. Zhuang, S. Zhang and Y. Zhou, "Adaptive double-exploration tradeoff for outlier
detection", AAAI 2020. We had its abstract and summaries. What they say is kept: arms are pulled in
turn until they are decided, the threshold is explored at random, and what is known less comes
first. Its interval of the threshold, whose width does not depend on the number of arms, needs
single rewards in pairs, and is replaced by that of RR and WRR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from oddarm._streams import streams, uniforms
from oddarm.state import Kind, Whole
from oddarm.strategies.base import RunContext
from oddarm.strategies.sigma.rule import SigmaRun, SigmaStrategy

__all__ = ["ADE"]

CHOICE = 2
"""What sets the stream of the choices apart from those of simulated rewards and of ROAI."""


class ADERun(SigmaRun):
    """One arm at a time: the next that is not decided, or any for the threshold.

    Attributes:
        position: The arm that was pulled last in turn; -1 at first.
    """

    def __init__(self, context: RunContext, k: float) -> None:
        super().__init__(context, k)
        self.position = -1

    @cached_property
    def stream(self) -> tuple[np.uint64, np.uint64]:
        """The random numbers that choose an arm for the threshold."""
        starts, increments = streams((self.context.seed, CHOICE), 1)
        return starts[0], increments[0]

    def next_round(self) -> list[int]:
        """An arm at random while the threshold is known less well than the next active arm."""
        n = self.context.n
        active = np.flatnonzero(self.active())
        if len(active):
            later = active[active > self.position]
            arm = int(later[0] if len(later) else active[0])
            if self.intervals.widths[arm] / 2 >= self.threshold_radius():
                self.position = arm
                return [arm]
        share = float(uniforms(*self.stream, int(self.asked.sum()), 1)[0])
        return [int(share * n)]

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        return {**super().fields(), "position": Whole(-1, self.context.n - 1)}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        pulled = self.position < 0 or self.asked[self.position] > 0
        yield pulled, "the arm that was pulled last in turn was asked for"


@dataclass(frozen=True)
class ADE(SigmaStrategy):
    """Pull the arms that are not decided in turn, or any arm for the threshold: what is known less.

    While the interval of the threshold is wider than that of the next active arm, an arm is pulled
    at random, since all arms make the threshold. Else the active arm is pulled. An arm that is
    decided is no longer pulled for its own sake.

    Promises: as RR, for the stopping rule is the same. The interval of the threshold is not that
    of the publication, so its bound on the pulls does not carry over.

    Finds: high outliers only, as RR:

    >>> import oddarm
    >>> low = [0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.05]
    >>> oddarm.simulate(low, oddarm.strategies.ADE(k=2), max_outliers=1).outliers
    []

    Cost: O(n) per pull.

    Examples:
        >>> high = [0.02, 0.03, 0.03, 0.04, 0.04, 0.05, 0.05, 0.98]
        >>> oddarm.simulate(high, oddarm.strategies.ADE(k=2), max_outliers=1).outliers
        [7]
    """

    name: ClassVar[str] = "ade"
    run: ClassVar = ADERun
