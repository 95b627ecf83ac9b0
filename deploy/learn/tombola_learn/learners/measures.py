"""How good a model is, on data whose truth is known."""
import numpy

__all__ = ["accuracy", "auc", "macro_f1"]


def accuracy(said, truth):
    return float(numpy.mean(numpy.asarray(said) == truth))


def macro_f1(said, truth, classes):
    """Mean over the classes of 2 hits / (said + held); 0 for a class that is neither said nor held."""
    said, truth = numpy.asarray(said), numpy.asarray(truth)
    hits = numpy.bincount(truth[said == truth], minlength=classes)
    both = numpy.bincount(said, minlength=classes) + numpy.bincount(truth, minlength=classes)
    return float(numpy.mean(2 * hits / numpy.maximum(both, 1)))


def auc(score, odd):
    """The chance that an odd row has a higher score than another; ties count half."""
    score, odd = numpy.asarray(score, float), numpy.asarray(odd, bool)
    _, rank_of, counts = numpy.unique(score, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[rank_of]
    n = int(odd.sum())
    return float((ranks[odd].sum() - n * (n + 1) / 2) / (n * (len(odd) - n)))
