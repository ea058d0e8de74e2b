"""Which exit code a result has."""

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import oddarm
from oddarm.cli.exit_codes import MEANINGS, exit_code
from oddarm.strategies import Verdict

CODES = {"confirmed": 0, "none": 0, "scattered": 3, "budget": 3, "rows": 3, "running": 130}


@pytest.mark.parametrize("until", ["found", "ranked"])
@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_every_verdict(verdict, until):
    """Decided answers have 0, undecided ones 3; a ranking is decided if no more was asked for."""
    result = oddarm.Search(4, max_outliers=1, until=until).result()
    expected = {**CODES, "ranked": 0 if until == "ranked" else 3}
    assert exit_code(replace(result, verdict=verdict)) == expected[verdict]


def test_documented():
    """docs/data.md lists the same exit codes as the help."""
    text = (Path(__file__).parents[2] / "docs/data.md").read_text(encoding="utf-8")
    table = text.partition("| exit code |")[2].partition("\n\n")[0]
    listed = re.findall(r"\d+", "".join(re.findall(r"(?m)^\| [\d, ]+ \|", table)))
    assert listed == re.findall(r"\b\d+\b", MEANINGS)
