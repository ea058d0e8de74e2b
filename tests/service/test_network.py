"""A short form of `python -m verification network` and `proxied`."""

import socket
import threading

import pytest
from verification import cables, network, proxied

needs_cables = pytest.mark.skipif(cables.why_not() is not None, reason=str(cables.why_not()))
needs_postgres = pytest.mark.skipif(
    network.no_postgres() is not None, reason=str(network.no_postgres())
)
needs_proxy = pytest.mark.skipif(proxied.why_not() is not None, reason=str(proxied.why_not()))


@needs_cables
def test_a_cable():
    """What is sent comes, is held up while the cable is cut, and comes after that."""
    with cables.namespaces("one", "two") as (one, two):
        cable = cables.Cable((one, "198.18.0.1"), (two, "198.18.0.2"))
        with cables.inside(two):
            listener = socket.create_server(("198.18.0.2", 0))
        with cables.inside(one):
            near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        with listener, near, far:
            near.sendall(b"a")
            assert far.recv(1) == b"a"
            cable.cut, before = True, cable.lost
            near.sendall(b"b")
            while cable.lost == before:
                threading.Event().wait(0.01)
            far.settimeout(0.5)
            with pytest.raises(TimeoutError):
                far.recv(1)
            cable.cut = False
            far.settimeout(None)
            assert far.recv(1) == b"b"
        cable.close()


@needs_cables
@needs_postgres
@pytest.mark.slow
def test_cables_that_are_slow_lossy_and_cut():
    """No cable that is slow, lossy or cut for a while makes a study lose or repeat a reward."""
    checks = list(network.checks(partition=3.0, times=1, lossy=3.0, crowd=50))
    assert [str(check) for check in checks if not check.holds] == []
    assert len(checks) == 4


@needs_proxy
@pytest.mark.slow
@pytest.mark.parametrize("in_turn", [False, True])
def test_servers_killed_behind_a_proxy(postgres_database, in_turn):
    """Two servers behind nginx, killed one after the other, lose and repeat nothing."""
    problems, _ = proxied.killed(postgres_database, 2, in_turn=in_turn)
    assert problems == []
