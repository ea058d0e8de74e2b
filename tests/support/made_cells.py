"""Made-up cells, as the evaluation would measure them."""


def cell(figure="synthetic", strategy="gold", pulls=1_000, right=4, runs=None, **changes):
    """Make a cell of four runs, `right` of them correct."""
    made = {
        "figure": figure,
        "instance": "one",
        "kind": "upper",
        "n": 20,
        "epsilon": 2.5,
        "strategy": strategy,
        "k": None if strategy in ("gold", "adaptive") else 2.0,
        "radii": "bernoulli",
        "delta": 0.1,
        "cap": 1_000_000,
        "correct": [run < right for run in range(4)],
        "f1": [1.0 if run < right else 0.5 for run in range(4)],
        "pulls": [pulls + 10 * run for run in (-1, 0, 0, 1)],
        "capped": [False] * 4,
        "planned_runs": 4,
        "seconds": 0.5,
    }
    return made | (runs or {}) | changes


def capped(**changes):
    """Make a cell that stopped after two runs at the cap."""
    short = {"correct": [False] * 2, "f1": [0.0] * 2, "capped": [True] * 2}
    return cell(runs=short | {"pulls": [1_000_000] * 2}, **changes)


def synthetic(radii="bernoulli"):
    """Make cells in which everything is as the paper says."""
    cells = []
    for kind in ("upper", "intermediate"):
        for n in (20, 50):
            where = {"instance": f"{kind}-{n}-2.5", "kind": kind, "n": n, "radii": radii}
            cells.append(cell(**where))
            for name in ("rr", "wrr"):
                for k in (2.0, 2.5, 3.0):
                    right = 4 if kind == "upper" and k == 2.5 else 0
                    cells.append(
                        cell(strategy=name, k=k, right=right, pulls=int(4_000 * k), **where)
                    )
            cells += [cell(strategy=name, right=1, **where) for name in ("nrr", "ib")]
    return cells


def real(figure):
    """Make cells of two instances as the paper reports them."""
    cells = []
    for instance in ("red", "blue"):
        for name, right, pulls in (
            ("gold", 4, 1_000),
            ("wrr", 4 if figure == "keywords" else 3, 10_000),
            ("rr", 3, 20_000),
            ("nrr", 1, 2_000),
        ):
            cells.append(cell(figure, name, pulls, right, instance=instance))
    return cells


def along_epsilon(*pulls):
    """Make GOLD's cells at ε = 1, 2 and so on."""
    return [
        cell("epsilon", pulls=count, epsilon=float(at), instance=f"upper-{at}")
        for at, count in enumerate(pulls, start=1)
    ]


def everything():
    """Make cells for every figure and two kinds of radii."""
    return [
        *synthetic(),
        *synthetic("anytime"),
        *real("keywords"),
        *real("clicks"),
        *along_epsilon(900, 500, 300),
        cell(strategy="adaptive", instance="upper-20-2.5"),
    ]
