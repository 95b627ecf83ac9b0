"""rows.py - a plan that has every row of the protocol table, and what its devices read: a field of its own for each row."""
import json

from cluster import wait_for
from parties import Shuffler
from wire import pb

COLOURS = [f"c{i}" for i in range(4)]
HISTOGRAM = {"type": "histogram", "values": COLOURS}
MEAN = {"type": "mean", "range": [0.0, 40.0]}
VECTOR = {"type": "vector", "dimension": 6, "range": [0.0, 40.0]}


def rows(epsilon0, least):
    """Name -> what its entry asks beside field, protocol and batch."""
    low, high = ({"epsilon0": epsilon0 * part, "least": least} for part in (0.8, 1.0))
    of = {"epsilon0": epsilon0}
    return {
        "grr": HISTOGRAM | of, "bins": HISTOGRAM | {"epsilon0": "inf", "dummies": 3}, "mixbins": HISTOGRAM | of | {"dummies": 3},
        "levels": MEAN | of | {"levels": 9}, "rappor": HISTOGRAM | of, "oue": HISTOGRAM | of, "subset": HISTOGRAM | of,
        "olh": HISTOGRAM | of, "hadamard": HISTOGRAM | of, "hashed": HISTOGRAM | {"epsilon0": "inf", "dummies": 3},
        "cheu": HISTOGRAM | of | {"dummies": 3}, "balcer-cheu": HISTOGRAM | {"epsilon0": "inf", "dummies": 1},
        "duchi": MEAN | of, "laplace-levels": MEAN | of | {"levels": 9}, "staircase": MEAN | of | {"levels": 9},
        "piecewise": MEAN | of | {"levels": 9}, "digits": MEAN | of | {"levels": 64},
        "ranges": of | {"type": "ranges", "range": [0.0, 40.0], "leaves": 25, "fanout": 5},
        "marginals": of | {"type": "marginals", "marginals": [["marginals", "fan"], ["fan"]], "columns": [
            {"field": "marginals", "values": COLOURS}, {"field": "fan", "values": ["on", "off"]}]},
        "prefixes": of | {"type": "prefixes", "bits": 8},
        "words": VECTOR | of | {"slots": 3, "size": 2, "dummies": 1}, "harmony": VECTOR | of, "vrr": VECTOR | of | {"size": 2},
        "rotated": VECTOR | of | {"range": [-40.0, 40.0], "slots": 4, "size": 2}, "ss-simple": VECTOR | of | {"levels": 3},
        "ss-double": VECTOR | of | {"levels": 3, "slots": 2}, "ss-topk": VECTOR | of | {"levels": 3, "size": 2},
        "gspa-classes": HISTOGRAM | of | {"classes": [low, high]}, "gspa-pooled": HISTOGRAM | of | {"classes": [low, high]},
        "hierarchy": of | {"type": "ranges", "range": [0.0, 40.0], "leaves": 25, "fanout": 5},
        "parallel": of | {"type": "marginals", "marginals": [["parallel", "fan"], ["fan"]], "columns": [
            {"field": "parallel", "values": COLOURS}, {"field": "fan", "values": ["on", "off"]}]},
        "privset": of | {"type": "sets", "values": COLOURS, "size": 2},
        "planar": of | {"type": "places", "axes": [
            {"field": "planar", "range": [0.0, 40.0], "cells": 3}, {"field": "levels", "range": [0.0, 40.0], "cells": 2}]},
    }


NAMES = list(rows(1.0, 1))
NO_PROTOCOL = ("ranges", "marginals", "prefixes")  # the defaults of their types


def plan(n, epsilon0, **keys):
    """The entries, of n devices each."""
    return [{"query": name, "min_reports": n, "target": n, "window": "1h", **row, **keys,
             **({} if row["type"] in ("marginals", "places") else {"field": name}), **({} if name in NO_PROTOCOL else {"protocol": name})}
            for name, row in rows(epsilon0, n // 4).items()]


def kind(name):
    """What a row reads: a category, a number, a text or a vector."""
    row = rows(1.0, 1)[name]
    return {"histogram": "category", "marginals": "category", "mean": "number", "ranges": "number", "prefixes": "text", "sets": "set", "places": "number",
            "vector": "vector"}[row["type"]]


def good(name, i):
    """A reading of device i, of few different ones."""
    return {"category": f"c{i % 4}", "number": 10.0 * (i % 4), "text": f"site{i % 4}",
            "set": [f"c{k}" for k in range(i % 4)], "vector": [10.0 * ((i + k) % 4) for k in range(6)]}[kind(name)]


class Harvest(Shuffler):
    """Lets every round of a real analyzer be announced, and closes it: what is left are descriptors, signed."""

    def on_await_manifest(self, link, m):
        self.error_of(link, pb.ERROR_ROUND_CLOSED, m.round_id)


def offers(cluster, entries, epsilon):
    """What the real analyzer makes of these entries: a list of (descriptor, bytes, signature, ledger records)."""
    cluster.plan(entries, epsilon=epsilon, tries=1)
    fake, records = Harvest(cluster), []
    know, fake.know_plans = fake.know_plans, lambda more: (records.extend(more), know(more))
    try:
        analyzer = cluster.start("analyzer", "run", "--once")
        wait_for("the rounds", lambda: len(fake.order) == len(entries) or not analyzer.alive())
        assert len(fake.order) == len(entries), analyzer.log()
        analyzer.kill()
    finally:
        fake.close()
    return [(r["d"], r["data"], r["signature"], records) for r in (fake.rounds[i] for i in fake.order)]


def ndjson(device, of):
    return json.dumps({"device": device, "fan": "on", **of}).encode()
