"""Devices that choose their own guarantee, and coordinates that the shuffler evens: rounds whose messages have tags."""
import json
import os
import random
import re
import shutil
import subprocess
from collections import Counter

import pytest

from chance import margin, within
from cluster import program
from test_rounds import run_plan
from test_structured import audited, batch

pytestmark = pytest.mark.heavy


def second_client(cluster, path, devices, max_epsilon0):
    """Another gateway with readings and a policy of its own; its configuration."""
    shutil.copytree(os.path.join(cluster.pki, "client"), os.path.join(cluster.pki, "other"))
    for f in ("client.crt", "client.key"):
        os.unlink(os.path.join(cluster.pki, "other", f))
    run = subprocess.run([program("tombola"), "pki", "issue", cluster.pki, "other", "--role", "client", "--devices",
                          str(devices), "--out", os.path.join(cluster.pki, "other")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    os.mkdir(cluster.path("other"), 0o700)
    client_wants(cluster, max_epsilon0, "other-policy.conf")
    with open(cluster.path("client.conf")) as f:
        conf = f.read()
    conf = (re.sub('path = "[^"]*"', f'path = "{path}"', conf).replace("client-policy.conf", "other-policy.conf")
            .replace('state_dir = "client"', 'state_dir = "other"').replace("pki/client/client.", "pki/other/other.")
            .replace(f":{cluster.http['client']}", ":0"))
    return cluster.write("other.conf", conf)


def client_wants(cluster, max_epsilon0, name="client-policy.conf"):
    with open(cluster.path("client-policy.conf")) as f:
        text = f.read()
    cluster.write(name, "\n".join(line if not line.startswith("max_epsilon0") else
                                   f"max_epsilon0 = {max_epsilon0};" for line in text.split("\n")))


def readings(n, seed, weights):
    rng = random.Random(seed)
    return [(f"dev{seed}-{i}", f"c{rng.choices(range(3), weights)[0]}", min(max(rng.gauss(30 + 10 * weights[0], 8), 0), 99))
            for i in range(n)]


def write(cluster, rows, path="readings.csv"):
    cluster.write(path, "device,colour,celsius\n" + "".join(f"{d},{c},{t:.3f}\n" for d, c, t in rows))


CLASSES = [{"epsilon0": 1.0, "least": 1000}, {"epsilon0": 3.0, "least": 1000}]


def test_two_gateways_choose_their_guarantees(cluster):
    n = 1200
    cluster.configure(min_batch=1000, devices=n, max_epsilon0=5.0)
    wary, frank = readings(n, 1, (8, 1, 1)), readings(n, 2, (1, 4, 5))
    write(cluster, frank)
    write(cluster, wary, "other-readings.csv")
    other = second_client(cluster, "other-readings.csv", n, 2.0)
    colours = {"field": "colour", "values": ["c0", "c1", "c2"], "type": "histogram", "classes": CLASSES, "epsilon0": 3.0}
    number = {"field": "celsius", "range": [0.0, 100.0], "type": "mean", "levels": 3, "classes": CLASSES, "epsilon0": 3.0}
    cluster.plan([batch(2 * n, query="apart", protocol="gspa-classes", **colours),
                  batch(2 * n, query="pooled", protocol="gspa-pooled", **colours),
                  batch(2 * n, query="mean-apart", protocol="gspa-classes", **number),
                  batch(2 * n, query="mean-pooled", protocol="gspa-pooled", **number)], epsilon=30.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    second = subprocess.Popen([program("tombola-client"), "--config", other, "run"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        run = cluster.run("analyzer", "run", "--once")
        assert run.returncode == 0, run.stderr
    finally:
        second.terminate()
        log = second.communicate(timeout=180)[1]
    truth = Counter(r[1] for r in wary + frank)
    mean = sum(r[2] for r in wary + frank) / (2 * n)
    apart = cluster.json("analyzer", "round", "show", "1")["result"]
    assert apart["messages"] == 2 * n and apart["reports"] == 2 * n
    # Each gateway's devices are in the class that its policy allows.
    assert sum(apart["counts"][:4]) == n and sum(apart["counts"][4:]) == n, log
    nobody, = apart["no_reading"]
    assert within(nobody, 0, step=4)
    for item in apart["items"]:
        assert within(item, truth[item["label"]], step=4) and "bias_bound" not in item
    pooled = cluster.json("analyzer", "round", "show", "2")["result"]
    assert pooled["messages"] == 4 * n and pooled["counts"][4:] == [n, n]
    off = 0
    for item in pooled["items"]:
        slack = margin(item["variance"], step=4)
        assert abs(item["value"] - truth[item["label"]]) < item["bias_bound"] + slack, (item, truth)
        # The truth is three deviations within an end: an end that is not moved out is passed by chance once in a thousand.
        assert item["lower"] - slack <= truth[item["label"]] <= item["upper"] + slack, (item, truth)
        off = max(off, abs(item["value"] - truth[item["label"]]) / item["variance"] ** 0.5)
    # What the wary ones hold is underestimated, and it shows: by eleven deviations of a thousand devices.
    assert off > 3 and "paper value (not a guarantee)" in pooled["statement"]
    item, = cluster.json("analyzer", "estimate", "mean-apart")["items"]
    assert within(item, mean)
    item, = cluster.json("analyzer", "estimate", "mean-pooled")["items"]
    assert item["lower"] <= mean <= item["upper"]
    text = cluster.run("analyzer", "estimate", "pooled").stdout
    assert "may be off by up to" in text and "not a guarantee" in text
    audited(cluster)


def test_a_class_that_lacks_participants_makes_the_round_void(cluster):
    n = 1200
    cluster.configure(min_batch=1000, devices=n, max_epsilon0=5.0)
    write(cluster, readings(n, 2, (1, 4, 5)))
    cluster.plan([batch(1000, query="apart", protocol="gspa-classes", field="colour", values=["c0", "c1", "c2"],
                        type="histogram", classes=CLASSES, epsilon0=3.0) | {"target": 2000, "window": "10s"}],
                 epsilon=30.0, tries=1)
    run, _, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    assert entry["stage"] == "void" and "of class 1" in entry["reason"], entry


def test_who_wants_more_than_any_class_gives_takes_no_part(cluster):
    n = 1200
    cluster.configure(min_batch=100, devices=n)
    client_wants(cluster, 0.5)
    write(cluster, readings(n, 2, (1, 4, 5)))
    cluster.plan([batch(100, query="apart", protocol="gspa-classes", field="colour", values=["c0", "c1", "c2"],
                        type="histogram", classes=CLASSES, epsilon0=3.0) | {"target": 2000, "window": "3s"}],
                 epsilon=30.0, tries=1)
    run, shuffler, client = run_plan(cluster)
    assert "epsilon0 1 is above max_epsilon0 0.5" in client.log()
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    assert entry["stage"] == "void"


# ---- vectors ----

D = 6


def vectors(cluster, n, seed=4):
    """Two coordinates far out, which differ from device to device."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        v = [0.5 + rng.uniform(-0.05, 0.05) for _ in range(D)]
        for j in rng.sample(range(D), 2):
            v[j] = rng.choice((0.9, 0.95, 0.1)) if j else 0.9
        rows.append(v)
    with open(cluster.path("readings.ndjson"), "w") as f:
        f.writelines(json.dumps({"device": f"d{i}", "v": v}) + "\n" for i, v in enumerate(rows))
    conf = cluster.path("client.conf")
    with open(conf) as f:
        text = f.read()
    cluster.write("client.conf", text.replace("readings.csv", "readings.ndjson"))
    return rows


def test_flame_evened_by_the_shuffler(cluster):
    n = 900
    cluster.configure(min_batch=500, devices=n, max_epsilon0="inf")
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write("accept_shuffler_dummies = true;\n")
    rows = vectors(cluster, n)
    v = {"type": "vector", "field": "v", "dimension": D, "range": [0.0, 1.0], "epsilon0": 4.0}
    cluster.plan([batch(n, query="simple", protocol="ss-simple", levels=3, **v),
                  batch(n, query="double", protocol="ss-double", levels=3, slots=2, **v),
                  batch(n, query="double-full", protocol="ss-double", levels=2, slots=3, padded=400, **v),
                  batch(n, query="topk", protocol="ss-topk", levels=3, size=2, dummies=1, **v)], epsilon=45.0)
    run, shuffler, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    mean = [sum(r[j] for r in rows) / n for j in range(D)]
    chosen = [[x if j in sorted(range(D), key=lambda k: -abs(r[k] - 0.5))[:2] else 0.5 for j, x in enumerate(r)] for r in rows]
    top = [sum(r[j] for r in chosen) / n for j in range(D)]
    for number, truth, each in ((1, mean, None), (2, mean, None), (3, mean, 400), (4, top, n)):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["participants"] == result["reports"] == n and result["bad"] == 0
        assert len(result["items"]) == D and "statement" in result
        if each is None:
            each = 1 + int(n / 3 + 6 * (n / 3) ** 0.5 + 0.999999) if number == 2 else n
        bins = len(result["counts"]) // D
        for j in range(D):
            # The analyzer sees the same number of messages of every coordinate.
            assert sum(result["counts"][j * bins:(j + 1) * bins]) == each
            assert within(result["items"][j], truth[j]), (number, j, result["items"][j], truth[j])
    rounds = {r["query"]: r for r in cluster.json("analyzer", "round", "list")["rounds"]}
    assert "not a guarantee" in cluster.json("analyzer", "round", "show", "2")["result"]["statement"]
    assert "no differential privacy" in cluster.json("analyzer", "round", "show", "4")["result"]["statement"]
    assert len(rounds) == 4
    # The fourth is of other vectors than the devices have, which the answer and the plan say.
    said = "the mean of what was sent: of each vector the 2 coordinates furthest from the middle of the range, and 0.5 for all others"
    estimands = [cluster.json("analyzer", "round", "show", str(k))["result"]["estimand"] for k in (1, 2, 3, 4)]
    assert [said in e for e in estimands] == [False, False, False, True], estimands
    assert said in cluster.run("analyzer", "estimate", "topk").stdout
    cost = [program("tombola"), "plan", "cost", cluster.path("plan.conf")]
    text = subprocess.run(cost, capture_output=True, text=True, check=True).stdout
    assert text.count(" estimates: ") == 1 and f"round 4 (topk) estimates: {said}" in text, text
    asked = json.loads(subprocess.run([*cost, "--json"], capture_output=True, text=True, check=True).stdout)["rounds"]
    assert ["estimand" in r for r in asked] == [False, False, False, True]
    audited(cluster)


def test_chosen_coordinates_are_sent_only_by_who_agrees(cluster):
    n = 300
    cluster.configure(min_batch=100, devices=n, max_epsilon0="inf")
    client_wants(cluster, 50.0)
    vectors(cluster, n)
    cluster.plan([batch(100, query="topk", protocol="ss-topk", type="vector", field="v", dimension=D, range=[0.0, 1.0],
                        epsilon0=4.0, size=2) | {"window": "3s"}], epsilon=45.0, tries=1)
    run, _, client = run_plan(cluster)
    assert "epsilon0 inf is above max_epsilon0 50" in client.log(), client.log()
