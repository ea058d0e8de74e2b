"""What the live page says of the limit, and that nobody waits for it."""

import asyncio
import functools
import json
import os
import subprocess
import sys
import threading

import pytest
from fastapi.testclient import TestClient

from oddarm import Search, theory
from oddarm.batch.least import ROUNDS
from oddarm.rewards import Bernoulli
from oddarm.service import create_app
from oddarm.service import limit as module
from oddarm.service.limit import Limit, LimitQuestion, StudyLimit, limit_question

PATIENCE = 60
PENDING = "The limit is being computed."
FAILED = "The limit could not be computed; the service's log says why."
ENDLESS = "import threading; threading.Event().wait()"
RATES = {"ams": [0, 0, 0, 1], "fra": [0, 0, 0, 1], "lhr": [0, 0, 0, 1], "gru": [1, 1, 1, 0]}


def in_loop(test):
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run(*arguments, **options):
        asyncio.run(asyncio.wait_for(test(*arguments, **options), PATIENCE))

    return run


def told(times, rates=RATES, **options):
    """Return a search that was told a reward of each arm in turn, so many times."""
    search = Search(list(rates), **{"max_outliers": 1, "delta": 0.1, **options})
    for k in range(times):
        for arm, pattern in rates.items():
            search.tell(arm, pattern[k % len(pattern)])
    return search


def question(search):
    """Return what the limit of a search is computed from."""
    return limit_question(search, search.result())


def asked(pulls, *, done=False, arms=4, until="found"):
    """Return a question after so many pulls."""
    return LimitQuestion((0.1,) * arms, told(1).problem, until, pulls, done)


def study_limit():
    """Return the limit of a study that has nobody to wait for."""
    return StudyLimit(asyncio.Semaphore(1))


async def seen(study, *questions):
    """Return what is known after some looks, the last of which begins a computation."""
    for one in questions:
        looked = study.look(one)
    assert looked.pending
    await study._task
    return study.look(questions[-1])


@pytest.fixture
def computed(monkeypatch):
    """The pulls of the questions that were computed; each has the limit 100, at once."""
    pulls = []

    async def compute(question):
        pulls.append(question.pulls)
        return 100.0

    monkeypatch.setattr(module, "_in_process", compute)
    return pulls


@pytest.fixture
def command(monkeypatch):
    """A function that sets what the process runs in place of the computation."""
    return lambda code: monkeypatch.setattr(module, "COMMAND", [sys.executable, "-c", code])


@in_loop
async def test_the_number_is_the_limit_of_the_means_seen():
    """A process of its own finds what `least_pulls` finds in this one; nobody waits for it."""
    study, search = study_limit(), told(12)
    assert study.look(question(search)) == Limit(reason=PENDING, pending=True)
    limit = await seen(study, question(search))
    means = [0.25, 0.25, 0.25, 0.75]
    exact = theory.least_pulls(means, max_outliers=1, delta=0.1, rounds=ROUNDS)
    assert limit == Limit(pytest.approx(exact.pulls), 48)
    assert exact.pulls > 0


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
        (lambda: told(0), "The limit is unknown until every arm is pulled."),
        (lambda: told(1, rewards=(0, 1)), "The limit is computed for 0/1 rewards only."),
        (
            lambda: told(1, rewards=Bernoulli(pools=(9,) * 4)),
            "The limit is not computed for finite pools.",
        ),
        (lambda: Search(61), "The limit is not computed for more than 60 arms."),
        (lambda: told(1, delta=0.6), "There is no limit if δ is ½ or more."),
        (
            lambda: told(1, until="budget", max_pulls=90),
            "There is no limit for a study that spends a budget.",
        ),
    ],
)
def test_why_there_is_none(search, reason):
    """Where the limit does not apply, a sentence says why, and nothing is computed."""
    assert study_limit().look(question(search())) == Limit(reason=reason)


@in_loop
async def test_means_that_leave_two_answers_right():
    """The limit is 0 where means lie within the slack, or nobody seems to stand apart."""
    even = {arm: [0, 1] for arm in "abcd"}
    limit = await seen(study_limit(), question(told(4, even, until="ranked")))
    assert limit == Limit(reason="There is no limit yet: no arm seems to stand apart.")
    apart = {"a": [0] * 10, "b": [1] * 4 + [0] * 6, "c": [1] * 7 + [0] * 3, "d": [1] * 10}
    within = question(told(10, apart, epsilon=None, min_gap=0.33, slack=0.2))
    limit = await seen(study_limit(), within)
    assert limit.reason == "There is no limit for the means seen so far: two answers are right."


@in_loop
async def test_again_when_pulls_have_grown_by_a_half(computed):
    """The last limit is shown until a new one is there, which is not computed at every pull."""
    study = study_limit()
    assert await seen(study, asked(100)) == Limit(100.0, 100)
    assert study.look(asked(150)) == Limit(100.0, 100)
    assert study.look(asked(151)) == Limit(100.0, 100, pending=True)
    assert await seen(study, asked(400)) == Limit(100.0, 400)
    assert study.look(asked(600)) == Limit(100.0, 400)
    assert computed == [100, 400]


@in_loop
async def test_the_last_means_of_a_study_count(computed):
    """When a study is done or an arm fails, the limit is computed once more, and only once."""
    study = study_limit()
    await seen(study, asked(100))
    assert await seen(study, asked(101, done=True)) == Limit(100.0, 101)
    assert not study.look(asked(101, done=True)).pending
    await seen(study, asked(102, arms=3))
    assert computed == [100, 101, 102]


@in_loop
async def test_one_at_a_time_and_only_what_is_looked_at(computed):
    """A study that was left or deleted while it waited has no turn; looked at again, it has."""
    turn = asyncio.Semaphore(1)
    left, deleted, last = (StudyLimit(turn) for _ in range(3))
    async with turn:
        for pulls, study in enumerate((left, deleted, last)):
            study.look(asked(pulls))
        left._looked -= module.WATCHED_SECONDS
        await deleted.give_up()
        assert computed == []
    await last._task
    assert computed == [2]
    assert await seen(left, asked(9)) == Limit(100.0, 9)


@in_loop
async def test_a_process_that_fails(command, monkeypatch, caplog):
    """A process that ends with an error, or takes too long, leaves a sentence and a line of log."""
    command("raise ValueError('no memory')")
    study = study_limit()
    assert await seen(study, asked(10)) == Limit(reason=FAILED)
    assert "no memory" in caplog.records[-1].fields["error"]
    assert study.look(asked(16)).pending  # tried again when there is more to go by
    await study.give_up()
    command(ENDLESS)
    monkeypatch.setattr(module, "MOST_SECONDS", 0.1)
    assert await seen(study_limit(), asked(10)) == Limit(reason=FAILED)
    assert "TimeoutError" in caplog.records[-1].fields["error"]


@pytest.fixture
def begun(command, tmp_path):
    """A file that has the id of the process, once it runs; the process has no end."""
    file = tmp_path / "begun"
    os.mkfifo(file)
    command(f"import os; open({str(file)!r}, 'w').write(str(os.getpid())); {ENDLESS}")
    return file


@in_loop
async def test_giving_up_ends_the_process(begun):
    """No process is left of a study that is deleted, and none is begun."""
    study = study_limit()
    study.look(asked(1))
    pid = int(await asyncio.to_thread(begun.read_text))
    await study.give_up()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    task = study._task
    study.look(asked(9))
    assert study._task is task


def test_nobody_waits_for_a_limit_without_end(storage, begun):
    """Workers ask and tell while a limit is computed, the page follows, and the server stops."""
    with TestClient(create_app(storage), base_url="http://127.0.0.1:8321") as http:
        http.post("/studies", json={"name": "demo", "arms": list(RATES), "max_outliers": 1})
        for arm, rewards in RATES.items():
            http.post("/studies/demo/data", json={"arm": arm, "rewards": rewards, "key": arm})
        assert http.get("/studies/demo/view").json()["limit"]["pending"]
        pid = int(begun.read_text())
        (pull,) = http.post("/studies/demo/ask", json={"limit": 1}).json()["pulls"]
        tells = [{"pull": pull["id"], "reward": 1}]
        assert http.post("/studies/demo/tell", json={"tells": tells}).json() == {"told": 1}
        view = http.get("/studies/demo/view").json()
        assert (view["pulls"], view["limit"]["pending"]) == (17, True)
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_process_ends_with_the_server():
    """A server that is killed leaves no process behind: it ends when its standard input does."""
    with subprocess.Popen(module.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        means = [0.3 + k / 100 for k in range(59)]  # takes seconds
        asked = {"means": [0, *means], "problem": told(0).problem.to_dict(), "until": "found"}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 1


def test_the_view_has_the_limit_when_it_is_there(http):
    """The view of a study that does not change gets the limit all the same; deleting is fine."""
    for name in ("demo", "gone"):
        http.post("/studies", json={"name": name, "arms": list(RATES), "max_outliers": 1})
        for arm, rewards in RATES.items():
            told = {"arm": arm, "rewards": rewards * 3, "key": arm}
            http.post(f"/studies/{name}/data", json=told)
    tick = threading.Event()

    def look(name="demo"):
        return http.get(f"/studies/{name}/view").json()["limit"]

    assert look() == {"pulls": None, "after": None, "reason": PENDING, "pending": True}
    assert look("gone")["pending"]
    limits = http.app.state.studies._committers["gone"].limit
    assert http.delete("/studies/gone").status_code == 204
    for _ in range(100 * PATIENCE):
        if not (seen := look())["pending"]:
            break
        tick.wait(0.01)
    assert seen["pulls"] > 0
    assert (seen["after"], seen["reason"]) == (48, None)
    assert limits._task.cancelled()
