"""The client, when a service breaks off its answer."""

import contextlib
import socket
import struct
import threading

import pytest

from oddarm.errors import ServiceError
from oddarm.service import Client

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
