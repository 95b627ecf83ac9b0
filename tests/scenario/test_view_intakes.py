"""What an intake, its head and their database see of a round does not depend on a value: worlds whose devices hold other values, and one
with a device less, which must show."""
import os
import re
import socket
import threading
import urllib.request

import pytest

import cluster as c
import wire
from spread import Spread
from test_intakes import Gateway, one_plan
from views import TIMED, spoken
from wire import pb

pytestmark = pytest.mark.heavy
EACH = 20
# What a number of the database's own decides, or where somebody listens, or a random key.
BLANK = {"epoch": 0, "key_hash": b"", "receipts": None, "signatures": None, "keys": None, "descriptor": None}
# A ping goes out when nothing else was said for a while, so the head's frames are compared by the tap.  Links are made anew by pauses.
UNSTEADY = re.compile(r"frames_|_bytes|cpu_|tombola_connections|_peers|tombola_ready")


class Tap:
    """Between the first intake and its head: every frame of either, and its length.  It has the keys of both ends."""

    def __init__(self, cluster):
        self.cluster, self.said, self.lock = cluster, [], threading.Lock()
        self.server, self.client = cluster.tls("shuffler", server=True), cluster.tls("intake0")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(raw,), daemon=True).start()

    def one(self, raw):
        try:
            near = wire.Link(self.server.wrap_socket(raw, server_side=True), hello=False)
            raw = socket.create_connection(("127.0.0.1", self.cluster.port), 60)
            far = wire.Link(self.client.wrap_socket(raw, server_hostname="localhost"), hello=False)
        except OSError:  # SSLError too
            return
        far.sock.settimeout(None)
        near.sock.settimeout(None)
        threading.Thread(target=self.way, args=(far, near, "head"), daemon=True).start()
        self.way(near, far, "intake")

    def way(self, source, sink, who):
        try:
            while True:
                frame = source.receive()
                kind = frame.WhichOneof("kind")
                m = getattr(frame, kind)
                # A ping, and its answer.
                if not (kind in ("intake_batch", "intake_signed") and m.epoch == 0):
                    with self.lock:
                        self.said.append((who, kind, self.content(m)))
                sink.send(**{kind: m})
        except (EOFError, OSError, ValueError, AttributeError):
            for link in (source, sink):
                link.sock.close()

    @staticmethod
    def content(m):
        """Each field, or its length where it is random."""
        fields = {f.name: v for f, v in m.ListFields()}
        return {k: (len(v) if BLANK[k] is None else BLANK[k]) if k in BLANK else v for k, v in fields.items()}, m.ByteSize()


def counters(port):
    """Each number that is no time, by name and label."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as r:
        lines = [line.rsplit(" ", 1) for line in r.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if not TIMED.search(name) and not UNSTEADY.search(name)}


def grown(before, after):
    return {k: v - before.get(k, 0) for k, v in after.items() if "epoch" not in k}


def logged(daemon, before):
    return [{k: v for k, v in said.items() if k not in ("peer", "epoch", "seconds")} if isinstance(said, dict) else said
            for said in spoken(daemon.log()[before:])]


class World:
    """A cluster of its own; what everybody sees of submissions whose devices hold these values."""

    def __init__(self, folder):
        self.cluster = c.Cluster(folder)
        one_plan(self.cluster, 200)
        self.spread = Spread(self.cluster, intakes=1, limits='{ commit_wait = "10s"; commit_messages = %d; }' % EACH)
        self.tap = Tap(self.cluster)
        self.spread.configure(0, head=self.tap.port)
        self.head = self.spread.head()
        self.spread.start()
        self.cluster.start("analyzer", "run")
        self.gateway = Gateway(self.cluster, self.spread.ports[0])
        self.d, self.data = self.gateway.round()
        # How often it has to come until the intake has claimed its certificate is chance.
        self.gateway.until_accepted(self.spread.ports[0], self.d, self.data, 0, EACH)
        c.wait_for("the head to have heard of it", lambda: any(kind == "intake_stored" for _, kind, _ in self.tap.said))

    def sealed(self, value):
        return self.gateway.seal(self.d, self.data, value)

    def submit(self, first, values, end=None):
        pairs = [(wire.sha256(b"world", str(first + i).encode()), self.sealed(v)[:end]) for i, v in enumerate(values)]
        try:
            return self.gateway.submit(self.d, pairs)
        except wire.Refused as e:
            return e.code, e.text

    def database(self):
        """Every row of the round's tables: its numbers, and how long its body is."""
        server, name, seen = self.spread.server, self.spread.database, {}
        tables = server.ask("SELECT relname FROM pg_class WHERE relname ~ '^(block|tags)_' AND relkind = 'r' ORDER BY 1", name)
        for table in [t["relname"] for t in tables]:
            kind = table.split("_")[0]
            columns = "bucket" if kind == "block" else "runs, devices"  # ids are random
            seen[kind] = server.ask(f"SELECT {columns}, length(body) n FROM tombola.{table} ORDER BY {columns}, n", name)
        return seen

    def view(self, worlds):
        intake, head = self.spread.daemons[0], self.head
        ports = {"intake": self.spread.http[0], "head": self.cluster.http["shuffler"]}
        before = {who: counters(port) for who, port in ports.items()}
        lengths = {d: len(d.log()) for d in (intake, head)}
        said = len(self.tap.said)
        answers = []
        for values in worlds:
            answers.append(self.submit(1000 + EACH * len(answers), values))
        # The same devices again, and one that does not fit: what is refused or not depends on nobody's value, either.
        answers.append(self.submit(1000, worlds[0]))
        answers.append(self.submit(5000, worlds[0], end=-1))
        c.wait_for("the head to hear of all", lambda: sum(k == "intake_stored" for _, k, _ in self.tap.said[said:]) == len(worlds))
        view = {"answers": answers, "frames": self.tap.said[said:], "database": self.database(),
                "status": {k: v for k, v in self.spread.status(0).items() if k != "epoch"}}
        view |= {f"metrics of the {who}": grown(before[who], counters(port)) for who, port in ports.items()}
        view |= {"log of the intake": logged(intake, lengths[intake]), "log of the head": logged(head, lengths[head])}
        return view


def test_nobody_who_handles_reports_sees_a_value(tmp_path):
    """Two worlds of other values; and one with a device less in one submission, which differs wherever something is counted."""
    values = {"one": [[0] * EACH, [1] * EACH], "other": [[i % 2 for i in range(EACH)], [3] * EACH], "fewer": [[0] * EACH, [1] * (EACH - 1)]}
    views = {}
    for name, of in values.items():
        os.mkdir(tmp_path / name)
        world = World(tmp_path / name)
        try:
            views[name] = world.view(of)
        finally:
            world.cluster.close()
    one, other, fewer = views["one"], views["other"], views["fewer"]
    for part, seen in one.items():
        assert seen == other[part], (part, seen, other[part])
    assert [a for a in one["answers"][0]] == [pb.OUTCOME_ACCEPTED] * EACH and one["frames"], one
    for part in ("answers", "frames", "database", "metrics of the intake"):
        assert one[part] != fewer[part], part
