"""k-means by rounds of `nearest-centroid`: each device adds its distance from the centre that it is nearest to."""
import numpy

from ..driver import STOP

__all__ = ["KMeans", "inertia"]


def squares(x, centroids):
    """Squared distances [rows, centroids]."""
    return numpy.maximum((x**2).sum(axis=1)[:, None] - 2 * x @ centroids.T + (centroids**2).sum(axis=1), 0)


def inertia(x, centroids):
    """Mean squared distance of a row from its nearest centroid."""
    return float(squares(x, centroids).min(axis=1).mean())


class KMeans:
    """Entries of one query, compute `nearest-centroid`, dimension K (m + 1).

    first     float [K, m], public or drawn
    test      x, public, or None
    sure      a centroid moves where its count is at least `sure` standard deviations: else there is but noise to move by
    spare     float [n, m], public: where a centroid with no such count begins anew, drawn as k-means++ does, by the squared
              distance from the others.  It costs no privacy.  None: it stays where it is
    """

    def __init__(self, query, first, rounds, test=None, sure=3.0, spare=None):
        self.queries, self.first = (query,), numpy.asarray(first, numpy.float32)
        self.rounds, self.test, self.sure, self.spare = rounds, test, sure, spare

    def propose(self, history):
        return STOP if len(history) >= self.rounds else {"centroids": self.centroids(history)}

    def centroids(self, history):
        """Where they are after the history."""
        at = self.first
        for turn, step in enumerate(history):
            at = self.moved(at, step.estimate, turn) if not step.estimate.lost else at
        return at

    def moved(self, at, estimate, turn):
        k, m = at.shape
        means = estimate.values.reshape(k, m + 1)
        least = self.sure * numpy.sqrt(estimate.variances.reshape(k, m + 1)[:, m])
        near = means[:, m] >= least
        at = at + numpy.where(near, 1 / numpy.maximum(means[:, m], least), 0)[:, None] * means[:, :m]
        return self.begun(at, near, turn).astype(numpy.float32)

    def begun(self, at, near, turn):
        """Those that nobody is near to are elsewhere: a function of the history, as any payload."""
        drawn = numpy.random.default_rng([2026, turn])
        for j in numpy.flatnonzero(~near) if self.spare is not None and near.any() else ():
            apart = squares(self.spare, at[near]).min(axis=1)
            at[j] = self.spare[drawn.choice(len(apart), p=apart / apart.sum())]
            near[j] = True
        return at

    def score(self, history):
        return {} if self.test is None else {"inertia": inertia(self.test, self.centroids(history))}
