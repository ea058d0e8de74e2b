"""The plugin proper: runs the tests of a session again and reports the answer."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oddarm.errors import OddarmError
from oddarm.integrations.pytest_flaky.hunt import Answer, Hunt, Turns
from oddarm.integrations.pytest_flaky.report import answer_dict, answer_lines, properties
from oddarm.integrations.pytest_flaky.study import Study, fingerprint
from oddarm.results.sentence import counted

__all__ = ["UNDECIDED", "FlakySession", "start"]

UNDECIDED = 6
"""The exit status if nothing is found and some tests are undecided; pytest's own end with 5."""
SILENT_HOOKS = (
    "pytest_runtest_logstart",
    "pytest_runtest_logreport",
    "pytest_runtest_logfinish",
    "pytest_warning_recorded",
)
"""The first run of each test is reported by pytest as ever; further runs are reported here only."""
PROGRESS_SECONDS = 30.0


def start(config: pytest.Config) -> None:
    """Register the plugin, or refuse options that it cannot go with."""
    if config.getoption("numprocesses", None) or config.getoption("dist", "no") != "no":
        raise pytest.UsageError(
            "--odd-flaky runs tests one after the other in one process: leave out -n (or add -n0)."
        )
    if config.getoption("reruns", None):
        raise pytest.UsageError(
            "--odd-flaky counts failures that --reruns would hide: leave out --reruns."
        )
    try:
        study = Study(_study_path(config), config.getoption("odd_flaky_new"))
    except OddarmError as error:
        raise pytest.UsageError(f"{error} Add --odd-flaky-new to begin anew.") from error
    config.pluginmanager.register(FlakySession(config, study), "odd-flaky-session")


def _study_path(config: pytest.Config) -> Path | None:
    """Return where runs are kept; None without a file and without pytest's cache."""
    given = config.getoption("odd_flaky_study")
    if given is not None:
        return Path(config.invocation_params.dir, given)
    cache = getattr(config, "cache", None)  # absent with -p no:cacheprovider
    return None if cache is None else cache.mkdir("oddarm") / "flaky.json"


class NextItem(pytest.Item):
    """Stands for the next test, so that pytest tears down what the next run needs anew.

    pytest tears down what the next item does not need. A test that runs twice in a row would be its
    own next item, and keep its function-scoped fixtures. And whether a fixture failed is known only
    after the test was set up. So this item says at the last moment which nodes may stay.
    """

    run: FlakySession
    stays: list[Any]
    """The nodes that may stay set up."""

    def listchain(self) -> list[Any]:
        """Return the nodes that may stay set up."""
        return [] if self.run.must_tear_down() else self.stays

    def runtest(self) -> None:
        """Do nothing: run as a test, it has pytest tear everything down."""

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where it is from."""
        return Path(__file__), None, self.name


class FlakySession:
    """The hooks of one session.

    Args:
        config: The configuration of the session.
        study: The runs of earlier sessions.
    """

    def __init__(self, config: pytest.Config, study: Study) -> None:
        self.config = config
        self.study = study
        self.hunt: Hunt | None = None
        self.answer: Answer | None = None
        self.codes: dict[str, str] = {}
        self.items: dict[str, pytest.Item] = {}
        self.changed = self.known = 0
        self.phases: list[tuple[str, str]] = []
        """The phase and the outcome of each report of the run that is under way."""
        self.isolate: bool = config.getoption("odd_flaky_isolate")
        self.limit = 60.0 * float(config.getoption("odd_flaky"))
        self.started = self.ends = time.monotonic()
        self.rerunning = False
        self.time_is_up = False
        self.turns = Turns()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin to hunt among the tests that were collected."""
        config = self.config
        if config.option.collectonly or getattr(config.option, "setuponly", False):
            return
        self.items = {item.nodeid: item for item in session.items}
        paths = {item.path for item in session.items}
        codes = {path: fingerprint(path, config.rootpath) for path in paths}
        self.codes = {test: codes[item.path] for test, item in self.items.items()}
        earlier, self.changed = self.study.known(self.codes)
        self.known = len(earlier)
        self.hunt = Hunt(
            self.items,
            rate=config.getoption("odd_flaky_rate"),
            delta=config.getoption("odd_flaky_delta"),
            earlier=earlier,
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Take note of the outcome of each phase of a run."""
        report = yield
        self.phases.append((report.when or "", _outcome(report)))
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count the run of a test."""
        self.phases = []
        begun = time.monotonic()
        done = yield
        self.turns.took(item.nodeid, time.monotonic() - begun)
        if self.hunt is not None and item.nodeid in self.hunt.records:
            self._count(self.hunt, item.nodeid)
        return done

    def _count(self, hunt: Hunt, test: str) -> None:
        outcomes = {outcome for _, outcome in self.phases}
        last = dict(
            self.phases
        )  # the last report of each phase; subtests have reports of their own
        for kind in ("skipped", "expected to fail"):
            if kind in (last.get("setup"), last.get("call")):
                again = " in a run of it" if self.rerunning else ""
                hunt.leave_out(test, f"{kind}{again}")
                return
        if outcomes:
            hunt.tell(test, "failed" in outcomes)
        else:
            hunt.leave_out(test, "gave no report")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Let pytest run every test once, then run tests again until all is decided."""
        done = yield
        if self.hunt is not None:
            with self._silence():
                self._rerun(session, self.hunt)
        return done

    def _rerun(self, session: pytest.Session, hunt: Hunt) -> None:
        """Run tests as the hunt asks for, in the order in which they were collected."""
        position = {test: k for k, test in enumerate(self.items)}
        shown = time.monotonic()
        self.ends = shown + self.limit
        asked = hunt.ask()
        if asked:
            self._say(f"odd-flaky: running tests again for up to {self.limit / 60:g} minutes")
        while asked and not (self.time_is_up or session.shouldstop or session.shouldfail):
            batch = sorted(self.turns.due(asked), key=position.__getitem__)
            for k, test in enumerate(batch):
                following = batch[k + 1] if k + 1 < len(batch) else None
                self._run(session, test, following)  # also if it is left out by now
                if self.time_is_up or session.shouldstop:
                    break
            if time.monotonic() > shown + PROGRESS_SECONDS:
                shown = time.monotonic()
                self._say(f"odd-flaky: {hunt.runs:,} runs, {len(set(asked)):,} tests in question")
            asked = hunt.ask()
        last = self._next_item(session, [])
        self.config.hook.pytest_runtest_protocol(item=last, nextitem=None)

    def _run(self, session: pytest.Session, test: str, following: str | None) -> None:
        """Run a test once more; what the following test needs stays set up."""
        item = self.items[test]
        if following is None:
            stays: list[Any] = [session]
        elif following == test:
            stays = item.listchain()[:-1]
        else:
            stays = self.items[following].listchain()
        _renew_instance(item)
        nextitem = self._next_item(session, stays)
        self.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)

    def _next_item(self, session: pytest.Session, stays: list[Any]) -> NextItem:
        item: NextItem = NextItem.from_parent(session, name="(the next test)")
        item.run, item.stays = self, stays
        return item

    def must_tear_down(self) -> bool:
        """Whether nothing may stay set up after the run that is under way."""
        self.time_is_up = self.time_is_up or time.monotonic() > self.ends
        # A fixture that failed is not set up again for as long as its scope stays.
        return self.isolate or self.time_is_up or ("setup", "failed") in self.phases

    @contextmanager
    def _silence(self) -> Iterator[None]:
        """Keep runs out of pytest's own report, of which the first run of each test is part."""
        manager, hook = self.config.pluginmanager, self.config.hook
        before = {name: getattr(hook, name) for name in SILENT_HOOKS}
        self.rerunning = True
        try:
            for name in SILENT_HOOKS:
                setattr(hook, name, manager.subset_hook_caller(name, manager.get_plugins()))
            yield
        finally:
            for name, caller in before.items():
                setattr(hook, name, caller)
            self.rerunning = False

    def _say(self, line: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self.config.get_verbosity() >= 0:
            reporter.ensure_newline()
            reporter.write_line(line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the runs, write the answer, and set the exit status."""
        if self.hunt is None:
            return
        self.study.save(self.codes, self.hunt.records)
        self.answer = answer = self.hunt.answer()
        path = self.config.getoption("odd_flaky_json")
        if path is not None:
            values = answer_dict(answer, time.monotonic() - self.started)
            text = json.dumps(values, indent=2, allow_nan=False)
            Path(self.config.invocation_params.dir, path).write_text(text, encoding="utf-8")
        _add_properties(self.config, answer)
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = exit_status(answer)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the section of the answer."""
        if self.answer is None:
            return
        terminalreporter.section("odd-flaky")
        width = terminalreporter._tw.fullwidth if terminalreporter.isatty else None
        for line in answer_lines(self.answer, width):
            terminalreporter.write_line(line)
        terminalreporter.write_line(self._kept())

    def _kept(self) -> str:
        """Return what is kept for the next session, and what was forgotten."""
        if self.study.path is None:
            return (
                "The runs are not kept: pytest's cache is off, and there is no --odd-flaky-study."
            )
        known = f"The runs of {counted(self.known, 'tests')} were known from earlier sessions. "
        changed = f"{self.changed:,} began anew: their file or a conftest.py has changed. "
        kept = f"The runs are kept in {self.study.path}."
        return known * bool(self.known) + changed * bool(self.changed) + kept


def exit_status(answer: Answer) -> int:
    """Return the exit status of an answer, where all tests passed in their first run."""
    if answer.having("flaky", "broken", "stuck"):
        return int(pytest.ExitCode.TESTS_FAILED)
    return int(pytest.ExitCode.OK) if answer.complete else UNDECIDED


def _outcome(report: pytest.TestReport) -> str:
    """Return "passed", "failed", "skipped" or "expected to fail"."""
    text = report.longrepr if isinstance(report.longrepr, str) else ""
    if hasattr(report, "wasxfail") or text.startswith("[XPASS"):
        return "expected to fail"
    return report.outcome


def _renew_instance(item: pytest.Item) -> None:
    """Have the next run of a method get an instance of its class of its own.

    pytest makes one for each item, and keeps it: a second run would find what the first one left
    on `self`.
    """
    values = vars(item)
    instance = values.get("_instance")
    if instance is not None and getattr(values.get("_obj"), "__self__", None) is instance:
        del values["_instance"], values["_obj"]


def _add_properties(config: pytest.Config, answer: Answer) -> None:
    """Add the answer to the JUnit file, if pytest writes one."""
    from _pytest.junitxml import xml_key  # what the fixture record_testsuite_property uses

    xml = config.stash.get(xml_key, None)
    if xml is not None:
        for name, value in properties(answer):
            xml.add_global_property(name, value)
