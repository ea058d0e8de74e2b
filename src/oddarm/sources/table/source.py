"""A table as a source: its rows are the rewards, each at most once, in random order per arm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from oddarm._checks import whole_number
from oddarm._streams import streams, uniforms
from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import ParameterError, SourceError
from oddarm.rewards import Bernoulli, Bounded, Rewards, RowsKind, SubGaussian, as_rewards
from oddarm.sources.base import Job, ListedSource
from oddarm.sources.fingerprint import Fingerprint
from oddarm.sources.table.rows import ShuffledRows, check_declared, doubts, supposed

__all__ = ["TableSource"]

# Rows are read ahead, a few thousand of each arm and a few million in all, so that few draws cost a
# query.
_AHEAD = 4096
_AHEAD_IN_ALL = 1 << 22


class TableSource(ListedSource):
    """The rows of a table, as `oddarm.open_table` opens it.

    Args:
        rows: The rows in a random order per arm.
        rewards: "bernoulli", a range (low, high) or a model; default 0/1 if all rewards are, else
            the range of the rewards in the table.
        replace: Draw with replacement, endlessly; otherwise each row comes once.
        seed: Decides the draws with replacement.
        kind: Whether the rows are a "sample" of what the arms do, or "all" that there is.

    Attributes:
        note: What was assumed about the rewards, in words; empty if nothing was.
        warning: What makes an answer unlikely, in a sentence; empty if nothing does.
        left_out: The arms that have too few rows.
    """

    local: ClassVar[bool] = True
    blocks: ClassVar[bool] = True

    def __init__(
        self,
        rows: ShuffledRows,
        rewards: str | Sequence[float] | Rewards | None = None,
        *,
        replace: bool = False,
        seed: int = 0,
        kind: RowsKind = "sample",
    ) -> None:
        self.table: ShuffledRows | None = rows
        self.name = rows.name
        self.replace = replace
        self.seed = seed
        self.skipped = rows.skipped
        self.note = ""
        self.left_out = rows.left_out
        self._min_rows = rows.pick.min_rows
        self._sampled = kind == "sample" and not replace
        self._sizes: Wholes = np.array(rows.sizes, dtype=np.int64)
        super().__init__(list(rows.arms), self._model(rows, rewards, kind))
        self.warning = doubts(rows, self._sampled, rows.pick.arm[0])
        n = len(self._arms)
        block = min(max(_AHEAD_IN_ALL // n, 64), _AHEAD, int(self._sizes.max()))
        self._drawn: Wholes = np.zeros(n, dtype=np.int64)
        # A place for each arm, of which the system gives memory only to what is written.
        self._ahead: Floats = np.empty((n, block))
        self._next: Wholes = np.zeros(n, dtype=np.int64)  # the place of the next row
        self._left: Wholes = np.zeros(n, dtype=np.int64)  # the rows from there on
        self._starts, self._increments = streams(seed, n)
        self._seen: dict[int, int] = {}  # by arm, only with replacement, as is this:
        self._known: dict[int, Floats] = {}
        self._fingerprint: Fingerprint | None = None

    @property
    def rows(self) -> int:
        """How many rows there are to draw."""
        return int(self._sizes.sum())

    @property
    def supposes(self) -> Sequence[str]:
        """Which rows and arms are left out, and that a range read off a sample holds beyond it."""
        limits = (self._rewards.low, self._rewards.high) if self.note and self._sampled else None
        return supposed(self.skipped, self.left_out, self._min_rows, limits)

    def draw(self, arm: Any, count: int = 1) -> Floats:
        """Return the next `count` rewards of an arm; fewer only if it has no more rows."""
        return self.draw_block([arm], [whole_number("count", count, least=0)])

    def draw_block(self, arms: Sequence[Any], counts: Sequence[int]) -> Floats:
        """Return the next rewards of several arms, one arm after the other."""
        index = np.array(list(map(self.position, arms)), dtype=np.intp)
        if self.replace:
            pairs = zip(index.tolist(), counts, strict=True)
            return np.concatenate([self._draw_with_replacement(*pair) for pair in pairs])
        return self._draw_once(index, np.array(counts, dtype=np.int64))

    def job(self, arm: Any, count: int = 1) -> Job:
        """Return the next rewards of an arm, read now, so that no row is read twice."""
        return partial(np.array, self.draw(arm, count))

    def seek(self, arm: Any, drawn: int) -> None:
        """Continue with reward number `drawn` of the arm's order."""
        index = self.position(arm)
        drawn = whole_number("drawn", drawn, least=0)
        if self.replace:
            self._drawn[index] = self._seen[index] = 0
            self._draw_with_replacement(index, drawn)
        else:
            self._left[index] = 0
            self._drawn[index] = min(drawn, self._sizes[index])

    def fingerprint(self) -> Fingerprint:
        """Return what was taken from the table and how, and a digest of its rows.

        It depends on the rows of a file in the order of the draws, not on its name or time.
        """
        if self._fingerprint is None:
            self._fingerprint = {
                **self._open().fingerprint(),
                "rewards": self._rewards.of_sizes(None).to_dict(),
                "replace": self.replace,
            }
        return self._fingerprint

    def close(self) -> None:
        """Close files and connections; nothing can be drawn afterwards."""
        if self.table is not None:
            self.table.close()
            self.table = None

    def __repr__(self) -> str:
        return f"<TableSource {self.name}: {self.rows:,} rows of {len(self._arms):,} arms>"

    def _draw_once(self, arms: Indices, counts: Wholes) -> Floats:
        """Return the next rows of distinct arms in the random order of the table."""
        counts = np.minimum(counts, self._sizes[arms] - self._drawn[arms])
        kept = np.minimum(counts, self._left[arms])
        width = self._ahead.shape[1]
        drawn = np.empty(int(counts.sum()))
        places = np.cumsum(counts) - counts
        drawn[_ranges(places, kept)] = self._ahead.ravel()[
            _ranges(arms * width + self._next[arms], kept)
        ]
        self._next[arms] += kept
        self._left[arms] -= kept
        self._drawn[arms] += counts
        short = np.flatnonzero(kept < counts)
        if len(short):
            arms, missing = arms[short], (counts - kept)[short]
            first = self._drawn[arms] - missing
            read = np.minimum(np.maximum(missing, width), self._sizes[arms] - first)
            rows = self._rewards.check(self._open().read(arms, first, read))
            starts, more = np.cumsum(read) - read, read - missing
            drawn[_ranges(places[short] + kept[short], missing)] = rows[_ranges(starts, missing)]
            self._ahead.ravel()[_ranges(arms * width, more)] = rows[_ranges(starts + missing, more)]
            self._next[arms] = 0
            self._left[arms] = more
        return drawn

    def _draw_with_replacement(self, arm: int, count: int) -> Floats:
        """Return rows drawn with replacement, reading only rows that come up for the first time.

        A number below the count of rows seen picks one of them again. Any other number picks a row
        not seen yet, and which row does not matter, since the order of the table is random.
        """
        size, drawn = int(self._sizes[arm]), int(self._drawn[arm])
        u = uniforms(self._starts[arm], self._increments[arm], drawn, count)
        numbers = (u * size).astype(np.int64).tolist()
        seen = self._seen.get(arm, 0)
        for i, number in enumerate(numbers):
            if number >= seen:
                numbers[i] = seen
                seen += 1
        known = self._known.get(arm, np.empty(0))
        if len(known) < seen:
            end = min(max(seen, 2 * len(known), len(known) + self._ahead.shape[1]), size)
            more = np.array([end - len(known)])
            read = self._open().read(np.array([arm]), np.array([len(known)]), more)
            known = self._known[arm] = np.concatenate([known, self._rewards.check(read)])
        self._drawn[arm] += count
        self._seen[arm] = seen
        return known[np.array(numbers, dtype=np.int64)]

    def _open(self) -> ShuffledRows:
        if self.table is None:
            raise SourceError(f"{self.name} is closed: open it again with oddarm.open_table.")
        return self.table

    def _model(
        self, rows: ShuffledRows, rewards: str | Sequence[float] | Rewards | None, kind: RowsKind
    ) -> Rewards:
        model = self._inferred(rows) if rewards is None else as_rewards(rewards)
        check_declared(rows, model)
        if isinstance(model, SubGaussian) and kind == "all" and not self.replace:
            raise ParameterError(
                "sub-Gaussian rewards of a table with rows='all', whose rewards have a range: "
                "leave rewards out, declare the range (low, high), or pass rows='sample'."
            )
        return model.of_sizes(None if self.replace else tuple(rows.sizes), kind)

    def _inferred(self, rows: ShuffledRows) -> Rewards:
        if rows.zero_one:
            return Bernoulli()
        if rows.low == rows.high:
            raise SourceError(
                f"every reward of {rows.name} is {rows.low:g}, so no arm can differ: "
                "name another column as the reward."
            )
        self.note = (
            f"Rewards range from {rows.low:g} to {rows.high:g}, "
            "the least and the greatest of the table."
        )
        return Bounded(minimum=rows.low, maximum=rows.high)


def _ranges(starts: Wholes, counts: Wholes) -> Wholes:
    """Return the numbers of ranges, one after the other: `counts` of them from each start on."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
