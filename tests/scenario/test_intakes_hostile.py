"""An intake that lies to its head, and links that say what they must not: the head never ends, blocks or grows, and the honest intake goes
on as if there were no other."""
import os
import select
import ssl
import struct

import pytest

import postgresql
import wire
from cluster import sanitized, wait_for
from spread import Spread
from test_hostile import resident_kib
from test_intakes import Gateway, exactly, one_plan, settled
from wire import pb

if not postgresql.programs():
    pytest.skip("no PostgreSQL server: deploy/setup.sh test", allow_module_level=True)

pytestmark = pytest.mark.heavy
TARGET = 60
GROWTH_KIB = 48 << 10  # one link has at most 8 MiB of answers that nobody reads


class Liar:
    """Speaks to the head with an intake's certificate."""

    def __init__(self, spread, i=1):
        folder = os.path.join(spread.cluster.pki, f"intake{i}")
        self.port = spread.cluster.port
        self.context = wire.tls_context(False, os.path.join(folder, f"intake{i}.crt"), os.path.join(folder, f"intake{i}.key"),
                                        [os.path.join(folder, "services-ca.crt")])
        self.link = self.dial()

    def dial(self):
        return wire.Link.dial(self.port, self.context)

    def join(self):
        """Its share of the open round, once there is one."""
        self.link.send(intake_join=pb.IntakeJoin())
        share = self.share()
        # An epoch begins for whoever joins: the share of the one before may come first.
        while self.link.sock.pending() or select.select([self.link.sock], [], [], 1)[0]:
            share = self.share()
        return share

    def share(self):
        while True:
            share = self.link.expect("intake_share")
            if share.epoch:
                return share

    def batch(self, epoch, devices, receipts=b""):
        self.link.send(intake_batch=pb.IntakeBatch(epoch=epoch, devices=devices, receipts=receipts))
        while True:
            frame = self.link.receive()
            if frame.WhichOneof("kind") == "intake_signed":
                return frame.intake_signed


def ended(link):
    try:
        while link.receive():
            pass
    except (EOFError, OSError):
        return True
    return False


@pytest.fixture
def liar(cluster):
    """A head, an honest intake, and the other one's certificate in wrong hands; 20 of 60 devices are stored."""
    one_plan(cluster, TARGET)
    spread = Spread(cluster)
    head = spread.head()
    spread.start(0)
    cluster.start("analyzer", "run")
    liar = Liar(spread)
    liar.spread, liar.head = spread, head
    liar.honest = Gateway(cluster, spread.ports[0])
    liar.d, liar.data = liar.honest.round()
    liar.taken = 0
    more(liar, 20)
    yield liar


def more(liar, n):
    """The honest intake takes so many more."""
    liar.honest.until_accepted(liar.spread.ports[0], liar.d, liar.data, liar.taken, n)
    liar.taken += n


def all_of_them(cluster, liar):
    more(liar, TARGET - liar.taken)
    settled(cluster)
    exactly(cluster, TARGET)
    assert liar.head.alive() and liar.spread.daemons[0].alive()


def test_who_promises_what_it_does_not_store_takes_no_more_places_than_there_are(cluster, liar):
    share = liar.join()
    for epoch, devices in ((share.epoch, share.room + 1), (share.epoch, 2**32 - 1), (share.epoch + 1000, 1), (2**64 - 1, 1)):
        signed = liar.batch(epoch, devices)
        assert not signed.granted and not signed.signatures, (epoch, devices)
    assert liar.batch(share.epoch, 10).granted
    # It says that it has stored more than it may.
    for devices in (2**64 - 1, 11, TARGET):
        liar.link.send(intake_stored=pb.IntakeStored(epoch=share.epoch, devices=devices))
    liar.link.send(intake_stored=pb.IntakeStored(epoch=share.epoch + 1, devices=1))
    more(liar, 10)
    assert not liar.batch(share.epoch, share.room).granted
    # Its places are free again once it is gone.
    liar.link.close()
    all_of_them(cluster, liar)


def test_floods_of_what_an_intake_may_ask_are_cut_off(cluster, liar):
    share = liar.join()
    before = resident_kib(liar.head.process)
    receipts = os.urandom(40 * 20)
    floods = {
        "intake_join": lambda i: {"intake_join": pb.IntakeJoin()},
        "intake_claim": lambda i: {"intake_claim": pb.IntakeClaim(epoch=share.epoch, key_hash=struct.pack(">Q", i) * 4)},
        "leaves": lambda i: {"intake_claim": pb.IntakeClaim(epoch=share.epoch, key_hash=struct.pack(">Q", i) * 4, leaves=True)},
        "intake_batch": lambda i: {"intake_batch": pb.IntakeBatch(epoch=share.epoch + i % 2, devices=i % 2, receipts=receipts)},
        "intake_stored": lambda i: {"intake_stored": pb.IntakeStored(epoch=share.epoch, devices=i)},
    }
    for number, flood in enumerate(floods.values()):
        liar.link = liar.dial()
        share = liar.join()
        liar.link.sock.settimeout(5)
        try:
            for i in range(500 if number == 3 else 6000):
                liar.link.send(**flood(i))
        except (OSError, EOFError):
            pass  # nobody reads its answers: it is cut off
        more(liar, 3)
        assert sanitized() or resident_kib(liar.head.process) - before < GROWTH_KIB
        liar.link.sock.close()
    all_of_them(cluster, liar)


def test_an_intake_is_neither_analyzer_nor_two_things_at_once(cluster, liar):
    behalf = {"key_hash": bytes(32), "devices": 1, "name": "x"}
    for frames in (
            [{"announce": pb.Announce(descriptor=liar.data, signature=bytes(64))}],
            [{"release": pb.Release(charge=b"x", signature=bytes(64))}],
            [{"pull": pb.Pull(round_id=liar.d.round_id)}],
            [{"settle": pb.Settle(round_id=liar.d.round_id)}],
            [{"get_round": pb.GetRound(population="test")}],
            [{"intake_share": pb.IntakeShare(epoch=1, descriptor=liar.data, keys=bytes(64))}],
            [{"intake_signed": pb.IntakeSigned(epoch=1, granted=True)}],
            # OnBehalf of nobody, of too many, of a name that is none; twice; after a join, and before one.
            [{"on_behalf": pb.OnBehalf(**{**behalf, "devices": 0})}],
            [{"on_behalf": pb.OnBehalf(**{**behalf, "devices": 10_000_001})}],
            [{"on_behalf": pb.OnBehalf(**{**behalf, "key_hash": bytes(31)})}],
            [{"on_behalf": pb.OnBehalf(**{**behalf, "name": "n" * 100_000})}],
            [{"on_behalf": pb.OnBehalf(**behalf)}, {"on_behalf": pb.OnBehalf(**behalf)}],
            [{"intake_join": pb.IntakeJoin()}, {"on_behalf": pb.OnBehalf(**behalf)}],
            [{"on_behalf": pb.OnBehalf(**behalf)}, {"intake_join": pb.IntakeJoin()}],
            [{"on_behalf": pb.OnBehalf(**behalf)}, {"intake_batch": pb.IntakeBatch(epoch=1, devices=1)}],
            [{"on_behalf": pb.OnBehalf(**behalf)}, {"announce": pb.Announce(descriptor=liar.data, signature=bytes(64))}]):
        link = liar.dial()
        try:
            for frame in frames:
                link.send(**frame)
        except (OSError, ssl.SSLError):
            pass
        # What it is told, if anything, is an Error or its share; then it is cut off, or asked for nothing more.
        link.sock.settimeout(20)
        kind = next(iter(frames[-1]))
        if kind in ("get_round", "intake_share", "intake_signed"):
            assert link.receive().WhichOneof("kind") == "error", frames
        else:
            assert ended(link), frames
    # A name is for logs, and is one line there.
    link = liar.dial()
    link.send(on_behalf=pb.OnBehalf(key_hash=bytes(32), devices=1, name='a"\n{"level":"error","msg":"forged"}'))
    link.send(get_round=pb.GetRound(population="nobody"))
    assert link.receive().WhichOneof("kind") == "error"
    assert not any(line.startswith('{"level":"error"') for line in liar.head.log().splitlines())
    # Reports on behalf of a client are an intake's to take.
    link.send(submit=pb.Submit(round_id=liar.d.round_id, pseudonyms=bytes(32), sealed=liar.honest.sealed[0][1], salts=bytes(32)))
    error = link.receive().error
    assert error.code == pb.ERROR_BUSY, error
    all_of_them(cluster, liar)


def test_a_client_at_the_head_is_no_intake(cluster, liar):
    for frame in ({"on_behalf": pb.OnBehalf(key_hash=bytes(32), devices=1)}, {"intake_join": pb.IntakeJoin()},
                  {"intake_claim": pb.IntakeClaim(epoch=1, key_hash=bytes(32))}, {"intake_batch": pb.IntakeBatch(epoch=1, devices=1)},
                  {"intake_stored": pb.IntakeStored(epoch=1, devices=1)}):
        link = wire.Link.dial(cluster.port, cluster.tls("client"))
        with pytest.raises(wire.Refused) as e:
            link.ask("intake_share", **frame)
        assert e.value.code == pb.ERROR_BAD_ROLE, frame
        assert ended(link)
    wait_for("the honest one", lambda: liar.spread.status(0)["epoch"])
    all_of_them(cluster, liar)
