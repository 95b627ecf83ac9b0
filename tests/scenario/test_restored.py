"""Parties restored from copies without what was under way: no acknowledged report and no charge is lost in silence."""
import os

import pytest

import wire
from cluster import EXIT, wait_for
from parties import Device
from test_heads import another_round, copies, holder
from test_lost import plan, serve
from test_rounds import histogram
from wire import pb

N = 20


@pytest.mark.parametrize("removed", [False, True])
def test_no_report_vanishes_with_a_copy_older_than_the_open_round(cluster, removed):
    """The round is void, which is said, and its devices are asked again: all that were acknowledged are in the estimate."""
    cluster.configure(min_batch=10, devices=N)
    plan(cluster)
    cluster.configure(min_batch=10)
    cluster.plan([histogram(N, 1.0, query="q1", window="1h"),
                  histogram(10, 1.0, query="q2", window="1h", target=N + 10)], epsilon=5.0)
    another_round(cluster, 1)
    restore = copies(cluster, ("shuffler", "state.db"))
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
    device = Device(cluster)
    device.link = wire.Link.dial(cluster.port, late)

    def report():
        d, data = device.round(after=1 if removed else 2)
        values = [(os.urandom(32), Device.seal(d, data, 0)) for _ in range(10)]
        assert device.submit(d, values) == [pb.OUTCOME_ACCEPTED] * 10
        return d
    if removed:
        assert report().sequence == 2
        wait_for("the others", lambda: [r for r in cluster.json("shuffler", "status")["rounds"] if r["participants"] == 10])
        assert "acknowledged are lost" not in shuffler.log(), "of 30 acknowledged reports 10 are left, and nobody says so"
        return
    wait_for("the loss to be said", lambda: "reports that were acknowledged are lost" in shuffler.log())
    d = report()
    assert (d.sequence, d.entry, d.attempt) == (3, 2, 2) and d.void_manifest
    wait_for("the result", lambda: cluster.json("analyzer", "round", "list")["rounds"][1]["stage"] == "settled")
    assert cluster.json("analyzer", "estimate", "q2")["reports"] == N + 10
    assert "restored from a copy older than the round" in analyzer.log()
    assert client.alive()


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
