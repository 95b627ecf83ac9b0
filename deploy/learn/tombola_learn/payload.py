"""The bytes of a payload: named arrays of numbers, as every device of a round reads them (doc/learning.md)."""
import re
import struct

import numpy

__all__ = ["BadPayload", "pack", "unpack"]

MAGIC = b"TOMBPAY1"
ARRAYS_MAX, DIMS_MAX = 64, 4
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)
TYPES = {1: numpy.dtype("<f4"), 2: numpy.dtype("<i4")}


class BadPayload(ValueError):
    """Arrays or bytes that are no payload; the message has one line."""


def _typed(name, array):
    """The array's code and its bytes' array: integers int32, all else float32."""
    array = numpy.asarray(array)
    code = 2 if array.dtype.kind in "iu" else 1
    if array.dtype.kind not in "iuf":
        raise BadPayload(f"{name}: neither floats nor integers")
    if code == 2 and array.size and (array.min() < -2**31 or array.max() >= 2**31):
        raise BadPayload(f"{name}: an integer does not fit 32 bits")
    with numpy.errstate(over="ignore"):
        typed = array.astype(TYPES[code])
    if code == 1 and not numpy.isfinite(typed).all():
        raise BadPayload(f"{name}: not a finite number")
    if typed.ndim > DIMS_MAX:
        raise BadPayload(f"{name}: more than {DIMS_MAX} dimensions")
    return code, typed


def pack(arrays):
    """Bytes of `arrays`, a dict of arrays by name, in its order.  Floats become float32, integers int32.

    BadPayload: no arrays or too many, a bad name, NaN, infinity or beyond 32 bits, too many dimensions."""
    if not 1 <= len(arrays) <= ARRAYS_MAX:
        raise BadPayload(f"{len(arrays)} arrays; a payload has 1 to {ARRAYS_MAX}")
    head, values = [MAGIC, struct.pack("<I", len(arrays))], []
    for name, array in arrays.items():
        if not NAME.fullmatch(name):
            raise BadPayload(f"'{name}' is no name of an array: a-z, 0-9 and _, 32 at most, a letter first")
        code, typed = _typed(name, array)
        head.append(bytes([len(name)]) + name.encode() + bytes([code, typed.ndim]))
        head.append(struct.pack(f"<{typed.ndim}I", *typed.shape))
        values.append(typed.tobytes())
    head = b"".join(head)
    return head + bytes(-len(head) % 4) + b"".join(values)


class _Bytes:
    """Reads from the front; too little is BadPayload."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if len(self.data) - self.at < n:
            raise BadPayload("it ends too early")
        self.at += n
        return self.data[self.at - n:self.at]


def unpack(data):
    """The dict of arrays that `data` is made of.  BadPayload if it is not exactly that."""
    b = _Bytes(data)
    if b.take(8) != MAGIC:
        raise BadPayload("it does not begin with TOMBPAY1")
    count, = struct.unpack("<I", b.take(4))
    if not 1 <= count <= ARRAYS_MAX:
        raise BadPayload(f"{count} arrays; a payload has 1 to {ARRAYS_MAX}")
    shapes = {}
    for _ in range(count):
        name = b.take(b.take(1)[0]).decode("latin-1")
        code, dims = b.take(2)
        if not NAME.fullmatch(name) or name in shapes or code not in TYPES or dims > DIMS_MAX:
            raise BadPayload(f"array '{name}': its name, type or number of dimensions")
        shapes[name] = TYPES[code], struct.unpack(f"<{dims}I", b.take(4 * dims))
    if any(b.take(-b.at % 4)):
        raise BadPayload("what fills up the head is not 0")
    arrays = {}
    for name, (dtype, shape) in shapes.items():
        size = 1
        for s in shape:
            size *= s
        arrays[name] = numpy.frombuffer(b.take(4 * size), dtype).reshape(shape)
        if dtype.kind == "f" and not numpy.isfinite(arrays[name]).all():
            raise BadPayload(f"{name}: not a finite number")
    if b.at != len(data):
        raise BadPayload(f"{len(data) - b.at} bytes after its end")
    return arrays
