"""Checks of arguments: means by name or by position, and numbers."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import oddarm
from oddarm import OddarmError, theory
from oddarm._checks import numbers_by_arm
from oddarm.sources import SimulatedArms

RATES = {"a": 0.2, "b": 0.25, "c": 0.3, "odd": 0.95}
SERIES = pd.Series(RATES)


@pytest.mark.parametrize("means", [RATES, SERIES], ids=["dict", "pandas"])
def test_names_come_with_the_means(means):
    """A dict's keys and a Series' index name the arms, wherever means are taken."""
    groups = oddarm.outlier_groups(means, max_outliers=1)
    assert [group.members for group in groups] == [("odd",)]
    assert oddarm.outlier_arms(means, max_outliers=1) == ["odd"]
    result = oddarm.simulate(means, max_outliers=1)
    assert list(result.names) == list(RATES)
    assert result.ranking[0] == "odd"
    plan = oddarm.plan(means, ["adaptive"], runs=1, max_outliers=1)
    assert plan.means == RATES
    assert plan.groups[0].members == ("odd",)
    arms = SimulatedArms(means)
    assert list(arms.arms) == ["a", "b", "c", "odd"]
    assert arms.draw("odd", 3).tolist() == SimulatedArms(list(RATES.values())).draw(3, 3).tolist()
    assert oddarm.find(arms, max_outliers=1).ranking[0] == "odd"


def test_a_series_in_another_order_keeps_its_names():
    """What is sorted by value has its names in the index, not in the positions."""
    ordered = SERIES.sort_values(ascending=False)
    assert oddarm.outlier_groups(ordered, max_outliers=1)[0].members == ("odd",)
    assert oddarm.simulate(ordered[::-1], max_outliers=1).ranking[0] == "odd"
    numbered = pd.Series([0.2, 0.25, 0.3, 0.95]).sort_values(ascending=False)
    assert oddarm.outlier_groups(numbered, max_outliers=1)[0].members == (3,)


@pytest.mark.parametrize(
    "means",
    [
        list(RATES.values()),
        np.array(list(RATES.values())),
        pd.Series(list(RATES.values())),
        pl.Series(list(RATES.values())),
        tuple(map(Fraction, RATES.values())),
    ],
    ids=["list", "array", "pandas", "polars", "fractions"],
)
def test_means_without_names_are_numbered(means):
    """Sequences, arrays, a polars Series and a Series with the default index go by position."""
    assert oddarm.outlier_groups(means, max_outliers=1)[0].members == (3,)
    result = oddarm.simulate(means, max_outliers=1)
    assert list(result.names) == [0, 1, 2, 3]
    assert result.ranking[0] == 3
    assert theory.most_pulls(means, max_outliers=1) == theory.most_pulls(RATES, max_outliers=1)


@pytest.mark.parametrize(
    ("means", "message"),
    [
        (SERIES.to_frame("mean"), r"DataFrame with columns, .* pass one column"),
        (pl.DataFrame({"mean": [0.1, 0.2, 0.9]}), r"DataFrame with columns, .* pass one column"),
        (pd.Series([0.1, 0.2, 0.9], index=["a", "b", "a"]), r"'a' twice, .* means.groupby"),
        ("0129", r"means == '0129', must be a sequence of numbers or a mapping"),
        ({0.1, 0.2, 0.9}, r"must be a sequence of numbers or a mapping"),
        (0.5, r"means == 0.5, must be a sequence"),
        (np.array(0.5), r"must be a sequence"),
        ([0.1, 0.2, "0.9"], r"mean of arm 2 == '0.9', must be a (finite )?number"),
        ({"a": 0.1, "b": None, "c": 0.9}, r"mean of arm 'b' == None, must be a (finite )?number"),
        (pd.Series([0.1, np.nan, 0.9]), r"mean of arm 1 == nan, must be a (finite )?number"),
        ([[0.1, 0.2], [0.3, 0.9], [0.1, 0.1]], r"mean of arm 0 == \[0.1, 0.2\], must be"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "take",
    [
        lambda means: oddarm.outlier_groups(means, max_outliers=1),
        lambda means: oddarm.outlier_arms(means, max_outliers=1),
        lambda means: oddarm.simulate(means, max_outliers=1),
        lambda means: oddarm.plan(means, runs=1, max_outliers=1),
        lambda means: theory.most_pulls(means, max_outliers=1),
        SimulatedArms,
    ],
    ids=["outlier_groups", "outlier_arms", "simulate", "plan", "most_pulls", "SimulatedArms"],
)
def test_what_has_no_mean_for_each_arm_is_refused(take, means, message):
    """Frames, repeated names and what is not a number are refused with a remedy."""
    with pytest.raises(OddarmError, match=message):
        take(means)


def test_pandas_is_not_imported():
    """A Series is known by what it has, so pandas stays an extra."""

    class Index(list):
        tolist = list.copy

    class Series:
        index = Index(["x", "y"])

        def tolist(self):
            return [0.1, 0.2]

    assert numbers_by_arm(Series(), "means", "mean") == (["x", "y"], [0.1, 0.2])
