"""What a real client pins of signed plans, which tries it takes part in, and what it does when its ledger was rolled back:
against an analyzer and a shuffler in Python, with each check in place and with it removed."""
import os
import shutil
import subprocess

import pytest

import wire
from cluster import EXIT, program, wait_for
from parties import Shuffler
from test_attacks import Descriptors, colours
from wire import pb

DEVICES = 4


@pytest.fixture
def fake(cluster):
    cluster.configure(min_batch=2, max_epsilon0=5.0, epsilon=8.0)
    made = Shuffler(cluster)
    yield made
    made.close()


class Planned(Descriptors):
    """Makes plans of several entries, and rounds of them in any order."""

    def plan_of(self, n=3, epsilon=4.0, epsilon0=1.0, min_reports=10, **change):
        """A plan of n such rounds, which few clients leave void."""
        self.like = dict(epsilon0=epsilon0, min_reports=min_reports, target=min_reports)
        d = self.descriptor(**self.like)
        return self.plan([self.entry(d, i + 1) for i in range(n)], epsilon=epsilon, **change)

    def round(self, fake, plan, entry=1, attempt=1, void=b"", **change):
        d = self.descriptor(**{**self.like, **change})
        d.plan_hash, d.entry, d.attempt, d.void_manifest = wire.sha256(plan), entry, attempt, void
        return self.offer(fake, d=self.follow(d))[0]


def send(cluster, *args, mutant=""):
    return cluster.run("client", "send", colours(cluster, DEVICES), "--device-field", "device", "--wait", "3m", *args,
                       mutant=mutant)


def end(fake, d, is_void=True, key=None, of=None):
    """The shuffler's manifest of a round; its hash."""
    r = fake.rounds[d.round_id]
    other = fake.rounds[of.round_id] if of else r
    body = pb.Manifest(version=1, round_id=other["d"].round_id, descriptor_hash=wire.sha256(other["data"]),
                       participants=len(r["taken"]) if is_void else 10, void=is_void,
                       messages=0 if is_void else 10, tree=b"" if is_void else b"\1" * 32,
                       buckets=[] if is_void else [pb.Bucket(messages=10, root=b"\1" * 32)]).SerializeToString()
    r["sealed"] = True
    r["manifest"] = pb.SignedManifest(manifest=body, signature=wire.sign(key or fake.key, "manifest", body))
    return wire.sha256(body)


def answered(fake, d):
    return len(fake.rounds[d.round_id]["taken"])


def refused(run, code, words):
    assert run.returncode == EXIT[code], (run.returncode, run.stderr)
    assert words in run.stderr, run.stderr


# ---- Pins ----------------------------------------------------------------------------------------------------------

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
    assert status["epsilon_spent"] == 4.0 and status["loss"] == {"lost": False, "accepted": False, "closed_plans": 0}
    assert [(p["number"], p["pinned"], p["answered"], p["epsilon"]) for p in status["plans"]] == [(1, 3, 2, 4.0)]
    text = cluster.run("client", "status").stdout
    assert "plan test (1) pinned: 3 of 3 entries, 2 of them answered; slice of epsilon 4 at delta 1e-08" in text, text
    check = cluster.run("client", "check")
    assert "budget 33.4% used, 50.0% pinned by plans" in check.stdout, check.stdout


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
        assert cluster.json("client", "status")["epsilon_spent"] == 5.0
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


# ---- Tries ---------------------------------------------------------------------------------------------------------

def first_try(cluster, analyzer, fake, **change):
    plan = analyzer.plan_of(**change)
    d = analyzer.round(fake, plan)
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    return plan, d


def test_a_void_round_is_tried_again_and_costs_no_slice_more(cluster, fake):
    with open(cluster.path("client.conf"), "a") as f:
        f.write("proofs = 0;\n")  # which ask for manifests too
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    for attempt in (2, 3):
        d = analyzer.round(fake, plan, 1, attempt, end(fake, d))
        run = send(cluster)
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
        assert f"entry 1, try {attempt}" in run.stdout
    assert fake.asked.count("get_manifest") == 2
    assert cluster.json("client", "status")["epsilon_spent"] == 4.0
    d = analyzer.round(fake, plan, 1, 4, end(fake, d))
    refused(send(cluster), "permission", "try 4 of entry 1, the plan allows 3")


@pytest.mark.parametrize("first", ["of the try before", "of the round that is proved"])
def test_of_two_manifests_that_are_awaited_each_goes_to_who_asked_for_it(cluster, fake, first):
    """The one of a void try, and the one that the proofs of inclusion of an earlier round are held against."""
    with open(cluster.path("client.conf"), "a") as f:
        f.write('proof_within = "0s";\n')
    held = {}
    fake.on_get_manifest = lambda link, m: held.update({m.round_id: link})
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    proved = analyzer.round(fake, plan)
    colours(cluster, DEVICES)
    client = cluster.start("client", "run")
    wait_for("the round", lambda: answered(fake, proved) == DEVICES)
    end(fake, proved)
    tried = analyzer.round(fake, plan, 2)
    wait_for("the first try", lambda: answered(fake, tried) == DEVICES)
    again = analyzer.round(fake, plan, 2, 2, end(fake, tried))
    wait_for("both questions", lambda: set(held) == {proved.round_id, tried.round_id})
    del fake.on_get_manifest  # what is asked from here on is answered
    for d in (tried, proved) if first == "of the try before" else (proved, tried):
        held[d.round_id].send(manifest=fake.rounds[d.round_id]["manifest"])
    wait_for("the next try", lambda: answered(fake, again) == DEVICES)
    assert "none of the round" not in client.log() and "refused" not in client.log()
    client.stop()


@pytest.mark.parametrize("how,words,check", [
    ("none", "counts as released", "client.try.void"),
    ("forged", "counts as released", "round.manifest.signature"),
    ("of another round", "counts as released", "client.try.void"),
    ("sealed", "its try 1 was sealed", "client.try.void"),
    ("not the one named", "names another VOID manifest", "client.try.named"),
])
@pytest.mark.parametrize("removed", [False, True])
def test_a_further_try_needs_the_void_manifest_of_the_one_before(cluster, fake, how, words, check, removed):
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    other = analyzer.round(fake, plan, 3)
    end(fake, other)
    if how == "none":
        fake.rounds[d.round_id]["sealed"], void = True, b"\5" * 32
        fake.on_get_manifest = lambda link, m: fake.error(link, pb.ERROR_NOT_FOUND, "gone")
    elif how == "forged":
        void = end(fake, d, key=analyzer.key)
    elif how == "of another round":
        void = end(fake, d, of=other)
    elif how == "sealed":
        void = end(fake, d, is_void=False)
    else:
        end(fake, d)
        void = b"\6" * 32
    d = analyzer.round(fake, plan, 1, 2, void)
    run = send(cluster, mutant=check if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "permission", words)
        assert answered(fake, d) == 0


@pytest.mark.parametrize("removed", [False, True])
def test_one_try_has_one_descriptor(cluster, fake, removed):
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    end(fake, d)
    d = analyzer.round(fake, plan, 1, 1)
    run = send(cluster, mutant="client.try.later" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "permission", "is offered after this client took part in try 1")
        assert answered(fake, d) == 0


@pytest.mark.parametrize("removed", [False, True])
def test_a_policy_limits_the_tries(cluster, fake, removed):
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write("max_tries = 1;\n")
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    d = analyzer.round(fake, plan, 1, 2, end(fake, d))
    run = send(cluster, mutant="client.policy.tries" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "permission", "max_tries is 1")


def test_who_was_away_joins_a_later_try_without_a_manifest(cluster, fake):
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    d = analyzer.round(fake, plan)
    d = analyzer.round(fake, plan, 1, 2, end(fake, d))
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    assert "get_manifest" not in fake.asked


# ---- Standings -----------------------------------------------------------------------------------------------------

def rolled_back(cluster, analyzer, fake, plan):
    """Take part in entries 1 and 2, and put the state of between the two back."""
    d = analyzer.round(fake, plan, 1)
    assert send(cluster).returncode == 0
    end(fake, d)
    shutil.copytree(cluster.path("client"), cluster.path("backup"))
    d = analyzer.round(fake, plan, 2)
    assert send(cluster).returncode == 0
    end(fake, d)
    shutil.rmtree(cluster.path("client"))
    shutil.copytree(cluster.path("backup"), cluster.path("client"))


@pytest.mark.parametrize("removed", [False, True])
def test_a_client_restored_from_a_backup_answers_nothing(cluster, fake, removed):
    """It would answer an entry a second time, under a descriptor that the analyzer makes up for it."""
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    rolled_back(cluster, analyzer, fake, plan)
    d = analyzer.round(fake, plan, 2)
    run = send(cluster, mutant="client.standing" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
        return
    refused(run, "budget", "the shuffler has a report of round 2 that this ledger does not know")
    assert "accept-loss" in run.stderr and answered(fake, d) == 0
    assert cluster.json("client", "status")["loss"]["lost"]
    check = cluster.run("client", "check")
    assert check.returncode == 2 and "restored, cloned or lost" in check.stdout, check

    # By name only, with the number of the last plan, and once.
    for args in ((), ("--confirm", "test"), ("--confirm", "other", "--plans", "1"), ("--confirm", "test", "--plans", "0")):
        run = cluster.run("client", "accept-loss", *args)
        assert run.returncode == EXIT["usage"], (args, run)
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--plans", "1")
    assert run.returncode == 0 and "plans up to 1 are closed" in run.stdout, run
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--plans", "1")
    assert run.returncode == 1 and "no loss to accept" in run.stderr, run
    refused(send(cluster), "permission", "plan 'test' (1) is closed")
    end(fake, d)
    # A later plan is answered; the closed one's slice is spent.
    d = analyzer.round(fake, analyzer.plan_of(epsilon=3.0))
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    end(fake, d)
    assert cluster.json("client", "status")["epsilon_spent"] == 7.0
    d = analyzer.round(fake, analyzer.plan_of(epsilon=1.5))
    refused(send(cluster), "budget", "takes a slice of epsilon 1.5")


def test_a_client_that_lost_its_ledger_counts_the_plans_it_has_forgotten(cluster, fake):
    analyzer = Planned(cluster)
    d = analyzer.round(fake, analyzer.plan_of(epsilon=4.0))
    assert send(cluster).returncode == 0
    end(fake, d)
    second = analyzer.plan_of(epsilon=1.0)
    for f in os.listdir(cluster.path("client")):
        if f.startswith("client.db"):
            os.unlink(cluster.path("client", f))
    run = send(cluster)
    assert run.returncode == EXIT["data"] and "accept-loss" in run.stderr, run
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--plans", "2")
    assert run.returncode == 0, run
    d = analyzer.round(fake, second)
    refused(send(cluster), "permission", "plan 'test' (2) is closed")
    end(fake, d)
    d = analyzer.round(fake, analyzer.plan_of(epsilon=3.0))
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    status = cluster.json("client", "status")
    assert status["epsilon_spent"] == 8.0
    assert [(p["number"], p["pinned"]) for p in status["plans"]] == [(1, 0), (2, 0), (3, 3)]


@pytest.mark.parametrize("removed", [False, True])
def test_only_the_shuffler_says_where_a_client_stands(cluster, fake, removed):
    """Without a standing no round is asked for."""
    analyzer = Planned(cluster)
    d = analyzer.round(fake, analyzer.plan_of())
    fake.standing_key = lambda: analyzer.key
    run = cluster.run("client", "send", colours(cluster, DEVICES), "--device-field", "device", "--wait", "3s",
                      mutant="client.standing.signature" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    else:
        refused(run, "protocol", "standing: not signed by the shuffler")
        assert "get_round" not in fake.asked


def test_a_renewed_certificate_of_another_key_begins_with_no_standing(cluster, fake):
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    d = analyzer.round(fake, plan, 1)
    assert send(cluster).returncode == 0
    end(fake, d)
    cluster.configure(min_batch=2, max_epsilon0=5.0, epsilon=8.0, devices=1000)
    d = analyzer.round(fake, plan, 2)
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES


# ---- The wire ------------------------------------------------------------------------------------------------------

def test_what_a_client_asks_does_not_depend_on_its_readings(cluster, fake):
    """Through a plan, a further try, a refusal: the same kinds of frames, whatever the devices have."""
    seen = []
    for values in (["c0", "c1", "c2", "c3"], ["c3"] * 4):
        analyzer = Planned(cluster)
        fake.asked.clear()
        fake.order.clear()
        fake.standings.clear()
        shutil.rmtree(cluster.path("client"))
        os.mkdir(cluster.path("client"), 0o700)
        readings = cluster.write("readings.csv", "device,colour\n" + "".join(f"dev{i},{v}\n" for i, v in enumerate(values)))
        plan = analyzer.plan_of()
        d = analyzer.round(fake, plan)
        void = b""
        for attempt in (1, 2):
            run = cluster.run("client", "send", readings, "--device-field", "device", "--wait", "3m")
            assert run.returncode == 0, run.stderr
            void = end(fake, d)
            d = analyzer.round(fake, plan, 1, 2, void) if attempt == 1 else analyzer.round(fake, plan, 9)
        assert cluster.run("client", "send", readings, "--device-field", "device", "--wait", "3m").returncode == \
            EXIT["permission"]
        seen.append(list(fake.asked))
    # Two are asked by a clock: proofs when their time has come, and for a round again while there is none.
    timed = ("get_manifest", "get_round")
    assert [k for k in seen[0] if k not in timed] == [k for k in seen[1] if k not in timed], seen
    assert set(seen[0]) == set(seen[1]) and {*timed, "get_plan"} <= set(seen[0]), seen


@pytest.mark.parametrize("removed", [False, True])
def test_a_try_that_was_sealed_for_its_proofs_is_not_void_for_the_next(cluster, fake, removed):
    """A shuffler that gives a batch away and calls the try void afterwards: the client has asked for the manifest before."""
    with open(cluster.path("client.conf"), "a") as f:
        f.write('proof_within = "0s";\n')
    fake.on_get_proof = lambda link, m: fake.error_of(link, wire.pb.ERROR_NOT_FOUND, m.round_id)
    mutant = "client.manifest.twice" if removed else ""
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    end(fake, d, is_void=False)
    run = cluster.run("client", "proofs", "--wait", "3m", mutant=mutant)
    assert run.returncode == 0 and "get_manifest" in fake.asked, run.stderr
    d = analyzer.round(fake, plan, 1, 2, end(fake, d))
    run = send(cluster, mutant=mutant)
    path = cluster.path("client", "evidence-1-manifests")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES and not os.path.exists(path), run.stderr
        return
    refused(run, "permission", "the shuffler signed two manifests for one round; both are kept: ")
    assert answered(fake, d) == 0
    said = subprocess.run([program("tombola"), "evidence", "verify", path, "--shuffler-key",
                           os.path.join(cluster.pki, "client", "shuffler-sign.pub")], capture_output=True, text=True)
    assert said.returncode == 0 and "signed two manifests for round" in said.stdout, said.stderr
