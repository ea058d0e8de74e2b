"""`oddarm study`: make, pause, resume, export and delete a study."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddarm._text import printable
from oddarm.cli import options as shared
from oddarm.cli.help import add_command
from oddarm.cli.places import Server, StorageOrNone, TokenFile, open_place
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_STRATEGY, DEFAULTS
from oddarm.rewards import Clipped

if TYPE_CHECKING:
    from oddarm.store import StudyInfo

__all__ = ["app", "line"]

Name = Annotated[str, typer.Argument(metavar="NAME", help="The study.")]


def create(
    name: Name,
    arms: Annotated[
        list[str] | None, typer.Argument(metavar="ARMS", help="The names of the arms.")
    ] = None,
    arms_file: Annotated[
        Path | None, typer.Option(help="A file with a name on each line, in place of ARMS.")
    ] = None,
    arms_number: Annotated[
        int | None, typer.Option(min=3, help="How many arms, named 0, 1, …, in place of ARMS.")
    ] = None,
    strategy: shared.StrategyName = DEFAULT_STRATEGY,
    epsilon: shared.Epsilon = None,
    min_gap: shared.MinGap = None,
    rho: shared.Rho = None,
    max_outliers: shared.MaxOutliers = None,
    delta: shared.Delta = DEFAULTS["delta"],
    slack: shared.Slack = None,
    neighbours: shared.Neighbours = DEFAULTS["neighbours"],
    until: shared.UntilName = None,
    bound: shared.BoundName = DEFAULTS["bound"],
    max_pulls: shared.MaxPulls = None,
    costs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            help="What a pull of an arm costs; repeat it for every arm. [default: 1 each]",
        ),
    ] = None,
    costs_file: Annotated[
        Path | None, typer.Option(help="A file with NAME=NUMBER on each line, in place of --costs.")
    ] = None,
    max_cost: shared.MaxCost = None,
    reward_range: shared.Range = None,
    clip: shared.Clip = None,
    seed: Annotated[int, shared.search_option("seed")] = DEFAULTS["seed"],
    expired_reward: Annotated[
        float | None,
        typer.Option(help="The reward of a pull whose lease ends before it is told."),
    ] = None,
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    as_json: shared.JsonOnly = False,
) -> None:
    """Make a study.

    For example:

        oddarm study create latency ams fra lhr gru --max-outliers 1
        oddarm study create calls --arms-file models.txt --costs-file prices.txt
    """
    problem = shared.problem_options(
        epsilon=epsilon, min_gap=min_gap, rho=rho, max_outliers=max_outliers, delta=delta,
        slack=slack, neighbours=neighbours,
    )  # fmt: skip
    names = _arms(arms, arms_file, arms_number)
    rest = {
        "strategy": strategy, "until": until, "bound": bound, "max_pulls": max_pulls, "seed": seed,
        "expired_reward": expired_reward, "rewards": _rewards(reward_range, clip),
        "costs": _costs(costs, costs_file, names), "max_cost": max_cost,
    }  # fmt: skip
    options = {**problem, **{key: value for key, value in rest.items() if value is not None}}
    with open_place(storage, server, token_file) as place:
        _print(place.create(name, names, options), as_json)


def pause(
    name: Name,
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    as_json: shared.JsonOnly = False,
) -> None:
    """Hand out no more pulls; rewards of pulls in flight are still taken."""
    with open_place(storage, server, token_file) as place:
        _print(place.set_paused(name, True), as_json)


def resume(
    name: Name,
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    as_json: shared.JsonOnly = False,
) -> None:
    """Hand out pulls again."""
    with open_place(storage, server, token_file) as place:
        _print(place.set_paused(name, False), as_json)


def export(
    name: Name,
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    as_json: Annotated[bool, typer.Option("--json/--csv", help="Print JSON lines, or CSV.")] = True,
) -> None:
    """Print every reward, one on each line."""
    with open_place(storage, server, token_file) as place:
        for text in place.export(name, "jsonl" if as_json else "csv"):
            sys.stdout.write(text)


def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    as_json: shared.JsonOnly = False,
) -> None:
    """Delete a study with all its rewards, for good."""
    with open_place(storage, server, token_file) as place:
        info = place.info(name)
        if not yes:
            _ask(info, place.where)
        place.delete(name)
    print(json.dumps({"deleted": name}) if as_json else f"{printable(name)} is deleted.")


def line(info: StudyInfo) -> str:
    """Return how far a study is, as a line."""
    return f"{printable(info.name)}: {info.status}, {info.pulls:,} pulls of {info.arms:,} arms"


def _print(info: StudyInfo, as_json: bool) -> None:
    print(json.dumps(asdict(info), indent=2) if as_json else line(info))


def _ask(info: StudyInfo, where: str) -> None:
    """Ask whether to delete a study; raise ParameterError if nobody says yes."""
    refused = ParameterError(f"{printable(info.name)} is not deleted: pass --yes, or answer y.")
    if not sys.stdin.isatty():
        raise refused
    shown = f"{line(info)}, in {printable(where)}"
    if not typer.confirm(f"{shown}. Delete it with all its rewards?", err=True):
        raise refused


def _rewards(reward_range: str | None, clip: str | None) -> Any:
    """Return the rewards that the options declare, as a JSON value."""
    rewards: Any = shared.reward_range(reward_range, clip)
    if rewards is None:
        return None
    ends = [rewards.minimum, rewards.maximum]
    if isinstance(rewards, Clipped):
        return {"kind": "clipped", "minimum": ends[0], "maximum": ends[1]}
    return ends


def _arms(names: list[str] | None, file: Path | None, number: int | None) -> list[str] | int:
    """Return the arms, which are to be given in one of three ways."""
    given = {"ARMS": names or None, "--arms-file": file, "--arms-number": number}
    ways = [way for way, value in given.items() if value is not None]
    if len(ways) != 1:
        shown = " and ".join(ways) or "nothing"
        raise ParameterError(
            f"the arms are given by {shown}, must be given by one of ARMS, --arms-file FILE and "
            "--arms-number N."
        )
    if number is not None:
        return number
    if file is not None:
        return _lines(file)
    return list(names or ())


def _lines(file: Path) -> list[str]:
    """Return the lines of a file that are not blank."""
    lines = (text.strip() for text in file.read_text(encoding="utf-8").splitlines())
    return [text for text in lines if text]


def _costs(
    given: list[str] | None, file: Path | None, arms: list[str] | int
) -> dict[Any, float] | None:
    """Return what a pull of each arm costs; None if nothing says it."""
    if given and file is not None:
        raise ParameterError(f"--costs {given[0]} with --costs-file {file}: drop one.")
    pairs = given or (None if file is None else _lines(file))
    if pairs is None:
        return None
    number_of = {str(k): k for k in range(arms)} if isinstance(arms, int) else {}
    costs: dict[Any, float] = {}
    for pair in pairs:
        name, _, number = (part.strip() for part in pair.rpartition("="))
        try:
            cost = float(number)
        except ValueError:
            name = ""
        if not name:
            raise ParameterError(f"--costs {pair}: must be NAME=NUMBER, such as eu=1.")
        arm = number_of.get(name, name)
        if arm in costs:
            raise ParameterError(f"--costs {pair}: {name} has a cost already, drop one.")
        costs[arm] = cost
    return costs


DOES = "Make, pause, resume, export and delete a study."
app = typer.Typer(help=DOES, short_help=DOES, no_args_is_help=True, rich_markup_mode=None)
for command in (create, pause, resume, export, delete):
    add_command(app, command)
