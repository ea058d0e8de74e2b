"""What the plots of results, plans and comparisons show; by their artists, not their pixels."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import oddarm
from oddarm.results.plot import COLOURS, HOLLOW, MARKERS

ODD = {f"host-{k:02}": 0.1 + 0.01 * k for k in range(11)} | {"odd": 0.95}
LONG = {
    f"a host with a very long name in a far away place, number {k}": 0.1 + 0.02 * k
    for k in range(8)
}


@pytest.fixture(scope="module")
def result():
    """A finished search with one outlier, by the absolute rule."""
    return oddarm.simulate(ODD, seed=1, max_outliers=1, min_gap=0.3)


def lines_of(axes):
    """Return the lines of the ruler: what stands beside each, and from where to where it goes."""
    names = [label.get_text() for label in axes.get_yticklabels(minor=True)]
    heights = axes.get_yticks(minor=True).tolist()
    drawn = {}
    for line in axes.lines:
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        if len(y) == 2 and y[0] == y[1] and y[0] in heights:
            drawn.setdefault(names[heights.index(y[0])], []).append((float(x[0]), float(x[1])))
    return drawn


def test_the_gap_is_measured_against_its_yardstick(result):
    """Below the arms the gap lies above `min_gap` on one scale, both from the same place."""
    axes = result.plot()
    drawn = lines_of(axes)
    assert list(drawn) == ["gap", "must reach"]
    (gap, certain), (line, sure) = drawn["gap"], drawn["must reach"]
    assert gap[0] == line[0] == sure[0]
    assert (line[1] - line[0], sure[1] - sure[0]) == pytest.approx((0.3, 0.24))
    assert certain[1] - certain[0] >= 0.24
    words = [text.get_text() for text in axes.texts]
    assert "min_gap = 0.3 (0.24 with the slack)" in words
    assert any(text.startswith("It is an outlier: the gap around it is at least") for text in words)
    assert max(axes.get_yticks(minor=True)) < min(axes.get_yticks()) - 0.5


def test_the_widest_gap_of_the_rest_is_shown():
    """By the relative rule the widest gap among the others has a line, and its multiple one."""
    drawn = lines_of(oddarm.simulate(ODD, max_outliers=1).plot())
    assert list(drawn) == ["gap", "must reach", "widest of the rest"]
    (rest,), (line, sure) = drawn["widest of the rest"], drawn["must reach"]
    assert (line[1] - line[0]) == pytest.approx(3.5 * (rest[1] - rest[0]))
    assert (sure[1] - sure[0]) == pytest.approx(3 * (rest[1] - rest[0]))


def test_statuses_differ_in_form_and_colour():
    """No two statuses share a colour, nor a marker with the same filling."""
    forms = {(marker, status in HOLLOW) for status, marker in MARKERS.items()}
    assert len(set(COLOURS.values())) == len(forms) == len(MARKERS) == 5


def test_pulls_of_each_arm(result):
    """Beside the arms are bars as long as their pulls, logarithmic where they span decades."""
    _, pulls = result.plot().get_figure().axes
    assert sorted(bar.get_width() for bar in pulls.patches) == sorted(result.counts.tolist())
    assert pulls.get_xscale() == "linear"
    counts = np.logspace(1, 4, 12).astype(np.int64)
    _, pulls = replace(result, counts=counts).plot().get_figure().axes
    assert pulls.get_xscale() == "log"
    assert "logarithmic" in pulls.get_xlabel()
    assert pulls.get_xlim()[0] < 10


def test_evidence_over_pulls():
    """`find` notes pulls and evidence now and then, and the plot draws them up to the end."""
    rng = np.random.default_rng(2)
    result = oddarm.find(
        lambda arm: rng.random() < ODD[arm], list(ODD), max_outliers=1, max_pulls=600
    )
    pulls, odds = zip(*result.history, strict=True)
    assert list(pulls) == sorted(set(pulls))
    assert (pulls[-1], odds[-1]) == (result.pulls, result.evidence)
    assert 5 < len(pulls) < 60
    assert "history" not in result.to_dict()
    panel = result.plot().get_figure().axes[-1]
    assert panel.lines[0].get_xdata().tolist() == list(pulls)
    assert any(text.get_text() == "20 : 1, as asked for" for text in panel.texts)
    gold = oddarm.find(lambda arm: arm == "odd", list(ODD), "gold", max_outliers=1, max_pulls=50)
    assert gold.history == ()
    assert len(gold.plot().get_figure().axes) == 2


def results():
    """Yield results of every kind, for what must hold of each plot."""
    yield oddarm.simulate(ODD, max_outliers=1)
    yield oddarm.simulate([0.1 + 0.01 * k for k in range(7)], min_gap=0.2, max_outliers=1)
    yield oddarm.simulate([0.1 * k for k in range(1, 10)], min_gap=0.05, max_outliers=2)
    yield oddarm.simulate(ODD, "gold", max_outliers=1)
    yield oddarm.simulate(
        LONG | {"another one of these $names$ that are much too long": 0.9},
        max_outliers=1,
        max_pulls=500,
    )
    yield oddarm.Search(3, max_outliers=1).result()
    model = oddarm.rewards.SubGaussian(scale=1)
    yield oddarm.Search(6, max_outliers=1, rewards=model).result()
    many = np.append(np.linspace(0.2, 0.4, 195), [0.8] * 5)
    running = oddarm.Search(200, max_outliers=5).result()
    yield replace(
        running, means=many, low=many - 0.01, high=many + 0.01, counts=np.full(200, 50),
        statuses=["outlier" if mean == 0.8 else "normal" for mean in many], pulls=10_000,
        verdict="confirmed", outliers=list(range(195, 200)),
    )  # fmt: skip


def test_nothing_is_cut_off():
    """Every text of every kind of plot lies within the figure, and titles above the arms."""
    for result in results():
        axes = result.plot()
        figure = axes.get_figure()
        figure.draw_without_rendering()
        box = figure.bbox.padded(2)
        texts = [*axes.texts, axes.xaxis.label, axes.yaxis.label, *axes.get_legend().get_texts()]
        texts += [*axes.get_yticklabels(), *axes.get_yticklabels(minor=True)]
        title = axes._left_title
        for text in [*texts, title]:
            place = text.get_window_extent()
            within = box.contains(place.x0, place.y0) and box.contains(place.x1, place.y1)
            assert not text.get_text() or within, (result, text)
        reasons = [text for text in axes.texts if text.get_position() == (0, 5)]
        for text in reasons:
            assert axes.bbox.y1 <= text.get_window_extent().y0
            assert text.get_window_extent().y1 <= title.get_window_extent().y0


def test_names_that_begin_alike_stay_apart():
    """A long name is cut in the middle, where few names differ."""
    labels = [
        label.get_text() for label in oddarm.simulate(LONG, max_outliers=1).plot().get_yticklabels()
    ]
    assert len(set(labels)) == len(LONG)
    assert max(map(len, labels)) == 28


def test_axes_of_the_caller(result):
    """On given axes only the arms and the ruler are drawn, and the figure gets no other axes."""
    figure = Figure()
    axes = figure.add_subplot()
    assert result.plot(ax=axes) is axes
    assert figure.axes == [axes]
    assert list(lines_of(axes)) == ["gap", "must reach"]


def test_dark_figures(result):
    """What is not coloured has the colour of text, which is light on a dark figure."""
    with mpl.rc_context({"text.color": "white"}):
        axes = result.plot()
    assert "white" in {line.get_color() for line in axes.lines}
    assert not {"black", "k"} & {line.get_color() for line in axes.lines}


def test_a_notebook_shows_the_picture(result):
    """The axes of a plot show their figure once: pyplot, which would show it again, has none."""
    import matplotlib.pyplot as plt

    data, size = result.plot()._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == 750
    assert plt.get_fignums() == []


def test_plan(tmp_path):
    """The plot of a plan has each strategy with its range, and what any method needs."""
    plan = oddarm.plan(
        oddarm.guess_means(20, outliers=2, gap=0.5, spread=0.05, rate=0.2), ["gold", "adaptive"],
        runs=3, cap=3_000,
    )  # fmt: skip
    axes = plan.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["gold, until ranked", "adaptive, until found"]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(label.startswith("any method, until found: at least ") for label in labels)
    assert any("> 3,000, ended 0 of 3" in text.get_text() for text in axes.texts)
    assert axes._repr_png_()[0].startswith(b"\x89PNG")


def test_comparison():
    """The plot of a comparison has each strategy, marked right or not, and a full scan."""
    late = {"<ams>": (500, 41), "cdg": (500, 48), "fra": (500, 55), "gru": (500, 420)}
    log = oddarm.sources.RecordedSource.from_counts(late)
    compared = oddarm.compare(log, ["adaptive", "rr"], max_outliers=1)
    axes = compared.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["adaptive", "rr", "full scan"]
    by_label = {line.get_label(): line for line in axes.lines}
    assert by_label["right"].get_xdata().tolist() == [563, 2000]
    assert by_label["not always right"].get_xdata().tolist() == [1789]
