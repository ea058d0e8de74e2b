"""RR: round robin under the k-sigma rule (Zhuang, Wang and Wang, NIPS 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oddarm.strategies.sigma.rule import SigmaRun, SigmaStrategy

__all__ = ["RR"]


class RRRun(SigmaRun):
    """Cyclic pulls."""

    compiled: ClassVar[str | None] = "oddarm.strategies.sigma.compiled"


@dataclass(frozen=True)
class RR(SigmaStrategy):
    """Pull all arms in turn until no arm's interval overlaps that of the threshold.

    Promises: the declared arms are those above mean + k·std, with probability at least 1-δ
    (proved for `bound="anytime"`).

    Finds: high outliers only. Low and intermediate ones never exceed the threshold:

    >>> import oddarm
    >>> low = [0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.05]
    >>> oddarm.simulate(low, oddarm.strategies.RR(k=2), max_outliers=1).outliers
    []

    Cost: O(n) per pull; all arms are pulled until the hardest is decided.

    Examples:
        >>> high = [0.02, 0.03, 0.03, 0.04, 0.04, 0.05, 0.05, 0.98]
        >>> oddarm.simulate(high, oddarm.strategies.RR(k=2), max_outliers=1).outliers
        [7]
    """

    name: ClassVar[str] = "rr"
    run: ClassVar = RRRun
