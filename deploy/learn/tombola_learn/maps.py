"""The devices' maps over all rows at once (doc/learning.md): what baselines and tests compute, never a party.

mean_of(map, arrays, x, y, clip, classes, part): exact means of the vectors.  counts_of(map, arrays, x, y, classes, leaves):
exact counts of (leaf,) bin (, class), one table a feature.
"""
import numpy

__all__ = ["counts_of", "leaf_of", "mean_of"]


def _cut(length, most):
    return most / numpy.maximum(length, most)


def _seen(arrays, x):
    return (x - arrays.get("mean", 0)) * arrays.get("scale", 1)


def _with_one(x):
    return numpy.hstack([x, numpy.ones((len(x), 1), x.dtype)])


def _linear_gradient(arrays, x, y, clip, **_):
    f = _with_one(_seen(arrays, x))
    z = f @ arrays["weights"].T
    p = numpy.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[numpy.arange(len(x)), y] -= 1
    length = numpy.linalg.norm(p, axis=1) * numpy.linalg.norm(f, axis=1)
    return ((p * _cut(length, clip)[:, None]).T @ f).ravel() / len(x)


def _moments(arrays, x, y, clip, classes=0, part="all", **_):
    z = _seen(arrays, x)
    if part == "mean":
        return (z * _cut(numpy.linalg.norm(z, axis=1), clip)[:, None]).mean(axis=0)
    f = _with_one(z)
    length = numpy.linalg.norm(f, axis=1)
    most = clip / 2**0.5
    at = numpy.triu_indices(f.shape[1])
    square = (f * _cut(length**2, most)[:, None]).T @ f
    of_class = (numpy.eye(classes)[y] * _cut(length, most)[:, None]).T @ f
    return numpy.hstack([square[at] * numpy.where(at[0] == at[1], 1, 2**0.5), of_class.ravel()]) / len(x)


def _nearest_centroid(arrays, x, y, clip, **_):
    c = arrays["centroids"]
    k = ((c**2).sum(axis=1) - 2 * x @ c.T).argmin(axis=1)
    g = _with_one(x - c[k])
    g = g * _cut(numpy.linalg.norm(g, axis=1), clip)[:, None]
    return (numpy.eye(len(c))[k].T @ g).ravel() / len(x)


VECTORS = {"linear-gradient": _linear_gradient, "moments": _moments, "nearest-centroid": _nearest_centroid}


def mean_of(name, arrays, x, y=None, **keys):
    return VECTORS[name](arrays, x, y, **keys)


def leaf_of(arrays, x):
    """The leaf of each row of a tree's payload."""
    at = numpy.zeros(len(x), int)
    while (at >= 0).any():
        on = numpy.flatnonzero(at >= 0)
        here = at[on]
        goes = x[on, arrays["feature"][here]] <= arrays["threshold"][here]
        at[on] = numpy.where(goes, arrays["left"][here], arrays["right"][here])
    return -1 - at


def counts_of(name, arrays, x, y=None, classes=0, leaves=1):
    edges = arrays["edges"]
    b, k = edges.shape[1] + 1, max(classes, 1)
    leaf = leaf_of(arrays, x) if name == "tree-path" else 0
    return numpy.concatenate([
        numpy.bincount((leaf * b + numpy.searchsorted(e, x[:, j], side="right")) * k + (y if classes else 0),
                       minlength=leaves * b * k) for j, e in enumerate(edges)])
