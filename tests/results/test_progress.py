"""Progress of a search on a terminal, in a notebook, and in a log."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import oddarm
from oddarm import Search
from oddarm.results import progress
from oddarm.results.progress import SearchProgress, display_for
from oddarm.sources import RecordedSource
from support.indexed import NAMES, Indexed


def test_silent_while_it_is_short(capfd):
    """A log has no lines of a search of a few seconds; nothing is shown when not asked for."""
    oddarm.find(Indexed(), max_pulls=50, progress=True)
    oddarm.find(Indexed(), max_pulls=50)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("finite", [True, False])
def test_shown_on_a_terminal(capfd, monkeypatch, finite):
    """On a terminal there is a bar with the time left, or elapsed where there is no end."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    data = {arm: [0, 1] * 30 for arm in NAMES}
    source = RecordedSource(data, replace=not finite)
    search = Search(NAMES, "rr", rewards=source.rewards)
    with SearchProgress() as bar:
        for arm in search.ask():
            search.tell(arm, source.draw(arm))
        bar(search)
        bar._display.bar.refresh()
    shown = capfd.readouterr().err
    assert "best guess: " in shown
    assert ("at most" in shown) is finite


def test_lines_in_a_log(capfd, monkeypatch):
    """Elsewhere than on a terminal there are plain lines, each whole and none overwritten."""
    monkeypatch.setattr(progress, "LINE_AFTER", 0.0)
    oddarm.find(Indexed(), max_pulls=50, progress=True)
    out, err = capfd.readouterr()
    lines = err.splitlines(keepends=True)
    assert out == ""
    assert lines
    assert "\r" not in err
    assert "\x1b" not in err
    assert all(line.startswith("oddarm: ") and line.endswith("\n") for line in lines)
    assert " · best guess: " in lines[-1]


def test_lines_of_a_log_become_rare():
    """The first line comes after ten seconds, the next after twice that; then every ten minutes."""
    display = display_for(0.0)
    times = []
    for _ in range(9):
        times.append(display.due)
        display.shown(display.due, took=0.0)
    assert times == [10, 20, 40, 80, 160, 320, 640, 1240, 1840]


class Shown:
    """Stands in for IPython: notes what cells show, and what replaces it."""

    def __init__(self, monkeypatch):
        self.shown = []
        shell = SimpleNamespace(kernel=object())
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        ipython.get_ipython, display.display = lambda: shell, self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, data, *, display_id, **_):
        """Show something new."""
        assert display_id is True
        place = [data]
        self.shown.append(place)
        return SimpleNamespace(update=lambda data, **_: place.append(data))


def test_one_line_in_a_notebook(monkeypatch, capfd):
    """A notebook has one line, which is replaced; at the end it stays without its bar."""
    notebook = Shown(monkeypatch)
    names = [f"<b>{name}</b>" for name in range(5)]
    oddarm.find(lambda arm: arm == names[-1], names, max_outliers=1, progress=True)
    (line,) = notebook.shown
    first, last = line[0]["text/html"], line[-1]["text/html"]
    assert ("<progress" in first, "<progress" in last) == (True, False)
    assert "outliers: &lt;b&gt;4&lt;/b&gt;" in last
    assert "outliers: <b>4</b>" in line[-1]["text/plain"]
    assert "<b>" not in last
    assert capfd.readouterr() == ("", "")


def test_live_plot(monkeypatch):
    """With "plot", a notebook shows a picture below the line: at the end that of the answer."""
    notebook = Shown(monkeypatch)
    arms = list("abcde")
    result = oddarm.find(lambda arm: arm == "e", arms, max_outliers=1, progress="plot")
    _, pictures = notebook.shown
    data, size = pictures[-1]._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == 750
    assert pictures[-1].get_title(loc="left").startswith(result.headline[:20])
    with pytest.raises(
        oddarm.OddarmError, match="progress == 'bar', must be True, False or 'plot'"
    ):
        oddarm.find(arms.index, arms, max_outliers=1, progress="bar")
