"""`tombola plan optimise`: a plan that says what is wanted, the numbers that follow, and the rounds that are run with them."""
import json
import subprocess

import pytest

from chance import within
from cluster import EXIT, program
from test_rounds import COLOURS, readings, run_plan

pytestmark = pytest.mark.heavy


def tombola(verb, path, *args):
    return subprocess.run([program("tombola"), "plan", verb, path, *args], capture_output=True, text=True, timeout=300)


def test_a_plan_that_says_what_is_wanted_is_run_with_the_numbers_found(cluster):
    n = 2000
    cluster.configure(min_batch=n, max_epsilon0=16.0, devices=n)
    truth, mean = readings(cluster, n)
    common = {"min_reports": n, "target": n, "window": "2m"}
    cluster.plan([
        {"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "values": COLOURS,
         "epsilon0": "weight 3", **common},
        {"query": "celsius", "type": "mean", "protocol": "levels", "field": "celsius", "range": [0.0, 40.0], "levels": 9,
         "epsilon0": "weight 1", **common},
        {"query": "colour-bins", "type": "histogram", "protocol": "mixbins", "field": "colour", "values": COLOURS,
         "epsilon0": 8.0, "dummies": "weight 2", **common},
    ], epsilon=2.0)
    wanted = cluster.path("plan.conf")

    # Nobody takes it for a plan as it is.
    for refused in (tombola("cost", wanted), cluster.run("analyzer", "check-config")):
        assert refused.returncode == EXIT["config"]
        assert "'epsilon0' is still \"weight 3\": `tombola plan optimise` finds the number" in refused.stderr

    found = json.loads(tombola("optimise", wanted, "--json").stdout)
    printed = tombola("optimise", wanted)
    assert printed.returncode == 0 and printed.stdout == found["text"]
    assert [(r["query"], r["key"], r["wanted"]) for r in found["rounds"]] == [
        ("colour", "epsilon0", "weight"), ("celsius", "epsilon0", "weight"), ("colour-bins", "dummies", "weight")]
    assert 1.95 < found["epsilon_total"] < 2.0
    assert f"{found['rounds'][2]['value']} /* weight 2 */" in printed.stdout and "of 2.0000 at delta" in printed.stderr
    cluster.write("plan.conf", printed.stdout)

    planned = json.loads(tombola("cost", wanted, "--json").stdout)
    assert abs(planned["epsilon_total"] / found["epsilon_total"] - 1) < 1e-9
    for r, f in zip(planned["rounds"], found["rounds"]):
        assert r["fits"] and abs(r["expected_error"] / f["expected_error"] - 1) < 1e-9

    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    for number, query in ((1, "colour"), (2, "celsius"), (3, "colour-bins")):
        for item in cluster.json("analyzer", "round", "show", str(number))["result"]["items"]:
            assert within(item, mean if query == "celsius" else truth[item["label"]], step=2.5), (item, query)
    # What is charged is what such a plan costs whoever wrote it.
    budget = cluster.json("analyzer", "budget")
    assert abs(budget["entries_epsilon"] / planned["epsilon_total"] - 1) < 1e-3


def test_what_cannot_be_optimised_is_refused_with_its_line(cluster):
    n = 100
    cluster.configure(min_batch=n)
    one = {"query": "colour", "type": "histogram", "field": "colour", "values": COLOURS, "min_reports": n, "window": "2m"}
    path = cluster.path("plan.conf")
    for rounds, code, said in (
            ([{**one, "epsilon0": 1.0}], "config", "no round says what is wanted"),
            ([{**one, "epsilon0": "weight 0"}], "config", f"{path}:5: 'epsilon0' must be a number, \"error X\" or"),
            ([{**one, "epsilon0": "weigth 2"}], "config", f"{path}:5: 'epsilon0' must be a number, \"error X\" or"),
            ([{**one, "epsilon0": "weigth 2"}], "config", 'did you mean "weight X"?'),
            ([{**one, "epsilon0": "weight 1"}, {**one, "query": "b", "epsilon0": "error 3"}], "config",
             f"{path}:6: all rounds say an error, or all say a weight"),
            ([{**one, "epsilon0": 16.0}, {**one, "query": "b", "epsilon0": "error 3"}], "budget", "do not fit the budget")):
        cluster.plan(rounds)
        run = tombola("optimise", path)
        assert run.returncode == EXIT[code] and said in run.stderr and run.stdout == "", run
    # Who is refused is told of it.
    cluster.plan([{**one, "epsilon0": 16.0}])
    assert 'write "weight 1" in place of their epsilon0 or dummies' in tombola("cost", path).stdout
