"""The trainings of learn.sh: data, plan, learner, settings, goals.

Every setting was chosen by simulation on the public test rows, which flatters what is reported on them by up to half a
point; ranges and scales are public in the same way.  The centre of Fashion-MNIST's features is that of the first 2,000 test
pictures, which its reported accuracy leaves out.
"""
import csv
import dataclasses
import functools
import os

import numpy

from . import baselines, datasets, features
from .curve import tiles
from .learners import Anomaly, KMeans, Logistic, NaiveBayes, Ridge, Tree
from .learners.bins import edges_between
from .learners.kmeans import inertia
from .maps import counts_of, mean_of

__all__ = ["TASKS", "Task"]

DELTA = 1e-6
# Public ranges of the Shuttle sensors, V1 .. V9, once wide and once near.
WIDE = [20, -60, 20, -60, -60, -60, -50, -50, -60], [130, 60, 150, 60, 80, 60, 110, 150, 130]
NEAR = [30, -12, 65, -12, -45, -32, -5, 15, -5], [110, 12, 115, 12, 80, 32, 80, 130, 126]
SENSORS = [f"V{i}" for i in range(1, 10)]


@dataclasses.dataclass
class Task:
    """name, what       for the table
    goal                what issue and prototype ask for, as text
    rounds              of the plan: text
    entries             names in order
    x, y                devices' rows
    learner             new(), for each training anew
    answer              answer(entry, payload): the exact answer of all devices
    sensitivity         L2, of all answers together: of what a central Gaussian would add noise to
    local               local(entry): deviation of a local-only answer
    measure             measure(learner, history) -> {name: value}; the first is compared with the goal
    epsilon             of the budget
    picture             picture(learner, history) -> PNG, or None
    """
    name: str
    what: str
    goal: str
    rounds: str
    entries: list
    x: numpy.ndarray
    y: numpy.ndarray
    new: object
    answer: object
    sensitivity: float
    local: object
    measure: object
    epsilon: float = 1.0
    classes: tuple = ()
    picture: object = None

    @property
    def devices(self):
        return len(self.x)

    @property
    def plan(self):
        return (f'name = "{self.name}";\npopulation = "learn";\n'
                f'budget = {{ epsilon = {self.epsilon!r}; delta = {DELTA!r}; unit = "device"; }};\nrounds = (\n{self.rounds}\n);\n')

    def central(self):
        sigma = baselines.central_sigma(self.epsilon, DELTA) * self.sensitivity
        return lambda _: sigma

    def readings(self, folder):
        """Write the devices' readings; the keys of the client's `input`."""
        path = os.path.join(folder, "readings.csv")
        if self.classes:
            with open(path, "w", newline="", encoding="utf-8") as f:
                out = csv.writer(f, lineterminator="\n")
                out.writerow([*SENSORS, "Class"])
                out.writerows([*map(repr, row), self.classes[k]] for row, k in zip(self.x.tolist(), self.y))
            return 'path = "readings.csv";'
        numpy.save(os.path.join(folder, "x.npy"), numpy.ascontiguousarray(self.x, "<f4"))
        numpy.save(os.path.join(folder, "y.npy"), self.y.astype("<i4"))
        return 'path = "x.npy"; labels = "y.npy";'


def text(values):
    return "[ " + ", ".join(f'"{v}"' for v in values) + " ]"


def settled(n):
    """Keys of every round: all devices answer, each has a valid reading, and the payload comes when it is asked."""
    return f'none = "even"; payload = "later"; min_reports = {n}; target = {n}; window = "2h";'


def marginals(query, n, epsilon0, bins, compute, label=None, sensors=SENSORS, leaves=0):
    """A round of counts: (leaf,) bin of each sensor (, class)."""
    lead = [("leaf", range(leaves))] if leaves else []
    tail = [("Class", label)] if label else []
    columns = ", ".join(f'{{ field = "{name}"; values = {text(v)}; }}'
                        for name, v in [*lead, *((s, range(bins)) for s in sensors), *tail])
    asked = ", ".join(text([*(k for k, _ in lead), s, *(k for k, _ in tail)]) for s in sensors)
    reads = f'columns = {text(sensors)};' + (' label = "Class";' if label else "")
    return (f'  {{ query = "{query}"; type = "marginals"; epsilon0 = {epsilon0!r}; {settled(n)}\n'
            f'    columns = ( {columns} );\n    marginals = ( {asked} );\n'
            f'    compute = {{ map = "{compute}"; {reads} }}; }}')


def vector(query, n, d, epsilon0, slots, size, compute, clip=1.0, repeat=1, payload=True, most=1.0):
    """A round of the mean of vectors of length `most` at most."""
    keys = settled(n) if payload else settled(n).replace(' payload = "later";', "")
    again = f"repeat = {repeat}; " if repeat > 1 else ""
    return (f'  {{ query = "{query}"; type = "vector"; protocol = "rotated"; field = "v"; dimension = {d}; '
            f'range = [ {-most!r}, {most!r} ]; {again}\n    epsilon0 = {epsilon0!r}; slots = {slots}; size = {size}; {keys}\n'
            f'    compute = {{ {compute} clip = {clip!r}; }}; }}')


def names(query, count):
    return [f"{query}#{i + 1}" for i in range(count)] if count > 1 else [query]


# -- Shuttle ----------------------------------------------------------------------------------------------------------


def scored(learner, history):
    return learner.score(history)


def shuttle_bayes(data, epsilon0=5.82, bins=64, sensors=range(9), cap=""):
    (x, y), (tx, ty) = datasets.shuttle(data["shuttle"])
    at, classes, m = list(sensors), datasets.SHUTTLE_CLASSES, len(sensors)
    edges = edges_between(*NEAR, bins)[at]
    local = baselines.local_count_deviation(1.0, len(x), m)
    return Task("shuttle-bayes" + cap, f"Shuttle, naive Bayes, {m} sensors, 1 round", "accuracy 0.991, macro-F1 0.46",
                marginals("bayes", len(x), epsilon0, bins, "statistics", classes, [SENSORS[i] for i in at]), ["bayes"], x, y,
                lambda: NaiveBayes("bayes", edges, 7, test=(tx[:, at], ty), floor=1 if cap else 0),
                lambda _, p: counts_of("statistics", p, x[:, at], y, 7), (2 * m)**0.5, lambda _: local, scored,
                classes=tuple(classes))


def shuttle_anomaly(data, epsilon0=5.0, cap=""):
    (x, y), (tx, ty) = datasets.shuttle(data["shuttle"])
    edges = edges_between(*NEAR, 12)
    # As the outlier data sets have it: the flow is usual, "High" is left out, all else is odd.
    told = ty != 1
    local = baselines.local_count_deviation(1.0, len(x), 9)
    return Task("shuttle-anomaly" + cap, "Shuttle, anomaly scores, 1 round", "AUC 0.993",
                marginals("usual", len(x), epsilon0, 12, "statistics"), ["usual"], x, y,
                lambda: Anomaly("usual", edges, test=(tx[told], ty[told] != 0)),
                lambda _, p: counts_of("statistics", p, x), 18**0.5, lambda _: local, scored,
                classes=tuple(datasets.SHUTTLE_CLASSES))


def shuttle_tree(data, epsilon0=4.6, depth=5, bins=16):
    (x, y), test = datasets.shuttle(data["shuttle"])
    edges, classes = edges_between(*WIDE, bins), datasets.SHUTTLE_CLASSES
    queries = [f"level{i}" for i in range(depth)]
    local = baselines.local_count_deviation(1.0, len(x), 9 * depth)
    return Task("shuttle-tree", f"Shuttle, tree of depth {depth}, {depth} rounds", "naive Bayes of 1 round",
                ",\n".join(marginals(q, len(x), epsilon0, bins, "tree-path", classes, leaves=2**i if i else 2)
                           for i, q in enumerate(queries)),
                queries, x, y, lambda: Tree(queries, edges, 7, test=test),
                lambda q, p: counts_of("tree-path", p, x, y, 7, max(2, 2**queries.index(q))),
                (18 * depth)**0.5, lambda _: local, scored, classes=tuple(classes))


# -- pictures ---------------------------------------------------------------------------------------------------------


def fashion(cells=4):
    """Features of the devices, and of 8,000 test pictures; the first 2,000 give the public centre.  Half an edge counts as
    much as a lightness of 1 / 5: gradients times 5, means times 2."""
    (x, y), (tx, ty) = datasets.fashion()
    scale = numpy.concatenate([numpy.full(8 * cells**2, 5), numpy.full(49, 2)]).astype(numpy.float32)
    made, test = features.pictures(x, cells), features.pictures(tx, cells)
    centre = test[:2000].mean(axis=0)
    return ((made - centre) * scale, y), ((test[2000:] - centre) * scale, ty[2000:])


def fashion_logistic(_, cells=4, rounds=20, epsilon0=3.64, slots=3, size=4, step=40.0, cap=""):
    (x, y), test = fashion(cells)
    n, m = x.shape
    local = baselines.local_vector_deviation(1.0, n, rounds)
    return Task("fashion-logistic" + cap, f"Fashion-MNIST, logistic, {m} features, {rounds} rounds, {rounds * slots} messages",
                "accuracy 0.81" if m == 177 else "accuracy 0.825",
                vector("gradient", n, 10 * (m + 1), epsilon0, slots, size, compute(m, "linear-gradient"), repeat=rounds),
                names("gradient", rounds), x, y, lambda: Logistic("gradient", m, 10, rounds, step, test=test),
                lambda _, p: mean_of("linear-gradient", p, x, y, clip=1.0), 2 * rounds**0.5 / n, lambda _: local, scored)


def compute(m, name, more="", label=True):
    return f'map = "{name}"; features = "x"; feature_count = {m};' + (f' label = "y"; classes = {text(range(10))};' if label else "") + more


def fashion_moments(_, epsilon0=3.6, slots=60, size=4):
    (x, y), test = fashion()
    n, m = x.shape
    d = (m + 1) * (m + 2) // 2 + 10 * (m + 1)
    # Round 1 is of a vector that is about 5 long, so it is scaled to about 1.
    scale = numpy.full(m, 0.2, numpy.float32)
    rounds = [vector("mean", n, m, epsilon0, 4, size, compute(m, "moments", ' part = "mean";', False)),
              vector("moments", n, d, epsilon0, slots, size, compute(m, "moments"))]
    local = baselines.local_vector_deviation(1.0, n, 2)

    class Scaled(Ridge):
        """Asks for the mean in units in which no vector is cut."""

        def propose(self, history):
            return {"scale": scale} if history.query == "mean" else super().propose(history)

        def mean(self, history):
            return super().mean(history) / scale

    def answer(query, p):
        part = "mean" if query == "mean" else "all"
        return mean_of("moments", p, x, y, clip=1.0, classes=10, part=part)

    return Task("fashion-moments", f"Fashion-MNIST, ridge from moments, 2 rounds, {slots + 4} messages", "accuracy 0.79",
                ",\n".join(rounds), ["mean", "moments"], x, y,
                lambda: Scaled("moments", m, 10, 1.0, mean_query="mean", strength=0.25, test=test), answer,
                2 * 2**0.5 / n, lambda _: local, scored)


def fashion_pixels(_, rounds=20, epsilon0=3.64, slots=3, size=4, step=40.0):
    (x, y), (tx, ty) = datasets.fashion()
    centre = tx[:2000].reshape(2000, -1).mean(axis=0) / 255

    def seen(images):
        return ((images.reshape(len(images), -1) / 255 - centre) * 0.5).astype(numpy.float32)

    x, test, rows = seen(x), (seen(tx[2000:]), ty[2000:]), len(x)
    local = baselines.local_vector_deviation(1.0, rows, rounds)
    return Task("fashion-pixels", f"Fashion-MNIST, logistic on raw pixels, {rounds} rounds, {rounds * slots} messages",
                "accuracy 0.78", vector("gradient", rows, 7850, epsilon0, slots, size, compute(784, "linear-gradient"),
                                        repeat=rounds),
                names("gradient", rounds), x, y, lambda: Logistic("gradient", 784, 10, rounds, step, test=test),
                lambda _, p: mean_of("linear-gradient", p, x, y, clip=1.0), 2 * rounds**0.5 / rows, lambda _: local, scored,
                picture=lambda learner, history: tiles(learner.model(history)["weights"][:, :784].reshape(-1, 28, 28), 5, 3))


def fashion_means(_, rounds=6, epsilon0=3.64, slots=10, size=4):
    """k-means of 7 x 7 pixels; the first centroids are those of 500 public pictures."""
    (x, y), (tx, _) = datasets.fashion()
    centre = numpy.float32(0.286)
    small, test = features.pooled(x, 7) - centre, features.pooled(tx, 7) - centre
    scale = numpy.float32(0.25)  # of a picture's distance from a centroid, so that few are cut
    x, public, test = small * scale, test[:500] * scale, test[2000:] * scale
    first = lloyd(public, public[numpy.random.default_rng(2026).permutation(500)[:10]], 3)
    best = min(inertia(test, lloyd(x, x[numpy.random.default_rng(s).permutation(len(x))[:10]], 30)) for s in range(3))
    local = baselines.local_vector_deviation(1.0, len(x), rounds)
    return Task("fashion-means", f"Fashion-MNIST, 10 means of 7 x 7 pixels, {rounds} rounds, {rounds * slots} messages",
                "inertia 1.3 of non-private",
                vector("means", len(x), 500, epsilon0, slots, size, compute(49, "nearest-centroid", label=False), repeat=rounds),
                names("means", rounds), x, y, lambda: KMeans("means", first, rounds, test=test),
                lambda _, p: mean_of("nearest-centroid", p, x, clip=1.0), 2 * rounds**0.5 / len(x), lambda _: local,
                lambda learner, history: {"inertia of non-private": inertia(test, learner.centroids(history)) / best},
                picture=lambda learner, history: tiles(learner.centroids(history).reshape(-1, 7, 7), 5, 12))


def lloyd(x, at, rounds):
    """Where the centroids are without any noise."""
    for _ in range(rounds):
        near = ((at**2).sum(axis=1) - 2 * x @ at.T).argmin(axis=1)
        at = numpy.array([x[near == k].mean(axis=0) if (near == k).any() else at[k] for k in range(len(at))])
    return at.astype(numpy.float32)


def digits(data, rounds=8, epsilon0=1.5, slots=8, size=1, step=10.0, epsilon=2.0):
    """1,437 devices are few, so more is spent on each."""
    (x, y), (tx, ty) = datasets.digits(data["digits"])
    centre = tx[:100].mean(axis=0)
    x, test = ((v - centre) / 16 for v in (x, tx[100:]))
    n = len(x)
    local = baselines.local_vector_deviation(epsilon, n, rounds)
    return Task("digits", f"digits, logistic, {rounds} rounds, {rounds * slots} messages, epsilon {epsilon:g}", "-",
                vector("gradient", n, 650, epsilon0, slots, size, compute(64, "linear-gradient"), repeat=rounds),
                names("gradient", rounds), x, y, lambda: Logistic("gradient", 64, 10, rounds, step, test=(test, ty[100:])),
                lambda _, p: mean_of("linear-gradient", p, x, y, clip=1.0), 2 * rounds**0.5 / n, lambda _: local, scored,
                epsilon=epsilon,
                picture=lambda learner, history: tiles(learner.model(history)["weights"][:, :64].reshape(-1, 8, 8), 5, 10))


# The cap: all that a device sends in a round has a local epsilon0 of 8 at most, also against shuffler and analyzer together.
# Two sensors of which one message each tells more are then worth more than nine.
CAPPED = {"shuttle-bayes": functools.partial(shuttle_bayes, epsilon0=4.0, bins=16, sensors=(0, 8), cap="-cap8"),
          "shuttle-anomaly": functools.partial(shuttle_anomaly, epsilon0=0.888, cap="-cap8"),
          "fashion-logistic": functools.partial(fashion_logistic, epsilon0=2.66, size=3, cap="-cap8")}
TASKS = {"shuttle-bayes": shuttle_bayes, "shuttle-anomaly": shuttle_anomaly, "shuttle-tree": shuttle_tree, "digits": digits,
         "fashion-moments": fashion_moments, "fashion-logistic": fashion_logistic, "fashion-pixels": fashion_pixels,
         "fashion-means": fashion_means, **{name + "-cap8": task for name, task in CAPPED.items()}}
