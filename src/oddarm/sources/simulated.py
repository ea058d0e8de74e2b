"""Simulated arms, whose k-th reward depends only on the seed, the arm and k.

The order in which arms are pulled does not matter, so two strategies on the same seed see the very
same rewards, compiled and interpreted code agree, and a search saved in the middle goes on as if
it had never stopped. Each arm has a stream of its own (`oddarm._streams`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from oddarm._checks import whole_number
from oddarm._streams import streams, uniforms
from oddarm._typing import Floats
from oddarm.definitions.groups import Means, float_means
from oddarm.errors import ParameterError
from oddarm.rewards import Bernoulli, Rewards, SubGaussian, as_rewards
from oddarm.sources.base import ListedSource
from oddarm.sources.fingerprint import CONTENT, Fingerprint, digest

__all__ = ["SimulatedArms", "streams", "uniforms"]


class SimulatedArms(ListedSource):
    """Arms with known means, for experiments.

    Args:
        means: The means, as a mapping from arm to mean, a pandas Series whose index names the
            arms, or a sequence, whose arms are named 0, 1, 2 and so on.
        rewards: The reward model. 0/1 rewards are Bernoulli; bounded ones are uniform on the
            widest interval around the mean within the range; sub-Gaussian ones are normal with
            deviation σ.
        seed: Any whole number ≥ 0.
        shape: "bernoulli" for 0/1 rewards with any declared model, to compare bounds on the same
            rewards.

    Examples:
        >>> arms = SimulatedArms([0.1, 0.9], seed=1)
        >>> arms.draw(1, count=8)
        array([1., 1., 1., 1., 1., 1., 1., 1.])
    """

    local: ClassVar[bool] = True

    def __init__(
        self,
        means: Means,
        rewards: str | Sequence[float] | Rewards = "bernoulli",
        seed: int = 0,
        shape: Literal["bernoulli"] | None = None,
    ) -> None:
        names, self.means = float_means(means)
        super().__init__(range(len(self.means)) if names is None else names, as_rewards(rewards))
        if shape not in (None, "bernoulli"):
            raise ParameterError(f"shape == {shape!r}, must be 'bernoulli' or None.")
        self.zero_one = shape == "bernoulli" or isinstance(self.rewards, Bernoulli)
        if self.rewards.limits is not None:
            raise ParameterError(
                "finite arms with simulated rewards, which are endless: drop pools and rows."
            )
        low, high = (0.0, 1.0) if self.zero_one else (self.rewards.low, self.rewards.high)
        if self.rewards.low > low or self.rewards.high < high:
            raise ParameterError(
                f"shape == 'bernoulli' with rewards in [{self.rewards.low:g}, "
                f"{self.rewards.high:g}], must include 0 and 1."
            )
        bad = (self.means < low) | (self.means > high)
        if bad.any():
            raise ParameterError(
                f"mean {self.means[bad][0]:g}, must be in [{low:g}, {high:g}]: "
                "scale the means, or declare another range of rewards."
            )
        self.seed = whole_number("seed", seed, 0)
        self.starts, self.increments = streams(self.seed, len(self.means))
        self.drawn = np.zeros(len(self.means), dtype=np.int64)

    def draw(self, arm: Any, count: int = 1) -> Floats:
        """Return the next `count` rewards of an arm."""
        i, count = self.position(arm), whole_number("count", count, 0)
        u = uniforms(self.starts[i], self.increments[i], int(self.drawn[i]), count)
        self.drawn[i] += count
        return self._shape(u, float(self.means[i]))

    def pool(self, arm: Any, size: int) -> Floats:
        """Return `size` rewards spread evenly over an arm's distribution, ascending or descending.

        Their mean is the arm's, as near as so many rewards allow.
        """
        mean = float(self.means[self.position(arm)])
        return self._shape((np.arange(size) + 0.5) / size, mean)

    def seek(self, arm: Any, drawn: int) -> None:
        """Continue with reward number `drawn` of the arm's stream."""
        self.drawn[self.position(arm)] = drawn

    def fingerprint(self) -> Fingerprint:
        """Return the seed and what the means are."""
        return {
            "seed": self.seed,
            "rewards": self.rewards.to_dict(),
            "zero_one": self.zero_one,
            CONTENT: digest([self.means.tobytes()]),
        }

    def _shape(self, u: Floats, mean: float) -> Floats:
        model = self.rewards
        if self.zero_one:
            return (u < mean).astype(np.float64)
        if isinstance(model, SubGaussian):
            from scipy.special import ndtri

            return np.asarray(mean + model.sigma * ndtri(u + 2.0**-54))
        reach = min(mean - model.low, model.high - mean)
        return np.clip(mean + reach * (2 * u - 1), model.low, model.high)
