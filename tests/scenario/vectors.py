"""vectors.py - the rows that ask for the mean of a vector: encode, read, estimate.  A second implementation, from
doc/protocols/ and the headers that it names.

A randomizer is the descriptor's, d the dimension, x a list of d numbers in [0, 1]."""
import math
import random
import struct
from fractions import Fraction

import params
from records import down

ROWS = ("words", "harmony", "vrr", "rotated")
RNG = random.SystemRandom()
# Of "rotated", as any plan may have them.
CUT, ROTATIONS = 2.0, 4


def randomizer(name, d, epsilon0, slots=1, size=1, dummies=0, n=100):
    """Thresholds a little on the side of noise; n: at least so many devices."""
    if name == "rotated":
        r = randomizer("words", padded(d), epsilon0, slots, size, dummies)
        r.protocol, r.scale = name, int(2**32 * math.sqrt(padded(d)) / (CUT * 2**halved_up(d)))
        r.slots[0].groups *= ROTATIONS
        return r
    if name == "vrr":
        e = math.exp(epsilon0 / size)
        return params.of(name, dimension=d, size=size, keep=down(e / (e + 1)))
    e, k = math.exp(epsilon0), 2**size
    groups = math.ceil(d / (slots * size))
    return params.of(name, slots=[params.slot(count=slots, groups=groups, bins=k, dummies=dummies,
                                              keep=down(e / (e + k - 1)))])


def slot_of(r):
    """The slots of a round are alike; a sign of "vrr" is one of two bins."""
    return r.slots[0] if r.slots else params.slot(count=1, groups=r.dimension, bins=2, keep=r.keep)


def keep(r):
    return slot_of(r).keep


def padded(d):
    """Of a rotated vector: a coordinate more than the vector has, up to a power of two."""
    return 1 << d.bit_length()


def halved_up(d):
    return padded(d).bit_length() // 2


def public_sign(rotation, which, j):
    """By SplitMix64."""
    z = ((2 * rotation + which << 32 | j) + 1) * 0x9e3779b97f4a7c15 % 2**64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
    return 1 - 2 * ((z ^ z >> 31) & 1)


def transform(v):
    """Walsh-Hadamard."""
    if len(v) == 1:
        return v
    a, b = transform(v[:len(v) // 2]), transform(v[len(v) // 2:])
    return [x + y for x, y in zip(a, b)] + [x - y for x, y in zip(a, b)]


def one_rotation(r, d):
    """Groups of one rotation, and how many rotations there are."""
    s = slot_of(r)
    each = math.ceil(padded(d) / (s.count * width(r)))
    return each, s.groups // each


def rotate(r, x, rotation):
    """Chances of +1 of the transformed coordinates."""
    d, most = padded(len(x)), 2**62 // r.scale
    v = [round(c * 2**31) - 2**30 for c in x]
    v += [math.isqrt(max(2**44 - sum((c >> 8)**2 for c in v), 0)) << 8]
    v += [0] * (d - len(v))
    v = transform([public_sign(rotation, 0, j) * c for j, c in enumerate(v)])
    v = [c >> (d.bit_length() - 1) // 2 for c in v]
    z = transform([public_sign(rotation, 1, j) * c for j, c in enumerate(v)])
    return [((min(max(c, -most), most) + most) * r.scale >> 32) / 2**31 for c in z]


def epsilon0(r):
    """Of all that a device sends."""
    s = slot_of(r)
    p = Fraction(s.keep, 2**64)
    return (r.size if r.protocol == "vrr" else s.count) * math.log(p * (s.bins - 1) / (1 - p))


def messages(r):
    return slot_of(r).count * (1 + slot_of(r).dummies)


def pack(slot, value):
    return struct.pack("<BBHIQ", 1, 0, slot, 0, value)


def width(r):
    return slot_of(r).bins.bit_length() - 1


def coordinates(r, d, slot, group):
    """Of the bits of a word; from d on they fill up."""
    return [(group * width(r) + b) * slot_of(r).count + slot for b in range(width(r))]


def subset(r, d, start):
    return [(start + t * d // r.size) % d for t in range(r.size)]


def sign(x):
    return int(RNG.random() < x)


def encode(r, d, x):
    """All messages of a device that holds x."""
    s = slot_of(r)
    if r.protocol == "vrr":
        start = RNG.randrange(d)
        bits = [sign(x[c]) ^ (RNG.getrandbits(64) >= s.keep) for c in subset(r, d, start)]
        return [pack(0, start << 16 | sum(b << t for t, b in enumerate(bits)))]
    out = []
    for slot in range(s.count):
        group = RNG.randrange(s.groups)
        held, there = x, coordinates(r, d, slot, group)
        if r.protocol == "rotated":
            each, _ = one_rotation(r, d)
            held, there = rotate(r, x, group // each), coordinates(r, d, slot, group % each)
        word = sum(sign(held[c] if c < len(held) else 0.5) << b for b, c in enumerate(there))
        if RNG.getrandbits(64) >= s.keep:
            word = RNG.choice([w for w in range(s.bins) if w != word])
        batch = [group * s.bins + word] + [RNG.randrange(s.groups * s.bins) for _ in range(s.dummies)]
        RNG.shuffle(batch)
        out += [pack(slot, v) for v in batch]
    return out


def read(r, d, record):
    """(coordinate, +1 or -1) of each sign, those that fill up left out; ValueError if it is none of the round's.
    Coordinates of the transformed vector where there is one, numbered through all rotations."""
    if len(record) != 16:
        raise ValueError("length")
    version, kind, slot, filler, value = struct.unpack("<BBHIQ", record)
    s = slot_of(r)
    if (version, kind, filler) != (1, 0, 0) or slot >= s.count:
        raise ValueError("head")
    if r.protocol == "vrr":
        start, bits = value >> 16, value & 0xffff
        if start >= d or bits >> r.size:
            raise ValueError("value")
        places = subset(r, d, start)
    else:
        group, bits = divmod(value, s.bins)
        if group >= s.groups:
            raise ValueError("value")
        places = coordinates(r, d, slot, group)
    if r.protocol == "rotated":
        each, _ = one_rotation(r, d)
        places = [c if c < padded(d) else None for c in coordinates(r, d, slot, group % each)]
        places = [None if c is None else group // each * padded(d) + c for c in places]
        d = padded(d) * one_rotation(r, d)[1]
    return [(c, 2 * (bits >> t & 1) - 1) for t, c in enumerate(places) if c is not None and c < d]


def malformed(r, d):
    """Records that nobody sends, of the round's length."""
    s = slot_of(r)
    most = d << 16 if r.protocol == "vrr" else s.groups * s.bins
    bad = [pack(0, most), pack(s.count, 0), pack(0, 2**63), b"\2" + pack(0, 0)[1:], pack(0, 0)[:4] + b"\1" + bytes(11)]
    return bad + ([pack(0, 1 << r.size)] if r.protocol == "vrr" else [])


def estimate(r, d, records, n):
    """Means of the x of n devices, and the standard deviation of each at the middle, where it is largest."""
    s = slot_of(r)
    p = s.keep / 2**64
    slope = p - (1 - p) / (s.bins - 1)
    groups = d / r.size if r.protocol == "vrr" else s.groups
    rotations = one_rotation(r, d)[1] if r.protocol == "rotated" else 1
    total = [0] * (padded(d) * rotations)
    for record in records:
        for c, y in read(r, d, record):
            total[c] += y
    error = math.sqrt(n * (1 + s.dummies) * groups) / (n * slope)
    if r.protocol == "rotated":
        # c sqrt(d2) / L, and what cutting a normal coordinate there leaves of a vector.
        d2 = padded(d)
        cut = 2**32 * math.sqrt(d2) / (r.scale * 2**halved_up(d))
        kept = 1 if cut**2 >= d2 else math.erf(cut / math.sqrt(2))
        beyond, density = math.erfc(cut / math.sqrt(2)) / 2, math.exp(-cut**2 / 2) / math.sqrt(2 * math.pi)
        rest = 0 if cut**2 >= d2 else max(kept - 2 * cut * density + 2 * cut**2 * beyond - kept**2, 0)
        mean = [0] * d2
        for k in range(rotations):
            v = [t * cut * groups / (n * slope * kept * math.sqrt(d2) * rotations) for t in total[k * d2:(k + 1) * d2]]
            for which in (1, 0):
                v = [public_sign(k, which, j) * c / math.sqrt(d2) for j, c in enumerate(transform(v))]
            mean = [a + b for a, b in zip(mean, v)]
        deviation = math.sqrt((cut**2 * error**2 + rest) / (d2 * rotations)) / kept
        return [(1 + h) / 2 for h in mean[:d]], deviation / 2
    return [(1 + groups * t / (n * slope)) / 2 for t in total[:d]], error / 2
