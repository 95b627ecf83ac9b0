"""The kit for people who test their own pipelines: `tombola demo`, its events, its seeds, and the proxy of faults."""
import contextlib
import glob
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import cluster as c
import wire
from chance import within

KIT = os.path.join(wire.ROOT, "tests", "kit", "tombola-faults")
sys.path.insert(0, os.path.dirname(KIT))
import tombola_testing  # noqa: E402

PLAN = """name = "kit";
population = "kit";
budget = { epsilon = %s; delta = 1e-6; unit = "device"; };
tries = 1;
rounds = (
  { query = "colour"; type = "histogram"; protocol = "grr"; field = "colour"; epsilon0 = 3.0; values = [ "red", "green" ];
    min_reports = %d; target = %d; window = "%s"; }
);
"""
N = 600
RED = 400


def demo(*args, seconds=600, env=None):
    run = subprocess.run([c.program("tombola"), "demo", "--json", *args], capture_output=True, text=True,
                         timeout=seconds, env={**os.environ, **(env or {})})
    return run, [json.loads(line) for line in run.stdout.splitlines()]


def given(folder, epsilon=2.0, n=N, window="1m"):
    plan, readings = folder / "plan.conf", folder / "readings.csv"
    plan.write_text(PLAN % (epsilon, n, n, window))
    readings.write_text("device,colour\n" + "".join(f"d{i},{'red' if i < RED else 'green'}\n" for i in range(N)))
    return ("--plan", str(plan), "--readings", str(readings), "--device-field", "device")


def names(events):
    return [(e["event"], e.get("round")) for e in events]


def result_of(events):
    return next(e["result"] for e in events if e["event"] == "result")


def test_a_truth_is_within_no_interval_of_which_nothing_is_known(tmp_path):
    """Readings that nobody can read give the range as the interval, which holds every truth."""
    kit = tombola_testing.Tombola(tmp_path)
    plan = (PLAN % (4.0, N, N, "1m")).replace("colour", "t").replace("histogram", "mean").replace("grr", "levels").replace(
        'values = [ "red", "green" ];', "range = [ 0.0, 40.0 ];")
    unread, read = (kit.run(plan, [{"device": f"d{i}", "t": t} for i in range(N)], device_field="device", expect=code)
                    for t, code in (("20,0 C", 65), (20.0, 0)))
    assert any(f["wrong"] and "decimal comma" in f["text"] and ":1 (d0)" in f["text"] for f in unread.findings) and not read.findings
    assert unread.result("t")["participants"] == N and math.isnan(unread.value("t", "mean"))
    assert unread.item("t", "mean")["lower"] == 0 and unread.item("t", "mean")["upper"] == 40
    assert not any(unread.within("t", label, 20) for label in ("t", "mean"))
    assert read.item("t", "mean") == read.item("t", "t") and abs(read.value("t", "mean") - 20) < 10
    item = read.item("t", "mean")
    assert read.within("t", "mean", item["value"]) and not read.within("t", "mean", item["upper"] + 1e-6)
    with pytest.raises(tombola_testing.Failed, match="no item 'median'"):
        read.item("t", "median")


@pytest.mark.parametrize("program", ["tombola-client", "tombola-shuffler", "tombola-analyzer"])
def test_a_program_without_a_check_says_so(program):
    for removed, warned in (("", 0), ("client.csv_line,shuffler.budget", 1)):
        run = subprocess.run([c.program(program), "config-sample"], capture_output=True, text=True, check=True,
                             env={**os.environ, "TOMBOLA_MUTANT": removed})
        said = [json.loads(line) for line in run.stderr.splitlines()]
        assert [(e["level"], e["msg"], e["checks"]) for e in said] == warned * [
            ("warn", "checks are removed: this test build keeps no promise", removed)]


@contextlib.contextmanager
def faults(*args):
    """The proxy before a port that is free; yields both ports and, at its end, what it did."""
    listen, to = c.free_port(), c.free_port()
    proxy = subprocess.Popen([KIT, "--listen", f"127.0.0.1:{listen}", "--to", f"127.0.0.1:{to}", *args],
                             stdout=subprocess.PIPE, text=True)
    done = {}
    try:
        yield ("--port", str(to), "--client-dials", f"127.0.0.1:{listen}"), done
    finally:
        proxy.send_signal(signal.SIGTERM)
        said, _ = proxy.communicate(timeout=180)
    assert proxy.returncode == 0
    done.update(json.loads(said))


def honest(events):
    """The round settled with each device once, and an estimate that is as near as chance leaves it."""
    assert names(events) == [("started", None), ("opened", 1), ("sealed", 1), ("charged", 1), ("settled", 1), ("result", 1),
                             ("ended", None)]
    result = result_of(events)
    assert result["participants"] == result["reports"] == result["messages"] == N
    assert result["duplicates"] == result["bad"] == 0
    red = result["items"][0]
    assert red["label"] == "red" and within(red, RED, step=1.3), red


def test_the_built_in_plan_is_refused_its_last_round(tmp_path):
    run, events = demo(env={"TMPDIR": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    assert names(events) == [("started", None), ("refused", 3), *((e, r) for r in (1, 2) for e in
                             ("opened", "sealed", "charged", "settled", "result")), ("ended", None)]
    assert {e["schema"] for e in events} == {"tombola.demo/1"}
    assert [e["ts"] for e in events] == sorted(e["ts"] for e in events)
    by = {(e["event"], e.get("round")): e for e in events}
    # What is charged is what was announced, and it adds up to no more than the budget.
    for r in (1, 2):
        assert by["charged", r]["epsilon_total"] == by["opened", r]["epsilon_total"] <= by["started", None]["epsilon_limit"]
        assert by["sealed", r]["reports"] == by["result", r]["result"]["participants"] == 2000
    assert by["refused", 3]["epsilon_total"] > 1 and "left" in by["refused", 3]["reason"]
    last = by["ended", None]
    assert (last["exit"], last["settled"], last["refused"], last["void"]) == (0, 2, 1, 0)
    assert not os.listdir(tmp_path), "the scratch folder stays"


def test_a_given_plan_and_its_exit_codes(tmp_path):
    folder = tmp_path / "kept"
    run, events = demo(*given(tmp_path), "--dir", str(folder))
    assert run.returncode == 0, run.stderr
    honest(events)
    assert events[0]["dir"] == str(folder) and {"plan.conf", "pki", "analyzer.log", "client.log"} <= set(os.listdir(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    # The folder is a deployment like any other.
    shown = subprocess.run([c.program("tombola-analyzer"), "--config", str(folder / "analyzer.conf"), "ledger", "verify"],
                           capture_output=True, text=True)
    assert shown.returncode == 0 and "intact" in shown.stdout
    again, _ = demo("--dir", str(folder))
    assert again.returncode == 73 and not again.stdout

    run, events = demo(*given(tmp_path, epsilon=0.1))
    assert run.returncode == 3 and names(events)[1:] == [("refused", 1), ("ended", None)] and events[-1]["exit"] == 3
    people = subprocess.run([c.program("tombola"), "demo", *given(tmp_path, epsilon=0.1)], capture_output=True, text=True)
    assert people.returncode == 3 and people.stdout.endswith("`tombola plan cost` of this plan says what would fit\n"), people
    run, events = demo(*given(tmp_path, n=N + 1, window="12s"))  # room for all N on a busy machine
    assert run.returncode == 75 and names(events)[1:] == [("opened", 1), ("void", 1), ("ended", None)]


def test_who_took_no_part_says_why(tmp_path):
    args = given(tmp_path, window="1h")
    readings = tmp_path / "readings.csv"
    readings.write_text(readings.read_text().replace(",", ";"))
    run, events = demo(*args)
    # Nobody else can fill the round, so that its window is not waited for.
    assert run.returncode == 65 and "takes no part" in run.stderr and "no column 'colour'" in events[-1]["error"]
    assert names(events)[1:] == [("opened", 1), ("complaint", None), ("ended", None)]
    said = events[2]
    assert said["party"] == "client" and said["message"] == "round passed over"
    assert f"{readings}:1: no column 'colour'" in said["reason"] and "commas separate columns" in said["reason"]


def test_a_demo_that_does_not_begin_leaves_no_folder(tmp_path):
    folder, plan = tmp_path / "kept", tmp_path / "bad.conf"
    plan.write_text("name = 5;")
    run, _ = demo("--plan", str(plan), "--dir", str(folder))
    assert run.returncode == 78 and not folder.exists(), run
    folder.mkdir()
    (folder / "mine").write_text("")
    assert demo("--plan", str(plan), "--dir", str(folder))[0].returncode != 0 and (folder / "mine").exists()


def test_wrong_readings_are_said_before_they_are_asked_for(tmp_path):
    """Said first, by place and with what to do; the demo goes on, and does not end as if all were well."""
    args = given(tmp_path)
    readings = tmp_path / "readings.csv"
    readings.write_text(readings.read_text().replace("red", "Red"))
    run, events = demo(*args)
    wrong, = [f for f in events[0]["findings"] if f["wrong"]]
    assert (wrong["round"], wrong["query"]) == (1, "colour") and f"{readings}:2 (d0): \"Red\"" in wrong["text"], wrong
    assert run.returncode == 65 == events[-1]["exit"] and events[-1]["error"] == wrong["text"]
    people = subprocess.run([c.program("tombola"), "demo", *args], capture_output=True, text=True)
    said = people.stdout
    assert people.returncode == 65 and said.index("wrong: round 1 (colour): ") < said.index("what to do: ") < said.index("opened"), said
    assert "not to be trusted" in said
    with pytest.raises(tombola_testing.Failed, match="ended with 65, not with 0\nround 1 .colour.: in 400 rows the field 'colour'"):
        tombola_testing.Tombola(tmp_path).run(str(tmp_path / "plan.conf"), str(readings), device_field="device")


def test_a_window_that_cannot_end_in_time_is_said_at_once(tmp_path):
    args = given(tmp_path, window="1h")
    plan = tmp_path / "plan.conf"
    plan.write_text(plan.read_text().replace(f"target = {N}", f"target = {N + 1}"))
    run, events = demo(*args)
    assert run.returncode == 75 and names(events)[1:] == [("ended", None)]
    assert "round 1 (colour) cannot end before --timeout, 10m: 600 devices do not reach its target of 601" in events[-1]["error"]
    # A refused round is not waited for, and neither is one that a longer time allows.
    plan.write_text(plan.read_text().replace("epsilon = 2.0", "epsilon = 0.1"))
    assert demo(*args)[0].returncode == 3
    plan.write_text(plan.read_text().replace("epsilon = 0.1", "epsilon = 2.0").replace("1h", "5s"))
    run, events = demo(*args)
    assert run.returncode == 0, run.stderr


def test_recurrences_are_asked_one_after_the_other(tmp_path):
    args = given(tmp_path, epsilon=4.0)
    plan = tmp_path / "plan.conf"
    text = plan.read_text().replace('window = "1m"', 'window = "1m"; every = "24h";\n    start = "2150-01-01T00:00:00Z"; count=365')
    plan.write_text(text.replace("epsilon = 4.0", "epsilon = 40.0").replace("protocol", "/* count = 9 */ protocol"))
    run, events = demo(*args, "--recurrences", "3", "--dir", str(tmp_path / "kept"))
    assert run.returncode == 0 and events[0]["rounds"] == 3 and events[-1]["settled"] == 3, run.stderr
    assert len({e["epsilon_round"] for e in events if e["event"] == "charged"}) == 1
    # Nothing else of the plan has changed, and each key is on its line.
    asked, given_ = (tmp_path / "kept" / "plan.conf").read_text(), plan.read_text()
    assert asked == given_.replace(' every = "24h";', " ").replace('    start = "2150-01-01T00:00:00Z"; count=365', "     repeat = 3")
    run, _ = demo(*args, "--recurrences", "0")
    assert run.returncode == 64 and "--recurrences" in run.stderr


@pytest.mark.parametrize("row", ["gspa-classes", "gspa-pooled"])
def test_a_round_with_classes_has_a_client_a_class(tmp_path, row):
    args = given(tmp_path, epsilon=5.0, window="1h")
    plan = tmp_path / "plan.conf"
    plan.write_text(plan.read_text().replace('"grr";', f'"{row}"; classes = ( {{ epsilon0 = 1.0; least = 200; }}, '
                                             '{ epsilon0 = 3.0; least = 300; } );'))
    run, events = demo(*args, "--dir", str(tmp_path / "kept"))
    assert run.returncode == 0 and ("settled", 1) in names(events), run.stderr
    assert result_of(events)["participants"] == N
    lists = [(tmp_path / "kept" / f"{name}-devices.txt").read_text().split() for name in ("client-2", "client")]
    # What each class wants, and half of the rest.
    assert [len(x) for x in lists] == [250, 350] and set(lists[0]) | set(lists[1]) == {f"d{i}" for i in range(N)}
    assert "max_epsilon0 = 1;" in (tmp_path / "kept" / "client-2-policy.conf").read_text()
    nameless, _ = demo(*args[:4])
    assert nameless.returncode == 64 and "give --device-field" in nameless.stderr


def test_too_few_of_a_class_are_said_to_be_too_few(tmp_path):
    """The kit's policies allow what the plan's least class guarantees."""
    args = given(tmp_path, epsilon=5.0, n=N + 1, window="3s")
    plan = tmp_path / "plan.conf"
    plan.write_text(plan.read_text().replace('"grr";', '"gspa-classes"; classes = ( { epsilon0 = 1.0; least = 50; }, '
                                             '{ epsilon0 = 3.0; least = 60; } );').replace("tries = 1", "tries = 2"))
    run, events = demo(*args, "--dir", str(tmp_path / "kept"))
    told = [n for n in names(events) if n[0] != "complaint"]
    assert run.returncode == 75 and told[-1] == ("ended", None), run.stderr
    # Two tries; a descriptor that a busy machine announces too late, so that nobody is asked, is none.
    assert len(told) >= 6 and told[1:-1] == (len(told) // 2 - 1) * [("opened", 1), ("void", 1)], told
    # Each event is of its own try, however soon the next one begins.
    assert all(e["reports"] <= N and e["reason"] for e in events if e["event"] == "void")
    assert any("601" in f["text"] and f["wrong"] for f in events[0]["findings"])
    for party in ("client", "client-2", "shuffler"):
        assert "min_batch = 50;" in (tmp_path / "kept" / f"{party}-policy.conf").read_text()


def test_a_round_that_the_client_refuses_is_not_waited_for(tmp_path):
    args = given(tmp_path, window="1h")
    plan, program = tmp_path / "plan.conf", "sha256:" + 64 * "0"
    plan.write_text(plan.read_text().replace('type = "histogram"; protocol = "grr"', 'type = "vector"; dimension = 2; '
                                             'range = [ -1.0, 1.0 ]; protocol = "rotated"; slots = 2').replace(
        'values = [ "red", "green" ]', f'compute = {{ map = "program"; columns = [ "colour" ]; seconds = 0.1; program = "{program}"; }}'))
    run, events = demo(*args)
    assert run.returncode == 77 and "takes no part" in run.stderr and program in events[-1]["error"], run.stderr
    assert names(events)[1:] == [("opened", 1), ("complaint", None), ("ended", None)]


def test_rounds_that_take_a_payload_are_said_to_be_left(tmp_path):
    args = given(tmp_path)
    plan = tmp_path / "plan.conf"
    plan.write_text(plan.read_text().replace('type = "histogram"; protocol = "grr"', 'type = "vector"; dimension = 4; '
                                             'range = [ -1.0, 1.0 ]; protocol = "rotated"; slots = 2; payload = "later"').replace(
        'values = [', 'compute = { map = "linear-gradient"; columns = [ "x" ]; label = "colour"; classes = [').replace(
        '"green" ];', '"green" ]; };'))
    run = subprocess.run([c.program("tombola"), "demo", *args], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.endswith(
        "0 settled, 0 refused, 0 void; rounds that take a payload are not asked\n"), run


def test_what_is_wrong_is_said(tmp_path):
    plan = tmp_path / "bad.conf"
    plan.write_text("name = 1;\n")
    for args, code, words in (
            (("--plan", str(tmp_path / "none")), 66, "none"), (("--plan", str(plan)), 78, "bad.conf:1"),
            (("--readings", "x.csv"), 64, "--plan"), (("--devices", "0"), 64, "--devices"),
            ((*given(tmp_path)[:2], "--readings", "none.csv"), 66, "none.csv"), (("--port", "70000"), 64, "--port"),
            (("--timeout", "soon"), 64, "--timeout"), (("--seed", "x"), 64, "--seed")):
        run, events = demo(*args, env={"TMPDIR": str(tmp_path)})
        assert run.returncode == code and words in run.stderr and not events, (args, run)
    assert not [n for n in os.listdir(tmp_path) if n.startswith("tombola-demo-")]


def test_a_demo_that_cannot_end_is_ended(tmp_path):
    silent = c.free_port()
    for seconds in (2, 8, 32, 128):  # a slow build has not begun its client after 2
        run, events = demo(*given(tmp_path), "--client-dials", f"127.0.0.1:{silent}", "--timeout", f"{seconds}s",
                           env={"TMPDIR": str(tmp_path)})
        assert run.returncode == 75 and "--timeout" in run.stderr
        assert events[-1]["exit"] == 75 and "--timeout" in events[-1]["error"]
        kept = re.search(r"logs and databases are in (\S+)", run.stderr)[1]
        # Nothing of it still runs: its port is free.
        assert subprocess.run(["pgrep", "-f", kept], capture_output=True, text=True).stdout == ""
        if os.path.exists(os.path.join(kept, "client.log")):
            return
    assert False, "the client never began"


def test_a_reader_that_leaves_ends_it(tmp_path):
    run = subprocess.Popen([c.program("tombola"), "demo", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "TMPDIR": str(tmp_path)})
    assert json.loads(run.stdout.readline())["event"] == "started"
    # It holds the daemons' four ports, which another program could be given before they listen.
    assert [os.readlink(f).split(":")[0] for f in glob.glob(f"/proc/{run.pid}/fd/*")].count("socket") == 4
    run.stdout.close()
    kept = re.search(r"logs and databases are in (\S+)", run.stderr.read())[1]
    assert run.wait(180) == 74
    assert subprocess.run(["pgrep", "-f", kept], capture_output=True, text=True).stdout == ""


def seeded_build():
    with open(c.program("tombola-client"), "rb") as f:
        return b"TOMBOLA_TEST_SEED" in f.read()


def test_seeds_in_test_builds_only(tmp_path):
    if not seeded_build():
        run, events = demo("--seed", "7")
        assert run.returncode == 64 and "test build" in run.stderr and not events
        return
    # Where no round is asked nobody draws, and that is no fault of the seed.
    run, events = demo(*given(tmp_path, epsilon=0.1), "--seed", "7")
    assert run.returncode == 3 and events[-1]["refused"] == 1, run.stderr
    counts = []
    for seed in ("7", "7", "8"):
        run, events = demo(*given(tmp_path), "--seed", seed)
        assert run.returncode == 0 and events[0]["seeded"], run.stderr
        honest(events)
        counts.append(result_of(events)["counts"])
    assert counts[0] == counts[1] != counts[2]


def test_an_honest_result_under_delay_and_resets(tmp_path):
    # The first answer behind 4,000 bytes is a receipt: it arrives and the connection is gone, or both are.
    with faults("--delay", "100", "--jitter", "50", "--reset", "after:4000", "--times", "2") as (ports, done):
        run, events = demo(*given(tmp_path), *ports)
        assert run.returncode == 0, run.stderr
    honest(events)
    assert done["reset_after"] >= 1 and done["connections"] >= 2, done
    with faults("--reset", "before:4000", "--times", "2") as (ports, done):
        run, events = demo(*given(tmp_path), *ports)
        assert run.returncode == 0, run.stderr
    honest(events)
    assert done["reset_before"] >= 1 and done["connections"] >= 2, done


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def ends(port, n):
    """Send n bytes; was the connection reset behind the answer?"""
    with socket.create_connection(("127.0.0.1", port), timeout=180) as s:
        s.sendall(b"x" * n)
        assert s.recv(1) == b"y"
        try:
            s.sendall(b"x")
            return s.recv(1) != b"y"
        except (ConnectionResetError, BrokenPipeError):
            return True


def test_a_connection_that_only_asks_takes_no_fault():
    def answer(server):
        while True:
            try:
                conn, _ = server.accept()
            except OSError:
                return
            with conn, contextlib.suppress(ConnectionError):
                while conn.recv(1 << 16):
                    conn.sendall(b"y")

    with faults("--reset", "after:100", "--times", "2") as (ports, done):
        to, listen = int(ports[1]), int(ports[3].split(":")[1])
        with socket.create_server(("127.0.0.1", to)) as server:
            threading.Thread(target=answer, args=(server,), daemon=True).start()
            c.wait_for("the proxy", lambda: listens(listen))
            assert [ends(listen, n) for n in (50, 50, 150, 150, 150)] == [False, False, True, True, False]
            server.shutdown(socket.SHUT_RDWR)
    assert done["reset_after"] == 2, done


def test_duplicates_and_a_narrow_line_change_nothing(tmp_path):
    with faults("--duplicate", "--rate", "200000") as (ports, done):
        run, events = demo(*given(tmp_path), *ports)
        assert run.returncode == 0, run.stderr
    honest(events)
    assert done["duplicates"] == done["connections"] - done["refused"] > 0, done


@pytest.mark.parametrize("args,words", [
    (("--listen", "here", "--to", "127.0.0.1:1"), "HOST:PORT"), (("--listen", "127.0.0.1:0",), "--to"),
    (("--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--reset", "during:1"), "before:BYTES"),
    (("--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--drop", "-1"), "whole number"),
    (("--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--delay", "-1"), "number")])
def test_the_proxy_refuses_what_it_does_not_understand(args, words):
    run = subprocess.run([KIT, *args], capture_output=True, text=True, timeout=180)
    assert run.returncode == 2 and words in run.stderr and "Traceback" not in run.stderr


def plugin(folder, text, build):
    """Run a test of somebody else's, with the plugin."""
    (folder / "test_theirs.py").write_text(text)
    env = {k: v for k, v in os.environ.items() if k != "TOMBOLA_BUILD" and not k.startswith("PYTEST_")}
    run = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tombola_testing",
                          "--tombola-build", str(build), "--basetemp", str(folder / "t"), str(folder)], capture_output=True,
                         text=True, timeout=300, env={**env, "PYTHONPATH": os.path.dirname(KIT)}, cwd=folder)
    return run.returncode, run.stdout + run.stderr


def test_the_fixture_fails_where_there_is_nothing_to_run(tmp_path):
    code, said = plugin(tmp_path, "def test_x(tombola):\n    pass\n", tmp_path)
    assert code == 1 and f"no program tombola in {tmp_path}/bin" in said and "skipped" not in said


def test_the_fixture_runs_a_plan_and_says_why_it_failed(tmp_path):
    text = f"""import tombola_testing
PLAN = '''{PLAN % (2.0, N, N, "1m")}'''
DEAR = PLAN.replace("epsilon = 2.0", "epsilon = 0.1")

def test_good(tombola):
    rows = [["device", "colour"]] + [[f"d{{i}}", "red" if i < {RED} else "green"] for i in range({N})]
    outcome = tombola.run(PLAN, rows, device_field="device", keep=tombola.folder + "/kept")
    item = outcome.item("colour", "red")
    assert abs(item["value"] - {RED}) < 6 * item["variance"] ** 0.5 and 0 < outcome.epsilon <= 2
    assert [e["event"] for e in outcome.events][-1] == "ended" and not outcome.complaints and outcome.faults is None
    try:
        outcome.item("colour", "blue")
    except tombola_testing.Failed as e:
        assert "['green', 'red']" in str(e)
    else:
        assert False

def test_bad(tombola):
    assert tombola.run(DEAR, devices={N}, expect=3).of("refused")
    tombola.run(DEAR, devices={N})
"""
    code, said = plugin(tmp_path, text, os.path.dirname(os.path.dirname(c.program("tombola"))))
    assert code == 1 and "1 failed, 1 passed" in said, said
    assert re.search(r"the plan ended with 3, not with 0\nE +refused round 1: needs epsilon", said), said
