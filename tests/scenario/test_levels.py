"""Rows of one symbol of a bounded number, each half of the real programs against the other implementation of levels.py,
and the real halves together."""
import csv
import math
import os

import pytest

import params
import levels
import wire
from chance import near
from parties import Analyzer, Device
from wire import pb

pytestmark = pytest.mark.heavy  # the optimised build: what is computed is compared, and it is much

SIZES = {"staircase": 2, "piecewise": 3}
LEVELS = 7  # but of one bit


def made(row, epsilon0):
    return levels.randomizer(row, LEVELS - 1, epsilon0, SIZES.get(row, 0))


@pytest.mark.parametrize("row", levels.ROWS)
def test_what_real_clients_send_python_reads_and_estimates(cluster, row):
    n = 1500
    cluster.configure(devices=n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    r = made(row, 3.0)
    desc = analyzer.descriptor(epsilon0=3.0, min_reports=n, target=n)
    desc.query.CopyFrom(pb.Query(name="celsius", kind=pb.QUERY_MEAN, field="celsius", low=-10.0, high=40.0))
    desc.randomizer.CopyFrom(params.message(r))
    holds = [-10 + i * i % 41 for i in range(n)]
    cluster.write("readings.csv", "device,celsius\n" + "".join(f"d{i},{x}\n" for i, x in enumerate(holds)))
    plain = analyzer.opened_of_clients(desc, cluster.path("readings.csv"))
    assert len(plain) == n
    value, error = levels.estimate(r, plain)
    assert near(-10 + 50 * value, sum(holds) / n, (50 * error) ** 2), (value, error)


@pytest.mark.parametrize("row", levels.ROWS)
def test_what_python_sends_the_real_analyzer_counts_and_estimates(cluster, row):
    n = 400
    cluster.configure(min_batch=100, devices=n + 20)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    keys = {"levels": LEVELS} if row != "duchi" else {}
    if row in SIZES:
        keys["size"] = SIZES[row]
    bad = levels.malformed(made(row, 2.0))
    cluster.plan([{"query": "celsius", "type": "mean", "protocol": row, "field": "celsius", "epsilon0": 2.0, **keys,
                   "min_reports": 100, "target": n + len(bad), "range": [-10.0, 40.0], "window": "2m"}], epsilon=10.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    desc, data = device.round()
    r = params.read(desc.randomizer)
    assert (r.bins, r.size) == (made(row, 2.0).bins, SIZES.get(row, 0))
    assert abs(r.keep - made(row, 2.0).keep) < 2**30 and desc.record_length == 16 and desc.messages_per_client == 1
    sent = [levels.encode(r, i * i % 97 / 96) for i in range(n)]
    out = [wire.Hpke.seal(desc.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), rec) for rec in sent + bad]
    assert set(device.submit(desc, [(os.urandom(32), s) for s in out])) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["bad"] == len(bad) and result["reports"] == n and result["participants"] == n + len(bad)
    seen = [levels.read(r, rec) for rec in sent]
    assert result["counts"] == [seen.count(y) for y in range(levels.symbols(r))]
    item, = result["items"]
    value, error = levels.estimate(r, sent)
    assert item["value"] == pytest.approx(-10 + 50 * value, rel=1e-9)
    # All scores' spread holds that of the numbers too, which the interval leaves out as far as it is sure of it.
    assert item["variance"] ** 0.5 < 50 * error * 1.1
    assert item["lower"] < item["value"] < item["upper"]


@pytest.mark.parametrize("row", levels.ROWS)
def test_a_round_s_truth_is_in_its_interval(cluster, row):
    n = 1500
    cluster.configure(min_batch=1000, devices=n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    holds = [20 + i % 3 for i in range(n)]
    cluster.write("readings.csv", "device,celsius\n" + "".join(f"d{i},{x}\n" for i, x in enumerate(holds)))
    cluster.plan([{"query": "celsius", "type": "mean", "protocol": row, "field": "celsius", "epsilon0": 4.0,
                   "min_reports": n, "target": n, "range": [0.0, 40.0], "window": "2m"}], epsilon=10.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait",
                      "3m")
    assert run.returncode == 0, run.stderr
    assert analyzer.wait() == 0, analyzer.log()
    item, = cluster.json("analyzer", "estimate", "celsius")["items"]
    assert item["lower"] < item["value"] < item["upper"] and item["upper"] - item["lower"] < 10
    # As wide as the interval at 95 % would be for chance.ALARM.
    variance = ((item["upper"] - item["lower"]) / 2 / 1.959964) ** 2
    assert item["label"] == "celsius" and near(item["value"], sum(holds) / n, variance), item


def test_quantiles_of_the_readings_are_in_their_intervals(cluster):
    n = 1500
    cluster.configure(min_batch=1000, devices=n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    holds = sorted((i * i % 1009) / 1009 * 30 + 5 * (i % 3 == 0) for i in range(n))
    cluster.write("readings.csv", "device,celsius\n" + "".join(f"d{i},{x}\n" for i, x in enumerate(holds)))
    cluster.plan([{"query": "celsius", "type": "quantiles", "protocol": "levels", "field": "celsius", "epsilon0": 5.0,
                   "min_reports": n, "target": n, "range": [0.0, 40.0], "levels": 33, "window": "2m",
                   "probabilities": [0.05, 0.25, 0.5, 0.75, 0.95]}], epsilon=10.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait",
                      "3m")
    assert run.returncode == 0, run.stderr
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["type"] == "quantiles" and sum(result["counts"]) == n
    level = 40 / 32
    for item, share in zip(result["items"], (0.05, 0.25, 0.5, 0.75, 0.95), strict=True):
        truth = holds[math.ceil(share * n) - 1]
        # The interval of all five and two levels more: far beyond six standard deviations.
        assert item["joint_lower"] - 2 * level <= truth <= item["joint_upper"] + 2 * level, item
        assert item["lower"] <= item["value"] <= item["upper"] and item["upper"] - item["lower"] < 8 * level
        # Ends are levels.
        assert item["lower"] / level == pytest.approx(round(item["lower"] / level), abs=1e-9)
    labels = [item["label"] for item in result["items"]]
    assert labels == ["p5", "p25", "median", "p75", "p95"] and len(result["no_reading"]) == 1
    table = cluster.run("analyzer", "estimate", "celsius").stdout
    for label, item in zip(labels, result["items"], strict=True):
        line, = [row for row in table.splitlines() if row.split()[:1] == [label]]
        # An interval that touches an end of the range is marked.
        _, value, low, to, high, *mark = line.split()
        assert to == "to"
        assert bool(mark) == ("at_end" in item)
        for shown, exact in ((value, item["value"]), (low, item["joint_lower"]), (high, item["joint_upper"])):
            assert float(shown) == pytest.approx(exact, abs=0.051)
    lines = cluster.run("analyzer", "estimate", "celsius", "--csv").stdout.splitlines()
    assert [row.split(",")[0].strip('"') for row in lines[1:]] == labels + ["(no reading)"]


def weather():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "demo", "weather.csv"), newline="") as f:
        return list(csv.DictReader(f))


def test_sums_and_chosen_quantiles_of_the_weather(cluster):
    days = weather()
    n = len(days)
    cluster.configure(min_batch=1000, devices=n, max_epsilon0="inf")
    common = {"min_reports": n, "target": n, "window": "2m"}
    rain = {"query": "rain", "type": "sum", "field": "precipitation", "range": [0.0, 60.0], "epsilon0": 4.0, **common}
    cluster.plan([rain, {**rain, "query": "rain-bits", "protocol": "duchi"},
                  {"query": "wind", "type": "quantiles", "field": "wind", "range": [0.0, 10.0], "epsilon0": 6.0,
                   "levels": 41, "probabilities": [0.1, 0.5, 0.999], **common}], epsilon=30.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    path = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "demo", "weather.csv")
    for _ in range(3):
        run = cluster.run("client", "send", path, "--device-field", "date", "--wait", "3m")
        assert run.returncode == 0, run.stderr
    assert analyzer.wait() == 0, analyzer.log()
    truth = sum(float(day["precipitation"]) for day in days)
    for query in ("rain", "rain-bits"):
        result = cluster.json("analyzer", "estimate", query)
        item, = result["items"]
        variance = ((item["upper"] - item["lower"]) / 2 / 1.959964) ** 2
        assert near(item["value"], truth, variance), (query, item, truth)
        assert result["type"] == "sum" and result["field"] == "precipitation" and item["projected"] <= 60 * n
        assert 10 < item["upper"] - item["lower"] < 60 * n / 4
    table = cluster.run("analyzer", "estimate", "rain").stdout
    assert "\nsum " in table and "+-" in table and "took part" not in table
    items = cluster.json("analyzer", "estimate", "wind")["items"]
    assert [i["label"] for i in items] == ["p10", "median", "p99.9"]
    wind = sorted(float(day["wind"]) for day in days)
    for item, share in zip(items, (0.1, 0.5, 0.999), strict=True):
        assert item["joint_lower"] - 0.5 <= wind[math.ceil(share * n) - 1] <= item["joint_upper"] + 0.5, item


def test_a_sum_leaves_out_the_reports_that_cannot_be_read(cluster):
    n, junk = 300, 20
    cluster.configure(min_batch=100, devices=n + junk)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.plan([{"query": "celsius", "type": "sum", "protocol": "levels", "field": "celsius", "epsilon0": 8.0,
                   "min_reports": 100, "target": n + junk, "range": [10.0, 40.0], "levels": 7, "none": "even", "window": "2m"}],
                 epsilon=20.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    desc, data = device.round()
    assert desc.query.kind == pb.QUERY_SUM
    sent = [wire.record(3)] * n + [b"\xff" * 16] * junk  # everybody in the middle of the range
    out = [wire.Hpke.seal(desc.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), rec) for rec in sent]
    assert set(device.submit(desc, [(os.urandom(32), s) for s in out])) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["bad"] == junk and result["reports"] == n and result["participants"] == n + junk
    assert result["items"][0]["value"] == pytest.approx(25.0 * n, rel=1e-9)
    assert f"  the sum of the {n} valid reports; {n + junk} took part" in cluster.run("analyzer", "estimate", "celsius").stdout
