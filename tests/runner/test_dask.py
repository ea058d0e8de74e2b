"""A real Dask cluster of two worker processes: the same answers, even if a worker is killed."""

import os
import signal
import time

import numpy as np
import pytest

import oddarm
from oddarm.sources import FunctionSource, PoolSource
from support.indexed import NAMES, Indexed, told_in_order

distributed = pytest.importorskip("distributed")

# It warns when a worker dies, and may leave what that one held to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a cluster of two processes on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=str(tmp_path_factory.mktemp("dask")),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_same_answer_as_serial(client):
    """The search on the cluster finds what the serial one does, and each call is one reward."""
    searches = []
    result = oddarm.find(
        Indexed(),
        executor=client.get_executor(),
        in_flight=16,
        batch=50,
        callbacks=[searches.append],
    )
    serial = oddarm.find(Indexed())
    assert (result.verdict, result.outliers) == (serial.verdict, serial.outliers)
    assert told_in_order(searches[-1])

    # Two calls that look the same are two calls, not one that is remembered.
    drawn = oddarm.find(
        FunctionSource(lambda arm: int.from_bytes(os.urandom(6)) / 2**48, NAMES, rewards=(0, 1)),  # noqa: ARG005
        executor=client.get_executor(),
        max_pulls=60,
    )
    assert len(np.unique(drawn.means)) == 10


def squared(item):
    """Return a reward that no other item of the arm has, after a while."""
    time.sleep(0.002)
    return (item / 24) ** 2


def test_a_killed_worker_loses_nothing_and_counts_nothing_twice(client):
    """A worker killed in the middle: every item of every pool is told exactly once."""
    pids = client.run(os.getpid)
    killed, searches = [], []

    def kill(search):
        if search.pulls >= 60 and not killed:
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    result = oddarm.find(
        PoolSource({arm: range(24) for arm in NAMES}, squared, rewards=(0, 1)),
        strategy="maxgap",
        max_outliers=1,
        executor=client.get_executor(),
        in_flight=12,
        callbacks=[kill, searches.append],
    )
    assert killed
    assert result.errors == {}
    assert result.counts.tolist() == [24] * 10
    tally = searches[-1].tally
    assert np.allclose(tally.totals, sum((k / 24) ** 2 for k in range(24)), rtol=1e-12)
