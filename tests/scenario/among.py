"""among.py - the rows of one wide message among wide dummies from doc/protocols/ alone.  A second implementation.

A randomizer is the descriptor's; d is its number of categories.  A client's messages are a list of records."""
import math
import struct
from fractions import Fraction

import params
from records import HEAD, PRIME, RNG, bits, cell, down

ROWS = ("hashed", "cheu", "balcer-cheu")


def randomizer(name, d, epsilon0, dummies, size=0):
    """Thresholds a little on the side of noise."""
    if name != "cheu":
        return params.of(name, bins=d, keep_always=True, dummies=dummies, size=size)
    h = math.exp(epsilon0 / 2)
    keep = down(h / (h + 1))
    return params.of(name, bins=d, keep=keep, other=2**64 - keep, dummies=dummies)


def messages(r):
    return 1 + r.dummies * (r.bins if r.protocol == "balcer-cheu" else 1)


def record_length(r):
    if r.protocol == "balcer-cheu":
        return 16
    return 32 if r.protocol == "hashed" else 8 + 8 * -(-r.bins // 64)


def message(r, x):
    """Of category x, or of nobody for None."""
    if r.protocol == "hashed":
        a, b = RNG.randrange(PRIME), RNG.randrange(PRIME)
        return HEAD + struct.pack("<QQQ", a, b, RNG.randrange(r.size) if x is None else cell(r, a, b, x))
    return bits(r.bins, [i for i in range(r.bins) if (RNG.getrandbits(64) < r.other) != (i == x)])


def coin(r, x):
    """Says x, or nothing."""
    return symbol(r.bins if RNG.randrange(r.size) else x)


def symbol(x):
    return HEAD + struct.pack("<Q", x)


def client(r, x):
    if r.protocol == "balcer-cheu":
        out = [symbol(x)] + [coin(r, y) for y in range(r.bins) for _ in range(r.dummies)]
    else:
        out = [message(r, x)] + [message(r, None) for _ in range(r.dummies)]
    RNG.shuffle(out)
    return out


def supports(r, record):
    """The categories a record supports; ValueError if it is none of the round's."""
    if len(record) != record_length(r) or record[:8] != HEAD:
        raise ValueError("head")
    if r.protocol == "hashed":
        a, b, y = struct.unpack("<QQQ", record[8:])
        if a >= PRIME or b >= PRIME or y >= r.size:
            raise ValueError("hash")
        return {x for x in range(r.bins) if cell(r, a, b, x) == y}
    chosen = int.from_bytes(record[8:], "little")
    if r.protocol == "balcer-cheu":
        if chosen > r.bins:
            raise ValueError("bin")
        return {chosen} - {r.bins}
    if chosen >> r.bins:
        raise ValueError("set")
    return {i for i in range(r.bins) if chosen >> i & 1}


def malformed(r):
    """Records that nobody sends, of the round's length."""
    good = client(r, 0)[0]
    out = [bytes([2]) + good[1:], good[:2] + b"\1" + good[3:], good[:7] + b"\1" + good[8:], good[:-1] + b"\xff"]
    if r.protocol == "hashed":
        out += [HEAD + struct.pack("<QQQ", *v) for v in ((PRIME, 0, 0), (0, PRIME, 0), (0, 0, r.size))]
    if r.protocol == "balcer-cheu":
        out += [symbol(r.bins + 1)]
    return out


def counts(r, records):
    sets = [supports(r, rec) for rec in records]
    return [sum(x in s for s in sets) for x in range(r.bins)]


def estimates(r, n, records):
    """(estimate, its variance at that estimate or at the nearest possible count) of each category; n clients."""
    p, q = (1, Fraction(0)) if r.protocol != "cheu" else (Fraction(r.keep, 2**64), Fraction(r.other, 2**64))
    if r.protocol == "hashed":
        q = Fraction(1, r.size)
    noise, shown = n * r.dummies, q if r.protocol == "cheu" else Fraction(1, r.size)
    out = []
    for m in counts(r, records):
        value = (m - n * q - noise * shown) / (p - q)
        c = min(max(value, 0), n)
        variance = (c * p * (1 - p) + (n - c) * q * (1 - q) + noise * shown * (1 - shown)) / (p - q) ** 2
        out.append((float(value), float(variance)))
    return out
