"""What who holds an intake may do in the head's database: its role adds reports to the open round, and changes, deletes and
reads nothing else.  Head and intake refuse a role that may more, in one line."""
import json
import subprocess

import pytest

import postgresql
from cluster import EXIT, program, wait_for
from spread import Spread
from test_intakes import Gateway, exactly, one_plan, settled, two_gateways
from test_metrics import values
from test_rounds import histogram

if not postgresql.programs():
    pytest.skip("no PostgreSQL server: deploy/setup.sh test", allow_module_level=True)


@pytest.fixture
def spread(cluster):
    """Two intakes, not started, on a server of this test's own; what is made by hand here is the head's role's."""
    server = postgresql.Server()
    one_plan(cluster, 40)
    yield Spread(cluster, server=server)
    server.close()


def as_intake(spread, text):
    """The SQLSTATE with which the server refuses this statement of an intake's role; "" if it does not."""
    run = subprocess.run(spread.server.psql(spread.database, "-At", "-v", "VERBOSITY=sqlstate", "-c", text, role=spread.role),
                         capture_output=True, text=True)
    return run.stderr.split()[-1] if run.returncode else ""


def tables(spread):
    return {t["relname"] for t in spread.server.ask(
        "SELECT relname FROM pg_class WHERE relnamespace = 'tombola'::regnamespace AND relkind = 'r'", spread.database)}


def denied(spread, text):
    """insufficient_privilege, and nothing else."""
    assert as_intake(spread, text) == "42501", text


def half_full(cluster, spread):
    """Head, one intake and analyzer, and a round of which 20 devices of 40 are stored."""
    head = spread.head()
    spread.start(0)
    analyzer = cluster.start("analyzer", "run")
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    return head, analyzer, gateway, d, data


def sealed(spread, analyzer, gateway, d, data):
    """The others come, and the round is sealed; the analyzer is stopped, so that it stays and its tables can be looked at."""
    analyzer.stop()
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    wait_for("the seal", lambda: spread.server.ask("SELECT state FROM tombola.round WHERE state = 2", spread.database))


def table(spread, kind):
    return next(t for t in tables(spread) if t.startswith(kind + "_"))


def open_session(spread, text, mode, locked):
    """A session of the intakes' role that has run this, and keeps its lock on a table."""
    held = spread.server.session(text, spread.database, spread.role)
    wait_for("the lock", lambda: spread.server.ask(
        f"SELECT 1 FROM pg_locks WHERE relation = 'tombola.{locked}'::regclass AND mode = '{mode}' AND granted", spread.database))
    return held


def intake_says(spread, verb="intake", i=0):
    """How an intake's start, or another verb of it, ends: its code and its line."""
    run = subprocess.run([program("tombola-shuffler"), "--config", spread.cluster.path(f"intake{i}.conf"), *verb.split()],
                         capture_output=True, text=True, timeout=180)
    return run.returncode, run.stderr


def test_a_round_with_two_intakes_under_their_own_role(cluster):
    spread = two_gateways(cluster)
    head = spread.head()
    spread.start()
    who = {r["usename"] for r in spread.server.ask(
        f"SELECT usename FROM pg_stat_activity WHERE datname = '{spread.database}' AND application_name LIKE 'tombola%'")}
    assert who == {spread.database, spread.role}
    clients = [spread.start_client("client"), spread.start_client("client2")]
    cluster.start("analyzer", "run")
    settled(cluster)
    exactly(cluster, 600)
    # Both certificates and their gateways have taken part, as an intake has noted and the head reads.
    assert spread.server.ask("SELECT sequence FROM tombola.standing", spread.database) == [{"sequence": 1}] * 4
    for d in (*clients, head):
        assert d.alive(), d.log()


def test_the_server_refuses_an_intake_all_but_adding_to_the_open_round(cluster, spread):
    _, _, gateway, d, data = half_full(cluster, spread)
    there = tables(spread)
    block, tags = sorted(t for t in there if t.startswith(("block_", "tags_")))
    assert len(there) == 13, there
    for t in there:
        for text in ("DELETE FROM tombola.{0}", "TRUNCATE tombola.{0}", "DROP TABLE tombola.{0}",
                     "ALTER TABLE tombola.{0} ADD x int", "BEGIN; LOCK TABLE tombola.{0} IN SHARE MODE",
                     "CREATE INDEX ON tombola.{0} ((1))", "CREATE TRIGGER t BEFORE INSERT ON tombola.{0} "
                     "EXECUTE FUNCTION suppress_redundant_updates_trigger()"):
            denied(spread, text.format(t))
        column = spread.server.ask(f"SELECT attname FROM pg_attribute WHERE attrelid = 'tombola.{t}'::regclass AND attnum = 1",
                                   spread.database)[0]["attname"]
        denied(spread, f"UPDATE tombola.{t} SET {column} = {column}")
        if t not in ("data", "place", tags):
            denied(spread, f"SELECT * FROM tombola.{t}")
        if t not in (block, tags):
            denied(spread, f"INSERT INTO tombola.{t} SELECT")
    for text in ("CREATE TABLE tombola.x()", "CREATE SCHEMA x", f"SET ROLE {spread.database}", "SELECT pg_read_file('/etc/passwd')",
                 f"GRANT {spread.database} TO {spread.role}", "COPY tombola.data TO PROGRAM 'cat'",
                 f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{spread.database}'"):
        denied(spread, text)
    # What it may.
    for text in ("SELECT version FROM tombola.meta", "SELECT * FROM tombola.data", "SELECT * FROM tombola.place",
                 f"SELECT * FROM tombola.{tags}"):
        assert as_intake(spread, text) == "", text
    assert as_intake(spread, f"BEGIN; INSERT INTO tombola.{block} VALUES (0, 1, '\\x00'); ROLLBACK") == ""
    # The head stores standings; there is no function by which an intake could.
    assert spread.server.ask("SELECT proname FROM pg_proc WHERE pronamespace = 'tombola'::regnamespace", spread.database) == []
    assert spread.server.ask("SELECT sequence FROM tombola.standing", spread.database) == [{"sequence": 1}]
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)


def two_rounds(cluster):
    cluster.plan([histogram(40, 1.0, q, target=40, values=["c0", "c1"], window="1h") for q in ("one", "two")], epsilon=4.0)


# A block that no key opens; one that has another's number; tags, with a false number of runs, that say that these are all devices.
JUNK = {"block": "INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')",
        "double": "INSERT INTO tombola.{block} VALUES ({bucket}, {id}, '\\x00')",
        "tags": "INSERT INTO tombola.{tags} VALUES (1, 99, 20, '\\x00')"}


@pytest.mark.parametrize("junk", JUNK)
def test_a_row_that_a_role_adds_costs_its_round_and_nothing_else(cluster, spread, junk):
    """The round is named.  The head starts again and goes on, and so do an intake and the round that follows."""
    two_rounds(cluster)
    head, analyzer, gateway, d, data = half_full(cluster, spread)
    block, tags = sorted(t for t in tables(spread) if t.startswith(("block_", "tags_")))
    first = spread.server.ask(f"SELECT bucket, id FROM tombola.{block} LIMIT 1", spread.database)[0]
    assert as_intake(spread, JUNK[junk].format(block=block, tags=tags, **first)) == ""
    head.kill()
    head = spread.head()
    if junk != "tags":  # it is read with the other blocks, when the round is full
        spread.ready(0)
        gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    wait_for("the end of the round", lambda: '"round lost: ' in head.log() or not head.alive())
    lost = next(x for x in map(json.loads, head.log().splitlines()) if x["msg"].startswith("round lost: "))
    assert (lost["level"], lost["round"], lost["query"]) == ("error", 1, "one"), lost
    counted = values(cluster, "shuffler")
    assert [counted[("tombola_shuffler_rounds_total", e)] for e in ("lost", "void", "sealed")] == [1, 0, 0]
    spread.ready(0)
    gateway.dial(spread.ports[0])
    d, data = gateway.round(after=d.sequence)
    gateway.sealed.clear()
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    wait_for("the plan's end", lambda: '"the plan is through"' in analyzer.log())
    exactly(cluster, 40, 2)
    assert head.alive() and spread.daemons[0].alive()


def test_without_the_check_a_row_of_a_role_keeps_the_head_from_starting(cluster, spread):
    """Then the round is named, and can be given up."""
    head = spread.head()
    spread.start(0)
    cluster.start("analyzer", "run")
    Gateway(cluster, spread.ports[0]).round()
    tags = table(spread, "tags")
    assert as_intake(spread, JUNK["tags"].format(tags=tags, block="")) == ""
    head.kill()
    run = cluster.run("shuffler", "run", mutant="shuffler.damage")
    assert run.returncode == EXIT["data"] and "`tombola-shuffler round give-up 1`" in run.stderr, run.stderr


def test_a_released_round_whose_block_alone_is_damaged_is_given_up(cluster, spread):
    """Nobody but the database can damage it then.  The head goes on, names the round, and starts again; who has a copy of the block
    puts it back, and who has none gives the round up, which is refused as long as all can be read."""
    two_rounds(cluster)
    head, analyzer, gateway, d, data = half_full(cluster, spread)
    block = table(spread, "block")
    sealed(spread, analyzer, gateway, d, data)
    head.stop()
    give_up = lambda: cluster.run("shuffler", "round", "give-up", "1", "--confirm", "one")
    assert "it is not lost" in give_up().stderr
    spread.server.do(f"UPDATE tombola.{block} SET body = set_byte(body, 20, get_byte(body, 20) # 1)", spread.database)
    for times in (1, 2):
        head = spread.head()
        analyzer.start()
        wait_for("the damage", lambda: head.log().count("round give-up 1") == times or not head.alive())
        said = [x for x in map(json.loads, head.log().splitlines()) if x["level"] == "error"][-1]
        assert said["round"] == 1 and said["query"] == "one" and "a stored block is damaged" in said["reason"], said
        assert head.alive() and analyzer.alive()
        analyzer.stop()
        head.stop()
    run = give_up()
    assert run.returncode == 0 and "round 1 (one) is given up" in run.stdout, run.stderr
    spread.head()


def test_one_of_two_intakes_is_revoked_and_the_other_goes_on(cluster, spread):
    """Each has a login role of its own in the group, which has none; the stolen one's open session does not keep the round open."""
    group = spread.role
    spread.server.do(f"ALTER ROLE {group} NOLOGIN")
    roles = []
    for i in (0, 1):
        spread.role = spread.server.create_member(group, f"m{i}")
        spread.configure(i)
        roles.append(spread.role)
    spread.server.do(f"REVOKE {roles[1]} FROM {spread.database}")
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["config"] and f'GRANT "{roles[1]}" TO "{spread.database}"' in run.stderr, run.stderr
    spread.server.do(f"GRANT {roles[1]} TO {spread.database}; GRANT pg_read_all_data TO {roles[1]}")
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["config"] and f"{roles[1]} is a member of pg_read_all_data" in run.stderr, run.stderr
    spread.server.do(f"REVOKE pg_read_all_data FROM {roles[1]}")
    head = spread.head()
    spread.start()
    analyzer = cluster.start("analyzer", "run")
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 20)
    block = table(spread, "block")
    held = open_session(spread, f"BEGIN; INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')", "RowExclusiveLock", block)
    # As doc/operations.md has it.
    spread.server.do(f"ALTER ROLE {roles[1]} NOLOGIN; REVOKE {group} FROM {roles[1]}")
    spread.server.do(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{roles[1]}'")
    said = held.communicate("COMMIT;\n", timeout=180)[1]
    assert "terminating connection" in said or "server closed" in said, said
    assert subprocess.run(spread.server.psql(spread.database, "-c", "SELECT 1", role=roles[1]), capture_output=True).returncode
    # One that nobody has revoked yet is ended by the head, when the round closes.
    spread.role = roles[0]
    held = open_session(spread, f"BEGIN; INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')", "RowExclusiveLock", block)
    gateway.until_accepted(spread.ports[0], d, data, 20, 20)
    settled(cluster)
    exactly(cluster, 40)
    said = held.communicate("COMMIT;\n", timeout=180)[1]
    assert "terminating connection" in said or "server closed" in said, said
    assert head.alive() and analyzer.alive() and spread.daemons[0].alive()


def test_nothing_of_an_intake_comes_into_a_round_that_has_closed(cluster, spread):
    """Also of one that took no lock: a session that has written and not committed is ended."""
    _, analyzer, gateway, d, data = half_full(cluster, spread)
    block = table(spread, "block")
    held = open_session(spread, f"BEGIN; INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')", "RowExclusiveLock", block)
    sealed(spread, analyzer, gateway, d, data)
    said = held.communicate("COMMIT;\n", timeout=180)[1]
    assert "terminating connection" in said or "server closed" in said, said
    denied(spread, f"INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')")
    denied(spread, f"SELECT * FROM tombola.{block.replace('block', 'tags')}")
    analyzer.start()
    settled(cluster)
    exactly(cluster, 40)


def test_a_lock_that_needs_no_right_does_not_keep_a_round_from_being_erased(cluster, spread):
    """PostgreSQL locks the tables of a prepared statement before it looks at rights."""
    head, analyzer, gateway, d, data = half_full(cluster, spread)
    block = table(spread, "block")
    sealed(spread, analyzer, gateway, d, data)
    held = open_session(spread, f"BEGIN; PREPARE p AS SELECT FROM tombola.{block}", "AccessShareLock", block)
    analyzer.start()
    settled(cluster)
    exactly(cluster, 40)
    wait_for("the erasure", lambda: block not in tables(spread))
    assert head.alive(), head.log()
    held.communicate(timeout=180)


def test_an_intake_whose_epoch_ends_as_it_begins_lives_on(cluster, spread):
    """As when the round closes then: what the head granted is taken back before the tags are read."""
    spread.head()
    spread.server.do(f"""CREATE FUNCTION take_back() RETURNS event_trigger LANGUAGE plpgsql AS $$
        DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE relname LIKE 'tags\\_%' AND relkind = 'r' LOOP
        EXECUTE format('REVOKE ALL ON tombola.%I FROM {spread.role}', t); END LOOP; END $$;
        CREATE EVENT TRIGGER take_back ON ddl_command_end WHEN TAG IN ('GRANT') EXECUTE FUNCTION take_back()""", spread.database)
    spread.start(0)
    cluster.start("analyzer", "run")
    intake = spread.daemons[0]
    wait_for("the intake to be denied", lambda: "reports are not taken for now" in intake.log() or not intake.alive())
    assert intake.alive() and "is over" in intake.log(), intake.log()
    spread.server.do("DROP EVENT TRIGGER take_back", spread.database)
    spread.start(1)  # another epoch
    gateway = Gateway(cluster, spread.ports[0])
    d, data = gateway.round()
    gateway.until_accepted(spread.ports[0], d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)


def test_what_an_intake_says_of_devices_ends_no_head(cluster, spread):
    head, _, gateway, d, data = half_full(cluster, spread)
    tags = table(spread, "tags")
    epoch = lambda: spread.server.ask("SELECT epoch FROM tombola.data", spread.database)[0]["epoch"]
    before = epoch()
    most = 2**63 - 1
    assert as_intake(spread, f"INSERT INTO tombola.{tags} VALUES (1, 0, {-most}, '\\x00'), "
                             f"(2, 0, {-most}, '\\x00')") == ""
    spread.start_one(1)
    wait_for("another epoch", lambda: epoch() > before or not head.alive())
    assert head.alive(), head.log()


@pytest.mark.parametrize("next_role", [True, False])
def test_a_role_that_is_the_intakes_no_more_has_no_rights(cluster, spread, next_role):
    """Also where the head takes the reports itself from now on."""
    head, _, gateway, d, data = half_full(cluster, spread)
    block, tags = sorted(t for t in tables(spread) if t.startswith(("block_", "tags_")))
    held = open_session(spread, f"BEGIN; INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')", "RowExclusiveLock", block)
    spread.daemons[0].stop()
    head.stop()
    former, spread.role = spread.role, "later"
    with open(cluster.path("shuffler.conf")) as f:
        conf = f.read()
    if next_role:
        spread.server.do(f"CREATE ROLE later LOGIN; GRANT later TO {spread.database}")
        conf = conf.replace(f'"{former}"', '"later"')
    else:
        conf = conf.replace("intakes = true;", "").replace(f'intake_role = "{former}";', "")
    cluster.write("shuffler.conf", conf)
    spread.head()
    said = held.communicate("COMMIT;\n", timeout=180)[1]
    assert "terminating connection" in said or "server closed" in said, said
    spread.role = former
    for text in ("SELECT version FROM tombola.meta", "SELECT * FROM tombola.data", f"SELECT * FROM tombola.{tags}",
                 f"INSERT INTO tombola.{block} VALUES (0, 1, '\\x00')"):
        denied(spread, text)
    port = cluster.port
    if next_role:
        spread.role, port = "later", spread.ports[0]
        spread.configure(0)
        spread.start(0)
    gateway.until_accepted(port, d, data, 0, 40)
    settled(cluster)
    exactly(cluster, 40)


EXCESS = [
    ("ALTER ROLE {i} SUPERUSER", "is a superuser"),
    ("ALTER ROLE {i} CREATEROLE", "may create roles"),
    ("ALTER ROLE {i} REPLICATION", "may read the server's log"),
    ("GRANT pg_read_all_data TO {i}", "is a member of pg_read_all_data"),
    ("GRANT pg_execute_server_program TO {i}", "is a member of pg_execute_server_program"),
    ("CREATE ROLE among; GRANT pg_signal_backend TO among; GRANT among TO {i}", "is a member of pg_signal_backend"),
    ("GRANT CREATE ON SCHEMA tombola TO {i}", "may CREATE in schema tombola"),
    ("GRANT DELETE, UPDATE ON tombola.data TO {i}", "may DELETE, UPDATE on tombola.data"),
    ("GRANT SELECT ON tombola.record TO PUBLIC", "may SELECT on tombola.record"),
    ("GRANT UPDATE (closed) ON tombola.data TO {i}", "may UPDATE on tombola.data"),
    ("CREATE ROLE beside NOINHERIT; GRANT TRUNCATE ON tombola.payload TO beside; GRANT beside TO {i}",
     "may TRUNCATE on tombola.payload"),
    ("ALTER DEFAULT PRIVILEGES FOR ROLE {h} GRANT DELETE ON TABLES TO {i}", "gets rights on each new table"),
    ("ALTER DEFAULT PRIVILEGES FOR ROLE {h} IN SCHEMA tombola GRANT SELECT ON TABLES TO PUBLIC", "gets rights on each new table"),
    ("ALTER DATABASE {d} OWNER TO {i}", "which owns this database"),
    ("ALTER SCHEMA tombola OWNER TO {i}", "which owns schema tombola"),
]


def test_a_role_that_may_more_is_refused_by_head_and_intake(cluster, spread):
    head = spread.head()
    head.stop()
    for text, why in EXCESS:
        server, confs = spread.server, {}
        server.do(f"CREATE DATABASE copy TEMPLATE {spread.database} OWNER {spread.database}")
        server.do("; ".join(["BEGIN", text.format(i=spread.role, d="copy", h=spread.database), "COMMIT"]), "copy")
        try:
            for name in ("intake0.conf", "shuffler.conf"):
                with open(cluster.path(name)) as f:
                    confs[name] = f.read()
                cluster.write(name, confs[name].replace(f"dbname={spread.database}", "dbname=copy"))
            code, said = intake_says(spread)
            assert code == EXIT["permission"] and said.count("\n") == 1 and why in said, (text, said)
            for verb in ("run", "check-config"):
                run = cluster.run("shuffler", verb)
                assert run.returncode == EXIT["config"] and why in run.stderr and run.stderr.count("\n") == 1, (text, run.stderr)
        finally:
            for name, conf in confs.items():
                cluster.write(name, conf)
            server.do("DROP DATABASE copy WITH (FORCE)")
            server.do(f"ALTER ROLE {spread.role} NOSUPERUSER NOCREATEROLE NOREPLICATION")
            for group in ("pg_read_all_data", "pg_execute_server_program"):
                server.do(f"REVOKE {group} FROM {spread.role}")
            server.do("DROP ROLE IF EXISTS among, beside")
    # As it was.
    spread.configure(0)
    head.start()
    spread.start(0)


def test_a_role_that_is_missing_or_is_the_heads_is_named(cluster, spread):
    with open(cluster.path("shuffler.conf")) as f:
        conf = f.read()
    for change, why in ((("intake_role = ", "# "), "intakes: true needs the key intake_role"),
                        ((spread.role, "nobody"), "the server has no role nobody"),
                        ((f'"{spread.role}"', f'"{"x" * 64}"'), "1 to 63 bytes"),
                        (("intakes = true", "intakes = false"), "intake_role: only for intakes = true")):
        cluster.write("shuffler.conf", conf.replace(*change))
        for verb in ("run", "check-config"):
            run = cluster.run("shuffler", verb)
            assert run.returncode == EXIT["config"] and run.stderr.count("\n") == 1 and why in run.stderr, run.stderr
    cluster.write("shuffler.conf", conf)
    spread.server.do(f"REVOKE {spread.role} FROM {spread.database}")
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["config"] and f'GRANT "{spread.role}" TO "{spread.database}"' in run.stderr, run.stderr
    spread.server.do(f"GRANT {spread.role} TO {spread.database}")
    # Before the head's first start, and of a role to which it has granted nothing.
    code, said = intake_says(spread)
    assert code == EXIT["later"] and "the head has made no tables yet" in said, said
    spread.head()
    mine, spread.role = spread.role, "stranger"
    spread.server.do("CREATE ROLE stranger LOGIN")
    spread.configure(0)
    code, said = intake_says(spread)
    assert code == EXIT["permission"] and "start the head with `intake_role` set to it" in said, said
    spread.role = spread.database
    spread.configure(0)
    code, said = intake_says(spread)
    assert code == EXIT["permission"] and "owns schema tombola" in said, said
    spread.role = mine
    spread.configure(0)
    spread.start(0)


def test_check_config_says_every_fault_of_an_intake(cluster, spread):
    code, said = intake_says(spread, "check-config intake")
    assert code == 0 and "the head has made no tables yet: start it first: the role's rights are not looked at" in said, said
    spread.head()
    code, said = intake_says(spread, "check-config intake")
    assert (code, said) == (0, ""), said
    code, said = intake_says(spread, "check-config policy")
    assert code == EXIT["usage"], said
    # Several at once, each on a line.
    spread.server.do(f"ALTER ROLE {spread.role} CREATEROLE; GRANT DELETE ON tombola.round TO {spread.role}", spread.database)
    spread.configure(0, certificate="pki/shuffler/shuffler", head="x")
    code, said = intake_says(spread, "check-config intake")
    assert code == EXIT["config"], said
    path, lines = cluster.path("intake0.conf"), said.splitlines()
    assert lines[0].startswith(f"{path}:2: "), said
    assert any(line.startswith(f"{path}:5: ") and "role shuffler; must be intake" in line for line in lines), said
    assert any("may create roles" in line for line in lines) and any("may DELETE on tombola.round" in line for line in lines), said
    # Each of those alone ends with its code.
    spread.configure(0)
    code, said = intake_says(spread, "check-config intake")
    assert code == EXIT["permission"] and said.count("\n") == 2, said
    spread.server.stop("fast")
    code, said = intake_says(spread, "check-config intake")
    assert code == 0 and "the role's rights are not looked at" in said, said
