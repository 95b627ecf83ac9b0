"""Mode adaptive: a privacy filter keeps the budget, and the plan file may follow from results."""
import json
import re
import subprocess

import pytest

from cluster import EXIT, program, wait_for
from test_rounds import histogram, readings, run_plan

N = 400


def ask(i, epsilon0=1.0):
    return histogram(N, epsilon0, query=f"q{i}")


def adaptive(cluster, rounds, epsilon=0.5, **extra):
    cluster.plan(rounds, epsilon=epsilon, **{"mode": "adaptive", **extra})


def prepared(cluster, epsilon=0.5, accepted=("shuffler", "client")):
    cluster.configure(min_batch=100, epsilon=epsilon)
    cluster.accept_adaptive(*accepted)
    readings(cluster, N)


def stages(cluster):
    return [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]]


def exported(cluster):
    run = cluster.run("analyzer", "ledger", "export")
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("name", ("gdp", "renyi"))
def test_a_plan_that_follows_its_results(cluster, name):
    prepared(cluster)
    adaptive(cluster, [ask(1)], filter=name)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0 and stages(cluster) == ["settled"], run.stderr
    first = cluster.json("analyzer", "budget")
    assert first["mode"] == f"adaptive.{name}" and 0 < first["share_spent"] < 1
    assert first["population_budget"]["pinned"] == first["population_budget"]["limit"] and first["population_budget"]["free"] == 0

    # The answer is there, and only now the next round is thought of.
    adaptive(cluster, [ask(1), ask(2, 0.5)], filter=name)
    assert cluster.run("analyzer", "run", "--once").returncode == 0
    assert stages(cluster) == ["settled", "settled"]
    second = cluster.json("analyzer", "budget")
    assert first["share_spent"] < second["share_spent"] < 1

    _, plan, *_, = exported(cluster)
    assert plan["kind"] == "plan" and plan["mode"] == f"adaptive.{name}"
    shares = [r["share"] for r in exported(cluster) if r["kind"] == "reserve"]
    assert sum(shares) == pytest.approx(second["share_spent"], rel=1e-6)
    text = cluster.run("analyzer", "budget").stdout
    assert f"filter {name}" in text and "% of the filter's budget" in text
    plan, = cluster.json("shuffler", "status")["plans"]
    assert plan["mode"] == f"adaptive.{name}" and plan["share"] == pytest.approx(second["share_spent"]), plan
    used_alike(cluster, second["population_budget"])
    client.stop()
    shuffler.stop()


def used_alike(cluster, figure):
    """All three parties count what a filter used alike, each against its own limit."""
    for party in ("client", "shuffler"):
        said = cluster.json(party, "status")["population_budget"]
        assert said["used"] == pytest.approx(figure["used"]), party
        assert said["ratio"] == said["used"] / said["limit"], party


def over_budget(cluster):
    """The filter has room for a few rounds."""
    prepared(cluster, epsilon=0.3)
    adaptive(cluster, [ask(i) for i in range(1, 5)], epsilon=0.3)


def test_the_analyzer_refuses_what_the_filter_does_not_admit(cluster):
    over_budget(cluster)
    run, *_ = run_plan(cluster)
    got = stages(cluster)
    admitted = got.count("settled")
    assert got == ["settled"] * admitted + ["refused"] * (4 - admitted) and 0 < admitted < 4, (got, run.stderr)
    explained = cluster.run("analyzer", "budget", "explain", str(admitted + 1))
    assert explained.returncode == EXIT["budget"]
    for word in ("% of the filter's budget", "is left", "spent by round 1", "add it to the plan as a new round"):
        assert word in explained.stdout

    # What would fit is added as a round of its own, and fits.
    fits = float(re.search(r"epsilon0 <= ([0-9.]+)", explained.stdout)[1])
    adaptive(cluster, [ask(i) for i in range(1, 5)] + [ask(5, fits)], epsilon=0.3)
    again = cluster.run("analyzer", "run", "--once")
    assert again.returncode == 0 and stages(cluster) == got + ["settled"], again.stderr
    assert cluster.json("analyzer", "budget")["share_spent"] < 1


def test_the_shuffler_refuses_a_slice_that_its_own_policy_has_no_room_for(cluster):
    """The analyzer's plan has room, the shuffler's policy has not; then none of its rounds is taken.  The analyzer has not
    asked it before."""
    prepared(cluster, epsilon=0.3)
    adaptive(cluster, [ask(i) for i in range(1, 5)], epsilon=3.0)
    run, shuffler, _ = run_plan(cluster, analyzer_mutant="analyzer.fit")
    got = stages(cluster)
    assert got == ["void"] * 4, (got, run.stderr)
    assert "slice" in shuffler.log()


def test_the_client_refuses_a_slice_that_its_own_policy_has_no_room_for(cluster):
    prepared(cluster, epsilon=3.0)
    cluster.write("client-policy.conf", 'population = "test";\nmax_epsilon = 0.3;\ndelta = 1e-06;\n'
                  "min_batch = 100;\nmax_epsilon0 = 50.0;\nhonest_fraction = 1.0;\n"
                  "colluders = 0;\naccept_adaptive = true;\n")
    adaptive(cluster, [ask(i) for i in range(1, 5)], epsilon=3.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    cluster.start("analyzer", "run", "--once")
    wait_for("the client's refusal", lambda: "refused" in client.log())
    assert "takes a slice of epsilon 3" in client.log()


@pytest.mark.parametrize("party", ["shuffler", "client"])
@pytest.mark.parametrize("removed", [False, True])
def test_who_does_not_accept_it_refuses(cluster, party, removed):
    """Unless its policy says so; without the check the round runs."""
    prepared(cluster, accepted=["client" if party == "shuffler" else "shuffler"])
    adaptive(cluster, [{**ask(1), "window": "3s" if not removed else "2m"}])
    # It has not asked the shuffler before it signs.
    run, shuffler, client = run_plan(cluster, analyzer_mutant="analyzer.fit",
                                     **({f"{party}_mutant": "policy.adaptive"} if removed else {}))
    assert run.returncode == 0, run.stderr
    assert stages(cluster) == ["settled" if removed else "void"], run.stderr
    said = {"shuffler": shuffler, "client": client}[party].log()
    assert ("accept_adaptive is false" in said) == (not removed), said


CHANGES = {
    "a decided round's parameters": lambda c: adaptive(c, [ask(1, 0.9)]),
    "a decided round's place": lambda c: adaptive(c, [ask(2), ask(1)]),
    "the budget": lambda c: adaptive(c, [ask(1)], epsilon=0.6),
    "the filter": lambda c: adaptive(c, [ask(1)], filter="renyi"),
    "the population": lambda c: c.write("plan.conf", open(c.path("plan.conf")).read().replace(
        'population = "test"', 'population = "else"')),
}


def test_what_may_not_change_does_not(cluster):
    prepared(cluster)
    adaptive(cluster, [ask(1)])
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    with open(cluster.path("plan.conf")) as f:
        good = f.read()
    for what, change in CHANGES.items():
        change(cluster)
        run = cluster.run("analyzer", "run", "--once")
        assert run.returncode == EXIT["config"], (what, run.returncode, run.stderr)
        cluster.write("plan.conf", good)
    assert cluster.run("analyzer", "budget").returncode == 0 and stages(cluster) == ["settled"]


@pytest.mark.parametrize("mode", ["plan", "adaptive"])
def test_a_changed_file_in_mode_plan_is_a_plan_whose_slice_does_not_fit(cluster, mode):
    prepared(cluster)
    (cluster.plan if mode == "plan" else lambda r, **kw: adaptive(cluster, r, **kw))([ask(1)], epsilon=0.5)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    records = len(exported(cluster))
    cluster.plan([ask(1), ask(2)], epsilon=0.5)
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["budget"], run.stderr
    assert "takes a slice of epsilon 0.5" in run.stderr and "earlier plans took 0.5" in run.stderr
    assert len(exported(cluster)) == records


def test_void_rounds_count_at_all_three_parties(cluster):
    """What a client gave stays given: else the analyzer would ask on while no client answers any more."""
    prepared(cluster)
    few = {"window": "3s", "min_reports": N + 5, "target": N + 5}
    adaptive(cluster, [{**ask(1), **few}, {**ask(2), **few}, {**ask(3), "window": "20s"}])
    run, shuffler, client = run_plan(cluster)
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert stages(cluster) == ["void", "void", "settled"], run.stderr
    assert rounds[0]["share"] == rounds[1]["share"] > 0
    spent = cluster.json("analyzer", "budget")["share_spent"]
    assert spent == pytest.approx(sum(r["share"] for r in rounds), rel=1e-6)
    plan, = cluster.json("shuffler", "status")["plans"]
    assert plan["share"] == pytest.approx(spent)
    wait_for("the client to be through", lambda: client.log().count('"round done"') == 3)
    assert cluster.json("client", "status")["plans"][0]["used"] == pytest.approx(spent)
    # So does somebody who reads the ledger alone.
    path = cluster.write("ledger.ndjson", "".join(json.dumps(line) + "\n" for line in exported(cluster)))
    audit = subprocess.run([program("tombola-accountant"), "audit", path, "--json"], capture_output=True, text=True)
    assert audit.returncode == 0 and json.loads(audit.stdout)["share"] == pytest.approx(spent), audit
    client.stop()
    shuffler.stop()


def test_the_cost_of_an_adaptive_plan(cluster):
    over_budget(cluster)
    text = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf")], capture_output=True,
                          text=True, timeout=180)
    assert text.returncode == 0, text.stderr
    assert "mode adaptive, filter gdp" in text.stdout and "REFUSED" in text.stdout and " %" in text.stdout
