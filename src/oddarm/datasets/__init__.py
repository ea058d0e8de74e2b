"""Data to search: the data that comes with oddarm, and instances of the paper's kind."""

from oddarm.datasets.bundled import BUNDLED, Bundled, bundled
from oddarm.datasets.synthetic import CONFIGURATIONS, Instance, configuration, synthetic

__all__ = [
    "BUNDLED",
    "CONFIGURATIONS",
    "Bundled",
    "Instance",
    "bundled",
    "configuration",
    "synthetic",
]
