"""A PostgreSQL server of its own for tests: Debian's package, on a random port."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

SECONDS_TO_START = 60
LOOPBACK = "127.0.0.1"


class PostgresMissingError(Exception):
    """There is no PostgreSQL server on this machine."""


def postgres_server(address: str = LOOPBACK) -> Generator[str]:
    """Yield the URL of a new server; close the iterator to stop it and remove its files.

    Args:
        address: The address to listen on; any other than the default must be one of a network
            namespace, in which this is called.
    """
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="oddarm-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        password = secrets.token_hex(16)
        _initialise(programs / "initdb", folder, password)
        with (folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {address}/24 scram-sha-256\n")
        process, url = _start(programs / "postgres", folder, password, address)
        try:
            yield url
        finally:
            process.send_signal(signal.SIGINT)  # fast shutdown: open connections are ended
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_programs() -> Path:
    """Return the folder of PostgreSQL's programs, or raise PostgresMissingError."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = found[-1] if found else shutil.which("initdb")
    if path is None:
        raise PostgresMissingError(
            "no PostgreSQL server on this machine: install Debian's package postgresql"
        )
    return Path(path).resolve().parent


def _owner() -> dict[str, Any]:
    """Return whom to run as: PostgreSQL refuses to run as root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


def _initialise(initdb: Path, folder: Path, password: str) -> None:
    given = folder / "password"
    given.write_text(password)
    if os.geteuid() == 0:
        shutil.chown(given, "postgres", "postgres")
    command = [
        *(initdb, "-D", folder / "data", "-U", "oddarm", "-A", "scram-sha-256"),
        *("--pwfile", given, "-E", "UTF8", "--locale", "C", "--no-sync"),
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **_owner())


def _start(
    server: Path, folder: Path, password: str, address: str
) -> tuple[subprocess.Popen[bytes], str]:
    """Return the process and its URL; another port is tried if one is taken meanwhile."""
    log = folder / "log"
    for _ in range(5):
        port = _free_port(address)
        url = f"postgresql://oddarm:{password}@{address}:{port}/postgres"
        command = [
            *(server, "-D", folder / "data", "-p", str(port)),
            *("-c", f"listen_addresses={address}", "-c", "unix_socket_directories="),
            *("-c", "fsync=off", "-c", "shared_buffers=16MB"),
        ]
        with log.open("ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, **_owner())
        if _answers(process, url):
            return process, url
    raise RuntimeError(f"PostgreSQL does not start: {log.read_text()}")


def _answers(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until the server takes connections; False if it has ended."""
    import psycopg

    for _ in range(SECONDS_TO_START * 10):
        if process.poll() is not None:
            return False
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return True
    process.kill()
    process.wait()
    return False


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
