"""The beta-binomial interval for finite pools of 0/1 rewards, drawn without replacement.

For a pool of N rewards with k ones, the prior-posterior ratio of a beta-binomial prior is a
martingale under the true k (Waudby-Smith and Ramdas 2020). After s ones and f zeros it is

    B(s+a, f+a) / B(a, a) · C(N, k) / C(N-m, k-s),

and k is kept while it is below 1/α. The ratio has one valley in k, so both ends are found by
bisection. At m = N one k is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm.bounds.base import Bound, Floats
from oddarm.tally import Tally

__all__ = ["PoolBeta"]


@dataclass(frozen=True)
class PoolBeta(Bound):
    """The interval for the share of ones in each arm's pool.

    Args:
        alpha: Error probability of one arm, over all times.
        prior: The parameter a of the beta-binomial prior.
    """

    alpha: float
    prior: float = 0.5
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = (
        "Ville's inequality for the beta-binomial prior-posterior ratio, at delta/n per arm"
    )

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.pools is not None
        size = tally.pools.astype(np.float64)
        m = tally.counts.astype(np.float64)
        s = tally.totals
        fewest, most = s, size - (m - s)
        centre = np.clip(np.floor((size + 1) * s / np.maximum(m, 1)), fewest, most)
        low = self._edge(size, m, s, inside=centre, outside=fewest - 1)
        high = self._edge(size, m, s, inside=centre, outside=most + 1)
        return low / size, high / size

    def _edge(self, size: Floats, m: Floats, s: Floats, inside: Floats, outside: Floats) -> Floats:
        """Return the last k that is kept between `inside` (kept) and `outside` (not)."""
        from scipy.special import betaln, gammaln

        a = self.prior
        # B(a, a)/B(s+a, f+a)/α and the binomial coefficients, in logs; size! and the like cancel
        limit = -math.log(self.alpha) + betaln(a, a) - betaln(s + a, m - s + a)
        limit = limit + gammaln(size - m + 1) - gammaln(size + 1)
        for _ in range(int(math.log2(float(np.max(size)) + 2)) + 2):
            middle = np.trunc((inside + outside) / 2)
            middle = np.where(np.abs(outside - inside) <= 1, inside, middle)
            k, left = middle, size - middle
            ratio = (
                gammaln(k - s + 1)
                - gammaln(k + 1)
                + gammaln(left - (m - s) + 1)
                - gammaln(left + 1)
            )
            kept = ratio < limit
            inside = np.where(kept, middle, inside)
            outside = np.where(kept, outside, middle)
        return inside
