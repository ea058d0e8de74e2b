"""Where rewards come from."""

from oddarm.sources.simulated import SimulatedArms

__all__ = ["SimulatedArms"]
