"""Parties restored from copies without what was under way: no acknowledged report and no charge is
lost in silence, and nobody honest is convicted."""
import os

import pytest

import wire
from cluster import EXIT, wait_for
from evidence import proofs, verify
from parties import Device
from test_heads import another_round, copies, holder
from test_lost import plan, serve
from test_metrics import values
from test_rounds import histogram
from wire import pb

N = 20


def open_rounds(cluster, target, rounds=3):
    """Round 1 is settled; what restores the shuffler to there."""
    cluster.configure(min_batch=10, devices=N)
    plan(cluster)
    cluster.configure(min_batch=10)
    cluster.plan([histogram(N, 1.0, query="q1", window="1h"), histogram(10, 1.0, query="q2", window="1h", target=target),
                  histogram(N, 1.0, query="q3", window="1h")][:rounds], epsilon=5.0)
    another_round(cluster, 1)
    return copies(cluster, ("shuffler", "state.db"))


def ten_reports(cluster, tls, after):
    """In the round after that number: its device and descriptor."""
    device = Device(cluster)
    device.link = wire.Link.dial(cluster.port, tls)
    d, data = device.round(after=after)
    values = [(os.urandom(32), Device.seal(d, data, 0)) for _ in range(10)]
    assert device.submit(d, values) == [pb.OUTCOME_ACCEPTED] * 10
    return device, d


def lost_and_spent(cluster, shuffler, analyzer):
    """The loss is said at both; the entry stays spent and is not asked again; the next one runs."""
    wait_for("the loss to be said", lambda: "reports that were acknowledged are lost" in shuffler.log())
    counted = values(cluster, "shuffler")
    assert [counted[("tombola_shuffler_rounds_total", e)] for e in ("lost", "void")] == [1, 0]
    wait_for("the next round", lambda: not analyzer.alive() or
             cluster.json("analyzer", "round", "list")["rounds"][2]["stage"] == "settled")
    assert cluster.json("analyzer", "estimate", "q3")["reports"] == N
    two = cluster.json("analyzer", "round", "list")["rounds"][1]
    assert two["stage"] == "void" and "restored from a copy older than the round" in two["reason"], two
    assert "restored from a copy older than the round" in analyzer.log()
    assert '"try":2' not in shuffler.log()
    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] == 5.0
    assert cluster.run("analyzer", "ledger", "verify").returncode == 0


@pytest.mark.parametrize("removed", [False, True])
def test_no_report_vanishes_in_silence_with_a_copy_older_than_the_open_round(cluster, removed):
    restore = open_rounds(cluster, N + 10)
    late = holder(cluster, "late", 10)
    mutant = "shuffler.lost" if removed else ""
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    client, analyzer = cluster.start("client", "run"), cluster.start("analyzer", "run")
    wait_for("the reports", lambda: [r for r in cluster.json("shuffler", "status")["rounds"] if r["participants"] == N])
    wait_for("the client to be through", lambda: '"round":2' in client.log() and client.log().count('"round done"') >= 2)
    shuffler.kill()
    restore()
    shuffler.start()
    cluster.wait_listening()
    if removed:
        assert ten_reports(cluster, late, 1)[1].sequence == 2
        wait_for("the others", lambda: [r for r in cluster.json("shuffler", "status")["rounds"] if r["participants"] == 10])
        assert "acknowledged are lost" not in shuffler.log(), "of 30 acknowledged reports 10 are left, and nobody says so"
        return
    lost_and_spent(cluster, shuffler, analyzer)
    assert client.alive()


def announced(cluster):
    with open(cluster.path("analyzer", "announced")) as f:
        return f.read()


def told(device, d):
    try:
        return device.manifest(d)
    except wire.Refused:
        return None


@pytest.mark.parametrize("removed", [False, True])
def test_a_restored_shuffler_signs_nothing_against_what_it_sealed(cluster, removed):
    """A client holds the manifest of a round that was sealed after the copy; its analyzer asks for that round again."""
    restore = open_rounds(cluster, N)
    late = holder(cluster, "late", 10)
    mutant = "shuffler.lost" if removed else ""
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    before = announced(cluster)
    analyzer = cluster.start("analyzer", "run")
    wait_for("the note of the round", lambda: announced(cluster) != before)
    analyzer.kill()
    client = cluster.start("client", "run")
    wait_for("the seal", lambda: '"msg":"round sealed","round":2' in shuffler.log())
    wait_for("the client to be through", lambda: client.log().count('"round done"') >= 2)
    client.stop()
    run, counts = proofs(cluster)
    assert run.returncode == 0 and counts["included"] >= N, (run, counts)
    first = cluster.path("first")
    run = cluster.run("client", "proofs", "--save", "2", "--out", first)
    assert run.returncode == 0, run.stderr
    with open(first, "rb") as f:
        kept = f.read()
    shuffler.kill()
    restore()
    shuffler.start()
    cluster.wait_listening()
    analyzer.start()
    if removed:
        device, d = ten_reports(cluster, late, 1)
        assert d.sequence == 2
        ten_reports(cluster, holder(cluster, "later", 10), 1)
        evidence = pb.Evidence.FromString(kept)
        evidence.manifest.CopyFrom(wait_for("a second manifest", lambda: told(device, d)))
        second = cluster.path("second")
        with open(second, "wb") as f:
            f.write(evidence.SerializeToString())
        run = verify(cluster, first, second)
        assert run.returncode == 0 and "signed two manifests for round" in run.stdout, run
        return
    client = cluster.start("client", "run")
    lost_and_spent(cluster, shuffler, analyzer)
    client.stop()
    d = pb.Manifest.FromString(pb.Evidence.FromString(kept).manifest.manifest)
    with pytest.raises(wire.Refused) as refused:
        Device(cluster).manifest(d)
    assert refused.value.code == pb.ERROR_ROUND_CLOSED and "has no manifest" in refused.value.text
    proofs(cluster)
    for party in ("client", "analyzer"):
        assert not [f for f in os.listdir(cluster.path(party)) if f.startswith("evidence-")], party
    assert d.round_id.hex() not in os.listdir(cluster.path("analyzer", "manifests"))


@pytest.mark.parametrize("removed", [False, True])
def test_a_round_without_its_key_is_not_charged(cluster, removed):
    plan(cluster)
    cluster.plan([histogram(N, 1.0, query="q1", window="1h", target=N + 1)], epsilon=5.0)
    serve(cluster)
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run")
    wait_for("the reports", lambda: [r for r in cluster.json("shuffler", "status")["rounds"] if r["participants"] == N])
    analyzer.stop()
    for f in os.listdir(cluster.path("analyzer", "keys")):
        os.unlink(cluster.path("analyzer", "keys", f))
    late = Device(cluster)
    late.link = wire.Link.dial(cluster.port, holder(cluster, "late", 1))
    d, data = late.round()
    assert late.submit(d, [(os.urandom(32), Device.seal(d, data, 0))]) == [pb.OUTCOME_ACCEPTED]
    run = cluster.run("analyzer", "run", "--once", mutant="analyzer.key" if removed else "")
    assert run.returncode == EXIT["noinput"], run
    kinds = [line.split('"kind":"')[1].split('"')[0]
             for line in cluster.run("analyzer", "ledger", "export").stdout.splitlines()]
    if removed:
        assert kinds[-1] == "charge", kinds
        return
    assert kinds[-1] == "reserve" and "is not charged" in run.stderr and "round give-up 1" in run.stderr, run
    run = cluster.run("analyzer", "round", "give-up", "1", "--confirm", "q1")
    assert run.returncode == 0, run
