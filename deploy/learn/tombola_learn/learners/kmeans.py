"""k-means by rounds of `nearest-centroid`: each device adds its distance from the centre that it is nearest to."""
import numpy

from ..driver import STOP

__all__ = ["KMeans", "inertia"]


def inertia(x, centroids):
    """Mean squared distance of a row from its nearest centroid."""
    d = (x**2).sum(axis=1)[:, None] - 2 * x @ centroids.T + (centroids**2).sum(axis=1)
    return float(numpy.maximum(d, 0).min(axis=1).mean())


class KMeans:
    """Entries of one query, compute `nearest-centroid`, dimension K (m + 1).

    first     float [K, m], public or drawn
    test      x, public, or None
    sure      a centroid moves by no more than its count allows: it is taken to be at least `sure` standard deviations
    """

    def __init__(self, query, first, rounds, test=None, sure=3.0):
        self.queries, self.first = (query,), numpy.asarray(first, numpy.float32)
        self.rounds, self.test, self.sure = rounds, test, sure

    def propose(self, history):
        return STOP if len(history) >= self.rounds else {"centroids": self.centroids(history)}

    def centroids(self, history):
        """Where they are after the history."""
        at = self.first
        for step in history:
            at = self.moved(at, step.estimate) if not step.estimate.lost else at
        return at

    def moved(self, at, estimate):
        k, m = at.shape
        means = estimate.values.reshape(k, m + 1)
        deviation = numpy.sqrt(estimate.variances.reshape(k, m + 1)[:, m])
        share = numpy.maximum(means[:, m], self.sure * deviation)
        return (at + means[:, :m] / share[:, None]).astype(numpy.float32)

    def score(self, history):
        return {} if self.test is None else {"inertia": inertia(self.test, self.centroids(history))}
