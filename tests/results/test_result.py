"""What a result shows."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import oddarm

MEANS = dict(zip("abcdefghij", [*np.linspace(0.2, 0.36, 9), 0.95], strict=True))


@pytest.fixture(scope="module")
def result():
    """A finished search with one outlier."""
    return oddarm.simulate(MEANS, seed=1)


def test_text(result):
    """A sentence first, then a table of all arms."""
    text = str(result)
    assert text.startswith("j stands apart, above the other 9 arms by at least 0.")
    assert "wrong with probability at most 5 %" in text
    lines = text.split("\n\n")[1].splitlines()
    assert lines[0].split() == ["rank", "arm", "pulls", "mean", "low", "high", "status"]
    assert lines[1].split()[:2] == ["1", "j"]
    assert len(lines) == 11


def test_long_tables_are_cut(result):
    """A table shows as many arms as asked for and says how many there are beyond."""
    assert result.table(3).splitlines()[-1] == "… and 7 more arms"
    assert result.table(-1) == result.table(0)
    assert result.table(-1).splitlines()[1:] == ["… and 10 more arms"]


def test_rows(result):
    """Rows come by rank and hold the interval around the mean."""
    assert [row.rank for row in result.arms] == list(range(1, 11))
    for row in result.arms:
        assert row.low <= row.mean <= row.high
        assert row.pulls == result.counts[list(MEANS).index(row.arm)]
    assert result.arms[0].status == "outlier"
    assert {row.status for row in result.arms[1:]} == {"normal"}


def test_scikit_words(result):
    """decision_scores_ and labels_ are in the order of the arms; a candidate has no label."""
    assert np.argmax(result.decision_scores_) == 9
    assert result.decision_scores_.min() == 0
    assert result.labels_.tolist() == [0] * 9 + [1]
    ranked = oddarm.simulate(MEANS, "gold")
    assert (ranked.candidates, ranked.labels_.sum()) == (["j"], 0)


def test_json_and_frame(result):
    """The same numbers leave as JSON and as a data frame."""
    data = json.loads(result.to_json())
    assert data == json.loads(json.dumps(result.to_dict()))
    assert (data["outliers"], data["candidates"]) == (["j"], [])
    assert data["cost"] == data["pulls"]
    assert {"evidence", "forecast", "widest_gap"} <= data.keys()
    assert data["provenance"]["oddarm"] == oddarm.__version__
    frame = result.to_frame()
    assert list(frame.columns) == ["arm", "rank", "pulls", "mean", "low", "high", "score", "status"]
    assert frame.set_index("arm").loc["j", "rank"] == 1


def test_unbounded_intervals_are_valid_json():
    """An arm without rewards and without a range has no ends, which JSON writes as null."""
    search = oddarm.Search(4, max_outliers=1, rewards=oddarm.rewards.SubGaussian(scale=1))
    row = json.loads(search.result().to_json())["arms"][0]
    assert (row["low"], row["high"], row["mean"]) == (None, None, None)
    assert "-inf" in str(search.result())


def test_names_beyond_json():
    """Names that JSON lacks are written as text."""
    result = oddarm.simulate({("x", 1): 0.1, ("x", 2): 0.15, ("y", 1): 0.9}, max_outliers=1)
    assert json.loads(result.to_json())["outliers"] == [["y", 1]]


@pytest.mark.parametrize(
    ("means", "side"),
    [
        ([0.1, 0.12, 0.14, 0.16, 0.9], "above"),
        ([0.9, 0.92, 0.94, 0.96, 0.1], "below"),
        ([0.05, 0.06, 0.5, 0.95, 0.96], "in between"),
    ],
)
def test_side(means, side):
    """The sentence says on which side the outliers lie."""
    assert oddarm.simulate(means, max_outliers=1).side == side


def test_both_sides():
    """Outliers above and below are called that."""
    means = [0.02, 0.5, 0.51, 0.52, 0.53, 0.54, 0.55, 0.98]
    assert oddarm.simulate(means, max_outliers=2).side == "above and below"


def test_plot(result, tmp_path):
    """The plot is written, with every arm named and a legend of statuses."""
    axes = result.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert {label.get_text() for label in axes.get_yticklabels()} == set(MEANS)
    texts = [t.get_text() for t in axes.get_legend().get_texts()]
    assert texts == ["normal (9)", "outlier (1)"]


def test_plot_of_many_arms_names_the_outliers(tmp_path):
    """Beyond sixty arms, only the outliers are named."""
    result = oddarm.simulate([*np.linspace(0.2, 0.4, 99), 0.95], max_outliers=1)
    axes = result.plot(tmp_path / "plot.svg")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["99"]


def test_notebook(result):
    """A notebook shows a table, with names escaped."""
    odd = oddarm.Search(["<b>", "c", "d"], max_outliers=1).result()
    assert "&lt;b&gt;" in odd._repr_html_()
    assert result._repr_html_().count("<tr") == 11


def test_numbers_that_json_lacks():
    """Infinite odds and an infinite gap are null in JSON."""
    result = oddarm.Search(4, max_outliers=1).result()
    data = json.loads(replace(result, evidence=math.inf, widest_gap=math.inf).to_json())
    assert (data["evidence"], data["widest_gap"]) == (None, None)


def test_representation(result):
    """The short form shows the outliers or, if there are none, the candidates."""
    assert repr(result).startswith("<Result confirmed: outliers ['j'], ")
    guess = replace(result, verdict="budget", outliers=[], candidates=list("abcd"))
    assert repr(guess).startswith("<Result budget: candidates ['a', 'b', 'c', …], ")
    assert repr(oddarm.Search(4, max_outliers=1).result()).startswith(
        "<Result running: outliers []"
    )


@pytest.mark.parametrize("strategy", oddarm.strategies.STRATEGIES)
def test_arms_are_ranked_once(strategy, monkeypatch):
    """Ranking, outliers, statuses and certificates of a result come from one ranking."""
    search = oddarm.Search(10, strategy, max_outliers=1, max_pulls=1000)
    for arm in search.ask(10):
        search.tell(arm, arm == 9)
    ranked, order = [], search.run.order
    monkeypatch.setattr(search.run, "order", lambda: ranked.append(1) or order())
    search.result()
    assert len(ranked) == 1
