"""Noise of the shuffler: how many messages of each bin it adds is drawn; what that costs, hides and answers."""
import json
import math
import subprocess

import pytest

import cluster as c
from cluster import EXIT
from test_attacks import send
from test_blanket import configure
from test_rounds import COLOURS, readings, run_plan

pytestmark = pytest.mark.heavy

DELTA = 1e-6


def plan_round(n, epsilon=1.0, **kw):
    return {"query": "colour", "type": "histogram", "protocol": "bins", "field": "colour", "epsilon0": "inf",
            "blanket": "shuffler", "shuffler_noise": "laplace", "epsilon": epsilon, "min_reports": n, "target": n,
            "values": COLOURS, "window": "2m", **kw}


def law(epsilon, delta):
    """mean and chances of a bin's dummies, by their definition."""
    a, mean = math.exp(-epsilon / 2), 0
    while True:
        mean += 1
        total = 1 + 2 * sum(a ** i for i in range(1, mean + 1))
        if 2 * a ** mean / total <= delta:
            return mean, [a ** abs(i - mean) / total for i in range(2 * mean + 1)]


def test_a_histogram_with_noise_of_the_shuffler(cluster):
    n = 400
    configure(cluster, n)
    truth, _ = readings(cluster, n)
    cluster.plan([plan_round(n)], epsilon=2.0)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    mean, chance = law(1.0, DELTA / 64)
    assert result["shuffler_noise_mean"] == mean
    assert result["participants"] == result["reports"] == n and result["bad"] == result["duplicates"] == 0
    assert result["messages"] == sum(result["counts"]) == n + result["shuffler_dummies"]
    variance = sum(p * (i - mean) ** 2 for i, p in enumerate(chance))
    for item, count in zip(result["items"], result["counts"]):
        assert abs(item["variance"] / variance - 1) < 1e-9
        assert item["value"] == count - mean and 0 <= count - truth[item["label"]] <= 2 * mean
    # Two binary responses of epsilon 1/2, but for the chance that an end was drawn.
    assert 0.99 < result["epsilon_round"] < 1.001
    spent = cluster.json("analyzer", "budget")["entries_epsilon"]
    assert abs(spent - result["epsilon_round"]) < 1e-9
    most = 2 * mean * (len(COLOURS) + 1)
    for verb in (("budget",), ("round", "list")):
        assert f"rests on the shuffler adding up to {most} messages" in cluster.run("analyzer", *verb).stdout, verb
    export = cluster.run("analyzer", "ledger", "export").stdout
    assert [json.loads(x)["noise_mean"] for x in export.splitlines() if '"account"' in x] == [mean] * 3
    audit = subprocess.run([c.program("tombola-accountant"), "audit", "-"], input=export, capture_output=True,
                           text=True)
    assert audit.returncode == 0 and "audit passed" in audit.stdout, audit
    client.stop()
    shuffler.stop()
    assert f'"shuffler_dummies":{most}' in client.log()


def test_killed_while_it_adds_noise_the_shuffler_adds_what_it_drew(cluster):
    n = 50
    configure(cluster, n)
    truth, _ = readings(cluster, n)
    cluster.plan([plan_round(n, epsilon=0.01)], epsilon=4.0)
    cluster.relayed()
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once")

    cluster.killed_at(shuffler, 300000, 600000)
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["reports"] == n and result["messages"] == sum(result["counts"]) == n + result["shuffler_dummies"]
    for item in result["items"]:
        # P(|Z| >= z) = 2 a^z / (1 + a), a = e^-0.005: 1e-13 for each of them.
        assert abs(item["value"] - truth[item["label"]]) < 30 / 0.005
    client.stop()


def test_a_client_that_does_not_trust_the_shufflers_noise_refuses(cluster):
    configure(cluster, 4, "false")
    cluster.plan([plan_round(4, window="8s")], epsilon=4.0, tries=1)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    run = send(cluster)
    assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
    assert "rests on the shuffler adding up to" in run.stderr and "accept_shuffler_dummies" in run.stderr
    analyzer.wait()
    shuffler.stop()
    assert cluster.json("analyzer", "round", "show", "1")["stage"] == "void"


def test_auto_takes_noise_where_the_shuffler_is_trusted(cluster):
    n = 200
    configure(cluster, n)
    truth, _ = readings(cluster, n)
    chosen = plan_round(n, protocol="auto")
    del chosen["shuffler_noise"]
    cluster.plan([chosen], epsilon=2.0)
    cost = subprocess.run([c.program("tombola"), "plan", "cost", "--json", cluster.path("plan.conf")],
                          capture_output=True, text=True, check=True)
    planned, = json.loads(cost.stdout)["rounds"]
    assert planned["protocol"] == "bins" and planned["shuffler_noise_mean"] > 0 and planned["messages"] == 1
    assert abs(planned["expected_error"] - 2.8) < 0.05
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["shuffler_noise_mean"] == planned["shuffler_noise_mean"]
    for item in result["items"]:
        assert abs(item["value"] - truth[item["label"]]) <= planned["shuffler_noise_mean"]
