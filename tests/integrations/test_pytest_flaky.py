"""`pytest --odd-flaky`: pytest is run in pytest on small suites."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import binom

import oddarm
import oddarm.integrations.pytest_flaky.session  # or each inner pytest imports it anew
from oddarm.integrations.pytest_flaky import hunt, report, strategy
from oddarm.integrations.pytest_flaky.hunt import ALWAYS, Hunt, Record, Turns

PLUGIN = "oddarm.integrations.pytest_flaky"
SOON = "--odd-flaky=0.0000001"
"""Time is up after the first rerun."""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest with the plugin; a rate of 0.3 needs few runs, and no test waits for others."""
    monkeypatch.setattr(hunt, "FIRST_ALLOWANCE", 1e9)

    def _run(*options, rate=0.3, flaky="--odd-flaky=5", apart=False):
        call = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        return call("-p", PLUGIN, flaky, f"--odd-flaky-rate={rate}", *options)

    return _run


def answer_of(pytester, run, *options, **more):
    """Run pytest and return the exit status, and the rows of the JSON file by the test's name."""
    result = run("--odd-flaky-json=answer.json", *options, **more)
    answer = json.loads((pytester.path / "answer.json").read_text())
    assert answer["format"] == "oddarm.flaky-answer"
    return result, answer, {row["test"].split("::")[-1]: row for row in answer["tests"]}


SUITE = """
    import pytest

    runs = {"flaky": 0, "stuck": 0}

    @pytest.mark.parametrize("k", range(5))
    def test_sound(k):
        print("chatter")

    def test_flaky():
        runs["flaky"] += 1
        assert runs["flaky"] % 3

    def test_broken():
        assert False

    def test_stuck():
        runs["stuck"] += 1
        assert runs["stuck"] == 1
"""


def test_flaky_broken_and_stuck(pytester, run):
    """The flaky test is named with its rate; what fails always is reported apart; status 1."""
    pytester.makepyfile(SUITE)
    result, answer, rows = answer_of(pytester, run, "--junitxml=junit.xml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*= odd-flaky =*",
            "1 of 6 tests is flaky: it fails in more than 6 % of runs.",
            "No other test fails in 30 % of runs or more.",
            "flaky * test_flaky_broken_and_stuck.py::test_flaky",
            "Broken, not flaky; left out:",
            f"*::test_broken (failed in each of {ALWAYS} runs)",
            f"*::test_stuck (passed 1 time, then failed {ALWAYS} times)",
            "* fewer than if the number of runs was fixed beforehand *",
            "* kept in *flaky.json.",
            "*1 failed, 7 passed*",
        ]
    )
    assert "chatter" not in result.stdout.str()
    assert {name: row["status"] for name, row in rows.items()} == {
        **{f"test_sound[{k}]": "sound" for k in range(5)},
        "test_flaky": "flaky",
        "test_broken": "broken",
        "test_stuck": "stuck",
    }
    flaky = rows["test_flaky"]
    assert 0.06 <= flaky["low"] < flaky["rate"] < flaky["high"]
    assert flaky["failures"] == flaky["runs"] // 3
    assert answer["verdict"] == "flaky"
    assert answer["complete"]
    assert answer["evidence"] > 20
    assert answer["runs"] == sum(row["runs"] for row in rows.values())
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()[0]
    written = {one.get("name"): one.get("value") for one in suite.find("properties")}
    assert written["odd-flaky.verdict"] == "flaky"
    name = "odd-flaky.flaky.test_flaky_broken_and_stuck.py::test_flaky"
    assert written[name].startswith(f"{flaky['rate']:.4f}, {flaky['low']:.4f} to ")
    assert len(suite.findall("testcase")) == 8, "reruns are not test cases of their own"


OWN_FIXTURE = """
    import pytest

    @pytest.fixture
    def basket():
        return []

    def test_basket(basket):
        basket.append("egg")
        assert len(basket) == 1
"""


def test_a_test_that_is_its_own_next_item(pytester, run):
    """Run twice in a row with itself as the next item, a sound test fails; not by the plugin."""
    pytester.makepyfile(OWN_FIXTURE)
    result, answer, rows = answer_of(pytester, run)
    assert result.ret == 0
    assert rows["test_basket"]["status"] == "sound"
    assert rows["test_basket"]["failures"] == 0
    assert answer["runs"] >= 8
    pytester.makeconftest(
        """
        def pytest_runtestloop(session):
            [item] = session.items
            for nextitem in (item, None):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            return True
        """
    )
    trap = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    trap.assert_outcomes(passed=1, failed=1)


SCOPES = """
    import pytest
    from pathlib import Path

    def noted(scope):
        def fixture(request):
            with Path("events").open("a") as events:
                events.write(f"+{scope}\\n")
            yield
            with Path("events").open("a") as events:
                events.write(f"-{scope}\\n")
        return pytest.fixture(scope=scope, name=scope, autouse=True)(fixture)

    for scope in ("session", "module", "class", "function"):
        globals()[scope + "_noted"] = noted(scope)
"""
CLASSES = """
    class TestOne:
        def test_a(self): assert vars(self) == {}; self.x = 1
        def test_b(self): pass

    class TestTwo:
        def test_c(self): pass
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_fixtures_of_every_scope(pytester, run, isolate):
    """Each run has its own function scope; wider scopes stay as ever, or are set up anew too."""
    pytester.makeconftest(SCOPES)
    pytester.makepyfile(test_one=CLASSES, test_two=CLASSES)
    _, answer, rows = answer_of(pytester, run, *["--odd-flaky-isolate"] * isolate)
    assert {row["failures"] for row in rows.values()} == {0}
    events = (pytester.path / "events").read_text().split()
    begun = {
        scope: events.count(f"+{scope}") for scope in ("session", "module", "class", "function")
    }
    assert {scope: events.count(f"-{scope}") for scope in begun} == begun
    reruns, rounds = answer["runs"] - 6, answer["runs"] // 6 - 1
    assert begun["function"] == answer["runs"]
    if isolate:
        assert begun["session"] - 1 == begun["module"] - 2 == begun["class"] - 4 == reruns
    else:
        assert begun["session"] == 2, "once for pytest's own run, once for all others"
        assert begun["module"] == 2 + 2 * rounds
        assert begun["class"] == 4 + 4 * rounds


def test_a_fixture_that_failed_is_set_up_again(pytester, run):
    """A module's fixture that fails once does not fail all later runs of its tests."""
    pytester.makepyfile(
        """
        import pytest

        calls = []

        @pytest.fixture(scope="module")
        def server():
            calls.append(1)
            assert len(calls) != 2

        def test_one(server): pass
        def test_two(server): pass
        """
    )
    result, answer, rows = answer_of(pytester, run)
    result.stdout.fnmatch_lines(["below rate * 1 * test_a_fixture*::test_one"])
    assert rows["test_one"]["failures"] == 1, "the failure in set-up counts"
    assert rows["test_two"]["failures"] == 0
    assert answer["verdict"] == "none"
    assert result.ret == 0


def test_kinds_of_tests(pytester, run):
    """Methods, unittest, subtests and doctests are judged; skips and expected failures are not."""
    pytester.makepyfile(
        '''
        import unittest
        import pytest

        class TestPlain:
            def test_instance(self):
                assert not hasattr(self, "used")
                self.used = True

        class TestCase(unittest.TestCase):
            def setUp(self):
                self.items = []
            def test_unit(self):
                self.items.append(1)
                self.assertEqual(len(self.items), 1)
            def test_parts(self):
                for k in range(2):
                    with self.subTest(k=k):
                        self.assertTrue(True)

        @pytest.mark.skip
        def test_skip(): pass

        @pytest.mark.xfail
        def test_xfail(): assert False

        @pytest.mark.xfail(strict=False)
        def test_xpass(): pass

        runs = []
        def test_skips_later():
            runs.append(1)
            if len(runs) == 3:
                pytest.skip("busy")

        def documented():
            """
            >>> 1 + 1
            2
            """
        '''
    )
    result, _, rows = answer_of(pytester, run, "--doctest-modules")
    left_out = {name: row["reason"] for name, row in rows.items() if row["status"] == "left out"}
    assert left_out == {
        "test_skip": "skipped",
        "test_xfail": "expected to fail",
        "test_xpass": "expected to fail",
        "test_skips_later": "skipped in a run of it",
    }
    judged = {name for name, row in rows.items() if row["status"] == "sound"}
    assert judged == {"test_instance", "test_unit", "test_parts", "test_kinds_of_tests.documented"}
    assert result.ret == 0


def test_a_test_that_is_left_out_in_the_middle_of_a_round(pytester, run):
    """What a test that is left out had set up does not trouble the test of another file."""
    pytester.makepyfile(
        test_one="""
        import pytest

        runs = []
        def test_a():
            runs.append(1)
            assert len(runs) != 2
            if len(runs) == 5:
                pytest.skip("busy")
        """,
        test_two="def test_b(): pass",
    )
    _, _, rows = answer_of(pytester, run, rate=0.1)
    assert rows["test_a"]["status"] == "left out"
    assert rows["test_b"]["failures"] == 0


def test_runs_add_up(pytester, run):
    """Runs of earlier sessions count, until the file changes or one begins anew."""
    files = pytester.makepyfile(test_a="def test_a(): pass", test_b="def test_b(): pass")
    del files

    def runs(*options):
        result, _, rows = answer_of(pytester, run, *options, flaky=SOON)
        return result.ret, {name: row["runs"] for name, row in rows.items()}

    assert runs() == (6, {"test_a": 2, "test_b": 1})
    assert runs() == (6, {"test_a": 4, "test_b": 2})
    assert runs("test_b.py") == (6, {"test_b": 4}), "a part of the tests"
    pytester.makepyfile(test_b="def test_b(): assert True")
    status, now = runs()
    assert (status, now) == (6, {"test_a": 6, "test_b": 1}), "its code has changed"
    assert runs("--odd-flaky-new") == (6, {"test_a": 2, "test_b": 1})
    assert runs("-p", "no:cacheprovider") == (6, {"test_a": 2, "test_b": 1}), "nothing is kept"
    assert runs("--odd-flaky-study=other.json") == (6, {"test_a": 2, "test_b": 1})
    assert runs("--odd-flaky-study=other.json") == (6, {"test_a": 4, "test_b": 2})
    result, answer, _ = answer_of(pytester, run)
    assert result.ret == 0
    assert answer["verdict"] == "none"


def test_undecided(pytester, run):
    """When time is up, the section says what is open and how much it may take."""
    pytester.makepyfile("def test_a(): pass\ndef test_b(): pass")
    result = run(flaky=SOON, rate="5%")
    assert result.ret == 6
    result.stdout.fnmatch_lines(["2 tests are undecided; about * more runs may decide: *"])


def test_refusals(pytester, run):
    """Options that cannot go together are refused in a sentence, with pytest's status 4."""
    pytester.makepyfile("def test_a(): pass")
    (pytester.path / "bad.json").write_text('{"format": "oddarm.flaky", "version": 1, "tests": []}')
    for options, said in (
        (["-n2"], "*--odd-flaky runs tests one after the other in one process: leave out -n*"),
        (["--odd-flaky-study=bad.json"], "*tests*Add --odd-flaky-new to begin anew."),
        (["--odd-flaky-rate=7"], "*'7' must be a share between 0 and 1, such as 0.05 or 5%.*"),
        (["--odd-flaky", "tests"], "*'tests' is not a number of minutes: write --odd-flaky=10 te*"),
    ):
        result = run(*options)
        assert result.ret == 4
        result.stderr.fnmatch_lines([said])
    assert run("-n0").ret == 0
    assert run("--odd-flaky-study=bad.json", "--odd-flaky-new").ret == 0


def test_interrupted(pytester, run):
    """Ctrl-C ends with pytest's status 2, the answer so far, and all runs kept."""
    pytester.makepyfile(
        """
        runs = []
        def test_a():
            runs.append(1)
            if len(runs) == 4:
                raise KeyboardInterrupt
        def test_b(): pass
        """
    )
    result, answer, rows = answer_of(pytester, run, apart=True)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*= odd-flaky =*", "2 tests are undecided; *"])
    assert rows["test_a"]["runs"] == 3, "the run that was interrupted does not count"
    kept = json.loads((pytester.path / ".pytest_cache/d/oddarm/flaky.json").read_text())
    assert sum(test["runs"] for test in kept["tests"].values()) == answer["runs"] > 5


def test_maxfail(pytester, run):
    """With -x the first failure ends the session as ever, and nothing is run again."""
    pytester.makepyfile("def test_a(): assert False\ndef test_b(): pass")
    result, answer, rows = answer_of(pytester, run, "-x")
    assert result.ret == 1
    assert answer["runs"] == 1
    assert rows["test_b"]["runs"] == 0


def test_reruns_are_quiet_and_strict(pytester, run):
    """Filters of warnings hold in reruns, and warnings are summed up for the first run only."""
    pytester.makepyfile(
        """
        import warnings
        runs = []
        def test_warns(): warnings.warn("hm", FutureWarning)
        def test_error():
            runs.append(1)
            if len(runs) % 2 == 0:
                warnings.warn("no", UserWarning)
        """
    )
    result, _, rows = answer_of(pytester, run, "-Wdefault::FutureWarning", "-Werror::UserWarning")
    assert rows["test_error"]["status"] == "flaky"
    assert rows["test_warns"]["runs"] > 5
    result.assert_outcomes(passed=2, warnings=1)


def test_nothing_is_imported_before_it_is_used():
    """Where the option is not used, the plugin loads nothing else of oddarm, and no numpy."""
    code = (
        f"import sys, {PLUGIN}; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('numpy', 'oddarm', 'scipy')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ["oddarm", "oddarm._version", "oddarm.integrations", PLUGIN]
    assert shown.stdout.strip() == str(loaded)


def drive(hunter, failed):
    """Run tests as asked; `failed(test, k)` says whether the k-th run of a test fails."""
    while asked := hunter.ask():
        for test in asked:
            hunter.tell(test, failed(test, hunter.records[test].runs))
    return hunter.answer()


def test_hunts_of_few_tests():
    """One test alone is judged; many flaky tests are said to have one cause, perhaps."""
    alone = drive(Hunt(["t"]), lambda _, k: k % 4 == 1)
    assert (alone.verdict, alone.judged) == ("flaky", 1)
    broken = drive(Hunt(["t"]), lambda *_: True)
    assert [row.status for row in broken.rows] == ["broken"]
    assert broken.complete
    many = drive(Hunt("abcdefgh"), lambda test, k: test < "e" and k % 4 == 1)
    assert [row.test for row in many.having("flaky")] == list("abcd")
    assert "look first at what they share" in " ".join(report.sentences(many))
    nobody = drive(Hunt("ab"), lambda *_: False)
    assert report.sentences(nobody)[0] == "None of 2 tests fails in 5 % of runs or more."


def test_slow_tests_wait():
    """Tests get about as much time: one of 40 s waits until the others took as long."""
    turns = Turns()
    seconds = {"quick": 0.01, "slow": 3.0, "slowest": 40.0}
    runs = dict.fromkeys(seconds, 0)
    while sum(turns.seconds.values()) < 100:
        for test in turns.due(list(seconds)):
            turns.took(test, seconds[test])
            runs[test] += 1
    assert runs["slowest"] == 1
    assert runs["slow"] in range(10, 20)
    assert runs["quick"] > 1_000


def test_a_test_that_is_broken_later():
    """A test that breaks in the middle is set aside, and the others are judged on."""
    answer = drive(Hunt("abcd"), lambda test, k: test == "a" and k >= 7)
    assert [row.status for row in answer.rows] == ["stuck", "sound", "sound", "sound"]
    assert Record(17, 10, 10).status == "stuck"
    assert Record(17, 11, 10).status == "undecided"


@pytest.mark.parametrize("truth", [1.0, 1.5])
def test_evidence_is_not_above_one_on_average(truth):
    """Evidence against a line has a mean of 1 on the line, and of at most 1 beyond it."""
    search = oddarm.Search(3, strategy.FailureRates(), min_gap=0.05, slack=0.8, max_outliers=1)
    levels, runs = search.run.levels, 60
    failures = np.arange(runs + 1.0)
    below = strategy.log_evidence(
        failures, np.full(61, runs), levels.upper, np.array(strategy.BELOW) * levels.upper,
        np.array(strategy.BELOW_WEIGHTS),
    )  # fmt: skip
    above = strategy.log_evidence(
        failures, np.full(61, runs), levels.lower, np.array([0.02, 0.5]), np.array([0.5, 0.5])
    )
    for log_odds, mean in ((below, levels.upper * truth), (above, levels.lower / truth)):
        average = binom.pmf(failures, runs, mean) @ np.exp(log_odds)
        assert average == pytest.approx(1.0) if truth == 1 else average < 1


def test_the_fixed_design_by_brute_force():
    """The number of runs fixed beforehand is the first for which a count of failures decides."""
    levels = strategy.Levels(lower=0.06, upper=0.3, miss=0.04, alarm=0.001)

    def decides(runs):
        return any(
            binom.sf(count - 1, runs, 0.06) <= 0.001 and binom.cdf(count - 1, runs, 0.3) <= 0.02
            for count in range(1, runs + 1)
        )

    assert strategy.fixed_runs(levels, 1) == next(n for n in range(1, 500) if decides(n))


def test_the_strategy_refuses_other_questions():
    """The strategy takes 0/1 rewards and min_gap alone, with a slack."""
    for options in (
        {"epsilon": 2.5},
        {"min_gap": 0.1},
        {"min_gap": 0.1, "slack": 0.8, "rewards": (0, 2)},
    ):
        with pytest.raises(oddarm.OddarmError, match="failure-rates"):
            oddarm.Search(5, strategy.FailureRates(), max_outliers=1, **options)


def test_the_guide_names_every_option():
    """docs/howto/flaky-tests.md has each option of the plugin and each exit status."""
    guide = (Path(__file__).parents[2] / "docs/howto/flaky-tests.md").read_text(encoding="utf-8")
    source = Path(oddarm.__file__).with_name("integrations") / "pytest_flaky/__init__.py"
    options = re.findall(r'"(--odd-flaky[a-z-]*)"', source.read_text())
    assert len(options) == 7
    for option in options:
        assert f"`{option}" in guide
    assert hunt.ALWAYS == 10
    assert "each of its first 10 runs" in guide
