"""The OpenAPI description, taken at its word."""

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from oddarm.service import create_app
from oddarm.service.tokens import LEAST_ROLE

# A stream of events has no end to wait for; test_app follows one.
EVENTS = "/studies/{name}/events"
OPEN = ("/health",)
TOKEN = "0123456789abcdef"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def test_examples_and_token(storage):
    """Every operation has an example, and those on studies say that they want the token."""
    with TestClient(create_app(storage, token=TOKEN)) as http:
        described = http.get("/openapi.json").json()
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert described["security"] == [{"token": []}]
    schemas = described["components"]["schemas"]

    def shows(content):
        """Return whether the schema of a body, or a field of it, has an example."""
        schema = content.get("schema", {})
        schema = schema.get("items", schema)
        named = schemas.get(schema.get("$ref", "").rpartition("/")[2], {})
        fields = named.get("properties", {}).values()
        return "example" in content or any("examples" in one for one in (named, *fields))

    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            bodies = [operation["requestBody"]] if "requestBody" in operation else []
            for code, answer in operation["responses"].items():
                if code < "300" and code != "204":
                    bodies.append(answer)
            for body in bodies:
                assert all(shows(content) for content in body["content"].values()), (method, path)
            assert ("security" in operation) == (path in OPEN), path
            assert operation.get("x-role") == LEAST_ROLE.get((method.upper(), path))
    with TestClient(create_app(storage), base_url="http://127.0.0.1") as http:
        assert http.get("/openapi.json").json()["security"] == []


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_as_described(storage, mode):
    """Whatever is sent, fitting or not, the answer is one that the description allows."""
    fitting = mode is GenerationMode.POSITIVE
    app = create_app(storage, token=TOKEN)
    with TestClient(app, headers=HEADERS) as http:
        http.post("/studies", json={"name": "latency", "arms": 20})
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        # Values that fit one by one may not fit together, such as 3 arms with rho = 0.9.
        schema.config.checks.positive_data_acceptance.expected_statuses.append("422")
        for found in schema.exclude(path=EVENTS).get_all_operations():
            operation = found.ok()
            takes = [*operation.iter_parameters(), *operation.body]
            if not fitting and not takes:
                continue  # there is nothing that could be wrong

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=15,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            def as_described(case):
                if fitting and case.path_parameters and case.method != "DELETE":
                    case.path_parameters = {"name": "latency"}  # most made-up names are not there
                case.call_and_validate(headers=HEADERS)

            as_described()
