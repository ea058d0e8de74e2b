"""Every strategy keeps the contract that callers rely on."""

import pytest

from oddarm.strategies import STRATEGIES, Fixed
from oddarm.testing import STRATEGY_CHECKS, check_strategy

NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name.startswith("roai") else name
    for name in STRATEGIES
]


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_contract(name, check):
    """Each strategy passes each check of `oddarm.testing`."""
    check(Fixed(pulls=3000) if name == "fixed" else STRATEGIES[name]())


def test_the_checker_finds_a_broken_strategy():
    """A strategy that asks for nothing is caught."""
    from oddarm.strategies.sigma.rr import RR, RRRun

    class Idle(RRRun):
        def ask(self, limit):
            del limit
            return []

    class Lazy(RR):
        def start(self, context):
            return Idle(context, self.k)

    with pytest.raises(AssertionError, match="gave nothing"):
        check_strategy(Lazy())
