"""Places: cells of a grid of two numbers, from CSV and from NDJSON, against a second implementation of the row."""
import csv
import io
import json
import math
import random
import subprocess
from collections import Counter

import pytest

from cluster import program
from results import influx
from test_rounds import run_plan
from test_structured import audited, batch

pytestmark = pytest.mark.heavy

WIDTH, HEIGHT, N = 4, 3, 2400
AXES = [{"field": "lon", "range": [10.0, 14.0], "cells": WIDTH}, {"field": "lat", "range": [-3.0, 3.0], "cells": HEIGHT}]
PLACE = ("x", "y", "width", "height")


def law(decay):
    """Chances of each cell for each cell, from doc/protocols/structured.md."""
    def nearest(z, w, t):
        return z if z < w else w - 1 if z < w + (t - w) // 2 else 0

    def around(a, b, t):
        return min(abs(a - b), t - abs(a - b))
    tw, th = 2 * WIDTH - WIDTH % 2, 2 * HEIGHT - HEIGHT % 2
    rows = []
    for x in range(WIDTH * HEIGHT):
        row = [0.0] * (WIDTH * HEIGHT)
        for j in range(th):
            for i in range(tw):
                d = math.hypot(around(i, x % WIDTH, tw), around(j, x // WIDTH, th))
                row[nearest(i, WIDTH, tw) + WIDTH * nearest(j, HEIGHT, th)] += math.exp(-decay * math.ceil(1024 * d))
        rows.append([p / sum(row) for p in row])
    return rows


def fitted(epsilon0):
    """The law of the fastest decay at which no two places differ by more than epsilon0."""
    low, high = 0.0, epsilon0 / 256
    for _ in range(60):
        middle = (low + high) / 2
        furthest = max(math.log(max(c) / min(c)) for c in zip(*law(middle)))
        low, high = (middle, high) if furthest <= epsilon0 else (low, middle)
    return law(low)


def solved(rows, counts):
    """x with x * rows = counts, by elimination."""
    k = len(counts)
    left = [[rows[x][y] for x in range(k)] + [float(counts[y])] for y in range(k)]
    for c in range(k):
        best = max(range(c, k), key=lambda r: abs(left[r][c]))
        left[c], left[best] = left[best], left[c]
        for r in range(k):
            if r != c:
                times = left[r][c] / left[c][c]
                left[r] = [a - times * b for a, b in zip(left[r], left[c])]
    return [left[c][k] / left[c][c] for c in range(k)]


def readings(seed):
    """Most are near two places; a twentieth each has one number, a number that is none, and nothing."""
    rng = random.Random(seed)
    rows = []
    for i in range(N):
        at = (10.6, -2.5) if rng.random() < 0.6 else (13.5, 2.0)
        lon, lat = (round(a + rng.gauss(0, 0.4), 4) for a in at)
        rows.append({0: (lon, ""), 1: (lon, "nan"), 2: None, 3: ("9.5", "99")}.get(i % 20, (lon, lat)))
    return rows


def cell(lon, lat):
    return min(max(int(lon - 10), 0), WIDTH - 1) + WIDTH * min(max(int((lat + 3) // 2), 0), HEIGHT - 1)


def check(cluster, rows, epsilon0):
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == N and result["bad"] == 0
    assert result["type"] == "places" and result["protocol"] == "planar" and result["fields"] == ["lon", "lat"]
    assert result["estimand"] == "devices without a reading count as a cell drawn evenly"
    assert result["no_reading"] == [] and sum(result["counts"]) == N
    items, matrix = result["items"], fitted(epsilon0)
    assert [(i["low"], i["high"], i["low_2"], i["high_2"]) for i in items] == [
        (10 + c % WIDTH, 11 + c % WIDTH, -3 + 2 * (c // WIDTH), -1 + 2 * (c // WIDTH)) for c in range(WIDTH * HEIGHT)]
    assert items[0]["label"] == "[10, 11) x [-3, -1)" and items[-1]["label"] == "[13, 14] x [1, 3]"
    for item, value in zip(items, solved(matrix, result["counts"])):
        assert abs(item["value"] - value) < 1e-4 * N, item
    held = [r for r in rows if r is not None and r[1] not in ("", "nan")]
    truth = Counter(cell(float(lon), float(lat)) for lon, lat in held)
    even = (N - len(held)) / len(items)
    for c, item in enumerate(items):
        # What is drawn of those without a reading varies, beside the noise that the intervals are of.
        assert abs(item["value"] - truth[c] - even) <= 6.2 * (item["variance"] + even) ** 0.5 + 6.2, (item, truth[c])
        assert item["joint_lower"] <= item["lower"] < item["value"] < item["upper"] <= item["joint_upper"]
        assert item["projected"] >= 0
    assert abs(sum(i["projected"] for i in items) - N) < 1e-6 * N
    assert "1 cell " in result["statement"] and "the last is charged" in result["statement"]
    return result


def test_places_by_a_row_that_knows_no_distance(cluster):
    """grr, chosen by "auto" for its error: k-ary response on the cells, and the plan's cost says what it guarantees."""
    rows = readings(7)
    cluster.configure(min_batch=1000, devices=N)
    cluster.write("readings.csv", "device,lon,lat\n" + "".join(
        f"dev{i},{r[0]},{r[1]}\n" if r else f"dev{i},,\n" for i, r in enumerate(rows)))
    cluster.plan([batch(N, query="where", type="places", protocol="auto", axes=AXES, epsilon0=6.0, epsilon=18.0, max_bytes=64)],
                 epsilon=20.0)
    cost = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf")], capture_output=True,
                          text=True, check=True).stdout
    assert "auto: grr" in cost and "next planar (epsilon0 6, less of places nearby): error" in cost
    assert 'epsilon0 6 of any two places, however near; "planar" tells places nearby apart less' in cost
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["type"] == "places" and result["protocol"] == "grr" and result["bad"] == 0 and result["no_reading"] == []
    items, k = result["items"], WIDTH * HEIGHT
    keep = math.exp(6) / (math.exp(6) + k - 1)
    other = (1 - keep) / (k - 1)
    held = Counter(cell(float(r[0]), float(r[1])) for r in rows if r is not None and r[1] not in ("", "nan"))
    even = (N - sum(held.values())) / k
    for c, item in enumerate(items):
        assert abs(item["value"] - (result["counts"][c] - N * other) / (keep - other)) < 1e-4 * N
        assert abs(item["value"] - held[c] - even) <= 6.2 * (item["variance"] + even) ** 0.5 + 6.2, (item, held[c])
    assert items[5]["label"] == "[11, 12) x [-1, 1)" and items[5]["low_2"] == -1
    check_exports(cluster, result)
    audited(cluster)


def check_exports(cluster, result):
    """Every form says where the middle of each cell is, and how large."""
    def out(*args):
        run = cluster.run("analyzer", *args)
        assert run.returncode == 0, run.stderr
        return run.stdout
    middles = [(10.5 + c % WIDTH, -2.0 + 2 * (c // WIDTH), 1.0, 2.0) for c in range(WIDTH * HEIGHT)]
    labels = [i["label"] for i in result["items"]]
    for args in (("results", "export", "--format", "csv"), ("estimate", "where", "--csv")):
        table = list(csv.DictReader(io.StringIO(out(*args))))
        assert [r["label"] for r in table] == labels
        assert [tuple(float(r[k]) for k in PLACE) for r in table] == middles
    rows = [json.loads(line) for line in out("results", "export").splitlines()]
    assert [r["label"] for r in rows] == labels and [tuple(r[k] for k in PLACE) for r in rows] == middles
    lines = [influx(line) for line in out("results", "export", "--format", "influx").splitlines()]
    assert [tuple(float(fields[k]) for k in PLACE) for _, _, fields, _ in lines] == middles


def test_places_from_csv_with_lines_that_are_none(cluster):
    rows = readings(5)
    cluster.configure(min_batch=1000, devices=N)
    cluster.write("readings.csv", "device,lon,lat\n" + "".join(
        f"dev{i},{r[0]},{r[1]}\n" if r else f"dev{i},,\n" for i, r in enumerate(rows)))
    cluster.plan([batch(N, query="where", type="places", axes=AXES, epsilon0=6.0)], epsilon=20.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    check(cluster, rows, 6.0)
    audited(cluster)


def test_places_from_ndjson(cluster):
    rows = readings(6)
    cluster.configure(min_batch=1000, devices=N)
    cluster.write("readings.ndjson", "".join(json.dumps(
        {"device": f"dev{i}", **({} if r is None else {"lon": r[0]} if r[1] == "" else {"lon": r[0], "lat": r[1]})}) + "\n"
        for i, r in enumerate(rows)))
    cluster.write("client.conf", open(cluster.path("client.conf")).read().replace("readings.csv", "readings.ndjson"))
    cluster.plan([batch(N, query="where", type="places", protocol="planar", axes=AXES, epsilon0=8.0)], epsilon=20.0)
    run, *_ = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    result = check(cluster, rows, 8.0)
    check_exports(cluster, result)
    audited(cluster)
