"""A deployment on this host for one training: keys, configurations, a shuffler and one client for all devices.

For learn.sh and for trials: the policies allow what the plan asks.  A real population's policies are its own.
"""
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from .analyzer import Analyzer, last_words
from .children import ends_with_us
from .faults import EXIT, Fault

__all__ = ["Deployment"]

HERTZ = os.sysconf("SC_CLK_TCK")

PARTIES = ("shuffler", "client")
PATIENCE = 60.0  # seconds until a daemon listens

TLS = """tls = {{{{ cert = "pki/{0}/{0}.crt"; key = "pki/{0}/{0}.key"; services_ca = "pki/{0}/services-ca.crt";{1} }}}};
""" # is formatted twice
CONFIGURATIONS = {
    "shuffler": """listen = "127.0.0.1:{port}";
state_dir = "shuffler";
policy = "shuffler-policy.conf";
signing_key = "pki/shuffler/shuffler-sign.key";
analyzer_key = "pki/shuffler/analyzer-sign.pub";
""" + TLS.format("shuffler", ' clients_ca = "pki/shuffler/clients-ca.crt";'),
    "shuffler-policy": """population = "learn";
max_epsilon = {epsilon!r};
delta = {delta!r};
min_batch = {devices};
max_epsilon0 = "inf"; # of all slots of a round together
honest_fraction = 1.0;
colluders = 0;
max_share = 1.0; # one gateway has all devices
max_target = {devices};
""",
    "analyzer": """shuffler = "127.0.0.1:{port}";
state_dir = "analyzer";
plan = "plan.conf";
sign = "at-start"; # the budget that a run may take is an argument of the run
signing_key = "pki/analyzer/analyzer-sign.key";
shuffler_key = "pki/analyzer/shuffler-sign.pub";
""" + TLS.format("analyzer", ""),
    "client": """shuffler = "127.0.0.1:{port}";
state_dir = "client";
population = "learn";
policy = "client-policy.conf";
analyzer_key = "pki/client/analyzer-sign.pub";
shuffler_key = "pki/client/shuffler-sign.pub";
prepare = "200ms";
fetch = "300ms"; # the shuffler is on this host, and nobody works meanwhile
input = {{ {input} }};
""" + TLS.format("client", ""),
    "client-policy": """population = "learn";
max_epsilon = {epsilon!r};
delta = {delta!r};
min_batch = {devices};
max_epsilon0 = "inf";
honest_fraction = 1.0;
colluders = 0;
""",
}


def ours(path, flags):
    """An opener: the daemons take no file to which others may write, whatever the umask is."""
    return os.open(path, flags, 0o600)


def free_ports(n):
    """Ports of 127.0.0.1 that nobody listens on."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        user, system = f.read().rpartition(") ")[2].split()[11:13]
    return (int(user) + int(system)) / HERTZ


class Deployment:
    """with Deployment(...) as d: d.analyzer is an Analyzer.  Its daemons run within, its folder stays.

    folder    is made, unless it is there from an earlier run of the same deployment
    programs  the folder of the programs
    plan      the text of a plan of population "learn"
    readings  the keys of the client's group `input`, as 'path = "readings.csv";', relative to the folder
    devices   how many
    shuffler_dummies  that the shuffler adds to a round at most, which the client then relies on
    """

    def __init__(self, folder, programs, plan, readings, devices, epsilon=1.0, delta=1e-6, shuffler_dummies=0):
        self.folder, self.programs = os.path.abspath(folder), os.path.abspath(programs)
        self.devices, self.daemons = devices, []
        made = os.path.join(self.folder, "plan.conf")
        ports = free_ports(4)
        self.port, self.http = ports[0], dict(zip(("shuffler", "client", "analyzer"), ports[1:]))
        if not os.path.exists(os.path.join(self.folder, "pki")):
            os.makedirs(self.folder, 0o700, exist_ok=True)
            self._pki()
            for party in (*PARTIES, "analyzer"):
                os.makedirs(os.path.join(self.folder, party), 0o700, exist_ok=True)
            with open(made, "w", encoding="utf-8", opener=ours) as f:
                f.write(plan)
        more = {"shuffler-policy": f"max_shuffler_dummies = {shuffler_dummies};\n",
                "client-policy": "accept_shuffler_dummies = true;\n"} if shuffler_dummies else {}
        for name, text in CONFIGURATIONS.items():
            text += more.get(name, "")
            text = f'http = "127.0.0.1:{self.http[name]}";\n' + text if name in self.http else text
            with open(os.path.join(self.folder, name + ".conf"), "w", encoding="utf-8", opener=ours) as f:
                f.write(text.format(port=self.port, epsilon=epsilon, delta=delta, devices=devices, input=readings))
        self.analyzer = Analyzer(os.path.join(self.folder, "analyzer.conf"), self._program("tombola-analyzer"))

    def _program(self, name):
        return os.path.join(self.programs, name)

    def _pki(self):
        pki = os.path.join(self.folder, "pki")
        run = subprocess.run([self._program("tombola"), "pki", "init", pki, "--hosts", "localhost,127.0.0.1", "--devices",
                              str(self.devices)], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            shutil.rmtree(pki, ignore_errors=True)
            raise Fault(run.returncode, last_words(run.stderr))

    def log(self, party):
        return os.path.join(self.folder, party + ".log")

    def _start(self, party):
        with open(self.log(party), "ab") as log:
            self.daemons.append((party, subprocess.Popen(
                [self._program("tombola-" + party), "--config", os.path.join(self.folder, party + ".conf"), "run"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=ends_with_us())))

    def _listens(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            self.check()
            time.sleep(0.05)
        raise Fault(EXIT["unavailable"], f"the shuffler does not listen; its log is {self.log('shuffler')}")

    def check(self):
        """A Fault if a daemon ended."""
        for party, process in self.daemons:
            if process.poll() is not None:
                with open(self.log(party), encoding="utf-8", errors="replace") as f:
                    raise Fault(EXIT["unavailable"], f"the {party} ended: {last_words(f.read())}")

    def without_payload(self):
        """In how many rounds the payload came too late, so that every device took part as without a reading."""
        with open(self.log("client"), encoding="utf-8", errors="replace") as f:
            return f.read().count("without the round's payload")

    def used(self):
        """Since the daemons were started: seconds of processor time of each party, and the bytes that came to and from the
        shuffler."""
        seconds = {party: cpu_seconds(process.pid) for party, process in self.daemons}
        mine = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds["analyzer"] = mine.ru_utime + mine.ru_stime - self.before
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http['shuffler']}/metrics", timeout=60) as f:
            carried = re.findall(r"^tombola_frames_(received|sent)_bytes_total (\d+)", f.read().decode(), re.M)
        return {"cpu_seconds": {p: round(s, 2) for p, s in seconds.items()},
                "shuffler_bytes": {way: int(n) for way, n in carried}}

    def __enter__(self):
        mine = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.before = mine.ru_utime + mine.ru_stime
        try:
            self._start("shuffler")
            self._listens()
            self._start("client")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *why):
        for _, process in reversed(self.daemons):
            process.send_signal(signal.SIGTERM)
        for _, process in self.daemons:
            process.wait()
        self.daemons = []
