"""Watch a fleet, night after night, and raise an alarm when a host is confirmed to be odd.

Each night is a study in a database: workers ask it which host to probe and tell it what they saw.
A study can be stopped and continued, and its page shows it (`oddarm serve --storage FILE`). When a
host is confirmed, a webhook gets one message. Exit codes: 0 nobody is odd, 1 a host is odd,
3 undecided.

The fleet is simulated, and the webhook is a server on this machine that prints what it gets. In the
third night, host-17 begins to fail.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import oddarm

HOSTS = [f"host-{number:02}" for number in range(1, 25)]
NIGHTS = ["monday", "tuesday", "wednesday", "thursday"]
BROKEN = {"host-17": "wednesday"}  # since when it fails
PAUSE = 1.0  # seconds, while all pulls are with other workers
NOBODY, FOUND, UNDECIDED = 0, 1, 3

Callback = Callable[[oddarm.Search], object]


class Fleet:
    """Hosts that fail now and then, each with random numbers of its own."""

    def __init__(self, night: str) -> None:
        past = NIGHTS[: NIGHTS.index(night) + 1]
        broken = {host for host, since in BROKEN.items() if since in past}
        self._random = {host: random.Random(f"{night}/{host}") for host in HOSTS}
        self._share = {host: 0.5 if host in broken else 0.05 for host in HOSTS}

    def fails(self, host: str) -> bool:
        """Probe a host once: does it fail? A probe that times out has failed, too."""
        return self._random[host].random() < self._share[host]


def webhook(url: str) -> Callback:
    """Return a callback that posts one message when hosts are confirmed.

    It takes a search, so it also works as `oddarm.find(…, callbacks=[webhook(url)])`. If the
    message cannot be sent, the error ends the run; the next run finds the study done and sends it.
    """
    sent = False

    def alert(search: oddarm.Search) -> None:
        nonlocal sent
        if sent or not search.done:
            return
        result = search.result().with_nouns("hosts", "probes")
        if result.verdict == "confirmed":
            body = json.dumps({"hosts": result.outliers, "text": result.summary}).encode()
            head = {"Content-Type": "application/json"}
            with urlopen(Request(url, body, head), timeout=10):
                sent = True

    return alert


def watch(
    storage: Path, night: str, probe: Callable[[str], float], callbacks: Iterable[Callback]
) -> oddarm.Result:
    """Continue the study of a night, or begin it, until it is done or its budget has ended."""
    name = f"fleet-{night}"
    try:
        # At least 20 failures in 100 probes more than all others; 200 probes per host at most.
        study = oddarm.create_study(
            storage, name, HOSTS, min_gap=0.2, max_outliers=3, max_pulls=200 * len(HOSTS)
        )
    except oddarm.errors.StudyExistsError:
        study = oddarm.open_study(storage, name)
    with study:
        while True:
            search = study.search()  # as it is now, also if an earlier run has ended it
            for callback in callbacks:
                callback(search)
            if search.done:
                return study.result().with_nouns("hosts", "probes")
            pulls = study.ask(50, lease_seconds=60)
            study.tell_many({pull.id: probe(pull.arm) for pull in pulls})
            if not pulls:
                time.sleep(PAUSE)


class Chat(BaseHTTPRequestHandler):
    """A webhook that prints the text it gets."""

    def do_POST(self) -> None:
        """Print the message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(f"ALERT: {message['text']}")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def chat() -> Iterator[str]:
    """Run the webhook on a free port while the block runs; give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def exit_code(result: oddarm.Result) -> int:
    """Return what a scheduler or a shell script gets to know."""
    return {"confirmed": FOUND, "none": NOBODY}.get(result.verdict, UNDECIDED)


def main() -> int:
    """Watch night after night until a host is confirmed; return the exit code."""
    with tempfile.TemporaryDirectory() as folder, chat() as url:
        for night in NIGHTS:
            storage = Path(folder) / "studies.db"
            result = watch(storage, night, Fleet(night).fails, [webhook(url)])
            print(f"{night}: {result.verdict}, {result.pulls:,} probes")
            if exit_code(result) != NOBODY:
                break
    print()
    print(result.table(4))
    return exit_code(result)


if __name__ == "__main__":
    sys.exit(main())
