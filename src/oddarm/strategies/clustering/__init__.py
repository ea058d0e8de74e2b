"""Strategies that cut the arms into a known number of clusters, by single linkage."""
