"""The rewards of each arm as a few sums: O(1) numbers per arm, however many pulls it has."""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats, Indices
from oddarm._typing import Wholes as WholeNumbers
from oddarm.errors import RewardError
from oddarm.rewards import LARGEST, Bernoulli, Bounded, Rewards
from oddarm.state import (
    EXACT,
    Kind,
    Nothing,
    Reals,
    Wholes,
    damaged,
    decode_fields,
    encode_fields,
    mapping,
    require,
)

__all__ = ["Tally", "exact_sum"]


_EXACT = decimal.Context(prec=1000, traps=[decimal.Inexact])
"""Adds the decimals of floats without rounding: rewards have at most 500 digits."""


def exact_sum(rewards: Floats, start: Decimal = Decimal(0)) -> Decimal:
    """Return `start` and the sum of the rewards, each read as the decimal that it prints as.

    Examples:
        >>> float(sum([0.1] * 3)), exact_sum(np.array([0.1] * 3))
        (0.30000000000000004, Decimal('0.3'))
    """
    for reward in rewards.tolist():
        start = _EXACT.add(start, Decimal(repr(reward)))
    return start


class Tally:
    """The rewards that were told of each arm, as sums.

    Attributes:
        rewards: What a reward may be.
        counts: Pulls of each arm.
        totals: Sum of its rewards, added one by one in the order told; rounded from `exact` where
            there is one.
        beyond: For bounded rewards only, the sum of (reward - least possible reward), so that an
            offset that all rewards share costs no digits.
        exact: For bounded finite pools only, the exact sum of the rewards, each read as the
            decimal that it prints as: the mean of an exhausted pool is then known as a fraction.
        scatter: For endless bounded rewards only, the sum of squared deviations from the mean,
            kept by Chan's update, so that it stays accurate when the variance is tiny.
        pulls: T, the pulls of all arms together.
        pools: Size of each arm's finite pool, or None.
        limits: How many rewards each arm can give, as a pool or as a sample; None for no end.
        drawn: For bounded finite pools only, the sums that the without-replacement interval needs;
            see `bounds.pool_bernstein`.
        plain: Whether counts and totals are the only sums.
    """

    def __init__(self, n: int, rewards: Rewards) -> None:
        self.rewards = rewards
        self.counts: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.totals: Floats = np.zeros(n)
        self.pulls = 0
        self.scatter: Floats | None = None
        self.pools: NDArray[np.int64] | None = None
        self.limits: NDArray[np.int64] | None = None
        self.drawn: Floats | None = None
        self.beyond: Floats | None = None
        self.exact: list[Decimal] | None = None
        if rewards.limits is not None:
            self.limits = np.array(rewards.limits, dtype=np.int64)
        if rewards.pools is not None:
            self.pools = self.limits
        if isinstance(rewards, Bounded):
            self.beyond = np.zeros(n)
            if self.pools is None:
                self.scatter = np.zeros(n)
            else:
                self.drawn = np.zeros((5, n))
                self.exact = [Decimal(0)] * n
        self.plain = self.limits is None and self.scatter is None

    @property
    def means(self) -> Floats:
        """Sample means; nan for an arm that was never pulled."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.totals / self.counts)

    @property
    def exhausted(self) -> bool:
        """Whether every arm has a finite pool and all its rewards have been told."""
        return self.pools is not None and bool((self.counts == self.pools).all())

    def size_of(self, arm: int) -> str:
        """Return in words how many rewards a finite arm has."""
        assert self.limits is not None
        size = int(self.limits[arm])
        return f"{size} rows" if self.pools is None else f"pool of {size}"

    def exact_means(self) -> list[Fraction]:
        """Return the sample means of 0/1 or bounded rewards, exactly; every arm has one."""
        totals: list[Any] = self.totals.tolist() if self.exact is None else self.exact
        return [Fraction(s) / m for s, m in zip(totals, self.counts.tolist(), strict=True)]

    def add(self, arm: int, rewards: Floats) -> None:
        """Count checked rewards of one arm."""
        before = int(self.counts[arm])
        self._check_limit(arm, len(rewards))
        if self.drawn is not None or self.scatter is not None:
            one, rows = np.array([arm]), (rewards - self.rewards.low)[None, :]
            add = self._add_scatter if self.drawn is None else self._add_drawn
            add(one, rows, self.counts[one])
        if self.beyond is None:
            self.totals[arm] = _added(self.totals[arm], rewards)
        else:
            low = self.rewards.low
            self.beyond[arm] = _added(self.beyond[arm], rewards - low)
            self.totals[arm] = (before + len(rewards)) * low + self.beyond[arm]
        if self.exact is not None:
            self.exact[arm] = exact_sum(rewards, self.exact[arm])
            self.totals[arm] = float(self.exact[arm])
        self.counts[arm] = before + len(rewards)
        self.pulls += len(rewards)

    def add_many(self, arms: Indices, rewards: Floats) -> None:
        """Count checked rewards of many arms; those of one arm in the order given."""
        if self.plain:
            np.add.at(self.totals, arms, rewards)
            self.counts += np.bincount(arms, minlength=len(self.counts))
            self.pulls += len(arms)
            return
        order = np.argsort(arms, kind="stable")
        named, sizes = np.unique(arms, return_counts=True)
        self.add_block(named, sizes, rewards[order])

    def add_block(self, arms: Indices, sizes: WholeNumbers, rewards: Floats) -> None:
        """Count checked rewards of distinct arms, `sizes` of them each, one arm after the other."""
        before = self.counts[arms]
        if self.limits is not None:  # refused whole, before anything is counted
            over = np.flatnonzero(sizes > self.limits[arms] - before)
            if len(over):
                self._check_limit(int(arms[over[0]]), int(sizes[over[0]]))
        named, ends = np.repeat(arms, sizes), np.cumsum(sizes)
        if self.drawn is not None or self.scatter is not None:
            beyond = rewards - self.rewards.low
            # Of arms with equally many rewards, the sums have the bits that they have alone.
            for size in np.unique(sizes).tolist():
                alike = sizes == size
                rows = beyond[(ends - size)[alike][:, None] + np.arange(size)]
                if self.drawn is not None:
                    self._add_drawn(arms[alike], rows, before[alike])
                else:
                    self._add_scatter(arms[alike], rows, before[alike])
        # One by one, in order: as single tells do.
        if self.beyond is None:
            np.add.at(self.totals, named, rewards)
        else:
            low = self.rewards.low
            np.add.at(self.beyond, named, rewards - low)
            self.totals[arms] = (before + sizes) * low + self.beyond[arms]
        if self.exact is not None:
            parts = np.split(rewards, ends[:-1])
            for arm, part in zip(arms.tolist(), parts, strict=True):
                self.exact[arm] = exact_sum(part, self.exact[arm])
                self.totals[arm] = float(self.exact[arm])
        self.counts[arms] = before + sizes
        self.pulls += len(rewards)

    def at(self, arm: int) -> Tally:
        """Return a view of one arm alone, with the pulls of all."""
        return self._part(slice(arm, arm + 1), self.pulls)

    def take(self, arms: Sequence[int]) -> Tally:
        """Return a copy of some arms alone, with their pulls."""
        index = np.array(arms, dtype=np.intp)
        return self._part(index, int(self.counts[index].sum()))

    def _part(self, index: slice | Indices, pulls: int) -> Tally:
        part = object.__new__(Tally)
        part.rewards = self.rewards
        part.counts = self.counts[index]
        part.totals = self.totals[index]
        part.pulls = pulls
        part.scatter = None if self.scatter is None else self.scatter[index]
        part.limits = None if self.limits is None else self.limits[index]
        part.pools = None if self.pools is None else part.limits
        part.drawn = None if self.drawn is None else self.drawn[:, index]
        part.beyond = None if self.beyond is None else self.beyond[index]
        places = range(len(self.counts))[index] if isinstance(index, slice) else index.tolist()
        part.exact = None if self.exact is None else [self.exact[i] for i in places]
        part.plain = self.plain
        return part

    def _check_limit(self, arm: int, rewards: int) -> None:
        """Refuse more rewards than an arm has left."""
        if self.limits is None:
            return
        left = int(self.limits[arm] - self.counts[arm])
        if rewards > left:
            raise RewardError(
                f"{rewards} more rewards for an arm with {left} of its {self.size_of(arm)} left: "
                "each item may be told once."
            )

    def _add_scatter(self, arms: Indices, beyond: Floats, before: WholeNumbers) -> None:
        """Add the squared deviations of rewards above the least one, a row for each arm."""
        assert self.scatter is not None
        assert self.beyond is not None
        k = beyond.shape[1]
        means = beyond.mean(axis=1)
        self.scatter[arms] += ((beyond - means[:, None]) ** 2).sum(axis=1)
        old = before > 0
        arms, before = arms[old], before[old]
        shifts = means[old] - self.beyond[arms] / before
        self.scatter[arms] += shifts * shifts * (before * k / (before + k))

    def _add_drawn(self, arms: Indices, beyond: Floats, before: WholeNumbers) -> None:
        """Sums of w, w², z, z², wz with w = N/(N-t+1) and z = x + (sum so far)/(N-t+1).

        The rewards x, a row for each arm, are counted from the least possible one, since the sums
        of squares would lose the digits of what is beyond a large offset.
        """
        assert self.pools is not None
        assert self.drawn is not None
        assert self.beyond is not None
        sizes = self.pools[arms].astype(np.float64)[:, None]
        left = sizes - before[:, None] - np.arange(beyond.shape[1])
        so_far = np.zeros_like(beyond)
        np.cumsum(beyond[:, :-1], axis=1, out=so_far[:, 1:])
        so_far += self.beyond[arms][:, None]
        w = sizes / left
        z = beyond + so_far / left
        self.drawn[:, arms] += [x.sum(axis=1) for x in (w, w * w, z, z * z, w * z)]

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        n, most = len(self.counts), EXACT if self.limits is None else self.limits
        return {
            "counts": Wholes(n, 0, most, plain=True),
            "totals": Reals(n, plain=True),
            "beyond": Nothing() if self.beyond is None else Reals(n, 0.0, plain=True),
            "exact": Nothing() if self.exact is None else _Decimals(n),
            "scatter": Nothing() if self.scatter is None else Reals(n, 0.0, plain=True),
            "drawn": Nothing() if self.drawn is None else Reals((5, n), plain=True),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        return encode_fields(self, self.fields())

    def restore(self, values: Any) -> None:
        """Take over what `to_dict` returned.

        Raises:
            StateError: No rewards of the model have such sums; do not use the tally then.
        """
        decode_fields(self, self.fields(), self._completed(values), "tally")
        for holds, rule in self._rules():
            require(holds, rule)
        self.pulls = int(self.counts.sum())

    def _completed(self, values: Any) -> dict[str, Any]:
        """Return saved values, completed by the fields that old versions did not save.

        Old versions summed z instead of z - low·w for the draws of pools.
        """
        saved = mapping(values, "tally")
        if "beyond" in saved:
            return saved
        completed = {**saved, "beyond": None, "exact": None}
        if self.beyond is None:
            return completed
        n, low = len(self.counts), self.rewards.low
        counts = Wholes(n, plain=True).decode(saved.get("counts"), "tally.counts")
        totals = Reals(n, plain=True).decode(saved.get("totals"), "tally.totals")
        completed["beyond"] = np.maximum(totals - low * counts, 0.0).tolist()
        if self.exact is not None:
            completed["exact"] = [repr(total) for total in totals.tolist()]
            w, ww, z, zz, wz = Reals((5, n), plain=True).decode(saved.get("drawn"), "tally.drawn")
            span = self.rewards.high - low
            moved = [  # clipped, as rounding may leave the range a little
                w,
                ww,
                np.clip(z - low * w, 0.0, w * span),
                np.clip(zz - 2 * low * wz + low**2 * ww, 0.0, ww * span**2),
                np.clip(wz - low * ww, 0.0, ww * span),
            ]
            completed["drawn"] = [row.tolist() for row in moved]
        return completed

    def _rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield what must hold between the sums of rewards in the model's range."""
        yield sum(self.counts.tolist()) <= EXACT, f"there are at most {EXACT} pulls in all"
        m, model = self.counts.astype(np.float64), self.rewards
        parts = (self.beyond, self.scatter, self.drawn)
        sums = [self.totals, *(x for x in parts if x is not None)]
        unseen = self.counts == 0
        yield not any(x[..., unseen].any() for x in sums), "an arm without pulls has no rewards"
        if isinstance(model, Bernoulli):
            whole = (self.totals == np.floor(self.totals)).all()
            yield whole, "totals of 0/1 rewards are whole numbers"
        size = min(max(abs(model.low), abs(model.high)), LARGEST)
        slack = 0.0 if isinstance(model, Bernoulli) else m * m * 2.0**-52 * size  # for rounding
        least, most = m * max(model.low, -LARGEST), m * min(model.high, LARGEST)
        within = (self.totals >= least - slack) & (self.totals <= most + slack)
        yield within.all(), "the mean of every arm is in the range of its rewards"
        if self.beyond is not None:
            apart = np.abs(self.totals - m * model.low - self.beyond)
            yield (apart <= slack).all(), "totals and beyond agree"
        if self.exact is not None:
            exact = np.array([float(total) for total in self.exact])
            yield (exact == self.totals).all(), "totals are the exact sums, rounded"
        if self.scatter is not None:
            spread = m * (model.high - model.low) ** 2 / 4
            close = self.scatter <= spread * (1 + 1e-6)
            yield close.all(), "rewards are no further apart than their range"
        if self.drawn is not None:
            yield from self._rules_of_draws(m, model.high - model.low)

    def _rules_of_draws(self, m: Floats, size: float) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield what must hold for the sums of w, w², z, z², wz, where 1 ≤ w ≤ N and |z| ≤ w·R.

        R, the width of the range, is `size`.
        """
        assert self.pools is not None
        assert self.drawn is not None
        w, ww, z, zz, wz = self.drawn
        less, more, pools = 1 - 1e-6, 1 + 1e-6, self.pools.astype(np.float64)
        weights = (w >= m * less) & (w <= m * pools * more) & (ww >= w * less)
        yield (weights & (ww <= w * pools * more)).all(), "draws are weighted by what is left"
        bounds = (np.abs(z) <= w * size * more) & (np.abs(wz) <= ww * size * more)
        squares = (zz >= 0) & (zz <= ww * size * size * more)
        yield (bounds & squares).all(), "draws are in the range of the rewards"


def _added(total: float, rewards: Floats) -> float:
    """Return a sum with rewards added one by one: a batch gives the bits of single tells."""
    return float(np.add.accumulate(np.append(total, rewards))[-1])


class _Decimals(Kind):
    """A list of decimals of a thousand digits at most, saved as text.

    Args:
        n: How many.
    """

    def __init__(self, n: int) -> None:
        self.n = n

    def encode(self, value: list[Decimal]) -> list[str]:
        """Return them as text."""
        return list(map(str, value))

    def decode(self, value: Any, name: str) -> list[Decimal]:
        """Return the decimals."""
        if type(value) is not list or len(value) != self.n:
            raise damaged(name, value, f"a list of {self.n} entries")
        for text in value:
            if type(text) is not str or not _DECIMAL.fullmatch(text):
                raise damaged(f"an entry of {name}", text, "a decimal number")
        return list(map(Decimal, value))


_DECIMAL = re.compile(r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?([eE][+-]?[0-9]{1,3})?")
