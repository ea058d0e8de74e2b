"""MaxGapTop2UCB: prove the largest gap (Katariya, Tripathy and Nowak, NeurIPS 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oddarm.errors import ParameterError
from oddarm.strategies.base import RunContext
from oddarm.strategies.maxgap.rule import MaxGapRun
from oddarm.strategies.maxgap.ucb import MaxGap

__all__ = ["MaxGapTop2"]


@dataclass(frozen=True)
class MaxGapTop2(MaxGap):
    """MaxGapTop2UCB: as MaxGap, with the arms of the two largest upper bounds in each round.

    The arms of the runner-up are pulled as well, so the largest gap becomes certain. The run ends
    when one gap is certain to be at least as large as any gap on either side of it can be. That
    settles which arms are on which side. The run of the authors goes on until it is settled, too,
    which two arms lie beside the gap: until all other arms are certain to have no larger gap
    beside them. `border=True` does that: of the arms that are declared the last is then the one
    beside the gap, and of the others the one that ranks first.

    Args:
        border: Whether to go on until the two arms beside the gap are certain.

    Promises: the split is at the largest gap, and with `border` lies between these two arms, with
    probability at least 1-δ (proved for `bound="anytime"`).

    Finds: as MaxGap.

    Cost: O(n log n) per round of a few pulls.

    Examples:
        >>> import oddarm
        >>> high = [0.10, 0.20, 0.30, 0.40, 0.95]
        >>> result = oddarm.simulate(high, "maxgap-top2", max_outliers=1)
        >>> result.outliers, result.provenance["delta_proved"]
        ([4], True)
        >>> both = oddarm.strategies.MaxGapTop2(border=True)
        >>> oddarm.simulate(high, both, max_outliers=1).ranking[:2]
        [4, 3]
    """

    name: ClassVar[str] = "maxgap-top2"
    border: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.border, bool):
            raise ParameterError(f"border == {self.border!r}, must be True or False.")

    def start(self, context: RunContext) -> MaxGapRun:
        """Return a new run."""
        self.check(context)
        return MaxGapRun(context, values=2, border=self.border)
