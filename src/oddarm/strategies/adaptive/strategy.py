"""The adaptive strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oddarm.errors import ParameterError
from oddarm.strategies.adaptive.absolute_run import AbsoluteRun
from oddarm.strategies.adaptive.run import AdaptiveRun
from oddarm.strategies.base import RunContext, Strategy

__all__ = ["Adaptive"]


@dataclass(frozen=True)
class Adaptive(Strategy):
    """Rank the outliers first, and confirm them or say that there are none.

    Every round looks for the block of arms with the widest gaps around it, plans the fewest pulls
    that would show that every group must contain it, and pulls towards that plan. An arm deep
    among the others is pulled just often enough to know that it does not bridge a gap.

    Promises: every member of every group, of arms above, below, in between or on both sides,
    ranks before the arms outside it, with probability at least 1-δ, whatever the rewards'
    variances. With `until="found"` it stops at the first group that is confirmed, or when none
    can be; with `until="confirmed"` when every set of arms that may be a group is judged.

    Finds: all groups.

    Cost: in pulls, a fifth to a sixteenth of GOLD's on the paper's kind of instance
    (`make verify`). In time, O(n) for each step of a round's plan, in compiled code.

    Examples:
        >>> import oddarm
        >>> rates = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35, 0.95]
        >>> result = oddarm.simulate(rates, "adaptive", until="found")
        >>> result.verdict, result.outliers
        ('confirmed', [10])
        >>> oddarm.simulate(rates[:10] + [0.38], "adaptive", until="confirmed").verdict
        'none'
    """

    name: ClassVar[str] = "adaptive"
    confirms: ClassVar[bool] = True
    runs: ClassVar[tuple[type[AdaptiveRun], type[AdaptiveRun]]] = AdaptiveRun, AbsoluteRun
    """What runs by the relative rule, and by the absolute one."""

    def start(self, context: RunContext) -> AdaptiveRun:
        """Return a new run."""
        self.check(context)
        if context.bound == "paper":
            raise ParameterError(
                f"bound == 'paper' with strategy {self.name!r}, which needs intervals that hold at "
                "all times: pass bound='anytime', or strategy='gold'."
            )
        return self.runs[context.problem.absolute](context)
