"""Workers without oddarm, as examples/ has them."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oddarm.service import Client
from support.serving import serving

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TOKEN = "0123456789abcdef"
WORKERS = [
    pytest.param([sys.executable, "-I", str(EXAMPLES / "http_worker.py")], id="python"),
    pytest.param(
        ["sh", str(EXAMPLES / "http_worker.sh")],
        id="curl",
        marks=pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here"),
    ),
]


def started(command, url):
    """Start a worker, which is given the token by its environment."""
    return subprocess.Popen(
        [*command, url, "latency"],
        env={**os.environ, "ODDARM_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("command", WORKERS)
def test_a_worker_finds_the_outlier(tmp_path, command):
    """Two workers end when the study is done, which a server that was killed meanwhile delays."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    arguments = ["--storage", tmp_path / "s.db", "--token-file", file]
    with serving(*arguments) as (process, url):
        client = Client(url, TOKEN)
        client.create("latency", ["ams", "fra", "lhr", "gru"], max_outliers=1, min_gap=0.3)
        workers = [started(command, url) for _ in range(2)]
        while client.info("latency")["pulls"] == 0:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    with serving(*arguments, port=int(url.rsplit(":", 1)[1])):
        ends = [(worker.communicate()[1], worker.returncode) for worker in workers]
        assert [code for _, code in ends] == [0, 0], ends
        assert client.result("latency")["outliers"] == ["gru"]


@pytest.mark.parametrize("command", WORKERS)
def test_a_worker_that_is_refused(tmp_path, command):
    """A worker of a study that is not there ends with an error."""
    with serving("--storage", tmp_path / "s.db") as (_, url):
        worker = started(command, url)
        worker.communicate()
    assert worker.returncode == 1


@pytest.mark.parametrize("name", ["http_worker.py", "http_worker.sh"])
def test_short_enough_to_be_read(name):
    """A worker has at most thirty lines, blank ones not counted, and needs nothing of oddarm."""
    lines = [line for line in (EXAMPLES / name).read_text().splitlines() if line.strip()]
    assert len(lines) <= 30
    assert not any(re.search("import.*oddarm|bin/oddarm", line) for line in lines)
