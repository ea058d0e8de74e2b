"""Tokens and roles: who may call what, and what the log says of it."""

import json
import logging
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from oddarm.errors import ParameterError
from oddarm.service import create_app
from oddarm.service.app import router
from oddarm.service.tokens import (
    LEAST_ROLE,
    ROLES,
    Token,
    as_tokens,
    find_token,
    may,
    read_token,
    read_tokens,
    route_of,
)

SECRETS = {role: f"{role}-0123456789abcdef" for role in ROLES}
TOKENS = [Token(f"the-{role}", role, secret) for role, secret in SECRETS.items()]
OPEN = {("GET", "/health"), ("GET", "/docs")}
ROUTES = sorted((method, route.path) for route in router.routes for method in route.methods)
BODIES = {
    "/studies": {"name": "new", "arms": 4, "max_outliers": 1},
    "/studies/{name}/ask": {},
    "/studies/{name}/tell": {"tells": []},
    "/studies/{name}/data": {"arm": 0, "rewards": [1], "key": "k"},
    "/studies/{name}/give-up": {"pulls": []},
    "/studies/{name}/set-aside": {"arm": 0, "reason": "gone"},
}


def headers(role):
    """Return the header that shows the token of a role."""
    return {"Authorization": f"Bearer {SECRETS[role]}"}


@pytest.fixture
def guarded(storage):
    """A client of a service with a token for each role, and a study."""
    with TestClient(create_app(storage, token=TOKENS)) as http:
        body = {"name": "demo", "arms": 4, "max_outliers": 1}
        assert http.post("/studies", json=body, headers=headers("admin")).status_code == 201
        yield http


def test_every_route_has_a_role():
    """The table of roles names every route of the service, and no other."""
    assert set(ROUTES) - OPEN == set(LEAST_ROLE)


@pytest.mark.parametrize("role", [None, *ROLES])
@pytest.mark.parametrize(("method", "route"), ROUTES, ids=lambda part: part)
def test_every_route_for_every_role(guarded, method, route, role):
    """A request is let through if the table allows it, and refused in one sentence if not."""
    guarded.app.state.stopping = True  # so that a stream of events ends
    sent = {} if role is None else headers(role)
    path = route.replace("{name}", "demo")
    answer = guarded.request(method, path, json=BODIES.get(route), headers=sent)
    least = LEAST_ROLE.get((method, route))
    if least is None or (role is not None and may(role, least)):
        assert answer.status_code in (200, 201, 204), answer.text
    elif role is None:
        assert answer.status_code == 401
    else:
        assert answer.status_code == 403
        needed = " or ".join(ROLES[ROLES.index(least) :])
        assert answer.json()["error"] == (
            f"token 'the-{role}' is for the role {role}, and {method} {path} needs {needed}: "
            "send another token."
        )


def test_the_documentation_has_the_table():
    """docs/service.md says for each route what the table in the code says."""
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    rows = re.findall(r"^\| `(\w+) (/\S*)` \| (.*) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    said = {
        (method, path.replace("NAME", "{name}")): dict(zip(ROLES, cells, strict=True))
        for method, path, *cells in rows
    }
    assert said == {
        route: {role: "yes" if may(role, least) else "no" for role in ROLES}
        for route, least in LEAST_ROLE.items()
    }


@pytest.mark.parametrize("role", ROLES)
def test_what_the_table_does_not_name(guarded, role):
    """A route that is not in the table is refused, whoever calls."""
    for method, path in [
        ("PUT", "/studies"),
        ("GET", "/studies/demo/secret"),
        ("GET", "/studies/"),
    ]:
        answer = guarded.request(method, path, headers=headers(role), follow_redirects=False)
        if role == "admin":
            assert answer.status_code in (307, 404, 405)
        else:
            assert answer.status_code == 404
            assert answer.json() == {"error": f"There is no route {method} {path}."}


def test_the_caller(guarded, storage):
    """A caller can ask who it is; without tokens, everybody is an admin."""
    for role in ROLES:
        said = guarded.get("/caller", headers=headers(role)).json()
        assert said == {"name": f"the-{role}", "role": role}
    with TestClient(create_app(storage), base_url="http://127.0.0.1") as http:
        assert http.get("/caller").json() == {"name": None, "role": "admin"}


def test_the_log_has_the_name(guarded, caplog):
    """The log says whose token a request came with, also if it is refused, and never the secret."""
    caplog.set_level(logging.DEBUG, "oddarm.service")
    guarded.post("/studies/demo/ask", json={}, headers=headers("worker"))
    guarded.post("/studies/demo/pause", headers=headers("read-only"))
    guarded.get("/studies", headers={"Authorization": "Bearer wrong-0123456789"})
    fields = [record.fields for record in caplog.records if record.message == "request"]
    assert [(each["status"], each.get("token")) for each in fields] == [
        *[(200, "the-worker"), (403, "the-read-only"), (401, None)]
    ]
    logged = json.dumps(fields)
    assert not any(secret in logged for secret in [*SECRETS.values(), "wrong-0123456789"])
    assert "0123456789" not in repr(TOKENS)


def test_all_tokens_are_compared(monkeypatch):
    """Whichever token was given, all are compared, each in constant time."""
    compared = []
    digest = "oddarm.service.tokens.hmac.compare_digest"
    monkeypatch.setattr(digest, lambda one, other: compared.append(other) or one == other)
    for token in TOKENS:
        assert find_token(TOKENS, token.secret) is token
    assert find_token(TOKENS, "ü") is None
    assert compared == [token.secret.encode() for token in TOKENS] * 4


def written(folder, text):
    """Return a file for its owner alone."""
    file = folder / "tokens"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_a_file_of_tokens(tmp_path):
    """A line has a role, a name and a token; comments and empty lines do not count."""
    text = "# who may call\n\nread-only grafana 0123456789abcdef\n worker  ci\tfedcba9876543210\n"
    file = written(tmp_path, text)
    assert read_tokens(file) == (
        Token("grafana", "read-only", "0123456789abcdef"),
        Token("ci", "worker", "fedcba9876543210"),
    )
    with pytest.raises(ParameterError, match="has 2 tokens, must have the one to send"):
        read_token(file)
    assert read_token(written(tmp_path, "worker ci fedcba9876543210\n")) == "fedcba9876543210"


@pytest.mark.parametrize("text", ["0123456789abcdef", "correct horse battery staple\n"])
def test_a_file_of_one_token(tmp_path, text):
    """A token alone is an admin's, as before there were roles."""
    assert read_tokens(written(tmp_path, text)) == (Token("admin", "admin", text.strip()),)
    assert as_tokens(text.strip()) == read_tokens(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has 0 characters, must be 16 or more"),
        ("# none\n", "has 0 characters, must be 16 or more"),
        ("worker ci short", "line 1 has 5 characters, must be 16 or more"),
        ("worker 0123456789abcdef", "line 1 has 2 words, must have three: role, name and token"),
        ("admin a 0123456789abcdef\nboss b fedcba9876543210", "line 2: role 'boss' of token 'b'"),
        ("admin a 0123456789abcdef\nworker /b fedcba9876543210", "line 2: token name '/b', must"),
        ("admin a 0123456789abcdef\nworker a fedcba9876543210", "'a' and 'a' have the same name"),
        ("admin a 0123456789abcdef\nworker b 0123456789abcdef", "'b' have the same secret"),
    ],
)
def test_files_that_are_refused(tmp_path, text, words):
    """What is wrong with a file of tokens is said in a sentence, without the secrets."""
    with pytest.raises(ParameterError, match=re.escape(words)) as caught:
        read_tokens(written(tmp_path, text))
    assert "0123456789abcdef" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/studies", "/studies"),
        ("/studies/x", "/studies/{name}"),
        ("/studies/x/ask", "/studies/{name}/ask"),
        ("/studies/a/b/ask", "/studies/{name}/b/ask"),
        ("/metrics", "/metrics"),
        ("/studiesx/y", "/studiesx/y"),
    ],
)
def test_routes_of_paths(path, route):
    """The name of the study is left out, and nothing else."""
    assert route_of(path) == route
