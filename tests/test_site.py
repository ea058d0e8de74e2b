"""The documentation site: it builds, it is whole, and it needs nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from markdown_it import MarkdownIt
from tools import build_docs

import oddarm

pytestmark = pytest.mark.slow

BESIDE = [
    "oddarm.definitions.interval_gaps",
    "oddarm.definitions.truth",
    "oddarm.integrations.inspect_eval",
    "oddarm.options",
    "oddarm.state",
    "oddarm.tally",
    "oddarm.testing",
]
"""The public modules that `oddarm.__all__` does not name."""
LOADS = {"audio", "embed", "iframe", "img", "input", "link", "script", "source", "track", "video"}
COUNTED = {"table", "tr", "li", "ol", "ul", "h1", "h2", "h3", "h4", "img", "strong", "em", "pre"}


@dataclass
class Page(HTMLParser):
    """What a built page has: anchors, links, what it loads, and the elements of its text."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    elements: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()
        self.text = self.path.read_text(encoding="utf-8")
        self.in_article = False
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = {name: value or "" for name, value in attrs}
        self.in_article |= tag == "article"
        if self.in_article:
            self.elements[tag] += 1
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADS:
            sets = [one.split()[0] for one in given.get("srcset", "").split(",") if one.strip()]
            self.loads += [given[name] for name in ("src", "href") if name in given] + sets
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        """Leave the text."""
        self.in_article &= tag != "article"


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The built site; the workers of a test run build it once."""
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all workers
    said = folder / "site.txt"
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            command = [sys.executable, "-m", "tools.build_docs"]
            built = subprocess.run(
                command, cwd=build_docs.ROOT, capture_output=True, text=True, check=False
            )
            said.write_text(built.stdout + built.stderr if built.returncode else "")
    assert said.read_text() == ""
    return build_docs.SITE


@pytest.fixture(scope="session")
def pages(site) -> dict[Path, Page]:
    """All pages by their path."""
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def aims(page: Page) -> Iterator[tuple[str, Path, str]]:
    """Yield each link of a page within the site, the file that it leads to, and the anchor."""
    for link in page.links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            place = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            yield link, place, unquote(parts.fragment)


def test_links_lead_somewhere(pages):
    """Every link between pages leads to a file, and to an anchor that the page has."""
    broken = [
        f"{page.path.name}: {link}"
        for page in pages.values()
        for link, place, anchor in aims(page)
        if not place.is_file() or (anchor and place in pages and anchor not in pages[place].ids)
    ]
    assert broken == []


def test_every_page_is_near(site, pages):
    """Every page is at most three clicks away from the first."""
    clicks = {site / "index.html": 0}
    at_hand = list(clicks)
    for path in at_hand:
        for _, place, _ in aims(pages[path]):
            if place in pages and place not in clicks:
                clicks[place] = clicks[path] + 1
                at_hand.append(place)
    assert {str(path): clicks.get(path) for path in pages if clicks.get(path, 9) > 3} == {}


def test_nothing_comes_from_another_host(site, pages):
    """No page loads a script, a style, a font or a picture from elsewhere."""
    foreign = [
        f"{page.path.name}: {what}"
        for page in pages.values()
        for what in page.loads
        if urlsplit(what).netloc
    ]
    for sheet in site.rglob("*.css"):
        loads = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")]+)", sheet.read_text("utf-8"))
        foreign += [f"{sheet.name}: {what}" for what in loads if urlsplit(what).netloc]
    assert foreign == []


def test_every_public_name_is_in_the_inventory(site):
    """The reference has every name in the `__all__` of oddarm and of its public modules."""
    data = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(data[data.index(b"zlib.\n") + 6 :]).decode().splitlines()
    listed = {line.split(" ")[0] for line in lines}
    homes: list[tuple[str, ModuleType]] = [("oddarm", oddarm)]
    homes += [(name, import_module(name)) for name in BESIDE]
    for name in oddarm.__all__:
        if isinstance(home := getattr(oddarm, name), ModuleType):
            homes.append((f"oddarm.{name}", home))
    missing = []
    for home, module in homes:
        for name in module.__all__:
            thing = getattr(module, name)
            own = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
            if not {f"{home}.{name}", own} & listed:
                missing.append(f"{home}.{name}")
    assert missing == []


def test_the_site_shows_what_the_repository_shows(pages):
    """Every page has the tables, lists, headings and code that CommonMark makes of its text."""
    markdown = MarkdownIt("commonmark").enable("table")
    differ = {}
    for source in build_docs.PAGES.rglob("*.md"):
        text = source.read_text(encoding="utf-8")
        page = build_docs.SITE / source.relative_to(build_docs.PAGES).with_suffix(".html")
        if "\n::: " in text or "<div" in text:  # more is shown than is written
            continue
        plain = re.findall(r"<([a-z0-9]+)[ >/]", markdown.render(text))
        there = pages[page].elements
        here = Counter(plain)
        if any(here[tag] != there[tag] for tag in COUNTED):
            differ[page.name] = {t: (here[t], there[t]) for t in COUNTED if here[t] != there[t]}
    assert differ == {}


def test_notebooks_are_shown_with_what_they_print(pages):
    """A notebook is kept without outputs; its page has those of this build, with a picture."""
    for path in (build_docs.ROOT / "docs/notebooks").glob("*.ipynb"):
        book = nbformat.read(path, as_version=4)
        assert [cell.outputs for cell in book.cells if cell.get("outputs")] == []
        page = pages[build_docs.SITE / "notebooks" / f"{path.stem}.html"]
        assert page.text.count('<div class="output">') >= 3
        assert '<div class="output"><img alt="The intervals' in page.text


def test_links_become_links_between_pages():
    """Links to files lead to their pages, lose their target if it has none, and stay in code."""
    text = (
        "[a](docs/data.md#duckdb) ![b](docs/images/page.png) [c\nd](examples/flights.py) "
        "[d](Makefile)\n```\n[a](docs/data.md)\n```\n[e](https://example.org/x) [f](#install)\n"
    )
    assert build_docs.linked(text, "README.md", "index.md") == (
        "[a](data.md#duckdb) ![b](images/page.png) [c\nd](examples.md#flightspy) d\n"
        "```\n[a](docs/data.md)\n```\n[e](https://example.org/x) [f](#install)\n"
    )
    up = build_docs.linked(
        "[a](../../CONTRIBUTING.md)", "docs/reference/index.md", "reference/index.md"
    )
    assert up == "[a](../contributing.md)"
    with pytest.raises(build_docs.BrokenLinkError, match=r"README\.md links to docs/dota\.md"):
        build_docs.linked("[a](docs/dota.md)", "README.md", "index.md")


def test_a_broken_anchor_ends_the_build(tmp_path):
    """Zensical refuses a link to an anchor that is not there."""
    settings = (build_docs.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(settings[: settings.index("plugins:")], encoding="utf-8")
    (tmp_path / "out/docs").mkdir(parents=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    codes = []
    for anchor in ("here", "elsewhere"):
        (tmp_path / "out/docs/index.md").write_text(f"# Here\n\n[a](#{anchor})\n", encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(build_docs.ROOT)}
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        codes.append(ended.returncode)
    assert codes == [0, 1]
