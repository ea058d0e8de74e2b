"""How often plain tests call one of 20 equal arms odd, by looks: the figures of docs/faq.md.

Every arm fails in 10 % of its pulls, so nobody is odd. All arms get 50 more pulls before each look.
A look compares each arm with all others by a z-test. oddarm is told the same rewards.

Run as `python tools/looks_table.py`; it takes some minutes.
"""

import numpy as np
from scipy import stats

import oddarm

ARMS, RATE, LOOKS, PULLS, RUNS = 20, 0.1, 20, 50, 200


def p_values(failures: np.ndarray, pulls: int) -> np.ndarray:
    """Return the two-sided p-value of each arm against all others together."""
    everything = failures.sum()
    mean, rest = failures / pulls, (everything - failures) / (pulls * (ARMS - 1))
    pooled = everything / (pulls * ARMS)
    error = np.sqrt(pooled * (1 - pooled) * (1 / pulls + 1 / (pulls * (ARMS - 1))))
    return 2 * stats.norm.sf(abs(mean - rest) / error)


def one_run(seed: int) -> np.ndarray:
    """Return who called an arm odd: a test at one look, corrected, at all looks, corrected; we."""
    rewards = np.random.default_rng(seed).random((ARMS, LOOKS, PULLS)) < RATE
    failures = rewards.sum(axis=2).cumsum(axis=1)
    least = [p_values(failures[:, look], (look + 1) * PULLS).min() for look in range(LOOKS)]
    search = oddarm.Search(ARMS, min_gap=0.05)
    ours = False
    for look in range(LOOKS):
        for arm in range(ARMS):
            search.tell(arm, rewards[arm, look])
        ours = ours or bool(search.result().outliers)
    corrected = 0.05 / ARMS
    return np.array(
        [least[-1] < 0.05, least[-1] < corrected, min(least) < 0.05, min(least) < corrected, ours]
    )


def main() -> None:
    """Print the share of runs in which somebody is called odd."""
    shares = np.mean([one_run(seed) for seed in range(RUNS)], axis=0)
    names = (
        "a test of each arm at 5 %, one look",
        "the same, corrected for 20 arms (Bonferroni)",
        "a test of each arm at 5 %, 20 looks",
        "the same, corrected for 20 arms",
        "oddarm, min_gap=0.05, 20 looks",
    )
    for name, share in zip(names, shares, strict=True):
        print(f"{name:46} {share:6.1%}")


if __name__ == "__main__":
    main()
