"""The adaptive strategy: pull what stands between the present intervals and an answer.

`run` asks and takes note, `certify` says what is certain, `plan` whom to pull for what;
`constants` has what was chosen by hand. docs/adaptive.md has the statement, the proof and the cost
argument.
"""

from oddarm.strategies.adaptive.run import Adaptive, AdaptiveRun

__all__ = ["Adaptive", "AdaptiveRun"]
