"""Dishonest parties against what tags, classes, slots and prefixes add: descriptors that an analyzer bends, messages that
a client bends, batches and manifests that a shuffler bends."""
import copy
import json
import os
import struct

import pytest

import params
import wire
from bends import D, IMPOSSIBLE, N, PLANS, filled, stated
from cluster import EXIT, wait_for
from parties import Analyzer, Device, Shuffler
from test_blanket import POLICY
from wire import pb


@pytest.fixture
def fake(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf", client_policy=POLICY.format(accept="true"))
    made = Shuffler(cluster)
    yield made
    made.close()


def readings(cluster):
    cluster.write("readings.ndjson", "".join(json.dumps({
        "device": f"d{i}", "v": [i / N] * D, "colour": f"c{i % 3}", "site": "lighthouse", "state": "ab"[i % 2], "v0": i / N,
        "v1": 1 - i / N, "fan": ("on", "off")[i % 2]}) + "\n" for i in range(N)))


def honest(cluster, fake, kind):
    """The descriptor of the real analyzer for this plan."""
    cluster.plan([{"query": "q", "min_reports": N, "target": N, "window": "1h", **PLANS[kind]}], epsilon=45.0)
    analyzer = cluster.start("analyzer", "round", "run", "1")
    wait_for("the round", lambda: fake.order or not analyzer.alive())
    assert fake.order, analyzer.log()
    analyzer.kill()
    readings(cluster)
    return fake.rounds[fake.order[0]]["d"]


def bent(d, change=lambda d: None):
    out = pb.Descriptor.FromString(d.SerializeToString())
    out.round_id = os.urandom(16)
    change(out)
    return out


def send(cluster, mutant=""):
    cluster.reset_client()
    return cluster.run("client", "send", cluster.path("readings.ndjson"), "--device-field", "device", "--wait", "5s",
                       mutant=mutant)


def serve(cluster, fake, d):
    """This descriptor alone, signed."""
    data = d.SerializeToString()
    with fake.lock:
        fake.rounds.clear()
        fake.received.clear()
        fake.order[:] = [d.round_id]
        fake.rounds[d.round_id] = {"d": d, "data": data, "taken": {}, "sealed": False,
                                   "signature": wire.sign(cluster.signing_key("analyzer"), "descriptor", data)}
        fake.lock.notify_all()


class Liar(Analyzer):
    """Takes descriptors as they are."""

    def __init__(self, cluster, d):
        super().__init__(cluster, epsilon_limit=d.privacy.epsilon_limit, delta=d.privacy.delta)

    def offer(self, d, part=30):
        """Reserve and announce d under a plan of its own, which takes this part of the budget; the shuffler's refusal, or
        None.  The ledger is as before it if that is where it was refused."""
        before = copy.deepcopy((self.chain, self.plans, self.plan_previous, self.sequence, self.previous))
        p = self.plan([self.entry(d)], epsilon=self.limit / part, delta=self.delta / part)
        d.plan_hash, d.entry, d.attempt, d.honest_fraction = wire.sha256(p), 1, 1, 1.0
        data = self.reserve(self.follow(d))
        try:
            self.extend()
        except wire.Refused as e:
            self.chain, self.plans, self.plan_previous, self.sequence, self.previous = before
            return e
        try:
            self.announce(data)
        except wire.Refused as e:
            self.chain.add(kind=pb.RECORD_VOID, time_ms=4, round_id=d.round_id, reason="refused")
            self.extend()
            return e
        return None


@pytest.mark.parametrize("kind", PLANS)
def test_descriptors_that_no_honest_analyzer_makes_are_refused_by_shuffler_and_clients(cluster, fake, kind):
    d = honest(cluster, fake, kind)
    changes = IMPOSSIBLE[kind]
    # Clients read with the code that the shuffler reads with; one of them all shows that they do.
    serve(cluster, fake, bent(d, changes[-1]))
    run = send(cluster)
    assert run.returncode == EXIT["protocol"] and "descriptor: " in run.stderr, (run.returncode, run.stderr)
    assert not fake.received
    serve(cluster, fake, bent(d))
    run = send(cluster)
    assert fake.received, run.stderr
    fake.close()
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    liar = Liar(cluster, d).dial()
    for i, change in enumerate(changes):
        refused = liar.offer(bent(d, change))
        assert refused is not None, f"change {i} of {kind} passed"
        assert refused.code in (pb.ERROR_BAD_MESSAGE, pb.ERROR_LEDGER), (i, refused)
    assert liar.offer(bent(d), 1) is None, "the honest one is refused"
    shuffler.stop()


def test_without_the_check_a_row_makes_a_message_of_none_that_no_reading_makes(cluster, fake):
    d = bent(honest(cluster, fake, "number"), IMPOSSIBLE["number"][-1])
    serve(cluster, fake, d)
    run = send(cluster)
    assert run.returncode == EXIT["protocol"] and "has no symbol" in run.stderr and not fake.received, run
    run = send(cluster, "round.descriptor.none")
    assert fake.received, run.stderr


STATED = [("tags", stated, "states epsilon0"), ("classes", stated, "states epsilon0"), ("places", stated, "states epsilon0"),
          # As many dummies as leave one message of each tag hide next to nobody.
          ("tags", filled(1), "budget")]


@pytest.mark.parametrize("kind,change,word", STATED)
def test_parameters_that_hide_less_than_stated_are_refused_by_shuffler_and_clients(cluster, fake, kind, change, word):
    d = bent(honest(cluster, fake, kind), change)
    small = POLICY.format(accept="true").replace("max_epsilon = 50.0", "max_epsilon = 3.5")
    removes = ("policy.statement", "policy.statement")
    if word == "budget":
        cluster.write("client-policy.conf", small)
        removes = ("client.budget,round.plan.randomizer", "shuffler.plan.slice")
    serve(cluster, fake, d)
    run = send(cluster)
    said = "the round's randomizer is not the plan's" if word == "budget" else word
    assert run.returncode in (EXIT["permission"], EXIT["budget"]) and said in run.stderr and not fake.received, run
    run = send(cluster, removes[0])
    assert fake.received, run.stderr
    fake.close()
    if word == "budget":
        with open(cluster.path("shuffler-policy.conf")) as f:
            text = f.read()
        cluster.write("shuffler-policy.conf", text.replace("max_epsilon = 50.0", "max_epsilon = 3.5"))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    refused = Liar(cluster, d).dial().offer(bent(d), 1)
    assert refused is not None and word in refused.text, refused
    shuffler.stop()
    cluster.reset_shuffler()
    cluster.start("shuffler", "run", mutant=removes[1])
    cluster.wait_listening()
    assert Liar(cluster, d).dial().offer(bent(d), 1) is None


# ---- clients ---------------------------------------------------------------------------------------------------------

def message(d, data, tag, slot, value):
    return struct.pack("<H", tag) + Shuffler.sealed_in(d, data, slot, value)


def real(cluster, kind, mutant="", **keys):
    """The real shuffler and analyzer, in a round that devices in Python can reach."""
    cluster.configure(min_batch=2, max_epsilon0="inf")
    cluster.plan([{"query": "q", "min_reports": 10, "target": N, "window": "1h", **PLANS[kind], **keys}], epsilon=45.0, tries=1)
    cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    d, data = device.round()
    return analyzer, device, d, data


def test_what_devices_say_to_shuffler_and_analyzer_need_not_agree(cluster):
    """All their messages under one tag, records of slots, groups and levels that there are not: counted as bad, and
    the round is as even as ever."""
    analyzer, device, d, data = real(cluster, "tags")
    s = params.read(d.randomizer).slots[0]
    groups, bins = s.groups, s.bins
    good = [(os.urandom(32), message(d, data, 0, 0, 0) + message(d, data, groups, 1, 0)) for _ in range(N - 10)]
    bad = [(2, 0), (65535, 0), (0, groups * bins), (0, 2**64 - 1), (1, groups * bins)]
    liars = [(os.urandom(32), message(d, data, 5, *bad[i % 5]) + message(d, data, 5, *bad[(i + 1) % 5])) for i in range(10)]
    assert set(device.submit(d, good + liars)) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == N and result["messages"] == 60 * D and result["bad"] == 20
    per = len(result["counts"]) // D
    even = [sum(result["counts"][c * per:(c + 1) * per]) for c in range(D)]
    # Their tag has so many fewer of its own: the shuffler took theirs for such.
    assert even == [60] * 5 + [40], result["counts"]


def test_cells_that_the_grid_has_not_are_counted_as_bad(cluster):
    analyzer, device, d, data = real(cluster, "places")
    good = [(os.urandom(32), Shuffler.sealed_in(d, data, 0, i % 6)) for i in range(N - 4)]
    bad = [(os.urandom(32), Shuffler.sealed_in(d, data, *at)) for at in ((0, 6), (0, 2**32), (0, 2**64 - 1), (1, 0))]
    assert set(device.submit(d, good + bad)) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == N and result["bad"] == 4 and result["counts"] == [6] * 6, result


def test_lengths_that_are_not_the_rounds_are_refused(cluster):
    _, device, d, data = real(cluster, "slots")
    whole = b"".join(Shuffler.sealed_in(d, data, s, 0) for s in range(3))
    for wrong in (whole[:-1], whole + b"x", whole[:64], whole[:128], whole * 2, b""):
        with pytest.raises((wire.Refused, EOFError)) as refused:
            Device(cluster).submit(d, [(os.urandom(32), wrong)])
        assert not isinstance(refused.value, wire.Refused) or refused.value.code == pb.ERROR_BAD_MESSAGE
    assert device.submit(d, [(os.urandom(32), whole)]) == [pb.OUTCOME_ACCEPTED]


@pytest.mark.parametrize("kind,wrong", [("tags", [(6, 0), (0, 65535)]), ("classes", [(2,)])])
def test_a_tag_that_the_round_has_not_is_refused(cluster, kind, wrong):
    _, device, d, data = real(cluster, kind)
    for sent in wrong:
        with pytest.raises(wire.Refused) as refused:
            device.submit(d, [(os.urandom(32), b"".join(message(d, data, tag, 0, 0) for tag in sent))])
        assert refused.value.code == pb.ERROR_BAD_MESSAGE and "tag" in refused.value.text


def test_without_the_check_such_a_tag_is_taken(cluster):
    _, device, d, data = real(cluster, "classes", "shuffler.message_tags")
    assert device.submit(d, [(os.urandom(32), message(d, data, 2, 0, 0))]) == [pb.OUTCOME_ACCEPTED]


@pytest.mark.parametrize("removed", [False, True])
def test_a_class_with_too_few_makes_the_round_void(cluster, removed):
    analyzer, device, d, data = real(cluster, "classes", "shuffler.least" if removed else "", window="8s")
    sent = [(os.urandom(32), message(d, data, i >= 20, i >= 20, i % 3)) for i in range(25)]
    assert set(device.submit(d, sent)) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    assert entry["stage"] == ("settled" if removed else "void"), entry


@pytest.mark.parametrize("removed", [False, True])
def test_a_device_is_of_one_class(cluster, removed):
    """Several messages of a device in rows with classes: one class is what it is counted in."""
    _, device, d, data = real(cluster, "pooled", "shuffler.one_class" if removed else "")
    assert d.messages_per_client == 2
    sent = [(os.urandom(32), message(d, data, 0, 0, 0) + message(d, data, 1, 1, 0))]
    if removed:
        assert device.submit(d, sent) == [pb.OUTCOME_ACCEPTED]
    else:
        with pytest.raises(wire.Refused) as refused:
            device.submit(d, sent)
        assert "two classes" in refused.value.text


# ---- shufflers -------------------------------------------------------------------------------------------------------

class Bent(Shuffler):
    """The round is closed by whoever is the last of N devices."""
    how = "honest"

    def evened(self, d, data, tagged):
        out = super().evened(d, data, tagged)
        if self.how == "one short":
            return out[:-1]
        if self.how == "not evened":
            return [m[2:] for m in tagged]
        if self.how == "one twice":
            return [out[1]] + out[1:]
        return out

    def said(self, m):
        if self.how in LIES:
            LIES[self.how](m)


def void(m):
    m.void, m.messages = True, 0
    del m.buckets[:]


def lacking(n, voids=True):
    def lie(m):
        m.lacking = n
        if voids:
            void(m)
    return lie


def said(**fields):
    def lie(m):
        for k, v in fields.items():
            setattr(m, k, getattr(m, k) + v if isinstance(v, int) else v)
    return lie


def bucket(m):
    m.buckets[0].messages += 1


# Lies of a manifest: what the analyzer says of them.
LIES = {"one participant more": said(participants=1), "one message more": said(messages=1), "dummies": said(dummies=3),
        "void though enough": void, "a class lacks that there is not": lacking(3), "lacking though released":
        lacking(1, False), "a bucket larger": bucket, "another round's": said(round_id=b"\1" * 16),
        "another descriptor's": said(descriptor_hash=b"\1" * 32), "a later version": said(version=1)}


@pytest.fixture
def between(cluster):
    """A shuffler between the real client and analyzer; a function that has the analyzer go on with the round."""
    cluster.configure(min_batch=2, max_epsilon0="inf", client_policy=POLICY.format(accept="true"))
    readings(cluster)
    fake = Bent(cluster)

    def go_on(kind, how, mutant=""):
        if not fake.order:
            cluster.plan([{"query": "q", "min_reports": 20, "target": N, "window": "1m", **PLANS[kind]}], epsilon=45.0)
            cluster.start("client", "send", cluster.path("readings.ndjson"), "--device-field", "device", "--wait", "3m")
        fake.how = how
        return cluster.run("analyzer", "round", "run", "1", mutant=mutant)

    yield go_on
    fake.close()


def stage(cluster):
    return cluster.json("analyzer", "round", "list")["rounds"][0]["stage"]


def test_tags_that_are_not_evened_as_prescribed_are_refused(cluster, between):
    for how in ("one short", "not evened"):
        run = between("tags", how)
        assert run.returncode == EXIT["protocol"] and "messages: " in run.stderr, run.stderr
        assert stage(cluster) == "reserved"
    run = between("tags", "one twice")
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["messages"] == 60 * D and result["bad"] == 0 and result["duplicates"] == 1


def test_a_manifest_that_contradicts_the_descriptor_is_refused(cluster, between):
    for how in LIES:
        run = between("classes", how)
        assert run.returncode == EXIT["protocol"] and "manifest: " in run.stderr, (how, run.returncode, run.stderr)
        assert stage(cluster) == "reserved", how
    run = between("classes", "honest")
    assert run.returncode == 0 and stage(cluster) == "settled", run.stderr


def test_without_the_check_a_manifest_with_other_counts_passes(cluster, between):
    run = between("classes", "one participant more", "round.manifest.counts")
    assert stage(cluster) == "settled", run.stderr


class Replaying(Shuffler):
    """Puts messages of the first round into the second in place of some of its own."""
    kept = ()

    def manifest_messages(self, messages):
        if self.kept:
            messages[:10] = self.kept[:10]
        else:
            self.kept = list(messages)
        return messages


def test_messages_of_an_earlier_round_do_not_open_in_a_later_one(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf")
    cluster.plan([{"query": f"q{i}", "min_reports": 20, "target": N, "window": "30s", **PLANS["slots"]}
                  for i in range(2)], epsilon=45.0)
    readings(cluster)
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace("readings.csv", "readings.ndjson"))
    fake = Replaying(cluster)
    try:
        cluster.start("client", "run")
        run = cluster.run("analyzer", "run", "--once")
    finally:
        fake.close()
    assert run.returncode == 0, run.stderr
    first, second = (cluster.json("analyzer", "round", "show", str(i))["result"] for i in (1, 2))
    assert first["bad"] == 0 and second["bad"] == 10 and second["messages"] == first["messages"] == 3 * N
