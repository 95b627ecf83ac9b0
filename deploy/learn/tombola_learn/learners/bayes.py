"""Naive Bayes from one round: counts of (bin of a feature, class), a marginal for each feature."""
import numpy

from ..driver import STOP
from .bins import binned, tables
from .measures import accuracy, macro_f1

__all__ = ["NaiveBayes"]


class NaiveBayes:
    """One entry with compute `statistics` and the marginals (feature 1, class) .. (feature m, class).

    edges     float [m, bins - 1], public
    classes   K
    test      (x, y), public, or None
    floor     how many standard deviations of its noise a count is taken to have at least: a count that noise alone makes
              says nothing, and a bin without one would rule a class out
    """

    def __init__(self, query, edges, classes, test=None, floor=1.0):
        self.queries, self.edges, self.classes = (query,), numpy.asarray(edges, numpy.float32), classes
        self.test, self.floor = test, floor

    def propose(self, history):
        return STOP if len(history) else {"edges": self.edges}

    def fit(self, estimate):
        """Logarithms of the classes' shares [K] and of the bins' shares in each class [m, bins, K]."""
        m, bins = len(self.edges), self.edges.shape[1] + 1
        found = tables(estimate, [(bins, self.classes)] * m)
        counts = numpy.array([t for t, _ in found])
        deviation = numpy.sqrt(numpy.array([d for _, d in found]))
        # Every marginal tells how many devices each class has: the mean of all of them knows best.
        of_class = numpy.maximum(counts.sum(axis=1).mean(axis=0), numpy.sqrt((deviation**2).sum(axis=1).mean(axis=0) / m))
        # A count below its noise is set to a share of it: the same for all classes, spread by the class's own size.
        least = self.floor * deviation
        kept = numpy.where(counts > least, counts, 0)
        share = kept.sum(axis=1, keepdims=True)
        smooth = numpy.maximum(deviation.mean(axis=(1, 2), keepdims=True), 1e-9)
        likelihood = (kept + smooth / bins) / (share + smooth)
        return numpy.log(of_class / of_class.sum()), numpy.log(likelihood)

    def predict(self, estimate, x):
        prior, likelihood = self.fit(estimate)
        at = binned(x, self.edges)
        return (prior + sum(likelihood[j, at[:, j]] for j in range(at.shape[1]))).argmax(axis=1)

    def score(self, history):
        if self.test is None or not len(history):
            return {}
        said = self.predict(history[-1].estimate, self.test[0])
        return {"accuracy": accuracy(said, self.test[1]), "macro-F1": macro_f1(said, self.test[1], self.classes)}
