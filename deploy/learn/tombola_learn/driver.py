"""The driver: proposes, asks, checkpoints, until the plan's entries or the learner are through.

The budget is none of its business: a plan's entries fix what may be spent before the first answer, and the daemons keep to
that whatever is proposed.  A driver can waste entries, it cannot make one.
"""
import dataclasses
import sys

from . import payload
from .analyzer import Estimate
from .checkpoint import Checkpoint, put
from .curve import curve
from .faults import EXIT, Fault
from .progress import Progress

__all__ = ["STOP", "History", "Step", "Training"]

STOP = object()
"""What propose() returns when no further entry is to be asked.  Nothing is refunded."""


@dataclasses.dataclass(frozen=True)
class Step:
    """An entry that was answered: its name, the arrays that were frozen ({} if none), its Estimate, and what score() said
    after it ({} unless it did)."""
    entry: str
    payload: dict
    estimate: Estimate
    score: dict

    @property
    def query(self):
        return self.entry.partition("#")[0]


class History:
    """Answered steps in their order: a sequence.  next: the name of the entry that is asked next, None at the end."""

    def __init__(self, steps, next_entry=None):
        self.steps, self.next = list(steps), next_entry

    def __len__(self):
        return len(self.steps)

    def __getitem__(self, i):
        return self.steps[i]

    def __iter__(self):
        return iter(self.steps)

    @property
    def query(self):
        """Of the next entry."""
        return self.next.partition("#")[0] if self.next else None

    def of(self, query):
        """The steps that answered this query."""
        return [s for s in self.steps if s.query == query]


class Training:
    """Trains a learner through an analyzer; everything it knows is in `folder`, so it goes on wherever it was killed.

    learner.propose(history)   the payload of history.next: a dict of arrays, bytes, None for an entry without a payload,
                               or STOP.  It has to be a function of history: after a crash it may be asked again.
    learner.score(history)     optional: numbers by name for progress and curve, of public data or of the history.
    learner.queries            optional: the queries of the plan that are its own; all without it.
    """

    def __init__(self, analyzer, learner, folder, out=sys.stderr):
        self.analyzer, self.learner = analyzer, learner
        self.checkpoint = Checkpoint(folder)
        self.progress = Progress(out)
        self.read = {}  # a result is read once: later rounds would take longer and longer

    def run(self, most=None):
        """To the end, or through `most` more entries; the History.  A Fault says why it ended early; run() again goes on."""
        with self.checkpoint.held():
            self.checkpoint.load()
            budget = self._same_plan()
            entries = self._entries()
            if self.checkpoint.steps and "result" in self.checkpoint.steps[-1] and "epsilon" not in self.checkpoint.steps[-1]:
                self._tell(len(entries), budget)  # it was killed after the answer
            for e in [e for e in entries if not self._known(e.name)][:most]:
                if self.checkpoint.stopped or not self._step(e, len(entries)):
                    break
            history = self.history()
            skipped = [s for s in self.checkpoint.steps if "skipped" in s]
            if len(history) == 0 and skipped:
                raise Fault(skipped[0].get("code", EXIT["budget"]), f"{skipped[0]['entry']}: {skipped[0]['skipped']}")
            return history

    def answered(self):
        """The History that the folder holds, without asking anybody."""
        self.checkpoint.load()
        return self.history()

    def history(self, next_entry=None):
        """What is answered so far."""
        c, steps = self.checkpoint, []
        for s in c.steps:
            if "result" in s:
                name = c.plan, s["entry"], s["result"], s["sha256"]
                if name not in self.read:
                    self.read[name] = arrays_of(c.payload(s)) if s["payload"] else {}, self._estimate(s)
                steps.append(Step(s["entry"], *self.read[name], s.get("score", {})))
        return History(steps, next_entry)

    def _estimate(self, step):
        try:
            return Estimate.read(self.checkpoint.result(step))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as e:
            path = self.checkpoint.path(step["result"])
            raise Fault(EXIT["data"], f"{path}: it is no result ({type(e).__name__}: {e})") from e

    # -- inside -----------------------------------------------------------------------------------------------------

    def _entries(self):
        own = getattr(self.learner, "queries", None)
        entries = [e for e in self.analyzer.entries() if own is None or e.name.partition("#")[0] in own]
        if not entries:
            raise Fault(EXIT["config"], f"the plan has no round of {', '.join(own) if own else 'any query'}")
        return entries

    def _known(self, name):
        return any(s["entry"] == name for s in self.checkpoint.steps)

    def _same_plan(self):
        """A checkpoint goes with one signed plan; from the first answer on there is one.  The budget."""
        budget = self.analyzer.budget()
        current = [p["hash"] for p in budget.get("plans", []) if p.get("current")]
        if current and self.checkpoint.plan and self.checkpoint.plan != current[0]:
            raise Fault(EXIT["data"], f"{self.checkpoint.folder}: this training belongs to another plan")
        if current:
            self.checkpoint.plan = current[0]
        return budget

    def _step(self, entry, of):
        """Ask one entry, or know that it has no answer.  False: the learner stopped."""
        c = self.checkpoint
        if c.pending is None:
            if entry.stage in ("refused", "void"):
                self._skip(entry)
                return True
            if entry.stage not in ("planned", "waiting"):
                raise Fault(EXIT["data"], f"{entry.name} is {entry.stage} already, and this folder knows nothing of it: "
                                          "another training ran it")
            proposed = self._propose(entry)
            if proposed is STOP:
                c.stopped = "the learner asked for no more"
                c.save()
                self.progress.say(f"stopped before {entry.name}: {c.stopped}; what is left of the budget stays spent")
                return False
            c.propose(entry.name, proposed)
        elif c.pending["entry"] != entry.name:
            raise Fault(EXIT["data"], f"{c.folder}: {c.pending['entry']} was asked last, and the plan has it no more")
        with self.progress.during(entry.name, len(c.steps) + 1, of):
            answered = self._ask(entry)
        if answered:
            self._tell(of, self._same_plan())
        return True

    def _propose(self, entry):
        """Bytes, None or STOP."""
        proposed = self.learner.propose(self.history(entry.name))
        if proposed is STOP or proposed is None or isinstance(proposed, bytes):
            return proposed
        try:
            return payload.pack(proposed)
        except payload.BadPayload as e:
            raise Fault(EXIT["data"], f"the payload proposed for {entry.name}: {e}") from e

    def _ask(self, entry):
        """Until the pending entry is settled, or will never be."""
        c = self.checkpoint
        path = c.path(c.pending["payload"]) if c.pending["payload"] else None
        entry, result = self._now(entry), None
        while True:
            if entry.stage == "settled":
                if entry.payload_hash and entry.payload_hash != c.pending["sha256"]:
                    raise Fault(EXIT["data"], f"{entry.name} was asked with other bytes than {path}: another training ran it")
                c.answer(result or self.analyzer.raw_result(entry))
                return True
            if entry.stage in ("refused", "void"):
                self._skip(entry)
                return False
            code, words, now, result = self.analyzer.run(entry, path)
            if code == EXIT["budget"]:
                self._skip(entry, words or "the budget refuses it")
                return False
            before, entry = entry, now or self._now(entry)
            if code == EXIT["later"] and (entry.stage, entry.tries) == (before.stage, before.tries):
                raise Fault(code, words or f"{entry.name}: not now; run it again to go on")

    def _now(self, entry):
        return next((e for e in self.analyzer.entries() if e.name == entry.name), entry)

    def _skip(self, entry, why=""):
        why = why or entry.reason or entry.stage
        self.checkpoint.skip(entry.name, why)
        self.checkpoint.steps[-1]["code"] = EXIT["later"] if entry.stage == "void" else EXIT["budget"]
        self.checkpoint.save()
        self.progress.say(f"{entry.name} has no answer: {why}")

    def _tell(self, of, budget):
        """Score, curve and a line of progress of the last step."""
        c, history = self.checkpoint, self.history()
        last = c.steps[-1]
        last["epsilon"], last["limit"] = budget["answered_epsilon"], budget["slice_epsilon"]
        score = getattr(self.learner, "score", None)
        if score is not None and not history[-1].estimate.lost:
            last["score"] = {k: float(v) for k, v in score(history).items()}
        c.save()
        put(c.path("curve.svg"), curve([s for s in c.steps if "result" in s]).encode())
        self.progress.step(last["entry"], len(c.steps), of, history[-1].estimate, last)


def arrays_of(data):
    """Arrays of a payload; {} where a program reads bytes of its own."""
    try:
        return payload.unpack(data)
    except payload.BadPayload:
        return {}
