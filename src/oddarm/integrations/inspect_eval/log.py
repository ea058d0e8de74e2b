"""What the log of inspect_ai says of its dataset and of the answer."""

from __future__ import annotations

from typing import Any

from inspect_ai.dataset import Dataset
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from oddarm.integrations.inspect_eval.runs import SampleId
from oddarm.results.result import Result

__all__ = ["complete_header"]


def complete_header(
    log: EvalLog, dataset: Dataset, ids: list[SampleId], epochs: int, result: Result
) -> None:
    """Write the dataset, the last epoch of a sample and the answer into the header of a log.

    inspect_ai wrote it before a sample was asked for: with no samples, and the epochs of the
    budget. The samples in the log stay as they are.
    """
    header = read_eval_log(log.location, header_only=True)
    about = header.eval.dataset
    about.samples, about.sample_ids = len(ids), ids
    about.name, about.location = dataset.name, dataset.location
    header.eval.config.epochs = epochs
    header.eval.metadata = {**(header.eval.metadata or {}), "oddarm": _answer(result)}
    write_eval_log(header, log.location, header_only=True)


def _answer(result: Result) -> dict[str, Any]:
    return {
        "summary": result.summary,
        "verdict": result.verdict,
        "outliers": list(result.outliers),
        "candidates": list(result.candidates),
        "evidence": result.evidence,
        "runs": result.pulls,
    }
