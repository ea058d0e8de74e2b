"""Compiled inner loops: each in C, with a module that calls it.

They hold no policy: each advances the arrays of a run, bit for bit as the interpreted code would.
Importing a module of this package loads the compiled library; nothing else in oddarm does.
"""
