"""The session with curl in docs/service.md, run as it is pasted."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.serving import serving

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
MASKS = ((r"[0-9a-f]{6}\.(\d+\.\d+)", r"PULL.\1"), (r"\d{10}\.\d+", "TIME"))
"""What differs from one run to the next: the tag of a study in its pulls, and the time."""


def session():
    """Return the commands of the page's session, and what each is said to print."""
    block = next(b for b in PAGE.read_text().split("```") if b.startswith("console\n$ curl"))
    steps = []
    for line in block.splitlines()[1:]:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def masked(lines):
    """Return lines without what differs from one run to the next."""
    for pattern, mask in MASKS:
        lines = [re.sub(pattern, mask, line) for line in lines]
    return lines


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_the_session_with_curl(tmp_path):
    """From start to end, the session prints what the page says; only the port is another."""
    steps = session()
    assert len(steps) > 10
    script = "".join(f"{command}\nprintf '\\n--next--\\n'\n" for command, _ in steps)
    with serving("--storage", tmp_path / "s.db") as (_, url):
        script = script.replace("localhost:8321", url.removeprefix("http://"))
        run = subprocess.run(
            ["bash", "-e"], input=script, capture_output=True, text=True, check=False
        )
    assert (run.returncode, run.stderr) == (0, "")
    printed = [part.strip().splitlines() for part in run.stdout.split("--next--")[:-1]]
    assert len(printed) == len(steps)
    for (command, expected), lines in zip(steps, printed, strict=True):
        if expected:
            assert masked(lines) == masked(expected), command
        else:
            assert not any(line.startswith('{"error"') for line in lines), command
