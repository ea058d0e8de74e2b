"""What the package offers to its users."""

import subprocess
import sys

import pytest

import oddarm


def test_all_is_sorted_and_complete():
    """__all__ is sorted, every name in it exists, and the pinned names are there."""
    assert oddarm.__all__ == sorted(oddarm.__all__)
    for name in oddarm.__all__:
        assert getattr(oddarm, name) is not None
    pinned = {"Search", "find", "simulate", "outlier_groups", "outlier_arms", "Problem", "Result"}
    assert pinned <= set(oddarm.__all__) <= set(dir(oddarm))


def test_unknown_attribute():
    """A name that does not exist is an AttributeError, as for any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = oddarm.nonsense


def test_every_error_is_a_value_error():
    """Whoever catches ValueError catches every error of ours."""
    for name in oddarm.errors.__all__:
        error = getattr(oddarm.errors, name)
        assert issubclass(error, oddarm.OddarmError)
        assert issubclass(error, ValueError)


def test_import_is_light():
    """Importing oddarm loads no compiler, no scipy, no pandas and no plotting."""
    heavy = {"scipy", "pandas", "matplotlib", "typer", "rich"}
    code = (
        "import sys, oddarm; oddarm.Search; oddarm.simulate; oddarm.find; "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
