"""Is every damaged state either loaded or refused? Mutated files, in a process of their own.

Each file is a search that was saved and then damaged. It must be refused with StateError, or load.
A search that loads is asked, told, looked at and saved for a while. A crash or a hang ends the
process and is counted; the next process goes on with the next file.
"""

from __future__ import annotations

import base64
import copy
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from oddarm import Search
from oddarm.errors import ParameterError, StateError
from oddarm.state import parse
from verification.memory import sanitized
from verification.report import Check
from verification.saved import MOMENTS, at_moment, kinds, tell

STATES = 5000
SECONDS = 30
"""Seconds after which a file counts as a hang."""
ODD: tuple[Any, ...] = (
    0, 1, -1, 2, 7, 8, 2**31, 2**53, 2**62, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e-300,
    1e300, -1e308, float("nan"), float("inf"), -float("inf"), "nan", "inf", "x", "", "1e999999999",
    "1/0", "running", "ranked", "none", "confirmed", None, True, False, [], {}, [[]], [0, 0],
    {"array": "<f8", "data": []}, {"array": "|O", "data": [{}]},
)  # fmt: skip
KINDS = list(kinds())


@cache
def _saved(kind: int, moment: str) -> dict[str, Any]:
    _, strategy, options = KINDS[kind]
    return at_moment(strategy, options, moment).to_dict()


def mutated(number: int) -> bytes:
    """Return file number `number`, which is always the same."""
    rng = np.random.default_rng([11, number])
    moment = MOMENTS[int(rng.integers(len(MOMENTS)))]
    state = copy.deepcopy(_saved(int(rng.integers(len(KINDS))), moment))
    way = rng.random()
    if way < 0.35:
        _small_change(state, rng)
    elif way < 0.65:
        _shuffle(state, rng)
    else:
        for _ in range(int(rng.integers(1, 4))):
            _change(state, rng)
    text = json.dumps(state)
    return _change_text(text, rng) if rng.random() < 0.1 else text.encode()


def _pick(value: Any, rng: np.random.Generator, stop: float) -> tuple[Any, Any]:
    """Return a place in nested values: the container that holds it, and its key there.

    Each step down takes every key with the same chance, however much is below it. At a key that
    holds more, the descent stops with the probability `stop`.
    """
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = keys[int(rng.integers(len(keys)))]
    if isinstance(value[key], dict | list) and value[key] and rng.random() >= stop:
        return _pick(value[key], rng, stop)
    return value, key


def _change(state: Any, rng: np.random.Generator) -> None:
    """Delete, replace, lengthen, shorten or swap a value anywhere."""
    holder, key = _pick(state, rng, 0.25)
    what = int(rng.integers(7))
    if what == 0:
        del holder[key]
    elif what in (1, 2):
        holder[key] = ODD[int(rng.integers(len(ODD)))]
    elif what == 3 and isinstance(holder[key], list) and holder[key]:
        holder[key] = holder[key][: int(rng.integers(len(holder[key])))]
    elif what == 4 and isinstance(holder[key], list) and holder[key]:
        holder[key] = holder[key] + holder[key][:1]
    elif what == 5 and isinstance(holder[key], str):
        holder[key] = _flipped(holder[key], rng)
    else:
        other, place = _pick(state, rng, 0.25)
        if not isinstance(holder[key], dict | list) and not isinstance(other[place], dict | list):
            holder[key], other[place] = other[place], holder[key]
        else:
            holder[key] = copy.deepcopy(other[place])


def _small_change(state: Any, rng: np.random.Generator) -> None:
    """Change some numbers slightly, and some flags, so that the file may still load."""
    for _ in range(int(rng.integers(1, 3))):
        part = ("run", "run", "run", "tally", "problem", "rewards")[int(rng.integers(6))]
        holder, key = _pick(state[part], rng, 0.0)
        while key == "array":  # the name of a type
            holder, key = _pick(state[part], rng, 0.0)
        value = holder[key]
        if isinstance(value, bool):
            holder[key] = not value
        elif isinstance(value, int):
            holder[key] = value + int(rng.integers(-2, 3)) if rng.random() < 0.7 else 2**40
        elif isinstance(value, float):
            holder[key] = float(value * rng.choice([0.0, 0.5, 0.999, 1.001, 2.0, -1.0, 1e6]))
        elif isinstance(value, str) and len(value) > 7:
            holder[key] = _flipped(value, rng)
        else:
            holder[key] = ODD[int(rng.integers(len(ODD)))]


def _shuffle(state: Any, rng: np.random.Generator) -> None:
    """Give one part of the state to other arms than the rest, or make up whole arrays."""
    run, tally = state["run"], state["tally"]
    arrays = [value["data"] for value in _arrays(run)]
    what = int(rng.integers(4))
    if what == 0:  # rewards
        rows = [tally["counts"], tally["totals"], tally["scatter"], *(tally["drawn"] or [])]
        _permute([row for row in rows if row], rng)
    elif what == 1:  # all arrays of the run
        n = len(tally["counts"]) - len(state["aside"])
        _permute([data for data in arrays if len(data) == n], rng)
    elif what == 2:  # one array of the run
        data = arrays[int(rng.integers(len(arrays)))]
        if data and isinstance(data[0], int):
            data[:] = rng.integers(0, rng.choice([2, 3, 9, 500]), len(data)).tolist()
        else:
            _permute([data], rng)
    else:  # all intervals equal
        for holder in (run, run.get("intervals", {})):
            if "low" in holder and "high" in holder:
                arm = int(rng.integers(len(holder["low"]["data"])))
                for end in ("low", "high"):
                    same = holder[end if rng.random() < 0.7 else "low"]["data"][arm]
                    holder[end]["data"] = [same] * len(holder[end]["data"])


def _arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays of a run, those of its parts too."""
    for part in value.values():
        if isinstance(part, dict):
            if "array" in part:
                yield part
            else:
                yield from _arrays(part)


def _permute(rows: list[Any], rng: np.random.Generator) -> None:
    """Put the entries of some lists into another order, the same for all."""
    order = rng.permutation(len(rows[0])) if rows else []
    for row in rows:
        row[:] = [row[index] for index in order]


def _flipped(text: str, rng: np.random.Generator) -> str:
    """Return a text with one bit flipped; if it is base64, a bit of the decoded bytes."""
    try:
        data = bytearray(base64.b64decode(text, validate=True))
        index = int(rng.integers(len(data)))
        data[index] ^= 1 << int(rng.integers(8))
        return base64.b64encode(bytes(data)).decode()
    except ValueError:
        return text[::-1] + "x"


def _change_text(text: str, rng: np.random.Generator) -> bytes:
    """Return a text cut, with bits flipped, a name twice, deep nesting, or an odd number."""
    what = int(rng.integers(5))
    if what == 0:
        return text[: int(rng.integers(len(text)))].encode()
    if what == 1:
        data = bytearray(text.encode())
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        return bytes(data)
    if what == 2:
        return text.replace('"run":', '"run": 5, "run":', 1).encode()
    if what == 3:
        return text.replace('"seed": 0', '"seed": ' + "[" * 200_000, 1).encode()
    return text.replace("0", str(rng.choice(["1e400", "NaN", "-Infinity", "9" * 5000])), 1).encode()


def use(search: Search) -> None:
    """Ask, tell, look at and save a search for a while; any exception is an error."""
    for limit in (1, 5, None, 1, 40):
        search.result().to_json()
        if search.done:
            break
        asked = search.ask(limit)
        assert asked or search.done, f"ask({limit}) gave nothing though the search is not done"
        assert limit is None or len(asked) <= limit
        for arm in asked[:30]:
            tell(search, arm)
    saved = json.dumps(search.to_dict(), allow_nan=False)
    again = Search.from_dict(parse(saved))
    assert json.dumps(again.to_dict()) == saved, "saved and loaded again, it differs"
    for arm in again.ask_indices(12).tolist():
        tell(again, again.names[arm])
    try:
        again.set_aside(again.names[-1], "gone")
    except ParameterError:  # too few arms would be left
        return
    for arm in again.ask(9):
        tell(again, arm)
    again.result()
    json.dumps(again.to_dict(), allow_nan=False)


def outcome(path: Path) -> str:
    """Return whether a file is loaded or refused, or what else happens."""
    try:
        search = Search.load(path)
    except StateError:
        return "refused"
    except Exception as error:
        return f"loading raised {error!r}"
    try:
        use(search)
    except Exception as error:
        faulthandler.dump_traceback()
        return f"using it raised {error!r}"
    return "loaded"


def child(first: int, last: int) -> None:
    """Print what happens to each file as soon as it is known, so that a crash loses nothing."""
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.json"
        for number in range(first, last):
            path.write_bytes(mutated(number))
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            happened = outcome(path)
            faulthandler.cancel_dump_traceback_later()
            print(number, happened.replace("\n", " "), flush=True)


def outcomes(count: int, environment: dict[str, str] | None = None) -> dict[int, str]:
    """Return what happens to each of the first `count` files."""
    found: dict[int, str] = {}
    first = 0
    while first < count:
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "verification.states", str(first), str(count)],
            env=os.environ | (environment or {}),
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
        )
        for line in ran.stdout.splitlines():
            number, happened = line.split(" ", 1)
            found[int(number)] = happened
        first = max(found, default=-1) + 1
        said = ran.stderr.strip()[-2000:]
        if first < count:
            found[first] = f"it ended the process ({ran.returncode}): {said}"
            first += 1
        elif said:
            found[first] = f"besides the answers: {said}"
    return found


def checks(count: int = STATES) -> Iterator[Check]:
    """Yield how many damaged files were neither loaded nor refused, also under the sanitizers."""
    yield _check("damaged states, loaded or refused", count, outcomes(count))
    with sanitized() as environment:
        if environment is not None:
            fewer = count // 5
            yield _check("the same under the sanitizers", fewer, outcomes(fewer, environment))


def _check(name: str, count: int, found: dict[int, str]) -> Check:
    wrong = {k: told for k, told in found.items() if told not in ("loaded", "refused")}
    loaded = sum(told == "loaded" for told in found.values())
    note = f"{loaded:,} loaded, {count - loaded - len(wrong):,} refused"
    first = "".join(f"\n     file {k}: {told}" for k, told in list(wrong.items())[:3])
    return Check(name, len(wrong), count, 0.0, note + first)


if __name__ == "__main__":
    child(int(sys.argv[1]), int(sys.argv[2]))
