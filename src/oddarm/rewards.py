"""What a reward may be: its range, whether it is checked, and which bounds fit it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from oddarm._checks import real_number, whole_number
from oddarm._text import exact
from oddarm._typing import Flags, Floats
from oddarm.errors import ParameterError, RewardError, RewardRangeError

__all__ = [
    "Bernoulli",
    "Bounded",
    "Clipped",
    "Rewards",
    "RowsKind",
    "SubGaussian",
    "as_rewards",
]

RowsKind = Literal["sample", "all"]
"""Whether recorded rewards are a sample of what the arms do, or all that there is."""
LARGEST = 1e100
"""The largest absolute value of a reward: the sum of very many squares still fits a float."""
SMALLEST = 1e-100
"""The least width of a range, or scale: its square is still a positive float."""
NARROWEST = 1e-9
"""The least width of a range as a share of its larger end: below that floats lack digits."""


@dataclass(frozen=True)
class Rewards:
    """Base of the reward models.

    Attributes:
        pools: The number of rewards that each arm has, if each is a finite pool drawn from without
            replacement; then an arm's mean is the mean of its pool.
        rows: How many rewards each arm has to offer, if they are a sample of what it does; then an
            arm's mean is that of all it does.
    """

    kind: ClassVar[str]
    pools: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("pools", "rows"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _sizes(name, given))
        if self.pools is not None and self.rows is not None:
            raise ParameterError(
                "pools and rows are both given: the rewards of an arm are all that there is "
                "(pools) or a sample (rows), drop one."
            )

    @property
    def limits(self) -> tuple[int, ...] | None:
        """How many rewards each arm can give, as a pool or as a sample; None for no end."""
        return self.rows if self.pools is None else self.pools

    def of_sizes(self, sizes: tuple[int, ...] | None, rows: RowsKind = "all") -> Self:
        """Return the model with other sizes of arms; None if they have no end.

        Args:
            sizes: How many rewards each arm has.
            rows: Whether they are "all" that there is or a "sample".
        """
        if rows not in ("sample", "all"):
            raise ParameterError(f"rows == {rows!r}, must be 'sample' or 'all'.")
        if rows == "sample":
            return replace(self, pools=None, rows=sizes)
        return replace(self, pools=sizes, rows=None)

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
        """Return whether one number may be a reward; `check` is slower and says what is wrong."""
        return -LARGEST <= reward <= LARGEST and self.low <= reward <= self.high

    def allow(self, rewards: Sequence[float]) -> bool:
        """Return whether all numbers may be rewards; if not, `check` says which may not."""
        return all(map(self.allows, rewards))

    def check(self, rewards: ArrayLike) -> Floats:
        """Return `rewards` as a flat array, or raise RewardError naming the first bad one."""
        if type(rewards) in (int, float) and self.allows(rewards):  # type: ignore[arg-type]
            return np.array([rewards], dtype=np.float64)  # the usual case, made fast
        values = self._numbers(rewards)
        if self._fit(values):
            return values
        bad = ~(np.abs(values) <= LARGEST)
        if bad.any():
            raise RewardError(
                f"reward {values[bad][0]}{_position(bad)}, must be finite, and at most {LARGEST:g} "
                "in size: do not tell this pull, or tell a number for it."
            )
        self._check_range(values)
        return values

    def _numbers(self, rewards: ArrayLike) -> Floats:
        """Return `rewards` as a flat array of numbers; RewardError if one is not a number."""
        try:
            if rewards is None or np.iscomplexobj(rewards):
                raise TypeError
            return np.asarray(rewards, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward {rewards!r}, must be a number.") from None

    def _fit(self, values: Floats) -> bool:
        """Return whether all values may be rewards; if not, `check` looks for the first bad one."""
        if not len(values):
            return True
        least, greatest = float(values.min()), float(values.max())  # nan if one value is nan
        return max(self.low, -LARGEST) <= least and greatest <= min(self.high, LARGEST)

    def _check_range(self, values: Floats) -> None:
        """Raise RewardRangeError if a value is outside the range, naming the first."""
        bad = (values < self.low) | (values > self.high)
        if bad.any():
            first = float(values[bad][0])
            low, high = exact(self.low), exact(self.high)
            wider = f"{exact(min(first, self.low))}, {exact(max(first, self.high))}"
            raise RewardRangeError(
                f"reward {first}{_position(bad)}, must be in [{low}, {high}] as declared: pass the "
                f"least and the greatest reward that there can be, as in rewards=({wider}), or "
                f"rewards=oddarm.rewards.Clipped({low}, {high}) to count it as the nearer end."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        sizes = {"pools": None if self.pools is None else list(self.pools)}
        if self.rows is not None:
            sizes["rows"] = list(self.rows)
        return {"kind": self.kind, **sizes}


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
            first = float(values[bad][0])
            raise RewardRangeError(
                f"reward {first}{_position(bad)}, must be 0 or 1 unless other rewards are "
                "declared: pass the least and the greatest reward that there can be, as in "
                f"{example_range(first)}."
            )


@dataclass(frozen=True, kw_only=True)
class Bounded(Rewards):
    """Rewards anywhere between two known numbers."""

    kind: ClassVar[str] = "bounded"
    minimum: float
    maximum: float

    def __post_init__(self) -> None:
        super().__post_init__()
        shown = f"rewards == ({self.minimum!r}, {self.maximum!r})"
        rule = f"finite, from {-LARGEST:g} to {LARGEST:g}: scale the rewards"
        for name in ("minimum", "maximum"):
            end = real_number(name, getattr(self, name), rule, lambda x: abs(x) <= LARGEST)
            object.__setattr__(self, name, end)
        if not self.minimum < self.maximum:
            raise ParameterError(f"{shown}, must be finite and low < high.")
        largest = max(abs(self.minimum), abs(self.maximum))
        if self.maximum - self.minimum < max(SMALLEST, NARROWEST * largest):
            raise ParameterError(
                f"{shown}, must be wider: subtract from all rewards what they have in common, "
                "or scale them."
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


@dataclass(frozen=True, init=False)
class Clipped(Bounded):
    """Rewards of any size, of which only the part within a range counts: for heavy tails.

    A reward beyond the range counts as the nearer end, also an infinite one; nan is refused. The
    arms are compared by the mean of the clipped reward. Choose the range before you see rewards.

    Args:
        minimum: What a smaller reward counts as.
        maximum: What a larger reward counts as.
        pools: As for every model.
        rows: As for every model.

    Examples:
        >>> Clipped(0, 500).check([12.5, 3_000, float("inf")])
        array([ 12.5, 500. , 500. ])
    """

    kind: ClassVar[str] = "clipped"

    def __init__(
        self,
        minimum: float,
        maximum: float,
        *,
        pools: tuple[int, ...] | None = None,
        rows: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(minimum=minimum, maximum=maximum, pools=pools, rows=rows)

    def _numbers(self, rewards: ArrayLike) -> Floats:
        return np.clip(super()._numbers(rewards), self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class SubGaussian(Rewards):
    """Unbounded rewards with a known sub-Gaussian scale, such as normal ones of deviation ≤ σ."""

    kind: ClassVar[str] = "subgaussian"
    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = f"finite and > 0, from {SMALLEST:g} to {LARGEST:g}"
        scale = real_number("scale", self.scale, rule, lambda x: SMALLEST <= x <= LARGEST)
        object.__setattr__(self, "scale", scale)
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

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {**super().to_dict(), "scale": self.sigma}


_KINDS = {cls.kind: cls for cls in (Bernoulli, Bounded, Clipped, SubGaussian)}


def as_rewards(spec: str | Sequence[float] | Rewards | dict[str, Any]) -> Rewards:
    """Return the reward model that `spec` names.

    Args:
        spec: "bernoulli", a pair (low, high), a model, or what `Rewards.to_dict` returned.

    Examples:
        >>> as_rewards((0, 100))
        Bounded(pools=None, rows=None, minimum=0.0, maximum=100.0)
    """
    if isinstance(spec, Rewards):
        return spec
    if isinstance(spec, dict):
        return _from_dict(spec)
    if isinstance(spec, str) and spec == "bernoulli":
        return Bernoulli()
    if isinstance(spec, Sequence) and not isinstance(spec, str) and len(spec) == 2:
        return Bounded(minimum=spec[0], maximum=spec[1])
    raise ParameterError(
        f"rewards == {spec!r}, must be 'bernoulli', a pair (low, high), "
        "or a model such as oddarm.rewards.Clipped(0, 500)."
    )


def _from_dict(spec: dict[str, Any]) -> Rewards:
    """Return the model that `Rewards.to_dict` described."""
    kind = spec.get("kind")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    needed = {field.name: field.default is MISSING for field in fields(model)} if model else {}
    given = spec.keys() - {"kind"}
    if model is None or not {name for name in needed if needed[name]} <= given <= needed.keys():
        raise ParameterError(
            f"rewards == {spec!r}, must have a kind of {', '.join(_KINDS)} and the parameters of "
            "that model, as its to_dict returns them."
        )
    return model(**{name: spec[name] for name in given})


def _sizes(name: str, given: Any) -> tuple[int, ...]:
    """Return the sizes of arms, each checked."""
    try:
        sizes = list(given)
    except TypeError:
        raise ParameterError(
            f"{name} == {given!r}, must be a sequence: the number of rewards of each arm."
        ) from None
    return tuple(whole_number(f"a size in {name}", size, 1, 2**53) for size in sizes)


def example_range(value: float) -> str:
    """Return how to declare a range that holds a value, as an example."""
    low, high = map(exact, _common_range(value))
    return f"rewards=({low}, {high})"


def _common_range(value: float) -> tuple[float, float]:
    """Return a range that holds a value, of a kind that is common, as an example.

    Examples:
        >>> _common_range(0.5), _common_range(4.0), _common_range(87.5), _common_range(-3.0)
        ((0.0, 1.0), (1.0, 5.0), (0.0, 100.0), (-5.0, 5.0))
    """
    if value < 0:
        _, high = _common_range(-value)
        return -high, high
    if 1 <= value <= 5:
        return 1.0, 5.0
    return 0.0, 1.0 if value < 1 else float(f"1e{math.ceil(math.log10(value))}")


def _position(bad: Flags) -> str:
    return f" at position {int(np.argmax(bad))} of {len(bad)}" if len(bad) > 1 else ""
