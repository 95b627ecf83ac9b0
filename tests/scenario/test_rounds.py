"""The three real daemons: rounds that go well, rounds that are refused, and the same round refused three times."""
import os
import random
import re
import time
import urllib.request

import pytest

from chance import within
from cluster import EXIT, wait_for


COLOURS = [f"c{i}" for i in range(4)]


def histogram(n, epsilon0=2.0, query="colour", **kw):
    return {"query": query, "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": epsilon0,
            "min_reports": n, "target": n, "values": COLOURS, "window": "2m", **kw}


def readings(cluster, n, seed=1):
    """A row a device, and the truth."""
    rng = random.Random(seed)
    rows = [(f"dev{i}", rng.choices(COLOURS, [70, 20, 8, 2])[0], rng.gauss(20, 3)) for i in range(n)]
    cluster.write("readings.csv", "device,colour,celsius\n" + "".join(f"{d},{c},{t:.4f}\n" for d, c, t in rows))
    return {c: sum(r[1] == c for r in rows) for c in COLOURS}, sum(r[2] for r in rows) / n


def run_plan(cluster, *analyzer_args, client_mutant="", shuffler_mutant="", analyzer_mutant=""):
    shuffler = cluster.start("shuffler", "run", mutant=shuffler_mutant)
    cluster.wait_listening()
    client = cluster.start("client", "run", mutant=client_mutant)
    run = cluster.run("analyzer", *(analyzer_args or ("run", "--once")), mutant=analyzer_mutant)
    return run, shuffler, client


def test_a_plan_of_all_protocols_and_its_estimates(cluster):
    n = 2000
    cluster.configure(min_batch=1000, max_epsilon0="inf", devices=n)
    truth, mean = readings(cluster, n)
    cluster.plan([
        histogram(n, 4.0),
        {"query": "celsius", "type": "mean", "protocol": "levels", "field": "celsius", "epsilon0": 4.0,
         "min_reports": n, "target": n, "range": [0.0, 40.0], "levels": 9, "window": "2m"},
        {"query": "colour-bins", "type": "histogram", "protocol": "bins", "field": "colour", "epsilon0": "inf",
         "dummies": 2, "min_reports": n, "target": n, "values": COLOURS, "window": "2m"},
    ], epsilon=10.0)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    for number, query in ((1, "colour"), (3, "colour-bins")):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["reports"] == n and result["participants"] == n and result["bad"] == 0
        per_device = 1 if number == 1 else 3
        assert sum(result["counts"]) == result["messages"] == n * per_device
        for item in result["items"]:
            assert within(item, truth[item["label"]], step=1.3), (item, truth)
    item, = cluster.json("analyzer", "estimate", "celsius")["items"]
    assert within(item, mean), (item, mean)
    client.stop()
    shuffler.stop()
    assert not os.listdir(cluster.path("shuffler", "keys")) and not os.listdir(cluster.path("analyzer", "keys"))
    assert "connected" in client.log()


def test_slices_and_guarantees_are_the_decimals_that_were_written(cluster):
    """Three slices of 0.1 are 0.3 to all parties, and a fourth is too much, however small.  So are two rounds of 0.05
    to a slice, where nobody else hides a device."""
    n = 1
    cluster.configure(min_batch=1, max_epsilon0=0.05, epsilon=0.3, delta=1e-6, devices=n)
    cluster.write("analyzer.conf", open(cluster.path("analyzer.conf")).read() +
                  'budget = { epsilon = 0.3; delta = 1e-6; };\n')
    readings(cluster, n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    for number in range(1, 5):
        last = number == 4
        cluster.plan([histogram(n, 0.05, repeat=2, window=f"{number}m")], epsilon=1e-6 if last else 0.1, delta=1e-13)
        run = cluster.run("analyzer", "run", "--once")
        assert (run.returncode == 0) != last, run.stderr
    assert "takes a slice of epsilon 1e-06" in run.stderr, run.stderr
    # What is free is rounded down: 1e-6 less three times 1e-13.
    free = "free    epsilon 0.0000 at delta 9.99999e-07 for other plans, so none fits:"
    assert free in cluster.run("analyzer", "budget").stdout
    for party in ("client", "shuffler"):
        assert cluster.json(party, "status")["population_budget"]["pinned"] == 0.3
        assert ", 100.0% pinned by plans" in cluster.run(party, "check").stdout
    assert cluster.charged() == [1, 2, 3, 4, 5, 6]


# A round each: composing many different ones is test_a_plan_of_all_protocols's, and slow under sanitizers.
@pytest.mark.parametrize("row", ("rappor", "oue", "subset", "olh", "hadamard"))
def test_a_round_of_one_wide_message_and_its_estimates(cluster, row):
    n = 2000
    cluster.configure(min_batch=1000, devices=n)
    truth, _ = readings(cluster, n)
    cluster.plan([histogram(n, 4.0, protocol=row)], epsilon=10.0)
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["protocol"] == row and result["reports"] == result["messages"] == n and result["bad"] == 0
    for item in result["items"]:
        assert within(item, truth[item["label"]], step=2.5), (item, truth)


@pytest.mark.heavy
def test_58000_devices(cluster):
    n = 58000
    cluster.configure(min_batch=50000, devices=n)
    truth, _ = readings(cluster, n)
    cluster.plan([histogram(n, 5.0, min_reports=50000, window="30m")], epsilon=1.0)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["reports"] == n and sum(result["counts"]) == n and result["duplicates"] == 0
    for item in result["items"]:
        assert within(item, truth[item["label"]], step=1.3), (item, truth)
    assert cluster.run("analyzer", "ledger", "verify").returncode == 0


REFUSED = 3  # the first two rounds fit, the third does not


def over_budget(cluster):
    n = 400
    cluster.configure(min_batch=100, epsilon=0.31, delta=1e-6)
    readings(cluster, n)
    cluster.plan([histogram(n, 1.0, query=f"colour-{i}") for i in range(1, 5)], epsilon=0.31)


def test_the_analyzer_refuses_the_third_round(cluster):
    over_budget(cluster)
    run, *_ = run_plan(cluster)
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] for r in rounds] == ["settled", "settled", "refused", "refused"], rounds
    again = cluster.run("analyzer", "round", "run", str(REFUSED))
    assert again.returncode == EXIT["budget"], again.stderr
    explained = cluster.run("analyzer", "budget", "explain", str(REFUSED))
    for word in ("needs epsilon", "is left", "total would be", "spent by round 1", "epsilon0 <= "):
        assert word in explained.stdout + explained.stderr
    # What it says would fit does fit, and a little more does not.
    fits = float(re.search(r"epsilon0 <= ([0-9.]+)", explained.stdout + explained.stderr)[1])
    assert 0 < fits < 1


def test_the_analyzer_answers_while_it_judges_and_explains(cluster):
    """What would fit instead takes the accountant seconds to find."""
    cluster.configure()
    cluster.plan([histogram(1000, 6.0)], epsilon=0.05)
    analyzer = cluster.start("analyzer", "run", "--once")
    slowest, answers, begin = 0, 0, time.monotonic()
    while analyzer.alive():
        start = time.monotonic()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['analyzer']}/healthz", timeout=180).read()
            slowest, answers = max(slowest, time.monotonic() - start), answers + 1
        except OSError:
            pass  # not yet up, or down again
        time.sleep(0.02)
    assert analyzer.wait() == 0 and "it would fit with" in analyzer.log()
    # One that answered only between its computations would let the longest of them be waited for.
    assert answers > 0 and slowest < max(1.0, (time.monotonic() - begin) / 4)


def test_the_shuffler_refuses_it_when_the_analyzer_does_not(cluster):
    over_budget(cluster)
    run, shuffler, _ = run_plan(cluster, analyzer_mutant="analyzer.budget")
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] == "settled" for r in rounds] == [True, True, False, False], (rounds, run.stderr)
    assert "budget" in shuffler.log().split('"refused"')[1]


def test_the_client_refuses_it_when_neither_does(cluster):
    over_budget(cluster)
    shuffler = cluster.start("shuffler", "run", mutant="shuffler.budget,round.pin.budget")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once", mutant="analyzer.budget")
    wait_for("the client's refusal", lambda: "refused" in client.log())
    line = next(x for x in client.log().splitlines() if "refused" in x)
    assert f'"round":{REFUSED}' in line.replace(" ", "") and "pinned" in line, line
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] == "settled" for r in rounds[:2]] == [True, True]
    assert shuffler.alive() and analyzer.alive()


def test_without_any_of_the_three_the_budget_is_exceeded(cluster):
    """The three refusals above are the budget: with all of them removed the third round runs."""
    over_budget(cluster)
    run, *_ = run_plan(cluster, client_mutant="round.pin.budget", analyzer_mutant="analyzer.budget",
                       shuffler_mutant="shuffler.budget,round.pin.budget")
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] for r in rounds] == ["settled"] * 4, (rounds, run.stderr)


def test_a_round_with_too_few_reports_is_void_and_waits_for_another_try(cluster):
    """Its entry is spent from the start, and void rounds spend nothing more; the second try is answered."""
    cluster.configure(min_batch=100, epsilon=1.0)
    readings(cluster, 60)
    cluster.plan([histogram(100, 1.0, target=200, window="8s")], epsilon=1.0)
    run, shuffler, client = run_plan(cluster, "round", "run", "1")
    assert run.returncode == EXIT["later"], (run.returncode, run.stderr)
    waiting, = cluster.json("analyzer", "round", "list")["rounds"]
    assert (waiting["stage"], waiting["tries"], waiting["tries_limit"], waiting["reports"]) == ("waiting", 1, 3, 60)
    budget = cluster.json("analyzer", "budget")
    assert budget["population_budget"]["pinned"] == 1.0 and budget["rounds"]["waiting"] == 1
    client.stop()
    readings(cluster, 150)
    client = cluster.start("client", "run")
    run = cluster.run("analyzer", "round", "run", "1")
    assert run.returncode == 0, run.stderr
    settled, = cluster.json("analyzer", "round", "list")["rounds"]
    assert (settled["stage"], settled["tries"], settled["reports"]) == ("settled", 2, 150)
    assert cluster.json("analyzer", "budget")["population_budget"]["pinned"] == 1.0


def test_tries_end_and_nothing_is_refunded(cluster):
    """A run passes over a void round until its tries are used up; the round after it has run meanwhile."""
    cluster.configure(min_batch=10, epsilon=1.0)
    readings(cluster, 60)
    cluster.plan([histogram(100, 1.0, query="many", target=200, window="6s"),
                  histogram(50, 0.5, query="few", target=60, window="2m")], epsilon=1.0, tries=2)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    many, few = cluster.json("analyzer", "round", "list")["rounds"]
    assert (many["stage"], many["tries"]) == ("void", 2) and (few["stage"], few["tries"]) == ("settled", 1)
    assert few["sequence"] < many["sequence"], "the second try comes after the other round"
    again = cluster.run("analyzer", "round", "run", "1")
    assert again.returncode == EXIT["later"] and "is void" in again.stderr
    budget = cluster.json("analyzer", "budget")
    assert budget["population_budget"]["pinned"] == 1.0 and budget["population_budget"]["free"] == 0


def test_a_restored_ledger_is_refused(cluster):
    n = 200
    cluster.configure(min_batch=100, epsilon=5.0)
    readings(cluster, n)
    cluster.plan([histogram(n, 1.0, query=f"q{i}") for i in range(3)], epsilon=5.0)
    run, *_ = run_plan(cluster, "round", "run", "1")
    assert run.returncode == 0, run.stderr
    with open(cluster.path("analyzer", "ledger"), "rb") as f:
        backup = f.read()
    assert cluster.run("analyzer", "round", "run", "2").returncode == 0
    with open(cluster.path("analyzer", "ledger"), "wb") as f:
        f.write(backup)
    run = cluster.run("analyzer", "round", "run", "2")
    assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
    assert "older copy" in run.stderr
    assert open(cluster.path("analyzer", "ledger"), "rb").read() == backup, "no round is reserved in the copy"


def test_an_older_copy_is_said_before_a_plan_is_judged_by_it(cluster):
    """The shuffler's budget has no room for a third plan; the copy, which lacks the second, cannot know that."""
    n = 20
    cluster.configure(min_batch=n, epsilon=4.0, devices=n)
    cluster.write("analyzer.conf", open(cluster.path("analyzer.conf")).read() +
                  'budget = { epsilon = 4.0; delta = 4e-6; };\n')
    readings(cluster, n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    ledger = cluster.path("analyzer", "ledger")
    for query, slice_ in (("first", 2.0), ("second", 1.5)):
        older = open(ledger, "rb").read() if query == "second" else b""
        cluster.plan([histogram(n, 1.0, query=query)], epsilon=slice_, delta=1e-7)
        run = cluster.run("analyzer", "run", "--once")
        assert run.returncode == 0, run.stderr
    cluster.write("analyzer/ledger", "")
    with open(ledger, "wb") as f:
        f.write(older)
    cluster.plan([histogram(n, 1.0, query="third")], epsilon=1.0, delta=1e-7)
    for verb in (("run", "--once"), ("plan", "check"), ("round", "run", "1")):
        run = cluster.run("analyzer", *verb)
        assert run.returncode == EXIT["permission"], (verb, run.returncode, run.stdout, run.stderr)
        assert "restored from an older copy" in run.stderr and "max_epsilon" not in run.stdout + run.stderr, verb
        assert open(ledger, "rb").read() == older, "nothing is signed or reserved in the copy"


def test_an_older_ledger_does_not_cost_a_round_its_key(cluster):
    """The copy does not know the round that is open; the newest ledger, back in its place, still opens it."""
    n = 200
    cluster.configure(min_batch=100, epsilon=5.0)
    readings(cluster, n)
    cluster.plan([histogram(n, 1.0, query=f"q{i}") for i in range(2)], epsilon=5.0)
    run, shuffler, client = run_plan(cluster, "round", "run", "1")
    assert run.returncode == 0, run.stderr
    client.kill()
    ledger = cluster.path("analyzer", "ledger")
    with open(ledger, "rb") as f:
        older = f.read()
    analyzer = cluster.start("analyzer", "round", "run", "2")
    wait_for("round 2", lambda: shuffler.log().count('"round open"') == 2)
    analyzer.kill()
    with open(ledger, "rb") as f:
        newest = f.read()
    key = os.listdir(cluster.path("analyzer", "keys"))
    assert len(key) == 1 and len(newest) > len(older)
    with open(ledger, "wb") as f:
        f.write(older)
    assert cluster.run("analyzer", "round", "run", "2").returncode == EXIT["permission"]
    assert set(key) <= set(os.listdir(cluster.path("analyzer", "keys")))
    with open(ledger, "wb") as f:
        f.write(newest)
    cluster.start("client", "run")
    run = cluster.run("analyzer", "round", "run", "2")
    assert run.returncode == 0, run.stderr
    assert cluster.json("analyzer", "round", "show", "2")["result"]["reports"] == n
    assert os.listdir(cluster.path("analyzer", "keys")) == [], "the key of the round that the older copy began"


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_a_damaged_ledger_refuses_to_start(cluster, at):
    n = 200
    cluster.configure(min_batch=100, epsilon=5.0)
    readings(cluster, n)
    cluster.plan([histogram(n, 1.0)], epsilon=5.0)
    assert run_plan(cluster)[0].returncode == 0
    path = cluster.path("analyzer", "ledger")
    with open(path, "r+b") as f:
        size = os.path.getsize(path)
        f.seek(int(size * at))
        byte = f.read(1)
        f.seek(int(size * at))
        f.write(bytes([byte[0] ^ 4]))
    for verb in (("run", "--once"), ("ledger", "verify"), ("budget",)):
        run = cluster.run("analyzer", *verb)
        assert run.returncode == EXIT["data"], (verb, run.returncode, run.stderr)
        assert re.search(r"ledger.*record \d+", run.stderr), run.stderr


def test_a_round_is_named_by_its_query_where_that_is_one_round(cluster):
    n = 10
    cluster.configure(min_batch=n, devices=n)
    readings(cluster, n)
    cluster.plan([histogram(n, 1.0, query="alone"), histogram(n, 1.0, query="daily", repeat=3),
                  histogram(n, 1.0, query="often", repeat=6), histogram(n, 1.0, query="9th")], epsilon=30.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    run = cluster.run("analyzer", "round", "run", "alone")
    assert run.returncode == 0, run.stderr
    assert cluster.json("analyzer", "round", "show", "1")["result"]["reports"] == n
    assert cluster.json("analyzer", "round", "show", "9th")["round"] == 11
    for name, said in (("daily", "'daily' is 3 rounds, daily#1, daily#2, daily#3: say which"),
                       ("often", "'often' is 6 rounds, often#1 to often#6: say which"),
                       ("never", "there is no round 'never' (round list shows them)")):
        run = cluster.run("analyzer", "round", "run", name)
        assert run.returncode == EXIT["usage"] and said in run.stderr, run
    assert [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]].count("planned") == 10
