"""The mean of a vector, each half of the real programs against the other implementation of vectors.py, and the real
halves together."""
import json
import math
import os
import random

import pytest

import params
import vectors
import wire
from chance import most, near, within
from cluster import wait_for
from parties import Analyzer, Device
from test_rounds import run_plan
from test_structured import audited, batch
from wire import pb

pytestmark = pytest.mark.heavy  # the optimised build: what is computed is compared, and it is much

D = 10
SHAPES = {"words": {"slots": 3, "size": 2, "dummies": 1}, "harmony": {}, "vrr": {"size": 3},
          "rotated": {"slots": 4, "size": 2}}


def dimension(row):
    """Short vectors are not cut when they are rotated."""
    return 70 if row == "rotated" else D


def made(row, epsilon0=4.0):
    return vectors.randomizer(row, dimension(row), epsilon0, **SHAPES[row])


def arrays(cluster, **fields):
    """Readings of an array in each field, which the client of `run` reads too."""
    rows = [dict(zip(fields, row)) for row in zip(*fields.values())]
    cluster.write("readings.ndjson", "".join(json.dumps({"device": f"d{i}", **row}) + "\n" for i, row in enumerate(rows)))
    with open(cluster.path("client.conf")) as f:
        conf = f.read()
    cluster.write("client.conf", conf.replace("readings.csv", "readings.ndjson"))


def held(i, d):
    """Coordinates of device i in [0, 1], so near to the middle that no vector is longer than half the range."""
    wide = 0.3 if d == D else 0.1
    return [0.5 - wide / 2 + wide * ((i * (c + 3) % 7) / 6 if c % 2 else i % (c + 2) == 0) for c in range(d)]


def means(n, d):
    return [sum(held(i, d)[c] for i in range(n)) / n for c in range(d)]


@pytest.mark.parametrize("row", vectors.ROWS)
def test_what_real_clients_send_python_reads_and_estimates(cluster, row):
    n, d = 600, dimension(row)
    cluster.configure(devices=n, max_epsilon0="inf")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster, epsilon_limit=100.0).dial()
    r = made(row)
    desc = analyzer.descriptor(epsilon0=math.nextafter(vectors.epsilon0(r), math.inf), min_reports=n, target=n,
                               messages_per_client=vectors.messages(r))
    desc.query.CopyFrom(pb.Query(name="v", kind=pb.QUERY_VECTOR, field="x", low=-25.0, high=25.0, dimension=d))
    desc.randomizer.CopyFrom(params.message(r))
    arrays(cluster, x=[[-25 + 50 * x for x in held(i, d)] for i in range(n)])
    plain = analyzer.opened_of_clients(desc, cluster.path("readings.ndjson"))
    assert len(plain) == n * vectors.messages(r)
    values, error = vectors.estimate(r, d, plain, n)
    for value, truth in zip(values, means(n, d)):
        # Of n devices at least this many send a message that tells of a coordinate.
        assert near(value, truth, error ** 2, messages=n / D), (values, means(n, d))


@pytest.mark.parametrize("row", vectors.ROWS)
def test_what_python_sends_the_real_analyzer_counts_and_estimates(cluster, row):
    n, d = 500, dimension(row)
    cluster.configure(min_batch=100, devices=n + 30, max_epsilon0="inf", epsilon=100.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    each = vectors.messages(made(row))
    liars = -(-len(vectors.malformed(made(row), d)) // each)
    cluster.plan([{"query": "v", "type": "vector", "protocol": row, "field": "x", "dimension": d, "epsilon0": 4.0,
                   **SHAPES[row], "min_reports": 100, "target": n + liars + 1, "range": [-25.0, 25.0], "window": "2m"}],
                 epsilon=100.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    desc, data = device.round()
    r = params.read(desc.randomizer)
    want = made(row)
    if row == "rotated":
        # How many rotations and which cut err least is the analyzer's to find.
        each_rotation, rotations = vectors.one_rotation(r, d)
        assert rotations > 1 and r.slots[0].groups == each_rotation * rotations
        want.scale, want.slots[0].groups = r.scale, r.slots[0].groups
    assert [(s.count, s.groups, s.bins, s.dummies) for s in r.slots or ()] == \
        [(s.count, s.groups, s.bins, s.dummies) for s in want.slots or ()]
    assert (r.dimension, r.size, r.scale) == (want.dimension, want.size, want.scale)
    assert abs(vectors.keep(r) - vectors.keep(want)) < 2**30
    assert desc.record_length == 16 and desc.messages_per_client == each
    bad = vectors.malformed(r, d)
    bad += [bad[0]] * (liars * each - len(bad))
    # The last device sends all its messages to one slot, and undoes nothing with that.
    sent = [rec for i in range(n) for rec in vectors.encode(r, d, held(i, d))] + [vectors.pack(0, 0)] * each
    out = [wire.Hpke.seal(desc.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), rec) for rec in sent + bad]
    devices = [(os.urandom(32), b"".join(out[i:i + each])) for i in range(0, len(out), each)]
    assert set(device.submit(desc, devices)) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    # Not all of a device that sends something unreadable counts, whatever else it sends.
    assert result["bad"] == len(bad) and result["participants"] == n + liars + 1
    values, error = vectors.estimate(r, d, sent, result["reports"])
    for c, item in enumerate(result["items"]):
        assert item["label"] == str(c)
        assert item["value"] == pytest.approx(-25 + 50 * values[c], rel=1e-9, abs=1e-6)
        assert 0.8 * 50 * error < item["variance"] ** 0.5 <= 50 * error * (1 + 1e-9)
        assert item["joint_lower"] < item["lower"] < item["value"] < item["upper"] < item["joint_upper"]


def test_a_dry_run_says_which_signs_it_would_send(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    names = ["left", "mid", "right"]
    cluster.plan([batch(1000, query="v", type="vector", fields=names, range=[0.0, 1.0], epsilon0=3.0, slots=2, size=1)],
                 epsilon=40.0)
    cluster.start("analyzer", "round", "run", "1")
    wait_for("the round", lambda: "round open" in shuffler.log())
    r = vectors.randomizer("words", 3, 3.0, slots=2)
    cluster.write("readings.csv", "device,left,mid,right\n" + "".join(f"d{i},0,1,{i % 2}\n" for i in range(9)))
    for shown in cluster.json("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field",
                              "device")["devices"]:
        assert len(shown["records"]) == 2
        for slot, record in enumerate(shown["records"]):
            signs = [("+" if y > 0 else "-") + names[c] for c, y in vectors.read(r, 3, bytes.fromhex(record["hex"]))]
            assert record["reads"].split() == [*signs, "in", "slot", str(slot)]


def digit(rng, prototypes):
    """64 pixels of 0..16."""
    return [min(max(round(p + rng.gauss(0, 2)), 0), 16) for p in rng.choice(prototypes)]


def test_pixels_of_images_and_their_truth(cluster):
    n, rng = 700, random.Random(64)
    prototypes = [[16 * (math.sin((k + 1) * (c % 8 + 2 * (c // 8)) / 5) > 0.2) for c in range(64)] for k in range(10)]
    images = [digit(rng, prototypes) for _ in range(n)]
    cluster.configure(min_batch=500, devices=n, max_epsilon0="inf")
    arrays(cluster, pixels=images)
    image = {"type": "vector", "field": "pixels", "dimension": 64, "range": [0.0, 16.0]}
    cluster.plan([batch(n, query="words", protocol="words", epsilon0=3.0, slots=8, size=2, **image),
                  batch(n, query="dummies", protocol="words", epsilon0="inf", slots=4, size=1, dummies=1, **image),
                  batch(n, query="one-sign", protocol="harmony", epsilon0=3.0, **image),
                  batch(n, query="some-signs", protocol="vrr", epsilon0=4.0, **image)], epsilon=40.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    truth = [sum(x[c] for x in images) / n for c in range(64)]
    # Each with how many messages tell of a coordinate.
    for number, (name, messages) in enumerate((("words", n / 4), ("dummies", 2 * n / 16), ("one-sign", n / 64),
                                               ("some-signs", 4 * n / 64)), 1):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["query"] == name and result["reports"] == n and result["bad"] == 0
        assert len(result["items"]) == 64 and result["noise_floor"] > 0
        for item, mean in zip(result["items"], truth):
            assert within(item, mean, messages=messages), (name, item, mean)
            assert 0 <= item["projected"] <= 16
        missed = sum(not i["lower"] <= m <= i["upper"] for i, m in zip(result["items"], truth))
        assert missed <= most(64, 0.05), name
    assert 23.9 < cluster.json("analyzer", "round", "show", "1")["result"]["epsilon0"] <= 24
    audited(cluster)


def test_fields_of_a_reading_are_a_vector_with_their_names(cluster):
    n, rng = 1000, random.Random(9)
    names = [f"v{i}" for i in range(2, 10)]
    rows = [[min(max(rng.gauss(10 * i - 40, 15), -100), 100) for i in range(8)] for _ in range(n)]
    cluster.configure(min_batch=1000, devices=n, max_epsilon0="inf")
    cluster.write("readings.csv", "device," + ",".join(names) + "\n" + "".join(
        f"d{i}," + ",".join(f"{x:.4f}" for x in row) + "\n" for i, row in enumerate(rows)))
    cluster.plan([batch(n, query="sensors", type="vector", fields=names, range=[-100.0, 100.0], epsilon0=3.0)],
                 epsilon=40.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert [i["label"] for i in result["items"]] == names and result["messages"] == 8 * n
    for i, item in enumerate(result["items"]):
        assert within(item, sum(row[i] for row in rows) / n)
        assert item["variance"] ** 0.5 < 5


def test_many_coordinates_of_few_devices(cluster):
    n, d, rng = 200, 784, random.Random(784)
    rows = [[round(min(max(rng.gauss(math.sin(c), 0.3), -1), 1), 3) for c in range(d)] for _ in range(n)]
    # Of length 1, most of it in a few coordinates.
    steep = [[x / (1 + c) ** 0.75 for c, x in enumerate(row)] for row in rows]
    unit = [[x / math.hypot(*row) for x in row] for row in steep]
    cluster.configure(min_batch=100, devices=n, max_epsilon0="inf")
    arrays(cluster, x=rows, gradient=unit)
    keys = {"type": "vector", "dimension": d, "range": [-1.0, 1.0], "epsilon0": 2.0, "slots": 16, "size": 2}
    cluster.plan([batch(n, query="wide", field="x", **keys),
                  batch(n, query="step", field="gradient", protocol="rotated", **keys)], epsilon=40.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    errors = []
    for number, held_by in ((1, rows), (2, unit)):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        items, truth = result["items"], [sum(x[c] for x in held_by) / n for c in range(d)]
        assert len(items) == d and result["messages"] == 16 * n
        # Of a coordinate 8 messages tell; six deviations would be missed in one run of 2,000.  Of the other vector each of
        # all messages tells something.
        assert all(within(i, m, messages=n / 25 if number == 1 else 16 * n) for i, m in zip(items, truth))
        # Exact intervals of few messages, and normal ones.
        assert sum(not i["lower"] <= m <= i["upper"] for i, m in zip(items, truth)) <= most(d, 0.05)
        errors.append(math.sqrt(sum((i["value"] - m) ** 2 for i, m in zip(items, truth)) / d))
    # By c / L, c sqrt(1024) / L = 0.5, of which cutting leaves 0.383, and what padding adds, sqrt(32 / 25).
    assert 0.7 * 0.046 < errors[1] / errors[0] < 1.3 * 0.046
