#!/usr/bin/env python3
"""The curve of Gaussian differential privacy, {mu, epsilon, delta}, with 40 digits (python3-mpmath)."""
from mpmath import mp, mpf, erfc, exp, sqrt, nstr

mp.dps = 60


def phi(x):
    return erfc(-x / sqrt(2)) / 2


for mu in ("0.01", "0.1", "1", "5"):
    for times in ("0", "0.5", "3", "8", "20"):
        m, e = mpf(float(mu)), mpf(float(mu) * float(times))
        delta = phi(-e / m + m / 2) - exp(e) * phi(-e / m - m / 2)
        print("{ %r, %r, %s }," % (float(m), float(e), nstr(delta, 20)))
