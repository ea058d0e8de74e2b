"""Everything oddarm raises on purpose.

    OddarmError (a ValueError)
    ├── ParameterError      a parameter of a problem, strategy or bound is out of range
    │   └── MissingColumnsError   data without the name of the column of its arms or rewards
    ├── RewardError         a reward, or a batch with one bad reward, was refused
    │   └── RewardRangeError   a number outside the range that was declared for rewards
    ├── UnknownArmError     the name of an arm that the search does not have
    ├── SourceError         a source that cannot serve the search, or failed for too many arms
    ├── StateError          saved state that cannot be loaded
    ├── UnknownStudyError   the name of a study that the database does not have
    ├── StudyExistsError    the name of a new study is taken
    ├── UnknownPullError    the id of a pull that the study never handed out
    ├── KeyReusedError      a key of rewards that nobody asked for, told before with others
    ├── StoreError          the database of a study cannot be read or written
    │   ├── StoreBusyError  others lock it for too long
    │   ├── StoreFullError  its disk is full
    │   └── StoreDamagedError   its contents are damaged
    ├── ServiceError        a service of studies refused a request, or cannot be reached
    └── MissingExtraError   an optional dependency is not installed (also an ImportError)

Each message quotes the value, says the rule and names the remedy. Raising one leaves the search
as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oddarm.results.result import Result

__all__ = [
    "KeyReusedError",
    "MissingColumnsError",
    "MissingExtraError",
    "OddarmError",
    "ParameterError",
    "RewardError",
    "RewardRangeError",
    "ServiceError",
    "SourceError",
    "StateError",
    "StoreBusyError",
    "StoreDamagedError",
    "StoreError",
    "StoreFullError",
    "StudyExistsError",
    "UnknownArmError",
    "UnknownPullError",
    "UnknownStudyError",
]


class OddarmError(ValueError):
    """Base class of every error that oddarm raises on purpose."""


class ParameterError(OddarmError):
    """A parameter is outside its range."""


class MissingColumnsError(ParameterError):
    """The column of the arms or that of the rewards is not named.

    Attributes:
        name: What the data is called.
        missing: What is not named: arm, reward or both.
        columns: The columns of the data, each with its name and its type in plain words.
        suggestion: The columns that are most likely the arm and the reward.
    """

    name: str = "the data"
    missing: Sequence[str] = ()
    columns: Sequence[tuple[str, str]] = ()
    suggestion: tuple[str, str] = ("host", "slow")


class RewardError(OddarmError):
    """A reward does not fit the declared reward model."""


class RewardRangeError(RewardError):
    """A reward is a number outside the declared range: pulling again cannot mend that."""


class UnknownArmError(OddarmError):
    """The search has no arm of that name."""


class SourceError(OddarmError):
    """A source of rewards cannot serve the search, or has failed for too many arms.

    Attributes:
        result: The result at the time of the failure, if a search was running.
    """

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result


class StateError(OddarmError):
    """A saved state cannot be read."""


class UnknownStudyError(OddarmError):
    """The database has no study of that name."""


class StudyExistsError(OddarmError):
    """A study of that name exists already."""


class UnknownPullError(OddarmError):
    """A reward was told for a pull that the study never handed out."""


class KeyReusedError(OddarmError):
    """Rewards were told under a key that was used for other rewards, or for another arm."""


class StoreError(OddarmError):
    """The database of a study cannot be read or written.

    Attributes:
        public: The sentence for callers of a service, which does not say where the database is.
    """

    def __init__(self, message: str, public: str | None = None) -> None:
        super().__init__(message)
        self.public = public or "the database cannot be used: the log of the service says why."


class StoreBusyError(StoreError):
    """Others lock the database for too long."""


class StoreFullError(StoreError):
    """The disk of the database is full."""


class StoreDamagedError(StoreError):
    """The contents of the database are damaged."""


class ServiceError(OddarmError):
    """A service of studies refused a request, or cannot be reached.

    Attributes:
        status: The HTTP status; None if there was no answer.
        retry_after: Seconds after which the service wants to be tried again, if it said so.
    """

    def __init__(
        self, message: str, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class MissingExtraError(OddarmError, ImportError):
    """Optional packages are not installed.

    Attributes:
        extras: The extras of oddarm that install them.
    """

    def __init__(self, wants: str, extras: Sequence[str], *, several: bool = False) -> None:
        super().__init__(
            f"{wants}, which {'are' if several else 'is'} not installed: "
            f"run  python -m pip install 'oddarm[{','.join(extras)}]'"
        )
        self.extras = tuple(extras)
