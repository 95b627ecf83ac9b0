"""Two copies of one client's state at the same time, and a shuffler that says that there are two."""
import os
import shutil
import subprocess
import urllib.request

import pytest

from cluster import EXIT, Daemon, free_port, program, wait_for
from pinned import DEVICES, Planned, answered, end, fake, refused, send  # noqa: F401
from test_rounds import histogram
from wire import pb

N = 20
STOPPED = "another copy of this client's state answered a round"


def ask(cluster, conf, *args):
    return subprocess.run([program("tombola-client"), "--config", cluster.path(conf), *args], capture_output=True, text=True)


def copy(cluster):
    """Of the client's machine: state, key and certificate."""
    shutil.copytree(cluster.path("client"), cluster.path("copy"))
    os.chmod(cluster.path("copy"), 0o700)
    port = free_port()
    text = open(cluster.path("client.conf")).read().replace('state_dir = "client"', 'state_dir = "copy"')
    cluster.write("copy.conf", text.replace(str(cluster.http["client"]), str(port)))
    cluster.http["copy"] = port
    made = Daemon([program("tombola-client"), "--config", cluster.path("copy.conf"), "run"], cluster.path("copy.log"))
    cluster.daemons.append(made)
    return made


def test_of_two_copies_that_run_each_device_counts_once_and_one_goes_on_at_most(cluster):
    """Both have a charge for the certificate's last round, so no standing tells them; a CONFLICT does, while the round is open."""
    cluster.configure(min_batch=N, max_epsilon0=8.0, epsilon=40.0, devices=N + 1)
    with open(cluster.path("readings.csv"), "w") as f:
        f.write("device,colour\n")
        f.writelines(f"d{i},red\n" for i in range(N))
    cluster.plan([histogram(N, 2.0, query=f"q{k}", window="4s", target=N + 1) for k in range(3)], epsilon=40.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    assert cluster.run("analyzer", "round", "run", "1").returncode == 0
    wait_for("the client to be through", lambda: '"round done"' in client.log())
    client.stop()
    both = {"client.conf": client, "copy.conf": copy(cluster)}
    client.start()
    for name, daemon in both.items():
        wait_for(f"{name} to be connected", lambda: '"connected"' in daemon.log())
    assert cluster.run("analyzer", "round", "run", "2").returncode == 0
    wait_for("a copy to stop", lambda: any(STOPPED in d.log() for d in both.values()))
    wait_for("both to be through", lambda: all('"round":2' in d.log() and '"round done"' in d.log() for d in both.values()))
    assert cluster.json("analyzer", "estimate", "q1")["reports"] == N
    stopped = [name for name, d in both.items() if STOPPED in d.log()]
    for name in stopped:
        check = ask(cluster, name, "check")
        assert check.returncode == 2 and "another copy of this client's state answered a round" in check.stdout, check
        port = cluster.http[name[:-len(".conf")]]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            assert b'tombola_client_stopped{by="conflict"} 1' in page.read()
    # The other one, if there is one, is all that answers.
    run = cluster.run("analyzer", "round", "run", "3")
    if len(stopped) == 2:
        assert run.returncode != 0
    else:
        assert run.returncode == 0 and cluster.json("analyzer", "estimate", "q2")["reports"] == N
    for name in stopped:
        wait_for("the refusal", lambda: "round refused" in both[name].log())
        assert both[name].log().count('"round done"') == (1 if name == "copy.conf" else 2), "it answered after the conflict"


@pytest.mark.parametrize("removed", [False, True])
def test_a_shuffler_that_lies_about_a_copy_costs_no_budget(cluster, fake, removed):
    """It can stop a client, as it can by silence.  Only a person's word that there is a copy closes a plan."""
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    honest = fake.outcomes
    fake.outcomes = lambda r, m: bytes([pb.OUTCOME_CONFLICT]) + honest(r, m)[1:]
    d = analyzer.round(fake, plan)
    run = send(cluster, mutant="client.conflict" if removed else "")
    fake.outcomes = honest
    end(fake, d)
    d = analyzer.round(fake, plan, 2)
    if removed:
        assert run.returncode == 0 and send(cluster).returncode == 0 and answered(fake, d) == DEVICES
        return
    refused(run, "budget", "the shuffler holds other reports of this client's devices for round 1")
    refused(send(cluster), "budget", "accept-loss")
    assert answered(fake, d) == 0
    status = cluster.json("client", "status")
    assert status["loss"] == {"lost": True, "conflict": True, "accepted": False, "closed_plans": 0}
    for args in ((), ("--confirm", "test"), ("--confirm", "test", "--plans", "1", "--no-copy"), ("--no-copy",)):
        assert cluster.run("client", "accept-loss", *args).returncode == EXIT["usage"], args
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--no-copy")
    assert run.returncode == 0 and "nothing is closed" in run.stdout, run
    run = cluster.run("client", "accept-loss", "--confirm", "test", "--no-copy")
    assert run.returncode == 1 and "no loss to accept" in run.stderr, run
    run = send(cluster)
    assert run.returncode == 0 and answered(fake, d) == DEVICES, run.stderr
    assert cluster.json("client", "status")["population_budget"]["pinned"] == 4.0


def test_a_client_that_is_killed_before_its_receipt_sends_the_same_bytes(cluster, fake):
    """The shuffler accepted them; a second randomization would be a CONFLICT."""
    analyzer = Planned(cluster)
    d = analyzer.round(fake, analyzer.plan_of())
    answer, got = fake.on_submit, []
    fake.on_submit = lambda link, m: got.append(m) or fake.outcomes(fake.rounds[m.round_id], m)
    run = subprocess.Popen([program("tombola-client"), "--config", cluster.path("client.conf"), "send", "--wait", "3m",
                            "--device-field", "device", cluster.write("readings.csv", "device,colour\n" + "".join(
                                f"d{i},red\n" for i in range(DEVICES)))])
    wait_for("the reports", lambda: answered(fake, d) == DEVICES)
    run.kill()
    run.wait()
    fake.on_submit = answer
    run = send(cluster)
    assert run.returncode == 0 and "4 accepted" in run.stdout, run
    assert not cluster.json("client", "status")["loss"]["lost"]
