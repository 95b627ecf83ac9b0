"""Protocol "auto": chosen before anybody is asked, then a round like any other."""
import json
import os
import subprocess

import pytest

from chance import within
from cluster import EXIT, program, wait_for
from test_rounds import COLOURS, readings, run_plan

pytestmark = pytest.mark.heavy


def cost(cluster, *args):
    run = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf"), *args], capture_output=True,
                         text=True, timeout=180)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_rounds_of_protocol_auto(cluster):
    n = 2000
    cluster.configure(min_batch=n, max_epsilon0=6.0, devices=n, epsilon=1.0)
    truth, mean = readings(cluster, n)
    common = {"protocol": "auto", "epsilon0": 6.0, "min_reports": n, "target": n, "window": "2m"}
    cluster.plan([
        {"query": "colour", "type": "histogram", "field": "colour", "values": COLOURS, **common},
        {"query": "celsius", "type": "mean", "field": "celsius", "range": [0.0, 40.0], "epsilon": 0.4,
         "max_bytes": 300, **common},
    ], epsilon=0.99)
    planned = json.loads(cost(cluster, "--json"))
    colour, celsius = planned["rounds"]
    assert colour["auto"] and colour["fits"] and celsius["fits"] and celsius["epsilon_round"] < 0.4
    assert colour["max_bytes"] == 16384 and celsius["bytes"] <= 300
    assert colour["why"].startswith(f"{colour['protocol']} (epsilon0 ") and " binds" in colour["why"]
    assert 0.9 < planned["epsilon_total"] < 0.99
    text = cost(cluster)
    assert f"auto: {colour['protocol']}" in text and colour["why"] in text and "2 of 2 rounds fit" in text

    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    for number, chosen in ((1, colour), (2, celsius)):
        shown = cluster.json("analyzer", "round", "show", str(number))
        result = shown["result"]
        # The peers were told a row and its parameters, nothing else.
        assert result["protocol"] == chosen["protocol"] != "auto"
        assert result["participants"] == n and result["messages"] == n * chosen["messages"]
        for item in result["items"]:
            assert within(item, truth[item["label"]], step=2.5) if number == 1 else within(item, mean), (item, truth, mean)
            assert item["variance"] ** 0.5 < 2.5 * chosen["expected_error"]
    budget = cluster.json("analyzer", "budget")
    assert abs(budget["entries_epsilon"] / planned["epsilon_total"] - 1) < 1e-3


def test_auto_may_count_on_a_shuffler_that_is_trusted_to_add(cluster):
    n = 1000
    cluster.configure(min_batch=n, max_epsilon0=6.0, devices=n)
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write("accept_shuffler_dummies = true;\n")
    truth, _ = readings(cluster, n)
    cluster.plan([{"query": "colour", "type": "histogram", "field": "colour", "values": COLOURS, "protocol": "auto",
                   "epsilon0": 6.0, "blanket": "shuffler", "min_reports": n, "target": n, "window": "2m"}])
    chosen, = json.loads(cost(cluster, "--json"))["rounds"]
    assert chosen["protocol"] == "mixbins" and chosen["messages"] == 1 and chosen["shuffler_dummies"] > 0
    assert "rests on the shuffler adding" in cost(cluster)
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["messages"] == n + chosen["shuffler_dummies"]
    for item in result["items"]:
        assert within(item, truth[item["label"]], step=2.5), (item, truth)


def test_a_plan_that_auto_cannot_serve_is_refused_with_its_line(cluster):
    cluster.configure(min_batch=100)
    readings(cluster, 100)
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "auto", "field": "colour", "values": COLOURS,
                   "epsilon0": 2.0, "max_bytes": 50, "min_reports": 100, "window": "2m"}])
    run = cluster.run("analyzer", "check-config")
    assert run.returncode == EXIT["config"]
    assert "plan.conf:5: auto: max_bytes 50 is less than one sealed message: at least 64 are needed" in run.stderr


def test_what_was_chosen_is_kept_beside_the_ledger_and_never_trusted(cluster):
    n = 500
    cluster.configure(min_batch=n, max_epsilon0=6.0, devices=n)
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "auto", "field": "colour", "epsilon0": 6.0,
                   "min_reports": n, "target": n, "values": COLOURS}], epsilon=0.9)
    os.rmdir(cluster.path("analyzer"))

    def said():
        run = cluster.run("analyzer", "round", "list", "--json")
        assert run.returncode == 0 and cluster.run("analyzer", "check-config").returncode == 0, run
        return json.loads(run.stdout)["rounds"]

    def run_and_stop():
        d = cluster.start("analyzer", "run")
        wait_for("the analyzer to run", lambda: '"analyzer started"' in d.log()[at:])
        d.stop()
        with open(kept, "rb") as f:
            return f.read()

    kept, at = cluster.path("analyzer", "auto"), 0
    first = said()
    assert not os.path.exists(cluster.path("analyzer")), "a verb that reads makes nothing"
    good = run_and_stop()
    assert said() == first and os.stat(kept).st_mode & 0o777 == 0o600
    for bad in (b"", good[:-1], good[:100] + bytes([good[100] ^ 1]) + good[101:]):
        cluster.write("analyzer/auto", "")
        with open(kept, "wb") as f:
            f.write(bad)
        assert said() == first
        with open(kept, "rb") as f:
            assert f.read() == bad, "a verb that reads writes nothing"
        at = os.path.getsize(cluster.path("analyzer.log"))
        assert run_and_stop() == good
