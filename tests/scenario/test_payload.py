"""Payloads: public bytes that a round's map reads, given when the round is run, carried by the shuffler, checked by their hash.

Every round here asks how many devices have a number below and above an edge; the edge is the payload.  At epsilon0 16 a report
is another one by chance 1e-6: more than two of the 24 in a round are so in one round of 10^14, and a test fails from three on."""
import hashlib
import json
import os
import time

import maps
from cluster import EXIT, wait_for

N = 24
FETCH = 3  # seconds: what comes on this machine comes sooner, whatever else it does
SLACK = 2


def payload(edge):
    return maps.pack({"edges": [[float(edge)]]})


def step(**keys):
    """A round that counts, of each class, how many are below the edge."""
    return {"query": "below", "type": "marginals", "protocol": "marginals", "epsilon0": 16.0, "min_reports": N, "target": N,
            "columns": [{"field": "bin", "values": ["below", "above"]}, {"field": "class", "values": ["a", "b"]}],
            "marginals": [["bin", "class"]], "window": "1h", "payload": "later", "payload_max": 100_000,
            "compute": {"map": "statistics", "columns": ["v"], "label": "class"}, **keys}


class Steps:
    """A deployment with N devices: number i has v = i, and class a if i is even."""

    def __init__(self, cluster, steps=3, fetch=FETCH, policy="", rounds=None, **keys):
        self.cluster = cluster
        cluster.configure(min_batch=N, epsilon=100.0, devices=N)
        for name, text in (("client.conf", f'fetch = "{int(fetch * 1000)}ms";\n'), ("client-policy.conf", policy)):
            with open(cluster.path(name), "a") as f:
                f.write(text)
        with open(cluster.path("readings.csv"), "w") as f:
            f.write("device,v,class\n" + "".join(f"d{i},{i},{'ab'[i % 2]}\n" for i in range(N)))
        cluster.plan(rounds or [step(repeat=steps, **keys)], epsilon=95.0)
        self.daemons = {}

    def start(self, *parties):
        for p in parties or ("shuffler", "client"):
            self.daemons[p] = self.cluster.start(p, "run")
            if p == "shuffler":
                self.cluster.wait_listening()
        return self

    def write(self, data):
        with open(self.cluster.path("payload"), "wb") as f:
            f.write(data)
        return self.cluster.path("payload")

    def run(self, n, data=None, *more, **keys):
        args = () if data is None else ("--payload", self.write(data))
        return self.cluster.run("analyzer", "round", "run", f"below#{n}", *args, *more, **keys)

    def settle(self, n, edge):
        done = self.run(n, payload(edge))
        assert done.returncode == 0, done.stdout + done.stderr
        self.is_of(n, edge)

    def rounds(self):
        return self.cluster.json("analyzer", "round", "list")["rounds"]

    def counts(self, n):
        result = self.cluster.json("analyzer", "round", "show", f"below#{n}")["result"]
        assert result["messages"] == N == sum(result["counts"]) and result["duplicates"] == 0, result
        return result["counts"]

    def is_of(self, n, edge):
        """The round counted with this edge."""
        want = [0] * 9
        for i in range(N):
            want[3 * (i > edge) + i % 2] += 1
        got = self.counts(n)
        assert sum(abs(a - b) for a, b in zip(got, want)) <= 2 * SLACK, (got, want)

    def is_of_none(self, n):
        """Nobody had a value in the round."""
        got = self.counts(n)
        assert got[8] >= N - SLACK, got

    def files(self, party):
        folder = self.cluster.path(party, "payloads")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def no_files(self):
        wait_for("the payloads to be erased", lambda: not any(self.files(p) for p in ("client", "shuffler", "analyzer")))


def test_each_step_is_computed_with_the_payload_that_it_was_given(cluster):
    s = Steps(cluster).start()
    listed = cluster.run("analyzer", "round", "list").stdout
    assert "3 rounds wait for a payload; the next: round run below#1 --payload FILE" in listed, listed
    # The daemon never starts them by itself.
    once = cluster.run("analyzer", "run", "--once")
    assert once.returncode == 0 and [r["stage"] for r in s.rounds()] == ["planned"] * 3, once.stderr
    edges = {1: 4.5, 2: 20.5, 3: 11.5}
    for n, edge in edges.items():
        s.settle(n, edge)
        r = s.rounds()[n - 1]
        assert r["payload_hash"] == hashlib.sha256(payload(edge)).hexdigest() and r["payload_bytes"] == len(payload(edge))
    assert [r["waits_for_payload"] for r in s.rounds()] == [False] * 3
    s.no_files()
    assert "payload" not in s.daemons["client"].log()
    # What was answered is answered.
    assert s.run(1, payload(7)).returncode == 0
    s.is_of(1, 4.5)


def test_what_cannot_be_the_payload_is_refused_before_anything_is_spent(cluster):
    s = Steps(cluster, rounds=[step(repeat=2), {"query": "plain", "type": "mean", "field": "v", "epsilon0": 1.0,
                                                 "min_reports": N, "range": [0.0, 24.0], "window": "1h"}])
    bad = {"empty": (b"", "1 to 100000"), "no payload at all": (b"TOMBOLA!" * 4, ""), "cut": (payload(3)[:-1], ""),
           "longer": (payload(3) + b"\0\0\0\0", ""), "not a number": (maps.pack({"edges": [[float("nan")]]}), ""),
           "infinite": (maps.pack({"edges": [[float("inf")]]}), ""), "another name": (maps.pack({"edge": [[1.0]]}), ""),
           "another shape": (maps.pack({"edges": [[1.0, 2.0]]}), ""), "too long": (b"x" * 100_001, "1 to 100000")}
    for kind, (data, words) in bad.items():
        run = s.run(1, data)
        assert run.returncode == EXIT["data"] and run.stderr.count("\n") == 1 and words in run.stderr, (kind, run)
        assert "below#1" in run.stderr or "round 1" in run.stderr, (kind, run.stderr)
    with open(cluster.path("payload"), "wb") as f:
        f.truncate((16 << 20) + 1)
    run = cluster.run("analyzer", "round", "run", "below#1", "--payload", cluster.path("payload"))
    assert run.returncode == EXIT["data"], run
    run = cluster.run("analyzer", "round", "run", "below#1", "--payload", cluster.path("nowhere"))
    assert run.returncode == EXIT["noinput"], run
    run = s.run(1)
    assert run.returncode == EXIT["usage"] and "waits for its payload: --payload FILE" in run.stderr, run
    run = cluster.run("analyzer", "round", "run", "3", "--payload", s.write(payload(1)))
    assert run.returncode == EXIT["usage"] and "has no payload" in run.stderr, run
    # Nothing was written: no plan is pinned, no slice is taken.
    assert cluster.json("analyzer", "ledger", "verify")["seq"] == 0
    assert not s.files("analyzer")


def test_a_payload_of_sixteen_mebibytes(cluster):
    """A tree that is a chain: left is a leaf, right the next node.  It is longer than any other thing that is fetched."""
    nodes = (1 << 20) - 16
    tree = maps.pack({"feature": [0] * nodes, "threshold": [float(i) + 0.5 for i in range(nodes)],
                      "left": [-1 if i < 9 else -2 for i in range(nodes)],
                      "right": [*range(1, nodes), -2], "edges": [[11.5]]})
    assert (16 << 20) - 1024 < len(tree) <= 16 << 20
    s = Steps(cluster, fetch=20, rounds=[step(
        repeat=1, payload_max=16 << 20, compute={"map": "tree-path", "columns": ["v"], "label": "class"}, marginals=[["leaf", "bin", "class"]],
        columns=[{"field": "leaf", "values": ["low", "high"]}, {"field": "bin", "values": ["below", "above"]},
                 {"field": "class", "values": ["a", "b"]}])])
    s.start()
    began = time.monotonic()
    run = cluster.run("analyzer", "round", "run", "1", "--payload", s.write(tree), seconds=300)
    assert run.returncode == 0, run.stdout + run.stderr
    counts = cluster.json("analyzer", "round", "show", "1")["result"]["counts"]
    assert abs(sum(counts[:9]) - 9) <= SLACK and abs(sum(counts[9:18]) - (N - 9)) <= SLACK, counts
    print(f"{time.monotonic() - began:.1f} s")
    s.no_files()
