"""A head and intakes whose reports are spread over two PostgreSQL servers: each device is counted once whatever fails, and a list of
servers that is wrong, or has changed while a round is open, is refused in one line that names the place."""
import os
import re
import urllib.request

import pytest

import postgresql
import test_tags
from cluster import EXIT, wait_for
from spread import Spread
from test_intake_rights import intake_says
from test_intakes import DEVICES, Gateway, exactly, one_plan, settled, survive_kills, two_gateways
from test_intakes_faults import Kept, disk_is_full, fails_over, round_of_two_clients, two_clients

pytestmark = pytest.mark.heavy


@pytest.fixture
def servers():
    """Two servers that a test may do anything to."""
    both = [postgresql.Server(), postgresql.Server()]
    yield both
    for s in both:
        s.close()


def two(cluster, servers, devices=60, **keys):
    """A head, an intake on each server and an analyzer whose round needs so many devices."""
    one_plan(cluster, devices)
    spread = Spread(cluster, server=servers[0], further=servers[1:], **keys)
    kept = Kept(spread)
    cluster.start("analyzer", "run")
    return spread, kept


def tables(spread, servers=None):
    """The rounds' tables on each server."""
    return [[t["relname"] for t in s.ask("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(block|tags)_' ORDER BY 1",
                                         spread.database)] for s in servers or spread.servers]


def head_says(cluster, verb="run"):
    run = cluster.run("shuffler", verb)
    return run.returncode, run.stderr


def change_list(spread, *strings):
    """data_databases of the head."""
    with open(spread.cluster.path("shuffler.conf")) as f:
        lines = [x for x in f if not x.startswith("data_databases")]
    if strings:
        lines.append("data_databases = [" + ", ".join(f'"{s}"' for s in strings) + "];\n")
    spread.cluster.write("shuffler.conf", "".join(lines))


# ---- Each device counts once ----

def test_a_round_on_two_servers(cluster, servers):
    spread = two_gateways(cluster, server=servers[0], further=servers[1:])
    head = spread.head()
    spread.start()
    assert head.log().count("data database is new") == 1
    clients = [spread.start_client("client")]
    cluster.start("analyzer", "run")
    wait_for("tables", lambda: all(tables(spread)))
    assert [len(t) for t in tables(spread)] == [2, 2]
    clients.append(spread.start_client("client2"))
    settled(cluster)
    exactly(cluster, 2 * DEVICES)
    assert [spread.stored(0), spread.stored(1)] == [DEVICES, DEVICES]
    wait_for("the erasure", lambda: tables(spread) == [[], []])
    for d in (*clients, head, *spread.daemons):
        assert d.alive(), d.log()


def test_a_certificate_that_moves_to_another_server_takes_its_devices_along(cluster, servers):
    spread, kept = two(cluster, servers)
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    gateway.link.close()
    gateway.until_accepted(spread.ports[1], d, data, 0, 40)
    assert [spread.stored(i) for i in range(2)] == [20, 20]
    gateway.link.close()
    # Killed with both servers' devices known to nobody else.
    spread.daemons[1].kill()
    kept.head.kill()
    kept.tend()
    spread.ready()
    gateway.until_accepted(spread.ports[0], d, data, 0, 60)
    settled(cluster)
    exactly(cluster, 60)


def test_rounds_on_two_servers_survive_kills(cluster, servers):
    survive_kills(cluster, server=servers[0], further=servers[1:])


@pytest.mark.parametrize("which", [0, 1])
def test_a_server_is_away_while_an_epoch_ends(cluster, servers, which):
    spread = two_clients(cluster, servers[0], further=servers[1:])

    def strike(kept, second):
        servers[which].crash()
        kept.spread.daemons[0].kill()  # another epoch is to begin
        second()
        wait_for("the head to end", lambda: not kept.head.alive())
        kept.tend()
        wait_for("the head to wait", lambda: kept.head.log().count("waiting for the database") >= 1)
        assert servers[which].folder in kept.head.log()
        kept.tend()
        servers[which].start()

    kept = round_of_two_clients(cluster, spread, strike)
    wait_for("the erasure", lambda: kept.tend() or tables(spread) == [[], []])


@pytest.mark.parametrize("which", [0, 1])
def test_one_of_the_servers_fails_over_to_its_synchronous_standby(cluster, servers, which):
    """The standby is the same database, and the epoch after the failover begins in both."""
    kept = fails_over(cluster, servers, which)
    assert servers[which].process.poll() is not None and servers[1 - which].process.poll() is None
    assert kept.head.log().count("data database is new") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("which", [0, 1])
def test_the_disk_of_one_of_the_servers_is_full(cluster, servers, which):
    disk_is_full(cluster, servers, which)


def test_data_are_dropped_on_both_servers_also_after_a_fault_between_them(cluster, servers):
    spread, kept = two(cluster, servers, devices=40)
    gateway = Gateway(cluster, spread.ports[1])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[1], d, data, 0, 20)
    block = tables(spread)[0][0]
    # The state's database is dropped from last, and cannot be: the head ends after the other.
    held = hold(spread, f"LOCK TABLE tombola.{block} IN ACCESS SHARE MODE")
    gateway.until_accepted(spread.ports[1], d, data, 0, 40)
    kept.until("the data of the other server to be gone", lambda: tables(spread)[1] == [])
    kept.until("the head to end", lambda: "lock timeout" in kept.head.log())
    assert tables(spread)[0]
    held.communicate("ROLLBACK;\n", timeout=60)
    kept.until("the rest to be gone", lambda: tables(spread) == [[], []])
    kept.until("the round", lambda: [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]] == ["settled"])
    exactly(cluster, 40)


def test_a_bucket_that_is_capped_on_one_server_is_gone_on_the_other(cluster, servers):
    """All messages are on one server; what the shuffler keeps of them, and adds, is on that of the state."""
    n, padded = 300, 60
    test_tags.evened(cluster, n, padded)
    spread = Spread(cluster, server=servers[0], further=servers[1:])
    spread.clients_dial(1)
    kept = Kept(spread)
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once")
    made = [[], []]

    def are_made():
        made[:] = tables(spread)
        return all(made) or not analyzer.alive()

    wait_for("tables", are_made)

    def some_are_capped():
        try:
            return not analyzer.alive() or servers[0].ask(f"SELECT 1 FROM tombola.{made[0][0]} WHERE bucket < 0", spread.database)
        except AssertionError:  # all are, and the round is over
            return True

    wait_for("a bucket to be capped", some_are_capped)
    kept.head.kill()
    kept.until("the plan to end", lambda: not analyzer.alive())
    assert analyzer.wait() == 0, analyzer.log()
    assert spread.stored(1) == n
    test_tags.check(cluster, n, padded)


def hold(spread, text):
    """A session of the state's database that has run this, and keeps its lock."""
    held = spread.server.session(f"BEGIN; {text}", spread.database)
    wait_for("the lock", lambda: spread.server.ask(
        "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.usename = 'postgres' AND l.relation::regclass::text LIKE "
        "'tombola.%'", spread.database))
    return held


# ---- The list ----

def test_a_list_that_changes_while_a_round_is_open_is_refused(cluster, servers):
    spread, kept = two(cluster, servers)
    gateway = Gateway(cluster, spread.ports[1])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[1], d, data, 0, 20)
    mine = spread.string(place=servers[1].where())
    third = postgresql.Server()
    try:
        third.create(spread.database)
        third.create_intakes(spread.database)
        other = spread.string(place=third.where())
        kept.head.stop()
        for strings in ((), (other,)):  # left out; another one in its place
            change_list(spread, *strings)
            code, said = head_says(cluster)
            assert code == EXIT["noinput"] and f'"{mine}" has messages of a round' in said, said
        code, said = head_says(cluster, "check-config")
        assert code != 0 and f'"{mine}" has messages of a round' in said, said
        # Two names of one server, and that of the state.
        for strings, why in (((mine, mine + " connect_timeout=9"), "are the same database"),
                             ((mine, spread.string()), "has the state of a shuffler")):
            change_list(spread, *strings)
            for verb in ("run", "check-config"):
                code, said = head_says(cluster, verb)
                assert code == EXIT["config"] and why in said and strings[-1] in said, said
        # One more, which the open round gets, too; in another order.
        change_list(spread, other, mine)
        code, said = head_says(cluster, "check-config")
        assert code == 0, said
        kept.head.start()
        wait_for("the intakes to end", lambda: not any(x.alive() for x in spread.daemons))
        for x in spread.daemons:
            assert x.process.returncode == EXIT["config"] and "other_databases" in x.log() and third.folder in x.log(), x.log()
        spread.further.append(third)
        spread.keys = ""
        for i in range(2):
            spread.configure(i)
        spread.start()
        gateway.until_accepted(spread.ports[1], d, data, 0, 40)
        assert [len(t) for t in tables(spread)] == [2, 2, 2]
        gateway.link.close()
        gateway.until_accepted(spread.ports[0], d, data, 20, 40)
        settled(cluster)
        exactly(cluster, 60)
        wait_for("the erasure", lambda: tables(spread) == [[], [], []])
        # No round is open: a server may go.
        kept.head.stop()
        change_list(spread, mine)
        kept.head.start()
        cluster.wait_listening()
        assert "data database is not in the list any more" in kept.head.log()
    finally:
        third.close()


def test_an_intake_without_the_whole_list_does_not_start(cluster, servers):
    one_plan(cluster, 40)
    spread = Spread(cluster, server=servers[0], further=servers[1:])
    spread.head()
    with open(cluster.path("intake0.conf")) as f:
        text = f.read()
    whole = spread.list("other_databases", spread.servers, spread.role)
    state, other = (spread.string(spread.role, s.where()) for s in servers)
    assert whole in text
    for lines, why in (("", f'data are also in "{spread.string(place=servers[1].where())}"'),
                       (spread.list("other_databases", servers[:1], spread.role), "data are also in"),
                       ('other_databases = ["host=/nowhere password=x"];\n', "a password does not belong here")):
        cluster.write("intake0.conf", text.replace(whole, lines))
        for verb in ("intake", "check-config intake"):
            code, said = intake_says(spread, verb)
            assert code == EXIT["config"] and why in said, said
    # Its own is the data server, and nothing else is said; then a database that the head does not have.
    cluster.write("intake0.conf", text.replace(whole, "").replace(state, other))
    code, said = intake_says(spread)
    assert code == EXIT["config"] and "the head's own database, which has its state, is not in the list" in said, said
    cluster.write("intake0.conf", text)
    code, said = intake_says(spread, "check-config intake")
    assert code == 0 and not said, said
    servers[1].stop()
    code, said = intake_says(spread, "check-config intake")
    assert code == 0 and servers[1].folder in said and "are not looked at" in said, said


def test_what_belongs_to_another_state_is_refused(cluster, servers):
    one_plan(cluster, 40)
    spread = Spread(cluster, server=servers[0], further=servers[1:])
    head = spread.head()
    head.stop()
    # A data database has no state, whoever says so.
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    mine = spread.string(place=servers[1].where())
    change_list(spread)
    with open(cluster.path("shuffler.conf")) as f:
        cluster.write("shuffler.conf", f.read().replace(spread.string(), mine))
    for verb in ("run", "check-config"):
        code, said = head_says(cluster, verb)
        assert code == EXIT["config"] and "this one in data_databases" in said, said
    cluster.write("shuffler.conf", text)
    # A state that was lost knows it no more.
    servers[0].forget(spread.database)
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test")
    assert run.returncode == 0, run.stderr
    code, said = head_says(cluster)
    assert code == EXIT["config"] and f'"{mine}" belongs to another shuffler, or to a state that was lost' in said, said
    servers[1].do("DROP SCHEMA tombola CASCADE", spread.database)
    spread.head()


def databases(port, who):
    """By number, whether their connections are there, as metrics have it."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=180) as r:
        return re.findall(rf'^tombola_{who}_database_up{{number="(\d+)"}} (\d)$', r.read().decode(), re.M)


def ended(daemon, number):
    """It has ended by itself, within seconds and before it needed the database, and names it."""
    wait_for("its end", lambda: not daemon.alive(), 20)
    assert daemon.process.wait() == EXIT["io"], daemon.log()
    assert f"database {number}: the server or the network has ended the session" in daemon.log(), daemon.log()


def test_a_lost_database_ends_head_and_intakes(cluster, servers):
    """Nothing is asked of them meanwhile: who lost a session has lost its locks, and may offer a round that is over."""
    one_plan(cluster, 40)
    spread = Spread(cluster, server=servers[0], further=servers[1:])
    head = spread.head()
    spread.start()

    def up():
        return [databases(port, "intake") for port in spread.http]

    # The state's alone, before there is a round; then those of the round.
    assert databases(cluster.http["shuffler"], "shuffler") == [("0", "1"), ("1", "1")]
    assert up() == [[("0", "1")]] * 2
    cluster.start("analyzer", "run")
    wait_for("the round", lambda: up() == [[("0", "1"), ("1", "1")]] * 2)
    servers[1].crash()
    ended(head, 1)
    # An intake, too, unless its head's end came first and has taken the round from it.
    for i, d in enumerate(spread.daemons):
        wait_for("an intake that takes nothing", lambda: not d.alive() or not (spread.status(i) or {"head": False})["head"])
        if not d.alive():
            ended(d, 1)
    check = cluster.run("shuffler", "check")
    assert check.returncode == 2 and "daemon does not answer" in check.stdout, check
    # It waits for its server, and the round goes on.
    servers[1].start()
    head.start()
    cluster.wait_listening()
    spread.start_missing(head)
    spread.ready()
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)


@pytest.mark.parametrize("who, order", [("head", "ASC"), ("head", "DESC"), ("intake", "ASC")])
def test_one_session_that_ends_ends_the_process(cluster, servers, who, order):
    """Each of the head's two sessions with its state has a lock of its own."""
    one_plan(cluster, 40)
    spread = Spread(cluster, server=servers[0])
    head = spread.head()
    spread.start(0)
    role = spread.database if who == "head" else spread.role
    servers[0].do("SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity"
                  f" WHERE usename = '{role}' AND application_name LIKE 'tombola%' ORDER BY backend_start {order} LIMIT 1) x")
    ended(head if who == "head" else spread.daemons[0], 0)


def test_a_lost_server_is_given_up_with_its_round(cluster, servers):
    spread, kept = two(cluster, servers)
    gateway = Gateway(cluster, spread.ports[1])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[1], d, data, 0, 20)
    kept.head.stop()
    servers[1].stop()
    change_list(spread)
    code, said = head_says(cluster)
    assert code == EXIT["noinput"] and "give the round up" in said, said
    run = cluster.run("shuffler", "round", "give-up", str(d.sequence), "--confirm", d.query.name)
    assert run.returncode == 0, run.stderr
    kept.head.start()
    cluster.wait_listening()
    assert tables(spread, servers[:1]) == [[]]
    # It was not lost: its tables go when it is in the list again.
    kept.head.stop()
    servers[1].start()
    change_list(spread, spread.string(place=servers[1].where()))
    kept.head.start()
    cluster.wait_listening()
    assert tables(spread) == [[], []]
