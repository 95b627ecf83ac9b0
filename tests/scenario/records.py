"""records.py - the rows of one wide message from doc/protocols/ alone: encode, tally, estimate.  A second implementation.

A randomizer is the descriptor's; d is its number of categories."""
import math
import random
import struct
from fractions import Fraction

import params

ROWS = ("rappor", "oue", "subset", "olh", "hadamard")
HEAD = bytes([1]) + bytes(7)
PRIME = 2**61 - 1
RNG = random.SystemRandom()


def randomizer(name, d, epsilon0, size=0):
    """Thresholds a little on the side of noise."""
    e = math.exp(epsilon0)
    if name == "rappor":
        keep = down(math.sqrt(e) / (math.sqrt(e) + 1))
        return params.of(name, bins=d, keep=keep, other=2**64 - keep)
    if name == "oue":
        return params.of(name, bins=d, keep=2**63, other=int(2**64 / (e + 1) * (1 + 1e-12)))
    if name == "subset":
        return params.of(name, bins=d, keep=down(size * e / (size * e + d - size)), size=size)
    if name == "olh":
        return params.of(name, bins=d, keep=down(e / (e + size - 1)), size=size)
    return params.of(name, bins=d, keep=down(e / (e + 1)))


def down(p):
    return int(p * (1 - 1e-12) * 2**64)


def record_length(r):
    if r.protocol in ("rappor", "oue", "subset"):
        return 8 + 8 * -(-r.bins // 64)
    return 32 if r.protocol == "olh" else 16


def chances(r):
    """P and Q: the chance that a holder, and anybody else, supports a category."""
    p = Fraction(r.keep, 2**64)
    if r.protocol in ("rappor", "oue"):
        return p, Fraction(r.other, 2**64)
    if r.protocol == "subset":
        return p, (r.size - p) / (r.bins - 1)
    return p, Fraction(1, r.size) if r.protocol == "olh" else Fraction(1, 2)


def order(d):
    return 1 << d.bit_length()


def sign(row, column):
    return -1 if bin(row & column).count("1") % 2 else 1


def cell(r, a, b, x):
    return (a * x + b) % PRIME * r.size >> 61


def bits(d, chosen):
    return HEAD + sum(1 << i for i in chosen).to_bytes(8 * -(-d // 64), "little")


def encode(r, x):
    """A report of category x."""
    keep = RNG.getrandbits(64) < r.keep
    if r.protocol in ("rappor", "oue"):
        return bits(r.bins, [i for i in range(r.bins)
                             if (keep if i == x else RNG.getrandbits(64) < r.other)])
    if r.protocol == "subset":
        others = [i for i in range(r.bins) if i != x]
        return bits(r.bins, RNG.sample(others, r.size - keep) + [x] * keep)
    if r.protocol == "olh":
        a, b = RNG.randrange(PRIME), RNG.randrange(PRIME)
        own = cell(r, a, b, x)
        y = own if keep else RNG.choice([c for c in range(r.size) if c != own])
        return HEAD + struct.pack("<QQQ", a, b, y)
    wanted = 1 if keep else -1
    return HEAD + struct.pack("<Q", RNG.choice([y for y in range(order(r.bins)) if sign(x + 1, y) == wanted]))


def supports(r, record):
    """The categories a record supports; ValueError if it is none of the round's."""
    if len(record) != record_length(r) or record[:8] != HEAD:
        raise ValueError("head")
    if r.protocol in ("rappor", "oue", "subset"):
        chosen = int.from_bytes(record[8:], "little")
        found = {i for i in range(r.bins) if chosen >> i & 1}
        if chosen >> r.bins or (r.protocol == "subset" and len(found) != r.size):
            raise ValueError("set")
        return found
    if r.protocol == "olh":
        a, b, y = struct.unpack("<QQQ", record[8:])
        if a >= PRIME or b >= PRIME or y >= r.size:
            raise ValueError("hash")
        return {x for x in range(r.bins) if cell(r, a, b, x) == y}
    column, = struct.unpack("<Q", record[8:])
    if column >= order(r.bins):
        raise ValueError("column")
    return {x for x in range(r.bins) if sign(x + 1, column) == 1}


def malformed(r):
    """Records that nobody sends, of the round's length."""
    good = encode(r, 0)
    out = [bytes([2]) + good[1:], good[:2] + b"\1" + good[3:], good[:7] + b"\1" + good[8:], good[:-1] + b"\xff"]
    if r.protocol == "subset":
        out += [bits(r.bins, range(r.size + 1)), bits(r.bins, range(r.size - 1)), bits(r.bins, [])]
    if r.protocol == "olh":
        out += [HEAD + struct.pack("<QQQ", *v) for v in ((PRIME, 0, 0), (0, PRIME, 0), (0, 0, r.size))]
    if r.protocol == "hadamard":
        out += [HEAD + struct.pack("<Q", order(r.bins))]
    return out


def counts(r, records):
    """What the analyzer's result calls counts: supports, or the columns of a Hadamard matrix."""
    if r.protocol == "hadamard":
        seen = [int.from_bytes(rec[8:], "little") for rec in records]
        return [seen.count(y) for y in range(order(r.bins))]
    sets = [supports(r, rec) for rec in records]
    return [sum(x in s for s in sets) for x in range(r.bins)]


def estimates(r, records):
    """(estimate, its variance at that estimate or at 0) of each category."""
    p, q = chances(r)
    n = len(records)
    sets = [supports(r, rec) for rec in records]
    out = []
    for x in range(r.bins):
        value = (sum(x in s for s in sets) - n * q) / (p - q)
        c = min(max(value, 0), n)
        out.append((float(value), float((c * p * (1 - p) + (n - c) * q * (1 - q)) / (p - q) ** 2)))
    return out
