"""A pytest plugin: `pytest --odd-flaky[=MINUTES]` says which tests are flaky.

pytest loads this module in every session of an environment that has oddarm, so it imports nothing
else of oddarm until the option is used. docs/howto/flaky-tests.md is the guide. There is nothing
to rewrite in its assertions: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]

MINUTES = 10.0
RATE = 0.05
DELTA = 0.05


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("odd-flaky", "which tests are flaky (oddarm)")
    group.addoption(
        "--odd-flaky",
        nargs="?",
        const=MINUTES,
        type=_minutes,
        metavar="MINUTES",
        help=f"Run the tests again until it is clear which are flaky, for at most MINUTES "
        f"after their first run (default {MINUTES:g}).",
    )
    group.addoption(
        "--odd-flaky-rate",
        default=RATE,
        type=_share,
        metavar="RATE",
        help="The failure rate that matters: a test that fails at least so often is found "
        f"(default {RATE:g}).",
    )
    group.addoption(
        "--odd-flaky-delta",
        default=DELTA,
        type=_share,
        metavar="DELTA",
        help=f"The probability with which the answer may be wrong (default {DELTA:g}).",
    )
    group.addoption(
        "--odd-flaky-isolate",
        action="store_true",
        help="Set up every fixture anew for each run, those of modules and the session too.",
    )
    group.addoption(
        "--odd-flaky-study",
        metavar="FILE",
        help="Where the runs are kept from session to session (default: in pytest's cache).",
    )
    group.addoption(
        "--odd-flaky-new", action="store_true", help="Forget the runs of earlier sessions."
    )
    group.addoption("--odd-flaky-json", metavar="FILE", help="Write the answer to a JSON file.")


def pytest_configure(config: pytest.Config) -> None:
    """Start the plugin proper if it is asked for."""
    if config.getoption("odd_flaky") is not None:
        from oddarm.integrations.pytest_flaky.session import start

        start(config)


def _minutes(text: str) -> float:
    """Return a number of minutes; the next argument of the command line may be taken for it."""
    try:
        minutes = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of minutes: write --odd-flaky={MINUTES:g} {text}"
        ) from None
    if not 0 < minutes < 1e6:
        raise argparse.ArgumentTypeError(f"{text} minutes, must be more than 0.")
    return minutes


def _share(text: str) -> float:
    """Return a share, from "0.05" or "5%"."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a share between 0 and 1, such as 0.05 or 5%."
        )
    return share
