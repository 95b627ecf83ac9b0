"""How unusual a row is, from one round of histograms: features that few devices have, taken together."""
import numpy

from ..driver import STOP
from .bins import binned, tables
from .measures import auc

__all__ = ["Anomaly"]


class Anomaly:
    """One entry with compute `statistics`, and a marginal of one column for each feature.

    edges     float [m, bins - 1], public
    test      (x, odd), public, or None: odd says which rows are
    """

    def __init__(self, query, edges, test=None):
        self.queries, self.edges, self.test = (query,), numpy.asarray(edges, numpy.float32), test

    def propose(self, history):
        return STOP if len(history) else {"edges": self.edges}

    def rarity(self, estimate):
        """[m, bins]: minus the logarithm of the share of a bin, which is at least that of its noise."""
        bins = self.edges.shape[1] + 1
        out = []
        for counts, variances in tables(estimate, [(bins,)] * len(self.edges)):
            least = numpy.maximum(counts, numpy.sqrt(variances))
            out.append(-numpy.log(least / least.sum()))
        return numpy.array(out)

    def scores(self, estimate, x):
        rarity, at = self.rarity(estimate), binned(x, self.edges)
        return sum(rarity[j, at[:, j]] for j in range(at.shape[1]))

    def score(self, history):
        if self.test is None or not len(history):
            return {}
        return {"AUC": auc(self.scores(history[-1].estimate, self.test[0]), self.test[1])}
