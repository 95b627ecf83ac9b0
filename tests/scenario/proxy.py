"""proxy.py - a bad network between a party and the shuffler: frames are delayed, lost, doubled and overtaken, connections
are reset around them.

TLS protects each connection, so that a network can do to frames only what goes along with a connection that ends.  To do
it at chosen frames the proxy holds the keys of both ends, and so notes what passes."""
import ctypes
import random
import socket
import ssl
import struct
import threading
import time

import wire
from wire import pb

LIBC = ctypes.CDLL(None, use_errno=True)


def reset(sock):
    """RST at once, though another thread may be reading: connect(2) to no address, which close(2) is too polite for."""
    if sock.fileno() >= 0:
        LIBC.connect(sock.fileno(), b"\0" * 16, 16)  # AF_UNSPEC


class Hop:
    """One connection through the proxy: requests one way, their answers in order the other way."""

    def __init__(self, proxy, raw):
        self.proxy, self.raw = proxy, raw
        self.passes = []  # for each request that was passed on: what becomes of its answer
        self.lock = threading.Condition()

    def run(self):
        try:
            self.raw.settimeout(60)
            self.near = wire.Link(self.proxy.server.wrap_socket(self.raw, server_side=True), hello=False)
            self.far = self.proxy.dial()
        except OSError:  # SSLError too
            self.raw.close()
            return
        threading.Thread(target=self.down, daemon=True).start()
        try:
            while True:
                frame = self.near.receive()
                self.up(frame)
        except (EOFError, OSError, ValueError, AttributeError):
            self.end()

    def settle(self):
        """What was asked before is answered first: a fault befalls one frame, and those that follow it."""
        end = time.monotonic() + 5
        while self.passes and time.monotonic() < end:
            time.sleep(0.002)

    def end(self):
        time.sleep(0.02)  # a reset also takes what the other side has not read yet
        reset(self.near.sock)
        reset(self.far.sock)

    def up(self, frame):
        kind = frame.WhichOneof("kind")
        self.proxy.note(kind, getattr(frame, kind))
        fault = self.proxy.fault(kind)
        if fault == "delay":
            time.sleep(self.proxy.rng.uniform(0.05, 0.15))
        elif fault == "lost":
            self.settle()
            self.end()
            raise EOFError
        elif fault == "overtaken":
            threading.Thread(target=self.proxy.deliver_late, args=(frame,), daemon=True).start()
            self.settle()
            self.end()
            raise EOFError
        self.forward(frame, {"unanswered": "cut before", "answered": "cut after"}.get(fault, "pass"))
        if fault == "doubled":
            self.forward(frame, "drop")

    def forward(self, frame, answer):
        with self.lock:
            self.passes.append(answer)
            self.lock.notify()
            body = frame.SerializeToString()
            self.far.sock.sendall(struct.pack(">I", len(body)) + body)

    def down(self):
        try:
            while True:
                frame = self.far.receive()
                with self.lock:
                    # The shuffler greets first where this side is slow.
                    if not self.lock.wait_for(lambda: self.passes, 60):
                        break
                    fate = self.passes.pop(0)
                if fate == "cut before":
                    break
                if fate == "drop":
                    continue
                kind = frame.WhichOneof("kind")
                self.proxy.note(kind, getattr(frame, kind))
                body = frame.SerializeToString()
                self.near.sock.sendall(struct.pack(">I", len(body)) + body)
                if fate == "cut after":
                    break
        except (EOFError, OSError, ValueError, IndexError, AttributeError):
            pass
        self.end()


class Proxy:
    """Listens on `port` for a party and dials the shuffler as that party.

    `faults` maps a kind of frame to the faults that befall it, each in turn; "pass" is none."""

    def __init__(self, cluster, party, faults, seed=1):
        self.cluster, self.rng, self.faults = cluster, random.Random(seed), faults
        self.server, self.client = cluster.tls("shuffler", server=True), cluster.tls(party)
        self.turn, self.done = {}, {}
        self.submitted, self.segments = {}, {}
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        with open(cluster.path(f"{party}.conf")) as f:
            text = f.read()
        cluster.write(f"{party}.conf", text.replace(f"127.0.0.1:{cluster.port}", f"127.0.0.1:{self.port}"))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=Hop(self, raw).run, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def dial(self):
        raw = socket.create_connection(("127.0.0.1", self.cluster.port), 60)
        return wire.Link(self.client.wrap_socket(raw, server_hostname="localhost"), hello=False)

    def fault(self, kind):
        """What befalls this frame."""
        with self.lock:
            of = self.faults.get(kind, ["pass"])
            i = self.turn.get(kind, 0)
            self.turn[kind] = i + 1
            fault = of[i % len(of)]
            self.done[fault] = self.done.get(fault, 0) + 1
            return fault

    def note(self, kind, m):
        with self.lock:
            if kind == "submit":
                n = len(m.pseudonyms) // 32
                each = len(m.sealed) // n
                for i in range(n):
                    who = m.round_id, m.pseudonyms[32 * i:32 * i + 32]
                    self.submitted.setdefault(who, set()).add(m.sealed[each * i:each * (i + 1)])
            elif kind == "segment":
                self.segments[m.round_id, m.bucket, m.offset] = m.sealed

    def deliver_late(self, frame):
        """The frame arrives when its sender has said it again over another connection, or a little before."""
        time.sleep(self.rng.uniform(0.1, 0.4))
        try:
            link = self.dial()
            link.send(hello=pb.Hello(major=1, minor=0, software="proxy.py"))
            link.expect("hello")
            body = frame.SerializeToString()
            link.sock.sendall(struct.pack(">I", len(body)) + body)
            link.receive()
            link.close()
        except (OSError, EOFError, ssl.SSLError):
            pass


def pieces(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]
