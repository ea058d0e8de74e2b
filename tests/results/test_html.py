"""What notebooks show of our objects."""

import re

import pytest

import oddarm

NAMES = ["<script>alert(1)</script>", "$a$ & $b$", "c", "d", "e", "f"]
LATE = {name: (300, 20 + k) for k, name in enumerate(NAMES[1:])} | {NAMES[0]: (300, 250)}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Objects that a notebook shows, whose arms have names that HTML would obey."""
    search = oddarm.Search(NAMES, max_outliers=1, max_pulls=600)
    for name in search.ask(18):
        search.tell(name, name == NAMES[0])
    log = oddarm.sources.RecordedSource.from_counts(LATE)
    means = {name: late / rows for name, (rows, late) in LATE.items()}
    folder = tmp_path_factory.mktemp("studies")
    study = oddarm.create_study(f"{folder}/s.db", "demo", NAMES, max_outliers=1)
    for pull in study.ask(12):
        study.tell(pull.id, pull.arm == NAMES[0])
    study.ask(2)
    yield {
        "result": oddarm.find(lambda arm: arm == NAMES[0], NAMES, max_outliers=1),
        "search": search,
        "study": study,
        "plan": oddarm.plan(means, ["adaptive"], runs=1, max_outliers=1, delta=0.5),
        "comparison": oddarm.compare(log, ["adaptive", "nrr"], max_outliers=1, delta=0.5),
    }
    study.close()


@pytest.mark.parametrize("kind", ["result", "search", "study", "plan", "comparison"])
def test_escaped_and_alone(shown, kind):
    """Names are escaped; there is no script, no colour, no mathematics and nothing to load."""
    html = shown[kind]._repr_html_()
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"div", "p", "b", "table", "tr", "th", "td"}
    assert html.startswith('<div class="tex2jax_ignore mathjax_ignore">')
    assert not re.search(r"color|href|src|url\(", html)
    if kind != "plan":
        assert "&lt;script&gt;" in html
    assert len(html) < 6_000


def test_words(shown):
    """Each says what it is and how far it is; a plan and a comparison have their table."""
    search, study = shown["search"]._repr_html_(), shown["study"]._repr_html_()
    assert "<b>Search</b> of 6 arms by adaptive, until found: running, 18 of 600 pulls" in search
    assert "<b>Study demo</b> of 6 arms by adaptive: running, 12 pulls told, 2 out" in study
    assert shown["comparison"]._repr_html_().count("<tr") == 4
    assert "likely pulls" in shown["plan"]._repr_html_()


def test_a_study_that_is_gone(tmp_path):
    """A study that cannot be read any more is shown in its plain form."""
    study = oddarm.create_study(f"{tmp_path}/s.db", "demo", list("abcd"), max_outliers=1)
    study.delete()
    assert study._repr_html_() is None
    study.close()
