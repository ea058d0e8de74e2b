"""The examples run as they stand and give the right answer."""

import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

import oddarm

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

ANSWERS = {
    "audit_segments": (1, ["('cz', 'tablet') stands apart", "29 segments", "left out", "'mt'"]),
    "crowd_workers": (
        2,
        ["worker-23 and worker-11 stand apart", "28 workers", "The questions cost €"],
    ),
    "flights": (3, ["EWR-OKC, EWR-TYS and EWR-TUL stand apart", "190 routes"]),
    "judge_prompts": (1, ["json stands apart", "7 prompts", "calls of the judge", "again"]),
    "slow_hosts": (1, ["host-08 stands apart", "11 hosts"]),
    "watch_fleet": (
        1,
        ["monday: none", "tuesday: none", "ALERT: host-17 stands apart", "wednesday: confirmed"],
    ),
}
EXIT_CODES = {"watch_fleet": 1}


def test_every_example_is_tested():
    """No example is without an answer here but workers and data, which have tests of their own."""
    names = {path.stem for path in EXAMPLES.iterdir()}
    assert names - {"http_worker", "requests", "__pycache__"} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_example(name, capsys, monkeypatch):
    """It prints a plain answer, the outliers first."""
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    ends = pytest.raises(SystemExit) if name in EXIT_CODES else nullcontext()
    with ends as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert getattr(ended, "value", SystemExit(0)).args[0] == EXIT_CODES.get(name, 0)
    shown = capsys.readouterr().out
    found, sentences = ANSWERS[name]
    for words in sentences:
        assert words in shown
    assert shown.split("\n\n")[1].count("outlier") == found


def test_the_table_of_the_readme_gives_its_answer(capsys, monkeypatch):
    """The README shows what `oddarm scan` prints of examples/requests.csv."""
    from oddarm.cli.app import app

    monkeypatch.setenv("COLUMNS", "100")
    table = str(EXAMPLES / "requests.csv")
    words = ["scan", table, "--arm", "host", "--reward", "timed_out", "--min-gap", "0.15"]
    with pytest.raises(SystemExit):
        app(words, prog_name="oddarm")
    printed = capsys.readouterr().out.splitlines()[:7]
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert printed[0].startswith("web-07 and web-13 stand apart")
    assert "\n".join(printed) in readme


@pytest.fixture
def fleet(monkeypatch):
    """The names of watch_fleet.py, whose webhook notes its messages."""
    names = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "watch_fleet.py")))
    names.messages = []

    def note(chat):
        names.messages.append(chat.rfile.read(int(chat.headers["Content-Length"])))
        chat.send_response(204)
        chat.end_headers()

    monkeypatch.setattr(names.Chat, "do_POST", note)
    return names


def test_an_alert_that_was_lost_is_sent_by_the_next_run(fleet, tmp_path):
    """A study that was confirmed and not reported is reported once by the run after that."""
    storage = tmp_path / "studies.db"
    probe = fleet.Fleet("wednesday").fails
    assert fleet.watch(storage, "wednesday", probe, []).outliers == ["host-17"]
    with fleet.chat() as url:
        alert = fleet.webhook(url)
        result = fleet.watch(storage, "wednesday", pytest.fail, [alert, alert])
    assert fleet.exit_code(result) == 1
    assert len(fleet.messages) == 1
    assert b'"hosts": ["host-17"]' in fleet.messages[0]


def test_the_webhook_is_a_callback_of_find(fleet):
    """It reports a search that `find` drives, and says nothing when nobody is odd."""
    with fleet.chat() as url:
        for night in ("monday", "wednesday"):
            oddarm.find(
                fleet.Fleet(night).fails,
                fleet.HOSTS,
                min_gap=0.2,
                max_outliers=3,
                callbacks=[fleet.webhook(url)],
            )
    assert len(fleet.messages) == 1
    assert b"host-17 stands apart" in fleet.messages[0]
