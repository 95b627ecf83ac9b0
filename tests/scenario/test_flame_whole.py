"""FLAME's own size through real daemons: d = 7,850 coordinates, each in a message of its own, all of a device's in one frame."""
import json

import pytest

from chance import within
from cluster import EXIT
from test_classes import audited, batch
from test_rounds import run_plan

pytestmark = pytest.mark.heavy  # 8,000 messages of each device

D = 7850
N = 24
SIMPLE = {"query": "simple", "protocol": "ss-simple", "type": "vector", "field": "v", "dimension": D, "range": [0.0, 1.0], "levels": 2}


def held(i, j):
    return (i * (j % 7 + 1) + j) % 5 / 4


def asked(cluster, *rounds):
    cluster.configure(min_batch=N, devices=N, max_epsilon0="inf", epsilon=1000.0)
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write("accept_shuffler_dummies = true;\n")
    with open(cluster.path("readings.ndjson"), "w") as f:
        f.writelines(json.dumps({"device": f"d{i}", "v": [held(i, j) for j in range(D)]}) + "\n" for i in range(N))
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace("readings.csv", "readings.ndjson"))
    cluster.plan([batch(N, **r) for r in rounds], epsilon=99.0)


def test_every_coordinate_of_every_device_is_counted_once(cluster):
    asked(cluster, {**SIMPLE, "epsilon0": 0.01})
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == N and result["bad"] == result["duplicates"] == 0
    assert result["messages"] == N * D and len(result["items"]) == D and len(result["counts"]) == 2 * D
    for j, item in enumerate(result["items"]):
        assert sum(result["counts"][2 * j:2 * j + 2]) == N
        assert within(item, sum(held(i, j) for i in range(N)) / N), (j, item)
    audited(cluster)


def test_tops_of_a_tenth_of_the_coordinates(cluster):
    """k = 785 of 7,850: a device sends so many, and the shuffler evens the number of each coordinate."""
    keys = {k: v for k, v in SIMPLE.items() if k != "query"}
    asked(cluster, {**keys, "query": "topk", "protocol": "ss-topk", "size": 785, "dummies": 666, "epsilon0": 0.05})
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == N and result["bad"] == 0 and len(result["items"]) == D
    assert len({sum(result["counts"][2 * j:2 * j + 2]) for j in range(D)}) == 1


def test_more_than_a_frame_holds_is_refused(cluster):
    cluster.configure(min_batch=N, devices=N, max_epsilon0="inf", epsilon=1000.0)
    cluster.plan([batch(N, **{**SIMPLE, "dimension": 8193, "epsilon0": 0.01})], epsilon=99.0)
    refused = cluster.run("analyzer", "check-config")
    assert refused.returncode == EXIT["config"] and "8193" in refused.stdout + refused.stderr, refused
