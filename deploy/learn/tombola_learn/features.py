"""Public features of a picture: what a device computes where its readings are made.

Nothing here is learnt from anybody's data, so nothing has to be paid for; each row of a result is a function of the
same row of the pictures alone.
"""
import numpy

__all__ = ["gradients", "pooled", "pictures"]


def pooled(images, cells):
    """Means of cells x cells equal squares of each picture, in [0, 1].

    images: [n, side, side], 0 to 255 (uint8); side is a multiple of `cells`.  Returns float32 [n, cells * cells].
    """
    n, side, _ = images.shape
    block = side // cells
    if block * cells != side:
        raise ValueError(f"{side} pixels are not {cells} equal cells")
    sums = images.reshape(n, cells, block, cells, block).sum(axis=(2, 4), dtype=numpy.uint32)
    return (sums / (255 * block * block)).reshape(n, -1).astype(numpy.float32)


def gradients(images, cells, orientations=8):
    """Histograms of gradients: of each of cells x cells squares, how much of its change goes into each direction.

    A direction and its opposite are one, as light on dark is dark on light; a gradient is shared by the two
    directions next to it.  The square roots of the sums are scaled to length 1 over the picture, so that a few strong edges
    do not drown the others.  Returns float32 [n, cells * cells * orientations].
    """
    n, side, _ = images.shape
    out = numpy.empty((n, cells * cells * orientations), numpy.float32)
    edge = numpy.linspace(0, side, cells + 1).round().astype(int)
    for first in range(0, n, 2000):  # in parts: twenty arrays of all pictures are large
        x = numpy.pad(images[first:first + 2000].astype(numpy.float32) / 255, ((0, 0), (1, 1), (1, 1)), mode="edge")
        across, down = x[:, 1:-1, 2:] - x[:, 1:-1, :-2], x[:, 2:, 1:-1] - x[:, :-2, 1:-1]
        size = numpy.hypot(across, down)
        angle = numpy.arctan2(down, across) % numpy.pi * (orientations / numpy.pi)
        below = numpy.floor(angle)
        share = angle - below
        below = below.astype(int) % orientations
        part = numpy.zeros((len(x), cells, cells, orientations), numpy.float32)
        for o in range(orientations):
            weight = size * ((below == o) * (1 - share) + (below == (o - 1) % orientations) * share)
            rows = numpy.add.reduceat(weight, edge[:-1], axis=1)
            part[..., o] = numpy.add.reduceat(rows, edge[:-1], axis=2)
        flat = numpy.sqrt(part.reshape(len(x), -1))
        out[first:first + 2000] = flat / numpy.maximum(numpy.linalg.norm(flat, axis=1, keepdims=True), 1e-6)
    return out


def pictures(images, cells=4):
    """What the pictures' models read: histograms of gradients of cells x cells squares in 8 directions, and 7 x 7 means.

    177 numbers with 4 x 4 cells, 441 with 7 x 7.
    """
    return numpy.hstack([gradients(images, cells), pooled(images, 7)])
