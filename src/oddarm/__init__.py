"""oddarm finds the arms that do not belong.

Of N entities that can only be sampled at a cost, it finds the few whose expected reward lies far
from most others, above, below or in between, with few samples and a stated error probability.
"""

from oddarm import bounds, datasets, errors, rewards, sources, strategies, theory
from oddarm._version import __version__
from oddarm.errors import OddarmError
from oddarm.groups import Group, outlier_arms, outlier_groups
from oddarm.problem import Problem
from oddarm.result import Result
from oddarm.runner import find
from oddarm.search import Search
from oddarm.simulation import simulate

__all__ = [
    "Group",
    "OddarmError",
    "Problem",
    "Result",
    "Search",
    "__version__",
    "bounds",
    "datasets",
    "errors",
    "find",
    "outlier_arms",
    "outlier_groups",
    "rewards",
    "simulate",
    "sources",
    "strategies",
    "theory",
]
