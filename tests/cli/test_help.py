"""What the help of the commands says is what the code does."""

import re
from typing import get_args

import pytest
import typer.main
from typer.testing import CliRunner

import oddarm
from oddarm.batch import plan as planning
from oddarm.cli.app import app
from oddarm.cli.exit_codes import MEANINGS
from oddarm.cli.options import PLOTS
from oddarm.options import DEFAULT_EPSILON, DEFAULT_RHO, DEFAULTS, BoundKind, Until
from oddarm.options import OPTIONS as SEARCH
from oddarm.rewards import as_rewards
from oddarm.sources.table.files import ENCODINGS
from oddarm.strategies import STRATEGIES

COMMANDS = typer.main.get_command(app).commands
OPTIONS = {
    (command, option.opts[0]): option
    for command, made in COMMANDS.items()
    for option in made.params
    if option.param_type_name == "option"
}


SHARED = ("epsilon", "min_gap", "rho", "max_outliers", "delta", "slack", "until", "bound")
"""Options of a search that every command with a search has."""


def having(name):
    """The commands that have an option of that name."""
    return [command for command, option in OPTIONS if option == name]


@pytest.mark.parametrize(
    ("name", "values"),
    [("--until", get_args(Until)), ("--bound", get_args(BoundKind)), ("--encoding", ENCODINGS)],
)
def test_listed_values(name, values):
    """The values that an option lists and takes are those of the code; a plan has no budget."""
    assert having(name)
    for command in having(name):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        listed = re.search(rf"{name}\s+[<\[]([a-z0-9|-]+)[>\]]", shown)
        assert listed is not None, shown
        taken = [value for value in values if (command, value) != ("plan", "budget")]
        assert listed[1].split("|") == taken


@pytest.mark.parametrize("name", [*SHARED, "max_pulls", "seed"])
def test_options_of_a_search(name):
    """An option of a search has the default of the table, or says its own."""
    for command in ("find", "simulate", "plan"):
        option = OPTIONS[command, f"--{name.replace('_', '-')}"]
        assert option.default == DEFAULTS[name] or "[default: " in option.help


@pytest.mark.parametrize("name", [*SHARED, "max_cost"])
def test_words_of_a_search(name):
    """An option that means the same for every search is explained in the words of the table.

    A plan has no budget to spend, and a simulation may have the ε of a configuration.
    """
    flag = f"--{name.replace('_', '-')}"
    words = re.sub("`(.*?)`", lambda other: f"--{other[1].replace('_', '-')}", SEARCH[name].help)
    assert len(having(flag)) >= 2
    for command in having(flag):
        said = re.sub('; "budget".*?guess', "", words) if command == "plan" else words
        shown = OPTIONS[command, flag].help.replace(", or that of --config", "")
        assert shown.startswith(said)


def test_defaults_in_words():
    """Defaults that the help says in words are those of the code."""
    for command in having("--rho"):
        assert f"[default: {DEFAULT_RHO:g}]" in OPTIONS[command, "--rho"].help
    assert f"Default {DEFAULT_EPSILON}, or that of --c" in OPTIONS["simulate", "--epsilon"].help
    caps = [int(n.replace(",", "")) for n in re.findall(r"[\d,]{5,}\d", OPTIONS["plan", "--max-pulls"].help)]  # noqa: E501  # fmt: skip
    assert caps == [planning.CAP, planning.SLOW_CAP]
    for command in having("--plot"):
        assert tuple(re.findall(r"\.[a-z]{3,4}", OPTIONS[command, "--plot"].help)) == PLOTS


def test_planned_strategies_are_named():
    """The strategies that a plan has by default are those that its help names."""
    words = OPTIONS["plan", "--strategy"].help.split("[default: ")[1]
    named = [word for word in re.findall(r"[a-z-]+", words) if word in STRATEGIES]
    assert named == planning.planned_strategies(as_rewards("bernoulli"), {})
    assert planning.planned_strategies(as_rewards((0, 2)), {}) == named[:-1]


def test_until_is_found_by_default(tmp_path):
    """A search of a table stops when a group is found, if the strategy can, as the help says."""
    table = {"arm": list("abcd") * 9, "r": [0, 0, 0, 1] * 9}
    path = tmp_path / "t.csv"
    path.write_text("arm,r\n" + "".join(f"{a},{r}\n" for a, r in zip(*table.values(), strict=True)))
    for options, until in (
        ([], "found"),
        (["--strategy", "rr"], "ranked"),
        (["--replace", "--max-pulls", "9"], "found"),
    ):
        state = tmp_path / "state.json"
        arguments = [str(path), "--arm", "arm", "--reward", "r", "--max-outliers", "1", *options]
        with pytest.raises(SystemExit):
            typer.main.get_command(app)(["find", *arguments, "--save", str(state)])
        assert oddarm.Search.load(state).until == until


@pytest.mark.parametrize("command", ["find", "simulate"])
def test_exit_codes(command):
    """The help of a command that searches says what its exit codes mean."""
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).output
    assert MEANINGS in " ".join(shown.split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_sentence_is_cut(width):
    """Every sentence of the help stands there whole, and every example on one line."""
    groups = {(): COMMANDS, ("study",): COMMANDS["study"].commands}
    for group, commands in groups.items():
        listed = help_of(group, width)
        for name, command in commands.items():
            shown = help_of((*group, name), width)
            assert not re.search(r"\w\.\.\.$", f"{shown}\n{listed}", re.MULTILINE)
            assert command.short_help in " ".join(listed.split())
            for line in command.help.replace("\b\n", "").splitlines():
                text = line.strip()
                assert text in (shown if line.startswith("    ") else " ".join(shown.split()))
    assert max(map(len, help_of((), width).splitlines())) <= width


def help_of(words, width):
    """What a command says about itself on a terminal of that width."""
    return CliRunner().invoke(app, [*words, "--help"], terminal_width=width).output


def test_every_option_has_help():
    """No option is left without a word."""
    assert [key for key, option in OPTIONS.items() if not option.help] == []
