"""Missing packages: one message, one installation, before anything is spent."""

import subprocess
import sys

import pytest

import oddarm
from oddarm import cli
from oddarm._extras import PLOT, TABLE, require
from oddarm.cli.needs import needs_of
from oddarm.errors import MissingExtraError


@pytest.mark.parametrize(
    ("command", "extras"),
    [
        ("find log.csv --arm host --reward slow --plot=a.png", "cli table plot"),
        ("scan flights", "cli table"),
        ("find postgresql://localhost/x --table t --plot a.html", "cli postgres plot"),
        ("plan --arms 50 --gap 0.3", "cli"),
        ("plan log.csv --arm host --reward slow", "cli table"),
        ("simulate 0.1 0.2 --plot a.png", "cli plot"),
        ("serve", "cli service"),
        ("serve --storage=postgresql://localhost/x", "cli service postgres"),
        ("studies --storage postgres://localhost/x", "cli postgres"),
        ("find --help --plot a.png", "cli"),
        ("find", "cli"),
        ("", "cli"),
    ],
)
def test_what_a_command_needs(command, extras):
    """The words of a command say which extras it needs, before they are parsed."""
    assert [need.extra for need in needs_of(command.split())] == extras.split()


def test_one_message_for_a_whole_command(monkeypatch, capsys):
    """A command that lacks two extras names both in one installation, and reads no data."""
    for package in ("duckdb", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
    words = ["oddarm", "find", "no-such-file.csv", "--arm", "a", "--reward", "r", "--plot", "a.png"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "oddarm: sampling a table needs duckdb and a plot needs matplotlib, which are not "
        "installed: run  python -m pip install 'oddarm[table,plot]'\n"
    )


def test_without_the_command_line(monkeypatch, capsys):
    """Without typer, too, everything that the command needs is named."""
    for package in ("typer", "rich", "fastapi", "psycopg"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(sys, "argv", ["oddarm", "serve", "--storage", "postgresql://localhost/x"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "'oddarm[cli,service,postgres]'" in capsys.readouterr().err


def test_python_names_all_at_once(monkeypatch):
    """`find` on a file with progress, and a service on PostgreSQL, name both of their extras."""
    for package in ("duckdb", "rich", "uvicorn", "psycopg"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as refused:
        oddarm.find("no-such-file.csv", arm="a", reward="r", progress=True)
    assert refused.value.extras == ("table", "cli")
    with pytest.raises(MissingExtraError) as refused:
        oddarm.service.serve("postgresql://localhost/x")
    assert refused.value.extras == ("service", "postgres")


def test_a_function_with_progress_is_not_called(monkeypatch):
    """Without rich, a search that shall show progress ends before its first pull."""
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.delitem(sys.modules, "oddarm.results.progress", raising=False)
    pulled = []
    with pytest.raises(MissingExtraError, match=r"oddarm\[cli\]"):
        oddarm.find(lambda arm: pulled.append(arm) or 0, list("abcdefghij"), progress=True)
    assert pulled == []


def test_what_is_there_is_not_missing():
    """Packages that are installed are no error, and the core imports none of them."""
    require(TABLE, PLOT)
    code = "import sys, oddarm._extras; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
