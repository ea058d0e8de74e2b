"""The client, when a service breaks off its answer, is busy or away."""

import contextlib
import itertools
import json
import socket
import struct
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from oddarm.errors import ServiceError
from oddarm.service import Client
from oddarm.service import client as client_module
from oddarm.service.client import growing_pauses
from oddarm.store import Pull

LINES = [f'{{"seq": {k}, "reward": 1.0}}\n' for k in range(3)]
BODY = "".join(LINES).encode()
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)


def chunk(content):
    """Return a piece of a body as it is sent where the length is not known."""
    return b"%x\r\n%s\r\n" % (len(content), content)


@contextlib.contextmanager
def answering(answer, *, reset=False):
    """Give the URL of a service that sends one answer, then ends or resets the connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += connection.recv(1000)
            connection.sendall(answer)
            if reset:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def exported(url):
    """Return the lines of an export up to its end or an error, and the error."""
    lines = []
    try:
        lines.extend(Client(url).export("demo"))
    except ServiceError as error:
        return lines, error
    return lines, None


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (CHUNKED + chunk(BODY)[:-30], LINES[:1]),
        (CHUNKED + chunk(BODY), LINES),
        (CHUNKED + chunk(LINES[0].encode()), LINES[:1]),
        (SIZED + BODY[:-30], LINES[:1]),
        (SIZED + LINES[0].encode(), LINES[:1]),
        (CHUNKED, []),
    ],
    ids=["in a chunk", "before the end", "between chunks", "in a line", "after a line", "at once"],
)
def test_an_export_cut_short(answer, whole):
    """An export that breaks off gives the lines that came whole, then an error, not an end."""
    with answering(answer) as url:
        lines, error = exported(url)
    assert lines == whole
    assert error.status is None
    assert str(error).startswith(f"{url} does not answer (")


def test_an_export_whose_connection_is_reset():
    """A connection that is reset in an export is an error as well."""
    with answering(CHUNKED + chunk(LINES[0].encode()), reset=True) as url:
        lines, error = exported(url)
    assert lines in ([], LINES[:1])
    assert error.status is None


@pytest.mark.parametrize("answer", [CHUNKED + chunk(BODY) + chunk(b""), SIZED + BODY])
def test_an_export_that_is_whole(answer):
    """An export that comes to its end gives every line."""
    with answering(answer) as url:
        assert exported(url) == (LINES, None)


def test_an_answer_cut_short():
    """Any other answer that breaks off is an error of the same kind."""
    with (
        answering(SIZED + BODY[:10]) as url,
        pytest.raises(ServiceError, match="does not answer") as caught,
    ):
        Client(url).info("demo")
    assert caught.value.status is None


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found"])
@pytest.mark.parametrize("head", [CHUNKED, SIZED], ids=["chunked", "sized"])
def test_an_answer_cut_anywhere_in_its_header(head, status):
    """No part of a header passes for an answer, neither for a good one nor for a refusal."""
    whole = head.replace(b"200 OK", status)
    for end in range(len(whole)):
        with answering(whole[:end]) as url:
            lines, error = exported(url)
        assert lines == []
        assert error.status is None, whole[:end]


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (b'Content-Length: 22\r\n\r\n{"error": "no study"}\n', 404, "no study"),
        (b"Content-Length: 4\r\n\r\noops", 404, "answered 404 Not Found"),
        (b'Content-Length: 22\r\n\r\n{"err', None, "does not answer"),
        (b"Content-Length: 22\r\n\r\n", None, "does not answer"),
    ],
)
def test_refusals(answer, status, words):
    """A refusal has its status and its sentence; one that breaks off is not an answer."""
    head = b"HTTP/1.1 404 Not Found\r\n"
    with answering(head + answer) as url, pytest.raises(ServiceError, match=words) as refused:
        Client(url).result("demo")
    assert refused.value.status == status


def test_pauses_grow_and_differ():
    """Pauses are random, of bounds that double up to 30 s, or stay where a longer one is wanted."""
    many = [list(itertools.islice(growing_pauses(1.0), 8)) for _ in range(2000)]
    for column, most in zip(zip(*many, strict=True), (1, 2, 4, 8, 16, 30, 30, 30), strict=True):
        assert 0 <= min(column) < 0.05 * most
        assert 0.95 * most < max(column) <= most
    assert max(itertools.islice(growing_pauses(100.0), 100)) > 30
    assert max(itertools.islice(growing_pauses(0.0), 100)) == 0


class Worker(Client):
    """A client whose asks have a script: an answer or an error each. Its pauses take no time."""

    def __init__(self, monkeypatch, *script):
        super().__init__("http://127.0.0.1:1")
        self.now, self.slept, self.asked, self.told = 0.0, [], [], []
        self._script = list(script)
        monkeypatch.setattr(client_module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(client_module.time, "sleep", self._sleep)
        monkeypatch.setattr(client_module.CHANCE, "uniform", lambda _, high: high)

    def _sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def ask(self, name, limit=1, **options):
        """Play the next line; an answer of a number of seconds is an empty one after them."""
        self.asked.append((name, limit, options))
        line = self._script.pop(0) if self._script else ([], "done")
        if isinstance(line, Exception):
            raise line
        if isinstance(line, float):
            self.now += line
            return [], "running"
        return line

    def tell(self, name, rewards):
        """Take the rewards."""
        self.told.append((name, rewards))
        return len(rewards)


@pytest.mark.parametrize("status", [None, 408, 429, 502, 503, 504, 507])
def test_what_may_pass_is_tried_again(monkeypatch, status):
    """While the service is away or busy, a worker tries again after growing pauses."""
    worker = Worker(monkeypatch, *[ServiceError("away", status)] * 7)
    worker.work("demo", lambda _: 1, wait=1.0)
    assert worker.slept == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
def test_what_stays_is_raised(monkeypatch, status):
    """What a request is refused for, and what is broken, is raised at once."""
    worker = Worker(monkeypatch, ServiceError("no", status))
    with pytest.raises(ServiceError, match="no"):
        worker.work("demo", lambda _: 1)
    assert worker.slept == []


def test_patience_ends(monkeypatch):
    """A worker tries a last time when its patience ends, and then raises the error."""
    worker = Worker(monkeypatch, *[ServiceError("away", 503)] * 10)
    with pytest.raises(ServiceError, match="away"):
        worker.work("demo", lambda _: 1, wait=1.0, patience=10.0)
    assert worker.slept == [1, 2, 4, 3]


def test_when_the_service_wants_to_be_tried_again(monkeypatch):
    """A worker comes back no earlier than the service says, and not at that very moment."""
    busy = ServiceError("busy", 503, retry_after=5.0)
    worker = Worker(monkeypatch, busy, busy)
    worker.work("demo", lambda _: 1, wait=1.0)
    assert worker.slept == [6, 7]
    worker = Worker(monkeypatch, ServiceError("busy", 503, retry_after=400.0))
    with pytest.raises(ServiceError, match="busy"):
        worker.work("demo", lambda _: 1, patience=300.0)
    assert worker.slept == []


def test_work_waits_at_the_service(monkeypatch):
    """A worker lets the service wait; only after an answer that came early it pauses itself."""
    paused = ([], "paused")
    pull = ([Pull("5f2a01.1.0", "ams", 0.0)], "running")
    script = [20.0, 21.0, paused, paused, 0.5, 20.0, pull, paused]
    worker = Worker(monkeypatch, *script)
    worker.work("demo", lambda _: 1, limit=7, lease_seconds=9, wait=1.0)
    assert worker.slept == [1, 2, 4, 1]
    assert worker.told == [("demo", {"5f2a01.1.0": 1.0})]
    assert worker.asked == [("demo", 7, {"lease_seconds": 9, "wait_seconds": 20.0})] * 9


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("7", 7, 7),
        (format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True), 3600, 7201),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0, 0),
        ("soon", None, None),
    ],
    ids=["seconds", "a date", "a date gone by", "words"],  # the time of day would be in the names
)
def test_retry_after(value, low, high):
    """The header Retry-After has seconds or a date; anything else counts for nothing."""
    head = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: %s\r\n\r\n" % value.encode()
    with answering(head) as url, pytest.raises(ServiceError) as refused:
        Client(url).result("demo")
    seconds = refused.value.retry_after
    assert seconds is None if low is None else low <= seconds <= high


def test_an_ask_that_waits_has_the_time_for_it(monkeypatch):
    """The time that the service may wait is not part of the time that the client allows it."""
    allowed = []

    def urlopen(request, timeout):
        allowed.append(timeout)
        raise TimeoutError(request.full_url)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    for wait in (0.0, 60.0):
        with pytest.raises(ServiceError, match="does not answer"):
            Client("http://127.0.0.1:1", timeout=10.0).ask("demo", wait_seconds=wait)
    assert allowed == [10.0, 70.0]


def test_a_worker_that_has_a_name(monkeypatch):
    """A client sends the name of its worker with each ask, if it has one."""
    sent = []

    def urlopen(request, timeout):
        sent.append(json.loads(request.data))
        raise TimeoutError(timeout)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    for name in (None, "probe-3"):
        with pytest.raises(ServiceError, match="does not answer"):
            Client("http://127.0.0.1:1", worker=name).ask("demo")
    assert [body.get("worker") for body in sent] == [None, "probe-3"]
