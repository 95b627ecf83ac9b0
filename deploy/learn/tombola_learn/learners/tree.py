"""Trees that grow a level a round: counts of (leaf, bin of a feature, class) say where to split.

Each level is an entry of its own, compute `tree-path`: columns leaf, feature 1 .. feature m, class, and the marginals
(leaf, feature j, class).  How many leaves a level counts is fixed by the plan: 2^level, and 2 for the root, since no column has
one category alone.  Leaves that are not split any more keep their number.
"""
import numpy

from ..driver import STOP
from ..maps import leaf_of
from .bins import tables
from .measures import accuracy, macro_f1

__all__ = ["Forest", "Tree"]


def impurity(counts):
    """n times Gini's impurity of counts [..., K]."""
    n = counts.sum(axis=-1)
    return n - (counts**2).sum(axis=-1) / numpy.maximum(n, 1e-12)


class Nodes:
    """A tree as the map wants it.  Children: c >= 0 a node, c < 0 leaf -1-c."""

    def __init__(self):
        # One node whose children are both leaf 0: everybody is there.
        self.feature, self.threshold, self.left, self.right = [0], [0.0], [-1], [-1]
        self.leaves = 1

    def payload(self):
        return {"feature": numpy.array(self.feature, numpy.int32), "threshold": numpy.array(self.threshold, numpy.float32),
                "left": numpy.array(self.left, numpy.int32), "right": numpy.array(self.right, numpy.int32)}

    def split(self, leaf, feature, threshold):
        """The leaf becomes a node: left keeps its number, right is a new leaf."""
        if self.leaves == 1:
            self.feature, self.threshold, self.left, self.right, self.leaves = [feature], [threshold], [-1], [-2], 2
            return
        node, new = len(self.feature), self.leaves
        for side in (self.left, self.right):
            for i, c in enumerate(side):
                if c == -1 - leaf:
                    side[i] = node
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.left.append(-1 - leaf)
        self.right.append(-1 - new)
        self.leaves += 1



class Tree:
    """queries   one entry for each level, from the root; after the last there are 2^len(queries) leaves at most
    edges      float [m, bins - 1], public; a split is at one of them
    classes    K
    features   which may be split on; all without it
    sure       a split has to gain as much as `sure` times what noise alone would
    bayes      within a leaf of the last level, also tell classes by its counts of features, as naive Bayes does
    """

    def __init__(self, queries, edges, classes, features=None, sure=1.0, bayes=True, test=None):
        self.queries, self.edges, self.classes = tuple(queries), numpy.asarray(edges, numpy.float32), classes
        self.features = range(len(self.edges)) if features is None else features
        self.sure, self.bayes, self.test = sure, bayes, test

    def propose(self, history):
        answered = [s for s in history if s.query in self.queries and not s.estimate.lost]
        if len(answered) == len(self.queries):
            return STOP
        return {**self.grown(history)[0].payload(), "edges": self.edges}

    def counts(self, step, leaves):
        """Counts and variances [m, leaves of the level, bins, K], and those leaves' classes [leaves, K]."""
        shape = max(2, 2**self.queries.index(step.query)), self.edges.shape[1] + 1, self.classes
        found = tables(step.estimate, [shape] * len(self.edges))
        counts, noise = numpy.array([c for c, _ in found]), numpy.array([v for _, v in found])
        return counts[:, :leaves], noise[:, :leaves]

    def grown(self, history):
        """The tree, and the last level's (counts, variances) with the leaf of today that each of its leaves was."""
        tree, last = Nodes(), None
        for step in (s for s in history if s.query in self.queries and not s.estimate.lost):
            counts, noise = self.counts(step, tree.leaves)
            last = Nodes()
            last.__dict__.update({k: list(v) if isinstance(v, list) else v for k, v in tree.__dict__.items()})
            last.found = counts, noise
            for leaf in range(tree.leaves):
                best = self.best(counts[:, leaf], noise[:, leaf])
                if best is not None:
                    tree.split(leaf, *best)
        return tree, last

    def best(self, counts, noise):
        """(feature, threshold) of the split that gains most, or None where none gains more than noise does."""
        found, most = None, 0.0
        for j in self.features:
            kept = numpy.maximum(counts[j], 0)
            below = numpy.cumsum(kept, axis=0)[:-1]
            above = kept.sum(axis=0) - below
            gain = impurity(kept.sum(axis=0)) - impurity(below) - impurity(above)
            at = int(gain.argmax())
            # Impurity is at most twice as steep as the counts: so much may the sums of noise alone move it.
            if gain[at] > most and gain[at] > self.sure * 2 * numpy.sqrt(noise[j].sum()):
                found, most = (j, float(numpy.nextafter(self.edges[j, at], numpy.float32(-numpy.inf)))), gain[at]
        return found

    def predict(self, history, x):
        """By the last level that was counted, whose leaves have counts."""
        _, level = self.grown(history)
        counts, noise = level.found
        leaf = leaf_of(level.payload(), x)
        of_class = counts.sum(axis=2).mean(axis=0)
        deviation = numpy.sqrt(noise.sum(axis=2).mean(axis=0) / len(counts))
        margins = numpy.log(numpy.maximum(of_class, deviation))[leaf]
        at = numpy.stack([numpy.searchsorted(e, x[:, j], side="right") for j, e in enumerate(self.edges)])
        for j in range(len(self.edges) if self.bayes else 0):
            c, d = counts[j], numpy.sqrt(noise[j])
            kept, smooth = numpy.where(c > d, c, 0), d.mean(axis=(1, 2), keepdims=True)
            share = numpy.log((kept + smooth / c.shape[1]) / (kept.sum(axis=1, keepdims=True) + smooth))
            margins = margins + share[leaf, at[j]]
        return margins.argmax(axis=1)

    def score(self, history):
        if self.test is None or not history.of(self.queries[0]):
            return {}
        said = self.predict(history, self.test[0])
        return {"accuracy": accuracy(said, self.test[1]), "macro-F1": macro_f1(said, self.test[1], self.classes)}


class Forest:
    """Trees that vote; each has queries of its own, and splits on a share of the features drawn by a seed.

    levels   names of the levels' queries of each tree: [["a0", "a1"], ["b0", "b1"]]
    """

    def __init__(self, levels, edges, classes, share=0.6, seed=2026, test=None, **more):
        drawn, m = numpy.random.default_rng(seed), len(edges)
        self.trees = [Tree(queries, edges, classes, features=sorted(drawn.permutation(m)[:max(1, round(share * m))]), **more)
                      for queries in levels]
        self.queries, self.classes, self.test = tuple(q for t in self.trees for q in t.queries), classes, test

    def propose(self, history):
        for tree in self.trees:
            if history.query in tree.queries:
                return tree.propose(history)
        return STOP

    def predict(self, history, x):
        votes = numpy.zeros((len(x), self.classes))
        for tree in self.trees:
            if history.of(tree.queries[0]):
                votes[numpy.arange(len(x)), tree.predict(history, x)] += 1
        return votes.argmax(axis=1)

    def score(self, history):
        if self.test is None or not len(history):
            return {}
        said = self.predict(history, self.test[0])
        return {"accuracy": accuracy(said, self.test[1]), "macro-F1": macro_f1(said, self.test[1], self.classes)}
