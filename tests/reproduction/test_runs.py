"""The runs behind the figures: planned, kept, resumed."""

import hashlib
import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest

from oddarm import __version__
from reproduction import runs
from reproduction.runs import Cell, Plan, most_seconds, plan, run_cell, run_cells

EASY = Cell("synthetic", "upper-20-5", "upper", 20, 5.0, "gold", None, "anytime", 50_000, 3)


def test_full_plan_covers_the_paper():
    """All 20 configurations, every rival with three values of k, three kinds of radii."""
    cells = [c for c in plan(Plan()) if c.figure == "synthetic"]
    assert len({c.instance for c in cells}) == 20
    assert {c.k for c in cells if c.strategy == "wrr"} == {2.0, 2.5, 3.0}
    assert {c.radii for c in cells if c.strategy == "gold"} == {"bernoulli", "hoeffding", "anytime"}
    assert len({c.key for c in cells}) == len(cells)


def test_real_data_are_planned_when_given(shared_data):
    """Keyword and click problems that have a group come in when their folder is given."""
    cells = plan(Plan.quick(), shared_data)
    assert {c.figure for c in cells} == {"synthetic", "keywords", "clicks", "epsilon"}
    assert all(c.means for c in cells if c.figure in ("keywords", "clicks"))


@pytest.mark.parametrize("radii", runs.RADII)
def test_a_cell(radii):
    """A cell tells what each run found and cost, as JSON values."""
    found = run_cell(replace(EASY, radii=radii))
    assert found["correct"] == [True] * 3
    assert found["f1"] == [1.0] * 3
    assert found["capped"] == [False] * 3
    assert json.loads(json.dumps(found)) == found


def test_a_cap_is_reported():
    """Runs that reach the cap are marked, count as wrong, and the rest are not made."""
    found = run_cell(replace(EASY, cap=100, runs=10))
    assert found["capped"] == [True, True]
    assert found["correct"] == [False, False]
    assert found["planned_runs"] == 10


def test_sigma_rules_are_judged_by_their_set():
    """A rule that returns a set is right if the set is, not if its ranking happens to be."""
    found = run_cell(replace(EASY, instance="intermediate-20-5", strategy="wrr", k=3.0))
    assert not any(found["correct"])


def test_the_fair_capacity_is_planned_for_the_rankings(shared_data):
    """Where fewer arms are labelled than may be returned, the rankings run with both capacities."""
    cells = plan(Plan(), shared_data)
    fair = [c for c in cells if c.capacity]
    assert {c.strategy for c in fair} == set(runs.RANKINGS)
    for cell in fair:
        assert replace(cell, capacity=None) in cells
        assert cell.capacity < 0.1 * cell.n
    small = replace(fair[0], strategy="gold", cap=200, runs=1)
    assert run_cell(small)["capacity"] == fair[0].capacity
    assert "capacity" not in run_cell(replace(small, capacity=None))


def test_the_key_of_a_cell_stays():
    """A capacity changes the key, and cells without one keep the key that they always had."""
    names = [*vars(EASY)]
    assert names[-1] == "capacity"
    values = {name: getattr(EASY, name) for name in names[:-1]}
    text = json.dumps([__version__, values], sort_keys=True)
    assert EASY.key == hashlib.sha256(text.encode()).hexdigest()[:20]
    assert replace(EASY, capacity=2).key != EASY.key


def test_known_results_are_not_run_again(tmp_path):
    """Results from elsewhere are taken where their settings are the cell's, and only there."""
    known = {**run_cell(replace(EASY, cap=100)), "cap": EASY.cap}
    other = replace(EASY, runs=2)
    with ThreadPoolExecutor(1) as pool:
        found = run_cells([EASY, other], tmp_path, pool, id, [known])
    assert found[0] == known
    assert found[1]["pulls"] != known["pulls"]
    assert [path.stem for path in tmp_path.iterdir()] == [other.key]


def test_results_are_kept(tmp_path):
    """A repeated sweep runs nothing; an interrupted one runs what is missing; damage is redone."""
    cells = [EASY, replace(EASY, radii="bernoulli"), replace(EASY, radii="hoeffding")]
    seen = []
    with ThreadPoolExecutor(1) as pool:
        first = run_cells(cells[:2], tmp_path, pool, seen.append)
        again = run_cells(cells, tmp_path, pool, seen.append)
        assert again[:2] == first
        assert seen == [0, 1, 2, 2, 3]
        (tmp_path / f"{EASY.key}.json").write_text("{", encoding="utf-8")
        repaired = run_cells(cells, tmp_path, pool, seen.append)
    assert [c["pulls"] for c in repaired] == [c["pulls"] for c in again]


def test_processes_give_the_same(tmp_path):
    """Cells that run in other processes have the same results."""
    here = run_cell(EASY)
    with ProcessPoolExecutor(1) as pool:
        (there,) = run_cells([EASY], tmp_path, pool, print)
    assert there["pulls"] == here["pulls"]


def test_estimate_of_time():
    """The estimate grows with the cap and shrinks with the workers."""
    one = most_seconds([EASY], 1)
    assert one > 0
    assert most_seconds([replace(EASY, cap=10_000 * EASY.cap)], 1) > one
