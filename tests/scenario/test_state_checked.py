"""`check-config` looks at the state folder, too: it says what a start would, with the same exit code, and changes nothing."""
import contextlib
import hashlib
import os
import sqlite3

import pytest

from cluster import EXIT, wait_for

N = 20


def files(folder):
    """Every file under it, with its bytes; SQLite's own two beside a database come and go."""
    out = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if not name.endswith(("-shm", "-wal")):
                with open(path, "rb") as f:
                    out[path] = (hashlib.sha256(f.read()).hexdigest(), os.stat(path).st_mode)
    return out


@pytest.fixture
def used(cluster):
    """A deployment that has answered a round."""
    cluster.two_colours(N, window="30m")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    assert cluster.run("analyzer", "run", "--once").returncode == 0
    wait_for("the client", lambda: '"round done"' in client.log())
    for d in cluster.daemons:
        if d.alive():
            d.stop()
    return cluster


def alter(database, what):
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute(f"ALTER TABLE {what}")


def found(cluster, party, code, words):
    before = files(cluster.path(party))
    run = cluster.run(party, "check-config")
    assert (run.returncode, files(cluster.path(party))) == (code, before), run
    assert words in (run.stderr if code else run.stdout) and len(run.stderr.splitlines()) <= 1, run


def test_what_a_start_would_find_is_said_before_it(used):
    for party in ("shuffler", "client", "analyzer"):
        found(used, party, 0, "valid")
        os.chmod(used.path(party), 0o777)
        found(used, party, EXIT["permission"], "chmod 700")
        os.chmod(used.path(party), 0o700)

    ledger, copy = used.path("analyzer", "ledger"), used.path("ledger")
    with open(ledger, "rb") as f:
        good = f.read()
    for bad, code, words in ((good[:-3], 0, "valid"), (good[:60] + bytes([good[60] ^ 1]) + good[61:], EXIT["data"], "ledger")):
        with open(ledger, "wb") as f:
            f.write(bad)
        found(used, "analyzer", code, words)
    os.rename(ledger, copy)
    found(used, "analyzer", EXIT["data"], "has been in service")
    with open(ledger, "wb") as f:
        f.write(good)
    # Another plan beside one that took most of the budget.
    with open(used.path("plan.conf"), "a") as f:
        f.write("# changed\n")
    found(used, "analyzer", EXIT["budget"], "it takes a slice")

    os.rename(used.path("shuffler", "state.db"), used.path("state.db"))
    found(used, "shuffler", EXIT["data"], "accept-loss")

    database = used.path("client", "client.db")
    alter(database, "pin RENAME TO nip")
    found(used, "client", EXIT["data"], "client.db")
    alter(database, "nip RENAME TO pin")
    found(used, "client", 0, "valid")
    with open(used.path("client.conf")) as f:
        text = f.read()
    used.write("client.conf", text.replace('population = "test"', 'population = "other"'))
    with open(used.path("client-policy.conf")) as f:
        policy = f.read()
    used.write("client-policy.conf", policy.replace('population = "test"', 'population = "other"'))
    found(used, "client", EXIT["config"], "population")
    used.write("client.conf", text)
    used.write("client-policy.conf", policy)
    os.unlink(database)
    found(used, "client", EXIT["data"], "accept-loss")
