"""The analyzer's command line: the only way in which a training talks to Tombola."""
import dataclasses
import json
import subprocess

import numpy

from .children import ends_with_us
from .faults import EXIT, Fault

__all__ = ["Analyzer", "Entry", "Estimate"]


@dataclasses.dataclass(frozen=True)
class Entry:
    """Where an entry of the plan stands, as `round list --json` has it."""
    name: str            # QUERY, or QUERY#N of a query with `repeat` or `every`
    number: int          # of the round in the plan
    stage: str           # planned, reserved, charged, settled, refused, void, waiting
    epsilon: float       # of the entry alone
    tries: int           # so far
    tries_limit: int
    payload_hash: str    # hex, of the bytes that were frozen; "" if none were
    reason: str


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The answer of a settled round.

    values, variances: float64, an item each: coordinates of a vector (of the mean over the devices), counts of
    combinations of marginals, one marginal after the other.  labels: theirs.  reports: how many devices took part.
    lost: the round was charged and has no estimate; values are empty.
    """
    labels: tuple
    values: numpy.ndarray
    variances: numpy.ndarray
    reports: int
    raw: dict
    lost: bool = False

    @staticmethod
    def read(result):
        """Of the JSON of a result."""
        items = [i for m in result["marginals"] for i in m["items"]] if "marginals" in result else result.get("items") or []
        return Estimate(tuple(i["label"] for i in items), numpy.array([i["value"] for i in items], float),
                        numpy.array([i["variance"] for i in items], float), int(result.get("reports", 0)), result,
                        lost=not items)


class Analyzer:
    """One deployment's analyzer: command, configuration.

    command   the program, or a list of it and its first arguments
    config    its configuration file
    """

    def __init__(self, config, command="tombola-analyzer"):
        self.config = str(config)
        self.command = [command] if isinstance(command, str) else list(command)

    def _run(self, *args):
        try:
            return subprocess.run([*self.command, "--config", self.config, "--json", *args], capture_output=True, text=True,
                                  check=False, stdin=subprocess.DEVNULL, preexec_fn=ends_with_us())
        except OSError as e:
            raise Fault(EXIT["unavailable"], f"{self.command[0]}: {e.strerror}") from e

    def _json(self, *args):
        run = self._run(*args)
        if run.returncode != 0:
            raise Fault(run.returncode, last_words(run.stderr) or f"{' '.join(args)} ended with {run.returncode}")
        try:
            return json.loads(run.stdout)
        except ValueError as e:
            raise Fault(EXIT["protocol"], f"{self.command[0]} {' '.join(args)}: its answer is no JSON") from e

    def entries(self):
        """Entries of the plan, in order."""
        return [entry_of(r) for r in self._json("round", "list")["rounds"]]

    def raw_result(self, entry):
        """The JSON of a settled entry's result."""
        return self._json("round", "show", str(entry.number))["result"]

    def result(self, entry):
        """The Estimate of a settled entry."""
        return Estimate.read(self.raw_result(entry))

    def budget(self):
        """What `budget --json` says: slice_epsilon, answered_epsilon, population_budget, ..."""
        return self._json("budget")

    def run(self, entry, payload):
        """Try an entry once, or go on with a try that is under way.

        payload: path of the bytes, None where the entry takes none.  Returns the exit code: 0 settled, 3 refused by the
        budget, 75 void; the last line of what was said; where the entry stands now, and the JSON of its result: both None if
        that was not said.  Another code is a Fault.
        """
        args = ["round", "run", str(entry.number)] + (["--payload", str(payload)] if payload else [])
        run = self._run(*args)
        if run.returncode not in (0, EXIT["budget"], EXIT["later"]):
            raise Fault(run.returncode, last_words(run.stderr) or f"{' '.join(args)} ended with {run.returncode}")
        try:
            now = json.loads(run.stdout)
            return run.returncode, last_words(run.stderr), entry_of(now), now.get("result")
        except (KeyError, TypeError, ValueError):  # it was killed, or another version says less
            return run.returncode, last_words(run.stderr), None, None


def entry_of(r):
    name = f"{r['query']}#{r['recurrence']}" if "recurrence" in r else r["query"]
    return Entry(name, int(r["round"]), r["stage"], float(r.get("epsilon_round") or 0), int(r.get("tries", 0)),
                 int(r.get("tries_limit", 1)), r.get("payload_hash") or "", r.get("reason", ""))


def last_words(text):
    """The last fault on standard error: of a log in JSON its `msg` and what names the place, else the line as it is."""
    for line in reversed(text.splitlines()):
        line = line.strip()
        if not line or line.startswith("Try `"):
            continue
        if not line.startswith("{"):
            return line
        try:
            o = json.loads(line)
        except ValueError:
            return line
        if o.get("level") in ("error", "warn"):
            extra = [str(o[k]) for k in ("error", "reason", "why", "detail") if k in o]
            return ": ".join([o.get("msg", ""), *extra])
    return ""
