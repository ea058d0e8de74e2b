"""Simulated searches."""

import subprocess
import sys

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError
from oddarm.batch.simulate import _drive
from oddarm.sources import SimulatedArms
from oddarm.sources.simulated import streams, uniforms

MEANS = [0.1, 0.12, 0.14, 0.16, 0.9]


def test_same_seed_same_answer():
    """A seed decides everything."""
    one, two = (oddarm.simulate(MEANS, max_outliers=1, seed=3) for _ in range(2))
    assert one.to_dict() == two.to_dict()
    other = oddarm.simulate(MEANS, max_outliers=1, seed=4)
    assert other.means.tolist() != one.means.tolist()


def test_runs_use_consecutive_seeds():
    """Run k of many is the single run with seed + k."""
    many = oddarm.simulate(MEANS, max_outliers=1, seed=5, runs=3)
    single = [oddarm.simulate(MEANS, max_outliers=1, seed=5 + k) for k in range(3)]
    assert [r.to_dict() for r in many] == [r.to_dict() for r in single]
    with pytest.raises(OddarmError, match="runs == 0"):
        oddarm.simulate(MEANS, max_outliers=1, runs=0)


def test_many_runs_share_the_cores(monkeypatch):
    """Runs in processes of their own give what they give in turn, in the order of the seeds."""
    in_turn = [oddarm.simulate(MEANS, max_outliers=1, seed=k).to_dict() for k in range(5)]
    monkeypatch.setattr("oddarm.batch.parallel.WORTH_PROCESSES", 0.0)
    monkeypatch.setattr("oddarm.batch.simulate._drive", _forbidden_after(2))
    shared = oddarm.simulate(MEANS, max_outliers=1, runs=5)
    assert [result.to_dict() for result in shared] == in_turn


def test_a_script_without_a_guard_can_share_the_cores(tmp_path):
    """What a user types at the top of a file runs once, with processes too."""
    script = tmp_path / "script.py"
    script.write_text(
        "import oddarm, oddarm.batch.parallel\n"
        "oddarm.batch.parallel.WORTH_PROCESSES = 0.0\n"
        "print(len(oddarm.simulate([0.1, 0.12, 0.14, 0.16, 0.9], max_outliers=1, runs=4)))\n"
    )
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("4\n", "")


def _forbidden_after(count):
    """Return how a search is driven, for so many calls in this process."""
    calls = []

    def drive(*arguments):
        calls.append(arguments)
        assert len(calls) <= count, "ran in this process"
        return _drive(*arguments)

    return drive


def test_progress_is_told():
    """A progress callback sees the search move."""
    seen = []
    oddarm.simulate(
        [0.1, 0.12, 0.14, 0.16, 0.3], "gold", max_outliers=1, rewards=(0, 1), max_pulls=3000,
        progress=lambda search: seen.append(search.pulls),
    )  # fmt: skip
    assert seen == [1000, 2000, 3000]


def test_rewards_do_not_depend_on_the_order_of_pulls():
    """The k-th reward of an arm is the same whenever it is drawn, in whatever pieces."""
    one, two = SimulatedArms(MEANS, seed=1), SimulatedArms(MEANS, seed=1)
    whole = one.draw(2, 100)
    two.draw(0, 50)
    pieces = [two.draw(2, k) for k in (1, 9, 40, 50)]
    assert np.concatenate(pieces).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("rewards", "mean", "deviation"),
    [
        ("bernoulli", 0.3, (0.3 * 0.7) ** 0.5),
        ((0, 2), 0.5, 0.5 / 3**0.5),
        (oddarm.rewards.SubGaussian(scale=2.0), -1.0, 2.0),
    ],
)
def test_moments(rewards, mean, deviation):
    """Simulated rewards have the declared mean and the documented deviation."""
    x = SimulatedArms([mean], rewards, seed=2).draw(0, 400_000)
    assert x.mean() == pytest.approx(mean, abs=5 * deviation / 400_000**0.5)
    assert x.std() == pytest.approx(deviation, rel=0.01)


def test_streams_are_uniform_and_independent():
    """The uniforms of all arms fill 64 cells evenly; neighbouring streams do not correlate."""
    starts, increments = streams(0, 200)
    u = np.array([uniforms(s, i, 0, 5000) for s, i in zip(starts, increments, strict=True)])
    cells = np.bincount((u * 64).astype(int).ravel(), minlength=64)
    chi2 = ((cells - u.size / 64) ** 2 / (u.size / 64)).sum()
    assert chi2 < 63 + 5 * (2 * 63) ** 0.5
    lagged = np.corrcoef(u[:, :-1].ravel(), u[:, 1:].ravel())[0, 1]
    between = np.corrcoef(u[:-1].ravel(), u[1:].ravel())[0, 1]
    assert abs(lagged) < 5 / u.size**0.5
    assert abs(between) < 5 / u.size**0.5


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ([0.1, 0.2, 1.5], "mean 1.5, must be in"),
        ([[0.1], [0.2]], r"mean of arm 0 == \[0.1\], must be a finite number"),
        ([0.1, 0.2, np.nan], "finite"),
    ],
)
def test_refuses_bad_means(means, words):
    """Means outside the range of rewards are refused."""
    with pytest.raises(OddarmError, match=words):
        SimulatedArms(means)


def test_refuses_what_it_cannot_simulate():
    """Finite pools, and 0/1 rewards outside the declared range, are refused."""
    with pytest.raises(OddarmError, match="finite arms with simulated rewards"):
        SimulatedArms(MEANS, oddarm.rewards.Bernoulli(pools=(3,) * 5))
    with pytest.raises(OddarmError, match="must include 0 and 1"):
        SimulatedArms([6.0, 7.0, 8.0], (5, 10), shape="bernoulli")
    with pytest.raises(OddarmError, match=r"mean 1\.5, must be in"):
        SimulatedArms([0.5, 1.0, 1.5], (0, 2), shape="bernoulli")
    with pytest.raises(OddarmError, match="shape == 'round'"):
        SimulatedArms(MEANS, shape="round")


def test_negative_seed():
    """A seed is a whole number from 0 on."""
    with pytest.raises(OddarmError, match="seed == -1"):
        SimulatedArms(MEANS, seed=-1)
    with pytest.raises(OddarmError, match="seed == -1"):
        oddarm.datasets.configuration("upper-20-5", seed=-1)


def test_find_calls_the_function():
    """find() pulls through a function and returns the result."""
    rng = np.random.default_rng(0)
    calls = []

    def pull(arm):
        calls.append(arm)
        return rng.random() < (0.9 if arm == "odd" else 0.2)

    result = oddarm.find(pull, ["a", "b", "c", "odd"], max_outliers=1)
    assert result.outliers == ["odd"]
    assert result.pulls == len(calls)


@pytest.mark.parametrize("worth", [0.0, 1e9])
def test_each_run_is_reported_once(monkeypatch, worth):
    """Whether runs share the cores or not, each result is handed over when it is there."""
    monkeypatch.setattr("oddarm.batch.parallel.WORTH_PROCESSES", worth)
    seen = []
    results = oddarm.simulate(MEANS, max_outliers=1, runs=6, finished=seen.append)
    assert len(seen) == 6
    assert sorted(r.provenance["seed"] for r in seen) == list(range(6))
    assert [r.provenance["seed"] for r in results] == list(range(6))
