"""The files of SQLite: for their owner alone, and never written to when they are not there."""

import os
import sqlite3
import stat

import pytest

from oddarm import create_study, list_studies, open_study
from oddarm.errors import StateError, StoreDamagedError, StoreError
from oddarm.testing import NAMES

FILES = ("s.db", "s.db-wal", "s.db-shm")


@pytest.fixture
def path(tmp_path):
    """A SQLite file with a study in it that has had five rewards."""
    path = tmp_path / "s.db"
    with create_study(path, "demo", NAMES, strategy="gold", max_outliers=1) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(5)})
    return path


@pytest.fixture
def open_umask():
    """Whatever the system makes may be read and written by all."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_files_are_for_their_owner_alone(tmp_path):
    """A database and the files beside it are made so that nobody else can read them."""
    with create_study(tmp_path / "s.db", "demo", NAMES, max_outliers=1) as study:
        study.ask(2)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(FILES, 0o600)


def test_the_permissions_of_a_file_stay(path):
    """A file that was opened to others stays so, and the files beside it follow."""
    path.chmod(0o640)
    with open_study(path, "demo") as study:
        study.ask(2)
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o640}


def test_an_empty_file_is_not_a_database(path):
    """A file that lost its content is not taken for a new one, unless one is to be made."""
    path.write_bytes(b"")
    for use in (lambda: open_study(path, "demo"), lambda: list_studies(path)):
        with pytest.raises(StoreDamagedError, match=r"is empty: restore it from a backup, or rem"):
            use()
    assert path.stat().st_size == 0
    create_study(path, "demo", NAMES, max_outliers=1).close()
    assert [info.pulls for info in list_studies(path)] == [0]


def test_an_empty_file_with_a_log(path):
    """A new study does not destroy the log beside a file that lost its content."""
    with open_study(path, "demo") as study:
        study.ask(2)
        log = path.with_name("s.db-wal").read_bytes()
    path.write_bytes(b"")
    path.with_name("s.db-wal").write_bytes(log)
    with pytest.raises(StoreDamagedError, match=r"is empty, but has a log \(-wal\) beside it"):
        create_study(path, "demo", NAMES, max_outliers=1)
    assert path.with_name("s.db-wal").read_bytes() == log


@pytest.mark.parametrize("size", [0, 5000])
def test_cut_while_in_use(path, size):
    """A file that loses its content while in use is an error that names the remedy."""
    with open_study(path, "demo") as study:
        (pull,) = study.ask(1)
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
        os.truncate(path, size)
        for use in (study.result, lambda: study.tell(pull.id, 1), study.info):
            with pytest.raises(StoreDamagedError, match="restore it from a backup"):
                use()


@pytest.mark.parametrize("end", ["-wal", "-shm"])
@pytest.mark.parametrize("again", [False, True], ids=["removed", "replaced"])
def test_a_log_that_is_removed(path, end, again):
    """Without its log a study takes nothing more; what it took is there when it was closed."""
    file = path.with_name(f"s.db{end}")
    with open_study(path, "demo") as study:
        pulls = study.ask(4)
        study.tell(pulls[0].id, 1)
        before = file.read_bytes()
        file.unlink()
        if again:
            file.write_bytes(before)
        for use in (lambda: study.tell(pulls[1].id, 1), study.info):
            with pytest.raises(StoreError, match=rf"\({end}\) that was removed or replaced"):
                use()
        if again:
            file.unlink()
    with open_study(path, "demo") as study:
        assert study.result().pulls == 6
        assert study.tell_many({pull.id: 1 for pull in pulls}) == 3


def test_a_log_that_is_removed_in_a_transaction(path):
    """A write is not acknowledged if its log was removed before it was committed."""
    with open_study(path, "demo") as study:
        pulls = study.ask(4)

        def remove_in_a_batch():
            with study.batch() as batch:
                batch.tell_many({pulls[0].id: 1})
                path.with_name("s.db-wal").unlink()

        with pytest.raises(StoreError, match=r"\(-wal\) that was removed or replaced"):
            remove_in_a_batch()


def test_a_log_that_loses_its_content(path):
    """A write is not acknowledged if the beginning of its log is not there."""
    with open_study(path, "demo") as study:
        pulls = study.ask(4)

        def cut_in_a_batch():
            with study.batch() as batch:
                batch.tell_many({pulls[0].id: 1})
                os.truncate(path.with_name("s.db-wal"), 0)

        with pytest.raises(StoreDamagedError, match="lost the content of its log"):
            cut_in_a_batch()


def test_others_may_tidy_up(path):
    """Another program that empties the log, as SQLite can, is in nobody's way."""
    with open_study(path, "demo") as study:
        for _ in range(3):
            (pull,) = study.ask(1)
            other = sqlite3.connect(path)
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
            other.close()
            assert path.with_name("s.db-wal").stat().st_size == 0
            assert study.info().status == "running"
            assert study.tell(pull.id, 1)
        assert study.result().pulls == 8


def test_used_again_after_it_was_closed(path):
    """A study that is used after it was closed opens its files anew."""
    study = open_study(path, "demo")
    study.close()
    assert not path.with_name("s.db-wal").exists()
    assert len(study.ask(2)) == 2
    study.close()


def change(path, sql, *values):
    """Write to a database behind its back."""
    connection = sqlite3.connect(path)
    connection.execute(sql, values)
    connection.commit()
    connection.close()


def test_damaged_pages(path):
    """Pages that hold something else are an error that names the remedy."""
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 200] = b"\xff" * 200
    path.write_bytes(content)
    with pytest.raises(StoreDamagedError, match=r"malformed.*restore it from a backup"):
        open_study(path, "demo")


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("UPDATE oddarm_snapshots SET revision = ?", "many"),
        ("UPDATE oddarm_snapshots SET state = CAST(? AS TEXT)", b"{\xff\xfe}"),
        ("UPDATE oddarm_events SET body = ? WHERE kind = 'tell'", "[[[0], [1]"),
        ("UPDATE oddarm_events SET body = ? WHERE kind = 'tell'", "[[[99], [1.0], []]]"),
        ("UPDATE oddarm_events SET body = ? WHERE kind = 'tell'", "7"),
        ("UPDATE oddarm_events SET body = ? WHERE kind = 'ask'", "{}"),
        ("DELETE FROM oddarm_snapshots WHERE revision < ?", 1),
    ],
)
def test_rows_that_do_not_load(path, sql, value):
    """A row that was damaged is an error that names the study and the remedy."""
    change(path, sql, value)
    with pytest.raises(StoreDamagedError, match=r"(?s)damaged.*restore it from a backup") as caught:
        open_study(path, "demo")
    assert "\xff" not in str(caught.value)


@pytest.mark.parametrize("state", ["{}", "[]", '{"half": ', '{"version": 99}'])
def test_a_state_that_does_not_load(path, state):
    """A state that is not one of a search is an error in a sentence."""
    change(path, "UPDATE oddarm_snapshots SET state = ?", state)
    with pytest.raises((StateError, StoreDamagedError)):
        open_study(path, "demo")
