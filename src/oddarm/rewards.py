"""What a reward may be: its range, whether it is checked, and which bounds fit it."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oddarm.errors import ParameterError, RewardError

__all__ = ["Bernoulli", "Bounded", "Rewards", "SubGaussian", "as_rewards"]

Floats = NDArray[np.float64]
LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Rewards:
    """Base of the reward models.

    Attributes:
        pools: The number of rewards that each arm has, if each is a finite pool drawn from without
            replacement; then an arm's mean is the mean of its pool.
    """

    kind: ClassVar[str]
    pools: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.pools is None:
            return
        sizes = tuple(int(size) for size in self.pools)
        if any(size < 1 for size in sizes):
            raise ParameterError(f"pools has the size {min(sizes)}, must be >= 1 for every arm.")
        object.__setattr__(self, "pools", sizes)

    @property
    def low(self) -> float:
        """The least reward."""
        raise NotImplementedError

    @property
    def high(self) -> float:
        """The greatest reward."""
        raise NotImplementedError

    @property
    def sigma(self) -> float:
        """A sub-Gaussian scale of every reward; half the range if there is one (Hoeffding)."""
        return (self.high - self.low) / 2

    def allows(self, reward: float) -> bool:
        """Return whether one number may be a reward; quicker than `check`, and says no more."""
        return -LARGEST <= reward <= LARGEST and self.low <= reward <= self.high

    def allow(self, rewards: Sequence[float]) -> bool:
        """Return whether some numbers may be rewards; if that is not plain, `check` says more."""
        return all(map(self.allows, rewards))

    def check(self, rewards: ArrayLike) -> Floats:
        """Return `rewards` as a flat array, or raise RewardError naming the first bad one."""
        try:
            values = np.asarray(rewards, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward {rewards!r}, must be a number.") from None
        if self._fit(values):
            return values
        bad = ~np.isfinite(values)
        if bad.any():
            raise RewardError(
                f"reward {values[bad][0]}{_position(bad)}, must be finite: "
                "leave the pull untold, or set it to a number."
            )
        self._check_range(values)
        return values

    def _fit(self, values: Floats) -> bool:
        """Return whether all may be rewards; if not, what follows says which may not."""
        if not len(values):
            return True
        least, most = float(values.min()), float(values.max())  # nan if there is one
        return -math.inf < least and most < math.inf and self.low <= least and most <= self.high

    def _check_range(self, values: Floats) -> None:
        bad = (values < self.low) | (values > self.high)
        if bad.any():
            raise RewardError(
                f"reward {values[bad][0]}{_position(bad)}, must be in "
                f"[{self.low:g}, {self.high:g}]: "
                "declare the range that rewards can take, as in rewards=(low, high)."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {"kind": self.kind, "pools": None if self.pools is None else list(self.pools)}


ZERO_ONE = frozenset((0.0, 1.0))


@dataclass(frozen=True)
class Bernoulli(Rewards):
    """Rewards that are 0 or 1."""

    kind: ClassVar[str] = "bernoulli"

    @property
    def low(self) -> float:
        """The least reward, 0."""
        return 0.0

    @property
    def high(self) -> float:
        """The greatest reward, 1."""
        return 1.0

    def allows(self, reward: float) -> bool:
        """Return whether a number is 0 or 1."""
        return reward == 0 or reward == 1

    def allow(self, rewards: Sequence[float]) -> bool:
        """Return whether all are 0 or 1."""
        return ZERO_ONE.issuperset(rewards)

    def _fit(self, values: Floats) -> bool:
        return bool(((values == 0) | (values == 1)).all())

    def _check_range(self, values: Floats) -> None:
        bad = (values != 0) & (values != 1)
        if bad.any():
            raise RewardError(
                f"reward {values[bad][0]}{_position(bad)}, must be 0 or 1 for Bernoulli rewards: "
                "declare other rewards by their range, as in rewards=(low, high)."
            )


@dataclass(frozen=True, kw_only=True)
class Bounded(Rewards):
    """Rewards anywhere between two known numbers."""

    kind: ClassVar[str] = "bounded"
    minimum: float
    maximum: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -math.inf < self.minimum < self.maximum < math.inf:
            raise ParameterError(
                f"rewards == ({self.minimum!r}, {self.maximum!r}), must be finite and low < high."
            )

    @property
    def low(self) -> float:
        """The least reward."""
        return float(self.minimum)

    @property
    def high(self) -> float:
        """The greatest reward."""
        return float(self.maximum)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {**super().to_dict(), "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, kw_only=True)
class SubGaussian(Rewards):
    """Unbounded rewards with a known sub-Gaussian scale, such as normal ones of deviation ≤ σ."""

    kind: ClassVar[str] = "subgaussian"
    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.scale < math.inf:
            raise ParameterError(f"scale == {self.scale!r}, must be finite and > 0.")
        if self.pools is not None:
            raise ParameterError(
                "pools with sub-Gaussian rewards: a finite pool has a range, "
                "pass rewards.Bounded(minimum=…, maximum=…, pools=…)."
            )

    @property
    def low(self) -> float:
        """Minus infinity: there is no least reward."""
        return -math.inf

    @property
    def high(self) -> float:
        """Infinity: there is no greatest reward."""
        return math.inf

    @property
    def sigma(self) -> float:
        """The declared scale."""
        return float(self.scale)

    def _check_range(self, values: Floats) -> None:
        pass

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {**super().to_dict(), "scale": self.sigma}


_KINDS = {cls.kind: cls for cls in (Bernoulli, Bounded, SubGaussian)}


def as_rewards(spec: str | Sequence[float] | Rewards | dict[str, Any]) -> Rewards:
    """Return the reward model that `spec` names.

    Args:
        spec: "bernoulli", a pair (low, high), a model, or what `Rewards.to_dict` returned.

    Example:
        >>> as_rewards((0, 100))
        Bounded(pools=None, minimum=0, maximum=100)
    """
    if isinstance(spec, Rewards):
        return spec
    if isinstance(spec, dict):
        values = dict(spec)
        model = _KINDS[values.pop("kind")]
        return model(**values)
    if spec == "bernoulli":
        return Bernoulli()
    if isinstance(spec, Sequence) and not isinstance(spec, str) and len(spec) == 2:
        return Bounded(minimum=spec[0], maximum=spec[1])
    raise ParameterError(
        f"rewards == {spec!r}, must be 'bernoulli', a pair (low, high), "
        "or a model such as oddarm.rewards.SubGaussian(scale=1)."
    )


def _position(bad: NDArray[np.bool_]) -> str:
    return f" at position {int(np.argmax(bad))} of {len(bad)}" if len(bad) > 1 else ""
