"""Parties that have lost their state, or a round: they say so and stop, and an operator goes on by name."""
import json
import os
import subprocess

import pytest

from cluster import EXIT, program, wait_for
from parties import Shuffler
from test_rounds import histogram, readings
from wire import pb

N = 20


def plan(cluster, rounds=2):
    cluster.configure(min_batch=N, devices=N)
    readings(cluster, N)
    cluster.plan([histogram(N, 1.0, query=f"q{i + 1}", window="1h") for i in range(rounds)], epsilon=5.0)


def serve(cluster):
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    return shuffler


def one_round(cluster, budget=""):
    """Round 1 through the daemons, which are stopped then.  budget: a line of the analyzer's configuration."""
    plan(cluster)
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write(budget)
    shuffler, client = serve(cluster), cluster.start("client", "run")
    run = cluster.run("analyzer", "round", "run", "1")
    assert run.returncode == 0, run.stderr
    wait_for("the client to be through", lambda: '"round done"' in client.log())
    client.stop()
    shuffler.stop()


def lose(cluster, party, name, how):
    """Remove or empty it, and what SQLite keeps beside it; a database that stands for it has nothing left."""
    if cluster.server and (party, name) == ("shuffler", "state.db"):
        cluster.server.forget(cluster.database)
        return
    folder = cluster.path(party)
    for f in os.listdir(folder):
        if f.startswith(name):
            os.unlink(os.path.join(folder, f))
    if how == "emptied":
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o600))


def said(run):
    """The one line; a fault of the command line names its help, too."""
    lines = run.stderr.strip().splitlines()
    assert len(lines) == 1 + (run.returncode == EXIT["usage"]), run.stderr
    return lines[0]


def holds(cluster, party):
    return {f for f in os.listdir(cluster.path(party)) if f != "lock"}


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_shuffler_that_lost_its_state_does_not_start_as_new(cluster, how):
    """It would believe an older ledger."""
    one_round(cluster)
    assert "in-service" in holds(cluster, "shuffler")
    lose(cluster, "shuffler", "state.db", how)
    place = "database:" if cluster.server else cluster.path("shuffler", "state.db")
    before = holds(cluster, "shuffler")
    for _ in range(2):
        run = cluster.run("shuffler", "run")
        assert run.returncode == EXIT["data"], (run.returncode, run.stderr)
        assert place in said(run) and "accept-loss" in said(run)
    assert holds(cluster, "shuffler") == before

    # By name only, and once.
    for args in ((), ("--confirm", "another")):
        run = cluster.run("shuffler", "accept-loss", *args)
        assert run.returncode == EXIT["usage"] and "--confirm test" in said(run), run
    assert holds(cluster, "shuffler") == before
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test")
    assert run.returncode == 0 and '"level":"warn"' in run.stderr and "in-service" in run.stdout, run
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test", "--spent")
    assert run.returncode == 1 and "no loss" in said(run), run

    # What was accepted is said at every start.
    for times in (1, 2):
        shuffler = serve(cluster)
        assert shuffler.log().count("state was lost, and a new one was created") == times
        if times == 1:
            shuffler.stop()
    assert cluster.json("shuffler", "status")["ledger_seq"] == 0
    # It is no reset: the plan that the lost state had pinned is spent.  Who waits for clients: test_heads.py.
    client = cluster.start("client", "run")
    wait_for("the client's word", lambda: not cluster.json("shuffler", "status")["stated"]["waits"])
    assert client.alive()
    run = cluster.run("analyzer", "round", "run", "2")
    assert run.returncode != 0 and "a state of this shuffler that is lost: its slice is spent" in run.stderr, run.stderr
    status = cluster.json("shuffler", "status")
    assert [p["state"] for p in status["plans"]] == ["closed"] and status["population_budget"]["pinned"] == 5.0
    assert status["population_budget"]["used"] == status["population_budget"]["pinned"]


def test_after_a_loss_later_plans_get_what_is_left(cluster):
    """--ledger says how many records the lost state had seen in any case: plans after them, and after what clients have
    seen, are taken beside the closed ones."""
    budget = "budget = { epsilon = 20.0; delta = 0.0001; };\n"
    one_round(cluster, budget)
    cluster.configure(min_batch=N, delta=1e-5, epsilon=9.0)
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write(budget)
    records = cluster.json("analyzer", "budget")["ledger_seq"]
    lose(cluster, "shuffler", "state.db", "removed")
    for bad in ("0", "many", "-1"):
        run = cluster.run("shuffler", "accept-loss", "--confirm", "test", "--ledger", bad)
        assert run.returncode == EXIT["usage"], run
    run = cluster.run("shuffler", "accept-loss", "--confirm", "test", "--ledger", str(records))
    assert run.returncode == 0 and f"first {records} ledger records are closed in any case" in run.stdout, run
    serve(cluster)
    cluster.start("client", "run")
    wait_for("the client's word", lambda: not cluster.json("shuffler", "status")["stated"]["waits"])
    assert cluster.json("shuffler", "status")["stated"]["closed_to"] == records
    # 5 of 9 are spent: 5 more do not fit, 4 do.
    for epsilon, state in ((5.0, "refused: slice"), (4.0, "taken")):
        cluster.plan([histogram(N, 1.0, query="q3", window="1h")], epsilon=epsilon)
        run = cluster.run("analyzer", "run", "--once")
        shown = cluster.json("shuffler", "status")
        assert [p["state"] for p in shown["plans"]][0] == "closed" and shown["plans"][-1]["state"] == state, (run, shown)
    assert shown["population_budget"]["pinned"] == 9.0


def test_without_the_check_a_shuffler_believes_an_older_ledger(cluster):
    one_round(cluster)
    with open(cluster.path("analyzer", "ledger"), "rb") as f:
        older = f.read()
    serve(cluster)
    client = cluster.start("client", "run")
    assert cluster.run("analyzer", "round", "run", "2").returncode == 0
    client.kill()
    for d in cluster.daemons:
        if d.alive():
            d.kill()
    with open(cluster.path("analyzer", "ledger"), "wb") as f:
        f.write(older)
    lose(cluster, "shuffler", "state.db", "removed")
    shuffler = cluster.start("shuffler", "run", mutant="shuffler.in_service")
    cluster.wait_listening()
    opened = shuffler.log().count('"round open"')
    analyzer = cluster.start("analyzer", "run")
    wait_for("round 2 to be asked again",
             lambda: shuffler.log().count('"round open"') > opened or not analyzer.alive())
    assert analyzer.alive(), analyzer.log()


@pytest.mark.parametrize("how", ["removed", "emptied", "begun anew"])
def test_an_analyzer_that_lost_its_ledger_says_nothing_of_a_budget(cluster, how):
    one_round(cluster)
    keys = cluster.path("analyzer", "keys", "0" * 32 + ".key")
    with open(keys, "wb") as f:
        f.write(b"k" * 32)  # of a round that only the lost ledger knows
    lose(cluster, "analyzer", "ledger", how)
    if how == "begun anew":
        with open(cluster.path("analyzer", "ledger"), "wb") as f:
            f.write(b"tombola ledger 2\n")
    before = holds(cluster, "analyzer")
    for verb in (("run", "--once"), ("round", "run", "2"), ("round", "list"), ("budget",), ("budget", "explain"),
                 ("ledger", "verify"), ("ledger", "export"), ("estimate", "q1"),
                 ("round", "give-up", "1", "--confirm", "q1")):
        run = cluster.run("analyzer", *verb)
        assert run.returncode == EXIT["data"] and not run.stdout, (verb, run)
        assert cluster.path("analyzer", "ledger") in said(run), run
        if how != "emptied":
            assert "what was spent is not known" in said(run), run
    assert cluster.run("analyzer", "check").returncode == 2
    assert holds(cluster, "analyzer") == before and os.path.exists(keys), "what a restored ledger needs was removed"


def test_without_the_check_a_lost_ledger_gives_the_budget_back(cluster):
    one_round(cluster)
    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] > 0
    lose(cluster, "analyzer", "ledger", "removed")
    run = cluster.run("analyzer", "budget", "--json", mutant="analyzer.in_service")
    assert run.returncode == 0 and json.loads(run.stdout)["population_budget"]["pinned"] == 0, run


def test_a_client_that_lost_its_secret_does_not_make_another(cluster):
    """Under new pseudonyms its devices could take part twice.  Its ledger: test_attacks.py."""
    one_round(cluster)
    os.unlink(cluster.path("client", "gateway.key"))
    for _ in range(2):
        run = cluster.run("client", "send", cluster.path("readings.csv"), "--wait", "1s")
        assert run.returncode == EXIT["data"], (run.returncode, run.stderr)
        assert "gateway.key" in run.stderr and "restore it" in run.stderr
        assert not os.path.exists(cluster.path("client", "gateway.key"))
    serve(cluster)
    run = cluster.start("client", "run", mutant="client.secret")
    wait_for("a new secret", lambda: os.path.exists(cluster.path("client", "gateway.key")))
    run.kill()


def test_a_copy_of_the_state_alone_is_a_state(cluster):
    """Back it up, restore it elsewhere: nothing but what doc/operations.md names is needed."""
    one_round(cluster)
    for party in ("shuffler", "analyzer"):
        os.unlink(cluster.path(party, "in-service"))
        os.chmod(cluster.path(party), 0o755)
    shuffler = serve(cluster)
    cluster.start("client", "run")
    run = cluster.run("analyzer", "round", "run", "2")
    assert run.returncode == 0, run.stderr
    for party, said in (("shuffler", shuffler.log()), ("analyzer", run.stderr)):
        assert "in-service" in holds(cluster, party)
        # What is odd about it is said.
        assert "the file in-service was missing" in said and "can be looked into by others" in said, (party, said)


# ---- A round that is lost ----

class Forgetful(Shuffler):
    """Takes the charge, and then its disk is gone."""

    def on_release(self, link, m):
        self.error(link, pb.ERROR_BUSY, "not yet", 30000)


def charged(cluster):
    """Round 1 is charged at the analyzer; its shuffler is gone."""
    plan(cluster)
    fake = Forgetful(cluster)
    client = cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run")
    wait_for("the charge", lambda: '"record":"charge"' in analyzer.log())
    analyzer.kill()
    client.stop()
    fake.close()


def audit(cluster):
    export = cluster.run("analyzer", "ledger", "export").stdout
    run = subprocess.run([program("tombola-accountant"), "audit", "-"], input=export, capture_output=True, text=True)
    assert run.returncode == 0, run
    assert cluster.run("analyzer", "ledger", "verify").returncode == 0
    return [json.loads(x) for x in export.splitlines()]


def test_a_charged_round_that_the_shuffler_lost_is_given_up_and_stays_charged(cluster):
    charged(cluster)
    spent = cluster.json("analyzer", "budget")["population_budget"]["pinned"]
    assert spent > 0
    shuffler = serve(cluster)
    for _ in range(2):
        run = cluster.run("analyzer", "run", "--once")
        assert run.returncode == EXIT["protocol"], (run.returncode, run.stderr)
        assert "round give-up 1" in run.stderr.strip().splitlines()[-1], run.stderr

    # Not without its name, and no other round.
    for args, word in (((), "stays charged"), (("--confirm", "q2"), "--confirm q1")):
        run = cluster.run("analyzer", "round", "give-up", "1", *args)
        assert run.returncode == EXIT["usage"] and word in said(run), run
    run = cluster.run("analyzer", "round", "give-up", "2", "--confirm", "q2")
    assert run.returncode == 1 and "planned" in said(run), run
    run = cluster.run("analyzer", "round", "give-up", "1", "--confirm", "q1")
    assert run.returncode == 0 and "its charge stays" in run.stdout, run
    run = cluster.run("analyzer", "round", "give-up", "1", "--confirm", "q1")
    assert run.returncode == 1 and "settled" in said(run), run

    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] == spent
    last = audit(cluster)[-1]
    assert last["kind"] == "settle" and last["reason"].startswith("lost"), last
    assert " lost " in cluster.run("analyzer", "round", "list").stdout
    run = cluster.run("analyzer", "estimate", "q1")
    assert run.returncode == EXIT["data"] and "lost" in said(run), run
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["fault"].startswith("lost") and result["reports"] == result["messages"] == 0, result
    assert os.listdir(cluster.path("analyzer", "keys")), "the dialogue with the shuffler is still to come"

    cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] for r in rounds] == ["settled"] * 2 and "reason" not in rounds[1], rounds
    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] == spent, "the slice, whatever was answered"
    assert cluster.json("shuffler", "status")["ledger_seq"] == audit(cluster)[-1]["seq"] == 8
    assert os.listdir(cluster.path("analyzer", "keys")) == []
    shuffler.stop()


def test_a_running_analyzer_keeps_its_rounds(cluster):
    charged(cluster)
    analyzer = cluster.start("analyzer", "run")
    wait_for("the lock", lambda: analyzer.log().count('"analyzer started"') == 2)
    run = cluster.run("analyzer", "round", "give-up", "1", "--confirm", "q1")
    assert run.returncode == EXIT["later"], run


def test_a_reserved_round_is_void_when_it_is_given_up(cluster):
    plan(cluster)
    serve(cluster)
    analyzer = cluster.start("analyzer", "run")
    wait_for("the round to be open", lambda: cluster.json("shuffler", "status")["rounds"])
    analyzer.stop()
    run = cluster.run("analyzer", "round", "give-up", "1", "--confirm", "q1")
    assert run.returncode == 0 and "void" in run.stdout, run
    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] == 5.0, "nobody can say that it was not released"
    cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    assert [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]] == ["void", "settled"]
    audit(cluster)


@pytest.mark.parametrize("what, newest", [("keys", True), ("rounds", False)])
def test_a_shuffler_without_a_rounds_key_or_messages_gives_it_up(cluster, what, newest):
    """Copies of keys/ are not made: what doc/operations.md says to back up restores to this.  A copy does not know whether the
    round was released since, so its entry is spent."""
    cluster.configure(min_batch=N, devices=N)
    readings(cluster, N)
    cluster.plan([histogram(N, 1.0, query="q1", window="1h", target=N + 1), histogram(N, 1.0, query="q2", window="1h")],
                 epsilon=5.0)
    shuffler = serve(cluster)
    client, analyzer = cluster.start("client", "run"), cluster.start("analyzer", "run")
    wait_for("the reports", lambda: [r for r in cluster.json("shuffler", "status")["rounds"]
                                     if r["participants"] == N])
    shuffler.stop()
    run = cluster.run("shuffler", "round", "give-up", "1", "--confirm", "q1")
    assert run.returncode == 1 and "not lost" in said(run), run
    place = cluster.path("shuffler", what)
    if cluster.server and what == "rounds":
        place = "database:"
        for table in ("block", "tags"):
            name, = cluster.server.ask(f"SELECT relname FROM pg_class WHERE relname ~ '^{table}_'", cluster.database)
            cluster.server.do(f"DROP TABLE tombola.{name['relname']}", cluster.database)
        cluster.server.do("DELETE FROM tombola.data", cluster.database)
    else:
        for f in os.listdir(place):
            os.unlink(os.path.join(place, f))
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["noinput"], (run.returncode, run.stderr)
    assert "round give-up 1" in said(run) and place in said(run), run
    run = cluster.run("shuffler", "round", "give-up", "1")
    assert run.returncode == EXIT["usage"] and "--confirm q1" in said(run), run
    run = cluster.run("shuffler", "round", "give-up", "2", "--confirm", "q2")
    assert run.returncode == 1 and "no round 2" in said(run), run
    run = cluster.run("shuffler", "round", "give-up", "1", "--confirm", "q1", *(["--newest"] if newest else []))
    assert run.returncode == 0, run
    assert os.listdir(cluster.path("shuffler", "keys")) == [] and cluster.stored() == 0
    shuffler = serve(cluster)
    if not newest:
        wait_for("the second round", lambda: [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]]
                 == ["void", "settled"])
        assert '"try":2' not in shuffler.log() and analyzer.alive() and client.alive()
        audit(cluster)
        return

    # It was collecting: its try ends in a VOID manifest.  The next entry runs, and then this one's next try, in which the
    # devices take part again: they hold the manifest.
    wait_for("the second try", lambda: [r for r in cluster.json("shuffler", "status")["rounds"]
                                        if r["round"] == 3 and r["participants"] == N], 60)
    assert '"entry":1,"try":2' in shuffler.log()
    assert analyzer.alive() and client.alive()
    audit(cluster)
