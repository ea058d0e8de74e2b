"""Problems from tables of events, counts and keywords."""

import gzip
import random
import sys
from fractions import Fraction

import numpy as np
import pytest

from oddarm import OddarmError
from oddarm.datasets import CountProblem, read_counts, read_events, read_keywords
from oddarm.errors import MissingExtraError
from oddarm.rewards import Bernoulli, Bounded

EVENTS = "time,host,late\n1,a,0\n2,b,1\n3,a,1\n4,b,1\n5,a,0\n"


@pytest.fixture
def write(tmp_path):
    """Write text to a file, compressed if the name says so."""

    def write(name, text):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("name", ["events.csv", "events.csv.gz"])
def test_events_from_csv(write, name):
    """Events are counted per arm in the order of appearance, from plain and compressed CSV."""
    problem = read_events(write(name, EVENTS), arm="host", reward="late")
    assert problem == CountProblem("events", ("a", "b"), (3, 2), (1, 2), Bernoulli())
    assert problem.successes == (1, 2)
    assert problem.exact_means == (Fraction(1, 3), Fraction(1))
    assert problem.means.tolist() == [1 / 3, 1.0]


def test_events_from_parquet(tmp_path):
    """Parquet holds the same problem, whatever the types of its columns."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    columns = {"arm": [7, 8, 7, 7], "reward": [True, False, False, True], "other": list("wxyz")}
    pq.write_table(pa.table(columns), path)
    assert read_events(path) == CountProblem("events", ("7", "8"), (3, 1), (2, 0))


def test_single_precision_is_read_as_it_prints(tmp_path):
    """A Parquet column of single precision sums to the decimals it prints as."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    columns = {"arm": ["a"] * 3, "reward": pa.array([-1.6, 0.1, 0.2], type=pa.float32())}
    pq.write_table(pa.table(columns), path)
    assert read_events(path, rewards=(-2, 2)).sums == (Fraction("-1.3"),)


def test_events_from_rows():
    """Rows given as mappings need no file; true and false are 1 and 0."""
    rows = ({"arm": arm, "reward": r} for arm, r in [("a", "True"), ("a", False), ("b", "1.0")])
    problem = read_events(rows, name="mine")
    assert problem == CountProblem("mine", ("a", "b"), (2, 1), (1, 1))


def test_sums_are_exact():
    """Decimal rewards are summed without rounding, in any order."""
    rng = random.Random(1)
    cents = [rng.randrange(-1000, 1001) for _ in range(2000)]
    rows = [{"arm": "a", "reward": c / 100} for c in cents]
    problem = read_events(rows, rewards=(-10, 10))
    assert problem.sums == (Fraction(sum(cents), 100),)
    assert problem.rewards == Bounded(minimum=-10, maximum=10)
    assert read_events(rows[::-1], rewards=(-10, 10)).sums == problem.sums
    tiny = [{"arm": "a", "reward": r} for r in (1e90, 1e-90, -1e90)]
    assert read_events(tiny, rewards=(-1e91, 1e91)).sums == (Fraction(1, 10**90),)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("3,b,maybe", "late == 'maybe', must be a finite number"),
        ("3,b,nan", "late == 'nan', must be a finite number"),
        ("3,b,2", "late == '2', must be 0 or 1: declare other rewards by their range"),
        ("3,b,", "late is missing"),
        ("3, ,1", "host is missing, must be a name"),
        ("3,b", "2 cells, must be 3 as in the header"),
        ("3,b,1,1", "4 cells, must be 3 as in the header"),
    ],
)
def test_bad_rows(write, line, words):
    """A bad row is an error that names file and line, or is left out and counted."""
    path = write("events.csv", f"time,host,late\n1,a,0\n\n2,b,1\n{line}\n4,a,1\n")
    with pytest.raises(OddarmError, match=words) as caught:
        read_events(path, "host", "late")
    assert f"{path} line 5: " in str(caught.value)
    assert "skip_bad=True" in str(caught.value)
    problem = read_events(path, "host", "late", skip_bad=True)
    assert problem == CountProblem("events", ("a", "b"), (2, 1), (1, 1), skipped=1)


def test_rewards_outside_their_range(write):
    """A reward beyond the declared range is a bad row."""
    path = write("events.csv", "arm,reward\na,3\na,11\n")
    with pytest.raises(OddarmError, match=r"line 3: reward == '11', must be in \[0, 10\]"):
        read_events(path, rewards=(0, 10))


def test_bad_rows_of_parquet_and_mappings(tmp_path):
    """In Parquet and in rows without lines, a bad row is named by its number."""
    with pytest.raises(OddarmError, match="the table row 2: reward is missing"):
        read_events([{"arm": "a", "reward": 1}, {"arm": "b"}])
    with pytest.raises(OddarmError, match=r"row 1: \('a', 1\) is no row, must map"):
        read_events([("a", 1)])
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"arm": ["a", None], "reward": [0.0, 1.0]}), path)
    with pytest.raises(OddarmError, match=r"events.parquet row 2: arm is missing"):
        read_events(path)
    assert read_events(path, skip_bad=True).skipped == 1


def test_missing_values_of_data_frames():
    """The NaN and NA of data frames are missing values."""
    pd = pytest.importorskip("pandas")
    rows = [{"arm": a, "reward": r} for a, r in [("a", 1), ("a", pd.NA), (float("nan"), 1)]]
    assert read_events(rows, skip_bad=True) == CountProblem("table", ("a",), (1,), (1,), skipped=2)


def test_missing_column(write):
    """A column that is not there is an error that lists those that are."""
    with pytest.raises(OddarmError, match=r"no column 'arm', only 'time', 'host', 'late'"):
        read_events(write("events.csv", EVENTS))


@pytest.mark.parametrize("name", ["empty.csv", "empty.csv.gz"])
def test_empty_file(write, name):
    """A file without even a header says what must be in it."""
    with pytest.raises(OddarmError, match="is empty, must begin with the columns arm, reward"):
        read_events(write(name, ""))


def test_no_rows(write):
    """A header alone, or bad rows alone, make no problem."""
    with pytest.raises(OddarmError, match=r"has no rows to read\."):
        read_events(write("events.csv", "arm,reward\n"))
    with pytest.raises(OddarmError, match="no rows to read; 2 bad ones were left out"):
        read_events(write("events.csv", "arm,reward\na,x\nb,y\n"), skip_bad=True)


def test_wrong_gzip(tmp_path):
    """A plain file that is called .gz is told apart, and so is one that was cut off."""
    plain = tmp_path / "plain.csv.gz"
    plain.write_text(EVENTS)
    with pytest.raises(OddarmError, match=r"is not a gzip file that can be read .* take .gz off"):
        read_events(plain, "host", "late")
    cut = tmp_path / "cut.csv.gz"
    rng = random.Random(0)
    lines = "".join(f"{rng.random()},a,{rng.randrange(2)}\n" for _ in range(5000))
    cut.write_bytes(gzip.compress(f"time,host,late\n{lines}".encode())[:-5000])
    with pytest.raises(OddarmError, match=r"cut.csv.gz is damaged after line [1-9]\d+: .* again"):
        read_events(cut, "host", "late", skip_bad=True)


def test_not_text(write):
    """Bytes that are not UTF-8 are an error that names the file."""
    with pytest.raises(OddarmError, match=r"events.csv is damaged after line .*utf-8"):
        read_events(write("events.csv", b"arm,reward\n\xff\xfe,1\n"))


def test_byte_order_mark(write):
    """The byte order mark of spreadsheet programs is no part of the first column's name."""
    assert read_events(write("events.csv", "\ufeffarm,reward\na,1\n")).arms == ("a",)


def test_not_parquet(tmp_path):
    """A file that only calls itself Parquet is refused; one that is not there is not found."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "events.parquet"
    path.write_text(EVENTS)
    with pytest.raises(OddarmError, match="is not a Parquet file that can be read"):
        read_events(path)
    with pytest.raises(FileNotFoundError):
        read_events(tmp_path / "nowhere.parquet")
    with pytest.raises(FileNotFoundError):
        read_events(tmp_path / "nowhere.csv")


def test_parquet_without_pyarrow(monkeypatch, tmp_path):
    """Without pyarrow, Parquet gets the command that installs it."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pyarrow.*oddarm\[table\]"):
        read_events(tmp_path / "events.parquet")


def test_counts(write):
    """Each instance of a table of counts is a problem, also when rows of instances alternate."""
    path = write("c.csv.gz", "instance,arm,n,successes\nx,a,10,1\ny,a,4,4\nx,b,20,3.0\ny,b,5,0\n")
    assert read_counts(path) == [
        CountProblem("x", ("a", "b"), (10, 20), (1, 3)),
        CountProblem("y", ("a", "b"), (4, 5), (4, 0)),
    ]


def test_counts_without_instances(write):
    """Without a column of instances a table is one problem, called by its file."""
    path = write("clicks.csv", "arm,n,successes,mean\na,10,1,0.1\nb,20,3,0.15\n")
    assert read_counts(path) == [CountProblem("clicks", ("a", "b"), (10, 20), (1, 3))]


def test_sums_in_place_of_counts(write):
    """Rewards with a range have a column of sums."""
    path = write("scores.csv", "arm,n,sum\na,10,33.25\nb,2,-20\n")
    (problem,) = read_counts(path, rewards=(-10, 10))
    assert problem.sums == (Fraction("33.25"), -20)
    assert problem.means.tolist() == [3.325, -10.0]
    with pytest.raises(OddarmError, match=r"rewards lie in .* must be 0 or 1, use sums"):
        _ = problem.successes
    with pytest.raises(OddarmError, match="sum == -20, must be from n·low == -8 to n·high == 8"):
        read_counts(path, rewards=(-4, 4))


def test_sums_at_the_ends_of_the_range():
    """Arms whose rewards are all the least or all the greatest are possible."""
    for low, high in ((0.1, 0.7), (-0.7, -0.1)):
        rows = [{"arm": arm, "reward": r} for arm, r in (("a", low), ("b", high)) for _ in range(3)]
        assert read_events(rows, rewards=(low, high)).means.tolist() == [low, high]


def test_large_counts_are_exact():
    """Counts beyond the precision of floats stay what they are."""
    rows = [{"arm": "a", "n": str(10**17 + 1), "successes": str(10**17)}]
    assert read_counts(rows)[0].exact_means == (Fraction(10**17, 10**17 + 1),)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x,b,0,0", "n == 0, must be >= 1: leave out arms that have no rewards"),
        ("x,b,2.5,1", "n == '2.5', must be a whole number"),
        ("x,b,5,6", "successes == 6, must be a whole number from 0 to n == 5"),
        ("x,b,5,-1", "successes == -1, must be"),
        ("x,b,5,1.5", "successes == 1.5, must be a whole number"),
        ("x,b,many,1", "n == 'many', must be a finite number"),
        ("x,a,5,1", "arm 'a' of 'x' is there twice"),
        (",b,5,1", "instance is missing"),
    ],
)
def test_bad_counts(write, line, words):
    """Impossible counts are an error that names file and line, or are left out and counted."""
    path = write("counts.csv", f"instance,arm,n,successes\nx,a,10,1\n{line}\n")
    with pytest.raises(OddarmError, match=words) as caught:
        read_counts(path)
    assert f"{path} line 3: " in str(caught.value)
    assert read_counts(path, skip_bad=True) == [CountProblem("x", ("a",), (10,), (1,), skipped=1)]


def test_keywords(write):
    """Each keyword is a problem over the regions, counted as a literal reading counts them."""
    rng = random.Random(2)
    rows = [(rng.choice("NSEW"), rng.choice(["sun", "rain"]), rng.randrange(2)) for _ in range(500)]
    text = "".join(f"{r},{k},{c}\n" for r, k, c in rows)
    problems = read_keywords(write("tweets.csv.gz", f"region,keyword,contains\n{text}"))
    assert {p.name for p in problems} == {"sun", "rain"}
    for problem in problems:
        for arm, n, hits in zip(problem.arms, problem.sizes, problem.successes, strict=True):
            seen = [c for r, k, c in rows if (r, k) == (arm, problem.name)]
            assert (n, hits) == (len(seen), sum(seen))


def test_bad_keyword_rows(write):
    """A text that neither contains nor lacks a keyword is a bad row."""
    path = write("tweets.csv", "region,keyword,contains\nN,sun,1\nN,sun,2\nS,,1\n")
    with pytest.raises(OddarmError, match=r"tweets.csv line 3: contains == '2', must be 0 or 1"):
        read_keywords(path)
    assert [p.skipped for p in read_keywords(path, skip_bad=True)] == [2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sizes": (1,)}, "2 arms, 1 sizes and 2 sums"),
        ({"arms": ("a", "a")}, "arm 'a' is there twice"),
        ({"sums": (1, 6)}, "arm 'b' has successes == 6"),
        ({"sizes": (0, 5)}, "arm 'a' has n == 0"),
    ],
)
def test_impossible_problems(changes, words):
    """A problem made by hand is checked like one that is read."""
    fields = {"name": "p", "arms": ("a", "b"), "sizes": (5, 5), "sums": (1, 2)}
    with pytest.raises(OddarmError, match=words):
        CountProblem(**{**fields, **changes})


def test_groups_of_a_problem():
    """The groups of a problem are those of its exact means, by name."""
    problem = CountProblem("p", tuple("abcdef"), (30,) * 6, (3, 4, 5, 6, 7, 22))
    (group,) = problem.groups(2.5, max_outliers=1)
    assert group.members == ("f",)
    assert group.max_epsilon == 14
    assert problem.groups(14, max_outliers=1) == []
    assert isinstance(problem.means, np.ndarray)


def test_wide_parquet(shared_data):
    """A column per keyword gives the counts that the long table has."""
    pytest.importorskip("pyarrow")
    long = {p.name: p for p in read_counts(shared_data / "kjv_keywords.csv.gz")}
    for keyword in ("king", "priest"):
        wide = read_events(shared_data / "kjv_keywords_wide.parquet", reward=keyword)
        assert dict(zip(wide.arms, wide.exact_means, strict=True)) == dict(
            zip(long[keyword].arms, long[keyword].exact_means, strict=True)
        )
