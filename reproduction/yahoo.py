"""The Yahoo! Today Module click logs R6A and R6B, in the form in which Yahoo! hands them out.

A day of R6A is some 4.6 million lines of 1.5 kB. Only the article displayed and the click matter
here, so a line is not taken apart: its tokens are counted 64 bytes at a time, which tells damaged
lines, and its head is matched. Files are read in blocks, in the same memory whatever their size.
"""

from __future__ import annotations

import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oddarm.errors import OddarmError, ParameterError
from reproduction.counts import CountProblem

__all__ = ["ClickCounts", "read_r6a", "read_r6b"]

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
LineCheck = Callable[[Counts, Counts], Bools]
"""Given how many tokens and bars "|" each line has: which lines are whole?"""

BLOCK = 1 << 19  # bytes of text at a time
CHUNK = 1 << 15  # bytes of compressed data at a time: these logs shrink to a fortieth
LONGEST_LINE = 1 << 20  # bytes; pools of hundreds of articles fit
MAGIC = b"\x1f\x8b"
SPACE, NEWLINE, BAR = b" \n|"
_ONE, _LAST = np.uint64(1), np.uint64(63)

# Timestamp, displayed article, click, and the beginning of the user's features.
_HEAD = re.compile(rb"[ \t]*\S+[ \t]+(\S+[ \t]+[01])[ \t]+\|user[ \t]")


@dataclass(frozen=True)
class ClickCounts:
    """How often each article was displayed and clicked.

    Attributes:
        name: The file's name.
        articles: The names of the articles, sorted.
        displays: How often each was displayed.
        clicks: How often each was clicked.
        good: Lines that were counted.
        damaged: Lines that were skipped.
    """

    name: str
    articles: tuple[str, ...]
    displays: tuple[int, ...]
    clicks: tuple[int, ...]
    good: int
    damaged: int

    def problem(self, min_displays: int = 1) -> CountProblem:
        """Return the problem whose arms are the articles displayed at least so often."""
        kept = [i for i, displays in enumerate(self.displays) if displays >= min_displays]
        if not kept:
            raise ParameterError(
                f"min_displays == {min_displays} leaves no article of {self.name}, "
                f"must be at most {max(self.displays)}."
            )
        return CountProblem(
            name=self.name,
            arms=tuple(self.articles[i] for i in kept),
            sizes=tuple(self.displays[i] for i in kept),
            sums=tuple(self.clicks[i] for i in kept),
        )


def read_r6a(path: str | os.PathLike[str]) -> ClickCounts:
    """Return the click counts of a file of R6A (2009), gzip or plain.

    A line is a timestamp, the displayed article, the click, "|user" with six features, and every
    article of the pool with six features: 10 + 7·pool tokens. Other lines, and lines whose click is
    not 0 or 1, are damaged: they are skipped and counted.

    Raises:
        OddarmError: The gzip data is cut off or damaged (the message says how many good lines were
            read), a file called .gz is not gzip, or no line is good.
    """
    return _read(Path(path), "R6A", _whole_r6a)


def read_r6b(path: str | os.PathLike[str]) -> ClickCounts:
    """Return the click counts of a file of R6B (2011), gzip or plain.

    A line is a timestamp, the displayed article, the click, "|user" with any number of features,
    and the articles of the pool, each after a bar. Lines without a user or a pool, and lines whose
    click is not 0 or 1, are damaged: they are skipped and counted.

    Raises:
        OddarmError: As for `read_r6a`.
    """
    return _read(Path(path), "R6B", _whole_r6b)


def _whole_r6a(tokens: Counts, bars: Counts) -> Bools:
    pool = bars - 1
    whole: Bools = (pool >= 1) & (tokens == 10 + 7 * pool)
    return whole


def _whole_r6b(tokens: Counts, bars: Counts) -> Bools:
    # At the least: timestamp, article, click, |user, and one article of the pool.
    return (bars >= 2) & (tokens >= 5)


def _read(path: Path, kind: str, whole: LineCheck) -> ClickCounts:
    events: Counter[tuple[bytes, bytes]] = Counter()
    lines = 0
    try:
        for text in _whole_lines(_blocks(path)):
            heads, count = _heads(text, whole)
            lines += count
            for head, times in Counter(heads).items():
                article, click = head.split()
                events[article, click] += times
    except _DamagedGzipError as damage:
        raise OddarmError(
            f"{path} {damage} after {events.total():,} good lines of {kind}: get the file again."
        ) from None
    good = events.total()
    if not good:
        raise OddarmError(
            f"{path} has {lines:,} lines and none is an event of {kind}, which begins like "
            f"{_EXAMPLES[kind]!r}: is it another file?"
        )
    ids = sorted({article for article, _ in events})
    clicks = [events[article, b"1"] for article in ids]
    return ClickCounts(
        name=path.name.removesuffix(".gz"),
        articles=tuple(article.decode("ascii", "backslashreplace") for article in ids),
        displays=tuple(events[a, b"0"] + n for a, n in zip(ids, clicks, strict=True)),
        clicks=tuple(clicks),
        good=good,
        damaged=lines - good,
    )


_EXAMPLES = {"R6A": "1241160900 109513 0 |user 2:0.000012", "R6B": "1317513291 id-560620 0 |user 1"}


def _heads(text: bytes, whole: LineCheck) -> tuple[list[bytes], int]:
    """Return "article click" of each good line of whole lines, and the number of lines."""
    characters = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(characters == NEWLINE)
    blank = _bits(characters <= SPACE)
    # A token begins where a character that is not blank follows one that is.
    after_blank = blank << _ONE
    after_blank[1:] |= blank[:-1] >> _LAST
    after_blank[0] |= _ONE
    tokens = _per_line(after_blank & ~blank, ends)
    good = whole(tokens, _per_line(_bits(characters == BAR), ends))
    starts = np.concatenate([[0], ends[:-1] + 1])[good]
    match = _HEAD.match
    return [head[1] for start in starts.tolist() if (head := match(text, start))], len(ends)


def _bits(marks: Bools) -> Words:
    """Return marks as words of 64 bits, the first mark in the lowest bit of the first word."""
    packed = np.packbits(marks, bitorder="little")
    words = np.zeros(len(packed) // 8 + 1, dtype="<u8")
    words.view(np.uint8)[: len(packed)] = packed
    return words


def _per_line(bits: Words, ends: NDArray[np.intp]) -> Counts:
    """Return how many bits are set in each line, given where the lines end."""
    before = np.zeros(len(bits) + 1, dtype=np.int64)
    np.cumsum(np.bitwise_count(bits), out=before[1:])
    word = ends >> 6
    earlier = bits[word] & ((_ONE << (ends & 63).astype(np.uint64)) - _ONE)
    counts: Counts = np.diff(before[word] + np.bitwise_count(earlier), prepend=0)
    return counts


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut blocks at the ends of lines. A line that is far too long becomes an empty one."""
    rest = b""
    too_long = False
    for read in blocks:
        block = read
        if too_long:
            start = block.find(b"\n")
            if start < 0:
                continue
            block, too_long = block[start:], False
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join((rest, memoryview(block)[:cut]))
            rest = block[cut:]
        else:
            rest += block
        if len(rest) > LONGEST_LINE:
            rest, too_long = b"", True
    if rest or too_long:
        yield rest + b"\n"


class _DamagedGzipError(Exception):
    """The compressed data cannot be read on, and why."""


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file's text in blocks of bounded size, decompressed if it is gzip."""
    with path.open("rb", buffering=0) as file:
        data = file.read(CHUNK)
        if data.startswith(MAGIC):
            yield from _decompressed(data, lambda: file.read(CHUNK))
            return
        if path.suffix == ".gz":
            raise OddarmError(
                f"{path} begins with {data[:8]!r} and not as a gzip file: "
                "if it is plain text, take .gz off its name; else get the file again."
            )
        while data:
            yield data
            data = file.read(BLOCK)


def _decompressed(data: bytes, read: Callable[[], bytes]) -> Iterator[bytes]:
    """Decompress one gzip member after another; no block is larger than BLOCK."""
    member = zlib.decompressobj(wbits=31)
    while True:
        try:
            text = member.decompress(data, BLOCK)
        except zlib.error as error:
            raise _DamagedGzipError(f"is a damaged gzip file ({error})") from None
        if text:
            yield text
        data = member.unconsumed_tail
        if member.eof:
            # Files may be concatenated, or padded with zeros.
            data = member.unused_data.lstrip(b"\0")
            while not data:
                data = read()
                if not data:
                    return
                data = data.lstrip(b"\0")
            member = zlib.decompressobj(wbits=31)
        elif not data and len(text) < BLOCK:
            data = read()
            if not data:
                raise _DamagedGzipError("is a gzip file that was cut off")
