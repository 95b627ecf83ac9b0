"""Which tries of an entry a real client takes part in, and what it does when its ledger was rolled back: against an analyzer and
a shuffler in Python, with each check in place and with it removed."""
import os
import shutil
import subprocess

import pytest

import wire
from cluster import EXIT, program, wait_for
from evidence import evidence, proofs, verify
from pinned import DEVICES, Planned, answered, end, refused, send, fake  # noqa: F401
from test_attacks import colours
from wire import pb


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
    assert cluster.json("client", "status")["population_budget"]["pinned"] == 4.0
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


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("participants", [0, DEVICES - 1])
def test_a_void_manifest_that_denies_receipts_ends_the_tries_and_convicts(cluster, fake, participants, removed):
    """The shuffler has signed that it accepted DEVICES devices."""
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    d = analyzer.round(fake, plan, 1, 2, end(fake, d, participants=participants))
    run = send(cluster, mutant="client.void.receipts" if removed else "")
    if removed:
        assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
        return
    refused(run, "permission", f"VOID with {participants} participants after receipts for {DEVICES} devices")
    assert answered(fake, d) == 0
    found, = evidence(cluster)
    run = verify(cluster, found)
    assert run.returncode == 0, run
    assert f"at least {DEVICES} devices" in run.stdout and f"void with {participants} participants" in run.stdout, run
    check = cluster.run("client", "check")
    assert check.returncode == 2 and "1 files" in check.stdout and "evidence-*" in check.stdout, check
    # Nothing is answered of the entry after a restart, either; of others it is.
    refused(send(cluster), "permission", "counts as released")
    end(fake, d)
    d = analyzer.round(fake, plan, 2)
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES


def test_the_proofs_of_a_round_notice_a_void_manifest_that_denies_receipts(cluster, fake):
    analyzer = Planned(cluster)
    _plan, d = first_try(cluster, analyzer, fake)
    end(fake, d, participants=1)
    run, counts = proofs(cluster)
    assert run.returncode == EXIT["protocol"] and counts["void"] == 1, run
    assert "the shuffler says VOID with fewer participants than it had accepted" in run.stderr, run
    assert verify(cluster, *evidence(cluster)).returncode == 0


def test_a_round_that_was_given_up_is_tried_again_and_convicts_nobody(cluster, fake):
    """Its analyzer ended it, or an operator who lost the round's key: nobody counted."""
    analyzer = Planned(cluster)
    plan, d = first_try(cluster, analyzer, fake)
    d = analyzer.round(fake, plan, 1, 2, end(fake, d, participants=0, given_up=True))
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
    run, _counts = proofs(cluster)
    assert run.returncode == 0 and "gave up a round after it had accepted" in run.stderr, run
    assert not evidence(cluster)


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
    assert cluster.json("client", "status")["population_budget"]["pinned"] == 7.0
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
    assert status["population_budget"]["pinned"] == 8.0
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


@pytest.mark.parametrize("removed", [False, True])
def test_a_standing_that_the_client_did_not_confirm_is_no_loss(cluster, fake, removed):
    """A shuffler that lies, or whose database somebody writes to, can state any round.  Without the client's own MAC nothing is
    answered for as long as it does, and nothing is lost; afterwards the client goes on."""
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    d = analyzer.round(fake, plan, 1)
    assert send(cluster).returncode == 0
    end(fake, d)
    (peer, honest), = fake.standings.items()
    assert len(honest[2]) == 32
    d = analyzer.round(fake, plan, 2)
    for mac in (b"", bytes(32), os.urandom(32), honest[2]):
        fake.standings[peer] = (9, os.urandom(32), mac)
        run = send(cluster, mutant="client.standing.mac" if removed else "")
        if removed:
            assert cluster.json("client", "status")["loss"]["lost"]
            return
        refused(run, "permission", "neither this ledger nor gateway.key confirms round 9: nothing is answered, and nothing counts")
        assert answered(fake, d) == 0 and not cluster.json("client", "status")["loss"]["lost"]
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--plans", "1")
    assert run.returncode == 1 and "no loss to accept" in run.stderr, run
    # A daemon says it where its people look, and goes on by itself.
    daemon = cluster.start("client", "run")
    wait_for("its warning", lambda: "confirms round 9" in cluster.run("client", "check").stdout)
    assert cluster.run("client", "check").returncode == 1
    # What the ledger knows needs no MAC: a shuffler of an earlier version stored none.
    fake.standings[peer] = (*honest[:2], b"")
    wait_for("its answer", lambda: answered(fake, d) == DEVICES)
    assert "confirms" not in cluster.run("client", "check").stdout
    daemon.stop()


def test_a_state_made_anew_beside_a_standing_waits_for_a_person(cluster, fake):
    """Ledger and secret are lost, the certificate is not: nobody can tell this from a lie, so a person says what it is."""
    analyzer = Planned(cluster)
    d = analyzer.round(fake, analyzer.plan_of())
    assert send(cluster).returncode == 0
    end(fake, d)
    shutil.rmtree(cluster.path("client"))
    os.mkdir(cluster.path("client"), 0o700)
    d = analyzer.round(fake, analyzer.plan_of(epsilon=1.0))
    refused(send(cluster), "permission", "If this state was made anew for a certificate that took part before: `tombola-client accept-loss`")
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--plans", "1")
    assert run.returncode == 0 and "plans up to 1 are closed" in run.stdout, run
    assert cluster.run("client", "accept-loss", "--confirm", "test", "--plans", "1").returncode == 1
    assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES


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
