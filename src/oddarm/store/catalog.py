"""Making, opening and listing studies."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Unpack

from oddarm.errors import (
    OddarmError,
    ParameterError,
    StateError,
    StudyExistsError,
    UnknownStudyError,
)
from oddarm.options import SearchOptions, check_names
from oddarm.search import Search
from oddarm.store.clock import Clock
from oddarm.store.database.base import Database, closed_on_error, open_database
from oddarm.store.info import COLUMNS, SHOWN, StudyInfo, study_info
from oddarm.store.live_search import LiveSearch, another_number
from oddarm.store.log import dumps
from oddarm.store.study import Study
from oddarm.strategies import Strategy

__all__ = [
    "NAME",
    "arms_in",
    "create_in",
    "create_study",
    "forget_pulls",
    "list_in",
    "list_studies",
    "open_study",
]

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""What a study may be called."""


def create_study(
    url: str | Path,
    name: str,
    arms: Sequence[Hashable] | int,
    strategy: str | Strategy = "adaptive",
    *,
    expired_reward: float | None = None,
    **options: Unpack[SearchOptions],
) -> Study:
    """Make a new study and return it.

    Args:
        url: `sqlite:///path`, a bare path (made if it is not there), or `postgresql://…`.
        name: Up to 100 letters, digits, dots, hyphens and underscores.
        arms: The names of the arms (text, numbers or tuples of them), or their number.
        strategy: As for `Search`.
        expired_reward: What a pull counts as when its lease ends before it is told, such as 1
            where the reward is "timed out". By default the pull is handed out again, and the
            result says what its promise then supposes.
        options: All else that `Search` takes: epsilon, rho, delta, rewards, …
    """
    check_names(create_study, options)
    search = Search(arms, strategy, **options)  # a bad option is refused before a file is made
    database = open_database(url, create=True)
    with closed_on_error(database):
        return create_in(database, name, search, expired_reward=expired_reward)


def open_study(url: str | Path, name: str, *, strategy: Strategy | None = None) -> Study:
    """Return a study that exists, in exactly the state of its last acknowledged tell.

    Args:
        url: Where it lives.
        name: Its name.
        strategy: Its strategy, if that is one of your own; those of oddarm are found by name.
    """
    database = open_database(url)
    with closed_on_error(database):
        return Study(database, name, strategy=strategy)


def list_studies(url: str | Path) -> list[StudyInfo]:
    """Return what is known of every study in a database, by name."""
    with closing(open_database(url)) as database:
        return list_in(database)


def forget_pulls(url: str | Path) -> dict[str, int]:
    """Take no pull that was handed out before, in any study of a database restored from a backup.

    See `Study.forget_pulls`.

    Returns:
        By the name of each study, how many pulls were out.

    Raises:
        OddarmError: A study cannot be opened, such as one with a strategy of your own, for which
            you call `Study.forget_pulls`. The others were done before this is raised.
    """
    forgotten: dict[str, int] = {}
    failures: list[OddarmError] = []
    with closing(open_database(url)) as database:
        for info in list_in(database):
            try:
                forgotten[info.name] = Study(database, info.name).forget_pulls()
            except OddarmError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return forgotten


def create_in(
    database: Database,
    name: str,
    search: Search,
    *,
    expired_reward: float | None = None,
    clock: Clock | None = None,
) -> Study:
    """Make a new study of a search in an open database."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise ParameterError(
            f"study name {name!r}, must be 1 to 100 letters, digits, dots, hyphens and "
            "underscores, the first a letter or digit."
        )
    if expired_reward is not None:
        values = search.rewards.check(expired_reward)
        if len(values) != 1:
            raise ParameterError(f"expired_reward == {expired_reward!r}, must be one reward.")
        expired_reward = float(values[0])
    clock = clock or Clock()
    identity, kind = another_number(), search.strategy.name
    live = LiveSearch(identity, name, search.strategy, clock)
    live.begin(search, expired_reward)
    try:
        state = dumps(live.to_dict())
    except (TypeError, ValueError) as error:
        raise StateError(
            f"the study cannot be written as JSON ({error}): "
            "name arms by strings, numbers or tuples of them."
        ) from error
    shown = [str(arm) for arm in search.names]
    if any(re.search(r"[\0\ud800-\udfff]", text) for text in shown):
        raise ParameterError(
            "an arm's name has a character that cannot be stored (NUL or half a surrogate pair): "
            "name arms by plain text."
        )
    with database.transaction(write=True) as connection:
        made = connection.execute(
            f"INSERT INTO oddarm_studies (id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO NOTHING",
            (identity, name, clock.wall(), kind, search.n, 0, 0, 0, 0, search.verdict),
        )
        if made.rowcount != 1:
            raise StudyExistsError(
                f"study {name!r} is there already: open it, or choose another name."
            )
        connection.execute(
            "INSERT INTO oddarm_snapshots (study, revision, state) VALUES (?, ?, ?)",
            (identity, 0, state),
        )
        connection.executemany(
            "INSERT INTO oddarm_arms (study, arm, name, pulls, total) VALUES (?, ?, ?, ?, ?)",
            [(identity, i, text, 0, 0.0) for i, text in enumerate(shown)],
        )
    return Study(database, name, strategy=search.strategy, clock=clock)


def list_in(database: Database) -> list[StudyInfo]:
    """Return what is known of every study in an open database, by name."""
    with database.transaction() as connection:
        rows = connection.execute(f"SELECT {SHOWN} FROM oddarm_studies ORDER BY name").fetchall()
    return [study_info(row) for row in rows]


def arms_in(database: Database, name: str) -> int:
    """Return how many arms a study in an open database has."""
    with database.transaction() as connection:
        row = connection.execute(
            "SELECT arms FROM oddarm_studies WHERE name = ?", (name,)
        ).fetchone()
    if row is None:
        raise UnknownStudyError(f"study {name!r} is not there: create it, or list what is there.")
    return int(row[0])
