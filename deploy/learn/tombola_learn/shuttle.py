"""Trainings on Shuttle telemetry: counts of bins.

rows: (devices, public, test), each (x, y).  The bins lie between the public rows' extremes, so no range is taken from a device.
"""
import functools

import numpy

from . import baselines, datasets
from .learners import Anomaly, Forest, NaiveBayes, Tree
from .learners.bins import edges_between
from .maps import counts_of
from .task import Task, marginals, scored

__all__ = ["TASKS"]

SENSORS = [f"V{i}" for i in range(1, 10)]
CLASSES = tuple(datasets.SHUTTLE_CLASSES)


def edges_of(public, bins, outside=0.005):
    """Equal bins between two quantiles of the public rows: what is beyond is in the outer bins."""
    low, high = numpy.quantile(public[0].astype(float), [outside, 1 - outside], axis=0)
    return edges_between(low, numpy.maximum(high, low + 1), bins)


def bayes(rows, n, epsilon0=5.5, bins=32, sensors=range(9), outside=0.0, floor=0.0, cap=""):
    (x, y), public, (tx, ty) = rows
    at, m = list(sensors), len(sensors)
    edges = edges_of(public, bins, outside)[at]
    local = baselines.local_count_deviation(1.0, len(x), m)
    return Task("shuttle-bayes" + cap, f"Shuttle, naive Bayes, {m} sensors, 1 round", "accuracy 0.991, macro-F1 0.46",
                marginals("bayes", n, epsilon0, bins, "statistics", [SENSORS[i] for i in at], CLASSES), ["bayes"], x, y,
                lambda: NaiveBayes("bayes", edges, 7, test=(tx[:, at], ty), floor=floor),
                lambda _, p: counts_of("statistics", p, x[:, at], y, 7), (2 * m)**0.5, lambda _: local, scored, n,
                fields=SENSORS, classes=CLASSES)


def anomaly(rows, n, epsilon0=4.9, bins=8, outside=0.0005, cap=""):
    (x, y), public, (tx, ty) = rows
    edges = edges_of(public, bins, outside)
    # As the outlier data sets have it: the flow is usual, "High" is left out, all else is odd.
    told = ty != 1
    local = baselines.local_count_deviation(1.0, len(x), 9)
    return Task("shuttle-anomaly" + cap, "Shuttle, anomaly scores, 1 round", "AUC 0.993",
                marginals("usual", n, epsilon0, bins, "statistics", SENSORS), ["usual"], x, y,
                lambda: Anomaly("usual", edges, test=(tx[told], ty[told] != 0)),
                lambda _, p: counts_of("statistics", p, x), 18**0.5, lambda _: local, scored, n, fields=SENSORS, classes=CLASSES)


def leaves_of(level):
    return max(2, 2**level)


def tree(rows, n, epsilon0=4.9, depth=5, bins=32, sensors=range(9), outside=0.0, cap=""):
    (x, y), public, (tx, ty) = rows
    at, m = list(sensors), len(sensors)
    edges = edges_of(public, bins, outside)[at]
    queries = [f"level{i}" for i in range(depth)]
    local = baselines.local_count_deviation(1.0, len(x), m * depth)
    return Task("shuttle-tree" + cap, f"Shuttle, tree of depth {depth}, {m} sensors, {depth} rounds", "naive Bayes of 1 round",
                ",\n".join(marginals(q, n, epsilon0, bins, "tree-path", [SENSORS[j] for j in at], CLASSES, leaves_of(i))
                           for i, q in enumerate(queries)),
                queries, x, y, lambda: Tree(queries, edges, 7, test=(tx[:, at], ty)),
                lambda q, p: counts_of("tree-path", p, x[:, at], y, 7, leaves_of(queries.index(q))),
                (2 * m * depth)**0.5, lambda _: local, scored, n, fields=SENSORS, classes=CLASSES)


def forest(rows, n, epsilon0=4.6, trees=3, depth=3, bins=32, outside=0.0, kind="", cap=""):
    """Each tree has rounds of its own."""
    (x, y), public, test = rows
    edges = edges_of(public, bins, outside)
    levels = [[f"tree{t}level{i}" for i in range(depth)] for t in range(trees)]
    queries = [q for t in levels for q in t]
    local = baselines.local_count_deviation(1.0, len(x), 9 * len(queries))
    return Task("shuttle-forest" + kind + cap, f"Shuttle, forest of {trees} trees of depth {depth}, {len(queries)} rounds",
                "naive Bayes of 1 round",
                ",\n".join(marginals(q, n, epsilon0, bins, "tree-path", SENSORS, CLASSES, leaves_of(i))
                           for t in levels for i, q in enumerate(t)),
                queries, x, y, lambda: Forest(levels, edges, 7, test=test),
                lambda q, p: counts_of("tree-path", p, x, y, 7, leaves_of(queries.index(q) % depth)),
                (18 * len(queries))**0.5, lambda _: local, scored, n, fields=SENSORS, classes=CLASSES)


# All that a device sends in a round has a local epsilon0 of 8 at most.  Two sensors of which one message each tells more are
# then worth more than nine.
TASKS = {"shuttle-bayes": bayes, "shuttle-anomaly": anomaly, "shuttle-tree": tree, "shuttle-forest": forest,
         "shuttle-forest-5": functools.partial(forest, epsilon0=4.45, depth=5, kind="-5"),
         "shuttle-bayes-cap8": functools.partial(bayes, epsilon0=4.0, sensors=(0, 8), cap="-cap8"),
         "shuttle-anomaly-cap8": functools.partial(anomaly, epsilon0=0.888, cap="-cap8"),
         "shuttle-tree-cap8": functools.partial(tree, epsilon0=4.0, depth=2, sensors=(0, 8), cap="-cap8")}
