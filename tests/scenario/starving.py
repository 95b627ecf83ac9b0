"""starving.py - rounds through the real daemons, one of which is refused memory at one chosen moment.

tests/faults/memory.c refuses one of its allocations, or some in a row, in whichever library.  The daemon may go on, drop
a connection, or end and say that there was no memory; then it is started again, and the round must end as it should
(faults.Stage says what that is).
"""
import array
import contextlib
import functools
import os
import re
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request

import faults
from broker import Broker
from cluster import BUILD
from test_mqtt import reading, use_mqtt

SHIM = os.path.join(BUILD, "tests", "libfault_memory.so")
KINDS = {"once": 1, "short": 40, "long": 300}  # how many allocations in a row are refused
INTERNAL = 70
# Libraries that end the process when they have no memory, and why that is suffered: the daemon is started again.
ALLOWED = {"libconfig": "uses what malloc gave it unseen, or calls exit(2), at the start or when the analyzer's page is read",
           "libfftw3": "aborts: it has no other way to say it",
           "libuv": "aborts where it cannot tell its caller, as for a queue of watched descriptors"}


class Watched(faults.Round):
    """With readings from a broker, and a monitor that asks all daemons again and again."""

    monitored = True

    def prepare(self, cluster):
        cluster.two_colours(faults.N, window="8s")
        # Readings that a starved client drops, or that came too late, are lost: the deadline ends the round without them.
        cluster.configure(min_batch=2, devices=faults.N)
        with open(cluster.path("plan.conf")) as f:
            text = f.read()
        cluster.write("plan.conf", text.replace(f"min_reports = {faults.N}", "min_reports = 2"))
        self.cluster = cluster
        self.broker = Broker(cluster, start=False)
        use_mqtt(cluster, self.broker, names=[f"d{i}" for i in range(faults.N)], retained="true", gather='"300ms"')

    def check(self, cluster, client_status):
        """Each report that was acknowledged counts once."""
        logs = {p: open(cluster.path(f"{p}.log")).read() for p in ("client", "shuffler")}
        accepted = max((int(n) for n in re.findall(r'"round done".*"accepted":(\d+)', logs["client"])), default=0)
        sealed = int(re.findall(r'"round sealed".*"participants":(\d+)', logs["shuffler"])[0])
        result = cluster.json("analyzer", "round", "show", "1")["result"]
        assert max(2, accepted) <= sealed <= faults.N, (accepted, sealed)
        assert {result[key] for key in ("participants", "reports", "messages", "opened")} == {sealed}, (sealed, result)
        assert result["bad"] == result["duplicates"] == 0, result
        assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] > 0

    @contextlib.contextmanager
    def around(self):
        over = threading.Event()
        self.broker.start()
        workers = [threading.Thread(target=f, args=(over,)) for f in (self.publish, self.monitor)]
        for w in workers:
            w.start()
        try:
            yield
        finally:
            over.set()
            for w in workers:
                w.join()

    def publish(self, over):
        """A reading that a starved client has dropped is published again."""
        while not over.is_set():
            self.broker.publish(*(reading(f"d{i}", f"c{i % 2}") for i in range(faults.N)), retain=True)
            over.wait(0.5)

    def monitor(self, over):
        while not over.is_set():
            for party in faults.DAEMONS:
                for path in ("/metrics", "/healthz", "/status"):
                    with contextlib.suppress(OSError, urllib.error.URLError):
                        urllib.request.urlopen(f"http://127.0.0.1:{self.cluster.http[party]}{path}", timeout=2).read()
            over.wait(0.05)


ROUNDS = {**faults.ROUNDS, "watched": Watched}


class Stage(faults.Stage):
    """The same round again and again; what is counted is allocations of the victim."""

    rounds = ROUNDS

    def fault(self, party, kind, at):
        c = self.cluster
        env = {"LD_PRELOAD": SHIM, "TOMBOLA_MEMORY": c.path("calls"), "TOMBOLA_MEMORY_AT": str(at),
               "TOMBOLA_MEMORY_FOR": str(KINDS[kind]), "TOMBOLA_MEMORY_LOG": c.path("refused")}
        if at == 0:
            env["TOMBOLA_MEMORY_STACKS"] = c.path("stacks")
        return env

    def clean(self):
        super().clean()
        for name in ("refused", "stacks"):
            if os.path.exists(self.cluster.path(name)):
                os.unlink(self.cluster.path(name))

    def whole(self, victim):
        """The number of each allocation's stack."""
        self.play(victim, "once", 0)
        stacks = array.array("I")
        with open(self.cluster.path("stacks"), "rb") as f:
            stacks.frombytes(f.read())
        return stacks

    def met(self):
        with open(self.cluster.path("calls"), "rb") as f:
            return struct.unpack("<qq", f.read())[1] > 0

    def refused(self):
        """The stacks, by function, of the first refusals and of the signal that ended the victim, if one did."""
        path, out = self.cluster.path("refused"), []
        if not os.path.exists(path):
            return out
        with open(path) as f:
            for line in f:
                frame = re.match(r"(\S+?)\((\w*)\+(0x[0-9a-f]+)\)", line)
                if frame is None:
                    out.append([line.strip()])
                elif frame[1] != SHIM:
                    out[-1].append(function(*frame.groups()))
        return out

    def where(self):
        return "\n".join("  " + " < ".join(stack[:14]) for stack in self.refused())

    def fell(self, d, code):
        stacks = self.refused()
        if code == INTERNAL:
            said = [line for line in d.log().splitlines()
                    if line.startswith("tombola") or '"level":"error"' in line or "memory" in line]
            assert said, "no line says why"
            return
        guilty = {culprit(stack) for stack in stacks[:1] + [s for s in stacks if s[0].startswith("signal")]}
        assert guilty & set(ALLOWED), f"ended with {code}: {guilty}"


def culprit(stack):
    """The library of a stack that is nearest to the end, the C library aside."""
    modules = [frame.split(":")[0] for frame in stack[1:]]
    return next((m for m in modules if m not in ("libc", "libfault_memory")), "")


@functools.lru_cache(None)
def function(module, name, offset):
    """What is at this offset of a module, by its table of symbols."""
    if not name:
        run = subprocess.run(["addr2line", "-f", "-e", module, offset], capture_output=True, text=True)
        name = run.stdout.split("\n")[0].strip("?")
    return f"{os.path.basename(module).split('.so')[0]}:{name or offset}"


def places(stacks, n, rng):
    """n numbers of calls, from 1, in order: first calls of a stack.  libcrypto makes nine of ten, each of which ends the
    process (cr_libcrypto.h): a quarter is its."""
    first = {}
    for k, stack in enumerate(stacks, 1):
        first.setdefault(stack, k)
    its = [k for stack, k in first.items() if stack >> 31]
    others = [k for stack, k in first.items() if not stack >> 31]
    chosen = rng.sample(others, min(n - n // 4, len(others)))
    return sorted(chosen + rng.sample(its, min(n - len(chosen), len(its))))


def each(stage, victim, kind, n, rng, at=None):
    """Play a round for n of the allocations of a whole one: (allocations, met, seconds, failures)."""
    began = time.monotonic()
    stacks = stage.whole(victim)
    met, failures = 0, []
    for k in at or places(stacks, n, rng):
        try:
            met += stage.play(victim, kind, k)
        except AssertionError as e:
            failures.append(str(e))
    return len(stacks), met, time.monotonic() - began, failures
