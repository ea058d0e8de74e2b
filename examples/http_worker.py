"""A worker on a machine without oddarm: plain HTTP, with the standard library of Python alone."""
# ODDARM_TOKEN=… python3 http_worker.py http://127.0.0.1:8321 latency

import json
import os
import random
import sys
import time
import urllib.request
from http.client import HTTPException
from typing import Any


def probe(arm: str) -> float:
    """Return a reward of an arm: measure something of your own here."""
    return float(random.random() < (0.9 if arm == "gru" else 0.1))


def post(url: str, **body: Any) -> dict[str, Any]:
    """Return the answer; try again while the service is away or busy. A tell counts only once."""
    head = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    for attempt in range(100):
        time.sleep(random.uniform(0, min(2**attempt - 1, 30)))  # workers must not return as one
        try:
            request = urllib.request.Request(url, json.dumps(body).encode(), head)
            return dict(json.load(urllib.request.urlopen(request, timeout=60)))
        except (OSError, HTTPException, ValueError) as error:
            if getattr(error, "code", 503) not in (408, 429, 502, 503, 504, 507):
                raise  # a refusal for good
    sys.exit(f"{url} does not answer")


TOKEN, STUDY = os.environ.get("ODDARM_TOKEN", ""), "/studies/".join(sys.argv[1:3])
while (asked := post(f"{STUDY}/ask", limit=10, wait_seconds=20))["status"] != "done":
    tells = [{"pull": pull["id"], "reward": probe(pull["arm"])} for pull in asked["pulls"]]
    post(f"{STUDY}/tell", tells=tells)
    time.sleep(0 if tells else random.uniform(0, 2))  # without pulls, the study may be paused
