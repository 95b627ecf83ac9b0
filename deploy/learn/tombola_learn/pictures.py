"""Trainings on pictures: means of vectors.

rows: (devices, public, test), each (pictures, labels).  What a device computes of a picture is a public function: gradients, means
of pixels, and what the public pictures say about these, their centre, their principal axes, three rounds of k-means.
"""
import functools

import numpy

from . import baselines, features
from .curve import tiles
from .learners import KMeans, Logistic, Ridge
from .learners.kmeans import inertia
from .maps import mean_of
from .task import Task, compute, names, scored, vector

__all__ = ["TASKS"]


def seen(rows, cells, edge=5.0, light=2.0, centred=True):
    """Features of devices and test.  Half an edge counts as much as a lightness of 1 / 5: gradients times 5, means times 2."""
    (x, y), (p, _), (tx, ty) = rows
    scale = numpy.concatenate([numpy.full(8 * cells**2, edge), numpy.full(49, light)]).astype(numpy.float32)
    public = features.pictures(p, cells)
    centre = public.mean(axis=0) if centred else numpy.float32(0)
    made = [(features.pictures(v, cells) - centre) * scale for v in (x, tx)]
    return (made[0], y), (made[1], ty), (public - centre) * scale


def logistic(rows, n, cells=4, rounds=20, epsilon0=3.62, slots=3, size=4, step=30.0, kind="", cap=""):
    (x, y), test, _ = seen(rows, cells)
    m = x.shape[1]
    local = baselines.local_vector_deviation(1.0, len(x), rounds)
    return Task("fashion-logistic" + kind + cap,
                f"Fashion-MNIST, logistic, {m} features, {rounds} rounds, {rounds * slots} messages",
                "accuracy 0.81" if m == 177 else "accuracy 0.825",
                vector("gradient", n, 10 * (m + 1), epsilon0, slots, size, compute(m, "linear-gradient"), repeat=rounds),
                names("gradient", rounds), x, y, lambda: Logistic("gradient", m, 10, rounds, step, test=test),
                lambda _, p: mean_of("linear-gradient", p, x, y, clip=1.0), 2 * rounds**0.5 / n, lambda _: local, scored, n)


class Centred(Logistic):
    """Asks for the mean first, in units in which few vectors are cut."""

    units = numpy.float32(0.1)

    def before(self):
        return {"scale": numpy.full(self.features, self.units, numpy.float32)}

    def centre(self, history):
        return {k: v / self.units for k, v in super().centre(history).items()}


def all_devices(rows, _, rounds=20, epsilon0=2.5, slots=12, size=3, step=40.0, mean=16):
    """All 60,000 pictures of the training file are devices: nothing is public, and a round more asks for the centre."""
    (x, y), public, test = rows
    everybody = tuple(numpy.concatenate(v) for v in zip((x, y), public))
    n = len(everybody[0])
    (x, y), test, _ = seen((everybody, public, test), 4, centred=False)
    m = x.shape[1]
    local = baselines.local_vector_deviation(1.0, n, rounds + 1)

    def answer(query, p):
        return mean_of("moments", p, x, y, clip=1.0, part="mean") if query == "mean" \
            else mean_of("linear-gradient", p, x, y, clip=1.0)

    asked = [vector("mean", n, m, epsilon0, mean, size, compute(m, "moments", ' part = "mean";', False)),
             vector("gradient", n, 10 * (m + 1), epsilon0, slots, size, compute(m, "linear-gradient"), repeat=rounds)]
    return Task("fashion-logistic-256", f"Fashion-MNIST, logistic, {m} features, {rounds + 1} rounds, {rounds * slots + mean} "
                "messages", "accuracy 0.81", ",\n".join(asked), ["mean", *names("gradient", rounds)], x, y,
                lambda: Centred("gradient", m, 10, rounds, step, mean_query="mean", test=test), answer,
                2 * (rounds + 1)**0.5 / n, lambda _: local, scored, n)


class Scaled(Ridge):
    """Asks for the mean in units in which few vectors are cut."""

    units = numpy.float32(0.1)

    def propose(self, history):
        units = numpy.full(self.m, self.units, numpy.float32)
        return {"scale": units} if history.query == "mean" else super().propose(history)

    def mean(self, history):
        return super().mean(history) / self.units


def moments(rows, n, rounds=1, epsilon0=3.6, slots=62, size=4, axes=40, white=0.6, strength=0.35, cap=""):
    """Along the public pictures' principal axes, the weaker of which are stretched."""
    (x, y), (tx, ty), public = seen(rows, 4)
    _, length, turned = numpy.linalg.svd(public, full_matrices=False)
    onto = (turned[:axes] * ((length[:axes] / length[0])**-white)[:, None]).T.astype(numpy.float32)
    x, test = x @ onto, (tx @ onto, ty)
    d = (axes + 1) * (axes + 2) // 2 + 10 * (axes + 1)
    mean = min(2, slots)
    asked = [vector("mean", n, axes, epsilon0, mean, size, compute(axes, "moments", ' part = "mean";', False)),
             vector("moments", n, d, epsilon0, slots, size, compute(axes, "moments"), repeat=rounds)]
    local = baselines.local_vector_deviation(1.0, len(x), 1 + rounds)

    def answer(query, p):
        return mean_of("moments", p, x, y, clip=1.0, classes=10, part="mean" if query == "mean" else "all")

    return Task("fashion-moments" + cap, f"Fashion-MNIST, ridge from moments of {axes} axes, {1 + rounds} rounds, "
                f"{rounds * slots + mean} messages",
                "accuracy 0.79", ",\n".join(asked), ["mean", *names("moments", rounds)], x, y,
                lambda: Scaled("moments", axes, 10, 1.0, mean_query="mean", rounds=rounds, strength=strength, test=test), answer,
                2 * (1 + rounds)**0.5 / n, lambda _: local, scored, n)


def pixels(rows, n, rounds=20, epsilon0=3.62, slots=3, size=4, step=40.0, scale=0.5, cap=""):
    (x, y), (p, _), (tx, ty) = rows
    centre = p.reshape(len(p), -1).mean(axis=0) / 255

    def grey(images):
        return ((images.reshape(len(images), -1) / 255 - centre) * scale).astype(numpy.float32)

    x, test = grey(x), (grey(tx), ty)
    local = baselines.local_vector_deviation(1.0, len(x), rounds)
    return Task("fashion-pixels" + cap, f"Fashion-MNIST, logistic on raw pixels, {rounds} rounds, {rounds * slots} messages",
                "accuracy 0.78", vector("gradient", n, 7850, epsilon0, slots, size, compute(784, "linear-gradient"),
                                        repeat=rounds),
                names("gradient", rounds), x, y, lambda: Logistic("gradient", 784, 10, rounds, step, test=test),
                lambda _, p: mean_of("linear-gradient", p, x, y, clip=1.0), 2 * rounds**0.5 / n, lambda _: local, scored, n,
                picture=lambda learner, history: tiles(learner.model(history)["weights"][:, :784].reshape(-1, 28, 28), 5, 3))


def means(rows, n, rounds=6, epsilon0=3.6, slots=10, size=4, scale=1.2, cap=""):
    """k-means of 7 x 7 pixels; the first centroids are those of the public pictures."""
    (x, y), (p, _), (tx, _) = rows
    # Of a picture's distance from a centroid, so that few are cut.
    x, public, test = (((features.pooled(v, 7) - numpy.float32(0.286)) * numpy.float32(scale)) for v in (x, p, tx))
    drawn = numpy.random.default_rng(2026).permutation(len(public))[:500]
    first = lloyd(public[drawn], public[drawn[:10]], 3)
    best = min(inertia(test, lloyd(x, x[numpy.random.default_rng(s).permutation(len(x))[:10]], 30)) for s in range(3))
    local = baselines.local_vector_deviation(1.0, len(x), rounds)
    return Task("fashion-means" + cap, f"Fashion-MNIST, 10 means of 7 x 7 pixels, {rounds} rounds, {rounds * slots} messages",
                "inertia 1.3 of non-private",
                vector("means", n, 500, epsilon0, slots, size, compute(49, "nearest-centroid", label=False), repeat=rounds),
                names("means", rounds), x, y, lambda: KMeans("means", first, rounds, test=test, spare=public),
                lambda _, p: mean_of("nearest-centroid", p, x, clip=1.0), 2 * rounds**0.5 / n, lambda _: local,
                lambda learner, history: {"inertia of non-private": inertia(test, learner.centroids(history)) / best}, n,
                picture=lambda learner, history: tiles(learner.centroids(history).reshape(-1, 7, 7), 5, 12))


def lloyd(x, at, rounds):
    """Where the centroids are without any noise."""
    for _ in range(rounds):
        near = ((at**2).sum(axis=1) - 2 * x @ at.T).argmin(axis=1)
        at = numpy.array([x[near == k].mean(axis=0) if (near == k).any() else at[k] for k in range(len(at))])
    return at.astype(numpy.float32)


def digits(rows, n, rounds=8, epsilon0=1.3, slots=8, size=1, step=10.0, epsilon=2.0):
    """1,200 devices are few, so more is spent on each."""
    (x, y), (p, _), (tx, ty) = rows
    centre = p.mean(axis=0)
    x, test = (x - centre) / 16, ((tx - centre) / 16, ty)
    local = baselines.local_vector_deviation(epsilon, len(x), rounds)
    return Task("digits", f"digits, logistic, {rounds} rounds, {rounds * slots} messages, epsilon {epsilon:g}", "-",
                vector("gradient", n, 650, epsilon0, slots, size, compute(64, "linear-gradient"), repeat=rounds),
                names("gradient", rounds), x, y, lambda: Logistic("gradient", 64, 10, rounds, step, test=test),
                lambda _, p: mean_of("linear-gradient", p, x, y, clip=1.0), 2 * rounds**0.5 / n, lambda _: local, scored, n,
                epsilon=epsilon,
                picture=lambda learner, history: tiles(learner.model(history)["weights"][:, :64].reshape(-1, 8, 8), 5, 10))


# All that a device sends in a round has a local epsilon0 of 8 at most.
CAPPED = {"epsilon0": 4.0, "slots": 2, "cap": "-cap8"}
WIDE = {"rounds": 20, "epsilon0": 2.5, "slots": 12, "size": 3, "step": 40.0}
TASKS = {"fashion-moments": moments, "fashion-logistic": logistic, "fashion-pixels": pixels, "fashion-means": means,
         "fashion-logistic-240": functools.partial(logistic, kind="-240", **WIDE),
         "fashion-logistic-256": all_devices,
         "fashion-logistic-441": functools.partial(logistic, cells=7, kind="-441"),
         "fashion-logistic-441-240": functools.partial(logistic, cells=7, kind="-441-240", **WIDE),
         "fashion-moments-cap8": functools.partial(moments, rounds=18, **CAPPED),
         "fashion-logistic-cap8": functools.partial(logistic, rounds=19, **CAPPED),
         "fashion-pixels-cap8": functools.partial(pixels, rounds=19, **CAPPED),
         "fashion-means-cap8": functools.partial(means, **CAPPED)}
