"""The report of an evaluation: an HTML page, the same in Markdown, figures and all cells."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from reproduction.claims import (
    RADII,
    Cell,
    Claim,
    best_cells,
    check_claims,
    correctness,
    mean_f1,
    mean_pulls,
    percent,
    radii_of,
    strategy_label,
)
from reproduction.figures import Drawing, draw_all

__all__ = ["write_report"]

TITLE = "The evaluation, repeated"
COLUMNS = (
    "figure", "instance", "kind", "n", "ε", "strategy", "k", "radii", "δ", "runs", "correct",
    "F1", "pulls", "capped", "cap", "seconds",
)  # fmt: skip
BADGES = {
    "holds": "yes",
    "holds in part": "part",
    "does not hold": "no",
    "not measured": "none",
}


def write_report(
    cells: Sequence[Cell], folder: Path, provenance: dict[str, Any], command: str
) -> Path:
    """Write index.html, report.md, cells.json and the figures into a folder.

    Args:
        cells: The measured cells.
        folder: Where to write; made if it does not exist.
        provenance: How the cells were made: machine, versions, seeds, data.
        command: The command that repeats it.

    Returns:
        The path of index.html, which needs no other file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawings = draw_all(cells, folder)
    claims = check_claims(cells)
    (folder / "cells.json").write_text(_cells_json(cells), encoding="utf-8")
    markdown = _markdown(cells, claims, drawings, provenance, command)
    (folder / "report.md").write_text(markdown, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(_html(cells, claims, drawings, provenance, command), encoding="utf-8")
    return page


def _cells_json(cells: Sequence[Cell]) -> str:
    """Return the cells as JSON, one on each line."""
    lines = (json.dumps(cell, ensure_ascii=False, separators=(",", ":")) for cell in cells)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _summary(cells: Sequence[Cell], claims: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    verdicts = [
        text
        for text in (
            _verdicts(counts["holds"], "holds", "hold"),
            _verdicts(counts["holds in part"], "holds in part", "hold in part"),
            _verdicts(counts["does not hold"], "does not hold", "do not hold"),
            _verdicts(counts["not measured"], "was not measured", "were not measured"),
        )
        if text
    ]
    runs = sum(len(cell["pulls"]) for cell in cells)
    pulls = sum(sum(cell["pulls"]) for cell in cells)
    sentences = [
        f"Of the {len(claims)} claims of the paper's evaluation, {_listed(verdicts)}.",
        *_gold_sentence(cells),
        *_adaptive_sentences(cells),
        f"This rests on {runs:,} runs in {len(cells):,} cells, {pulls:,} pulls altogether.",
    ]
    capped = sum(any(cell["capped"]) for cell in cells)
    if capped:
        sentences.append(
            f"In {capped:,} cells runs reached the cap on pulls; their pulls are lower bounds, and "
            "such a run does not count as correct, whatever its ranking at that moment."
        )
    return " ".join(sentences)


def _gold_sentence(cells: Sequence[Cell]) -> list[str]:
    shares = [correctness(c) for c in cells if c["strategy"] == "gold" and c["pulls"]]
    if not shares:
        return []
    good = sum(share >= 0.9 for share in shares)
    where = f"{good:,} of its {len(shares):,} cells (lowest {percent(min(shares))})"
    return [f"GOLD is correct in at least 90 % of the runs in {where}."]


def _adaptive_sentences(cells: Sequence[Cell]) -> list[str]:
    """Say what the adaptive strategy, which is not the paper's, needs beside GOLD."""
    mine = {
        (cell["instance"], cell["epsilon"]): cell
        for cell in cells
        if cell["strategy"] == "adaptive" and cell["figure"] == "synthetic" and cell["pulls"]
    }
    if not mine:
        return []
    right = fmean(correctness(cell) for cell in mine.values())
    beyond = "Beyond the paper: the adaptive strategy, with proved intervals, is drawn beside every"
    sentences = [f"{beyond} kind of radii. It is right in {percent(right)} of the synthetic runs."]
    for radii in radii_of(cells):
        ratios = [
            mean_pulls(cell) / mean_pulls(mine[place])
            for cell in cells
            if cell["strategy"] == "gold" and cell["radii"] == radii
            if cell["figure"] == "synthetic" and cell["pulls"]
            if (place := (cell["instance"], cell["epsilon"])) in mine
        ]
        if ratios:
            sentences.append(
                f"GOLD with {RADII[radii]} needs {geometric_mean(ratios):.1f} times its "
                f"pulls (geometric mean; {min(ratios):.1f} to {max(ratios):.1f})."
            )
    return sentences


def _verdicts(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}" if count else ""


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _row(cell: Cell) -> list[str]:
    ran = len(cell["pulls"])
    runs = str(ran) if ran == cell["planned_runs"] else f"{ran} of {cell['planned_runs']}"
    k = "" if cell["k"] is None else f"{cell['k']:g}"
    capped = sum(cell["capped"])
    figures = ["", "", ""]
    if ran:
        least = "≥ " if capped else ""
        figures = [
            percent(correctness(cell)), f"{mean_f1(cell):.2f}", f"{least}{mean_pulls(cell):,.0f}",
        ]  # fmt: skip
    return [
        cell["figure"], str(cell["instance"]), cell["kind"], str(cell["n"]),
        f"{cell['epsilon']:g}", strategy_label(cell["strategy"]), k, cell["radii"],
        f"{cell['delta']:g}", runs, *figures, str(capped or ""), f"{cell['cap']:,}",
        f"{cell['seconds']:.1f}",
    ]  # fmt: skip


def _details(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(key), _shown(value)) for key, value in provenance.items()]


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _markdown(
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    drawings: Sequence[Drawing],
    provenance: dict[str, Any],
    command: str,
) -> str:
    head = ("", "claim", "paper", "measured", "verdict", "why")
    rows = [(str(c.number), c.text, c.paper, c.ours, f"**{c.verdict}**", c.why) for c in claims]
    parts = [
        f"# {TITLE}",
        _summary(cells, claims),
        "## Claims",
        _md_table(head, rows),
        "## Figures",
    ]
    for drawing in drawings:
        parts.append(f"### {drawing.title}")
        parts.append(f"![{drawing.title}]({drawing.path.name})")
        parts.append(drawing.caption)
    parts += [
        "## Cells",
        "The sigma rules with their best k; [cells.json](cells.json) has every k and every run.",
        _md_table(COLUMNS, [_row(cell) for cell in best_cells(cells)]),
        "## Provenance",
        _md_table(("", ""), _details(provenance)),
        "## Again",
        f"```sh\n{command}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _md_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_md_cell, line)) + " |" for line in lines)


def _md_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def _html(
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    drawings: Sequence[Drawing],
    provenance: dict[str, Any],
    command: str,
) -> str:
    body = [
        f"<h1>{TITLE}</h1>",
        f'<p class="lead">{escape(_summary(cells, claims))}</p>',
        "<h2>Claims</h2>",
        _html_claims(claims, drawings),
        "<h2>Figures</h2>",
        *map(_html_figure, drawings),
        "<h2>Cells</h2>",
        f"<details><summary>All {len(cells):,} cells</summary>",
        '<div class="wide">' + _html_table(COLUMNS, map(_row, cells), "cells") + "</div></details>",
        "<h2>Provenance</h2>",
        _html_table((), _details(provenance), "facts"),
        "<h2>Again</h2>",
        f"<pre><code>{escape(command)}</code></pre>",
    ]
    return _PAGE.format(title=TITLE, style=_STYLE, body="\n".join(body))


def _html_claims(claims: Sequence[Claim], drawings: Sequence[Drawing]) -> str:
    rows = []
    for claim in claims:
        links = " ".join(
            f'<a href="#{escape(d.stem)}">{escape(d.stem)}</a>'
            for d in drawings
            if d.stem.split("-")[0] == claim.figure
        )
        ours = "".join(f"<p>{escape(line)}</p>" for line in claim.ours.splitlines())
        badge = f'<span class="badge {BADGES[claim.verdict]}">{escape(claim.verdict)}</span>'
        rows.append(
            f"<tr><td>{claim.number}<td><p><strong>{escape(claim.text)}</strong></p>"
            f"<p>Paper: {escape(claim.paper)}.</p><p class=small>{links}</p>"
            f"<td>{ours}<td>{badge}<p>{escape(claim.why)}</p>"
        )
    head = "<tr><th><th>Claim<th>Measured<th>Verdict"
    return f'<div class="wide"><table class="claims">{head}{"".join(rows)}</table></div>'


def _html_figure(drawing: Drawing) -> str:
    data = base64.b64encode(drawing.path.read_bytes()).decode("ascii")
    title = escape(drawing.title)
    return (
        f'<figure id="{escape(drawing.stem)}"><figcaption><strong>{title}.</strong> '
        f"{escape(drawing.caption)}</figcaption>"
        f'<img alt="{title}" src="data:image/png;base64,{data}"></figure>'
    )


def _html_table(head: Sequence[str], rows: Iterable[Sequence[str]], name: str) -> str:
    top = "<tr>" + "".join(f"<th>{escape(text)}" for text in head) if head else ""
    lines = ("<tr>" + "".join(f"<td>{escape(text)}" for text in row) for row in rows)
    return f'<table class="{name}">{top}' + "\n".join(lines) + "</table>"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fdfdfb; --soft: #62625e;
  --line: #dcdcd6; --link: #0b5c96; --block: #f2f2ed; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e1; --paper: #17181a; --soft: #a3a39d; --line: #37393c; --link: #7cc0f0;
    --block: #222427; }
}
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.55 Georgia, "Times New Roman", serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.2rem 4rem; }
h1, h2, th, .badge, table, figcaption, summary { font-family: system-ui, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .8rem; border-bottom: 1px solid var(--line); }
.lead { font-size: 1.12rem; max-width: 46rem; }
a { color: var(--link); }
table { border-collapse: collapse; font-size: .82rem; line-height: 1.45; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem .45rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td p { margin: 0 0 .4rem; }
.claims td:nth-child(2) { width: 30%; }
.claims td:nth-child(3) { width: 38%; }
.cells { font-size: .74rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.cells td, .cells th { padding: .15rem .7rem .15rem 0; }
.facts td:first-child { color: var(--soft); white-space: nowrap; }
.small { font-size: .76rem; }
.wide { overflow-x: auto; }
.badge { display: inline-block; margin-bottom: .4rem; padding: .1rem .6rem; border-radius: 1rem;
  font-size: .78rem; font-weight: 600; white-space: nowrap; color: #fff; }
.yes { background: #00684c; } .part { background: #8a5a00; } .no { background: #a83c00; }
.none { background: #666; }
figure { margin: 2rem 0; scroll-margin-top: 1rem; }
figcaption { font-size: .88rem; max-width: 46rem; margin-bottom: .6rem; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; }
pre { background: var(--block); padding: .9rem 1rem; border-radius: 6px; overflow-x: auto;
  font-size: .85rem; }
summary { cursor: pointer; }
"""
