"""Writing a file so that nobody ever sees it half written, even after a crash."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: str | Path, text: str) -> None:
    """Write text to a file, which keeps its old content until all of the text is on the disk.

    The text is first written under a unique name in the same folder. Only the owner may read the
    file. If the path is a link, its target is replaced.
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(number)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder survives a loss of power."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
