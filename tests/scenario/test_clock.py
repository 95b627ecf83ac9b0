"""Wrong clocks: each party hours or a day off, from the start or of a sudden.  Somebody says so, nothing is lost, nothing is
charged twice, and when the clock is right again the round ends as any other."""
import json
import os
import sqlite3
import struct
import subprocess
import time

import pytest

from cluster import BUILD, program, wait_for

SHIM = os.path.join(BUILD, "tests", "libfault_clock.so")
PARTIES = ("shuffler", "client", "analyzer")
HOUR, DAY = 3600, 86400
N = 20


def clock(cluster, party, seconds, slept=0):
    """tests/faults/clock.c reads it at every look at the clock: by how much it is wrong, and for how long the machine slept,
    as if so much time had passed."""
    path = cluster.path(f"{party}.clock")
    with open(path, "r+b" if os.path.exists(path) else "wb") as f:
        f.write(struct.pack("<qq", seconds, slept))
    return {"LD_PRELOAD": SHIM, "TOMBOLA_CLOCK": path,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def start(cluster, party):
    with open(cluster.path(f"{party}.clock"), "rb") as f:
        seconds, slept = struct.unpack("<qq", f.read())
    return cluster.start(party, "run", *(("--once",) if party == "analyzer" else ()), env=clock(cluster, party, seconds, slept))


def check_settled(cluster, not_taken=0):
    """Everybody's report once and one charge.  `not_taken`: rounds before it that the shuffler refused by its clock; nobody was
    asked then, so they are no tries."""
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    shown, budget = cluster.json("analyzer", "round", "show", "1"), cluster.json("analyzer", "budget")
    export = cluster.run("analyzer", "ledger", "export").stdout
    kinds = [json.loads(line)["kind"] for line in export.splitlines()][1:]
    audit = subprocess.run([program("tombola-accountant"), "audit", "-"], input=export, capture_output=True, text=True)
    assert audit.returncode == 0 and cluster.run("analyzer", "ledger", "verify").returncode == 0, audit
    assert entry["stage"] == "settled" and entry["tries"] == 1, entry
    assert kinds == ["plan", "entry"] + ["reserve", "void"] * not_taken + ["reserve", "charge", "settle"], kinds
    assert budget["rounds"]["accepted"] == 1 and shown["result"]["reports"] == shown["result"]["messages"] == N


# Off by so much from the start: whose log says what.  Once the clock is right the round ends as any other.
START = {("shuffler", 2 * HOUR): ("analyzer", "the deadline has passed by 3"),
         ("client", 2 * HOUR): ("client", "has passed by 3"),
         ("analyzer", DAY): ("shuffler", "it opens only in 86"),
         ("shuffler", -DAY): ("shuffler", "is not yet valid (check the clocks)"),
         ("client", -DAY): ("client", "it is not yet valid, only from"),
         ("analyzer", -DAY): ("analyzer", "it is not yet valid, only from")}


@pytest.mark.parametrize("party, seconds", START, ids=str)
def test_a_clock_that_is_wrong_from_the_start(cluster, party, seconds):
    who, words = START[party, seconds]
    cluster.two_colours(N, window="1h")
    for p in PARTIES:
        clock(cluster, p, seconds if p == party else 0)
    daemons = {"shuffler": start(cluster, "shuffler")}
    cluster.wait_listening()
    daemons |= {p: start(cluster, p) for p in ("client", "analyzer")}
    wait_for(f"the {who} to say so", lambda: words in daemons[who].log())
    # An operator puts the clock right and starts that daemon again, and the analyzer if it has given up.
    clock(cluster, party, 0)
    if daemons[party].alive():
        daemons[party].kill()
    daemons[party] = start(cluster, party)

    def ended():
        d = daemons["analyzer"]
        if not d.alive() and d.process.returncode != 0:
            daemons["analyzer"] = start(cluster, "analyzer")
        return d.process.returncode == 0

    wait_for("the round to end", ended)
    check_settled(cluster, not_taken=(party == "analyzer" and seconds > 0))


@pytest.mark.parametrize("seconds", (-DAY, HOUR), ids=str)
@pytest.mark.parametrize("party", PARTIES)
def test_a_clock_that_jumps_while_a_round_is_open(cluster, party, seconds):
    cluster.two_colours(N, window="30m")
    for p in PARTIES:
        clock(cluster, p, 0)
    shuffler = start(cluster, "shuffler")
    cluster.wait_listening()
    analyzer = start(cluster, "analyzer")
    wait_for("the round to be open", lambda: '"round open"' in shuffler.log())
    clock(cluster, party, seconds)
    client = start(cluster, "client")
    wait_for("the client to meet the round, or not to be let in",
             lambda: not analyzer.alive() or any(w in client.log() for w in ("round done", "passed over", "no connection")))
    clock(cluster, party, 0)
    # A client that was too late by its own clock looks again by itself, at its next long poll; it has said so once.
    assert analyzer.wait() == 0, analyzer.log()
    assert client.log().count("passed over") == ((party, seconds) == ("client", HOUR))
    # A round that was void at once may be over before the client has a ledger.
    wait_for("the client's ledger", lambda: cluster.run("client", "status").returncode == 0)
    charged = [x for x in cluster.json("client", "status")["ledger"] if x["kind"] == "charged"]
    assert len(charged) <= 1, charged
    check_settled(cluster)


def test_the_limit_of_waiting_ends_while_a_round_is_judged(cluster):
    """The client's ledger is locked until its limit has passed; then it finds that the round is late by its clock."""
    cluster.two_colours(N, window="30m")
    send = ("send", cluster.path("readings.csv"), "--device-field", "device", "--wait")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    assert cluster.run("client", *send, "1s").returncode == 75
    ledger = sqlite3.connect(cluster.path("client", "client.db"), isolation_level=None)
    ledger.execute("BEGIN IMMEDIATE")
    client = cluster.start("client", *send, "4s", env=clock(cluster, "client", HOUR))
    wait_for("the client to be connected", lambda: '"connected"' in client.log())
    over = time.monotonic() + 4
    analyzer = cluster.start("analyzer", "run", "--once")
    wait_for("the limit to pass", lambda: time.monotonic() > over)
    assert client.alive() and analyzer.alive(), client.log()
    ledger.close()
    assert client.wait() == 75
    assert "passed over" in client.log() and "no round to take part in within 4 s" in client.log(), client.log()
