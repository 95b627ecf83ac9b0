"""Analyzers that look for a reading everywhere but in released messages: what they are told, and what everybody else can see, is the
same whatever one device read."""
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import cluster as c
import wire
from houses import Houses, alike, differences, page, unnamed
from parties import Analyzer
from views import SEED, spoken
from wire import Refused, pb

pytestmark = pytest.mark.quiet

# ---- the readout: ten rounds that nobody can answer, each with a question about one device ---------------------------

BITS = 5
ME = "dev-1234"


def sample_policy(party):
    """The one that is shipped, for the population of these tests and a site with one gateway."""
    with open(os.path.join(wire.ROOT, "deploy", f"{party}-policy.conf")) as f:
        return re.sub(r"^max_share = .*$", "max_share = 1.0;", f.read().replace('"pumps"', '"test"'), flags=re.M)


def question(field, bit):
    """Is that device's number among those with this bit?"""
    return {"query": f"{field}{bit}", "type": "marginals", "epsilon0": 0.0001, "min_reports": 50000, "target": 60000, "window": "3s",
            "columns": [{"field": "serial", "values": [ME, "zz"]},
                        {"field": field, "values": [f"n{i}" for i in range(1 << BITS) if i >> bit & 1]}],
            "marginals": [["serial", field]]}


def read_out(folder, mine, mutant=""):
    """The plan against a device with these two readings, or none; what was seen."""
    cluster = c.Cluster(folder)
    cluster.configure(client_policy=sample_policy("client"), shuffler_policy=sample_policy("shuffler"))
    own = [f"{ME},{ME},n{mine[0]},n{mine[1]}\n"] if mine else []
    cluster.write("readings.csv", "device,serial,age,diagnosis\n"
                  + "".join([*own, *(f"d{i},d{i},n{i},n{31 - i}\n" for i in range(5))]))
    cluster.write("devices.txt", "".join(f"{d}\n" for d in (ME, *(f"d{i}" for i in range(5)))))
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    cluster.write("client.conf", text + "proofs = 0; connections = 1;\n")
    cluster.plan([question(field, bit) for field in ("age", "diagnosis") for bit in range(BITS)], epsilon=0.5, tries=1)
    house = Houses(cluster).run(mutant)
    cluster.close()
    return house


def test_ten_void_rounds_tell_nothing_of_a_device(tmp_path):
    """Nor do the ledgers, the policies or the client stop it: nothing of epsilon 0.0001 is over any budget."""
    worlds = {"one": ((17, 6), ""), "other": ((30, 25), ""), "nothing": (None, ""), "removed": ((17, 6), "client.none")}
    for name in worlds:
        os.mkdir(tmp_path / name)
    # Each waits for ten windows to end: at the same time.
    with ThreadPoolExecutor(len(worlds)) as pool:
        under_way = {name: pool.submit(read_out, tmp_path / name, *world) for name, world in worlds.items()}
    seen = {name: made.result() for name, made in under_way.items()}
    rounds = seen["one"].public["rounds"]
    assert [(r["stage"], r["reports"]) for r in rounds] == [("void", 6)] * 2 * BITS, rounds
    alike(seen["one"], seen["other"])
    alike(seen["one"], seen["nothing"])
    # Without the rule who has no reading of the domain stays away: the counts of void rounds spell both readings.
    told = [r["reports"] for r in seen["removed"].public["rounds"]]
    assert [sum(told[BITS * k + bit] << bit for bit in range(BITS)) for k in range(2)] == [17, 6], told


# ---- a script with the analyzer's keys -------------------------------------------------------------------------------

NAMES = [f"d{i}" for i in range(6)]
# Rows by the ten thousand and a field of a million bytes in one.
CHANGED = {"an open quote": 'd2,"c1', "no row": "", "many": "d2,c3,c0\n" * 50_000 + "d2," + "x" * 1_000_000 + ",c0"}


class Spy:
    """A link whose questions and answers are written down."""

    def __init__(self, link):
        self.link, self.said = link, []

    def ask(self, answer, **kind):
        (asked, _), = kind.items()
        try:
            got = self.link.ask(answer, **kind)
        except Refused as e:
            self.note(asked, pb.ErrorCode.Name(e.code), e.text)
            raise
        except (EOFError, OSError):
            self.note(asked, "closed")
            raise
        self.note(asked, answer, got.ByteSize(), self.content(answer, got))
        return got

    def note(self, *what):
        if what[1] != "ERROR_BUSY":  # how often it asks again is a matter of time
            self.said.append(json.loads(re.sub(r"[0-9a-f]{32,}", "#", json.dumps(what))))

    @staticmethod
    def content(answer, got):
        if answer == "manifest":
            m = pb.Manifest.FromString(got.manifest)
            return [m.participants, m.messages, m.dummies, m.void, [b.messages for b in m.buckets], len(m.tree)]
        if answer == "segment":
            return [got.bucket, got.offset, len(got.sealed)]
        return [got.ledger_seq] if answer == "witness" else []


class Script(Analyzer):
    """Asks for what it must not have, in an order that it chooses by the answers."""

    def __init__(self, cluster):
        super().__init__(cluster, epsilon_limit=20.0)
        self.dial()

    def dial(self):
        self.link = Spy(wire.Link.dial(self.cluster.port, self.cluster.tls("analyzer")))
        return self

    def tried(self, act, *args, **kw):
        """Whatever becomes of it is written down; a connection that was closed is made again."""
        try:
            return act(*args, **kw)
        except Refused:
            return None
        except (EOFError, OSError):
            said = self.link.said
            self.dial().link.said = said
            return None

    def choice(self, among):
        """By all that was seen so far."""
        return among[int.from_bytes(wire.sha256(json.dumps(self.link.said).encode())[:4], "big") % len(among)]

    def kept(self):
        return self.chain.seq, self.chain.head, list(self.chain.records), list(self.chain.heads), self.sequence, self.previous

    def back_to(self, kept):
        self.chain.seq, self.chain.head, self.chain.records, self.chain.heads, self.sequence, self.previous = kept

    def offer(self, d, plan, entry=1, attempt=1, void_manifest=b""):
        """A try; its bytes, or None when it is refused: then the ledger says so, if it has it at all."""
        kept = self.kept()
        d.plan_hash, d.entry, d.attempt, d.void_manifest = wire.sha256(plan), entry, attempt, void_manifest
        data = self.reserve(self.follow(d))
        if self.tried(self.extend) is None:
            self.back_to(kept)
        elif self.tried(self.announce, data) is not None:
            return data
        else:
            self.void(d, "refused")
        return None


LIKE = {"bins": 5, "none": 4, "epsilon0": 1.0, "min_reports": 4, "target": 6}


def bend(script, plan, entry):
    """Other descriptors under the same plan: each is refused at its reservation or announcement."""
    for change in ({"min_reports": 1}, {"min_reports": 3}, {"epsilon0": 2.0}, {"target": 100}, {"honest_fraction": 0.5},
                   {"window_ms": -5000}, {"messages_per_client": 2}, {"record_length": 24}):
        assert script.offer(script.descriptor(**{**LIKE, **change}), plan, entry) is None


def pry(script, d, data):
    """Of a round before its end, or at it: its manifest, messages, proofs, anybody's standing; a release, and an end."""
    rid = d.round_id
    empty = pb.Manifest(version=1, round_id=rid, descriptor_hash=wire.sha256(data), participants=6, messages=6)
    for kind in ({"await_manifest": pb.AwaitManifest(round_id=rid, wait_ms=0)}, {"pull": pb.Pull(round_id=rid)},
                 {"settle": pb.Settle(round_id=rid)}, {"get_manifest": pb.GetManifest(round_id=rid)},
                 {"get_proof": pb.GetProof(round_id=rid, hashes=b"\1" * 1024)}, {"get_standing": pb.GetStanding()},
                 {"get_round": pb.GetRound(population="test")}, {"announce": pb.Announce(descriptor=data, signature=b"\1" * 64)},
                 {"release": pb.Release(charge=b"\1" * 40, signature=b"\1" * 64)}):
        script.tried(lambda: script.link.ask("manifest", **kind))
    script.tried(script.announce, data)
    kept = script.kept()
    script.tried(script.release, script.charge(d, data, empty.SerializeToString()))
    script.back_to(kept)


def play(script):
    """Three of five entries, one of them tried twice; the others are left out.  The descriptors of the rounds that were answered."""
    plan = script.plan([script.entry(script.descriptor(**LIKE), i + 1) for i in range(5)], epsilon=8.0)
    script.extend()
    bend(script, plan, 1)
    left = [1, 2, 3, 4, 5]
    # One that ends before enough have come, and is tried again with and without the manifest's hash.
    few = dict(LIKE, target=7, min_reports=7)
    own = script.plan([script.entry(script.descriptor(**few))], epsilon=2.0)
    d = script.descriptor(**few, window_ms=2500)
    pry(script, d, script.offer(d, own))
    void, signed = script.manifest(d)
    assert void.void
    assert void.participants == 6
    script.void(d)
    script.tried(script.settle, d)
    assert script.offer(script.descriptor(**few, window_ms=2500), own, 1, 2, b"\7" * 32) is None
    d = script.descriptor(**few, window_ms=2500)
    assert script.offer(d, own, 1, 2, wire.sha256(signed.manifest))
    script.manifest(d)
    script.void(d)
    script.tried(script.settle, d)
    # Two of the plan's entries: released, and not; the rest is skipped.
    for release in (True, False):
        entry = script.choice(left)
        left.remove(entry)
        d = script.descriptor(**LIKE, window_ms=30000)
        data = script.offer(d, plan, entry)
        manifest, signed = script.manifest(d)
        pry(script, d, data)
        script.tried(script.pull, d, manifest)
        if release:
            charge = script.charge(d, data, signed.manifest)
            script.tried(script.release, charge)  # not witnessed yet
            script.extend()
            script.release(charge)
            script.pull(d, manifest)
        else:
            script.void(d, "I did not like the look of it")
        script.tried(script.settle, d)
        assert script.offer(script.descriptor(**LIKE), plan, entry, 2, wire.sha256(signed.manifest)) is None
    # A second plan that takes more than is left.
    more = script.plan([script.entry(script.descriptor(**LIKE))], epsilon=19.0)
    assert script.offer(script.descriptor(**LIKE), more) is None


def world(cluster, row, mutant=""):
    """The script against the real shuffler and client, with one device's row."""
    for party in ("shuffler", "client"):
        shutil.rmtree(cluster.path(party))
        shutil.copytree(cluster.path(f"{party}-state"), cluster.path(party))
        with open(cluster.path(f"{party}.log"), "w"):
            pass
    if cluster.server:
        cluster.server.forget(cluster.database)
    cluster.write("readings.csv", "device,colour,other\n" + "".join(
        f"{row}\n" if n == "d2" and row is not None else f"{n},c{i % 4},c0\n" for i, n in enumerate(NAMES)))
    shuffler = cluster.start("shuffler", "run", env={"TOMBOLA_TEST_SEED": SEED})
    cluster.wait_listening()
    client = cluster.start("client", "run", mutant=mutant, env={"TOMBOLA_TEST_SEED": SEED})
    script = Script(cluster)
    try:
        play(script)
        c.wait_for("the client's end of the rounds", lambda: client.log().count('"round done"') == 4)
        pages = {p: page(cluster, p) for p in ("shuffler", "client")}
        out = {"script": script.link.said, "exit": [client.kill(15), shuffler.kill(15)], "pages": pages,
               "status": unnamed(cluster.json("client", "status")),
               "logs": {"client": unnamed(spoken(client.log())),
                        # Refusals are written by a clock, and the script has them each.
                        "shuffler": sorted((said for said in unnamed(spoken(shuffler.log())) if said["msg"] != "refused"), key=str)}}
    finally:
        for d in (client, shuffler):
            if d.alive():
                d.kill()
    return out


def test_a_script_of_all_that_an_analyzer_may_try_is_told_nothing(cluster):
    cluster.configure(min_batch=4, max_epsilon0=5.0, epsilon=20.0)
    cluster.write("devices.txt", "".join(f"{n}\n" for n in NAMES))
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    cluster.write("client.conf", text + "proofs = 0; connections = 1;\n")
    client = cluster.start("client", "run")
    c.wait_for("the client to look for the shuffler", lambda: '"no connection"' in client.log() or not client.alive())
    client.stop()
    for party in ("shuffler", "client"):
        shutil.copytree(cluster.path(party), cluster.path(f"{party}-state"))
    one = world(cluster, None)
    codes = {s[1] for s in one["script"]}
    assert {"manifest", "segment", "settled", "ERROR_POLICY_REFUSED", "ERROR_BUDGET_EXHAUSTED", "ERROR_BAD_ROLE",
            "ERROR_BATCH_TOO_SMALL", "ERROR_SIGNATURE", "ERROR_CONFLICT", "ERROR_LEDGER", "closed"} <= codes, codes
    for what, row in CHANGED.items():
        other = world(cluster, row)
        assert one == other, (what, differences(one, other))
    # Without the rule who has no reading of the domain stays away, and the first void manifest says so.
    with pytest.raises(AssertionError, match="5 == 6"):
        world(cluster, "d2,purple,mauve", mutant="client.none")
