"""Strategies for the k-sigma rule: an arm is odd if its mean exceeds mean + k·deviation."""
