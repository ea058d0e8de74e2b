"""The claims of the paper's section 6, each beside what was measured.

`RULES` says how a verdict is taken. A claim has parts, measured for each kind of radii; pulls are
compared at equal radii only, and as ratios: GOLD's pulls divided by WRR's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, geometric_mean, stdev
from typing import Any, Literal

from scipy.stats import t as student

__all__ = [
    "FAIRLY",
    "PAPER_KINDS",
    "RADII",
    "RULES",
    "Cell",
    "Claim",
    "Part",
    "Ratios",
    "Verdict",
    "best_cells",
    "capital",
    "check_claims",
    "correctness",
    "fair_cells",
    "log_interval",
    "mean_f1",
    "mean_pulls",
    "paper_cells",
    "percent",
    "radii_of",
    "ratios",
    "strategy_label",
    "times",
]

Cell = Mapping[str, Any]
Verdict = Literal["holds", "holds in part", "does not hold", "not measured"]

RADII = {
    "bernoulli": "Bernoulli radii as printed",
    "hoeffding": "Hoeffding radii as printed",
    "anytime": "proved radii",
}
PRINTED = ("bernoulli", "hoeffding")
PAPER_KINDS = ("upper", "intermediate")
PAPER_RIVALS = ("wrr", "rr", "nrr", "ib")

REQUIRED = 0.9  # the correctness that the paper asks for, 1 - δ
POOR = 0.5  # a strategy below this fails, and is not compared by its cost

CLOSE = 0.05  # a saving this near to the paper's is the same
LEVEL = 0.005  # so is an F1
LEAST = 3  # ratios that an interval needs

FAIRLY = "with the fair capacity"

RULES = (
    (
        "A claim holds if all its parts hold, does not hold if none does even in part, and "
        "holds in part otherwise."
    ),
    (
        "The radii as printed decide where they were measured. The proved radii, and the fair "
        "capacity of claims 5 and 6, stand beside with the verdict that they would give."
    ),
    (
        "Every strategy with a k has its best k on every instance: the most often correct "
        "one, then the one with the fewest pulls."
    ),
    (
        "GOLD's correctness holds if every instance has it: all runs in claim 1, 90 % of the "
        "runs in claims 5 and 6. It holds in part if 90 % of all runs are correct. A run that "
        "reaches the cap is not correct."
    ),
    (
        "Pulls are compared where WRR is right in half of its runs and not both reach the "
        "cap. The part holds if the mean saving, 1 − ratio over instances, is at most 5 "
        "points below the paper's, in part if it is above 0; below 0 it does not hold, unless "
        "WRR's cap leaves it open. Where GOLD reaches the cap, or WRR does before GOLD ends, "
        "it holds in part at best."
    ),
    (
        "RR and WRR do well at 90 % correct runs, in part above 50 %; they fail at 50 % or "
        "less, in part below 90 %. NRR and IB are too often wrong below 90 %."
    ),
    (
        "GOLD's F1 is the best if no rival's is higher by more than 0.005 on the same "
        "instances. At the cap it is that of the ranking so far."
    ),
    "Pulls fall with ε if they do so at every step, in part if they do so on the whole.",
)
"""How a verdict is taken."""


@dataclass(frozen=True)
class Part:
    """What one kind of radii says on one part of a claim.

    Attributes:
        radii: "bernoulli", "hoeffding" or "anytime".
        rows: What was measured: names and short values.
        because: The same as a clause.
        verdict: As of a claim.
        fair: Whether GOLD's capacity is the number of labelled outliers.
    """

    radii: str
    rows: tuple[tuple[str, str], ...]
    because: str
    verdict: Verdict
    fair: bool = False


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and what was measured.

    Attributes:
        number: Its place in the list, from 1.
        text: The claim.
        paper: The paper's figure.
        parts: What was measured.
        verdict: "holds", "holds in part", "does not hold" or "not measured".
        why: The verdict's reason, in one sentence.
        beside: The verdicts that other parts would give: of the proved radii, and of the fair
            capacity.
        figure: What the file names of its figures start with.
    """

    number: int
    text: str
    paper: str
    parts: tuple[Part, ...]
    verdict: Verdict
    why: str
    beside: tuple[tuple[str, Verdict], ...]
    figure: str


@dataclass(frozen=True)
class Ratios:
    """GOLD's pulls divided by a rival's, over instances.

    Attributes:
        values: One for each instance where not both reached the cap.
        at_most: On how many of them only the rival reached the cap (the value is an upper bound).
        at_least: On how many of them only GOLD did (the value is a lower bound).
        open: On how many further instances both did, or the rival did before GOLD was done
            (nothing is known).
        wrong: On how many further instances the rival ended, and was wrong in most runs; what a
            wrong answer costs says nothing, so they are left out.
        smallest: The arithmetic mean, if the rival's pulls were endless where it reached the cap.
    """

    values: tuple[float, ...]
    at_most: int
    at_least: int
    open: int
    wrong: int
    smallest: float

    @property
    def mean(self) -> float:
        """The geometric mean of the values."""
        return geometric_mean(self.values)

    @property
    def saving(self) -> float:
        """The mean share of the rival's pulls that GOLD saves, as the paper reports it."""
        return 1 - fmean(self.values)

    @property
    def bound(self) -> str:
        """Words before the mean where caps make it a bound, with a space after them."""
        if self.at_most and self.at_least:
            return "about "
        if self.at_most:
            return "at most "
        return "at least " if self.at_least else ""


def correctness(cell: Cell) -> float:
    """Return the share of a cell's runs that are correct."""
    return fmean(map(float, cell["correct"]))


def mean_f1(cell: Cell) -> float:
    """Return the mean F1 of a cell's runs."""
    return fmean(map(float, cell["f1"]))


def mean_pulls(cell: Cell) -> float:
    """Return the mean pulls of a cell's runs; a lower bound if some reached the cap."""
    return fmean(map(float, cell["pulls"]))


def best_cells(
    cells: Iterable[Cell], *, by: Literal["correctness", "f1"] = "correctness"
) -> list[Cell]:
    """Return one cell for each instance, strategy, capacity and radii: that of the best k.

    Args:
        cells: Any cells; those without runs are left out.
        by: What is best: the highest correctness or the highest mean F1. Ties go to the fewest
            pulls.
    """
    score = correctness if by == "correctness" else mean_f1
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        if cell["pulls"]:
            name = cell["strategy"], cell.get("capacity")
            groups.setdefault((*_place(cell), *name), []).append(cell)
    return [min(group, key=lambda c: (-score(c), mean_pulls(c))) for group in groups.values()]


def radii_of(cells: Iterable[Cell]) -> list[str]:
    """Return the kinds of radii that occur, those as printed first."""
    found = {cell["radii"] for cell in cells}
    return [name for name in RADII if name in found]


def paper_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells whose capacity is the paper's, n(1-ρ)."""
    return [cell for cell in cells if cell.get("capacity") is None]


def fair_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with those of the fair capacity in place of the paper's where they exist.

    The fair capacity is the number of labelled outliers. It changes the rankings alone; where the
    two are equal there is one cell. Figures without any fair cell have none here.
    """
    given = list(cells)
    fair = {(*_place(cell), cell["strategy"]): cell for cell in given if cell.get("capacity")}
    figures = {cell["figure"] for cell in fair.values()}
    return [
        fair.get((*_place(cell), cell["strategy"]), cell)
        for cell in paper_cells(given)
        if cell["figure"] in figures
    ]


def log_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % t interval of a geometric mean, from the logs; None for fewer than three."""
    if len(values) < LEAST:
        return None
    logs = [math.log(value) for value in values]
    reach = float(student.ppf(0.975, len(logs) - 1)) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - reach), math.exp(fmean(logs) + reach)


def ratios(cells: Iterable[Cell], rival: str = "wrr") -> Ratios:
    """Return GOLD's pulls over a rival's, at equal radii and with the rival's best k."""
    places: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for cell in best_cells(cells):
        places.setdefault(_place(cell), {})[cell["strategy"]] = cell
    values: list[float] = []
    floors: list[float] = []
    at_most = at_least = unknown = wrong = 0
    for found in places.values():
        if "gold" not in found or rival not in found:
            continue
        mine, other = any(found["gold"]["capped"]), any(found[rival]["capped"])
        ratio = mean_pulls(found["gold"]) / mean_pulls(found[rival])
        if other and (mine or ratio >= 1):
            unknown += 1
        elif not other and correctness(found[rival]) < POOR:
            wrong += 1
        else:
            values.append(ratio)
            floors.append(0.0 if other else ratio)
            at_most += other
            at_least += mine
    smallest = fmean(floors) if floors else 0.0
    return Ratios(tuple(values), at_most, at_least, unknown, wrong, smallest)


def check_claims(cells: Sequence[Cell]) -> list[Claim]:
    """Compare all claims of the paper's section 6 with the measured cells."""
    paper, fair = paper_cells(cells), fair_cells(cells)
    return [
        _always_correct(paper),
        _synthetic_pulls(paper),
        _blind_rules(paper),
        _weak_baselines(paper),
        _keywords(paper, fair),
        _clicks(paper, fair),
        _epsilon(paper),
    ]


def _always_correct(cells: Sequence[Cell]) -> Claim:
    parts = [
        _accuracy(radii, mine, "configuration", level=1.0)
        for radii, mine in _by_radii(_paper_synthetic(cells))
    ]
    return _claim(
        1, "GOLD finds the outliers in every run of every synthetic configuration.",
        "100 % of the runs in each of 20 configurations; 90 % is what δ = 0.1 asks for",
        parts, "figure2",
    )  # fmt: skip


def _synthetic_pulls(cells: Sequence[Cell]) -> Claim:
    parts = [_cheaper(radii, mine, 0.82) for radii, mine in _by_radii(_paper_synthetic(cells))]
    return _claim(
        2, "On synthetic data GOLD needs far fewer pulls than WRR.",
        "needs 0.18 times WRR's pulls (saves 82 % on average)", parts, "figure3",
    )  # fmt: skip


def _blind_rules(cells: Sequence[Cell]) -> Claim:
    parts = []
    for radii, mine in _by_radii(_paper_synthetic(cells)):
        for kind in PAPER_KINDS:
            for name in ("rr", "wrr"):
                here = [cell for cell in mine if cell["kind"] == kind]
                parts.append(_sees(radii, here, kind, name))
    return _claim(
        3, "RR and WRR do well on upper outliers and fail on intermediate ones.",
        "high accuracy on upper, unsatisfactory on intermediate outliers (a chart only)",
        parts, "figure2",
    )  # fmt: skip


def _weak_baselines(cells: Sequence[Cell]) -> Claim:
    parts = []
    for radii, mine in _by_radii(_paper_synthetic(cells)):
        parts += [_below(radii, mine, name) for name in ("nrr", "ib")]
    return _claim(
        4, "NRR and IB are too often wrong to be useful.",
        "unsatisfactory on synthetic data (a chart only)", parts, "figure2",
    )  # fmt: skip


def _keywords(cells: Sequence[Cell], fair: Sequence[Cell]) -> Claim:
    return _claim(
        5, "On keyword data GOLD is correct as often as required, has the best F1 and needs far "
        "fewer pulls than WRR.",
        "above 90 % correct, the best F1, needs 0.11 times WRR's pulls (saves 89 % on average)",
        [*_keyword_parts(cells), *map(_as_fair, _keyword_parts(fair))], "figure4",
    )  # fmt: skip


def _keyword_parts(cells: Sequence[Cell]) -> list[Part]:
    parts = []
    for radii, mine in _by_radii(_of(cells, "keywords")):
        parts.append(_accuracy(radii, mine, "keyword", level=REQUIRED))
        parts.append(_best_f1(radii, mine))
        parts.append(_cheaper(radii, mine, 0.89))
    return parts


def _clicks(cells: Sequence[Cell], fair: Sequence[Cell]) -> Claim:
    return _claim(
        6, "On click data GOLD is correct as often as required, RR and WRR are not, and GOLD needs "
        "far fewer pulls than WRR.",
        "above 90 % correct, RR and WRR below 90 %, needs 0.22 times WRR's pulls (saves 78 % on "
        "average)",
        [*_click_parts(cells), *map(_as_fair, _click_parts(fair))], "figure5",
    )  # fmt: skip


def _click_parts(cells: Sequence[Cell]) -> list[Part]:
    parts = []
    for radii, mine in _by_radii(_of(cells, "clicks")):
        parts.append(_accuracy(radii, mine, "day", level=REQUIRED))
        parts += [_below(radii, mine, name) for name in ("rr", "wrr")]
        parts.append(_cheaper(radii, mine, 0.78))
    return parts


def _epsilon(cells: Sequence[Cell]) -> Claim:
    parts = []
    for radii, mine in _by_radii(_of(cells, "epsilon")):
        parts += _falls(radii, [cell for cell in mine if cell["strategy"] == "gold"])
    return _claim(
        7, "GOLD needs fewer pulls as ε grows.",
        "pulls fall with ε, on upper outliers among 100 arms (a chart only)", parts, "figure6",
    )  # fmt: skip


def _accuracy(radii: str, cells: Sequence[Cell], unit: str, *, level: float) -> Part:
    gold = [cell for cell in best_cells(cells) if cell["strategy"] == "gold"]
    if not gold:
        return _unknown(radii, "GOLD correct", "GOLD was not run")
    shares = [correctness(cell) for cell in gold]
    good = sum(share >= level for share in shares)
    capped = sum(any(cell["capped"]) for cell in gold)
    aim = "all runs" if level == 1 else f"at least {percent(level)} of the runs"
    rows = (
        ("GOLD correct", f"{percent(fmean(shares))}, lowest {percent(min(shares))}"),
        (f"{unit}s with {aim.replace('at least', '≥')} correct", f"{good} of {len(gold)}"),
        (f"{unit}s with GOLD at the cap", f"{capped} of {len(gold)}"),
    )
    verdict: Verdict = "holds in part" if fmean(shares) >= REQUIRED else "does not hold"
    if good == len(gold):
        verdict = "holds"
    because = f"GOLD is correct in {aim} in {good} of {_count(len(gold), unit)}"
    reached = f" and reaches the cap in {capped}" if capped else ""
    return Part(radii, rows, because + reached, verdict)


def _cheaper(radii: str, cells: Sequence[Cell], paper: float) -> Part:
    found = ratios(cells)
    name = "GOLD's pulls ÷ WRR's"
    if not found.values:
        cause = "GOLD or WRR was not run"
        if found.open or found.wrong:
            cause = "WRR is wrong or at the cap wherever it could be compared"
        return Part(radii, ((name, "–"), *_left_out(found)), cause, "not measured")
    amount = f"{found.bound}{times(found.mean)}"
    interval = log_interval(found.values)
    lowest, highest = min(found.values), max(found.values)
    saved = percent(found.saving) if found.saving > 0 else "none"
    rows = (
        (name, amount),
        ("… 95 % interval", " to ".join(map(times, interval)) if interval else "–"),
        ("… lowest to highest", f"{times(lowest)} to {times(highest)}"),
        (f"… mean saving (paper {percent(paper)})", saved),
        ("… instances compared", str(len(found.values))),
        ("… of them at the cap, WRR", str(found.at_most)),
        ("… of them at the cap, GOLD", str(found.at_least)),
        *_left_out(found),
    )
    because = f"GOLD needs {amount} times WRR's pulls"
    if found.saving > 0:
        least = "at least " if found.bound == "at most " else ""
        because += f" and saves {least}{saved} on average (the paper: {percent(paper)})"
    else:
        because += f" (the paper: {times(1 - paper)} times)"
    return Part(radii, rows, because, _cheaper_verdict(found, paper))


def _cheaper_verdict(found: Ratios, paper: float) -> Verdict:
    if found.saving >= paper - CLOSE:
        return "holds in part" if found.at_least or found.open else "holds"
    if found.saving > 0:
        return "holds in part"
    return "does not hold" if found.smallest >= 1 else "not measured"


def _left_out(found: Ratios) -> tuple[tuple[str, str], ...]:
    return (
        ("… left out, as WRR is wrong", str(found.wrong)),
        ("… left out, as WRR is at the cap", str(found.open)),
    )


def _sees(radii: str, cells: Sequence[Cell], kind: str, name: str) -> Part:
    share = _mean_correctness(cells, name)
    label = strategy_label(name)
    row = f"{label} correct, {kind}"
    if share is None:
        return _unknown(radii, row, f"{label} was not run on {kind} outliers")
    because = f"{label} is correct in {percent(share)} of the runs on {kind} outliers"
    if kind == "upper":
        verdict = _graded(share >= REQUIRED, share > POOR)
    else:
        verdict = _graded(share <= POOR, share < REQUIRED)
    return Part(radii, ((row, percent(share) + _reached(cells, name)),), because, verdict)


def _below(radii: str, cells: Sequence[Cell], name: str) -> Part:
    share = _mean_correctness(cells, name)
    label = strategy_label(name)
    row = f"{label} correct"
    if share is None:
        return _unknown(radii, row, f"{label} was not run")
    because = f"{label} is correct in {percent(share)} of the runs"
    shown = percent(share) + _reached(cells, name)
    return Part(radii, ((row, shown),), because, _graded(share < REQUIRED, False))


def _best_f1(radii: str, cells: Sequence[Cell]) -> Part:
    scores: dict[str, dict[tuple[Any, ...], float]] = {}
    for cell in best_cells(cells, by="f1"):
        scores.setdefault(cell["strategy"], {})[_place(cell)] = mean_f1(cell)
    gold = scores.get("gold", {})
    rivals = []
    for name in PAPER_RIVALS:
        shared = gold.keys() & scores.get(name, {}).keys()
        if shared:
            ours = fmean(gold[place] for place in shared)
            rivals.append((fmean(scores[name][place] for place in shared), ours, name))
    if not rivals:
        return _unknown(radii, "GOLD's F1", "there is no rival's F1 to compare with")
    beaten = sum(ours >= theirs - LEVEL for theirs, ours, _ in rivals)
    theirs, ours, name = max(rivals, key=lambda rival: rival[0] - rival[1])
    rows = (("GOLD's F1", f"{ours:.2f}"), ("best rival's F1", f"{theirs:.2f} ({name.upper()})"))
    because = f"GOLD's F1 is {ours:.2f} and {strategy_label(name)}'s {theirs:.2f}"
    return Part(radii, rows, because, _graded(beaten == len(rivals), beaten > 0))


def _falls(radii: str, cells: Sequence[Cell]) -> list[Part]:
    lines: dict[tuple[Any, ...], dict[float, list[Cell]]] = {}
    for cell in best_cells(cells):
        line = lines.setdefault((cell["kind"], cell["n"]), {})
        line.setdefault(cell["epsilon"], []).append(cell)
    parts = []
    for line in lines.values():
        if len(line) < 2:
            continue
        at = sorted(line)
        pulls = [fmean(mean_pulls(cell) for cell in line[epsilon]) for epsilon in at]
        steps = sum(later < sooner for sooner, later in pairwise(pulls))
        capped = sum(any(any(cell["capped"]) for cell in line[epsilon]) for epsilon in at)
        rows = (
            (f"pulls at ε = {at[0]:g}", f"{pulls[0]:,.0f}"),
            (f"pulls at ε = {at[-1]:g}", f"{pulls[-1]:,.0f}"),
            ("steps at which they fall", f"{steps} of {len(at) - 1}"),
            ("values of ε with GOLD at the cap", f"{capped} of {len(at)}"),
        )
        because = f"pulls fall in {steps} of {_count(len(at) - 1, 'step')} of ε"
        verdict = _graded(steps == len(at) - 1, pulls[-1] < pulls[0])
        parts.append(Part(radii, rows, because, verdict))
    return parts


def _unknown(radii: str, row: str, because: str) -> Part:
    return Part(radii, ((row, "–"),), because, "not measured")


def _as_fair(part: Part) -> Part:
    return replace(part, fair=True)


def _claim(number: int, text: str, paper: str, parts: Sequence[Part], figure: str) -> Claim:
    printed = [part for part in parts if part.radii in PRINTED and not part.fair]
    proved = [part for part in parts if part.radii not in PRINTED and not part.fair]
    fair = [part for part in parts if part.radii in PRINTED and part.fair]
    if all(part.verdict == "not measured" for part in printed):
        printed, proved = proved, []
    others = (("with the proved radii", proved), (FAIRLY, fair))
    beside = tuple((name, _together(group)) for name, group in others if group)
    verdict = _together(printed)
    why = f"{_reason(printed, verdict)}." if parts else "There are no runs of it."
    return Claim(number, text, paper, tuple(parts), verdict, why, beside, figure)


def _together(parts: Sequence[Part]) -> Verdict:
    verdicts = {part.verdict for part in parts}
    if verdicts <= {"not measured"}:
        return "not measured"
    if verdicts == {"holds"}:
        return "holds"
    return "does not hold" if verdicts <= {"does not hold", "not measured"} else "holds in part"


def _reason(parts: Sequence[Part], verdict: Verdict) -> str:
    """Return what keeps a claim from holding, or what makes it hold, with the first such radii."""
    decisive = [part for part in parts if verdict == "holds" or part.verdict != "holds"]
    first = [part.because for part in decisive if part.radii == decisive[0].radii]
    several = len({part.radii for part in parts}) > 1
    where = f"With {RADII[decisive[0].radii]}, " if several else ""
    clauses = [*dict.fromkeys(first)]
    joined = ", and ".join([", ".join(clauses[:-1]), clauses[-1]] if len(clauses) > 1 else clauses)
    return capital(where + joined)


def capital(text: str) -> str:
    """Return a text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def _graded(whole: bool, partly: bool) -> Verdict:
    if whole:
        return "holds"
    return "holds in part" if partly else "does not hold"


def _mean_correctness(cells: Sequence[Cell], name: str) -> float | None:
    shares = [correctness(cell) for cell in best_cells(cells) if cell["strategy"] == name]
    return fmean(shares) if shares else None


def _reached(cells: Sequence[Cell], name: str) -> str:
    """Return a note on the cap: a strategy that was stopped is not one that is mistaken."""
    mine = [any(cell["capped"]) for cell in best_cells(cells) if cell["strategy"] == name]
    return f" (at the cap on {sum(mine)} of {len(mine)})" if any(mine) else ""


def _of(cells: Iterable[Cell], figure: str) -> list[Cell]:
    return [cell for cell in cells if cell["figure"] == figure and cell["pulls"]]


def _paper_synthetic(cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in _of(cells, "synthetic") if cell["kind"] in PAPER_KINDS]


def _by_radii(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    return [(name, [cell for cell in cells if cell["radii"] == name]) for name in radii_of(cells)]


def _place(cell: Cell) -> tuple[Any, ...]:
    names = ("figure", "instance", "kind", "n", "epsilon", "radii", "delta")
    return tuple(cell[name] for name in names)


def strategy_label(name: str) -> str:
    """Return a strategy's name as it is printed: acronyms in capitals."""
    word, comma, rest = name.partition(",")
    return (word.upper() if len(word) <= 4 else word.capitalize()) + comma + rest


def times(ratio: float) -> str:
    """Return a ratio with two digits, or as a whole number from 10 on.

    Examples:
        >>> times(189.06), times(7.83), times(1.0), times(0.18), times(0.0312)
        ('189', '7.8', '1.0', '0.18', '0.031')
    """
    if ratio >= 9.95:
        return f"{ratio:,.0f}"
    return f"{ratio:.{max(1, 1 - math.floor(math.log10(ratio)))}f}"


def percent(share: float) -> str:
    """Return a share as a percentage; only a share of one is "100 %".

    Examples:
        >>> percent(0.816), percent(0.998), percent(1.0), percent(-0.2)
        ('82 %', '99.8 %', '100 %', '−20 %')
    """
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return f"{min(100 * share, 99.9):.1f} %"
    return f"{rounded} %".replace("-", "−")


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
