"""Strategies for the robust rule: an arm is odd if its mean exceeds median + k·MAD."""
