"""levels.py - the rows that send one symbol of a bounded number from doc/protocols/ alone: encode, read, estimate.  A
second implementation.

A randomizer is the descriptor's; b is the highest level, x a number in [0, 1]."""
import math
import random
import struct
from fractions import Fraction

import params
from records import HEAD, down

ROWS = ("duchi", "laplace-levels", "staircase", "piecewise")
RNG = random.SystemRandom()
FAR = 40  # multiples of b beyond which noise is not looked at: its chance is far below rounding


def randomizer(name, b, epsilon0, size=0):
    """Thresholds a little on the side of noise."""
    e = math.exp(epsilon0)
    if name == "duchi":
        return params.of(name, bins=2, keep=down(e / (e + 1)))
    if name == "laplace-levels":
        return params.of(name, bins=b + 1, keep=down(1 - math.exp(-epsilon0 / b)))
    if name == "staircase":
        return params.of(name, bins=b + 1, keep=down(1 - 1 / e), size=size)
    return params.of(name, bins=b + 1, keep=down(size * e / (size * e + b)), size=size)


def symbols(r):
    b = r.bins - 1
    return {"duchi": 2, "laplace-levels": b + 1, "staircase": 3 * b + 1, "piecewise": b + r.size}[r.protocol]


def noise(r):
    """Weights of all noises that matter."""
    b, drop = r.bins - 1, 1 - r.keep / 2**64
    if r.protocol == "laplace-levels":
        return {z: drop ** abs(z) for z in range(-FAR * b, FAR * b + 1)}
    return {z: drop ** (abs(z) // b + (abs(z) % b >= r.size)) for z in range(-FAR * b, FAR * b + 1)}


def symbol(r, y):
    """Of level and noise: clamped, or folded to -b..2b."""
    b = r.bins - 1
    if r.protocol == "laplace-levels":
        return min(max(y, 0), b)
    while y < -b:
        y += b
    while y > 2 * b:
        y -= b
    return y + b


def encode(r, x, cache={}):
    """A report of the number x."""
    b = r.bins - 1
    level = math.floor(x * b) + (RNG.random() < x * b % 1)
    keep = RNG.getrandbits(64) < r.keep
    if r.protocol == "duchi":
        y = level if keep else 1 - level
    elif r.protocol == "piecewise":
        window = range(level, level + r.size)
        y = RNG.choice([s for s in range(symbols(r)) if (s in window) == keep])
    else:
        weights = cache.setdefault((r.protocol, params.pack(r)), noise(r))
        y = symbol(r, level + RNG.choices(list(weights), list(weights.values()))[0])
    return HEAD + struct.pack("<Q", y)


def read(r, record):
    """The symbol; ValueError if it is none of the round's."""
    y, = struct.unpack("<Q", record[8:])
    if len(record) != 16 or record[:8] != HEAD or y >= symbols(r):
        raise ValueError("record")
    return y


def malformed(r):
    """Records that nobody sends, of the round's length."""
    good = encode(r, 0.5)
    return [bytes([2]) + good[1:], good[:1] + b"\1" + good[2:], good[:7] + b"\1" + good[8:], good[:-1] + b"\xff",
            HEAD + struct.pack("<Q", symbols(r))]


def solve(rows, wanted):
    """Gauss, exactly."""
    m = [row[:] + [w] for row, w in zip(rows, wanted, strict=True)]
    for i in range(len(m)):
        m[i] = [v / m[i][i] for v in m[i]]
        for j in range(len(m)):
            if j != i:
                m[j] = [v - m[j][i] * u for v, u in zip(m[j], m[i], strict=True)]
    return [row[-1] for row in m]


def scores(r):
    """A score for every symbol whose mean is the level at every level."""
    b, keep = r.bins - 1, Fraction(r.keep, 2**64)
    drop = 1 - keep
    if r.protocol == "duchi":
        return solve([[keep, drop], [drop, keep]], [0, 1])
    if r.protocol == "laplace-levels":
        law = [[drop ** abs(x - y) * (1 if y in (0, b) else keep) / (1 + drop) for y in range(b + 1)]
               for x in range(b + 1)]
        return solve(law, range(b + 1))
    if r.protocol == "piecewise":
        def mean(x):
            return sum(y * (keep / r.size if x <= y < x + r.size else drop / b) for y in range(symbols(r)))
        return [(y - mean(0)) * b / (mean(b) - mean(0)) for y in range(symbols(r))]
    # What is known of level and noise, given the symbol; the same from every level.
    total, mass = [0.0] * symbols(r), [0.0] * symbols(r)
    for z, weight in noise(r).items():
        mass[symbol(r, z)] += weight
        total[symbol(r, z)] += weight * z
    return [t / m for t, m in zip(total, mass, strict=True)]


def estimate(r, record_list):
    """The mean of the x, and the standard error of it as a mean of independent scores."""
    b, all_scores = r.bins - 1, scores(r)
    got = [float(all_scores[read(r, rec)]) / b for rec in record_list]
    mean = math.fsum(got) / len(got)
    return mean, math.sqrt(math.fsum((g - mean) ** 2 for g in got)) / len(got)
