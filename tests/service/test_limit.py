"""What the live page says of the limit, and that nobody waits for it."""

import os
import subprocess
import sys
import threading

import pytest

from oddarm import Search, theory
from oddarm.batch.least import ROUNDS
from oddarm.rewards import Bernoulli
from oddarm.service import limit as module
from oddarm.service.limit import Limit, LimitQuestion, LimitWorker, StudyLimit, limit_question

PATIENCE = 60
ENDLESS = "import threading; threading.Event().wait()"
RATES = {"ams": [0, 0, 0, 1], "fra": [0, 0, 0, 1], "lhr": [0, 0, 0, 1], "gru": [1, 1, 1, 0]}


def told(times, rates=RATES, **options):
    """Return a search that was told a reward of each arm in turn, so many times."""
    search = Search(list(rates), **{"max_outliers": 1, "delta": 0.1, **options})
    for k in range(times):
        for arm, pattern in rates.items():
            search.tell(arm, pattern[k % len(pattern)])
    return search


def question(search):
    """Return what the limit of a search is asked for."""
    return limit_question(search, search.result())


class Held(LimitWorker):
    """A worker whose computations end when the test says so."""

    def __init__(self):
        super().__init__()
        self.asked, self.answers, self.running = [], {}, threading.Semaphore(0)
        self.go_on, self.idle = threading.Semaphore(0), threading.Event()

    def submit(self, limit):
        """Note that there is something to do."""
        self.idle.clear()
        return super().submit(limit)

    def _work(self):
        super()._work()
        self.idle.set()

    def _compute(self, question):
        self.asked.append(question.pulls)
        self.running.release()
        assert self.go_on.acquire(timeout=PATIENCE)
        answer = self.answers.get(question.pulls, 100.0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def step(self):
        """Let the computation that runs end, and those after it begin."""
        assert self.running.acquire(timeout=PATIENCE)
        self.go_on.release()

    def finish(self):
        """Let a last computation end."""
        self.step()
        assert self.idle.wait(PATIENCE)


@pytest.fixture
def held():
    """A worker that the test holds."""
    worker = Held()
    yield worker
    worker.go_on.release(9)
    worker.close()


def asked(pulls, *, done=False, arms=4, until="found"):
    """Return a question after so many pulls."""
    return LimitQuestion((0.1,) * arms, told(1).problem, until, pulls, done)


def wait_while_pending(study):
    """Look at a study until its limit is worked out; return the limit."""
    tick, limit = threading.Event(), study.look()
    for _ in range(100 * PATIENCE):
        if not limit.pending:
            return limit
        tick.wait(0.01)
        limit = study.look()
    raise AssertionError("the limit is still pending")


def test_the_number_is_the_limit_of_the_means_seen():
    """A process of its own finds what `least_pulls` finds in this one."""
    search = told(12)
    worker = LimitWorker()
    study = StudyLimit(worker)
    assert study.look(question(search)) == Limit(reason="being worked out", pending=True)
    limit = wait_while_pending(study)
    means = [0.25, 0.25, 0.25, 0.75]
    exact = theory.least_pulls(means, max_outliers=1, delta=0.1, rounds=ROUNDS)
    assert limit == Limit(pytest.approx(exact.pulls), 48)
    assert exact.pulls > 0
    worker.close()


def test_failed_arms_do_not_count():
    """The limit is that of the arms that can still be pulled."""
    search = told(12, {**RATES, "nrt": [1]})
    search.set_aside("nrt", "gone")
    asked = question(search)
    assert asked.means == (0.25, 0.25, 0.25, 0.75)
    assert asked.pulls == 60


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (lambda: told(0), "unknown until every arm was pulled"),
        (lambda: told(1, rewards=(0, 1)), "not for bounded rewards"),
        (lambda: told(1, rewards=Bernoulli(pools=(9,) * 4)), "not for finite pools"),
        (lambda: Search(61), "too many arms: above 60, it would take minutes"),
        (lambda: told(1, delta=0.6), "none for δ of ½ or more"),
        (lambda: told(1, until="budget", max_pulls=90), "none: the study spends a budget"),
    ],
)
def test_why_there_is_none(held, search, reason):
    """Where the limit does not apply, the page says why, and nothing is computed."""
    assert StudyLimit(held).look(question(search())) == Limit(reason=reason)
    assert held.asked == []


@pytest.mark.parametrize(
    ("until", "reason"),
    [("ranked", "nobody seems to stand apart yet"), ("found", "none for the means seen so far")],
)
def test_a_limit_of_0_is_none(held, until, reason):
    """Where the means leave every answer right, the page says so."""
    held.answers[10] = 0.0
    study = StudyLimit(held)
    study.look(asked(10, until=until))
    held.finish()
    assert study.look() == Limit(reason=reason)


def test_a_ranking_without_a_group_has_a_limit_of_0():
    """The process says 0 where nobody stands apart, and not an error."""
    even = {arm: [0, 1] for arm in "abcd"}
    worker = LimitWorker()
    study = StudyLimit(worker)
    study.look(question(told(4, even, until="ranked")))
    assert wait_while_pending(study).reason == "nobody seems to stand apart yet"
    worker.close()


def test_again_when_pulls_have_grown_by_a_half(held):
    """The last limit is shown until a new one is there, which is not worked out at every pull."""
    study = StudyLimit(held)
    study.look(asked(100))
    held.finish()
    held.answers[151] = 120.0
    assert study.look(asked(150)) == Limit(100.0, 100)
    assert study.look(asked(151)) == Limit(100.0, 100, pending=True)
    assert study.look(asked(400)) == Limit(100.0, 100, pending=True)
    held.finish()
    assert held.asked in ([100, 151], [100, 400])
    assert not study.look(asked(152)).pending


def test_the_last_means_of_a_study_count(held):
    """When a study is done, the limit is worked out once more, and only once."""
    study = StudyLimit(held)
    study.look(asked(100))
    held.finish()
    assert study.look(asked(101, done=True)).pending
    held.finish()
    assert study.look(asked(101, done=True)) == Limit(100.0, 101)
    assert study.look(asked(102, arms=3)).pending  # an arm failed


def test_one_at_a_time_and_only_what_is_looked_at(held):
    """A study that was deleted or left while it waited has no turn; looked at again, it has."""
    first, left, last = (StudyLimit(held) for _ in range(3))
    first.look(asked(1))
    assert held.running.acquire(timeout=PATIENCE)
    left.look(asked(2))
    left._looked -= module.WATCHED_SECONDS
    last.look(asked(3))
    assert held.asked == [1]
    held.go_on.release()
    held.finish()
    assert held.asked == [1, 3]
    assert left.look() == Limit(reason="being worked out", pending=True)
    held.finish()
    assert left.look() == Limit(100.0, 2)


def test_errors_are_not_the_views(held):
    """A computation that fails is logged and said; the next study has its turn."""
    held.answers[1] = OSError("no memory")
    broken, fine = StudyLimit(held), StudyLimit(held)
    broken.look(asked(1))
    fine.look(asked(2))
    held.step()
    held.finish()
    assert broken.look() == Limit(reason="could not be worked out")
    assert fine.look() == Limit(100.0, 2)
    assert broken.look(asked(2)).pending  # tried again when there is more to go by


def test_a_process_that_fails(monkeypatch):
    """A process that ends with an error, or takes too long, leaves no limit."""
    for program, seconds in (("raise ValueError", PATIENCE), (ENDLESS, 0.1)):
        monkeypatch.setattr(module, "PROGRAM", program)
        monkeypatch.setattr(module, "MOST_SECONDS", seconds)
        worker = LimitWorker()
        study = StudyLimit(worker)
        study.look(asked(1))
        assert wait_while_pending(study) == Limit(reason="could not be worked out")
        worker.close()


def test_closing_ends_the_computation(monkeypatch, tmp_path):
    """The server stops at once, and leaves no process behind."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    program = f"import os; open({str(begun)!r}, 'w').write(str(os.getpid())); {ENDLESS}"
    monkeypatch.setattr(module, "PROGRAM", program)
    worker = LimitWorker()
    study = StudyLimit(worker)
    study.look(asked(1))
    pid = int(begun.read_text())
    worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not study.look(asked(9)).pending  # nothing is begun any more


def test_a_program_that_forgets_to_close_ends():
    """An application that is not shut down does not keep its program from ending."""
    code = """
from oddarm import Problem
from oddarm.service import limit
limit.PROGRAM = "import os, threading; parent, tick = os.getppid(), threading.Event()\\n"
limit.PROGRAM += "while os.getppid() == parent: tick.wait(0.05)"
limit.StudyLimit(limit.LimitWorker()).look(
    limit.LimitQuestion((0.1,) * 20, Problem(), "found", 9, False))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_the_view_has_the_limit_when_it_is_there(http):
    """The view of a study that does not change gets the limit all the same; deleting is fine."""
    http.post("/studies", json={"name": "demo", "arms": list(RATES), "max_outliers": 1})
    for arm, rewards in RATES.items():
        http.post("/studies/demo/data", json={"arm": arm, "rewards": rewards * 3, "key": arm})
    tick = threading.Event()

    def look():
        return http.get("/studies/demo/view").json()["cost"]["limit"]

    assert look() == {"pulls": None, "after": None, "reason": "being worked out", "pending": True}
    for _ in range(100 * PATIENCE):
        if not (seen := look())["pending"]:
            break
        tick.wait(0.01)
    assert seen["pulls"] > 0
    assert (seen["after"], seen["reason"]) == (48, None)
    http.post("/studies", json={"name": "gone", "arms": list(RATES), "max_outliers": 1})
    for arm, rewards in RATES.items():
        http.post("/studies/gone/data", json={"arm": arm, "rewards": rewards, "key": arm})
    assert http.get("/studies/gone/view").json()["cost"]["limit"]["pending"]
    assert http.delete("/studies/gone").status_code == 204
