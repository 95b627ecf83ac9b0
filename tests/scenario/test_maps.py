"""What devices compute, through the real daemons: readings from NumPy arrays, each map, and estimates as the second
implementation (maps.py) has them of the same readings and payloads."""
import json
import math
import random
import struct

import pytest

import maps
from chance import near, within

N, M, CLASSES = 4000, 3, ["0", "1"]
BOUND = 1.0
NONE = {7: "nan", 8: "label"}  # devices without a valid reading: a feature that is not finite, a label that is no class
EDGES = [[-0.5, 0.5], [0.0, 1.0], [-1.0, 0.25]]
FLIPPED = 12  # of N at epsilon0 16 and 768 combinations 0.35 are expected: more are, once in 10^15


def npy(numbers, width=None, kind="<f4"):
    shape = f"({len(numbers)},)" if width is None else f"({len(numbers)}, {width})"
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    flat = numbers if width is None else [x for row in numbers for x in row]
    code = {"<f4": "f", "<f8": "d", "<i8": "q"}[kind]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(flat)}{code}", *flat)


def readings():
    """x and y of each device; None for one that is NONE."""
    rng = random.Random(5)
    made = []
    for i in range(N):
        y = int(i % 6 == 0)
        made.append((list(map(maps.float32, (rng.gauss(0.8 - 1.6 * y, 0.3), rng.gauss(0.5, 0.4), rng.gauss(0.2, 0.5)))), y))
    return made


def write_arrays(cluster, made):
    x = [[math.nan, *row[1:]] if NONE.get(i) == "nan" else row for i, (row, _) in enumerate(made)]
    y = [len(CLASSES) if NONE.get(i) == "label" else label for i, (_, label) in enumerate(made)]
    for name, data in (("x.npy", npy(x, M)), ("y.npy", npy(y, kind="<i8"))):
        with open(cluster.path(name), "wb") as f:
            f.write(data)
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(N)))
    with open(cluster.path("client.conf")) as f:
        conf = f.read()
    assert 'path = "readings.csv";' in conf
    cluster.write("client.conf", conf.replace(
        'path = "readings.csv";', 'path = "x.npy"; labels = "y.npy"; devices = "devices.txt";'))


def vector(name, map_, dimension, label=True, payload=True, **keys):
    compute = {"map": map_, "features": "x", "feature_count": M, **({"label": "y", "classes": CLASSES} if label else {}), **keys}
    return {"query": name, "type": "vector", "protocol": "words", "dimension": dimension, "range": [-BOUND, BOUND],
            "epsilon0": 5.0, "slots": 3, "size": 1, "min_reports": N, "target": N, "window": "1h", "compute": compute,
            **({"payload": "later"} if payload else {})}


def tree_round():
    columns = [{"field": "leaf", "values": ["l0", "l1", "l2"]}, *({"field": f"b{i}", "values": ["low", "mid", "high"]}
                                                                 for i in range(M)), {"field": "class", "values": CLASSES}]
    return {"query": "tree", "type": "marginals", "protocol": "marginals", "epsilon0": 16.0, "min_reports": N, "target": N,
            "columns": columns, "marginals": [[c["field"] for c in columns]], "window": "1h", "payload": "later",
            "compute": {"map": "tree-path", "features": "x", "feature_count": M, "label": "y"}}


ROUNDS = {
    "gradient": (vector("gradient", "linear-gradient", 8, clip=0.9), "linear-gradient",
                 {"weights": [[-2.0, -1.0, 0.0, -1.0], [1.0, 1.0, 0.5, 1.0]], "mean": [0.0, 0.25, 0.0]}, {"clip": 0.9}),
    "network": (vector("network", "network-gradient", 14), "network-gradient",
                {"hidden": [[1.0, -0.5, 0.25, 0.5], [1.0, 0.5, 0.5, 0.5]], "weights": [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]},
                {"clip": BOUND}),
    "moments": (vector("moments", "moments", 10 + 8), "moments", {"mean": [0.0, 0.5, 0.0], "scale": [1.0, 2.0, 0.5]},
                {"clip": BOUND, "classes": 2}),
    "mean": (vector("mean", "moments", M, label=False, payload=False, part="mean"), "moments", None,
             {"clip": BOUND, "part": maps.MEAN}),
    "nearest": (vector("nearest", "nearest-centroid", 8, label=False), "nearest-centroid",
                {"centroids": [[0.3, 0.0, 0.0], [-1.5, 0.5, 0.0]]}, {"clip": BOUND}),
}
TREE = {"feature": [0, 2], "threshold": [0.0, 0.25], "left": [1, -1], "right": [-2, -3], "edges": EDGES}


def values(made, name):
    """The mean that the estimates are of: a device without a valid reading counts as the middle of the range."""
    plan, map_, arrays, keys = ROUNDS[name]
    data = maps.pack(arrays) if arrays else b""
    labelled = "label" in plan["compute"]
    total = [0.0] * plan["dimension"]
    for i, (x, y) in enumerate(made):
        if NONE.get(i) == "nan" or (labelled and i in NONE):
            continue
        v = maps.value(map_, data, x, y if labelled else None, **keys)
        total = [a + b for a, b in zip(total, v)]
    return [t / N for t in total]


def run(cluster, number, arrays=None):
    args = ()
    if arrays:
        with open(cluster.path("payload"), "wb") as f:
            f.write(maps.pack(arrays))
        args = ("--payload", cluster.path("payload"))
    done = cluster.run("analyzer", "round", "run", str(number), *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return cluster.json("analyzer", "round", "show", str(number))["result"]


@pytest.mark.quiet
def test_every_map_is_computed_on_the_device_and_estimated(cluster):
    cluster.configure(min_batch=N, epsilon=100.0, max_epsilon0="inf", devices=N)
    made = readings()
    write_arrays(cluster, made)
    cluster.plan([r[0] for r in ROUNDS.values()] + [tree_round()], epsilon=100.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    for number, (name, (plan, _, arrays, _)) in enumerate(ROUNDS.items(), 1):
        result = run(cluster, number, arrays)
        assert result["participants"] == N and result["bad"] == 0
        truth = values(made, name)
        assert len(result["items"]) == len(truth) == plan["dimension"]
        for item, mean in zip(result["items"], truth):
            # Each of three slots has one sign of at most six coordinates.
            assert within(item, mean, messages=N / 8), (name, item, mean)
        # An estimate of nothing, or of other devices' values, would be told from this one.
        along = sum(item["value"] * mean for item, mean in zip(result["items"], truth))
        variance = sum(item["variance"] * mean ** 2 for item, mean in zip(result["items"], truth))
        assert near(along, sum(mean ** 2 for mean in truth), variance, messages=N / 8), name
        assert not near(along, 0.0, variance, messages=N / 8), name
    counts = run(cluster, len(ROUNDS) + 1, TREE)["counts"]
    want = [0] * (4 ** (M + 1) * 3)
    assert len(counts) == len(want)
    for i, (x, y) in enumerate(made):
        cells = [3] * (M + 1) + [2] if i in NONE else maps.value("tree-path", maps.pack(TREE), x, y)
        at = 0
        for cell, size in zip(cells, [4] * (M + 1) + [3]):
            at = at * size + cell
        want[at] += 1
    assert sum(abs(a - b) for a, b in zip(counts, want)) <= 2 * FLIPPED
    assert max(want) < N * 0.9 and sum(w > 0 for w in want) > 10
    client.stop()
    assert "nan" not in client.log().lower(), json.dumps(client.log())
