"""houses.py - all three real daemons in worlds that differ in readings alone, and everything that anybody sees of a run of the plan.

A world begins with the same keys, client's state and, where the build has them, random numbers (TOMBOLA_TEST_SEED) as the others.  The analyzer's keys and names of
rounds are drawn anew: they are taken out of what is compared, with clocks and with what counts polls."""
import itertools
import json
import os
import re
import shutil
import struct
import urllib.request
from dataclasses import dataclass, field

import cluster as c
from relay import Relay, carry, end
from views import SEED, measured, spoken, stripped

PARTIES = ("shuffler", "analyzer", "client")
NAMES = re.compile(r"[0-9a-f]{32,}|(?<=127\.0\.0\.1:)\d+")
# What tells the time, and the port that the system gave to a connection.
CLOCKS = re.compile(r"(_ms|^seconds|^from|^port)$")
# How often somebody asked, and what of it was under way when we looked.
POLLS = re.compile(r'frames_|bytes_total|connections|resident_memory|process_|reason="busy"')
SMALL = 150  # bytes of a TLS record: what is asked again and again is smaller


class Tap(Relay):
    """Notes the lengths of the TLS records of each connection, in order, by direction; of those that carry more than a question."""

    def __init__(self, cluster, party):
        self.seen = []
        super().__init__(cluster, party)

    def lengths(self):
        """Of connections over which something came, behind the certificate.  The analyzer announces again while the shuffler
        composes: once is as often."""
        return [(way, [n for n, _ in itertools.groupby(of[1:])] if way == "up" else of[1:]) for way, of in self.seen if of[1:]]

    def up(self, near, far, kept):
        carry(near, self.noting("up", far))
        end(far)

    def down(self, far, near, kept, number):
        carry(far, self.noting("down", near))
        end(near)

    def noting(self, way, to):
        rest, lengths = bytearray(), []
        self.seen.append((way, lengths))

        def take(data):
            rest.extend(data)
            while len(rest) >= 5 and len(rest) >= 5 + struct.unpack(">H", rest[3:5])[0]:
                size = struct.unpack(">H", rest[3:5])[0]
                if rest[0] == 23 and size > SMALL:
                    lengths.append(size)
                del rest[:5 + size]
            to.sendall(data)
        return take


@dataclass
class House:
    """What was seen.  `public` is to be the same; results are compared as functions of batches."""

    public: dict = field(default_factory=dict)
    results: list = field(default_factory=list)


def unnamed(value):
    """Without what the analyzer draws anew: names of rounds, keys, and the hashes over them."""
    if isinstance(value, dict):
        return {k: unnamed(v) for k, v in stripped(value).items() if not CLOCKS.search(k)}
    if isinstance(value, list):
        return [unnamed(v) for v in value]
    return NAMES.sub("#", value) if isinstance(value, str) else value


def page(cluster, party):
    base = f"http://127.0.0.1:{cluster.http[party]}"
    text = urllib.request.urlopen(f"{base}/metrics", timeout=180).read().decode()
    return [line for line in measured(text) if not POLLS.search(line)]


def files(cluster, party):
    """Names and sizes; what SQLite writes aside depends on when it did."""
    out = []
    for at, _, names in os.walk(cluster.path(party)):
        out += [(os.path.relpath(os.path.join(at, n), cluster.path(party)), os.path.getsize(os.path.join(at, n))) for n in names
                if not n.endswith(("-wal", "-shm", "lock"))]
    # A result's length is a function of its batch.
    return sorted((NAMES.sub("#", n), None if n.startswith("results/") else size) for n, size in out)


class Houses:
    """One deployment whose parties begin each world from the same state."""

    def __init__(self, cluster, seconds=600):
        self.cluster, self.seconds = cluster, seconds
        # The secret of the client's devices.
        client = cluster.start("client", "run")
        c.wait_for("the client to look for the shuffler", lambda: '"no connection"' in client.log() or not client.alive())
        client.stop()
        shutil.copytree(cluster.path("client"), cluster.path("state"))
        self.taps = {p: Tap(cluster, p) for p in ("client", "analyzer")}

    def begin(self):
        for party in PARTIES:
            shutil.rmtree(self.cluster.path(party))
            os.mkdir(self.cluster.path(party), 0o700)
            with open(self.cluster.path(f"{party}.log"), "w"):
                pass
        if self.cluster.server:
            self.cluster.server.forget(self.cluster.database)
        shutil.copytree(self.cluster.path("state"), self.cluster.path("client"), dirs_exist_ok=True)
        for tap in self.taps.values():
            tap.seen = []

    def run(self, mutant="", payloads=()):
        """The plan, once, from nothing to its end: by the daemon, or entry by entry, each with the payload in a file."""
        self.begin()
        env, cluster, house = {"TOMBOLA_TEST_SEED": SEED}, self.cluster, House()
        shuffler = cluster.start("shuffler", "run", env=env)
        cluster.wait_listening()
        client = cluster.start("client", "run", mutant=mutant, env=env)
        house.public["exit"], asked = [], [("round", "run", name, "--payload", path) for name, path in payloads]
        for command in asked or [("run", "--once")]:
            analyzer = cluster.start("analyzer", *command, env=env)
            house.public["exit"].append(analyzer.wait(self.seconds))
        rounds = cluster.json("analyzer", "round", "list")["rounds"]
        answered = [r for r in rounds if r["stage"] != "refused"]
        # Without a rule it may have had nobody to speak for.
        c.wait_for("the client's end of the rounds", lambda: mutant or sum(
            client.log().count(m) for m in ('"round done"', '"round refused"')) >= len(answered) or not client.alive())
        pages = {"shuffler": page(cluster, "shuffler"), "client": page(cluster, "client")}
        house.public["exit"] += [client.kill(15), shuffler.kill(15)]
        export = cluster.run("analyzer", "ledger", "export")
        house.public |= {
            "rounds": unnamed(rounds), "pages": pages, "client": unnamed(cluster.json("client", "status")),
            "ledger": [unnamed(json.loads(line)) for line in export.stdout.splitlines()],
            "logs": {"shuffler": unnamed(spoken(shuffler.log())), "client": unnamed(spoken(client.log())),
                     # What a command prints is the answer itself.
                     "analyzer": [unnamed(line) for line in spoken(analyzer.log()) if not asked or isinstance(line, dict)]},
            "files": {p: files(cluster, p) for p in PARTIES},
            "frames": {p: tap.lengths() for p, tap in self.taps.items()}}
        house.results = [cluster.json("analyzer", "round", "show", str(i + 1)).get("result") for i in range(len(rounds))]
        return house


def alike(one, other):
    assert one.public.keys() == other.public.keys()
    for key in one.public:
        assert one.public[key] == other.public[key], (key, differences(one.public[key], other.public[key]))


def differences(a, b, at=""):
    """Where two structures differ, for who reads a failure."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [d for k in a for d in differences(a[k], b[k], f"{at}.{k}")]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, f"{at}[{i}]")]
    if isinstance(a, list) and isinstance(b, list):
        i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        return [(f"{at}[{i}]", a[i:i + 3], b[i:i + 3])]
    return [] if a == b else [(at, a, b)]
