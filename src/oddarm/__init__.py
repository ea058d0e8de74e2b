"""oddarm finds the arms that do not belong.

Of N entities that can only be sampled at a cost, it finds the few whose expected reward lies far
from most others, above, below or in between, with few samples and a stated error probability.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oddarm._version import __version__

if TYPE_CHECKING:
    from oddarm import bounds, datasets, errors, rewards, service, sources, store, strategies
    from oddarm.batch.compare import Comparison, compare
    from oddarm.batch.plan import Plan, guess_means, plan
    from oddarm.batch.scan import scan
    from oddarm.batch.simulate import simulate
    from oddarm.definitions import theory
    from oddarm.definitions.chance import chance
    from oddarm.definitions.groups import Group, outlier_arms, outlier_groups
    from oddarm.errors import OddarmError
    from oddarm.problem import Problem
    from oddarm.results.result import Result
    from oddarm.runner.api import find, find_async, resume
    from oddarm.search import Search
    from oddarm.sources.table.opening import open_table
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
    "chance",
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
    "scan",
    "service",
    "simulate",
    "sources",
    "store",
    "strategies",
    "theory",
]

# Public names are loaded on first use, so that `import oddarm` costs next to nothing.
_HOMES = {
    "Comparison": "batch.compare",
    "Group": "definitions.groups",
    "OddarmError": "errors",
    "Plan": "batch.plan",
    "Problem": "problem",
    "Result": "results.result",
    "Search": "search",
    "Study": "store",
    "chance": "definitions.chance",
    "compare": "batch.compare",
    "create_study": "store",
    "find": "runner",
    "find_async": "runner",
    "guess_means": "batch.plan",
    "list_studies": "store",
    "open_study": "store",
    "open_table": "sources.table.opening",
    "outlier_arms": "definitions.groups",
    "outlier_groups": "definitions.groups",
    "plan": "batch.plan",
    "resume": "runner",
    "scan": "batch.scan",
    "simulate": "batch.simulate",
}
_MODULES = {"theory": "definitions.theory"}  # the others are where their name says


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'oddarm' has no attribute {name!r}")
    if name in _HOMES:
        value = getattr(import_module(f"oddarm.{_HOMES[name]}"), name)
    else:
        value = import_module(f"oddarm.{_MODULES.get(name, name)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
