"""`oddarm scan`, as a person would run it."""

import json

import pytest
from typer.testing import CliRunner

from oddarm.cli.app import app
from support.tables import write_csv


@pytest.fixture
def requests(tmp_path):
    """A table of twelve hosts, of which one times out far more often."""
    host = [f"host-{k:02}" for k in range(12) for _ in range(400)]
    out = [int(r % 10 < (9 if k == 7 else 1)) for k in range(12) for r in range(400)]
    return write_csv(tmp_path / "requests.csv", {"host": host, "timed_out": out})


def run(*arguments):
    """Return what a command prints and its exit code."""
    result = CliRunner().invoke(app, ["scan", *map(str, arguments)], env={"COLUMNS": "100"})
    return result.exit_code, result.output


def test_it_names_the_outlier(requests):
    """The sentence speaks of hosts and rows, and the exit code is 0."""
    code, text = run(requests, "--arm", "host", "--reward", "timed_out")
    assert code == 0
    assert text.startswith("host-07 stands apart, above the other 11 hosts by at least 0.69 ")
    assert "found with all 4,800 rows" in " ".join(text.split())
    assert "host-07" in text.split("status")[1].splitlines()[1]


def test_json_is_the_result(requests):
    """With --json there is nothing but JSON."""
    code, text = run(requests, "--arm", "host", "--reward", "timed_out", "--json")
    assert code == 0
    assert json.loads(text)["outliers"] == ["host-07"]


def test_open_answers_have_exit_code_3(requests):
    """If the rows leave it open, the exit code is 3; all rows decide."""
    options = (requests, "--arm", "host", "--reward", "timed_out", "--delta", "1e-90")
    assert run(*options)[0] == 3
    assert run(*options, "--rows", "all")[0] == 0


def test_scattered_arms_have_exit_code_3(tmp_path):
    """More arms apart than may be outliers are no answer to act on."""
    host = [name for name in "abcde" for _ in range(1000)]
    rate = [int(r < 200 * k + 100) for k in range(5) for r in range(1000)]
    data = write_csv(tmp_path / "scattered.csv", {"host": host, "rate": rate})
    code, text = run(
        data, "--arm", "host", "--reward", "rate", "--min-gap", 0.1, "--max-outliers", 1
    )
    assert code == 3
    assert "more than the one that may be an outlier" in " ".join(text.split())


def test_clipped_rewards(requests):
    """--clip takes the place of --range."""
    clipped = ("--arm", "host", "--reward", "timed_out::INT * 40", "--clip", "0,20")
    code, text = run(requests, *clipped, "--json")
    assert (code, json.loads(text)["outliers"]) == (0, ["host-07"])


def test_bundled_data_has_its_columns():
    """The flights need no column to be named."""
    code, text = run("flights", "--rows", "all", "--min-rows", 100)
    assert code == 0
    assert "routes" in text


def test_bad_options_are_refused_before_data_is_opened(tmp_path):
    """A bad parameter is named even if the file is not there."""
    result = CliRunner().invoke(app, ["scan", str(tmp_path / "no.csv"), "--epsilon", "-1"])
    assert "epsilon" in str(result.exception)


def test_advice_names_the_options_of_the_command_line(requests):
    """What to try is said in options that one can type, not in those of Python."""
    code, text = run(
        requests, "--arm", "host", "--reward", "timed_out", "--min-gap", "0.79", "--slack", "0"
    )
    assert code == 3
    words = " ".join(text.split())
    assert (
        "Try more rows, a larger --min-gap, or --rows all if these rows are all there is." in words
    )


def test_names_of_hosts_are_no_options(tmp_path):
    """An arm that is called like an option keeps its name."""
    host = [name for name in ("min_gap", "b", "c") for _ in range(9)]
    path = write_csv(tmp_path / "x.csv", {"host": host, "out": [1] * 9 + [0] * 18})
    code, text = run(
        path, "--arm", "host", "--reward", "out", "--min-gap", "0.5", "--max-outliers", "1"
    )
    assert code == 3
    assert "Best guess after all 27 rows: min_gap." in text


@pytest.mark.parametrize("named", ["-", "requests-*.csv", "two files"])
def test_standard_input_and_several_files(requests, monkeypatch, named):
    """Rows come from standard input, from a pattern, or from several files, with one answer."""
    monkeypatch.chdir(requests.parent)
    header, *lines = requests.read_text().splitlines(keepends=True)
    for number in range(2):
        (requests.parent / f"requests-{number}.csv").write_text(header + "".join(lines[number::2]))
    data = ["requests-0.csv", "requests-1.csv"] if named == "two files" else [named]
    command = ["scan", *data, "--arm", "host", "--reward", "timed_out", "--json"]
    result = CliRunner().invoke(app, command, input=requests.read_bytes())
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["outliers"], found["pulls"]) == (["host-07"], 4_800)
