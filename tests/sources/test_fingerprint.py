"""Searches are resumed on the data that they were begun on."""

import json

import pyarrow as pa
import pytest

import oddarm
from oddarm.errors import StateError
from oddarm.sources import FunctionSource, PoolSource, RecordedSource, SimulatedArms
from oddarm.sources.fingerprint import differences

NAMES = list("abcd")
BITS = {"a": [0, 1, 0, 0] * 9, "b": [0, 0, 1, 0] * 9, "c": [1, 0, 0, 0] * 9, "d": [1, 1, 1, 0] * 9}
OTHERS = {**BITS, "b": [0, 0, 0, 1] * 9}


def table(bits, **options):
    """The bits as the rows of a table."""
    rows = [(arm, bit) for arm, some in bits.items() for bit in some]
    frame = pa.table({"arm": [arm for arm, _ in rows], "bit": [bit for _, bit in rows]})
    return oddarm.open_table(frame, "arm", options.pop("reward", "bit"), **options)


def pool(bits, **options):
    """The bits as items to be scored."""
    return PoolSource(bits, score=float, **options)


SOURCES = {
    "table": (table, "the rewards or their order"),
    "pool": (pool, "the rewards or their order"),
    "recorded": (RecordedSource, "the rewards or their order"),
}


def begun(source, path):
    """Save a search of twelve pulls and load it again."""
    oddarm.find(source, strategy="rr", max_outliers=1, max_pulls=12, save=path)
    search = oddarm.Search.load(path)
    search.max_pulls = 24
    return search


@pytest.mark.parametrize("kind", SOURCES)
def test_other_rewards_are_refused(tmp_path, kind):
    """The same arms with as many rewards, one of them another, are other data."""
    make, words = SOURCES[kind]
    search = begun(make(BITS), tmp_path / "state.json")
    before = search.to_dict()
    with pytest.raises(StateError, match=rf"begun on other data \({words}.*begin a new search"):
        oddarm.resume(search, make(OTHERS))
    assert search.to_dict() == before
    assert oddarm.resume(search, make(BITS)).pulls == 24


@pytest.mark.parametrize("kind", SOURCES)
def test_another_order_is_refused(tmp_path, kind):
    """The same rewards in the order of another seed are other data: draws would repeat."""
    make, _ = SOURCES[kind]
    search = begun(make(BITS, seed=3), tmp_path / "state.json")
    with pytest.raises(StateError, match=r"\(seed was 3 and is 4\)"):
        oddarm.resume(search, make(BITS, seed=4))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reward": "1 - bit"}, "reward was 'bit' and is '1 - bit'"),
        ({"where": "arm <> 'e'"}, "where was none and is \"arm <> 'e'\""),
        ({"replace": True}, "replace was False and is True"),
        ({"rewards": (0, 2)}, "rewards was .* and is .*'maximum': 2"),
    ],
)
def test_what_was_taken_is_compared(tmp_path, options, words):
    """What was taken from a table, and how, is named where it differs."""
    search = begun(table(BITS), tmp_path / "state.json")
    with pytest.raises(StateError, match=words):
        oddarm.resume(search, table(BITS, **options))


def test_simulated_arms(tmp_path):
    """Simulated arms are told apart by their means and their seed."""
    search = begun(SimulatedArms([0.1, 0.2, 0.3, 0.9]), tmp_path / "state.json")
    for other in (SimulatedArms([0.1, 0.2, 0.3, 0.8]), SimulatedArms([0.1, 0.2, 0.3, 0.9], seed=1)):
        with pytest.raises(StateError, match="begun on other data"):
            oddarm.resume(search, other)


def test_counts_and_order_of_records():
    """Counted rewards are told apart, and so are recorded ones that are drawn as they stand."""
    counts = {arm: (len(bits), sum(bits)) for arm, bits in BITS.items()}
    one = RecordedSource.from_counts(counts).fingerprint()
    assert one == RecordedSource.from_counts(counts).fingerprint()
    assert one != RecordedSource.from_counts({**counts, "a": (36, 10)}).fingerprint()
    assert RecordedSource(BITS, shuffle=False).fingerprint() != RecordedSource(BITS).fingerprint()


def test_a_source_that_was_drawn_from_is_the_same():
    """Drawing rewards, which puts recorded ones in their order, leaves the fingerprint as it is."""
    source = RecordedSource(BITS)
    source.draw("a", 5)
    assert source.fingerprint() == RecordedSource(BITS).fingerprint()


def test_no_check_where_nothing_is_known(tmp_path):
    """Functions have no fingerprint; items that do not print as they are tell by number alone."""
    assert FunctionSource(len, NAMES, rewards=(0, 9)).fingerprint() is None
    things = {arm: [object() for _ in bits] for arm, bits in BITS.items()}
    assert PoolSource(things, score=id).fingerprint() == {"items": 144, "seed": 0}
    coins = SimulatedArms([0.1, 0.2, 0.3, 0.9])
    search = begun(coins, tmp_path / "state.json")
    assert oddarm.resume(search, lambda arm: arm == 3).pulls == 24
    assert search.fingerprint == coins.fingerprint()


def test_a_search_of_ones_own_takes_the_first_source(tmp_path):
    """A search without a fingerprint, as from an older file, takes that of the source it gets."""
    search = begun(table(BITS), tmp_path / "state.json")
    state = search.to_dict()
    del state["fingerprint"]
    older = oddarm.Search.from_dict(json.loads(json.dumps(state)))
    assert older.fingerprint is None
    with pytest.raises(StateError, match="arm 'c' had 36 rewards and has 40"):
        oddarm.resume(older, table({**BITS, "c": [0] * 40}))
    oddarm.resume(older, table(BITS))
    assert older.fingerprint == search.fingerprint
    with pytest.raises(StateError, match="damaged"):
        oddarm.Search.from_dict({**state, "fingerprint": "rows"})


def test_differences():
    """Parts that differ are named with both values; what only the content tells is said so."""
    one = {"rows": 1200, "where": None, "content": "x"}
    assert differences(one, one) == ""
    assert differences(one, {**one, "content": "y"}) == "the rewards or their order are different"
    changed = {**one, "rows": 1300, "content": "y", "seed": 0}
    assert differences(one, changed) == "rows was 1,200 and is 1,300; seed was none and is 0"
