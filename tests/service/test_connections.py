"""Connections that keep the service waiting, and more of them than it can take."""

import asyncio
import contextlib
import json
import logging
import resource
import socket
import threading
import time

import pytest
import uvicorn

from oddarm.service import Client, connections
from oddarm.service.connections import (
    Crowd,
    TimedConnection,
    most_connections,
    raise_file_limit,
)
from support.serving import serving

HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
WHOLE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LONG = WHOLE.replace(b"/ ", b"/long ")
STATED = connections.HEADER_SECONDS
PATIENCE = 30


async def answer(scope, receive, send):
    """Read a request and answer it; the path /long has an answer of 200 MB."""
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        pass
    long = scope["path"] == "/long"
    length = [] if long else [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    for _ in range(2000 * long):
        await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.contextmanager
def running(most):
    """Give the address of a server that takes so many connections, its crowd, and all of them."""
    crowd = Crowd(most)
    protocol = type("TimedConnection", (TimedConnection,), {"crowd": crowd})
    config = uvicorn.Config(
        answer, http=protocol, ws="none", lifespan="off", log_config=None, timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname(), crowd, server.server_state.connections
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def connected(address, content=b""):
    """Give a connection over which something was sent."""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.sendall(content)
        yield connection


def ended(connection):
    """Wait until the other side has ended a connection."""
    try:
        while connection.recv(100_000):
            pass
    except ConnectionResetError:
        pass
    return True


def answered(connection):
    """Read an answer of the application."""
    content = b""
    while not content.endswith(b"ok"):
        piece = connection.recv(1000)
        assert piece, content
        content += piece
    return content.startswith(b"HTTP/1.1 200")


POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"


def test_headers_and_bodies_that_do_not_come(monkeypatch):
    """A connection that sends nothing, half a header or half a body is ended after its time."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.2)
    with running(10) as (address, crowd, _):
        for content in (b"", b"G", HALF, POST, POST + b"half"):
            with connected(address, content) as connection:
                assert ended(connection), content
        with connected(address, WHOLE) as connection:  # and half of the next one
            assert answered(connection)
            connection.sendall(HALF)
            assert ended(connection)
        assert crowd.waiting == {}


def test_a_header_that_comes_in_pieces(monkeypatch):
    """Only the time that a whole request takes counts, not how it comes or how often."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", PATIENCE)
    with running(10) as (address, crowd, _), connected(address) as connection:
        for _ in range(3):
            for byte in WHOLE:
                connection.sendall(bytes([byte]))
            assert answered(connection)
            connection.sendall(POST)
            connection.sendall(b"the ")
            connection.sendall(b"whole")
            assert answered(connection)
        assert len(crowd.waiting) == 1


def test_a_client_that_does_not_read(monkeypatch):
    """A connection whose client does not read its answer is ended after its time."""
    monkeypatch.setattr(connections, "READER_SECONDS", 0.2)
    with running(10) as (address, _, taken), connected(address, LONG) as slow:
        assert slow.recv(12) == b"HTTP/1.1 200"
        end = time.monotonic() + PATIENCE
        while taken and time.monotonic() < end:
            time.sleep(0.01)
        assert not taken


def test_the_oldest_make_room(caplog):
    """Above the limit a connection that waits is dropped for a new one; those at work stay."""
    with running(3) as (address, crowd, _), contextlib.ExitStack() as stack:
        enter = stack.enter_context
        busy = enter(connected(address, LONG))
        assert busy.recv(12) == b"HTTP/1.1 200"
        first = enter(connected(address, HALF))
        enter(connected(address, WHOLE)).recv(12)
        new = enter(connected(address, WHOLE))
        assert answered(new)
        assert ended(first)
        assert busy.recv(10)
        others = [enter(connected(address, LONG)) for _ in range(2)]
        assert all(other.recv(12) == b"HTTP/1.1 200" for other in others)
        assert crowd.waiting == {}
        with connected(address, WHOLE) as refused:
            content = b""
            while piece := refused.recv(1000):
                content += piece
        head, body = content.split(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert "as many connections as it can take" in json.loads(body)["error"]
    assert [
        record.getMessage() for record in caplog.records if record.name == "oddarm.service"
    ] == ["there are 3 connections, as many as can be taken"]


def test_a_trouble_is_logged_once(monkeypatch, caplog):
    """What comes up thousands of times in a row is two lines: its beginning and its end."""
    monkeypatch.setattr(connections, "QUIET_SECONDS", 0.05)

    async def run():
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        handler = logging.Handler()
        handler.emit = lambda record: over.set() if "over" in record.getMessage() else None
        connections.LOG.addHandler(handler)
        crowd = Crowd(5)
        for _ in range(2):
            over.clear()
            for _ in range(5000):
                crowd.handle_error(loop, {"message": "accept", "exception": OSError(24, "")})
            await over.wait()
        connections.LOG.removeHandler(handler)

    asyncio.run(run())
    lines = [(record.getMessage(), getattr(record, "fields", {})) for record in caplog.records]
    begun, over = "out of file descriptors", "over: out of file descriptors"
    ours = [line for line in lines if line[0] in (begun, over)]
    assert ours == [(begun, {}), (over, {"times": 5000})] * 2


def test_other_errors_of_the_loop(caplog):
    """Any other error of the event loop is logged as ever."""

    async def run():
        context = {"message": "something else", "exception": ValueError("x")}
        Crowd(5).handle_error(asyncio.get_running_loop(), context)

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == ["something else"]


def test_how_many_connections(monkeypatch):
    """There are fewer connections than file descriptors, and never more than four thousand."""
    for descriptors, most in ((64, 32), (256, 128), (1024, 768), (8192, 4000), (-1, 4000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, n=descriptors: (n, n))
        assert most_connections() == most


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((1024, 524_288), (4256, 524_288)),
        ((1024, -1), (4256, -1)),
        ((1024, 2048), (2048, 2048)),
        ((1024, 1024), None),
        ((8192, 8192), None),
        ((-1, -1), None),
    ],
)
def test_the_limit_of_open_files(monkeypatch, before, after):
    """The service raises the limit of open files to what it needs, as far as the system allows."""
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: before)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    raise_file_limit()
    assert limits == [after] * (after is not None)


@pytest.fixture
def many_descriptors():
    """This process may have a few thousand connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3000:
        pytest.skip("this system does not allow 3,000 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
@pytest.mark.parametrize(("descriptors", "count"), [(1024, 2000), (32, 40)])
def test_half_open_connections(tmp_path, descriptors, count):
    """Half-sent headers keep no client out for longer than a header may take, nor fill the log."""
    with (
        contextlib.ExitStack() as stack,
        serving("--storage", tmp_path / "s.db", descriptors=descriptors) as (process, url),
    ):
        address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        client = Client(url, timeout=STATED)
        client.create("demo", 20)
        for k in range(count):
            stack.enter_context(connected(address, HALF))
            if k % 40 == 39:
                assert client.info("demo")["arms"] == 20
        process.terminate()
        lines = process.stderr.read().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert len(events) <= 20, events
    assert any("connections, as many as can be taken" in event for event in events)


def asked(connection):
    """Read the answer to an ask."""
    content = b""
    while not content.endswith(b"}"):
        piece = connection.recv(1000)
        assert piece, content
        content += piece
    return json.loads(content.partition(b"\r\n\r\n")[2])


def test_asks_that_wait_leave_room(tmp_path):
    """However many asks wait for pulls, there are connections left for those who tell."""
    with (
        contextlib.ExitStack() as stack,
        serving("--storage", tmp_path / "s.db", descriptors=64) as (_, url),
    ):
        address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        client = Client(url, timeout=STATED)
        client.create("demo", 4, "rr", max_outliers=1, max_pulls=4)
        pulls, _ = client.ask("demo", 4)
        body = b'{"wait_seconds": 60}'
        ask = b"POST /studies/demo/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        ask += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        crowd = []
        for _ in range(16):
            crowd.append(stack.enter_context(connected(address, ask)))
            client.info("demo")  # which came later, and is answered
        for _ in range(30):
            with connected(address, ask) as above:
                assert asked(above)["status"] == "running"
        assert client.tell("demo", {pull.id: 1 for pull in pulls}) == 4
        assert {asked(connection)["status"] for connection in crowd} == {"done"}
