"""Payloads: public bytes that a round's map reads, given when the round is run, carried by the shuffler, checked by their hash.

Every round here asks how many devices have a number below and above an edge; the edge is the payload.  At epsilon0 16 a report
is another one by chance 1e-6: more than two of the 24 in a round are so in one round of 10^14, and a test fails from three on."""
import hashlib
import os
import re
import time

import pytest

import cluster as c
import maps
import rows
import wire
from cluster import EXIT, wait_for
from parties import Analyzer, Device, Shuffler
from test_kills import Killer
from views import Watcher, Worlds
from wire import pb

N = 24
FETCH = 3  # seconds: what comes on this machine comes sooner, whatever else it does
PART = 256 << 10  # bytes of a payload in one frame, at most
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

    def no_files(self):
        wait_for("the payloads to be erased", lambda: not any(self.cluster.payloads(p) for p in ("client", "shuffler", "analyzer")))


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


def test_the_signed_plan_shows_what_devices_compute(cluster):
    s = Steps(cluster, steps=1)
    entry, = cluster.json("analyzer", "plan", "show")["entries"]
    assert (entry["compute"], entry["fields"], entry["payload_max"]) == ("statistics", ["v", "class"], 100_000), entry
    shown = s.cluster.run("analyzer", "plan", "show").stdout
    assert "devices compute statistics of v, class; payload of up to 100000 bytes, given when the round is run" in shown, shown


def test_a_dry_run_says_that_it_fetches_no_payload(cluster):
    s = Steps(cluster, steps=1).start("shuffler")
    waits = cluster.start("analyzer", "round", "run", "below#1", "--payload", s.write(payload(3.5)))
    wait_for("the round to open", lambda: '"round open"' in s.daemons["shuffler"].log() or not waits.alive())
    dry = ("encode", cluster.path("readings.csv"), "--device-field", "device", "--dry-run")
    run = cluster.run("client", *dry)
    assert run.returncode == 0, run.stderr
    assert "is not fetched: devices are shown as without a reading; `send` fetches it" in run.stdout, run.stdout
    run = cluster.run("client", *dry, "--json")
    assert run.returncode == 0 and '"payload_fetched":false' in run.stdout, run


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
    assert not s.cluster.payloads("analyzer")


def test_a_payload_of_several_parts(cluster):
    data = tree(1 << 16)
    assert len(data) > 4 * PART
    s = Steps(cluster, fetch=20, rounds=[leaves(repeat=1)]).start()
    run = cluster.run("analyzer", "round", "run", "1", "--payload", s.write(data), seconds=300)
    assert run.returncode == 0, run.stdout + run.stderr
    counts = cluster.json("analyzer", "round", "show", "1")["result"]["counts"]
    assert abs(sum(counts[:9]) - 9) <= SLACK and abs(sum(counts[9:18]) - (N - 9)) <= SLACK, counts
    s.no_files()


def tree(nodes):
    """A chain whose left children are leaf 0 up to v = 8, and leaf 1 from there on."""
    return maps.pack({"feature": [0] * nodes, "threshold": [float(i) + 0.5 for i in range(nodes)],
                      "left": [-1 if i < 9 else -2 for i in range(nodes)], "right": [*range(1, nodes), -2], "edges": [[11.5]]})


def leaves(**keys):
    """A round that counts by leaf."""
    return step(payload_max=16 << 20, compute={"map": "tree-path", "columns": ["v"], "label": "class"}, marginals=[["leaf", "bin", "class"]],
                columns=[{"field": "leaf", "values": ["low", "high"]}, {"field": "bin", "values": ["below", "above"]},
                         {"field": "class", "values": ["a", "b"]}], **keys)


def test_another_try_brings_another_payload(cluster):
    s = Steps(cluster, steps=2, window="20s")
    s.start("shuffler")
    first = s.run(1, payload(3.5))
    assert first.returncode == EXIT["later"] and s.rounds()[0]["waits_for_payload"], first
    assert s.run(1).returncode == EXIT["usage"]
    s.no_files()
    s.start("client")
    s.settle(1, 18.5)
    assert s.rounds()[0]["tries"] == 2


def test_the_payload_is_frozen_with_its_reservation(cluster):
    """The analyzer is killed when it waits for reports: the next run goes on with the same bytes, and with no others."""
    s = Steps(cluster)
    s.start("shuffler")
    waits = cluster.start("analyzer", "round", "run", "below#1", "--payload", s.write(payload(3.5)))
    wait_for("the round to open", lambda: '"round open"' in s.daemons["shuffler"].log())
    waits.kill()
    assert len(s.cluster.payloads("analyzer")) == 1
    other = s.run(1, payload(9.5))
    assert other.returncode == EXIT["data"] and "under way with another payload" in other.stderr, other
    # The daemon goes on with it too.
    goes_on = cluster.start("analyzer", "run", "--once")
    s.start("client")
    wait_for("the run to end", lambda: not goes_on.alive())
    assert s.rounds()[0]["stage"] == "settled", goes_on.log()
    s.is_of(1, 3.5)
    s.no_files()


def test_kills_of_every_party_while_a_payload_is_carried(cluster):
    s = Steps(cluster, fetch=2, rounds=[leaves(repeat=1, window="10m")]).start()
    data = tree(1 << 16)
    s.daemons["analyzer"] = cluster.start("analyzer", "round", "run", "1", "--payload", s.write(data))
    killer = Killer(s.daemons, seed=20261123)
    killer.start()
    wait_for("kills of each", lambda: sum(killer.kills.values()) >= 24 and min(killer.kills.values(), default=0) >= 4
             and len(killer.kills) == 3, 240)
    killer.done = True
    killer.join()
    for d in s.daemons.values():
        if not d.alive() and not killer.finished(d):
            d.start()

    def stage():
        run = cluster.run("analyzer", "round", "show", "1", "--json")
        return run.returncode == 0 and c.json.loads(run.stdout)
    wait_for("the round to settle", lambda: (stage() or {}).get("stage") == "settled" or
             (not s.daemons["analyzer"].alive() and s.daemons["analyzer"].start() and False), 240)
    shown = stage()
    assert shown["payload_hash"] == hashlib.sha256(data).hexdigest()
    counts = shown["result"]["counts"]
    assert sum(counts) == N and shown["result"]["duplicates"] == 0
    # Whoever had the payload has its leaf, whoever had it not is without a reading; nobody has another.
    assert sum(counts[:9]) <= 9 + SLACK and sum(counts[9:18]) <= N - 9 + SLACK and sum(counts[18:26]) <= SLACK, counts
    kinds = [r["kind"] for r in map(c.json.loads, cluster.run("analyzer", "ledger", "export", "--json").stdout.splitlines())
             if r.get("round_id") == shown["round_id"]]
    assert kinds == ["reserve", "charge", "settle"], kinds
    s.no_files()


# ---- a shuffler that does not give the payload -----------------------------------------------------------------------


class Withholding(Watcher):
    """Gives the payload in some way."""

    way = "right"

    def on_get_payload(self, link, m):
        data = bytes(self.data[m.offset:m.offset + m.length])
        if self.way == "wrong":
            data = bytes([data[0] ^ 1]) + data[1:]
        elif self.way == "short":
            data = data[:-1]
        elif self.way == "another round":
            link.send(payload=pb.Payload(round_id=os.urandom(16), offset=m.offset, data=data))
            return
        elif self.way == "refused":
            return self.error_of(link, pb.ERROR_NOT_FOUND, m.round_id)
        elif self.way == "busy":
            return self.error_of(link, pb.ERROR_BUSY, m.round_id, 50)
        elif self.way == "silent":
            return
        elif self.way == "late":
            time.sleep(2.5 * Withheld.FETCH)
        elif self.way == "cut":
            raise EOFError
        link.send(payload=pb.Payload(round_id=m.round_id, offset=m.offset, data=data))


class Withheld(Worlds):
    """Its fetch takes two of the client's `prepare`, however long these are."""

    FETCH = 1.0

    def take(self, prepare):
        super().take(prepare)
        with open(self.cluster.path("client.conf")) as f:
            text = re.sub(r"^fetch = .*\n", "", f.read(), flags=re.M)
        Withheld.FETCH = self.gather = 2 * prepare
        self.cluster.write("client.conf", text + f'fetch = "{int(2000 * prepare)}ms";\n')

    def begin(self):
        watcher = super().begin()
        watcher.__class__, watcher.way, watcher.data = Withholding, self.way, self.data
        return watcher

    def of_way(self, way):
        self.way = way
        return self.send(self.cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")


def harvest(cluster, path):
    """The round that a real analyzer announces with this payload."""
    fake, records = rows.Harvest(cluster), []
    know, fake.know_plans = fake.know_plans, lambda more: (records.extend(more), know(more))
    analyzer = cluster.start("analyzer", "round", "run", "1", "--payload", path)
    wait_for("the round", lambda: fake.order or not analyzer.alive())
    analyzer.kill()
    fake.close()
    with open(path, "rb") as f:
        assert [bytes(p) for p in fake.payloads.values()] == [f.read()]
    return {**fake.rounds[fake.order[0]], "records": records}


@pytest.fixture(scope="module")
def withheld(tmp_path_factory):
    """Worlds that are offered one round with a payload, and the view of the one in which it is given."""
    cluster = c.Cluster(tmp_path_factory.mktemp("withheld"))
    s = Steps(cluster, rounds=[step(repeat=1)])
    data = payload(11.5)
    r = harvest(cluster, s.write(data))
    offers = [(r["d"], r["data"], r["signature"], r["records"])]
    with open(cluster.path("client.conf"), "a") as f:
        f.write("proofs = 0;\n")
    worlds = Withheld.__new__(Withheld)
    worlds.way, worlds.data = "right", data
    Withheld.__init__(worlds, cluster, offers)
    yield worlds, worlds.of_way("right")
    cluster.close()


@pytest.mark.parametrize("way", ["right", "wrong", "short", "another round", "refused", "busy", "silent", "late", "cut"])
def test_what_becomes_of_the_fetch_shows_in_nothing(withheld, way):
    """The same devices, at the same moment, with messages of the same lengths: whether and when the payload came.  With the bytes the
    values are those of the first world; without them every device's message is NONE's, and so another one."""
    worlds, right = withheld
    other = worlds.of_way(way)
    assert right.shuffler["slots"] == [1] * len(right.shuffler["slots"]) == other.shuffler["slots"]
    submits = [[f for f in v.shuffler["frames"] if f[0] == "submit"] for v in (right, other)]
    assert submits[0] == submits[1] and len(right.sealed) == N
    assert list(right.sealed) == list(other.sealed)
    assert {len(m) for v in (right, other) for s in v.sealed.values() for m in s} == {len(m) for s in right.sealed.values() for m in s}
    assert right.host["exit"] == other.host["exit"] == 0
    assert (right.sealed == other.sealed) == (way == "right")
    if c.seeded() and way != "right":
        assert all(right.sealed[p] != other.sealed[p] for p in right.sealed)



# ---- who signs what the plan does not say ----------------------------------------------------------------------------

BENT = {
    "another map": lambda d: setattr(d.computing, "map", "moments"),
    "other parameters": lambda d: setattr(d.computing, "parameters", d.computing.parameters[:-1] + b"\x07"),
    "another field": lambda d: d.computing.fields.__setitem__(0, "device"),
    "one more field": lambda d: d.computing.fields.append("w"),
    "nothing computed": lambda d: (d.ClearField("computing"), [d.ClearField(f) for f in ("payload_max", "payload_size", "payload_hash")]),
    "no payload": lambda d: [d.ClearField(f) for f in ("payload_max", "payload_size", "payload_hash")],
    "a larger payload": lambda d: setattr(d, "payload_max", d.payload_max + 1),
    "a size above the most": lambda d: setattr(d, "payload_size", d.payload_max + 1),
    "no size": lambda d: d.ClearField("payload_size"),
    "no hash": lambda d: d.ClearField("payload_hash"),
    "a payload that nothing reads": lambda d: d.ClearField("computing"),
}


@pytest.mark.parametrize("how", BENT)
def test_what_is_computed_is_the_plans_at_the_shuffler(cluster, how):
    cluster.configure(min_batch=2, epsilon=20.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    a = Analyzer(cluster).dial()
    data = os.urandom(5000)
    d = a.descriptor(payload_max=6000, payload_size=len(data), payload_hash=wire.sha256(data))
    d.computing.CopyFrom(pb.Computing(map="statistics", parameters=b"\x01\x02", fields=["v", "class"]))
    d = a.planned(d)
    assert a.put(data) == len(data)
    BENT[how](d)
    bent = a.reserve(d)
    with pytest.raises(wire.Refused) as refused:
        a.extend()  # a descriptor that is none is no reservation
        a.announce(bent)
    assert refused.value.code in (pb.ERROR_LEDGER, pb.ERROR_BAD_MESSAGE, pb.ERROR_POLICY_REFUSED), refused.value
    assert cluster.stored() == 0


def test_a_round_without_its_payload_is_not_opened_and_parts_are_bounded(cluster):
    cluster.configure(min_batch=2, epsilon=20.0, devices=4)
    with open(cluster.path("shuffler-policy.conf"), "a") as f:
        f.write("max_payload = 1000000;\n")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    a = Analyzer(cluster).dial()
    data, other = os.urandom(600_001), os.urandom(600_000)
    d = a.descriptor(payload_max=1_000_000, payload_size=len(data), payload_hash=wire.sha256(data))
    d.computing.CopyFrom(pb.Computing(map="statistics", parameters=b"\x01", fields=["v"]))
    bytes_of = a.reserve(d)
    a.extend()

    def refused(code, ask, *args, **kw):
        with pytest.raises(wire.Refused) as no:
            ask(*args, **kw)
        assert no.value.code == code, no.value

    refused(pb.ERROR_NOT_FOUND, a.announce, bytes_of)
    a.put(other)
    refused(pb.ERROR_NOT_FOUND, a.announce, bytes_of)
    refused(pb.ERROR_POLICY_REFUSED, a.put, os.urandom(1_000_001))
    refused(pb.ERROR_BAD_MESSAGE, a.link.ask, "payload_held", put_payload=pb.PutPayload(
        hash=wire.sha256(data), size=10, offset=0, data=b"0123456789"))
    assert a.put(data) == len(data)
    assert cluster.payloads("shuffler") == [wire.sha256(data).hex()]
    a.announce(bytes_of)
    # A client that asks for it as fast as it can pays for it in frames, and gets nothing but it.
    client = Device(cluster)

    def part(offset, length=1 << 18, round_id=d.round_id):
        return client.link.ask("payload", get_payload=pb.GetPayload(round_id=round_id, offset=offset, length=length)).data

    assert b"".join(part(i) for i in range(0, len(data), 1 << 18)) == data
    for offset, length in ((len(data), 1), (0, 0), (0, (1 << 18) + 1), (1 << 63, 1)):
        refused(pb.ERROR_BAD_MESSAGE, part, offset, length)
    refused(pb.ERROR_NOT_FOUND, part, 0, round_id=os.urandom(16))
    refused(pb.ERROR_BAD_ROLE, client.link.ask, "payload_held", put_payload=pb.PutPayload(hash=wire.sha256(data), size=1))


@pytest.mark.parametrize("how", [h for h in BENT if h != "another field"] + ["the device"])
def test_what_is_computed_is_the_plans_at_the_client(cluster, harvested, how):
    """A signed descriptor that differs from its entry is answered by nobody."""
    offer, data = harvested
    key = wire.load_signing_key(offer["key"])
    d = pb.Descriptor.FromString(offer["data"])
    (BENT.get(how) or BENT["another field"])(d)
    bent = d.SerializeToString()
    s = Steps(cluster, rounds=[step(repeat=1)])
    for party in ("client",):  # the keys of the deployment that the round is of
        for name in ("analyzer-sign.pub",):
            with open(os.path.join(offer["pki"], party, name), "rb") as src, open(os.path.join(cluster.pki, party, name), "wb") as dst:
                dst.write(src.read())
    fake = Shuffler(cluster)
    fake.know_plans(offer["records"])
    fake.payloads[d.payload_hash or b""] = bytearray(data)
    fake.rounds[d.round_id] = {"d": d, "data": bent, "signature": wire.sign(key, "descriptor", bent), "taken": {}, "sealed": False}
    fake.order.append(d.round_id)
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
    fake.close()
    assert run.returncode in (EXIT["permission"], EXIT["protocol"]) and not fake.received, (run.returncode, run.stderr)
    assert not s.cluster.payloads("client")


@pytest.fixture(scope="module")
def harvested(tmp_path_factory):
    """A round with a payload of a real analyzer, and the payload."""
    cluster = c.Cluster(tmp_path_factory.mktemp("harvested"))
    s = Steps(cluster, rounds=[step(repeat=1)])
    data = payload(11.5)
    made = harvest(cluster, s.write(data))
    cluster.close()
    return {**made, "pki": cluster.pki, "key": os.path.join(cluster.pki, "analyzer", "analyzer-sign.key")}, data
