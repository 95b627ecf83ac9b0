"""docker-compose.yml's profile `postgresql`, as it stands: its services' commands, files, rights and networks, a plan through all of
them, and the end of the database's first server in the middle of it."""
import json

import pytest

import hosts
import postgresql
from cluster import wait_for
from containers import Compose

DAYS = 1461  # of the demo's data that needs no network: each is a device
pytestmark = pytest.mark.heavy


@pytest.fixture
def compose(tmp_path):
    why = hosts.may() or ("" if postgresql.programs() else "no PostgreSQL server: deploy/setup.sh test")
    if why:
        pytest.skip(why)
    made = Compose(tmp_path, "postgresql")
    try:
        yield made
    finally:
        made.close()


def analyzer(compose, *args):
    run = compose.services["analyzer-postgresql"].exec("tombola-analyzer", "--config", "/usr/share/tombola/demo/analyzer.conf",
                                                       *args, "--json")
    return json.loads(run.stdout) if run.returncode == 0 else {}


def settled(compose, n):
    def done():
        compose.tend()
        return sum(r["stage"] == "settled" for r in analyzer(compose, "round", "list").get("rounds", [])) >= n
    wait_for(f"{n} rounds to be settled", done)


def reaches(service, address, port):
    return service.exec("timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}").returncode == 0


def check_networks(s):
    """Who is to reach a service does, who is not to does not; the database takes nobody without a certificate of its own CA."""
    for mine, other in (("client1", "intake1"), ("client1", "intake2"), ("client2", "intake1"), ("intake1", "head"),
                        ("analyzer-postgresql", "shuffler")):
        assert reaches(s[mine], other, 7443), (mine, other)
    for mine, others in (("client1", ("head", "database", "analyzer-postgresql")), ("analyzer-postgresql", ("intake1", "database")),
                         ("database", ("client1", "analyzer-postgresql"))):
        for other in others:
            for address in s[other].at.values():
                assert not any(reaches(s[mine], address, port) for port in (7443, 5432, 9464, 9465, 9466)), (mine, other)
    ask = "host=database dbname=tombola user=tombola-shuffler sslmode={} sslrootcert=/pki/database/ca.crt"
    mine = " sslcert=/pki/database/client.crt sslkey=/pki/database/client.key"
    for text, said in ((ask.format("verify-full") + mine, ""), (ask.format("verify-full"), "requires a valid client certificate"),
                       (ask.format("disable"), "no pg_hba.conf entry"),
                       (ask.format("verify-full").replace("tombola-shuffler", "postgres") + mine, "no pg_hba.conf entry"),
                       (ask.format("verify-full").replace("tombola-shuffler", "replicator") + mine, "no pg_hba.conf entry"),
                       (ask.format("verify-full").replace("tombola-shuffler", "tombola-intake-1") + mine, "certificate authentication failed")):
        run = s["head"].exec("psql", "-XAtc", "SELECT 1", text)
        assert (run.returncode == 0) == (not said) and said in run.stderr, run


def check_rights(s):
    """A role owns its database and nothing else; a container has its own keys alone."""
    ask = ("psql", "-XAt", "-h", "/tmp", "-U", "postgres", "-c")
    roles = s["database"].exec(*ask, "SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls, rolreplication "
                               "FROM pg_roles WHERE rolcanlogin AND rolname <> 'postgres' ORDER BY 1").stdout
    assert roles == "replicator|f|t\ntombola-intake-1|f|f\ntombola-intake-2|f|f\ntombola-shuffler|f|f\n", roles
    standby = s["database"].exec(*ask, "SELECT application_name, sync_state, ssl FROM pg_stat_replication JOIN pg_stat_ssl USING (pid)")
    assert standby.stdout == "standby|sync|t\n", standby
    for name in ("head", "intake1", "intake2", "client1", "client2", "analyzer-postgresql", "database", "standby"):
        keys = s[name].exec("sh", "-c", "find /pki -name '*.key' | cut -d / -f 3 | sort -u | xargs").stdout.split()
        mounted = sorted(v.split(":")[1].removeprefix("/pki/") for v in s[name].said["volumes"] if ":/pki/" in v)
        assert keys == mounted, (name, keys)
        assert s[name].exec("sh", "-c", ": >/pki/x").returncode != 0


def test_the_profile_postgresql_and_a_failover(compose):
    s = compose.services
    compose.up()
    for name in ("intake1", "intake2", "client1", "client2", "analyzer-postgresql"):
        compose.hold(s[name], "service_healthy")
    for name, party in (("head", "shuffler"), ("analyzer", "analyzer"), ("client1", "client"), ("client2", "client")):
        host = s["analyzer-postgresql" if name == "analyzer" else name]
        run = host.exec(f"tombola-{party}", "--config", f"/usr/share/tombola/demo/{name}.conf", "check-config")
        assert run.returncode == 0, (name, run)
    check_networks(s)
    check_rights(s)

    # The host of the first server is gone in the middle of the plan: the standby takes over, and a new server follows it.
    settled(compose, 2)
    s["database"].stop()
    promoted = s["standby"].exec("pg_ctl", "promote", "-D", "/var/lib/database/data")
    assert promoted.returncode == 0, promoted
    compose.lose("database-state")
    s["database"].start(["/usr/share/tombola/database.sh", "follow", "standby", "database"])
    settled(compose, 5)
    shown = analyzer(compose, "round", "list")["rounds"]
    assert [r["stage"] for r in shown] == ["settled"] * 5 + ["refused"], shown
    for number in range(1, 6):
        result = analyzer(compose, "round", "show", str(number))["result"]
        assert result["participants"] == result["reports"] == DAYS and result["duplicates"] == result["bad"] == 0, result
