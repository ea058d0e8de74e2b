"""What the service counts and measures, as text for Prometheus.

Counters and times are those of this process. Studies, their pulls and the rewards that wait are
read from the database, so every server on one database says the same of them.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from oddarm.service.tokens import LEAST_ROLE, route_of
from oddarm.store import StudyInfo

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60)
"""Upper ends of the classes of seconds: a tell takes milliseconds, an ask may wait for 60 s."""
ROUTES = {route: " ".join(route) for route in [*LEAST_ROLE, ("GET", "/health")]}
"""The label of each route; all that callers make up besides is `other`."""


class Metrics:
    """The counters of one service.

    Attributes:
        leased: Pulls handed out.
        told: Rewards taken, by whether they were asked for.
        given_up: Pulls that will never be told.
        failed: Arms that were set aside.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "oddarm_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "oddarm_request_seconds",
            "Time until an answer began; asks may wait for pulls.",
            ["route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.leased = Counter("oddarm_pulls_leased", "Pulls handed out.", registry=registry)
        self.told = Counter("oddarm_rewards_told", "Rewards taken.", ["asked"], registry=registry)
        self.given_up = Counter("oddarm_pulls_given_up", "Pulls given up.", registry=registry)
        self.failed = Counter("oddarm_arms_failed", "Arms set aside.", registry=registry)
        for asked in ("yes", "no"):
            self.told.labels(asked)  # a counter is there, at 0, before it counts

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request, which took some seconds until its answer began."""
        route = ROUTES.get((method, route_of(path)), "other")
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(
        self, infos: Sequence[StudyInfo] | None, now: Mapping[str, tuple[str, float]]
    ) -> bytes:
        """Return everything in the text format of Prometheus.

        Args:
            infos: The studies; None if the database does not answer.
            now: Further values of this moment, by name, each with what it is.
        """
        moment = CollectorRegistry()
        moment.register(_Moment([*_of_studies(infos), *_gauges(now)]))
        return generate_latest(self._registry) + generate_latest(moment)


class _Moment(Collector):
    """Values of one moment."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        """Return the values."""
        return self._metrics


def _gauges(values: Mapping[str, tuple[str, float]]) -> Iterator[Metric]:
    for name, (words, value) in values.items():
        yield GaugeMetricFamily(name, words, value=value)


def _of_studies(infos: Sequence[StudyInfo] | None) -> Iterator[Metric]:
    """Yield what the database says; nothing but that it does not answer, if it does not."""
    yield GaugeMetricFamily(
        "oddarm_database_up", "Whether the database answers.", value=float(infos is not None)
    )
    if infos is None:
        return
    studies = GaugeMetricFamily(
        "oddarm_studies", "Studies in the database.", labels=["status", "verdict"]
    )
    for labels, number in sorted(Tally((info.status, info.verdict) for info in infos).items()):
        studies.add_metric(labels, number)
    yield studies
    pulls, waiting = sum(info.pulls for info in infos), sum(info.waiting for info in infos)
    yield GaugeMetricFamily("oddarm_study_pulls", "Rewards counted, in all studies.", value=pulls)
    yield GaugeMetricFamily(
        "oddarm_study_waiting",
        "Rewards told that wait for an earlier pull of their arm, in all studies.",
        value=waiting,
    )
