"""Whether an answer is right, when the means are known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from oddarm.definitions.groups import Group, Means, outlier_groups
from oddarm.problem import Problem

__all__ = ["Truth", "ranks_first"]


def ranks_first(ranking: Sequence[Any], members: Collection[Any]) -> bool:
    """Return whether some arms rank before all others.

    Example:
        >>> ranks_first(["c", "a", "b"], ["a", "c"]), ranks_first(["c", "a", "b"], ["a"])
        (True, False)
    """
    return set(ranking[: len(members)]) == set(members)


@dataclass(frozen=True)
class Truth:
    """The outlier groups of arms with known means.

    Attributes:
        groups: All of them, general ones included, the smallest first; each contains the one
            before it. They are found in exact arithmetic, so a gap that is exactly (1 + ε) times
            another makes no group.

    Example:
        >>> truth = Truth.of({"a": 0.1, "b": 0.12, "c": 0.14, "d": 0.9}, Problem(max_outliers=1))
        >>> truth.ranks_groups_first(["d", "a", "b", "c"])
        True
        >>> truth.confirms("none", [], "found")
        False
    """

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, means: Means, problem: Problem) -> Truth:
        """Return the truth about arms with these means; groups name arms as `means` does."""
        return cls(
            tuple(
                outlier_groups(
                    means,
                    problem.epsilon,
                    problem.rho,
                    problem.strict,
                    mixed=True,
                    max_outliers=problem.max_outliers,
                )
            )
        )

    def ranks_groups_first(self, ranking: Sequence[Any]) -> bool:
        """Return whether the members of every group rank before all other arms."""
        return all(ranks_first(ranking, group.members) for group in self.groups)

    def confirms(self, verdict: str, outliers: Collection[Any], until: str) -> bool | None:
        """Return whether a verdict and the arms declared with it are right.

        Args:
            verdict: Of the search.
            outliers: The arms that it declares.
            until: With "confirmed" the arms must be those of the largest group, which contains
                all others; with "found" those of any group.

        Returns:
            None if the verdict does not say whether there is a group.
        """
        if verdict == "none":
            return not self.groups
        if verdict != "confirmed":
            return None
        expected = self.groups[-1:] if until == "confirmed" else self.groups
        return any(set(outliers) == set(group.members) for group in expected)

    def agrees(
        self, verdict: str, outliers: Collection[Any], until: str, ranking: Sequence[Any]
    ) -> bool | None:
        """Return whether a whole answer is right: its verdict, its outliers and its ranking.

        Returns:
            None if there is no group and the verdict does not say whether there is one.
        """
        right = self.confirms(verdict, outliers, until)
        if right is False or not self.groups:
            return right
        return self.ranks_groups_first(ranking)
