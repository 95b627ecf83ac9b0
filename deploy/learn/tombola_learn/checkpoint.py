"""What a training keeps on disk: one small file that says how far it came, and beside it payloads and results.

Every file is written whole before its name appears, and the small file last, so that after a crash at any point it names only
what is there.
"""
import contextlib
import fcntl
import hashlib
import json
import os

from .faults import EXIT, Fault

__all__ = ["Checkpoint", "put"]

SCHEMA = "tombola.training/1"


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


def is_asked(o):
    """An entry with its payload, if it has one: a file of the folder."""
    return (isinstance(o, dict) and isinstance(o.get("entry"), str) and isinstance(o.get("sha256"), str)
            and (o.get("payload") is None or is_name(o["payload"])))


def is_name(name):
    return isinstance(name, str) and os.path.basename(name) == name != ""


def is_step(o):
    """What a checkpoint may say of an entry that was asked, or was not."""
    if not isinstance(o, dict):
        return False
    numbers = [*(score.values() if isinstance(score := o.get("score", {}), dict) else [None]),
               *(o[k] for k in ("epsilon", "limit") if k in o)]
    return (isinstance(o.get("entry"), str) and isinstance(o["skipped"], str) if "skipped" in o
            else is_asked(o) and is_name(o.get("result"))) and all(isinstance(n, (int, float)) for n in numbers)


class Checkpoint:
    """The folder of one training.

    steps     what was done, in order: {"entry", "payload", "sha256", "result", "score", "epsilon"}, or {"entry", "skipped": why}
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
            if o["schema"] != SCHEMA:
                raise Fault(EXIT["data"], f"{path}: schema {o['schema']}, not {SCHEMA}")
            steps, pending, stopped, plan = o["steps"], o["pending"], o["stopped"], o["plan"]
            if not (isinstance(steps, list) and all(map(is_step, steps)) and (pending is None or is_asked(pending))
                    and isinstance(stopped, str) and isinstance(plan, str)):
                raise ValueError("a member is not what it has to be")
            self.steps, self.pending, self.stopped, self.plan = steps, pending, stopped, plan
        except FileNotFoundError:
            return self
        except (KeyError, TypeError, ValueError) as e:
            raise Fault(EXIT["data"], f"{path}: it is no checkpoint ({e})") from e
        except OSError as e:
            raise Fault(EXIT["io"], f"{path}: {e.strerror}") from e
        for o in [*self.steps, *([self.pending] if self.pending else [])]:
            if o.get("payload"):
                self.payload(o)
        return self

    def save(self):
        put(self.path("training.json"), json.dumps({
            "schema": SCHEMA, "plan": self.plan, "stopped": self.stopped, "pending": self.pending, "steps": self.steps,
        }, indent=1).encode() + b"\n")

    def payload(self, step):
        """The bytes of a step's payload; a Fault if they are not those that were proposed."""
        try:
            with open(self.path(step["payload"]), "rb") as f:
                data = f.read()
        except OSError as e:
            raise Fault(EXIT["io"], f"{self.path(step['payload'])}: {e.strerror}") from e
        if hashlib.sha256(data).hexdigest() != step["sha256"]:
            raise Fault(EXIT["data"], f"{self.path(step['payload'])}: it is not what was proposed for {step['entry']}")
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
        put(self.path(name), json.dumps(result).encode())
        self.newest = name, result
        self.steps.append({**self.pending, "result": name})
        self.pending = None
        self.save()

    def skip(self, entry, why):
        """The entry will have no answer."""
        self.steps.append({"entry": entry, "skipped": why})
        self.pending = None
        self.save()

    def result(self, step):
        if self.newest[0] == step["result"]:
            return self.newest[1]
        try:
            with open(self.path(step["result"]), encoding="utf-8") as f:
                return json.load(f)
        except (OSError, ValueError) as e:
            raise Fault(EXIT["data"], f"{self.path(step['result'])}: {e}") from e
