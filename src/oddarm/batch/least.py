"""What every method needs, beside what strategies took."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from oddarm.definitions.limit import least_pulls
from oddarm.options import Until
from oddarm.problem import Problem
from oddarm.rewards import Bernoulli, Rewards

__all__ = ["least_of", "least_sentence"]

MOST_ARMS = 60
"""The bound is left out for more arms: it takes minutes."""
ROUNDS = 12
"""Rounds of the search for alternatives: about nine tenths of the bound, in seconds."""


def least_of(
    means: Mapping[Any, Any], rewards: Rewards, problem: Problem, until: Collection[Until]
) -> dict[str, float]:
    """Return the fewest pulls of any method for each way to end, where they are known.

    They are known for 0/1 rewards, without end, and for groups of order 1. To confirm takes at
    least what to find takes.
    """
    if not isinstance(rewards, Bernoulli) or len(means) > MOST_ARMS or problem.delta >= 0.5:
        return {}
    if problem.neighbours > 1:
        return {}
    least: dict[str, float] = {}
    for name in dict.fromkeys(until):
        ranked = name == "ranked"
        limit = least_pulls(
            means,
            epsilon=problem.epsilon,
            rho=problem.rho,
            max_outliers=problem.max_outliers,
            min_gap=problem.min_gap,
            delta=problem.delta,
            slack=0.0 if ranked else problem.slack,
            strict=problem.strict,
            until="ranked" if ranked else "found",
            rounds=ROUNDS,
        )
        if limit.pulls > 0:
            least[name] = limit.pulls
    return least


def least_sentence(least: Mapping[str, float], pulls: str = "pulls") -> str:
    """Return the bounds in a sentence.

    Examples:
        >>> least_sentence({"found": 5230.4, "ranked": 210.0})
        'Any method needs on average at least 5,230 pulls until found, at least 210 until ranked.'
    """
    first, *others = (f"at least {value:,.0f}{{}} until {name}" for name, value in least.items())
    listed = ", ".join([first.format(f" {pulls}"), *(other.format("") for other in others)])
    return f"Any method needs on average {listed}."
