"""faults.py - rounds through the real daemons, one of which is hit at one chosen change of its storage.

A daemon is killed there, or the call fails, or the power goes; then it is started again without a fault, and whatever
was hit, the round must end as it should: Round.check says what that is.  tests/faults/storage.c does the hitting.
"""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import power
from cluster import BUILD, Cluster, program, wait_for

SHIM = os.path.join(BUILD, "tests", "libfault_storage.so")
DAEMONS = ("shuffler", "client", "analyzer")
# kill: dies instead of the call.  together: so do one or both of the others, and they come back in any order.  torn: dies
# after half of a write.  cut: dies, and what was not synced is lost.  mixed: of what was not synced a random choice is
# lost.  eio: the call fails once.  enospc: the disk is full from then on.
DEATHS = ("kill", "together", "torn", "cut", "mixed")
ERRORS = ("eio", "enospc")
KINDS = DEATHS + ERRORS
GROWS = ("create", "write", "pwrite", "mkdir", "link")
SAID = {"eio": ("Input/output error", "disk I/O error", "unable to open database file"),
        "enospc": ("No space left on device", "database or disk is full", "disk I/O error", "unable to open database file")}
N = 6


class Late(Exception):
    """The round's window was over before its devices had taken part: this machine is busy."""


class Round:
    """One round of N devices, its plan written into a cluster."""

    stage, records = "settled", ["reserve", "charge", "settle"]
    monitored = False  # whether the daemons' metrics are asked for

    def prepare(self, cluster):
        cluster.two_colours(N)

    def around(self):
        """What goes on while the round is played."""
        return contextlib.nullcontext()

    def in_time(self, cluster):
        """Raises Late, having given the next try of the round longer."""

    def messages(self):
        return N

    def check(self, cluster, client_status):
        shown = cluster.json("analyzer", "round", "show", "1")
        assert shown["stage"] == self.stage, shown
        if self.stage == "settled":
            result = shown["result"]
            # Minimum and target are all devices: a report lost or doubled shows here.
            assert result["participants"] == result["reports"] == N, result
            assert result["messages"] == result["opened"] == self.messages(), result
            assert result["bad"] == result["duplicates"] == 0, result
        results = cluster.path("analyzer", "results")
        assert sorted(os.listdir(results) if os.path.isdir(results) else []) \
            == (["round-0001.json"] if self.stage == "settled" else [])
        budget = cluster.json("analyzer", "budget")
        assert budget["rounds"]["accepted"] == (self.stage == "settled"), budget
        assert budget["population_budget"]["pinned"] == budget["slice_epsilon"], "a slice is spent whole"
        charged = [x for x in client_status["ledger"] if x["kind"] == "charged"]
        assert len(charged) == 1 and charged[0]["epsilon_round"] > 0, client_status


class Blanket(Round):
    """With messages that the shuffler adds."""

    added = 40

    def prepare(self, cluster):
        super().prepare(cluster)
        accept(cluster)
        cluster.plan([{"query": "colour", "type": "histogram", "protocol": "bins", "field": "colour",
                       "epsilon0": "inf", "blanket": "shuffler", "shuffler_dummies": self.added, "min_reports": N,
                       "target": N, "values": ["c0", "c1"], "window": "1h"}], epsilon=50.0)

    def messages(self):
        return N + self.added


class Tags(Round):
    """With routing tags, each made up or cut down to the same number of messages."""

    padded, dimension = 5, 6

    def prepare(self, cluster):
        super().prepare(cluster)
        accept(cluster)
        shutil.copy(cluster.path("readings.csv"), cluster.path("colours.csv"))
        cluster.write("readings.ndjson", "".join(
            json.dumps({"device": f"d{i}", "x": [((i + c) % 7) / 6 for c in range(self.dimension)]}) + "\n"
            for i in range(N)))
        with open(cluster.path("client.conf")) as f:
            text = f.read()
        cluster.write("client.conf", text.replace("readings.csv", "readings.ndjson"))
        cluster.plan([{"query": "v", "type": "vector", "protocol": "ss-double", "field": "x",
                       "dimension": self.dimension, "range": [0.0, 1.0], "epsilon0": 4.0, "slots": 2,
                       "padded": self.padded, "min_reports": N, "target": N, "window": "1h"}], epsilon=50.0)

    def messages(self):
        return self.padded * self.dimension


class Void(Round):
    """One device too few: at the deadline the round is void, and its entry has no other try."""

    stage, records = "void", ["reserve", "void"]
    window, longest = 2, 64  # seconds: what an idle machine needs with room to spare, and one that others use

    def prepare(self, cluster):
        cluster.two_colours(N, window=f"{self.window}s")
        with open(cluster.path("plan.conf")) as f:
            text = f.read()
        cluster.write("plan.conf", "tries = 1;\n" + text)
        with open(cluster.path("readings.csv"), "w") as f:
            f.write("device,colour\n" + "".join(f"d{i},c{i % 2}\n" for i in range(N - 1)))

    def in_time(self, cluster):
        with open(cluster.path("shuffler.log")) as f:
            took_part = re.findall(r'"round void.*"participants":(\d+)', f.read())
        if took_part and int(took_part[-1]) < N - 1 and self.window < self.longest:
            self.window *= 2
            with open(cluster.path("plan.conf")) as f:
                text = re.sub(r'window = "\d+s"', f'window = "{self.window}s"', f.read())
            cluster.write("plan.conf", text)
            raise Late


ROUNDS = {"plain": Round, "blanket": Blanket, "tags": Tags, "void": Void}


def accept(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf", devices=N, client_policy="""population = "test";
max_epsilon = 50.0;
delta = 1e-4;
min_batch = 2;
max_epsilon0 = "inf";
honest_fraction = 1.0;
colluders = 0;
accept_shuffler_dummies = true;
""")


def submissions(folder):
    """pseudonym -> sealed bytes in a dead client's database."""
    copy = folder + ".copy"
    shutil.rmtree(copy, ignore_errors=True)
    os.mkdir(copy)
    for name in ("client.db", "client.db-wal"):
        if os.path.exists(os.path.join(folder, name)):
            shutil.copy(os.path.join(folder, name), copy)
    db = sqlite3.connect(os.path.join(copy, "client.db"))
    try:
        rows = list(db.execute("SELECT length(outcomes), pseudonyms, sealed FROM reports"))
    except sqlite3.OperationalError:
        return {}  # killed before it had made the table
    finally:
        db.close()
    return {names[32 * i:32 * i + 32]: sealed[len(sealed) // n * i:len(sealed) // n * (i + 1)]
            for n, names, sealed in rows for i in range(n)}


class Stage:
    """A cluster that plays a round again and again, from empty state directories."""

    rounds = ROUNDS

    def __init__(self, folder, kind):
        os.makedirs(folder)
        self.cluster, self.round = Cluster(folder), self.rounds[kind]()
        self.round.prepare(self.cluster)
        self.cluster.relayed()
        self.files = None  # how many of the calls change files; those after them are messages to the database
        if self.round.monitored:
            return
        # A thousand rounds on the same ports: the fewer, the less often somebody else has one of them.
        for party in DAEMONS:
            path = self.cluster.path(f"{party}.conf")
            with open(path) as f:
                text = f.read()
            with open(path, "w") as f:
                f.write(re.sub('http = "[^"]*"', 'http = ""', text))

    def fault(self, party, kind, at):
        c = self.cluster
        if self.files is not None and at > self.files:
            self.by_message(at - self.files, kind)
            at = 0
        env = {"LD_PRELOAD": SHIM, "TOMBOLA_FAULT_DIR": os.path.realpath(c.path(party)),
               "TOMBOLA_FAULT_LOG": c.path("calls"), "TOMBOLA_FAULT_AT": str(at),
               "TOMBOLA_FAULT_KIND": {"cut": "kill", "mixed": "kill", "together": "kill"}.get(kind, kind),
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        if kind in ("cut", "mixed"):
            power.begin(c.path(party), c.path("shadow"))
            env["TOMBOLA_FAULT_SHADOW"] = c.path("shadow")
        return env

    def by_message(self, number, kind):
        """The shuffler dies by a message to its database."""
        def kill():
            wait_for("the shuffler to be known", lambda: "shuffler" in self.daemon)
            self.daemon["shuffler"].process.kill()
        self.cluster.relay.kill_at(kill, messages=number, torn=kind == "torn")

    def calls(self):
        path = self.cluster.path("calls")
        if not os.path.exists(path):
            return []
        with open(path) as f:
            return [line.split(" ", 1)[0] for line in f]

    def clean(self):
        c = self.cluster
        c.close()
        c.daemons.clear()
        if c.server:
            c.server.forget(c.database)
            c.relay.reset()
        for name in DAEMONS + ("shadow", "client.copy"):
            shutil.rmtree(c.path(name), ignore_errors=True)
        for name in ["calls"] + [f"{d}.log" for d in DAEMONS]:
            if os.path.exists(c.path(name)):
                os.unlink(c.path(name))
        for name in DAEMONS:
            os.mkdir(c.path(name), 0o700)

    def start(self, party, env):
        return self.cluster.start(party, *(("run", "--once") if party == "analyzer" else ("run",)), env=env)

    # -- a round with one fault --------------------------------------------------------------------------------

    def play(self, victim, kind, at):
        """True when the fault was met; AssertionError, with the logs, when something is not as it must be."""
        while True:
            with contextlib.suppress(Late):
                return self.play_once(victim, kind, at)

    def play_once(self, victim, kind, at):
        self.clean()
        self.victim, self.kind, self.at, self.hit, self.sealed = victim, kind, at, False, {}
        try:
            with self.round.around():
                self.run()
        except AssertionError as e:
            logs = "".join(f"-- {d.log_path}\n{d.log()[-2500:]}" for d in self.cluster.daemons)
            raise AssertionError(f"{type(self.round).__name__}, {victim}, {kind} at call {at} "
                                 f"({self.where()}): {e}\n{logs}") from e
        finally:
            self.cluster.close()
        return self.hit

    def where(self):
        """The last call, which is the one that was hit if the daemon died of it."""
        return " ".join(self.calls()[-1:])

    def met(self):
        if self.files is not None and self.at > self.files:
            return self.cluster.relay.strikes is None
        return 0 < self.at <= len(self.calls())

    def whole(self, victim):
        """The calls of a round without a fault."""
        self.files = None
        self.play(victim, "kill", 0)
        calls = self.calls()
        if self.cluster.relay and victim == "shuffler":
            self.files = len(calls)
            # Another time the last of them may not come: how many depends on how reports come together.
            calls += ["message"] * (self.cluster.relay.messages * 3 // 4)
        return calls

    def run(self):
        self.daemon = {}
        env = self.fault(self.victim, self.kind, self.at)
        for party in DAEMONS:
            self.daemon[party] = self.start(party, env if party == self.victim else {})
            if party == "shuffler":
                self.mended(lambda: listening(self.cluster.port), "the shuffler to listen")
        self.mended(lambda: self.ended("analyzer"), "the analyzer to end")
        self.round.in_time(self.cluster)
        self.mended(lambda: self.client_status(), "the client to be through")
        for party in ("client", "shuffler"):
            self.stop(party)
        self.invariants(self.status)

    def ended(self, party):
        d = self.daemon[party]
        return not d.alive() and d.process.returncode == 0

    def client_status(self):
        run = self.cluster.run("client", "status", "--json")
        if run.returncode != 0 or not self.daemon["client"].alive():
            return False
        self.status = json.loads(run.stdout)
        over = [x["kind"] for x in self.status["ledger"] if x["kind"] in ("over", "void")]
        return self.status["stored"] == 0 and bool(over)

    def mended(self, condition, what):
        """Wait for the condition, starting the victim again when it falls."""
        def step():
            if not self.hit and self.victim in self.daemon and not self.daemon[self.victim].alive() and \
                    self.daemon[self.victim].process.returncode != 0:
                self.mend()
            return condition()
        wait_for(what, step)

    def mend(self):
        d = self.daemon[self.victim]
        self.hit = True
        self.fell(d, d.process.returncode)
        if self.kind in ("cut", "mixed"):
            self.lose_power(random.Random(f"{self.victim} {self.at}") if self.kind == "mixed" else None)
        fallen = [self.victim] + self.others()
        for party in fallen[1:]:
            self.daemon[party].kill()
        if "client" in fallen:
            self.sealed = submissions(self.cluster.path("client"))
        if "analyzer" in fallen:
            self.opened_implies_charged()
        random.Random(f"{self.victim} {self.at}").shuffle(fallen)
        self.again(*fallen)
        if "client" in fallen and self.kind not in ("cut", "mixed"):
            # What may have left is what will be sent again.  (Of a cut, the shuffler's word on conflicts says it.)
            again = submissions(self.cluster.path("client"))
            same = [name for name in again if name in self.sealed]
            assert all(again[name] == self.sealed[name] for name in same), "sealed bytes changed"

    def lose_power(self, rng=None):
        power.cut(self.cluster.path(self.victim), self.cluster.path("shadow"), rng)

    def others(self):
        """Who dies with the victim: by turns one, the other, both; of those that run."""
        if self.kind != "together":
            return []
        running = [p for p in DAEMONS if p != self.victim and p in self.daemon and self.daemon[p].alive()]
        return running if self.at % 3 == 0 else running[self.at % 3 - 1:][:1]

    def again(self, *parties):
        """Start them without a fault, and wait until a SIGTERM would be an orderly end; the first of them."""
        word = {"client": '"connected"', "shuffler": '"shuffler ready"', "analyzer": '"analyzer started"'}
        before = {p: self.daemon[p].log().count(word[p]) for p in parties}
        for p in parties:
            self.daemon[p] = self.start(p, {})
        for p in parties:
            d = self.daemon[p]
            wait_for(f"the {p} to be back", lambda: d.log().count(word[p]) > before[p] or not d.alive(), 20)
        return self.daemon[parties[0]]

    def fell(self, d, code):
        if self.kind in DEATHS:
            assert code == -signal.SIGKILL, f"ended with {code} by itself"
            return
        assert code in (73, 74), f"exit code {code}"
        said = [line for line in d.log().splitlines() if any(s in line for s in SAID[self.kind])]
        assert len(said) == 1, f"no one clear line: {said}"
        assert said[0].startswith(f"tombola-{self.victim}: ") or '"level":"error"' in said[0], said
        assert self.cluster.path(self.victim) in said[0], said

    def opened_implies_charged(self):
        run = self.cluster.run("analyzer", "ledger", "export")
        folder = self.cluster.path("analyzer", "results")
        kinds = [json.loads(x)["kind"] for x in run.stdout.splitlines()] if run.returncode == 0 else []
        results = os.listdir(folder) if os.path.isdir(folder) else []
        assert not results or "charge" in kinds, (results, kinds, run.stderr)
        if '"round released against its charge"' in self.daemon["shuffler"].log():
            assert "charge" in kinds, (kinds, run.stderr)

    def stop(self, party):
        d = self.daemon[party]
        code = d.kill(signal.SIGTERM) if d.alive() else d.process.returncode
        if party == self.victim and not self.hit and code != 0:
            self.hit = True
            self.fell(d, code)
            if self.kind in ("cut", "mixed"):
                self.lose_power()
            code = self.again(party).kill(signal.SIGTERM)
        assert code == 0, f"the {party} stopped with {code}"

    # -- what must hold ----------------------------------------------------------------------------------------

    def invariants(self, client_status):
        c = self.cluster
        self.hit = self.hit or self.met()
        verify = c.run("analyzer", "ledger", "verify")
        assert verify.returncode == 0, verify.stderr
        export = c.run("analyzer", "ledger", "export").stdout
        kinds = [json.loads(x)["kind"] for x in export.splitlines()]
        assert kinds[:2] == ["open", "plan"], kinds
        assert [k for k in kinds[2:] if k != "entry"] == self.round.records, kinds
        # The plan is pinned once, and whose reports were accepted stands at the last of its rounds.
        assert c.asked("SELECT state AS n FROM pin") == [1]
        assert c.asked("SELECT DISTINCT sequence AS n FROM standing") == c.asked("SELECT max(sequence) AS n FROM round")
        audit = subprocess.run([program("tombola-accountant"), "audit", "-"], input=export, capture_output=True,
                               text=True)
        assert audit.returncode == 0, audit
        for party in ("shuffler", "analyzer"):
            assert os.listdir(c.path(party, "keys")) == [], f"keys of the {party} are left"
        assert c.stored() == 0, "messages are left"
        log = self.daemon["client"].log()
        assert '"conflicts"' not in log, "the client sent other bytes when it tried again"
        self.round.check(c, client_status)


def listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def places(calls, kind):
    """The numbers, from 1, of the calls that a fault of this kind can hit."""
    hits = {"enospc": GROWS, "torn": ("write", "pwrite", "message")}.get(kind)
    return [k for k, call in enumerate(calls, 1) if (call in hits if hits else call != "message" or kind in ("kill", "together"))]


def each(stage, victim, kind, every=1):
    """Play a round for each call of a whole one, or every so-manieth: (calls, met, seconds, failures)."""
    began = time.monotonic()
    at = places(stage.whole(victim), kind)
    met, failures = 0, []
    for k in at[::every]:
        try:
            met += stage.play(victim, kind, k)
        except AssertionError as e:
            failures.append(str(e))
    return len(at), met, time.monotonic() - began, failures
