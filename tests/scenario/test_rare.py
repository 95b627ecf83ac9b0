"""Dummies that come by chance: a plan's fraction through the real daemons, what it costs, and who refuses nonsense."""
import json
import subprocess

import cluster as c
from chance import near, within
from test_lengths import fake, open_round  # noqa: F401: fake is a fixture
from test_rounds import COLOURS, readings, run_plan

N = 300


def command(name, *args, **kw):
    return subprocess.run([c.program(name), *args], capture_output=True, text=True, timeout=180, **kw)


def rounds():
    common = {"min_reports": N, "target": N, "window": "2m"}
    colour = {"type": "histogram", "field": "colour", "epsilon0": "inf", "values": COLOURS, **common}
    return [{"query": "colour", "protocol": "bins", "dummies": 0.75, **colour},
            {"query": "celsius", "type": "mean", "protocol": "levels", "field": "celsius", "epsilon0": 3.0,
             "range": [0.0, 40.0], "levels": 9, "dummies": 1.5, **common},
            {"query": "hashed", "protocol": "hashed", "dummies": 1.125, "size": 4, **colour},
            {"query": "mixed", "protocol": "mixbins", "dummies": 0.0625, **colour, "epsilon0": 4.0}]


def test_a_fraction_of_a_dummy_is_a_dummy_by_chance(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf", devices=N)
    truth, mean = readings(cluster, N)
    cluster.plan(rounds(), epsilon=12.0)
    cost = json.loads(command("tombola", "plan", "cost", cluster.path("plan.conf"), "--json").stdout)
    assert [r["dummies"] for r in cost["rounds"]] == [0.75, 1.5, 1.125, 0.0625]
    assert [r["messages"] for r in cost["rounds"]] == [2, 3, 3, 2]
    run, _, _ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    # Messages, and dummies among them: those that are certain and Binomial(n, f) more.
    for number, (each, certain, f) in enumerate([(2, 0, 0.75), (3, N, 0.5), (3, N, 0.125), (2, 0, 0.0625)], 1):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["participants"] == result["reports"] == N and result["bad"] == result["duplicates"] == 0
        assert result["messages"] == result["opened"] == each * N
        real = result["counts"][-1] if number == 3 else sum(result["counts"])
        dummies = real - N
        assert near(dummies - certain, N * f, N * f * (1 - f), step=1), number
        if number == 1:
            # The analyzer knows how many came: the variance is that of as many, not of as many as were to be expected.
            for item in result["items"]:
                assert abs(item["variance"] / (dummies * 4 / 25) - 1) < 1e-9
        for item in result["items"]:
            assert within(item, mean) if number == 2 else within(item, truth[item["label"]], step=1.5), (number, item)
    # The charge is that of the chance, and of no more; an audit knows it, and an edited one.
    export = cluster.run("analyzer", "ledger", "export").stdout
    n = json.loads(export.splitlines()[2])["account"]["parts"][0]["levels"][0]["count"]
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    spec = command("tombola-accountant", "epsilon", "--delta", "1e-6", "--round",
                   f"bins:k=5,dummies=0,chance=0.75,n={n}", "--json")
    assert abs(result["epsilon_round"] / json.loads(spec.stdout)["epsilon_upper"] - 1) < 1e-6
    said = "00000000000000c0"
    assert export.count(said) == 3  # entry, reserved, charged
    audit = command("tombola-accountant", "audit", "-", input=export)
    assert audit.returncode == 0 and not audit.stderr, audit
    for chance, word in (("00000000000000b0", "dummies of chance 0.75, but participants send one with chance 0.6875"),
                         ("0000000000000000", "account: n is ")):
        wrong = command("tombola-accountant", "audit", "-", input=export.replace(said, chance))
        assert wrong.returncode == 65 and word in wrong.stderr, wrong
    records = [json.loads(x) for x in export.splitlines()]
    part = records[2]["account"]["parts"][0]
    part["levels"][0]["count"] += 1
    part["n"] += 1
    part["spec"] = part["spec"].replace(f"others_n={n}", f"others_n={n + 1}").replace(f",n={n + 1},", f",n={n + 2},")
    wrong = command("tombola-accountant", "audit", "-", input="".join(json.dumps(r) + "\n" for r in records))
    assert wrong.returncode == 65 and f"{n + 1} dummies by chance, but there are {n} participants" in wrong.stderr, wrong


def test_a_row_without_such_dummies_refuses_the_fraction_in_one_line(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf", devices=N)
    for protocol, row in (("cheu", rounds()[0]), ("balcer-cheu", rounds()[0]), ("digits", rounds()[1])):
        cluster.plan([{**row, "protocol": protocol, "dummies": 2.5}])
        run = command("tombola", "plan", "cost", cluster.path("plan.conf"))
        assert run.returncode == c.EXIT["config"] and run.stderr.count("\n") == 1, run
        assert f"'dummies' of protocol '{protocol}' must be a whole number" in run.stderr


def test_the_dry_run_says_nothing_of_a_dummy_that_is_none(cluster, fake):
    # One in a thousand: four of the five are one with probability 5e-12.
    open_round(cluster, fake, "mixbins", {"type": "histogram", "epsilon0": 2.0, "values": ["x", "y"], "dummies": 0.001})
    cluster.write("readings.csv", "device,value\n" + "".join(f"{i},x\n" for i in range(5)))
    shown = cluster.json("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field",
                         "device")["devices"]
    reads = [r["reads"] for d in shown for r in d["records"]]
    assert len(reads) == 10 and reads.count("nothing") >= 2, reads
