"""The adaptive strategy: pull what stands between the present intervals and an answer.

`run` asks for pulls and takes note of rewards, a `round` at a time; `certify` says what is certain,
`plan` which arms to pull for it. `absolute` does both for the absolute rule, and `absolute_run`
follows it. `guess` has the best guess, and which arms to pull for that. `evidence` says how sure a
run is. `constants` has what was chosen by hand, `saved` the form of the state in files.
docs/adaptive.md has the statements, the proofs and the cost argument.
"""

from oddarm.strategies.adaptive.run import AdaptiveRun
from oddarm.strategies.adaptive.strategy import Adaptive

__all__ = ["Adaptive", "AdaptiveRun"]
