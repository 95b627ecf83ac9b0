"""What a training keeps on disk: one small file that says how far it came, and beside it payloads and results.

Every file is written whole before its name appears, and the small file last, so that after a crash at any point it names only
what is there.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import re

from .faults import EXIT, Fault

__all__ = ["Checkpoint", "put"]

SCHEMA = "tombola.training/2"
BEFORE = "tombola.training/1"  # the same without hashes of results


def put(path, data):
    """Write a file durably, under its name only when it is whole."""
    try:
        with open(path + ".new", "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".new", path)
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as e:
        raise Fault(EXIT["io"], f"{path}: {e.strerror}") from e


def is_text(text):
    """What may stand in a line of a terminal."""
    return isinstance(text, str) and text.isprintable()


def is_hash(text):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None


def is_number(n):
    """What a learner may score, too: it may be no number or infinite, but never a whole number that no float can hold."""
    return isinstance(n, float) or isinstance(n, int) and not isinstance(n, bool) and abs(n) < 1e300


def is_name(name, kind):
    """Of a file that this module writes."""
    return isinstance(name, str) and re.fullmatch(rf"[0-9]{{4,9}}\.{kind}", name, re.ASCII) is not None


def is_asked(o):
    """An entry with its payload, if it has one: a file of the folder."""
    return (isinstance(o, dict) and is_text(o.get("entry"))
            and (o.get("sha256") == "" if o.get("payload") is None
                 else is_name(o["payload"], "payload") and is_hash(o.get("sha256"))))


def is_scored(o):
    """What was added to an answer: scores by name, and what was spent of the budget by then."""
    score = o.get("score", {})
    return (isinstance(score, dict) and all(map(is_text, score)) and all(map(is_number, score.values()))
            and ("epsilon" in o) == ("limit" in o)
            and all(is_number(o[k]) and 0 <= o[k] < 1e300 for k in ("epsilon", "limit") if k in o))


def is_step(o):
    """What a checkpoint may say of an entry that was asked, or was not."""
    if isinstance(o, dict) and "skipped" in o:
        return is_text(o.get("entry")) and isinstance(o["skipped"], str) and o.get("code", EXIT["budget"]) in EXIT.values()
    return (is_asked(o) and is_name(o.get("result"), r"result\.json") and is_scored(o)
            and (o.get("result_sha256") is None or is_hash(o["result_sha256"])))


class Checkpoint:
    """The folder of one training.

    steps     what was done, in order: {"entry", "payload", "sha256", "result", "result_sha256", "score", "epsilon",
              "limit"}, or {"entry", "skipped": why}; hashes are those of the files
    pending   the entry that is being asked, {"entry", "payload", "sha256"}; None between steps
    stopped   why the learner asked for no more; "" if it did not
    plan      hash of the signed plan, "" until one is known
    """

    def __init__(self, folder):
        self.folder = str(folder)
        self.steps, self.pending, self.stopped, self.plan = [], None, "", ""
        self.newest = None, None  # result: its name, and what it says
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as e:
            raise Fault(EXIT["create"], f"{self.folder}: {e.strerror}") from e

    def path(self, name):
        return os.path.join(self.folder, name)

    @contextlib.contextmanager
    def held(self):
        """Nobody else trains in this folder meanwhile."""
        try:
            f = open(self.path("lock"), "w", encoding="ascii")
        except OSError as e:
            raise Fault(EXIT["create"], f"{self.path('lock')}: {e.strerror}") from e
        with f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as e:
                raise Fault(EXIT["later"], f"{self.folder}: another process trains here") from e
            yield self

    def load(self):
        """What an earlier run left, or nothing."""
        path = self.path("training.json")
        try:
            with open(path, encoding="utf-8") as f:
                o = json.load(f)
            if o["schema"] not in (SCHEMA, BEFORE):
                raise ValueError(f"its schema is not {SCHEMA}")
            steps, pending, stopped, plan = o["steps"], o["pending"], o["stopped"], o["plan"]
            if not (isinstance(steps, list) and all(map(is_step, steps)) and (pending is None or is_asked(pending))
                    and is_text(stopped) and is_text(plan)):
                raise ValueError("a member is not what it has to be")
            if o["schema"] == SCHEMA and any("result" in s and not s.get("result_sha256") for s in steps):
                raise ValueError("a result has no hash")
            self.steps, self.pending, self.stopped, self.plan = steps, pending, stopped, plan
        except FileNotFoundError:
            return self
        except (KeyError, TypeError, ValueError, RecursionError) as e:
            raise Fault(EXIT["data"], f"{path}: it is no checkpoint ({e})") from e
        except OSError as e:
            raise Fault(EXIT["io"], f"{path}: {e.strerror}") from e
        for o in [*self.steps, *([self.pending] if self.pending else [])]:
            if o.get("payload"):
                self.payload(o)
        return self

    def document(self):
        """What training.json says."""
        with_hashes = all(s.get("result_sha256") for s in self.steps if "result" in s)
        return {"schema": SCHEMA if with_hashes else BEFORE, "plan": self.plan, "stopped": self.stopped, "pending": self.pending,
                "steps": self.steps}

    def save(self):
        put(self.path("training.json"), json.dumps(self.document(), indent=1).encode() + b"\n")

    def payload(self, step):
        """The bytes of a step's payload; a Fault if they are not those that were proposed."""
        return self._read(step["payload"], step["sha256"], f"what was proposed for {step['entry']}")

    def _read(self, name, sha256, what):
        """The bytes of a file; with a hash, a Fault if they have another."""
        path = self.path(name)
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError as e:
            raise Fault(EXIT["io"], f"{path}: {e.strerror}") from e
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise Fault(EXIT["data"], f"{path}: it is not {what}")
        return data

    def propose(self, entry, data):
        """Before anybody is asked: this entry, with these bytes (None: it takes none)."""
        self.pending = {"entry": entry, "payload": None, "sha256": ""}
        if data is not None:
            name = f"{len(self.steps) + 1:04}.payload"
            put(self.path(name), data)
            self.pending = {"entry": entry, "payload": name, "sha256": hashlib.sha256(data).hexdigest()}
        self.save()

    def answer(self, result):
        """The pending entry has its result, a JSON object."""
        name = f"{len(self.steps) + 1:04}.result.json"
        data = json.dumps(result).encode()
        put(self.path(name), data)
        self.newest = name, result
        self.steps.append({**self.pending, "result": name, "result_sha256": hashlib.sha256(data).hexdigest()})
        self.pending = None
        self.save()

    def skip(self, entry, why):
        """The entry will have no answer."""
        self.steps.append({"entry": entry, "skipped": why})
        self.pending = None
        self.save()

    def result(self, step):
        """The JSON of a step's result; a Fault if it is not what was answered."""
        if self.newest[0] == step["result"]:
            return self.newest[1]
        data = self._read(step["result"], step.get("result_sha256"), f"what answered {step['entry']}")
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as e:
            raise Fault(EXIT["data"], f"{self.path(step['result'])}: it is no JSON ({e})") from e
