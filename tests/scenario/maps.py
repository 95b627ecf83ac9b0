"""maps.py - a second implementation of payloads and of what devices compute, from py_payload.h and co_compute.h.

It uses nothing but the standard library and shares nothing with common/payload and common/compute.
"""
import math
import struct

ALL, MEAN = 0, 1
FLOAT_MAX = 3.4028234663852886e38


def pack(arrays):
    """The bytes of a payload.  arrays: name -> nested lists of floats (float32) or of ints (int32)."""
    head, body = b"TOMBPAY1" + struct.pack("<I", len(arrays)), b""
    for name, array in arrays.items():
        dims, flat = shape(array), flatten(array)
        kind = 2 if all(isinstance(x, int) for x in flat) else 1
        head += bytes([len(name)]) + name.encode() + bytes([kind, len(dims)]) + struct.pack(f"<{len(dims)}I", *dims)
        body += struct.pack(f"<{len(flat)}{'i' if kind == 2 else 'f'}", *flat)
    return head + bytes(-len(head) % 4) + body


def unpack(data):
    """name -> (dimensions, numbers).  The inverse of pack, for what is known to be well-formed."""
    assert data[:8] == b"TOMBPAY1"
    (count,) = struct.unpack_from("<I", data, 8)
    at, heads, arrays = 12, [], {}
    for _ in range(count):
        name = data[at + 1:at + 1 + data[at]].decode()
        at += 1 + data[at]
        kind, dims = data[at], data[at + 1]
        heads.append((name, kind, struct.unpack_from(f"<{dims}I", data, at + 2)))
        at += 2 + 4 * dims
    at += -at % 4
    for name, kind, dims in heads:
        n = math.prod(dims)
        arrays[name] = dims, list(struct.unpack_from(f"<{n}{'i' if kind == 2 else 'f'}", data, at))
        at += 4 * n
    assert at == len(data)
    return arrays


def shape(array):
    return [len(array)] + shape(array[0]) if isinstance(array, list) else []


def flatten(array):
    return [x for part in array for x in flatten(part)] if isinstance(array, list) else [array]


def parameters(m, *, array=True, label=False, part=ALL, clip=0.0, seconds=0.0, classes=()):
    """The bytes of a map's parameters; classes: their names, or how many."""
    named = not isinstance(classes, int)
    k = len(classes) if named else classes
    out = struct.pack("<BBBBIddHB", 1, array, label, part, m, clip, seconds, k, named and k > 0)
    for name in classes if named else ():
        out += bytes([len(name.encode())]) + name.encode()
    return out


def float32(x):
    """A feature, as a device holds it."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def matrix(payload, name):
    (rows, columns), flat = payload[name]
    return [flat[i * columns:(i + 1) * columns] for i in range(rows)]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def softmax(z):
    top = max(z)
    e = [math.exp(v - top) for v in z]
    return [v / math.fsum(e) for v in e]


def outer(a, b):
    return [x * y for x in a for y in b]


def unit(k, n):
    return [float(i == k) for i in range(n)]


def cut(v, most):
    """v times min(1, most / length)."""
    top = max(map(abs, v), default=0)
    if top == 0:
        return v
    length = top * math.sqrt(math.fsum((x / top) ** 2 for x in v))
    return v if length <= most else [x / length * most for x in v]


def errors(weights, x, y):
    p = softmax([dot(row, x + [1.0]) for row in weights])
    return [a - b for a, b in zip(p, unit(y, len(p)))]


def scaled(payload, x):
    mean = payload["mean"][1] if "mean" in payload else [0.0] * len(x)
    scale = payload["scale"][1] if "scale" in payload else [1.0] * len(x)
    return [(a - b) * c for a, b, c in zip(x, mean, scale)]


def linear_gradient(payload, x, y, clip, **_):
    z = scaled(payload, x)
    return cut(outer(errors(matrix(payload, "weights"), z, y), z + [1.0]), clip)


def network_gradient(payload, x, y, clip, **_):
    hidden, weights, z = matrix(payload, "hidden"), matrix(payload, "weights"), scaled(payload, x)
    h = [max(dot(row, z + [1.0]), 0.0) for row in hidden]
    e = errors(weights, h, y)
    g = [dot([row[j] for row in weights], e) if h[j] > 0 else 0.0 for j in range(len(h))]
    return cut(outer(g, z + [1.0]) + outer(e, h + [1.0]), clip)


def moments(payload, x, y, clip, classes=0, part=ALL, **_):
    z = scaled(payload, x)
    if part == MEAN:
        return cut(z, clip)
    f = z + [1.0]
    triangle = [f[i] * f[k] * (1 if i == k else math.sqrt(2)) for i in range(len(f)) for k in range(i, len(f))]
    if not classes:
        return cut(triangle, clip)
    return cut(triangle, clip / math.sqrt(2)) + cut(outer(unit(y, classes), f), clip / math.sqrt(2))


def nearest_centroid(payload, x, clip, **_):
    centroids = matrix(payload, "centroids")
    away = [[a - b for a, b in zip(x, c)] for c in centroids]
    k = min(range(len(away)), key=lambda i: (math.fsum(v * v for v in away[i]), i))
    return cut(outer(unit(k, len(away)), away[k] + [1.0]), clip)


def bins(payload, x):
    return [sum(edge <= value for edge in row) for row, value in zip(matrix(payload, "edges"), x)]


def statistics(payload, x, y, **_):
    return bins(payload, x) + ([] if y is None else [y])


def tree_path(payload, x, y, **_):
    feature, threshold, left, right = (payload[name][1] for name in ("feature", "threshold", "left", "right"))
    node = 0
    while node >= 0:
        node = left[node] if x[feature[node]] <= threshold[node] else right[node]
    return [-1 - node] + statistics(payload, x, y)


MAPS = {"linear-gradient": linear_gradient, "network-gradient": network_gradient, "moments": moments,
        "nearest-centroid": nearest_centroid, "statistics": statistics, "tree-path": tree_path}
COLUMNS = ("statistics", "tree-path")


def valid(x, y, m, classes):
    """Is it a reading?  classes: how many; 0: there is no label, and y is None."""
    return (len(x) == m and all(abs(v) <= FLOAT_MAX for v in x)
            and (y is None if not classes else y is not None and 0 <= y < classes))


def value(name, payload, x, y=None, **shape_of):
    """What a device with that valid reading holds.  payload: bytes, or b"" for none."""
    return MAPS[name](unpack(payload) if payload else {}, list(map(float32, x)), y=y, **shape_of)


def coordinates(v, bound):
    """As the rows read a vector of range [-bound, bound]: 0..2^31, rounded towards the middle."""
    return [2 ** 30 + math.trunc(max(-1.0, min(1.0, x / bound)) * 2 ** 30) for x in v]
