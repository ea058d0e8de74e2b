"""Text that is safe on a terminal and in a spreadsheet.

Names of arms and studies come from anywhere. On the way to a terminal they pass through
`printable`, on the way to a CSV file through `csv_cell`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oddarm.definitions.groups import Group
    from oddarm.problem import Problem

__all__ = [
    "NO_POOLS",
    "csv_cell",
    "exact",
    "group_dict",
    "groups_sentence",
    "named",
    "numbered",
    "plural",
    "printable",
    "shortened",
]

NO_POOLS = "there is no proof for rewards that are drawn once each."
"""Why a strategy takes no finite pools."""

_NAMED = 5
"""How many arms a sentence names; the others are counted."""
_LONGEST_NAME = 40
"""Longer names are shortened in a sentence."""
_JOINERS = "\u200c\u200d"
"""Invisible characters that some scripts need within words."""
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: controls, marks of direction, surrogates, ends of lines and paragraphs."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def printable(value: object) -> str:
    r"""Return a value as text on one line that a terminal shows and does not obey.

    Control characters, marks that change the direction of text, and ends of lines are shown as
    escapes.

    Examples:
        >>> printable("host-1"), printable("\x1b[2Jgone"), printable("a\u202eb")
        ('host-1', '\\x1b[2Jgone', 'a\\u202eb')
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in _HIDDEN and character not in _JOINERS
        else character
        for character in text
    )


def named(arms: Sequence[object]) -> str:
    """Return the names of arms as part of a sentence, or their numbers if they have no names.

    Examples:
        >>> named(["ams", "fra"]), named([7]), named(list("abcdefgh"))
        ('ams and fra', 'number 7', 'a, b, c, d, e and 3 more')
    """
    words = [shortened(printable(arm), _LONGEST_NAME) for arm in arms[:_NAMED]]
    if len(arms) > _NAMED:
        words.append(f"{len(arms) - _NAMED:,} more")
    *first, last = words or [""]
    names = f"{', '.join(first)} and {last}" if first else last
    return f"number{'s' * (len(arms) > 1)} {names}" if numbered(arms) else names


def numbered(arms: Sequence[object]) -> bool:
    """Return whether arms have numbers in place of names."""
    return bool(arms) and all(isinstance(arm, Integral) for arm in arms[:_NAMED])


def csv_cell(value: Any) -> Any:
    """Return a value for a CSV file: text that a spreadsheet would run gets an apostrophe in front.

    Examples:
        >>> csv_cell("=1+2"), csv_cell("host-1"), csv_cell(-0.5)
        ("'=1+2", 'host-1', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def rule_words(problem: Problem) -> str:
    """Return how far is far, in words.

    Examples:
        >>> from oddarm import Problem
        >>> rule_words(Problem(epsilon=2.5, min_gap=0.1)), rule_words(Problem(min_gap=0.1))
        ('ε = 2.5 and a gap above 0.1', 'a gap above 0.1')
        >>> rule_words(Problem(epsilon=2.5, neighbours=3))
        'ε = 2.5 with 3 neighbours'
    """
    words = [] if problem.epsilon is None else [f"ε = {problem.epsilon:g}"]
    if problem.neighbours > 1:
        words[0] += f" with {problem.neighbours} neighbours"
    words += [] if problem.min_gap is None else [f"a gap above {problem.min_gap:g}"]
    return " and ".join(words)


def groups_sentence(
    arms: int, problem: Problem, groups: Sequence[Group], noun: str = "arms"
) -> str:
    """Return whether known means have an outlier group, and how clear it is, in a sentence."""
    max_outliers = problem.max_outliers
    limit = f"{rule_words(problem)} and " + (
        f"ρ = {problem.rho:g}"
        if max_outliers is None
        else f"at most {max_outliers} outlier{'s' * (max_outliers > 1)}"
    )
    if not groups:
        return f"These {arms:,} means have no outlier group at {limit}."
    group = max(groups, key=lambda group: group.max_epsilon)
    size = len(group.members)
    are = f"{size} of {arms:,} {noun} {'is' if size == 1 else 'are'} an outlier group at {limit}"
    if problem.absolute:  # ε plays no part
        return f"{are}; the gap is {group.gap:.3g}."
    epsilon = f"ε up to {group.max_epsilon:.3g}" if group.max_epsilon < math.inf else "any ε"
    return f"{are}; the gap of {group.gap:.3g} is wide enough for {epsilon}."


def group_dict(group: Group) -> dict[str, Any]:
    """Return a group as JSON values; an infinite ε is None."""
    epsilon = group.max_epsilon
    return {**asdict(group), "max_epsilon": epsilon if epsilon < math.inf else None}


def exact(value: float) -> str:
    """Return a number with all its digits, a whole one without a point.

    Examples:
        >>> exact(4.0), exact(1234567.25)
        ('4', '1234567.25')
    """
    return repr(float(value)).removesuffix(".0")


def shortened(text: str, length: int) -> str:
    """Return the text, cut to `length` characters if it is longer."""
    return text if len(text) <= length else text[: length - 1] + "…"


def plural(columns: Sequence[str]) -> str:
    """Return the plural of the name of the arm column; "arms" if the name is not a word."""
    word = columns[0].replace("_", " ").strip()
    if len(columns) > 1 or not re.fullmatch(r"[A-Za-z][A-Za-z ]*", word):
        return "arms"
    word = word.lower()
    if word.endswith("s"):
        return word if not word.endswith("ss") else f"{word}es"
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("x", "ch", "sh")) else f"{word}s"
