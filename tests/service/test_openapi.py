"""The OpenAPI description, taken at its word."""

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from oddarm.service import create_app

# A stream of events has no end to wait for; test_app follows one.
EVENTS = "/studies/{name}/events"
TOKEN = "0123456789abcdef"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


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
