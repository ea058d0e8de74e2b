"""The journeys of docs/tour.md are those that the code makes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import oddarm

ROOT = Path(__file__).parents[1]
PACKAGE = Path(oddarm.__file__).parent
PAGE = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
COMMAND, SERVICE = (
    re.findall(r"^\| \d+ \| `(.+?)` \| `(.+?)` \|", part, re.MULTILINE)
    for part in PAGE.split("## One tell over HTTP")
)
FOLLOWED = """
import sys, threading
names = []
def note(frame, event, _):
    file = frame.f_code.co_filename
    if event == "call" and "/oddarm/" in file:
        names.append((file.rsplit("/oddarm/", 1)[1], frame.f_code.co_name))
threading.setprofile(note)
sys.setprofile(note)
try:
    JOURNEY
finally:
    sys.setprofile(None)
    threading.setprofile(None)
    print("TRACE", *(f"{file}:{name}" for file, name in names), file=sys.stderr)
"""


def followed(journey, *arguments):
    """Return the functions of oddarm that a program calls, in order."""
    script = FOLLOWED.replace("JOURNEY", journey.strip().replace("\n", "\n    "))
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    traces = [line for line in done.stderr.splitlines() if line.startswith("TRACE")]
    assert len(traces) == 1, done.stderr
    return [tuple(call.split(":")) for call in traces[0].split()[1:]]


def in_order(hops, calls):
    """Return the first hop that does not come after those before it; None if all do."""
    rest = iter(calls)
    return next((hop for hop in hops if hop not in rest), None)


@pytest.mark.parametrize(("file", "function"), sorted({*COMMAND, *SERVICE}))
def test_every_hop_is_there(file, function):
    """Each file of the tour has the function that it names."""
    text = (PACKAGE / file).read_text(encoding="utf-8")
    pattern = rf"\b{function}\(" if file.endswith(".js") else rf"def {function}\("
    assert re.search(pattern, text)


def test_a_reward_from_the_command_line_to_the_sentence(tmp_path):
    """A search of a table passes the hops of the tour in their order, which are few."""
    lines = [f"h{k % 6},{int(k % 6 == 5 or k % 61 == 0)}" for k in range(1200)]
    (tmp_path / "t.csv").write_text("\n".join(["host,slow", *lines]))
    journey = """
from oddarm.cli.app import app
words = "--arm host --reward slow --max-outliers 1"
app(["find", sys.argv[1], *words.split()], standalone_mode=False)
"""
    assert in_order(COMMAND, followed(journey, tmp_path / "t.csv")) is None
    assert len(COMMAND) < 21


def test_a_tell_over_http_to_the_page(tmp_path):
    """A tell passes the hops of the tour up to the picture in their order, which are few."""
    journey = """
import time, uvicorn
from oddarm.service import Client, create_app
server = uvicorn.Server(uvicorn.Config(create_app(sys.argv[1]), port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
client = Client(f"http://127.0.0.1:{port}")
client.create("demo", ["a", "b", "c", "d"], max_outliers=1)
(pull,), _ = client.ask("demo", 1)
import urllib.request
stream = urllib.request.urlopen(f"http://127.0.0.1:{port}/studies/demo/events", timeout=60)
stream.readline()
names.clear()
client.tell("demo", {pull.id: 1})
while b"change" not in stream.readline():
    pass
urllib.request.urlopen(f"http://127.0.0.1:{port}/studies/demo/view", timeout=60).read()
client.pause("demo")
server.should_exit = True
"""
    hops = [hop for hop in SERVICE if hop[0].endswith(".py")]
    assert in_order(hops, followed(journey, tmp_path / "s.db")) is None
    assert len(SERVICE) < 54
