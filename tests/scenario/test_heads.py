"""How long the ledger was, by what clients hold of it under the analyzer's signature: a shuffler that lost its state, an
analyzer or a shuffler restored from a copy, both together; and who cannot make use of it."""
import os
import shutil
import subprocess
import time

import pytest

import wire
from cluster import EXIT, program, wait_for
from parties import Analyzer, Device
from test_lost import lose, one_round, plan, said, serve
from test_rounds import histogram
from wire import Refused, pb

N = 20
BUDGET = "budget = { epsilon = 20.0; delta = 0.0001; };\n"


def believe(cluster, colluders):
    """So many devices may collude, as the shuffler's operator believes."""
    with open(cluster.path("shuffler-policy.conf")) as f:
        text = f.read()
    assert "colluders = 0;" in text
    cluster.write("shuffler-policy.conf", text.replace("colluders = 0;", f"colluders = {colluders};"))


def accept(cluster, *args):
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test", *args)
    assert run.returncode == 0, run
    return run.stdout


def one_round_of_many(cluster, epsilon=20.0):
    """one_round under budgets that hold a second plan."""
    one_round(cluster, BUDGET)
    cluster.configure(min_batch=N, delta=1e-5, epsilon=epsilon)
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write(BUDGET)


def stated(cluster):
    return cluster.json("shuffler", "status")["stated"]


def refused(code, text, act, *args, **kw):
    with pytest.raises(Refused) as e:
        act(*args, **kw)
    assert e.value.code == code and text in e.value.text, e.value


# ---- Certificates in Python ------------------------------------------------------------------------------------------

def holder(cluster, name, devices):
    """A client certificate for so many devices; its TLS context."""
    folder = os.path.join(cluster.pki, name)
    run = subprocess.run([program("tombola"), "pki", "issue", cluster.pki, name, "--role", "client", "--devices",
                          str(devices), "--out", folder], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for f in ("services-ca.crt", "clients-ca.crt"):
        if os.path.exists(os.path.join(cluster.pki, "client", f)):
            shutil.copy(os.path.join(cluster.pki, "client", f), folder)
    return cluster.tls(name)


def state(cluster, tls, data=b"", signature=b""):
    link = wire.Link.dial(cluster.port, tls)
    link.ask("standing", get_standing=pb.GetStanding(descriptor=data, signature=signature))
    link.close()


def signed(analyzer, data):
    return wire.sign(analyzer.key, "descriptor", data)


@pytest.fixture
def three(cluster):
    """A ledger of three rounds that were served, all of one plan, and a shuffler that has lost its state and waits."""
    cluster.configure(epsilon=20.0, devices=N)
    believe(cluster, 2)
    shuffler = serve(cluster)
    analyzer = Analyzer(cluster).dial()
    d = analyzer.descriptor(target=2, min_reports=2)
    plan = analyzer.plan([analyzer.entry(d, i + 1) for i in range(3)], epsilon=8.0)
    analyzer.served = []
    for entry in range(1, 4):
        d = analyzer.descriptor(target=2, min_reports=2)
        d, data = analyzer.try_entry(d, plan, entry)
        Device(cluster).submit(d, [(os.urandom(32), Device.seal(d, data, v)) for v in (0, 1)])
        analyzer.manifest(d)
        if entry < 3:
            analyzer.void(d)
        analyzer.served.append(data)
    shuffler.stop()
    lose(cluster, "shuffler", "state.db", "removed")
    accept(cluster)
    analyzer.shuffler = shuffler
    return analyzer


def start(cluster, analyzer, mutant=""):
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer.dial()
    return shuffler


def test_who_colludes_unlocks_nothing_and_nobody_blocks(cluster, three):
    """Old heads, forged ones, none: what counts is the analyzer's signature, and how many devices stated one."""
    shuffler = start(cluster, three)
    one, two, three_, many = (holder(cluster, f"g{i}", n) for i, n in enumerate((1, 1, 1, 500)))
    first, _, last = three.served
    thief = wire.Ed25519PrivateKey.generate()
    longer = pb.Descriptor.FromString(last)
    longer.ledger_seq += 90
    longer = longer.SerializeToString()
    for data, signature in ((b"", b""), (longer, wire.sign(thief, "descriptor", longer)), (longer, signed(three, last)),
                            (last, wire.sign(three.key, "charge", last)), (last, b"\0" * 64), (b"\xff" * 90, b"\1" * 64)):
        state(cluster, many, data, signature)
        assert stated(cluster)["certificates"] == 0
    # Two that collude state the oldest, as often as they like, on any number of connections.
    for _ in range(3):
        for tls in (one, two):
            state(cluster, tls, first, signed(three, first))
        shown = stated(cluster)
        assert shown["waits"] and (shown["certificates"], shown["devices"], shown["colluders"]) == (2, 2, 2), shown
        refused(pb.ERROR_BUSY, "clients of 2 devices have stated their ledger, more than 2 are needed", three.link.ask,
                "witness", get_witness=pb.GetWitness(population="test"))
        refused(pb.ERROR_BUSY, "lost its state", three.show, 1, three.chain.records[:1], three.chain.heads[1])
        shuffler.kill()
        shuffler.start()
        cluster.wait_listening()
        three.dial()
    check = cluster.run("shuffler", "check")
    assert check.returncode == 2 and "waits for clients of more than 2 devices" in check.stdout, check
    assert "2 certificates of 2 devices were heard" in cluster.run("shuffler", "status").stdout
    # One that is honest: its head is the longest.
    state(cluster, three_, last, signed(three, last))
    shown = stated(cluster)
    at = pb.Descriptor.FromString(last).ledger_seq + 1
    assert not shown["waits"] and shown["closed_to"] == at, shown
    seen = three.link.ask("witness", get_witness=pb.GetWitness(population="test"))
    assert (seen.ledger_seq, seen.stated_seq, seen.stated_head) == (0, at - 1, three.chain.heads[at - 1])
    assert seen.stated_descriptor == wire.sha256(last)
    # An analyzer that shows less, or something else, gets no round.
    three.show(1, three.chain.records[:at - 1], three.chain.heads[at - 1])
    fork = Analyzer(cluster)
    fork.chain.records, fork.chain.heads = three.chain.records[:at - 1], three.chain.heads[:at]
    fork.chain.seq, fork.chain.head = at - 1, three.chain.heads[at - 1]
    fork.plans, fork.plan_previous = three.plans, three.plan_previous
    fork.sequence, fork.previous = 2, wire.sha256(three.served[1])
    three.link.close()
    refused(pb.ERROR_LEDGER, "is not the one that a client holds", fork.dial().open_round, target=2, min_reports=2)
    fork.link.close()
    # The ledger as it is: its plan is closed, its slice spent; a later plan has the rest.
    three.dial().extend()
    shown = cluster.json("shuffler", "status")
    assert [p["state"] for p in shown["plans"]] == ["closed"] and shown["population_budget"]["pinned"] == 8.0
    refused(pb.ERROR_BUDGET_EXHAUSTED, "is lost: its slice is spent", three.announce, last)
    d, data = three.open_round(target=2, min_reports=2)
    assert Device(cluster).submit(d, [(os.urandom(32), Device.seal(d, data, v)) for v in (0, 1)]) == \
        [pb.OUTCOME_ACCEPTED] * 2
    assert three.manifest(d)[0].participants == 2


def test_without_counting_devices_one_alone_unlocks(cluster, three):
    start(cluster, three, mutant="shuffler.loss.devices")
    state(cluster, holder(cluster, "g0", 1), three.served[0], signed(three, three.served[0]))
    assert not stated(cluster)["waits"]


def test_without_the_signature_anybody_blocks_everybody(cluster, three):
    start(cluster, three, mutant="shuffler.head.signature")
    longer = pb.Descriptor.FromString(three.served[-1])
    longer.ledger_seq += 90
    state(cluster, holder(cluster, "g0", 100), longer.SerializeToString(), b"\0" * 64)
    assert stated(cluster)["lacking"] == longer.ledger_seq + 1
    refused(pb.ERROR_LEDGER, "a client holds", three.open_round, target=2, min_reports=2)


def test_without_the_heads_a_shorter_ledger_is_believed(cluster, three):
    """An analyzer that is restored, or lies, leaves the last round out and asks another in its place."""
    start(cluster, three, mutant="shuffler.head")
    last = three.served[-1]
    state(cluster, holder(cluster, "g0", 100), last, signed(three, last))
    fork = Analyzer(cluster)
    d = fork.descriptor(target=2, min_reports=2)
    while fork.chain.seq <= stated(cluster)["closed_to"]:
        fork.plan([fork.entry(d)], epsilon=0.1)
    three.link.close()
    fork.dial().open_round(target=2, min_reports=2)


# ---- Real daemons ----------------------------------------------------------------------------------------------------

def test_a_lost_shuffler_waits_for_its_clients_and_then_goes_on(cluster):
    one_round_of_many(cluster, epsilon=9.0)
    believe(cluster, N - 1)
    lose(cluster, "shuffler", "state.db", "removed")
    out = accept(cluster)
    assert f"more than {N - 1} devices" in out and "their slices are spent" in out, out
    shuffler = serve(cluster)
    cluster.plan([histogram(N, 1.0, query="q3", window="1h")], epsilon=4.0)
    analyzer = cluster.start("analyzer", "run", "--once")
    wait_for("the analyzer to wait", lambda: "lost its state and waits" in analyzer.log())
    assert stated(cluster) == {"waits": True, "certificates": 0, "devices": 0, "colluders": N - 1, "closed_to": 0,
                               "lacking": 0}
    assert cluster.json("shuffler", "status")["ledger_seq"] == 0
    # What can wait has waited: the client comes, and everything goes on by itself.
    client = cluster.start("client", "run")
    wait_for("the plan to be through", lambda: not analyzer.alive())
    shown = cluster.json("shuffler", "status")
    assert [p["state"] for p in shown["plans"]] == ["closed", "taken"] and shown["population_budget"]["pinned"] == 9.0, shown
    assert cluster.json("analyzer", "estimate", "q3")["reports"] == N
    assert not shown["stated"]["waits"] and shown["stated"]["lacking"] == 0
    assert shuffler.log().count("enough clients have stated how long the ledger was") == 1
    client.stop()


def test_without_clients_the_population_is_spent(cluster):
    one_round_of_many(cluster)
    lose(cluster, "shuffler", "state.db", "removed")
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test", "--spent", "--ledger", "3")
    assert run.returncode == EXIT["usage"] and "exclude" in said(run), run
    assert "counts as spent" in accept(cluster, "--spent")
    serve(cluster)
    cluster.start("client", "run")
    cluster.plan([histogram(N, 1.0, query="q3", window="1h")], epsilon=1.0)
    run = cluster.run("analyzer", "run", "--once")
    assert "its slice is spent" in run.stderr, run
    assert {p["state"] for p in cluster.json("shuffler", "status")["plans"]} == {"closed"}


def copies(cluster, *names):
    """Of files, after all daemons have stopped; puts them back.  The shuffler's state.db may be a database."""
    kept, database = {}, None
    if cluster.server and ("shuffler", "state.db") in names:
        database, keys = cluster.server.copy(cluster.database), os.listdir(cluster.path("shuffler", "keys"))
    for party, name in names:
        folder = cluster.path(party)
        kept.update({os.path.join(folder, f): open(os.path.join(folder, f), "rb").read()
                     for f in os.listdir(folder) if f.startswith(name)})

    def restore():
        for party, name in names:
            for f in os.listdir(cluster.path(party)):
                if f.startswith(name):
                    os.unlink(os.path.join(cluster.path(party), f))
        for path, data in kept.items():
            with open(path, "wb") as f:
                f.write(data)
        if database:
            database()
            # Beside files, a shuffler destroys at its start the keys of rounds that the copy does not know.
            for key in set(os.listdir(cluster.path("shuffler", "keys"))) - set(keys):
                os.unlink(cluster.path("shuffler", "keys", key))
    return restore


def another_round(cluster, number):
    """Served, answered and settled; everything stops then."""
    shuffler, client = serve(cluster), cluster.start("client", "run")
    before = client.log().count('"round done"')
    run = cluster.run("analyzer", "round", "run", str(number))
    assert run.returncode == 0, run.stderr
    wait_for("the client to be through", lambda: client.log().count('"round done"') > before)
    client.stop()
    shuffler.stop()


@pytest.mark.parametrize("removed", [False, True])
def test_an_analyzer_restored_beside_a_lost_shuffler_does_not_write_on(cluster, removed):
    """Nobody but the client knows how long the ledger was."""
    one_round_of_many(cluster)
    restore = copies(cluster, ("analyzer", "ledger"))
    another_round(cluster, 2)
    with open(cluster.path("analyzer", "ledger"), "rb") as f:
        newest = f.read()
    restore()
    lose(cluster, "shuffler", "state.db", "removed")
    accept(cluster)
    serve(cluster)
    cluster.start("client", "run")
    wait_for("the client's word", lambda: not stated(cluster)["waits"])
    closed = stated(cluster)["closed_to"]
    mutant = "analyzer.ledger.stated" if removed else ""
    run = cluster.run("analyzer", "round", "run", "2", mutant=mutant)
    assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
    if removed:  # the shuffler refuses alone, when the fork is there
        assert "is not the one that a client holds the analyzer's signature on" in run.stderr, run.stderr
        return
    assert f"a client has seen a descriptor after ledger record {closed - 1}, this ledger ends at" in run.stderr, run.stderr
    assert cluster.json("shuffler", "status")["ledger_seq"] == 0, "nothing of the older copy is witnessed"
    # The newest copy, and all goes on.
    with open(cluster.path("analyzer", "ledger"), "wb") as f:
        f.write(newest)
    cluster.plan([histogram(N, 1.0, query="q3", window="1h")], epsilon=4.0)
    run = cluster.run("analyzer", "run", "--once")
    shown = cluster.json("shuffler", "status")
    assert [p["state"] for p in shown["plans"]] == ["closed", "taken"] and shown["stated"]["lacking"] == 0, (run, shown)
    assert cluster.json("analyzer", "estimate", "q3")["reports"] == N


def test_both_restored_are_told_by_the_first_client(cluster):
    one_round(cluster)
    restore = copies(cluster, ("analyzer", "ledger"), ("shuffler", "state.db"))
    another_round(cluster, 2)
    restore()
    shuffler = serve(cluster)
    cluster.start("client", "run")
    wait_for("the client's word", lambda: stated(cluster)["lacking"] > 0)
    lacking = stated(cluster)["lacking"]
    assert lacking > cluster.json("shuffler", "status")["ledger_seq"]
    assert "restored from an older copy" in shuffler.log()
    check = cluster.run("shuffler", "check")
    assert check.returncode == 2 and f"ledger record {lacking}, which is not known here" in check.stdout, check
    opened = shuffler.log().count('"round open"')
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["permission"], run
    assert f"a client has seen a descriptor after ledger record {lacking - 1}, this ledger ends at" in run.stderr, run.stderr
    assert shuffler.log().count('"round open"') == opened


def test_both_restored_and_a_round_open_before_the_client_comes(cluster):
    """The fork has begun: it is said, and nothing of it is released."""
    cluster.configure(min_batch=N, devices=N)
    plan(cluster)
    cluster.plan([histogram(N, 1.0, query="q1", window="1h"), histogram(N, 1.0, query="q2", window="15s")], epsilon=5.0)
    another_round(cluster, 1)
    restore = copies(cluster, ("analyzer", "ledger"), ("shuffler", "state.db"))
    another_round(cluster, 2)
    restore()
    shuffler = serve(cluster)
    opened = shuffler.log().count('"round open"')
    analyzer = cluster.start("analyzer", "run")
    wait_for("the fork", lambda: shuffler.log().count('"round open"') > opened)
    cluster.start("client", "run")
    wait_for("the client's word", lambda: stated(cluster)["lacking"] > 0)
    wait_for("the analyzer to end", lambda: not analyzer.alive())
    assert "a client holds the analyzer's signature on" in analyzer.log(), analyzer.log()
    assert '"round released"' not in analyzer.log() and "restored from an older copy" in shuffler.log()
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["permission"] and "restored from an older copy" in run.stderr, run


def test_a_restored_shuffler_goes_on_with_the_newest_ledger(cluster):
    """Its analyzer is as it was: what the client states is what the analyzer shows."""
    one_round_of_many(cluster)
    restore = copies(cluster, ("shuffler", "state.db"))
    another_round(cluster, 2)
    restore()
    serve(cluster)
    cluster.start("client", "run")
    wait_for("the client's word", lambda: stated(cluster)["lacking"] > 0)
    cluster.plan([histogram(N, 1.0, query="q3", window="1h")], epsilon=4.0)
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0 and stated(cluster)["lacking"] == 0, (run, stated(cluster))
    assert cluster.json("analyzer", "estimate", "q3")["reports"] == N
    assert cluster.json("shuffler", "status")["ledger_seq"] == cluster.json("analyzer", "budget")["ledger_seq"]
