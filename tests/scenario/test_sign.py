"""A plan's slice is spent for life when the plan is pinned: the analyzer waits until a person has seen what it takes."""
import json
import os
import pty
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import wire
from cluster import EXIT, program, wait_for
from test_rounds import histogram, readings, run_plan


N = 300


def asked(cluster, epsilon=3.0, budget=True, rounds=1, give_up="1m", **policy):
    """A deployment whose analyzer signs nothing by itself."""
    cluster.configure(min_batch=100, devices=N, **policy)
    path = cluster.path("analyzer.conf")
    text = open(path).read()
    assert 'sign = "at-start";' in text
    cluster.write("analyzer.conf", text.replace('sign = "at-start";', f'give_up = "{give_up}";'))
    readings(cluster, N)
    cluster.plan([histogram(N, query=f"colour{i}") for i in range(rounds)], epsilon=epsilon)
    if not budget:
        text = open(cluster.path("plan.conf")).read()
        cluster.write("plan.conf", re.sub("budget = .*\n", "", text))


def records(cluster):
    run = cluster.run("analyzer", "ledger", "export")
    assert run.returncode == 0, run.stderr
    return [json.loads(line)["kind"] for line in run.stdout.splitlines()]


def on_terminal(cluster, typed, until="Type the population's name to sign: "):
    """`plan sign` on a terminal: what it printed, and its exit code; typed None: it is killed when it asks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program("tombola-analyzer"),
                 ["tombola-analyzer", "--config", cluster.path("analyzer.conf"), "plan", "sign"])
    text = ""
    try:
        while until not in text:
            text += os.read(terminal, 4096).decode()
        if typed is None:
            os.kill(pid, signal.SIGKILL)
        else:
            os.write(terminal, typed.encode() + b"\n")
        while True:
            text += os.read(terminal, 4096).decode()
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_running_analyzer_waits_for_a_signature_and_takes_it_up(cluster):
    asked(cluster)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run")
    wait_for("a line that says how to sign", lambda: "plan sign" in analyzer.log())
    assert "nothing of the budget is spent" in analyzer.log()
    with pytest.raises(urllib.error.HTTPError) as ready:
        urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['analyzer']}/readyz")
    assert ready.value.code == 503 and b"is not signed" in ready.value.read()
    status = cluster.json("analyzer", "status")
    assert status["state"]["code"] == "unsigned" and "plan sign" in status["state"]["text"]
    assert status["population_budget"]["pinned"] == 0
    check = cluster.run("analyzer", "check")
    assert check.returncode == 1 and "plan test is not signed" in check.stdout

    run = cluster.run("analyzer", "plan", "sign", stdin="test\n")
    assert run.returncode == EXIT["usage"] and "--yes" in run.stderr
    assert "spent whole and for life" in run.stdout
    text, code = on_terminal(cluster, "Test")
    assert code == EXIT["usage"] and "nothing is spent: the population's name is test" in text
    text, code = on_terminal(cluster, None)
    assert code == -signal.SIGKILL
    assert records(cluster) == [] and not os.path.exists(cluster.path("analyzer", "plan.signed"))

    text, code = on_terminal(cluster, "test")
    assert code == 0 and "signed: plan test" in text, text
    wait_for("the round's result", lambda: "settle" in records(cluster))
    assert records(cluster).count("plan") == 1
    assert not os.path.exists(cluster.path("analyzer", "plan.signed"))
    run = cluster.run("analyzer", "plan", "sign", stdin="")
    assert run.returncode == 0 and "signed and pinned already" in run.stdout
    assert records(cluster).count("plan") == 1
    figure = cluster.json("analyzer", "status")["population_budget"]
    budget = cluster.json("analyzer", "budget")
    assert figure == budget["population_budget"]
    assert figure["limit"] == figure["pinned"] == 3.0 and figure["free"] == 0
    assert figure["used"] == budget["answered_epsilon"] == figure["ratio"] * 3.0
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['analyzer']}/metrics") as answer:
        metrics = answer.read().decode()
    assert re.search(r"^tombola_budget_free_ratio 0$", metrics, re.M)
    ratio, = re.findall(r"^tombola_budget_used_ratio (\S+)$", metrics, re.M)
    assert float(ratio) == pytest.approx(figure["ratio"], rel=1e-12)


def test_a_round_that_a_person_runs_says_how_to_sign_and_spends_nothing(cluster):
    asked(cluster, give_up="1s")
    run = cluster.run("analyzer", "round", "run", "1")
    assert run.returncode == EXIT["later"] and "`tombola-analyzer plan sign` shows what it takes" in run.stderr
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["later"]
    assert records(cluster) == []


def test_without_the_check_the_slice_is_spent_by_a_start(cluster):
    asked(cluster)
    run, _, _ = run_plan(cluster, analyzer_mutant="analyzer.signed")
    assert run.returncode == 0 and "plan" in records(cluster)


def test_a_plan_is_signed_before_the_start_and_another_file_is_another_plan(cluster):
    asked(cluster, give_up="1s")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    first = cluster.run("analyzer", "plan", "sign", "--yes", "--anyway")
    assert first.returncode == 0, first.stderr
    assert records(cluster) == []
    cluster.start("client", "run")
    plan = open(cluster.path("plan.conf")).read()
    cluster.write("plan.conf", plan + "# a comment\n")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["later"] and "of another plan file" in run.stderr
    assert records(cluster) == []
    for _ in range(2):  # the second replaces the first
        again = cluster.run("analyzer", "plan", "sign", "--yes", "--anyway")
        assert again.returncode == 0, again.stderr
    digest, = re.findall("sha256:([0-9a-f]+)", again.stdout)
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    assert cluster.json("analyzer", "plan", "show")["digest"] == digest


def test_what_somebody_else_signed_is_not_pinned(cluster):
    asked(cluster, give_up="1s")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    assert cluster.run("analyzer", "plan", "sign", "--yes", "--anyway").returncode == 0
    path = cluster.path("analyzer", "plan.signed")
    text = bytearray(open(path, "rb").read())
    text[0] ^= 1
    with open(path, "wb") as f:
        f.write(text)
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == EXIT["later"] and "was not signed by signing_key" in run.stderr
    assert records(cluster) == []


def test_a_plan_that_the_shuffler_refuses_is_not_signed(cluster):
    asked(cluster, epsilon=3.0, max_epsilon0=1.0)
    run = cluster.run("analyzer", "plan", "sign", "--yes")
    assert run.returncode == EXIT["unavailable"]
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    run = cluster.run("analyzer", "plan", "sign", "--yes")
    assert run.returncode == EXIT["config"] and "max_epsilon0" in run.stdout
    assert not os.path.exists(cluster.path("analyzer", "plan.signed"))


def test_a_slice_that_is_too_large_is_shown_and_one_by_default_loses_nothing(cluster):
    asked(cluster, epsilon=30.0, rounds=2)
    run = cluster.run("analyzer", "plan", "sign", stdin="")
    used, = re.findall(r"^used +epsilon (\S+), by the 2 of 2 rounds", run.stdout, re.M)
    lost, = re.findall(r"^lost +epsilon (\S+) of the slice", run.stdout, re.M)
    assert float(used) + float(lost) == pytest.approx(30.0, abs=2e-4)
    assert "warning: the slice is epsilon 30" in run.stdout and "nothing left after it" in run.stdout
    tool = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf")], capture_output=True, text=True)
    assert "warning: the slice is epsilon 30" in tool.stdout

    asked(cluster, budget=False, rounds=2)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    run = cluster.run("analyzer", "plan", "sign", "--yes", "--anyway")
    assert run.returncode == 0, run.stderr
    assert "warning: the slice" not in run.stdout and "2 of 2 rounds" in run.stdout
    assert "lost    epsilon 0.0000" in run.stdout
    cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    figure = cluster.json("analyzer", "budget")["population_budget"]
    assert figure["pinned"] == float(used)
    assert 0 <= figure["pinned"] - figure["used"] <= 1e-4


def test_what_a_rehearsal_finds_is_shown_before_the_question(cluster):
    asked(cluster, give_up="1s")
    policy = cluster.path("client-policy.conf")
    text = open(policy).read()
    cluster.write("client-policy.conf", re.sub("(?m)^min_batch = .*$", "min_batch = 10000;", text))
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    signed = cluster.path("analyzer", "plan.signed")
    run = cluster.run("analyzer", "plan", "sign", "--yes")  # nobody is connected
    assert run.returncode == EXIT["config"] and "not signed: " in run.stderr and not os.path.exists(signed), run

    client = cluster.start("client", "run")
    wait_for("the client to connect", lambda: '"connected"' in client.log())
    run = cluster.run("analyzer", "plan", "sign", "--yes")
    assert run.returncode == EXIT["config"] and "--anyway" in run.stderr and not os.path.exists(signed), run
    assert "client-policy.conf:" in run.stdout and "min_batch is 10000" in run.stdout, run.stdout
    text, code = on_terminal(cluster, "test")
    assert code == 0 and text.index("min_batch is 10000") < text.index("things would go wrong") < text.index("Type the population's"), text
    os.remove(signed)
    assert cluster.run("analyzer", "plan", "sign", "--yes", "--anyway").returncode == 0
    assert os.path.exists(signed)


def test_a_signal_while_the_shuffler_is_asked_signs_nothing(cluster):
    """A shuffler that does not answer: whoever gives up has not said yes."""
    asked(cluster)
    with socket.create_server(("127.0.0.1", cluster.port)):
        run = subprocess.Popen([program("tombola-analyzer"), "--config", cluster.path("analyzer.conf"), "plan", "sign", "--yes"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert run.stdout.readline()
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode != 0 and "fits the policy" not in out, (out, err)
    assert not os.path.exists(cluster.path("analyzer", "plan.signed"))


def documented(schema, keys):
    """The page names every key of a document."""
    page = open(os.path.join(wire.ROOT, "deploy", "man", "tombola-analyzer.8")).read()
    part = page[page.index(f"Qq {schema}"):]
    part = part[:part.index("\n.It Ic ")]
    named = set(re.findall(r"\w+", " ".join(re.findall(r"^(?:\.It )?\.?Va .*$|^\.It Va .*$", part, re.M))))
    assert set(keys) - {"schema"} <= named, (schema, set(keys) - named)


def signed_json(cluster, code, *args):
    run = cluster.run("analyzer", "plan", "sign", "--json", *args)
    assert run.returncode == code, (run.returncode, run.stdout, run.stderr)
    doc = json.loads(run.stdout)  # and nothing else is printed
    documented("tombola.sign/1", doc)
    return doc


def test_a_program_reads_what_signing_takes(cluster):
    """One document, signed or not; its figures are those that the ledger has afterwards."""
    asked(cluster, epsilon=30.0, rounds=2, give_up="1s")
    path = cluster.path("analyzer", "plan.signed")
    doc = signed_json(cluster, EXIT["usage"])
    assert not doc["signed"] and "--yes" in doc["fault"] and doc["rehearsal"] is None and not os.path.exists(path)
    doc = signed_json(cluster, EXIT["unavailable"], "--yes")  # no shuffler
    assert not doc["signed"] and doc["rehearsal"] is None and not os.path.exists(path)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    doc = signed_json(cluster, EXIT["config"], "--yes")  # no client
    assert not doc["signed"] and "would go wrong" in doc["fault"] and not os.path.exists(path)
    assert doc["rehearsal"]["schema"] == "tombola.rehearsal/1" and doc["rehearsal"]["answered"] == 0

    client = cluster.start("client", "run")
    wait_for("the client to connect", lambda: '"connected"' in client.log())
    doc = signed_json(cluster, 0, "--yes", "--anyway")
    rehearsal = doc["rehearsal"]
    assert doc["signed"] and not doc["pinned"] and os.path.exists(path) and rehearsal["answered"] == 1
    documented("tombola.rehearsal/1", rehearsal)
    documented("tombola.rehearsal/1", rehearsal["clients"][0])
    documented("tombola.rehearsal/1", rehearsal["entries"][0])
    shown = cluster.json("analyzer", "plan", "show")
    assert doc["digest"] == shown["digest"] and (doc["entries"], doc["refused"]) == (2, 0)
    assert doc["epsilon"] == 30.0 and doc["used"] == shown["entries"][-1]["epsilon_total"]
    assert doc["lost"] == pytest.approx(30.0 - doc["used"]) and doc["wide"] and doc["nothing_left"]
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    after = cluster.json("analyzer", "budget")["population_budget"]
    assert doc["population_budget"] == {**after, "used": 0.0, "ratio": 0.0} and after["used"] == doc["used"]
    doc = signed_json(cluster, 0, "--yes")
    assert doc["signed"] and doc["pinned"] and doc["fault"] is None and doc["population_budget"] == after
