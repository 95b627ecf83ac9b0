"""A head and two intakes while server, network and processes fail in the middle of a round: each device is counted once, and whatever
was acknowledged is counted."""
import os
import random
import signal
import time

import pytest

import postgresql
import wire
from cluster import wait_for
from line import Line
from spread import Spread
from test_intakes import DEVICES, Gateway, exactly, one_plan, settled, write_readings
from test_postgresql import own  # noqa: F401
from wire import pb

pytestmark = pytest.mark.heavy
SMALL = '{ commit_messages = 40; commit_wait = "5ms"; }'


class Kept:
    """A head and its intakes, each started again whenever it ends, as systemd does."""

    def __init__(self, spread):
        self.spread, self.head = spread, spread.head()
        spread.start()

    def tend(self):
        for d in (self.head, *self.spread.daemons):
            if not d.alive():
                d.start()

    def until(self, what, condition):
        def tended():
            self.tend()
            return condition()
        wait_for(what, tended)


def two_clients(cluster, server, further=()):
    """Two clients whose devices are all needed, in small commits."""
    cluster.two_colours(DEVICES, min_reports=2 * DEVICES, target=2 * DEVICES, window="10m")
    write_readings(cluster, "readings", 0, DEVICES)
    spread = Spread(cluster, server=server, further=further, limits=SMALL)
    with open(cluster.path("client.conf"), "a") as f:
        f.write("frame_devices = 20;\n")
    spread.second_client(DEVICES)
    write_readings(cluster, "client2", DEVICES, DEVICES)
    spread.clients_dial(1, 0, conf="client2.conf")
    return spread


def round_of_two_clients(cluster, spread, fault):
    """`fault` strikes when some are stored, and starts the second client, without whom the round does not end; everybody who dies of it
    is started again."""
    kept = Kept(spread)
    clients = [spread.start_client("client")]
    cluster.start("analyzer", "run")
    tags = "SELECT relname FROM pg_class WHERE relname LIKE 'tags_%'"
    found = [wait_for("the round", lambda s=s: s.ask(tags, spread.database))[0]["relname"] for s in spread.servers]
    stored = [f"SELECT coalesce(sum(devices), 0) n FROM tombola.{t}" for t in found]
    wait_for("some devices", lambda: sum(s.ask(q, spread.database)[0]["n"] for s, q in zip(spread.servers, stored)) > 0)
    fault(kept, lambda: clients.append(spread.start_client("client2")))

    def is_settled():
        return [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]] == ["settled"]

    kept.until("the round to be settled", is_settled)
    exactly(cluster, 2 * DEVICES)
    for c in clients:
        assert c.alive() and "dropped messages" not in c.log() and "two manifests" not in c.log()
    return kept


def test_a_failover_to_the_synchronous_standby(cluster, own):  # noqa: F811
    fails_over(cluster, [own], 0)


def fails_over(cluster, servers, which):
    """One of the servers dies in mid-round, and its standby takes over."""
    standby = postgresql.with_standby(servers[which])
    try:
        spread = two_clients(cluster, servers[0], further=servers[1:])

        def fail_over(kept, second):
            second()
            time.sleep(random.Random(3).random() / 3)
            servers[which].crash()
            standby.promote()

        return round_of_two_clients(cluster, spread, fail_over)
    finally:
        standby.close()


def test_sessions_and_server_end(cluster, own):  # noqa: F811
    spread, rng = two_clients(cluster, own), random.Random(7)

    def strike(kept, second):
        second()
        for fault in ("sessions", "server", "sessions", "server"):
            time.sleep(rng.random() / 2)
            if fault == "sessions":
                own.terminate(spread.database)
            else:
                own.crash()
                kept.tend()
                own.start()
            kept.tend()

    round_of_two_clients(cluster, spread, strike)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_of_the_database(cluster, own):  # noqa: F811
    disk_is_full(cluster, [own], 0)


def disk_is_full(cluster, servers, which):
    """The disk of one of the servers is full when the second client's reports come to it."""
    with postgresql.SmallDisk(servers[which]) as disk:
        spread = two_clients(cluster, servers[0], further=servers[1:])
        if len(servers) > 1:
            spread.clients_dial(1 - which, which)
            spread.clients_dial(which, 1 - which, conf="client2.conf")
        head = spread.head()
        head.stop()
        disk.begin(spread.database)  # from here on its tables are those of rounds

        def fill(kept, second):
            disk.fill()
            second()
            wait_for("the fault", lambda: any("No space left" in d.log() for d in (kept.head, *kept.spread.daemons)))
            kept.tend()
            disk.free()

        return round_of_two_clients(cluster, spread, fill)


# ---- The network ----

def behind_a_line(cluster, devices):
    """The first intake's database is reached over a line; the plan needs so many devices."""
    one_plan(cluster, devices)
    spread = Spread(cluster)
    server = spread.server
    folder = os.path.join(cluster.dir, "line")
    os.mkdir(folder)
    name = f".s.PGSQL.{server.port}"
    line = Line(os.path.join(server.folder, name), path=os.path.join(folder, name))
    spread.configure(0, place=spread.place.replace(server.folder, folder))
    kept = Kept(spread)
    cluster.start("analyzer", "run")
    return kept, line


def submit_later(gateway, d, data, first, n):
    """Reports whose answer nobody waits for."""
    body = gateway.reports(d, data, first, n)
    gateway.link.send(submit=pb.Submit(round_id=d.round_id, pseudonyms=b"".join(p for p, _ in body),
                                       sealed=b"".join(s for _, s in body), salts=os.urandom(32 * len(body))))


@pytest.mark.parametrize("said, stop", [(b"BEGIN", False), (b"COMMIT", False), (b"COPY", True)])
def test_what_an_intake_said_to_the_database_arrives_too_late(cluster, said, stop):
    """The line is cut before a statement of a commit, or the intake is stopped after it; the other intake takes its certificate's reports.
    Once it is mended, or goes on, the intake's commit is refused, or was stored before."""
    kept, line = behind_a_line(cluster, 60)
    spread = kept.spread
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    first, reached = spread.daemons[0], []

    def strike():
        if stop:
            first.process.send_signal(signal.SIGSTOP)
        else:
            line.cut()
        reached.append(said)

    line.on[said] = strike
    submit_later(gateway, d, data, 20, 20)
    wait_for("the statement", lambda: reached)
    # The same devices and others come to the other intake.
    gateway.link.sock.close()
    gateway.until_accepted(spread.ports[1], d, data, 0, 50)
    line.mend()
    first.process.send_signal(signal.SIGCONT)
    kept.until("the first intake to take reports", lambda: (spread.status(0) or {}).get("epoch"))
    gateway.link.close()
    kept.until("the rest", lambda: accepted(gateway, spread.ports[0], d, data, 20, 40))
    settled(cluster)
    exactly(cluster, 60)
    line.close()


def accepted(gateway, port, d, data, first, n):
    try:
        gateway.dial(port)
        return set(gateway.submit(d, gateway.reports(d, data, first, n))) == {pb.OUTCOME_ACCEPTED}
    except (wire.Refused, OSError, EOFError):
        return False


def test_an_intake_is_cut_off_from_its_head(cluster):
    one_plan(cluster, 60)
    spread = Spread(cluster)
    line = Line(("127.0.0.1", cluster.port))
    spread.configure(0, head=line.port)
    kept = Kept(spread)
    cluster.start("analyzer", "run")
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    epoch = spread.status(1)["epoch"]
    line.cut()
    submit_later(gateway, d, data, 20, 20)
    gateway.dial(spread.ports[1])
    gateway.until_accepted(spread.ports[1], d, data, 0, 40)
    assert spread.status(1)["epoch"] > epoch
    wait_for("the keys to be forgotten", lambda: spread.status(0)["epoch"] == 0)
    assert spread.stored(0) == 20
    line.mend()
    wait_for("the first intake to take reports", lambda: spread.status(0)["epoch"] > epoch)
    gateway.link.close()
    gateway.until_accepted(spread.ports[0], d, data, 20, 40)
    settled(cluster)
    exactly(cluster, 60)
    assert all(x.alive() for x in (kept.head, *spread.daemons))
    line.close()
