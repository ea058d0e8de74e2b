"""The bodies of requests and answers, and how large they may be."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, with_config
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from oddarm._version import __version__
from oddarm.options import DEFAULT_STRATEGY, DEFAULTS, OPTIONS, BoundKind, Until
from oddarm.service.tokens import Role
from oddarm.store import StudyInfo
from oddarm.store.catalog import NAME
from oddarm.store.info import Status
from oddarm.strategies import STRATEGIES

__all__ = [
    "MAX_ARMS",
    "MAX_BATCH",
    "MAX_BODY",
    "MAX_WAIT",
    "Aside",
    "AsideBody",
    "AskBody",
    "Asked",
    "Caller",
    "CreateBody",
    "DataBody",
    "ErrorBody",
    "GiveUpBody",
    "GivenUp",
    "Health",
    "PullRow",
    "StudyName",
    "StudyRow",
    "TellBody",
    "Told",
]

MAX_BODY = 4_000_000
"""The most bytes of a request."""
MAX_ARMS = 5_000
"""The most arms of a study made over HTTP; GOLD keeps a byte for each pair of arms."""
MAX_BATCH = 10_000
"""The most pulls asked for, or rewards told, in one request."""
MAX_WAIT = 60.0
"""The most seconds that an ask may wait: proxies give up an answer that takes longer."""
MONTH = 31 * 24 * 3600.0

StudyName = Annotated[str, Field(pattern=f"^{NAME}$", examples=["latency"])]
ArmName = Annotated[StrictStr, Field(max_length=200)] | StrictInt
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]  # "1" and true are not


def _examples(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


def _option(name: str) -> Any:
    """Return the default of an option of a search, and what it means."""
    return Field(DEFAULTS[name], description=OPTIONS[name].help)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


@with_config(ConfigDict(extra="forbid"))
class ClippedRewards(TypedDict):
    """Rewards of which those beyond a range count as the nearer end."""

    kind: Literal["clipped"]
    minimum: Number
    maximum: Number


class CreateBody(_Body):
    """A study to create: its name, its arms, and the options of `oddarm.Search`."""

    model_config = _examples(
        {"name": "latency", "arms": ["ams", "fra", "lhr", "gru"], "max_outliers": 1},
        {"name": "clicks", "arms": 200, "min_gap": 0.1, "rho": 0.95, "max_pulls": 50000},
    )

    name: StudyName = Field(
        description="1 to 100 letters, digits, dots, hyphens and underscores, the first a letter "
        "or digit."
    )
    arms: (
        Annotated[list[ArmName], Field(min_length=3, max_length=MAX_ARMS)]
        | Annotated[StrictInt, Field(ge=3, le=MAX_ARMS)]
    ) = Field(description="The names of the arms, or their number.")
    strategy: Annotated[str, Field(json_schema_extra={"enum": sorted(STRATEGIES)})] = Field(
        DEFAULT_STRATEGY,
        description='How arms are chosen and when to stop. "adaptive" takes the fewest pulls.',
    )
    # Types and limits are spelled out, since those of JSON are narrower than those of Python;
    # tests/test_options.py compares them with the table of options.
    epsilon: Number | None = _option("epsilon")
    min_gap: Annotated[Number, Field(gt=0)] | None = _option("min_gap")
    rho: Number | None = _option("rho")
    max_outliers: Annotated[StrictInt, Field(ge=1, le=MAX_ARMS)] | None = _option("max_outliers")
    delta: Annotated[Number, Field(gt=0, lt=1)] = _option("delta")
    slack: Annotated[Number, Field(lt=1)] | None = _option("slack")
    strict: StrictBool = _option("strict")
    neighbours: Annotated[StrictInt, Field(ge=1, le=MAX_ARMS)] = _option("neighbours")
    rewards: (
        Literal["bernoulli"]
        | Annotated[list[Number], Field(min_length=2, max_length=2)]
        | ClippedRewards
    ) = Field(
        DEFAULTS["rewards"],
        description='0/1 rewards ("bernoulli"), numbers in a range ([low, high]), or numbers of '
        "any size that are clipped to a range.",
    )
    bound: BoundKind = _option("bound")
    until: Until | None = _option("until")
    max_pulls: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = _option("max_pulls")
    costs: (
        Annotated[dict[str, Number], Field(max_length=MAX_ARMS)]
        | Annotated[list[Number], Field(max_length=MAX_ARMS)]
        | None
    ) = _option("costs")
    max_cost: Annotated[Number, Field(gt=0)] | None = _option("max_cost")
    seed: Annotated[StrictInt, Field(ge=0, le=2**53)] = _option("seed")
    expired_reward: Number | None = Field(
        None,
        description="The reward of a pull whose lease ends before it is told. "
        "By default, the pull is handed out again.",
    )

    def options(self) -> dict[str, Any]:
        """Return the options that were given, without name and arms."""
        options = self.model_dump(exclude_unset=True, exclude={"name", "arms"})
        if isinstance(self.costs, dict):  # JSON has no names that are numbers
            names = range(self.arms) if isinstance(self.arms, int) else self.arms
            name_of = {str(name): name for name in names}
            options["costs"] = {name_of.get(k, k): cost for k, cost in self.costs.items()}
        return options


class AskBody(_Body):
    """How many pulls to lease, for how long, and how long to wait for them."""

    model_config = _examples({"limit": 2, "lease_seconds": 60, "wait_seconds": 20})

    limit: Annotated[StrictInt, Field(ge=1, le=MAX_BATCH)] = 1
    lease_seconds: Annotated[Number, Field(gt=0, le=MONTH)] = 60.0
    wait_seconds: Annotated[Number, Field(ge=0, le=MAX_WAIT)] = Field(
        0.0,
        description="How long the answer may wait until there are pulls, "
        "or the study is done or paused.",
    )
    worker: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="What the page calls this worker; by default its address. "
        "The name of its token stands beside it.",
    )


class PullRow(BaseModel):
    """A pull to be made; tell its reward by its id."""

    id: str = Field(examples=["5f2a01.1.0"])
    arm: Any = Field(examples=["ams"])
    expires: float = Field(description="Seconds since 1970.", examples=[1767225660.0])


class Asked(BaseModel):
    """Pulls to be made. There may be none: then the status says whether to ask again."""

    pulls: list[PullRow]
    status: Status = Field(examples=["running"])


@with_config(ConfigDict(extra="forbid"))
class TellRow(TypedDict):  # twice as fast as a model; a request may have ten thousand
    """The reward of one pull."""

    pull: Annotated[str, Field(max_length=50, examples=["5f2a01.1.0"])]
    reward: Number


class TellBody(_Body):
    """Rewards of pulls; the service takes all of them or none."""

    model_config = _examples({"tells": [{"pull": "5f2a01.1.0", "reward": 1}]})

    tells: Annotated[list[TellRow], Field(max_length=MAX_BATCH)]


class DataBody(_Body):
    """Rewards without an ask, under a key that the sender chooses; each key counts once."""

    model_config = _examples({"arm": "ams", "rewards": [1, 0, 1], "key": "monday"})

    arm: ArmName
    rewards: Annotated[list[Number], Field(min_length=1, max_length=MAX_BATCH)]
    key: Annotated[str, Field(min_length=1, max_length=200)]


class GiveUpBody(_Body):
    """Pulls that will never be told."""

    model_config = _examples({"pulls": ["5f2a01.1.0"]})

    pulls: Annotated[list[Annotated[str, Field(max_length=50)]], Field(max_length=MAX_BATCH)]


class GivenUp(BaseModel):
    """How many of the pulls were neither told nor given up before."""

    given_up: int = Field(examples=[1])


class AsideBody(_Body):
    """An arm that cannot be pulled any more, and why."""

    model_config = _examples({"arm": "gru", "reason": "the host is gone"})

    arm: ArmName
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class Aside(BaseModel):
    """Whether anything changed; false if the arm failed before or the study is done."""

    changed: bool = Field(examples=[True])


class Told(BaseModel):
    """How many rewards were new; those told before were acknowledged and changed nothing."""

    told: int = Field(examples=[2])


class StudyRow(BaseModel):
    """How far a study is."""

    model_config = _examples(
        {
            "name": "latency",
            "status": "running",
            "verdict": "running",
            "strategy": "adaptive",
            "arms": 4,
            "pulls": 120,
            "waiting": 3,
            "revision": 14,
            "created": 1767225600.0,
            "updated": 1767225660.0,
        }
    )

    name: str
    status: Status
    verdict: str
    strategy: str
    arms: int
    pulls: int = Field(description="Rewards that count.")
    waiting: int = Field(description="Rewards that wait for an earlier pull of their arm.")
    revision: int = Field(description="Grows with every ask, tell and failed arm.")
    created: float = Field(description="Seconds since 1970.")
    updated: float = Field(description="When the revision last grew, in seconds since 1970.")

    @classmethod
    def of(cls, info: StudyInfo) -> StudyRow:
        """Return the row of a study."""
        return cls(**asdict(info))


class Caller(BaseModel):
    """Whose token a request came with."""

    name: str | None = Field(examples=["ci"])
    role: Role = Field(examples=["worker"])


class Health(BaseModel):
    """The service and its database answer."""

    status: Annotated[Literal["ok"], Field(examples=["ok"])] = "ok"
    oddarm: str = Field(examples=[__version__])


class ErrorBody(BaseModel):
    """What was wrong, in a sentence."""

    error: str = Field(examples=["study 'x' is not there: create it, or list what is there."])
