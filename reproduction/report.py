"""The report of an evaluation: an HTML page, the same in Markdown, figures and all cells.

Both pages have the same sections: ten lines, one section for each figure with its claims, the
rules of the verdicts, all cells, and how they were made.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from reproduction.claims import (
    FAIRLY,
    RADII,
    RULES,
    Cell,
    Claim,
    best_cells,
    capital,
    check_claims,
    correctness,
    mean_f1,
    mean_pulls,
    percent,
    strategy_label,
)
from reproduction.figures import HEADINGS, Drawing, draw_all
from reproduction.summary import basis, causes, ten_lines

__all__ = ["write_report"]

TITLE = "The evaluation, repeated"
COMMANDS = """# this report again, from the committed cells; nothing is run
python -m reproduction
# redo one run of 20 cells: are they within the spread of the committed runs?
python -m reproduction --check 20
# a wider sweep, which runs what is missing
python -m reproduction --data DATA --runs 10 --problems 5"""
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

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def write_report(cells: Sequence[Cell], folder: Path, sweeps: Sequence[dict[str, Any]]) -> Path:
    """Write index.html, report.md, cells.json, sweeps.json and the figures into a folder.

    Args:
        cells: The measured cells.
        folder: Where to write; made if it does not exist.
        sweeps: How the cells were made, one entry for each sweep: command, versions, machine.

    Returns:
        The path of index.html, which needs no other file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawings = draw_all(cells, folder)
    claims = check_claims(cells)
    (folder / "cells.json").write_text(_cells_json(cells), encoding="utf-8")
    made = json.dumps(sweeps, ensure_ascii=False, indent=2) + "\n"
    (folder / "sweeps.json").write_text(made, encoding="utf-8")
    markdown = _markdown(cells, claims, drawings, sweeps)
    (folder / "report.md").write_text(markdown, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(_html(cells, claims, drawings, sweeps), encoding="utf-8")
    return page


def _cells_json(cells: Sequence[Cell]) -> str:
    """Return the cells as JSON, one on each line."""
    lines = (json.dumps(cell, ensure_ascii=False, separators=(",", ":")) for cell in cells)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _measured(claim: Claim) -> Table:
    """Return what was measured: a row for each number, a column for each kind of radii.

    What the fair capacity gives stands beside what the paper's does.
    """
    rows: dict[str, dict[tuple[str, bool], str]] = {}
    for part in claim.parts:
        for name, value in part.rows:
            rows.setdefault(name, {})[part.radii, part.fair] = value
    measured = {(part.radii, part.fair) for part in claim.parts}
    columns = [(radii, fair) for radii in RADII for fair in (False, True)]
    columns = [column for column in columns if column in measured]
    head = ["… fair capacity" if fair else capital(RADII[radii]) for radii, fair in columns]
    table = [[name, *(row.get(column, "–") for column in columns)] for name, row in rows.items()]
    return ["", *head], table


def _beside(claim: Claim) -> str:
    """Say what other radii would give if it is not the same, and what the fair capacity would."""
    return " ".join(
        f"{capital(name)} the verdict would be “{verdict}”."
        for name, verdict in claim.beside
        if verdict != claim.verdict or name == FAIRLY
    )


def _sections(
    claims: Sequence[Claim], drawings: Sequence[Drawing]
) -> Iterable[tuple[str, str, list[Claim], list[Drawing]]]:
    """Yield each figure's name and heading, with its claims and its drawings."""
    for figure, heading in HEADINGS.items():
        mine = [claim for claim in claims if claim.figure == figure]
        drawn = [drawing for drawing in drawings if drawing.figure == figure]
        if mine or drawn:
            yield figure, heading, mine, drawn


def _row(cell: Cell) -> list[str]:
    ran = len(cell["pulls"])
    runs = str(ran) if ran == cell["planned_runs"] else f"{ran} of {cell['planned_runs']}"
    fair = f", {cell['capacity']} at most" if cell.get("capacity") else ""
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
        f"{cell['epsilon']:g}", strategy_label(cell["strategy"]) + fair, k, cell["radii"],
        f"{cell['delta']:g}", runs, *figures, str(capped or ""), f"{cell['cap']:,}",
        f"{cell['seconds']:.1f}",
    ]  # fmt: skip


def _sweep_rows(sweeps: Sequence[dict[str, Any]]) -> Table:
    """Return how the cells were made, a column for each sweep."""
    names = list(dict.fromkeys(name for sweep in sweeps for name in sweep))
    head = ["", *(f"sweep {at}" for at in range(1, len(sweeps) + 1))]
    return head, [[name, *(str(sweep.get(name, "–")) for sweep in sweeps)] for name in names]


def _markdown(
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    drawings: Sequence[Drawing],
    sweeps: Sequence[dict[str, Any]],
) -> str:
    behind = causes(cells, claims)
    parts = [
        f"# {TITLE}",
        "## In ten lines",
        "\n".join(f"{at}. {line}" for at, line in enumerate(ten_lines(cells, claims), start=1)),
        basis(cells),
    ]
    for _, heading, mine, drawn in _sections(claims, drawings):
        parts.append(f"## {heading}")
        for claim in mine:
            parts += _md_claim(claim, behind.get(claim.number, ""))
        parts += [f"![{drawing.title}]({drawing.path.name})" for drawing in drawn]
        parts += [drawing.caption for drawing in drawn[:1]]
    parts += [
        "## How a verdict is taken",
        "\n".join(f"- {rule}" for rule in RULES),
        "## Cells",
        "The sigma rules with their best k; [cells.json](cells.json) has every k and every run.",
        _md_table((COLUMNS, [_row(cell) for cell in best_cells(cells)])),
        "## How the cells were made",
        _md_table(_sweep_rows(sweeps)),
        "## Again",
        f"```sh\n{COMMANDS}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _md_claim(claim: Claim, cause: str) -> list[str]:
    texts = [
        f"### Claim {claim.number}. {claim.text}",
        f"The paper: {claim.paper}.",
        f"**{capital(claim.verdict)}.** {claim.why} {_beside(claim)}".strip(),
        *filter(None, [cause]),
    ]
    if claim.parts:
        texts.append(_md_table(_measured(claim)))
    return texts


def _md_table(table: Table) -> str:
    head, rows = table
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_md_cell, line)) + " |" for line in lines)


def _md_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def _html(
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    drawings: Sequence[Drawing],
    sweeps: Sequence[dict[str, Any]],
) -> str:
    lines = "\n".join(f"<li>{escape(line)}" for line in ten_lines(cells, claims))
    behind = causes(cells, claims)
    body = [
        f"<h1>{TITLE}</h1>",
        f"<h2>In ten lines</h2>\n<ol class=lead>{lines}</ol>",
        f"<p>{escape(basis(cells))}</p>",
        _html_overview(claims),
    ]
    for figure, heading, mine, drawn in _sections(claims, drawings):
        body.append(f'<h2 id="{figure}">{escape(heading)}</h2>')
        body += [_html_claim(claim, behind.get(claim.number, "")) for claim in mine]
        body += _html_figures(drawn)
    body += [
        "<h2>How a verdict is taken</h2>",
        "<ul>" + "".join(f"<li>{escape(rule)}" for rule in RULES) + "</ul>",
        "<h2>Cells</h2>",
        f"<details><summary>All {len(cells):,} cells</summary>",
        _html_table((COLUMNS, [_row(cell) for cell in cells]), "cells") + "</details>",
        "<h2>How the cells were made</h2>",
        _html_table(_sweep_rows(sweeps), "facts"),
        "<h2>Again</h2>",
        f"<pre><code>{escape(COMMANDS)}</code></pre>",
    ]
    text = "\n".join(body).replace(" %", "&nbsp;%")
    return _PAGE.format(title=TITLE, style=_STYLE, body=text)


def _html_overview(claims: Sequence[Claim]) -> str:
    """Return the claims, each with its verdict and a link to its section."""
    rows = "".join(
        f'<tr><td>{claim.number}<td><a href="#claim{claim.number}">{escape(claim.text)}</a>'
        f"<td>{_badge(claim)}"
        for claim in claims
    )
    return f'<table class="claims">{rows}</table>'


def _badge(claim: Claim) -> str:
    return f'<span class="badge {BADGES[claim.verdict]}">{escape(claim.verdict)}</span>'


def _html_claim(claim: Claim, cause: str) -> str:
    texts = [
        f'<h3 id="claim{claim.number}">Claim {claim.number}. {escape(claim.text)}</h3>',
        f"<p>The paper: {escape(claim.paper)}.</p>",
        (
            f"<p><strong>{escape(capital(claim.verdict))}.</strong> {escape(claim.why)} "
            f"{escape(_beside(claim))}</p>"
        ),
    ]
    if cause:
        texts.append(f"<p>{escape(cause)}</p>")
    if claim.parts:
        texts.append(_html_table(_measured(claim), "measured"))
    return "\n".join(texts)


def _html_figures(drawings: Sequence[Drawing]) -> list[str]:
    """Return the first drawing of a figure, and the others to be opened."""
    shown = [_html_figure(drawing) for drawing in drawings]
    caption = [f"<p class=caption>{escape(drawing.caption)}</p>" for drawing in drawings[:1]]
    others = [
        f"<details><summary>{escape(drawing.title)}</summary>{figure}</details>"
        for drawing, figure in zip(drawings[1:], shown[1:], strict=True)
    ]
    return [*shown[:1], *caption, *others]


def _html_figure(drawing: Drawing) -> str:
    data = base64.b64encode(drawing.path.read_bytes()).decode("ascii")
    title = escape(drawing.title)
    caption = "" if drawing.title == HEADINGS[drawing.figure] else title
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f'<img alt="{title}" src="data:image/png;base64,{data}"></figure>'
    )


def _html_table(table: Table, name: str) -> str:
    head, rows = table
    top = "<tr>" + "".join(f"<th>{escape(text)}" for text in head)
    lines = ("<tr>" + "".join(f"<td>{escape(text)}" for text in row) for row in rows)
    return f'<div class="wide"><table class="{name}">{top}' + "\n".join(lines) + "</table></div>"


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
.lead { max-width: 46rem; padding-left: 1.4rem; }
.lead li { margin-bottom: .35rem; }
a { color: var(--link); }
table { border-collapse: collapse; font-size: .82rem; line-height: 1.45; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem .45rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td p { margin: 0 0 .4rem; }
.claims { font-size: .9rem; }
.measured { font-variant-numeric: tabular-nums; width: 100%; min-width: 34rem; }
.measured td:first-child { color: var(--soft); min-width: 9rem; }
h3 { font: 600 1.02rem/1.4 system-ui, sans-serif; margin: 2rem 0 .5rem; scroll-margin-top: 1rem; }
p, ul { max-width: 46rem; }
.cells { font-size: .74rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.cells td, .cells th { padding: .15rem .7rem .15rem 0; }
.facts td:first-child { color: var(--soft); white-space: nowrap; }
.facts td { min-width: 12rem; }
.wide { overflow-x: auto; }
.badge { display: inline-block; padding: .1rem .6rem; border-radius: 1rem;
  font-size: .78rem; font-weight: 600; white-space: nowrap; color: #fff; }
.yes { background: #00684c; } .part { background: #8a5a00; } .no { background: #a83c00; }
.none { background: #666; }
figure { margin: 2rem 0; scroll-margin-top: 1rem; }
figcaption, .caption, summary { font: .88rem/1.5 system-ui, sans-serif; }
figcaption { font-weight: 600; margin-bottom: .6rem; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; }
pre { background: var(--block); padding: .9rem 1rem; border-radius: 6px; overflow-x: auto;
  font-size: .85rem; }
summary { cursor: pointer; }
"""
