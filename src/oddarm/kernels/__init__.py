"""Compiled inner loops.

They hold no policy: each advances the arrays of a run, bit for bit as the interpreted code would.
Importing this package imports numba; nothing else in oddarm does.
"""
