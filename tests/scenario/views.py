"""views.py - the same client in worlds that differ in one device's data, and everything that anybody sees of it in each.

A world has the same secret, ledger, descriptor and random numbers (TOMBOLA_TEST_SEED) as the others, so that whatever differs
follows from the data.  `View` is what the shuffler and this host's logs, metrics, commands and files show; `differences` says in
which of it two views differ.  A caller adds rows by another `offer`, sources of readings by another `feed`."""
import json
import os
import re
import resource
import shutil
import time
import urllib.request
from dataclasses import dataclass, field

import cluster as c
from parties import Shuffler
from wire import pb

SEED = "views"
PREPARE = 0.5  # seconds: the client's `prepare`, in which this machine reads and seals with room to spare
MOST_PREPARE = 64 * PREPARE  # and one that others use too
# With a `prepare` below a second reading may go on for ten, from when the round came (cd_times.h).  A machine that takes as long to
# judge the round has read nothing.
READING, AGAIN = 10.0, 5
# What tells the time, or how long something took, and nothing else.
CLOCKS = ("ts", "time_ms", "pid")
TIMED = re.compile(r"_seconds|_timestamp")


class Watcher(Shuffler):
    """A shuffler that keeps what comes: (connection, seconds since the round went out, kind, bytes)."""

    def __init__(self, cluster, offers):
        self.frames, self.dialled, self.offered = [], [], None
        self.served_at, self.waits = {}, {}  # by sequence: when it was handed out, how long after that the first frame came
        self.open = True
        super().__init__(cluster)
        for d, data, signature, records in offers:
            self.know_plans(records)
            self.rounds[d.round_id] = {"d": d, "data": data, "signature": signature, "taken": {}, "sealed": False}
            self.order.append(d.round_id)

    def served(self, after):
        found = super().served(after) if self.open else None
        if found:
            self.served_at.setdefault(pb.Descriptor.FromString(found[0]).sequence, time.monotonic())
        return found

    def _serve(self, raw):
        self.dialled.append((len(self.dialled), time.monotonic()))
        super()._serve(raw)

    def note(self, link, kind, m):
        at = time.monotonic()
        if self.offered is None and kind == "get_round":
            self.offered = at
        self.frames.append((id(link), at - self.offered, kind, m.ByteSize()))

    def on_get_round(self, link, m):
        self.note(link, "get_round", m)
        super().on_get_round(link, m)

    def on_submit(self, link, m):
        self.note(link, "submit", m)
        sequence = self.rounds[m.round_id]["d"].sequence
        self.waits.setdefault(sequence, time.monotonic() - self.served_at[sequence])
        super().on_submit(link, m)


def processor():
    """Seconds of the processor that the children took who have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class View:
    """What is to be the same, and what is compared apart."""

    shuffler: dict = field(default_factory=dict)  # frames by kind and length in order, slots of time, connections
    host: dict = field(default_factory=dict)      # output, exit code, metrics, commands, files
    sealed: dict = field(default_factory=dict)    # pseudonym -> bytes, the changed device's too


def same(one, other, changed=()):
    """The two views differ in nothing but the sealed bytes of the devices that were changed."""
    for name in ("shuffler", "host"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.keys() == b.keys()
        for key in a:
            assert a[key] == b[key], (name, key, a[key], b[key])
    assert list(one.sealed) == list(other.sealed), "who took part, or in which order"
    for pseudonym, sealed in one.sealed.items():
        assert [len(s) for s in sealed] == [len(s) for s in other.sealed[pseudonym]]
        assert pseudonym in changed or sealed == other.sealed[pseudonym], "another device's message"


def spoken(text):
    """Log lines without their clocks, and whatever else was printed."""
    out = []
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            out.append(line)
            continue
        out.append({k: v for k, v in said.items() if k not in CLOCKS} if isinstance(said, dict) else said)
    return out


def unraced(log):
    """What comes before the first round in one order: it is broker or shuffler that answers first."""
    first = next((i for i, said in enumerate(log) if "round" in said), len(log))
    return sorted(log[:first], key=str) + log[first:]


def measured(page):
    """A page of metrics without what is a time: every name and label, and the values that count."""
    return [line if line.startswith("#") or not TIMED.search(line) else line.rsplit(" ", 1)[0]
            for line in page.splitlines()]


def stripped(value):
    """JSON without its clocks."""
    if isinstance(value, dict):
        return {k: stripped(v) for k, v in value.items() if k not in CLOCKS}
    return [stripped(v) for v in value] if isinstance(value, list) else value


class Worlds:
    """One cluster whose client begins each world from the same state."""

    def __init__(self, cluster, offers, connections=1, gather=0.0, prepare=PREPARE, settle=None):
        """offers: descriptor, its bytes, signature and ledger records of each round, good for as long as the worlds last.  With one connection
        the order of frames is theirs, and no matter of which is faster.  gather, prepare: the client's, in seconds; sending begins a
        whole number of `prepare` after `gather`, one if this machine is not late.  Of several rounds only what would be too early
        is looked at.  settle: seconds after the feed in which there is no round yet."""
        self.cluster, self.offers, self.gather, self.prepare, self.settle = cluster, offers, gather, prepare, settle
        self.computed, self.usual = 0.0, None  # seconds of the client's processor: in the last world, in the first
        with open(cluster.path("client.conf"), "a") as f:
            f.write(f"connections = {connections};\nframe_devices = 2;\n")
        self.take(prepare)
        # The secret, and a ledger without a round.
        client = cluster.start("client", "run")
        c.wait_for("the client to look for a shuffler", lambda: '"no connection"' in client.log())
        client.stop()
        shutil.copytree(cluster.path("client"), cluster.path("state"))

    def take(self, prepare):
        """The client's `prepare` from now on, in seconds."""
        self.prepare = prepare
        with open(self.cluster.path("client.conf")) as f:
            text = re.sub(r"^prepare = .*$", f'prepare = "{int(prepare * 1000)}ms";', f.read(), flags=re.M)
        self.cluster.write("client.conf", text)

    def slot(self, seconds):
        """Which of the moments at which sending may begin it was; a quarter of a step is for this host's own delays."""
        return max(0, int((seconds - self.gather) / self.prepare + 0.25))

    def begin(self):
        shutil.rmtree(self.cluster.path("client"))
        shutil.copytree(self.cluster.path("state"), self.cluster.path("client"))
        os.chmod(self.cluster.path("client"), 0o700)
        with open(self.cluster.path("client.log"), "w"):
            pass
        return Watcher(self.cluster, self.offers)

    def of_shuffler(self, watcher, view):
        submits = [i for i, f in enumerate(watcher.frames) if f[2] == "submit"]
        upto = watcher.frames[:submits[-1] + 1] if submits else []
        submits = [watcher.frames[i] for i in submits]
        view.shuffler = {
            # Asking for the next round goes on for as long as this host is up.
            "frames": [(kind, size) for _, _, kind, size in upto],
            "asked": watcher.asked[:len(watcher.asked) - watcher.asked[::-1].index("submit")] if submits else [],
            "connections": len(watcher.dialled),
            # A moment that was fixed before anything was read: what is sealed later waits for the next.
            "slots": [self.slot(at) for _, at, _, _ in submits] if len(self.offers) == 1 and self.settle is None else [],
            "late connections": [self.slot(at - watcher.offered) for _, at in watcher.dialled[1:]],
            "too early": [s for s, wait in watcher.waits.items() if self.slot(wait) < 1],
            "without readings": self.prepare < 1 and max(watcher.waits.values(), default=0) - self.gather >= READING,
            "standings": list(watcher.standings.values()),
        }
        for pseudonyms, sealed in watcher.received:
            each = len(sealed) // (len(pseudonyms) // 32)
            for i in range(len(pseudonyms) // 32):
                # A device has another pseudonym in each round, unless the plan says otherwise.
                view.sealed.setdefault(pseudonyms[32 * i:32 * i + 32], []).append(sealed[each * i:each * (i + 1)])

    def of_files(self, view):
        run = self.cluster.run("client", "check")
        view.host |= {
            "status": stripped(self.cluster.json("client", "status")), "check": (run.returncode, run.stdout, run.stderr),
            "files": {name: os.path.getsize(self.cluster.path("client", name))
                      for name in sorted(os.listdir(self.cluster.path("client"))) if name != "lock"}}  # it holds a process's number

    def in_time(self, look):
        """A world that was a step late is tried again with a longer one, unless it was late because the client computed for longer
        than in the first world: then it is the data that is slow.  One that may have had no time to read is tried again as it is."""
        unread = 0
        while True:
            view = look()
            unread += view.shuffler["without readings"]
            if view.shuffler["without readings"] and unread < AGAIN:
                continue
            self.usual = self.computed if self.usual is None else self.usual
            begun = view.shuffler["slots"] and view.shuffler["slots"] + view.shuffler["late connections"]
            on_time = not begun or max(begun) <= 1
            if on_time or self.computed > self.usual + PREPARE or self.prepare >= MOST_PREPARE:
                return view
            self.take(2 * self.prepare)

    def run(self, feed, mutant=""):
        """The daemon, from before the round to its end.  feed(): gives the readings, when the client is ready for them."""
        return self.in_time(lambda: self.run_once(feed, mutant))

    def send(self, *args, mutant=""):
        """The command, to its end."""
        return self.in_time(lambda: self.send_once(args, mutant))

    def run_once(self, feed, mutant):
        watcher, view = self.begin(), View()
        watcher.open = self.settle is None
        client = self.cluster.start("client", "run", mutant=mutant, env={"TOMBOLA_TEST_SEED": SEED})
        try:
            feed()
            time.sleep(self.settle or 0)
            watcher.open = True
            c.wait_for("the rounds", lambda: client.log().count('"round done"') == len(self.offers) or not client.alive(), 180)
            base = f"http://127.0.0.1:{self.cluster.http['client']}"
            pages = {p: urllib.request.urlopen(f"{base}/{p}", timeout=180).read().decode() for p in ("metrics", "healthz", "readyz")}
            pages["metrics"] = measured(pages["metrics"])
            before = processor()
            view.host = {"pages": pages, "exit": client.kill(15), "log": unraced(spoken(client.log()))}
            self.computed = processor() - before
            self.of_shuffler(watcher, view)
            self.of_files(view)
        finally:
            if client.alive():
                client.kill()
            watcher.close()
        return view

    def send_once(self, args, mutant):
        watcher, view = self.begin(), View()
        try:
            before = processor()
            done = self.cluster.run("client", "send", *args, mutant=mutant, env={"TOMBOLA_TEST_SEED": SEED})
            self.computed = processor() - before
            view.host = {"exit": done.returncode, "stdout": spoken(done.stdout), "stderr": spoken(done.stderr)}
            self.of_shuffler(watcher, view)
            self.of_files(view)
        finally:
            watcher.close()
        return view
