"""How often `pytest --odd-flaky` is right, and what it costs against a fixed number of reruns.

A suite has 60 tests: three fail in 5 to 20 % of runs, one always, the others in a share of runs
that is the background: never, or rarely. The plugin's own decisions are driven without pytest; then
three real sessions run a generated suite.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binom

import oddarm
from oddarm.integrations.pytest_flaky.hunt import Hunt
from verification.report import Check

__all__ = ["cheapest_fixed", "checks", "right_and_runs"]

TESTS, FLAKY = 60, 3
BACKGROUNDS = (0.0, 0.002, 0.005)
SESSIONS = 3
MOST_FIXED = 600


@dataclass(frozen=True)
class Suite:
    """A suite: the failure rate of each of its tests, by name."""

    rates: dict[str, float]

    @classmethod
    def drawn(cls, seed: int, background: float) -> Suite:
        """Return a suite whose flaky tests fail in 5 to 20 % of runs."""
        flaky = np.random.default_rng([seed, 1]).uniform(0.05, 0.2, FLAKY)
        rates = {f"test_flaky[{k}]": float(rate) for k, rate in enumerate(flaky)}
        sound = {f"test_sound[{k}]": background for k in range(TESTS - FLAKY - 1)}
        return cls({**sound, **rates, "test_broken": 1.0})


def right_and_runs(seed: int, delta: float, background: float) -> tuple[bool, int]:
    """Return whether the plugin finds the flaky and the broken tests, and in how many runs."""
    suite = Suite.drawn(seed, background)
    rng = np.random.default_rng([seed, 2])
    hunt = Hunt(suite.rates, delta=delta)
    while asked := hunt.ask():
        for test in asked:
            hunt.tell(test, bool(rng.random() < suite.rates[test]))
    answer = hunt.answer()
    flaky = {row.test for row in answer.having("flaky")}
    broken = [row.test for row in answer.having("broken")]
    expected = {test for test in suite.rates if "flaky" in test}
    return flaky == expected and broken == ["test_broken"], answer.runs


def cheapest_fixed(seeds: Sequence[int], background: float, wanted: float) -> tuple[int, int]:
    """Return the fewest runs of every test for a fixed design to be right as often as wanted.

    The design calls a test flaky if at least so many of its runs failed, but not all of them. The
    count is the best one for these suites, which nobody knows who has not found the flaky tests.

    Returns:
        The runs of each test, and the count.
    """
    rates = np.array([list(Suite.drawn(seed, background).rates.values()) for seed in seeds])
    flaky = rates[:, TESTS - FLAKY - 1 : TESTS - 1]
    sound = TESTS - FLAKY - 1
    for runs in range(1, MOST_FIXED + 1):
        for count in range(1, 12):
            found = binom.cdf(runs - 1, runs, flaky) - binom.cdf(count - 1, runs, flaky)
            quiet = binom.cdf(count - 1, runs, background) ** sound
            if float((found.prod(axis=1) * quiet).mean()) >= wanted:
                return runs, count
    return MOST_FIXED, 0


def checks(
    seeds: int = 200,
    deltas: Sequence[float] = (0.05, 0.5),
    backgrounds: Sequence[float] = BACKGROUNDS,
    sessions: int = SESSIONS,
) -> Iterator[Check]:
    """Yield a check for each δ and background, and one of real sessions."""
    for background in backgrounds:
        for delta in deltas:
            found = [right_and_runs(seed, delta, background) for seed in range(seeds)]
            wrong = sum(not right for right, _ in found)
            spent = float(np.mean([runs for _, runs in found]))
            promised = _fixed_words(seeds, background, 1 - delta)
            as_often = _fixed_words(seeds, background, min(1 - wrong / seeds, 1 - 1 / (2 * seeds)))
            yield Check(
                f"δ = {delta:g}, others fail in {100 * background:g} %",
                wrong,
                seeds,
                delta,
                f"{spent:,.0f} runs; fixed: {promised} to be right in {100 * (1 - delta):g} %, "
                f"{as_often} to be right as often",
            )
    general = [general_rule(seed) for seed in range(seeds // 10)]
    if general:
        yield Check(
            "the general rule: min_gap alone",
            sum(not right for right, _ in general),
            len(general),
            0.05,
            f"{np.mean([runs for _, runs in general]):,.0f} runs",
        )
    failed = sum(not real_session(seed) for seed in range(sessions))
    if sessions:
        yield Check("real sessions of pytest", failed, sessions, 0.05)


def _fixed_words(seeds: int, background: float, wanted: float) -> str:
    runs, count = cheapest_fixed(range(seeds), background, wanted)
    return f"{runs * TESTS:,} ({runs} each, {count} failed)" if count else "more than 36,000"


SUITE = """
import json
import random
from pathlib import Path

import pytest

suite = json.loads(Path(__file__).with_name("suite.json").read_text())
rng = random.Random(suite["seed"])


@pytest.fixture
def basket():
    return []


@pytest.mark.parametrize("rate", suite["sound"])
def test_sound(rate, basket):
    basket.append(rate)
    assert len(basket) == 1


@pytest.mark.parametrize("rate", suite["flaky"])
def test_flaky(rate):
    assert rng.random() >= rate


def test_broken():
    assert False
"""


def real_session(seed: int) -> bool:
    """Return whether a real session of pytest on a suite of 60 tests finds what there is."""
    rates = Suite.drawn(seed, 0.0).rates
    flaky = [rate for test, rate in rates.items() if "flaky" in test]
    suite = {"seed": seed, "sound": list(range(TESTS - FLAKY - 1)), "flaky": flaky}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "suite.json").write_text(json.dumps(suite))
        (folder / "test_suite.py").write_text(SUITE)
        options = ["--odd-flaky=60", "--odd-flaky-json=answer.json", "-q", "-p", "no:cacheprovider"]
        plugin = ["-p", "oddarm.integrations.pytest_flaky"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        subprocess.run(
            [sys.executable, "-m", "pytest", *plugin, *options],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        answer = json.loads((folder / "answer.json").read_text())
    statuses = [
        (row["test"].split("::")[1].split("[")[0], row["status"]) for row in answer["tests"]
    ]
    expected = [("test_sound", "sound")] * (TESTS - FLAKY - 1) + [("test_flaky", "flaky")] * FLAKY
    return statuses == [*expected, ("test_broken", "broken")]


def general_rule(seed: int) -> tuple[bool, int]:
    """Return whether a search by `min_gap` alone finds the flaky tests, and in how many runs."""
    rates = np.array([rate for rate in Suite.drawn(seed, 0.0).rates.values() if rate < 1])
    result = oddarm.simulate(rates, min_gap=0.05, max_outliers=6, seed=seed)
    return set(result.outliers) == set(np.flatnonzero(rates).tolist()), result.pulls
