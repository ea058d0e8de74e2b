"""Rivals, each a program that prints the seconds that a pull takes; see `benchmarks.rivals`."""
