"""cluster.py - the real daemons on loopback sockets, in a folder of their own, started and killed at will."""
import atexit
import contextlib
import fcntl
import functools
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import zlib

import wire

BUILD = os.environ.get("TOMBOLA_BUILD", os.path.join(wire.ROOT, "build", "mutant"))
# After so many seconds what is waited for is thought never to come: far more than it takes on a machine that others use too.
# A test that passes never waits so long.
PATIENCE = 180
EXIT = {"budget": 3, "usage": 64, "data": 65, "noinput": 66, "unavailable": 69, "create": 73, "io": 74, "later": 75, "protocol": 76,
        "permission": 77, "config": 78}


def sanitized():
    """Is the build one with a sanitizer?"""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as f:
        return re.search(r"^TOMBOLA_SANITIZE:\w+=(\w+)", f.read(), re.M) is not None


def seeded():
    """Does the build take its random numbers from TOMBOLA_TEST_SEED, and names of checks to remove?"""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as f:
        return re.search(r"^TOMBOLA_MUTANTS:\w+=ON", f.read(), re.M) is not None


def program(name):
    return os.path.join(BUILD, "bin", name)


# Below those that the system gives to connections, which could take one before it is listened on.  Each is a byte of a file that
# is locked for as long as this process lives: no other worker, and no other run of the tests, takes it meanwhile.
PORTS = itertools.count(random.randrange(20000))
TAKEN = os.open(os.path.join(tempfile.gettempdir(), f"tombola-test-ports-{os.getuid()}"), os.O_RDWR | os.O_CREAT, 0o600)


def free_port():
    for n in PORTS:
        port = 10000 + n % 20000
        with socket.socket() as s, contextlib.suppress(OSError):
            fcntl.lockf(TAKEN, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            s.bind(("127.0.0.1", port))
            return port


def wait_for(what, condition, seconds=PATIENCE):
    """Poll until condition() is true; its last value is returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Daemon:
    """One running program; its log is a file that outlives it."""

    def __init__(self, args, log, env=None):
        self.args, self.log_path, self.env = args, log, env or {}
        self.process = None
        self.start()

    def start(self):
        out = open(self.log_path, "ab")
        self.process = subprocess.Popen(self.args, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                        env={**os.environ, **self.env})
        out.close()

    def kill(self, sig=signal.SIGKILL):
        self.process.send_signal(sig)
        return self.process.wait(PATIENCE)

    def stop(self):
        """SIGTERM must end it in good order."""
        code = self.kill(signal.SIGTERM)
        assert code == 0, f"{self.args[0]} ended with {code}:\n{self.log()}"

    def alive(self):
        return self.process.poll() is None

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def wait(self, seconds=PATIENCE):
        return self.process.wait(seconds)


@functools.cache
def pki_of(devices):
    """Keys and certificates of a deployment on this host, made once by this process; each cluster has a copy of its own."""
    folder = tempfile.mkdtemp(prefix="tombola-pki-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = os.path.join(folder, "pki")
    run = subprocess.run([program("tombola"), "pki", "init", made, "--hosts", "localhost,127.0.0.1",
                          "--devices", str(devices)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return made


class Cluster:
    """Certificates, configurations and state of one deployment."""

    def __init__(self, folder, devices=1000):
        self.dir = str(folder)
        self.port = free_port()
        self.http = {p: free_port() for p in ("shuffler", "analyzer", "client")}
        self.daemons = []
        self.inside = []  # a command before each of ours: hosts()
        self.devices = devices
        self.own_store = False  # the test says which store it is, whatever TOMBOLA_STORE says
        self.server = self.database = self.relay = None  # of the store in PostgreSQL: where it is, its name there, Relay
        self.intakes_wanted = os.environ.get("TOMBOLA_STORE") in ("intakes", "databases")
        self.spread = None  # intakes, once they are written
        self.pki = self.path("pki")
        shutil.copytree(pki_of(devices), self.pki)
        for party in ("shuffler", "analyzer", "client"):
            os.mkdir(self.path(party), 0o700)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    # -- configurations -------------------------------------------------------------------------------------------

    def plan(self, rounds, epsilon=1.0, delta=1e-6, name="plan.conf", **extra):
        """rounds: dicts of plan keys."""
        def text(v):
            if isinstance(v, bool):
                return "true" if v else "false"
            if isinstance(v, dict):
                return "{ " + "; ".join(f"{k} = {text(x)}" for k, x in v.items()) + "; }"
            if isinstance(v, (list, tuple)):
                nested = any(isinstance(x, (list, tuple, dict)) for x in v)
                return ("( %s )" if nested else "[ %s ]") % ", ".join(text(x) for x in v)
            return json.dumps(v, ensure_ascii=False) if isinstance(v, str) else repr(v)

        body = ",\n".join("  { " + "; ".join(f"{k} = {text(v)}" for k, v in r.items()) + "; }" for r in rounds)
        head = "".join(f"{k} = {text(v)};\n" for k, v in extra.items())
        return self.write(name, f'name = "test";\npopulation = "test";\n{head}'
                          f'budget = {{ epsilon = {epsilon!r}; delta = {delta!r}; unit = "device"; }};\n'
                          f"rounds = (\n{body}\n);\n")

    def configure(self, min_batch=1, max_epsilon0=50.0, epsilon=50.0, delta=1e-6, devices=None, **change):
        """Write all configurations; epsilon is the limit of the shuffler's and the client's own policies.

        `devices` re-issues the client's certificate for that many; other keywords replace whole files:
        client="...", client_policy="...", shuffler="...", shuffler_policy="...", analyzer="...".
        """
        if devices is not None:
            self.devices = devices
            self.new_client()
        eps0 = json.dumps(max_epsilon0)
        files = {
            "shuffler": f"""listen = "127.0.0.1:{self.port}";
state_dir = "shuffler";
policy = "shuffler-policy.conf";
signing_key = "pki/shuffler/shuffler-sign.key";
analyzer_key = "pki/shuffler/analyzer-sign.pub";
http = "127.0.0.1:{self.http['shuffler']}";
tls = {{ cert = "pki/shuffler/shuffler.crt"; key = "pki/shuffler/shuffler.key";
  services_ca = "pki/shuffler/services-ca.crt"; clients_ca = "pki/shuffler/clients-ca.crt";
  services_crl = "pki/shuffler/services-ca.crl"; clients_crl = "pki/shuffler/clients-ca.crl"; }};
""",
            "shuffler_policy": f"""population = "test";
max_epsilon = {epsilon!r};
delta = {delta!r};
min_batch = {min_batch};
max_epsilon0 = {eps0};
honest_fraction = 1.0;
colluders = 0;
max_share = 1.0;
""",
            "analyzer": f"""shuffler = "127.0.0.1:{self.port}";
state_dir = "analyzer";
plan = "plan.conf";
sign = "at-start";
signing_key = "pki/analyzer/analyzer-sign.key";
shuffler_key = "pki/analyzer/shuffler-sign.pub";
http = "127.0.0.1:{self.http['analyzer']}";
tls = {{ cert = "pki/analyzer/analyzer.crt"; key = "pki/analyzer/analyzer.key";
  services_ca = "pki/analyzer/services-ca.crt"; }};
""",
            "client": f"""shuffler = "127.0.0.1:{self.port}";
state_dir = "client";
population = "test";
policy = "client-policy.conf";
analyzer_key = "pki/client/analyzer-sign.pub";
shuffler_key = "pki/client/shuffler-sign.pub";
http = "127.0.0.1:{self.http['client']}";
prepare = "50ms";
input = {{ path = "readings.csv"; device_field = "device"; }};
tls = {{ cert = "pki/client/client.crt"; key = "pki/client/client.key";
  services_ca = "pki/client/services-ca.crt"; }};
""",
            "client_policy": f"""population = "test";
max_epsilon = {epsilon!r};
delta = {delta!r};
min_batch = {min_batch};
max_epsilon0 = {eps0};
honest_fraction = 1.0;
colluders = 0;
""",
        }
        files.update(change)
        if self.server_wanted() and not self.server and not self.own_store:
            import postgresql
            self.use(postgresql.shared())
        if self.server and "store =" not in files["shuffler"]:
            files["shuffler"] += self.store
        for name, text in files.items():
            self.write(name.replace("_", "-") + ".conf", text)
        if self.intakes_wanted and "store =" not in change.get("shuffler", ""):
            import postgresql
            from spread import Spread
            further = [postgresql.shared(1)] if os.environ["TOMBOLA_STORE"] == "databases" else []
            self.spread = self.spread or Spread(self, server=self.server, database=self.database, further=further)
            self.spread.write()

    def use(self, server, **keys):
        """The shuffler's store is a database of that server: call it before configure()."""
        self.server, self.database = server, server.create()
        self.store = f'store = "postgresql";\ndatabase = "{server.string(self.database)}";\n'
        self.store += "".join(f"{k} = {v};\n" for k, v in keys.items())

    def killed_at(self, shuffler, *sizes):
        """The shuffler, which began with relayed(), dies and is started again when it has stored so many bytes of its rounds."""
        for least in sizes:
            if self.relay:
                self.relay.kill_at(shuffler.process.kill, size=least)
                shuffler.wait()
            else:
                wait_for("messages to be stored", lambda: self.stored() > least)
                shuffler.kill()
            shuffler = self.start("shuffler", "run")

    def relayed(self):
        """Between configure() and the shuffler's start: for killed_at()."""
        if self.server:
            import postgresql
            self.relay = postgresql.Relay(self.server)
            with open(self.path("shuffler.conf")) as f:
                text = f.read()
            self.write("shuffler.conf", text.replace(f"host={self.server.folder} ", f"host={self.relay.folder} "))

    @staticmethod
    def server_wanted():
        return os.environ.get("TOMBOLA_STORE") in ("postgresql", "intakes", "databases")

    def without_intakes(self):
        """The shuffler is played by a test: clients dial it."""
        if self.spread:
            self.spread.ports = [self.port]
            self.spread.clients_dial(0)
        self.intakes_wanted, self.spread = False, None

    def door(self, folder="client"):
        """The port that devices of a certificate dial: an intake's if there are any, always the same one's."""
        ports = self.spread.ports if self.spread else [self.port]
        return ports[zlib.crc32(folder.encode()) % len(ports)]

    def stored(self):
        """Bytes of the shuffler's rounds, in whichever store; 0 when there is no data of a round.  Asking a database takes longer
        than a small round does."""
        if self.server:
            return self.server.ask("SELECT coalesce(sum(pg_total_relation_size(oid)), 0) n FROM pg_class WHERE relkind = 'r' AND"
                                   " relname ~ '^(block|tags)_'", self.database)[0]["n"]
        folder = self.path("shuffler", "rounds")
        return sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)) if os.path.isdir(folder) else 0

    def asked(self, text):
        """The column `n` of what the shuffler's state answers, in whichever store."""
        if self.server:
            return [row["n"] for row in self.server.ask(text.replace(" FROM ", " FROM tombola."), self.database)]
        with contextlib.closing(sqlite3.connect(self.path("shuffler", "state.db"))) as db:
            return [n for n, in db.execute(text)]

    def round_rows(self, name, columns, table):
        """Of a round's table (`block`, `tags`), in the order of what comes before the column `body`."""
        order = columns.removesuffix(", body")
        if self.server:
            found, = self.server.ask(f"SELECT relname n FROM pg_class WHERE relname ~ '^{table}_{name}'", self.database)
            rows = self.server.ask(f"SELECT {order}, encode(body, 'hex') AS body FROM tombola.{found['n']} ORDER BY {order}",
                                   self.database)
            return [(*list(row.values())[:-1], bytes.fromhex(row["body"])) for row in rows]
        with contextlib.closing(sqlite3.connect(self.path("shuffler", "rounds", f"{name}.db"))) as db:
            return list(db.execute(f"SELECT {columns} FROM {table} ORDER BY {order}"))

    def payloads(self, party):
        """The payloads that a party has, in whichever store."""
        if self.server and party == "shuffler":
            return [row["name"] for row in self.server.ask(
                "SELECT DISTINCT encode(hash, 'hex') AS name FROM tombola.payload ORDER BY 1", self.database)]
        folder = self.path(party, "payloads")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def accept_adaptive(self, *parties):
        for party in parties or ("shuffler", "client"):
            with open(self.path(f"{party}-policy.conf"), "a") as f:
                f.write("accept_adaptive = true;\n")

    def two_colours(self, n, **round_keys):
        """Readings of n devices, and a plan of one round that takes them all and needs them all."""
        self.configure(min_batch=n, devices=n)
        with open(self.path("readings.csv"), "w") as f:
            f.write("device,colour\n")
            f.writelines(f"d{i},c{i % 2}\n" for i in range(n))
        self.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
                    "min_reports": n, "target": n, "values": ["c0", "c1"], "window": "1h", **round_keys}], epsilon=4.0)

    def wait_listening(self):
        def connects():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        wait_for("the shuffler to listen", connects)
        if self.spread:
            self.spread.ready()

    def hosts(self, text):
        """From now on our programs see this as /etc/hosts; false where the kernel does not let us."""
        inside = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"',
                  self.write("hosts", text)]
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            return False
        self.inside = inside
        return True

    # -- running --------------------------------------------------------------------------------------------------

    def start(self, party, *args, mutant="", env=None):
        """Start a daemon; `mutant` names the checks to remove."""
        env = dict(env or {})
        if mutant:
            env["TOMBOLA_MUTANT"] = mutant
        d = Daemon([*self.inside, program(f"tombola-{party}"), "--config", self.path(f"{party}.conf"), *args],
                   self.path(f"{party}.log"), env)
        self.daemons.append(d)
        if self.spread and party == "shuffler" and args == ("run",):
            self.spread.start_missing(d)
        return d

    def run(self, party, *args, mutant="", seconds=10 * PATIENCE, stdin=None, env=None):
        """Run a verb to its end: a plan of several rounds, it may be."""
        env = {**os.environ, **(env or {}), **({"TOMBOLA_MUTANT": mutant} if mutant else {})}
        return subprocess.run([*self.inside, program(f"tombola-{party}"), "--config", self.path(f"{party}.conf"), *args],
                              capture_output=True, text=True, timeout=seconds, env=env, input=stdin)

    def close(self):
        for d in self.daemons:
            if d.alive():
                d.kill()

    def new_client(self):
        """Another certificate and key for the client."""
        for f in ("client.crt", "client.key"):
            os.unlink(os.path.join(self.pki, "client", f))
        run = subprocess.run([program("tombola"), "pki", "issue", self.pki, "client", "--role", "client", "--devices",
                              str(self.devices), "--out", os.path.join(self.pki, "client")],
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr

    def reset_client(self):
        """Another client: the same certificate without its ledger would count as one that lost it."""
        shutil.rmtree(self.path("client"))
        os.mkdir(self.path("client"), 0o700)
        self.new_client()

    def reset_shuffler(self):
        """Another shuffler, which has no state."""
        shutil.rmtree(self.path("shuffler"))
        os.mkdir(self.path("shuffler"), 0o700)
        if self.server:
            self.server.forget(self.database)

    # -- reading what came of it ----------------------------------------------------------------------------------

    def json(self, party, *args):
        run = self.run(party, *args, "--json")
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def charged(self):
        """The rounds that the client takes part in; their plans are pinned before, whatever the readings are."""
        return [e["sequence"] for e in self.json("client", "status")["ledger"] if e["kind"] == "charged"]

    def signing_key(self, party):
        return wire.load_signing_key(os.path.join(self.pki, party, f"{party}-sign.key"))

    def tls(self, party, server=False, **kw):
        """A Python TLS context with a party's own certificate."""
        folder = os.path.join(self.pki, party)
        ca = [os.path.join(folder, f) for f in ("services-ca.crt", "clients-ca.crt")
              if os.path.exists(os.path.join(folder, f))]
        return wire.tls_context(server, os.path.join(folder, f"{party}.crt"), os.path.join(folder, f"{party}.key"),
                                ca, **kw)
