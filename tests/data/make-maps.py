#!/usr/bin/env python3
"""Writes maps.txt: what devices compute, by the second implementation (tests/scenario/maps.py)."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import maps  # noqa: E402

SEED = 16


def floats(rng, *dims, scale=1.0):
    if not dims:
        return float(rng.gauss(0, scale))
    return [floats(rng, *dims[1:], scale=scale) for _ in range(dims[0])]


def rising(rng, rows, n):
    return [sorted(rng.sample([k / 8 for k in range(-40, 41)], n)) for _ in range(rows)]


def tree(rng, nodes, m, leaves):
    """A tree of that many nodes, each but the first the child of an earlier one."""
    children, free = [[-1 - rng.randrange(leaves), -1 - rng.randrange(leaves)] for _ in range(nodes)], [(0, 0), (0, 1)]
    for node in range(1, nodes):
        parent, side = free.pop(rng.randrange(len(free)))
        children[parent][side] = node
        free += [(node, 0), (node, 1)]
    return {"feature": [rng.randrange(m) for _ in range(nodes)], "threshold": floats(rng, nodes, scale=2),
            "left": [c[0] for c in children], "right": [c[1] for c in children]}


def vector_cases(rng):
    """name, m, K, query's dimension, keywords, arrays of the payload."""
    for m, k, clip, bound, scale in ((3, 2, 1.0, 1.0, 1), (5, 10, 0.5, 4.0, 1), (7, 3, 100.0, 100.0, 3), (4, 3, 1e-9, 1.0, 1),
                                     (2, 4, 3.0, 3.0, 1e3)):
        triangle = (m + 1) * (m + 2) // 2
        mean, spread = floats(rng, m, scale=scale), [abs(v) for v in floats(rng, m)]
        for arrays in ({}, {"mean": mean}, {"scale": spread}, {"scale": spread, "mean": mean}):
            weights, hidden = floats(rng, k, m + 1, scale=scale), floats(rng, 6, m + 1, scale=scale)
            yield "linear-gradient", m, k, k * (m + 1), clip, bound, maps.ALL, arrays | {"weights": weights}
            yield ("network-gradient", m, k, 6 * (m + 1) + k * 7, clip, bound, maps.ALL,
                   {"hidden": hidden, "weights": floats(rng, k, 7, scale=scale)} | arrays)
            yield "moments", m, k, triangle + k * (m + 1), clip, bound, maps.ALL, arrays
            yield "moments", m, 0, triangle, clip, bound, maps.ALL, arrays
            if m > 1:
                yield "moments", m, 0, m, clip, bound, maps.MEAN, arrays
        yield "nearest-centroid", m, 0, k * (m + 1), clip, bound, maps.ALL, {"centroids": floats(rng, k, m, scale=scale)}
    ones = [[1.0, 2.0], [1.0, 2.0], [3.0, 2.0]]
    yield "nearest-centroid", 2, 0, 9, 1.0, 2.0, maps.ALL, {"centroids": ones}
    yield "linear-gradient", 2, 2, 6, 1.0, 1.0, maps.ALL, {"weights": [[3e38, -3e38, 0.0], [0.0, 1e-45, 3e38]]}


def column_cases(rng):
    for m, b, leaves, k, nodes in ((1, 2, 2, 2, 1), (3, 4, 5, 3, 4), (9, 16, 8, 7, 7), (30, 3, 20, 0, 15)):
        edges = {"edges": rising(rng, m, b - 1)}
        yield "statistics", m, k, [b] * m, edges
        yield "tree-path", m, k, [leaves] + [b] * m, tree(rng, nodes, m, leaves) | edges


def write(out, **lines):
    for key, text in lines.items():
        out.write(f"{key} {text}\n")
    out.write("\n")


def readings(rng, m, k):
    for i in range(3):
        x = floats(rng, m, scale=2) if i else [float(round(v)) for v in floats(rng, m, scale=2)]
        yield list(map(maps.float32, x)), rng.randrange(k) if k else None
    yield [0.0] * m, k - 1 if k else None
    yield [maps.float32(rng.choice((1e-45, -3.4e38, 1e38, -1e-39, 0.0))) for _ in range(m)], 0 if k else None


def main(out):
    rng = random.Random(SEED)
    for name, m, k, d, clip, bound, part, arrays in vector_cases(rng):
        data = maps.pack(arrays) if arrays else b""
        bytes_of = maps.parameters(m, label=k > 0, part=part, clip=clip, classes=k)
        for x, y in readings(rng, m, k):
            v = maps.value(name, data, x, y, clip=clip, classes=k, part=part)
            assert len(v) == d
            write(out, map=name, parameters=bytes_of.hex(), vector=f"{d} {bound.hex()}", payload=data.hex() or "-",
                  label=y or 0, x=" ".join(a.hex() for a in x), value=" ".join(map(str, maps.coordinates(v, bound))))
    for name, m, k, columns, arrays in column_cases(rng):
        data = maps.pack(arrays)
        bytes_of = maps.parameters(m, label=k > 0)
        for x, y in readings(rng, m, k):
            v = maps.value(name, data, x, y)
            write(out, map=name, parameters=bytes_of.hex(), columns=" ".join(map(str, columns + ([k] if k else []))),
                  payload=data.hex(), label=y or 0, x=" ".join(a.hex() for a in x), value=" ".join(map(str, v)))


if __name__ == "__main__":
    main(sys.stdout)
