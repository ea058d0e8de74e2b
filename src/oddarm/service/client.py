"""A client for workers in Python, on the standard library alone."""

from __future__ import annotations

import json
import logging
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any, Literal, TypeVar, Unpack, cast

from oddarm.errors import ParameterError, ServiceError
from oddarm.options import DEFAULT_STRATEGY, SearchOptions, check_names
from oddarm.store.info import Pull
from oddarm.store.transaction import LEASE_SECONDS

__all__ = ["Client", "WorkSummary"]

LOG = logging.getLogger("oddarm.worker")

CHUNK_BYTES = 65536
"""Bytes of an answer to read at a time."""
POLL_SECONDS = 20.0
"""How long the asks of `Client.work` wait for pulls."""
LONGEST_PAUSE = 30.0
"""How long the pauses between two tries grow."""
PASSING = frozenset((None, 408, 429, *range(502, 505), 507))
"""The statuses of what may pass by itself; None if there was no answer.

A 500 is a fault of the service or a damaged database, which stays until somebody repairs it.
"""
CHANCE = random.SystemRandom()
"""Not the generator of the user: workers that seed it alike would come back at one moment."""

RETRIES = 3
"""How often a pull that fails is tried again."""
MOST_REASON = 1000
"""The most characters of the reason why an arm failed."""

T = TypeVar("T")


@dataclass
class WorkSummary:
    """What a worker did.

    Attributes:
        pulls: Rewards drawn and told.
        retries: How often a pull was tried again.
        failed: The arms that this worker set aside, each with the reason.
    """

    pulls: int = 0
    retries: int = 0
    failed: list[tuple[Any, str]] = field(default_factory=list)


class Client:
    """Speaks to a service of studies.

    Args:
        url: Where the service is, such as http://127.0.0.1:8321.
        token: The token, if the service requires one.
        timeout: Seconds to wait for an answer.
        worker: What the page calls this worker; by default its address.

    Every method raises ServiceError, with the message of the service, if the service refuses the
    request.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 30.0,
        *,
        worker: str | None = None,
    ) -> None:
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise ParameterError(
                "the URL of the service has a user or a password in it, must have neither: "
                "pass the token as token=."
            )
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = timeout
        self._worker = worker

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
        self,
        name: str,
        limit: int = 1,
        *,
        lease_seconds: float = LEASE_SECONDS,
        wait_seconds: float = 0.0,
    ) -> tuple[list[Pull], str]:
        """Return pulls to be made, and the status of the study.

        Args:
            name: The study.
            limit: The most pulls to return.
            lease_seconds: How long the pulls belong to the caller.
            wait_seconds: How long the service may wait with its answer, up to 60 s, while all pulls
                that the study wants are in flight.
        """
        body: dict[str, Any] = {"limit": limit, "lease_seconds": lease_seconds}
        if self._worker is not None:
            body["worker"] = self._worker
        if wait_seconds:
            body["wait_seconds"] = wait_seconds
        answer = self._json("POST", f"/studies/{name}/ask", body, wait_seconds)
        return [Pull(**row) for row in answer["pulls"]], answer["status"]

    def tell(self, name: str, rewards: Mapping[str, float]) -> int:
        """Report rewards by the id of their pull; return how many were new."""
        rows = [{"pull": pull, "reward": float(reward)} for pull, reward in rewards.items()]
        return int(self._json("POST", f"/studies/{name}/tell", {"tells": rows})["told"])

    def tell_arm(self, name: str, arm: str | int, rewards: list[float], *, key: str) -> int:
        """Report rewards of an arm without an ask; rewards under a key count once.

        A key that was used for other rewards is refused, with the status 409.
        """
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
        retries: int = RETRIES,
    ) -> WorkSummary:
        """Ask, pull and tell until the study is done; return what this worker did.

        While all pulls that the study wants are in flight, the service waits with its answer. While
        the service cannot be reached, is busy or about to stop, and while the study is paused, this
        method tries again after random pauses that grow up to 30 s, and not before the service
        says (Retry-After). So many workers that lost the service do not come back all at once.

        If `pull` raises an error, it is called again, after random pauses that grow as well. If it
        fails `retries` times more, the arm is set aside and the study goes on without it. If the
        service refuses that, because too few arms would be left, the error is raised. Rewards drawn
        before are told in any case. What goes wrong is logged, by the logger `oddarm.worker`.

        Args:
            name: The study.
            pull: Returns a reward of an arm.
            limit: Pulls to ask for at a time.
            lease_seconds: How long the pulls belong to this worker.
            wait: The most seconds of the first pause, when there is nothing to do, or no answer.
            patience: Seconds to go on trying while the service cannot be reached.
            retries: How often a pull that fails is tried again before its arm is set aside.
        """
        summary = WorkSummary()
        ask = partial(self.ask, name, limit, lease_seconds=lease_seconds, wait_seconds=POLL_SECONDS)
        pauses = growing_pauses(wait)
        while True:
            asked_at = time.monotonic()
            pulls, status = self._patiently(ask, wait, patience)
            if status == "done":
                LOG.info("study %s is done: told %d rewards", name, summary.pulls)
                return summary
            if not pulls:
                if time.monotonic() - asked_at < POLL_SECONDS:  # the service did not wait
                    time.sleep(next(pauses))
                continue
            pauses = growing_pauses(wait)
            rewards: dict[str, float] = {}
            failures: list[tuple[Any, Exception]] = []
            try:
                for leased in pulls:
                    if any(leased.arm == arm for arm, _ in failures):
                        continue
                    try:
                        rewards[leased.id] = _draw(pull, leased.arm, retries, wait, summary)
                    except Exception as error:
                        failures.append((leased.arm, error))
            finally:  # if this worker is interrupted, the rewards drawn before still count
                if rewards:
                    self._patiently(lambda: self.tell(name, rewards), wait, patience)  # noqa: B023
                    summary.pulls += len(rewards)
            for arm, cause in failures:
                patiently = partial(self._patiently, wait=wait, patience=patience)
                self._set_aside(name, arm, cause, summary, patiently)

    def _set_aside(
        self,
        name: str,
        arm: Any,
        error: Exception,
        summary: WorkSummary,
        patiently: Callable[[Callable[[], bool]], bool],
    ) -> None:
        """Set an arm aside that keeps failing; raise its error if the service refuses that."""
        reason = f"{type(error).__name__}: {error}"[:MOST_REASON]
        try:
            patiently(lambda: self.set_aside(name, arm, reason))
        except ServiceError as refused:
            if refused.status == 422:
                raise error from refused
            raise
        LOG.error("arm %r of study %s is set aside: %s", arm, name, reason)
        summary.failed.append((arm, reason))

    def _patiently(self, call: Callable[[], T], wait: float, patience: float) -> T:
        """Call again while the service is away or busy; repeating an ask or a tell is safe."""
        end = time.monotonic() + patience
        pauses = growing_pauses(wait)
        while True:
            try:
                return call()
            except ServiceError as error:
                left = end - time.monotonic()
                asked_for = error.retry_after or 0.0
                if error.status not in PASSING or left <= 0 or left < asked_for:
                    raise
                LOG.warning("%s; trying again", error)
            time.sleep(min(asked_for + next(pauses), left))

    def _json(self, method: str, path: str, body: Any = None, wait_seconds: float = 0.0) -> Any:
        with self._open(method, path, body, wait_seconds) as answer:
            try:
                return json.loads(answer.read())
            except (OSError, HTTPException, ValueError) as error:
                raise self._lost(error) from error

    def _open(
        self, method: str, path: str, body: Any = None, wait_seconds: float = 0.0
    ) -> HTTPResponse:
        headers, content = dict(self._headers), None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        try:
            answer: HTTPResponse = urllib.request.urlopen(
                request, timeout=self._timeout + wait_seconds
            )
            _check_header(answer)
        except urllib.error.HTTPError as error:
            with error:
                try:
                    _check_header(cast("HTTPResponse", error.fp))
                    words = error.read()
                except (OSError, HTTPException) as cut:
                    raise self._lost(cut) from cut
            retry_after = _seconds(error.headers.get("Retry-After", ""))
            raise ServiceError(_sentence(error, words), error.code, retry_after) from None
        except (OSError, HTTPException) as error:
            raise self._lost(error) from error
        return answer

    def _lost(self, error: Exception) -> ServiceError:
        return ServiceError(f"{self.url} does not answer ({error}): is the service running?")


def _draw(
    pull: Callable[[Any], float], arm: Any, retries: int, wait: float, summary: WorkSummary
) -> float:
    """Return a reward of an arm; try again if the pull fails, after pauses that grow."""
    pauses = growing_pauses(wait)
    for left in range(retries, -1, -1):
        try:
            return float(pull(arm))
        except Exception as error:
            if not left:
                raise
            LOG.warning("a pull of arm %r failed (%s); trying again", arm, error)
        summary.retries += 1
        time.sleep(next(pauses))
    raise ParameterError(f"retries == {retries!r}, must be >= 0.")


def growing_pauses(first: float) -> Iterator[float]:
    """Yield random pauses for ever: the first up to `first` seconds, the others growing to 30 s.

    A pause may be short, too: workers that were cut off together come back spread over the time.
    """
    most = first
    while True:
        yield CHANCE.uniform(0, most)
        most = min(2 * most, max(first, LONGEST_PAUSE))


def _seconds(retry_after: str) -> float | None:
    """Return the seconds of a header Retry-After, which has a number or a date; None without."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if date.tzinfo is None:  # "-0000", which is UTC of an unknown place
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


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
