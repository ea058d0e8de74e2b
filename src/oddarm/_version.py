"""The version, in one place: the build and every provenance record read it here."""

__version__ = "0.2.0"
"""The version of oddarm."""
