"""Integers in as few bits as their frequencies allow: range asymmetric numeral systems, many streams at once.

With the frequency f of a symbol out of M = 2^14, the sum c of those before it, and a state x, a symbol makes

    x <- M floor(x / f) + x mod f + c

and is read back from x mod M, which lies between c and c + f.  Whenever a state would leave 32 bits, its
lowest 16 are written out.  Each symbol takes about log2(M / f) bits, whole or not.  Streams with states of
their own take turns, so that all of them advance by one symbol with a few operations on arrays.

Every integer belongs to a class, and every class has its own frequencies, which are stored as counts: both
sides compute with integers alone, so what one machine writes any other reads.

Reference: Duda (2013), Asymmetric numeral systems: entropy coding combining speed of Huffman coding with
compression rate of arithmetic coding; Giesen (2014), Interleaved entropy coders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, UInt16

from symbayes.specs import require

BITS = 14
TOTAL = 1 << BITS
"""What the frequencies of a class add up to."""

LOW = np.uint64(1 << 16)
WORD = np.uint64(16)

SYMBOLS_PER_STREAM = 4096
MOST_STREAMS = 1024


@dataclass(frozen=True)
class Coded:
    """Integers, coded.

    Attributes:
        words: what the streams wrote, after their last states.
        frequencies: of every class, those of its symbols, the smallest one first; class after class.
        alphabets: of every class, its smallest symbol and how many there are.
    """

    words: UInt16[np.ndarray, " word"]
    frequencies: UInt16[np.ndarray, " symbol"]
    alphabets: Int[np.ndarray, "group 2"]

    @property
    def bits(self) -> int:
        """All that is stored."""
        return 8 * (self.words.nbytes + self.frequencies.nbytes + self.alphabets.nbytes)


def encode(integers: Int[np.ndarray, " n"], classes: Int[np.ndarray, " n"]) -> Coded:
    """The integers, each with the frequencies of its class; classes are numbered from 0."""
    count = int(classes.max()) + 1 if len(classes) else 0
    alphabets = np.zeros((count, 2), np.int16)
    frequencies = []
    for number in range(count):
        own = integers[classes == number]
        if not len(own):
            continue
        least, size = int(own.min()), int(own.max() - own.min()) + 1
        require(
            size <= TOTAL // 2 and abs(least) < 2**15,
            "integers of one class are too far apart: use larger steps",
        )
        alphabets[number] = least, size
        frequencies.append(_frequencies(np.bincount(own - own.min())))
    flat = np.concatenate([*frequencies, np.zeros(0, np.uint16)]).astype(np.uint16)
    tables = _Tables(flat, alphabets)
    return Coded(_written(tables, tables.symbols(integers, classes), len(integers)), flat, alphabets)


def decode(coded: Coded, classes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The integers, of which each one's class is known."""
    tables = _Tables(coded.frequencies, coded.alphabets)
    streams, size = _streams(len(classes)), len(classes)
    low, high = coded.words[: 2 * streams].astype(np.uint64).reshape(2, streams)
    states, place = (high << WORD) | low, 2 * streams
    decoded = np.zeros(size, np.int64)
    for begin in range(0, size, streams):
        own = classes[begin : begin + streams]
        x = states[: len(own)]
        slots = (x & np.uint64(TOTAL - 1)).astype(np.int64)
        symbols = tables.lookup[own, slots]
        decoded[begin : begin + len(own)] = symbols - tables.starts[own] + tables.smallest[own]
        x = (
            tables.frequencies[symbols] * (x >> np.uint64(BITS))
            + slots.astype(np.uint64)
            - tables.sums[symbols]
        )
        short = x < LOW
        read = int(short.sum())
        require(place + read <= len(coded.words), "the code ends too early: the file is damaged")
        x[short] = (x[short] << WORD) | coded.words[place : place + read].astype(np.uint64)
        states[: len(own)], place = x, place + read
    require(
        place == len(coded.words) and bool(np.all(states == LOW)), "the code does not end where it should"
    )
    return decoded


def _written(tables: _Tables, symbols: np.ndarray, size: int) -> np.ndarray:
    streams = _streams(size)
    states = np.full(streams, LOW)
    written: list[np.ndarray] = []
    for begin in reversed(range(0, size, streams)):
        own = symbols[begin : begin + streams]
        x, f = states[: len(own)], tables.frequencies[own]
        full = x >= f << np.uint64(32 - BITS)
        written.append((x[full] & np.uint64(0xFFFF)).astype(np.uint16))
        x = np.where(full, x >> WORD, x)
        states[: len(own)] = ((x // f) << np.uint64(BITS)) + x % f + tables.sums[own]
    ends = [(states & np.uint64(0xFFFF)).astype(np.uint16), (states >> WORD).astype(np.uint16)]
    return np.concatenate([*ends, *reversed(written)])


class _Tables:
    """Frequencies of all symbols of all classes, one after another, and what lies before each."""

    def __init__(self, frequencies: np.ndarray, alphabets: np.ndarray) -> None:
        self.smallest, sizes = alphabets[:, 0].astype(np.int64), alphabets[:, 1].astype(np.int64)
        self.starts = np.cumsum(sizes) - sizes
        self.frequencies = frequencies.astype(np.uint64)
        self.sums = np.zeros(len(frequencies), np.uint64)
        self.lookup = np.zeros((len(alphabets), TOTAL), np.int64)
        require(int(sizes.sum()) == len(frequencies), "the code's frequencies do not fit its classes")
        for number, (start, size) in enumerate(zip(self.starts, sizes, strict=True)):
            own = frequencies[start : start + size].astype(np.int64)
            if size:
                require(int(own.sum()) == TOTAL, "the code's frequencies do not add up: the file is damaged")
                self.sums[start : start + size] = (np.cumsum(own) - own).astype(np.uint64)
                self.lookup[number] = np.repeat(np.arange(start, start + size), own)

    def symbols(self, integers: np.ndarray, classes: np.ndarray) -> np.ndarray:
        return integers - self.smallest[classes] + self.starts[classes]


def _frequencies(counts: np.ndarray) -> np.ndarray:
    """Counts scaled to add up to `TOTAL`; what occurs has one at least."""
    scaled = np.where(counts > 0, np.maximum(1, counts * (TOTAL - len(counts)) // counts.sum()), 0)
    scaled[np.argmax(scaled)] += TOTAL - scaled.sum()
    return scaled.astype(np.uint16)


def _streams(size: int) -> int:
    return int(np.clip(size // SYMBOLS_PER_STREAM, 1, MOST_STREAMS))
