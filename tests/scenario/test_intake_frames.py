"""What head and intake make of each other's frames: of a share that is given twice, and of statements about the ledger that an intake
brings on behalf of clients."""
import contextlib
import os
import select
import socket
import ssl
import struct
import threading

import pytest

import postgresql
import wire
from cluster import wait_for
from spread import Spread
from test_intakes import Gateway, a_spread, exactly, one_plan, settled
from wire import pb

if not postgresql.programs():
    pytest.skip("no PostgreSQL server: deploy/setup.sh test", allow_module_level=True)


def intake_context(spread, i=0):
    folder = os.path.join(spread.cluster.pki, f"intake{i}")
    return wire.tls_context(False, os.path.join(folder, f"intake{i}.crt"), os.path.join(folder, f"intake{i}.key"),
                            [os.path.join(folder, "services-ca.crt")])


class Between:
    """Stands between an intake and its head, with the keys of both, passes every frame, and can give a share again."""

    def __init__(self, spread):
        self.spread, self.near, self.share = spread, None, None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.lock = self.socket.getsockname()[1], threading.Lock()
        self.context = spread.cluster.tls("shuffler", server=True)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            raw = self.socket.accept()[0]
            threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        try:
            near = wire.Link(self.context.wrap_socket(raw, server_side=True), hello=False)
            far = wire.Link.dial(self.spread.cluster.port, intake_context(self.spread), hello=False)
        except (OSError, ssl.SSLError):
            raw.close()
            return
        threading.Thread(target=self.copy, args=(near, far), daemon=True).start()
        self.copy(far, near)

    def copy(self, source, to):
        try:
            while True:
                frame = source.receive()
                if frame.WhichOneof("kind") == "intake_share" and frame.intake_share.epoch > 0:
                    self.share, self.near = frame, to
                self.pass_on(to, frame)
        except (EOFError, OSError, ValueError):
            for link in (source, to):
                link.sock.close()

    def pass_on(self, to, frame):
        body = frame.SerializeToString()
        with self.lock:
            to.sock.sendall(struct.pack(">I", len(body)) + body)

    def again(self):
        self.pass_on(self.near, self.share)


def test_a_share_that_is_given_twice_drops_nothing(cluster):
    one_plan(cluster, 60)
    spread = Spread(cluster, intakes=1, limits='{ commit_wait = "3s"; commit_messages = 100000; }')
    spread.head()
    between = Between(spread)
    spread.configure(0, head=between.port)
    spread.start()
    cluster.start("analyzer", "run")
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    body = gateway.reports(d, data, 20, 20)
    gateway.link.send(submit=pb.Submit(round_id=d.round_id, pseudonyms=b"".join(p for p, _ in body),
                                       sealed=b"".join(s for _, s in body), salts=os.urandom(32 * len(body))))
    # It has read them when it answers what comes behind them; then the share comes again.
    gateway.link.send(get_standing=pb.GetStanding())
    assert gateway.link.receive().WhichOneof("kind") == "standing"
    epochs = spread.metric(0, 'tombola_intake_events_total{event="epochs"}')
    between.again()
    assert set(gateway.link.expect("receipt").outcomes) == {pb.OUTCOME_ACCEPTED}
    assert spread.metric(0, 'tombola_intake_events_total{event="batches_given_up"}') == 0
    assert spread.metric(0, 'tombola_intake_events_total{event="epochs"}') == epochs
    gateway.until_accepted(spread.ports[0], d, data, 20, 40)
    settled(cluster)
    exactly(cluster, 60)


def test_an_intake_speaks_for_no_device_about_the_ledger(cluster):
    """After a loss the devices of clients decide how long the ledger was.  What an intake says of them does not count."""
    spread = a_spread(cluster, 40)
    gateway = Gateway(cluster, spread.ports[0])
    r = gateway.link.ask("round", get_round=pb.GetRound(population="test", wait_ms=30000))
    for d in cluster.daemons:
        d.kill()
    spread.server.do("DROP SCHEMA tombola CASCADE", spread.database)
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test")
    assert run.returncode == 0, run.stderr
    spread.head()

    def stated():
        return cluster.json("shuffler", "status")["stated"]

    statement = pb.GetStanding(descriptor=r.descriptor, signature=r.signature)
    for i in range(3):
        link = wire.Link.dial(cluster.port, intake_context(spread))
        link.send(on_behalf=pb.OnBehalf(key_hash=bytes([i]) * 32, devices=100000, name=f"made-up{i}"))
        link.ask("standing", get_standing=statement)
    said = stated()
    assert said["waits"] and said["certificates"] == 1 and said["devices"] == 0, said
    # A client of its own link is one of 1000 devices.
    direct = Gateway(cluster, cluster.port)
    direct.link.ask("standing", get_standing=statement)
    wait_for("the end of the waiting", lambda: not stated()["waits"])


@pytest.mark.parametrize("removed", [False, True])
def test_an_intake_says_nothing_of_clients_that_it_has_not_claimed(cluster, removed):
    """Else who holds one could state a round for every client there is, in one frame."""
    one_plan(cluster, 40)
    spread = Spread(cluster)
    head = spread.head(mutant="shuffler.standing.claimed" if removed else "")
    cluster.start("analyzer", "run")
    wait_for("a round", lambda: "round open" in head.log())
    link = wire.Link.dial(cluster.port, intake_context(spread))
    link.send(intake_join=pb.IntakeJoin())

    def expect(kind, when=lambda frame: True):
        while True:
            frame = link.receive()
            if frame.WhichOneof("kind") == kind and when(getattr(frame, kind)):
                return getattr(frame, kind)

    def batch(*keys):
        link.send(intake_batch=pb.IntakeBatch(epoch=epoch, devices=0, receipts=(os.urandom(32) + (1).to_bytes(8, "little")) * 4,
                                              standings=b"".join(k + os.urandom(64) for k in keys)))
        return expect("intake_signed").granted

    def stored():
        return spread.server.ask("SELECT 1 FROM tombola.standing", spread.database)

    epoch = expect("intake_share", lambda s: s.epoch > 0).epoch
    mine, others = os.urandom(32), [os.urandom(32) for _ in range(3)]
    link.send(intake_claim=pb.IntakeClaim(epoch=epoch, key_hash=mine))
    assert expect("intake_claimed").mine
    assert batch(*others) == batch(mine, others[0]) == removed
    if removed:
        return
    assert stored() == []
    assert batch(mine) and len(stored()) == 2  # of the certificate, and of the gateway
    # Standings of minor version 0 have 64 bytes each: three are left out, and not read as two.
    old = pb.IntakeBatch(epoch=epoch, devices=0, receipts=(os.urandom(32) + (1).to_bytes(8, "little")) * 4)
    old.MergeFromString(b"\x22\xc0\x01" + os.urandom(192))
    link.send(intake_batch=old)
    assert expect("intake_signed").granted and len(stored()) == 2
    link.sock.close()
    head.stop()


def test_batches_are_signed_in_their_order_while_other_links_are_served(cluster):
    """The largest batches there are, of an intake that goes before it is answered, of one that stays, and of one that asks for more
    than it waits for."""
    one_plan(cluster, 40)
    spread = Spread(cluster)
    head = spread.head()
    cluster.start("analyzer", "run")
    wait_for("a round", lambda: "round open" in head.log())
    client, intakes = Gateway(cluster, cluster.port).link, []

    def join(i):
        link = wire.Link.dial(cluster.port, intake_context(spread, i))
        link.send(intake_join=pb.IntakeJoin())
        intakes.append(link)
        return link

    def receive(link):
        """The next frame.  Meanwhile the intakes say what an intake says to be heard: a head cuts off one that is silent for ten
        seconds, and a busy machine signs for longer."""
        while not link.sock.pending() and not select.select([link.sock], [], [], 1)[0]:
            for each in intakes:
                each.send(intake_batch=pb.IntakeBatch())
        return link.receive()

    def share(link, after=0):
        while True:
            frame = receive(link)
            if frame.WhichOneof("kind") == "intake_share" and frame.intake_share.epoch > after:
                return frame.intake_share.epoch

    stays = join(0)
    first = share(stays)
    goes = join(1)
    epoch = share(goes, first)
    assert share(stays, first) == epoch
    most = pb.IntakeBatch(epoch=epoch, devices=0, receipts=os.urandom(32) + (1).to_bytes(8, "little") + bytes(8191 * 40))
    stays.send(intake_batch=most)
    goes.send(intake_batch=most)
    stays.send(intake_batch=pb.IntakeBatch(epoch=epoch, devices=0, receipts=most.receipts[:40]))
    client.send(get_round=pb.GetRound(population="test", wait_ms=30000))
    d = pb.Descriptor.FromString(receive(client).round.descriptor)
    said = []
    while len(said) < 2:
        frame = receive(stays)
        if frame.WhichOneof("kind") == "intake_signed" and frame.intake_signed.epoch > 0:
            assert frame.intake_signed.granted and frame.intake_signed.epoch == epoch
            said.append(frame.intake_signed.signatures)
            if goes in intakes:
                intakes.remove(goes)
                goes.sock.close()  # the head has the third batch, and signs the second
    assert [len(s) for s in said] == [8192 * 64, 64] and said[0][:64] == said[1]
    key = wire.load_public_key(os.path.join(cluster.pki, "client", "shuffler-sign.pub"))
    wire.verify(key, "receipt", d.round_id + most.receipts[:32] + most.receipts[32:40], said[1])
    # One that never reads an answer is cut off, and nobody else.
    greedy = join(1)
    at = share(greedy, epoch)
    gone = head.log().count('"intake gone"')
    with contextlib.suppress(OSError):
        for _ in range(20):
            greedy.send(intake_batch=pb.IntakeBatch(epoch=at, devices=0, receipts=most.receipts))
    wait_for("its end", lambda: head.log().count('"intake gone"') > gone)
    spread.start()
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)
    head.stop()
