"""The driver: one entry after the other, each once, whatever happens in between."""
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy
import pytest

from conftest import SOURCE
from tombola_learn import EXIT, STOP, Fault, Training
from tombola_learn.curve import curve
from tombola_learn.learners import Logistic
from tombola_learn.progress import Progress
from trainings import Inside, asked, clusters, fake, repeated

ROUNDS = 3


def gradients(count=ROUNDS, **more):
    return [{"query": "mean", "map": "moments", "part": "mean", "clip": 8.0},
            *repeated(count, query="gradient", map="linear-gradient", clip=4.0, **more)]


def learner(test=None):
    return Logistic("gradient", features=4, classes=3, rounds=ROUNDS, step=1.0, mean_query="mean", test=test)


def trained(folder):
    """An uninterrupted training in a folder of its own."""
    os.makedirs(folder)
    x, y = clusters(300)
    analyzer = fake(str(folder), gradients(), x, y)
    out = io.StringIO()
    history = Training(analyzer, learner((x, y)), folder / "training", out).run()
    return history, out.getvalue()


def test_a_training_goes_through_its_entries_and_says_so(tmp_path):
    history, said = trained(tmp_path / "a")
    assert [s.entry for s in history] == ["mean", "gradient#1", "gradient#2", "gradient#3"]
    assert [name for name, _ in asked(tmp_path / "a")] == [s.entry for s in history]
    # The first weights are zeroes, the later ones are what the answers made of them, and the mean is that of round 1.
    assert history[0].payload == {} and not history[1].payload["weights"].any()
    moved = -history[1].estimate.values.reshape(3, 5) * numpy.append(history[1].payload["scale"] * history[2].payload["scale"], 1)
    assert history[2].payload["weights"] == pytest.approx(moved, abs=1e-6)
    assert any((history[1].payload["scale"] != s.payload["scale"]).any() for s in history[2:])
    assert history[1].payload["mean"] == pytest.approx(history[0].estimate.values, abs=1e-6)
    assert history[-1].score["accuracy"] > 0.9
    assert len(said.splitlines()) == 4 and "step  4 of 4  gradient#3" in said and "epsilon 1.0000 of 1" in said
    with open(tmp_path / "a/training/curve.svg", encoding="ascii") as f:
        svg = f.read()
    assert svg.count("<circle") == 3 and f"accuracy {history[-1].score['accuracy']:.4f}" in svg
    # Nothing is left to do.
    analyzer = fake(str(tmp_path / "a"), gradients(), *clusters(300))
    assert len(Training(analyzer, learner(), tmp_path / "a/training", None).run()) == 4
    assert len(asked(tmp_path / "a")) == 4


def in_a_process_killed_at(point, folder):
    """Train in a child that is killed at so many-th a file or command, before it or after it; 0: never.  Was it?"""
    child = os.fork()
    if child == 0:
        left = [point]

        def dies(what):
            def may(*args, **keys):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = what(*args, **keys)
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result
            return may

        try:
            Inside._run = dies(Inside._run)
            os.replace, os.fsync = dies(os.replace), dies(os.fsync)
            Training(Inside(folder / "fake.json"), learner(clusters(300)), folder / "training", None).run()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, status
    return killed


def prepared(folder):
    os.makedirs(folder)
    fake(str(folder), gradients(), *clusters(300))
    return folder


def same_steps(one, two):
    def steps(folder):
        with open(folder / "training/training.json", encoding="utf-8") as f:
            o = json.load(f)
        assert o["pending"] is None
        return [(s["entry"], s["sha256"], s.get("score"), s["epsilon"]) for s in o["steps"]]

    assert steps(one) == steps(two) and asked(one) == asked(two)


def test_killed_at_every_point_it_asks_nothing_twice_and_loses_nothing(tmp_path):
    """One training, killed at each file that is written and each command that is run, before it and after it."""
    trained(tmp_path / "whole")
    folder, deaths = prepared(tmp_path / "one"), 0
    # Each run is given one point more than the one before, so that in the end it gets through.
    while in_a_process_killed_at(deaths + 1, folder):
        deaths += 1
    assert deaths > 20
    same_steps(folder, tmp_path / "whole")


def test_killed_once_it_ends_as_if_it_had_not_been(tmp_path):
    trained(tmp_path / "whole")
    point = 1
    while True:
        point += 11
        folder = prepared(tmp_path / str(point))
        killed = in_a_process_killed_at(point, folder)
        if killed:
            assert not in_a_process_killed_at(0, folder)
        same_steps(folder, tmp_path / "whole")
        if not killed:
            break
    assert point > 60  # the whole training has so many; each of its four entries is killed several times


def test_by_its_command_line_it_is_the_same(tmp_path):
    trained(tmp_path / "whole")
    folder = prepared(tmp_path / "one")
    Training(fake(str(folder), gradients(), *clusters(300), outside=True), learner(clusters(300)), folder / "training", None).run()
    same_steps(folder, tmp_path / "whole")


def test_void_tries_are_tried_again_and_refused_entries_are_left(tmp_path):
    x, y = clusters(100)
    entries = gradients()
    entries[1]["void"] = 2
    entries[2]["void"] = 9
    entries[3].update(stage="refused", reason="needs too much")
    out = io.StringIO()
    history = Training(fake(str(tmp_path), entries, x, y), learner(), tmp_path / "t", out).run()
    assert [s.entry for s in history] == ["mean", "gradient#1"]
    assert "gradient#2 has no answer: void" in out.getvalue() and "needs too much" in out.getvalue()


def test_what_ends_it_has_a_line_and_a_code(tmp_path):
    x, y = clusters(50)

    class Wrong:
        def propose(self, history):
            return {"weights": [float("nan")]}

    def fault_of(entries, who=None, analyzer=None, folder="t"):
        with pytest.raises(Fault) as fault:
            Training(analyzer or fake(str(tmp_path), entries, x, y), who or learner(), tmp_path / folder, None).run()
        assert "\n" not in str(fault.value)
        return fault.value.code, str(fault.value)

    code, line = fault_of(gradients(), Wrong(), folder="wrong")
    assert code == EXIT["data"] and line == "the payload proposed for mean: weights: not a finite number"
    assert not os.path.exists(tmp_path / "asked.log")  # nothing was spent
    code, line = fault_of([{**e, "stage": "refused", "reason": "it needs more"} for e in gradients()], folder="refused")
    assert (code, line) == (EXIT["budget"], "mean: it needs more")
    code, line = fault_of([{**e, "query": "other"} for e in gradients()], folder="none")
    assert code == EXIT["config"] and "no round of mean, gradient" in line
    gone = fake(str(tmp_path), gradients(), x, y, outside=True)
    gone.command = ["/nowhere/tombola-analyzer"]
    assert fault_of(None, analyzer=gone, folder="gone")[0] == EXIT["unavailable"]
    # Two trainings of one plan: the second sees entries that it never asked.
    Training(fake(str(tmp_path), gradients(), x, y), learner(), tmp_path / "first", None).run()
    code, line = fault_of(gradients(), folder="second")
    assert code == EXIT["data"] and "another training ran it" in line
    code, line = fault_of(None, analyzer=fake(str(tmp_path), gradients(), x, y, plan="p2"), folder="first")
    assert code == EXIT["data"] and "another plan" in line
    for damage in (b"{", b'{"schema": "tombola.training/2"}', b"[]"):
        (tmp_path / "first/training.json").write_bytes(damage)
        assert fault_of(gradients(), folder="first")[0] == EXIT["data"]


def test_a_payload_that_was_changed_is_not_sent(tmp_path):
    analyzer = fake(str(tmp_path), gradients(), *clusters(50))
    Training(analyzer, learner(), tmp_path / "t", None).run()
    (tmp_path / "t/0002.payload").write_bytes(b"TOMBPAY1")
    with pytest.raises(Fault, match="not what was proposed for gradient#1"):
        Training(analyzer, learner(), tmp_path / "t", None).run()


def test_a_checkpoint_that_was_edited_is_none(tmp_path):
    """One line, whatever somebody wrote into it; and it names no file outside of its folder."""
    analyzer = fake(str(tmp_path), gradients(), *clusters(50))
    Training(analyzer, learner(), tmp_path / "t", None).run()
    path = tmp_path / "t/training.json"
    whole = json.loads(path.read_text())
    step, asks = whole["steps"][1], {"entry": "gradient#9", "payload": "0002.payload", "sha256": whole["steps"][1]["sha256"]}
    edits = [{**whole, "steps": steps} for steps in (None, 5, [5], [{}], [{"entry": 5, "skipped": "x"}],
                                                     [{"entry": "mean", "skipped": None}])]
    edits += [{**whole, "steps": [{**step, **edit}]} for edit in (
        {"result": 5}, {"result": "../0002.result.json"}, {"result": ""}, {"score": 5}, {"score": {"accuracy": "0.9"}}, {"epsilon": "1"},
        {"limit": None}, {"sha256": None}, {"payload": "../t/0002.payload"}, {"payload": 5}, {"payload": "000\0.payload"},
        {"payload": ".."}, {"result": "0002.payload"}, {"result_sha256": None}, {"result_sha256": "00"}, {"sha256": "0" * 63 + "g"},
        {"epsilon": 10 ** 400}, {"epsilon": float("nan")}, {"limit": -1}, {"score": {"accuracy": 10 ** 400}}, {"score": {"accuracy": True}},
        {"score": {"a\x1b[2J": 1.0}}, {"entry": "gradient\n"}, {"entry": "\x1b[2Jgradient#1"})]
    edits += [{**whole, "steps": [{"entry": "mean", "skipped": "x", "code": code}]} for code in (0, -1, "3", None)]
    edits += [{**whole, "steps": [{k: v for k, v in step.items() if k != without}]} for without in ("limit", "result_sha256")]
    edits += [{**whole, "schema": schema} for schema in (None, [], "tombola.training/3", "\x1b[2J")]
    edits += [{**whole, "pending": p} for p in (5, {}, {**asks, "payload": "/etc/hostname"}, {**asks, "entry": 1})]
    edits += [{**whole, "plan": 5}, {**whole, "plan": "\x1b"}, {**whole, "stopped": None}, {**whole, "stopped": "a\nb"}, [], 5]
    for edit in [*map(json.dumps, edits), "[" * 10**6, '{"schema": "tombola.training/2", "steps": [' + "9" * 10**5 + "]}", "\ud800"]:
        path.write_bytes(edit.encode(errors="surrogatepass"))
        with pytest.raises(Fault, match=r"training\.json: it is no checkpoint") as fault:
            Training(analyzer, learner(), tmp_path / "t", None).run()
        assert fault.value.code == EXIT["data"] and str(fault.value).isprintable(), edit
    path.write_text(json.dumps(whole))
    assert len(Training(analyzer, learner(), tmp_path / "t", None).run()) == 1 + ROUNDS


def test_a_result_that_was_changed_is_not_learned_from(tmp_path):
    analyzer = fake(str(tmp_path), gradients(), *clusters(50))
    Training(analyzer, learner(), tmp_path / "t", None).run()
    path = tmp_path / "t/0002.result.json"
    whole = path.read_bytes()
    result = json.loads(whole)
    result["items"][0]["value"] += 1
    for edit in (json.dumps(result).encode(), whole + b"\n", b"", b"[5]"):
        path.write_bytes(edit)
        with pytest.raises(Fault, match=r"0002\.result\.json: it is not what answered gradient#1") as fault:
            Training(analyzer, learner(), tmp_path / "t", None).run()
        assert fault.value.code == EXIT["data"]
    path.write_bytes(whole)
    assert len(Training(analyzer, learner(), tmp_path / "t", None).run()) == 1 + ROUNDS


def test_a_training_of_an_older_version_goes_on(tmp_path):
    """Its results have no hashes: they are read as they are, and one that is none is a line."""
    analyzer = fake(str(tmp_path), gradients(), *clusters(50))
    Training(analyzer, learner(), tmp_path / "t", None).run(2)
    path = tmp_path / "t/training.json"
    old = json.loads(path.read_text())
    for step in old["steps"]:
        del step["result_sha256"]
    path.write_text(json.dumps({**old, "schema": "tombola.training/1"}))
    result = tmp_path / "t/0002.result.json"
    whole = result.read_bytes()
    for edit in (b"[5]", b"5", b"{}x", b'{"items": [{}]}', b'{"items": [{"label": "a", "value": "b", "variance": 1}]}', b"[" * 10**6):
        result.write_bytes(edit)
        with pytest.raises(Fault, match=r"0002\.result\.json: it is no (result|JSON)") as fault:
            Training(analyzer, learner(), tmp_path / "t", None).run()
        assert fault.value.code == EXIT["data"] and str(fault.value).isprintable(), edit
    result.write_bytes(whole)
    assert len(Training(analyzer, learner(), tmp_path / "t", None).run()) == 1 + ROUNDS
    assert len(Training(analyzer, learner(), tmp_path / "t", None).run()) == 1 + ROUNDS


def test_words_of_others_are_escaped(tmp_path):
    """In the picture and on a terminal: names of scores are the learner's, reasons the analyzer's."""
    out = io.StringIO()
    Progress(out).say("gradient#1 has no answer: \x1b[2J\n\u202eok")
    assert out.getvalue() == "gradient#1 has no answer: \\x1b[2J\\n\\u202eok\n"
    svg = curve([{"score": {"<script>": 0.5, "nan": float("nan")}, "epsilon": 1, "limit": 2}, {"score": {}}])
    assert "&lt;script&gt; 0.5000" in svg and "<script>" not in svg and "nan" not in svg and "of epsilon 2" in svg


def test_stopping_early_is_remembered(tmp_path):
    class Once:
        def propose(self, history):
            return STOP if len(history) == 1 else None

    analyzer = fake(str(tmp_path), gradients(), *clusters(50))
    out = io.StringIO()
    for _ in range(2):
        assert len(Training(analyzer, Once(), tmp_path / "t", out).run()) == 1
    assert out.getvalue().count("stays spent") == 1 and len(asked(tmp_path)) == 1


def test_two_at_a_time_are_one_too_many(tmp_path):
    analyzer = fake(str(tmp_path), gradients(), *clusters(50))
    one, two = (Training(analyzer, learner(), tmp_path / "t", None) for _ in range(2))
    with one.checkpoint.held(), pytest.raises(Fault, match="another process trains here") as fault:
        two.run()
    assert fault.value.code == EXIT["later"] and not os.path.exists(tmp_path / "asked.log")


def test_the_command_shows_a_training_and_says_what_is_wrong(tmp_path):
    def said(*args):
        run = subprocess.run([sys.executable, "-B", "-m", "tombola_learn", *args], capture_output=True, text=True, check=False,
                             env={**os.environ, "PYTHONPATH": str(SOURCE / "deploy/learn")})
        return run.returncode, run.stdout, run.stderr

    trained(tmp_path / "a")
    code, out, _ = said("show", str(tmp_path / "a/training"))
    assert code == 0 and [line.split()[1] for line in out.splitlines()] == ["mean", "gradient#1", "gradient#2", "gradient#3"]
    assert "epsilon 1.0000 of 1" in out
    assert json.loads(said("show", "--json", str(tmp_path / "a/training"))[1])["pending"] is None
    for args, wanted in ((("show", str(tmp_path / "none")), EXIT["noinput"]),
                         (("train", str(tmp_path / "none.py"), "--folder", "x"), EXIT["noinput"])):
        code, out, err = said(*args)
        assert code == wanted and out == "" and len(err.splitlines()) == 1 and "none" in err
    where = ("--programs", str(tmp_path), "--data", str(tmp_path), "--folder", str(tmp_path))
    for args, named in ((("flame", "frob"), "frob"), (("flame", "--epochs", "0"), "--epochs"), (("tasks", "frob"), "frob")):
        code, out, err = said(*args, *where)
        assert code == EXIT["usage"] and out == "" and len(err.splitlines()) == 1 and named in err, err
    (tmp_path / "bad.py").write_text("1 / 0")
    code, _, err = said("train", str(tmp_path / "bad.py"), "--folder", str(tmp_path / "x"))
    assert code == EXIT["data"] and err.splitlines() == [f"tombola_learn: {tmp_path}/bad.py: ZeroDivisionError: division by zero"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_a_line_lives_while_a_round_is_open():
    out = Terminal()
    progress = Progress(out)
    with progress.during("gradient#2", 2, 4):
        end = time.monotonic() + 180
        while "asking" not in out.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    lines = out.getvalue().split("\r\x1b[K")
    assert lines[0] == "" and lines[-1] == "", "the line is erased when the round is over"
    assert lines[1].startswith("[#####...............] gradient#2: asking the devices, ") and lines[1].endswith(" s")
    progress.say("an answer")
    assert out.getvalue().endswith("\r\x1b[Kan answer\n")
    # A file gets whole lines alone.
    plain = io.StringIO()
    with Progress(plain).during("gradient#2", 2, 4):
        time.sleep(0.6)
    assert plain.getvalue() == ""


def test_pictures_are_what_they_say():
    import struct
    import zlib

    from tombola_learn.curve import tiles

    data = tiles(numpy.arange(32.0).reshape(2, 4, 4), across=2, zoom=2)
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (20, 10)
    size, = struct.unpack(">I", data[33:37])
    rows = zlib.decompress(data[41:41 + size])
    assert len(rows) == 10 * 21 and rows[1] == 0 and rows[0] == 0 and rows[21 * 7 + 8] == 255
