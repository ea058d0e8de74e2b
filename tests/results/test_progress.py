"""The progress display: that it is silent where nobody looks."""

import pytest

import oddarm
from oddarm import Search
from oddarm.results.progress import SearchProgress
from oddarm.sources import RecordedSource
from support.indexed import NAMES, Indexed


def test_silent_where_there_is_no_terminal(capfd):
    """Nothing is shown when standard error is not a terminal, or when not asked for."""
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
        bar._bar.refresh()
    shown = capfd.readouterr().err
    assert "best guess: " in shown
    assert ("at most" in shown) is finite
