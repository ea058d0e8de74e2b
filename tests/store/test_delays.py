"""Rewards whose delay depends on their value."""

import pytest
from verification.delays import MEANS, drive, options

from oddarm import create_study


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.slow
def test_a_delay_that_depends_on_the_reward(tmp_path, seed):
    """Arms that are almost equal stay so while the time-outs of one of them are late."""
    wanted = {**options(delta=0.05), "max_pulls": 30_000}
    with create_study(tmp_path / "s.db", "demo", len(MEANS), **wanted) as study:
        drive(lambda k: study.ask(k, lease_seconds=3600), study.tell_many, seed)
        assert study.result().verdict == "budget"
