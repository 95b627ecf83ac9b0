"""A daemon killed, or refused by its disk, at changes of its storage: the round ends as it should all the same.

A sample of what tests/faults/storage.py does at every change.
"""
import os
import random

import pytest

import faults
from cluster import EXIT, sanitized, wait_for

EACH = {"plain": 3, "void": 1, "blanket": 2, "tags": 2}  # of the kinds of fault, one call each


@pytest.mark.parametrize("kind", faults.ROUNDS)
@pytest.mark.parametrize("victim", faults.DAEMONS)
def test_a_round_ends_as_it_should_whatever_its_storage_does(tmp_path, victim, kind):
    rng = random.Random(f"{victim} {kind}")
    stage = faults.Stage(str(tmp_path / "stage"), kind)
    calls = stage.whole(victim)
    assert len(calls) > 20, calls
    for fault in rng.sample(faults.KINDS, EACH[kind]):
        at = rng.choice(faults.places(calls, fault))
        assert stage.play(victim, fault, at), f"{fault} at call {at} was not met"


@pytest.mark.parametrize("victim", faults.DAEMONS)
def test_a_round_ends_as_it_should_whoever_dies_together(tmp_path, victim):
    rng = random.Random(victim)
    stage = faults.Stage(str(tmp_path / "stage"), "plain")
    calls = len(stage.whole(victim))
    for turn in range(3):  # with one, the other, both of the others
        at = 3 * rng.randrange(1, calls // 3) + turn
        assert stage.play(victim, "together", at), f"call {at} was not met"


def test_no_file_of_the_state_becomes_a_standard_stream(cluster):
    """Programs that are started with these closed: a ledger with the number 2 would have the log in it."""
    cluster.two_colours(5)
    cluster.inside = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["io"]  # its table could not be written
    cluster.inside = []
    assert cluster.charged() == [1]
    client.stop()
    shuffler.stop()
    assert cluster.run("analyzer", "ledger", "verify").returncode == 0
    assert cluster.json("analyzer", "round", "show", "1")["stage"] == "settled"
    for party in ("analyzer", "shuffler", "client"):
        for folder, _, files in os.walk(cluster.path(party)):
            for name in files:
                with open(os.path.join(folder, name), "rb") as f:
                    assert b'"level":' not in f.read(), os.path.join(folder, name)


@pytest.mark.parametrize("party", ["shuffler", "client", "analyzer"])
def test_who_starts_it_decides_neither_whether_it_can_be_stopped_nor_whether_it_is_confined(cluster, party):
    """SIGTERM blocked, and SIGCHLD ignored, so that nobody waits for a child."""
    cluster.two_colours(5)
    cluster.inside = ["env", "--block-signal=TERM", "--ignore-signal=CHLD"]
    daemon = cluster.start(party, "run")
    wait_for("the daemon to run", lambda: '"system calls ' in daemon.log())
    assert '"system calls confined"' in daemon.log() or sanitized()
    wait_for("its loop", lambda: '"connected' in daemon.log() or "no connection" in daemon.log() or "ready" in daemon.log())
    assert daemon.kill(15) in (0, EXIT["later"])
