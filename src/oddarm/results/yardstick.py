"""Why the outliers are outliers, or not yet, or nobody is: the gap and what it must reach."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from oddarm._typing import Flags, Floats, Indices
from oddarm.definitions.interval_gaps import largest_possible_gap
from oddarm.results.gaps import certain_gaps
from oddarm.results.sentence import compared, counted, rounded_down, rounded_up
from oddarm.strategies import Certificate

if TYPE_CHECKING:
    from oddarm.results.result import Result

__all__ = ["Case", "Stretch", "case_of"]

MOST_BLOCKS = 200
"""Where nobody is odd, larger blocks are not tried for the one that is nearest to being so."""
OVERLAP = (
    "Intervals reach into the shaded gap: the evidence of several arms together shows more than "
    "each interval alone."
)
JOINTLY = (
    "Confirmed by the evidence of many arms at once, which shows more than each interval alone."
)


@dataclass(frozen=True)
class Stretch:
    """A part of the axis, with a width in words.

    Attributes:
        start: Its lower end, by the means.
        stop: Its upper end, by the means.
        words: How wide it is, and how sure that is.
        certain: The part of it that is certain, from and to; None if nothing is.
    """

    start: float
    stop: float
    words: str
    certain: tuple[float, float] | None = None


@dataclass(frozen=True)
class Case:
    """The gap around the odd arms against its yardstick.

    Attributes:
        sentence: Why they are outliers, or what is missing.
        gap: The narrowest gap around them; None if many arms lie apart.
        rest: What the relative rule compares it with: the widest gap among the others, or with
            `neighbours` above 1 the longest span of so many gaps.
        line: How wide the gap must be to count.
        sure_line: The part of `line` that is enough: the line less the slack.
        line_words: The line as a formula.
        notes: Why a shaded gap and intervals overlap, if they do.
    """

    sentence: str
    gap: Stretch | None
    rest: Stretch | None
    line: float
    sure_line: float
    line_words: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Widths:
    """What is known of the gap around so many arms, and of what it is compared with.

    `gap_at` and `rest_at` are the ends of both by the means, `digits` how many are shown.
    """

    arms: int
    gap: float
    gap_at_least: float
    gap_at: tuple[float, float]
    certain: tuple[float, float] | None
    rest: float
    rest_at_most: float
    rest_at: tuple[float, float] | None
    digits: int = 2

    def with_digits_for(self, factor: float) -> _Widths:
        """Return the same with so many digits that the numbers shown bear out the comparison."""
        for digits in range(2, 7):
            most = rounded_up(self.rest_at_most, digits) if self.rest_at_most > 0 else 0.0
            if factor * most <= rounded_down(self.gap_at_least, digits):
                return replace(self, digits=digits)
        return replace(self, digits=7)

    @property
    def them(self) -> str:
        return "it" if self.arms == 1 else "them"

    @property
    def outliers(self) -> str:
        return "it is an outlier" if self.arms == 1 else "they are outliers"

    @property
    def are_outliers(self) -> str:
        return f"{self.outliers.capitalize()}: the gap around {self.them}"


def case_of(result: Result) -> Case | None:
    """Return why the odd arms of a result are odd or not; None before every arm has a reward.

    The odd arms are the outliers, or else the candidates, or else those that are nearest to being
    outliers by the means.
    """
    working = np.flatnonzero([status != "failed" for status in result.statuses])
    means = result.means[working]
    if len(working) < 3 or np.isnan(means).any():
        return None
    arms = working[np.argsort(means, kind="stable")]
    odd = result.odd[arms]
    if result.problem.absolute and odd.sum() > result.problem.max_members(len(result.names)):
        return _scattered(result, int(odd.sum()))
    if odd.all():
        return None
    found = bool(odd.any())
    if not found:
        odd = _nearest(result, arms)
    widths = _widths(result, arms, odd)
    return (
        _absolute(result, widths, found)
        if result.problem.absolute
        else _relative(result, widths, found)
    )


def _absolute(result: Result, widths: _Widths, found: bool) -> Case:
    """Return the case by the absolute rule: the gap against `min_gap`."""
    line, sure = float(result.problem.floor), float(result.problem.at_slack().floor)
    words = _floor_words(line, sure)
    needs = f"it must reach {words}"
    if result.outliers and result.verdict == "confirmed":
        jointly = widths.gap_at_least < sure * (1 - 1e-9)
        sentence = f"{widths.are_outliers} is {_known(widths, jointly)}; {needs}."
        return _case(result, sentence, widths, (line, sure), words, jointly=jointly)
    sentence = _open(result, widths, needs, found)
    if found and result.verdict != "ranked" and widths.gap_at_least >= sure:
        known = f"the gap around {widths.them} is at least {_rounded(widths.gap_at_least)}"
        sentence = f"Not certain yet: {known}, enough for {words}, but others may lie apart too."
    return _case(result, sentence, widths, (line, sure), words)


def _relative(result: Result, widths: _Widths, found: bool) -> Case:
    """Return the case by the relative rule: the gap against the widest one among the others."""
    problem, confirmed = result.problem, bool(result.outliers) and result.verdict == "confirmed"
    factor, sure_factor = float(problem.ratio), float(problem.at_slack().ratio)
    floor = float(problem.floor)
    individually = (
        confirmed
        and widths.gap_at_least > 0
        and widths.gap_at_least >= sure_factor * widths.rest_at_most * (1 - 1e-9)
    )
    if individually:
        widths = widths.with_digits_for(sure_factor)
    rest, digits = widths.rest_at_most if individually else widths.rest, widths.digits
    line = max(factor * rest, floor)
    sure = max(sure_factor * rest, float(problem.at_slack().floor))
    about = "" if individually or result.exact else "about "
    shown_rest = _rounded(rest, digits, up=individually)
    if line > factor * rest:  # min_gap is more than the gaps of the others ask for
        words = _floor_words(line, sure)
    else:
        words = f"{sure_factor:g} × {shown_rest} = {about}{_rounded(sure, digits)}"
    least = "" if sure_factor == factor else " (1\u00a0+\u00a0ε less the slack)"
    needs = f"it must be more than {sure_factor:g} times as wide{least}"
    needs += f", and more than {floor:g}" if floor else ""
    others = f"the widest {compared(problem)} among the others"
    if confirmed:
        known = _known(widths, not individually)
        most = f"at most {shown_rest}" if individually else f"about {shown_rest}"
        if result.exact:
            most = shown_rest
        sentence = f"{widths.are_outliers} is {known}, {others} {most}; {needs}."
    else:
        needs = f"{others} is about {shown_rest}, and {needs}"
        sentence = _open(result, widths, needs, found)
    return _case(
        result, sentence, widths, (line, sure), words, jointly=confirmed and not individually
    )


def _open(result: Result, widths: _Widths, needs: str, found: bool) -> str:
    """Return the sentence for arms that are not, or not yet, outliers by the rule."""
    gap = _rounded(widths.gap)
    if result.verdict == "none":
        possible, widest, floor = "", result.widest_gap, result.problem.min_gap
        if widest is not None and 0 < widest < math.inf and (floor is None or widest < floor):
            possible = f", at most {_rounded(widest, up=True)}"
        return f"Nobody is an outlier: the widest gap around few is about {gap}{possible}; {needs}."
    if result.verdict == "ranked":
        why = f"A ranking does not decide whether {widths.outliers}"
        if result.outliers:
            why = "Declared by a rule of the strategy's own, not by these gaps"
        return f"{why}: by the means the gap around {widths.them} is {gap}; {needs}."
    if not found:
        return f"Not decided: the widest gap around few arms is about {gap}; {needs}."
    sure = f", at least {_rounded(widths.gap_at_least)} so far" if widths.gap_at_least > 0 else ""
    return f"Not certain yet: the gap around {widths.them} is about {gap}{sure}; {needs}."


def _floor_words(line: float, sure: float) -> str:
    """Return `min_gap`, and what is left of it with the slack."""
    return f"min_gap = {line:g}" + (f" ({sure:g} with the slack)" if sure < line else "")


def _scattered(result: Result, apart: int) -> Case:
    """Return the case of more arms that lie apart than may be outliers."""
    line, sure = float(result.problem.floor), float(result.problem.at_slack().floor)
    most = result.problem.max_members(len(result.names))
    words = _floor_words(line, sure)
    sentence = (
        f"Gaps that reach {words} cut off {counted(apart, result.nouns[0])} or more; at most "
        f"{most:,} may be outliers."
    )
    return Case(sentence, None, None, line, sure, words, _overlap(result))


def _case(
    result: Result,
    sentence: str,
    widths: _Widths,
    lines: tuple[float, float],
    words: str,
    *,
    jointly: bool = False,
) -> Case:
    """Return a case with its stretches in words."""
    confirmed = result.verdict == "confirmed"
    gap = Stretch(*widths.gap_at, _known(widths, jointly or not confirmed), widths.certain)
    rest = None
    if widths.rest_at is not None and not result.problem.absolute:
        about = f"about {_rounded(widths.rest)}"
        if result.exact:
            about = _rounded(widths.rest)
        elif widths.rest_at_most < math.inf:
            about += f", at most {_rounded(widths.rest_at_most, widths.digits, up=True)}"
        rest = Stretch(*widths.rest_at, about)
    notes = (JOINTLY,) if jointly else _overlap(result)
    return Case(sentence, gap, rest, *lines, words, notes)


def _known(widths: _Widths, jointly: bool) -> str:
    """Return how wide the gap is, in words."""
    least = _rounded(widths.gap_at_least, widths.digits) if widths.gap_at_least > 0 else ""
    if least and widths.gap_at_least == widths.gap:
        return least
    if jointly or not least:
        sure = f", at least {least} for certain" if least else ""
        return f"about {_rounded(widths.gap)}{sure}"
    return f"at least {least}"


def _widths(result: Result, arms: Indices, odd: Flags) -> _Widths:
    """Return what is known of the gaps.

    Args:
        result: The arms.
        arms: Those that have not failed, by ascending mean.
        odd: Whether each of them is one of those that the gap is around.
    """
    means = result.means[arms]
    gaps = np.diff(means)
    borders = np.flatnonzero(odd[1:] != odd[:-1])
    at = int(borders[np.argmin(gaps[borders])])
    certain = {gap.below - 1: gap for gap in certain_gaps(result)}
    certificate = _certificate(result, arms[odd])
    known = [certain[k].width if k in certain else 0.0 for k in borders.tolist()]
    rest_at = _longest_span(means, odd, result.problem.neighbours)
    return _Widths(
        arms=int(odd.sum()),
        gap=float(gaps[at]),
        gap_at_least=max(min(known), 0.0 if certificate is None else certificate.gap_at_least),
        gap_at=(float(means[at]), float(means[at + 1])),
        certain=(certain[at].start, certain[at].stop) if at in certain else None,
        rest=0.0 if rest_at is None else rest_at[1] - rest_at[0],
        rest_at_most=_rest_at_most(result, arms, odd, certificate),
        rest_at=rest_at,
    )


def _segments(odd: Flags) -> list[Indices]:
    """Return the places of the others, those with no odd arm between them together."""
    segment = np.cumsum(np.append(False, odd[1:] != odd[:-1]))
    return [np.flatnonzero(segment == number) for number in np.unique(segment[~odd]).tolist()]


def _longest_span(means: Floats, odd: Flags, neighbours: int) -> tuple[float, float] | None:
    """Return the ends of the longest span of so many gaps among the others, by ascending means."""
    spans = []
    for places in _segments(odd):
        reach = min(neighbours, len(places) - 1)
        if reach:
            y = means[places]
            first = int(np.argmax(y[reach:] - y[:-reach]))
            spans.append((float(y[first]), float(y[first + reach])))
    return max(spans, key=lambda span: span[1] - span[0], default=None)


def _rest_at_most(
    result: Result, arms: Indices, odd: Flags, certificate: Certificate | None
) -> float:
    """Return the most that any gap or span among the others can be, by intervals or certificate."""
    most = 0.0
    for places in _segments(odd):
        low, high = result.low[arms[places]], result.high[arms[places]]
        longest = result.problem.neighbours * largest_possible_gap(low, high)
        most = max(most, min(longest, float(high.max() - low.min())))
    return most if certificate is None else min(most, certificate.rest_at_most)


def _certificate(result: Result, odd: Indices) -> Certificate | None:
    """Return the certificate of exactly these arms, if there is one."""
    members = {result.names[arm] for arm in odd.tolist()}
    same = [one for one in result.certificates if set(one.members) == members]
    return same[0] if same else None


def _nearest(result: Result, arms: Indices) -> Flags:
    """Return the block of few arms with the widest gap around it, as the rule measures that."""
    problem, means = result.problem, result.means[arms]
    n = len(arms)
    most = min(problem.max_members(len(result.names)), n - 2, MOST_BLOCKS)
    segment = 1 if problem.absolute else problem.min_segment(len(result.names))
    gaps = np.concatenate([[np.inf], np.diff(means), [np.inf]])
    inner = gaps.copy()
    inner[[0, -1]] = 0.0
    before, after = np.maximum.accumulate(inner), np.maximum.accumulate(inner[::-1])[::-1]
    best = (-1.0, 0, 1)
    for size in range(1, most + 1):
        first = np.arange(n - size + 1)
        apart = np.minimum(gaps[first], gaps[first + size])
        others = np.zeros(len(first))
        others[1:] = np.maximum(others[1:], before[first[1:] - 1])
        others[:-1] = np.maximum(others[:-1], after[first[:-1] + size + 1])
        far = apart if problem.absolute else apart / np.maximum(others, 1e-300)
        beside = (first == 0) | (first >= segment)
        beside &= (first + size == n) | (n - first - size >= segment)
        far = np.where(beside, far, -1.0)
        at = int(np.argmax(far))
        best = max(best, (float(far[at]), at, size))
    odd = np.zeros(n, dtype=np.bool_)
    odd[best[1] : best[1] + best[2]] = True
    return odd


def _overlap(result: Result) -> tuple[str, ...]:
    """Return why intervals reach into a shaded gap, if one does."""
    return (OVERLAP,) if _reached(result) else ()


def _reached(result: Result) -> bool:
    """Whether an interval reaches into a certain gap as it is drawn."""
    working = np.array([status != "failed" for status in result.statuses])
    low, high = result.low[working], result.high[working]
    slight = 1e-9 * _range(low, high)
    return any(
        bool(((low < gap.stop - slight) & (high > gap.start + slight)).any())
        for gap in certain_gaps(result)
    )


def _range(low: Floats, high: Floats) -> float:
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    return float(np.ptp(ends)) if len(ends) else 1.0


def _rounded(value: float, digits: int = 2, *, up: bool = False) -> str:
    """Return a width in so many digits, rounded down unless told otherwise."""
    if value <= 0 or not math.isfinite(value):
        return "0" if value <= 0 else "∞"
    return f"{(rounded_up if up else rounded_down)(value, digits):.7g}"
