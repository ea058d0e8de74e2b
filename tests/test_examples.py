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
    """No example is without an answer here but workers and data, which have tests of their own."""
    names = {path.stem for path in EXAMPLES.iterdir()}
    assert names - {"http_worker", "requests", "__pycache__"} == set(ANSWERS)


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


def test_the_table_of_the_readme_gives_its_answer(capsys):
    """The README shows what `oddarm scan` prints of examples/requests.csv."""
    from oddarm.cli.app import app

    table = str(EXAMPLES / "requests.csv")
    words = ["scan", table, "--arm", "host", "--reward", "timed_out", "--min-gap", "0.15"]
    with pytest.raises(SystemExit):
        app(words, prog_name="oddarm")
    printed = capsys.readouterr().out.splitlines()[:7]
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert printed[0].startswith("web-07 and web-13 stand apart")
    assert "\n".join(printed) in readme
