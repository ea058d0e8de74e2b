"""The report, on made-up cells."""

import json
import re
from pathlib import Path

import pytest

from reproduction.report import write_report
from support.made_cells import everything

PROVENANCE = {"machine": "a <small> one", "sizes": [20, 50]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Write one report for several tests."""
    made = tmp_path_factory.mktemp("report") / "new"
    page = write_report(everything(), made, PROVENANCE, "python -m reproduction --quick")
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
    assert text.count("**holds**") == 7
    assert "python -m reproduction --quick" in text


def test_cells_round_trip(folder):
    """The JSON of all cells reads back as it was."""
    assert json.loads((folder / "cells.json").read_text(encoding="utf-8")) == everything()


def test_a_report_of_nothing(tmp_path):
    """Without cells the report says that nothing was measured."""
    page = write_report([], tmp_path, {}, "python -m reproduction").read_text(encoding="utf-8")
    assert page.count('class="badge none"') == 7
    assert json.loads((tmp_path / "cells.json").read_text(encoding="utf-8")) == []
