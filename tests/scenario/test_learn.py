"""Training through the real daemons: a driver that is killed, lies, repeats, reorders and poisons never exceeds the budget.

What a device may do is fixed by the plan's entries before the first answer; all that a driver has is `round run`."""
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys

import numpy
import pytest

from cluster import EXIT, program, wait_for
from test_structured import audited, batch
from wire import ROOT

sys.path.insert(0, os.path.join(ROOT, "deploy/learn"))
from tombola_learn import Analyzer, Fault, Training, pack  # noqa: E402
from tombola_learn.learners import Logistic  # noqa: E402

pytestmark = pytest.mark.heavy  # the driver is Python; what devices compute has test_payload.py
N, STEPS = 300, 4
STEP_BY_STEP = '''
import sys
sys.path.insert(0, {learn!r})
from tombola_learn.learners import Logistic
def learner():
    return Logistic("gradient", features=2, classes=2, rounds={steps}, step={step})
'''


def rows():
    """Two clouds, one for each class, which a line through the origin tells apart."""
    drawn = numpy.random.default_rng(7)
    y = drawn.integers(0, 2, N)
    return numpy.where(y[:, None] == 1, 0.5, -0.5) + drawn.normal(0, 0.1, (N, 2)), y


def deployed(cluster, **keys):
    """Devices with two numbers and a class each; a plan of STEPS gradients.  Not started."""
    x, y = rows()
    cluster.configure(min_batch=N, devices=N, max_epsilon0="inf", epsilon=100.0)
    cluster.write("readings.csv", "device,a,b,kind\n" + "".join(
        f"d{i},{a:.4f},{b:.4f},{k}\n" for i, ((a, b), k) in enumerate(zip(x.tolist(), y))))
    with open(cluster.path("client.conf"), "a") as f:
        f.write('fetch = "200ms";\n')
    planned(cluster, **keys)
    return x, y


def planned(cluster, **keys):
    cluster.plan([batch(N, **{"query": "gradient", "type": "vector", "protocol": "rotated", "field": "v", "dimension": 6,
                              "range": [-1.0, 1.0], "epsilon0": 6.0, "slots": 4, "size": 1, "repeat": STEPS, "payload": "later",
                              "none": "even", "compute": computed(), **keys})], epsilon=100.0)


def computed(**keys):
    return {"map": "linear-gradient", "columns": ["a", "b"], "label": "kind", "classes": ["0", "1"], **keys}


def started(cluster):
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    return shuffler, cluster.start("client", "run")


def stages(cluster):
    return [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]]


def answered_once(cluster, times):
    """Three books agree: so many entries were answered, each once by each device, and the slice is what it was."""
    budget = cluster.json("analyzer", "budget")
    shuffler, client = (cluster.json(p, "status") for p in ("shuffler", "client"))
    assert budget["rounds"]["accepted"] == shuffler["plans"][0]["answered"] == client["plans"][0]["answered"] == times
    for said in (budget, shuffler, client):
        plan, = said["plans"]
        assert plan["epsilon"] == said["population_budget"]["pinned"] == budget["slice_epsilon"]
    assert budget["answered_epsilon"] <= budget["entries_epsilon"] <= budget["slice_epsilon"]
    assert cluster.run("analyzer", "ledger", "verify").returncode == 0
    audited(cluster)


def weights(k=0.0):
    return pack({"weights": numpy.full((2, 3), k)})


def payload(cluster, data, name="payload"):
    with open(cluster.path(name), "wb") as f:
        f.write(data)
    return cluster.path(name)


def test_a_model_is_trained_and_the_budget_is_the_plans(cluster):
    x, y = deployed(cluster)
    started(cluster)
    learner = Logistic("gradient", 2, 2, rounds=STEPS, step=8.0, test=(x, y))
    history = Training(Analyzer(cluster.path("analyzer.conf"), program("tombola-analyzer")), learner, cluster.path("t"), None).run()
    assert [s.entry for s in history] == [f"gradient#{i + 1}" for i in range(STEPS)]
    # The first gradient at weights of zero is known: (1/2 - y) x in the mean, here about 0.25 each way; the noise of a
    # coordinate has a deviation of some 0.1, and ten of them are past any chance.
    f = numpy.hstack([x * history[0].payload["scale"], numpy.ones((N, 1))])
    first = ((0.5 - numpy.eye(2)[y])[:, :, None] * f[:, None, :]).reshape(N, 6)
    length = numpy.linalg.norm(first, axis=1, keepdims=True)
    truth = (first * numpy.minimum(1, 1 / length)).mean(axis=0)
    estimate = history[0].estimate
    assert (abs(estimate.values - truth) < 10 * numpy.sqrt(estimate.variances)).all(), (estimate.values, truth)
    assert estimate.reports == N and history[-1].score["accuracy"] > 0.9
    answered_once(cluster, STEPS)


def go_on(cluster, folder="t", script="mine.py", step=8.0):
    """The driver as a process of its own, with the analyzers that it starts."""
    script = cluster.write(script, STEP_BY_STEP.format(learn=os.path.join(ROOT, "deploy/learn"), steps=STEPS, step=step))
    return subprocess.Popen([sys.executable, "-B", "-m", "tombola_learn", "train", script, "-c", cluster.path("analyzer.conf"),
                             "--analyzer", program("tombola-analyzer"), "--folder", cluster.path(folder)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "deploy/learn")}, text=True)


def test_killed_in_every_round_it_goes_on_and_asks_nobody_twice(cluster):
    """With the driver dies the analyzer that it waits for: once before the round is open, once while devices answer, once
    after it was sealed; at the shuffler's word, never by time."""
    deployed(cluster)
    shuffler, _ = started(cluster)
    words = itertools.cycle(("client connected", "round open", "round sealed"))
    for step in range(STEPS):
        seen, word = shuffler.log().count('"round open"'), next(words)
        run = go_on(cluster)
        if word != "client connected":
            wait_for(f"step {step} to be {word}", lambda: shuffler.log().count(f'"{word}"') > (
                seen if word == "round open" else step) or run.poll() is not None)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stderr.close()
    run = go_on(cluster)
    assert run.wait(180) == 0, run.stderr.read()
    run.stderr.close()
    assert stages(cluster) == ["settled"] * STEPS
    with open(cluster.path("t/training.json")) as f:
        steps = json.load(f)["steps"]
    assert [s["entry"] for s in steps] == [f"gradient#{i + 1}" for i in range(STEPS)]
    # Every round was asked with the bytes that the training remembers.
    frozen = [r.get("payload_hash") for r in cluster.json("analyzer", "round", "list")["rounds"]]
    assert frozen == [s["sha256"] for s in steps]
    answered_once(cluster, STEPS)


def test_two_drivers_of_one_plan_ask_its_entries_once(cluster):
    """Each in a folder of its own, at once: an answer is taken for one's own payload alone, and the budget is the plan's."""
    deployed(cluster)
    started(cluster)
    runs = [go_on(cluster, f"t{i}", f"mine{i}.py", step) for i, step in enumerate((8.0, 4.0))]
    said = [(run.communicate(timeout=300)[1], run.returncode) for run in runs]
    assert all(code in (0, EXIT["data"], EXIT["later"]) for _, code in said), said
    for _ in range(3):  # who was told to come later comes
        for i, step in enumerate((8.0, 4.0)):
            run = go_on(cluster, f"t{i}", f"mine{i}.py", step)
            said[i] = run.communicate(timeout=300)[1], run.returncode
    assert all(code in (0, EXIT["data"]) for _, code in said), said
    frozen = {f"gradient#{i + 1}": r.get("payload_hash") for i, r in enumerate(cluster.json("analyzer", "round", "list")["rounds"])}
    for i in range(2):
        with open(cluster.path(f"t{i}/training.json")) as f:
            steps = json.load(f)["steps"]
        assert all(frozen[s["entry"]] == s["sha256"] for s in steps if "result" in s), (steps, frozen)
    answered_once(cluster, stages(cluster).count("settled"))


HOLDS = """
import sys, time
sys.path.insert(0, {learn!r})
from tombola_learn import Fault
from tombola_learn.deployment import Deployment
try:
    with Deployment({folder!r}, {programs!r}, {plan!r}, 'path = "readings.csv"; device_field = "device";', 2, epsilon=4.0) as d:
        print([p.pid for _, p in d.daemons], flush=True)
        print(d.analyzer.run(d.analyzer.entries()[0], None))
except Fault as f:
    sys.exit(str(f))
"""


def test_a_driver_that_is_killed_alone_takes_its_deployment_along(tmp_path):
    """By the kernel without memory, say.  Who stayed would hold the state that the next run needs."""
    plan = ('name = "learn";\npopulation = "learn";\nbudget = { epsilon = 4.0; delta = 1e-6; unit = "device"; };\nrounds = (\n'
            '  { query = "c"; type = "histogram"; protocol = "grr"; field = "c"; epsilon0 = 1.0; values = [ "a", "b" ];\n'
            '    min_reports = 2; target = 2; window = "1h"; }\n);\n')
    os.makedirs(tmp_path / "d", 0o700)
    script = tmp_path / "holds.py"
    script.write_text(HOLDS.format(learn=os.path.join(ROOT, "deploy/learn"), folder=str(tmp_path / "d"),
                                   programs=os.path.dirname(program("tombola")), plan=plan))
    (tmp_path / "d/readings.csv").write_text("device,c\na,a\n")  # one is missing: the round stays open
    for _ in range(2):
        run = subprocess.Popen([sys.executable, "-B", str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pids = json.loads(run.stdout.readline() or "[]")
        assert pids, run.stderr.read()
        wait_for("the round", lambda: '"round open"' in (tmp_path / "d/shuffler.log").read_text())
        asks = wait_for("all three", lambda: run.poll() is None and (p := children_of(run.pid)) and len(p) == 3 and p)
        run.kill()
        run.wait()
        wait_for("all of them to end", lambda: not any(os.path.exists(f"/proc/{p}") for p in asks))


def children_of(parent):
    def of(pid):
        try:
            with open(f"/proc/{pid}/stat", errors="replace") as f:
                return int(f.read().rpartition(") ")[2].split()[1])
        except OSError:
            return 0
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and of(pid) == parent]


POISON = {
    "nothing": b"",
    "garbage": bytes(range(256)),
    "not a number": weights().replace(struct.pack("<f", 0), struct.pack("<f", float("nan")), 1),
    "infinite": weights(1.0).replace(struct.pack("<f", 1), struct.pack("<f", float("inf")), 1),
    "too wide": pack({"weights": numpy.zeros((2, 4))}),
    "too tall": pack({"weights": numpy.zeros((3, 3))}),
    "another name": pack({"weight": numpy.zeros((2, 3))}),
    "another type": pack({"weights": numpy.zeros((2, 3), int)}),
    "cut short": weights()[:-1],
    "too long": weights() + b"\0",
    "beyond payload_max": pack({"weights": numpy.zeros((2, 3)), "x": numpy.zeros(2**18)}),
}


def test_poison_costs_nothing_and_reaches_nobody(cluster):
    deployed(cluster)
    shuffler, _ = started(cluster)
    for name, data in POISON.items():
        run = cluster.run("analyzer", "round", "run", "gradient#1", "--payload", payload(cluster, data))
        assert run.returncode == EXIT["data"], (name, run.stderr)
        said = [line for line in run.stderr.splitlines() if not line.startswith("{")]
        assert len(said) == 1, (name, run.stderr)
    run = cluster.run("analyzer", "round", "run", "gradient#1")
    assert run.returncode in (EXIT["usage"], EXIT["data"]), run.stderr  # it takes one
    run = cluster.run("analyzer", "round", "run", "gradient#1", "--payload", cluster.path("none"))
    assert run.returncode == EXIT["noinput"], run.stderr
    assert '"round open"' not in shuffler.log() and "settled" not in stages(cluster)
    # Huge weights are finite, and what they give is cut on the device: the round is as any other.
    run = cluster.run("analyzer", "round", "run", "gradient#1", "--payload", payload(cluster, weights(3e38)))
    assert run.returncode == 0, run.stderr
    items = cluster.json("analyzer", "round", "show", "1")["result"]["items"]
    assert len(items) == 6
    answered_once(cluster, 1)


def test_a_driver_that_lies_repeats_and_reorders_has_its_entries_and_no_more(cluster):
    deployed(cluster)
    started(cluster)
    drawn = random.Random(3)

    def ask(name, data):
        return cluster.run("analyzer", "round", "run", name, "--payload", payload(cluster, data)).returncode

    # Out of order, chosen by what the answers say, each twice with other bytes.
    order = [3, 1, 4, 2]
    for k, number in enumerate(order, 1):
        before = cluster.json("analyzer", "budget")
        assert ask(f"gradient#{number}", weights(drawn.uniform(-1, 1))) == 0
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        ask(f"gradient#{number}", weights(drawn.uniform(-1, 1)))
        assert cluster.json("analyzer", "round", "show", str(number))["result"] == result
        after = cluster.json("analyzer", "budget")
        assert after["population_budget"]["pinned"] == before["slice_epsilon"] and after["rounds"]["accepted"] == k
    # There is no more, by whatever name.
    for name in ("gradient#5", "gradient#0", "gradient", "gradient#-1", "5", "other#1"):
        assert ask(name, weights()) in (EXIT["usage"], EXIT["data"]), name
    answered_once(cluster, STEPS)


def test_a_plan_for_more_steps_than_fit_refuses_the_last_ones(cluster):
    deployed(cluster)
    with open(cluster.path("plan.conf")) as f:
        plan = f.read()
    cost = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf"), "--json"], capture_output=True,
                          text=True, check=True)
    two, three = (json.loads(cost.stdout)["rounds"][i]["epsilon_total"] for i in (1, 2))
    cluster.write("plan.conf", plan.replace("epsilon = 100.0", f"epsilon = {(two + three) / 2!r}"))
    started(cluster)
    history = Training(Analyzer(cluster.path("analyzer.conf"), program("tombola-analyzer")),
                       Logistic("gradient", 2, 2, rounds=STEPS, step=8.0), cluster.path("t"), None).run()
    assert [s.entry for s in history] == ["gradient#1", "gradient#2"]
    assert stages(cluster) == ["settled"] * 2 + ["refused"] * 2
    assert cluster.run("analyzer", "round", "run", "gradient#3", "--payload", payload(cluster, weights())).returncode == 3
    answered_once(cluster, 2)


# What a driver may wish were otherwise, once it has seen an answer, and a payload that such a round takes.
SHAPES = {
    "more rounds": ({"repeat": 10 * STEPS}, weights()), "more epsilon0": ({"epsilon0": 12.0}, weights()),
    "more slots": ({"slots": 6}, weights()), "a longer vector": ({"range": [-2.0, 2.0]}, weights()),
    "another clip": ({"compute": computed(clip=0.5)}, weights()),
    "another map": ({"dimension": 12, "compute": computed(map="moments")}, pack({"mean": numpy.zeros(2)})),
    "fewer devices": ({"min_reports": N - 50, "target": N - 50}, weights()),
    "fewer features": ({"dimension": 4, "compute": computed(columns=["a"])}, pack({"weights": numpy.zeros((2, 2))})),
    "another query": ({"query": "other"}, weights()),
}


def test_a_driver_that_changes_shapes_gets_no_answer_of_another_shape(cluster):
    """What is signed stays: another plan of the name is none, and under another name it has no budget left to take a slice of."""
    deployed(cluster)
    started(cluster)
    assert cluster.run("analyzer", "round", "run", "gradient#1", "--payload", payload(cluster, weights())).returncode == 0
    with open(cluster.path("plan.conf")) as f:
        signed = f.read()
    before = [cluster.json(p, "status")["population_budget"]["pinned"] for p in ("shuffler", "client")]

    def refused(what, name, code):
        keys, data = SHAPES[what]
        planned(cluster, **keys)
        with open(cluster.path("plan.conf")) as f:
            text = f.read()
        assert text.count('name = "test"') == 1
        cluster.write("plan.conf", text.replace('name = "test"', f'name = "{name}"'))
        run = cluster.run("analyzer", "round", "run", "2", "--payload", payload(cluster, data), seconds=300)
        assert run.returncode == code, (what, name, run.returncode, run.stdout, run.stderr)
        assert [cluster.json(p, "status")["population_budget"]["pinned"] for p in ("shuffler", "client")] == before, (what, name)

    for what in SHAPES:
        for name in ("test", "another"):
            refused(what, name, EXIT["budget"])
    # Nor where its analyzer has forgotten everything: its shuffler and its client have not.
    os.rename(cluster.path("analyzer"), cluster.path("kept"))
    os.mkdir(cluster.path("analyzer"), 0o700)
    refused("more rounds", "another", EXIT["permission"])
    shutil.rmtree(cluster.path("analyzer"))
    os.rename(cluster.path("kept"), cluster.path("analyzer"))
    cluster.write("plan.conf", signed)
    for n in range(2, STEPS + 1):
        run = cluster.run("analyzer", "round", "run", f"gradient#{n}", "--payload", payload(cluster, weights()))
        assert run.returncode == 0, (n, run.stderr)
    answered_once(cluster, STEPS)


def test_devices_that_are_too_few_make_a_try_void_and_the_driver_tries_again(cluster):
    deployed(cluster, window="3s")
    started(cluster)
    with open(cluster.path("readings.csv")) as f:
        lines = f.readlines()
    cluster.write("readings.csv", "".join(lines[:-5]))
    with pytest.raises(Fault) as fault:
        Training(Analyzer(cluster.path("analyzer.conf"), program("tombola-analyzer")),
                 Logistic("gradient", 2, 2, rounds=STEPS, step=8.0), cluster.path("t"), None).run()
    assert fault.value.code == EXIT["later"]
    assert stages(cluster) == ["void"] * STEPS
