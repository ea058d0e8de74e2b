"""What a page is sent of a study's gaps."""

import json

import pytest

from oddarm import Search
from oddarm.definitions.interval_gaps import certified_cuts
from oddarm.rewards import Bernoulli
from oddarm.service.view import view_json
from oddarm.store import StudyInfo
from oddarm.store.study import study_result

HIGH, LOW = [1, 1, 1, 1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]


def told(patterns, times, **options):
    """Return a search that was told a reward of each arm in turn, so many times."""
    search = Search(list(patterns), max_outliers=1, **{"delta": 0.1, "slack": 0, **options})
    for k in range(times):
        for arm, pattern in patterns.items():
            search.tell(arm, pattern[k % len(pattern)])
    return search


def view(search):
    """Return the view of a search, and its gaps that the intervals alone tell of."""
    info = StudyInfo("demo", "running", "running", "adaptive", search.n, 1, 0, 1, 0.0, 0.0)
    result = search.result()
    cuts = {cut.below: cut.gap for cut in certified_cuts(result.low, result.high)}
    return json.loads(view_json(info, search, study_result(search))), cuts


FOUR = {"ams": LOW, "fra": LOW, "lhr": LOW, "gru": HIGH}


def test_a_gap_is_as_wide_as_its_certificate_says():
    """If a certificate has a wider gap than the intervals, the page gets that wider gap."""
    seen, cuts = view(told(FOUR, 18, until="found"))
    (certificate,) = seen["certificates"]
    (gap,) = seen["gaps"]
    assert certificate["members"] == seen["candidates"] == [3]
    assert gap["width"] == certificate["gap"][0] > 2 * cuts[3] > 0
    assert (gap["certain"], gap["below"]) == (True, 3)
    assert seen["means"][0] < gap["from"] < gap["to"] < seen["means"][3]
    assert gap["to"] - gap["from"] == pytest.approx(gap["width"])
    assert seen["gap"] == gap
    assert seen["community"] == [0, 0, 0, 1]


def test_a_gap_that_only_pairs_of_arms_tell_of():
    """If the intervals still touch, the page gets the gap of the certificate all the same."""
    seen, cuts = view(told(FOUR, 14, until="found"))
    assert cuts == {}
    assert max(seen["high"][:3]) > seen["low"][3]
    (gap,) = seen["gaps"]
    assert seen["why"][-1].startswith("Intervals reach into the shaded gap: the evidence of ")
    assert gap["width"] == seen["certificates"][0]["gap"][0] > 0
    assert seen["gap"] == gap
    assert seen["community"] == [0, 0, 0, 1]


def test_a_group_in_between_has_a_gap_on_either_side():
    """The gaps come upwards along the axis, none narrower than the certificate says."""
    patterns = {"a": [0], "b": [0], "c": [0, 1], "d": [1], "e": [1]}
    seen, _ = view(told(patterns, 60, until="found"))
    assert seen["candidates"] == [2]
    assert [gap["below"] for gap in seen["gaps"]] == [2, 3]
    assert [gap["width"] for gap in seen["gaps"]] == [seen["certificates"][0]["gap"][0]] * 2


def test_no_gap_is_certain_yet():
    """Before a gap is certain there is none around declared arms, and the widest is of means."""
    seen, _ = view(told(FOUR, 1))
    assert seen["gaps"] == []
    assert (seen["gap"]["certain"], seen["gap"]["below"]) == (False, 3)
    assert (seen["gap"]["from"], seen["gap"]["to"], seen["gap"]["width"]) == (0, 1, 1)
    empty, _ = view(Search(4, max_outliers=1))
    assert (empty["gaps"], empty["gap"]) == ([], None)


def test_gaps_among_the_others_are_not_sent():
    """Of many certain gaps a page gets those that it draws: around the declared arms."""
    size = 20
    patterns = {arm: [1] * arm + [0] * (size - arm) for arm in (0, 1, 2, 3, 4, 5, 6, 19)}
    pools = Bernoulli(pools=(size,) * len(patterns))
    seen, cuts = view(told(patterns, size, strategy="rr", rewards=pools))
    assert len(cuts) == max(seen["community"]) > 1
    assert seen["outliers"] == [7]
    assert [(gap["below"], gap["width"]) for gap in seen["gaps"]] == [(7, cuts[7])]


def test_best_guess(monkeypatch):
    """A page gets the best guess with its odds, those asked for, and the forecast."""
    search = told(FOUR, 10, max_pulls=41)
    monkeypatch.setattr(search.run, "guess", lambda _: [3])
    monkeypatch.setattr(search.run, "evidence", lambda: 4.5)
    monkeypatch.setattr(search.run, "forecast", lambda: 30)
    monkeypatch.setattr(search.run, "widest_gap", lambda: 0.9)
    seen, _ = view(search)
    assert (seen["outliers"], seen["candidates"]) == ([], [3])
    assert seen["statuses"][3] == "candidate"
    assert (seen["evidence"], seen["asked"], seen["forecast"]) == (4.5, 10.0, 30)
    assert seen["widest_gap"] == 0.9
    assert "gru, evidence 4.5 : 1 (you asked for 10 : 1)" in seen["summary"]
    search.tell("ams", 0)
    seen, _ = view(search)
    assert seen["summary"].endswith("may decide: start a study with max_pulls=101.")


def test_price():
    """A page gets what the pulls cost if they have costs or a budget of cost."""
    plain, priced, limited = (
        view(told(FOUR, 2, **options))[0]["cost"]
        for options in ({}, {"costs": [1, 1, 1, 2.5]}, {"max_cost": 90})
    )
    assert (plain["price"], plain["max_cost"]) == (None, None)
    assert (priced["price"], priced["max_cost"]) == (11.0, None)
    assert (limited["price"], limited["max_cost"]) == (8.0, 90.0)
