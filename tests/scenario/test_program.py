"""compute = "program": a program of the client's host computes each device's value, in a cell.

Every device's reading is 1, and the program (tests/programs/misbehaves.c) answers 1; it answers -1 where it succeeds in what its
payload tells it to try.  At epsilon0 16 an answer is turned once in 10^7 times, and a device that is NONE answers 1 or -1 at random:
N devices of which all but two say 1 are so by chance in one round of 10^10."""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess

import pytest

import cluster as c
import wire
from broker import metrics
from cluster import EXIT, wait_for
from test_payload import Withheld, harvest

# A sanitized spawner takes seconds to start so many processes, and whoever is late has no answer.
optimised = pytest.mark.heavy
N = 48
SECONDS = 6.0  # of a device; all are computed at once, beside whatever else this machine does
MISBEHAVES = os.path.join(c.BUILD, "tests", "misbehaves")
SLACK = 2
NONE_LEAST = 2  # of N that say 1 or -1 at random fewer than these, or N - SLACK and more, say 1 once in 10^10
NO_ANSWER = ("hang", "spin", "late", "exit", "crash", "short", "long", "fails", "nan", "infinite")


def digest(path=MISBEHAVES):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def entry(repeat=1, program=None, seconds=SECONDS, payload_max=100, dimension=2, **keys):
    return {"query": "step", "type": "vector", "protocol": "words", "dimension": dimension, "range": [-1.0, 1.0], "epsilon0": 16.0,
            "slots": 1, "size": 2, "min_reports": N, "target": N, "window": "1h", "repeat": repeat, "payload": "later",
            "payload_max": payload_max, "compute": {"map": "program", "columns": ["v", "z", "w"], "seconds": seconds,
                                                    "program": "sha256:" + (program or digest())}, **keys}


# What a host may lack, by the names that an owner accepts.
LACKS = ["namespaces", "user", "landlock", "one-program", "access-times", "root"]


def allow(cluster, programs=((MISBEHAVES, None),), isolate=True, at_once=N, isolation="weak", fetch="300ms", more="", accept=None):
    """Programs that the client's owner agreed to.  A machine that runs tests may isolate less: what is tested then is what it gives
    (isolation "weak"; with "full" a client starts only where it gives all)."""
    if accept is None:
        accept = ["machine"] + ["process"] * (not isolate) + LACKS * (isolation == "weak")
    listed = ", ".join(f'{{ file = "{path}"; sha256 = "{want or digest(path)}"; }}' for path, want in programs)
    with open(cluster.path("client.conf"), "a") as f:
        f.write(f'fetch = "{fetch}";\nprograms = {{ allow = ( {listed} ); isolate = {json.dumps(isolate)}; accept_without = {json.dumps(accept)}; '
                f"at_once = {at_once}; {more} }};\n")


class Rounds:
    def __init__(self, cluster, entries, what=lambda i: 100):
        self.cluster = cluster
        cluster.configure(min_batch=N, epsilon=1000.0, max_epsilon0="inf", devices=N)
        with open(cluster.path("readings.csv"), "w") as f:
            f.write("device,v,z,w\n" + "".join(f"d{i},1,0,{what(i)}\n" for i in range(N)))
        cluster.plan(entries, epsilon=99.0)

    def start(self, **keys):
        self.shuffler = self.cluster.start("shuffler", "run")
        self.cluster.wait_listening()
        self.client = self.cluster.start("client", "run", **keys)
        return self

    def run(self, n, payload):
        with open(self.cluster.path("payload"), "wb") as f:
            f.write(payload.encode() if isinstance(payload, str) else payload)
        return self.cluster.run("analyzer", "round", "run", f"step#{n}" if n else "step", "--payload", self.cluster.path("payload"))

    def ones(self, n, payload):
        """How many devices said 1."""
        done = self.run(n, payload)
        assert done.returncode == 0, done.stdout + done.stderr
        result = self.cluster.json("analyzer", "round", "show", f"step#{n}" if n else "step")["result"]
        assert result["participants"] == N and result["bad"] == 0, result
        return result["counts"][0]


@optimised
def test_a_program_answers_for_each_device_and_can_do_nothing_else(cluster):
    """It computes; what answers badly, late or never is NONE; nothing forbidden succeeds; a process knows one device."""
    r = Rounds(cluster, [entry(4)], what=lambda i: i % len(NO_ANSWER))
    allow(cluster, more="memory_mib = 64")
    checked = cluster.run("client", "check-config")
    assert checked.returncode == 0 and "half of this machine" not in checked.stdout + checked.stderr, checked
    r.start()
    assert r.ones(1, "good") >= N - SLACK
    assert NONE_LEAST < r.ones(2, "each") < N - SLACK
    assert r.ones(3, "all") >= N - SLACK
    assert r.ones(4, "second") >= N - SLACK
    r.client.stop()
    log = r.client.log().split('"msg":"connected"')[1]  # what it says of this host's isolation comes before
    assert "compute nothing" not in log and not any(word in log for word in (*NO_ANSWER, "misbehaves", "None")), log


@optimised
def test_without_isolation_a_process_sees_many_devices(cluster):
    """What the owner of a device says by isolate = false, and what a program could do then."""
    r = Rounds(cluster, [entry(2, seconds=2.0)])
    allow(cluster, isolate=False, at_once=N // 2)
    r.start()
    assert r.ones(1, "good") >= N - SLACK
    assert abs(r.ones(2, "second") - N // 2) <= SLACK


PAYLOAD = 16 << 20  # the largest


@optimised
@pytest.mark.parametrize("isolate", [True, False], ids=["isolated", "kept"])
def test_the_largest_payload_reaches_every_program(cluster, isolate):
    """16 MiB for each of 48 processes, which look at every byte: nobody's answer is lost to the time that feeding them takes."""
    payload = b"whole" + bytes(3) + (bytes(range(251)) * (PAYLOAD // 251 + 1))[:PAYLOAD - 8]
    r = Rounds(cluster, [entry(2, seconds=2.0, payload_max=PAYLOAD)])
    allow(cluster, isolate=isolate, fetch="8s")
    r.start()
    assert r.ones(1, payload) >= N - SLACK
    if not isolate:
        assert r.ones(2, payload[:-1] + b"\xff") <= SLACK


def test_a_plan_alone_makes_no_device_run_anything(cluster):
    """A client whose owner did not agree to the program refuses the round, and says so."""
    r = Rounds(cluster, [entry(1, program="ab" * 32)])
    allow(cluster)
    r.start()
    waits = cluster.start("analyzer", "round", "run", "step#1", "--payload", cluster.write("payload", "good"))
    wait_for("the refusal", lambda: '"round refused"' in r.client.log())
    assert f"policy: program sha256:{'ab' * 32} is not among this client's programs" in r.client.log()
    waits.kill()


def test_programs_that_may_take_the_memory_are_warned_of(cluster):
    Rounds(cluster, [entry(1)])
    allow(cluster, more="memory_mib = 1048576;")
    checked = cluster.run("client", "check-config")
    assert checked.returncode == 0 and "more than half of this machine's memory" in checked.stdout + checked.stderr, checked


WRONG = {"another digest": (dict(programs=[(MISBEHAVES, "00" * 32)]), "not the program that was agreed to"),
         "no digest": (dict(programs=[(MISBEHAVES, "00")]), "is not 64 hexadecimal digits"),
         "no file": (dict(programs=[("/nowhere/program", "00" * 32)]), "/nowhere/program"),
         "no program": (dict(programs=[("/etc/passwd", None)]), "neither an ELF program nor a script"),
         "another name": (dict(accept=["machine", "some"]), "nothing that may be lacking is called 'some'"),
         "nothing accepted": (dict(accept=[]), "programs.accept_without does not name machine: "),
         "all but one machine": (dict(accept=["process", *LACKS]), "programs.accept_without does not name machine: "),
         "one process": (dict(isolate=False, accept=["machine", *LACKS]), "programs.accept_without does not name process: "),
         "root": (dict(more='user = "root";'), "no user other than root is called 'root'"),
         "nobody we know": (dict(more='user = "no-such-user";'), "is called 'no-such-user'")}


@pytest.mark.parametrize("how", WRONG)
def test_a_configuration_with_another_program_is_refused(cluster, how):
    keys, words = WRONG[how]
    if "user" in keys.get("more", "") and os.geteuid() != 0:
        pytest.skip("of a client that root starts")
    Rounds(cluster, [entry(1)])
    allow(cluster, **keys)
    for verb in ("check-config", "run"):
        done = cluster.run("client", verb)
        assert done.returncode == EXIT["config"] and words in done.stderr and "client.conf:" in done.stderr, (verb, done)


def children(daemon):
    pid = daemon.process.pid
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def test_the_spawner_knows_nothing_and_ends_with_its_client(cluster):
    r = Rounds(cluster, [entry(1)])
    allow(cluster)
    r.start()
    wait_for("the client", lambda: '"connected"' in r.client.log())
    spawner, = children(r.client)
    with open(f"/proc/{spawner}/status") as f:
        said = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
    assert said["NoNewPrivs"] == "1" and int(said["CapEff"], 16) == 0 and int(said["CapPrm"], 16) == 0, said
    assert c.sanitized() or said["Seccomp"] == "2"
    if os.geteuid() == 0:
        assert set(said["Uid"].split()) != {"0"} and "0" not in said["Uid"].split() and "0" not in said["Gid"].split()
    # By device: in a chroot the link's path starts outside of it.
    null = {fd for fd in os.listdir(f"/proc/{spawner}/fd")
            if os.stat(f"/proc/{spawner}/fd/{fd}").st_rdev == os.stat("/dev/null").st_rdev}
    assert {"0", "1", "2"} <= null
    links = {os.readlink(f"/proc/{spawner}/fd/{fd}") for fd in set(os.listdir(f"/proc/{spawner}/fd")) - null}
    files = {link for link in links if link.startswith("/") and not link.startswith("/memfd:program")}
    assert files == set(), links
    with open(f"/proc/{spawner}/oom_score_adj") as f:
        assert f.read().strip() == "1000"
    with open(f"/proc/{spawner}/environ", "rb") as f:
        assert f.read() == b""
    r.client.kill(signal.SIGKILL)
    wait_for("its spawner to end", lambda: not os.path.exists(f"/proc/{spawner}") or
             open(f"/proc/{spawner}/stat").read().split(") ")[1][0] == "Z")


@optimised
def test_without_its_spawner_a_client_takes_part_as_without_readings(cluster):
    """Killed in the middle of a round: that one and those after it are answered, by NONE alone, and the client lives on."""
    r = Rounds(cluster, [entry(3, seconds=6.0)])
    allow(cluster)
    r.start()
    wait_for("the client", lambda: '"connected"' in r.client.log())
    spawner, = children(r.client)
    run = cluster.start("analyzer", "round", "run", "step#1", "--payload", cluster.write("payload", "good"))
    wait_for("a program", lambda: running(spawner))
    os.kill(spawner, signal.SIGKILL)
    wait_for("the round", lambda: not run.alive())
    assert cluster.json("analyzer", "round", "show", "step#1")["result"]["counts"][0] in range(NONE_LEAST + 1, N - SLACK)
    assert "the spawner of programs has ended" in r.client.log()
    assert r.ones(2, "good") in range(NONE_LEAST + 1, N - SLACK)
    assert r.client.alive()
    r.client.stop()
    r.client.start()
    wait_for("the client", lambda: cluster.run("client", "check").returncode == 0)
    assert r.ones(3, "good") >= N - SLACK
    # Where no round is under way it is said as well, and not by an end of the connection, which the shuffler would see.
    spawner, = children(r.client)
    os.kill(spawner, signal.SIGKILL)
    wait_for("the loss to be said", lambda: "the spawner of programs has ended" in cluster.run("client", "check").stdout)
    # Nor by readiness: who restarts clients that are not ready would have a program choose when.
    assert "daemon ready" in cluster.run("client", "check").stdout and metrics(cluster)["tombola_ready"] == 1
    assert r.client.alive() and r.client.log().count('"connected"') == 2


def running(spawner):
    """Is a program of this spawner alive?"""
    with open(f"/proc/{spawner}/task/{spawner}/children") as f:
        return f.read().strip() != ""


@optimised
def test_a_client_that_is_killed_while_programs_compute_goes_on(cluster):
    """Nothing left it before: it computes again, and each device is charged and counted once."""
    r = Rounds(cluster, [entry(1, seconds=6.0)])
    allow(cluster)
    r.start()
    wait_for("the client", lambda: '"connected"' in r.client.log())
    run = cluster.start("analyzer", "round", "run", "1", "--payload", cluster.write("payload", "good"))
    for _ in range(2):
        spawner, = children(r.client)
        wait_for("a program", lambda: running(spawner))
        r.client.kill(signal.SIGKILL)
        r.client.start()
        wait_for("the client", lambda: len(children(r.client)) == 1)
    wait_for("the round", lambda: not run.alive())
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == N == result["messages"] and result["duplicates"] == 0 and result["counts"][0] >= N - SLACK
    assert cluster.charged() == [1]


# ---- what is computed shows in nothing ----------------------------------------------------------------------------------

WORLD_SECONDS = 3.0


class Computing(Withheld):
    """Sending begins at a moment that is fixed by the fetch, by `prepare` and by the time that programs have."""

    def take(self, prepare):
        super().take(prepare)
        self.gather += prepare + 0.2 + 2 * WORLD_SECONDS  # a slot and a spare one, from the first such moment after the fetch


@pytest.fixture(scope="module")
def computing(tmp_path_factory):
    """Worlds that are offered one round of a program, and the view of the one in which every device has an answer."""
    cluster = c.Cluster(tmp_path_factory.mktemp("computing"))
    r = Rounds(cluster, [entry(1, seconds=WORLD_SECONDS)])
    allow(cluster)
    made = harvest(cluster, cluster.write("payload", "each"))
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace('fetch = "300ms";\n', "") + 'proofs = 0;\nfetch = "1s";\n')
    worlds = Computing.__new__(Computing)
    worlds.way, worlds.data = "right", b"each"
    Computing.__init__(worlds, cluster, [(made["d"], made["data"], made["signature"], made["records"])])
    yield worlds, worlds.of_way("right"), r
    cluster.close()


@pytest.mark.parametrize("what", ["good", *NO_ANSWER, "missing"])
def test_what_a_program_does_shows_in_nothing(computing, what):
    """One device's reading makes its program hang, crash, answer late, badly or well: the same devices send at the same moment, frames
    of the same lengths, and this host says the same.  (Who else has an answer in time is this machine's load; that it is no matter
    of another's reading: test_cl_programs.)"""
    worlds, right, _ = computing
    path = worlds.cluster.path("readings.csv")
    with open(path) as f:
        before = f.read()
    reading = {"good": "-1,0,100", "missing": "-1,,100"}.get(what) or f"1,0,{NO_ANSWER.index(what)}"
    assert before.count("\nd7,1,0,100\n") == 1
    try:
        worlds.cluster.write("readings.csv", before.replace("\nd7,1,0,100\n", f"\nd7,{reading}\n"))
        other = worlds.of_way("right")
    finally:
        worlds.cluster.write("readings.csv", before)
    assert right.shuffler["slots"] == [1] * len(right.shuffler["slots"]) == other.shuffler["slots"]
    submits = [[f for f in v.shuffler["frames"] if f[0] == "submit"] for v in (right, other)]
    assert submits[0] == submits[1] and len(right.sealed) == N
    assert list(right.sealed) == list(other.sealed)
    assert {len(m) for v in (right, other) for s in v.sealed.values() for m in s} == {len(m) for s in right.sealed.values() for m in s}
    assert right.host == other.host, (right.host, other.host)


# ---- what the service manager must allow --------------------------------------------------------------------------------

# What starting programs needs of a client that does not run as root: namespaces, Landlock, processes and their filter.
CALLS = ("execve execveat clone fork wait4 kill pipe2 socketpair sendmsg recvmsg ppoll seccomp prctl prlimit64 memfd_create close_range "
         "dup2 fcntl ioctl mount mount_setattr pivot_root umount2 landlock_create_ruleset landlock_add_rule landlock_restrict_self").split()


def calls_of(name):
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in said.splitlines()[1:]]
    return set().union(*(calls_of(line) for line in lines if line and not line.startswith("#")))


def filtered(*files):
    """The system calls that these files of a unit leave, one after the other, and the namespaces."""
    allowed, namespaces = set(), set()
    for name in files:
        with open(os.path.join(wire.ROOT, "deploy", "systemd", name)) as f:
            for key, value in re.findall(r"^(SystemCallFilter|RestrictNamespaces)=(.*)$", f.read(), re.M):
                names = value.lstrip("~").split()
                if key == "RestrictNamespaces":
                    namespaces |= set(names) - {"yes"}
                elif value.startswith("~"):
                    allowed -= set().union(*map(calls_of, names))
                else:
                    allowed |= set().union(*map(calls_of, names))
    return allowed, namespaces


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze: apt-get install systemd")
def test_the_units_drop_in_allows_what_programs_need_and_the_unit_does_not():
    tight, none = filtered("tombola-client.service.in")
    # Landlock only takes rights away; the sets of systemd 257 contain it.
    assert not {"mount", "mount_setattr", "pivot_root", "umount2"} & tight and not none
    allowed, namespaces = filtered("tombola-client.service.in", "programs.conf")
    assert not set(CALLS) - allowed, set(CALLS) - allowed
    assert namespaces == {"user", "mnt", "pid", "net", "ipc", "uts"}
    assert not {"ptrace", "reboot", "init_module", "bpf", "setuid"} & (allowed - tight)


# ---- a program and the map of the same name ------------------------------------------------------------------------------

DOUBLES = """#!/usr/bin/python3 -I
# What `moments` computes of part "mean": the features, cut by the client.
import struct, sys

def frame():
    head = sys.stdin.buffer.read(4)
    return head and sys.stdin.buffer.read(struct.unpack("<I", head)[0])

version, features, classes, numbers = struct.unpack("<4I", frame())
payload = frame()
while row := frame():
    sys.stdout.buffer.write(row[:4 * numbers])
    sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize("kind", ["ELF", "script"])
@pytest.mark.skipif(not c.seeded(), reason="compares messages of the same random numbers")
def test_a_program_sends_what_the_map_sends(tmp_path, kind):
    """Device by device the same messages as of the map in C, bit by bit: the values are the same after they are cut."""
    path = tmp_path / "mean.py"
    path.write_text(DOUBLES)
    program = MISBEHAVES if kind == "ELF" else str(path)
    rng = random.Random(7)
    rows = [[rng.gauss(0, 0.8) for _ in range(3)] for _ in range(6)] + [[1e30, 0.0, -1e30], [0.0, 0.0, 0.0], ["nan", 0.0, 0.0]]
    shown = []
    for name, compute in (("map", {"map": "moments", "columns": ["v", "w", "x"], "part": "mean"}),
                          ("program", {"map": "program", "columns": ["v", "w", "x"], "seconds": 20.0,
                                       "program": "sha256:" + digest(program)})):
        folder = tmp_path / name
        folder.mkdir()
        cluster = c.Cluster(folder)
        asked = {**entry(1, dimension=3), "compute": compute, "epsilon0": 8.0, "slots": 3, "size": 1}
        r = Rounds(cluster, [{k: v for k, v in asked.items() if not k.startswith("payload")}])
        allow(cluster, programs=[(program, None)], at_once=10)
        cluster.write("readings.csv", "device,v,w,x\n" + "".join(f"d{i},{','.join(map(str, row))}\n" for i, row in enumerate(rows)))
        cluster.start("shuffler", "run")
        cluster.wait_listening()
        cluster.start("analyzer", "run")
        done = cluster.run("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field", "device", "--json",
                           env={"TOMBOLA_TEST_SEED": "same"})
        assert done.returncode == 0, done.stderr
        shown.append(json.loads(done.stdout)["devices"])
        cluster.close()
        assert r
    assert len(shown[0]) == len(rows)
    # Pseudonyms are drawn, and with them the order.
    assert sorted(json.dumps(d) for d in shown[0]) == sorted(json.dumps(d) for d in shown[1])
    assert len({d["value"] for d in shown[0]}) >= len(rows) - 2, "NONE and zeroes may be shown alike"
