"""What payloads may take: memory of the shuffler for clients that do not read, and a client's disk that is full."""
import concurrent.futures
import os
import socket
import threading
import time

import wire
from cluster import wait_for
from parties import Analyzer, Device
from test_payload import PART, SLACK, N, Steps, leaves, tree
from test_quota import enrol
from wire import pb


def little():
    """A socket for which the system buffers little."""
    raw = socket.socket()
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(60)
    return raw


class Deaf(Device):
    """Reads nothing after the handshake, over a connection of which the system buffers little."""

    def __init__(self, cluster, folder="client"):
        self.cluster = cluster
        raw = little()
        raw.connect(("127.0.0.1", cluster.port))
        self.link = wire.Link(cluster.tls(folder).wrap_socket(raw, server_hostname="localhost"))

    def ask(self, d):
        self.link.send(get_payload=pb.GetPayload(round_id=d.round_id, offset=0, length=PART))


class Slow(Deaf):
    """Reads 5 kB in a second while `slow` is set."""

    def __init__(self, cluster, folder="client"):
        self.cluster, self.slow, self.slowly = cluster, threading.Event(), 0
        raw, (mine, its) = little(), socket.socketpair()
        raw.connect(("127.0.0.1", cluster.port))
        mine.settimeout(60)
        for run in (self.up, self.down):
            threading.Thread(target=run, args=(raw, its), daemon=True).start()
        self.link = wire.Link(cluster.tls(folder).wrap_socket(mine, server_hostname="localhost"))

    def up(self, raw, its):
        while data := its.recv(4096):
            raw.sendall(data)
        raw.close()

    def down(self, raw, its):
        data = b"-"
        while data:
            time.sleep(0.1 if self.slow.is_set() else 0)
            try:
                data = raw.recv(512 if self.slow.is_set() else 65536)
                self.slowly += len(data) if self.slow.is_set() else 0
                its.sendall(data)
            except OSError:
                data = b""
        its.close()


def ask_each(deaf, d):
    dropped = 0
    for x in deaf:
        try:
            x.ask(d)
        except OSError:
            dropped += 1
    return dropped


def ask_all(deaf, d):
    """Each asks again, where a part is under way in vain; how many of them the shuffler has dropped.  They ask on a thread of
    their own: with OpenSSL 3.5 the error of a connection that was dropped stays in its thread's queue, and Python would raise
    it for another connection that is read next."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(ask_each, deaf, d).result()


class Round:
    """A shuffler with a round whose payload is there to be asked for."""

    def __init__(self, cluster, waiting_mib):
        cluster.configure(min_batch=2, epsilon=20.0, devices=4)
        with open(cluster.path("shuffler-policy.conf"), "a") as f:
            f.write("max_payload = 1000000;\n")
        with open(cluster.path("shuffler.conf"), "a") as f:
            f.write(f"limits = {{ waiting_mib = {waiting_mib}; }};\n")
        self.shuffler = cluster.start("shuffler", "run")
        cluster.wait_listening()
        a = Analyzer(cluster).dial()
        self.data = os.urandom(3 * PART)
        self.d = d = a.descriptor(payload_max=1_000_000, payload_size=len(self.data), payload_hash=wire.sha256(self.data))
        d.computing.CopyFrom(pb.Computing(map="statistics", parameters=b"\x01", fields=["v"]))
        bytes_of = a.reserve(d)
        a.extend()
        a.put(self.data)
        a.announce(bytes_of)

    def part(self, device, offset=0):
        return device.link.ask("payload", get_payload=pb.GetPayload(
            round_id=self.d.round_id, offset=offset, length=PART)).data == self.data[offset:][:PART]

    def busy(self, device):
        try:
            return not self.part(device)
        except wire.Refused as no:
            assert no.code == pb.ERROR_BUSY, no
            return "on their way to others" in no.text


def test_what_a_certificate_does_not_read_starves_no_other(cluster):
    """Eight parts are the shuffler's room here, and one is a certificate's share.  Twelve connections of one certificate ask for
    a part each and read nothing: another certificate is answered at once, and that one again when the deaf one was dropped."""
    r = Round(cluster, waiting_mib=4)
    other, same = Device(cluster, enrol(cluster, "other")), Device(cluster)
    # Who reads is answered at once, however often it asks.
    for i in range(8):
        assert r.part(same, PART * (i % 3))
    deaf = [Deaf(cluster) for _ in range(12)]
    wait_for("its share is taken", lambda: ask_all(deaf, r.d) or r.busy(same))
    for _ in range(9):
        ask_all(deaf, r.d)
        for i in range(3):
            assert r.part(other, PART * i)
    wait_for("a deaf one is dropped", lambda: ask_all(deaf, r.d))
    wait_for("room", lambda: not r.busy(same))
    assert r.shuffler.alive()


def test_what_all_certificates_do_not_read_is_bounded(cluster):
    """The room is four parts: eight certificates fill it, until those that do not read are dropped, all at once."""
    r = Round(cluster, waiting_mib=2)
    reads = Device(cluster)
    deaf = [Deaf(cluster, enrol(cluster, f"deaf{i}")) for i in range(8)]
    wait_for("no room", lambda: ask_all(deaf, r.d) or r.busy(reads))
    wait_for("deaf ones are dropped", lambda: ask_all(deaf, r.d) > 1)
    wait_for("room", lambda: not r.busy(reads))
    assert r.shuffler.alive()


def test_who_reads_slowly_is_not_dropped(cluster):
    """Another connection of the same certificate wants the room for longer than a peer has that reads nothing: the slow one is
    not dropped, and gets the whole payload."""
    r = Round(cluster, waiting_mib=2)
    slow, wants = Slow(cluster), Device(cluster)
    slow.slow.set()
    slow.ask(r.d)
    wait_for("its part is on its way", lambda: slow.slowly > 4096)  # more than a refusal, or than tickets of TLS
    end = time.monotonic() + 10
    while time.monotonic() < end:
        r.busy(wants)  # mostly; the system may come to hold all that is on its way
        time.sleep(0.2)
    slow.slow.clear()
    assert slow.link.expect("payload").data == r.data[:PART]
    for offset in (PART, 2 * PART):
        wait_for("a part", lambda: r.part(slow, offset))
    assert r.shuffler.alive()


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
    log = client.log()
    assert client.alive() and "in memory alone: after a restart it is fetched again" in log and "File too large" in log, log
    counts = cluster.json("analyzer", "round", "show", "1")["result"]["counts"]
    assert abs(sum(counts[:9]) - 9) <= SLACK and abs(sum(counts[9:18]) - (N - 9)) <= SLACK, counts
    s.no_files()
