"""A study: a search that lives in a database, asked and told by many workers."""

from __future__ import annotations

import copy
import csv
import io
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias, TypeVar

from numpy.typing import ArrayLike

from oddarm._text import csv_cell
from oddarm.errors import OddarmError, ParameterError, StoreError, UnknownStudyError
from oddarm.results.html import framed, paragraph
from oddarm.results.result import Result
from oddarm.results.sentence import counted
from oddarm.search import Search
from oddarm.store.clock import Clock
from oddarm.store.database.base import Connection, Database
from oddarm.store.draws import ids_of
from oddarm.store.history import Moment, kept, read_history
from oddarm.store.info import SHOWN, Leases, Pull, StudyInfo, Worker, study_info
from oddarm.store.live_search import LiveSearch, Statement, another_number
from oddarm.store.log import arms_of, loads
from oddarm.store.transaction import LEASE_SECONDS, StudyTransaction
from oddarm.strategies import Strategy

__all__ = ["Action", "Study", "study_result"]

T = TypeVar("T")
Action: TypeAlias = Callable[[StudyTransaction], Any]
"""What somebody wants of a transaction. It may be run again, if others wrote meanwhile."""

TRIES = 3
"""How often to plan outside the database's lock before it is done within."""
MANY_ARMS = 500
"""From how many arms on a plan takes so long that it is tried again outside the lock."""

TABLES = tuple(
    f"oddarm_{name}" for name in ("events", "snapshots", "leases", "keys", "arms", "history")
)
"""The tables that hold a study beside its row."""
COLUMNS = ("seq", "at", "pull", "arm", "reward")
"""What an export says of each reward."""


class Study:
    """A named search in a database. Make one with `create_study` or `open_study`.

    A study may be open in many threads and processes: each write takes its turn, and counts only if
    the search in memory has all that the others wrote. When a write returns, it is on disk.

    The search plans before the write takes its turn, so a plan that takes long keeps nobody from
    the database. If others wrote to the study meanwhile, the search catches up and plans again; at
    the last try it plans while the others wait, so that it comes to an end. Plans for few arms are
    quick: if others write to such a study, too, it plans at once while they wait.

    Args:
        database: Where the study lives.
        name: Its name.
        strategy: Its strategy, if that is one of your own; those of oddarm are found by name.
        clock: Tells the time.

    Examples:
        >>> import oddarm, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> study = oddarm.create_study(f"{folder.name}/s.db", "demo", list("abcd"), max_outliers=1)
        >>> pulls = study.ask(2)
        >>> [pull.arm for pull in pulls]
        ['a', 'b']
        >>> study.tell(pulls[0].id, 1), study.tell(pulls[0].id, 1)
        (True, False)
        >>> study.result().pulls
        1
        >>> study.close()
        >>> folder.cleanup()
    """

    def __init__(
        self,
        database: Database,
        name: str,
        *,
        strategy: Strategy | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._database = database
        self._lock = threading.RLock()
        self._in_batch = False
        with database.transaction() as connection:
            row = connection.execute(
                "SELECT id FROM oddarm_studies WHERE name = ?", (name,)
            ).fetchone()
            if row is None:
                raise UnknownStudyError(
                    f"study {name!r} is not in {database.url}: create it, or list what is there."
                )
            self._id = int(row[0])
            self._live = LiveSearch(self._id, name, strategy, clock or Clock())
            unread = self._live.read(connection)
        self._live.apply(unread)
        self._names = self._live.search.names  # which never change

    @property
    def arms(self) -> int:
        """How many arms the study has."""
        return len(self._names)

    @property
    def held_bytes(self) -> int:
        """About how much memory the search holds while the study is open."""
        return self._live.held_bytes

    @property
    def pulls(self) -> int:
        """How many rewards count, as far as this process has read."""
        return self._live.search.pulls if self._live.is_read else 0

    @property
    def pulls_out(self) -> int:
        """How many pulls were neither told nor given up, as far as this process has read."""
        return self._live.draws.out

    def ask(
        self,
        limit: int | None = None,
        *,
        lease_seconds: float = LEASE_SECONDS,
        worker: str | None = None,
    ) -> list[Pull]:
        """Return pulls for the caller to make; until they expire, no other worker gets them.

        Pulls that have expired are handed out again first, under the same id, unless the
        study has an `expired_reward`.

        Args:
            limit: The most pulls to return; None for one natural round of the strategy.
            lease_seconds: How long until the pulls expire.
            worker: What the caller is called, for `leases`; up to 250 characters.

        Returns:
            Pulls; empty when the study is done or paused, or when its budget or its finite pools
            allow no more beside those in flight.
        """
        return self._do(lambda batch: batch.ask(limit, lease_seconds=lease_seconds, worker=worker))

    def tell(self, pull: str, reward: float) -> bool:
        """Report the reward of a pull; return False, and change nothing, if it was told before.

        The search counts the rewards of an arm in the order in which they were asked for. A reward
        is on disk when this returns; it counts once every earlier pull of its arm was told, has
        expired with an `expired_reward`, or was given up.

        Raises:
            UnknownPullError: The study never handed out that pull.
            RewardError: The reward does not fit the declared model.
        """
        return self.tell_many({pull: reward}) == 1

    def tell_many(self, rewards: Mapping[str, float]) -> int:
        """Report rewards by the id of their pull; return how many were not told before.

        All are taken or, if one is refused, none.
        """
        return self._do(lambda batch: batch.tell_many(rewards))

    def tell_arm(self, arm: Hashable, rewards: ArrayLike, *, key: str) -> bool:
        """Report rewards of an arm that nobody asked for, such as ones measured before.

        Args:
            arm: The arm.
            rewards: One reward or several.
            key: A name of your own for these rewards; told again under it, they change nothing.

        They count at once. Report all that you have: which rewards are reported must not depend
        on their values.

        Returns:
            Whether they were new.

        Raises:
            KeyReusedError: Other rewards, or those of another arm, were told under the key.
        """
        return self._do(lambda batch: batch.tell_arm(arm, rewards, key=key))

    def give_up(self, pulls: Iterable[str]) -> int:
        """Say that pulls will never be told; return how many were still out.

        Later rewards of their arms wait for them no longer, and the search may ask for others in
        their place. From then on the result says that its promise supposes that losing a pull does
        not depend on its reward: if it may, as with a time-out, tell a reward instead.

        Args:
            pulls: The ids of the pulls.

        Raises:
            UnknownPullError: The study never handed out one of them.
        """
        ids = pulls if isinstance(pulls, str) else list(pulls)  # which may be read twice
        return self._do(lambda batch: batch.give_up(ids))

    def forget_pulls(self) -> int:
        """Give up every pull that is out, and take none that was ever handed out; return how many.

        This is for a study whose database was restored from a backup (`oddarm restored`). Workers
        may hold pulls that were handed out after the backup. The study does not know of them, and
        would give their ids to pulls of other arms. So its pulls get ids of another kind.
        """
        with self._alone():
            try:
                with self._database.transaction(write=True) as connection:
                    self._live.catch_up(connection, self._database.row_lock)
                    batch = StudyTransaction(self._live, lambda: nullcontext(connection))
                    forgotten = batch.give_up_all()
                    _write(connection, batch.finish())
                    new = another_number(self._id)
                    for table in TABLES:
                        change = f"UPDATE {table} SET study = ? WHERE study = ?"
                        connection.execute(change, (new, self._id))
                    connection.execute(
                        "UPDATE oddarm_studies SET id = ? WHERE id = ?", (new, self._id)
                    )
            except BaseException:
                self._live.undo()
                raise
            self._id, self._live = new, self._live.renumbered(new)
        return forgotten

    def set_aside(self, arm: Hashable, reason: str) -> bool:
        """Go on without an arm that cannot be pulled any more, as `Search.set_aside` does.

        Its pulls in flight may still be told; that changes nothing.

        Args:
            arm: The arm.
            reason: Why, in up to 1000 characters, for `Result.errors`.

        Returns:
            False if it was set aside before, or if the study is done.

        Raises:
            ParameterError: Too few arms would be left.
        """
        return self._do(lambda batch: batch.set_aside(arm, reason))

    @contextmanager
    def batch(self) -> Iterator[StudyTransaction]:
        """Give a `StudyTransaction`, with which many asks and tells are one transaction.

        What its methods refuse leaves no trace; any other error undoes the whole transaction.
        Others who write wait until it ends.
        """
        with self._alone(), self._inside() as batch:
            yield batch

    def transact(self, actions: Sequence[Action], *, plan: bool = True) -> list[Any]:
        """Carry out actions in one transaction, planned outside the database's lock.

        Args:
            actions: Each gets the transaction. If others write to the study meanwhile, all are
                carried out again.
            plan: Whether asks may plan. If not, they hand out no pulls but those that have expired.

        Returns:
            What each action returned, or the error by which it was refused. What is refused leaves
            no trace; any other error undoes the whole transaction.
        """
        with self._alone():
            for _ in range(TRIES):
                if self._live.shared and self.arms < MANY_ARMS:
                    break
                outcomes = self._try_outside(actions, plan)
                if outcomes is not None:
                    return outcomes
            with self._inside(plan) as batch:
                return _outcomes(batch, actions)

    def _do(self, action: Callable[[StudyTransaction], T]) -> T:
        """Return what one action returns for a transaction; raise what it was refused by."""
        outcome: Any = self.transact([action])[0]
        if isinstance(outcome, OddarmError):
            raise outcome
        result: T = outcome
        return result

    @contextmanager
    def _inside(self, plan: bool = True) -> Iterator[StudyTransaction]:
        """Give a transaction of the database's own: nobody else writes until it ends."""
        batch = None
        try:
            with self._database.transaction(write=True) as connection:
                self._live.catch_up(connection, self._database.row_lock)
                batch = StudyTransaction(self._live, lambda: nullcontext(connection), plan)
                yield batch
                _write(connection, batch.finish())
        except BaseException:
            if batch is None or batch.advanced:
                self._live.undo()
            raise

    def _try_outside(self, actions: Sequence[Action], plan: bool) -> list[Any] | None:
        """Return the outcomes of actions; None, with nothing written, if others wrote meanwhile.

        What others wrote may change any answer, also a refusal. So nothing is answered unless the
        study is still where it was when the actions began.
        """
        live = self._live
        batch = None
        try:
            if live.shared or not live.is_read:
                self._catch_up()
            batch = StudyTransaction(live, self._database.transaction, plan)
            outcomes = _outcomes(batch, actions)
            statements = batch.finish()
            with self._database.transaction(write=bool(statements)) as connection:
                lock = self._database.row_lock if statements else ""
                alone = live.is_current(connection, batch.began, lock)
                if alone:
                    _write(connection, statements)
        except BaseException:
            if batch is not None and batch.advanced:
                live.undo()
            raise
        if alone:
            return outcomes
        if batch.advanced:
            live.undo()
        return None

    def _catch_up(self) -> None:
        """Bring the search to the end of the log, without a transaction while it plans."""
        with self._database.transaction() as connection:
            unread = self._live.read(connection)
        self._live.apply(unread)

    def save_snapshot(self) -> None:
        """Write the state in memory to the database, so that opening the study replays nothing.

        Studies write a snapshot now and then. This is for one that will not be used for a while.
        """
        with self._alone():
            try:
                statements = self._live.snapshot()
                if statements:
                    with self._database.transaction(write=True) as connection:
                        _write(connection, statements)
            except BaseException:
                self._live.undo()
                raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads out, and refuse to use the study inside its own transaction."""
        with self._lock:
            if self._in_batch:
                raise ParameterError(
                    f"study {self.name!r} is used inside a batch of its own: "
                    "use the batch, or end it first."
                )
            self._in_batch = True
            try:
                yield
            finally:
                self._in_batch = False

    def search(self) -> Search:
        """Return a copy of the search as it is now, which the caller may change."""
        with self._alone():
            self._catch_up()
            search = copy.deepcopy(self._live.search)
            search.supposes += self._live.supposes
            return search

    def result(self) -> Result:
        """Return what is known now; at any time, not only at the end.

        Its `history`, for the plot, is what was noted of this study (`history`).
        """
        history = tuple((moment.pulls, moment.evidence) for moment in self.history())
        return replace(study_result(self.search()), history=history)

    def info(self) -> StudyInfo:
        """Return how far the study is."""
        with self._database.transaction() as connection:
            row = connection.execute(
                f"SELECT {SHOWN} FROM oddarm_studies WHERE id = ?", (self._id,)
            ).fetchone()
        if row is None:
            raise self._live.gone()
        return study_info(row)

    def leases(self) -> Leases:
        """Return which pulls are out, who holds them, and what became of those not told."""
        with self._alone():
            self._catch_up()
            live = self._live
            found, now = live.draws.leases(), live.clock.steady()
            asked: dict[str | None, float] = dict(live.workers.items())
        held = Counter(lease.worker for lease in found)
        late = Counter(lease.worker for lease in found if lease.due <= now)
        workers = [
            Worker(name, held[name], late[name], asked.get(name)) for name in {*held, *asked}
        ]
        workers.sort(key=lambda one: (-(one.asked or 0.0), one.name or ""))
        ends = [lease.due - now for lease in found if lease.due > now]
        numbers = (live.again, live.given_up, live.expired)
        return Leases(len(found), late.total(), min(ends, default=None), *numbers, tuple(workers))

    def history(self) -> list[Moment]:
        """Return how sure the search was when it had fewer pulls, as far as that was noted.

        The service notes it now and then (`note`). There are a few hundred moments at most,
        about evenly spread over the pulls.
        """
        with self._database.transaction() as connection:
            return read_history(connection, self._id)

    def note(self, moment: Moment) -> None:
        """Add a moment to the history, and thin it out."""
        with self._database.transaction(write=True) as connection:
            self._check_there(connection, self._database.row_lock)
            known = read_history(connection, self._id)
            new = kept([*(each for each in known if each.pulls != moment.pulls), moment])
            gone = {each.pulls for each in known} - {each.pulls for each in new if each != moment}
            for pulls in gone:
                connection.execute(
                    "DELETE FROM oddarm_history WHERE study = ? AND pulls = ?", (self._id, pulls)
                )
            if moment in new:
                connection.execute(
                    "INSERT INTO oddarm_history (study, pulls, at, evidence, forecast) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (self._id, moment.pulls, moment.at, moment.evidence, moment.forecast),
                )

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.info().status == "done"

    def pause(self) -> None:
        """Hand out no more pulls; the rewards of those in flight are taken."""
        self._set_paused(1)

    def resume(self) -> None:
        """Hand out pulls again."""
        self._set_paused(0)

    def _set_paused(self, paused: int) -> None:
        with self._database.transaction(write=True) as connection:
            changed = connection.execute(
                "UPDATE oddarm_studies SET paused = ? WHERE id = ?", (paused, self._id)
            )
            if changed.rowcount == 0:
                raise self._live.gone()
        self._live.paused = bool(paused)

    def delete(self) -> None:
        """Delete the study with all its rewards, for good."""
        with self._database.transaction(write=True) as connection:
            # Locked first, so that no other process writes rows that would be left behind.
            self._check_there(connection, self._database.row_lock)
            for table in TABLES:
                connection.execute(f"DELETE FROM {table} WHERE study = ?", (self._id,))
            connection.execute("DELETE FROM oddarm_studies WHERE id = ?", (self._id,))

    def _check_there(self, connection: Connection, lock: str = "") -> None:
        """Raise UnknownStudyError if the study was deleted."""
        row = connection.execute(
            "SELECT 1 FROM oddarm_studies WHERE id = ?" + lock, (self._id,)
        ).fetchone()
        if row is None:
            raise self._live.gone()

    def export(self, format: Literal["jsonl", "csv"] = "jsonl") -> Iterator[str]:  # noqa: A002
        """Yield every reward as a line of text, in the order in which they were told.

        The columns are seq (rewards of one batch share it), at (seconds since 1970), pull (its id,
        or the key it was told under), arm and reward. A CSV file starts with their names, and text
        in it that a spreadsheet would take for a formula follows an apostrophe. The search counts
        the rewards of one arm in the order of their pulls.

        Args:
            format: "jsonl" for one JSON object a line, or "csv".

        Raises:
            UnknownStudyError: The study was deleted, before the call or while lines are read.
        """
        if format not in ("jsonl", "csv"):
            raise ParameterError(f"format == {format!r}, must be 'jsonl' or 'csv'.")
        with self._database.transaction() as connection:
            self._check_there(connection)
        return _lines(self.tells(), format)

    def tells(self, page: int = 200) -> Iterator[dict[str, Any]]:
        """Yield every reward, as `export` describes; a long log is read `page` events at a time."""
        names, tag = self._names, self._live.tag
        last = 0
        while True:
            with self._database.transaction() as connection:
                self._check_there(connection)
                rows = connection.execute(
                    "SELECT seq, at, body FROM oddarm_events WHERE study = ? "
                    "AND kind IN ('tell', 'expired') AND seq > ? ORDER BY seq LIMIT ?",
                    (self._id, last, page),
                ).fetchall()
            for seq, at, text in rows:
                for logged in loads(text):
                    _, rewards, pulls = logged
                    one_key = isinstance(pulls, str)
                    each = [pulls] * len(rewards) if one_key else ids_of(tag, pulls)
                    for arm, pull, reward in zip(arms_of(logged), each, rewards, strict=True):
                        row = (seq, at, pull, names[arm], reward)
                        yield dict(zip(COLUMNS, row, strict=True))
                last = seq
            if len(rows) < page:
                return

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Study {self.name!r} in {self._database.url}>"

    def _repr_html_(self) -> str | None:
        try:
            info, result = self.info(), self.result()
        except OddarmError:
            return None  # closed or deleted: a notebook shows the plain form
        facts = (
            f"of {counted(info.arms, 'arms')} by {info.strategy}: {info.status}, "
            f"{counted(info.pulls, 'pulls')} told, {self.pulls_out:,} out"
        )
        return framed(paragraph(facts, bold=f"Study {info.name}") + paragraph(result.summary))


def _outcomes(batch: StudyTransaction, actions: Sequence[Action]) -> list[Any]:
    """Return what each action returned, or the error by which it was refused."""
    outcomes: list[Any] = []
    for action in actions:
        try:
            outcomes.append(action(batch))
        except StoreError:  # of the database, which ends the transaction
            raise
        except OddarmError as refused:
            outcomes.append(refused)
    return outcomes


def _write(connection: Connection, statements: Sequence[Statement]) -> None:
    for sql, rows in statements:
        if len(rows) == 1:
            connection.execute(sql, rows[0])
        elif rows:
            connection.executemany(sql, rows)


def study_result(search: Search) -> Result:
    """Return the result of a study; its budget is fixed, so it takes another study to go on."""
    result = search.result()
    if result.verdict != "budget":
        return result
    budget = "max_cost" if result.ended_by_cost else f"max_pulls={result.enough_pulls}"
    larger = "a larger " if result.ended_by_cost else ""
    return result.with_hint(f"start a study with {larger}{budget}")


def _lines(tells: Iterator[dict[str, Any]], format: str) -> Iterator[str]:  # noqa: A002
    if format == "jsonl":
        yield from (json.dumps(tell) + "\n" for tell in tells)
        return
    for row in itertools.chain([COLUMNS], (tell.values() for tell in tells)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(map(csv_cell, row))
        yield line.getvalue()
