"""results export: every settled round as lines of three forms, each once, through restarts of either program."""
import csv
import io
import json
import os
import re
import signal
import subprocess

import pytest

from cluster import EXIT, program, wait_for
from results import LABELS, Settling, influx
from test_lost import charged

NUMBERS = ("value", "variance", "lower", "upper", "joint_lower", "joint_upper", "projected")


@pytest.fixture
def settling(cluster):
    return Settling(cluster)


class Follower:
    """results export --follow, into a file."""

    def __init__(self, cluster, *args, name="followed"):
        self.path = self.log_path = cluster.path(name)
        with open(self.path, "ab") as out:
            self.process = subprocess.Popen([program("tombola-analyzer"), "--config", cluster.path("analyzer.conf"),
                                             "results", "export", "--follow", *args], stdout=out)
        cluster.daemons.append(self)

    def log(self):
        with open(self.path) as f:
            return f.read()

    def rows(self):
        """Of the lines that are whole."""
        return [json.loads(line) for line in self.log().splitlines(keepends=True) if line.endswith("\n")]

    def alive(self):
        return self.process.poll() is None

    def kill(self, sig=signal.SIGKILL):
        self.process.send_signal(sig)
        return self.process.wait()


def test_the_three_forms_say_what_the_result_says(settling):
    settling.settle(1, 2)
    rows = settling.rows()
    shown = settling.cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["query"] for r in rows] == ["labels"] * (len(LABELS) + 1) + ["celsius"] * (len(rows) - len(LABELS) - 1)
    for number, query in ((1, "labels"), (2, "celsius")):
        doc = settling.document(query)
        mine = [r for r in rows if r["query"] == query]
        items = doc["items"] + doc["no_reading"]
        assert len(mine) == len(items) == mine[0]["rows"]
        for row, item in zip(mine, items):
            assert row["schema"] == "tombola.row/1" and row["id"] == doc["round_id"] and row["stage"] == "settled"
            assert {k: row[k] for k in NUMBERS} == {k: item[k] for k in NUMBERS}
            assert row["label"] == item["label"] and row["below_noise"] is item["below_noise"]
            assert row["no_reading"] is (item in doc["no_reading"] and item not in doc["items"])
            for key in ("epsilon0", "epsilon_round", "epsilon_total", "delta", "participants", "reports", "population", "unit"):
                assert row[key] == doc[key], key
            assert row["round"] == number == shown[number - 1]["round"]
            assert row["recurrence"] == 0 and row["fault"] is None and row["low"] is None
            assert row["time_ms"] <= doc["charged_ms"] <= row["settled_ms"]

    table = list(csv.DictReader(io.StringIO(settling.export("--format", "csv"))))
    # An apostrophe stands before what a spreadsheet would run, and before an apostrophe, so that it can be taken away again.
    marked = {"=1+1": "'=1+1", "'=1": "''=1"}
    assert [r["label"] for r in table] == [marked.get(r["label"], r["label"]) for r in rows]
    for cells, row in zip(table, rows):
        assert set(cells) == set(row) - {"schema"}
        for key, cell in cells.items():
            want = marked.get(row[key], row[key]) if isinstance(row[key], str) else row[key]
            assert cell == ("" if want is None else str(want).lower() if isinstance(want, bool) else want
                            if isinstance(want, str) else cell), key
            if isinstance(want, (int, float)) and not isinstance(want, bool):
                assert float(cell) == want

    lines = [influx(line) for line in settling.export("--format", "influx").splitlines()]
    series = {(tuple(sorted(tags.items())), at) for _, tags, _, at in lines}
    assert len(series) == len(lines) == len(rows)
    for (name, tags, fields, at), row in zip(lines, rows):
        assert name == "tombola" and at == row["time_ms"] * 1000000
        assert tags["label"] == re.sub(r"\\$", r"\\ ", row["label"]) and tags["no_reading"] == str(row["no_reading"]).lower()
        for key, value in fields.items():
            assert value == row[key], key
        left_out = {k for k in row if k not in fields and k not in tags and row[k] is not None}
        assert left_out == {"schema", "plan_name", "time", "time_ms"}


def test_a_follower_prints_each_round_once_through_all_restarts(settling):
    cluster = settling.cluster
    cursor = cluster.path("cursor")
    early = Follower(cluster, name="early")  # before there is a ledger
    settling.settle(1)
    wait_for("the first round", lambda: {r["round"] for r in early.rows()} == {1})
    kept = Follower(cluster, "--cursor", cursor)
    wait_for("the cursor", lambda: os.path.exists(cursor) and "seq" in open(cursor).read())
    kept.kill()
    settling.settle(2)
    assert {r["round"] for r in kept.rows()} == {1}
    again = Follower(cluster, "--cursor", cursor)
    settling.settle(3)
    wait_for("the third round", lambda: {r["round"] for r in again.rows()} == {1, 2, 3})
    wait_for("the third round, early", lambda: {r["round"] for r in early.rows()} == {1, 2, 3})
    wait_for("the third round in the cursor",
             lambda: f"seq {again.rows()[-1]['seq']}\n" in open(cursor).read())
    assert again.rows() == early.rows() == settling.rows()
    assert settling.rows("--cursor", cursor) == []
    for follower in (early, again):
        follower.kill(signal.SIGTERM)

    # Whoever keeps the last seq itself needs no cursor.
    seq = next(r["seq"] for r in settling.rows() if r["round"] == 2)
    assert {r["round"] for r in settling.rows("--after", str(seq))} == {3}
    assert settling.rows("--after", str(seq - 1))[0]["round"] == 2


def test_a_cursor_of_another_ledger_is_refused(settling):
    cluster = settling.cluster
    settling.settle(1)
    cursor = cluster.path("cursor")
    settling.export("--cursor", cursor)
    with open(cursor) as f:
        text = f.read()
    for broken in ("", "seq 3\n", text + "x", text.replace("round ", "round 0"), text.replace("seq ", "seq -")):
        cluster.write("cursor", broken)
        run = cluster.run("analyzer", "results", "export", "--cursor", cursor)
        assert run.returncode == EXIT["data"] and cursor in run.stderr and run.stdout == ""
    head, last = text.strip().rsplit(" ", 1)
    cluster.write("cursor", f"{head} {'0' * len(last)}\n")
    run = cluster.run("analyzer", "results", "export", "--cursor", cursor)
    assert run.returncode == EXIT["data"] and "another ledger" in run.stderr
    # An older copy: said, and nothing is handed on again until it has grown.
    cluster.write("cursor", text.replace("seq ", "seq 9"))
    run = cluster.run("analyzer", "results", "export", "--cursor", cursor)
    assert run.returncode == EXIT["later"] and "older copy" in run.stderr


def test_a_result_that_was_changed_is_not_handed_on(settling):
    settling.settle(1, 2)
    with open(settling.cluster.path("analyzer", "results", "round-0002.json"), "a") as f:
        f.write(" ")
    run = settling.cluster.run("analyzer", "results", "export")
    assert run.returncode == EXIT["data"] and "not the result the ledger recorded" in run.stderr
    assert {json.loads(line)["round"] for line in run.stdout.splitlines()} == {1}


def test_a_charged_round_without_an_estimate_has_one_line(cluster):
    charged(cluster)

    def export(form):
        run = cluster.run("analyzer", "results", "export", "--format", form)
        assert run.returncode == 0, run.stderr
        return run.stdout
    assert export("ndjson") == export("influx") == ""
    assert cluster.run("analyzer", "round", "give-up", "1", "--confirm", "q1").returncode == 0
    row = json.loads(export("ndjson"))
    assert row["stage"] == "lost" and row["fault"].startswith("lost") and row["rows"] == 1 and row["epsilon_round"] > 0
    assert row["value"] is row["label"] is row["no_reading"] is row["below_noise"] is None
    cells, = csv.DictReader(io.StringIO(export("csv")))
    assert cells["value"] == "" and cells["fault"] == row["fault"]
    _, tags, fields, _ = influx(export("influx").strip())
    assert "label" not in tags and fields["fault"] == row["fault"] and "value" not in fields


def test_what_cannot_be_printed_ends_it(settling):
    settling.settle(1)
    args = [program("tombola-analyzer"), "--config", settling.cluster.path("analyzer.conf"), "results", "export"]
    run = subprocess.Popen([*args, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdout.readline()
    run.stdout.close()
    assert run.wait() == EXIT["io"]  # nobody reads any more, though no round settles
    run = settling.cluster.run("analyzer", "results", "export", "--format", "xml")
    assert run.returncode == EXIT["usage"] and "ndjson, csv or influx" in run.stderr
    with open("/dev/full", "w") as full:
        code = subprocess.run(args, stdout=full, stderr=subprocess.DEVNULL).returncode
    assert code == EXIT["io"]
