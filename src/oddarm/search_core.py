"""A search by index, without names: what the runner and studies drive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oddarm._checks import whole_number
from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import ParameterError
from oddarm.ledger import Ledger
from oddarm.state import Arms, Kind, OrNone, Real, Word, damaged, require
from oddarm.strategies import Run, RunContext, Strategy, Verdict
from oddarm.tally import Tally

__all__ = ["SearchCore"]

MOST_ASKED = 10**7
"""The most arms that one ask returns: more do not fit the memory of one machine."""


class SearchCore:
    """Asks, tells and failed arms of one search; an arm is its index, from 0 to n - 1.

    When arms have failed, the run numbers the others anew. `live` has their indices.

    Args:
        strategy: Makes the run.
        context: What the run may know, with all arms.
        ledger: Which pulls may be asked for.

    Attributes:
        tally: The rewards of all arms.
        ledger: Which pulls may still be asked for.
        failed: The arms that have failed, and why.
        live: The indices of the other arms; None if no arm has failed.
        run: The run of the strategy.
        short: The arms that the search needs and that have no rows left, if it ended with "rows".
    """

    def __init__(self, strategy: Strategy, context: RunContext, ledger: Ledger) -> None:
        self.tally: Tally = context.tally
        self.ledger = ledger
        self._strategy = strategy
        self._context = context
        self.short: list[int] = []
        self._start({})

    @property
    def verdict(self) -> Verdict:
        """Why the search ended, or "running"."""
        if self.run.verdict != "running":
            return self.run.verdict
        return "rows" if self.short else "budget" if self.ledger.unspent == 0 else "running"

    def short_arms(self) -> list[int]:
        """Return the arms that had too few rows, if the search ended with "rows"."""
        arms = self.run.short_arms()
        return self.short or [int(arm if self.live is None else self.live[arm]) for arm in arms]

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.verdict != "running"

    def ask(self, limit: int | None) -> list[int]:
        """Return the arms to pull next, as `Search.ask` describes."""
        return list(map(int, self._ask(limit, self.run.ask)))  # a run may give numpy's numbers

    def ask_indices(self, limit: int | None) -> Indices:
        """Return the same as an array; quicker for many arms."""
        return np.asarray(self._ask(limit, self.run.ask_indices), dtype=np.intp)

    def _ask(self, limit: int | None, ask: Callable[[int | None], Any]) -> Any:
        """Return what was given back, else what the run asks for, as far as the ledger allows."""
        at_most = None if limit is None else min(whole_number("limit", limit, 1), MOST_ASKED)
        ledger = self.ledger
        if self.run.verdict != "running" or self.short or ledger.room == 0:
            return []
        ledger.reconsider()
        unspent = ledger.unspent
        wanted = at_most if at_most is None or unspent is None else min(at_most, unspent)
        tried: set[int] = set()
        tried_all = False
        while True:
            while ledger.given_back:
                again = ledger.admit(ledger.take_back(at_most))
                if again:  # else their arms were used up in another way, or they cost too much
                    return again
            if tried_all:
                self._end_early(tried)
                return []
            self.run.in_flight = ledger.in_flight > 0
            arms = ask(wanted)
            if self.live is not None:
                arms = self.live[np.asarray(arms, np.intp)]
            allowed = ledger.admit(arms)
            if len(allowed) or ledger.in_flight:
                break
            # All that the run wants costs too much, or has no rows left. Its next round may have
            # other arms.
            if not ledger.refused and self._context.rewards.rows is None:
                break
            tried_all = tried.issuperset(map(int, arms))
            tried.update(map(int, arms))
            wanted = None if ledger.refused else wanted
        if at_most is not None and len(allowed) > at_most:
            ledger.give_back(list(map(int, allowed[at_most:])))
            allowed = allowed[:at_most]
        return allowed

    def _end_early(self, wanted: set[int]) -> None:
        """End the search, unless it is decided: the arms it needs cost too much or have no rows."""
        if self.ledger.refused:
            self.ledger.end()
        elif self.run.verdict == "running":
            used_up = np.flatnonzero(self.tally.counts == self.tally.limits)
            self.short = sorted(wanted) or used_up.tolist()

    def tell(self, arm: int, rewards: Floats) -> None:
        """Count checked rewards of one arm; those of an arm that failed are ignored."""
        if len(rewards) == 0 or arm in self.failed:
            return
        decided = self.done
        self.tally.add(arm, rewards)
        place = arm
        if self.live is not None:
            place = int(np.searchsorted(self.live, arm))
            self.run.tally.add(place, rewards)
        if not decided:
            self.run.update(place)

    def tell_in_turn(self, arms: Indices, sizes: Wholes, rewards: Floats) -> int:
        """Count checked rewards of distinct arms as `tell` would, arm by arm, until all is decided.

        Args:
            arms: The arms, in the order in which they are told.
            sizes: How many rewards each has.
            rewards: The rewards, one arm after the other.

        Returns:
            How many arms were told.
        """
        ends = np.cumsum(sizes)
        told = 0
        while told < len(arms) and not self.done:
            first = int(ends[told] - sizes[told])
            together = 1
            if self.live is None:
                together = self.run.until_decision(arms[told:], sizes[told:])
            upto = told + together
            if together == 1:
                self.tell(int(arms[told]), rewards[first : ends[told]])
            else:
                named = slice(told, upto)
                self.tally.add_block(arms[named], sizes[named], rewards[first : ends[upto - 1]])
                self.run.update_many(arms[named])
            told = upto
        return told

    def tell_many(self, arms: Indices, rewards: Floats) -> None:
        """Count checked rewards of many arms; those of arms that failed are ignored.

        The run decides once, after the last reward.
        """
        if self.live is not None:
            alive = np.isin(arms, self.live)
            arms, rewards = arms[alive], rewards[alive]
        if len(arms) == 0:
            return
        decided = self.done
        self.tally.add_many(arms, rewards)
        places = arms
        if self.live is not None:
            places = np.searchsorted(self.live, arms)
            self.run.tally.add_many(places, rewards)
        if not decided:
            self.run.update_many(places)

    def give_back(self, arms: Iterable[int]) -> None:
        """Let the next asks return pulls that will not be told, as `Search.give_back` describes."""
        if self.run.verdict == "running":
            self.ledger.give_back([arm for arm in arms if arm not in self.failed])

    def set_aside(self, arm: int, reason: str) -> None:
        """Go on without an arm, as `Search.set_aside` describes."""
        if self.done or arm in self.failed:
            return
        self._check_left(len(self.failed) + 1)
        self.ledger.drop(arm)
        self._start_over({**self.failed, arm: reason})

    def start_over(self) -> None:
        """Start the run over on the rewards told so far; the promise stays the same."""
        self.short = []
        self._start_over(self.failed)

    def ranked(self, places: Indices) -> Indices:
        """Return all arms in the order of the run's arms, those that failed last."""
        if self.live is None:
            return places
        return np.concatenate([self.live[places], np.array([*self.failed], dtype=np.intp)])

    def indices(self, places: Sequence[int]) -> list[int]:
        """Return the indices of arms that the run names by its own numbers."""
        return list(places) if self.live is None else self.live[list(places)].tolist()

    def to_dict(self, in_flight: Iterable[int]) -> dict[str, Any]:
        """Return the part of the search's state that has no names, as JSON values.

        Args:
            in_flight: Pulls that the state gives back, in order.
        """
        given_back = [*in_flight, *self.ledger.given_back]
        return {
            "aside": _Failed(len(self.tally.counts)).encode(self.failed),
            "given_back": given_back if self.run.verdict == "running" else [],
            "refused": list(self.ledger.refused.elements()),
            "ended_at": self.ledger.ended_at,
            **({"short": self.short} if self.short else {}),
            "tally": self.tally.to_dict(),
            "run": self.run.to_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `to_dict` returned.

        Raises:
            StateError: The state is damaged; do not use the search then.
        """
        n = len(self.tally.counts)
        self.tally.restore(state.get("tally"))
        failed = _Failed(n).decode(state.get("aside", []), "aside")
        if failed:
            self._check_left(len(failed))
            self._start(failed)
        self.run.restore(state.get("run"))
        given_back = state.get("given_back", [])
        self.give_back(Arms(n, distinct=False).decode(given_back, "given_back"))
        refused = Arms(n, distinct=False).decode(state.get("refused", []), "refused")
        self.ledger.refused.update(arm for arm in refused if arm not in failed)
        self.ledger.ended_at = OrNone(Real()).decode(state.get("ended_at"), "ended_at")
        self.short = Arms(n).decode(state.get("short", []), "short")
        rows = self._context.rewards.rows
        require(rows is not None or not self.short, "only a search on rows can lack rows")

    def _start(self, failed: dict[int, str]) -> None:
        """Start a run over all arms but those that failed."""
        context = self._context
        self.failed = failed
        self.live: Indices | None = None  # made only if needed: there may be 10⁸ arms
        if failed:
            live = [i for i in range(context.n) if i not in failed]
            self.live = np.array(live, dtype=np.intp)
            problem, rewards = context.problem, context.rewards
            # Beyond all neighbours that an arm can have, more of them change nothing.
            neighbours = min(problem.neighbours, len(live) - 2)
            delta = problem.delta * (len(live) / context.n)
            problem = replace(problem, delta=delta, neighbours=neighbours)
            if problem.max_outliers is None:
                rho = 1 - problem.capacity(context.n) / len(live)  # exact, so that c stays
                problem = replace(problem, rho=rho)  # type: ignore[arg-type]
            for sizes in ("pools", "rows"):
                if (of := getattr(rewards, sizes)) is not None:
                    rewards = replace(rewards, **{sizes: tuple(of[i] for i in live)})
            tally = self.tally.take(live)
            costs = None if context.costs is None else context.costs[live]
            budget = context.max_pulls
            context = replace(
                context,
                problem=problem,
                began=context,
                rewards=rewards,
                tally=tally,
                n=len(live),
                costs=costs,
                max_pulls=None if budget is None else budget * len(live) // context.n,
            )
        self.run: Run = self._strategy.start(context)

    def _start_over(self, failed: dict[int, str]) -> None:
        """Start a run over all arms but those that failed, on the rewards told so far."""
        before = self.run
        self._start(failed)
        self.run.replaces(before)

    def _check_left(self, failed: int) -> None:
        """Raise ParameterError if too few arms are left when `failed` arms have failed."""
        n, problem = self._context.n, self._context.problem
        left, c = n - failed, problem.capacity(n)
        if left <= 2 * c or left < 3:
            raise ParameterError(
                f"{left} of {n} arms would be left, must be >= 3 and more than twice the "
                f"{float(c):g} that may be outliers: start a search with more arms."
            )


class _Failed(Kind):
    """Arms that have failed, by index, and why; saved as a list of pairs."""

    def __init__(self, n: int) -> None:
        self.n = n

    def encode(self, value: dict[int, str]) -> Any:
        """Return pairs."""
        return [list(pair) for pair in value.items()]

    def decode(self, value: Any, name: str) -> dict[int, str]:
        """Return the reasons by index."""
        if type(value) is not list or any(type(x) is not list or len(x) != 2 for x in value):
            raise damaged(name, value, "a list of pairs of an arm and a reason")
        arms = Arms(self.n).decode([arm for arm, _ in value], name)
        return dict(zip(arms, [Word().decode(why, name) for _, why in value], strict=True))
