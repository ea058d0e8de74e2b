"""A client for workers in Python, on the standard library alone."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any, Literal, TypeVar, Unpack, cast

from oddarm.errors import ParameterError, ServiceError
from oddarm.options import DEFAULT_STRATEGY, SearchOptions, check_names
from oddarm.store.info import Pull
from oddarm.store.transaction import LEASE_SECONDS

__all__ = ["Client"]

CHUNK_BYTES = 65536
"""Bytes of an answer to read at a time."""

T = TypeVar("T")


class Client:
    """Speaks to a service of studies.

    Args:
        url: Where the service is, such as http://127.0.0.1:8321.
        token: The token, if the service requires one.
        timeout: Seconds to wait for an answer.

    Every method raises ServiceError, with the message of the service, if the service refuses the
    request.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise ParameterError(
                "the URL of the service has a user or a password in it, must have neither: "
                "pass the token as token=."
            )
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = timeout

    def studies(self) -> list[dict[str, Any]]:
        """Return a row for each study."""
        return list(self._json("GET", "/studies"))

    def create(
        self,
        name: str,
        arms: list[Any] | int,
        strategy: str = DEFAULT_STRATEGY,
        *,
        expired_reward: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> dict[str, Any]:
        """Make a study; options are those of `create_study`, as JSON values.

        Costs by name are an object, whose names JSON writes as text.
        """
        check_names(self.create, options)
        named = {"strategy": strategy, "expired_reward": expired_reward}
        body = {"name": name, "arms": arms, **named, **options}
        return dict(self._json("POST", "/studies", body))

    def info(self, name: str) -> dict[str, Any]:
        """Return how far a study is."""
        return dict(self._json("GET", f"/studies/{name}"))

    def ask(
        self, name: str, limit: int = 1, *, lease_seconds: float = LEASE_SECONDS
    ) -> tuple[list[Pull], str]:
        """Return pulls to be made, and the status of the study."""
        body = {"limit": limit, "lease_seconds": lease_seconds}
        answer = self._json("POST", f"/studies/{name}/ask", body)
        return [Pull(**row) for row in answer["pulls"]], answer["status"]

    def tell(self, name: str, rewards: Mapping[str, float]) -> int:
        """Report rewards by the id of their pull; return how many were new."""
        rows = [{"pull": pull, "reward": float(reward)} for pull, reward in rewards.items()]
        return int(self._json("POST", f"/studies/{name}/tell", {"tells": rows})["told"])

    def tell_arm(self, name: str, arm: str | int, rewards: list[float], *, key: str) -> int:
        """Report rewards of an arm without an ask; rewards under a key count once."""
        body = {"arm": arm, "rewards": rewards, "key": key}
        return int(self._json("POST", f"/studies/{name}/data", body)["told"])

    def give_up(self, name: str, pulls: Iterable[str]) -> int:
        """Say that pulls will never be told; return how many were neither told nor given up."""
        body = {"pulls": list(pulls)}
        return int(self._json("POST", f"/studies/{name}/give-up", body)["given_up"])

    def set_aside(self, name: str, arm: str | int, reason: str) -> bool:
        """Mark an arm as failed; return False if it failed before or the study is done."""
        body = {"arm": arm, "reason": reason}
        return bool(self._json("POST", f"/studies/{name}/set-aside", body)["changed"])

    def result(self, name: str) -> dict[str, Any]:
        """Return the current result, as `Result.to_dict` gives it."""
        return dict(self._json("GET", f"/studies/{name}/result"))

    def pause(self, name: str) -> None:
        """Hand out no more pulls."""
        self._json("POST", f"/studies/{name}/pause")

    def resume(self, name: str) -> None:
        """Hand out pulls again."""
        self._json("POST", f"/studies/{name}/resume")

    def delete(self, name: str) -> None:
        """Delete a study with all its rewards, for good."""
        self._open("DELETE", f"/studies/{name}").close()

    def export(self, name: str, format: Literal["jsonl", "csv"] = "jsonl") -> Iterator[str]:  # noqa: A002
        """Yield every reward as a line of text."""
        with self._open("GET", f"/studies/{name}/export?format={format}") as answer:
            try:
                yield from _lines(answer)
            except (OSError, HTTPException) as error:
                raise self._lost(error) from error

    def work(
        self,
        name: str,
        pull: Callable[[Any], float],
        *,
        limit: int = 1,
        lease_seconds: float = LEASE_SECONDS,
        wait: float = 1.0,
        patience: float = 300.0,
    ) -> None:
        """Ask, pull and tell until the study is done.

        If `pull` raises an error, this method tells the rewards drawn before it and raises the
        error. The service hands out the other pulls again when their lease ends.

        Args:
            name: The study.
            pull: Returns a reward of an arm.
            limit: Pulls to ask for at a time.
            lease_seconds: How long the pulls belong to this worker.
            wait: Seconds between tries when there is nothing to do, or no answer.
            patience: Seconds to go on trying while the service cannot be reached.
        """
        while True:
            pulls, status = self._patiently(
                lambda: self.ask(name, limit, lease_seconds=lease_seconds), wait, patience
            )
            if status == "done":
                return
            if not pulls:
                time.sleep(wait)
                continue
            rewards: dict[str, float] = {}
            try:
                for leased in pulls:
                    rewards[leased.id] = float(pull(leased.arm))
            finally:  # if a pull fails, the rewards drawn before it still count
                if rewards:
                    self._patiently(lambda: self.tell(name, rewards), wait, patience)  # noqa: B023

    def _patiently(self, call: Callable[[], T], wait: float, patience: float) -> T:
        """Call again while the service is away or busy; repeating an ask or a tell is safe."""
        end = time.monotonic() + patience
        while True:
            try:
                return call()
            except ServiceError as error:
                if error.status not in (None, 503, 507) or time.monotonic() > end:
                    raise
            time.sleep(wait)

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        with self._open(method, path, body) as answer:
            try:
                return json.loads(answer.read())
            except (OSError, HTTPException, ValueError) as error:
                raise self._lost(error) from error

    def _open(self, method: str, path: str, body: Any = None) -> HTTPResponse:
        headers, content = dict(self._headers), None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        try:
            answer: HTTPResponse = urllib.request.urlopen(request, timeout=self._timeout)
            _check_header(answer)
        except urllib.error.HTTPError as error:
            with error:
                try:
                    _check_header(cast("HTTPResponse", error.fp))
                    words = error.read()
                except (OSError, HTTPException) as cut:
                    raise self._lost(cut) from cut
            raise ServiceError(_sentence(error, words), error.code) from None
        except (OSError, HTTPException) as error:
            raise self._lost(error) from error
        return answer

    def _lost(self, error: Exception) -> ServiceError:
        return ServiceError(f"{self.url} does not answer ({error}): is the service running?")


def _check_header(answer: HTTPResponse) -> None:
    """Raise IncompleteRead if the header does not say how long the answer is.

    The service always says it. If a connection ends within the header, Python reads that as an
    empty answer.
    """
    if answer.length is None and not answer.chunked:
        answer.close()
        raise IncompleteRead(b"")


def _lines(answer: HTTPResponse) -> Iterator[str]:
    """Yield the lines of an answer; raise IncompleteRead if it breaks off.

    Iterating over an HTTPResponse does not notice a connection that ends between two lines.
    """
    rest = b""
    while piece := answer.read1(CHUNK_BYTES):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield f"{line.decode()}\n"
    if answer.length:
        raise IncompleteRead(rest, answer.length)
    if rest:
        yield rest.decode()


def _sentence(error: urllib.error.HTTPError, words: bytes) -> str:
    try:
        return str(json.loads(words)["error"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered {error.code} {error.reason}."
