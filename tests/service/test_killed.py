"""A short form of `python -m verification faults`."""

import os

import pytest
from verification import faults


@pytest.mark.parametrize("strategy", ["adaptive", "gold"])
def test_killed(tmp_path, strategy):
    """Killed at random moments under load, the server loses and repeats nothing."""
    problems, _ = faults.killed(f"sqlite:///{tmp_path / 's.db'}", 2, strategy)
    assert problems == []


def test_torn(tmp_path):
    """Half a write after the last acknowledged one is as if never begun."""
    problems, _ = faults.torn(tmp_path, 2)
    assert problems == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_disk_full():
    """On a disk that is full for a while, tells are refused with 507, and then taken again."""
    with faults.small_disk(64_000_000) as disk:
        problems, _ = faults.filled(disk, 2)
    assert problems == []


def test_cut_off(postgres_database):
    """With its connections to PostgreSQL cut under load, the server loses and repeats nothing."""
    problems, _ = faults.cut_off(postgres_database, 4)
    assert problems == []


@pytest.mark.parametrize("many_arms", [1, 10**9])
def test_several_processes(tmp_path, many_arms):
    """Processes that write to one study at the same time, some killed, lose and repeat nothing."""
    problems, _, _ = faults.several(f"sqlite:///{tmp_path / 's.db'}", "adaptive", many_arms, 2)
    assert problems == []
