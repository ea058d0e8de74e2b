"""What an answer costs beside a plain fixed sample: the table of README.md.

Run as `python -m tools.baseline_table` in a checkout; it takes some minutes. The questions are
those of `verification/question.py`, at δ = 0.05.
"""

from __future__ import annotations

import numpy as np
from verification.question import DELTA, INSTANCES, SLACK, Asked

import oddarm
from oddarm.definitions.groups import apart
from oddarm.definitions.truth import Truth
from oddarm.problem import Problem

RUNS = 100
LOOKS = 40
"""Looks for each number of pulls of a fixed sample."""
GUESSES = 400
"""Guesses for each number of pulls."""
GROWTH = 1.1
"""The pulls of each arm grow by this factor until enough guesses are right."""
SHOWN = {
    "20 hosts 0.02-0.10, 0.35, 0.40; g = 0.1, c = 2": "two of 20 hosts are odd",
    "20 hosts 0.05-0.145, nobody; g = 0.1": "none of 20 hosts is odd",
    "47 arms at 0.2, 3 at 0.5; g = 0.15, c = 5": "three of 50 prompts are odd",
}


def problem_of(asked: Asked, min_gap: float, slack: float) -> Problem:
    """Return the question, with the line at `min_gap`."""
    return Problem(
        min_gap=min_gap, max_outliers=asked.max_outliers, delta=DELTA, slack=slack, epsilon=None
    )


def right_guesses(asked: Asked, pulls: int, rng: np.random.Generator) -> float:
    """Return the share of right guesses by the sample means of `pulls` pulls of each arm.

    A guess cuts the sample means in the middle of the two lines between which either answer is
    right.
    """
    truth = Truth.of(asked.means, problem_of(asked, asked.min_gap, SLACK))
    cut = problem_of(asked, asked.min_gap * (1 - SLACK / 2), 0.0)
    right = 0
    for counts in rng.binomial(pulls, asked.means, size=(GUESSES, len(asked.means))):
        guess = apart((counts / pulls).tolist(), cut)
        verdict = "confirmed" if guess.members else "none"
        right += bool(
            truth.confirms("scattered" if guess.scattered else verdict, guess.members, "found")
        )
    return right / GUESSES


def guess_pulls(asked: Asked) -> int:
    """Return the fewest pulls with which 19 of 20 guesses are right."""
    rng = np.random.default_rng(0)
    pulls = 5
    while right_guesses(asked, pulls, rng) < 1 - DELTA:
        pulls = max(pulls + 1, int(pulls * GROWTH))
    return pulls * len(asked.means)


def main() -> None:
    """Print the table."""
    asked = [INSTANCES[name] for name in SHOWN]
    plans = [
        oddarm.plan(
            one.means,
            ["fixed"],
            runs=LOOKS,
            min_gap=one.min_gap,
            max_outliers=one.max_outliers,
        )
        for one in asked
    ]
    rows = {
        f"oddarm, mean of {RUNS} searches": [
            np.mean(
                [oddarm.simulate(one.means, seed=seed, **one.options).pulls for seed in range(RUNS)]
            )
            for one in asked
        ],
        "the same number of pulls for each arm, then one test with the same promise": [
            plan.costs[0].median for plan in plans
        ],
        "the same number for each, then a guess that is right 19 times in 20": [
            guess_pulls(one) for one in asked
        ],
        "any method with this promise, at least": [one.least for one in asked],
    }
    print(f"| | {' | '.join(SHOWN.values())} |\n|---|{'---|' * len(SHOWN)}")
    for words, figures in rows.items():
        print(f"| {words} | {' | '.join(f'{float(figure):,.0f}' for figure in figures)} |")


if __name__ == "__main__":
    main()
