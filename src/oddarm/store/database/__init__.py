"""The databases that studies live in: what both must do, SQLite, PostgreSQL, and the tables."""
