"""Under a service manager: what systemd is told, the socket and the keys it passes, and the units that are shipped."""
import math
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import cluster as c
import wire
from parties import Analyzer, Device
from wire import pb

UNITS = os.path.join(wire.ROOT, "deploy", "systemd")
PARTIES = ("client", "shuffler", "analyzer")


class Manager:
    """The receiving end of sd_notify."""

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.notices, self.heard = queue.SimpleQueue(), []
        # At all times: the kernel keeps ten, and a daemon does not wait until there is room for another.
        self.thread = threading.Thread(target=self.receive, daemon=True)
        self.thread.start()

    def receive(self):
        while notice := self.socket.recv(4096):
            self.notices.put(notice.decode())

    def close(self):
        self.say(b"")  # the thread ends
        self.thread.join()
        self.socket.close()

    def say(self, notice):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(notice, self.path)

    def env(self, watchdog_ms=400):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": str(watchdog_ms * 1000)}

    def listen(self):
        """All that was said before now: what a notice of our own follows."""
        self.say(b"MARK")
        while (notice := self.notices.get(timeout=c.PATIENCE)) != "MARK":
            self.heard.append(notice)
        return self.heard

    def ended(self):
        """The last that was said, but for signs of life: stopping may take longer than the time between two."""
        return [x for x in self.listen() if x != "WATCHDOG=1"][-1]

    def hears(self, needle, seconds=c.PATIENCE):
        """The first notice that matches, from now on."""
        before = len(self.heard)
        found = c.wait_for(f"a notice like {needle}, after {self.heard[-5:]}", lambda: [
            x for x in self.listen()[before:] if re.search(needle, x)], seconds)
        return found[0]


@pytest.fixture
def managers(tmp_path):
    made = {party: Manager(tmp_path, f"{party}.notify") for party in PARTIES}
    yield made
    for m in made.values():
        m.close()


def test_the_manager_hears_of_readiness_rounds_budget_reload_and_the_end(cluster, managers):
    cluster.two_colours(20)
    m = managers
    client = cluster.start("client", "run", env=m["client"].env())
    # A client is up before its shuffler is: else it would be started again and again.
    assert "STATUS=dialling the shuffler" in m["client"].hears("READY=1")
    shuffler = cluster.start("shuffler", "run", env=m["shuffler"].env())
    assert "STATUS=no round under way; plans pinned 0.00 % of epsilon 50, 0.00 % used" in m["shuffler"].hears("READY=1")
    m["client"].hears("STATUS=connected, waiting for a round$")
    analyzer = cluster.start("analyzer", "run", env=m["analyzer"].env())
    m["analyzer"].hears("READY=1")
    said = m["analyzer"].hears("the plan is through")
    spent = float(re.search(r"; epsilon (\d\.\d{4}) of 4 answered", said)[1])
    assert spent > 0
    budget = cluster.run("analyzer", "budget")
    assert f"epsilon {spent:.4f} all together" in budget.stdout, (said, budget.stdout)
    assert "plans of epsilon 4.0000 of 50 pinned, round 1 done" in m["client"].hears("round 1 done")
    # The slice has all of delta and 4 of epsilon 50, of which the round used what the analyzer says.
    used = cluster.json("shuffler", "status")["population_budget"]["ratio"] * 100
    assert used == pytest.approx(2 * spent, abs=2e-4)
    m["shuffler"].hears(f"no round under way; plans pinned 100.00 % of epsilon 50, {math.ceil(100 * used - 1e-9) / 100:.2f} % used")

    for party, daemon in (("client", client), ("shuffler", shuffler), ("analyzer", analyzer)):
        # The watchdog is fed by the loop: one that does not turn is heard no more.
        m[party].hears("^WATCHDOG=1$")
        daemon.process.send_signal(signal.SIGSTOP)
        c.wait_for("it to be stopped", lambda: "State:\tT" in open(f"/proc/{daemon.process.pid}/status").read())
        quiet = len(m[party].listen())
        time.sleep(0.5)
        assert len(m[party].listen()) == quiet
        daemon.process.send_signal(signal.SIGCONT)
        m[party].hears("^WATCHDOG=1$")
        # A reload says when it began, by the manager's clock, and that it is over.
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        daemon.process.send_signal(signal.SIGHUP)
        began = int(re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)", m[party].hears("RELOADING"))[1])
        assert before <= began <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        c.wait_for("the end of the reload", lambda: m[party].listen()[-1:] == ["READY=1"] or
                   "READY=1" in m[party].heard[m[party].heard.index(f"RELOADING=1\nMONOTONIC_USEC={began}"):])
        daemon.stop()
        assert m[party].ended() == "STOPPING=1\nSTATUS=stopping"
    for party in PARTIES:
        assert not [x for x in m[party].heard if re.search(r"\bd\d+\b|c0|c1", x)], "a device or a value"


def test_a_refused_round_is_in_the_status_line(cluster, managers):
    cluster.two_colours(20)
    ask = {"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
           "min_reports": 20, "target": 20, "values": ["c0", "c1"], "window": "1h"}
    cluster.plan([ask, {**ask, "query": "again"}], epsilon=2.0)
    cluster.start("shuffler", "run")
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", env=managers["analyzer"].env())
    said = managers["analyzer"].hears("the plan is through")
    assert "the budget refused 1 of its rounds; epsilon " in said, said
    analyzer.stop()


def test_a_stopped_shuffler_first_answers_what_it_has_taken(cluster, managers):
    cluster.configure()
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    # A commit waits so long for company that only the stop can bring it about.
    cluster.write("shuffler.conf", text + 'limits = { commit_wait = "10s"; };\n')
    m = managers["shuffler"]
    shuffler = cluster.start("shuffler", "run", env=m.env())
    cluster.wait_listening()
    d, data = Analyzer(cluster).dial().open_round(target=5, min_reports=5)
    for n in range(1, 5):
        device, report, answers = Device(cluster), (os.urandom(32), Device.seal(d, data, 1)), []
        asking = threading.Thread(target=lambda: answers.append(device.submit(d, [report])))
        began = time.monotonic()
        asking.start()
        m.hears(f"round 1 .colour. COLLECTING, [{n - 1}{n}] of 5 participants")
        time.sleep(0.3)
        unanswered = asking.is_alive()
        shuffler.stop()
        asking.join(180)
        assert answers == [[pb.OUTCOME_ACCEPTED]]
        if time.monotonic() - began < 10:
            break
        # This machine took so long that the wait may have been over by itself: another report.
        shuffler.start()
        cluster.wait_listening()
    else:
        pytest.fail("no commit was waiting at its stop")
    assert unanswered, "answered before it was durable"
    assert m.ended() == "STOPPING=1\nSTATUS=stopping"
    # And it is there when the shuffler is back: the same bytes are the same report, others are refused.
    cluster.write("shuffler.conf", text)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    device = Device(cluster)
    assert device.submit(d, [report]) == [pb.OUTCOME_ACCEPTED]
    assert device.submit(d, [(report[0], Device.seal(d, data, 1))]) == [pb.OUTCOME_CONFLICT]


# ---- the passed socket -----------------------------------------------------------------------------------------------

def start_with(cluster, sockets, fds=None):
    """The shuffler as systemd starts it: sockets from descriptor 3 on, and its own process id in LISTEN_PID."""
    def pass_them():
        for i, s in enumerate(sockets):
            os.dup2(s.fileno(), 3 + i)

    log = cluster.path("shuffler.log")
    d = c.Daemon.__new__(c.Daemon)
    d.args, d.log_path, d.env = ["shuffler"], log, {}
    with open(log, "ab") as out:
        d.process = subprocess.Popen(
            ["sh", "-c", 'LISTEN_PID=$$; export LISTEN_PID; exec "$@"', "sh", c.program("tombola-shuffler"), "--config",
             cluster.path("shuffler.conf"), "run"], stdout=out, stderr=out, stdin=subprocess.DEVNULL, close_fds=False,
            preexec_fn=pass_them, env={**os.environ, "LISTEN_FDS": str(fds if fds is not None else len(sockets))})
    cluster.daemons.append(d)
    return d


def test_a_passed_socket_is_served_and_peers_wait_in_it_while_the_shuffler_is_away(cluster):
    cluster.two_colours(20)
    # Far above what is used here, so that the passed one is not it by chance.
    listening = socket.create_server(("127.0.0.1", cluster.port), backlog=64)
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    cluster.write("shuffler.conf", text.replace(f"127.0.0.1:{cluster.port}", "127.0.0.1:1"))
    client = cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once")
    time.sleep(0.3)
    assert client.alive() and analyzer.alive()
    assert "refused" not in client.log() and "refused" not in analyzer.log(), "they wait in the queue"
    shuffler = start_with(cluster, [listening])
    c.wait_for("the shuffler to be ready", lambda: '"shuffler ready"' in shuffler.log())
    assert '"listen":"passed socket"' in shuffler.log() and f'"port":{cluster.port}' in shuffler.log()
    # Away for a moment, with its socket in the manager's hands, and back.
    shuffler.stop()
    start_with(cluster, [listening])
    assert analyzer.wait() == 0, analyzer.log()
    assert "settled" in cluster.run("analyzer", "round", "list", "--json").stdout
    client.stop()
    listening.close()


@pytest.mark.parametrize("how,said", [("two", "passes 2 sockets"), ("no listener", "not a listening TCP socket"),
                                      ("too few", "not a listening TCP socket")])
def test_what_cannot_be_served_is_said_and_not_started_again(cluster, how, said):
    cluster.two_colours(20)
    one, two = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    loose = socket.socket()
    sockets, fds = {"two": ([one, two], None), "no listener": ([loose], None), "too few": ([open(os.devnull)], 1)}[how]
    shuffler = start_with(cluster, sockets, fds)
    assert shuffler.wait() == c.EXIT["config"] and said in shuffler.log(), shuffler.log()
    assert str(c.EXIT["config"]) in settings("shuffler")["RestartPreventExitStatus"][0].split()


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None,
                    reason="no systemd-socket-activate: apt-get install systemd")
def test_systemd_s_own_launcher_passes_a_socket_that_is_served(cluster):
    cluster.two_colours(20)
    log = open(cluster.path("shuffler.log"), "ab")
    launcher = subprocess.Popen(
        ["systemd-socket-activate", "-l", f"127.0.0.1:{cluster.port}", c.program("tombola-shuffler"), "--config",
         cluster.path("shuffler.conf"), "run"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        cluster.start("client", "run")
        analyzer = cluster.start("analyzer", "run", "--once")
        assert analyzer.wait() == 0, analyzer.log()
    finally:
        launcher.terminate()
        assert launcher.wait(180) == 0
        log.close()


# ---- keys as credentials ---------------------------------------------------------------------------------------------

def test_a_key_that_the_manager_passes_signs_and_without_it_the_ledger_can_still_be_read(cluster, tmp_path):
    cluster.two_colours(20)
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o700)
    key = cluster.path("pki", "analyzer", "analyzer-sign.key")
    shutil.move(key, folder / "signing-key")
    os.chmod(folder / "signing-key", 0o440)
    with open(cluster.path("analyzer.conf")) as f:
        text = f.read()
    cluster.write("analyzer.conf", text.replace('"pki/analyzer/analyzer-sign.key"', '"credential:signing-key"'))
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once", env={"CREDENTIALS_DIRECTORY": str(folder)})
    assert analyzer.wait() == 0, analyzer.log()
    run = cluster.run("analyzer", "check-config")
    assert run.returncode == c.EXIT["config"]
    line = 1 + [i for i, x in enumerate(text.splitlines()) if x.startswith("signing_key")][0]
    assert f"analyzer.conf:{line}: signing_key: credential:signing-key: only the service manager passes it" in run.stderr, run
    run = cluster.run("analyzer", "budget")
    assert run.returncode == 0 and "spent" in run.stdout, run


# ---- the units -------------------------------------------------------------------------------------------------------

def settings(party):
    """Every setting of a unit: name -> list of values."""
    out = {}
    with open(os.path.join(UNITS, f"tombola-{party}.service.in"), encoding="utf-8") as f:
        for name, value in re.findall(r"^([A-Z][A-Za-z]+)=(.*)$", f.read(), re.M):
            out.setdefault(name, []).append(value)
    return out


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The units with the programs of this build."""
    folder = tmp_path_factory.mktemp("units")
    for name in (*PARTIES, "results@"):
        with open(os.path.join(UNITS, f"tombola-{name}.service.in"), encoding="utf-8") as f:
            (folder / f"tombola-{name}.service").write_text(f.read().replace("@BIN@", os.path.join(c.BUILD, "bin")))
    for party in PARTIES:
        made = subprocess.run(["sed", "-f", os.path.join(UNITS, "instance.sed"), str(folder / f"tombola-{party}.service")],
                              capture_output=True, text=True, check=True)
        (folder / f"tombola-{party}@.service").write_text(made.stdout)
    shutil.copy(os.path.join(UNITS, "tombola-shuffler.socket"), folder)
    return folder


@pytest.mark.parametrize("party", PARTIES)
def test_populations_of_one_host_share_no_file(installed, party):
    """The template is the unit, with a configuration, an environment and a state of the instance."""
    one = (installed / f"tombola-{party}.service").read_text().splitlines()[1:]
    many = (installed / f"tombola-{party}@.service").read_text().splitlines()[1:]
    assert sorted(set(many) - set(one)) == sorted((
        next(x for x in one if x.startswith("Description=")).replace(f"Tombola {party}:", f"Tombola {party} of %i:"),
        f"StateDirectory=tombola-{party}/%i", f"Environment=TOMBOLA_CONFIG=/etc/tombola/%i/{party}.conf",
        f"EnvironmentFile=-/etc/default/tombola-{party}-%i"))
    assert len(many) == len(one) + 1


analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None,
                             reason="no systemd-analyze: apt-get install systemd")


@analyze
def test_systemd_finds_no_fault_in_the_units(installed):
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", *sorted(map(str, installed.iterdir()))],
                         capture_output=True, text=True, timeout=180)
    ours = [x for x in (run.stdout + run.stderr).splitlines() if "tombola" in x]
    assert run.returncode == 0 and not ours, run


@analyze
@pytest.mark.parametrize("party", (*PARTIES, "results@", "analyzer@"))
def test_the_sandbox_leaves_little_open(installed, party):
    run = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                          str(installed / f"tombola-{party}.service")], capture_output=True, text=True, timeout=180)
    level = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", run.stdout)[1])
    # The one that hands results on has a capability to read, and runs programs of the operator.
    assert level <= (1.8 if party == "results@" else 1.5), run.stdout


RUNNING = ("tombola-client@wind.service", "tombola-shuffler@wind.service", "tombola-analyzer@wind.service",
           "tombola-results@hook.service", "tombola-results@mqtt.service", "other@x.service")
FAKE = """#!/usr/bin/python3
import fnmatch, os, sys
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
units = [u for u in %r if any(fnmatch.fnmatch(u, a) for a in args)]
if "list-units" in args:
    print(*(u + " loaded active running" for u in units), sep="\\n", end="\\n" if units else "")
for verb in {"try-restart", "stop"} & set(args):
    with open(%r, "a") as f:
        f.writelines(f"{verb} {u}\\n" for u in units or [a for a in args if a.endswith(".service") and "*" not in a])
        f.writelines(f"{verb} {a}\\n" for a in args if units and a.endswith(".service") and "*" not in a and a not in units)
"""


@pytest.mark.parametrize("party", PARTIES)
@pytest.mark.parametrize("script,args,verb", (("postinst", ("configure", "0.0.9"), "try-restart"), ("prerm", ("remove",), "stop"),
                                              ("rpm-post", ("2",), "try-restart"), ("rpm-preun", ("0",), "stop")))
def test_an_upgrade_restarts_every_instance_and_a_removal_stops_it(party, script, args, verb, tmp_path):
    with open(os.path.join(c.BUILD, "deploy", "package", party, script), encoding="utf-8") as f:
        text = f.read()
    said = tmp_path / "said"
    said.write_text("")
    (tmp_path / "script").write_text(text.replace("/run/systemd/system", str(tmp_path)))
    fakes = tmp_path / "bin"
    fakes.mkdir()
    for name in ("systemctl", "deb-systemd-invoke", "deb-systemd-helper", "systemd-sysusers", "systemd-tmpfiles"):
        (fakes / name).write_text(FAKE % (RUNNING, str(said)))
        (fakes / name).chmod(0o755)
    subprocess.run(["/bin/sh", str(tmp_path / "script"), *args], check=True, env={"PATH": f"{fakes}:/usr/bin:/bin"})
    instances = {u for u in RUNNING if u.startswith(f"tombola-{party}@") or (party == "analyzer" and "-results@" in u)}
    told = said.read_text().splitlines()
    main = set() if script == "rpm-preun" else {f"tombola-{party}.service"}  # `disable --now` stops that one
    assert {x for x in told if "socket" not in x} == {f"{verb} {u}" for u in instances | main}, told


@pytest.mark.parametrize("party", PARTIES)
def test_a_unit_runs_the_verbs_there_are_and_keeps_the_state_of_the_sample(party):
    unit = settings(party)
    verbs = [unit[k][0] for k in ("ExecStartPre", "ExecStart")] + unit["ExecReload"][:1]
    said = subprocess.run([c.program(f"tombola-{party}"), "--help"], capture_output=True, text=True).stdout
    for line in verbs:
        program, verb = line.split(" ", 1)
        assert program == f"@BIN@/tombola-{party}" and re.search(rf"^  {verb} ", said, re.M), line
    with open(os.path.join(wire.ROOT, "deploy", f"{party}.conf"), encoding="utf-8") as f:
        assert f'state_dir = "/var/lib/{unit["StateDirectory"][0]}"' in f.read()
    assert unit["Type"] == ["notify"] and unit["User"] == unit["Group"] == unit["StateDirectory"]


def test_faults_that_a_restart_does_not_mend_end_with_codes_that_prevent_one(cluster):
    cluster.two_colours(20)
    codes = {p: [int(x) for x in settings(p)["RestartPreventExitStatus"][0].split()] for p in PARTIES}

    def ends(party, code, needle):
        # A daemon that starts after all is ended by the time limit, and fails this.
        run = subprocess.run([c.program(f"tombola-{party}"), "--config", cluster.path(f"{party}.conf"), "run"],
                             capture_output=True, text=True, timeout=180)
        assert run.returncode == code and needle in run.stderr, run
        assert code in codes[party]

    for party in PARTIES:
        with open(cluster.path(f"{party}.conf")) as f:
            text = f.read()
        cluster.write(f"{party}.conf", text + "nonsense = 1;\n")
        ends(party, 78, "unknown key 'nonsense'")
        os.unlink(cluster.path(f"{party}.conf"))
        ends(party, 66, "No such file")
        cluster.write(f"{party}.conf", text)
        key = cluster.path("pki", party, f"{party}.key")
        os.chmod(key, 0o644)
        ends(party, 77, "others may use")
        os.chmod(key, 0o600)
    os.makedirs(cluster.path("analyzer"), exist_ok=True)
    with open(cluster.path("analyzer", "ledger"), "wb") as f:
        f.write(b"no ledger at all, and longer than a record's head by far" * 9)
    ends("analyzer", 65, "ledger")
