"""The examples run as they stand and give the right answer."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

ANSWERS = {
    "crowd_workers": ["2 of 30 workers", "worker-11", "worker-23", "The checks cost €"],
    "flights": ["3 of 193 routes", "EWR-OKC", "EWR-TUL", "EWR-TYS"],
    "judge_prompts": ["1 of 8 prompts", "json"],
    "slow_hosts": ["1 of 12 hosts", "host-08"],
}


def test_every_example_is_tested():
    """No example is without an answer here."""
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_example(name, capsys, monkeypatch):
    """It prints a plain answer, the outliers first."""
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    shown = capsys.readouterr().out
    for words in ANSWERS[name]:
        assert words in shown
    assert shown.split("\n\n")[1].count("outlier") == int(shown.split()[0])
