"""evidence.py - clients that watch their messages and verify what they keep, and a shuffler that replaces some."""
import json
import os
import subprocess

import pytest

import wire
from cluster import program
from parties import Device, Shuffler
from wire import pb

N = 60


def proofs(cluster, mutant=""):
    run = cluster.run("client", "proofs", "--json", "--wait", "3m", mutant=mutant)
    return run, counts_of(run.stdout)


def counts_of(text):
    said = json.loads(text.splitlines()[-1])
    return {k: said[k] for k in ("included", "missing", "unanswered", "waiting", "void")}


def verify(cluster, *files, mutant=""):
    return subprocess.run([program("tombola"), "evidence", "verify", *files, "--shuffler-key",
                           os.path.join(cluster.pki, "client", "shuffler-sign.pub")], capture_output=True, text=True,
                          env={**os.environ, "TOMBOLA_MUTANT": mutant})


def conf(cluster, party, line):
    with open(cluster.path(f"{party}.conf"), "a") as f:
        f.write(line + "\n")


def rounds(cluster, n=N, **keys):
    cluster.two_colours(n, **keys)


def evidence(cluster):
    return sorted(cluster.path("client", f) for f in os.listdir(cluster.path("client")) if f.startswith("evidence-"))


class Replacing(Shuffler):
    """Accepts, signs, and puts its own messages in place of some."""
    dropped = 30
    how = "replaced"

    def manifest_messages(self, messages):
        r = self.rounds[self.order[-1]]
        for i in range(self.dropped):
            messages[i] = Device.seal(r["d"], r["data"], 0)
        return messages

    def proof_leaves(self, r):
        if self.how == "claimed":  # as if nothing had been dropped
            return wire.Leaves(r["taken"].values())
        return r["leaves"]

    def on_get_proof(self, link, m):
        if self.how == "silent":
            self.error_of(link, pb.ERROR_NOT_FOUND, m.round_id)
        elif self.how == "short":
            link.send(proof=pb.Proof(round_id=m.round_id, entries=b"\1" * 100))
        else:
            super().on_get_proof(link, m)


@pytest.fixture
def replacing(cluster):
    rounds(cluster)
    fake = Replacing(cluster)
    yield fake
    fake.close()


def cheated(cluster, how="replaced", proofs_of=60):
    """A round of that shuffler; the analyzer is content with it."""
    conf(cluster, "client", f"proofs = {proofs_of};")
    analyzer = cluster.start("analyzer", "run", "--once")
    sent = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
    assert sent.returncode == 0, sent.stderr
    assert analyzer.wait() == 0, analyzer.log()
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    assert entry["stage"] == "settled"
