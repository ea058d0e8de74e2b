"""The command line, run as a person would."""

import json
import os
import subprocess
import sys

import pytest


def oddarm(*arguments, **options):
    """Run the command in a process of its own."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "oddarm", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **options,
    )


def test_neighbours():
    """--neighbours is the order of the groups, and an error about it names the option."""
    given = "simulate", 0.1, 0.12, 0.14, 0.16, 0.9, "--max-outliers", 1, "--neighbours", 2
    assert json.loads(oddarm(*given, "--json").stdout)["provenance"]["neighbours"] == 2
    refused = oddarm(*given, "--min-gap", 0.1)
    assert refused.returncode == 2
    assert "--neighbours 2 with --min-gap alone" in refused.stderr


def test_help_and_version():
    """Help and version answer."""
    assert "simulate" in oddarm("--help").stdout
    assert "--max-outliers" in oddarm("simulate", "--help").stdout
    assert oddarm("--version").stdout.startswith("oddarm 0.")


def test_means_as_arguments():
    """Means on the line give a sentence and a table, and nothing on standard error."""
    shown = oddarm("simulate", 0.1, 0.12, 0.14, 0.9, "--max-outliers", 1)
    assert shown.returncode == 0
    assert shown.stdout.startswith("Number 3 stands apart, above the other 3 arms by at least 0.")
    assert shown.stderr == ""


def test_json():
    """--json prints JSON and nothing else."""
    shown = oddarm("simulate", 0.1, 0.12, 0.14, 0.9, "--max-outliers", 1, "--json")
    data = json.loads(shown.stdout)
    assert data["outliers"] == [3]
    assert data["provenance"]["max_outliers"] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--max-pulls", 60], 3),
        (["--strategy", "gold"], 0),
        (["--until", "ranked"], 0),
        (["--until", "budget", "--max-pulls", 60], 3),
        (["--max-pulls", 60, "--json"], 3),
        (["--max-pulls", 60, "--runs", 2], 0),
        (["--min-gap", 0], 2),
        (["--slack", 1], 2),
        (["--until", "budget"], 2),
    ],
)
def test_exit_codes(arguments, code):
    """A decided answer ends with 0, an undecided one with 3, wrong usage with 2."""
    shown = oddarm("simulate", 0.1, 0.12, 0.14, 0.9, "--max-outliers", 1, *arguments)
    assert shown.returncode == code, shown.stderr


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("0.1\n0.12\n0.14\n\n0.9\n", 3),
        ("arm,mean\nx,0.1\ny,0.12\nz,0.14\nodd,0.9\n", "odd"),
        ("x,0.1\ny,0.12\nz,0.14\nodd,0.9\n", "odd"),
        ("mean\n0.1\n0.12\n0.14\n0.9\n", 3),
        ("\ufeffarm,mean\nx,0.1\ny,0.12\nz,0.14\nodd,0.9\n", "odd"),
    ],
)
@pytest.mark.slow
def test_means_from_a_file(tmp_path, text, first):
    """Means come one per line, or with names."""
    path = tmp_path / "means.csv"
    path.write_text(text, encoding="utf-8")
    shown = oddarm("simulate", "--file", path, "--max-outliers", 1, "--json")
    assert json.loads(shown.stdout)["ranking"][0] == first


def test_configuration_and_plot(tmp_path):
    """A named configuration brings its ε; the plot is written."""
    plot = tmp_path / "out.png"
    shown = oddarm("simulate", "--config", "upper-20-5", "--plot", plot)
    assert shown.returncode == 0
    assert "stand apart, above the other 18 arms by at least 0." in shown.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_terminal_without_greek():
    """Where a letter cannot be shown, it is escaped."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(
        [sys.executable, "-m", "oddarm", "plan", "--arms", "12", "--gap", "0.8", "--rate", "0.1"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "an outlier group at \\u03b5 = 2.5" in " ".join(shown.stdout.split())


def test_many_runs():
    """Several runs are summed up against the truth."""
    shown = oddarm("simulate", "--config", "upper-20-5", "--runs", 5)
    assert "5 runs:" in shown.stdout
    assert "5 of 5 runs were decided" in shown.stdout
    assert "ranked first in 5 of 5 runs" in shown.stdout
    shown = oddarm(
        "simulate", 0.1, 0.12, 0.14, 0.9, "--max-outliers", 1, "--runs", 2, "--min-gap", 0.3
    )
    assert "2 of 2 runs were decided; the answer was right in 2 of them" in shown.stdout
    assert (
        "no outlier group"
        in oddarm("simulate", 0.1, 0.3, 0.5, "--max-outliers", 1, "--runs", 2).stdout
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate"], "pass one of MEANS, --file or --config"),
        (["simulate", "0.1", "--config", "upper-20-5"], "MEANS and --config"),
        (["simulate", "--config", "upper-7-5"], "KIND-N-EPSILON"),
        (["simulate", "0.1", "0.2", "0.3"], "leave room for 0.3 outliers"),
        (["simulate", "0.1", "0.2", "3", "--max-outliers", "1"], "mean 3, must be in [0, 1]"),
        (
            ["simulate", "--config", "upper-20-5", "--strategy", "gold", "--epsilon", "0.01"],
            "--epsilon 0.01",
        ),
        (
            ["simulate", "--config", "upper-20-5", "--bound", "x"],
            "'x' is not one of 'anytime', 'paper'",
        ),
        (["simulate", "--config", "upper-20-5", "--plot", "out.doc"], "must end in .png"),
        (["simulate", "--file", "missing.csv"], "missing.csv: No such file"),
        (["simulate", "--file", "."], "Is a directory"),
        (
            ["plan", "--arms", "999999999999999", "--gap", "0.1"],
            "must be a whole number <= 100000000",
        ),
        (["serve", "--token-file", "token"], "all printable ASCII"),
        (["studies", "--storage", "nowhere.db"], "nowhere.db is not there"),
        (["watch", "x", "--storage", "token"], "file is not a database"),
        (["watch", "x", "--interval", "nan"], "--interval"),
        (["find", ""], "there is no file"),
        (["nonsense"], "No such command"),
        (["simulate", "--nonsense"], "No such option"),
        (["simulate", "--config", "upper-20-5", "--seed", "-1"], "greater than or equal to 0"),
        (["simulate", "--config", "upper-20-5", "--plot", "nowhere/out.png"], "there is no folder"),
    ],
)
def test_mistakes_get_a_sentence_and_exit_code_2(arguments, words, tmp_path):
    """A mistake is one clear sentence, without a traceback."""
    (tmp_path / "token").write_bytes(bytes(range(256)))
    (tmp_path / "token").chmod(0o600)
    shown = oddarm(*arguments, cwd=tmp_path)
    assert shown.returncode == 2
    assert words in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(("text", "words"), [("", "no means in it"), ("0.1\nx\n", "'x' is not a mean"), ("a,1\na,2\n", "twice")])  # fmt: skip  # noqa: E501
def test_broken_files(tmp_path, text, words):
    """A broken file is named with what is wrong in it."""
    path = tmp_path / "means.csv"
    path.write_text(text, encoding="utf-8")
    shown = oddarm("simulate", "--file", path)
    assert shown.returncode == 2
    assert words in shown.stderr


def test_binary_files(tmp_path):
    """A file that is not text is refused in a sentence."""
    path = tmp_path / "means.csv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    shown = oddarm("simulate", "--file", path)
    assert shown.returncode == 2
    assert "not a text file" in shown.stderr


def test_interrupt(monkeypatch, capsys):
    """Ctrl-C, wherever it strikes, ends the command with exit code 130 and a word."""
    from oddarm import cli
    from oddarm.cli import app

    def interrupted():
        raise KeyboardInterrupt

    def stopped():  # as typer does when it catches the interrupt itself
        raise SystemExit(130)

    for module, name, action in ((cli, "_main", interrupted), (app, "app", stopped)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, action)
            with pytest.raises(SystemExit) as stop:
                cli.main()
        assert stop.value.code == 130
        assert capsys.readouterr().err == "oddarm: interrupted\n"


def test_min_gap_alone_is_the_rule_for_a_configuration():
    """With --min-gap and no --epsilon, the ε of the configuration is not used."""
    given = ("simulate", "--config", "upper-20-2.5", "--max-pulls", 100, "--json")
    assert json.loads(oddarm(*given).stdout)["provenance"]["epsilon"] == 2.5
    problem = json.loads(oddarm(*given, "--min-gap", 0.1).stdout)["provenance"]
    assert (problem["epsilon"], problem["min_gap"]) == (None, 0.1)


def test_a_missing_saved_search():
    """A saved search that is not there is named, with what to name instead."""
    shown = oddarm("find", "flights", "--resume", "none.json")
    assert shown.returncode == 2
    assert "there is no file none.json: name what --save wrote" in shown.stderr


def test_errors_name_the_options_of_the_command_line():
    """What Python calls min_gap is --min-gap in an error of a command; paths stay as they are."""
    shown = oddarm("simulate", 0.1, 0.2, 0.9, "--max-outliers", 1, "--min-gap", -1)
    assert "--min-gap -1.0, must be" in shown.stderr
    shown = oddarm("simulate", 0.1, 0.2, 0.9, "--max-outliers", 1, "--until", "budget")
    assert "--until budget without a budget: pass --max-pulls or --max-cost." in shown.stderr
    shown = oddarm("find", "data/min_gap.csv", "--arm", "rho", "--reward", "slow")
    assert "there is no file data/min_gap.csv:" in shown.stderr
