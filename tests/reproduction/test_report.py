"""The report, on made-up cells."""

import json
import re
from pathlib import Path

import pytest

from reproduction.committed import read_cells, read_sweeps
from reproduction.report import write_report
from support.made_cells import everything

SWEEPS = [{"machine": "a <small> one", "cells": 9}, {"command": "python -m reproduction --quick"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Write one report for several tests."""
    made = tmp_path_factory.mktemp("report") / "new"
    page = write_report(everything(), made, SWEEPS)
    assert page == made / "index.html"
    return made


def test_html_is_one_file(folder):
    """The page holds its images as data and asks for nothing from elsewhere."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == len(list(folder.glob("*.png")))
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert not re.search(r"https?://|<link|<script|@import|url\(", page)
    for target in re.findall(r'href="#([^"]*)"', page):
        assert f'id="{target}"' in page
    assert "prefers-color-scheme: dark" in page
    assert "a &lt;small&gt; one" in page
    assert "python -m reproduction --quick" in page
    assert page.count('class="badge yes"') == 7


def test_markdown_links_its_figures(folder):
    """The Markdown shows every PNG by a path relative to it."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    links = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert sorted(links) == sorted(path.name for path in folder.glob("*.png"))
    assert text.count("**Holds.**") == 7
    assert "python -m reproduction --quick" in text


def test_ten_lines_come_first(folder):
    """The Markdown begins with ten numbered lines, ratios in place of savings."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    lines = re.findall(r"^(\d+)\. (.*)$", text.split("## Figure 1")[0], re.MULTILINE)
    assert [int(number) for number, _ in lines] == [*range(1, len(lines) + 1)]
    assert 8 <= len(lines) <= 10
    assert lines[0][1] == "Of the 7 claims of the paper's evaluation, 7 hold."
    assert "0.10 times WRR's pulls" in lines[2][1]


def test_each_figure_has_its_claims(folder):
    """Every claim stands in the section of its figure, with a table of what was measured."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    sections = {
        section.split(".")[0]: re.findall(r"### Claim (\d)", section)
        for section in text.split("\n## ")
        if section.startswith("Figure")
    }
    assert sections == {
        "Figure 1": [], "Figure 2": ["1", "3", "4"], "Figure 3": ["2"], "Figure 4": ["5"],
        "Figure 5": ["6"], "Figure 6": ["7"],
    }  # fmt: skip
    assert "| GOLD's pulls ÷ WRR's | 0.10 | 0.10 |" in text


def test_cells_round_trip(folder):
    """The cells, and how they were made, read back as they were."""
    assert read_cells(folder / "cells.json") == everything()
    assert read_sweeps(folder) == SWEEPS


def test_a_report_of_nothing(tmp_path):
    """Without cells the report says that nothing was measured."""
    page = write_report([], tmp_path, []).read_text(encoding="utf-8")
    assert page.count('class="badge none"') == 7
    assert json.loads((tmp_path / "cells.json").read_text(encoding="utf-8")) == []
