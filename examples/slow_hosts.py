"""Which of twelve hosts is slow? Every probe is a real HTTP request, many at a time.

The hosts are paths of a server on this machine. It says how long it took in the header
Server-Timing, as real servers do; the times are random numbers, so that nobody has to wait.
"""

import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.request import urlopen

import oddarm

HOSTS = [f"host-{number:02}" for number in range(1, 13)]
SLOW = "host-08"
TOO_LONG = 200  # milliseconds

random_of = {host: random.Random(host) for host in HOSTS}


class Host(BaseHTTPRequestHandler):
    """Answers to GET /host-01 and so on."""

    def do_GET(self) -> None:
        """Say how long the host took."""
        host = self.path.strip("/")
        milliseconds = random_of[host].expovariate(1 / (900 if host == SLOW else 50))
        self.send_response(204)
        self.send_header("Server-Timing", f"app;dur={milliseconds:.1f}")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def hosts() -> Iterator[str]:
    """Run the server on a free port while the block runs; give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def main() -> None:
    """Probe the hosts from four threads and print the answer."""
    with hosts() as address, ThreadPoolExecutor(4) as threads:

        def too_slow(host: str) -> bool:
            with urlopen(f"{address}/{host}", timeout=5) as answer:
                timing = answer.headers["Server-Timing"]
            return float(re.findall(r"dur=([\d.]+)", timing)[0]) > TOO_LONG

        # Which host is too slow at least 30 points more often than every other one?
        result = oddarm.find(too_slow, HOSTS, min_gap=0.3, max_outliers=1, executor=threads)
    result = result.with_nouns("hosts", "probes")
    print(result.summary)
    print()
    print(result.table(4))


if __name__ == "__main__":
    main()
