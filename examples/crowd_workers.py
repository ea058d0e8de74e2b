"""Which annotators are unlike the rest? Gold questions tell, and each one costs money.

A gold question is one whose right answer is known. Thirty workers can be shown any of 400 of them,
each at most once, among their usual tasks. A shown question is paid like any other, so show as few
as possible, to the workers who are in doubt. Workers and questions are made up here.
"""

import random

import oddarm

COST = 0.08  # of one shown question, in euros
LABELS = ["cat", "dog", "fox", "hen"]

rng = random.Random(5)
GOLD = {f"picture-{number:03}": rng.choice(LABELS) for number in range(400)}
error_rate = {f"worker-{number:02}": rng.uniform(0.04, 0.12) for number in range(1, 31)}
error_rate |= {"worker-11": 0.55, "worker-23": 0.62}


def label(worker: str, picture: str) -> str:
    """Show a picture to a worker and return the label: put a call of your platform here."""
    chance = random.Random(f"{worker}/{picture}")
    if chance.random() >= error_rate[worker]:
        return GOLD[picture]
    return chance.choice([other for other in LABELS if other != GOLD[picture]])


def is_wrong(question: tuple[str, str]) -> bool:
    """Return whether a worker answers a gold question wrongly."""
    worker, picture = question
    return label(worker, picture) != GOLD[picture]


def main() -> None:
    """Show gold questions until the answer is sure, and say what that cost."""
    questions = {worker: [(worker, picture) for picture in GOLD] for worker in error_rate}
    pool = oddarm.sources.PoolSource(questions, is_wrong)
    # Who is wrong at least 20 points more, or less, often than every other worker?
    result = oddarm.find(pool, min_gap=0.2, max_outliers=3)
    result = result.with_nouns("workers", "questions")
    all_cost = len(error_rate) * len(GOLD) * COST
    print(result.summary)
    print(f"The questions cost €{result.pulls * COST:,.2f}; all of them, €{all_cost:,.2f}.")
    print()
    print(result.table(5))


if __name__ == "__main__":
    main()
