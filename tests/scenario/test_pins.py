"""What a real client pins of signed plans: against an analyzer and a shuffler in Python, with each check in place and with it
removed."""
import json
import math
import os
import subprocess

import pytest

import wire
from cluster import program, wait_for
from pinned import DEVICES, Planned, answered, end, refused, send, fake  # noqa: F401
from test_attacks import colours


def test_a_plan_is_pinned_once_and_its_rounds_are_looked_up(cluster, fake):
    analyzer = Planned(cluster)
    plan = analyzer.plan_of(n=3)
    for entry in (3, 1):
        d = analyzer.round(fake, plan, entry)
        run = send(cluster)
        assert run.returncode == 0, run.stderr
        assert f"plan test (1), slice of epsilon 4 at delta 1e-08: entry {entry}, try 1; 3 of 3 entries pinned" in run.stdout
        assert "4.0000 of all that is pinned" in run.stdout, run.stdout
        assert answered(fake, d) == DEVICES
        end(fake, d)
    assert fake.asked.count("get_plan") == 1
    status = cluster.json("client", "status")
    assert status["population_budget"]["pinned"] == 4.0 and status["loss"] == {"lost": False, "conflict": False, "accepted": False,
                                                                       "closed_plans": 0}
    assert [(p["number"], p["pinned"], p["answered"], p["epsilon"]) for p in status["plans"]] == [(1, 3, 2, 4.0)]
    text = cluster.run("client", "status").stdout
    assert "plan test (1) pinned: 3 of 3 entries, 2 of them answered; slice of epsilon 4 at delta 1e-08" in text, text
    check = cluster.run("client", "check")
    # Entry 3 was answered, the last: all that the three cost is used, of a budget of 8.
    cost = subprocess.run([program("tombola-accountant"), "epsilon", "--delta", "1e-8", "--round", "grr:k=4,eps0=1,n=10,count=3", "--json"],
                          capture_output=True, text=True, check=True)
    bounds = json.loads(cost.stdout)
    figure = status["population_budget"]
    assert (figure["limit"], figure["pinned"], figure["free"]) == (8.0, 4.0, 4.0)
    assert bounds["epsilon_lower"] <= figure["used"] <= bounds["epsilon_upper"] and figure["ratio"] == figure["used"] / 8
    assert f"budget {math.ceil(1000 * figure['ratio']) / 10:.1f}% used, 50.0% pinned by plans" in check.stdout, check.stdout


def test_a_dry_run_says_the_pin_and_pins_nothing(cluster, fake):
    analyzer = Planned(cluster)
    analyzer.round(fake, analyzer.plan_of(n=3), 2)
    saved = cluster.path("saved")
    for args in (("--save", saved), ("--descriptor", saved)):
        run = cluster.run("client", "encode", "--dry-run", colours(cluster, DEVICES), "--device-field", "device", *args)
        assert run.returncode == 0, run.stderr
        assert "would take part; plan test (1), slice of epsilon 4 at delta 1e-08: entry 2, try 1; 3 of 3 entries pinned" \
            in run.stdout, run.stdout
        assert "epsilon 4.0000 of 8.0000 at delta 1e-08" in run.stdout, run.stdout
    os.unlink(saved + ".plan")
    run = cluster.run("client", "encode", "--dry-run", colours(cluster, DEVICES), "--descriptor", saved)
    assert run.returncode == 0 and "its plan is not known here" in run.stdout, run
    assert not os.path.exists(cluster.path("client", "client.db"))


def test_a_plan_swapped_after_the_pin_is_refused(cluster, fake):
    analyzer = Planned(cluster)
    end(fake, analyzer.round(fake, analyzer.plan_of(epsilon=3.0)))
    first = analyzer.plan_of(epsilon=3.0, number=1, previous=b"")
    d = analyzer.round(fake, first)
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    end(fake, d)
    swapped = analyzer.plan_of(n=4, epsilon=3.0, number=1, previous=b"")
    d = analyzer.round(fake, swapped)
    refused(send(cluster), "permission", "two plans of number 1")
    assert answered(fake, d) == 0
    end(fake, d)
    # A plan that follows none of those that are known.
    d = analyzer.round(fake, analyzer.plan_of(number=2, previous=b"\7" * 32))
    refused(send(cluster), "permission", "does not follow the plan 1")
    assert answered(fake, d) == 0


def test_without_the_check_a_swapped_plan_is_pinned_beside_the_first(cluster, fake):
    analyzer = Planned(cluster)
    for n in (3, 4):
        d = analyzer.round(fake, analyzer.plan_of(n=n, epsilon=3.0, number=1, previous=b""))
        assert send(cluster, mutant="client.plan.chain").returncode == 0
        assert answered(fake, d) == DEVICES
        end(fake, d)
    assert [p["number"] for p in cluster.json("client", "status")["plans"]] == [1, 1]


@pytest.mark.parametrize("removed", [False, True])
def test_a_second_plan_whose_slice_does_not_fit_is_refused(cluster, fake, removed):
    analyzer = Planned(cluster)
    d = analyzer.round(fake, analyzer.plan_of(epsilon=5.0))
    assert send(cluster).returncode == 0
    end(fake, d)
    d = analyzer.round(fake, analyzer.plan_of(epsilon=3.1))
    run = send(cluster, mutant="client.budget" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "budget", "plan 'test' (2) takes a slice of epsilon 3.1")
        assert answered(fake, d) == 0
        assert cluster.json("client", "status")["population_budget"]["pinned"] == 5.0
        end(fake, d)
        d = analyzer.round(fake, analyzer.plan_of(epsilon=3.0))
        assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES


@pytest.mark.parametrize("removed", [False, True])
def test_a_round_made_up_as_one_goes_is_not_the_plans(cluster, fake, removed):
    """A larger epsilon0, or another batch, under the hash of the plan that is pinned."""
    analyzer = Planned(cluster)
    plan = analyzer.plan_of(n=3, epsilon=4.0)
    d = analyzer.round(fake, plan)
    assert send(cluster).returncode == 0
    end(fake, d)
    for change in (dict(epsilon0=2.0), dict(min_reports=4, target=10)):
        d = analyzer.round(fake, plan, 2, **change)
        run = send(cluster, mutant="client.plan.covers" if removed else "")
        if removed:
            assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
            break
        refused(run, "permission", "is not the plan's")
        assert answered(fake, d) == 0
        end(fake, d)


def test_rounds_made_up_under_plans_of_their_own_use_up_the_budget(cluster, fake):
    """A new plan for each answer: every one is a slice more."""
    analyzer = Planned(cluster)
    for i in range(3):
        d = analyzer.round(fake, analyzer.plan_of(n=1, epsilon=3.0))
        run = send(cluster)
        assert (run.returncode == 0) == (i < 2), run.stderr
        assert answered(fake, d) == (DEVICES if i < 2 else 0)
        end(fake, d)
    refused(run, "budget", "6 at 2e-08 of 8 at 1e-06 is pinned")


def believe(cluster, fraction):
    """So many of a round's participants are honest, as the client's operator believes from now on."""
    with open(cluster.path("client-policy.conf")) as f:
        text = f.read()
    assert "honest_fraction = 1.0;" in text
    cluster.write("client-policy.conf", text.replace("honest_fraction = 1.0;", f"honest_fraction = {fraction};"))


@pytest.mark.parametrize("removed", [False, True])
def test_an_entry_that_did_not_fit_at_the_pin_is_never_answered(cluster, fake, removed):
    """The client believes fewer honest than the plan: two of three fit, by its own composition."""
    believe(cluster, 0.5)
    analyzer = Planned(cluster)
    plan = analyzer.plan_of(n=3, epsilon=2.5, epsilon0=1.2, min_reports=2)
    d = analyzer.round(fake, plan, 1)
    run = send(cluster)
    assert run.returncode == 0, run.stderr
    assert "2 of 3 entries pinned" in run.stdout, run.stdout
    end(fake, d)
    d = analyzer.round(fake, plan, 3)
    run = send(cluster, mutant="client.plan.entry" if removed else "")
    if removed:
        assert run.returncode == 0 and fake.rounds[d.round_id]["taken"], run.stderr
    else:
        refused(run, "permission", "entry 3 is not among the 2 of 3 that this client pinned")
        assert not fake.rounds[d.round_id]["taken"]


@pytest.mark.parametrize("removed", [False, True])
def test_who_trusts_less_than_at_the_pin_takes_part_no_more(cluster, fake, removed):
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    d = analyzer.round(fake, plan)
    assert send(cluster).returncode == 0
    end(fake, d)
    believe(cluster, 0.9)
    d = analyzer.round(fake, plan, 2)
    run = send(cluster, mutant="client.plan.trust" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "permission", "trust others less than when plan 1 was pinned")


@pytest.mark.parametrize("removed", [False, True])
def test_a_policy_may_name_the_one_plan_it_answers(cluster, fake, removed):
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write(f'plan = "sha256:{wire.sha256(plan).hex()}";\n')
    d = analyzer.round(fake, plan)
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    end(fake, d)
    d = analyzer.round(fake, analyzer.plan_of(epsilon=1.0))
    run = send(cluster, mutant="client.policy.plan" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "permission", "another plan than `plan` names")
        assert fake.asked.count("get_plan") == 1


@pytest.mark.parametrize("how,mutant", [("not found", ""), ("another plan", ""), ("signed by the shuffler", ""),
                                        ("signed by the shuffler", "round.plan.signature"), ("nonsense", "")])
def test_a_shuffler_without_the_plan_stalls_nobody(cluster, fake, how, mutant):
    """The round is refused, and the next one is answered by the same run."""
    analyzer = Planned(cluster)
    plan, other = analyzer.plan_of(epsilon=1.0), analyzer.plan_of(epsilon=2.0)
    d = analyzer.round(fake, plan)
    name = wire.sha256(plan)
    good = fake.plans.pop(name)
    if how == "another plan":
        fake.plans[name] = fake.plans[wire.sha256(other)]
    elif how == "signed by the shuffler":
        fake.plans[name] = good[0], wire.sign(fake.key, "plan", good[0])
    elif how == "nonsense":
        fake.plans[name] = b"\xff" * 100, wire.sign(analyzer.key, "plan", b"\xff" * 100)
    colours(cluster, DEVICES)
    client = cluster.start("client", "run", mutant=mutant)
    if mutant:  # the plan is whoever's: it is pinned
        wait_for("the round", lambda: answered(fake, d) == DEVICES)
        return
    wait_for("the refusal", lambda: '"round refused"' in client.log())
    assert "the round's plan is not to be had" in client.log()
    end(fake, d)
    d = analyzer.round(fake, other)
    wait_for("the next round", lambda: answered(fake, d) == DEVICES)
    client.stop()
