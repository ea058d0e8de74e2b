"""Small pieces of HTML for notebooks: escaped, without colours, scripts or outside resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from oddarm._text import printable, shortened
from oddarm.results.table import Column

__all__ = ["framed", "paragraph", "table"]

LONGEST = 60
"""Longer cells are shortened."""


def framed(html: str) -> str:
    """Return a piece that notebooks show as it is: they read mathematics between dollar signs."""
    return f'<div class="tex2jax_ignore mathjax_ignore">{html}</div>'


def paragraph(text: str, *, bold: str = "", soft: bool = False) -> str:
    """Return a paragraph, with bold words at its beginning.

    Examples:
        >>> paragraph("a < b", bold="Study")
        '<p><b>Study</b> a &lt; b</p>'
    """
    style = ' style="opacity:0.7"' if soft else ""
    begin = f"<b>{escape(printable(bold))}</b> " if bold else ""
    return f"<p{style}>{begin}{escape(printable(text))}</p>" if text or bold else ""


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()
) -> str:
    """Return a table.

    Args:
        columns: What each column is like.
        rows: A cell for each column.
        styles: The CSS of each row, if any.
    """
    sides = [f' style="text-align:{"left" if column.left else "right"}"' for column in columns]
    head = _row([column.head for column in columns], sides, "th")
    styles = styles or [""] * len(rows)
    body = "".join(_row(row, sides, "td", style) for row, style in zip(rows, styles, strict=True))
    return f"<table>{head}{body}</table>"


def _row(cells: Sequence[str], sides: Sequence[str], tag: str, style: str = "") -> str:
    shown = "".join(
        f"<{tag}{side}>{escape(shortened(printable(cell), LONGEST))}</{tag}>"
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="{style}">{shown}</tr>' if style else f"<tr>{shown}</tr>"
