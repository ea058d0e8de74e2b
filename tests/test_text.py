"""Text for terminals and spreadsheets."""

import csv
import io
import sys
import unicodedata
from dataclasses import replace

import pytest

import oddarm
from oddarm import cli
from oddarm._text import csv_cell, printable
from oddarm.results.sentence import glance

EVIL = ["\x1b[2J\x1b[31mred", "back\rforward", "two\nlines", "bell\x07", "c1\x9b31m", "rtl\u202eb"]
FORMULA = ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]
HARMLESS = ["host-1", "hôte", "主机", "שרת", "می‌خواهم", "👩‍👩‍👧", "a b", "50 %", "", "\xa0"]


def hidden(text):
    """Return the characters of a text, apart from ends of lines, that a terminal may obey."""
    return [
        c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]


def searched(names):
    """A search over such arms that is done."""
    search = oddarm.Search(names, max_outliers=1, max_pulls=60)
    while not search.done:
        for arm in search.ask():
            search.tell(arm, arm == names[0])
    return search


@pytest.mark.parametrize("text", [*EVIL, "\ud800", "\u2028", "\u2066x", "\x7f", "\x00"])
def test_what_a_terminal_would_obey_is_escaped(text):
    """Controls, directions, ends of lines and halves of characters are shown as escapes."""
    shown = printable(text)
    assert not hidden(shown)
    assert "\n" not in shown
    assert "\\" in shown
    shown.encode("utf-8")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_stays(text):
    """Letters, marks and emoji of any script are left as they are."""
    assert printable(text) == text
    assert printable(7) == "7"


@pytest.mark.parametrize("text", FORMULA)
def test_formulas_are_text_in_a_spreadsheet(text):
    """Text that begins like a formula follows an apostrophe; numbers and other text do not."""
    assert csv_cell(text) == f"'{text}"
    for value in (-1.5, 0, None, True, *HARMLESS, "a=b", "1-2"):
        assert csv_cell(value) is value


def test_results_and_progress():
    """Names of arms reach a table, a page, a line of progress and a repr as what can be shown."""
    result = searched(EVIL).result().with_nouns("\x1b[31mhosts", "rows")
    named = replace(result, verdict="budget", candidates=EVIL, outliers=[])
    for text in (str(result), result.table(width=40), repr(result), glance(named), named.summary):
        assert not hidden(text)
    assert len(result.table().splitlines()) == 7
    assert not hidden(result._repr_html_())


@pytest.mark.parametrize("path", ["x.png", "x.svg", "x.html"])
def test_plots_of_any_name(tmp_path, path):
    """A plot is drawn whatever the arms are called, mathematics and controls included."""
    result = searched([*EVIL, r"$\nonsense$", "$x"]).result().with_nouns(r"$\bad$ hosts")
    result.plot(tmp_path / path)
    assert (tmp_path / path).stat().st_size > 0


def test_exports_of_studies(tmp_path):
    """The CSV export of a study holds no formula, whatever arms and keys are called."""
    with oddarm.create_study(tmp_path / "s.db", "demo", [*FORMULA[:4], "x"], rho=0.8) as study:
        for arm in FORMULA[:4]:
            study.tell_arm(arm, [1], key=f"={arm}")
        rows = list(csv.reader(io.StringIO("".join(study.export("csv")))))
        assert [row[2:] for row in rows[1:]] == [[f"'={a}", f"'{a}", "1.0"] for a in FORMULA[:4]]
        assert '"arm": "=cmd' in "".join(study.export("jsonl"))


def test_commands(tmp_path, monkeypatch, capsys):
    """What commands print, errors included, holds nothing that a terminal would obey."""
    path = tmp_path / "t.csv"
    names = ["\x1b[31mred", "bell\x07", "c1\x9b31m", "rtl\u202eb"]
    path.write_text("arm,r\n" + "".join(f"{n},{k}\n" for n in names for k in (0, 1)) * 5)
    storage = tmp_path / "s.db"
    with oddarm.create_study(storage, "demo", names, max_outliers=1, max_pulls=1) as study:
        study.tell_arm(names[0], [1], key="a")
    for arguments, code in (
        (["find", path, "--arm", "arm", "--reward", "r", "--max-outliers", 1], 3),
        (["find", path, "--arm", "arm", "--reward", "r", "--max-outliers", 1, "--compare"], 0),
        (["find", path, "--arm", "\x1b[31m", "--reward", "r"], 2),
        (["find", path, "--arm", "arm", "--reward", "r", "--where", "arm = '\x1b[31mx'"], 2),
        (["find", tmp_path / "\x1b[31m.csv", "--arm", "arm", "--reward", "r"], 2),
        (["studies", "--storage", storage], 0),
        (["watch", "demo", "--storage", storage], 3),
        (["watch", "y\x1b[31m", "--storage", storage], 2),
    ):
        monkeypatch.setattr(sys, "argv", ["oddarm", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert stop.value.code == code, err
        assert not hidden(out + err), arguments
