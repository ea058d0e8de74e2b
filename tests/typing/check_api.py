"""Code as a user would write it; mypy --strict checks that it has the types it should."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import oddarm


def ask_and_tell() -> oddarm.Result:
    """A search by hand."""
    search = oddarm.Search(["a", "b", "c"], "gold", max_outliers=1, rewards=(0.0, 1.0))
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, 0.5)
            search.tell(arm, np.array([0.1, 0.2]))
    return search.result()


def use(result: oddarm.Result) -> None:
    """What a result offers."""
    assert_type(result.pulls, int)
    for row in result.arms:
        assert_type(row.mean, float | None)
    assert_type(oddarm.simulate([0.1, 0.2, 0.9], max_outliers=1), oddarm.Result)
    assert_type(oddarm.simulate([0.1, 0.2, 0.9], runs=2), list[oddarm.Result])
    assert_type(oddarm.outlier_groups({"a": 0.1}, 2.5, 0.9), list[oddarm.Group])
    log = oddarm.sources.RecordedSource({"a": [0, 1], "b": [0, 0], "c": [1, 1]})
    assert_type(oddarm.compare(log, ["rr"], max_outliers=1), oddarm.Comparison)
    assert_type(oddarm.find(lambda arm: 1.0, 10), oddarm.Result)  # noqa: ARG005
