"""The examples run as they stand and give the right answer."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

ANSWERS = {
    "crowd_workers": (
        2,
        ["worker-23 and worker-11 stand apart", "28 workers", "The checks cost €"],
    ),
    "flights": (3, ["EWR-OKC, EWR-TYS and EWR-TUL stand apart", "190 routes"]),
    "judge_prompts": (1, ["json stands apart", "7 prompts"]),
    "slow_hosts": (1, ["host-08 stands apart", "11 hosts"]),
}


def test_every_example_is_tested():
    """No example is without an answer here; a worker has tests of its own, with a server."""
    names = {path.stem for path in EXAMPLES.iterdir()}
    assert names - {"http_worker", "__pycache__"} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_example(name, capsys, monkeypatch):
    """It prints a plain answer, the outliers first."""
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    shown = capsys.readouterr().out
    found, sentences = ANSWERS[name]
    for words in sentences:
        assert words in shown
    assert shown.split("\n\n")[1].count("outlier") == found
