"""Problems from tables of counts and keywords."""

import gzip
import random
from fractions import Fraction

import pytest

from oddarm import OddarmError
from reproduction.counts import CountProblem, read_counts, read_keywords

COUNTS = "arm,n,successes,mean\na,10,1,0.1\nb,20,3.0,0.15\n"


@pytest.fixture
def write(tmp_path):
    """Write text to a file, compressed if the name says so."""

    def write(name, text):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def test_counts(write):
    """Each instance of a table of counts is a problem, also when rows of instances alternate."""
    path = write("c.csv.gz", "instance,arm,n,successes\nx,a,10,1\ny,a,4,4\nx,b,20,3\ny,b,5,0\n")
    assert read_counts(path) == [
        CountProblem("x", ("a", "b"), (10, 20), (1, 3)),
        CountProblem("y", ("a", "b"), (4, 5), (4, 0)),
    ]


@pytest.mark.parametrize("name", ["clicks.csv", "clicks.csv.gz"])
def test_counts_without_instances(write, name):
    """Without a column of instances a table is one problem, named after its file."""
    (problem,) = read_counts(write(name, COUNTS))
    assert problem == CountProblem("clicks", ("a", "b"), (10, 20), (1, 3))
    assert problem.exact_means == (Fraction(1, 10), Fraction(3, 20))
    assert problem.means.tolist() == [0.1, 0.15]


def test_sums_in_place_of_counts(write):
    """Rewards with a range have a column of sums."""
    path = write("scores.csv", "arm,n,sum\na,10,33.25\nb,2,-20\n")
    (problem,) = read_counts(path, (-10, 10))
    assert problem.sums == (Fraction("33.25"), -20)
    assert problem.means.tolist() == [3.325, -10.0]
    with pytest.raises(OddarmError, match=r"rewards lie in .* must be 0 or 1, use sums"):
        _ = problem.successes
    with pytest.raises(OddarmError, match="sum == -20, must be from n·low == -8 to n·high == 8"):
        read_counts(path, (-4, 4))


def test_large_counts_are_exact(write):
    """Counts beyond the precision of floats stay what they are."""
    (problem,) = read_counts(write("c.csv", f"arm,n,successes\na,{10**17 + 1},{10**17}\n"))
    assert problem.exact_means == (Fraction(10**17, 10**17 + 1),)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x,b,0,0", "x: arm 'b' has n == 0, must be >= 1: leave out arms that have no rewards"),
        ("x,b,5,6", "successes == 6, must be a whole number from 0 to n == 5"),
        ("x,b,5,-1", "successes == -1, must be"),
        ("x,b,5,1.5", "successes == 3/2, must be a whole number"),
        ("x,a,5,1", "arm 'a' occurs twice"),
        ("x,b,2.5,1", "counts.csv line 3: n == '2.5', must be a whole number"),
        ("x,b,many,1", "counts.csv line 3: n == 'many', must be a number"),
        (",b,5,1", "counts.csv line 3 has an empty cell"),
        ("x,b,5", "counts.csv line 3 must have 4 cells, as the header has"),
        ("x,b,5,1,1", "counts.csv line 3 must have 4 cells, as the header has"),
    ],
)
def test_bad_counts(write, line, words):
    """Impossible counts, and lines that are no counts, are errors that name the place."""
    path = write("counts.csv", f"instance,arm,n,successes\nx,a,10,1\n{line}\n")
    with pytest.raises(OddarmError, match=words):
        read_counts(path)


def test_missing_column(write):
    """A column that the file lacks is an error that lists those it has."""
    with pytest.raises(OddarmError, match="no column 'n', only 'arm', 'mean'"):
        read_counts(write("counts.csv", "arm,mean\na,0.5\n"))


def test_damaged_files(tmp_path, write):
    """A file that is no gzip file, is cut off, or is no text is an error that names it."""
    plain = tmp_path / "plain.csv.gz"
    plain.write_text(COUNTS)
    cut = write("cut.csv.gz", COUNTS + "c,2,1,0.5\n" * 1000)
    cut.write_bytes(cut.read_bytes()[:-20])
    for path in (plain, cut, write("bytes.csv", b"arm,n,successes\n\xff\xfe,1,1\n")):
        with pytest.raises(
            OddarmError, match=rf"{path.name} is damaged \(.*\): get the file again"
        ):
            read_counts(path)
    with pytest.raises(FileNotFoundError):
        read_counts(tmp_path / "nowhere.csv")


def test_byte_order_mark(write):
    """The byte order mark of spreadsheet programs is not part of the first column's name."""
    (problem,) = read_counts(write("counts.csv", "\ufeff" + COUNTS))
    assert problem.arms == ("a", "b")


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
    """A text that neither contains nor lacks a keyword is an error."""
    path = write("tweets.csv", "region,keyword,contains\nN,sun,1\nN,sun,2\n")
    with pytest.raises(OddarmError, match=r"tweets.csv line 3: contains == '2', must be 0 or 1"):
        read_keywords(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sizes": (1,)}, "2 arms, 1 sizes and 2 sums"),
        ({"arms": ("a", "a")}, "arm 'a' occurs twice"),
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
