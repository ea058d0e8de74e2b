"""The command, run as a person would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    """Run the command in a process of its own, in the checkout."""
    command = [sys.executable, "-m", "reproduction", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_help():
    """Help says what the command does."""
    shown = run("--help")
    assert shown.returncode == 0
    assert "Redraw every figure of the paper's section 6" in " ".join(shown.stdout.split())


@pytest.mark.slow
def test_quick(tmp_path):
    """A small evaluation shows the claims, and writes a page, figures and all cells."""
    shown = run("--quick", "--out", tmp_path / "r")
    assert shown.returncode == 0, shown.stderr
    assert "GOLD finds the outliers in every run" in shown.stdout
    page = (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "python -m reproduction --quick --out r" in page
    assert str(tmp_path) not in page
    assert len(json.loads((tmp_path / "r" / "cells.json").read_text(encoding="utf-8"))) > 100
    assert (tmp_path / "r" / "figure3-bernoulli.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sizes", "20,x"], "must be numbers such as 20,50,100"),
        (["--runs", "0"], "must be a whole number >= 1"),
    ],
)
def test_wrong_options(arguments, words, capsys):
    """A wrong option is refused with its rule and exit code 2."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "--data nowhere: must be a folder"),
        (["--quick", "--sizes", "21"], "KIND-N-EPSILON"),
    ],
)
def test_mistakes(arguments, words, tmp_path):
    """A mistake is one clear sentence with exit code 2."""
    shown = run(*arguments, "--out", tmp_path)
    assert shown.returncode == 2
    assert words in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr
