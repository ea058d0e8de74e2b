"""The service's endpoints: what they answer, and how they refuse."""

import asyncio
import json
import logging
import threading

import pytest
from fastapi.testclient import TestClient

from oddarm import create_study, open_study
from oddarm.errors import UnknownStudyError
from oddarm.service import app as app_module
from oddarm.service import batching, create_app, models
from oddarm.service.batching import StudyPool
from oddarm.service.history import HistoryKeeper
from oddarm.service.logs import JSONFormatter
from oddarm.store import Study
from oddarm.store.database import sqlite
from oddarm.store.database.base import open_database

ARMS = ["ams", "fra", "lhr", "gru"]


@pytest.fixture
def demo(http):
    """A service with a study in it."""
    body = {"name": "demo", "arms": ARMS, "strategy": "gold", "max_outliers": 1}
    answer = http.post("/studies", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == "/studies/demo"
    return http


def ask(http, limit=1, **options):
    """Return pulls of the study."""
    return http.post("/studies/demo/ask", json={"limit": limit, **options}).json()["pulls"]


def tell(http, pulls, reward=1):
    """Report the same reward for some pulls."""
    body = {"tells": [{"pull": pull["id"], "reward": reward} for pull in pulls]}
    return http.post("/studies/demo/tell", json=body)


def refused(answer, status, words):
    """Check that an answer is a refusal in one sentence."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert words in answer.json()["error"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("costs", [{"ams": 1, "fra": 1, "lhr": 1, "gru": 4}, [1, 1, 1, 4]])
def test_costs_over_http(http, costs):
    """A study with prices, by name or in order, hands out no more pulls than max_cost pays for."""
    body = {"name": "demo", "arms": ARMS, "strategy": "rr", "max_outliers": 1}
    answer = http.post("/studies", json={**body, "costs": costs, "max_cost": 9})
    assert answer.status_code == 201, answer.text
    first, second = ask(http, 4), ask(http, 4)
    assert [pull["arm"] for pull in second] == ARMS[:2]
    tell(http, [*first, *second])
    assert http.post("/studies/demo/ask", json={}).json() == {"pulls": [], "status": "done"}
    result = http.get("/studies/demo/result").json()
    assert (result["cost"], result["verdict"]) == (9, "budget")
    for wrong in ({"costs": [1, 1]}, {"costs": {"ams": 1}}, {"max_cost": 0}, {"costs": [0] * 4}):
        answer = http.post("/studies", json={**body, "name": "wrong", **wrong})
        assert answer.status_code in (400, 422), wrong


def test_a_study_from_its_making_to_its_end(demo):
    """Asked and told over HTTP, a study ends with the candidate of GOLD."""
    while True:
        asked = demo.post("/studies/demo/ask", json={"limit": 40}).json()
        if asked["status"] == "done":
            break
        tells = [
            {"pull": pull["id"], "reward": int(pull["arm"] == "gru")} for pull in asked["pulls"]
        ]
        assert demo.post("/studies/demo/tell", json={"tells": tells}).json() == {"told": 40}
    result = demo.get("/studies/demo/result").json()
    assert (result["outliers"], result["candidates"]) == ([], ["gru"])
    (row,) = demo.get("/studies").json()
    assert row == demo.get("/studies/demo").json()
    assert (row["status"], row["verdict"], row["pulls"]) == ("done", "ranked", result["pulls"])


def test_idempotent_tells(demo):
    """A pull told twice, and data sent twice under one key, count once."""
    pulls = ask(demo, 3)
    assert tell(demo, pulls[:2]).json() == {"told": 2}
    assert tell(demo, pulls).json() == {"told": 1}
    body = {"arm": "ams", "rewards": [1, 0, 1], "key": "monday"}
    assert demo.post("/studies/demo/data", json=body).json() == {"told": 3}
    assert demo.post("/studies/demo/data", json=body).json() == {"told": 0}
    assert demo.get("/studies/demo").json()["pulls"] == 6


def test_the_first_of_two_rewards_of_a_pull_counts(demo):
    """In one request as in two, a pull that was told is told; the others keep their order."""
    one, two = ask(demo, 2)
    tells = [(one, 1), (two, 0), (one, 0)]
    body = {"tells": [{"pull": pull["id"], "reward": reward} for pull, reward in tells]}
    assert demo.post("/studies/demo/tell", json=body).json() == {"told": 2}
    lines = [json.loads(line) for line in demo.get("/studies/demo/export").text.splitlines()]
    assert [(row["pull"], row["reward"]) for row in lines] == [(one["id"], 1), (two["id"], 0)]


def test_set_aside(demo):
    """A failed arm is not asked for again, ranks last and is shown with the reason."""
    body = {"arm": "lhr", "reason": "the host is gone"}
    assert demo.post("/studies/demo/set-aside", json=body).json() == {"changed": True}
    assert demo.post("/studies/demo/set-aside", json=body).json() == {"changed": False}
    assert "lhr" not in {pull["arm"] for pull in ask(demo, 40)}
    result = demo.get("/studies/demo/result").json()
    assert result["ranking"][-1] == "lhr"
    assert result["errors"] == [{"arm": "lhr", "error": "the host is gone"}]
    view = demo.get("/studies/demo/view").json()
    assert view["errors"] == [{"arm": 2, "error": "the host is gone"}]
    assert view["statuses"][2] == "failed"
    more = demo.post("/studies/demo/set-aside", json={"arm": "ams", "reason": "x"})
    refused(more, 422, "2 of 4 arms would be left")
    refused(demo.post("/studies/demo/set-aside", json={"arm": "x", "reason": "x"}), 422, "arm 'x'")
    refused(demo.post("/studies/demo/set-aside", json={"arm": "ams", "reason": ""}), 422, "reason")


def test_clipped_rewards(http):
    """A study of clipped rewards counts a reward beyond the range as the nearer end."""
    rewards = {"kind": "clipped", "minimum": 0, "maximum": 500}
    body = {"name": "demo", "arms": ARMS, "max_outliers": 1, "rewards": rewards}
    assert http.post("/studies", json=body).status_code == 201
    data = {"arm": "ams", "rewards": [20, 3_000], "key": "monday"}
    assert http.post("/studies/demo/data", json=data).json() == {"told": 2}
    tell(http, ask(http, 4), reward=700)
    rows = {row["arm"]: row for row in http.get("/studies/demo/result").json()["arms"]}
    assert (rows["ams"]["mean"], rows["fra"]["mean"]) == (260, 500)


def test_rewards_that_wait(demo):
    """A reward waits for the earlier pulls of its arm, until they are told or given up."""
    pulls = [pull for _ in range(2) for pull in ask(demo, 4)]
    by_arm = {}
    for pull in pulls:
        by_arm.setdefault(pull["arm"], []).append(pull)
    first, second = by_arm["ams"]
    assert tell(demo, [second]).json() == {"told": 1}
    row = demo.get("/studies/demo").json()
    assert (row["pulls"], row["waiting"]) == (0, 1)
    assert demo.get("/studies/demo/view").json()["waiting"] == 1
    body = {"pulls": [first["id"]]}
    assert demo.post("/studies/demo/give-up", json=body).json() == {"given_up": 1}
    assert demo.post("/studies/demo/give-up", json=body).json() == {"given_up": 0}
    row = demo.get("/studies/demo").json()
    assert (row["pulls"], row["waiting"]) == (1, 0)
    assert "1 pull was given up" in demo.get("/studies/demo/result").json()["summary"]
    refused(demo.post("/studies/demo/give-up", json={"pulls": ["x"]}), 404, "never handed out")


def test_what_an_expired_pull_counts_as(http):
    """A study may declare the reward of pulls that are not told in time; it must be valid."""
    body = {"name": "late", "arms": ["ams", "fra", "lhr", "gru"], "max_outliers": 1}
    refused(http.post("/studies", json={**body, "expired_reward": 2}), 422, "must be 0 or 1")
    assert http.post("/studies", json={**body, "expired_reward": 1}).status_code == 201
    asked = {"limit": 4, "lease_seconds": 1e-6}
    pulls = http.post("/studies/late/ask", json=asked).json()["pulls"]
    tells = [{"pull": pull["id"], "reward": 0} for pull in pulls]
    assert http.post("/studies/late/tell", json={"tells": tells}).json() == {"told": 0}
    result = http.get("/studies/late/result").json()
    assert [row["mean"] for row in result["arms"]] == [1.0] * 4


def test_a_view_is_made_once_for_each_change(demo, monkeypatch):
    """Watchers of a study that does not change are given the view made for the first of them."""
    made, make = [], batching.view_json
    monkeypatch.setattr(
        batching, "view_json", lambda info, *others: made.append(info) or make(info, *others)
    )
    views = [demo.get("/studies/demo/view").json() for _ in range(5)]
    assert len(made) == 1
    assert views[0] == views[4]
    tell(demo, ask(demo, 4))
    assert [demo.get("/studies/demo/view").json()["pulls"] for _ in range(3)] == [4, 4, 4]
    assert len(made) == 2
    demo.post("/studies/demo/pause")
    assert demo.get("/studies/demo/view").json()["status"] == "paused"


def test_pause_resume_delete(demo):
    """A paused study hands out nothing; a deleted one is gone, and its name free."""
    assert demo.post("/studies/demo/pause").json()["status"] == "paused"
    assert demo.post("/studies/demo/ask", json={}).json() == {"pulls": [], "status": "paused"}
    assert demo.post("/studies/demo/resume").json()["status"] == "running"
    assert len(ask(demo)) == 1
    assert demo.delete("/studies/demo").status_code == 204
    refused(demo.get("/studies/demo"), 404, "study 'demo'")
    again = demo.post("/studies", json={"name": "demo", "arms": 20})
    assert again.json()["arms"] == 20
    assert len(ask(demo, 20)) == 20


def test_a_study_made_anew_by_another_process(demo, storage):
    """What others do to the database is seen at the next request."""
    ask(demo)
    with open_study(storage, "demo") as study:
        study.delete()
    refused(demo.post("/studies/demo/ask", json={}), 404, "study 'demo' is not there")
    create_study(storage, "demo", 30).close()
    assert len(ask(demo, 30)) == 30


def test_export(demo):
    """Rewards come as JSON lines or CSV, as a download."""
    tell(demo, ask(demo, 3))
    lines = demo.get("/studies/demo/export")
    assert lines.headers["content-type"].startswith("application/jsonl")
    assert lines.headers["content-disposition"] == 'attachment; filename="demo.jsonl"'
    assert [json.loads(line)["arm"] for line in lines.text.splitlines()] == ARMS[:3]
    table = demo.get("/studies/demo/export?format=csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert len(table.text.splitlines()) == 4
    refused(demo.get("/studies/demo/export?format=xml"), 422, "query.format")
    demo.delete("/studies/demo")
    refused(demo.get("/studies/demo/export"), 404, "study 'demo'")


def test_a_long_export_comes_in_few_pieces(demo):
    """Thousands of lines are sent a thousand at a time, none lost between two pieces."""
    for key in range(3):
        own = {"arm": "ams", "rewards": [key % 2] * 900, "key": str(key)}
        assert demo.post("/studies/demo/data", json=own).json() == {"told": 900}
    with demo.stream("GET", "/studies/demo/export") as answer:
        pieces = list(answer.iter_raw())
    lines = b"".join(pieces).splitlines()
    assert len(lines) == 2700
    assert [json.loads(line)["reward"] for line in lines] == [0] * 900 + [1] * 900 + [0] * 900
    assert len(pieces) <= 4


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/studies", b"{", 400, "the body is not JSON"),
        ("POST", "/studies", b"[" * 100_000, 400, "JSON"),
        ("POST", "/studies", {"name": "a/b", "arms": 20}, 422, "body.name"),
        ("POST", "/studies", {"name": "demo", "arms": ARMS, "max_outliers": 1}, 409, "is there"),
        ("POST", "/studies", {"name": "x", "arms": ["a", "a", "b"], "max_outliers": 1}, 422, "twi"),
        ("POST", "/studies", {"name": "x", "arms": 20, "epsilon": -1}, 422, "epsilon == -1"),
        ("POST", "/studies", {"name": "x", "arms": 20, "strategy": "silver"}, 422, "'silver'"),
        ("POST", "/studies", {"name": "x", "arms": 20, "rewards": [1, 0]}, 422, "low < high"),
        ("POST", "/studies", {"name": "x", "arms": 20, "rewards": {"kind": "odd"}}, 422, "rewards"),
        ("POST", "/studies", {"name": "x", "arms": 20, "colour": "red"}, 422, "body.colour"),
        ("POST", "/studies", {"name": "x", "arms": 10**9}, 422, "less than or equal to 5000"),
        ("POST", "/studies", {"name": "x", "arms": ["a", "b", "\ud800"]}, 422, ""),
        ("POST", "/studies/other/ask", {}, 404, "study 'other' is not there"),
        ("POST", "/studies/demo/ask", {"limit": 0}, 422, "body.limit"),
        ("POST", "/studies/demo/ask", {"limit": 10**6}, 422, "body.limit"),
        ("POST", "/studies/demo/ask", {"lease_seconds": -1}, 422, "body.lease_seconds"),
        ("POST", "/studies/demo/tell", {"tells": [{"pull": "x", "reward": 1}]}, 404, "pull 'x'"),
        ("POST", "/studies/demo/tell", {"tells": [{"pull": "x"}]}, 422, "reward"),
        ("POST", "/studies/demo/tell", b'{"tells": [{"pull": "x", "reward": NaN}]}', 422, "finite"),
        ("POST", "/studies/demo/tell", {"tells": [{"pull": "x", "reward": "1"}]}, 422, "number"),
        ("POST", "/studies/demo/tell", {"tells": [{"pull": "x", "reward": True}]}, 422, "number"),
        ("POST", "/studies/demo/tell", b'{"tells": [{"pull": "x", "reward": 1e999}]}', 422, "fini"),
        ("POST", "/studies/demo/data", {"arm": "x", "rewards": [1], "key": "k"}, 422, "arm 'x'"),
        ("POST", "/studies/demo/data", {"arm": "ams", "rewards": [7], "key": "k"}, 422, "0 or 1"),
        ("GET", "/studies/other/result", None, 404, "study 'other'"),
        ("GET", "/studies/other/events", None, 404, "study 'other'"),
        ("DELETE", "/studies/other", None, 404, "study 'other'"),
        ("GET", "/studies/a%2Fb", None, 404, "There is no route GET /"),
        ("PUT", "/studies", {}, 405, "There is no route PUT /studies."),
        ("GET", "/nonsense", None, 404, "There is no route GET /"),
    ],
)
def test_bad_requests(demo, method, path, body, status, words):
    """Each mistake gets the right status and one sentence, and changes nothing."""
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    headers = {} if content is None else {"Content-Type": "application/json"}
    before = demo.get("/studies").json()
    refused(demo.request(method, path, content=content, headers=headers), status, words)
    assert demo.get("/studies").json() == before


def test_a_reward_out_of_range_in_a_batch(demo):
    """A batch with one bad reward is refused whole; told right, it is taken."""
    pulls = ask(demo, 3)
    tells = [{"pull": pull["id"], "reward": 1} for pull in pulls]
    bad = [*tells[:2], {**tells[2], "reward": 0.5}]
    refused(demo.post("/studies/demo/tell", json={"tells": bad}), 422, "0.5 at position 2 of 3")
    assert tell(demo, pulls).json() == {"told": 3}


def test_too_large(demo):
    """A body beyond the limit is refused, whether it says its length or not."""
    large = b" " * (models.MAX_BODY + 1)
    refused(demo.post("/studies", content=large), 413, "more than 4,000,000 bytes")

    def chunks():
        for _ in range(50):
            yield b" " * 100_000

    headers = {"Content-Type": "application/json"}
    refused(demo.post("/studies", content=chunks(), headers=headers), 413, "more than")


def test_token(storage):
    """With a token, studies are for those who send it; health and the page are for all."""
    token = "correct horse battery staple"
    with TestClient(create_app(storage, token=token)) as http:
        assert http.get("/health").json()["status"] == "ok"
        assert http.get("/").status_code == 200
        for headers, words in [
            ({}, "there is no token"),
            ({"Authorization": "Bearer wrong"}, "the token is wrong"),
            ({"Authorization": f"Basic {token}"}, "the token is wrong"),
            ({"Authorization": "Bearer ü".encode()}, "the token is wrong"),
        ]:
            answer = http.get("/studies", headers=headers)
            refused(answer, 401, words)
            assert answer.headers["www-authenticate"] == "Bearer"
        assert http.get("/studies", headers={"Authorization": f"Bearer {token}"}).json() == []


def test_without_a_token_only_this_machine(http):
    """Requests under another host name, or sent by pages from elsewhere, are refused."""
    refused(http.get("/studies", headers={"Host": "evil.example"}), 403, "is not this machine")
    refused(http.get("/studies", headers={"Host": "[::"}), 403, "is not this machine")
    refused(http.post("/studies/x/pause", headers={"Origin": "http://evil.example"}), 403, "origin")
    own = {"Origin": "http://127.0.0.1:8321"}
    assert http.get("/studies", headers=own).status_code == 200
    for host in ("localhost:99", "127.0.0.2:8321", "[::1]:8321"):
        assert http.get("/studies", headers={"Host": host}).status_code == 200


def test_database_in_trouble(demo, storage, monkeypatch):
    """Locked, full or gone is 503 or 507; when it is over, the service goes on as before."""
    import sqlite3

    monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(HistoryKeeper, "want", lambda *_: None)  # it has a connection of its own
    pulls = ask(demo, 4)
    for connection in demo.app.state.studies._database._idle:
        connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(storage, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = tell(demo, pulls)
    refused(answer, 503, "locked by another process")
    assert answer.headers["retry-after"] == "1"
    assert demo.get("/health").status_code == 200
    other.execute("ROLLBACK")
    other.close()
    assert tell(demo, pulls[:1]).json() == {"told": 1}

    for connection in demo.app.state.studies._database._idle:
        connection.execute("PRAGMA max_page_count = 1")
    big = {"arm": "ams", "rewards": [1] * 9000, "key": "big"}
    refused(demo.post("/studies/demo/data", json=big), 507, "the disk is full")
    assert demo.post("/studies/demo/data", json=big).json() == {"told": 9000}

    storage.rename(storage.with_name("away.db"))
    refused(tell(demo, pulls), 503, "was removed or replaced")
    refused(demo.get("/health"), 503, "was removed or replaced")
    storage.with_name("away.db").rename(storage)
    assert tell(demo, pulls).json() == {"told": 3}
    assert demo.get("/studies/demo").json()["pulls"] == 9004


def test_an_internal_error_says_nothing_of_its_inside(demo, monkeypatch, caplog):
    """A bug is a 500 with one sentence; the log has the traceback."""

    def broken(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr(batching, "view_json", broken)
    answer = demo.get("/studies/demo/view")
    refused(answer, 500, "an internal error")
    assert "secret" not in answer.text
    (record,) = [r for r in caplog.records if r.getMessage() == "failed"]
    assert "secret" in json.loads(JSONFormatter().format(record))["traceback"]


def test_logs_are_json(demo, caplog):
    """Changes and refusals are logged, a line of JSON each; asks and tells only on demand."""
    with caplog.at_level(logging.INFO, "oddarm.service"):
        ask(demo)
        demo.post("/studies/demo/pause")
        demo.get("/studies/other")
    lines = [json.loads(JSONFormatter().format(record)) for record in caplog.records]
    shown = [
        (line["level"], line["path"], line["status"])
        for line in lines
        if line["logger"] == "oddarm.service"
    ]
    assert shown == [("info", "/studies/demo/pause", 200), ("warning", "/studies/other", 404)]


def test_view(http):
    """The view has an entry for each arm, the communities, the gap and the cost."""
    body = {"name": "demo", "arms": ARMS, "strategy": "gold", "max_outliers": 1}
    http.post("/studies", json=body)
    empty = http.get("/studies/demo/view").json()
    assert empty["means"] == [None] * 4
    assert (empty["low"], empty["high"]) == ([0.0] * 4, [1.0] * 4)
    assert (empty["gap"], empty["limit"]["pulls"]) == (None, None)
    for key, arm in enumerate(ARMS):
        rewards = [int(arm == "gru")] * 2000
        http.post("/studies/demo/data", json={"arm": arm, "rewards": rewards, "key": str(key)})
    seen = http.get("/studies/demo/view").json()
    assert seen["counts"] == [2000] * 4
    assert seen["community"] == [0, 0, 0, 1]
    assert seen["gap"]["certain"] is True
    assert seen["gap"]["below"] == 3
    assert seen["high"][0] == pytest.approx(seen["gap"]["from"], rel=1e-5)
    assert seen["low"][3] == pytest.approx(seen["gap"]["to"], rel=1e-5)
    assert seen["candidates"] == [3]
    assert seen["statuses"] == ["undecided", "undecided", "undecided", "candidate"]
    assert seen["cost"]["pulls"] == 8000
    assert seen["limit"]["reason"] == "The limit is being computed."
    assert seen["range"] == [0, 1]
    assert seen["certificates"] == []
    assert seen["status"] == "done"


def test_view_of_certificates(http):
    """Where the strategy proves a group, the view has the proof."""
    body = {"name": "demo", "arms": ARMS, "max_outliers": 1, "until": "confirmed"}
    assert http.post("/studies", json=body).status_code == 201
    while pulls := ask(http, 40):
        tells = [{"pull": pull["id"], "reward": int(pull["arm"] == "gru")} for pull in pulls]
        http.post("/studies/demo/tell", json={"tells": tells})
    first = http.get("/studies/demo/view").json()["certificates"][0]
    assert (first["members"], first["status"]) == ([3], "confirmed")
    assert first["gap"][0] > 2.5 * first["rest"][1] > 0


def test_view_of_two_thousand_arms(http):
    """At 2,000 arms the view is compact."""
    http.post("/studies", json={"name": "demo", "arms": 2000, "strategy": "rr"})
    tell(http, ask(http, 2000), 0)
    answer = http.get("/studies/demo/view")
    assert len(answer.json()["means"]) == 2000
    assert len(answer.content) < 200_000
    assert answer.json()["gap"]["certain"] is False


def test_events(demo, monkeypatch):
    """The stream tells the state at once, each change after, and the end."""
    monkeypatch.setattr(app_module, "EVENT_SECONDS", 0.01)
    studies = demo.app.state.studies

    class FakeRequest:
        app = demo.app

    async def follow():
        seen = []
        first = await studies.read("demo", lambda study: study.info())
        async for text in app_module._changes(FakeRequest, first):
            seen.append(text)
            if len(seen) == 1:
                await studies.write("demo", lambda batch: batch.ask(2), asks=True)
            elif len(seen) == 2:
                await studies.read("demo", lambda study: study.delete())
        return seen

    first, second, last = demo.portal.call(follow)
    assert first.startswith("event: change\nid: 0\ndata: {")
    assert json.loads(second.split("data: ")[1])["revision"] == 1
    assert last.startswith("event: deleted")


def test_requests_that_wait_share_a_transaction(storage):
    """Tells that come while the disk is busy are written together; one refused spoils no other."""
    create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1).close()

    async def run():
        studies = StudyPool(open_database(storage))
        pulls = await studies.write("demo", lambda batch: batch.ask(40), asks=True)

        def tells(pull, reward):
            return lambda batch: batch.tell_many({pull.id: reward})

        outcomes = await asyncio.gather(
            *(studies.write("demo", tells(pull, int(k != 7) or 5)) for k, pull in enumerate(pulls)),
            return_exceptions=True,
        )
        info = await studies.read("demo", lambda study: study.info())
        await studies.close()
        return outcomes, info

    outcomes, info = asyncio.run(run())
    (bad,) = [outcome for outcome in outcomes if outcome != 1]
    assert "reward 5.0, must be 0 or 1" in str(bad)
    assert (info.pulls, info.waiting) == (31, 8), "later rewards of its arm wait for the bad one"
    assert info.revision <= 3


def test_a_study_is_read_once_for_all_who_wait(storage, monkeypatch):
    """Requests that come while a study is read share that reading, even if one is cancelled."""
    create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1).close()
    opened, going = [], threading.Event()

    def slowly(database, name):
        opened.append(name)
        going.wait()
        return Study(database, name)

    monkeypatch.setattr(batching, "Study", slowly)

    async def run():
        studies = StudyPool(open_database(storage))
        first, *others = [
            asyncio.create_task(studies.read(name, Study.info))
            for name in ("demo", "demo", "demo", "other", "other")
        ]
        await asyncio.sleep(0)
        first.cancel()
        going.set()
        outcomes = await asyncio.gather(*others, return_exceptions=True)
        await studies.read("demo", Study.info)
        await studies.close()
        return outcomes

    outcomes = asyncio.run(run())
    assert [info.name for info in outcomes[:2]] == ["demo", "demo"]
    assert all(isinstance(error, UnknownStudyError) for error in outcomes[2:])
    assert opened.count("demo") == 1


def test_a_study_that_was_deleted_leaves_the_pool(storage):
    """A study that another process makes anew is read anew; one deleted here is dropped."""
    create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1).close()

    async def run():
        pool = StudyPool(open_database(storage))
        before = await pool.read("demo", Study.info)
        with open_study(storage, "demo") as other:
            other.delete()
        create_study(storage, "demo", 5, strategy="rr", max_outliers=1).close()
        after = await pool.read("demo", Study.info)
        await pool.delete("demo")
        kept = list(pool._committers)
        with pytest.raises(UnknownStudyError, match="is not there, or was deleted"):
            await pool.read("demo", Study.info)
        await pool.close()
        return before.strategy, after.strategy, kept

    assert asyncio.run(run()) == ("gold", "rr", [])


def test_openapi_has_examples(http):
    """Every body of a request is described with an example that fits it."""
    schemas = http.get("/openapi.json").json()["components"]["schemas"]
    for name, model in (
        ("CreateBody", models.CreateBody),
        ("AskBody", models.AskBody),
        ("TellBody", models.TellBody),
        ("DataBody", models.DataBody),
    ):
        for example in schemas[name]["examples"]:
            model.model_validate(example)


def test_costs(http):
    """Costs come as a list or by name, also where names are numbers; a budget bounds their sum."""
    usual = {"max_outliers": 1, "min_gap": 0.1, "slack": 0.1, "max_cost": 50}
    for name, arms, costs in (
        ("list", ARMS, [1, 2, 3, 4]),
        ("names", ARMS, dict(zip(ARMS, [1, 2, 3, 4], strict=True))),
        ("numbers", 4, {"0": 1, "1": 2, "2": 3, "3": 4}),
    ):
        body = {"name": name, "arms": arms, "costs": costs, **usual}
        assert http.post("/studies", json=body).status_code == 201
        data = {"arm": arms[3] if arms is ARMS else 3, "rewards": [1, 1], "key": "k"}
        assert http.post(f"/studies/{name}/data", json=data).json() == {"told": 2}
        result = http.get(f"/studies/{name}/result").json()
        assert (result["pulls"], result["cost"]) == (2, 8.0)
        assert "a cost of 8 (2 pulls)" in result["summary"]
    body = {"name": "bad", "arms": ARMS, "costs": {"ams": 1}, **usual}
    answer = http.post("/studies", json=body)
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        "costs has no cost for arm 'fra', must have one number for each arm.",
    )
