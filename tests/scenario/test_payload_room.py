"""What payloads may take: memory of the shuffler for clients that do not read, and a client's disk that is full."""
import os
import socket

import pytest

import wire
from cluster import wait_for
from parties import Analyzer, Device
from test_payload import PART, SLACK, N, Steps, leaves, tree
from wire import pb


class Deaf(Device):
    """Reads nothing after the handshake, over a connection of which the system buffers little."""

    def __init__(self, cluster, folder="client"):
        self.cluster = cluster
        raw = socket.socket()
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(60)
        raw.connect(("127.0.0.1", cluster.port))
        self.link = wire.Link(cluster.tls(folder).wrap_socket(raw, server_hostname="localhost"))

    def ask(self, d):
        self.link.send(get_payload=pb.GetPayload(round_id=d.round_id, offset=0, length=PART))


def test_what_clients_do_not_read_is_bounded_in_all(cluster):
    """Four parts are the shuffler's room here.  Eight connections ask for one each and read nothing: another one waits, until
    the shuffler has dropped some of them."""
    cluster.configure(min_batch=2, epsilon=20.0, devices=4)
    with open(cluster.path("shuffler-policy.conf"), "a") as f:
        f.write("max_payload = 1000000;\n")
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write("limits = { waiting_mib = 2; };\n")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    a = Analyzer(cluster).dial()
    data = os.urandom(3 * PART)
    d = a.descriptor(payload_max=1_000_000, payload_size=len(data), payload_hash=wire.sha256(data))
    d.computing.CopyFrom(pb.Computing(map="statistics", parameters=b"\x01", fields=["v"]))
    bytes_of = a.reserve(d)
    a.extend()
    a.put(data)
    a.announce(bytes_of)
    reads = Device(cluster)

    def part(offset):
        return reads.link.ask("payload", get_payload=pb.GetPayload(round_id=d.round_id, offset=offset, length=PART)).data

    # Who reads is answered at once, however often it asks.
    for i in range(8):
        assert part(PART * (i % 3)) == data[PART * (i % 3):][:PART]
    # One that asks and does not read has one part under way.
    deaf = [Deaf(cluster) for _ in range(8)]
    deaf[0].ask(d)
    deaf[0].ask(d)

    def busy():
        try:
            return part(0) != data[:PART]
        except wire.Refused as no:
            assert no.code == pb.ERROR_BUSY, no
            return "on their way to others" in no.text

    assert not busy()
    for x in deaf[1:]:
        x.ask(d)
    wait_for("no room", busy)
    wait_for("room", lambda: not busy())
    # The first to ask was the first to go, and in the end some have what they asked for.
    with pytest.raises((EOFError, OSError)):
        deaf[0].link.receive()
    assert deaf[-1].link.receive().WhichOneof("kind") in ("payload", "error")
    assert shuffler.alive()


def test_a_full_disk_does_not_end_a_client_that_keeps_a_payload(cluster):
    """The payload is larger than any file may become: the client says so, uses it from memory, and its devices answer."""
    data = tree(1 << 16)
    assert len(data) > 4 * PART
    s = Steps(cluster, fetch=20, rounds=[leaves(repeat=1)]).start("shuffler")
    outside = cluster.inside
    cluster.inside = ["sh", "-c", f'trap "" XFSZ; ulimit -f {4 * PART // 512}; exec "$@"', "sh", *outside]
    s.start("client")
    cluster.inside = outside
    run = cluster.run("analyzer", "round", "run", "1", "--payload", s.write(data), seconds=300)
    assert run.returncode == 0, run.stdout + run.stderr
    client = s.daemons["client"]
    assert client.alive() and "kept in memory alone" in client.log() and "File too large" in client.log(), client.log()
    counts = cluster.json("analyzer", "round", "show", "1")["result"]["counts"]
    assert abs(sum(counts[:9]) - 9) <= SLACK and abs(sum(counts[9:18]) - (N - 9)) <= SLACK, counts
    s.no_files()
