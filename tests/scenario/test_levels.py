"""Rows of one symbol of a bounded number, each half of the real programs against the other implementation of levels.py,
and the real halves together."""
import os

import pytest

import levels
import wire
from parties import Analyzer, Device
from wire import pb

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
    desc = analyzer.descriptor(epsilon0=3.0, min_batch=n, target=n)
    desc.query.CopyFrom(pb.Query(name="celsius", kind=pb.QUERY_MEAN, field="celsius", low=-10.0, high=40.0))
    desc.randomizer.CopyFrom(r)
    data = analyzer.reserve(desc)
    analyzer.extend()
    analyzer.announce(data)
    holds = [-10 + i * i % 41 for i in range(n)]
    cluster.write("readings.csv", "device,celsius\n" + "".join(f"d{i},{x}\n" for i, x in enumerate(holds)))
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--strict", "--wait",
                      "30s")
    assert run.returncode == 0, run.stderr
    manifest, signed = analyzer.manifest(desc)
    charge = analyzer.charge(desc, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge)
    sealed = analyzer.pull(desc, manifest, length=16 + 48)
    plain = [wire.Hpke.open(analyzer.hpke, wire.hpke_info(data), wire.hpke_aad(data), s) for s in sealed]
    assert len(plain) == n
    value, error = levels.estimate(r, plain)
    # Six standard deviations: one false alarm in 10^8 runs.
    assert abs(-10 + 50 * value - sum(holds) / n) < 6 * 50 * error


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
    desc, data = device.round(wait_ms=20000)
    r = desc.randomizer
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
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--strict", "--wait",
                      "30s")
    assert run.returncode == 0, run.stderr
    assert analyzer.wait() == 0, analyzer.log()
    item, = cluster.json("analyzer", "estimate", "celsius")["items"]
    # Three times as wide: six standard deviations, one false alarm in 10^8 runs.
    half = 3 * (item["upper"] - item["lower"]) / 2
    assert item["label"] == "celsius" and abs(item["value"] - sum(holds) / n) < half < 15
