#!/usr/bin/python3
"""fake_analyzer.py - an analyzer's command line without daemons, for tests of a driver alone.

Its configuration is JSON: {"plan": hash, "limit": epsilon, "rows": an .npz of x and y, "entries": [{"query", "recurrence",
"map", "epsilon", "deviation", ...}]}.  Beside it lies what it remembers, and `asked.log`, a line for each answer.  It computes
the map over all rows and adds normal noise whose seed is the entry's name, so an entry answers the same whenever it is asked.
"""
import hashlib
import json
import os
import sys

import numpy

RENAME = os.replace  # tests put one that kills in its place
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "deploy/learn"))
from tombola_learn.maps import counts_of, mean_of  # noqa: E402
from tombola_learn.payload import BadPayload, unpack  # noqa: E402


def name_of(e):
    return f"{e['query']}#{e['recurrence']}" if "recurrence" in e else e["query"]


def answer(e, arrays, x, y):
    """Exact: what the entry's map makes of all rows."""
    if e["map"] in ("statistics", "tree-path"):
        return counts_of(e["map"], arrays, x, y, e.get("classes", 0), e.get("leaves", 1))
    return mean_of(e["map"], arrays, x, y, clip=e["clip"], **{k: e[k] for k in ("classes", "part") if k in e})


class Fake:
    def __init__(self, config):
        with open(config, encoding="utf-8") as f:
            self.conf = json.load(f)
        self.folder = os.path.dirname(os.path.abspath(config))
        self.memory = os.path.join(self.folder, "memory.json")
        self.state = {}
        if os.path.exists(self.memory):
            with open(self.memory, encoding="utf-8") as f:
                self.state = json.load(f)

    def save(self):
        with open(self.memory + ".new", "w", encoding="utf-8") as f:
            json.dump(self.state, f)
        RENAME(self.memory + ".new", self.memory)

    def shown(self, number, e):
        s = self.state.get(name_of(e), {"stage": e.get("stage", "planned"), "tries": 0})
        o = {"round": number, "query": e["query"], "stage": s["stage"], "epsilon_round": e["epsilon"], "tries": s["tries"],
             "tries_limit": 3}
        return {**o, **({"recurrence": e["recurrence"]} if "recurrence" in e else {}),
                **({"payload_hash": s["hash"]} if s.get("hash") else {}), **({"reason": e["reason"]} if "reason" in e else {})}

    def listed(self):
        return {"rounds": [self.shown(i, e) for i, e in enumerate(self.conf["entries"], 1)]}

    def budget(self):
        spent = sum(e["epsilon"] for e in self.conf["entries"] if self.state.get(name_of(e), {}).get("stage") == "settled")
        current = [{"hash": self.conf["plan"], "current": True}] if self.state else []
        return {"answered_epsilon": spent, "slice_epsilon": self.conf["limit"], "plans": current}

    def show(self, number):
        e = self.conf["entries"][int(number) - 1]
        o = self.shown(number, e)
        if o["stage"] == "settled":
            o["result"] = self.state[name_of(e)]["result"]
        return o

    def run(self, number, data, err):
        e = self.conf["entries"][number - 1]
        name = name_of(e)
        s = self.state.setdefault(name, {"stage": e.get("stage", "planned"), "tries": 0})
        if s["stage"] == "refused":
            print(f"{name} refused", file=err)
            return 3
        if s["stage"] == "settled":
            return 0
        frozen = hashlib.sha256(data).hexdigest() if data is not None else ""
        if s.get("hash") and s["hash"] != frozen:
            print(f"{name}: other bytes are frozen", file=err)
            return 65
        try:
            arrays = unpack(data) if data is not None else {}
        except BadPayload as fault:
            print(f"payload: {fault}", file=err)
            return 65
        s["tries"] += 1
        if s["tries"] <= e.get("void", 0):
            s["stage"] = "void" if s["tries"] == 3 else "waiting"
            self.save()
            return 75
        s["hash"] = frozen
        self.settle(e, s, arrays)
        with open(os.path.join(self.folder, "asked.log"), "a", encoding="ascii") as f:
            f.write(f"{name} {frozen}\n")
        return 0

    def settle(self, e, s, arrays):
        with numpy.load(os.path.join(self.folder, self.conf["rows"])) as rows:
            x, y = rows["x"].astype(float), rows["y"]
        made = answer(e, arrays, x, y)
        noise = numpy.random.default_rng(int.from_bytes(hashlib.sha256(name_of(e).encode()).digest()[:8], "big"))
        values = made + noise.normal(0, e["deviation"], len(made))
        s["stage"] = "settled"
        s["result"] = {"reports": len(x), "items": [{"label": str(i), "value": v, "variance": e["deviation"]**2}
                                                    for i, v in enumerate(values)]}
        self.save()


def main(args, out=sys.stdout, err=sys.stderr):
    """The exit code."""
    assert args[0] == "--config" and args[2] == "--json", args
    fake, verb = Fake(args[1]), args[3:]
    if verb[:2] == ["round", "run"]:
        data = None
        if "--payload" in verb:
            with open(verb[verb.index("--payload") + 1], "rb") as f:
                data = f.read()
        code = fake.run(int(verb[2]), data, err)
        # Of every second entry it says less, as if it were killed before it could: the driver has to ask.
        if code in (0, 3, 75) and int(verb[2]) % 2 == 1:
            print(json.dumps(fake.show(verb[2])), file=out)
        return code
    answer = {"round list": fake.listed, "budget": fake.budget}.get(" ".join(verb))
    print(json.dumps(answer() if answer else fake.show(verb[2])), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
