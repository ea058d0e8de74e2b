"""The runs of every test, kept in a file from session to session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oddarm._files import replace_file
from oddarm.errors import StateError
from oddarm.integrations.pytest_flaky.hunt import Record
from oddarm.state import MOST, Whole, Word, mapping, require

__all__ = ["Study", "fingerprint"]

FORMAT = "oddarm.flaky"
VERSION = 1


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def fingerprint(path: Path, root: Path) -> str:
    """Return what identifies the code of the tests in a file: its text, and that of its conftests.

    Args:
        path: The file.
        root: The folder above which no conftest.py counts.
    """
    folders = [folder for folder in path.parents if folder == root or root in folder.parents]
    parts = [_digest(path), *(_digest(folder / "conftest.py") for folder in folders)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


class Study:
    """The records of tests by node id, each with the fingerprint of its code.

    Args:
        path: The file; it need not exist. None keeps nothing.
        new: Whether to forget what the file has.

    Raises:
        StateError: The file is damaged, or something else.
    """

    def __init__(self, path: Path | None, new: bool = False) -> None:
        self.path = path
        self.tests: dict[str, tuple[str, Record]] = {}
        if path is not None and path.exists() and not new:
            self.tests = _read(path)

    def known(self, codes: Mapping[str, str]) -> tuple[dict[str, Record], int]:
        """Return the records of tests whose code is what it was, and how many have other code.

        Args:
            codes: The fingerprint of each test.
        """
        stored = {test: self.tests[test] for test in codes if test in self.tests}
        known = {test: record for test, (code, record) in stored.items() if code == codes[test]}
        return known, len(stored) - len(known)

    def save(self, codes: Mapping[str, str], records: Mapping[str, Record]) -> None:
        """Write the records; tests that were not collected keep theirs.

        A test that is stuck begins anew: the next session is another process.
        """
        if self.path is None:
            return
        self.tests |= {test: (codes[test], record) for test, record in records.items()}
        tests = {
            test: {
                "code": code,
                "runs": record.runs,
                "failures": record.failures,
                "tail": record.tail,
            }
            for test, (code, record) in self.tests.items()
            if record.runs and record.status != "stuck"
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        state = {"format": FORMAT, "version": VERSION, "tests": tests}
        replace_file(self.path, json.dumps(state, indent=1))


def _read(path: Path) -> dict[str, tuple[str, Record]]:
    try:
        state = mapping(json.loads(path.read_text(encoding="utf-8")), "study")
    except (OSError, ValueError) as error:
        raise StateError(f"the study {path} cannot be read: {error}") from error
    if state.get("format") != FORMAT or state.get("version") != VERSION:
        raise StateError(f"{path} is not a study of flaky tests of version {VERSION}.")
    tests = mapping(state.get("tests"), "tests")
    return {test: _record(test, value) for test, value in tests.items()}


def _record(test: str, value: Any) -> tuple[str, Record]:
    value = mapping(value, test)
    numbers = [
        Whole(0, MOST).decode(value.get(k), f"{test}.{k}") for k in ("runs", "failures", "tail")
    ]
    record = Record(*numbers)
    require(record.tail <= record.failures <= record.runs, f"{test}: tail ≤ failures ≤ runs")
    return Word().decode(value.get("code"), f"{test}.code"), record
