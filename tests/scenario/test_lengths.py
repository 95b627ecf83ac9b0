"""Lengths tell nothing: over the whole input domain all sealed messages and all frames of a round are of one size."""
import json

import pytest

from cluster import wait_for
from parties import Shuffler
from test_blanket import POLICY

EDGES = ["", "x", "of some sixty bytes, so that its length would show if anything", "\u00e4\u00f6\u00fc", "0", "c,0",
         'quo"ted', "null"]
NUMBERS = ["0", "40", "20", "-0.0", "1e-300", "39.99999999999999", "-1e300", "1e300", "41", "12345678901234567890"]

ROUNDS = {
    # protocol: (plan keys, values of its domain and those clamped to it, messages a device)
    "grr": (dict(type="histogram", epsilon0=1.0, values=EDGES[1:]), EDGES[1:], 1),
    "grr of two": (dict(type="histogram", protocol="grr", epsilon0=4.0, values=["no", "a very long yes " * 3]),
                   ["no", "a very long yes " * 3], 1),
    "levels": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
    "bins": (dict(type="histogram", epsilon0="inf", dummies=3, values=EDGES[1:]), EDGES[1:], 4),
    "mixbins": (dict(type="histogram", epsilon0=3.0, dummies=2, values=EDGES[1:]), EDGES[1:], 3),
    "bins by chance": (dict(type="histogram", epsilon0="inf", dummies=0.5, values=EDGES[1:]), EDGES[1:], 2),
    "mixbins by chance": (dict(type="histogram", epsilon0=3.0, dummies=2.25, values=EDGES[1:]), EDGES[1:], 4),
    "levels by chance": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9, dummies=0.5), NUMBERS, 2),
    "hashed by chance": (dict(type="histogram", epsilon0="inf", dummies=1.5, values=EDGES[1:]), EDGES[1:], 3),
    "rappor": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:]), EDGES[1:], 1),
    "oue": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:] + [f"and {i}" for i in range(90)]), EDGES[1:], 1),
    "subset": (dict(type="histogram", epsilon0=1.0, values=EDGES[1:]), EDGES[1:], 1),
    "olh": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:]), EDGES[1:], 1),
    "hadamard": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:]), EDGES[1:], 1),
    "hashed": (dict(type="histogram", epsilon0="inf", dummies=3, values=EDGES[1:]), EDGES[1:], 4),
    "balcer-cheu": (dict(type="histogram", epsilon0="inf", dummies=1, values=EDGES[1:]), EDGES[1:], 1 + len(EDGES)),
    "cheu": (dict(type="histogram", epsilon0=3.0, dummies=2, values=EDGES[1:] + [f"and {i}" for i in range(90)]),
             EDGES[1:], 3),
    "duchi": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0]), NUMBERS, 1),
    "laplace-levels": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
    "staircase": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
    "piecewise": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
}
DEVICES = 5

# Numbers of a vector: ends of the domain, beyond it, of one digit and of many.
ARRAYS = [[0] * 6, [40] * 6, [1e300, -1e300, 0.1, 12.345678901234567, 40, -0.0]]
FEW = [EDGES[1], EDGES[2], EDGES[6]]
PAIRS = [{"a": "x", "b": "1"}, {"a": EDGES[2], "b": "1"}, {"a": "x", "b": EDGES[2]}]
PLACES = [{"a": 0, "b": 0}, {"a": -40, "b": 1}, {"a": 39.999999999999, "b": 1e-300}, {"a": 1e300, "b": -7}]
VECTOR = dict(type="vector", dimension=6, range=[0.0, 40.0], epsilon0=4.0)

STRUCTURED = {
    # protocol: (plan keys, readings of one device, messages a device, tags?)
    "words": (dict(VECTOR, slots=3, size=2, dummies=1), ARRAYS, 6, False),
    "words by chance": (dict(VECTOR, slots=3, size=2, dummies=0.5), ARRAYS, 6, False),
    "harmony": (VECTOR, ARRAYS, 1, False),
    "vrr": (dict(VECTOR, size=2), ARRAYS, 1, False),
    "rotated": (dict(VECTOR, range=[-40.0, 40.0], slots=4, size=2), ARRAYS, 4, False),
    "ss-simple": (dict(VECTOR, levels=3), ARRAYS, 6, False),
    "ss-double": (dict(VECTOR, levels=3, slots=2), ARRAYS, 2, True),
    "ss-topk": (dict(VECTOR, levels=3, size=2), ARRAYS, 2, True),
    "digits": (dict(type="mean", range=[0.0, 40.0], levels=64, epsilon0=3.0), NUMBERS[:4], 6, False),
    "ranges": (dict(type="ranges", range=[0.0, 40.0], leaves=25, fanout=5, epsilon0=4.0), NUMBERS[:4], 2, False),
    "prefixes": (dict(type="prefixes", bits=8, epsilon0=4.0), [*FEW, "x" * 200, "\U0001f600"], 1, False),
    "marginals": (dict(type="marginals", epsilon0=2.0, marginals=[["a", "b"], ["b"]], columns=[
        {"field": "a", "values": EDGES[1:4]}, {"field": "b", "values": ["1", EDGES[2]]}]), PAIRS, 2, False),
    "hierarchy": (dict(type="ranges", range=[0.0, 40.0], leaves=25, fanout=5, epsilon0=4.0), NUMBERS[:4], 1, False),
    "parallel": (dict(type="marginals", epsilon0=2.0, marginals=[["a", "b"], ["b"]], columns=[
        {"field": "a", "values": EDGES[1:4]}, {"field": "b", "values": ["1", EDGES[2]]}]), PAIRS, 1, False),
    "privset": (dict(type="sets", values=EDGES[1:4], size=2, epsilon0=4.0), [[], *([e] for e in FEW), EDGES[1:4], None], 1, False),
    "planar": (dict(type="places", epsilon0=4.0, axes=[
        {"field": "a", "range": [-40.0, 40.0], "cells": 5}, {"field": "b", "range": [0.0, 1.0], "cells": 3}]), PLACES, 1, False),
    "gspa-classes": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:], classes=[
        {"epsilon0": 1.0, "least": 800}, {"epsilon0": 3.0, "least": 800}]), FEW, 1, True),
    "gspa-pooled": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:], classes=[
        {"epsilon0": 1.0, "least": 800}, {"epsilon0": 3.0, "least": 800}]), FEW, 2, True),
}


def quoted(value):
    return '"' + value.replace('"', '""') + '"'


class Sized(Shuffler):
    """Notes the size of every frame that a client sends."""

    def __init__(self, cluster):
        self.sizes = []
        super().__init__(cluster)

    def on_submit(self, link, m):
        self.sizes.append((len(m.pseudonyms) // 32, m.ByteSize()))
        super().on_submit(link, m)


@pytest.fixture
def fake(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf", client_policy=POLICY.format(accept="true"))
    made = Sized(cluster)
    yield made
    made.close()


def open_round(cluster, fake, protocol, keys):
    """A descriptor of the real analyzer, served until the test ends."""
    cluster.plan([{"query": "q", "field": "value", "protocol": protocol.split()[0], **keys, "min_reports": 1000000,
                   "target": 1000000, "window": "1h"}], epsilon=10.0)
    cluster.start("analyzer", "round", "run", "1")
    wait_for("the round", lambda: fake.order)
    return fake.rounds[fake.order[0]]["d"]


def alone(cluster):
    """From now on each device's messages have a frame of their own."""
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text + "frame_devices = 1;\n")


def send(cluster, name):
    run = cluster.run("client", "send", cluster.path(name), "--device-field", "device", "--wait", "3m")
    assert run.returncode == 0, (run.stdout, run.stderr)


def write_csv(cluster, values, devices=DEVICES):
    """A file in which that many devices have each value."""
    cluster.write("readings.csv", "device,value\n" + "".join(f"{v}-{i},{quoted(value)}\n" for v, value in enumerate(values)
                                                             for i in range(devices)))


@pytest.mark.parametrize("name", ROUNDS)
def test_all_messages_and_frames_of_a_round_have_one_length(cluster, fake, name):
    keys, values, messages = ROUNDS[name]
    d = open_round(cluster, fake, name, keys)
    assert d.messages_per_client == messages
    sealed_length = d.record_length + 48  # an encapsulated key of 32 and a tag of 16 (RFC 9180)
    alone(cluster)
    write_csv(cluster, values)
    send(cluster, "readings.csv")
    assert [n for n, _ in fake.sizes] == [1] * DEVICES * len(values) and len({size for _, size in fake.sizes}) == 1, fake.sizes
    assert {len(sealed) for _, sealed in fake.received} == {messages * sealed_length}
    # No two messages are the same, and none repeats an encapsulated key: the length is all they share.
    out = [s[i:i + sealed_length] for _, s in fake.received for i in range(0, len(s), sealed_length)]
    assert len({m[:32] for m in out}) == len(out) == DEVICES * len(values) * messages


@pytest.mark.parametrize("name", STRUCTURED)
def test_all_messages_and_frames_of_a_structured_round_have_one_length(cluster, fake, name):
    keys, values, messages, tags = STRUCTURED[name]
    field = {} if keys["type"] in ("marginals", "places") else {"field": "value"}
    row = {} if name in ("prefixes", "ranges", "marginals") else {"protocol": name.split()[0]}
    cluster.plan([{"query": "q", **field, **row, **keys, "min_reports": 1000000, "target": 1000000, "window": "1h"}],
                 epsilon=45.0)
    analyzer = cluster.start("analyzer", "round", "run", "1")
    wait_for("the round", lambda: fake.order or not analyzer.alive())
    d = fake.rounds[fake.order[0]]["d"]
    assert d.messages_per_client == messages
    alone(cluster)
    with open(cluster.path("readings.ndjson"), "w") as f:
        f.writelines(json.dumps({"device": f"{v}-{i}", **(value if isinstance(value, dict) else {"value": value})}) + "\n"
                     for v, value in enumerate(values) for i in range(DEVICES))
    send(cluster, "readings.ndjson")
    assert [n for n, _ in fake.sizes] == [1] * DEVICES * len(values) and len({size for _, size in fake.sizes}) == 1, fake.sizes
    each = d.record_length + 48 + (2 if tags else 0)
    assert {len(sealed) for _, sealed in fake.received} == {messages * each}


def test_a_device_that_has_no_reading_sends_what_every_device_sends(cluster, fake):
    """Absent, null, empty, of another type: of five devices all take part, in a frame as long as a frame of five."""
    open_round(cluster, fake, "grr", ROUNDS["grr"][0])
    for others in ("absent", "null", "empty"):
        cluster.reset_client()
        rows = [{"device": "0", "value": "x"}] + [
            {"device": str(i), **{"absent": {}, "null": {"value": None}, "empty": {"value": ""}}[others]} for i in range(1, 5)]
        with open(cluster.path("readings.ndjson"), "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        run = cluster.run("client", "send", cluster.path("readings.ndjson"), "--device-field", "device", "--wait", "3m")
        assert fake.sizes, (others, run.stdout, run.stderr)
    assert {n for n, _ in fake.sizes} == {5} and len({size for _, size in fake.sizes}) == 1, fake.sizes


def test_a_frame_s_size_depends_on_its_number_of_devices_alone(cluster, fake):
    keys, values, messages = ROUNDS["grr"]
    open_round(cluster, fake, "grr", keys)
    for devices in (1, 2, 7):
        for value in (min(values, key=len), max(values, key=len)):
            cluster.reset_client()
            write_csv(cluster, [value], devices)
            send(cluster, "readings.csv")
    by_count = {}
    for n, size in fake.sizes:
        by_count.setdefault(n, set()).add(size)
    assert set(by_count) == {1, 2, 7} and all(len(s) == 1 for s in by_count.values()), by_count
    # Each device adds its pseudonym, its salt and its messages, and what a length prefix grows by.
    each = 32 + 32 + messages * 64
    assert 0 <= max(by_count[7]) - max(by_count[1]) - 6 * each <= 4, by_count


def test_the_dry_run_shows_the_same_lengths(cluster, fake):
    keys, values, _ = ROUNDS["grr"]
    open_round(cluster, fake, "grr", keys)
    for value in values:
        cluster.write("readings.csv", f"device,value\n1,{quoted(value)}\n")
        shown, = cluster.json("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field",
                              "device")["devices"]
        assert shown["value"] == value
        assert (shown["messages"], shown["sealed_bytes"], len(shown["records"][0]["hex"])) == (1, 64, 32), shown
    assert not fake.received, "a dry run sent something"
