"""The answer of a search in a sentence or two that name the arms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oddarm._text import named, numbered
from oddarm.options import DEFAULT_RHO
from oddarm.problem import Problem
from oddarm.strategies import Certificate

if TYPE_CHECKING:
    from oddarm.results.result import Result

__all__ = [
    "amount",
    "answer",
    "at_this_pace",
    "compared",
    "counted",
    "glance",
    "odds",
    "rounded_down",
    "rounded_up",
    "two_digits",
    "unbroken",
]

ENOUGH = 3
"""The fewest arms of a search."""
TINY = 10
"""An arm has very few rows if the middle one of all has more than so many times as many."""
FEW = 3
"""Of more arms that lack rows, a sentence says how many they are and names so many."""
MOST_ODDS = 10**6
"""Higher odds are not spelled out."""

_IRREGULAR = ("ss", "ses", "xes", "zes", "ches", "shes", "ies")
"""Ends of plurals whose singular needs more than to leave out the -s."""


def answer(result: Result) -> list[str]:
    """Return the answer as sentences, the first of which can stand alone."""
    of_verdict = {
        "confirmed": _confirmed,
        "none": _none,
        "scattered": _scattered,
        "ranked": _ranked,
        "rows": _rows,
    }
    return of_verdict.get(result.verdict, _guess)(result)


def glance(result: Result) -> str:
    """Return what is known in a few words, to follow the pulls in a line that changes often."""
    parts = []
    if result.outliers:
        parts.append(f"outliers: {named(result.outliers)}")
    elif result.pulls and result.verdict != "none":
        guess = named(result.candidates) or "nobody"
        if _guesses_scattered(result):
            guess = f"{len(result.candidates):,} of {len(result.names):,} lie apart, too many"
        parts.append(f"best guess: {guess}")
        evidence = odds(result.evidence)
        parts += [f"evidence {evidence}"] if evidence else []
    if result.forecast is not None:
        parts.append(f"about {two_digits(result.forecast):,} more")
    if result.errors:
        parts.append(f"{len(result.errors):,} failed")
    return " · ".join(parts)


def at_this_pace(forecast: int | None, pulls: int, seconds: float) -> str:
    """Return how long a forecast takes, if pulls go on at the pace of the last ones.

    Examples:
        >>> at_this_pace(3_400, 1_700, 360.0), at_this_pace(10, 100, 10.0)
        ('about 12 min at this pace', 'about 1 s at this pace')
        >>> at_this_pace(None, 100, 10.0), at_this_pace(10, 0, 10.0)
        ('', '')
    """
    if forecast is None or not pulls or seconds <= 0:
        return ""
    left = forecast * seconds / pulls
    for unit, word in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if left >= 2 * unit:
            return f"about {math.ceil(left / unit):,} {word} at this pace"
    return f"about {max(1, math.ceil(left)):,} s at this pace"


def odds(evidence: float | None) -> str | None:
    """Return odds, rounded down, in words; None if they say nothing.

    Examples:
        >>> odds(14.7), odds(3.29), odds(1.0), odds(None), odds(float("inf"))
        ('14 : 1', '3.2 : 1', None, None, 'over 1,000,000 : 1')
    """
    if evidence is None or evidence < 1.1:
        return None
    if evidence > MOST_ODDS:
        return f"over {MOST_ODDS:,} : 1"
    whole = evidence >= 10 or evidence == int(evidence)
    return f"{int(evidence):,} : 1" if whole else f"{math.floor(10 * evidence) / 10} : 1"


def amount(value: float) -> str:
    """Return a cost in words.

    Examples:
        >>> amount(812.0), amount(12345.6), amount(0.02416)
        ('812', '12,346', '0.0242')
    """
    whole = value == int(value) or abs(value) >= 1000
    return f"{value:,.0f}" if whole else f"{value:.3g}"


def counted(count: int, noun: str, more: str = "") -> str:
    """Return a count with a noun that is given in the plural; of one, a plain -s is left out.

    Examples:
        >>> counted(1, "pulls"), counted(2, "pulls"), counted(1, "arms", "more ")
        ('1 pull', '2 pulls', '1 more arm')
        >>> counted(1, "addresses"), counted(1, "people")
        ('1 addresses', '1 people')
    """
    regular = noun.endswith("s") and not noun.endswith(_IRREGULAR)
    return f"{count:,} {more}{noun.removesuffix('s') if count == 1 and regular else noun}"


def two_digits(count: int) -> int:
    """Return a count rounded up to two digits.

    Examples:
        >>> two_digits(65_293), two_digits(900), two_digits(7)
        (66000, 900, 7)
    """
    unit: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // unit) * unit


def _confirmed(result: Result) -> list[str]:
    """The outliers, how far from the others they are for certain, and at what price."""
    stand = "stands" if len(result.outliers) == 1 else "stand"
    others = f"the other {counted(_working(result) - len(result.outliers), result.nouns[0])}"
    where = f" from {others}" if result.side == "apart from" else f", {result.side} {others}"
    far = _distance(result)
    return [f"{_begin(result.outliers)} {stand} apart{where}{far}; {_price_and_sureness(result)}."]


def _distance(result: Result) -> str:
    """How far the outliers are from the others, as far as that is certain."""
    certificates = _certificates_of(result)
    if not certificates:
        gap = result.problem.at_slack().min_gap
        return "" if gap is None else f" by more than {gap:g}"
    gap = rounded_down(min(certificate.gap_at_least for certificate in certificates), 2)
    words = f" by at least {gap:g}"
    ratio = 1 + min(certificate.epsilon for certificate in certificates)
    if not result.problem.absolute and 1 < ratio < math.inf:
        among = compared(result.problem)
        words += f" (at least {rounded_down(ratio, 2):g} times any {among} among them)"
    return words


def compared(problem: Problem) -> str:
    """What the gap around outliers is compared with."""
    return "gap" if problem.neighbours == 1 else f"span of {problem.neighbours} gaps"


def _certificates_of(result: Result) -> list[Certificate]:
    """The certificate of all outliers or, if there is none, those of disjoint parts of them."""
    outliers = set(result.outliers)
    confirmed = [
        certificate
        for certificate in result.certificates
        if certificate.status == "confirmed" and certificate.gap_at_least > 0
    ]
    whole = [certificate for certificate in confirmed if set(certificate.members) == outliers]
    if whole:
        return whole
    parts = [certificate for certificate in confirmed if outliers.issuperset(certificate.members)]
    members = [arm for certificate in parts for arm in certificate.members]
    return parts if len(members) == len(outliers) and set(members) == outliers else []


def _none(result: Result) -> list[str]:
    """That nobody is an outlier, by which rule, and how wide a gap can still be."""
    problem, n = result.problem, len(result.names)
    most = problem.max_members(n)
    if problem.absolute:
        group = "" if most == 1 else f", alone or in a group of up to {most:,}"
        why = f" by more than {problem.min_gap:g}{group}"
    else:
        few = "one of them" if most == 1 else f"{most:,} or fewer of them"
        why = f": no gap around {few} is more than {float(problem.ratio):g} times as wide as any "
        why += f"{compared(problem)} among the others"
        why += "" if problem.min_gap is None else f", and above {problem.min_gap:g}"
    widest = result.widest_gap
    if widest is not None and 0 < widest < math.inf:
        possible = rounded_up(widest, 2)
        if problem.min_gap is None or possible < problem.min_gap:
            why += f" (at most {possible:g} is possible)"
    return [f"None of {n:,} {result.nouns[0]} stands apart{why}; {_price_and_sureness(result)}."]


def _scattered(result: Result) -> list[str]:
    """That too many arms lie apart, and what to try."""
    problem, n = result.problem, len(result.names)
    most, apart = problem.max_members(n), len(result.candidates)
    of_all = "All" if apart == n else f"{apart:,} of" if result.exact else f"At least {apart:,} of"
    if apart <= most:
        of_all = f"More than {'one' if most == 1 else f'{most:,}'} of"
    more = f", more than {_limit(result)}" if apart > most else ""
    names = f": {named(result.candidates)}" if result.candidates else ""
    # A rho that is not the default may have been made smaller already.
    larger_share = problem.max_outliers is not None or problem.rho == DEFAULT_RHO
    other = "a larger max_outliers" if problem.max_outliers is not None else "a smaller rho"
    other = f" or {other}" if larger_share and 2 * apart < n else ""
    return [
        f"{of_all} {n:,} {result.nouns[0]} lie apart{_scale(result)}{more}{names}.",
        f"So there is no bulk at this scale; {_price_and_sureness(result)}.",
        f"Try a larger min_gap{other}.",
    ]


def _scale(result: Result) -> str:
    """By how much the arms lie apart for certain."""
    asked, certain = result.problem.min_gap, result.problem.at_slack().min_gap
    if asked is None or certain is None:
        return ""
    if result.exact or asked == certain:
        return f" by more than {asked:g}"
    return f" by more than {certain:g} (min_gap {asked:g} less the slack)"


def _limit(result: Result) -> str:
    most = result.problem.max_members(len(result.names))
    return "the one that may be an outlier" if most == 1 else f"the {most:,} that may be outliers"


def _ranked(result: Result) -> list[str]:
    """The arms that rank first, or those that a strategy declares by a rule of its own."""
    first = result.outliers or result.candidates
    predicate = result.strategy.predicate(max(len(first), 1), result.side)
    promise = result.strategy.promise
    of_all = f"of {len(result.names):,} {result.nouns[0]}"
    subject = f"O{of_all[1:]}, {named(first)}" if first else f"None {of_all}"
    are = "it is an outlier" if len(first) == 1 else "they are outliers"
    unknown = f"; whether {are} is not decided" if result.candidates else ""
    return [
        f"{subject} {predicate}, after {result.spent}{unknown}.",
        f"{promise[0].upper()}{promise[1:]}; {_sureness(result)}.",
    ]


def _guess(result: Result) -> list[str]:
    """The best guess, how good it is, what would decide, and how to go on."""
    sentences = [_best_guess(result)]
    if _is_dear(result):
        other = "" if result.forecast else f", or {result.hint or _hint(result)}"
        sentences.append(f"Say how far is far with min_gap, which is cheaper to show{other}.")
    if result.verdict == "running" and result.hint:
        sentences.append(f"It was interrupted: {result.hint}.")
    return sentences


def _is_dear(result: Result) -> bool:
    """Whether a search by the ratio alone would need more than all it has spent, or nobody knows.

    A search that may still go on by itself is not judged.
    """
    forecast = result.forecast
    if result.verdict == "budget":
        far = forecast is None or forecast > result.pulls
    else:
        far = result.hint is not None and forecast is not None and forecast > result.pulls
    by_ratio = result.strategy.confirms and result.problem.min_gap is None
    return far and by_ratio and _all_pulled(result)


def _rows(result: Result) -> list[str]:
    """The best guess after all rows, and which arms have too few."""
    count_of = dict(zip(result.names, result.counts.tolist(), strict=True))
    short = sorted(result.short, key=count_of.__getitem__)
    arms, rows = result.nouns
    of = f", above all of {named(short)}" if short else ""
    if len(short) > FEW:
        in_all = len(result.names)
        of = f": {len(short):,} of {in_all:,} {arms} have too few, such as {named(short[:FEW])}"
        of = of if len(short) < in_all else f": all {in_all:,} {arms} have too few"
    ways = [f"more {rows}"]
    usual = sorted(count_of.values())[len(count_of) // 2]
    tiny = [count_of[arm] for arm in short if TINY * count_of[arm] < usual]
    if tiny and rows == "rows" and len(count_of) - len(tiny) >= ENOUGH:
        ways.append(f"min_rows={max(tiny) + 1} to leave out {arms} with few rows")
    if result.strategy.confirms:
        floor = result.problem.min_gap
        ways.append("min_gap to say how far is far" if floor is None else "a larger min_gap")
    if result.strategy.finite and result.provenance["rewards"]["kind"] != "subgaussian":
        ways.append(f"rows='all' if these {rows} are all there is")
    *first, last = ways
    remedy = f"{', '.join(first)}, or {last}" if first else last
    return [_best_guess(result), f"There are too few {rows} to decide{of}.", f"Try {remedy}."]


def _best_guess(result: Result) -> str:
    of_all = f"of {len(result.names):,} {result.nouns[0]}"
    if not result.candidates and not _all_pulled(result):
        return f"No guess yet, after {result.spent} {of_all}."
    guess = named(result.candidates) or f"none {of_all} stands apart"
    if _guesses_scattered(result):
        apart = len(result.candidates)
        names = "" if apart == len(result.names) else f" ({guess})"
        guess = f"{apart:,} {of_all} lie apart{names}, more than {_limit(result)}, so nobody is an "
        guess += "outlier at this scale"
    decide = ""
    if result.forecast is not None:
        in_all, few = result.rewards_in_all, two_digits(result.forecast)
        many = (result.enough_pulls or 0) - result.pulls
        noun = result.nouns[1]
        if in_all is not None and result.pulls + result.forecast > in_all:
            decide = f"; about {counted(few, noun, 'more ')} may decide"
            decide += "" if result.verdict == "rows" else ", more than there are"
        else:
            up_to = f"{few:,} to " if few < many else ""
            decide = f"; about {up_to}{counted(many, noun, 'more ')} may decide"
            if result.verdict == "budget":
                decide += f": {result.hint or _hint(result)}"
    if _guesses_scattered(result) and result.verdict != "rows":  # else the next sentence says it
        decide += "; try a larger min_gap"
    return f"Best guess after {result.spent}: {guess}{_known(result)}{decide}."


def _guesses_scattered(result: Result) -> bool:
    """Whether the best guess is that more arms lie apart than may be outliers."""
    most = result.problem.max_members(len(result.names))
    return result.problem.absolute and len(result.candidates) > most


def _known(result: Result) -> str:
    """The odds for the best guess, and those asked for."""
    if result.evidence is None:  # the strategy does not say
        return "" if result.verdict == "rows" else "; nothing is decided yet"
    evidence = odds(result.evidence)
    yet = "" if result.verdict == "rows" else " yet"
    known = f"evidence {evidence}" if evidence else f"with no evidence for it{yet}"
    return f", {known} (you asked for {_asked(result.problem.delta)} : 1)"


def _hint(result: Result) -> str:
    """How to go on after a budget, if nobody knows how the search was begun."""
    if result.ended_by_cost:
        return "raise max_cost"
    enough = result.enough_pulls
    return "raise max_pulls" if enough is None else f"raise max_pulls to {enough:,}"


def _price_and_sureness(result: Result) -> str:
    price = f"found {'for' if result.priced else 'with'} {result.spent}"
    return f"{price}, so it is exact" if result.exact else f"{price}; {_sureness(result)}"


def _sureness(result: Result) -> str:
    probability = f"wrong with probability at most {100 * result.problem.delta:.3g} %"
    if result.provenance["delta_proved"]:
        return probability
    return f"meant to be {probability}, which is not proved: {result.provenance['delta_reason']}"


def _all_pulled(result: Result) -> bool:
    """Whether every arm that has not failed has a reward."""
    pulled = zip(result.counts.tolist(), result.statuses, strict=True)
    return all(count or status == "failed" for count, status in pulled)


def _working(result: Result) -> int:
    """How many arms have not failed."""
    return sum(status != "failed" for status in result.statuses)


def _begin(arms: Sequence[Any]) -> str:
    """Names at the beginning of a sentence: only the word before numbers gets a capital."""
    names = named(arms)
    return names[0].upper() + names[1:] if numbered(arms) else names


def _asked(delta: float) -> str:
    wanted = round(1 / delta, 1)
    return f"{wanted:,.0f}" if wanted == int(wanted) else f"{wanted:,}"


def unbroken(text: str) -> str:
    """Return text whose percentages and odds stay on one line."""
    return text.replace(" %", "\u00a0%").replace(" : 1", "\u00a0:\u00a01")


def rounded_down(value: float, digits: int) -> float:
    """Return a value above 0 to so many digits, no larger than it is."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.{digits}g}")


def rounded_up(value: float, digits: int) -> float:
    """The value to so many digits, no smaller than it is."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.{digits}g}")
