"""A shuffler that signs two manifests for one round: clients and analyzers keep both, and together they convict it."""
import os
import subprocess

import pytest

import wire
from cluster import EXIT, wait_for
from evidence import N, Replacing, cheated, evidence, proofs, rounds, verify
from parties import Shuffler
from wire import pb


class TwoFaced(Shuffler):
    """Tells each that asks another manifest."""
    told = 0

    def on_get_manifest(self, link, m):
        r = self.rounds.get(m.round_id, {})
        if "manifest" in r:
            self.told += 1
            made = pb.Manifest.FromString(r["manifest"].manifest)
            if self.told > 1:
                made.tree = wire.Leaves([b"x"] * made.messages).root
            body = made.SerializeToString()
            link.send(manifest=pb.SignedManifest(manifest=body, signature=wire.sign(self.key, "manifest", body)))
        else:
            super().on_get_manifest(link, m)


def test_two_manifests_for_one_round_convict(cluster):
    rounds(cluster)
    fake = TwoFaced(cluster)
    try:
        cheated(cluster)
        saved = []
        for name in "ab":
            os.rename(cluster.path("client"), cluster.path("kept"))
            subprocess.run(["cp", "-a", cluster.path("kept"), cluster.path("client")], check=True)
            # 60 messages are two requests, and the manifest is asked for with each.
            run, _ = proofs(cluster)
            if name == "a":
                assert run.returncode == EXIT["protocol"] and "two manifests" in run.stderr, run.stderr
                own, = (f for f in evidence(cluster) if f.endswith("-manifests"))
                said = verify(cluster, own)
                assert said.returncode == 0 and "signed two manifests for round" in said.stdout, said.stderr
            run = cluster.run("client", "proofs", "--save", "1", "--out", cluster.path(name))
            assert run.returncode == 0, run.stderr
            subprocess.run(["rm", "-r", cluster.path("client")], check=True)
            os.rename(cluster.path("kept"), cluster.path("client"))
            saved.append(cluster.path(name))
    finally:
        fake.close()
    assert verify(cluster, saved[0]).returncode == EXIT["data"]
    assert verify(cluster, saved[0], saved[0]).returncode == EXIT["data"]
    said = verify(cluster, *saved)
    assert said.returncode == 0 and "signed two manifests for round" in said.stdout, said.stderr


class Changing(Shuffler):
    """Does not release, and later has another manifest."""
    other = False

    def said(self, manifest):
        if self.other:
            manifest.tree = wire.Leaves([b"x"] * manifest.messages).root

    def on_release(self, link, m):
        pass


@pytest.mark.parametrize("mutant", ("", "analyzer.manifest.twice"))
def test_an_analyzer_that_is_told_another_manifest_keeps_both(cluster, mutant):
    rounds(cluster)
    fake = Changing(cluster)
    try:
        analyzer = cluster.start("analyzer", "run", "--once")
        sent = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
        assert sent.returncode == 0, sent.stderr
        wait_for("the charge", lambda: "release" in fake.asked or not analyzer.alive())
        analyzer.kill()
        fake.other = True
        run = cluster.run("analyzer", "run", "--once", mutant=mutant)
    finally:
        fake.close()
    found = [cluster.path("analyzer", f) for f in os.listdir(cluster.path("analyzer")) if f.startswith("evidence-")]
    if mutant:  # it is not the one that was charged, and nothing is left to show for it
        assert run.returncode == EXIT["permission"] and not found, run.stderr
        return
    path, = found
    assert run.returncode == EXIT["protocol"] and path in run.stderr, run.stderr
    assert "round 1: the shuffler signed two manifests for one round; both are kept" in run.stderr
    assert os.stat(path).st_mode & 0o777 == 0o600
    said = verify(cluster, path)
    assert said.returncode == 0 and "signed two manifests for round" in said.stdout, said.stderr
    # Nothing came of the second, and what was charged stays charged.
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    assert entry["stage"] == "charged"
    assert cluster.run("analyzer", "round", "give-up", "1", "--confirm", "colour").returncode == 0
    assert cluster.run("analyzer", "ledger", "verify").returncode == 0


class Split(Replacing):
    """Releases other messages than it took, and tells clients of those that they sent: each side's are of a manifest of its own."""
    how = "claimed"

    def on_get_manifest(self, link, m):
        r = self.rounds[m.round_id]
        if "manifest" not in r:
            super().on_get_manifest(link, m)
            return
        made = pb.Manifest.FromString(r["manifest"].manifest)
        made.tree = self.proof_leaves(r).root
        body = made.SerializeToString()
        link.send(manifest=pb.SignedManifest(manifest=body, signature=wire.sign(self.key, "manifest", body)))


def test_what_an_analyzer_and_a_client_keep_convicts_together(cluster):
    rounds(cluster)
    fake = Split(cluster)
    try:
        cheated(cluster)
        # Neither sees anything by itself: half of the messages were replaced, and all are proved.
        run, counts = proofs(cluster)
        assert run.returncode == 0 and counts["included"] == N and counts["missing"] == 0, run.stderr
        own = cluster.path("told")
        assert cluster.run("client", "proofs", "--save", "1", "--out", own).returncode == 0
    finally:
        fake.close()
    name, = os.listdir(cluster.path("analyzer", "manifests"))
    assert bytes.fromhex(name) == fake.order[0]
    kept = cluster.path("analyzer", "manifests", name)
    for alone in (kept, own):
        assert verify(cluster, alone).returncode == EXIT["data"]
    said = verify(cluster, kept, own)
    assert said.returncode == 0 and "signed two manifests for round" in said.stdout, said.stderr
