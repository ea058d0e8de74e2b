"""Do two versions of oddarm decide the same, to the last bit?

    python -m verification.sameness save FILE       # on the version before a change
    python -m verification.sameness compare FILE    # on the version after it

Both run the same searches, over all strategies, kinds of rewards, rules for stopping and ways of
asking, and keep a digest of the pulls asked for, in order, and of the answer. This file uses only
public names, so that an internal change does not touch it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from loky import get_reusable_executor

import oddarm
from oddarm.errors import ParameterError
from oddarm.rewards import SubGaussian
from oddarm.sources import PoolSource, SimulatedArms, Source
from oddarm.strategies import STRATEGIES, Gold

BUDGETS = {"adaptive": 30_000, "gold": 20_000, "gold-intervals": 20_000}
SMALL_BUDGET = 4_000  # for the other strategies, which are slow
RANGE = (-2.0, 3.0)
UNBOUNDED = SubGaussian(scale=0.5)


@dataclass(frozen=True)
class Case:
    """One search.

    Attributes:
        way: How rewards are told: "compiled" (`simulate`), "single", "rounds", "batches", "late"
            (up to 40 pulls stay untold while more are asked for), "saved" (through JSON, every few
            rounds), "arrays", "failed" (an arm fails half way).
        strategy: Its name, or "gold-intervals".
        rewards: "bernoulli", "bounded", "subgaussian", "pool" (0/1) or "bounded pool".
        until: When to stop.
        bound: "anytime" or "paper".
        seed: Of the instance and of its rewards.
    """

    way: str
    strategy: str
    rewards: str
    until: str
    bound: str
    seed: int

    @property
    def name(self) -> str:
        """The case in words."""
        return f"{self.strategy} {self.rewards} {self.until} {self.bound} {self.way} {self.seed}"


def cases() -> Iterator[Case]:
    """Yield all cases, for every strategy."""
    ways = ("single", "rounds", "batches", "late", "saved", "arrays", "failed")
    known = [name for name in STRATEGIES if name != "fixed"]  # version 0.1 had no such strategy
    for strategy in (*known, "gold-intervals"):
        adaptive = strategy == "adaptive"
        for rewards in ("bernoulli", "bounded", "subgaussian", "pool", "bounded pool"):
            for until in ("ranked", "found", "confirmed") if adaptive else ("ranked",):
                for bound in ("anytime",) if adaptive else ("anytime", "paper"):
                    for seed, way in enumerate(ways):
                        yield Case(way, strategy, rewards, until, bound, seed)
                    if "pool" not in rewards:
                        for seed in range(12 if adaptive else 6):
                            yield Case("compiled", strategy, rewards, until, bound, seed)


def means_of(case: Case) -> list[float]:
    """Return means with one or two outliers, above, below or in between, or with none."""
    rng = np.random.default_rng([case.seed, len(case.way)])
    n = int(rng.integers(7, 16)) if case.seed % 3 else int(rng.integers(20, 31))
    bulk = np.sort(rng.uniform(0.2, 0.5, n - 2))
    low, high = bulk[: n // 2], bulk[n // 2 :]
    means = (
        [*bulk, 0.92, 0.95],
        [*bulk, 0.01, 0.9],
        [*(0.2 * low), *(0.8 + 0.2 * high), 0.45, 0.5],
        [*bulk, *rng.uniform(0.2, 0.5, 2)],
    )[case.seed % 4]
    return [round(float(mean), 3) for mean in rng.permutation(means)]


def source_of(case: Case) -> Source:
    """Return the rewards of a case."""
    means = means_of(case)
    if "pool" in case.rewards:
        rng = np.random.default_rng(case.seed)
        sizes = rng.integers(40, 400, len(means)).tolist()
        zero_one = case.rewards == "pool"
        items = {
            i: (rng.random(size) < mean).astype(float).tolist()
            if zero_one
            else np.round(
                RANGE[0] + 5 * rng.beta(4 * mean + 0.1, 4 - 4 * mean + 0.1, size), 2
            ).tolist()
            for i, (mean, size) in enumerate(zip(means, sizes, strict=True))
        }
        return PoolSource(items, float, "bernoulli" if zero_one else RANGE, seed=case.seed)
    return SimulatedArms(scaled(case, means), model_of(case), seed=case.seed)


def model_of(case: Case) -> Any:
    """Return the model of the rewards, for cases without a pool."""
    return {"bernoulli": "bernoulli", "bounded": RANGE, "subgaussian": UNBOUNDED}[case.rewards]


def scaled(case: Case, means: list[float]) -> list[float]:
    """Return means in the range of the rewards."""
    return [RANGE[0] + 5 * mean for mean in means] if case.rewards == "bounded" else means


def options_of(case: Case) -> dict[str, Any]:
    """Return the parameters of a search."""
    return {
        "strategy": Gold(form="intervals") if case.strategy == "gold-intervals" else case.strategy,
        "epsilon": (2.5, 1.0, 5.0)[case.seed % 3],
        "max_outliers": 2,
        "delta": 0.1,
        "slack": 0.0,
        "until": case.until,
        "bound": case.bound,
        "max_pulls": BUDGETS.get(case.strategy, SMALL_BUDGET),
        "seed": case.seed,
    }


def outcome(case: Case) -> str:
    """Return a digest of what a search asks for and answers, or the error that refuses it."""
    asked = hashlib.sha256()
    try:
        if case.way == "compiled":
            model = model_of(case)
            means = scaled(case, means_of(case))
            result = oddarm.simulate(means, rewards=model, **options_of(case))
        else:
            source = source_of(case)
            search = oddarm.Search(len(source.arms), rewards=source.rewards, **options_of(case))
            result = drive(search, source, case, asked).result()
    except ParameterError as error:
        return f"refused: {type(error).__name__}"
    declared = declared_in(result)
    answer = {
        "verdict": result.verdict,
        "outliers": [str(arm) for arm in declared],
        "ranking": [str(arm) for arm in result.ranking],
        "counts": result.counts.tolist(),
        "ends": [
            result.means.tobytes().hex(),
            result.low.tobytes().hex(),
            result.high.tobytes().hex(),
        ],
        "scores": result.scores.tobytes().hex(),
        "statuses": statuses_of(result, declared),
        "certificates": [
            (
                certificate.members,
                certificate.status,
                certificate.gap_at_least,
                certificate.gap_at_most,
                certificate.rest_at_least,
                certificate.rest_at_most,
            )
            for certificate in result.certificates
        ],
    }
    text = json.dumps(answer, default=str) + asked.hexdigest()
    return (
        f"{result.verdict} after {result.pulls}: {hashlib.sha256(text.encode()).hexdigest()[:24]}"
    )


def declared_in(result: Any) -> list[int]:
    """Return what version 0.1 called outliers: those, and candidates that have a score."""
    guessed = [arm for arm in result.candidates if not np.isnan(result.scores[arm])]
    return [*result.outliers, *guessed]


def statuses_of(result: Any, declared: list[int]) -> list[str]:
    """Return what is decided of each arm, in the words of version 0.1."""
    rest = "undecided" if result.verdict in ("budget", "running") else "normal"
    return [
        "failed" if status == "failed" else "outlier" if arm in declared else rest
        for arm, status in enumerate(result.statuses)
    ]


def drive(search: Any, source: Source, case: Case, asked: Any) -> Any:
    """Pull until the search is done, in the way of the case; return the search."""
    draw = partial(source.draw, count=1)
    waiting: deque[int] = deque()
    failing = 0 if case.way == "failed" else None
    rounds = 0
    while not search.done:
        rounds += 1
        if case.way == "arrays":
            index = search.ask_indices()
            asked.update(index.astype(np.int64).tobytes())
            search.tell_indices(index, np.concatenate([draw(int(arm)) for arm in index]))
            continue
        limit = {"single": 1, "batches": 37, "late": 13}.get(case.way)
        arms = search.ask(limit)
        asked.update(np.array(arms, dtype=np.int64).tobytes())
        waiting.extend(arms)
        while len(waiting) > (40 if case.way == "late" and arms else 0):
            arm = waiting.popleft()
            if arm == failing and rounds > 12:
                search.set_aside(arm, "it fails")
                waiting = deque(other for other in waiting if other != arm)
                failing = None
            elif not search.errors or arm not in search.errors:
                search.tell(arm, draw(arm)[0])
        if case.way == "saved" and rounds % 5 == 0:
            search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
    return search


def outcomes() -> dict[str, str]:
    """Return the outcome of every case, computed on all cores."""
    all_cases = list(cases())
    digests = get_reusable_executor().map(outcome, all_cases, chunksize=4)
    return {case.name: digest for case, digest in zip(all_cases, digests, strict=True)}


def main(words: list[str]) -> int:
    """Save outcomes to a file, or compare them with it; return how many differ."""
    if len(words) != 2 or words[0] not in ("save", "compare"):
        print(__doc__)
        return 2
    now = outcomes()
    path = Path(words[1])
    if words[0] == "save":
        path.write_text(json.dumps(now, indent=1), encoding="utf-8")
        print(f"{len(now)} outcomes saved in {path}")
        return 0
    before = json.loads(path.read_text(encoding="utf-8"))
    differ = sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )
    for name in differ:
        print(f"{name}\n  before: {before.get(name)}\n  now:    {now.get(name)}")
    refused = sum(outcome.startswith("refused") for outcome in now.values())
    print(f"{len(now)} searches ({refused} refused), {len(differ)} differ")
    return min(len(differ), 1)


if __name__ == "__main__":  # workers import this module too
    sys.exit(main(sys.argv[1:]))
