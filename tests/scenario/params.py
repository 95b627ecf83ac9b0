"""The rows' own parameters in a descriptor, by a second implementation (doc/wire.md, "Parameters").

Numbers, little endian, one after the other in the row's order; at the end, of rows with slots, one slot after the other.
"""

import struct

from wire import pb

MIXBINS = "bins:I dummies:I dummy_chance:Q keep_always:? keep:Q"
SLOT = "count:I groups:I bins:I dummies:I dummy_chance:Q keep_always:? keep:Q"
SLOTS = ("", SLOT)
UNARY = "bins:I keep:Q other:Q"
SINGLE = "bins:I size:I keep:Q"
ROWS = {
    "grr": "bins:I keep:Q", "duchi": "bins:I keep:Q", "hadamard": "bins:I keep:Q", "laplace-levels": "bins:I keep:Q",
    "bins": MIXBINS, "mixbins": MIXBINS, "levels": MIXBINS, "prefixes": MIXBINS,
    "rappor": UNARY, "oue": UNARY, "subset": SINGLE, "olh": SINGLE, "staircase": SINGLE, "piecewise": SINGLE,
    "privset": SINGLE, "planar": "width:I height:I decay:Q",
    "hashed": "bins:I dummies:I dummy_chance:Q size:I", "balcer-cheu": "bins:I dummies:I size:I",
    "cheu": "bins:I dummies:I keep:Q other:Q", "vrr": "dimension:I size:I keep:Q",
    "words": SLOTS, "harmony": SLOTS, "digits": SLOTS, "ranges": SLOTS, "marginals": SLOTS, "ss-simple": SLOTS,
    "ss-double": SLOTS, "gspa-classes": SLOTS, "gspa-pooled": SLOTS, "hierarchy": SLOTS, "parallel": SLOTS,
    "rotated": ("scale:Q", SLOT), "ss-topk": ("size:I", SLOT),
}



class Numbers:
    """Values by name; what a row does not have is 0."""

    def __init__(self, **values):
        vars(self).update(values)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return 0


def layout(protocol):
    """Names and format of what stands alone, and of a slot: no names if there are none."""
    alone, slot = ROWS[protocol] if isinstance(ROWS[protocol], tuple) else (ROWS[protocol], "")
    split = [[field.split(":") for field in text.split()] for text in (alone, slot)]
    return [([n for n, _ in fields], "<" + "".join(f for _, f in fields)) for fields in split]


def of(protocol, **values):
    """A row's parameters; slots: a list of slot()."""
    return Numbers(protocol=protocol, **values)


def slot(**values):
    return Numbers(**values)


def pack(p):
    """The bytes of its parameters."""
    alone, one = layout(p.protocol)
    out = struct.pack(alone[1], *(getattr(p, n) for n in alone[0]))
    return out + b"".join(struct.pack(one[1], *(getattr(s, n) for n in one[0])) for s in p.slots or ())


def message(p, **shuffler):
    """The Randomizer message, with what the shuffler does."""
    m = pb.Randomizer(protocol=p.protocol, parameters=pack(p))
    if shuffler:
        m.shuffler.CopyFrom(pb.ShufflerPart(**shuffler))
    return m


def read(m):
    """The parameters of a Randomizer message."""
    alone, one = layout(m.protocol)
    at = struct.calcsize(alone[1])
    p = of(m.protocol, **dict(zip(alone[0], struct.unpack(alone[1], m.parameters[:at]), strict=True)))
    if one[0]:
        p.slots = [slot(**dict(zip(one[0], values, strict=True))) for values in struct.iter_unpack(one[1], m.parameters[at:])]
    return p


def bend(m, change):
    """Other parameters in the message: what change makes of them."""
    p = read(m)
    change(p)
    m.parameters = pack(p)
