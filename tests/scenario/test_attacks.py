"""Dishonest analyzers and shufflers, in Python, against the real client and the real analyzer.

Each attack runs twice: with the check, which must detect it, and with the check removed, when it must go through.
"""
import os

import pytest

import wire
from cluster import EXIT, wait_for
from parties import Analyzer, Shuffler
from wire import pb


def colours(cluster, n, bins=4):
    return cluster.write("readings.csv", "device,colour\n" + "".join(f"dev{i},c{i % bins}\n" for i in range(n)))


class Descriptors(Analyzer):
    """Signs descriptors without a shuffler to announce them to."""

    def offer(self, shuffler, signature=None, tamper=None, d=None, **kw):
        d = d or self.descriptor(**kw)
        data = self.reserve(d)
        shuffler.know_plans(self.chain.records)
        signature = signature or wire.sign(self.key, "descriptor", data)
        data = tamper(data) if tamper else data
        with shuffler.lock:
            shuffler.rounds[d.round_id] = {"d": d, "data": data, "signature": signature, "taken": {}, "sealed": False}
            shuffler.order.append(d.round_id)
            shuffler.lock.notify_all()
        return d, data


@pytest.fixture
def fake(cluster):
    cluster.configure(min_batch=2, max_epsilon0=5.0, epsilon=2.0)
    made = Shuffler(cluster)
    yield made
    made.close()


def send(cluster, n=4, mutant="", *extra):
    return cluster.run("client", "send", colours(cluster, n), "--device-field", "device", "--wait", "3m", *extra,
                       mutant=mutant)


def test_an_honest_round_through_the_python_shuffler(cluster, fake):
    d, data = Descriptors(cluster).offer(fake, target=4)
    run = send(cluster)
    assert run.returncode == 0, run.stderr
    taken = fake.rounds[d.round_id]["taken"]
    assert len(taken) == 4 and {len(s) for s in taken.values()} == {64}


def other_key(data):
    d = pb.Descriptor.FromString(data)
    d.hpke_key = wire.X25519PrivateKey.generate().public_key().public_bytes(
        wire.serialization.Encoding.Raw, wire.serialization.PublicFormat.Raw)
    return d.SerializeToString()


def flipped(data):
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


@pytest.mark.parametrize("name,removed_lets_through", [("swapped key", True), ("flipped byte", False)])
def test_the_client_refuses_a_tampered_descriptor(cluster, fake, name, removed_lets_through):
    tamper = other_key if name == "swapped key" else flipped
    d, _ = Descriptors(cluster).offer(fake, target=4, tamper=tamper)
    run = send(cluster)
    assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
    assert "signature" in run.stderr and not fake.received
    if removed_lets_through:
        run = send(cluster, 4, "client.signature,round.descriptor.signature")
        assert fake.received, run.stderr


@pytest.mark.parametrize("change,code,word,check", [
    (dict(min_reports=1, target=4), "permission", "batch", "policy.min_batch"),
    (dict(epsilon0=6.0, target=4), "permission", "epsilon0",
     "policy.epsilon0,client.budget"),
    (dict(epsilon0=4.5, target=4), "budget", "budget", "client.budget"),
])
def test_the_client_refuses_by_its_own_policy_and_budget(cluster, fake, change, code, word, check):
    analyzer = Descriptors(cluster)
    analyzer.offer(fake, **change)
    run = send(cluster)
    assert run.returncode == EXIT[code], (run.returncode, run.stderr)
    assert word in run.stderr and not fake.received, run.stderr
    cluster.reset_client()
    run = send(cluster, 4, check)
    assert fake.received, run.stderr


@pytest.mark.parametrize("removed", [False, True])
def test_the_client_refuses_a_second_descriptor_for_a_sequence_number(cluster, fake, removed):
    analyzer = Descriptors(cluster)
    d, _ = analyzer.offer(fake, target=4, epsilon0=0.5)
    assert send(cluster).returncode == 0
    before = len(fake.received)
    analyzer.sequence, analyzer.previous = 0, b""
    # A bad shuffler serves the second one whatever the client says it has seen.
    fake.served = lambda after: (fake.rounds[fake.order[-1]]["data"], fake.rounds[fake.order[-1]]["signature"])
    analyzer.offer(fake, target=4, epsilon0=0.5)
    run = send(cluster, 4, "client.sequence" if removed else "")
    # Behind the check the client's store has a second wall, so that nothing is sent even without it.
    assert len(fake.received) == before
    assert ("sequence number" in run.stderr) == (not removed), run.stderr
    if not removed:
        assert run.returncode in (EXIT["permission"], EXIT["protocol"]), (run.returncode, run.stderr)


@pytest.mark.parametrize("removed", [False, True])
def test_the_client_believes_only_signed_receipts(cluster, fake, removed):
    Descriptors(cluster).offer(fake, target=4)
    fake.receipt_key = wire.Ed25519PrivateKey.generate
    run = send(cluster, 4, "client.receipt" if removed else "")
    if removed:
        assert run.returncode == 0, run.stderr
    else:
        assert run.returncode != 0 and "receipt" in run.stderr, (run.returncode, run.stderr)


class Postponing(Shuffler):
    """Asks those who report to come again in seven weeks, the first time."""
    postponed = False

    def on_submit(self, link, m):
        if self.postponed:
            super().on_submit(link, m)
        else:
            self.postponed = True
            self.error_of(link, pb.ERROR_BUSY, m.round_id, 2**32 - 1)


def test_a_peer_does_not_say_for_how_long_a_client_is_silent(cluster):
    cluster.configure(max_epsilon0=5.0)
    with open(cluster.path("client.conf"), "a") as f:
        f.write("connections = 1;\n")
    fake = Postponing(cluster)
    d, _ = Descriptors(cluster).offer(fake, target=2, min_reports=1)
    path = cluster.write("readings.csv", "device,colour\na,c1\nb,c2\n")
    run = cluster.run("client", "send", path, "--device-field", "device", "--wait", "3m")
    fake.close()
    assert run.returncode == 0 and fake.postponed and len(fake.rounds[d.round_id]["taken"]) == 2, run.stderr


def test_retries_send_identical_bytes_across_kills_of_the_client(cluster, fake):
    """Killed again and again while it seals and sends; every pseudonym's bytes are the same each time."""
    import random
    import time
    rng, n = random.Random(11), 600
    Descriptors(cluster).offer(fake, target=n, min_reports=2, epsilon0=0.5)
    colours(cluster, n)
    answer = fake.on_submit

    def drop_some(link, m):
        if rng.random() < 0.6:
            with fake.lock:
                fake.received.append((m.pseudonyms, m.sealed))
            raise EOFError
        answer(link, m)

    fake.on_submit = drop_some
    with open(cluster.path("client.conf"), "a") as f:
        f.write("frame_devices = 100;\n")
    kills = 0
    while kills < 15:
        d = cluster.start("client", "send", cluster.path("readings.csv"), "--device-field", "device",
                          "--wait", "20s")
        had = len(fake.received)
        if kills % 2:  # while it sends; else at any moment, on a slow machine before its first message
            wait_for("a message, or the end", lambda: len(fake.received) > had or not d.alive())
        time.sleep(0.05 + rng.random() * 0.4)
        if not d.alive():
            break
        d.kill()
        kills += 1
    fake.on_submit = answer
    seen = {}

    def all_came():
        for names, sealed in list(fake.received):
            count = len(names) // 32
            size = len(sealed) // count
            for i in range(count):
                seen.setdefault(names[32 * i:32 * i + 32], set()).add(sealed[size * i:size * (i + 1)])
        return len(seen) == n

    last = cluster.start("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
    wait_for("every device, or the end", lambda: all_came() or not last.alive())
    assert all_came(), last.log()
    assert all(len(s) == 1 for s in seen.values()), "a device's report was randomized or sealed twice"
    assert len(fake.received) > 3


# ---- a bad shuffler against the real analyzer ----------------------------------------------------------------------

class Tampering(Shuffler):
    mode = "honest"

    def released(self, messages):
        out = list(messages)
        if self.mode == "injected":
            out[0] = os.urandom(len(out[0]))
        elif self.mode == "dropped":
            out = out[:-1] + [out[0]]
        elif self.mode == "altered":
            out[0] = out[0][:-1] + bytes([out[0][-1] ^ 1])
        return out

    def manifest_messages(self, messages):
        if self.mode == "duplicated":
            # The manifest agrees with what is released: only the duplicate check can tell.
            messages[-1] = messages[0]
        return messages


def analyzer_round(cluster, mode, mutant):
    n = 40
    cluster.configure(min_batch=2)
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
                   "min_reports": n, "target": n, "values": [f"c{i}" for i in range(4)], "window": "30s"}],
                 epsilon=4.0)
    fake = Tampering(cluster)
    fake.mode = mode
    try:
        client = cluster.start("client", "send", colours(cluster, n), "--device-field", "device", "--wait", "3m")
        run = cluster.run("analyzer", "round", "run", "1", mutant=mutant)
        client.wait()
        return run
    finally:
        fake.close()


def test_the_real_analyzer_accepts_an_honest_python_shuffler(cluster):
    run = analyzer_round(cluster, "honest", "")
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("mode", ["injected", "dropped", "altered"])
def test_the_analyzer_detects_a_batch_that_is_not_the_manifests(cluster, mode):
    run = analyzer_round(cluster, mode, "")
    assert run.returncode == EXIT["protocol"], (run.returncode, run.stderr)
    assert "bucket" in run.stderr
    shown = cluster.json("analyzer", "round", "show", "1")
    assert shown["stage"] == "settled" and shown["result"]["items"] == [] and "bucket" in shown["result"]["fault"]
    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] > 0
    for form in ((), ("--csv",), ("--json",)):
        estimate = cluster.run("analyzer", "estimate", "colour", *form)
        assert estimate.returncode == EXIT["data"] and "bucket" in estimate.stdout + estimate.stderr
    # The next start is not stuck on it.
    again = cluster.run("analyzer", "run", "--once")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("mode", ["injected", "dropped", "altered"])
def test_without_the_root_check_a_tampered_batch_passes(cluster, mode):
    run = analyzer_round(cluster, mode, "analyzer.manifest.root,analyzer.manifest.tree")
    assert run.returncode == 0, (run.returncode, run.stderr)


@pytest.mark.parametrize("removed", [False, True])
def test_a_duplicated_message_is_counted_once(cluster, removed):
    run = analyzer_round(cluster, "duplicated", "analyzer.duplicates" if removed else "")
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["duplicates"] == (0 if removed else 1), result


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_client_that_lost_its_ledger_does_not_start_as_new(cluster, fake, how):
    """Without the ledger it would forget what its devices have spent."""
    analyzer = Descriptors(cluster)
    analyzer.offer(fake, target=4, epsilon0=0.5)
    assert send(cluster).returncode == 0
    for f in os.listdir(cluster.path("client")):
        if f.startswith("client.db"):
            os.unlink(cluster.path("client", f))
    if how == "emptied":
        open(cluster.path("client", "client.db"), "wb").close()
        os.chmod(cluster.path("client", "client.db"), 0o600)
    before = len(fake.received)
    analyzer.offer(fake, target=4, epsilon0=0.5)
    for _ in range(2):
        run = send(cluster)
        assert run.returncode == EXIT["data"], (run.returncode, run.stderr)
        assert "client.db" in run.stderr and "ledger is missing" in run.stderr
    assert len(fake.received) == before
