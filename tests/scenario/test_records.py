"""Rows of one wide message, each half of the real programs against the other implementation of records.py."""
import os

import pytest

import params
import records
import wire
from chance import near
from cluster import wait_for
from parties import Analyzer, Device
from wire import pb

pytestmark = pytest.mark.heavy  # the optimised build: what is computed is compared, and it is much

SIZES = {"subset": 3, "olh": 4}


@pytest.mark.parametrize("row", records.ROWS)
def test_what_real_clients_send_python_reads_and_estimates(cluster, row):
    n, d = 1500, 9
    cluster.configure(devices=n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    r = records.randomizer(row, d, 3.0, SIZES.get(row, 0))
    desc = analyzer.descriptor(bins=d, epsilon0=3.0, min_reports=n, target=n, record_length=records.record_length(r))
    desc.randomizer.CopyFrom(params.message(r))
    holds = [0 if i % 2 else i % d for i in range(n)]
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{x}\n" for i, x in enumerate(holds)))
    plain = analyzer.opened_of_clients(desc, cluster.path("readings.csv"), records.record_length(r))
    assert len(plain) == n
    for x, (value, variance) in enumerate(records.estimates(r, plain)):
        assert near(value, holds.count(x), variance, step=2.5), (x, value, holds.count(x))


@pytest.mark.parametrize("row", records.ROWS)
def test_what_python_sends_the_real_analyzer_counts_and_estimates(cluster, row):
    n, d = 300, 70
    cluster.configure(min_batch=100, devices=n + 20)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    size = {"size": SIZES[row]} if row in SIZES else {}
    r = records.randomizer(row, d + 1, 2.0, SIZES.get(row, 0))
    bad = records.malformed(r)
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": row, "field": "colour", "epsilon0": 2.0, **size,
                   "min_reports": 100, "target": n + len(bad), "values": [f"c{i}" for i in range(d)],
                   "window": "2m"}], epsilon=10.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    desc, data = device.round()
    r = params.read(desc.randomizer)
    assert desc.record_length == records.record_length(r) and desc.messages_per_client == 1
    # Every seventh device has no reading.
    sent = [records.encode(r, d if i % 7 == 0 else i * i % d) for i in range(n)]
    out = [wire.Hpke.seal(desc.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), rec) for rec in sent + bad]
    assert set(device.submit(desc, [(os.urandom(32), s) for s in out])) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["bad"] == len(bad) and result["reports"] == n and result["participants"] == n + len(bad)
    assert result["counts"] == records.counts(r, sent)
    assert r.bins == d + 1 and desc.query.none == 1 and len(result["no_reading"]) == 1
    assert result["estimand"] == "devices without a reading are counted apart"
    for item, (value, variance) in zip(result["items"] + result["no_reading"], records.estimates(r, sent), strict=True):
        assert item["value"] == pytest.approx(value, rel=1e-9, abs=1e-6)
        assert item["variance"] == pytest.approx(variance, rel=1e-9)


def test_a_dry_run_says_what_the_analyzer_would_read(cluster):
    cluster.configure(min_batch=2)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    values = [f"c{i}" for i in range(6)] + ["(no reading)"]
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "subset", "field": "colour", "epsilon0": 2.0,
                   "size": 3, "min_reports": 1000, "target": 1000, "values": values[:6], "window": "1h"}], epsilon=10.0)
    cluster.start("analyzer", "round", "run", "1")
    wait_for("the round", lambda: "round open" in shuffler.log())
    r = params.of("subset", bins=7, size=3)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"{i},c{i}\n" for i in range(6)))
    shown = cluster.json("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field", "device")
    assert shown["parameters"].startswith("bins 7, size 3, keep 0.")
    assert sorted(d["value"] for d in shown["devices"]) == values[:6]
    assert [d["value"] for d in shown["no_reading"]] == ["without a reading: (no reading)"]
    for shown in shown["devices"] + shown["no_reading"]:
        record, = shown["records"]
        assert record["reads"].split(", ") == [values[i] for i in
                                               sorted(records.supports(r, bytes.fromhex(record["hex"])))]
