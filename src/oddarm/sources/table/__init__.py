"""Tables of recorded rewards: files, data frames, DuckDB and PostgreSQL."""

from oddarm.sources.table.source import TableSource

__all__ = ["TableSource"]
