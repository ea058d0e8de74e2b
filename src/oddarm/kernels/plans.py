"""Which pulls would make gaps certain and rule out rivals, if every estimate is right.

docs/adaptive.md has the mathematics; plans.c does the work.
"""

from __future__ import annotations

from ctypes import byref
from typing import ClassVar

from oddarm._typing import Floats, Wholes
from oddarm.kernels.blocks import Arms, Rules
from oddarm.kernels.native import Record, fields, function, layout

__all__ = ["Target", "plan_target"]


class Target(Record):
    """What a plan is to make certain; as `struct target` of oddarm.h.

    Args:
        cuts: Places in by_mean.
        first: Where a block begins in by_mean.
        last: Where it ends; at its beginning if there is none.
        windows: First and last place of each window.

    Attributes:
        gap: At each of the cuts a gap of at least this is certain. No piece is left that has gaps
            above (1+ε) times this and can leave out an arm of the block; if there is no block, no
            piece with such gaps.
        level: Each window is certain to have a gap of at least this. If there is a cut, no piece
            beside the first one is left that has gaps above (1+ε) times this.
    """

    kinds: ClassVar = layout("""
        wholes cuts
        whole cut_count first last
        real gap
        wholes windows
        whole window_count
        real level
    """)
    _fields_: ClassVar = fields(kinds)

    def __init__(
        self, cuts: Wholes, first: int = 0, last: int = 0, windows: Wholes | None = None
    ) -> None:
        super().__init__(cuts=cuts, cut_count=len(cuts), first=first, last=last)
        if windows is not None:
            self.give(windows=windows, window_count=len(windows))

    def asking(self, gap: float, level: float = 0.0) -> Target:
        """Set the widths and return the target itself."""
        self.gap, self.level = gap, level
        return self


_plan_target = function("plan_target", "record record record floats real", "real")


def plan_target(
    arms: Arms, rules: Rules, target: Target, start: Floats, budget: float
) -> tuple[Floats, float]:
    """Plan the pulls that make a target certain.

    That supposes that every estimate is right and that an arm's interval shrinks with the root of
    its pulls.

    Args:
        arms: The arms.
        rules: The rules of the problem.
        target: What is to be certain.
        start: By what factors pulls are planned to grow already.
        budget: Planning stops when the plan costs that or more.

    Returns:
        By what factor the pulls of each arm must grow, and how many more pulls than now that takes;
        infinite if planning stopped, or no plan is possible.
    """
    factors = start.copy()
    cost = _plan_target(arms.having("pulls"), byref(rules), byref(target), factors, budget)
    return factors, cost
