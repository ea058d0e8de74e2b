"""oddarm finds the arms that do not belong.

Of N entities that can only be sampled at a cost, it finds the few whose expected reward lies far
from most others, above, below or in between, with few samples and a stated error probability.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oddarm._version import __version__

if TYPE_CHECKING:
    from oddarm import (
        bounds,
        datasets,
        errors,
        rewards,
        service,
        sources,
        store,
        strategies,
        theory,
    )
    from oddarm.comparison import Comparison, compare
    from oddarm.errors import OddarmError
    from oddarm.groups import Group, outlier_arms, outlier_groups
    from oddarm.planning import Plan, guess_means, plan
    from oddarm.problem import Problem
    from oddarm.result import Result
    from oddarm.runner import find, find_async, resume
    from oddarm.search import Search
    from oddarm.simulation import simulate
    from oddarm.sources.table_open import open_table
    from oddarm.store import Study, create_study, list_studies, open_study

__all__ = [
    "Comparison",
    "Group",
    "OddarmError",
    "Plan",
    "Problem",
    "Result",
    "Search",
    "Study",
    "__version__",
    "bounds",
    "compare",
    "create_study",
    "datasets",
    "errors",
    "find",
    "find_async",
    "guess_means",
    "list_studies",
    "open_study",
    "open_table",
    "outlier_arms",
    "outlier_groups",
    "plan",
    "resume",
    "rewards",
    "service",
    "simulate",
    "sources",
    "store",
    "strategies",
    "theory",
]

# Public names are loaded on first use, so that `import oddarm` costs next to nothing.
_HOMES = {
    "Comparison": "comparison",
    "Group": "groups",
    "OddarmError": "errors",
    "Plan": "planning",
    "Problem": "problem",
    "Result": "result",
    "Search": "search",
    "Study": "store",
    "compare": "comparison",
    "create_study": "store",
    "find": "runner",
    "find_async": "runner",
    "guess_means": "planning",
    "list_studies": "store",
    "open_study": "store",
    "open_table": "sources.table_open",
    "outlier_arms": "groups",
    "outlier_groups": "groups",
    "plan": "planning",
    "resume": "runner",
    "simulate": "simulation",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'oddarm' has no attribute {name!r}")
    home = import_module(f"oddarm.{_HOMES.get(name, name)}")
    value = getattr(home, name) if name in _HOMES else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
