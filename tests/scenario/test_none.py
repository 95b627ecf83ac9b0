"""Devices without a reading: what the analyzer makes of their messages, and what it says of them."""
import csv
import io
import json
import math
import os
import struct
import subprocess

import pytest

import params
import wire
from cluster import program
from parties import Device
from records import HEAD
from wire import pb

NOBODY = "(no reading)"  # also what a category may be called
VALUES = ["a", NOBODY, "c"]
HELD = {"a": 150, NOBODY: 60, "c": 30}
WITHOUT = 100
N = sum(HELD.values()) + WITHOUT


def tell(cluster, bins, none):
    """A round of grr at epsilon0 16, answered by devices that tell the truth; its result and how many were told what."""
    cluster.configure(min_batch=100, devices=N)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    key = {"none": none} if none else {}
    cluster.plan([{"query": "state", "type": "histogram", "protocol": "grr", "field": "state", "epsilon0": 16.0, **key,
                   "min_reports": N, "target": N, "values": VALUES, "window": "2m"}], epsilon=45.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    desc, data = device.round()
    assert params.read(desc.randomizer).bins == bins
    held = [VALUES.index(v) for v, n in HELD.items() for _ in range(n)]
    held += [{None: 3, "even": i % 3, "category:c": 2}[none] for i in range(WITHOUT)]
    sealed = [wire.Hpke.seal(desc.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), HEAD + struct.pack("<Q", x))
              for x in held]
    assert set(device.submit(desc, [(os.urandom(32), s) for s in sealed])) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    return desc, cluster.json("analyzer", "estimate", "state"), [held.count(x) for x in range(bins)]


def estimate(desc, n, count):
    """By the formula of the keep probability."""
    r = params.read(desc.randomizer)
    p = r.keep / 2**64
    q = (1 - p) / (r.bins - 1)
    return (count - n * q) / (p - q)


def test_a_category_of_the_same_name_is_not_taken_for_devices_without_a_reading(cluster):
    desc, result, told = tell(cluster, 4, None)
    assert desc.query.none == 1 and desc.query.none_value == 0 and desc.query.none_category == 0
    assert result["estimand"] == "devices without a reading are counted apart"
    assert [i["label"] for i in result["items"]] == VALUES and [i["label"] for i in result["no_reading"]] == [NOBODY]
    for item, count in zip(result["items"] + result["no_reading"], told, strict=True):
        assert item["value"] == pytest.approx(estimate(desc, N, count), rel=1e-9)
        assert item["lower"] <= count <= item["upper"] and item["joint_lower"] <= item["lower"]
    text = cluster.run("analyzer", "estimate", "state").stdout
    assert text.count(NOBODY) == 1 and f"devices without a reading: {WITHOUT} +-" in text, text
    rows = list(csv.DictReader(io.StringIO(cluster.run("analyzer", "estimate", "state", "--csv").stdout)))
    assert [(r["label"], r["no_reading"]) for r in rows] == [*((v, "0") for v in VALUES), (NOBODY, "1")]
    assert [round(float(r["value"])) for r in rows] == [150, 60, 30, 100]


@pytest.mark.parametrize("none,word", [("even", "count as a category drawn evenly"), ("category:c", "count as 'c'")])
def test_devices_that_hold_a_value_count_as_it_and_the_result_says_so(cluster, none, word):
    desc, result, told = tell(cluster, 3, none)
    assert (desc.query.none, desc.query.none_category) == ((0, 0) if none == "even" else (2, 2))
    assert result["no_reading"] == [] and result["estimand"] == f"devices without a reading {word}"
    for item, count in zip(result["items"], told, strict=True):
        assert item["value"] == pytest.approx(estimate(desc, N, count), rel=1e-9)
    assert f"devices without a reading {word}" in cluster.run("analyzer", "estimate", "state").stdout


def test_the_cost_of_a_plan_knows_them(cluster):
    def ask(i, **keys):
        return {"query": f"q{i}", "epsilon0": 1.0, "min_reports": 10000, **keys}

    state = {"type": "histogram", "field": "state", "values": ["yes", "no"]}
    number = {"type": "mean", "field": "celsius", "range": [0.0, 40.0], "protocol": "duchi"}
    plan = cluster.plan([ask(1, **state), ask(2, none="even", **state), ask(3, none="category:no", **state), ask(4, **number),
                         ask(5, none=37.0, **number), ask(6, none="even", **number)], epsilon=1.0)
    said = subprocess.run([program("tombola"), "plan", "cost", plan], capture_output=True, text=True, check=True).stdout
    for row, words in zip(said.splitlines()[3:9], ["", ", none even", ", none category:no", ", none 20", ", none 37",
                                                   ", none even"], strict=True):
        assert ("none" in row) == (words != "") and words in row, row
    rounds = json.loads(subprocess.run([program("tombola"), "plan", "cost", "--json", plan], capture_output=True,
                                       text=True, check=True).stdout)["rounds"]
    assert [r["none"] for r in rounds] == ["symbol", "even", "category:no", "20", "37", "even"]
    assert [r["bins"] for r in rounds] == [3, 2, 2, 2, 2, 2]
    # Two categories at epsilon0 1 among 10,000 devices cost .0357, which is exact; with the symbol .0380.
    assert [math.floor(r["epsilon_round"] * 1e4 + 0.5) for r in rounds[:3]] == [380, 357, 357]


def test_auto_chooses_for_the_bins_there_are(cluster):
    """The choice with the symbol is that of a category more."""
    def ask(i, values, none):
        return {"query": f"q{i}", "type": "histogram", "protocol": "auto", "field": "f", "values": values, "none": none,
                "epsilon0": 4.0, "epsilon": 0.3, "min_reports": 20000}

    plan = cluster.plan([ask(1, ["a", "b", "c"], "symbol"), ask(2, ["a", "b", "c", "d"], "even"),
                         ask(3, ["a", "b", "c"], "even")], epsilon=2.0)
    symbol, more, even = json.loads(subprocess.run([program("tombola"), "plan", "cost", "--json", plan],
                                                   capture_output=True, text=True, check=True).stdout)["rounds"]
    same = ("protocol", "epsilon0", "bins", "dummies", "expected_error", "epsilon_round")
    assert [symbol[k] for k in same] == [more[k] for k in same]
    assert even["expected_error"] < symbol["expected_error"] and even["bins"] == symbol["bins"] - 1
