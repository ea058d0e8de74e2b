"""What a shell is offered when somebody presses Tab."""

import pytest
from typer.testing import CliRunner

from oddarm.cli.app import app
from support.tables import write_csv


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("fi", {"find"}),
        ("find fli", {"flights"}),
        ("find --strategy maxgap-", {"maxgap-top2"}),
        ("find requests.csv --arm ", {"host", "timed_out", "two words"}),
        ("find requests.csv --arm h", {"host"}),
        ("scan --reward ti", set()),
        ("scan requests.csv --arm host --reward ti", {"timed_out"}),
        ("scan missing.csv --arm ", set()),
    ],
)
def test_what_is_offered(tmp_path, monkeypatch, typed, offered):
    """Commands, data, strategies and the columns of a file complete; errors do not show."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "requests.csv", {"host": ["a"], "timed_out": [1], "two words": [0]})
    environment = {
        "_ODDARM_COMPLETE": "complete_bash",
        "COMP_WORDS": f"oddarm {typed}",
        "COMP_CWORD": str(len(typed.split(" "))),
    }
    result = CliRunner().invoke(app, [], prog_name="oddarm", env=environment)
    assert set(result.stdout.split("\n")) - {""} == offered
