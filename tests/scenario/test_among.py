"""Rows of one wide message among wide dummies: the real daemons, and each half of them against among.py."""
import os
import subprocess
from math import inf

import pytest

import params
import among
import wire
from chance import near, within
from cluster import program
from parties import Analyzer, Device
from test_rounds import COLOURS, histogram, readings, run_plan
from wire import pb

KEYS = {"hashed": {"epsilon0": "inf", "dummies": 2, "size": 5}, "cheu": {"epsilon0": 3.0, "dummies": 2},
        "balcer-cheu": {"epsilon0": "inf", "dummies": 2, "size": 5}}


@pytest.mark.heavy  # as in test_records.py
@pytest.mark.parametrize("row", among.ROWS)
def test_what_real_clients_send_python_reads_and_estimates(cluster, row):
    n, d, dummies = 500 if row != "balcer-cheu" else 150, 9, 2
    cluster.configure(devices=n, max_epsilon0="inf")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    r = among.randomizer(row, d, 3.0, dummies, KEYS[row].get("size", 0))
    length = among.record_length(r)
    desc = analyzer.descriptor(bins=d, epsilon0=3.0, min_reports=n, target=n, record_length=length,
                               messages_per_client=among.messages(r))
    desc.randomizer.CopyFrom(params.message(r))
    if row != "cheu":
        desc.privacy.epsilon0 = inf
    holds = [0 if i % 2 else i % d for i in range(n)]
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{x}\n" for i, x in enumerate(holds)))
    plain = analyzer.opened_of_clients(desc, cluster.path("readings.csv"), length)
    assert len(plain) == n * among.messages(r)
    for x, (value, variance) in enumerate(among.estimates(r, n, plain)):
        assert near(value, holds.count(x), variance, step=2.5), (x, value, holds.count(x))


@pytest.mark.heavy  # as in test_records.py
@pytest.mark.parametrize("row", among.ROWS)
def test_what_python_sends_the_real_analyzer_counts_and_estimates(cluster, row):
    n, d = (200, 70) if row != "balcer-cheu" else (110, 5)
    cluster.configure(min_batch=100, devices=n + 20, max_epsilon0="inf")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    bad = among.malformed(among.randomizer(row, d + 1, 2.0, 2, 5))
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": row, "field": "colour", **KEYS[row],
                   "min_reports": 100, "target": n + len(bad), "values": [f"c{i}" for i in range(d)],
                   "window": "2m"}], epsilon=10.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    desc, data = device.round()
    r = params.read(desc.randomizer)
    assert desc.record_length == among.record_length(r) and desc.messages_per_client == among.messages(r)
    assert r.dummies == 2
    # Every seventh device has no reading.
    sent = [among.client(r, d if i % 7 == 0 else i * i % d) for i in range(n)]

    def seal(records):
        return b"".join(wire.Hpke.seal(desc.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), rec)
                        for rec in records)

    out = [seal(c) for c in sent + [[b] * among.messages(r) for b in bad]]
    assert set(device.submit(desc, [(os.urandom(32), s) for s in out])) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["bad"] == among.messages(r) * len(bad) and result["reports"] == n and result["participants"] == n + len(bad)
    records = [rec for c in sent for rec in c]
    assert result["counts"] == among.counts(r, records)
    for item, (value, variance) in zip(result["items"] + result["no_reading"], among.estimates(r, n, records), strict=True):
        assert item["value"] == pytest.approx(value, rel=1e-9, abs=1e-6)
        assert item["variance"] == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("row, shuffler", (("hashed", 0), ("cheu", 0), ("balcer-cheu", 0), ("hashed", 3000)))
def test_a_round_among_wide_dummies_and_its_estimates(cluster, row, shuffler):
    n = 1000
    cluster.configure(min_batch=500, max_epsilon0="inf", devices=n)
    if shuffler:
        with open(cluster.path("client-policy.conf"), "a") as f:
            f.write("accept_shuffler_dummies = true;\n")
    truth, _ = readings(cluster, n)
    keys = dict(KEYS[row], blanket="shuffler", shuffler_dummies=shuffler) if shuffler else KEYS[row]
    cluster.plan([histogram(n, protocol=row, **keys)], epsilon=10.0)
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["protocol"] == row and result["reports"] == n and result["bad"] == 0
    assert result["messages"] == (11 if row == "balcer-cheu" else 3) * n + shuffler and len(result["counts"]) == len(COLOURS) + 1
    for item in result["items"]:
        assert within(item, truth[item["label"]], step=2.5), (item, truth)
    export = cluster.run("analyzer", "ledger", "export")
    audit = subprocess.run([program("tombola-accountant"), "audit", "-"], capture_output=True, text=True,
                           input=export.stdout)
    assert audit.returncode == 0 and "audit passed" in audit.stdout, audit

def test_who_wants_a_local_guarantee_is_asked_for_no_hashed_value(cluster):
    cluster.configure(min_batch=100, max_epsilon0=5.0)
    readings(cluster, 200)
    cluster.plan([histogram(200, protocol="hashed", window="3s", **KEYS["hashed"])], epsilon=10.0)
    # The analyzer would say so before, if it asked.
    _, shuffler, _ = run_plan(cluster, analyzer_mutant="analyzer.fit")
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] for r in rounds] != ["settled"], rounds
    assert "epsilon0 inf is above max_epsilon0 5" in shuffler.log()
