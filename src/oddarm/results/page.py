"""A result as one HTML page that needs no other file and no network."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context

from oddarm.results.gaps import certain_gaps, communities, gaps_around_outliers
from oddarm.results.plot import plot_result
from oddarm.results.sentence import counted, unbroken
from oddarm.results.yardstick import case_of

if TYPE_CHECKING:
    from oddarm.results.result import ArmRow, Result

__all__ = ["result_page"]

AT_ONCE = 25
"""How many arms are shown at first, besides outliers and candidates; the others are folded."""

INK = "#010203"
"""Stands in the SVG for the colour of the page's text, which is light or dark."""

CAPTION = (
    "A shaded gap is certain to be as wide as it says; where it lies between the means is an "
    "estimate."
)
"""What the plot shows of a gap."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5a6370; --paper: #fff; --line: #d8dde3;
  --odd: #b34e00; --guess: #8a5d00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #9aa4b0; --paper: #14171a; --line: #333a42; --odd: #ff9a4d;
    --guess: #f0b840; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 46rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; line-height: 1.35; margin: 0 0 .6rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
.plot svg { display: block; width: 100%; height: auto; max-width: 40rem; color: var(--ink); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem .2rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
.text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
td.text { min-width: 6rem; }
tr.outlier td { color: var(--odd); font-weight: 600; }
tr.candidate td { color: var(--guess); font-style: italic; }
tr.failed td { color: var(--soft); }
summary { cursor: pointer; padding: .5rem 0; color: var(--soft); }
"""


def result_page(result: Result) -> str:
    """Return the page of a result: sentence, plot, table, parameters."""
    headline = unbroken(result.headline)
    promise = unbroken(result.summary.removeprefix(result.headline).strip())
    arms, _ = result.nouns
    caption = _caption(result)
    shown = max(AT_ONCE, int(result.odd.sum()))
    first, more = result.arms[:shown], result.arms[shown:]
    body = [
        f"<h1>{escape(headline)}</h1>",
        f"<p>{escape(promise)}</p>" if promise else "",
        f'<div class="plot">{_plot(result)}</div>',
        f'<p class="soft">{escape(unbroken(caption))}</p>' if caption else "",
        f"<h2>{escape(arms.capitalize())}, the most outlying first</h2>",
        _table(result, first),
    ]
    if more:
        label = escape(counted(len(more), arms, "more "))
        body.append(f"<details><summary>{label}</summary>{_table(result, more)}</details>")
    body.append("<h2>How it was found</h2>")
    facts = "".join(
        f'<tr><td class="text soft">{escape(name)}</td><td class="text">{escape(value)}</td></tr>'
        for name, value in _facts(result.provenance)
    )
    body.append(f'<table class="facts">{facts}</table>')
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(headline.removesuffix('.'))}</title>",
            f"<style>{_STYLE}</style></head>",
            "<body>",
            *filter(None, body),
            "</body></html>\n",
        ]
    )


def _caption(result: Result) -> str:
    """Return why the outliers are outliers, and what the plot shows of a gap."""
    case = case_of(result)
    words = [] if case is None else [case.sentence, *case.notes]
    return " ".join(words + [CAPTION] * _has_band(result))


def _has_band(result: Result) -> bool:
    """Return whether the plot shades a gap."""
    gaps = certain_gaps(result)
    return bool(gaps_around_outliers(gaps, communities(result, gaps), result.odd))


def _table(result: Result, rows: Sequence[ArmRow]) -> str:
    kinds = [' class="text"' if column.left else "" for column in result.columns]
    heads = zip(kinds, result.columns, strict=True)
    head = "".join(f"<th{kind}>{escape(column.head)}</th>" for kind, column in heads)
    lines = "".join(
        f'<tr class="{escape(row.status)}">'
        + "".join(
            f"<td{kind}>{escape(cell)}</td>"
            for kind, cell in zip(kinds, result.cells(row), strict=True)
        )
        + "</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>\n{lines}</table></div>'


def _plot(result: Result) -> str:
    """Return the plot as SVG, with text as outlines so that it looks the same everywhere."""
    colours: dict[Any, Any] = {f"{name}.color": INK for name in ("text", "xtick", "ytick", "grid")}
    colours |= {"axes.edgecolor": INK, "axes.labelcolor": INK, "axes.titlecolor": INK}
    with rc_context({**colours, "svg.hashsalt": "oddarm", "svg.fonttype": "path"}):
        axes = plot_result(result, width=6.5, titled=False)  # the page says it
        figure = axes.get_figure(root=True)
        assert figure is not None
        drawn = io.StringIO()
        figure.savefig(
            drawn, format="svg", transparent=True, dpi=200,
            metadata={"Date": None, "Creator": None},
        )  # fmt: skip
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = f"Every mean with its confidence interval. {result.summary}"
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)


_NAMES = {
    "epsilon": "ε: how much wider the gap is",
    "rho": "ρ: least share of normal arms",
    "max_outliers": "most outliers",
    "min_gap": "least distance of outliers",
    "slack": "slack: share of the line in which either answer is right",
    "delta": "δ: probability of a wrong answer",
    "delta_proved": "δ is proved",
    "delta_reason": "because",
    "max_pulls": "budget of pulls",
    "max_cost": "budget",
}


def _facts(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values as a reader expects them; what is None is left out."""
    for name, value in values.items():
        shown = _fact(value)
        if shown:
            yield _NAMES.get(name, name.replace("_", " ")), shown


def _fact(value: Any) -> str:
    """Return a JSON value in words; long lists of numbers as their length and sum."""
    if value is None or value is False:
        return "" if value is None else "no"
    if value is True:
        return "yes"
    if isinstance(value, dict):
        parts = {k: _fact(v) for k, v in value.items()}
        return ", ".join(v if k in ("name", "kind") else f"{k} {v}" for k, v in parts.items() if v)
    if isinstance(value, list | tuple):
        if len(value) > 8 and all(isinstance(part, int) for part in value):
            return f"{len(value):,}, {sum(value):,} in all"
        return ", ".join(map(_fact, value))
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)
