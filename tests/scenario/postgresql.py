"""postgresql.py - PostgreSQL servers of the tests' own, behind Unix sockets, with everything on that the shuffler demands."""
import atexit
import contextlib
import functools
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from cluster import free_port, wait_for

NAMES = itertools.count(1)
SETTINGS = {"listen_addresses": "", "max_connections": "200", "shared_buffers": "16MB", "max_wal_size": "256MB",
            "wal_keep_size": "64MB", "autovacuum_naptime": "1h"}


def programs():
    """Where Debian has the programs of the server; None without one."""
    root = "/usr/lib/postgresql"
    versions = sorted((v for v in os.listdir(root) if v.isdigit()), key=int) if os.path.isdir(root) else []
    return os.path.join(root, versions[-1], "bin") if versions else None


class Server:
    """One server.  Its files are in `base`; if that is not said, in memory where there is such a folder: fsync is on, and tests
    have no disk to wear out."""

    def __init__(self, primary=None, name="standby", base=None, **settings):
        base = base or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.folder, self.port = tempfile.mkdtemp(prefix="tombola-pg-", dir=base), str(free_port())
        os.chmod(self.folder, 0o711)  # its socket is for whoever may become a role: daemons in a user namespace, too
        self.data, self.process = os.path.join(self.folder, "data"), None
        self.as_user = []
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        atexit.register(self.close)
        if primary:
            self.program("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d",
                         f"{primary.where()} user=postgres application_name={name}")
        else:
            self.program("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C.UTF-8")
        self.set(**{**SETTINGS, **settings})
        self.start()

    def program(self, name, *args, check=True):
        run = subprocess.run([*self.as_user, os.path.join(programs(), name), *args], capture_output=True, text=True,
                             cwd=self.folder)
        assert run.returncode == 0 or not check, run.stderr
        return run

    def set(self, **settings):
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as f:
            f.writelines(f"{k} = '{v}'\n" for k, v in settings.items())

    def reload(self, **settings):
        """Set while it runs, and wait until sessions begin with it."""
        self.set(**settings)
        self.process.send_signal(signal.SIGHUP)
        for k, v in settings.items():
            wait_for(k, lambda k=k, v=v: self.ask(f"SELECT current_setting('{k}') v")[0]["v"] == v)

    def start(self, wait=True):
        log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen([*self.as_user, os.path.join(programs(), "postgres"), "-D", self.data, "-k", self.folder,
                                         "-p", self.port], stdout=log, stderr=log, cwd=self.folder)
        log.close()
        if wait:
            wait_for("the server", lambda: self.program("pg_isready", "-h", self.folder, "-p", self.port,
                                                        check=False).returncode == 0)

    def stop(self, how="immediate"):
        self.program("pg_ctl", "-D", self.data, "-m", how, "-s", "-w", "stop", check=False)
        self.process.wait()

    def crash(self):
        """What `pg_ctl stop -m immediate` does, at once."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def kill(self):
        """kill -9 of the server and all of its processes; then it is there again."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        for pid in (self.process.pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        # What it shared in memory has to be free: it would not start before.
        wait_for("its processes to end", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children))
        self.start()

    def kill_backend(self, name, rng):
        """kill -9 of one of the shuffler's sessions, after which the server ends all and recovers; false if there was none."""
        try:
            pids = [r["pid"] for r in self.ask(f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}'"
                                               " AND application_name LIKE 'tombola%' ORDER BY pid")]
        except AssertionError:  # it recovers
            return False
        with contextlib.suppress(ProcessLookupError):
            if pids:
                os.kill(rng.choice(pids), signal.SIGKILL)
        return bool(pids)

    def promote(self):
        self.program("pg_ctl", "-D", self.data, "-s", "-w", "promote")

    def where(self):
        return f"host={self.folder} port={self.port}"

    def psql(self, database, *args, role="postgres"):
        """psql's command line.  Debian's of that name is a script of Perl, which takes longer than what is asked here."""
        return [os.path.join(programs(), "psql"), "-h", self.folder, "-p", self.port, "-U", role, "-d", database, "-Xq", "-v",
                "ON_ERROR_STOP=1", *args]

    def session(self, text, database, role="postgres"):
        """A session that has been told to run this, and stays until its input ends."""
        held = subprocess.Popen(self.psql(database, role=role), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        held.stdin.write(text + ";\n")
        held.stdin.flush()
        return held

    def ask(self, text, database="postgres"):
        """The rows, as JSON."""
        run = subprocess.run(self.psql(database, "-At", "-c", f"SELECT coalesce(json_agg(t), '[]') FROM ({text}) t"),
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def do(self, text, database="postgres"):
        subprocess.run(self.psql(database, "-c", text), check=True, capture_output=True)

    def create(self, name=None):
        """A database of its own for a role that owns nothing else, as doc/operations.md has it; its name, which is the role's."""
        name = name or f"t{os.getpid()}_{next(NAMES)}"
        self.do(f"CREATE ROLE {name} LOGIN")
        self.do(f"CREATE DATABASE {name} OWNER {name}")
        return name

    def create_intakes(self, name):
        """A role for the intakes of this database's head, as doc/operations.md has it; its name."""
        self.do(f"CREATE ROLE {name}_intake LOGIN")
        self.do(f"GRANT {name}_intake TO {name}")
        return f"{name}_intake"

    def create_member(self, group, name):
        """A role for one intake among those of this group; its name."""
        owner = group.removesuffix("_intake")
        self.do(f"CREATE ROLE {group}_{name} LOGIN IN ROLE {group}")
        self.do(f"GRANT {group}_{name} TO {owner}")
        return f"{group}_{name}"

    def forget(self, name):
        """A database that has lost everything."""
        self.do(f"DROP DATABASE {name} WITH (FORCE)")
        self.do(f"CREATE DATABASE {name} OWNER {name}")

    def copy(self, name):
        """Of a database that nobody has open: puts it back."""
        copy = f"{name}_copy{next(NAMES)}"
        wait_for("its sessions to end", lambda: not self.ask(f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}'"))
        self.do(f"CREATE DATABASE {copy} TEMPLATE {name}")

        def restore():
            self.do(f"DROP DATABASE {name} WITH (FORCE)")
            self.do(f"CREATE DATABASE {name} TEMPLATE {copy} OWNER {name}")
        return restore

    def string(self, name):
        return f"{self.where()} user={name} dbname={name}"

    def terminate(self, name):
        """End the shuffler's sessions; how many there were."""
        return len(self.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                            f"'{name}' AND application_name LIKE 'tombola%'"))

    def close(self):
        if self.process and self.process.poll() is None:
            with contextlib.suppress(AssertionError):
                self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def with_standby(server):
    """A synchronous standby of a server, whose where() names both from now on."""
    standby = Server(primary=server, name="one")
    server.reload(synchronous_standby_names="one")
    wait_for("the standby", lambda: server.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))
    server.where = lambda: f"host={server.folder},{standby.folder} port={server.port},{standby.port}"
    return standby


class SmallDisk:
    """4 MiB beside a server, for the tables that a role makes from some moment on.  Only root can mount it."""

    def __init__(self, server):
        self.server, self.folder = server, os.path.join(server.folder, "small")
        self.filler = os.path.join(self.folder, "filler")

    def __enter__(self):
        os.mkdir(self.folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0777", "none", self.folder], capture_output=True).returncode:
            import pytest  # benchmarks use this file without it
            pytest.skip("no right to mount here")
        return self

    def __exit__(self, *fault):
        self.server.stop()
        subprocess.run(["umount", "-l", self.folder], check=True)

    def begin(self, role):
        """Tables that the role makes from now on are there."""
        space = os.path.join(self.folder, "space")
        subprocess.run([*self.server.as_user, "mkdir", "-m", "700", space], check=True)
        self.server.do(f"CREATE TABLESPACE small LOCATION '{space}'")
        self.server.do(f"GRANT CREATE ON TABLESPACE small TO {role}")
        self.server.do(f"ALTER ROLE {role} SET default_tablespace = small")

    def fill(self):
        subprocess.run(["dd", "if=/dev/zero", f"of={self.filler}", "bs=4k"], capture_output=True)

    def free(self):
        os.unlink(self.filler)


class Relay:
    """Before a server: messages as they are, and a daemon is killed by one of them, which does not get there, or half of it."""

    def __init__(self, server):
        self.folder = tempfile.mkdtemp(prefix="tombola-relay-")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.target = os.path.join(server.folder, f".s.PGSQL.{server.port}")
        self.lock = threading.Lock()
        self.reset()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(self.folder, f".s.PGSQL.{server.port}"))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def reset(self):
        """What the daemon sent, in all its sessions since the beginning, and when it dies: nothing, and never."""
        with self.lock:
            self.bytes = self.messages = 0
            self.strikes = None

    def kill_at(self, kill, messages=None, size=None, torn=True):
        """kill() is called by this message, counted from 1, or by the one with which so many bytes are passed."""
        def strikes(length):
            return self.messages == messages if messages else self.bytes + length > size
        with self.lock:
            self.kill, self.strikes, self.torn = kill, strikes, torn

    def accept(self):
        while True:
            near, far = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            threading.Thread(target=carry, args=(near, Session(self, far).take, near, far), daemon=True).start()
            threading.Thread(target=carry, args=(far, near.sendall, near, far), daemon=True).start()

    def message(self, data):
        """As much of it as gets there."""
        with self.lock:
            self.messages += 1
            if self.strikes and self.strikes(len(data)):
                self.strikes = None
                self.kill()
                return data[:len(data) // 2] if self.torn else b""
            self.bytes += len(data)
            return data


class Session:
    """What one session sends, message by message: a byte that says what it is, but for the first, and the length of the rest."""

    def __init__(self, relay, far):
        self.relay, self.far, self.kind, self.waiting = relay, far, 0, b""

    def take(self, data):
        self.waiting += data
        out = b""
        while len(self.waiting) >= self.kind + 4:
            length = self.kind + int.from_bytes(self.waiting[self.kind:self.kind + 4], "big")
            if len(self.waiting) < length:
                break
            whole, self.waiting, self.kind = self.waiting[:length], self.waiting[length:], 1
            passed = self.relay.message(whole)
            out += passed
            if len(passed) < length:
                self.far.sendall(out)
                raise OSError("the daemon is dead")
        self.far.sendall(out)


def carry(source, take, *ends):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            take(data)
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@functools.cache
def shared(number=0):
    """One for all tests of this process; or another one of that number."""
    return Server()
