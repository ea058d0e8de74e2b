"""The committed cells, resumed and redone."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from matplotlib.figure import Figure

from oddarm import OddarmError
from reproduction.__main__ import main
from reproduction.committed import COMMITTED, check_cells, read_cells, sample
from support.made_cells import capped, cell

EASY = {"instance": "upper-20-5", "n": 20, "epsilon": 5.0, "radii": "anytime"}


def redo(*results):
    """Redo one run of each result."""
    with ThreadPoolExecutor(1) as pool:
        return check_cells(sample(results, len(results), None), pool, id)


def test_a_clean_clone_changes_nothing(tmp_path, capsys, monkeypatch):
    """With no option nothing is run, and the report comes out as it is committed."""
    picture = (COMMITTED.parent / "figure1.png").read_bytes()
    # Laying out 14 figures takes seconds, and no text depends on it.
    monkeypatch.setattr(Figure, "savefig", lambda _, file, **__: file.write(picture))
    assert main(["--out", str(tmp_path), "--workers", "1"]) == 0
    assert "report:" in capsys.readouterr().out
    assert not list((tmp_path / "cells").iterdir())
    for name in ("report.md", "cells.json", "sweeps.json"):
        assert (tmp_path / name).read_bytes() == (COMMITTED.parent / name).read_bytes()


def test_a_sample_of_the_committed_cells(capsys):
    """Cells that are redone lie within their spread."""
    assert main(["--check", "3", "--workers", "1"]) == 0
    assert "Of 3 cells, one run each" in capsys.readouterr().out


def test_outcomes():
    """A run is the same as the committed one, within the spread of all, or outside."""
    (first,) = redo(cell(**EASY))
    pulls = first.pulls
    near = [pulls + 300, pulls - 200, pulls + 100, pulls - 100]
    same = [pulls, 9, 9, 9]
    far = [10 * pulls, 11 * pulls, 10 * pulls, 9 * pulls]
    checks = [redo(cell(**EASY, runs={"pulls": runs}))[0] for runs in (same, near, far)]
    assert [check.outcome for check in checks] == ["the same", "within", "outside"]
    assert redo(cell(**EASY, right=0, runs={"pulls": near}))[0].outcome == "outside"
    assert redo(capped(**EASY))[0].outcome == "outside"
    assert "10,000" not in str(checks[0])
    assert "gold anytime" in str(checks[0])


def test_cells_of_this_code(tmp_path, capsys):
    """A cell outside its spread makes the command fail, and say how many there are."""
    far = cell(**EASY, runs={"pulls": [10**6] * 4})
    path = tmp_path / "cells.json"
    path.write_text(json.dumps([far]), encoding="utf-8")
    assert main(["--from", str(path), "--check", "5", "--workers", "1"]) == 2
    assert "1 cells of" in capsys.readouterr().err


def test_cells_of_real_data_need_their_data(shared_data):
    """Without the folder of real data their cells are not redone; with it they are."""
    results = [result for result in read_cells(COMMITTED) if result["figure"] == "keywords"]
    assert sample(results, 5, None) == []
    drawn = sample(results, 5, shared_data)
    assert len(drawn) == 5
    assert all(len(made.means) == result["n"] for result, made in drawn)


@pytest.mark.parametrize("text", ["{", "{}", "[1]"])
def test_files_that_are_not_cells(tmp_path, text):
    """A file that is not a list of cells is refused by name."""
    path = tmp_path / "cells.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OddarmError, match=r"must be the cells\.json of a report"):
        read_cells(path)
