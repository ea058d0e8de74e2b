"""The history of a study, which the service notes while it serves."""

import threading

import pytest

from oddarm.service import batching, history

RATES = {"ams": [0, 0, 0, 1], "fra": [0, 0, 1, 0], "lhr": [0, 1, 0, 0], "gru": [1, 1, 1, 0]}


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch):
    monkeypatch.setattr(history, "REST", 0.0)
    monkeypatch.setattr(history, "LEAST_REST", 0.0)


def tell(http, times):
    """Tell a reward of each arm, so many times."""
    for k in range(times):
        for arm, rewards in RATES.items():
            body = {"arm": arm, "rewards": [rewards[k % 4]], "key": f"{arm} {k}"}
            assert http.post("/studies/demo/data", json=body).status_code == 200


def seen(http, condition):
    """Return a view as soon as its history is as wanted."""
    while True:
        view = http.get("/studies/demo/view").json()
        if condition(view["history"]):
            return view


def make(http, **options):
    """Make the study."""
    body = {"name": "demo", "arms": list(RATES), "max_outliers": 1, **options}
    assert http.post("/studies", json=body).status_code == 201


def test_noted_while_nobody_looks(http):
    """The last moment of a history is that of the study, with its evidence and its forecast."""
    make(http)
    assert http.get("/studies/demo/view").json()["history"]["pulls"] == []
    tell(http, 12)
    view = seen(http, lambda noted: noted["pulls"][-1:] == [48])
    noted = view["history"]
    assert noted["pulls"] == sorted(set(noted["pulls"]))
    assert noted["evidence"][-1] == pytest.approx(view["evidence"], rel=1e-3)
    assert noted["forecast"][-1] == view["forecast"]
    assert all(view["created"] <= at for at in noted["at"])


def test_a_tell_waits_for_no_look(http, monkeypatch):
    """While somebody looks how sure a search is, its rewards are taken and it can be viewed."""
    looks, may_go_on = threading.Event(), threading.Event()
    real = history.moment_of

    def slow(search):
        looks.set()
        assert may_go_on.wait(60)
        return real(search)

    monkeypatch.setattr(batching, "moment_of", slow)
    make(http)
    tell(http, 1)
    assert looks.wait(60)
    assert http.post(
        "/studies/demo/data", json={"arm": "ams", "rewards": [1] * 5, "key": "more"}
    ).json() == {"told": 5}
    view = http.get("/studies/demo/view").json()
    assert (view["pulls"], view["history"]["pulls"]) == (9, [])
    may_go_on.set()
    assert seen(http, lambda noted: noted["pulls"])["history"]["pulls"][0] <= 4


def test_strategies_without_evidence(http, monkeypatch):
    """A study whose strategy does not say how sure it is has no history, and is looked at once."""
    looked = []
    real = history.moment_of
    monkeypatch.setattr(batching, "moment_of", lambda search: looked.append(1) or real(search))
    make(http, strategy="rr")
    tell(http, 3)
    committer = http.app.state.studies._committers["demo"]
    seen(http, lambda _: not committer.moment_is_due)
    tell(http, 6)
    assert (len(looked), seen(http, lambda _: True)["history"]["pulls"]) == (1, [])


def test_who_asks(http):
    """The view names workers by what they call themselves, or else by where they come from."""
    make(http)
    for label in ({"worker": "probe-7"}, {}):
        assert http.post("/studies/demo/ask", json={"limit": 2, **label}).json()["pulls"]
    leases = http.get("/studies/demo/view").json()["leases"]
    assert [(one["name"], one["held"]) for one in leases["workers"]] == [
        ("testclient", 2),
        ("probe-7", 2),
    ]
    assert (leases["out"], leases["more_workers"]) == (4, 0)
    refused = http.post("/studies/demo/ask", json={"worker": "a\nb"})
    assert refused.status_code == 422
