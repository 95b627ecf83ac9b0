"""Intakes in front of a head, over PostgreSQL: each device counts once, whatever is killed, stopped or cut off."""
import json
import os
import random
import signal
import threading
import time

import parties
import wire
from cluster import Daemon, program, wait_for
from spread import Spread
from test_rounds import histogram
from wire import pb

DEVICES = 300
KILLS = int(os.environ.get("TOMBOLA_TEST_KILLS", "6"))
SEED = int(os.environ.get("TOMBOLA_TEST_KILLS_SEED", "20261124"))


def write_readings(cluster, name, first, n):
    with open(cluster.path(f"{name}.csv"), "w") as f:
        f.write("device,colour\n")
        f.writelines(f"d{i},c{i % 2}\n" for i in range(first, first + n))


def ended(cluster, rounds=1):
    """The rounds, if there are so many and all are settled."""
    run = cluster.run("analyzer", "round", "list", "--json")
    if run.returncode != 0:
        return None
    found = json.loads(run.stdout)["rounds"]
    return found if len(found) >= rounds and all(r["stage"] == "settled" for r in found) else None


def settled(cluster, rounds=1):
    return wait_for("the rounds to be settled", lambda: ended(cluster, rounds))


def exactly(cluster, devices, number=1):
    result = cluster.json("analyzer", "round", "show", str(number))["result"]
    assert result["messages"] == sum(result["counts"]) == devices and result["duplicates"] == 0


def two_gateways(cluster, **keys):
    """Two clients with DEVICES devices each, one intake each; all of them are needed."""
    cluster.two_colours(DEVICES, min_reports=2 * DEVICES, target=2 * DEVICES)
    write_readings(cluster, "readings", 0, DEVICES)
    spread = Spread(cluster, **keys)
    spread.second_client(DEVICES)
    write_readings(cluster, "client2", DEVICES, DEVICES)
    spread.clients_dial(0)
    spread.clients_dial(1, conf="client2.conf")
    return spread


def test_a_round_with_clients_on_two_intakes(cluster):
    spread = two_gateways(cluster)
    head = spread.head()
    spread.start()
    clients = [spread.start_client("client"), spread.start_client("client2")]
    analyzer = cluster.start("analyzer", "run")
    settled(cluster)
    exactly(cluster, 2 * DEVICES)
    assert [spread.stored(0), spread.stored(1)] == [DEVICES, DEVICES]
    # The round is over: nobody has its keys.
    wait_for("no share", lambda: spread.status(0)["epoch"] == spread.status(1)["epoch"] == 0)
    for d in [analyzer, *clients, *spread.daemons, head]:
        if d.alive():
            d.stop()


class Gateway(parties.Device):
    """Devices behind one certificate, at an intake that may change; each device's sealed message is made once."""

    def __init__(self, cluster, port, certificate="client"):
        self.cluster, self.certificate, self.sealed = cluster, certificate, {}
        self.dial(port)

    def dial(self, port):
        folder = os.path.join(self.cluster.pki, "client")
        context = wire.tls_context(False, os.path.join(folder, f"{self.certificate}.crt"),
                                   os.path.join(folder, f"{self.certificate}.key"), [os.path.join(folder, "services-ca.crt")])
        self.link = wire.Link.dial(port, context)

    def reports(self, d, data, first, n):
        for i in range(first, first + n):
            if i not in self.sealed:
                self.sealed[i] = (wire.sha256(self.certificate.encode(), str(i).encode()), self.seal(d, data, i % 2))
        return [self.sealed[i] for i in range(first, first + n)]

    def until_accepted(self, port, d, data, first, n):
        """Come again as a client does, until every one is accepted.  An answer is lost if an epoch ends between the commit and it; were
        these the last devices, the round has ended with them, and `exactly` says whether each was stored once."""
        def accepted():
            try:
                self.dial(port)
                out = self.submit(d, self.reports(d, data, first, n))
            except (wire.Refused, OSError, EOFError):
                return ended(self.cluster)
            assert set(out) == {pb.OUTCOME_ACCEPTED}, out
            return True
        wait_for("reports to be accepted", accepted)


def one_plan(cluster, devices, **keys):
    cluster.configure(min_batch=1, devices=1000)
    cluster.plan([histogram(devices, 2.0, target=devices, values=["c0", "c1"], window="1h", **keys)], epsilon=4.0)


def a_spread(cluster, devices, **keys):
    """A head, two intakes and an analyzer whose round needs so many devices."""
    one_plan(cluster, devices)
    spread = Spread(cluster, **keys)
    spread.head()
    spread.start()
    cluster.start("analyzer", "run")
    return spread


def test_a_killed_intake_loses_nothing_and_doubles_nothing(cluster):
    spread = a_spread(cluster, 60)
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    # What comes next may be stored or not when it is killed.
    body = gateway.reports(d, data, 20, 20)
    gateway.link.send(submit=pb.Submit(round_id=d.round_id, pseudonyms=b"".join(p for p, _ in body),
                                       sealed=b"".join(s for _, s in body), salts=os.urandom(32 * len(body))))
    spread.daemons[0].kill()
    gateway.until_accepted(spread.ports[1], d, data, 0, 40)
    spread.start(0)
    gateway.until_accepted(spread.ports[1], d, data, 20, 40)
    settled(cluster)
    exactly(cluster, 60)


def test_a_stopped_intake_that_wakes_up_stores_nothing(cluster):
    # It gathers for seconds, so it is stopped with reports in its hands.
    spread = a_spread(cluster, 60, limits='{ commit_wait = "3s"; commit_messages = 100000; }')
    gateway, other = Gateway(cluster, spread.ports[0]), Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    body = gateway.reports(d, data, 20, 20)
    gateway.link.send(submit=pb.Submit(round_id=d.round_id, pseudonyms=b"".join(p for p, _ in body),
                                       sealed=b"".join(s for _, s in body), salts=os.urandom(32 * len(body))))
    # It has read them when it answers what comes behind them.
    gateway.link.send(get_standing=pb.GetStanding())
    assert gateway.link.receive().WhichOneof("kind") == "standing"
    spread.daemons[0].process.send_signal(signal.SIGSTOP)
    gateway.until_accepted(spread.ports[1], d, data, 0, 40)
    epoch = spread.status(1)["epoch"]
    assert epoch > 1
    spread.daemons[0].process.send_signal(signal.SIGCONT)
    wait_for("the stopped one to take reports again", lambda: (spread.status(0) or {}).get("epoch", 0) > epoch)
    given_up = spread.metric(0, 'tombola_intake_events_total{event="batches_given_up"}')
    assert spread.stored(0) == 20, given_up
    gateway.until_accepted(spread.ports[1], d, data, 0, 60)
    settled(cluster)
    exactly(cluster, 60)
    other.link.close()


def test_a_certificate_that_moves_takes_its_devices_along(cluster):
    """Its intake lives on: an epoch begins so that it may change."""
    spread = a_spread(cluster, 40)
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    gateway.link.close()
    gateway.until_accepted(spread.ports[1], d, data, 0, 30)
    gateway.link.close()
    gateway.until_accepted(spread.ports[0], d, data, 10, 30)
    settled(cluster)
    exactly(cluster, 40)


def test_a_claim_of_one_round_is_none_in_the_next(cluster):
    """Epochs are numbered in each round, and a connection may live on at an intake that had its certificate in the last one."""
    cluster.configure(min_batch=1, devices=1000)
    cluster.plan([histogram(n, 2.0, target=n, values=["c0", "c1"], window="1h", query=f"q{n}") for n in (20, 30)], epsilon=50.0)
    spread = Spread(cluster)
    spread.head()
    spread.start()
    cluster.start("analyzer", "run")
    first = Gateway(cluster, spread.ports[0])
    d, data = first.round()
    first.until_accepted(spread.ports[0], d, data, 0, 10)
    # It stands still while the other one claims the certificate in the same epoch of the next round.
    spread.daemons[0].process.send_signal(signal.SIGSTOP)
    second = Gateway(cluster, spread.ports[1], certificate=spread.second_client(1000))
    second.until_accepted(spread.ports[1], d, data, 10, 10)
    last = Gateway(cluster, spread.ports[1])
    d, data = last.round(after=1)
    last.until_accepted(spread.ports[1], d, data, 0, 10)
    spread.daemons[0].process.send_signal(signal.SIGCONT)
    wait_for("it to take reports", lambda: (spread.status(0) or {}).get("round") == 2)
    last.until_accepted(spread.ports[1], d, data, 10, 10)
    first.sealed.clear()
    try:
        out = first.submit(d, first.reports(d, data, 10, 10))
    except (wire.Refused, OSError, EOFError):
        out = None
    assert out is None, "two intakes took the reports of a certificate in one epoch"
    last.until_accepted(spread.ports[1], d, data, 20, 10)
    settled(cluster, 2)
    exactly(cluster, 30, 2)


def test_while_the_head_is_away_nothing_is_acknowledged(cluster):
    one_plan(cluster, 40)
    spread = Spread(cluster)
    head = spread.head()
    spread.start()
    cluster.start("analyzer", "run")
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    head.kill()
    wait_for("the intake to notice", lambda: not spread.status(0)["head"])
    assert spread.status(0)["epoch"] == 0  # it has forgotten the keys
    try:
        gateway.dial(spread.ports[0])
        gateway.submit(d, gateway.reports(d, data, 20, 20))
        raise AssertionError("acknowledged without a head")
    except (wire.Refused, OSError, EOFError):
        pass
    head.start()
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)


def test_who_is_no_intake_is_none(cluster):
    one_plan(cluster, 40)
    spread = Spread(cluster, intakes=2)
    spread.head()
    for party in ("client", "analyzer"):
        spread.configure(0, certificate=f"pki/{party}/{party}")
        d = Daemon([program("tombola-shuffler"), "--config", cluster.path("intake0.conf"), "intake"],
                   cluster.path(f"as-{party}.log"))
        wait_for("a refusal", lambda d=d, party=party: f"bad role: intake_join is not for role {party}" in d.log())
        wait_for("its http", lambda: spread.status(0))
        assert spread.status(0)["epoch"] == 0 and d.alive()
        d.kill()
    # An intake's certificate is no analyzer's, and claims nothing before it has joined.
    spread.configure(0)
    folder = os.path.join(cluster.pki, "intake0")
    context = wire.tls_context(False, os.path.join(folder, "intake0.crt"), os.path.join(folder, "intake0.key"),
                               [os.path.join(folder, "services-ca.crt")])
    link = wire.Link.dial(cluster.port, context)
    try:
        link.ask("witness", get_witness=pb.GetWitness(population="test"))
        raise AssertionError("answered an intake as an analyzer")
    except wire.Refused as e:
        assert e.code == pb.ERROR_BAD_ROLE
    for frame in ({"intake_claim": pb.IntakeClaim(epoch=1, key_hash=bytes(32))},
                  {"intake_batch": pb.IntakeBatch(epoch=1, devices=1, receipts=bytes(40))},
                  {"on_behalf": pb.OnBehalf(key_hash=bytes(32), devices=0)}):
        link = wire.Link.dial(cluster.port, context)
        link.send(**frame)
        try:
            assert not link.receive()
        except (EOFError, OSError):
            pass
    # On behalf of a client, none but a client's frames.
    link = wire.Link.dial(cluster.port, context)
    link.send(on_behalf=pb.OnBehalf(key_hash=bytes(32), devices=1, name="x"))
    try:
        link.ask("witness", get_witness=pb.GetWitness(population="test"))
        raise AssertionError("answered a client as an analyzer")
    except wire.Refused as e:
        assert e.code == pb.ERROR_BAD_ROLE


class Killer(threading.Thread):
    """Kills (-9) the head, an intake, a session of theirs or the whole server, or has all sessions ended, so many times; and starts what
    has died, until it is done.  Who loses its session ends by itself, a little later."""

    def __init__(self, spread, head, seed):
        super().__init__(daemon=True)
        self.spread, self.head, self.rng, self.done = spread, head, random.Random(seed), False
        # Between two kinds that end sessions one starts a daemon anew: who has nothing to store does not miss its session.
        self.kills = {"backend": 0, "head": 0, "sessions": 0, "intake": 0, "server": 0}

    def strike(self, kind):
        """Whether there was anything to kill."""
        server = self.rng.choice(self.spread.servers)
        if kind == "server":
            server.kill()
        elif kind == "backend":
            return server.kill_backend(self.spread.database, self.rng)
        elif kind == "sessions":
            try:
                return server.terminate(self.spread.database) > 0
            except AssertionError:  # it recovers
                return False
        else:
            victim = self.head if kind == "head" else self.rng.choice(self.spread.daemons)
            if not victim.alive():
                return False
            victim.kill()
        return True

    def recovered(self):
        """After some seconds a kill strikes whoever has not recovered."""
        end = time.monotonic() + 5
        while time.monotonic() < end and not self.done:
            if all((self.spread.status(i) or {}).get("epoch") for i in range(2)):
                return
            time.sleep(0.05)

    def run(self):
        kinds = [k for k in self.kills for _ in range(2 if k == "intake" else 1)]
        while not self.done:
            self.recovered()
            time.sleep(self.rng.random())
            if sum(self.kills.values()) < KILLS:
                # The first ones are one of each.
                kind = next((k for k, n in self.kills.items() if n == 0), None) or self.rng.choice(kinds)
                self.kills[kind] += self.strike(kind)
            for d in (self.head, *self.spread.daemons):
                if not d.alive():
                    d.start()


def test_rounds_survive_kills_of_head_intakes_and_sessions(cluster):
    survive_kills(cluster)


def survive_kills(cluster, **keys):
    rounds = 1 + KILLS // 9
    spread = two_gateways(cluster, **keys)
    cluster.plan([histogram(2 * DEVICES, 2.0, query=f"q{i}", target=2 * DEVICES, values=["c0", "c1"], window="1h")
                  for i in range(rounds)], epsilon=50.0)
    spread.clients_dial(0, 1)
    spread.clients_dial(0, 1, conf="client2.conf")
    head = spread.head()
    spread.start()
    for name in ("client", "client2"):
        with open(cluster.path(f"{name}.conf"), "a") as f:
            f.write('frame_devices = 7;\n')
    spread.start_client("client")
    cluster.start("analyzer", "run")
    killer = Killer(spread, head, seed=SEED)
    killer.start()
    # The first round waits for the second gateway, so that each kind of kill meets it.
    wait_for("a kill of each kind", lambda: min(killer.kills.values()) > 0, 600 + 10 * KILLS)
    spread.start_client("client2")
    wait_for("enough kills", lambda: sum(killer.kills.values()) >= KILLS, 600 + 10 * KILLS)
    settled(cluster, rounds)
    killer.done = True
    killer.join()
    print("seed", SEED, "kills", killer.kills)
    for i in range(rounds):
        exactly(cluster, 2 * DEVICES, i + 1)


def test_two_intakes_together_take_no_more_than_the_target(cluster):
    """Places are promised by the head: a manifest with more participants would be refused by the analyzer."""
    target = DEVICES + 50
    cluster.two_colours(DEVICES, min_reports=target, target=target)
    write_readings(cluster, "readings", 0, DEVICES)
    spread = Spread(cluster)
    spread.second_client(DEVICES)
    write_readings(cluster, "client2", DEVICES, DEVICES)
    for i, name in enumerate(("client", "client2")):
        spread.clients_dial(i, conf=f"{name}.conf")
        with open(cluster.path(f"{name}.conf"), "a") as f:
            f.write("frame_devices = 3;\n")
    spread.head()
    spread.start()
    for name in ("client", "client2"):
        spread.start_client(name)
    cluster.start("analyzer", "run")
    settled(cluster)
    exactly(cluster, target)


def test_a_client_that_sends_rubbish_is_refused_by_the_intake_alone(cluster):
    spread = a_spread(cluster, 40)
    gateway, other = Gateway(cluster, spread.ports[0]), Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 10)
    # Submits that do not fit the round: refused, and after 16 in a row cut off.
    body = gateway.reports(d, data, 10, 1)[0]
    with_less = pb.Submit(round_id=d.round_id, pseudonyms=body[0], sealed=body[1][:-1], salts=bytes(32))
    for _ in range(16):
        try:
            gateway.link.ask("receipt", submit=with_less)
            raise AssertionError("a cut message was accepted")
        except wire.Refused as e:
            assert e.code == pb.ERROR_BAD_MESSAGE
    try:
        gateway.link.ask("receipt", submit=with_less)
        raise AssertionError("not cut off")
    except (EOFError, OSError):
        pass
    # What is another role's is refused by the head, through the intake.
    gateway.dial(spread.ports[0])
    for frame in ({"get_witness": pb.GetWitness(population="test")}, {"intake_join": pb.IntakeJoin()},
                  {"on_behalf": pb.OnBehalf(key_hash=bytes(32), devices=1)}):
        gateway.dial(spread.ports[0])
        try:
            gateway.link.ask("witness", **frame)
            raise AssertionError("answered")
        except wire.Refused as e:
            assert e.code == pb.ERROR_BAD_ROLE
    # Bytes that are no frame.
    gateway.dial(spread.ports[0])
    gateway.link.sock.sendall(b"\0\0\0\4" + b"\xff" * 4)
    try:
        while gateway.link.receive():
            pass
    except (EOFError, OSError):
        pass
    assert all(x.alive() for x in cluster.daemons)
    # Nobody else noticed: the other connection of the same certificate is as it was.
    assert other.standing()[0] == d.sequence
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)
