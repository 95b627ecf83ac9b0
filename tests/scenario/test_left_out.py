"""Whom a round left out, and why, reaches everybody who can correct it: log and check of the client, log and metrics of the
shuffler, the manifest, the analyzer's result, its lines, and the ledger's reason of a void round."""
import json
import os

import pytest

import cluster as c
from parties import Analyzer, Device
from test_metrics import values
from test_shuffler import submissions
from wire import pb

OVER, CLOSED = pb.OUTCOME_OVER_LIMIT, pb.OUTCOME_CLOSED


def lines(daemon, msg):
    return [l for l in map(json.loads, daemon.log().splitlines()) if l["msg"] == msg]


def stage(cluster, *stages):
    """Wait until the plan's round is in one of these stages."""
    return c.wait_for("the round", lambda: (r := cluster.json("analyzer", "round", "list")["rounds"][0])["stage"] in stages and r)


def left(manifest):
    return {l.why: l.devices for l in manifest.left_out}


def policy_of(cluster, party, **keys):
    """Replace keys of a party's policy."""
    path = cluster.path(f"{party}-policy.conf")
    with open(path) as f:
        kept = [l for l in f if l.split(" =")[0] not in keys]
    with open(path, "w") as f:
        f.writelines(kept + [f"{k} = {v};\n" for k, v in keys.items()])


def test_devices_over_max_share_reach_everybody(cluster):
    """30 devices behind one certificate, of whom max_share lets six take part; the window is short, so that the round ends."""
    cluster.two_colours(30, min_reports=6, window="8s")
    policy_of(cluster, "shuffler", max_share=0.2, min_batch=6)
    policy_of(cluster, "client", min_batch=6)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client, analyzer = cluster.start("client", "run"), cluster.start("analyzer", "run")
    stage(cluster, "settled")

    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == 6
    assert result["left_out"] == [{"why": "max_share", "by": "shuffler", "devices": 24,
                                   "text": "were over max_share of the shuffler's policy"}]
    assert "6 took part; 24 were over max_share of the shuffler's policy" in cluster.run("analyzer", "estimate", "colour").stdout
    for line in cluster.run("analyzer", "results", "export").stdout.splitlines():
        row = json.loads(line)
        assert row["left_out"] == 24 and row["left_out_why"] == "24 were over max_share of the shuffler's policy"
    said, = lines(analyzer, "devices were not taken")
    assert said["level"] == "warn" and said["reason"].startswith("24 were over max_share")

    if not cluster.spread:
        said, = lines(shuffler, "devices of a round were not taken")
        assert (said["level"], said["key"], said["devices"], said["most_of"], said["of_it"]) == ("warn", "max_share", 24, "client", 24)
        assert said["reason"] == "max_share is 0.2: one certificate may have 6 of the target 30"
    assert values(cluster, "shuffler")[("tombola_shuffler_left_out_total", "max_share")] == 24

    said, = lines(client, "round done")
    assert said["level"] == "warn" and said["over_limit"] == 24
    assert "lets one certificate have 6 of the round's target of 30" in said["reason"]
    run = cluster.run("client", "check", "--warn-spent", "500", "--crit-spent", "500")
    assert run.returncode == 1 and "max_share of the shuffler's policy lets one certificate have 6" in run.stdout, run.stdout


def test_clients_that_decline_reach_everybody(cluster):
    """A client's min_batch refuses the round: its devices are named in the reason of the VOID record, once."""
    cluster.two_colours(30, min_reports=6, window="4s")
    policy_of(cluster, "shuffler", min_batch=6)
    policy_of(cluster, "client", min_batch=10000)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    cluster.start("analyzer", "run")
    row = stage(cluster, "void", "waiting")
    assert row["reason"] == "0 took part, 6 are the minimum; 30 declined by `min_batch` of their client's policy"
    said = lines(shuffler, "devices of a round were not taken")
    assert said and all((l["level"], l["key"], l["devices"], l["most_of"]) == ("warn", "min_batch", 30, "client") for l in said)
    assert values(cluster, "shuffler")[("tombola_shuffler_left_out_total", "min_batch")] == 30 * len(said)
    said = lines(client, "round refused")[0]
    assert said["level"] == "warn" and said["key"] == "min_batch" and "min_batch is 10000" in said["reason"]
    run = cluster.run("client", "check", "--warn-spent", "500", "--crit-spent", "500")
    assert run.returncode == 1 and "was refused here" in run.stdout and "min_batch is 10000" in run.stdout, run.stdout


def test_a_round_that_went_by_is_explained_by_check(cluster):
    """The file of readings is not there: `check` names it, also of a client that does not run, until a later round was taken."""
    cluster.two_colours(30, min_reports=6, window="3s")
    policy_of(cluster, "shuffler", min_batch=6)
    policy_of(cluster, "client", min_batch=6)
    os.unlink(cluster.path("readings.csv"))
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    cluster.start("analyzer", "run")
    assert stage(cluster, "void", "waiting")["reason"].startswith("0 took part, 6 are the minimum")
    reason = lines(client, "round passed over")[0]["reason"]
    assert "readings.csv" in reason and "No such file" in reason, reason
    run = cluster.run("client", "check")
    assert run.returncode == 1 and f"was refused here: {reason}" in run.stdout, run.stdout
    client.stop()
    assert f"was refused here: {reason}" in cluster.run("client", "check").stdout


@pytest.mark.parametrize("mutant", ["", "shuffler.left_out"])
def test_one_certificate_cannot_raise_the_counts_beyond_its_devices(cluster, mutant):
    cluster.configure(devices=8)
    policy_of(cluster, "shuffler", max_share=0.25)
    cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    analyzer.open_round(min_reports=3, target=8, window_ms=6000)
    device = Device(cluster)
    d, data = device.round()
    sent = submissions(d, data, range(8))
    for _ in range(5):
        assert device.submit(d, sent) == [pb.OUTCOME_ACCEPTED] * 2 + [OVER] * 6
    for why in (15, 15, 27, 63, 64, 2, 0):
        device.link.send(get_round=pb.GetRound(population="test", after=d.sequence, declined=d.sequence, declined_why=why, listed=10**9))
        device.link.receive()
    manifest, _ = analyzer.manifest(d)
    assert manifest.void and manifest.participants == 2
    assert left(manifest) == ({1: 8} if not mutant else {1: 30})


def test_a_client_that_declines_counts_by_its_last_word_until_it_takes_part(cluster):
    cluster.configure(devices=50)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    analyzer.open_round(min_reports=3, target=8, window_ms=6000)
    device = Device(cluster)
    d, data = device.round()

    def decline(round, why, listed):
        device.link.send(get_round=pb.GetRound(population="test", after=d.sequence, declined=round, declined_why=why, listed=listed))
        assert device.link.receive().error.code == pb.ERROR_NOT_FOUND
    decline(d.sequence + 1, 15, 9)  # of another round
    decline(d.sequence, 15, 20)
    assert device.submit(d, submissions(d, data, [0])) == [pb.OUTCOME_ACCEPTED]
    decline(d.sequence, 15, 20)  # it takes part
    manifest, _ = analyzer.manifest(d)
    assert manifest.participants == 1 and not manifest.left_out


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_client_that_sends_once_and_declines_is_counted_and_says_why(cluster, form):
    """`send` ends at once, and the round's manifest has its devices with the reason, as those of `run`."""
    cluster.two_colours(30)
    policy_of(cluster, "shuffler", min_batch=3)
    policy_of(cluster, "client", min_batch=10000)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    d, _ = analyzer.open_round(min_reports=3, target=8, window_ms=8000)
    run = cluster.run("client", *form, "send", cluster.path("readings.csv"), "--device-field", "device")
    said = "policy: the round guarantees a batch of 3 (min_reports of the plan), min_batch is 10000: lower it, or raise min_reports"
    assert run.returncode == c.EXIT["permission"] and run.stderr.splitlines()[-1] == f"tombola-client: {said}"
    if form:
        told, = json.loads(run.stdout)["rounds"]
        assert (told["refused"], told["key"], told["reason"]) == (True, "min_batch", said)
    manifest, _ = analyzer.manifest(d)
    assert manifest.void and left(manifest) == {pb.LEFT_OUT_MIN_BATCH: 30}
