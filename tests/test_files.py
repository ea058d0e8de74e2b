"""Files that are replaced whole or not at all."""

import os
import stat
import threading

import pytest

from oddarm import Search
from oddarm._files import replace_file


def test_a_file_is_replaced_and_private(tmp_path):
    """The new text stands alone in the folder, readable by its owner only."""
    path = tmp_path / "state.json"
    path.write_text("old", encoding="utf-8")
    replace_file(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_link_points_to_is_replaced(tmp_path):
    """A link stays one."""
    (tmp_path / "real.json").write_text("old", encoding="utf-8")
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    replace_file(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "real.json").read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    """If writing fails or is interrupted, the old file stays and no part of the new one."""
    path = tmp_path / "state.json"
    replace_file(path, "old")

    def fail(number):
        raise error(number)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        replace_file(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_the_text_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """The file is flushed to the disk before it is renamed, and the folder after."""
    path = tmp_path / "state.json"
    seen = []

    def noted(number):
        mode = os.fstat(number).st_mode
        seen.append((stat.S_ISDIR(mode), path.exists(), os.fstat(number).st_size))

    monkeypatch.setattr(os, "fsync", noted)
    replace_file(path, "text")
    (folder, named, size), (folder_after, named_after, _) = seen
    assert (folder, named, size) == (False, False, 4)
    assert (folder_after, named_after) == (True, True)


def test_two_savers_do_not_collide(tmp_path):
    """Searches saved to one file at the same time leave one of them, whole."""
    path = tmp_path / "search.json"
    searches = [Search(n) for n in (10, 2000)]
    errors = []

    def save(search):
        try:
            for _ in range(12):
                search.save(path)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(search,)) for search in searches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Search.load(path).n in (10, 2000)
    assert [file.name for file in tmp_path.iterdir()] == ["search.json"]
