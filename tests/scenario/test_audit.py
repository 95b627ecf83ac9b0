"""tombola-accountant audits what a real analyzer exported: it passes, and one edited number is named by its line."""
import json
import re
import subprocess

import pytest

import cluster as c

pytestmark = pytest.mark.heavy

VALUES = ["c0", "c1", "c2", "c3"]
N = 2000


def accountant(*args, stdin=None):
    return subprocess.run([c.program("tombola-accountant"), *args], capture_output=True, text=True, timeout=600,
                          input=stdin)


def histogram(**keys):
    return {"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
            "min_reports": N, "target": N, "values": VALUES, "window": "1m", **keys}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """The export of a deployment with a round of every fate: settled, void, refused."""
    made = c.Cluster(tmp_path_factory.mktemp("audit"), devices=N)
    made.configure(min_batch=1000, max_epsilon0="inf")
    made.write("readings.csv", "device,colour\n" + "".join(f"d{i},{VALUES[i % 4]}\n" for i in range(N)))
    made.plan([histogram(),
               histogram(query="bins", protocol="bins", epsilon0="inf", dummies=2),
               histogram(query="late", target=5000, min_reports=3000, window="2s"),
               histogram(query="again", epsilon0=1.0),
               histogram(query="big", epsilon0=6.0)], epsilon=0.6)
    made.start("shuffler", "run")
    made.wait_listening()
    made.start("client", "run")
    run = made.run("analyzer", "run", "--once")
    export = made.run("analyzer", "ledger", "export")
    made.close()
    assert export.returncode == 0, export.stderr
    kinds = {json.loads(x)["kind"] for x in export.stdout.splitlines()}
    assert kinds == {"open", "plan", "entry", "reserve", "charge", "settle", "void"}, run.stderr
    return export.stdout


def test_an_honest_ledger_passes_the_audit(ledger, tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text(ledger)
    run = accountant("audit", str(path))
    assert run.returncode == 0 and not run.stderr, run
    assert re.search(r"^audit passed: \d+ records, 4 rounds hold budget, 1 void, 0 refused; slices of epsilon 0\.6",
                     run.stdout, re.M), run.stdout
    said = json.loads(accountant("audit", "-", "--json", stdin=ledger).stdout)
    assert said["verdict"] == "passed" and said["epsilon_upper"] == said["epsilon_limit"] == 0.6
    assert [r["stage"] for r in said["rounds"]] == ["settled", "settled", "void", "settled"]
    records = [json.loads(x) for x in ledger.splitlines()]
    for row in said["rounds"]:
        record = records[row["line"] - 1]
        assert record["epsilon_total"] == row["epsilon_total"] >= row["epsilon_total_lower"]


@pytest.mark.parametrize("kind,key,change", [
    ("entry", "epsilon_round", lambda x: x * 0.99), ("entry", "epsilon_total", lambda x: x * 0.99),
    ("reserve", "attempt", lambda x: x + 1), ("reserve", "plan_hash", lambda x: "0" * len(x)),
    ("reserve", "epsilon_round", lambda x: x * 0.99), ("reserve", "epsilon_total", lambda x: x * 0.99),
    ("charge", "epsilon_total", lambda x: x * 1.01), ("charge", "participants", lambda x: N // 2),
    ("reserve", "min_reports", lambda x: x - 1), ("settle", "seq", lambda x: x + 1),
    ("void", "round_id", lambda x: "0" * len(x))])
def test_one_edited_number_is_named_by_its_line(ledger, tmp_path, kind, key, change):
    records = [json.loads(x) for x in ledger.splitlines()]
    line = max(i for i, r in enumerate(records) if r["kind"] == kind)
    records[line][key] = change(records[line][key])
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    run = accountant("audit", str(path))
    assert run.returncode == 65 and f"{path}:{line + 1}: " in run.stderr, run


@pytest.mark.parametrize("line", [0, 1])
def test_a_limit_that_was_exceeded_ends_with_the_budgets_code(ledger, tmp_path, line):
    """The population's, above which no slices add up; and the plan's slice, above which no entries compose."""
    records = [json.loads(x) for x in ledger.splitlines()]
    records[line]["epsilon_limit"] = 0.2
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    run = accountant("audit", str(path))
    assert run.returncode == c.EXIT["budget"] and "audit OVER THE LIMIT" in run.stdout, run


@pytest.mark.parametrize("name", ("gdp", "renyi"))
def test_the_ledger_of_a_filter_is_audited_by_its_prices(cluster, tmp_path, name):
    cluster.configure(min_batch=100)
    cluster.accept_adaptive()
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},{VALUES[i % 4]}\n" for i in range(400)))
    asked = [histogram(query=f"q{i}", epsilon0=e, min_reports=400, target=400) for i, e in enumerate((1.0, 0.5, 1.0))]
    cluster.plan(asked, epsilon=0.5, mode="adaptive", filter=name)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    export = cluster.run("analyzer", "ledger", "export").stdout
    records = [json.loads(x) for x in export.splitlines()]
    reserved = [r for r in records if r["kind"] == "reserve"]
    assert len(reserved) >= 2, run.stderr
    said = accountant("audit", "-", "--json", stdin=export)
    assert said.returncode == 0 and not said.stderr, said
    said = json.loads(said.stdout)
    assert said["mode"] == f"adaptive.{name}" and said["epsilon_upper"] == said["epsilon_limit"] == 0.5
    for row, record in zip(said["rounds"], reserved):
        assert row["share"] == pytest.approx(record["share"], rel=1e-6)
    assert said["share"] == pytest.approx(sum(r["share"] for r in reserved), rel=1e-6)
    assert "of the filter's budget held" in accountant("audit", "-", stdin=export).stdout

    # A price made smaller; a budget made smaller; a filter that does not exist.
    def audited(line, key, change):
        edited = [dict(r) for r in records]
        edited[line][key] = change(edited[line][key])
        path = tmp_path / "ledger.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in edited))
        return path, accountant("audit", str(path))
    line = records.index(reserved[1])
    path, run = audited(line, "share", lambda x: x / 2)
    assert run.returncode == 65 and f"{path}:{line + 1}: share is recorded" in run.stderr, run
    path, run = audited(line, "epsilon_total", lambda x: x / 2)
    assert run.returncode == 65 and f"{path}:{line + 1}: epsilon_total is recorded" in run.stderr, run
    path, run = audited(1, "mode", lambda x: "adaptive.magic")
    assert run.returncode == 65 and f"{path}:2: no such mode" in run.stderr, run
    # A budget made smaller makes every recorded share too small, and the shares together too large.
    path, run = audited(1, "epsilon_limit", lambda x: x / 3)
    assert run.returncode == 65 and "of the filter's budget would be held" in run.stderr, run
    for r in reserved:
        del r["share"]
    path, run = audited(1, "epsilon_limit", lambda x: x / 3)
    assert run.returncode == c.EXIT["budget"] and "audit OVER THE LIMIT" in run.stdout, run
