"""A result as a page and as a picture."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import oddarm
from oddarm.results.plot import COLOURS

MEANS = {f"host-{k:02}": 0.1 + 0.01 * k for k in range(11)} | {"<b>&": 0.95}


class Reader(HTMLParser):
    """Notes what a page is made of, and what it would load."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Note a tag and what it points to."""
        self.tags.append(tag)
        self.links += [
            value for name, value in attrs if name in ("src", "href", "xlink:href") and value
        ]

    def handle_data(self, data):
        """Note text."""
        self.text.append(data)


@pytest.fixture(scope="module")
def result():
    """A finished search with one outlier, whose name needs escaping."""
    return oddarm.simulate(MEANS, seed=1, max_outliers=1)


def test_page_holds_all(result):
    """The page has the sentence, the plot, a row for each arm, and the parameters."""
    page = Reader(result.to_html())
    text = " ".join(page.text)
    assert result.headline in text.replace("\u00a0", " ")
    assert page.tags.count("svg") == 1
    assert set(MEANS) <= set(page.text)
    assert oddarm.__version__ in text
    assert "anytime" in text
    assert "b" not in page.tags


def test_page_loads_nothing(result):
    """Nothing is fetched: every link is within the page or holds its own data."""
    page = result.to_html()
    assert all(link.startswith(("#", "data:")) for link in Reader(page).links)
    assert not re.search(r"@import|url\((?!#)|<script", page)


def test_page_by_day_and_night(result):
    """What is drawn in the colour of the text follows the page's."""
    page = result.to_html()
    assert "prefers-color-scheme: dark" in page
    assert "currentColor" in page
    assert "#010203" not in page


def test_page_is_the_same_again(result):
    """The same result gives the same page, to the letter."""
    assert result.to_html() == result.to_html()


def test_many_arms_are_folded_away():
    """Only the first arms are shown at once; the plot of very many is a picture in it."""
    search = oddarm.Search(2000, max_outliers=1)
    page = search.result().with_nouns("sensors", "readings").to_html()
    assert "1,975 more sensors" in page
    assert "data:image/png;base64," in page
    assert len(page) < 1_000_000


def test_plot_to_html(result, tmp_path):
    """A plot to a path that ends in .html is the page."""
    result.plot(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == result.to_html()


def test_words(result):
    """Arms and pulls are called as told, in sentence and table."""
    said = result.with_nouns("routes", "rows")
    assert said.summary.startswith("<b>& stands apart, above the other 11 routes by at least 0.")
    assert f"found with {result.pulls:,} rows" in said.summary
    assert said.table(2).splitlines()[0].split()[2] == "rows"
    assert said.table(2).splitlines()[-1] == "… and 10 more routes"
    assert (said.outliers, said.pulls) == (result.outliers, result.pulls)


def test_candidates_have_a_look_of_their_own(result):
    """A candidate has its own row in page and notebook, its own mark, and its own legend."""
    guess = guessed(result)
    assert '<tr class="candidate">' in guess.to_html()
    assert "tr.candidate" in guess.to_html()
    assert guess._repr_html_().count("font-style:italic") == 1
    axes = guess.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["undecided (11)", "candidate (1)"]
    (mark,) = [line for line in axes.lines if line.get_label() == "candidate (1)"]
    assert (mark.get_color(), mark.get_markerfacecolor()) == (COLOURS["candidate"], "none")
    assert len(set(COLOURS.values())) == len(COLOURS)


def guessed(result):
    """Return a result whose outlier is a candidate only."""
    return replace(
        result, verdict="budget", outliers=[], candidates=list(result.outliers), evidence=14.0,
        statuses=["candidate" if odd else "undecided" for odd in result.odd],
    )  # fmt: skip


def test_many_arms_name_the_candidates():
    """Beyond sixty arms, the candidates are named if there are no outliers."""
    result = oddarm.Search(100, max_outliers=1).result()
    statuses = ["undecided"] * 99 + ["candidate"]
    result = replace(result, statuses=statuses, candidates=[99])
    assert [label.get_text() for label in result.plot().get_yticklabels()] == ["99"]


@pytest.mark.parametrize("arms", [4, 12, 200])
def test_legend_covers_no_interval(arms):
    """The legend lies below the axes, and within the figure."""
    axes = oddarm.Search(arms, max_outliers=1).result().plot()
    figure = axes.get_figure()
    figure.draw_without_rendering()
    legend, label = axes.get_legend().get_window_extent(), axes.xaxis.label.get_window_extent()
    assert legend.y1 <= label.y0
    assert legend.y0 >= figure.bbox.y0


def test_gaps_are_shaded(result):
    """The free space beside the outliers is shaded, once on each side where there is one."""
    assert len(result.plot().patches) == 1
    between = oddarm.simulate([0.02, 0.03, 0.04, 0.5, 0.96, 0.97, 0.98], max_outliers=1)
    axes = between.plot()
    assert len(axes.patches) == 2
    assert sum(text.get_text().startswith("at least 0.") for text in axes.texts) == 2


def test_title_and_gap_agree(result):
    """The title and the shaded gap show the same width, rounded down, and no mean lies in it."""
    (certain,) = result.certificates
    width = 0.0299
    result = replace(result, certificates=[replace(certain, gap_at_least=width)])
    result = replace(result, low=result.low - 1, high=result.high + 1)  # intervals that overlap
    axes = result.plot()
    assert "by at least 0.029 " in axes.get_title(loc="left").replace(";", " ").replace("\n", " ")
    assert any("at least 0.029 for certain" in text.get_text() for text in axes.texts)
    (band,) = axes.patches
    start, stop = band.get_x(), band.get_x() + band.get_width()
    assert stop - start == pytest.approx(width)
    assert not ((result.means > start) & (result.means < stop)).any()


def test_page_says_what_is_certain_of_a_gap(result):
    """Under a plot with a gap, the page says why it counts, what is certain of it and what not."""
    words = "A shaded gap is certain to be as wide as it says; "
    page = result.to_html()
    assert words in page
    assert "It is an outlier: the gap around it is " in page
    assert words not in oddarm.Search(4, max_outliers=1).result().to_html()


def test_outliers_among_many_have_room():
    """Among two thousand arms every outlier has a name, and names do not run together."""
    means = np.linspace(0.2, 0.4, 2000)
    means[500:510] = 0.8
    result = oddarm.Search(2000, max_outliers=10).result()
    result = replace(
        result, means=means, low=means - 0.01, high=means + 0.01,
        statuses=["outlier" if mean == 0.8 else "normal" for mean in means],
    )  # fmt: skip
    axes = result.plot()
    assert {label.get_text() for label in axes.get_yticklabels()} == set(map(str, range(500, 510)))
    bottom, top = axes.get_ylim()
    assert np.diff(axes.get_yticks()).min() > 0.015 * (top - bottom)


def test_names_are_no_mathematics(tmp_path):
    """Dollar signs in names are dollar signs."""
    oddarm.Search(["$a_$", "$b", "c"], max_outliers=1).result().plot(tmp_path / "out.png")


def test_failed_arms():
    """Failed arms have a colour of their own and belong to no community."""
    search = oddarm.Search(list("abcdefgh"), max_outliers=1)
    search.set_aside("a", "no answer")
    axes = search.result().plot()
    assert "failed (1)" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("width", [40, 44, 60])
def test_tables_fit(width):
    """Long names are shortened, and intervals left out, to fit a width."""
    names = [f"{'a long name ' * 3}{number}" for number in range(5)]
    result = oddarm.Search(names, max_outliers=1).result()
    assert max(map(len, result.table(width=width).splitlines())) <= width
