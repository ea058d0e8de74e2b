"""Where studies are: in a database, or behind a service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

import oddarm
from oddarm._postgres_url import without_password
from oddarm.cli.serve import STORAGE
from oddarm.errors import ParameterError

if TYPE_CHECKING:
    from oddarm.store import Study, StudyInfo

__all__ = ["Place", "Server", "StorageOrNone", "TokenFile", "open_place"]

StorageOrNone = Annotated[
    str | None,
    typer.Option(
        "--storage",
        help=f"sqlite:///PATH, a path, or postgresql://…. [default: {STORAGE}, without --server]",
    ),
]
Server = Annotated[
    str | None,
    typer.Option("--server", help="A service in place of a database: http://127.0.0.1:8321."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="A file with the token to send to --server (mode 600)."),
]


class Place(Protocol):
    """What the commands do with studies.

    Attributes:
        where: The place, to be shown.
    """

    where: str

    def studies(self) -> list[StudyInfo]:
        """Return what is known of every study, by name."""

    def create(self, name: str, arms: Any, options: dict[str, Any]) -> StudyInfo:
        """Make a study; options are JSON values."""

    def info(self, name: str) -> StudyInfo:
        """Return how far a study is."""

    def result(self, name: str) -> dict[str, Any]:
        """Return the result of a study as JSON values."""

    def set_paused(self, name: str, paused: bool) -> StudyInfo:
        """Pause a study, or let it go on; return how far it is."""

    def delete(self, name: str) -> None:
        """Delete a study with all its rewards, for good."""

    def export(self, name: str, format: Literal["jsonl", "csv"]) -> Iterator[str]:  # noqa: A002
        """Yield every reward as a line of text."""

    def close(self) -> None:
        """Close what is open."""


def open_place(storage: str | None, server: str | None, token_file: Path | None) -> closing[Place]:
    """Return the database or the service that the options name, to be closed at the end."""
    if server is None:
        if token_file is not None:
            raise ParameterError(f"--token-file {token_file} without --server: name a service.")
        return closing(DatabasePlace(storage or STORAGE))
    if storage is not None:
        shown = without_password(storage)
        raise ParameterError(f"--storage {shown} with --server {server}: drop one.")
    if not server.startswith(("http://", "https://")):
        raise ParameterError(f"--server {server}, must begin with http:// or https://.")
    from oddarm.service.tokens import read_token

    return closing(ServicePlace(server, None if token_file is None else read_token(token_file)))


class DatabasePlace:
    """Studies in a database."""

    def __init__(self, storage: str) -> None:
        self.where = without_password(storage)
        self._storage = storage
        self._study: Study | None = None

    def studies(self) -> list[StudyInfo]:
        """Return what is known of every study, by name."""
        return oddarm.list_studies(self._storage)

    def create(self, name: str, arms: Any, options: dict[str, Any]) -> StudyInfo:
        """Make a study."""
        self._study = oddarm.create_study(self._storage, name, arms, **options)
        return self._study.info()

    def info(self, name: str) -> StudyInfo:
        """Return how far a study is."""
        return self._open(name).info()

    def result(self, name: str) -> dict[str, Any]:
        """Return the result of a study as JSON values."""
        values: dict[str, Any] = json.loads(self._open(name).result().to_json())
        return values

    def set_paused(self, name: str, paused: bool) -> StudyInfo:
        """Pause a study, or let it go on; return how far it is."""
        study = self._open(name)
        (study.pause if paused else study.resume)()
        return study.info()

    def delete(self, name: str) -> None:
        """Delete a study with all its rewards, for good."""
        self._open(name).delete()

    def export(self, name: str, format: Literal["jsonl", "csv"]) -> Iterator[str]:  # noqa: A002
        """Yield every reward as a line of text."""
        return self._open(name).export(format)

    def close(self) -> None:
        """Close the study that is open."""
        if self._study is not None:
            self._study.close()

    def _open(self, name: str) -> Study:
        if self._study is None:
            self._study = oddarm.open_study(self._storage, name)
        return self._study


class ServicePlace:
    """Studies behind a service."""

    def __init__(self, url: str, token: str | None) -> None:
        from oddarm.service import Client

        self.where = url
        self._client = Client(url, token)

    def studies(self) -> list[StudyInfo]:
        """Return what is known of every study, by name."""
        return [_info(row) for row in self._client.studies()]

    def create(self, name: str, arms: Any, options: dict[str, Any]) -> StudyInfo:
        """Make a study."""
        return _info(self._client.create(name, arms, **options))

    def info(self, name: str) -> StudyInfo:
        """Return how far a study is."""
        return _info(self._client.info(name))

    def result(self, name: str) -> dict[str, Any]:
        """Return the result of a study as JSON values."""
        return self._client.result(name)

    def set_paused(self, name: str, paused: bool) -> StudyInfo:
        """Pause a study, or let it go on; return how far it is."""
        (self._client.pause if paused else self._client.resume)(name)
        return self.info(name)

    def delete(self, name: str) -> None:
        """Delete a study with all its rewards, for good."""
        self._client.delete(name)

    def export(self, name: str, format: Literal["jsonl", "csv"]) -> Iterator[str]:  # noqa: A002
        """Yield every reward as a line of text."""
        return self._client.export(name, format)

    def close(self) -> None:
        """Do nothing: a client keeps no connection."""


def _info(row: dict[str, Any]) -> StudyInfo:
    from oddarm.store import StudyInfo

    return StudyInfo(**row)
