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


@pytest.mark.parametrize(
    ("method", "value", "words"),
    [
        ("evidence", 0.5, "evidence == 0.5"),
        ("evidence", 3, "evidence == 3"),
        ("forecast", -1, "forecast == -1"),
        ("forecast", 2.5, "forecast == 2.5"),
        ("widest_gap", -0.1, "widest_gap == -0.1"),
        ("guess", [3], "candidates do not rank first"),
    ],
)
def test_the_checker_finds_answers_that_do_not_fit(monkeypatch, method, value, words):
    """Odds below 1, a forecast that is not a number of pulls, or a wrong guess are caught."""
    from oddarm.strategies.sigma.rr import RRRun
    from oddarm.testing import answers_fit_their_verdict

    monkeypatch.setattr(RRRun, method, lambda *_: value)
    with pytest.raises(AssertionError, match=words):
        answers_fit_their_verdict(STRATEGIES["rr"]())
