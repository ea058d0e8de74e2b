"""The ten lines that a reader of the report remembers, each from the measured cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import fmean, geometric_mean

import numpy as np

from oddarm.datasets import configuration
from reproduction.claims import (
    PAPER_KINDS,
    RADII,
    Cell,
    Claim,
    Verdict,
    best_cells,
    correctness,
    fair_cells,
    log_interval,
    mean_pulls,
    paper_cells,
    percent,
    radii_of,
    ratios,
    times,
)

__all__ = ["basis", "causes", "ten_lines"]

FAIR = (
    "With the fair capacity GOLD may return as many outliers as are labelled. The paper's n(1-ρ) "
    "is more on most of these data: GOLD must then order arms of the bulk as well, whose means "
    "nearly coincide."
)
PRINTED = "bernoulli"  # the radii of the paper's own figures, for 0/1 rewards


def ten_lines(cells: Sequence[Cell], claims: Sequence[Claim]) -> list[str]:
    """Return at most ten lines; what was not measured has none."""
    ran = [cell for cell in cells if cell["pulls"]]
    paper, fair = paper_cells(ran), fair_cells(ran)
    synthetic = [c for c in paper if c["figure"] == "synthetic" and c["kind"] in PAPER_KINDS]
    lines = [
        _verdicts(claims),
        _gold(synthetic),
        _cheaper(synthetic),
        _blind(synthetic),
        _weak(synthetic),
        _real(paper, "keywords", "Keywords: allowed n(1-ρ) outliers"),
        _real(fair, "keywords", "Keywords: allowed as many as are labelled"),
        _clicks(paper, fair),
        _epsilon(paper),
        _adaptive(synthetic),
    ]
    return [line for line in lines if line]


def basis(cells: Sequence[Cell]) -> str:
    """Say how much was measured."""
    runs = sum(len(cell["pulls"]) for cell in cells)
    pulls = sum(sum(cell["pulls"]) for cell in cells)
    text = f"This rests on {runs:,} runs in {len(cells):,} cells, {pulls:,} pulls altogether."
    capped = sum(any(cell["capped"]) for cell in cells)
    if capped:
        text += (
            f" In {capped:,} cells runs reached the cap on pulls. Their pulls are lower bounds, "
            "and such a run does not count as correct. “At least” and “at most” say where that "
            "bounds a ratio."
        )
    return (
        f"{text} Means of ratios are geometric. Beside them, or in brackets, are 95 % t intervals "
        "of the logs over instances, with bounds taken as they are."
    )


def _verdicts(claims: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    words: tuple[tuple[Verdict, str, str], ...] = (
        ("holds", "holds", "hold"),
        ("holds in part", "holds in part", "hold in part"),
        ("does not hold", "does not hold", "do not hold"),
        ("not measured", "was not measured", "were not measured"),
    )
    texts = [
        f"{counts[verdict]} {one if counts[verdict] == 1 else many}"
        for verdict, one, many in words
        if counts[verdict]
    ]
    return f"Of the {len(claims)} claims of the paper's evaluation, {_listed(texts)}."


def _gold(cells: Sequence[Cell]) -> str:
    shares = [
        f"in {percent(fmean(map(correctness, gold)))} with {RADII[radii]}"
        for radii in radii_of(cells)
        if (gold := _of(cells, "gold", radii))
    ]
    return f"Of its runs on synthetic data GOLD is right {_listed(shares)}." if shares else ""


def _cheaper(cells: Sequence[Cell]) -> str:
    found = ratios(cell for cell in cells if cell["radii"] == PRINTED)
    if not found.values:
        return ""
    number = len(found.values)
    return (
        f"There GOLD needs {found.bound}{times(found.mean)} times WRR's pulls where the two can be "
        f"compared: {number} of {number + found.open + found.wrong} instances, as WRR is wrong on "
        f"{found.wrong}."
    )


def causes(cells: Sequence[Cell], claims: Sequence[Claim]) -> dict[int, str]:
    """Return what lies behind the verdicts, by the numbers of the claims."""
    found = {claim.number: FAIR for claim in claims if any(part.fair for part in claim.parts)}
    paper = paper_cells(cells)
    if rule := _rule([c for c in paper if c["figure"] == "synthetic" and c["pulls"]]):
        found[3] = f"{rule} No number of pulls changes that."
    return found


def _blind(cells: Sequence[Cell]) -> str:
    shares = [
        f"in {percent(fmean(map(correctness, found)))} on {kind} outliers"
        for kind in PAPER_KINDS
        if (found := _of((cell for cell in cells if cell["kind"] == kind), "wrr", PRINTED))
    ]
    return f"Of its runs WRR is right {_listed(shares)}. {_rule(cells)}" if shares else ""


def _rule(cells: Sequence[Cell]) -> str:
    """Say what the k-sigma rule would find if it knew the means."""
    shares = [
        f"{percent(_with_known_means(mine))} of the {kind}"
        for kind in PAPER_KINDS
        if (mine := [c for c in cells if c["kind"] == kind and c["strategy"] == "wrr"])
    ]
    if not shares:
        return ""
    return f"With known means the k-sigma rule marks the outliers in {_listed(shares)} instances."


def _with_known_means(cells: Sequence[Cell]) -> float:
    """Return how often the k-sigma rule marks the outliers, and no other, if it knows the means."""
    right: dict[str, dict[float, list[bool]]] = {}
    for cell in cells:
        marks = right.setdefault(cell["instance"], {})
        if cell["k"] not in marks:
            marks[cell["k"]] = [
                _marks(cell["instance"], cell["k"], seed) for seed in range(cell["planned_runs"])
            ]
    return fmean(max(map(fmean, marks.values())) for marks in right.values())


_instance = cache(configuration)  # the same for every k


def _marks(name: str, k: float, seed: int) -> bool:
    instance = _instance(name, seed=seed)
    beyond = instance.means > instance.means.mean() + k * instance.means.std()
    return set(np.flatnonzero(beyond).tolist()) == set(instance.outliers)


def _weak(cells: Sequence[Cell]) -> str:
    texts = []
    for name in ("nrr", "ib"):
        if found := _of(cells, name, PRINTED):
            text = f"{name.upper()} is right in {percent(fmean(map(correctness, found)))}"
            if capped := sum(any(cell["capped"]) for cell in found):
                cap = max(cell["cap"] for cell in found)
                text += f" (at its cap of {cap:,} pulls on {capped} of {len(found)} instances)"
            texts.append(text)
    return f"Of the synthetic runs {_listed(texts)}." if texts else ""


def _real(cells: Sequence[Cell], figure: str, where: str) -> str:
    mine = [cell for cell in cells if cell["figure"] == figure and cell["radii"] == PRINTED]
    gold = _of(mine, "gold", PRINTED)
    if not gold:
        return ""
    ends = sum(not any(cell["capped"]) for cell in gold)
    line = f"{where}, GOLD ends on {ends} of {len(gold)} instances"
    found = ratios(mine)
    if found.values:
        line += (
            f" and needs {found.bound}{times(found.mean)} times WRR's pulls (on the "
            f"{len(found.values)} that can be compared)"
        )
    return line + "."


def _clicks(paper: Sequence[Cell], fair: Sequence[Cell]) -> str:
    first = _real(paper, "clicks", "Clicks: allowed n(1-ρ) outliers")
    second = _real(fair, "clicks", "Allowed as many as are labelled")
    return f"{first} {second}".strip()


def _epsilon(cells: Sequence[Cell]) -> str:
    mine = [cell for cell in cells if cell["figure"] == "epsilon"]
    gold = sorted(_of(mine, "gold", PRINTED), key=lambda cell: cell["epsilon"])
    if not gold:
        return ""
    first, last = gold[0], gold[-1]
    return (
        f"GOLD needs {mean_pulls(first):,.0f} pulls at ε = {first['epsilon']:g} and "
        f"{mean_pulls(last):,.0f} at ε = {last['epsilon']:g}."
    )


def _adaptive(cells: Sequence[Cell]) -> str:
    """Say what GOLD needs beside the adaptive strategy, which is not the paper's."""
    mine = {cell["instance"]: cell for cell in cells if cell["strategy"] == "adaptive"}
    if not mine:
        return ""
    right = percent(fmean(map(correctness, mine.values())))
    texts = []
    for radii in radii_of(cells):
        values = [
            mean_pulls(cell) / mean_pulls(mine[cell["instance"]])
            for cell in _of(cells, "gold", radii)
            if cell["instance"] in mine
        ]
        if values:
            interval = log_interval(values)
            spread = f" ({times(interval[0])} to {times(interval[1])})" if interval else ""
            texts.append(f"{geometric_mean(values):.1f} times{spread} with {RADII[radii]}")
    line = f"Beyond the paper: the adaptive strategy is right in {right} of the synthetic runs."
    return f"{line} GOLD needs more pulls: {_listed(texts)}." if texts else line


def _of(cells: Iterable[Cell], strategy: str, radii: str) -> list[Cell]:
    mine = (c for c in cells if c["strategy"] == strategy and c["radii"] == radii)
    return best_cells(mine)


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
