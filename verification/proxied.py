"""Do several servers behind a proxy lose or repeat a reward if one after the other is killed?

Two servers share one PostgreSQL behind nginx, with the settings of docs/service.md. The workers of
`verification.network` know the proxy alone. They work once with a server for each study, as in the
documentation, and once with requests that go to the servers in turn.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.service import processor_seconds

from oddarm.errors import ServiceError
from oddarm.service import Client
from verification.faults import Server
from verification.network import LIMIT, SETTLED, WORKERS, Workers, no_postgres
from verification.report import Check

PAGE = Path(__file__).parents[1] / "docs" / "service.md"
AROUND = """
{user}
daemon off;
pid {folder}/pid;
error_log {folder}/errors warn;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
{settings}
}}
"""


def why_not() -> str | None:
    """Return why nothing can be checked on this machine; None if it can."""
    if _nginx() is None:
        return "no nginx on this machine: install Debian's package nginx-light"
    return no_postgres()


def _nginx() -> str | None:
    """Return the path of nginx, which Debian does not put on the path of users."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def checks(kills: int = 10) -> Iterator[Check]:
    """Yield whether killing the servers one after the other did harm."""
    from tests.support.postgres_server import postgres_server

    reason = why_not()
    if reason is not None:
        print(f"skipped: {reason}")
        return
    with contextlib.closing(postgres_server()) as databases:
        storage = next(databases)
        for name, in_turn in (("a server for each study", False), ("servers in turn", True)):
            problems, note = killed(storage, kills, in_turn=in_turn)
            if problems:
                note += f"; {len(problems)} problems: {problems[0]}"
            yield Check(f"SIGKILL behind nginx, {name}", len(problems), kills, 0.0, note)


def killed(storage: str, kills: int, *, in_turn: bool) -> tuple[list[str], str]:
    """Kill one server after the other under load; return what went wrong, and a note."""
    problems: list[str] = []
    servers = [Server(storage), Server(storage)]
    try:
        with proxy([server.port for server in servers], in_turn=in_turn) as url:
            load = Workers(url, None, WORKERS, "turn" if in_turn else "hash")
            try:
                note = _cost(load, servers)
                for number in range(kills):
                    server = servers[number % 2]
                    if not load.wait_for_more(SETTLED, LIMIT * WORKERS):
                        problems.append(f"too little is acknowledged after {number} kills")
                        break
                    server.kill()
                    if not load.wait_for_more(SETTLED, LIMIT * WORKERS):
                        problems.append("the other server does not go on")
                    server.start()
            finally:
                load.end()
    finally:
        codes = [server.stop() for server in servers]
    problems += [f"a server ended with exit code {code}" for code in codes if code != 0]
    problems += load.problems
    problems += load.differences(storage)
    return problems, f"{load.note}, {note}"


def _cost(load: Workers, servers: list[Server]) -> str:
    """Return the processor time that the servers take for a reward."""
    load.wait_for_more(SETTLED, LIMIT * WORKERS)

    def taken() -> float:
        return sum(processor_seconds(server.process.pid) for server in servers)

    before, told = taken(), len(load.acknowledged)
    load.wait_for_more(SETTLED, 10 * LIMIT * WORKERS)
    microseconds = (taken() - before) / max(1, len(load.acknowledged) - told) * 1e6
    return f"{microseconds:.0f} µs of processor a reward"


@contextlib.contextmanager
def proxy(ports: list[int], *, in_turn: bool) -> Iterator[str]:
    """Run nginx in front of two servers on this machine; give its URL.

    Args:
        ports: The ports of the servers.
        in_turn: Whether requests for one study go to the servers in turn.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = PAGE.read_text().split("```nginx\n")[1].split("```")[0]
    settings = settings.replace("listen 8321", f"listen 127.0.0.1:{port}")
    settings = settings.replace(":8322", f":{ports[0]}").replace(":8323", f":{ports[1]}")
    if in_turn:
        settings = re.sub(r" *hash .*\n", "", settings)
    with tempfile.TemporaryDirectory(prefix="oddarm-nginx-") as folder:
        user = "user root;" if os.geteuid() == 0 else ""
        file = Path(folder) / "nginx.conf"
        file.write_text(AROUND.format(user=user, folder=folder, settings=settings))
        command = [str(_nginx()), "-c", str(file), "-e", f"{folder}/errors"]
        process = subprocess.Popen(command)
        try:
            _await_answer(process, f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _await_answer(process: subprocess.Popen[bytes], url: str) -> None:
    while True:
        try:
            Client(url).studies()
        except ServiceError:
            if process.poll() is not None:
                raise RuntimeError("nginx has ended by itself") from None
            time.sleep(0.05)
        else:
            return
