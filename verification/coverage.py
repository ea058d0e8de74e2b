"""Do the intervals cover the true mean at all times at once?

Every run is one arm of a large tally. It is looked at after each of its first pulls and then at
times that grow by 2 %, up to the horizon; a single miss at any of them is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.bounds import (
    Bernstein,
    BetaMixture,
    Bound,
    CentredBeta,
    NormalMixture,
    PoolBernstein,
    PoolBeta,
)
from oddarm.rewards import Bernoulli, Bounded, Rewards, SubGaussian
from oddarm.tally import Tally
from verification.report import Check

Draw = Callable[[np.random.Generator, int, int], Floats]
DELTA = 0.1

SHAPES: dict[str, tuple[float, Draw]] = {
    "uniform": (0.5, lambda rng, n, k: rng.random((n, k))),
    "beta(2, 8)": (0.2, lambda rng, n, k: rng.beta(2, 8, (n, k))),
    "0/1 at 0.5": (0.5, lambda rng, n, k: (rng.random((n, k)) < 0.5).astype(float)),
    "0/1 at 0.01": (0.01, lambda rng, n, k: (rng.random((n, k)) < 0.01).astype(float)),
    "three points": (0.34, lambda rng, n, k: rng.choice([0, 0.2, 1.0], (n, k), p=[0.5, 0.2, 0.3])),
    "constant": (0.7, lambda rng, n, k: np.full((n, k), 0.7)),  # noqa: ARG005
}  # fmt: skip


def look_times(horizon: int, dense: int) -> list[int]:
    """Return 1, 2, …, dense, then times that grow by 2 %, up to the horizon."""
    times = list(range(1, min(dense, horizon) + 1))
    while times[-1] < horizon:
        times.append(min(max(times[-1] + 1, int(times[-1] * 1.02)), horizon))
    return times


def _add_block(tally: Tally, rewards: Floats) -> None:
    """Add a block of rewards to all arms at once, as `Tally.add` does arm by arm."""
    k = rewards.shape[1]
    before = int(tally.counts[0])
    if tally.scatter is not None:
        mean = rewards.mean(axis=1)
        tally.scatter += ((rewards - mean[:, None]) ** 2).sum(axis=1)
        if before:
            tally.scatter += (mean - tally.totals / before) ** 2 * (before * k / (before + k))
    if tally.drawn is not None:
        assert tally.pools is not None
        size = tally.pools.astype(float)[:, None]
        left = size - before - np.arange(k)[None, :]
        so_far = tally.totals[:, None] + np.cumsum(rewards, axis=1) - rewards
        w, z = size / left, rewards + so_far / left
        tally.drawn += [v.sum(axis=1) for v in (w, w * w, z, z * z, w * z)]
    if tally.beyond is not None:
        tally.beyond += (rewards - tally.rewards.low).sum(axis=1)
    tally.totals += rewards.sum(axis=1)
    tally.counts += k
    tally.pulls += k * len(rewards)


def misses(bound: Bound, model: Rewards, blocks: Iterator[Floats], truth: Floats | float) -> Flags:
    """Return which runs missed the true mean at any look."""
    tally: Tally | None = None
    missed: Flags = np.zeros(0, dtype=bool)
    for block in blocks:
        if tally is None:
            tally = Tally(len(block), model)
            missed = np.zeros(len(block), dtype=bool)
        _add_block(tally, block)
        low, high = bound.interval(tally)
        # A point interval may differ from the truth in the last bit of a sum.
        missed |= (low > truth + 1e-12) | (high < truth - 1e-12)
    return missed


def _blocks(draw: Draw, runs: int, times: list[int], seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    for first, last in zip([0, *times], times, strict=False):
        yield draw(rng, runs, last - first)


def _without_replacement(pools: Floats, times: list[int]) -> Iterator[Floats]:
    for first, last in zip([0, *times], times, strict=False):
        yield pools[:, first:last]


def checks(
    runs: int = 2000, horizon: int = 20_000, dense: int = 300, pool_size: int = 400
) -> Iterator[Check]:
    """Yield the coverage of every interval, each at δ = 0.1."""
    times = look_times(horizon, dense)
    for p in (0.0, 0.001, 0.5, 0.999, 1.0):

        def coin(rng: np.random.Generator, n: int, k: int, p: float = p) -> Floats:
            return (rng.random((n, k)) < p).astype(float)

        for prior in (0.5, 1.0):
            wrong = misses(BetaMixture(DELTA, prior), Bernoulli(), _blocks(coin, runs, times, 1), p)
            yield Check(f"Beta mixture (prior {prior:g}), p = {p:g}", int(wrong.sum()), runs, DELTA)
        wrong = misses(CentredBeta(DELTA), Bernoulli(), _blocks(coin, runs, times, 1), p)
        yield Check(f"centred Beta mixture, p = {p:g}", int(wrong.sum()), runs, DELTA)
        wrong = misses(
            NormalMixture(DELTA, 0.5, 0, 1), Bernoulli(), _blocks(coin, runs, times, 2), p
        )
        yield Check(f"normal mixture, 0/1 at {p:g}", int(wrong.sum()), runs, DELTA)
        pool = (np.arange(pool_size) < round(pool_size * p)).astype(float)
        rng = np.random.default_rng(3)
        pools = rng.permuted(np.tile(pool, (runs, 1)), axis=1)
        model = Bernoulli(pools=(pool_size,) * runs)
        drawn = _without_replacement(pools, list(range(1, pool_size + 1)))
        wrong = misses(PoolBeta(DELTA), model, drawn, pool.mean())
        yield Check(f"pool of {pool_size}, 0/1 at {p:g}", int(wrong.sum()), runs, DELTA)
    unit = Bounded(minimum=0.0, maximum=1.0)
    for name, (mean, draw) in SHAPES.items():
        wrong = misses(Bernstein(DELTA), unit, _blocks(draw, runs, times, 4), mean)
        yield Check(f"Bernstein, {name}", int(wrong.sum()), runs, DELTA)
        rng = np.random.default_rng(5)
        pool = draw(rng, 1, pool_size)[0]
        pools = rng.permuted(np.tile(pool, (runs, 1)), axis=1)
        model_pool = Bounded(minimum=0.0, maximum=1.0, pools=(pool_size,) * runs)
        drawn = _without_replacement(pools, list(range(1, pool_size + 1)))
        wrong = misses(PoolBernstein(DELTA), model_pool, drawn, pool.mean())
        yield Check(f"pool of {pool_size} Bernstein, {name}", int(wrong.sum()), runs, DELTA)

    def normal(rng: np.random.Generator, n: int, k: int) -> Floats:
        return rng.normal(3.0, 2.0, (n, k))

    wrong = misses(
        NormalMixture(DELTA, 2.0), SubGaussian(scale=2.0), _blocks(normal, runs, times, 6), 3.0
    )
    yield Check("normal mixture, normal rewards", int(wrong.sum()), runs, DELTA)
