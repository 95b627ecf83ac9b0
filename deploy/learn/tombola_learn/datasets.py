"""The data sets of learn.sh, out of Debian's packages: no download of their own.

Each is (devices, public, test), each part (x, y): the public rows are drawn from the training rows by a fixed seed.
"""
import csv
import gzip
import os

import numpy

__all__ = ["FASHION", "FASHION_CLASSES", "SHUTTLE_CLASSES", "digits", "fashion", "shuttle"]

FASHION = "/usr/share/datasets/fashion-mnist"
FASHION_CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"]
SHUTTLE_CLASSES = ["Rad.Flow", "High", "Bypass", "Fpv.Open", "Fpv.Close", "Bpv.Open", "Bpv.Close"]


def _idx(path):
    """An array in the format of MNIST: two zeroes, a type (8: bytes), the number of dimensions, the dimensions, the bytes."""
    with gzip.open(path, "rb") as f:
        data = f.read()
    if data[:3] != b"\0\0\x08":
        raise ValueError(f"{path}: not an array of bytes in IDX format")
    dims = numpy.frombuffer(data, ">u4", data[3], 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(dims)


def fashion(folder=FASHION):
    """Fashion-MNIST of package dataset-fashion-mnist: images [58000, 28, 28] and labels, 2,000 public, 10,000 for the test."""
    train, test = ((_idx(os.path.join(folder, f"{part}-images-idx3-ubyte.gz")),
                    _idx(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz")).astype(int)) for part in ("train", "t10k"))
    return *_parted(*train, 2000, 2026), test


def _table(path):
    with open(path, newline="") as f:
        rows = csv.reader(f)
        head = next(rows)
        return head, list(rows)


def _parted(x, y, few, seed):
    """The others, and `few` rows drawn by a fixed seed."""
    order = numpy.random.default_rng(seed).permutation(len(x))
    return (x[order[few:]], y[order[few:]]), (x[order[:few]], y[order[:few]])


def shuttle(path):
    """Shuttle telemetry as deploy/demo/fetch-data.sh makes it: 44,000 rows of 9 numbers with their classes, 2,400
    public, 11,600 for the test."""
    _, rows = _table(path)
    x = numpy.array([r[:9] for r in rows], numpy.float32)
    y = numpy.array([SHUTTLE_CLASSES.index(r[9]) for r in rows])
    train, test = _parted(x, y, 11600, 2026)
    return *_parted(*train, 2400, 2026), test


def digits(path):
    """Handwritten digits of 8 x 8 pixels, 0 to 16: 1,200 for training, 237 public, 360 for the test."""
    _, rows = _table(path)
    data = numpy.array(rows, numpy.float32)
    train, test = _parted(data[:, :64], data[:, 64].astype(int), 360, 2026)
    return *_parted(*train, 237, 2026), test
