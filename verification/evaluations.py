"""What odd samples of an evaluation cost beside the full run: real tasks of inspect_ai.

A task has 40 samples. 37 pass in 85 to 100 % of epochs, three in 5 to 35 %, drawn at random for
each seed; or all 40 pass in 85 to 100 %. These tasks, `min_gap` and the seeds were chosen before
anything was measured. inspect_ai runs them with its mock model; more seeds are simulated by the
same search without it. Beside each stand two designs that run all samples equally often: one with
the same promise, and a plain guess from the shares of passes, the cheapest that is right often
enough for exactly these tasks.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import oddarm
from oddarm._extras import INSPECT, require
from oddarm.definitions.groups import apart
from oddarm.errors import MissingExtraError
from oddarm.problem import Problem
from verification.report import Check

__all__ = ["checks", "full_epochs", "guess_epochs", "pass_rates", "real_run"]

SAMPLES, ODD = 40, 3
DELTA, MIN_GAP, MAX_OUTLIERS, SLACK = 0.05, 0.3, 4, 0.2
SEEDS = 20
SIMULATED = 200
GUESSES = 200
"""Guesses for each task and number of epochs."""
LOOKS = 10
"""Looks of the design with the same promise for each task and number of epochs."""
MOST_GUESSED = 200
"""More epochs are not tried for a guess."""


def pass_rates(seed: int, odd: int) -> dict[str, float]:
    """Return how often each sample passes; the odd ones are called odd."""
    rng = np.random.default_rng([seed, 1])
    usual, low = rng.uniform(0.85, 1.0, SAMPLES - odd), rng.uniform(0.05, 0.35, odd)
    rates = {f"case-{k}": float(rate) for k, rate in enumerate(usual)}
    return rates | {f"odd-{k}": float(rate) for k, rate in enumerate(low)}


def real_run(
    seed: int, odd: int, min_gap: float = MIN_GAP, **more: Any
) -> tuple[oddarm.Result, int]:
    """Return what is found in a real task by the mock model, and how many samples were run."""
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.log import list_eval_logs, read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match

    from oddarm.integrations.inspect_eval import odd_samples

    rates, rng = pass_rates(seed, odd), random.Random(seed)

    def answer(messages: Any, *_: Any) -> ModelOutput:
        passes = rng.random() < rates[messages[-1].text]
        output = ModelOutput.from_content("mockllm", "yes" if passes else "no")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    samples = [Sample(id=name, input=name, target="yes") for name in rates]
    with tempfile.TemporaryDirectory() as folder:
        result = odd_samples(
            Task(dataset=samples, scorer=match(), name="cases"),
            get_model("mockllm/model", custom_outputs=answer, memoize=False),
            min_gap=min_gap,
            max_outliers=MAX_OUTLIERS,
            delta=DELTA,
            eval_options={
                "display": "none",
                "log_dir": folder,
                "log_realtime": False,
                "log_samples": False,
                "score_display": False,
            },
            **more,
        )
        log = read_eval_log(list_eval_logs(folder)[0], header_only=True)
    assert log.results is not None
    return result, log.results.total_samples


def is_right(result: oddarm.Result, odd: int) -> bool:
    """Whether the odd samples are found, and no other."""
    expected = {f"odd-{k}" for k in range(odd)}
    return set(result.outliers) == expected and result.verdict in ("confirmed", "none")


def full_epochs(seeds: Sequence[int], odd: int) -> float:
    """Return how many epochs of all samples a single look with the same promise takes, on average.

    The number for each task is the one that suits it, which only those know who know its rates.
    """
    costs = [
        oddarm.plan(
            list(pass_rates(seed, odd).values()),
            ["fixed"],
            runs=LOOKS,
            min_gap=MIN_GAP,
            max_outliers=MAX_OUTLIERS,
            delta=DELTA,
        )
        .costs[0]
        .median
        for seed in seeds
    ]
    return float(np.mean(costs)) / SAMPLES


def right_guesses(seeds: Sequence[int], odd: int, epochs: int) -> float:
    """Return the share of right guesses after so many epochs of all samples.

    A guess cuts the shares of passes in the middle of the two lines between which either answer
    is right.
    """
    rng = np.random.default_rng([epochs, 2])
    gap = MIN_GAP * (1 - SLACK / 2)
    cut = Problem(epsilon=None, min_gap=gap, max_outliers=MAX_OUTLIERS, slack=0.0)
    expected = list(range(SAMPLES - odd, SAMPLES))
    right = 0
    for seed in seeds:
        rates = list(pass_rates(seed, odd).values())
        for passes in rng.binomial(epochs, rates, size=(GUESSES, SAMPLES)):
            guess = apart((passes / epochs).tolist(), cut)
            right += not guess.scattered and sorted(guess.members) == expected
    return right / (len(seeds) * GUESSES)


def guess_epochs(seeds: Sequence[int], odd: int, wanted: float) -> int:
    """Return the fewest epochs with which so large a share of the guesses is right."""
    return next(
        (n for n in range(2, MOST_GUESSED) if right_guesses(seeds, odd, n) >= wanted), MOST_GUESSED
    )


def checks(seeds: int = SEEDS, simulated: int = SIMULATED) -> Iterator[Check]:
    """Yield checks of real tasks and of simulated ones, with three odd samples and with none."""
    try:
        require(INSPECT)
        real = True
    except MissingExtraError as error:
        print(f"no real tasks: {error}")
        real = False
    for odd in (ODD, 0):
        name = f"{odd or 'none'} of {SAMPLES} samples {'are' if odd else 'is'} odd"
        if real and seeds:
            found = [real_run(seed, odd) for seed in range(seeds)]
            wrong = sum(not is_right(result, odd) for result, _ in found)
            pulls = [result.pulls for result, _ in found]
            spent = np.mean([runs for _, runs in found])
            words = f"{np.mean(pulls):,.0f} runs ({min(pulls):,} to {max(pulls):,})"
            words += f", {spent:,.0f} with those in flight at the end; {_designs(seeds, odd)}"
            yield Check(f"{name}, by inspect_ai", wrong, seeds, DELTA, words)
        wrong, pulls = 0, []
        for seed in range(simulated):
            rates = pass_rates(seed, odd)
            options = {"min_gap": MIN_GAP, "max_outliers": MAX_OUTLIERS, "delta": DELTA}
            result = oddarm.simulate(list(rates.values()), seed=seed, **options)  # type: ignore[arg-type]
            wrong += sorted(result.outliers) != list(range(SAMPLES - odd, SAMPLES))
            pulls.append(result.pulls)
        words = f"{np.mean(pulls):,.0f} runs ({min(pulls):,} to {max(pulls):,})"
        yield Check(f"{name}, simulated", wrong, simulated, DELTA, words)


def _designs(seeds: int, odd: int) -> str:
    some = range(seeds)
    often = 1 - 1 / (2 * seeds)
    words = f"the same promise: {full_epochs(some, odd) * SAMPLES:,.0f}"
    for wanted in (1 - DELTA, often):
        epochs = guess_epochs(some, odd, wanted)
        words += f"; a guess right in {100 * wanted:g} %: {epochs * SAMPLES:,} ({epochs} epochs)"
    return words
