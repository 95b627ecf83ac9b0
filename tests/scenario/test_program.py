"""compute = "program": a program of the client's host computes each device's value, in a cell.

Every device's reading is 1, and the program (tests/programs/misbehaves.c) answers 1; it answers -1 where it succeeds in what its
payload tells it to try.  At epsilon0 16 an answer is turned once in 10^7 times, and a device that is NONE answers 1 or -1 at random:
N devices of which all but two say 1 are so by chance in one round of 10^10."""
import hashlib
import json
import os
import re
import signal
import struct

import pytest

import cluster as c
import maps
from cluster import EXIT, wait_for
from test_payload import Withheld, harvest

N = 48
SECONDS = 4.0  # of a device; all are computed at once, beside whatever else this machine does
MISBEHAVES = os.path.join(c.BUILD, "tests", "misbehaves")
SLACK = 2
NONE_LEAST = 2  # of N that say 1 or -1 at random fewer than these, or N - SLACK and more, say 1 once in 10^10
NO_ANSWER = ("hang", "spin", "late", "exit", "crash", "short", "long", "fails", "nan", "infinite")


def digest(path=MISBEHAVES):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def entry(repeat=1, program=None, seconds=SECONDS, payload_max=100, dimension=2, **keys):
    return {"query": "step", "type": "vector", "protocol": "words", "dimension": dimension, "range": [-1.0, 1.0], "epsilon0": 16.0,
            "slots": 1, "size": 2, "min_reports": N, "target": N, "window": "1h", "repeat": repeat, "payload": "later",
            "payload_max": payload_max, "compute": {"map": "program", "columns": ["v", "z", "w"], "seconds": seconds,
                                                    "program": "sha256:" + (program or digest())}, **keys}


def allow(cluster, programs=((MISBEHAVES, None),), isolate=True, at_once=N, isolation="weak", more=""):
    """Programs that the client's owner agreed to.  A machine that runs tests may isolate less: what is tested then is what it gives."""
    listed = ", ".join(f'{{ file = "{path}"; sha256 = "{want or digest(path)}"; }}' for path, want in programs)
    with open(cluster.path("client.conf"), "a") as f:
        f.write(f'fetch = "300ms";\nprograms = {{ allow = ( {listed} ); isolate = {json.dumps(isolate)}; isolation = "{isolation}"; '
                f"at_once = {at_once}; {more} }};\n")


class Rounds:
    def __init__(self, cluster, entries, what=lambda i: 100):
        self.cluster = cluster
        cluster.configure(min_batch=N, epsilon=1000.0, max_epsilon0="inf", devices=N)
        with open(cluster.path("readings.csv"), "w") as f:
            f.write("device,v,z,w\n" + "".join(f"d{i},1,0,{what(i)}\n" for i in range(N)))
        cluster.plan(entries, epsilon=99.0)

    def start(self, **keys):
        self.shuffler = self.cluster.start("shuffler", "run")
        self.cluster.wait_listening()
        self.client = self.cluster.start("client", "run", **keys)
        return self

    def run(self, n, payload):
        with open(self.cluster.path("payload"), "wb") as f:
            f.write(payload.encode() if isinstance(payload, str) else payload)
        return self.cluster.run("analyzer", "round", "run", f"step#{n}" if n else "step", "--payload", self.cluster.path("payload"))

    def ones(self, n, payload):
        """How many devices said 1."""
        done = self.run(n, payload)
        assert done.returncode == 0, done.stdout + done.stderr
        result = self.cluster.json("analyzer", "round", "show", f"step#{n}" if n else "step")["result"]
        assert result["participants"] == N and result["bad"] == 0, result
        return result["counts"][0]


def test_a_program_answers_for_each_device_and_can_do_nothing_else(cluster):
    """It computes; what answers badly, late or never is NONE; nothing forbidden succeeds; a process knows one device."""
    r = Rounds(cluster, [entry(4)], what=lambda i: i % len(NO_ANSWER))
    allow(cluster, more="memory_mib = 64")
    checked = cluster.run("client", "check-config")
    assert checked.returncode == 0, checked.stderr
    r.start()
    assert r.ones(1, "good") >= N - SLACK
    assert NONE_LEAST < r.ones(2, "each") < N - SLACK
    assert r.ones(3, "all") >= N - SLACK
    assert r.ones(4, "second") >= N - SLACK
    r.client.stop()
    log = r.client.log()
    assert "compute nothing" not in log and not any(word in log for word in (*NO_ANSWER, "misbehaves", "None")), log


def test_without_isolation_a_process_sees_many_devices(cluster):
    """What the owner of a device says by isolate = false, and what a program could do then."""
    r = Rounds(cluster, [entry(2, seconds=2.0)])
    allow(cluster, isolate=False, at_once=N // 2)
    r.start()
    assert r.ones(1, "good") >= N - SLACK
    assert abs(r.ones(2, "second") - N // 2) <= SLACK


