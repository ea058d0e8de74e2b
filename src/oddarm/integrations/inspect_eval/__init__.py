"""Odd samples of an evaluation by inspect_ai: the search asks for epochs of single samples.

docs/howto/evaluations.md is the guide. inspect_ai is imported when `odd_samples` is called.
"""

from oddarm.integrations.inspect_eval.api import odd_samples

__all__ = ["odd_samples"]
