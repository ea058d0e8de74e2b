"""The options of a search are the same wherever they are declared."""

import asyncio
import re
from inspect import signature
from typing import get_args

import pytest

import oddarm
from oddarm.options import DEFAULT_STRATEGY, DEFAULTS, OPTIONS, BoundKind, ProblemOptions, Until
from oddarm.service import Client
from oddarm.service.models import CreateBody
from oddarm.sources import RecordedSource

MEANS = [0.1, 0.2, 0.9]


def test_search_has_the_options():
    """`Search` has every option of the table, in its order and with its default."""
    parameters = signature(oddarm.Search).parameters
    own = {name: one.default for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert own == DEFAULTS
    assert list(own) == list(DEFAULTS)


def test_problem_has_the_options():
    """The options that make up a problem have the same defaults there, but a search sets slack."""
    parameters = signature(oddarm.Problem).parameters
    options = {name: DEFAULTS[name] for name in ProblemOptions.__annotations__}
    assert {name: one.default for name, one in parameters.items()} == {**options, "slack": 0.0}


@pytest.mark.parametrize(
    "function",
    [oddarm.Search, oddarm.find, oddarm.find_async, oddarm.simulate, oddarm.create_study],
)
def test_strategy_by_default(function):
    """Whatever runs one search runs the same strategy by default."""
    assert signature(function).parameters["strategy"].default == DEFAULT_STRATEGY
    assert CreateBody.model_fields["strategy"].default == DEFAULT_STRATEGY


def test_functions_that_name_an_option():
    """`plan` and `compare` share the defaults of the options that they name, but for `until`."""
    for function in (oddarm.plan, oddarm.compare):
        named = {name: one.default for name, one in signature(function).parameters.items()}
        shared = named.keys() & OPTIONS.keys() - {"until"}
        assert {"bound", "seed"} <= shared
        assert {name: named[name] for name in shared} == {name: DEFAULTS[name] for name in shared}


@pytest.mark.parametrize("name", OPTIONS)
def test_documented(name):
    """The documentation of `Search` explains each option in the words of the table."""
    text = " ".join(oddarm.Search.__doc__.split())
    assert f"{name}: {OPTIONS[name].help.removesuffix('.')}" in text


def test_http_has_the_options():
    """A study made over HTTP takes every option of the table."""
    more = {"name", "arms", "strategy", "expired_reward"}
    assert CreateBody.model_fields.keys() == OPTIONS.keys() | more


@pytest.mark.parametrize("name", OPTIONS)
def test_http_option(name):
    """An option has the default, the limits and the values of the table over HTTP."""
    schema = CreateBody.model_json_schema()["properties"][name]
    option = OPTIONS[name]
    assert schema["default"] == option.default
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    limits = ("minimum", "exclusiveMinimum", "exclusiveMaximum")
    for limit, value in zip(limits, (option.least, option.above, option.below), strict=True):
        assert kinds[0].get(limit) == value
    values = {"bound": BoundKind, "until": Until}
    assert tuple(kinds[0].get("enum", ())) == get_args(values.get(name))


def calls():
    """Return calls that pass options on to a search."""
    log = RecordedSource({"a": [0, 1], "b": [0, 0], "c": [1, 1]})

    async def later(arm):
        return arm

    return {
        "find": lambda **options: oddarm.find(float, 3, **options),
        "find_async": lambda **options: asyncio.run(oddarm.find_async(later, 3, **options)),
        "simulate": lambda **options: oddarm.simulate(MEANS, **options),
        "plan": lambda **options: oddarm.plan(MEANS, **options),
        "compare": lambda **options: oddarm.compare(log, **options),
        "create_study": lambda **options: oddarm.create_study("no/s.db", "s", 3, **options),
        "create": lambda **options: Client("http://127.0.0.1:1").create("s", 3, **options),
    }


@pytest.mark.parametrize("name", calls())
def test_misspelt(name):
    """A misspelt option is refused before anything is done, and the right one is named."""
    sentence = f"{name} has no option 'max_outlirs': did you mean max_outliers?"
    with pytest.raises(oddarm.errors.ParameterError, match=re.escape(sentence)):
        calls()[name](max_outlirs=1)


def test_misspelt_parameter_of_the_function():
    """A misspelt parameter of the function itself is known too."""
    with pytest.raises(oddarm.errors.ParameterError, match="did you mean retries"):
        oddarm.find(float, 3, retires=1)


def test_nothing_like_it():
    """An option that is like no other is refused with the list of those that there are."""
    with pytest.raises(
        oddarm.errors.ParameterError, match=r"it takes means, .*epsilon, min_gap, rho"
    ):
        oddarm.plan(MEANS, xyz=1)
