"""Digits, ranges, marginals and prefixes: rounds of several batches, and questions that follow from answers."""
import glob
import json
import os
import random
import re
import subprocess
from collections import Counter

import pytest

from chance import near, within
from cluster import program
from test_rounds import run_plan
from wire import ROOT

pytestmark = pytest.mark.heavy

STATES, FANS = ("idle", "busy", "fault"), ("on", "off")
SITES = {"lighthouse": 30, "lightship": 25, "pier": 15, "quay-3": 12}  # percent; the others are all different


def write_readings(cluster, n, seed=3):
    """A row a device: a state, a fan that goes with it, a number, and a text with a long tail."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        state = rng.choices(STATES, (60, 38, 2))[0]
        fan = "on" if rng.random() < {"idle": 0.1, "busy": 0.8, "fault": 0.5}[state] else "off"
        site = rng.choices([*SITES, None], [*SITES.values(), 100 - sum(SITES.values())])[0] or f"x{rng.getrandbits(48):012x}"
        rows.append((f"dev{i}", state, fan, min(max(rng.gauss(30, 12), 0), 99.9), site))
    cluster.write("readings.csv", "device,state,fan,celsius,site\n" +
                  "".join(f"{d},{s},{f},{c:.3f},{t}\n" for d, s, f, c, t in rows))
    return rows


def batch(n, **keys):
    return {"min_reports": n, "target": n, "window": "30m", **keys}


def audited(cluster):
    export = cluster.run("analyzer", "ledger", "export")
    audit = subprocess.run([program("tombola-accountant"), "audit", "-"], capture_output=True, text=True,
                           input=export.stdout)
    assert audit.returncode == 0 and "audit passed" in audit.stdout, audit


def test_marginals_and_their_combinations(cluster):
    n = 2000
    cluster.configure(min_batch=1000, devices=n, max_epsilon0="inf")
    rows = write_readings(cluster, n)
    columns = [{"field": "state", "values": STATES}, {"field": "fan", "values": FANS}]
    cluster.plan([batch(n, query="pairs", type="marginals", columns=columns, marginals=[["state", "fan"], ["fan"]],
                        epsilon0=4.0),
                  batch(n, query="pairs-again", type="marginals", columns=columns, marginals=[["state", "fan"]],
                        epsilon0="inf", dummies=2)], epsilon=20.0)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    pairs, fans = Counter((r[1], r[2]) for r in rows), Counter(r[2] for r in rows)
    for number in (1, 2):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["reports"] == n and result["bad"] == 0 and result["messages"] == n * (2 if number == 1 else 3)
        items = {i["label"]: i for i in result["items"]}
        want = {f"state={s},fan={f}": pairs[s, f] for s in STATES for f in FANS}
        want |= {f"fan={f}": fans[f] for f in FANS} if number == 1 else {}
        assert set(items) == set(want)
        for label, truth in want.items():
            assert within(items[label], truth, step=1.5), (label, items[label], truth)
    # Of both slots: what one report may give away is the sum.
    assert 7.9 < cluster.json("analyzer", "round", "show", "1")["result"]["epsilon0"] <= 8
    audited(cluster)


def test_a_device_answers_for_one_level_and_one_marginal_that_it_draws(cluster):
    n = 2000
    cluster.configure(min_batch=1000, devices=n, max_epsilon0=4.0)
    rows = write_readings(cluster, n)
    columns = [{"field": "state", "values": STATES}, {"field": "fan", "values": FANS}]
    cluster.plan([batch(n, query="heat", type="ranges", protocol="hierarchy", field="celsius", range=[0.0, 100.0], leaves=25,
                        fanout=5, epsilon0=4.0),
                  batch(n, query="pairs", type="marginals", protocol="parallel", columns=columns,
                        marginals=[["state", "fan"], ["fan"]], epsilon0=4.0),
                  # Within such a guarantee both are what "auto" chooses.
                  batch(n, query="heat-auto", type="ranges", protocol="auto", field="celsius", range=[0.0, 100.0], leaves=25,
                        fanout=5, epsilon0=4.0, epsilon=15.0),
                  batch(n, query="pairs-auto", type="marginals", protocol="auto", columns=columns,
                        marginals=[["state", "fan"], ["fan"]], epsilon0=4.0, epsilon=15.0)], epsilon=20.0)
    cost = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf")], capture_output=True, text=True)
    assert re.search(r"heat +hierarchy +epsilon0 4.00, 1 of 2 slots +1 ", cost.stdout), cost
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    heat, pairs, heat_auto, pairs_auto = (cluster.json("analyzer", "round", "show", number)["result"] for number in "1234")
    assert heat_auto["protocol"] == "hierarchy" and pairs_auto["protocol"] == "parallel"
    for i, item in enumerate(heat_auto["items"][:5]):
        assert within(item, sum(i * 20 <= r[3] < (i + 1) * 20 for r in rows), step=4), item
    for result in (heat, pairs, heat_auto, pairs_auto):
        # One message of each, and its guarantee is one slot's.
        assert result["messages"] == n and result["bad"] == 0 and 3.9 < result["epsilon0"] <= 4
    items = heat["items"]
    for i, item in enumerate(items):
        width, at = (20, i) if i < 5 else (4, i - 5)
        assert within(item, sum(at * width <= r[3] < (at + 1) * width for r in rows), step=4), item
    for parent in range(5):
        children = items[5 + 5 * parent:10 + 5 * parent]
        assert sum(c["projected"] for c in children) == pytest.approx(items[parent]["projected"], abs=1e-6)
    truth = Counter(f"state={r[1]},fan={r[2]}" for r in rows) + Counter(f"fan={r[2]}" for r in rows)
    named = {f"state={s},fan={f}" for s in STATES for f in FANS} | {f"fan={f}" for f in FANS}
    assert {i["label"] for i in pairs["items"]} == named
    for item in pairs["items"]:
        assert within(item, truth[item["label"]], step=4), item
    audited(cluster)


def test_ranges_add_up(cluster):
    n = 2000
    cluster.configure(min_batch=1000, devices=n)
    rows = write_readings(cluster, n)
    cluster.plan([batch(n, query="heat", type="ranges", field="celsius", range=[0.0, 100.0], leaves=25, fanout=5,
                        epsilon0=4.0)], epsilon=20.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    items = result["items"]
    assert len(items) == 30 and items[0]["label"] == "[0, 20)" and items[5]["label"] == "[0, 4)"
    for i, item in enumerate(items):
        width, at = (20, i) if i < 5 else (4, i - 5)
        truth = sum(at * width <= r[3] < (at + 1) * width for r in rows)
        assert within(item, truth, step=2.5), (item, truth)
    # Nodes sum to those who have a reading, as the round estimates them.
    none, = result["no_reading"]
    assert near(sum(i["projected"] for i in items[:5]), n, none["variance"], step=2.5)
    for parent in range(5):
        children = items[5 + 5 * parent:10 + 5 * parent]
        assert sum(c["projected"] for c in children) == pytest.approx(items[parent]["projected"], abs=1e-6)
    # [16, 44): leaf 4, the node from 20, leaf 10.
    part = cluster.json("analyzer", "estimate", "heat", "--range", "16:44")
    assert (part["schema"], part["low"], part["high"], part["counts"]) == ("tombola.range/1", 16, 44, 3)
    for key in ("value", "variance", "projected"):
        assert part[key] == pytest.approx(sum(items[i][key] for i in (9, 1, 15)))
    assert within(part, sum(16 <= r[3] < 44 for r in rows), step=2.5)
    assert part["lower"] < part["value"] < part["upper"]
    text = cluster.run("analyzer", "estimate", "heat", "--range=16:44").stdout
    assert "16 to 44" in text and "the sum of 3 counts" in text
    for argument, reason in (("15:44", "the nearest whole ones are 16:44"), ("44", "LOW:HIGH"), ("0:200", "are 0:100")):
        refused = cluster.run("analyzer", "estimate", "heat", "--range", argument)
        assert refused.returncode == 64 and reason in refused.stderr, refused
    audited(cluster)


def test_means_and_sums_from_digits(cluster):
    n = 2000
    cluster.configure(min_batch=1000, devices=n, max_epsilon0="inf")
    rows = write_readings(cluster, n)
    number = {"field": "celsius", "range": [0.0, 100.0], "protocol": "digits"}
    cluster.plan([batch(n, query="mean", type="mean", epsilon0=3.0, levels=64, **number),
                  batch(n, query="sum", type="sum", epsilon0="inf", dummies=1, levels=16, size=4, **number)],
                 epsilon=40.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    total = sum(r[3] for r in rows)
    mean, = cluster.json("analyzer", "estimate", "mean")["items"]
    assert within(mean, total / n)
    item, = cluster.json("analyzer", "estimate", "sum")["items"]
    assert within(item, total)
    assert cluster.json("analyzer", "round", "show", "2")["result"]["messages"] == n * (2 + 5)
    audited(cluster)


def hexadecimal(text, bits):
    return (text.encode() + bytes(64)).hex()[:bits // 4]


def test_sets_of_items_from_arrays_and_from_texts(cluster):
    """Baskets of up to six of four asked items and one that is not asked for; a tenth of the devices have no basket."""
    n, items = 2000, ["milk", "bread", "tea", "salt, fine"]
    cluster.configure(min_batch=1000, devices=n)
    rng = random.Random(11)
    baskets = [None if i % 10 == 0 else [t for t, p in zip([*items, "gin"], (0.7, 0.4, 0.1, 0.02, 0.5)) if rng.random() < p]
               for i in range(n)]
    rows = ({"device": f"dev{i}", **({} if b is None else {"basket": b if i % 2 else ";".join(b + b)})}
            for i, b in enumerate(baskets))
    cluster.write("readings.ndjson", "".join(json.dumps(r) + "\n" for r in rows))
    cluster.write("client.conf", open(cluster.path("client.conf")).read().replace("readings.csv", "readings.ndjson"))
    cluster.plan([batch(n, query=f"of-{size}", type="sets", field="basket", values=items, size=size, epsilon0=6.0)
                  for size in (4, 1)], epsilon=20.0)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    for number, size in ((1, 4), (2, 1)):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["estimand"].startswith(f"a set of more than {size} item")
        assert [i["label"] for i in result["items"]] == items
        kept = [[t for t in b or () if t in items] for b in baskets]
        truth = [sum(min(1, size / len(k)) for k in kept if t in k) for t in items]
        # What is drawn of larger sets varies, beside the noise that the intervals are of.
        drawn = [sum((f := min(1, size / len(k))) * (1 - f) for k in kept if t in k) for t in items]
        for item, count, more in zip(result["items"], truth, drawn):
            assert abs(item["value"] - count) <= 6.2 * (item["variance"] + more) ** 0.5, (item, count)
        none, = result["no_reading"]
        assert abs(none["value"] - n / 10) <= 6.2 * none["variance"] ** 0.5
    audited(cluster)


def test_heavy_hitters_by_extending_prefixes(cluster):
    n = 3000
    cluster.configure(min_batch=1000, devices=n)
    rows = write_readings(cluster, n)
    texts = {"type": "prefixes", "field": "site", "epsilon0": 5.0}
    plan, before = [], {}
    for bits in range(8, 48, 8):
        plan.append(batch(n, query=f"site-{bits}", bits=bits, **texts, **before))
        before = {"after": f"site-{bits}", "keep": 8}
    cluster.plan(plan, epsilon=45.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    truth = Counter(hexadecimal(r[4], 40) for r in rows)
    result = cluster.json("analyzer", "round", "show", "5")["result"]
    found = {i["label"]: i for i in result["items"] if not i["below_noise"]}
    heavy = {hexadecimal(s, 40) for s in SITES}
    assert heavy <= set(found)
    shown = cluster.run("analyzer", "estimate", "site-40").stdout
    for label, item in found.items():
        assert within(item, truth[label], step=15)
        text = bytes.fromhex(label).rstrip(b"\0").decode()
        assert item["text"] == text and f'"{text}"' in shown and label not in shown, (item, shown)
    # Fewer candidates than the plan has bins for, and no other bin.
    assert len(result["items"]) <= 8 * 256 and len(result["counts"]) == 8 * 256 + 1
    audited(cluster)


def test_a_round_without_a_question_holds_its_budget(cluster):
    n = 60
    cluster.configure(min_batch=50, devices=n)
    write_readings(cluster, n)
    texts = {"type": "prefixes", "field": "site", "epsilon0": 0.2}
    state = {"field": "state", "type": "histogram", "values": STATES, "epsilon0": 1.0}
    cluster.plan([batch(n, query="site-8", bits=8, **texts),
                  batch(n, query="site-16", bits=16, after="site-8", keep=8, **texts),
                  batch(n, query="state", **state)], epsilon=20.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    first, second, third = cluster.json("analyzer", "round", "list")["rounds"]
    assert (first["stage"], third["stage"]) == ("settled", "settled")
    # One answer in some dozens has by chance an item that stands out; that is then extended.
    found = [i for i in cluster.json("analyzer", "round", "show", "1")["result"]["items"] if not i["below_noise"]]
    assert second["stage"] == ("settled" if found else "refused"), (second, found)
    assert found or second["reason"].startswith("nothing to extend")
    # Whatever the first answer was, the third round stands after the same two.
    assert first["epsilon_total"] < second["epsilon_total"] < third["epsilon_total"]
    cost = json.loads(subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf"), "--json"],
                                     capture_output=True, text=True).stdout)
    assert abs(third["epsilon_total"] / cost["rounds"][2]["epsilon_total"] - 1) < 1e-3, (third, cost["rounds"])
    audited(cluster)


PLANS = sorted(glob.glob(os.path.join(ROOT, "deploy", "plans", "*.conf")))


@pytest.mark.parametrize("plan", [os.path.join(ROOT, "deploy", "plan.conf"), *PLANS], ids=os.path.basename)
def test_an_example_plan_fits_its_budget(plan):
    """And loses nothing of it: the slice is what its rounds use."""
    check = subprocess.run([program("tombola"), "plan", "check", plan], capture_output=True, text=True)
    assert check.returncode == 0, check.stderr
    cost = subprocess.run([program("tombola"), "plan", "cost", plan, "--json"], capture_output=True, text=True)
    rounds = json.loads(cost.stdout)["rounds"]
    assert len(rounds) >= 2 and all(r["fits"] for r in rounds), cost.stdout
    shown = subprocess.run([program("tombola"), "plan", "cost", plan], capture_output=True, text=True)
    assert "exactly what its rounds use" in shown.stdout, shown
    assert "warning" not in shown.stdout + shown.stderr and "-0.0000" not in shown.stdout, shown
    # What the examples are for: together they have every kind of question but the plain ones.
    kinds = "".join(open(p).read() for p in PLANS)
    assert all(f'type = "{k}"' in kinds for k in ("prefixes", "marginals", "ranges", "sum", "quantiles", "vector"))
