"""The saved state of a run of the adaptive strategy, in the form that old files have.

The stages are saved as arrays: `stages` has the stage at which each arm was declared, from 1, or 0;
`when` the pulls after which it was; entry 0 of `verdicts` is 1 when no further group is possible,
entry k the verdict on stage k; row k of `judged` has the bounds of stage k. `planner` and `joint`
are missing in runs that 0.1 began: every run keeps the planner that it began with.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from oddarm.state import (
    Flags,
    Kind,
    Real,
    Reals,
    Whole,
    Wholes,
    Word,
    decode_fields,
    mapping,
    require,
)
from oddarm.strategies.adaptive.certify import Judgement, Stage
from oddarm.strategies.adaptive.constants import (
    FIRST_CAUTION,
    LARGE_CAUTION_STEP,
    MAX_CAUTION,
    OLD_PLANNER,
    PATIENCE,
    PLANNER,
    SECOND_PLANNER,
    SHARES,
)
from oddarm.strategies.base import without_gaps

if TYPE_CHECKING:
    from oddarm.strategies.adaptive.run import AdaptiveRun

__all__ = ["encoded", "fields", "restore"]

AS_THEY_ARE = ("verdict", "low", "high", "dirty", "asked", "patience", "caution")
"""Attributes of a run that are saved under their own names."""
PLANNERS = Whole(SECOND_PLANNER, PLANNER)
"""What a state names; one of 0.1 names none."""


def fields(run: AdaptiveRun) -> dict[str, Kind]:
    """Return the saved attributes and the kind of each."""
    n, rewards, max_members = run.context.n, run.context.rewards, run.max_members
    share = Whole(0, len(SHARES) - 1)
    ends, wholes = Reals(n, rewards.low, rewards.high), Wholes(n)
    kinds: dict[str, Kind] = {
        "verdict": Word("running", "ranked", "confirmed", "none", "scattered"),
        "low": ends,
        "high": ends,
        "dirty": Flags(n),
        "asked": wholes,
        "quota": wholes,
        "goal": wholes,
        "stages": Wholes(n, 0, max_members),
        "when": Reals(n, 1, max(run.tally.pulls, 1), nan=True),
        "verdicts": Wholes(max_members + 2, -1, 1),
        "judged": Reals((max_members + 2, 4), -np.inf, np.inf),
        "share": share,
        "base": share,
        "patience": Whole(0, PATIENCE),
        "caution": Real(FIRST_CAUTION, MAX_CAUTION * LARGE_CAUTION_STEP),
        "pairs": Real(0.0, run.pair_delta),
    }
    if run.planner != OLD_PLANNER:  # whose files have neither
        kinds["planner"] = PLANNERS
        kinds["joint"] = Real(0.0, run.joint_delta)
    return kinds


def encoded(run: AdaptiveRun) -> SimpleNamespace:
    """Return the state under the names of `fields`."""
    n, rows = run.context.n, run.max_members + 2
    saved = SimpleNamespace(**{name: getattr(run, name) for name in AS_THEY_ARE})
    saved.quota, saved.goal, saved.pairs = run.round.quota, run.round.goal, run.pair_delta
    saved.share, saved.base = run.shares
    saved.planner, saved.joint = run.planner, run.joint_delta
    saved.stages, saved.when = np.zeros(n, dtype=np.int64), run.scores()
    saved.verdicts, saved.judged = np.zeros(rows, dtype=np.int64), np.zeros((rows, 4))
    saved.verdicts[0] = run.complete
    for k, stage in enumerate(run.stages, start=1):
        saved.stages[stage.new] = k
        saved.verdicts[k], saved.judged[k] = stage.judgement.verdict, stage.judgement.bounds
    return saved


def restore(run: AdaptiveRun, values: Any) -> None:
    """Give a run the state that was saved; StateError if it is damaged."""
    begun = mapping(values, "run")
    named = "planner" in begun
    run.begin_with(PLANNERS.decode(begun["planner"], "run.planner") if named else OLD_PLANNER)
    saved = SimpleNamespace(joint=0.0)
    decode_fields(saved, fields(run), values, "run")
    for holds, rule in _rules(run, saved):
        require(holds, rule)
    for name in AS_THEY_ARE:
        setattr(run, name, getattr(saved, name))
    run.pair_delta, run.joint_delta = saved.pairs, saved.joint
    run.shares = saved.share, saved.base
    run.round.fill(saved.quota)
    run.round.goal[:] = saved.goal
    run.round.note_all(run.tally.counts)
    run.complete, run.stages = bool(saved.verdicts[0]), []
    for k in range(1, int(saved.stages.max()) + 1):
        new = np.flatnonzero(saved.stages == k)
        stage = Stage.after(run.stages, new, int(saved.when[new[0]]), run.context.n)
        stage.judgement = Judgement(int(saved.verdicts[k]), tuple(saved.judged[k].tolist()))
        run.stages.append(stage)


def _rules(run: AdaptiveRun, saved: SimpleNamespace) -> Iterator[tuple[bool | np.bool_, str]]:
    """Yield the rules between saved fields and the tally: whether each holds, and its words.

    Each is checked before the next is computed, so a rule may rely on those before it.
    """
    counts, over = run.tally.counts, saved.verdict != "running"
    yield (saved.low <= saved.high).all(), "no interval has its ends crossed"
    yield (
        not (saved.dirty & (counts == 0)).any(),
        "only an arm with rewards has an interval to update",
    )
    current = (counts > 0) & ~saved.dirty
    widths = saved.high[current] - saved.low[current]
    yield np.isfinite(widths).all(), "the interval of every arm that was pulled is finite"
    declared, last = saved.stages > 0, int(saved.stages.max())
    limit = run.max_members
    scattered = run.context.problem.absolute and saved.verdict == "scattered"
    few = int(declared.sum()) <= limit
    yield few != scattered, f"at most {limit} arms are declared, unless they are scattered"
    yield without_gaps(saved.stages), "stages are numbered without gaps"
    yield (
        (np.isnan(saved.when) == ~declared).all(),
        "every declared arm has the pulls after which it was",
    )
    yield saved.verdicts[0] >= 0, "verdicts begin with 0 or 1"
    yield not saved.verdicts[last + 1 :].any(), "no more is judged than declared"
    yield run.ready or not (over or last), "nothing is declared before every arm was pulled"
    if run.context.problem.absolute:
        judged = int(saved.verdicts[1])
        end = "confirmed" if judged == 1 else "scattered" if last else "none"
        yield last <= over, "nothing is declared before the answer"
    elif run.context.until == "ranked":
        end = "ranked" if last else "none"
    else:
        end = "confirmed" if (saved.verdicts[1:] == 1).any() else "none"
    yield saved.verdict in ("running", end), "the verdict fits what is declared and judged"
