"""The reward of a sample that was run: one of its scores as a number, or an error that says why.

It reads the samples of inspect_ai's logs by the names of their attributes, and imports nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oddarm.errors import OddarmError, SourceError

__all__ = ["ScoreReader"]

ZEROS = ("i", "n", "no", "false")
"""What inspect_ai takes for 0, in small letters; any other word it takes for 0 with a warning."""


@dataclass(frozen=True)
class ScoreReader:
    """Reads the reward of a sample.

    Args:
        to_float: inspect_ai's own rule for scores, from `value_to_float`.
        scorer: The name of the scorer; None if the task has one.
        key: The key of the value, if the scorer gives several by name.
        score_errors: Whether the score of a sample that failed counts.
    """

    to_float: Callable[[Any], float]
    scorer: str | None = None
    key: str | None = None
    score_errors: bool = False

    def __call__(self, sample: Any) -> float:
        """Return the reward.

        Raises:
            OddarmError: The sample failed, or has no such score; another epoch may have one.
            SourceError: No sample will have that score.
        """
        if sample.error is not None and not (self.score_errors and sample.scores):
            raise OddarmError(f"the sample failed: {sample.error.message}")
        if not sample.scores:
            limit = "" if sample.limit is None else f" after its limit of {sample.limit.type}"
            raise OddarmError(f"the sample has no score{limit}: give the task a scorer.")
        score = self._chosen(sample.scores)
        value = self._value(score)
        number = value if isinstance(value, float) else self.to_float(value)
        if isinstance(value, str) and number == 0 and not _is_zero(value):
            raise OddarmError(f"the score {value!r} is not a number, nor C, I, P, N, yes or no.")
        if not math.isfinite(number):
            reason = getattr(score, "reason", None) or getattr(score, "explanation", None)
            raise OddarmError("the sample was not scored" + (f": {reason}" if reason else "."))
        return number

    def _chosen(self, scores: Mapping[str, Any]) -> Any:
        if self.scorer is None and len(scores) == 1:
            return next(iter(scores.values()))
        if self.scorer is not None and self.scorer in scores:
            return scores[self.scorer]
        names = ", ".join(map(repr, scores))
        said = "scorer is missing" if self.scorer is None else f"scorer == {self.scorer!r}"
        raise SourceError(f"{said}, must be one of {names}: it names the score that counts.")

    def _value(self, score: Any) -> Any:
        value = score.value
        if not isinstance(value, Mapping):
            if self.key is not None:
                raise SourceError(
                    f"score_key == {self.key!r} with a score that is one value: drop score_key."
                )
            if not isinstance(value, str | int | float):
                raise SourceError("the score is a list, must be a value, or several by name.")
            return value
        if self.key is None or self.key not in value:
            names = ", ".join(map(repr, value))
            said = "score_key is missing" if self.key is None else f"score_key == {self.key!r}"
            raise SourceError(f"{said}, must be one of {names}: it names the value that counts.")
        part = value[self.key]
        return math.nan if part is None else part


def _is_zero(value: str) -> bool:
    if value.lower() in ZEROS:
        return True
    try:
        return float(value) == 0
    except ValueError:
        return False
