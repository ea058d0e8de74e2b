"""What the live page draws of a study: arrays with one value per arm, in the order of the arms."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from oddarm._typing import Floats, Indices
from oddarm.results.gaps import Gap, certain_gaps, communities, gaps_around_outliers
from oddarm.results.result import Result
from oddarm.results.yardstick import case_of
from oddarm.rewards import Bernoulli
from oddarm.search import Search
from oddarm.store import StudyInfo
from oddarm.store.history import Moment
from oddarm.store.info import Leases

__all__ = ["history_json", "leases_json", "view_json"]

MOST_WORKERS = 50
"""Of how many workers a page is told."""


def view_json(info: StudyInfo, search: Search, result: Result) -> str:
    """Return a study and its result as compact JSON.

    Its fields, besides those of the study's row:
        summary: The answer in a sentence or two.
        why: Why the odd arms are odd or not, in sentences; one says why intervals reach into a gap
            that is certain, if they do. Empty before every arm was pulled.
        evidence: The odds for the answer or the best guess; null if the strategy gives none.
        asked: The odds that the study is to reach: 1/δ.
        forecast: About how many further pulls may decide; null if that is unknown.
        widest_gap: The widest that the gap around outliers can still be; null if unknown.
        names, counts, means, low, high, rank, statuses: Per arm. A mean is null before the first
            pull, an end of an interval is null if it is infinite.
        community: Per arm, a number from 0 upwards along the axis; arms with no certain gap
            between them share it. -1 for a failed arm.
        gaps: The certain gaps between the outliers, or else the candidates, and the others, upwards
            along the axis: from and to, between which it is drawn, width, whether the width is
            certain, and how many arms lie below. A width is the least that it can be, by the
            certificate if there is one; from and to are estimates then.
        gap: The widest gap, certain or, before there is one, between means. Null before every arm
            was pulled.
        outliers: The outliers, as indices, in order.
        candidates: The best guess, as indices, in order; empty if there are outliers.
        errors: Each failed arm, as index, and its error.
        certificates: If the strategy makes them, what is certain about each set of arms that may be
            a group: members as indices, status, the least and the most that its gap and the largest
            gap among the others can be, and the largest ε and the largest number of neighbours at
            which it is certain to be a group.
        cost: Pulls so far and their budget, their price if pulls have costs and its budget, the
            rewards of a full scan of finite arms; null where there is no such number.
        range: The least and the greatest reward; null if infinite.
        zero_one: Whether rewards are 0 or 1.
        provenance: Parameters, bound, and whether δ is proved.
    """
    index = {name: i for i, name in enumerate(result.names)}
    gaps = certain_gaps(result)
    community = communities(result, gaps)
    case = case_of(result)
    return json.dumps(
        {
            **asdict(info),
            "summary": result.summary,
            "why": [] if case is None else [case.sentence, *case.notes],
            "evidence": None if result.evidence is None else _number(result.evidence),
            "asked": 1 / result.problem.delta,
            "forecast": result.forecast,
            "widest_gap": None if result.widest_gap is None else _number(result.widest_gap),
            "names": list(result.names),
            "counts": result.counts.tolist(),
            "means": _six_digits(result.means),
            "low": _six_digits(result.low),
            "high": _six_digits(result.high),
            "rank": result.rank.tolist(),
            "statuses": list(result.statuses),
            "community": community.tolist(),
            "gaps": [_gap_dict(gap) for gap in gaps_around_outliers(gaps, community, result.odd)],
            "gap": _widest(result, gaps),
            "outliers": [index[name] for name in result.outliers],
            "candidates": [index[name] for name in result.candidates],
            "errors": [
                {"arm": index[name], "error": error} for name, error in result.errors.items()
            ],
            "certificates": [
                {
                    "members": [index[name] for name in certificate.members],
                    "status": certificate.status,
                    "gap": [_number(certificate.gap_at_least), _number(certificate.gap_at_most)],
                    "rest": [_number(certificate.rest_at_least), _number(certificate.rest_at_most)],
                    "epsilon": _number(certificate.epsilon),
                    "max_neighbours": certificate.max_neighbours,
                }
                for certificate in result.certificates
            ],
            "cost": {
                "pulls": result.pulls,
                "budget": search.max_pulls,
                "price": result.cost if result.priced or search.max_cost is not None else None,
                "max_cost": search.max_cost,
                "full_scan": None if search.rewards.limits is None else sum(search.rewards.limits),
            },
            "range": [_number(search.rewards.low), _number(search.rewards.high)],
            "zero_one": isinstance(search.rewards, Bernoulli),
            "provenance": result.provenance,
        },
        allow_nan=False,
        default=str,
        separators=(",", ":"),
    )


def leases_json(leases: Leases) -> bytes:
    """Return the field `leases` of a view: those of `Leases`, and how many workers are left out."""
    shown = leases.workers[:MOST_WORKERS]
    value = {
        **asdict(leases),
        "workers": [asdict(worker) for worker in shown],
        "more_workers": len(leases.workers) - len(shown),
    }
    return b'"leases":' + _compact(value)


def history_json(history: Sequence[Moment]) -> bytes:
    """Return the field `history` of a view: arrays with one value for each moment, in order."""
    columns = {
        field.name: [getattr(moment, field.name) for moment in history] for field in fields(Moment)
    }
    columns["evidence"] = [float(f"{odds:.4g}") for odds in columns["evidence"]]
    return b'"history":' + _compact(columns)


def _compact(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _working_arms(result: Result) -> Indices:
    """Return the arms that have not failed."""
    return np.flatnonzero([status != "failed" for status in result.statuses])


def _widest(result: Result, gaps: list[Gap]) -> dict[str, Any] | None:
    """Return the widest certain gap or, before there is one, the widest between means."""
    working = _working_arms(result)
    if not result.counts[working].all():
        return None
    if gaps:
        return _gap_dict(max(gaps, key=lambda gap: gap.width))
    means = np.sort(result.means[working])
    widths = np.diff(means)
    place = int(np.argmax(widths))
    return _gap_dict(
        Gap(place + 1, float(widths[place]), *map(float, means[place : place + 2])), certain=False
    )


def _gap_dict(gap: Gap, *, certain: bool = True) -> dict[str, Any]:
    return {
        "from": gap.start,
        "to": gap.stop,
        "width": gap.width,
        "certain": certain,
        "below": gap.below,
    }


def _six_digits(values: Floats) -> list[float | None]:
    """Return values of six digits, more than a screen can show; None if infinite."""
    return [float(f"{x:.6g}") if math.isfinite(x) else None for x in values.tolist()]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
