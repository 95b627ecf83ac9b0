"""A shuffler's databases that earlier versions made, with a round open: each version is brought to today's, alone, and the round goes
on.  tests/data/postgresql/step-N.sql is what version N added, as it was released; no file of it ever changes."""
import contextlib
import glob
import os
import sqlite3

import pytest

import postgresql
from cluster import BUILD, EXIT, wait_for
from spread import Spread
from test_intakes import Gateway, exactly, one_plan, settled

if not postgresql.programs() or not os.path.exists(os.path.join(BUILD, "libexec", "tombola", "tombola-shuffler-postgresql")):
    pytest.skip("no PostgreSQL server, or built without libpq: deploy/setup.sh test", allow_module_level=True)

STEPS = os.path.join(os.path.dirname(__file__), "..", "data", "postgresql")
TODAY = len(glob.glob(os.path.join(STEPS, "step-*.sql")))
DATA_SINCE = 3  # the first version with several databases
TARGET = 40


def columns(server, database, schema):
    """Of each table of the state."""
    rows = server.ask("SELECT table_name AS name, string_agg(column_name, ', ' ORDER BY ordinal_position) AS columns FROM"
                      f" information_schema.columns WHERE table_schema = '{schema}' GROUP BY 1 ORDER BY 1", database)
    return {r["name"]: r["columns"] for r in rows}


def made_by(server, database, version):
    """Put a database of that version, with the same rows, in the place of today's."""
    do = lambda text: server.do(text, database)  # noqa: E731
    do("ALTER SCHEMA tombola RENAME TO today")
    steps = ["SET ROLE " + database]
    for n in range(1, version + 1):
        with open(os.path.join(STEPS, f"step-{n}.sql")) as f:
            steps.append(f.read())
    do(";\n".join(steps))
    old = columns(server, database, "tombola")
    for table, names in old.items():
        if table != "meta":
            do(f"DELETE FROM tombola.{table}; INSERT INTO tombola.{table}({names}) SELECT {names} FROM today.{table}")
    do("UPDATE tombola.meta SET settled = (SELECT settled FROM today.meta)")
    for r in server.ask("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'today' AND tablename ~ '^(block|tags)_'", database):
        do(f"ALTER TABLE today.{r['name']} SET SCHEMA tombola")
    do("DROP SCHEMA today CASCADE")


def version(server, database):
    return server.ask("SELECT version v FROM tombola.meta", database)[0]["v"]


def shape(server, database):
    """What a schema is made of, but for the tables of rounds, and who has rights in it."""
    return (server.ask("SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE"
                       " table_schema = 'tombola' AND table_name !~ '^(block|tags)_' ORDER BY 1, 2", database),
            server.ask("SELECT proname, prosrc, proacl FROM pg_proc WHERE pronamespace = 'tombola'::regnamespace ORDER BY 1", database),
            server.ask("SELECT c.relname, c.relacl, a.attname, a.attacl FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE"
                       " c.relnamespace = 'tombola'::regnamespace AND c.relkind = 'r' AND c.relname !~ '^(block|tags)_' AND a.attnum > 0"
                       " ORDER BY 1, 3", database))


@pytest.mark.parametrize("kind, made", [(kind, v) for kind in ("postgresql", "intakes", "databases")
                                        for v in range(DATA_SINCE if kind == "databases" else 1, TODAY + 1)])
def test_a_database_of_an_earlier_version_is_brought_to_this_one_with_its_round_open(cluster, kind, made):
    cluster.own_store = True
    cluster.use(postgresql.shared())
    one_plan(cluster, TARGET)
    spread = None
    if kind != "postgresql":
        further = [postgresql.shared(1)] if kind == "databases" else []
        spread = Spread(cluster, intakes=1 + len(further), server=cluster.server, database=cluster.database, further=further)
        spread.write()
    servers = spread.servers if spread else [cluster.server]
    head = cluster.start("shuffler", "run")
    cluster.wait_listening()
    assert [version(s, cluster.database) for s in servers] == [TODAY] * len(servers), "tests/data/postgresql lacks a step"
    ports = spread.ports if spread else [cluster.port]
    if spread:
        spread.start()
    cluster.start("analyzer", "run")
    gateway = Gateway(cluster, ports[-1])
    d, data = gateway.round()
    gateway.until_accepted(ports[-1], d, data, 0, TARGET // 2)
    gateway.link.close()
    for daemon in (head, *(spread.daemons if spread else [])):
        daemon.stop()
    fresh = [shape(s, cluster.database) for s in servers]
    for s in servers:
        wait_for("its sessions to end", lambda s=s: not s.ask(f"SELECT 1 FROM pg_stat_activity WHERE datname = '{cluster.database}'"))
        made_by(s, cluster.database, made)
    # What the unit runs before each start does not keep it from starting, and says what it will do.
    run = cluster.run("shuffler", "check-config")
    assert run.returncode == 0, run.stderr
    assert made == TODAY or (f"schema {made})" in run.stderr and f"brings to schema {TODAY}" in run.stderr), run.stderr
    assert [version(s, cluster.database) for s in servers] == [made] * len(servers)
    head.start()
    cluster.wait_listening()
    assert [version(s, cluster.database) for s in servers] == [TODAY] * len(servers)
    if spread:
        spread.start()
    gateway.until_accepted(ports[0], d, data, 0, TARGET)
    settled(cluster)
    exactly(cluster, TARGET)
    assert [shape(s, cluster.database) for s in servers] == fresh


def test_another_version_is_refused_by_name(cluster):
    """A later one at head and intake; and at an intake that was upgraded before its head."""
    cluster.own_store = True
    cluster.use(postgresql.shared())
    one_plan(cluster, TARGET)
    spread = Spread(cluster, intakes=1, server=cluster.server, database=cluster.database)
    spread.write()
    head = cluster.start("shuffler", "run")
    cluster.wait_listening()
    head.stop()

    def intake_ends(code, *why):
        spread.start_one(0)
        assert spread.daemons[0].wait() == code, spread.daemons[0].log()
        assert all(w in spread.daemons[0].log() for w in why), spread.daemons[0].log()
        os.unlink(cluster.path("intake0.log"))

    set_version = "UPDATE tombola.meta SET version = {}"
    cluster.server.do(set_version.format(TODAY + 1), cluster.database)
    for verb in ("check-config", "run"):
        run = cluster.run("shuffler", verb)
        assert run.returncode == EXIT["data"] and f"later version of tombola (schema {TODAY + 1}" in run.stderr, run.stderr
    intake_ends(EXIT["data"], f"later version of tombola (schema {TODAY + 1}", "upgrade this intake")
    cluster.server.do(set_version.format(TODAY - 1), cluster.database)
    intake_ends(EXIT["later"], f"earlier version of tombola (schema {TODAY - 1})", "the head, once it is upgraded")


def test_a_clients_file_of_an_earlier_version_keeps_it_from_no_start(cluster):
    """As client.db was before reports were stored some devices a row, between rounds."""
    cluster.two_colours(10)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    wait_for("its file", lambda: '"connected' in client.log())
    client.stop()
    with contextlib.closing(sqlite3.connect(cluster.path("client", "client.db"))) as db:
        db.executescript("CREATE TABLE submission(slot INTEGER PRIMARY KEY, pseudonym BLOB NOT NULL UNIQUE, salt BLOB NOT NULL,"
                         " sealed BLOB NOT NULL, outcome INTEGER) STRICT; DROP TABLE reports; PRAGMA user_version=3")
    run = cluster.run("client", "check-config")
    assert run.returncode == 0 and "of an earlier version, which `tombola-client run` brings up to date" in run.stderr, run
    client.start()
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    assert shuffler.alive() and cluster.json("analyzer", "estimate", "colour")["reports"] == 10
