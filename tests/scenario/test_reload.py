"""SIGHUP: policies and plans are read again where nothing that is open changes by it, and a line says what waits and why."""
import json
import re
import signal
import threading

import pytest

from cluster import EXIT, wait_for
from spread import Spread
from test_rehearse import change, deployed, line_of, rehearse
from test_rounds import COLOURS, histogram, readings

TAKEN = "a changed key of the policy is taken up"
WAITS = "a changed key of the policy waits until the round is over, or for a restart"
RESTART = "a changed key is not taken up: it waits for a restart"


def lines(daemon, msg):
    return [json.loads(line) for line in daemon.log().splitlines() if f'"msg":"{msg}' in line]


def reload(daemon, msg="policy reloaded"):
    """Send SIGHUP, and wait for one more line with this message: that line."""
    seen = len(lines(daemon, msg))
    daemon.process.send_signal(signal.SIGHUP)
    return wait_for(f"{msg} in {daemon.log_path}", lambda: lines(daemon, msg)[seen:])[0]


def asked(cluster):
    """Nothing signs but `plan sign`."""
    change(cluster, "analyzer.conf", '^sign = "at-start";$', "")


def stages(cluster):
    run = cluster.run("analyzer", "round", "list", "--json")
    return [r["stage"] for r in json.loads(run.stdout)["rounds"]] if run.returncode == 0 else []


def kinds(cluster):
    run = cluster.run("analyzer", "ledger", "export")
    assert run.returncode == 0, run.stderr
    return [json.loads(line)["kind"] for line in run.stdout.splitlines()]


# ---- policies ---------------------------------------------------------------------------------------------------------


def test_the_evening_again_without_a_restart(cluster):
    """A client's min_batch is wrong: the rehearsal says so, the file is mended, and after a reload it is what happens."""
    n = 40
    deployed(cluster)
    asked(cluster)
    change(cluster, "client-policy.conf", "^min_batch.*$", "min_batch = 10000;")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    cluster.start("analyzer", "run")
    wait_for("the client to connect", lambda: '"connected"' in client.log())
    run = rehearse(cluster)
    line = line_of(cluster, "client-policy.conf", "min_batch")
    assert run.returncode == EXIT["config"] and f"client-policy.conf:{line}: " in run.stdout, run.stdout
    assert cluster.run("analyzer", "plan", "sign", "--yes").returncode == EXIT["config"]
    change(cluster, "client-policy.conf", "^min_batch.*$", f"min_batch = {n};")
    assert reload(client)["changed"] == 1
    taken, = lines(client, TAKEN)
    assert (taken["key"], taken["in_force"], taken["file_has"]) == ("min_batch", "10000", str(n)), taken
    wait_for("a rehearsal that fits", lambda: rehearse(cluster).returncode == 0)
    assert kinds(cluster) == []
    wait_for("the signature", lambda: cluster.run("analyzer", "plan", "sign", "--yes").returncode == 0)
    wait_for("the result", lambda: stages(cluster) == ["settled"])
    assert cluster.json("analyzer", "round", "show", "1")["result"]["participants"] == n


def test_a_tightened_policy_of_the_shuffler_judges_the_next_round(cluster):
    n = 20
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n, query=f"colour{i}") for i in range(2)], epsilon=5.0)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    assert cluster.run("analyzer", "round", "run", "1").returncode == 0
    change(cluster, "shuffler-policy.conf", "^min_batch.*$", f"min_batch = {n + 1};")
    reload(shuffler)
    run = cluster.run("analyzer", "round", "run", "2")
    assert run.returncode != 0 and f"min_batch is {n + 1}" in run.stderr, run
    assert any('"warn"' in line and f"min_batch is {n + 1}" in line for line in shuffler.log().splitlines()), shuffler.log()
    change(cluster, "shuffler-policy.conf", "^min_batch.*$", f"min_batch = {n};")
    reload(shuffler)
    run = cluster.run("analyzer", "round", "run", "2")
    assert run.returncode == 0, run
    assert [(x["in_force"], x["file_has"]) for x in lines(shuffler, TAKEN)] == [(str(n), str(n + 1)), (str(n + 1), str(n))]


def in_a_round(cluster, mutant=""):
    """A client that is sending the reports of its first round when its policy is tightened and loosened: its log at the end."""
    n = 6
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n, query=f"colour{i}") for i in range(2)], epsilon=5.0)
    with open(cluster.path("client.conf"), "a") as f:
        f.write('connections = 1; frame_devices = 1; spread = "4s";\n')
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run", mutant=mutant)
    wait_for("the client to connect", lambda: '"connected"' in client.log())
    cluster.start("analyzer", "run")
    wait_for("sealed reports", lambda: cluster.json("client", "status")["stored"] > 0)
    change(cluster, "client-policy.conf", "^max_epsilon0.*$", "max_epsilon0 = 60.0;\nqueries = [ \"colour0\" ];")
    client.process.send_signal(signal.SIGHUP)
    wait_for("the end of both rounds", lambda: "'colour1' is not among the allowed queries" in client.log())
    return client


def test_a_policy_waits_for_the_end_of_the_clients_round(cluster):
    client = in_a_round(cluster)
    log = client.log()
    assert [(x["level"], x["key"], x["in_force"], x["file_has"]) for x in lines(client, WAITS)] == [
        ("warn", "max_epsilon0", "50", "60"), ("warn", "queries", "[]", '["colour0"]')], log
    assert log.index(WAITS) < log.index('"round done"') < log.index("policy reloaded") < log.index("allowed queries"), log
    status = cluster.json("client", "status")
    assert [x["kind"] for x in status["ledger"]].count("charged") == 1, status


def test_without_the_wait_the_policy_changes_in_a_round(cluster):
    log = in_a_round(cluster, mutant="client.policy.waits").log()
    assert log.index("policy reloaded") < log.index('"round done"'), log


def test_a_refused_round_that_is_still_open_is_taken_part_in_after_all(cluster):
    n = 20
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n)], epsilon=3.0)
    change(cluster, "client-policy.conf", "^min_batch.*$", f"min_batch = {n + 1};")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    cluster.start("analyzer", "run")
    wait_for("the refusal", lambda: f"min_batch is {n + 1}" in client.log())
    change(cluster, "client-policy.conf", "^min_batch.*$", f"min_batch = {n};")
    reload(client)
    wait_for("the result", lambda: stages(cluster) == ["settled"])
    assert cluster.json("analyzer", "round", "show", "1")["result"]["participants"] == n


@pytest.mark.parametrize("party", ["shuffler", "client"])
@pytest.mark.parametrize("fault", ["max_epsilon0 = 999.0;", "min_bach = 1;", 'population = "other";'])
def test_a_faulty_policy_changes_nothing(cluster, party, fault):
    """A right change in the same file is not taken up either."""
    n = 20
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n)], epsilon=3.0)
    daemons = {"shuffler": cluster.start("shuffler", "run")}
    cluster.wait_listening()
    daemons["client"] = cluster.start("client", "run")
    wait_for("the client to connect", lambda: '"connected"' in daemons["client"].log())
    name = f"{party}-policy.conf"
    change(cluster, name, "^min_batch.*$", f"min_batch = {n + 1};")
    key = fault.split()[0]
    if key == "min_bach":
        with open(cluster.path(name), "a") as f:
            f.write(fault + "\n")
    else:
        change(cluster, name, f"^{key}.*$", fault)
    said = reload(daemons[party], "policy not reloaded; the old one stays")
    if key == "population" and party == "shuffler":
        assert (said["level"], said["key"], said["in_force"], said["file_has"]) == ("warn", "population", "test", "other"), said
    else:
        assert said["level"] == "error" and key in said["reason"], said
        assert f"{name}:{line_of(cluster, name, key)}: " in said["reason"], said
    assert not lines(daemons[party], TAKEN)
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run
    assert cluster.json("analyzer", "round", "show", "1")["result"]["participants"] == n


def test_a_hundred_reloads_in_an_open_round_lose_nothing(cluster):
    n = 200
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n)], epsilon=3.0)
    with open(cluster.path("client.conf"), "a") as f:
        f.write('connections = 1; frame_devices = 1; spread = "4s";\n')
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    wait_for("the client to connect", lambda: '"connected"' in client.log())
    analyzer = cluster.start("analyzer", "run")
    wait_for("sealed reports", lambda: cluster.json("client", "status")["stored"] > 0)
    for i in range(100):
        for party in ("shuffler", "client"):
            change(cluster, f"{party}-policy.conf", "^max_epsilon0.*$", f"max_epsilon0 = {40 + i % 2}.0;")
        for daemon in (shuffler, client, analyzer):
            daemon.process.send_signal(signal.SIGHUP)
    wait_for("the result", lambda: stages(cluster) == ["settled"])
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == n and result["duplicates"] == result["bad"] == 0, result
    assert shuffler.alive() and client.alive() and analyzer.alive()


def test_reloads_while_a_plan_is_composed_lose_nothing(cluster):
    """The shuffler begins a rehearsal's composition and the plan's again by the policy in force then; a client whose policy
    changes answers the rehearsal to its end."""
    n = 20
    cluster.configure(min_batch=n, devices=n)
    asked(cluster)
    readings(cluster, n)
    cluster.plan([histogram(n, epsilon0=0.5, values=COLOURS[:k], query=f"colour{k}", repeat=40) for k in (2, 3)], epsilon=40.0)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    wait_for("the client to connect", lambda: '"connected"' in client.log())
    analyzer = cluster.start("analyzer", "run")

    def reloads(client=None):
        for i in range(6):
            for party in ("client", "shuffler") if client else ("shuffler",):
                change(cluster, f"{party}-policy.conf", "^max_epsilon0.*$", f"max_epsilon0 = {40 + i}.0;")
            if client:
                client.process.send_signal(signal.SIGHUP)
            assert reload(shuffler)["changed"] == 1

    def beside(verb, *args):
        """The exit code of a verb while the shuffler's policy changes."""
        thread = threading.Thread(target=reloads)
        thread.start()
        code = cluster.run("analyzer", "plan", verb, *args).returncode
        thread.join()
        return code

    assert beside("rehearse") == 0
    assert beside("sign", "--yes", "--anyway") == 0
    wait_for("the plan in the ledger", lambda: '"plan pinned"' in analyzer.log())
    reloads(client)
    wait_for("the first results", lambda: stages(cluster).count("settled") >= 2)
    assert shuffler.alive() and client.alive() and analyzer.alive()
    assert cluster.json("analyzer", "round", "show", "1")["result"]["participants"] == n
    pinned, = lines(shuffler, "plan pinned")
    assert pinned["taken"] == pinned["entries"] == 80, pinned
    assert len(lines(shuffler, TAKEN)) == 18


# ---- configurations ---------------------------------------------------------------------------------------------------


def test_a_changed_key_of_a_configuration_is_named_and_waits_for_a_restart(cluster):
    cluster.configure()
    cluster.plan([histogram(4)])
    readings(cluster, 4)
    changed = {"shuffler": ("proof_window = \"2h\";", ("proof_window", '"1h"', '"2h"')),
               "client": ("connections = 3;", ("connections", "2", "3")),
               "analyzer": ("poll = \"10s\";", ("poll", '"20s"', '"10s"'))}
    for party, (text, (key, was, now)) in changed.items():
        daemon = cluster.start(party, "run")
        if party == "shuffler":
            cluster.wait_listening()
        wait_for("the start", lambda d=daemon: re.search('"connected"|shuffler ready|analyzer started', d.log()))
        reload(daemon, "certificates reloaded")
        assert not lines(daemon, RESTART), daemon.log()  # an unchanged file is not named
        with open(cluster.path(f"{party}.conf"), "a") as f:
            f.write(text + "\n")
        said = reload(daemon, RESTART)
        assert said["level"] == "warn" and said["file"].endswith(f"{party}.conf"), said
        assert (said["key"], said["in_force"], said["file_has"]) == (key, was, now), said
        with open(cluster.path(f"{party}.conf"), "a") as f:
            f.write("no_key = 1;\n")
        said = reload(daemon, "the changed configuration would not be taken by a restart")
        assert f"{party}.conf:" in said["reason"] and "no_key" in said["reason"], said
        assert daemon.alive()


def test_a_changed_limit_of_an_intake_is_named_and_waits_for_a_restart(cluster):
    cluster.two_colours(4)
    spread = Spread(cluster, intakes=1)
    spread.head()
    spread.start()
    intake = spread.daemons[0]
    path = next(x for x in intake.args if x.endswith(".conf"))
    with open(path) as f:
        text = f.read()
    reload(intake, "certificates reloaded")
    assert not lines(intake, RESTART), intake.log()
    with open(path, "w") as f:
        f.write(re.sub(r"limits = \{[^}]*\};", "", text) + "limits = { connections = 7; };\n")
    said = reload(intake, RESTART)
    assert (said["level"], said["key"], said["in_force"], said["file_has"]) == ("warn", "limits.connections", "1024", "7"), said


# ---- plans ------------------------------------------------------------------------------------------------------------


def planned(cluster, n, name="test", query="colour"):
    cluster.plan([histogram(n, query=query)], epsilon=3.0)
    change(cluster, "plan.conf", '^name = .*$', f'name = "{name}";')


def test_a_plan_that_is_not_signed_is_read_again(cluster):
    n = 20
    cluster.configure(min_batch=n, devices=n)
    asked(cluster)
    readings(cluster, n)
    planned(cluster, n, name="first")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run")
    wait_for("the signature to be asked for", lambda: '"plan":"first"' in analyzer.log())
    planned(cluster, n, name="second")
    with open(cluster.path("plan.conf"), "a") as f:
        f.write("no_key = 1;\n")
    said = reload(analyzer, "plan not reloaded; the old one stays")
    assert "plan.conf:" in said["reason"] and "no_key" in said["reason"], said
    planned(cluster, n, name="second")
    # A person signs what the file says, and the run says why it does not take that up.
    wait_for("the signature", lambda: cluster.run("analyzer", "plan", "sign", "--yes").returncode == 0)
    wait_for("the reason", lambda: "is plan second of another plan file than this run has read (a running analyzer reads it "
             "again at SIGHUP)" in analyzer.log())
    assert kinds(cluster) == []
    reload(analyzer, "the changed plan file is taken up")
    wait_for("the result", lambda: stages(cluster) == ["settled"])
    assert kinds(cluster).count("plan") == 1 and [x["plan"] for x in lines(analyzer, "plan pinned")] == ["second"]


def second_plan(cluster, mutant=""):
    """The plan file is replaced while the first plan's round is open, and again when it is over."""
    n = 20
    cluster.configure(min_batch=n, devices=n, delta=1e-5)
    asked(cluster)
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write("budget = { epsilon = 7.0; delta = 2e-6; };\n")
    readings(cluster, n)
    planned(cluster, n, name="first", query="one")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", mutant=mutant)
    assert cluster.run("analyzer", "plan", "sign", "--yes", "--anyway").returncode == 0
    wait_for("the round to be open", lambda: "reserve" in kinds(cluster))
    planned(cluster, n, name="second", query="two")
    analyzer.process.send_signal(signal.SIGHUP)
    wait_for("a word about the plan", lambda: "the changed plan file is" in analyzer.log())
    return analyzer


def test_a_plan_waits_for_the_rounds_of_the_one_that_is_pinned(cluster):
    analyzer = second_plan(cluster)
    said, = lines(analyzer, "the changed plan file is not taken up")
    assert said["level"] == "warn" and said["plan"] == "first" and "a round is under way" in said["reason"], said
    cluster.start("client", "run")
    wait_for("the first plan's end", lambda: "the plan is through" in analyzer.log())
    reload(analyzer, "the changed plan file is taken up")
    wait_for("the signature to be asked for", lambda: '"plan":"second"' in analyzer.log())
    assert kinds(cluster).count("plan") == 1 and kinds(cluster)[-1] == "settle"
    wait_for("the signature", lambda: cluster.run("analyzer", "plan", "sign", "--yes").returncode == 0)
    wait_for("the second result", lambda: stages(cluster) == ["settled"])
    assert kinds(cluster).count("plan") == 2
    # A plan whose slice does not fit stays out, and the run goes on.
    planned(cluster, 20, name="third", query="three")
    said = reload(analyzer, "plan not reloaded; the old one stays")
    assert "of the population's 7 at 2e-06" in said["reason"], said
    assert analyzer.alive() and kinds(cluster).count("plan") == 2


def test_without_the_check_a_reload_gives_up_the_rounds_that_are_left(cluster):
    analyzer = second_plan(cluster, mutant="analyzer.replan.left")
    assert lines(analyzer, "the changed plan file is taken up") and stages(cluster) == ["planned"], analyzer.log()


def test_a_plan_waits_for_a_round_that_opens_later(cluster):
    n = 20
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n, every="1h", count=2)], epsilon=6.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    asked(cluster)
    analyzer = cluster.start("analyzer", "run")
    wait_for("the signature", lambda: cluster.run("analyzer", "plan", "sign", "--yes").returncode == 0)
    wait_for("the first round's end", lambda: "waiting until a round opens" in analyzer.log())
    with open(cluster.path("plan.conf"), "a") as f:
        f.write("# another plan\n")
    said = reload(analyzer, "the changed plan file is not taken up")
    assert (said["level"], said["rounds_left"]) == ("warn", 1) and "has rounds left" in said["reason"], said
    assert cluster.json("analyzer", "status")["state"]["code"] != "unsigned"


def signing_at_start(cluster, mutant=""):
    n = 20
    cluster.configure(min_batch=n, devices=n, delta=1e-5)
    readings(cluster, n)
    planned(cluster, n, name="first", query="one")
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write("budget = { epsilon = 7.0; delta = 2e-6; };\n")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", mutant=mutant)
    wait_for("the first plan's end", lambda: "the plan is through" in analyzer.log())
    planned(cluster, n, name="second", query="two")
    reload(analyzer, "the changed plan file is")
    return analyzer


def test_a_reload_signs_nothing(cluster):
    analyzer = signing_at_start(cluster)
    said, = lines(analyzer, "the changed plan file is not taken up")
    assert said["level"] == "warn" and "a reload signs nothing" in said["reason"], said
    assert kinds(cluster).count("plan") == 1


def test_without_the_check_a_reload_spends_a_slice(cluster):
    signing_at_start(cluster, mutant="analyzer.replan.signs")
    wait_for("another plan", lambda: kinds(cluster).count("plan") == 2)
