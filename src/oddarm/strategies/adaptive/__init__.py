"""The adaptive strategy: pull what stands between the present intervals and an answer.

`run` asks for pulls and takes note of rewards, a `round` at a time; `certify` says what is certain,
`plan` which arms to pull for it; `constants` has what was chosen by hand, `saved` the form
of the state in files. docs/adaptive.md has the statement, the proof and the cost argument.
"""

from oddarm.strategies.adaptive.run import Adaptive, AdaptiveRun

__all__ = ["Adaptive", "AdaptiveRun"]
