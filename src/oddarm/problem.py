"""What is looked for: how far apart (ε, min_gap), how few (ρ or a count), how sure (δ)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

from oddarm._checks import real_number, whole_number
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_EPSILON, DEFAULT_RHO
from oddarm.state import Flag, Kind, OrNone, Real, Whole, damaged, mapping

__all__ = ["MIN_GOLD_EPSILON", "Problem", "exact", "rounded_down", "rounded_up"]

_Q = math.exp(1 / 16)

MIN_GOLD_EPSILON = _Q - 1
"""ε must exceed e^(1/16) - 1 for the coefficient b of GOLD to be positive (Theorem 5.1)."""

DIGITS = 1000
"""The most decimals of a number."""
LEAST_DELTA = 1e-100
MOST_EPSILON = 1e100
"""Limits within which δ/n and (1+ε) times a gap are as exact as floats are."""


def exact(value: object, name: str = "value") -> Fraction:
    """Return the rational number that a person meant by `value`.

    A float is read as the shortest decimal that prints it, so 0.9 is 9/10 and not the binary
    fraction next to it.

    Args:
        value: The number.
        name: What it is, for the error message.

    Raises:
        ParameterError: It is not a number, is too large, or has too many decimals.

    Examples:
        >>> exact(0.9)
        Fraction(9, 10)
        >>> 20 * (1 - 0.9), 20 * (1 - exact(0.9))
        (1.9999999999999996, Fraction(2, 1))
    """
    nearest = real_number(name, value, "a finite number")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        if int(value.as_tuple().exponent) < -DIGITS:  # 10 to such a power takes forever
            raise ParameterError(f"{name} == {value}, must have at most {DIGITS} decimals.")
        return Fraction(value)
    return Fraction(repr(nearest))


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above `value`."""
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)


def rounded_up(value: Fraction) -> float:
    """Return the least float that is not below `value`."""
    return -rounded_down(-value)


@dataclass(frozen=True)
class Problem:
    """The question that a search answers, without the arms.

    There are two rules. At most c = n(1 - ρ) arms may be outliers.

    *Relative* (ε): an outlier group is a set of at most c arms whose distance to all others exceeds
    (1 + ε) times the largest gap between neighbours among those others (Definition 2). With
    `min_gap`, only groups whose distance exceeds `min_gap` count. With `neighbours` = k, the
    distance is compared with the longest span of k gaps in a row (docs/choosing.md).

    *Absolute* (`min_gap` alone): cut every gap between neighbours that is wider than `min_gap`. The
    arms in pieces of at most c arms are the outliers, unless there are more than c of them.

    Args:
        epsilon: How much wider the gap around a group is than any gap among the normal arms,
            beyond equality; > 0. Default 2.5, unless `min_gap` is given alone.
        rho: The least share of arms that are normal, between ½ and 1. Default 0.9.
        max_outliers: The most arms that may be outliers, in place of `rho`.
        delta: The probability with which the answer may be wrong, between 0 and 1.
        strict: Read Constraint (2) to the letter, |N̂| < c, instead of |N̂| ≤ c. The paper's own
            experiments inject exactly c outliers, so they need the default.
        min_gap: How far the outliers are from all others at least, in units of reward; > 0.
        slack: The share of ε and of `min_gap` in which either answer is right, from 0 to below 1.
            An answer "confirmed" promises outliers at (1 - slack)·ε and (1 - slack)·min_gap, an
            answer "none" promises that there are none at ε and min_gap.
        neighbours: The order k of a group: its distance must exceed (1 + ε) times any span of k
            gaps in a row among the others, or all of those on one side if they are fewer. Must be
            1 by the absolute rule, which compares no gaps.

    Examples:
        >>> problem = Problem(epsilon=2.5, rho=0.9)
        >>> problem.capacity(20), problem.max_members(47)
        (Fraction(2, 1), 4)
        >>> round(problem.b, 4)
        1.8741
    """

    epsilon: float | None = None
    rho: float | None = None
    max_outliers: int | None = None
    delta: float = 0.05
    strict: bool = False
    min_gap: float | None = None
    slack: float = 0.0
    neighbours: int = 1

    def __post_init__(self) -> None:
        if self.epsilon is None and self.min_gap is None:
            object.__setattr__(self, "epsilon", DEFAULT_EPSILON)
        for name in ("epsilon", "min_gap"):
            if getattr(self, name) is not None:
                rule = f"a finite number > 0, at most {MOST_EPSILON:g}"
                value = real_number(
                    name, getattr(self, name), rule, lambda x: 0 < x <= MOST_EPSILON
                )
                object.__setattr__(self, name, value)
        rule = (
            ">= 0 and < 1: it is the share of epsilon and min_gap in which either answer is right, "
            "for example 0.2"
        )
        slack = real_number("slack", self.slack, rule, lambda x: 0 <= x < 1)
        object.__setattr__(self, "slack", slack)
        rule = (
            f"> 0 and < 1, at least {LEAST_DELTA:g}: "
            "it is the probability with which the answer may be wrong, for example 0.05"
        )
        delta = real_number("delta", self.delta, rule, lambda x: LEAST_DELTA <= x < 1)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "neighbours", whole_number("neighbours", self.neighbours, least=1))
        if self.absolute and self.neighbours > 1:
            raise ParameterError(
                f"neighbours == {self.neighbours} with min_gap alone, which does not compare the "
                "outliers with gaps among the others: pass epsilon too, or leave out neighbours."
            )
        if self.max_outliers is None:
            self._check_rho()
            return
        if self.rho is not None:
            raise ParameterError(
                f"rho == {self.rho!r} and max_outliers == {self.max_outliers!r}: "
                "they say the same thing, pass only one of them."
            )
        count = whole_number("max_outliers", self.max_outliers, least=1)
        object.__setattr__(self, "max_outliers", count)

    def _check_rho(self) -> None:
        """Set the default, or raise ParameterError."""
        if self.rho is None:
            object.__setattr__(self, "rho", DEFAULT_RHO)
        rule = (
            "> 0.5 and < 1: it is the least share of arms that are normal, for example 0.9. "
            "To give a count, pass max_outliers"
        )
        try:
            fits = Fraction(1, 2) < exact(self.rho) < 1
        except ParameterError:
            fits = False
        if not fits:
            raise ParameterError(f"rho == {self.rho!r}, must be {rule}.")

    @property
    def absolute(self) -> bool:
        """Whether `min_gap` alone is the rule."""
        return self.epsilon is None

    @property
    def ratio(self) -> Fraction:
        """1 + ε, exactly; 0 for the absolute rule, which compares no gaps."""
        return Fraction(0) if self.epsilon is None else 1 + exact(self.epsilon)

    @property
    def floor(self) -> Fraction:
        """`min_gap`, exactly; 0 if there is none."""
        return Fraction(0) if self.min_gap is None else exact(self.min_gap)

    def at_slack(self) -> Problem:
        """Return the easier problem that an answer "confirmed" is right for."""
        keep = 1 - exact(self.slack)
        return replace(
            self,
            epsilon=None if self.epsilon is None else float(keep * exact(self.epsilon)),
            min_gap=None if self.min_gap is None else float(keep * self.floor),
            slack=0.0,
        )

    def capacity(self, n: int) -> Fraction:
        """Return c = n(1 - ρ), exactly: the most arms of `n` that may be outliers."""
        if self.max_outliers is not None:
            return Fraction(self.max_outliers)
        return n * (1 - exact(self.rho))

    def max_members(self, n: int) -> int:
        """Return the most members that a group of `n` arms may have."""
        c = self.capacity(n)
        return math.ceil(c) - 1 if self.strict else math.floor(c)

    def min_segment(self, n: int) -> int:
        """Return the fewest arms that a segment may have: more than c."""
        return math.floor(self.capacity(n)) + 1

    @property
    def b(self) -> float:
        """The coefficient of GOLD: neighbours have |ŷᵢ-ŷⱼ| ≤ b·βᵢ + b·βⱼ (Definition 4)."""
        if self.epsilon is None or self.epsilon <= MIN_GOLD_EPSILON:
            raise ParameterError(
                f"epsilon == {self.epsilon!r}, must be > e^(1/16) - 1 = 0.0645 for GOLD: "
                "raise epsilon, for example to 2.5."
            )
        return (1 + _Q + self.epsilon) / (1 - _Q + self.epsilon)

    def check(self, n: int) -> None:
        """Raise ParameterError if no group can exist among `n` arms."""
        n = whole_number("n", n, least=1)
        c = self.capacity(n)
        if self.max_outliers is not None and n <= 2 * c:
            raise ParameterError(
                f"max_outliers == {self.max_outliers} with {n} arms, "
                f"must be less than half of the arms: "
                f"pass at most {max((n - 1) // 2, 1)}, or at least {2 * int(c) + 1} arms."
            )
        if self.max_members(n) < 1:
            rule = "> 1 (strict)" if self.strict else ">= 1"
            remedy = (
                f"max_outliers={2 if self.strict else 1}, or more arms"
                if self.max_outliers is None
                else "max_outliers=2"
            )
            raise ParameterError(
                f"{n} arms at {self._limit()} leave room for {float(c):g} outliers, "
                f"must be {rule}: pass {remedy}."
            )
        if self.neighbours > n - 2:
            raise ParameterError(
                f"neighbours == {self.neighbours} with {n} arms, must be at most {n - 2}: an arm "
                "outside a group has no more others beside it."
            )

    def _limit(self) -> str:
        if self.max_outliers is not None:
            return f"max_outliers == {self.max_outliers}"
        return f"rho == {self.rho}"

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as JSON values; a rho that is not a float becomes a fraction."""
        return {
            "epsilon": self.epsilon,
            "rho": self.rho if self.rho is None or isinstance(self.rho, float) else str(self.rho),
            "max_outliers": self.max_outliers,
            "delta": self.delta,
            "strict": self.strict,
            "min_gap": self.min_gap,
            "slack": self.slack,
            "neighbours": self.neighbours,
        }

    @classmethod
    def from_dict(cls, values: Any) -> Problem:
        """Return the problem that `to_dict` described, or raise StateError."""
        # Files of version 0.1 have neither slack nor floor, older ones no neighbours.
        known = {"slack": 0.0, "neighbours": 1, **mapping(values, "problem")}
        kinds: dict[str, Kind] = {
            "epsilon": OrNone(Real()),
            "rho": OrNone(_Share()),
            "max_outliers": OrNone(Whole(1)),
            "delta": Real(),
            "strict": Flag(),
            "min_gap": OrNone(Real()),
            "slack": Real(),
            "neighbours": Whole(1),
        }
        return cls(
            **{
                name: kind.decode(known.get(name), f"problem.{name}")
                for name, kind in kinds.items()
            }
        )


class _Share(Real):
    """A number, or a fraction as text, with few digits: others take forever to read."""

    def decode(self, value: Any, name: str) -> Any:
        """Return a float or a fraction."""
        if type(value) is not str:
            return super().decode(value, name)
        match = re.fullmatch(r"([0-9]{1,99})/([0-9]{1,99})|[0-9]{0,99}\.[0-9]{1,99}", value)
        if not match or (match[2] and not int(match[2])):
            raise damaged(name, value, "a number or a fraction")
        return Fraction(value)
