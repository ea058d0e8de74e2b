"""Data to search: instances of the paper's kind."""

from oddarm.datasets.synthetic import CONFIGURATIONS, Instance, configuration, synthetic

__all__ = ["CONFIGURATIONS", "Instance", "configuration", "synthetic"]
