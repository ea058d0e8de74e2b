"""What the service says to Prometheus."""

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from oddarm.errors import StoreError
from oddarm.service import create_app
from oddarm.service.metrics import Metrics

ARMS = ["ams", "fra", "lhr", "gru"]


def scraped(http):
    """Return the value of every sample, by its name and labels, as Prometheus reads them."""
    answer = http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = list(text_string_to_metric_families(answer.text))
    assert all(family.documentation for family in families)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_what_is_counted(http):
    """Pulls, rewards, failures and requests are counted, and studies by status and verdict."""
    body = {"name": "demo", "arms": ARMS, "strategy": "gold", "max_outliers": 1}
    http.post("/studies", json=body)
    pulls = http.post("/studies/demo/ask", json={"limit": 5}).json()["pulls"]
    tells = [{"pull": pull["id"], "reward": 1} for pull in pulls[:3]]
    for _ in range(2):
        http.post("/studies/demo/tell", json={"tells": tells})
    http.post("/studies/demo/data", json={"arm": "ams", "rewards": [0, 1], "key": "k"})
    http.post("/studies/demo/give-up", json={"pulls": [pulls[3]["id"]]})
    http.post("/studies/demo/set-aside", json={"arm": "lhr", "reason": "gone"})
    http.get("/studies/other")
    seen = scraped(http)
    assert seen["oddarm_pulls_leased_total",] == 5
    assert [seen["oddarm_rewards_told_total", asked] for asked in ("yes", "no")] == [3, 2]
    assert (seen["oddarm_pulls_given_up_total",], seen["oddarm_arms_failed_total",]) == (1, 1)
    assert seen["oddarm_requests_total", "POST /studies/{name}/tell", "200"] == 2
    assert seen["oddarm_requests_total", "GET /studies/{name}", "404"] == 1
    assert seen["oddarm_request_seconds_count", "POST /studies/{name}/ask"] == 1
    # Labels are sorted by the parser, `le` first.
    assert seen["oddarm_request_seconds_bucket", "60.0", "POST /studies/{name}/ask"] == 1
    assert seen["oddarm_studies", "running", "running"] == 1
    assert seen["oddarm_study_pulls",] == http.get("/studies/demo").json()["pulls"]
    assert (seen["oddarm_pulls_out",], seen["oddarm_open_studies",]) == (1, 1)
    assert (seen["oddarm_asks_waiting",], seen["oddarm_database_up",]) == (0, 1)
    assert seen["process_resident_memory_bytes",] > 0


def test_before_anything_happened(http):
    """Counters without labels are there from the start, so that a rate is known from the start."""
    seen = scraped(http)
    for name in ("oddarm_pulls_leased_total", "oddarm_arms_failed_total", "oddarm_study_pulls"):
        assert seen[name,] == 0
    assert seen["oddarm_rewards_told_total", "yes"] == 0


def test_made_up_routes():
    """Callers cannot make up labels: what is not a route is counted as other."""
    metrics = Metrics()
    for k in range(50):
        metrics.note(f"M{k}", f"/studies/x/{k}", 404, 0.001)
        metrics.note("GET", f"/{k}", 404, 0.001)
    lines = metrics.text([], {}).decode().splitlines()
    (counted,) = [line for line in lines if line.startswith("oddarm_requests_total")]
    assert counted == 'oddarm_requests_total{route="other",status="404"} 100.0'


def test_a_database_that_is_away(http, monkeypatch):
    """If the database does not answer, that is a metric, and the counters are still there."""

    async def infos():
        raise StoreError("it is away", "it is away")

    monkeypatch.setattr(http.app.state.studies, "infos", infos)
    seen = scraped(http)
    assert seen["oddarm_database_up",] == 0
    assert ("oddarm_study_pulls",) not in seen
    assert seen["oddarm_pulls_leased_total",] == 0


def test_two_services_in_one_process(tmp_path):
    """Each service has counters of its own."""
    for name in ("one", "two"):
        with TestClient(create_app(tmp_path / name), base_url="http://127.0.0.1") as http:
            http.get("/health")
            assert scraped(http)["oddarm_requests_total", "GET /health", "200"] == 1


@pytest.mark.parametrize("path", ["/docs", "/"])
def test_pages_load_nothing_from_elsewhere(http, path):
    """The page and the description of the routes are whole without another host."""
    answer = http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    assert "//" not in answer.text.replace("<!doctype html>", "")


def test_the_description_has_every_route(http):
    """`/docs` shows every route with its role, its fields and an example."""
    from oddarm.service.tokens import LEAST_ROLE

    text = http.get("/docs").text
    for (method, path), role in LEAST_ROLE.items():
        section = text.partition(f"<code>{method} {path}</code></h2>")[2].partition("</section>")[0]
        assert f"Least role: {role}." in section, path
    assert text.count("Open to all.") == 1
    assert "<code>wait_seconds</code>" in text
    assert "&quot;max_outliers&quot;: 1" in text
