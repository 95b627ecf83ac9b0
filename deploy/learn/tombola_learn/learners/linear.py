"""Models that are sums of features: ridge from moments, logistic regression and a small network by gradients."""
import numpy

from ..driver import STOP
from .measures import accuracy

__all__ = ["Logistic", "Network", "Ridge"]


def with_one(x):
    return numpy.hstack([x, numpy.ones((len(x), 1), x.dtype)])


def signs_of(turn, features):
    """Drawn by a seed, for the query's round `turn`."""
    return numpy.random.default_rng([2026, turn]).choice(numpy.array([-1, 1], numpy.float32), features)


class Descent:
    """Rounds of gradients: momentum, and a step that falls to 0 with the last planned round.

    Each round turns the signs of some features, drawn by a seed: `scale` of the payload, 1 or -1.  What the row's cut leaves
    beside the mean is the same in every round where devices hold the same vector, as all do that are sure of their class; turned
    each time, it goes out like noise, while 20 times the same costs a point of accuracy on Fashion-MNIST.

    mean_query   an entry before the others whose answer is the features' mean; None: they are centred already
    query        of the gradients; T = `rounds` entries
    step         of the first round.  A clipped gradient is at most as long as the clip.
    """

    first_layer = "weights"  # the array with a column for each feature

    def __init__(self, query, features, rounds, step, momentum=0.5, mean_query=None, test=None):
        self.features = features
        self.query, self.mean_query, self.rounds = query, mean_query, rounds
        self.queries = (query,) if mean_query is None else (mean_query, query)
        self.step, self.momentum, self.test = step, momentum, test

    def start(self):
        raise NotImplementedError

    def propose(self, history):
        if self.mean_query is not None and history.query == self.mean_query:
            return self.before()
        if len(history.of(self.query)) >= self.rounds:
            return STOP
        signs = self.signs(len(history.of(self.query)))
        return {**self.turned(self.weights(history), signs), **self.centre(history), "scale": signs}

    def signs(self, turn):
        """Of the features, in the query's round `turn`."""
        return signs_of(turn, self.features)

    def turned(self, arrays, signs):
        """Weights of features, or their gradient, with turned features; twice is as before."""
        first = dict(arrays)
        first[self.first_layer] = first[self.first_layer] * numpy.append(signs, numpy.float32(1))
        return first

    def before(self):
        """The payload of the entry of the mean."""
        return None

    def centre(self, history):
        """The payload's `mean`, as far as it is known."""
        known = [s for s in history.of(self.mean_query) if not s.estimate.lost] if self.mean_query else []
        return {"mean": known[-1].estimate.values.astype(numpy.float32)} if known else {}

    def path(self, history):
        """The weights before the first answer and after each."""
        at = {k: v.astype(float) for k, v in self.start().items()}
        speed, path = {k: numpy.zeros_like(v) for k, v in at.items()}, [at]
        for t, s in enumerate(history.of(self.query)):
            if s.estimate.lost:
                continue
            ends = numpy.cumsum([v.size for v in at.values()])[:-1]
            flat = zip(at.items(), numpy.split(s.estimate.values, ends))
            gradients = self.turned({k: g.reshape(v.shape) for (k, v), g in flat}, s.payload["scale"])
            speed = {k: self.momentum * v + gradients[k] for k, v in speed.items()}
            at = {k: v - self.step * (1 - t / self.rounds) * speed[k] for k, v in at.items()}
            path.append(at)
        return path

    def weights(self, history):
        """Where the next gradient is asked."""
        return {k: v.astype(numpy.float32) for k, v in self.path(history)[-1].items()}

    def model(self, history):
        """The weights to predict with: the mean of those of the last rounds, in which noise moves more than the gradients."""
        path = self.path(history)
        last = path[max(1, int(0.7 * self.rounds) + 1):] or path[-1:]
        return {k: numpy.mean([w[k] for w in last], axis=0).astype(numpy.float32) for k in path[0]}

    def seen(self, history, x):
        """Features as the map sees them, with a 1."""
        mean = self.centre(history).get("mean")
        return with_one(x if mean is None else x - mean)

    def margins(self, history, x):
        raise NotImplementedError

    def predict(self, history, x):
        return self.margins(history, x).argmax(axis=1)

    def score(self, history):
        if self.test is None or not history.of(self.query):
            return {}
        return {"accuracy": accuracy(self.predict(history, self.test[0]), self.test[1])}


class Logistic(Descent):
    """compute `linear-gradient`: K classes, m features, dimension K (m + 1)."""

    def __init__(self, query, features, classes, rounds, step, **more):
        super().__init__(query, features, rounds, step, **more)
        self.shape = classes, features + 1

    def start(self):
        return {"weights": numpy.zeros(self.shape, numpy.float32)}

    def margins(self, history, x):
        return self.seen(history, x) @ self.model(history)["weights"].T


class Network(Descent):
    """compute `network-gradient`: one hidden layer of H rectified units, whose first weights are drawn by a seed."""

    first_layer = "hidden"

    def __init__(self, query, features, hidden, classes, rounds, step, seed=2026, **more):
        super().__init__(query, features, rounds, step, **more)
        drawn = numpy.random.default_rng(seed)
        first = drawn.normal(0, (2 / features)**0.5, (hidden, features + 1))
        first[:, -1] = 0
        self.first = {"hidden": first, "weights": drawn.normal(0, hidden**-0.5, (classes, hidden + 1))}

    def start(self):
        return self.first

    def margins(self, history, x):
        w = self.model(history)
        return with_one(numpy.maximum(self.seen(history, x) @ w["hidden"].T, 0)) @ w["weights"].T


class Ridge:
    """Entries of compute `moments`: part "mean" once, then part "all", once or several times, of which the mean is taken; the
    analyzer's side solves.

    mean_query, query   their names; mean_query None: centred already
    rounds     T, of `query`; each turns the signs of some features, as those of Descent do
    scale      float [m], public: of the features after their mean
    strength   of the ridge in units of the noise's largest eigenvalue, 2 sqrt(m) deviations of a coordinate: below 1
               noise decides, far above 1 most of the features are not used
    """

    def __init__(self, query, features, classes, scale, mean_query=None, rounds=1, strength=1.0, test=None):
        self.query, self.mean_query = query, mean_query
        self.queries = (query,) if mean_query is None else (mean_query, query)
        self.m, self.classes, self.rounds, self.strength, self.test = features, classes, rounds, strength, test
        self.scale = numpy.broadcast_to(numpy.asarray(scale, numpy.float32), features)

    def propose(self, history):
        if history.query == self.mean_query and self.mean_query is not None:
            return None
        turn = len(history.of(self.query))
        if turn >= self.rounds:
            return STOP
        return {"mean": self.mean(history), "scale": self.scale * (signs_of(turn, self.m) if self.rounds > 1 else 1)}

    def mean(self, history):
        known = [s for s in history.of(self.mean_query) if not s.estimate.lost] if self.mean_query else []
        return known[-1].estimate.values.astype(numpy.float32) if known else numpy.zeros(self.m, numpy.float32)

    def weights(self, history):
        """[K, m + 1]."""
        side = self.m + 1
        rows, columns = numpy.triu_indices(side)
        known = [s for s in history.of(self.query) if not s.estimate.lost]
        values, variance = 0, 0.0
        for s in known:
            signs = numpy.append(numpy.sign(s.payload["scale"]), 1)
            turned = numpy.append(signs[rows] * signs[columns], numpy.tile(signs, self.classes))
            values = values + s.estimate.values * turned / len(known)
            variance += s.estimate.variances[:len(rows)].mean() / len(known)**2
        moments = numpy.zeros((side, side))
        moments[rows, columns] = moments[columns, rows] = values[:len(rows)] / numpy.where(rows == columns, 1, 2**0.5)
        ridge = self.strength * 2 * (side * variance / 2)**0.5
        # Noise makes some eigenvalues negative, which no matrix of moments has.
        size, basis = numpy.linalg.eigh(moments)
        inverse = basis @ ((1 / (numpy.maximum(size, 0) + ridge))[:, None] * basis.T)
        return (inverse @ values[len(rows):].reshape(self.classes, side).T).T

    def predict(self, history, x):
        seen = with_one((x - self.mean(history)) * self.scale)
        return (seen @ self.weights(history).T).argmax(axis=1)

    def score(self, history):
        if self.test is None or not any(not s.estimate.lost for s in history.of(self.query)):
            return {}
        return {"accuracy": accuracy(self.predict(history, self.test[0]), self.test[1])}
