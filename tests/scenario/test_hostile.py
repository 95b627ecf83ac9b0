"""Strangers and peers that use up what a shuffler has: slow ones by the hundred, frames too large or too deep, all its file
descriptors, answers that nobody reads.  Memory is measured, so these run on the optimised build.

TOMBOLA_STRANGERS sets how many slow connections there are (default 600; doc/threat-model.md has the figures of more),
TOMBOLA_STRANGERS_AWAY after how many seconds one that was cut off is made anew (default 0: a flood)."""
import collections
import json
import multiprocessing
import os
import re
import resource
import selectors
import socket
import statistics
import struct
import time

import pytest

import wire
from cluster import wait_for
from parties import Analyzer, Device
from test_shuffler import submissions
from wire import pb

pytestmark = pytest.mark.heavy
STRANGERS = int(os.environ.get("TOMBOLA_STRANGERS", "600"))
AWAY = float(os.environ.get("TOMBOLA_STRANGERS_AWAY", "0"))
HELLO = bytes.fromhex("16030102000100") + b"\1" * 505  # how a TLS handshake may begin


def resident_kib(process):
    with open(f"/proc/{process.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1])


def files_open(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def started(cluster, **policy):
    cluster.configure(**policy)
    # What one certificate may use is tried in test_quota.py; here one stands for many.
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write("limits = { connections_per_certificate = 1000; frames_per_second = 1000000; };\n")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    return shuffler


class Strangers:
    """Connections from one address that send a byte now and then, and are made anew when they are cut off."""

    def __init__(self, port, count, pause=1.0):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 500)), hard))
        self.port, self.count, self.pause, self.open = port, count, pause, {}
        fork = multiprocessing.get_context("fork")  # a process of its own: it would hold up whoever measures
        self.made = fork.Value("i", 0)
        self.process = fork.Process(target=self.run, daemon=True)
        self.process.start()

    def dial(self, watch):
        s = socket.socket()
        s.setblocking(False)
        s.bind(("127.0.0.2", 0))
        s.connect_ex(("127.0.0.1", self.port))
        self.open[s] = 0
        self.made.value += 1
        watch.register(s, selectors.EVENT_READ)

    def run(self):
        watch, due = selectors.DefaultSelector(), 0.0
        # When each that is not there comes; the first ones spread like those that come back.
        away = collections.deque(time.monotonic() + AWAY * i / self.count for i in range(self.count))
        while True:
            for _ in range(200):
                if not away or away[0] > time.monotonic():
                    break
                away.popleft()
                self.dial(watch)
            for key, _ in watch.select(0.05 if not AWAY else 0.002):  # an answer or an end: either way it is over
                watch.unregister(key.fileobj)
                key.fileobj.close()
                del self.open[key.fileobj]
                away.append(time.monotonic() + AWAY)
            if time.monotonic() < due:
                continue
            due = time.monotonic() + self.pause
            for s, sent in list(self.open.items()):
                try:
                    s.send(HELLO[sent % len(HELLO):][:1])
                    self.open[s] = sent + 1
                except OSError:
                    pass

    def stop(self):
        self.process.kill()
        self.process.join(10)


def served(cluster, times):
    """Seconds that new connections with one question each take: the median and the 99th percentile."""
    ctx, took = cluster.tls("client"), []
    for _ in range(times):
        begin = time.monotonic()
        raw = socket.create_connection(("127.0.0.1", cluster.port), 180)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as clients do: else 40 ms of it are TCP's
        link = wire.Link(ctx.wrap_socket(raw, server_hostname="localhost"))
        with pytest.raises(wire.Refused):
            link.ask("round", get_round=pb.GetRound(population="test", after=0, wait_ms=0))
        took.append(time.monotonic() - begin)
        link.close()
    return statistics.median(took), statistics.quantiles(took, n=100)[98]


def test_slow_strangers_hold_up_nobody(cluster, capsys):
    shuffler = started(cluster)
    served(cluster, 20)
    idle = served(cluster, 50)
    before = resident_kib(shuffler.process)
    strangers = Strangers(cluster.port, STRANGERS)
    try:
        wait_for("the strangers", lambda: strangers.made.value >= STRANGERS)
        time.sleep(1)
        # Strangers who hold up hold up each time, a machine that others use does not: the best of five.
        busy = tuple(map(min, *(served(cluster, 50) for _ in range(5))))
        grown = resident_kib(shuffler.process) - before
        made = strangers.made.value
    finally:
        strangers.stop()
    with capsys.disabled():
        print("\n" + json.dumps({"strangers": STRANGERS, "connections made": made, "idle median and p99 ms":
                                 [round(t * 1e3, 1) for t in idle], "median and p99 ms": [round(t * 1e3, 1) for t in busy],
                                 "grown KiB": grown}))
    # One second is what a stranger may hold a place for.
    assert busy[0] < 2 * idle[0] + 0.1 and busy[1] < idle[1] + 1
    # 128 at most are in a handshake, of some 100 KiB.
    assert grown < 24 * 1024
    wait_for("the connections to be given up", lambda: files_open(shuffler.process) < 64)


def test_slow_frames_of_known_peers_take_no_room(cluster):
    """Each says that a frame of a MiB comes, and sends a byte of it at a time."""
    shuffler = started(cluster)
    served(cluster, 20)
    before, ctx, n = resident_kib(shuffler.process), cluster.tls("client"), 60
    links = [wire.Link.dial(cluster.port, ctx) for _ in range(n)]
    for _ in range(3):
        for link in links:
            link.sock.sendall(b"\0\x0f\xff\xff"[:1] if _ == 0 else b"\x0f\xff\xff" if _ == 1 else b"\x52")
    for link in links:
        link.sock.sendall(b"\xf0" * 1000)
    served(cluster, 5)
    grown = resident_kib(shuffler.process) - before
    assert grown < n * 64 + 1024, grown
    for link in links:
        link.sock.close()
    wait_for("the connections to end", lambda: files_open(shuffler.process) < 40)


def deep(n):
    """Messages within messages."""
    body = b""
    for _ in range(n):
        body = b"\x2a" + varint(len(body)) + body
    return body


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


FRAMES = {
    "4 GiB": b"\xff\xff\xff\xff", "a byte more than the most": struct.pack(">I", wire.FRAME_MAX + 1) + b"\x2a",
    "nested": deep(5000), "a million unknown fields": b"\xf8\x3f\x01" * 300000,
    "a field as long as 2^63": b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "many empty fields": b"\x4a\x00" * 500000,
    "records": b"\x4a" + varint(900000) + b"\x1a\x00" * 450000,
    "noise": os.urandom(wire.FRAME_MAX - 1000),
}


def test_frames_too_large_or_too_deep_take_no_room(cluster):
    shuffler = started(cluster)
    served(cluster, 20)
    whole = {name: f if len(f) > 3 and struct.unpack(">I", f[:4])[0] > wire.FRAME_MAX else struct.pack(">I", len(f)) + f
             for name, f in FRAMES.items()}
    whole["4 GiB"] = FRAMES["4 GiB"]

    def throw():
        for party in ("client", "analyzer"):
            for name, f in whole.items():
                link = wire.Link.dial(cluster.port, cluster.tls(party))
                try:
                    link.sock.sendall(f)
                    with pytest.raises((wire.Refused, EOFError, OSError)):
                        link.expect("round")
                        link.expect("round")
                except OSError:
                    pass  # cut off before it was all said
                link.sock.close()

    throw()  # what libraries keep for ever is there now, and the room for one whole frame
    before = resident_kib(shuffler.process)
    for _ in range(4):
        throw()
    grown = resident_kib(shuffler.process) - before
    assert grown < 1024, f"{grown} KiB"
    assert shuffler.alive()
    served(cluster, 2)


def test_without_a_file_descriptor_left_the_service_comes_back(cluster):
    shuffler = started(cluster, devices=100)
    analyzer = Analyzer(cluster).dial()
    d, data = analyzer.open_round(target=40, min_reports=10)
    device = Device(cluster)
    sent = submissions(d, data, [i % 4 for i in range(40)])
    device.submit(d, sent[:10])
    limit = files_open(shuffler.process) + 8
    resource.prlimit(shuffler.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    held = [socket.create_connection(("127.0.0.1", cluster.port)) for _ in range(60)]
    time.sleep(1)
    # Whoever is there is served, none is lost.
    assert device.submit(d, sent[:20]) == [pb.OUTCOME_ACCEPTED] * 20
    for s in held:
        s.close()

    def back():
        try:
            return Device(cluster)
        except OSError:
            return None

    other = wait_for("a newcomer to be served", back)
    assert other.submit(d, sent[20:]) == [pb.OUTCOME_ACCEPTED] * 20
    manifest, _ = analyzer.manifest(d)
    assert manifest.participants == 40
    with open(f"/proc/{shuffler.process.pid}/stat") as f:
        ticks = sum(map(int, f.read().rsplit(") ", 1)[1].split()[11:13]))
    time.sleep(1)
    with open(f"/proc/{shuffler.process.pid}/stat") as f:
        assert sum(map(int, f.read().rsplit(") ", 1)[1].split()[11:13])) - ticks < 30, "it spins"


def test_an_analyzer_that_does_not_read_holds_up_itself_alone(cluster):
    n = 30000
    shuffler = started(cluster, devices=n)
    analyzer = Analyzer(cluster, epsilon_limit=50.0).dial()
    d, data = analyzer.open_round(target=n, min_reports=n, window_ms=120000)
    device = Device(cluster)
    for i in range(0, n, 3000):
        # Nobody opens these: what is sealed in them is no matter here.
        device.submit(d, [(os.urandom(32), os.urandom(64)) for _ in range(3000)])
    manifest, signed = analyzer.manifest(d)
    charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge)
    assert len(analyzer.pull(d, manifest)) == n
    before = resident_kib(shuffler.process)
    largest = max(range(len(manifest.buckets)), key=lambda b: manifest.buckets[b].messages)
    analyzer.link.sock.settimeout(0.5)
    asked = 0
    try:
        while asked < 20000:
            analyzer.link.send(pull=pb.Pull(round_id=d.round_id, bucket=largest, offset=0))
            asked += 1
    except OSError:
        pass
    grown = resident_kib(shuffler.process) - before
    assert grown < 24 * 1024, f"{grown} KiB after {asked} questions"
    served_now = Device(cluster)
    with pytest.raises(wire.Refused):
        served_now.round(wait_ms=0)
    analyzer.link.sock.close()
    assert len(analyzer.dial().pull(d, manifest)) == n
