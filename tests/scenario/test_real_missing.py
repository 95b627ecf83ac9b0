"""Every row of the protocol table through the real daemons on real data of which a tenth of the fields is removed: the
number of devices without a reading, and what the result states that it estimates, are in the 95 % intervals at the
stated rate."""
import random
import re
from collections import Counter

import pytest

from test_real import CLASSES, GSPA, HISTOGRAMS, NUMBERS, TOP, VECTORS, Rate, digits, play_all, sent, shuttle
from test_structured import hexadecimal

pytestmark = pytest.mark.heavy
APART = "devices without a reading are counted apart"
NOBODY = "(no reading)"


def removed(rows, seed):
    """Each field of each row with chance 1/10, fixed in advance."""
    rng = random.Random(seed)
    return [{k: v for k, v in row.items() if rng.random() >= 0.1} for row in rows]


def held(rows, field):
    return [r[field] for r in rows if field in r]


def count_of_nobody(row, rate, rows, result, field):
    """The result's count of devices without a reading, which it states to count apart."""
    assert result["estimand"] == APART and [i["label"] for i in result["no_reading"]] == [NOBODY], result
    rate.add(f"{row}: none", result["no_reading"], [len(rows) - len(held(rows, field))])


def all_hold(rows, field, result):
    """What every device holds, as the result states it: a number in place of none."""
    said = re.fullmatch(r"devices without a reading count as (\S+)", result["estimand"])
    assert said and result["no_reading"] == [], result
    return [r.get(field, float(said[1])) for r in rows]


def test_histograms_of_states(tmp_path):
    rows, rate, counted = removed(shuttle(), 13), Rate(), Rate()
    states = Counter(held(rows, "class"))
    ask = {"type": "histogram", "field": "class", "values": [*states], "epsilon0": 4.0}
    asks = {row: {"protocol": row, **ask, **keys} for row, keys in HISTOGRAMS.items()}
    classes = {row: {"protocol": row, **ask, "classes": CLASSES, "epsilon0": 3.0} for row in GSPA}
    results = [*zip(asks, play_all(tmp_path / "all", rows, [*asks.values()])),
               *zip(classes, play_all(tmp_path / "classes", rows, [*classes.values()]))]
    for row, result in results:
        rate.add(row, result["items"], [states[i["label"]] for i in result["items"]])
        count_of_nobody(row, counted, rows, result, "class")
    rate.check()
    counted.check()


def test_means_and_sums_of_telemetry(tmp_path):
    rows, rate, counted = removed(shuttle(), 14), Rate(), Rate()
    asks = [{"type": kind, "field": field, "range": [0.0, top], "epsilon0": 4.0, "protocol": row, **keys}
            for kind, field, top in (("mean", "heat", 130.0), ("sum", "flow", 250.0)) for row, keys in NUMBERS.items()]
    classes = [{"type": "mean", "field": "heat", "range": [0.0, 130.0], "levels": 3, "classes": CLASSES, "epsilon0": 3.0,
                "protocol": row} for row in GSPA]
    results = play_all(tmp_path / "all", rows, asks) + play_all(tmp_path / "classes", rows, classes)
    apart = set()
    for ask, result in zip(asks + classes, results, strict=True):
        row, field = f"{ask['protocol']} {ask['type']}", ask["field"]
        if result["no_reading"]:
            apart.add(ask["protocol"])
            count_of_nobody(row, counted, rows, result, field)
            of = held(rows, field)
        else:
            of = all_hold(rows, field, result)
        rate.add(row, result["items"], [sum(of) / (len(of) if ask["type"] == "mean" else 1)])
    assert apart == {"levels", "digits"}
    rate.check()
    counted.check()


def test_quantiles_of_telemetry(tmp_path):
    rows, rate, counted = removed(shuttle(), 15), Rate(), Rate()
    asked = [0.1, 0.25, 0.5, 0.75, 0.9]
    fields = {"heat": 130.0, "flow": 250.0}
    results = play_all(tmp_path / "all", rows, [
        {"type": "quantiles", "protocol": "levels", "field": field, "range": [0.0, top], "levels": 65, "epsilon0": 4.0,
         "probabilities": asked} for field, top in fields.items()])
    for field, result in zip(fields, results, strict=True):
        values = sorted(held(rows, field))
        rate.add(field, result["items"], [values[int(p * len(values))] for p in asked])
        count_of_nobody(field, counted, rows, result, field)
    rate.check()
    counted.check()


def test_ranges_marginals_and_prefixes_of_telemetry(tmp_path):
    rows, rate = removed(shuttle(), 16), Rate()
    columns = [{"field": "class", "values": sorted({*held(rows, "class")})}, {"field": "hot", "values": ["False", "True"]}]
    ranges, marginals, prefixes = play_all(tmp_path / "all", rows, [
        {"type": "ranges", "field": "heat", "range": [0.0, 125.0], "leaves": 25, "fanout": 5, "epsilon0": 4.0},
        {"type": "marginals", "columns": columns, "marginals": [["class", "hot"], ["hot"]], "epsilon0": 3.0},
        {"type": "prefixes", "field": "class", "bits": 8, "epsilon0": 5.0}])
    rate.add("ranges", ranges["items"], [sum(at * width <= v < (at + 1) * width for v in held(rows, "heat"))
                                         for width, number in ((25, 5), (5, 25)) for at in range(number)])
    count_of_nobody("ranges", rate, rows, ranges, "heat")
    # Combinations in which a field is missing are counted apart.
    truth = Counter(f"class={r.get('class', NOBODY)},hot={r.get('hot', NOBODY)}" for r in rows)
    truth += Counter(f"hot={r.get('hot', NOBODY)}" for r in rows)
    assert marginals["estimand"] == APART
    for word, nobody in (("items", False), ("no_reading", True)):
        labels = {i["label"] for i in marginals[word]}
        assert labels >= {t for t in truth if (NOBODY in t) == nobody} and all((NOBODY in x) == nobody for x in labels)
        rate.add(f"marginals: {word}", marginals[word], [truth[i["label"]] for i in marginals[word]])
    assert prefixes["estimand"] == "devices without a reading count among the texts that begin with no candidate"
    first = Counter(hexadecimal(v, 8) for v in held(rows, "class"))
    rate.add("prefixes", prefixes["items"], [first[i["label"]] for i in prefixes["items"]])
    rate.check()


def test_means_of_handwritten_digits(tmp_path):
    rows, rate = removed(digits(), 17), Rate()
    half, third = rows[::2], rows[::3]  # ss-topk: the shuffler seals 700 messages of each coordinate
    ask = {"type": "vector", "field": "pixels", "dimension": 64, "range": [0.0, 16.0], "epsilon0": 4.0}
    asks = {**{row: {**ask, "protocol": row, **keys} for row, keys in VECTORS.items()},
            "rotated": {**ask, "protocol": "rotated", "slots": 8, "size": 2, "field": "centred", "range": [-64.0, 64.0]}}
    of = {row: half for row in asks}
    results = dict(zip(asks, play_all(tmp_path / "all", half, [*asks.values()]), strict=True))
    of["ss-topk"] = third
    results["ss-topk"] = play_all(tmp_path / "ss-topk", third, [{**ask, "protocol": "ss-topk", **TOP}])[0]
    for row, result in results.items():
        field, middle = ("centred", "0") if row == "rotated" else ("pixels", "8")
        assert result["estimand"].endswith(f"devices without a reading count as {middle}") and result["no_reading"] == []
        assert (";" in result["estimand"]) == (row in ("rotated", "ss-topk")), result["estimand"]
        vectors = [r.get(field, [float(middle)] * 64) for r in of[row]]
        if row == "ss-topk":
            vectors = [sent(v) for v in vectors]
        rate.add(row, result["items"], [sum(column) / len(vectors) for column in zip(*vectors)])
    rate.check()
