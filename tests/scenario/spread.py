"""spread.py - a head and intakes over one PostgreSQL database, and clients that know several of them."""
import json
import os
import re
import subprocess
import urllib.request

import postgresql
from cluster import Daemon, free_port, program, wait_for


class Spread:
    """Intakes in front of a cluster's shuffler, which is their head.  Call configure() before.

    With TOMBOLA_STORE=intakes every cluster has one; with `database` its shuffler's configuration has the store already."""

    def __init__(self, cluster, intakes=2, server=None, database=None, further=(), **keys):
        """further: servers of data_databases; the intakes commit to all of them by turns, beginning with the head's."""
        self.cluster, self.server = cluster, server or postgresql.shared()
        self.database, self.given = database or self.server.create(), database is not None
        self.role = self.server.create_intakes(self.database)
        self.further = list(further)
        for s in self.further:
            s.create(self.database)
            s.create_intakes(self.database)
        self.place = self.server.where()
        self.ports = [free_port() for _ in range(intakes)]
        self.http = [free_port() for _ in range(intakes)]
        self.daemons = [None] * intakes
        self.keys = "".join(f"{k} = {v};\n" for k, v in keys.items())
        for i in range(intakes):
            self.issue(f"intake{i}", "intake")
        if not self.given:
            self.write()

    def string(self, role=None, place=None):
        """How the head reaches the database, or a role that is not its own, over another address."""
        return f"{place or self.place} user={role or self.database} dbname={self.database}"

    def write(self):
        """The lines of the head's configuration, the intakes' own, and where the client dials."""
        with open(self.cluster.path("shuffler.conf")) as f:
            text = f.read()
        if not self.given:  # with TOMBOLA_STORE=postgresql it has a store, which is not this one
            text = re.sub("^(store|database) = .*\n", "", text, flags=re.M)
            text += f'store = "postgresql";\ndatabase = "{self.string()}";\n'
        self.cluster.write("shuffler.conf", f'{text}{self.list("data_databases", self.further)}intakes = true;\n'
                                            f'intake_role = "{self.role}";\n')
        for i in range(len(self.ports)):
            self.configure(i)
        self.clients_dial(*range(len(self.ports)))

    def list(self, key, servers, role=None):
        """A key that lists the databases on these servers; nothing without any."""
        return f'{key} = [{", ".join(f"{chr(34)}{self.string(role, s.where())}{chr(34)}" for s in servers)}];\n' if servers else ""

    @property
    def servers(self):
        return [self.server, *self.further]

    def issue(self, name, role):
        run = subprocess.run([program("tombola"), "pki", "issue", self.cluster.pki, name, "--role", role, "--hosts",
                              "localhost,127.0.0.1"], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr

    def configure(self, i, certificate=None, head=None, place=None):
        folder = f"pki/intake{i}"
        cert = certificate or f"{folder}/intake{i}"
        mine = self.servers[i % len(self.servers)]
        place = place or (mine.where() if mine is not self.server else None)
        others = self.list("other_databases", self.servers if self.further else [], self.role)
        self.cluster.write(f"intake{i}.conf", f"""listen = "127.0.0.1:{self.ports[i]}";
head = "127.0.0.1:{head or self.cluster.port}";
database = "{self.string(self.role, place)}";
{others}http = "127.0.0.1:{self.http[i]}";
tls = {{ cert = "{cert}.crt"; key = "{cert}.key"; services_ca = "{folder}/services-ca.crt";
  clients_ca = "{folder}/clients-ca.crt"; services_crl = "{folder}/services-ca.crl";
  clients_crl = "{folder}/clients-ca.crl"; }};
{self.keys}""")

    def clients_dial(self, *which, conf="client.conf"):
        """A configuration of a client names these intakes."""
        with open(self.cluster.path(conf)) as f:
            lines = f.read().splitlines()
        addresses = ", ".join(f'"127.0.0.1:{self.ports[i]}"' for i in which)
        lines = [f"shuffler = [{addresses}];" if x.startswith("shuffler =") else x for x in lines]
        self.cluster.write(conf, "\n".join(lines) + "\n")

    def head(self, **kw):
        head = self.cluster.start("shuffler", "run", **kw)
        self.cluster.wait_listening()
        return head

    def start(self, *which, **kw):
        for i in which or range(len(self.ports)):
            self.start_one(i, **kw)
        self.ready(*which)

    def start_one(self, i, **kw):
        self.daemons[i] = Daemon([program("tombola-shuffler"), "--config", self.cluster.path(f"intake{i}.conf"), "intake"],
                                 self.cluster.path(f"intake{i}.log"), **kw)
        self.cluster.daemons.append(self.daemons[i])

    def start_missing(self, head):
        """Those that do not run, once their head has made its tables."""
        missing = [i for i, d in enumerate(self.daemons) if d is None or not d.alive()]
        if missing:
            wait_for("the head to be ready", lambda: '"shuffler ready"' in head.log() or not head.alive())
        for i in missing:
            self.start_one(i)

    def ready(self, *which):
        for i in which or range(len(self.ports)):
            self.wait_ready(i)

    def wait_ready(self, i):
        def ready():
            assert self.daemons[i].alive(), self.daemons[i].log()
            return (self.status(i) or {}).get("head")
        wait_for(f"intake {i} to be connected to its head", ready)

    def status(self, i):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http[i]}/status", timeout=10) as r:
                return json.load(r)
        except OSError:
            return None

    def metric(self, i, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http[i]}/metrics", timeout=180) as r:
            for line in r.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[-1])
        raise AssertionError(name)

    def stored(self, i):
        return self.metric(i, 'tombola_intake_events_total{event="devices_stored"}')

    def second_client(self, devices, name="client2"):
        """Another client with a certificate, a state and readings of its own: its configuration."""
        c = self.cluster
        folder = os.path.join(c.pki, "client")
        run = subprocess.run([program("tombola"), "pki", "issue", c.pki, name, "--role", "client", "--devices", str(devices),
                              "--out", folder], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        os.mkdir(c.path(name), 0o700)
        with open(c.path("client.conf")) as f:
            text = f.read()
        text = text.replace('state_dir = "client"', f'state_dir = "{name}"').replace("client.crt", f"{name}.crt")
        text = text.replace("client.key", f"{name}.key").replace("readings.csv", f"{name}.csv")
        c.write(f"{name}.conf", text.replace(str(c.http["client"]), str(free_port())))
        return name

    def start_client(self, name):
        d = Daemon([program("tombola-client"), "--config", self.cluster.path(f"{name}.conf"), "run"],
                   self.cluster.path(f"{name}.log"))
        self.cluster.daemons.append(d)
        return d
