"""Tables of recorded rewards: files, data frames, DuckDB and PostgreSQL."""
