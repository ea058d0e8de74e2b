"""Everything oddarm raises on purpose.

    OddarmError (a ValueError)
    ├── ParameterError      a parameter of a problem, strategy or bound is out of range
    ├── RewardError         a reward, or a batch with one bad reward, was refused
    ├── UnknownArmError     the name of an arm that the search does not have
    ├── StateError          saved state that cannot be loaded
    └── MissingExtraError   an optional dependency is not installed (also an ImportError)

Each message quotes the value, says the rule and names the remedy. Raising one leaves the search
as it was.
"""

from __future__ import annotations

__all__ = [
    "MissingExtraError",
    "OddarmError",
    "ParameterError",
    "RewardError",
    "StateError",
    "UnknownArmError",
]


class OddarmError(ValueError):
    """Base class of every error that oddarm raises on purpose."""


class ParameterError(OddarmError):
    """A parameter is outside its range."""


class RewardError(OddarmError):
    """A reward does not fit the declared reward model."""


class UnknownArmError(OddarmError):
    """An arm was named that the search does not have."""


class StateError(OddarmError):
    """A saved state cannot be read."""


class MissingExtraError(OddarmError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: "
            f"run  python -m pip install 'oddarm[{extra}]'"
        )
