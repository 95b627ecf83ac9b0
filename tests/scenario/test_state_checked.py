"""`check-config` looks at the state folder, too: it says what a start would, with the same exit code, and changes nothing."""
import contextlib
import hashlib
import os
import re
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


@pytest.mark.files("u/sh_postgresql damages rows; a missing state: s/lost")
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

    state = used.path("shuffler", "state.db")
    for table in ("record", "round"):
        alter(state, f"{table} RENAME TO other")
        found(used, "shuffler", EXIT["data"], "state.db")
        alter(state, f"other RENAME TO {table}")
        found(used, "shuffler", 0, "valid")
    with contextlib.closing(sqlite3.connect(state, isolation_level=None)) as db:
        db.execute("UPDATE round SET state = 1")
    found(used, "shuffler", EXIT["data"], "state.db: a round's row is damaged")
    os.rename(state, used.path("state.db"))
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


def test_a_round_that_cannot_go_on_is_found_and_everything_else_with_it(cluster):
    cluster.two_colours(N, window="30m")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run")
    wait_for("the open round", lambda: os.listdir(cluster.path("shuffler", "keys")))
    # A running daemon has its database for itself; it read it when it started.
    run = cluster.run("shuffler", "check-config")
    words = "another shuffler has this database" if cluster.server else "in use by a running shuffler"
    assert run.returncode == 0 and words in run.stderr and "valid" in run.stdout, run
    analyzer.kill()
    shuffler.kill()
    if cluster.server:
        cluster.server.copy(cluster.database)  # waits until nobody has it
    found(cluster, "shuffler", 0, "valid")

    name, = (f for f in os.listdir(cluster.path("shuffler", "keys")) if f.endswith(".key"))
    key = cluster.path("shuffler", "keys", name)
    os.rename(key, cluster.path("key"))
    found(cluster, "shuffler", EXIT["noinput"], "round 1 cannot go on")
    assert "round 1 cannot go on" in cluster.run("shuffler", "run").stderr
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    cluster.write("shuffler.conf", text + "nonsense = 1\n")
    run = cluster.run("shuffler", "check-config")
    assert run.returncode == EXIT["config"] and "nonsense" in run.stderr, run
    # Of a file with a fault elsewhere the state is looked at when it is SQLite's.
    assert cluster.server or "round 1 cannot go on" in run.stderr, run
    cluster.write("shuffler.conf", text)
    # One fault of each kind: each has its line, and the first decides.
    for party, lines in (
        ("shuffler", ["unknown key 'nonsense'", "gone/", "no protocol is called 'grrr'", "chmod 700"]),
        ("client", ["unknown key 'nonsense'", "gone/", "no protocol is called 'grrr'", "chmod 700"]),
        ("analyzer", ["unknown key 'nonsense'", "gone/", "plan.conf", "chmod 700"]),
    ):
        conf, other = cluster.path(f"{party}.conf"), cluster.path(f"{party}-policy.conf" if party != "analyzer" else "plan.conf")
        text = re.sub(r"(?m)^((?:signing|shuffler)_key *= *\")", r"\1gone/", open(conf).read())
        cluster.write(f"{party}.conf", text + "nonsense = 1\n")
        text = open(other).read()
        cluster.write(os.path.basename(other), text + ("nonsense = 1\n" if party == "analyzer" else 'protocols = ["grrr"]\n'))
        os.makedirs(cluster.path(party), exist_ok=True)
        os.chmod(cluster.path(party), 0o777)
        run = cluster.run(party, "check-config")
        assert run.returncode == EXIT["config"], run
        missing = [words for words in lines if not any(words in line for line in run.stderr.splitlines())]
        assert not missing, (missing, run)
        os.chmod(cluster.path(party), 0o700)
