"""What the forms of GOLD share: whose turn it is, which arms are terminal, and the ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats, Indices
from oddarm.bounds import RadiusBound, radius_bound
from oddarm.errors import ParameterError
from oddarm.state import Kind, Whole, Wholes, Word
from oddarm.strategies.base import Run, RunContext, without_gaps

__all__ = ["SweepRun"]


class SweepRun(Run):
    """Pulls the arms in play in turn; a *terminal* arm is out of play and has a score.

    Attributes:
        position: The arm at which the sweep goes on.
        score: S, the pulls in all at which an arm became terminal; 0 for an arm in play.
        stage: 1, 2, … in the order in which arms became terminal; 0 for an arm in play.
    """

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        n, problem = context.n, context.problem
        if context.rewards.pools is not None:
            raise ParameterError(
                "finite pools with strategy 'gold': its radius is for endless rewards, "
                "drop pools or draw with replacement."
            )
        self.b = problem.b
        self.max_members = problem.max_members(n)
        # Line 11 stops at |Ψ̂| ≥ n(1-ρ). Where that is not a whole number, it waits for an arm more
        # than any group can have; the rigorous version does not.
        self.enough = (
            math.ceil(problem.capacity(n)) if context.bound == "paper" else self.max_members
        )
        self.radius: RadiusBound = radius_bound(context.rewards, n, problem.delta, context.bound)
        self.position = 0
        self.score: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.stage: NDArray[np.int64] = np.zeros(n, dtype=np.int64)

    @property
    def bound(self) -> RadiusBound:
        """The radius that decides, here without the coefficient b."""
        return self.radius

    @property
    def terminal(self) -> NDArray[np.bool_]:
        """Ψ̂: the arms whose community has become small."""
        return self.stage > 0

    @property
    def in_play(self) -> Indices:
        """N of line 12: the arms that are not terminal."""
        return np.flatnonzero(self.stage == 0)

    @property
    def in_turn(self) -> bool:
        """Whether the arms in play have had their pulls in turn, up to the position."""
        in_play = self.in_play
        before = self.tally.counts[in_play] - (in_play < self.position)
        return bool((before == before[0]).all())

    def rest_of_sweep(self) -> Indices:
        """Return the arms that are left of the sweep; all in play if it is over."""
        in_play = self.in_play
        rest = in_play[np.searchsorted(in_play, self.position) :]
        return rest if len(rest) else in_play

    def ask(self, limit: int | None) -> Sequence[int]:
        """Lines 3 and 11 to 13: go on with the sweep over the arms in play, in the given order."""
        return self.ask_indices(limit).tolist()  # type: ignore[no-any-return]

    def ask_indices(self, limit: int | None) -> Indices:
        """Return the same as an array."""
        if self.verdict != "running":
            return np.empty(0, dtype=np.intp)
        if limit is None:
            arms = self.rest_of_sweep()
        else:
            in_play = self.in_play
            first = int(np.searchsorted(in_play, self.position))
            arms = in_play[np.arange(first, first + limit) % len(in_play)]
        self.position = (int(arms[-1]) + 1) % self.context.n
        return arms

    def update_terminal(self, communities: list[Indices]) -> None:
        """Procedure UpdateΨ̂andS, lines 30 to 36; S is written once for each arm."""
        stage = int(self.stage.max()) + 1
        for members in communities:  # line 31
            if len(members) <= self.max_members:  # line 32, with ≤ for <: docs/errata.md
                new = members[self.stage[members] == 0]
                self.score[new] = self.tally.pulls  # line 34
                self.stage[new] = stage  # line 35
        if np.count_nonzero(self.stage) >= self.enough:  # line 11
            self.verdict = "ranked"

    def declared(self, order: Indices) -> list[int]:
        """Return the terminal arms, the first to become so first."""
        terminal: list[int] = order[: np.count_nonzero(self.stage)].tolist()
        return terminal

    def scores(self) -> Floats:
        """Return S; nan for an arm that never became terminal."""
        scores = self.score.astype(np.float64)
        scores[self.stage == 0] = np.nan
        return scores

    def order(self) -> Indices:
        """Line 20: rank by S; then by distance of the mean from the median; then as given."""
        distance = self.tally.means
        pulled = ~np.isnan(distance)
        centre = float(np.median(distance[pulled])) if pulled.any() else 0.0
        distance -= centre
        np.abs(distance, out=distance)
        distance[~pulled] = -1.0
        np.negative(distance, out=distance)
        stage = np.where(self.stage > 0, self.stage, np.iinfo(np.int64).max)
        return np.lexsort((distance, stage))

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        n = self.context.n
        return {
            "verdict": Word("running", "ranked"),
            "position": Whole(0, n - 1),
            "score": Wholes(n, 0, self.tally.pulls),
            "stage": Wholes(n, 0, n),
        }

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        terminal = self.terminal
        yield ((self.score > 0) == terminal).all(), "the terminal arms are those with a score"
        yield without_gaps(self.stage), "stages are numbered without gaps"
        enough = np.count_nonzero(terminal) >= self.enough
        over = self.verdict == "ranked"
        yield over == enough, "the run is over if enough arms are terminal"
