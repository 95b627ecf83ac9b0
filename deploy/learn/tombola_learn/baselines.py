"""What other ways of training reach in the same run, by their exact laws: nobody is asked, so no budget is spent.

central   the Gaussian mechanism of somebody who is trusted with all readings
local     the same device programs where nobody shuffles: all that a device ever sends has epsilon0 = epsilon
"""
import math

import numpy

from .analyzer import Estimate
from .driver import STOP, History, Step

__all__ = ["central_sigma", "local_count_deviation", "local_vector_deviation", "simulated"]


def central_sigma(epsilon, delta):
    """Deviation of normal noise for L2 sensitivity 1 (Balle, Wang 2018, theorem 8)."""
    def phi(t):
        return math.erfc(-t / 2**0.5) / 2

    low, high = 1e-3, 1e6
    for _ in range(200):
        s = (low * high)**0.5
        if phi(0.5 / s - epsilon * s) - math.exp(epsilon) * phi(-0.5 / s - epsilon * s) > delta:
            low = s
        else:
            high = s
    return high


def local_count_deviation(epsilon, n, marginals):
    """Of a count, by optimized unary encoding; each device answers one of the marginals, drawn at random."""
    e = math.exp(epsilon)
    return marginals * (n / marginals * 4 * e / (e - 1)**2)**0.5


def local_vector_deviation(epsilon, n, rounds, most=1.0):
    """Of a coordinate of the mean of vectors of length `most`: a device answers one of the rounds, with one sign of the
    rotated vector, cut at 1.25 times its deviation (doc/protocols/vectors.md, rotated)."""
    keeps = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    cut = 1.25
    left = math.erf(cut / 2**0.5)
    return most * cut / (left * keeps * (n / rounds)**0.5)


def simulated(learner, entries, answer, deviation, seed):
    """The History of a training whose answers are exact but for normal noise.

    entries     names, in order
    answer      answer(name, payload) -> exact values
    deviation   deviation(name) -> of the noise of each value
    """
    drawn, steps = numpy.random.default_rng(seed), []
    for name in entries:
        proposed = learner.propose(History(steps, name))
        if proposed is STOP:
            break
        exact = answer(name, proposed or {})
        noise = deviation(name)
        estimate = Estimate((), exact + drawn.normal(0, noise, len(exact)), numpy.full(len(exact), noise**2), 0, {})
        steps.append(Step(name, proposed or {}, estimate, {}))
    return History(steps)
