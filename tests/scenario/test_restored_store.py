"""A shuffler's store that goes back while the round's key is here: restored from a copy, or failed over to a standby that lagged.
Reports that had receipts are never left out in silence, whatever the store, the copy, and how far the round had come."""
import os

import pytest

import postgresql
from cluster import BUILD, EXIT, wait_for
from spread import Spread
from test_heads import copies
from test_intakes import Gateway
from test_rounds import histogram

HAD, MORE, TARGET = 12, 20, 60

if not postgresql.programs() or not os.path.exists(os.path.join(BUILD, "libexec", "tombola", "tombola-shuffler-postgresql")):
    pytest.skip("no PostgreSQL server, or built without libpq: deploy/setup.sh test", allow_module_level=True)


class Play:
    """A cluster whose store is of some kind, with a round of a plan of two."""

    def __init__(self, cluster, kind, target=TARGET, server=None, announced=True, **keys):
        self.cluster, self.kind, self.spread, self.gateway = cluster, kind, None, None
        cluster.own_store = True
        server = server or postgresql.shared()
        if kind != "sqlite":
            cluster.use(server, **keys)
        cluster.configure(min_batch=10, devices=TARGET, epsilon=20.0)
        cluster.plan([histogram(10, 1.0, query=q, window="1h", target=target, values=["c0", "c1"]) for q in ("q1", "q2")],
                     epsilon=10.0, tries=2)
        if kind in ("intakes", "databases"):
            further = [postgresql.shared(1)] if kind == "databases" else []
            self.spread = Spread(cluster, intakes=1 + len(further), server=server, database=cluster.database, further=further)
            self.spread.write()
        self.head = cluster.start("shuffler", "run")
        self.up()
        if announced:
            self.announce()

    def announce(self):
        self.analyzer = self.cluster.start("analyzer", "run")
        self.gateway = Gateway(self.cluster, self.door())
        self.d, self.data = self.gateway.round()

    def door(self):
        """A client's reports go to the last server."""
        return self.spread.ports[-1] if self.spread else self.cluster.port

    def up(self):
        self.cluster.wait_listening()
        if self.spread:
            self.spread.start_missing(self.head)
            self.spread.ready()

    def down(self):
        if self.gateway:
            self.gateway.link.close()
        self.head.kill()
        for d in self.spread.daemons if self.spread else []:
            d.kill()

    def again(self):
        self.head.start()
        self.up()

    def report(self, first, n):
        self.gateway.until_accepted(self.door(), self.d, self.data, first, n)

    def copy(self):
        """Of what has the messages."""
        if self.kind == "sqlite":
            return copies(self.cluster, ("shuffler", "state.db"), ("shuffler/rounds", ""))
        server = self.spread.servers[-1] if self.spread else self.cluster.server
        return server.copy(self.cluster.database)

    def refused(self, why):
        """The head does not start, and says why, as check-config does."""
        runs = [self.cluster.run("shuffler", verb, seconds=60) for verb in ("run", "check-config")]
        for run in runs:
            assert run.returncode == EXIT["data"] and why in run.stderr and "round give-up 1" in run.stderr, run.stderr

    def given_up(self):
        """The operator ends the round: its entry is spent and its loss said; nobody is asked again; the next round opens."""
        run = self.cluster.run("shuffler", "round", "give-up", "1", "--confirm", "q1")
        assert run.returncode == 0, run.stderr
        self.again()
        wait_for("the next round", lambda: '"msg":"round open","round":2' in self.head.log())
        self.is_lost()

    def is_lost(self):
        one = self.cluster.json("analyzer", "round", "list")["rounds"][0]
        assert one["stage"] == "void" and "lost" in one["reason"] and '"try":2' not in self.head.log(), one
        assert not [f for f in os.listdir(self.cluster.path("shuffler", "keys")) if self.d.round_id.hex() in f]


def lost(had, acknowledged):
    return f"reports of {acknowledged} devices were acknowledged, and the store has {had} of them"


@pytest.mark.parametrize("had", [0, HAD])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "intakes", "databases"])
def test_a_copy_of_an_open_round_with_fewer_reports(cluster, kind, had):
    play = Play(cluster, kind)
    if had:
        play.report(0, had)
    play.down()
    restore = play.copy()
    play.again()
    play.report(had, MORE)
    play.down()
    restore()
    play.refused(lost(had, had + MORE))
    play.given_up()


def test_no_manifest_denies_what_was_acknowledged(cluster):
    play = Play(cluster, "sqlite")
    play.report(0, HAD)
    play.down()
    for f in os.listdir(cluster.path("shuffler", "rounds")):
        os.unlink(cluster.path("shuffler", "rounds", f))
    run = cluster.run("shuffler", "round", "give-up", "1", "--confirm", "q1", "--newest")
    assert run.returncode == 1 and f"reports of {HAD} devices were acknowledged" in run.stderr, run.stderr
    play.given_up()


def test_a_failover_to_a_standby_that_lags(cluster):
    """It has the open round, and not all of its reports.  With the standby that has them all it goes on."""
    server = postgresql.Server()
    standby = postgresql.Server(primary=server, name="one")
    try:
        play = Play(cluster, "postgresql", server=server)
        play.report(0, HAD)
        wait_for("the standby to have them", lambda: server.ask(
            "SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()"))
        play.down()
        text = open(cluster.path("shuffler.conf")).read()
        cluster.write("shuffler.conf", text.replace(server.where(), f"host={server.folder},{standby.folder} "
                                                                    f"port={server.port},{standby.port}"))
        play.again()
        standby.reload(primary_conninfo="")
        wait_for("the standby to lag", lambda: not server.ask("SELECT 1 FROM pg_stat_replication"))
        play.report(HAD, MORE)
        server.crash()
        assert play.head.wait() == EXIT["io"]
        standby.promote()
        play.refused(lost(HAD, HAD + MORE))
        # The operator brings the right server back.
        standby.stop()
        server.start()
        play.again()
        play.report(HAD, MORE)
        assert [r["participants"] for r in cluster.json("shuffler", "status")["rounds"]] == [HAD + MORE]
    finally:
        standby.close()
        server.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_without_the_check_reports_vanish(cluster, kind):
    play = Play(cluster, kind)
    play.down()
    restore = play.copy()
    play.again()
    play.report(0, MORE)
    play.down()
    restore()
    cluster.start("shuffler", "run", mutant="shuffler.stored")
    cluster.wait_listening()
    assert [r["participants"] for r in cluster.json("shuffler", "status")["rounds"]] == [0]


@pytest.mark.parametrize("phase", ["sealed", "over"])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_copy_of_an_open_round_that_went_on(cluster, kind, phase):
    """It was sealed since, or released and erased."""
    play = Play(cluster, kind, target=MORE)
    play.report(0, HAD)
    play.down()
    restore = play.copy()
    play.again()
    if phase == "sealed":
        play.analyzer.kill()
    play.report(HAD, MORE - HAD)
    wait_for("the seal", lambda: '"msg":"round sealed","round":1' in play.head.log())
    if phase == "over":
        wait_for("the erasure", lambda: not [f for f in os.listdir(cluster.path("shuffler", "keys")) if play.d.round_id.hex() in f])
        play.analyzer.kill()
    play.down()
    restore()
    run = cluster.run("shuffler", "run")
    says = (EXIT["data"], "it was sealed") if phase == "sealed" else (EXIT["noinput"], "round 1 cannot go on")
    assert run.returncode == says[0] and says[1] in run.stderr and "round give-up 1" in run.stderr, run.stderr


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "intakes"])
def test_a_copy_of_before_the_round(cluster, kind, noted):
    """The round ends as lost, also when its analyzer does not know that it had announced it."""
    play = Play(cluster, kind, announced=False)
    play.down()
    restore = play.copy()
    play.again()
    play.announce()
    play.report(0, MORE)
    play.down()
    play.analyzer.stop()
    if not noted:
        os.unlink(cluster.path("analyzer", "announced"))
    restore()
    play.again()
    play.analyzer.start()
    wait_for("the next round", lambda: '"msg":"round open","round":2' in play.head.log())
    assert "reports that were acknowledged are lost" in play.head.log()
    play.is_lost()
