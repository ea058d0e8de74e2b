"""Logs as JSON, one object per line."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

__all__ = ["JSONFormatter", "log_to_stderr"]


OURS = ("oddarm.service", "uvicorn")
"""Loggers that follow the chosen level; the others log warnings and errors only."""


class JSONFormatter(logging.Formatter):
    """Writes a record as a JSON object with time, level, logger, event and fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr(level: int) -> None:
    """Send the logs of the service and of its server to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONFormatter())
    for name in (*OURS, "asyncio", "psycopg"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level if name in OURS else max(level, logging.WARNING))
        logger.propagate = False
