"""Blanket messages that the shuffler adds: what they cost and hide, and who refuses when they are not as prescribed."""
import json
import os
import subprocess

import pytest

import cluster as c
from chance import within
from cluster import EXIT
from parties import Shuffler
from test_attacks import Descriptors, colours, send
from test_rounds import COLOURS, readings, run_plan

ADDED = 16000
POLICY = """population = "test";
max_epsilon = 50.0;
delta = 1e-6;
min_batch = 2;
max_epsilon0 = "inf";
honest_fraction = 1.0;
colluders = 0;
accept_shuffler_dummies = {accept};
"""


def bins(n, **kw):
    return {"query": "colour", "type": "histogram", "protocol": "bins", "field": "colour", "epsilon0": "inf",
            "blanket": "shuffler", "shuffler_dummies": ADDED, "min_reports": n, "target": n, "values": COLOURS,
            "window": "2m", **kw}


def configure(cluster, n, accept="true"):
    cluster.configure(min_batch=2, max_epsilon0="inf", devices=n, client_policy=POLICY.format(accept=accept))


def test_a_histogram_and_a_mean_among_messages_of_the_shuffler(cluster):
    n = 2000
    configure(cluster, n)
    truth, mean = readings(cluster, n)
    cluster.plan([bins(n), {"query": "celsius", "type": "mean", "protocol": "levels", "field": "celsius",
                            "epsilon0": 3.0, "range": [0.0, 40.0], "levels": 9, "blanket": "shuffler",
                            "shuffler_dummies": 3000, "min_reports": n, "target": n, "window": "2m"}], epsilon=4.0)
    rests = f"rests on the shuffler adding {ADDED} messages"
    cost = subprocess.run([c.program("tombola"), "plan", "cost", cluster.path("plan.conf")], capture_output=True,
                          text=True, check=True)
    assert rests in cost.stdout, cost.stdout
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == n and result["bad"] == result["duplicates"] == 0
    assert result["messages"] == sum(result["counts"]) == n + ADDED
    assert result["shuffler_dummies"] == ADDED
    for item in result["items"]:
        # Dummies in a bin: Binomial(16000, 1/5), one bin for devices without a reading.
        assert abs(item["variance"] / 2560 - 1) < 1e-9
        assert within(item, truth[item["label"]], step=1), (item, truth)
    item, = cluster.json("analyzer", "estimate", "celsius")["items"]
    assert within(item, mean), (item, mean)
    second = cluster.json("analyzer", "round", "show", "2")["result"]
    assert second["reports"] == n and second["messages"] == n + 3000
    for verb in (("budget",), ("round", "list")):
        assert rests in cluster.run("analyzer", *verb).stdout, verb
    assert "rests on the shuffler" in cluster.run("analyzer", "round", "show", "1").stdout
    # The charge is that of as many dummies, and of nobody's else.
    spec = subprocess.run([c.program("tombola-accountant"), "epsilon", "--delta", "1e-6", "--round",
                           f"bins:k=5,dummies={ADDED}", "--json"], capture_output=True, text=True, check=True)
    assert abs(result["epsilon_round"] / json.loads(spec.stdout)["epsilon_upper"] - 1) < 1e-9
    export = cluster.run("analyzer", "ledger", "export").stdout
    assert [json.loads(x)["shuffler_dummies"] for x in export.splitlines() if '"account"' in x] \
        == [ADDED, 3000, ADDED, ADDED, 3000, 3000]  # two entries; each reserved, and charged
    audit = subprocess.run([c.program("tombola-accountant"), "audit", "-"], input=export, capture_output=True,
                           text=True)
    assert audit.returncode == 0 and "audit passed" in audit.stdout, audit
    client.stop()
    shuffler.stop()
    assert f'"shuffler_dummies":{ADDED}' in client.log() and f'"shuffler_dummies":{ADDED}' in shuffler.log()
    assert not os.listdir(cluster.path("shuffler", "keys"))


def test_killed_while_it_adds_them_the_shuffler_goes_on_where_it_was(cluster):
    n, added = 50, 20000
    configure(cluster, n)
    readings(cluster, n)
    cluster.plan([bins(n, shuffler_dummies=added)], epsilon=4.0)
    cluster.relayed()
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once")

    cluster.killed_at(shuffler, 400000, 1000000)
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["reports"] == n and result["messages"] == sum(result["counts"]) == n + added
    assert result["bad"] == result["duplicates"] == 0
    client.stop()


@pytest.fixture
def fake(cluster):
    configure(cluster, 40, "false")
    made = Shuffler(cluster)
    yield made
    made.close()


def test_a_client_that_does_not_trust_the_shufflers_messages_refuses(cluster, fake):
    d, _ = Descriptors(cluster).offer(fake, target=4, shuffler_dummies=ADDED)
    run = send(cluster)
    assert run.returncode == EXIT["permission"] and not fake.received, (run.returncode, run.stderr)
    assert f"rests on the shuffler adding {ADDED} messages" in run.stderr and "accept_shuffler_dummies" in run.stderr
    dry = cluster.run("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field", "device")
    assert "would refuse" in dry.stdout and "are not counted" in dry.stdout, (dry.stdout, dry.stderr)
    configure(cluster, 40, "true")
    dry = cluster.run("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field", "device")
    assert "would take part" in dry.stdout and f"rests on the shuffler adding {ADDED} messages" in dry.stdout
    configure(cluster, 40, "false")
    cluster.reset_client()
    run = send(cluster, 4, "client.policy.shuffler_dummies")
    assert fake.received, run.stderr


class Miser(Shuffler):
    """Adds fewer than prescribed, and says so."""

    def dummies(self, d, data):
        return super().dummies(d, data)[10:]


@pytest.mark.parametrize("removed", [False, True])
def test_the_analyzer_refuses_a_manifest_with_other_dummies(cluster, removed):
    n = 40
    configure(cluster, n)
    cluster.plan([bins(n, shuffler_dummies=200)], epsilon=10.0)
    fake = Miser(cluster)
    try:
        cluster.start("client", "send", colours(cluster, n), "--device-field", "device", "--wait", "2m")
        run = cluster.run("analyzer", "round", "run", "1", mutant="round.manifest.dummies" if removed else "")
    finally:
        fake.close()
    if removed:
        result = cluster.json("analyzer", "round", "show", "1")["result"]
        assert result["messages"] == n + 190, "without the check the round should have been charged"
        missed = n - sum(i["value"] for i in result["items"] + result["no_reading"])
        assert abs(missed - 10) < 1e-6, "and 10 devices taken for messages of the shuffler"
    else:
        assert run.returncode != 0 and "dummies: 190, the descriptor prescribes 200" in run.stderr, run.stderr
        assert cluster.json("analyzer", "round", "list")["rounds"][0]["stage"] == "reserved"


def test_a_shuffler_that_adds_none_is_noticed(cluster):
    n = 40
    configure(cluster, n)
    cluster.plan([bins(n, shuffler_dummies=200)], epsilon=10.0)
    readings(cluster, n)
    cluster.start("shuffler", "run", mutant="shuffler.dummies")
    cluster.wait_listening()
    cluster.start("client", "run")
    run = cluster.run("analyzer", "round", "run", "1")
    assert run.returncode != 0 and "dummies: 0, the descriptor prescribes 200" in run.stderr, run.stderr
