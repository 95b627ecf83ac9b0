"""The learning experiments of three papers, simulated: accuracy at the epsilon that is true, beside the one that was printed.

Every line is labelled `simulated`: the laws of the mechanisms and of our rows, computed here (papers_live.py asks real daemons for
FLAME's).  Epsilons are the accountant's certified upper ends.  MNIST is in no Debian package: Fashion-MNIST
stands for it, so accuracies compare with each other and not with the printed ones.  Settings that no paper states, steps and clips,
are chosen on the public rows, for each mechanism its own.
"""
import csv
import dataclasses
import json
import math
import os
import subprocess
import tempfile

import numpy

from . import baselines, datasets
from .faults import EXIT, Fault
from .maps import counts_of
from .papers_gspa import gspa
from .shuttle import CLASSES, SENSORS, edges_of, leaves_of
from .table import cost_of
from .task import compute, marginals, vector
from .tasks import rows_of
from .learners import Forest, Tree

__all__ = ["papers"]

FIELDS = ["paper", "mechanism", "settings", "rounds", "printed_epsilon", "true_epsilon", "delta", "accuracy", "label"]
USERS, EPOCHS, D, DELTA = 1000, 10, 7850, 5e-6  # FLAME's; the epochs are ours, theirs are not readable


def certified(args, delta, *rounds):
    """The accountant's upper end for these rounds together."""
    run = subprocess.run([os.path.join(args.programs, "tombola-accountant"), "epsilon", "--json", "--delta", repr(delta),
                          *(a for r in rounds for a in ("--round", r))], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Fault(run.returncode, run.stderr.strip())
    return json.loads(run.stdout)["epsilon_upper"]


def fitting(args, plan_of, most, high, delta):
    """The plan's cost with the largest epsilon0 up to `high` whose epsilon is at most `most`.

    plan_of(epsilon0) is the rounds' text.
    """
    found, low = None, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.conf")
        for _ in range(8):
            middle = (low + high) / 2
            with open(path, "w", encoding="utf-8") as f:
                f.write('name = "x";\npopulation = "learn";\n'
                        f'budget = {{ epsilon = {most!r}; delta = {delta!r}; unit = "device"; }};\n'
                        f'rounds = (\n{plan_of(round(middle, 4))}\n);\n')
            cost = cost_of(args.programs, path)
            if all(r["fits"] for r in cost["rounds"]):
                found, low = cost, middle
            else:
                high = middle
    if found is None:
        raise Fault(EXIT["budget"], "no epsilon0 of ours fits the paper's epsilon")
    return found


# -- FLAME: shuffled federated learning of d = 7850 weights by n = 1000 users of 58 pictures ---------------------------


class Users:
    """Gradients of a softmax regression on raw pixels, of all users at once: [users, 7850]."""

    def __init__(self, images, labels, users, centre):
        each = len(images) // users
        x = (images[:each * users].reshape(each * users, -1) / 255 - centre) * 0.5
        self.x = numpy.hstack([x, numpy.ones((len(x), 1))]).astype(numpy.float32).reshape(users, each, 785)
        self.y = labels[:each * users].reshape(users, each)

    def gradients(self, w):
        z = self.x @ w.reshape(10, 785).T
        p = numpy.exp(z - z.max(axis=2, keepdims=True))
        p /= p.sum(axis=2, keepdims=True)
        p -= numpy.eye(10, dtype=numpy.float32)[self.y]
        return (p.transpose(0, 2, 1) @ self.x / self.x.shape[1]).reshape(len(self.x), -1)

    def accuracy(self, w):
        return float(((self.x @ w.reshape(10, 785).T).argmax(axis=2) == self.y).mean())


def kept_top(g, k):
    at = numpy.argpartition(-abs(g), k, axis=1)[:, :k]
    out = numpy.zeros(g.shape, bool)
    numpy.put_along_axis(out, at, True, axis=1)
    return out


def flame(drawn, kind, epsilon0, k, padded):
    """mean(g, c, n): what the analyzer estimates from gradients g cut to [-c, c].  n: of as many users, from fewer by normal noise."""
    says = math.tanh(epsilon0 / 2)  # of a kept sign

    def mean(g, c, n):
        g = numpy.clip(g, -c, c)
        sent = numpy.ones(g.shape, bool) if kind == "simple" else kept_top(g, k) if kind == "topk" \
            else drawn.random(g.shape) < k / D
        counted = {"simple": n, "topk": n, "double": n * k / D}[kind]
        messages = n if kind == "simple" else padded
        if n != len(g):
            seen = g.mean(axis=0) if kind != "topk" else (g * sent).mean(axis=0)
            return seen + drawn.normal(0, c * messages**0.5 / says / counted, D)
        plus = (1 + says * g / c) / 2
        signs = numpy.where(drawn.random(g.shape) < plus, 1, -1) * sent
        total, of = signs.sum(axis=0), sent.sum(axis=0)
        if kind != "simple":
            # The shuffler keeps `padded` of each coordinate, drawn at random, or adds fair signs up to that.
            total = numpy.where(of > padded, total * (padded / numpy.maximum(of, 1)), total)
            missing = numpy.maximum(padded - of, 0)
            total = total + 2 * drawn.binomial(missing, 0.5) - missing
        return c * total / says / counted

    return mean


def normal(drawn, deviation):
    """mean(g, c, n): vectors cut to length c, and noise of `deviation` c."""
    def mean(g, c, n):
        length = numpy.linalg.norm(g, axis=1, keepdims=True)
        return (g * numpy.minimum(1, c / numpy.maximum(length, 1e-12))).mean(axis=0) + drawn.normal(0, deviation * c, D)
    return mean


def descended(users, mean, c, step, n, epochs=EPOCHS):
    w = numpy.zeros(D)
    for t in range(epochs):
        w = w - step * (1 - t / epochs) * mean(users.gradients(w.astype(numpy.float32)), c, n)
    return w.astype(numpy.float32)


@dataclasses.dataclass(frozen=True)
class Row:
    """One of FLAME's settings: k coordinates of a device, of each of which the shuffler leaves `padded` messages."""
    name: str
    kind: str
    k: int
    padded: int
    epsilon0: float
    printed: float
    event: str  # for the accountant, but for the users and the epochs


FLAME = {
    "simple": Row("SS-Simple", "simple", D, 0, 0.01, 0.91, f"ss-simple:d={D},levels=2,eps0=0.01"),
    "double": Row("SS-Double", "double", 157, 333, 0.5, 0.24, "ss-double:k=157,levels=2,eps0=0.5"),
    "topk": Row("SS-Topk", "topk", 157, 333, 0.5, 0.24, "ss-topk:k=157,levels=2,eps0=0.5,padded=333"),
    "topk-10": Row("SS-Topk, beta 0.1", "topk", 785, 666, 0.5, 2.348, "ss-topk:k=785,levels=2,eps0=0.5,padded=666")}


class Parties:
    """Who trains, and the public pictures that clip and step are chosen with."""

    def __init__(self, data):
        devices, public, test = rows_of("fashion", data)
        centre = public[0].reshape(len(public[0]), -1).mean(axis=0) / 255
        self.few, self.held = (Users(public[0][at], public[1][at], u, centre)
                               for at, u in ((slice(0, 1508), 26), (slice(1508, 2000), 1)))
        self.users, self.judge = Users(*devices, USERS, centre), Users(*test, 1, centre)
        first = self.few.gradients(numpy.zeros(D, numpy.float32))
        self.clips = {"coordinate": numpy.quantile(abs(first), [0.99, 0.999]),
                      "length": numpy.quantile(numpy.linalg.norm(first, axis=1), [0.1, 0.9])}

    def best(self, make, clip, epochs=EPOCHS):
        """(clip, step) of what learns most from the public pictures."""
        grid = [(c, step) for c in self.clips[clip] for step in (0.1, 0.3, 1.0, 3.0, 10.0)]
        return max(grid, key=lambda s: self.held.accuracy(descended(self.few, make(numpy.random.default_rng(1)), *s, USERS, epochs)))


def federated(args, say):
    parties = Parties(args.data)
    users, judge = parties.users, parties.judge

    def trained(mechanism, printed, true, settings, make, clip, label="simulated"):
        best = parties.best(make, clip)
        w = descended(users, make(numpy.random.default_rng(2)), *best, USERS)
        say(["FLAME", mechanism, f"{settings}; clip {best[0]:.3g}, step {best[1]:g}", EPOCHS, printed, true, DELTA,
             judge.accuracy(w), label])

    trained("NP-FL", "none", "none", "", lambda r: normal(r, 0), "length")
    sigma = baselines.central_sigma(0.24, DELTA) * 2 / USERS
    composed = certified(args, DELTA, f"gaussian:sigma={sigma * USERS / 2!r},count={EPOCHS}")
    trained("DP-FL", 0.24, composed, "Gaussian, sensitivity 2 C", lambda r: normal(r, sigma), "length")
    trained("LDP-FL", 0.24, composed, "Gaussian on each device", lambda r: normal(r, sigma * USERS**0.5), "length")
    for row in FLAME.values():
        true = certified(args, DELTA, f"{row.event},n={USERS},count={EPOCHS}")
        trained(row.name, row.printed, true, f"k {row.k}, padded {row.padded}, epsilon0 {row.epsilon0}",
                lambda r, x=row: flame(r, x.kind, x.epsilon0, x.k, x.padded), "coordinate")
        tried = []
        for slots, size in ((1, 4), (2, 3), (4, 2)):
            def plan(e, s=slots, w=size):
                return vector("g", USERS, D, e, s, w, compute(784, "linear-gradient"), repeat=EPOCHS)
            tried.append((fitting(args, plan, true, 5.0, DELTA), slots, size))
        cost, slots, size = min(tried, key=lambda c: c[0]["rounds"][0]["expected_error"])
        error = cost["rounds"][0]["expected_error"]
        trained(f"rotated, for {row.name}", "", cost["epsilon_total"], f"{slots} slots of {size}, epsilon0 "
                f"{cost['rounds'][0]['epsilon0'] / slots:.3f}", lambda r, e=error: normal(r, e), "length")


# -- trees of height 5 and 8, one and five of them, with three messages a histogram -------------------------------------


def trees(args, say, messages=3, delta=1e-6):
    """Nine attributes of two values; a histogram of (leaf, value, class), where the paper's has no class."""
    devices, public, test = rows_of("shuttle", args.data)
    (x, y), n = devices, len(devices[0])
    edges = edges_of(public, 2, 0.25)

    for height in (5, 8):
        for count in (1, 5):
            levels = [[f"t{t}l{h}" for h in range(height)] for t in range(count)]
            queries = [q for t in levels for q in t]
            cells = {q: leaves_of(h) * 2 * 7 for t in levels for h, q in enumerate(t)}
            true = certified(args, delta, *(f"bins:k={leaves_of(h) * 14},dummies={n * (messages - 1)},n={n},count={9 * count}"
                                            for h in range(height)))

            def learner(levels=levels, count=count):
                return Forest(levels, edges, 7, share=0.7, test=test) if count > 1 else Tree(levels[0], edges, 7, test=test)

            def answer(query, p, queries=queries, height=height):
                return counts_of("tree-path", p, x, y, 7, leaves_of(queries.index(query) % height))

            def reached(deviation, queries=queries, learner=learner, answer=answer):
                history = baselines.simulated(learner(), queries, answer, deviation, 2026)
                return learner().score(history)["accuracy"]

            said = f"height {height}, {count} tree{'s' * (count > 1)}, {messages} messages a histogram, n {n}"
            say(["trees", "multi-message histograms", said, len(queries), "a figure", true, delta,
                 reached(lambda q, c=cells: (n * (messages - 1) / c[q])**0.5), "simulated"])
            if count == 1:
                def plan(e, asked=levels[0]):
                    return ",\n".join(marginals(q, n, e, 2, "tree-path", SENSORS, CLASSES, leaves_of(h)) for h, q in enumerate(asked))

                cost = fitting(args, plan, true, 12.0, delta)
                error = {r["query"]: r["expected_error"] for r in cost["rounds"]}
                say(["trees", "marginals, one message a histogram", said.replace("3 messages", "1 message"), len(queries), "",
                     cost["epsilon_total"], delta, reached(lambda q, e=error: e[q]), "simulated"])


def papers(args, out):
    """Print the lines and write papers.csv."""
    os.makedirs(args.folder, exist_ok=True)
    path = os.path.join(args.folder, "papers.csv")
    with open(path, "w", newline="", encoding="utf-8") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(FIELDS)

        def say(row):
            table.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])
            f.flush()
            shown = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
            out.write(f"{shown[0]:6} {shown[1]:36} printed {shown[4] or '-':>9}  true {shown[5]:>9}  accuracy {shown[7]:>7}  "
                      f"{shown[8]}: {shown[2]}\n")
            out.flush()

        federated(args, say)
        gspa(rows_of("fashion", args.data), say)
        trees(args, say)
