"""Where rewards come from."""

from oddarm.sources.base import Job, Source
from oddarm.sources.function import FunctionSource
from oddarm.sources.pool import PoolSource
from oddarm.sources.recorded import RecordedSource
from oddarm.sources.simulated import SimulatedArms
from oddarm.sources.table.source import TableSource

__all__ = [
    "FunctionSource",
    "Job",
    "PoolSource",
    "RecordedSource",
    "SimulatedArms",
    "Source",
    "TableSource",
]
