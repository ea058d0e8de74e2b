"""Whether an answer is right, when the means are known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from oddarm.definitions.groups import Apart, Group, Means, apart, groups_of
from oddarm.problem import Problem

__all__ = ["Truth", "ranks_first"]


def ranks_first(ranking: Sequence[Any], members: Collection[Any]) -> bool:
    """Return whether some arms rank before all others.

    Examples:
        >>> ranks_first(["c", "a", "b"], ["a", "c"]), ranks_first(["c", "a", "b"], ["a"])
        (True, False)
    """
    return set(ranking[: len(members)]) == set(members)


@dataclass(frozen=True)
class Truth:
    """The outliers among arms with known means, and what an answer about them may be.

    All comparisons are exact, so a gap that is exactly (1 + ε) times another makes no group.

    Attributes:
        groups: All groups of the problem, general ones included, the smallest first; each contains
            the one before it. By the absolute rule one or none.
        groups_at_slack: The same at the easier problem that an answer "confirmed" is right for.
        apart: By the absolute rule, who lies apart: at the problem, and at the easier one. None by
            the relative rule.

    Examples:
        >>> truth = Truth.of({"a": 0.1, "b": 0.12, "c": 0.14, "d": 0.9}, Problem(max_outliers=1))
        >>> truth.ranks_groups_first(["d", "a", "b", "c"])
        True
        >>> truth.confirms("none", [], "found")
        False
    """

    groups: tuple[Group, ...]
    groups_at_slack: tuple[Group, ...]
    apart: tuple[Apart, Apart] | None = None

    @classmethod
    def of(cls, means: Means, problem: Problem) -> Truth:
        """Return the truth about arms with these means; groups name arms as `means` does."""
        easier = problem.at_slack()
        groups = tuple(groups_of(means, problem))
        groups_at_slack = tuple(groups_of(means, easier)) if problem.slack else groups
        both = (apart(means, problem), apart(means, easier)) if problem.absolute else None
        return cls(groups, groups_at_slack, both)

    def ranks_groups_first(self, ranking: Sequence[Any]) -> bool:
        """Return whether the members of every group rank before all other arms."""
        return all(ranks_first(ranking, group.members) for group in self.groups)

    def confirms(self, verdict: str, outliers: Collection[Any], until: str) -> bool | None:
        """Return whether a verdict and the arms declared with it are right.

        Args:
            verdict: Of the search.
            outliers: The arms that it declares.
            until: By the relative rule, the arms must be those of any group with "found"; with
                "confirmed" they must also contain all groups of the problem.

        Returns:
            None if the verdict does not say who is an outlier.
        """
        declared = set(outliers)
        if self.apart is not None:
            return _confirms_apart(*self.apart, verdict, declared)
        if verdict == "none":
            return not self.groups
        if verdict != "confirmed":
            return None
        is_group = any(declared == set(group.members) for group in self.groups_at_slack)
        if until != "confirmed":
            return is_group
        return is_group and all(declared.issuperset(group.members) for group in self.groups)

    def agrees(
        self, verdict: str, outliers: Collection[Any], until: str, ranking: Sequence[Any]
    ) -> bool | None:
        """Return whether a whole answer is right: its verdict, its outliers and its ranking.

        A decision by the absolute rule promises nothing about the ranking.

        Returns:
            None if there is no group and the verdict does not say who is an outlier.
        """
        right = self.confirms(verdict, outliers, until)
        decided = right is not None and self.apart is not None
        if right is False or decided or not self.groups:
            return right
        return self.ranks_groups_first(ranking)


def _confirms_apart(least: Apart, most: Apart, verdict: str, declared: set[Any]) -> bool | None:
    """Return whether an answer A by the absolute rule is right: O(g) ⊆ A ⊆ O((1 - slack)·g)."""
    if verdict == "none":
        return not least.members
    if verdict == "scattered":
        return most.scattered
    if verdict != "confirmed":
        return None
    fits = 1 <= len(declared) <= least.max_members
    return fits and set(least.members) <= declared <= set(most.members)
