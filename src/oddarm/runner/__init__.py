"""Driving a search from a source of rewards: retries, order of counting, interrupts."""

from oddarm.runner.api import find, find_async, resume

__all__ = ["find", "find_async", "resume"]
