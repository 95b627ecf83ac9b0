"""Bins of features and counts in them: what `statistics` and `tree-path` count, read out of a marginals result."""
import numpy

__all__ = ["binned", "edges_between", "tables"]


def edges_between(low, high, bins):
    """bins - 1 equal edges for each feature, float32 [m, bins - 1]; low, high: a public range of each."""
    low, high = numpy.asarray(low, float), numpy.asarray(high, float)
    steps = numpy.arange(1, bins) / bins
    return (low[:, None] + (high - low)[:, None] * steps).astype(numpy.float32)


def binned(x, edges):
    """The bin of each feature of each row: the number of its edges that are <= x, as the device counts them."""
    return numpy.stack([numpy.searchsorted(e, x[:, j], side="right") for j, e in enumerate(edges)], axis=1)


def tables(estimate, shapes):
    """The answer of a marginals round: an array of counts and one of variances of each marginal, in the plan's order.

    shapes: of each marginal, how many categories its columns have, in the order in which the marginal names them."""
    sizes = [int(numpy.prod(s)) for s in shapes]
    if sum(sizes) != len(estimate.values):
        raise ValueError(f"the result has {len(estimate.values)} counts, the learner expects {sum(sizes)}")
    ends = numpy.cumsum(sizes)[:-1]
    return [(v.reshape(s), d.reshape(s)) for v, d, s in
            zip(numpy.split(estimate.values, ends), numpy.split(estimate.variances, ends), shapes)]
