"""The algorithms, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oddarm.errors import ParameterError
from oddarm.strategies.adaptive import Adaptive
from oddarm.strategies.adaptive.uniform import Uniform
from oddarm.strategies.base import (
    Certificate,
    Outcome,
    Run,
    RunContext,
    Status,
    Strategy,
    Until,
    Verdict,
)
from oddarm.strategies.clustering.elim import BOCElim
from oddarm.strategies.clustering.lucb import LUCBBOC
from oddarm.strategies.fixed import Fixed
from oddarm.strategies.gold import Gold
from oddarm.strategies.hdoc import Threshold
from oddarm.strategies.maxgap.top2 import MaxGapTop2
from oddarm.strategies.maxgap.ucb import MaxGap
from oddarm.strategies.odd import Odd
from oddarm.strategies.robust.elim import ROAIElim
from oddarm.strategies.robust.lucb import ROAILUCB
from oddarm.strategies.sigma.ade import ADE
from oddarm.strategies.sigma.ib import IB
from oddarm.strategies.sigma.nrr import NRR
from oddarm.strategies.sigma.rr import RR
from oddarm.strategies.sigma.wrr import WRR

__all__ = [
    "ADE",
    "IB",
    "LUCBBOC",
    "NRR",
    "ROAILUCB",
    "RR",
    "STRATEGIES",
    "WRR",
    "Adaptive",
    "BOCElim",
    "Certificate",
    "Fixed",
    "Gold",
    "MaxGap",
    "MaxGapTop2",
    "Odd",
    "Outcome",
    "ROAIElim",
    "Run",
    "RunContext",
    "Status",
    "Strategy",
    "Threshold",
    "Uniform",
    "Until",
    "Verdict",
    "as_strategy",
]

STRATEGIES: Mapping[str, type[Strategy]] = {
    cls.name: cls
    for cls in (
        *(Adaptive, Uniform, Fixed, Gold),
        *(RR, WRR, ADE, NRR, IB, ROAILUCB, ROAIElim, Threshold, Odd),
        *(MaxGap, MaxGapTop2, BOCElim, LUCBBOC),
    )
}
"""The strategies by name."""


def as_strategy(spec: str | Strategy | dict[str, Any]) -> Strategy:
    """Return the strategy that `spec` names: a name, an instance, or what `to_dict` returned."""
    if isinstance(spec, Strategy):
        return spec
    parameters = dict(spec) if isinstance(spec, dict) else {"name": spec}
    name = parameters.pop("name")
    if name not in STRATEGIES:
        raise ParameterError(
            f"strategy == {name!r}, must be one of {', '.join(sorted(STRATEGIES))}, "
            "or an instance of oddarm.strategies.Strategy."
        )
    return STRATEGIES[name](**parameters)
