"""The real shuffler and plans, against analyzers in Python: signed records, pins, entries, tries, standings; and how long
anybody waits while an analyzer says the worst there is."""
import json
import multiprocessing
import os
import random
import re
import time
import urllib.request

import pytest

import params
import wire
from cluster import wait_for
from parties import Analyzer, Device
from wire import Refused, pb

WAIT_MAX = 0.5  # seconds that any peer waits for an answer while another says its worst, others than for a processor
RESTART_MAX = 10.0  # seconds of a processor until it listens again, with all of that in its store


def started(cluster, mutant="", **policy):
    cluster.configure(**policy)
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    return shuffler, Analyzer(cluster).dial()


def refused(code, text, act, *args, **kw):
    with pytest.raises(Refused) as e:
        act(*args, **kw)
    assert e.value.code == code and text in e.value.text, e.value
    return e.value


def submissions(d, data, values):
    return [(os.urandom(32), Device.seal(d, data, v)) for v in values]


def status(cluster):
    return cluster.json("shuffler", "status")


# ---- Records ---------------------------------------------------------------------------------------------------------

def bogus(kind, **fields):
    return pb.Record(seq=2, kind=kind, time_ms=2, **fields).SerializeToString()


BOGUS = {
    "refuse": bogus(pb.RECORD_REFUSE, round_id=b"\1" * 16, plan_hash=b"\2" * 32, reason="no", query="q", plan_round=1),
    "void": bogus(pb.RECORD_VOID, round_id=b"\1" * 16, reason="no"),
    "garbage": b"\xff" * 40,
}


@pytest.mark.parametrize("what", BOGUS)
def test_who_has_the_tls_key_alone_can_say_nothing(cluster, what):
    _, analyzer = started(cluster)
    analyzer.extend()
    head = wire.sha256(analyzer.chain.head, BOGUS[what])
    ask = dict(population="test", first=2, records=[BOGUS[what]])
    thief = wire.Ed25519PrivateKey.generate()
    right = wire.head_bytes("test", 2, head)
    for signature in (b"", b"\0" * 64, wire.sign(thief, "ledger", right), wire.sign(analyzer.key, "charge", right),
                      wire.sign(analyzer.key, "ledger", wire.head_bytes("test", 3, head)),
                      wire.sign(analyzer.key, "ledger", wire.head_bytes("tess", 2, head))):
        refused(pb.ERROR_SIGNATURE, "ledger", analyzer.link.ask, "witness",
                extend_ledger=pb.ExtendLedger(signature=signature, **ask))
    # The population goes on as if nothing had been said.
    d, data = analyzer.open_round(target=2, min_reports=2)
    assert Device(cluster).submit(d, submissions(d, data, [1, 2])) == [pb.OUTCOME_ACCEPTED] * 2
    assert analyzer.manifest(d)[0].participants == 2


def test_without_the_check_a_thief_of_the_tls_key_ends_the_population(cluster):
    _, analyzer = started(cluster, mutant="shuffler.ledger.signature")
    analyzer.extend()
    analyzer.link.ask("witness", extend_ledger=pb.ExtendLedger(population="test", first=2, records=[BOGUS["refuse"]]))
    with pytest.raises(Refused):
        analyzer.open_round()


def test_a_reservation_with_the_last_sequence_number_leaves_the_next_one(cluster):
    _, analyzer = started(cluster)
    for number in (2**64 - 1, 2**63 - 1, 2, 0):
        d = analyzer.planned(analyzer.descriptor())
        d.sequence = number
        kept = analyzer.chain.seq, analyzer.chain.head, list(analyzer.chain.records), list(analyzer.chain.heads)
        analyzer.reserve(d)
        refused(pb.ERROR_LEDGER, "", analyzer.extend)
        analyzer.chain.seq, analyzer.chain.head, analyzer.chain.records, analyzer.chain.heads = kept
        analyzer.sequence, analyzer.previous = 0, b""
    d, _ = analyzer.open_round()
    assert d.sequence == 1


# ---- Entries and tries -----------------------------------------------------------------------------------------------

def void_round(cluster, analyzer, d):
    """Its window ends and nobody came: the hash of its VOID manifest."""
    manifest, signed = analyzer.manifest(d)
    assert manifest.void
    return wire.sha256(signed.manifest)


@pytest.mark.parametrize("removed", [False, True])
def test_an_entry_is_what_its_round_is(cluster, removed):
    _, analyzer = started(cluster, mutant="shuffler.plan.covers" if removed else "")
    plan = analyzer.plan([analyzer.entry(analyzer.descriptor(min_reports=50, target=100))], epsilon=4.0)
    # A batch of two in place of one of fifty.
    d = analyzer.descriptor(min_reports=2, target=100)
    if removed:
        analyzer.try_entry(d, plan)
    else:
        refused(pb.ERROR_POLICY_REFUSED, "batch", analyzer.try_entry, d, plan)


@pytest.mark.parametrize("removed", [False, True])
def test_an_entry_is_answered_once(cluster, removed):
    _, analyzer = started(cluster, mutant="shuffler.plan.once,shuffler.plan.try" if removed else "")
    plan = analyzer.plan([analyzer.entry(analyzer.descriptor(), number=n) for n in (1, 2)], epsilon=4.0)
    d, data = analyzer.try_entry(analyzer.descriptor(), plan, entry=2)
    Device(cluster).submit(d, submissions(d, data, [1, 2]))
    assert not analyzer.manifest(d)[0].void
    # Sealed, and the ledger says that it is given up: nothing comes back.
    analyzer.void(d)
    if removed:
        analyzer.try_entry(analyzer.descriptor(), plan, entry=2)
        return
    refused(pb.ERROR_CONFLICT, "answered", analyzer.try_entry, analyzer.descriptor(), plan, entry=2)
    analyzer.try_entry(analyzer.descriptor(), plan, entry=1)


@pytest.mark.parametrize("removed", [False, True])
def test_a_try_names_the_void_manifest_before_it(cluster, removed):
    _, analyzer = started(cluster, mutant="shuffler.plan.try" if removed else "")
    plan = analyzer.plan([analyzer.entry(analyzer.descriptor())], epsilon=4.0)
    d, _ = analyzer.try_entry(analyzer.descriptor(window_ms=1200), plan)
    digest = void_round(cluster, analyzer, d)
    if removed:
        analyzer.try_entry(analyzer.descriptor(), plan, attempt=2, void_manifest=b"\1" * 32)
        return
    for attempt, named, text in ((1, b"", "where 2 is next"), (3, digest, "where 2 is next"),
                                 (2, b"\1" * 32, "does not name")):
        refused(pb.ERROR_CONFLICT, text, analyzer.try_entry, analyzer.descriptor(), plan, attempt=attempt,
                void_manifest=named)
    analyzer.try_entry(analyzer.descriptor(), plan, attempt=2, void_manifest=digest)


@pytest.mark.parametrize("removed", [False, True])
def test_tries_end(cluster, removed):
    """A round that the ledger voids while it collects is a try like any other, and its VOID manifest says nothing of who
    took part."""
    _, analyzer = started(cluster, mutant="shuffler.plan.max_tries" if removed else "")
    plan = analyzer.plan([analyzer.entry(analyzer.descriptor())], epsilon=4.0, tries=9)
    digest, device = b"", Device(cluster)
    for attempt in (1, 2, 3):
        d, data = analyzer.try_entry(analyzer.descriptor(), plan, attempt=attempt, void_manifest=digest)
        assert device.submit(d, submissions(d, data, [1])) == [pb.OUTCOME_ACCEPTED]
        refused(pb.ERROR_BUSY, "open", device.link.ask, "manifest",
                get_manifest=pb.GetManifest(round_id=d.round_id))
        analyzer.void(d)
        manifest, signed = analyzer.manifest(d)
        assert manifest.void and manifest.participants == 0
        assert device.link.ask("manifest", get_manifest=pb.GetManifest(round_id=d.round_id)) == signed
        digest = wire.sha256(signed.manifest)
    act = (analyzer.try_entry, analyzer.descriptor(), plan)
    if removed:
        act[0](*act[1:], attempt=4, void_manifest=digest)
    else:
        refused(pb.ERROR_POLICY_REFUSED, "max_tries", *act, attempt=4, void_manifest=digest)


@pytest.mark.parametrize("removed", [False, True])
def test_an_entry_that_was_not_taken_is_not_served(cluster, removed):
    """Four rounds of which the slice holds fewer: the pin says which, whatever the analyzer states."""
    _, analyzer = started(cluster, mutant="shuffler.plan.pin" if removed else "")
    few = dict(epsilon0=1.0, min_reports=2, target=2)
    plan = analyzer.plan([analyzer.entry(analyzer.descriptor(**few), number=n) for n in range(1, 5)], epsilon=2.2)
    if removed:
        analyzer.try_entry(analyzer.descriptor(**few), plan, entry=4)
        return
    refused(pb.ERROR_BUDGET_EXHAUSTED, "not among those", analyzer.try_entry, analyzer.descriptor(**few), plan, entry=4)
    shown, = status(cluster)["plans"]
    assert shown["state"] == "taken" and 0 < shown["taken"] < 4 == shown["entries"]
    analyzer.try_entry(analyzer.descriptor(**few), plan, entry=1)


@pytest.mark.parametrize("removed", [False, True])
def test_a_shuffler_that_trusts_less_than_at_the_pin_serves_it_no_more(cluster, removed):
    """What was taken was composed among those believed honest then, and the pin remembers over a restart."""
    shuffler, analyzer = started(cluster)
    few = dict(epsilon0=1.0, min_reports=20, target=20)
    plan = analyzer.plan([analyzer.entry(analyzer.descriptor(**few), number=n) for n in (1, 2)], epsilon=2.0)
    analyzer.extend()
    wait_for("the pin", lambda: status(cluster)["plans"][0]["state"] == "taken")
    for fraction, fits in ((0.5, removed), (1.0, True)):
        shuffler.stop()
        with open(cluster.path("shuffler-policy.conf")) as f:
            text = f.read()
        cluster.write("shuffler-policy.conf", re.sub(r"honest_fraction = [\d.]+;", f"honest_fraction = {fraction};", text))
        shuffler = cluster.start("shuffler", "run", mutant="shuffler.plan.trust" if removed else "")
        cluster.wait_listening()
        analyzer.dial()
        if fits:
            analyzer.try_entry(analyzer.descriptor(**few), plan, entry=1)
            return
        e = refused(pb.ERROR_BUDGET_EXHAUSTED, "trust others less", analyzer.try_entry, analyzer.descriptor(**few), plan, entry=1)
        assert "plan 1" in e.text


def test_two_plans_share_the_budget_and_neither_stops_the_other(cluster):
    shuffler, analyzer = started(cluster, epsilon=5.0)
    e = analyzer.entry(analyzer.descriptor())
    first, second = analyzer.plan([e], epsilon=2.0), analyzer.plan([e], epsilon=3.0)
    third = analyzer.plan([e], epsilon=0.001)
    refused(pb.ERROR_BUDGET_EXHAUSTED, "slice of plan 3", analyzer.try_entry, analyzer.descriptor(), third)
    device = Device(cluster)
    for plan in (second, first):
        got = device.link.ask("plan", get_plan=pb.GetPlan(plan_hash=wire.sha256(plan)))
        assert got.plan == plan
        wire.verify(wire.load_public_key(os.path.join(cluster.pki, "client", "analyzer-sign.pub")), "plan", plan,
                    got.signature)
        d, data = analyzer.try_entry(analyzer.descriptor(), plan)
        device.submit(d, submissions(d, data, [1, 2]))
        assert not analyzer.manifest(d)[0].void
        shuffler.kill()
        shuffler.start()
        cluster.wait_listening()
        device = Device(cluster)
        analyzer.dial()
    shown = status(cluster)
    assert [p["state"] for p in shown["plans"]] == ["taken", "taken", "refused: slice"]
    assert shown["population_budget"]["pinned"] == 5.0 and [p["answered"] for p in shown["plans"]] == [1, 1, 0]
    refused(pb.ERROR_NOT_FOUND, "plan", device.link.ask, "plan", get_plan=pb.GetPlan(plan_hash=b"\0" * 32))


def test_frames_of_clients_are_for_clients(cluster):
    _, analyzer = started(cluster)
    for kind in ({"get_plan": pb.GetPlan(plan_hash=b"\0" * 32)}, {"get_standing": pb.GetStanding()},
                 {"get_manifest": pb.GetManifest(round_id=b"\0" * 16)}):
        refused(pb.ERROR_BAD_ROLE, "", analyzer.link.ask, "plan", **kind)
        analyzer.dial()
    refused(pb.ERROR_NOT_FOUND, "", Device(cluster).link.ask, "manifest",
            get_manifest=pb.GetManifest(round_id=b"\0" * 16))


# ---- Standings -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("removed", [False, True])
def test_a_standing_outlives_a_kill(cluster, removed):
    """Whatever is acknowledged is in the standing, however soon the kill comes after the receipt."""
    shuffler, analyzer = started(cluster, mutant="shuffler.standing" if removed else "", devices=1000)
    assert Device(cluster).standing() == (0, b"")
    for n in range(1, 6):
        d, data = analyzer.open_round(target=500, min_reports=2, window_ms=5000)
        device = Device(cluster)
        assert device.submit(d, submissions(d, data, [1, 2])) == [pb.OUTCOME_ACCEPTED] * 2
        shuffler.kill()
        shuffler.start()
        cluster.wait_listening()
        stands = Device(cluster).standing()
        if removed:
            assert stands == (0, b"")
            return
        assert stands == (n, wire.sha256(data))
        analyzer.dial()
        assert analyzer.manifest(d)[0].participants == 2


# ---- Restart in the middle of a pin ----------------------------------------------------------------------------------

def dear(analyzer, n, seed=0, **plan):
    """A plan of n rounds that hide each other badly: no two alike."""
    chance = random.Random(seed)
    entries = []
    for i in range(n):
        d = analyzer.descriptor(bins=2 + i % 40, epsilon0=0.1 + 2 * chance.random(), min_reports=100 + i, target=10**6)
        entries.append(analyzer.entry(d, number=i + 1))
    return analyzer.plan(entries, epsilon=plan.pop("epsilon", 40.0), **plan)


def test_a_shuffler_killed_while_it_pins_pins_again_and_the_same(cluster):
    shuffler, analyzer = started(cluster, epsilon=60.0)
    plan = dear(analyzer, 40)
    analyzer.extend()
    for i in range(6):
        time.sleep(0.05 * i)
        shuffler.kill()
        shuffler.start()
        cluster.wait_listening()
    wait_for("the pin", lambda: status(cluster)["plans"][0]["state"] == "taken")
    taken = status(cluster)["plans"][0]["taken"]
    # An orderly end in the middle of the next one does not wait for its end: that plan is still to be composed.
    analyzer.dial()
    dear(analyzer, 200, seed=1, epsilon=10.0)
    analyzer.extend()
    shuffler.stop()
    shuffler.start()
    cluster.wait_listening()
    shown = status(cluster)
    assert shown["plans"][0]["taken"] == taken and shown["plans"][1]["state"] == "composing"
    assert shown["population_budget"]["pinned"] == 40.0
    analyzer.dial()
    e = pb.Plan.FromString(plan).entries[0]
    d = analyzer.descriptor(bins=params.read(e.randomizer).bins, min_reports=e.min_reports, target=e.target)
    d.randomizer.CopyFrom(e.randomizer)
    d.privacy.epsilon0 = e.epsilon0
    analyzer.try_entry(d, plan)


# ---- Nobody waits ----------------------------------------------------------------------------------------------------

def in_line(pid):
    """Seconds in which the first thread of a process was ready to run, and this machine ran another."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[1]) / 1e9


def used_by(pid):
    """Seconds of a processor that a process has had."""
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rsplit(") ", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Waits:
    """A client that asks on and on, and somebody who reads the status page, each a process of its own: how long they wait for
    an answer, without the time in which they or the shuffler's loop stood in line for a processor."""

    def __init__(self, cluster, shuffler):
        self.loop = shuffler.process.pid
        self.longest, self.asked = multiprocessing.Value("d", 0.0), multiprocessing.Value("i", 0)
        self.processes = [multiprocessing.Process(target=self.run, args=(make, cluster), daemon=True)
                          for make in (self.asks, self.looks)]
        for p in self.processes:
            p.start()

    @staticmethod
    def asks(cluster):
        link = wire.Link.dial(cluster.port, cluster.tls("client"))
        return lambda: link.ask("standing", get_standing=pb.GetStanding())

    @staticmethod
    def looks(cluster):
        def look():
            with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['shuffler']}/status", timeout=180) as r:
                json.load(r)
        return look

    def run(self, make, cluster):
        ask = make(cluster)
        while True:
            begin, stood = time.monotonic(), in_line("self") + in_line(self.loop)
            ask()
            took = time.monotonic() - begin - (in_line("self") + in_line(self.loop) - stood)
            with self.longest.get_lock():
                self.longest.value = max(self.longest.value, took)
                self.asked.value += 1
            time.sleep(0.002)

    def stop(self):
        for p in self.processes:
            assert p.is_alive(), "it was not answered"
            p.kill()
            p.join(10)
        assert self.asked.value > 10, self.asked.value


def reservations(analyzer, n, seed, plan_hash, categories=4):
    """Records that reserve n different rounds."""
    chance = random.Random(seed)
    for i in range(n):
        d = analyzer.descriptor(bins=categories, epsilon0=0.1 + 3 * chance.random(), min_reports=2 + i, target=10**6)
        d.plan_hash, d.entry, d.attempt = plan_hash, 1, 1
        analyzer.reserve(analyzer.follow(d))


@pytest.mark.heavy  # the optimised build, whose time it is
def test_nobody_waits_while_an_analyzer_says_its_worst(cluster, capsys):
    """The longest that any peer waits is below half a second while the analyzer, signing all of it, shows thousands of
    different reservations, the largest plans, plans without end, and announces them; and a restart is as quick."""
    shuffler, analyzer = started(cluster, epsilon=1000.0, delta=0.009)
    analyzer.delta = 1e-4
    waits, said = Waits(cluster, shuffler), {}

    def timed(name, act):
        waits.longest.value, begin = 0.0, time.monotonic()
        act()
        said[name] = {"longest wait ms": round(waits.longest.value * 1e3, 1), "seconds": round(time.monotonic() - begin, 2)}
        assert waits.longest.value < WAIT_MAX, said

    first = analyzer.plan([analyzer.entry(analyzer.descriptor())], epsilon=1.0)
    timed("4,500 different reservations", lambda: (reservations(analyzer, 4500, 1, wire.sha256(first)), analyzer.extend()))
    timed("the largest reservations", lambda: (reservations(analyzer, 200, 2, wire.sha256(first), categories=4096),
                                               analyzer.extend()))
    big = []
    timed("plans of 1,000 entries", lambda: ([big.append(dear(analyzer, 1000, seed=i, epsilon=1.0)) for i in range(3)],
                                             analyzer.extend()))
    timed("1,000 small plans", lambda: ([analyzer.plan([analyzer.entry(analyzer.descriptor())], epsilon=1e-3, delta=1e-9)
                                         for _ in range(1000)], analyzer.extend()))
    worst = [dear(analyzer, 256, seed=10 + i, epsilon=1.0) for i in range(2)]
    timed("plans that are dear to compose", analyzer.extend)

    def announces():
        entries = [pb.Plan.FromString(p).entries[0] for p in (big + worst)]
        for i in range(40):
            e = entries[i % len(entries)]
            d = analyzer.descriptor(bins=params.read(e.randomizer).bins, min_reports=e.min_reports, target=e.target)
            d.randomizer.CopyFrom(e.randomizer)
            d.privacy.epsilon0 = e.epsilon0
            with pytest.raises(Refused):  # not composed yet, or too many entries
                d.plan_hash = wire.sha256((big + worst)[i % len(entries)])
                d.entry = d.attempt = 1
                data = analyzer.reserve(analyzer.follow(d))
                analyzer.extend()
                analyzer.announce(data, seconds=0)
    timed("announces of all of them", announces)

    def plans_by_turns():
        device = Device(cluster)
        for i in range(60):
            device.link.ask("plan", get_plan=pb.GetPlan(plan_hash=wire.sha256(big[i % 3])))
    timed("the largest plans by turns", plans_by_turns)
    waits.stop()
    seq = analyzer.chain.seq
    shuffler.stop()
    shuffler.start()
    cluster.wait_listening()
    said["restart"] = {"processor seconds": round(used_by(shuffler.process.pid), 2), "records": seq}
    assert said["restart"]["processor seconds"] < RESTART_MAX, said
    waits = Waits(cluster, shuffler)
    analyzer.dial()
    timed("a round while it composes", lambda: round_of(cluster, analyzer, first))
    waits.stop()
    with capsys.disabled():
        print("\n" + json.dumps(said))


def round_of(cluster, analyzer, plan):
    """A whole round of a plan that was pinned before all that."""
    d, data = analyzer.try_entry(analyzer.descriptor(), plan)
    device = Device(cluster)
    assert device.submit(d, submissions(d, data, [1, 2])) == [pb.OUTCOME_ACCEPTED] * 2
    manifest, signed = analyzer.manifest(d)
    charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge)
    assert len(analyzer.pull(d, manifest)) == 2
