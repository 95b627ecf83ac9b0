"""FLAME's own size, and devices that lie: a message too few or too many, one of them 7,850 times, all of one coordinate, tags that are
not so, and frames that never end.  Whatever they do touches no other device's messages, and takes a bounded room."""
import struct
import time

import pytest

import vectors
import wire
from cluster import wait_for
from parties import Device
from test_classes import audited
from test_flame_whole import D, N, SIMPLE, asked
from test_hostile import files_open, resident_kib
from test_quota import alive, enrol
from wire import pb

pytestmark = pytest.mark.heavy  # 8,000 messages of each device
SENT, PADDED = 785, 30
TOPK = {**{k: v for k, v in SIMPLE.items() if k != "query"}, "query": "topk", "protocol": "ss-topk", "size": SENT, "padded": PADDED,
        "epsilon0": 0.05}
NAME = b"\7" * 32


class Liar:
    """One device more, with a certificate of its own, in rounds of N that need all."""

    def __init__(self, cluster, *rounds):
        asked(cluster, *rounds)
        with open(cluster.path("readings.ndjson")) as f:
            honest = f.readlines()[:N - 1]
        cluster.write("readings.ndjson", "".join(honest))
        self.cluster, self.after = cluster, 0
        cluster.start("shuffler", "run")
        cluster.wait_listening()
        cluster.start("client", "run")
        self.analyzer = cluster.start("analyzer", "run", "--once")
        enrol(cluster, "liar")
        self.device = Device(cluster, "liar")

    def round(self):
        self.d, self.data = self.device.round(after=self.after)
        self.after = self.d.sequence

    def sealed(self, slot, value):
        return wire.Hpke.seal(self.d.hpke_key, wire.hpke_info(self.data), wire.hpke_aad(self.data), vectors.pack(slot, value))

    def refused(self, sealed):
        with pytest.raises(wire.Refused) as no:
            self.device.submit(self.d, [(NAME, sealed)])
        assert no.value.code == pb.ERROR_BAD_MESSAGE

    def accepted(self, sealed):
        assert self.device.submit(self.d, [(NAME, sealed)]) == [pb.OUTCOME_ACCEPTED]
        # The same again is the same report; another is none.
        assert self.device.submit(self.d, [(NAME, sealed)]) == [pb.OUTCOME_ACCEPTED]
        assert self.device.submit(self.d, [(NAME, sealed[:-1] + bytes([sealed[-1] ^ 1]))]) == [pb.OUTCOME_CONFLICT]


def counts(result):
    return [sum(result["counts"][2 * j:2 * j + 2]) for j in range(D)]


def test_messages_too_few_too_many_the_same_and_of_one_coordinate(cluster):
    liar = Liar(cluster, {**SIMPLE, "epsilon0": 0.1}, {**SIMPLE, "query": "again", "epsilon0": 0.1})
    liar.round()
    one = liar.sealed(3, 1)
    assert len(one) == 64
    for times in (1, D - 1, D + 1, 2 * D):
        liar.refused(one * times)
    liar.accepted(one * D)
    liar.round()
    liar.accepted(b"".join(liar.sealed(0, i % 2) for i in range(D)))
    assert liar.analyzer.wait() == 0, liar.analyzer.log()

    same, crowded = (cluster.json("analyzer", "round", "show", str(r))["result"] for r in (1, 2))
    for result in (same, crowded):
        assert result["participants"] == N and result["messages"] == N * D and result["bad"] == 0
    assert same["duplicates"] == D - 1 and counts(same) == [N - 1 + (j == 3) for j in range(D)]
    assert crowded["duplicates"] == 0 and counts(crowded) == [N - 1 + D * (j == 0) for j in range(D)]
    audited(cluster)


def test_tags_of_one_coordinate_and_tags_that_are_not_so(cluster):
    liar = Liar(cluster, TOPK, {**TOPK, "query": "again"})
    liar.round()
    ones = [liar.sealed(0, 0) for _ in range(SENT)]
    for tag in (D, 0xffff):
        liar.refused(b"".join(struct.pack("<H", t) + m for t, m in zip([0] * (SENT - 1) + [tag], ones)))
    liar.refused(b"".join(ones))
    liar.accepted(b"".join(struct.pack("<H", 0) + m for m in ones))
    liar.round()
    liar.accepted(b"".join(struct.pack("<H", 5) + liar.sealed(0, 0) for _ in range(SENT)))
    assert liar.analyzer.wait() == 0, liar.analyzer.log()

    crowded, untrue = (cluster.json("analyzer", "round", "show", str(r))["result"] for r in (1, 2))
    for result in (crowded, untrue):
        assert result["participants"] == N and result["messages"] == PADDED * D and result["bad"] == result["duplicates"] == 0
    assert counts(crowded) == [PADDED] * D
    # As many of each tag are left; what is said of them is the liar's own: it moved messages from coordinate 5 to 0.
    moved = counts(untrue)
    assert moved[1:5] + moved[6:] == [PADDED] * (D - 2) and moved[0] + moved[5] == 2 * PADDED and moved[5] < PADDED
    audited(cluster)


def test_frames_that_never_end_take_a_bounded_room(cluster):
    """As many connections as a certificate has, a frame in each that lacks its last bytes."""
    asked(cluster, {**SIMPLE, "epsilon0": 0.5})
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write('limits = { idle = "20s"; };\n')
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    enrol(cluster, "liar")
    links = [wire.Link.dial(cluster.port, cluster.tls("liar")) for _ in range(16)]
    assert all(alive(link) for link in links)
    before = resident_kib(shuffler.process)
    for link in links:
        link.sock.sendall(struct.pack(">I", wire.FRAME_MAX) + b"\x52" + bytes(wire.FRAME_MAX - 100))
    time.sleep(1)
    grown = resident_kib(shuffler.process) - before
    # A frame of a MiB each, and what one read adds.
    assert grown < 16 * (1024 + 256) + 2048, grown
    # Beside them the round of others goes on.
    cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    wait_for("the connections to end", lambda: files_open(shuffler.process) < 40)
