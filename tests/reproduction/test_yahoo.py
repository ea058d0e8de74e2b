"""Yahoo's click logs, on files written here in their raw formats."""

import gzip
import random
import tracemalloc
from collections import Counter

import pytest

from oddarm import OddarmError
from reproduction import yahoo
from reproduction.counts import CountProblem
from reproduction.yahoo import ClickCounts, read_r6a, read_r6b

R6A_NAME = "ydata-fp-td-clicks-v1_0.20090501"
R6B_NAME = "ydata-fp-td-clicks-v2_0.20111002"
POOL = range(109498, 109518)


def features(rng):
    """Six features in the order of R6A."""
    return " ".join([*(f"{k}:{rng.random():.6f}" for k in (2, 3, 4, 5, 6)), "1:1.000000"])


def r6a_line(rng, article=None, click=None, pool=POOL):
    """One event of R6A."""
    article = rng.choice(pool) if article is None else article
    click = int(rng.random() < 0.2) if click is None else click
    articles = " ".join(f"|{a} {features(rng)}" for a in pool)
    return f"1241160900 {article} {click} |user {features(rng)} {articles}"


def r6b_line(rng, article=None, click=None, pool=range(552077, 552097)):
    """One event of R6B."""
    article = f"id-{rng.choice(pool)}" if article is None else article
    click = int(rng.random() < 0.2) if click is None else click
    user = " ".join(map(str, sorted(rng.sample(range(1, 137), rng.randrange(8)))))
    articles = " ".join(f"|id-{a}" for a in pool)
    return f"1317513291 {article} {click} |user {user + ' ' if user else ''}{articles}"


def literal(lines, is_whole):
    """Count line by line, token by token: displays, clicks, good and damaged lines."""
    displays, clicks, damaged = Counter(), Counter(), 0
    for line in lines:
        tokens = line.split()
        if is_whole(tokens) and tokens[2] in ("0", "1") and tokens[3] == "|user":
            displays[tokens[1]] += 1
            clicks[tokens[1]] += int(tokens[2])
        else:
            damaged += 1
    return displays, clicks, damaged


def whole_r6a(tokens):
    """10 + 7·pool tokens, and a pool."""
    pool = sum(token.startswith("|") for token in tokens) - 1
    return pool >= 1 and len(tokens) == 10 + 7 * pool


def whole_r6b(tokens):
    """A user and a pool."""
    return len(tokens) >= 5 and sum(token.startswith("|") for token in tokens) >= 2


def damage(rng, line):
    """Damage a line in one of the ways in which lines get damaged, or leave it whole but odd."""
    tokens = line.split(" ")
    at = rng.randrange(len(tokens))
    return rng.choice(
        [
            line[: rng.randrange(len(line))],
            " ".join(tokens[:at]),
            " ".join(tokens[:at] + tokens[at + 1 :]),
            " ".join([*tokens[:at], "7", *tokens[at:]]),
            line.replace("|user", "user"),
            " ".join([*tokens[:2], rng.choice(["x", "2", "-1", "", "0.5", "nan"]), *tokens[3:]]),
            line[: len(line) // 2] + line,
            "",
            "  ",
            line.replace(" ", "  ", 3),
            f" {line} ",
            line.replace(" ", "\t", 4),
            f"{line}\r",
        ]
    )


def check(counts, lines, is_whole):
    """Compare with the literal count."""
    displays, clicks, damaged = literal(lines, is_whole)
    assert dict(zip(counts.articles, counts.displays, strict=True)) == displays
    assert {a: n for a, n in zip(counts.articles, counts.clicks, strict=True) if n} == +clicks
    assert (counts.good, counts.damaged) == (displays.total(), damaged)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_r6a_example(tmp_path, suffix):
    """Clicks and displays of R6A are counted per article, from gzip and from plain files."""
    rng = random.Random(0)
    events = [(109513, 0), (109498, 1), (109513, 1), (109513, 0)]
    text = "".join(r6a_line(rng, *event) + "\n" for event in events).encode()
    path = tmp_path / (R6A_NAME + suffix)
    path.write_bytes(gzip.compress(text) if suffix else text)
    expected = ClickCounts(R6A_NAME, ("109498", "109513"), (1, 3), (1, 1), good=4, damaged=0)
    assert read_r6a(path) == expected
    assert read_r6a(str(path)) == expected
    problem = CountProblem(R6A_NAME, ("109498", "109513"), (1, 3), (1, 1))
    assert expected.problem() == problem


def test_r6b_example(tmp_path):
    """R6B has articles with id- and users with any number of features, none included."""
    path = tmp_path / f"{R6B_NAME}.gz"
    lines = [
        "1317513291 id-560620 0 |user 1 9 11 13 20 |id-552077 |id-555224 |id-560620",
        "1317513291 id-555224 1 |user 1 |id-552077 |id-555224",
        "1317513292 id-555224 0 |user |id-552077 |id-555224",
        "1317513292 id-555224 0 |user 1 9",
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    expected = ClickCounts(R6B_NAME, ("id-555224", "id-560620"), (2, 1), (1, 0), 3, damaged=1)
    assert read_r6b(path) == expected


@pytest.mark.parametrize(
    ("read", "make", "is_whole"),
    [(read_r6a, r6a_line, whole_r6a), (read_r6b, r6b_line, whole_r6b)],
    ids=["r6a", "r6b"],
)
@pytest.mark.parametrize("block", [61, 4096, yahoo.BLOCK])
def test_damaged_lines(tmp_path, monkeypatch, read, make, is_whole, block):
    """Damaged lines are skipped and counted as a literal reading does, wherever blocks end."""
    monkeypatch.setattr(yahoo, "BLOCK", block)
    monkeypatch.setattr(yahoo, "CHUNK", max(2, block // 3))
    rng = random.Random(block)
    lines = []
    for _ in range(300):
        line = make(rng, pool=range(109498, 109498 + rng.randint(1, 25)))
        lines.append(damage(rng, line) if rng.random() < 0.5 else line)
    text = "\n".join(lines).encode() + b"\n"
    for name, data in (("log", text), ("log.gz", gzip.compress(text))):
        path = tmp_path / name
        path.write_bytes(data)
        check(read(path), lines, is_whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.rsplit(" ", 1)[0],
        lambda line: line + " 2:0.5",
        lambda line: line.replace(" 0 |user", " x |user"),
        lambda line: line.replace(" 0 |user", " 2 |user"),
        lambda line: line.replace("|user", "|usher"),
        lambda line: line[:40],
        lambda line: line.replace("1241160900 ", ""),
        lambda line: line + line,
        lambda line: " ".join(line.split()[:10]),
        lambda _: "",
        lambda _: "\0\0\0",
    ],
)
def test_each_damage_of_r6a(tmp_path, change):
    """Wrong numbers of tokens, clicks that are no clicks and lines without user are damaged."""
    rng = random.Random(5)
    line = r6a_line(rng, 109500, 0)
    path = tmp_path / "log"
    path.write_text(f"{line}\n{change(line)}\n{line}\n")
    counts = read_r6a(path)
    assert (counts.displays, counts.good, counts.damaged) == ((2,), 2, 1)


def test_last_line_needs_no_newline(tmp_path):
    """The last line counts with and without its end."""
    rng = random.Random(6)
    text = "\n".join(r6a_line(rng) for _ in range(3))
    path = tmp_path / "log"
    for end in ("", "\n"):
        path.write_text(text + end)
        assert (read_r6a(path).good, read_r6a(path).damaged) == (3, 0)


def test_truncated_gzip(tmp_path):
    """A gzip file that was cut off is an error that says how many good lines were read."""
    rng = random.Random(7)
    lines = [r6a_line(rng) for _ in range(3000)]
    data = gzip.compress("\n".join(lines).encode(), compresslevel=1)
    path = tmp_path / f"{R6A_NAME}.gz"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(OddarmError, match=r"cut off after (1,\d\d\d) good lines of R6A") as caught:
        read_r6a(path)
    assert str(path) in str(caught.value)
    path.write_bytes(data[:-4])  # only the length at the very end is missing
    with pytest.raises(OddarmError, match=r"cut off after (3,000|2,\d\d\d) good lines"):
        read_r6a(path)


def test_damaged_gzip(tmp_path):
    """Compressed data with wrong bytes in it is an error that says how far reading came."""
    rng = random.Random(8)
    data = bytearray(gzip.compress("\n".join(r6a_line(rng) for _ in range(500)).encode()))
    data[-6] ^= 0xFF  # the checksum
    path = tmp_path / "log.gz"
    path.write_bytes(data)
    with pytest.raises(OddarmError, match=r"damaged gzip file \(.*\) after \d+ good lines"):
        read_r6a(path)
    path.write_bytes(gzip.compress(r6a_line(rng).encode()) + b"and more")
    with pytest.raises(OddarmError, match="damaged gzip file"):
        read_r6a(path)


def test_gzip_members_and_padding(tmp_path):
    """Concatenated gzip files and padding with zeros are read as gzip itself reads them."""
    rng = random.Random(9)
    parts = ["".join(r6a_line(rng) + "\n" for _ in range(20)).encode() for _ in range(3)]
    path = tmp_path / "log.gz"
    path.write_bytes(b"".join(map(gzip.compress, parts)) + bytes(1000))
    assert read_r6a(path).good == 60


def test_gzip_is_known_by_its_bytes(tmp_path):
    """Compressed data needs no .gz, and plain text that is called .gz is refused."""
    rng = random.Random(10)
    line = r6a_line(rng).encode()
    (tmp_path / "log").write_bytes(gzip.compress(line))
    assert read_r6a(tmp_path / "log").good == 1
    (tmp_path / "log.gz").write_bytes(line)
    with pytest.raises(OddarmError, match=r"begins with b'12411609' and not as a gzip file"):
        read_r6a(tmp_path / "log.gz")


def test_empty_files(tmp_path):
    """A file without any event is an error, compressed or not."""
    (tmp_path / "log").write_bytes(b"")
    (tmp_path / "log.gz").write_bytes(b"")
    (tmp_path / "nothing.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(OddarmError, match="has 0 lines and none is an event of R6A"):
        read_r6a(tmp_path / "log")
    with pytest.raises(OddarmError, match="not as a gzip file"):
        read_r6a(tmp_path / "log.gz")
    with pytest.raises(OddarmError, match="has 0 lines and none is an event of R6B"):
        read_r6b(tmp_path / "nothing.gz")


def test_wrong_file(tmp_path):
    """A log of the other kind is not taken for one without good lines."""
    rng = random.Random(11)
    path = tmp_path / "log"
    path.write_text("\n".join(r6b_line(rng) for _ in range(5)))
    with pytest.raises(OddarmError, match="has 5 lines and none is an event of R6A"):
        read_r6a(path)
    with pytest.raises(FileNotFoundError):
        read_r6a(tmp_path / "nowhere.gz")


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Four times the lines take the same memory."""
    rng = random.Random(12)
    chunk = "".join(r6a_line(rng) + "\n" for _ in range(2000)).encode()
    peaks = []
    for times in (2, 8):
        path = tmp_path / f"log{times}.gz"
        path.write_bytes(gzip.compress(chunk, 1) * times)
        tracemalloc.start()
        assert read_r6a(path).good == 2000 * times
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 11 * yahoo.BLOCK


def test_endless_line(tmp_path):
    """A line without end is one damaged line and is not kept in memory."""
    rng = random.Random(13)
    line = r6a_line(rng).encode()
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(line + b"\n" + b"0 " * 20_000_000 + b"\n" + line + b"\n", 1))
    tracemalloc.start()
    counts = read_r6a(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (counts.good, counts.damaged) == (2, 1)
    assert peak < 12 * yahoo.BLOCK
    path.write_bytes(gzip.compress(line + b"\n" + b"0 " * 5_000_000, 1))
    assert (read_r6a(path).good, read_r6a(path).damaged) == (1, 1)


def test_problem_of_clicks():
    """Articles that were displayed too rarely can be left out."""
    counts = ClickCounts("day", ("a", "b", "c"), (10, 500, 400), (1, 9, 0), good=910, damaged=3)
    assert counts.problem(400) == CountProblem("day", ("b", "c"), (500, 400), (9, 0))
    with pytest.raises(OddarmError, match="min_displays == 501 leaves no article of day"):
        counts.problem(501)
