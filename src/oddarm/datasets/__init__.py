"""Data to search: instances of the paper's kind, the paper's own formats, and real data."""

from oddarm.datasets.bundled import BUNDLED, Bundled, bundled
from oddarm.datasets.illustrations import Illustration, illustration, illustrations
from oddarm.datasets.real import baseball, flights, shared_set, shared_sets
from oddarm.datasets.synthetic import CONFIGURATIONS, Instance, configuration, synthetic
from oddarm.datasets.tables import CountProblem, read_counts, read_events, read_keywords
from oddarm.datasets.yahoo import ClickCounts, read_r6a, read_r6b

__all__ = [
    "BUNDLED",
    "CONFIGURATIONS",
    "Bundled",
    "ClickCounts",
    "CountProblem",
    "Illustration",
    "Instance",
    "baseball",
    "bundled",
    "configuration",
    "flights",
    "illustration",
    "illustrations",
    "read_counts",
    "read_events",
    "read_keywords",
    "read_r6a",
    "read_r6b",
    "shared_set",
    "shared_sets",
    "synthetic",
]
