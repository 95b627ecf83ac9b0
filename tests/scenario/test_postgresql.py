"""The shuffler's store in PostgreSQL, through the real daemons: what it demands, who may write, and each fault of server, sessions
and process, after which every device is counted exactly once.

TOMBOLA_POSTGRESQL_FAULTS (default 3): how often each fault strikes a round."""
import os
import random
import shutil
import signal
import subprocess
import time
import urllib.request

import pytest

import postgresql
import wire
from cluster import BUILD, EXIT, program, wait_for
from parties import Device
from spread import Spread
from test_intakes import Gateway, one_plan
from test_rounds import histogram, readings
from wire import pb

DEVICES = 600
FAULTS = int(os.environ.get("TOMBOLA_POSTGRESQL_FAULTS", "3"))

if not postgresql.programs() or not os.path.exists(os.path.join(BUILD, "libexec", "tombola", "tombola-shuffler-postgresql")):
    pytest.skip("no PostgreSQL server, or built without libpq: deploy/setup.sh test", allow_module_level=True)


@pytest.fixture
def own():
    """A server that a test may do anything to."""
    server = postgresql.Server()
    yield server
    server.close()


def prepare(cluster, server, rounds=1, **keys):
    cluster.use(server, **keys)
    cluster.configure(min_batch=DEVICES, devices=DEVICES, epsilon=40.0)
    readings(cluster, DEVICES)
    cluster.plan([histogram(DEVICES, 2.0, query=f"q{i}", window="10m") for i in range(rounds)], epsilon=40.0)


def everyone_once(cluster, analyzer, rounds=1):
    """The plan ends, and each round has each device once."""
    assert analyzer.wait() == 0, analyzer.log()
    for number in range(1, rounds + 1):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["participants"] == result["messages"] == sum(result["counts"]) == DEVICES, result
        assert result["duplicates"] == result["bad"] == 0, result


class Kept:
    """A shuffler that is started again whenever it ends, as systemd does; with which codes it ended."""

    def __init__(self, cluster):
        self.cluster, self.codes = cluster, []
        self.daemon = cluster.start("shuffler", "run")

    def tend(self):
        if not self.daemon.alive():
            self.codes.append(self.daemon.process.returncode)
            self.daemon.start()


def mid_round(kept):
    wait_for("a round", lambda: "round open" in kept.daemon.log())


def trickle(cluster, faults, rng):
    """Run a round of all devices while `faults` (functions) strike one after the other; the shuffler is tended meanwhile."""
    # Small commits, so that faults hit many of them.
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write('limits = { commit_messages = 40; commit_wait = "5ms"; };\n')
    with open(cluster.path("client.conf"), "a") as f:
        f.write("frame_devices = 20;\n")
    kept = Kept(cluster)
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once")
    left = list(faults)
    wait_for("the shuffler to begin", lambda: "shuffler ready" in kept.daemon.log())
    while analyzer.alive():
        kept.tend()
        if left:
            time.sleep(rng.random() * 0.3)
            left.pop(0)(kept)
        time.sleep(0.02)
    return kept, analyzer


# ---- What is said, and what is demanded ----

def test_a_second_shuffler_is_told_and_a_first_one_reads(cluster, tmp_path):
    prepare(cluster, postgresql.shared())
    check = cluster.run("shuffler", "check-config")
    assert check.returncode == 0, check.stderr
    first = cluster.start("shuffler", "run")
    cluster.wait_listening()
    check = cluster.run("shuffler", "check-config")
    assert check.returncode == 0 and "another shuffler has this database" in check.stderr, check.stderr
    # Another state_dir, as on another host.
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    os.mkdir(cluster.path("other"), 0o700)
    cluster.write("shuffler.conf", text.replace('state_dir = "shuffler"', 'state_dir = "other"'))
    second = cluster.run("shuffler", "run")
    assert second.returncode == EXIT["later"], second.stderr
    assert second.stderr.count("\n") == 1 and "another shuffler has this database" in second.stderr, second.stderr
    first.stop()


def test_a_look_at_an_open_round_changes_nothing(cluster):
    prepare(cluster, postgresql.shared())
    kept = Kept(cluster)
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run")
    mid_round(kept)
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['shuffler']}/metrics", timeout=180) as r:
        assert b"\ntombola_ledger_ok 1\n" in r.read()
    analyzer.kill()
    kept.daemon.kill()
    epoch = cluster.asked("SELECT epoch AS n FROM data")
    cluster.server.copy(cluster.database)  # waits until nobody has it
    check = cluster.run("shuffler", "check-config")
    assert check.returncode == 0 and check.stderr == "" and "valid" in check.stdout, check
    assert cluster.asked("SELECT epoch AS n FROM data") == epoch


@pytest.mark.parametrize("keys, why", [
    ('store = "postgresql";', "needs the key database"),
    ('store = "mysql";', 'must be "sqlite" or "postgresql"'),
    ('database = "dbname=t";', "only for store"),
    ('store = "postgresql"; database = "host=/run password=geheim";', "a password does not belong here"),
    ('store = "postgresql"; database = "postgresql://me:geheim@db.example.org/t";', "a password does not belong here"),
    ('store = "postgresql"; database = "host=db.example.org sslmode=require";', "must be verify-full"),
    ('store = "postgresql"; database = "colour=red";', "invalid connection option"),
])
def test_a_faulty_key_is_named_with_its_line(cluster, keys, why):
    cluster.own_store = True
    cluster.configure()
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write(keys + "\n")
    for verb in ("run", "check-config"):
        run = cluster.run("shuffler", verb)
        assert run.returncode == EXIT["config"] and why in run.stderr, run.stderr
        assert "shuffler.conf:10: " in run.stderr and "geheim" not in run.stderr, run.stderr


def test_without_the_package_one_line_says_which(cluster):
    prepare(cluster, postgresql.shared())
    os.mkdir(cluster.path("bin"))
    alone = shutil.copy(program("tombola-shuffler"), cluster.path("bin"))
    run = subprocess.run([alone, "--config", cluster.path("shuffler.conf"), "run"], capture_output=True, text=True)
    assert run.returncode == EXIT["config"] and run.stderr.count("\n") == 1, run.stderr
    assert "needs the package tombola-shuffler-postgresql" in run.stderr


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_could_lose_a_commit_is_refused(cluster, own, setting):
    prepare(cluster, own)
    own.reload(**{setting: "off"})
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["config"] and f"{setting} is off" in run.stderr, run.stderr


def test_a_server_that_is_away_is_waited_for_and_said_once(cluster, own):
    prepare(cluster, own)
    own.stop("fast")
    check = cluster.run("shuffler", "check-config")
    assert check.returncode == 0 and "not looked at" in check.stderr, check.stderr
    shuffler = cluster.start("shuffler", "run")
    wait_for("a line", lambda: "waiting for the database" in shuffler.log())
    time.sleep(5)
    assert shuffler.alive() and shuffler.log().count("waiting for the database") == 1
    own.start()
    wait_for("the shuffler", lambda: "shuffler ready" in shuffler.log())
    assert "the database answers" in shuffler.log() and "failed_attempts" in shuffler.log()
    shuffler.stop()


@pytest.mark.parametrize("host, says", [("localhost", "shuffler ready"), ("127.0.0.1", "certificate")])
def test_a_server_on_the_network_is_verified(cluster, own, host, says):
    key, cert = os.path.join(own.data, "server.key"), os.path.join(own.data, "server.crt")
    subprocess.run([*own.as_user, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    os.chmod(key, 0o600)
    own.stop("fast")
    own.set(listen_addresses="127.0.0.1", ssl="on", ssl_cert_file=cert, ssl_key_file=key)
    own.start()
    cluster.use(own)
    root = shutil.copy(cert, cluster.path("root.crt"))
    cluster.store = (f'store = "postgresql"; database = "host={host} port={own.port} user={cluster.database} '
                     f'dbname={cluster.database} sslmode=verify-full sslrootcert={root}";\n')
    cluster.configure()
    shuffler = cluster.start("shuffler", "run")
    wait_for("a line", lambda: says in shuffler.log() or not shuffler.alive())
    assert says in shuffler.log(), shuffler.log()
    if says == "certificate":
        assert shuffler.wait() == EXIT["permission"]
        return
    used = own.ask(f"SELECT bool_and(ssl) s FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '{cluster.database}'")
    assert used == [{"s": True}]


def test_a_login_that_is_refused_ends_the_start(cluster):
    prepare(cluster, postgresql.shared())
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    cluster.write("shuffler.conf", text.replace(f"dbname={cluster.database}", "dbname=nowhere"))
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["permission"] and 'database "nowhere" does not exist' in run.stderr, run.stderr


# ---- Faults: every device is counted exactly once ----

def test_every_device_is_counted_once_over_kills_of_process_sessions_and_server(cluster, own):
    prepare(cluster, own)
    rng = random.Random(20261124)

    def kill_head(kept):
        if kept.daemon.alive():
            kept.daemon.kill()

    def end_sessions(kept):
        own.terminate(cluster.database)

    def crash_server(kept):
        own.crash()
        kept.tend()
        own.start()

    faults = FAULTS * [kill_head, end_sessions, crash_server]
    rng.shuffle(faults)
    kept, analyzer = trickle(cluster, faults, rng)
    everyone_once(cluster, analyzer)
    # A lost session ends the process with the code that is tried again for ever.
    assert kept.codes and set(kept.codes) <= {-signal.SIGKILL, EXIT["io"]}, kept.codes


def test_every_device_is_counted_once_over_a_failover_to_the_synchronous_standby(cluster, own):
    standby = postgresql.Server(primary=own, name="one")
    try:
        own.reload(synchronous_standby_names="one")
        wait_for("the standby", lambda: own.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))
        prepare(cluster, own, synchronous_standbys=0)
        both = (f"host={own.folder},{standby.folder} port={own.port},{standby.port} user={cluster.database} "
                f"dbname={cluster.database}")
        with open(cluster.path("shuffler.conf")) as f:
            text = f.read()
        cluster.write("shuffler.conf", text.replace(own.string(cluster.database), both))

        def fail_over(kept):
            mid_round(kept)
            own.crash()
            standby.promote()

        kept, analyzer = trickle(cluster, [fail_over], random.Random(1))
        everyone_once(cluster, analyzer)
        assert EXIT["io"] in kept.codes, kept.codes
    finally:
        standby.close()


def test_standbys_that_are_demanded_must_be_there(cluster, own):
    prepare(cluster, own, synchronous_standbys=1)
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["config"] and "synchronous_standby_names" in run.stderr, run.stderr
    own.do(f"GRANT pg_monitor TO {cluster.database}")  # a commit that would wait below
    own.reload(synchronous_standby_names="one")
    shuffler = cluster.start("shuffler", "run")
    wait_for("a line", lambda: "waiting for the database" in shuffler.log())
    assert "0 synchronous standbys are connected" in shuffler.log()
    standby = postgresql.Server(primary=own, name="one")
    try:
        wait_for("the shuffler", lambda: "shuffler ready" in shuffler.log())
        shuffler.stop()
    finally:
        standby.close()


LOSES = [("synchronous_standby_names", "", "makes a commit wait for 0 standbys"), ("fsync", "off", "fsync is off"),
         ("full_page_writes", "off", "full_page_writes is off")]


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("setting, value, why", LOSES)
def test_nothing_is_acknowledged_by_a_server_that_no_longer_keeps_it(cluster, own, setting, value, why, removed):
    """A setting that was right at the start is changed while a round is open, and a client comes before anybody asks again."""
    prepare(cluster, own, synchronous_standbys=1)
    own.do(f"GRANT pg_monitor TO {cluster.database}")
    standby = postgresql.with_standby(own)
    try:
        shuffler = cluster.start("shuffler", "run", mutant="shuffler.keeps" if removed else "")
        cluster.wait_listening()
        cluster.start("analyzer", "run")
        device = Device(cluster)
        d, data = device.round()
        own.reload(**{setting: value})
        reports = [(os.urandom(32), Device.seal(d, data, 0)) for _ in range(10)]
        if removed:
            assert device.submit(d, reports) == [pb.OUTCOME_ACCEPTED] * 10 and shuffler.alive()
            return
        with pytest.raises((EOFError, OSError)):
            device.submit(d, reports)
        assert shuffler.wait() == EXIT["io"] and why in shuffler.log(), shuffler.log()
        run = cluster.run("shuffler", "run")
        assert run.returncode == EXIT["config"] and why in run.stderr, run.stderr
    finally:
        standby.close()


def test_an_intake_acknowledges_nothing_on_a_server_that_no_longer_keeps_it(cluster, own):
    cluster.own_store = True
    one_plan(cluster, 40)
    spread = Spread(cluster, intakes=1, server=own)
    spread.head(mutant="shuffler.keeps")  # it would end the round first
    spread.start()
    cluster.start("analyzer", "run")
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    wait_for("the intake", lambda: "reports are taken" in spread.daemons[0].log())
    own.reload(full_page_writes="off")
    with pytest.raises((EOFError, OSError, wire.Refused)):
        gateway.submit(d, gateway.reports(d, data, 0, 10))
    assert spread.daemons[0].wait() == EXIT["io"] and "full_page_writes is off" in spread.daemons[0].log(), spread.daemons[0].log()


def test_a_setting_that_changes_in_an_open_round_ends_the_shuffler_without_a_report(cluster, own):
    prepare(cluster, own)
    shuffler = cluster.start("shuffler", "run")
    cluster.start("analyzer", "run")
    wait_for("a round", lambda: "round open" in shuffler.log())
    own.reload(fsync="off")
    assert shuffler.wait() == EXIT["io"] and "fsync is off" in shuffler.log(), shuffler.log()


def test_a_commit_that_the_standby_never_confirmed_is_not_acknowledged(cluster, own):
    prepare(cluster, own)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    own.reload(synchronous_standby_names="nobody")
    cluster.start("client", "run")
    cluster.start("analyzer", "run", "--once")
    waiting = f"SELECT pid FROM pg_stat_activity WHERE datname = '{cluster.database}' AND wait_event = 'SyncRep'"
    wait_for("a commit that waits", lambda: own.ask(waiting))
    # The server then reports success, with a warning that it is durable here alone.
    own.do(f"SELECT pg_cancel_backend(pid) FROM ({waiting}) w")
    assert shuffler.wait() == EXIT["io"]
    assert "the server warns: canceling wait for synchronous replication" in shuffler.log()


def test_a_server_that_stands_still_is_a_fault(cluster, own):
    prepare(cluster, own)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    still = [r["pid"] for r in own.ask(f"SELECT pid FROM pg_stat_activity WHERE datname = '{cluster.database}'")]
    assert len(still) == 2
    for pid in still:
        os.kill(pid, signal.SIGSTOP)
    try:
        cluster.start("analyzer", "run", "--once")
        assert shuffler.wait() == EXIT["io"]
        assert "database: no answer in time" in shuffler.log()
    finally:
        for pid in still:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_of_the_database_loses_nothing(cluster, own):
    with postgresql.SmallDisk(own) as disk:
        prepare(cluster, own)
        started = cluster.start("shuffler", "run")
        cluster.wait_listening()
        started.stop()
        disk.begin(cluster.database)  # from here on its tables are those of rounds

        def fill(kept):
            mid_round(kept)
            disk.fill()
            wait_for("the fault", lambda: not kept.daemon.alive())
            disk.free()

        kept, analyzer = trickle(cluster, [fill], random.Random(2))
        everyone_once(cluster, analyzer)
        assert EXIT["io"] in kept.codes, kept.codes
        assert "No space left" in kept.daemon.log()
