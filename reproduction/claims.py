"""The claims of the paper's section 6, each beside what was measured.

A verdict is taken from the radii as printed ("bernoulli" and "hoeffding"), the paper's own; the
numbers of the proved radii ("anytime") stand beside them, and decide only where nothing else was
measured. Each claim is broken into parts: it holds if all parts hold, does not hold if none does
even in part, and holds in part otherwise.

The sigma rules are given the best of their k on every instance, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal

__all__ = [
    "PAPER_KINDS",
    "RADII",
    "Cell",
    "Claim",
    "Saving",
    "Verdict",
    "best_cells",
    "capital",
    "check_claims",
    "correctness",
    "mean_f1",
    "mean_pulls",
    "percent",
    "radii_of",
    "saving",
    "strategy_label",
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


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and what was measured.

    Attributes:
        number: Its place in the list, from 1.
        text: The claim.
        paper: The paper's figure.
        ours: The measured numbers, one line for each kind of radii.
        verdict: "holds", "holds in part", "does not hold" or "not measured".
        why: The verdict's reason, in one sentence.
        figure: What the file names of its figures start with.
    """

    number: int
    text: str
    paper: str
    ours: str
    verdict: Verdict
    why: str
    figure: str


@dataclass(frozen=True)
class Saving:
    """The share of a rival's pulls that GOLD saves, over instances.

    Attributes:
        values: 1 - GOLD / rival, one for each instance where not both reached the cap.
        at_least: On how many of them only the rival reached the cap (the value is a lower bound).
        at_most: On how many of them only GOLD did (the value is an upper bound).
        open: On how many further instances both did, or the rival did before GOLD was done
            (nothing is known).
        wrong: On how many further instances the rival ended, and was wrong in most runs; what a
            wrong answer costs says nothing, so they are left out.
        most: The mean, if the rival's pulls were endless wherever it reached the cap.
    """

    values: tuple[float, ...]
    at_least: int
    at_most: int
    open: int
    wrong: int
    most: float

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return fmean(self.values)


@dataclass(frozen=True)
class _Part:
    """What one kind of radii says on one part of a claim."""

    radii: str
    text: str
    because: str
    verdict: Verdict


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
    """Return one cell for each instance, strategy and radii: that of the best k.

    Args:
        cells: Any cells; those without runs are left out.
        by: What is best: the highest correctness or the highest mean F1. Ties go to the fewest
            pulls.
    """
    score = correctness if by == "correctness" else mean_f1
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        if cell["pulls"]:
            groups.setdefault((*_place(cell), cell["strategy"]), []).append(cell)
    return [min(group, key=lambda c: (-score(c), mean_pulls(c))) for group in groups.values()]


def radii_of(cells: Iterable[Cell]) -> list[str]:
    """Return the kinds of radii that occur, those as printed first."""
    found = {cell["radii"] for cell in cells}
    return [name for name in RADII if name in found]


def saving(cells: Iterable[Cell], rival: str = "wrr") -> Saving:
    """Return what GOLD saves of a rival's pulls, at equal radii and with the rival's best k."""
    places: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for cell in best_cells(cells):
        places.setdefault(_place(cell), {})[cell["strategy"]] = cell
    values: list[float] = []
    ceilings: list[float] = []
    at_least = at_most = unknown = wrong = 0
    for found in places.values():
        if "gold" not in found or rival not in found:
            continue
        mine, other = any(found["gold"]["capped"]), any(found[rival]["capped"])
        beyond = other and mean_pulls(found["gold"]) >= mean_pulls(found[rival])
        if (mine and other) or beyond:
            unknown += 1
            continue
        if not other and correctness(found[rival]) < POOR:
            wrong += 1
            continue
        values.append(1 - mean_pulls(found["gold"]) / mean_pulls(found[rival]))
        ceilings.append(1.0 if other else values[-1])
        at_least += other
        at_most += mine
    most = fmean(ceilings) if ceilings else 1.0
    return Saving(tuple(values), at_least, at_most, unknown, wrong, most)


def check_claims(cells: Sequence[Cell]) -> list[Claim]:
    """Compare all claims of the paper's section 6 with the measured cells."""
    return [
        _always_correct(cells),
        _synthetic_saving(cells),
        _blind_rules(cells),
        _weak_baselines(cells),
        _keywords(cells),
        _clicks(cells),
        _epsilon(cells),
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


def _synthetic_saving(cells: Sequence[Cell]) -> Claim:
    parts = [_saved(radii, mine, 0.82) for radii, mine in _by_radii(_paper_synthetic(cells))]
    return _claim(
        2, "On synthetic data GOLD needs far fewer pulls than WRR.",
        "saves 82 % of WRR's pulls on average", parts, "figure3",
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


def _keywords(cells: Sequence[Cell]) -> Claim:
    parts = []
    for radii, mine in _by_radii(_of(cells, "keywords")):
        parts.append(_accuracy(radii, mine, "keyword", level=REQUIRED))
        parts.append(_best_f1(radii, mine))
        parts.append(_saved(radii, mine, 0.89))
    return _claim(
        5, "On keyword data GOLD is correct as often as required, has the best F1 and needs far "
        "fewer pulls than WRR.",
        "above 90 % correct, the best F1, saves 89 % of WRR's pulls on average", parts, "figure4",
    )  # fmt: skip


def _clicks(cells: Sequence[Cell]) -> Claim:
    parts = []
    for radii, mine in _by_radii(_of(cells, "clicks")):
        parts.append(_accuracy(radii, mine, "day", level=REQUIRED))
        parts += [_below(radii, mine, name) for name in ("rr", "wrr")]
        parts.append(_saved(radii, mine, 0.78))
    return _claim(
        6, "On click data GOLD is correct as often as required, RR and WRR are not, and GOLD needs "
        "far fewer pulls than WRR.",
        "above 90 % correct, RR and WRR below 90 %, saves 78 % of WRR's pulls on average",
        parts, "figure5",
    )  # fmt: skip


def _epsilon(cells: Sequence[Cell]) -> Claim:
    parts = []
    for radii, mine in _by_radii(_of(cells, "epsilon")):
        parts += _falls(radii, [cell for cell in mine if cell["strategy"] == "gold"])
    return _claim(
        7, "GOLD needs fewer pulls as ε grows.",
        "pulls fall with ε, on upper outliers among 100 arms (a chart only)", parts, "figure6",
    )  # fmt: skip


def _accuracy(radii: str, cells: Sequence[Cell], unit: str, *, level: float) -> _Part:
    gold = [cell for cell in best_cells(cells) if cell["strategy"] == "gold"]
    if not gold:
        return _Part(radii, "GOLD not run", "GOLD was not run", "not measured")
    shares = [correctness(cell) for cell in gold]
    good = sum(share >= level for share in shares)
    capped = sum(any(cell["capped"]) for cell in gold)
    aim = "all" if level == 1 else f"at least {percent(level)} of the"
    text = (
        f"GOLD correct in {percent(fmean(shares))} of the runs, {aim} runs in {good} of "
        f"{_count(len(gold), unit)} (lowest {percent(min(shares))})"
    )
    reached = f", the cap reached in {capped}" if capped else ""
    verdict: Verdict = "holds in part" if fmean(shares) >= REQUIRED else "does not hold"
    if good == len(gold):
        verdict = "holds"
    because = f"GOLD is correct in {aim} runs in {good} of {_count(len(gold), unit)}"
    return _Part(radii, text + reached, because + reached, verdict)


def _saved(radii: str, cells: Sequence[Cell], paper: float) -> _Part:
    found = saving(cells)
    if not found.values:
        cause = "GOLD or WRR was not run"
        if found.open or found.wrong:
            cause = "WRR was wrong or at the cap wherever it could be compared"
        return _Part(radii, cause, cause, "not measured")
    amount = f"{_sign(found)}{percent(found.mean)}"
    fewer = sum(value > 0 for value in found.values)
    text = (
        f"saves {amount} of WRR's pulls on average ({percent(min(found.values))} to "
        f"{percent(max(found.values))}), needs fewer on {fewer} of {len(found.values)}"
        + _caveats(found)
    )
    because = f"GOLD saves {amount} of WRR's pulls where the paper has {percent(paper)}"
    if found.at_most or found.open:
        because += f" but reaches the cap itself on {found.at_most + found.open}"
    return _Part(radii, text, because, _saved_verdict(found, paper))


def _saved_verdict(found: Saving, paper: float) -> Verdict:
    if found.mean >= paper - CLOSE:
        return "holds in part" if found.at_most or found.open else "holds"
    if found.mean > 0:
        return "holds in part"
    return "does not hold" if found.most <= 0 else "not measured"


def _caveats(found: Saving) -> str:
    notes = ""
    if found.at_least:
        notes += f"; WRR reached the cap on {found.at_least}, which give a lower bound only"
    if found.at_most:
        notes += f"; GOLD reached the cap on {found.at_most}, which give an upper bound only"
    if found.open:
        notes += f"; WRR reached it too early to tell on {found.open} more, left out"
    if found.wrong:
        notes += f"; WRR was wrong on {found.wrong} more, left out"
    return notes


def _sign(found: Saving) -> str:
    if found.at_least and found.at_most:
        return "about "
    if found.at_least:
        return "at least "
    return "at most " if found.at_most else ""


def _sees(radii: str, cells: Sequence[Cell], kind: str, name: str) -> _Part:
    share = _mean_correctness(cells, name)
    label = strategy_label(name)
    if share is None:
        cause = f"{label} was not run on {kind} outliers"
        return _Part(radii, cause, cause, "not measured")
    reached = _reached(cells, name)
    text = f"{label} {percent(share)} on {kind}{reached}"
    because = f"{label} is correct in {percent(share)} of the runs on {kind} outliers{reached}"
    if kind == "upper":
        verdict = _graded(share >= REQUIRED, share > POOR)
    else:
        verdict = _graded(share <= POOR, share < REQUIRED)
    return _Part(radii, text, because, verdict)


def _below(radii: str, cells: Sequence[Cell], name: str) -> _Part:
    share = _mean_correctness(cells, name)
    label = strategy_label(name)
    if share is None:
        cause = f"{label} was not run"
        return _Part(radii, cause, cause, "not measured")
    reached = _reached(cells, name)
    because = f"{label} is correct in {percent(share)} of the runs{reached}"
    text = f"{label} correct in {percent(share)}{reached}"
    return _Part(radii, text, because, _graded(share < REQUIRED, False))


def _best_f1(radii: str, cells: Sequence[Cell]) -> _Part:
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
        cause = "no rival's F1 to compare with"
        return _Part(radii, cause, cause, "not measured")
    beaten = sum(ours >= theirs - LEVEL for theirs, ours, _ in rivals)
    theirs, ours, name = max(rivals, key=lambda rival: rival[0] - rival[1])
    text = f"F1 {ours:.3f} against {theirs:.3f} of {strategy_label(name)}, the best rival"
    because = f"GOLD's F1 is {ours:.3f} and {strategy_label(name)}'s {theirs:.3f}"
    return _Part(radii, text, because, _graded(beaten == len(rivals), beaten > 0))


def _falls(radii: str, cells: Sequence[Cell]) -> list[_Part]:
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
        text = (
            f"from {pulls[0]:,.0f} at ε = {at[0]:g} to {pulls[-1]:,.0f} at ε = {at[-1]:g}, falling "
            f"in {steps} of {_count(len(at) - 1, 'step')}"
        )
        if capped:
            text += f"; cap reached at {capped} of {len(at)} values of ε"
        because = f"pulls fall in {steps} of {_count(len(at) - 1, 'step')} of ε"
        verdict = _graded(steps == len(at) - 1, pulls[-1] < pulls[0])
        parts.append(_Part(radii, text, because, verdict))
    return parts


def _claim(number: int, text: str, paper: str, parts: Sequence[_Part], figure: str) -> Claim:
    printed = [part for part in parts if part.radii in PRINTED]
    proved = [part for part in parts if part.radii not in PRINTED]
    if all(part.verdict == "not measured" for part in printed):
        printed, proved = proved, []
    verdict = _together(printed)
    if not parts:
        return Claim(number, text, paper, "–", verdict, "There are no runs of it.", figure)
    beside = _together(proved)
    why = _reasons(printed, verdict)
    if beside not in (verdict, "not measured"):
        why += f"; with the proved radii the verdict would be “{beside}”"
    return Claim(number, text, paper, _lines(parts), verdict, why + ".", figure)


def _together(parts: Sequence[_Part]) -> Verdict:
    verdicts = {part.verdict for part in parts}
    if verdicts <= {"not measured"}:
        return "not measured"
    if verdicts == {"holds"}:
        return "holds"
    return "does not hold" if verdicts <= {"does not hold", "not measured"} else "holds in part"


def _reasons(parts: Sequence[_Part], verdict: Verdict) -> str:
    """Return the clauses that keep a claim from holding, or all of them if it holds."""
    decisive = [part for part in parts if verdict == "holds" or part.verdict != "holds"]
    clauses: dict[str, list[str]] = {}
    for part in decisive:
        clauses.setdefault(part.because, []).append(part.radii.capitalize())
    together: dict[str, list[str]] = {}
    for because, radii in clauses.items():
        together.setdefault(" and ".join(dict.fromkeys(radii)), []).append(because)
    if len({part.radii for part in parts}) == 1:
        return capital("; ".join(clauses))
    return "; ".join(f"{radii}: {', '.join(texts)}" for radii, texts in together.items())


def _lines(parts: Sequence[_Part]) -> str:
    lines: dict[str, list[str]] = {}
    for part in parts:
        lines.setdefault(part.radii, []).append(part.text)
    return "\n".join(
        f"{capital(RADII[radii])}: {'; '.join(texts)}." for radii, texts in lines.items()
    )


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
    return (
        f" (the cap reached on {sum(mine)} of {_count(len(mine), 'instance')})" if any(mine) else ""
    )


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
    return name.upper() if len(name) <= 4 else name.capitalize()


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
