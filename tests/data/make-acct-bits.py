#!/usr/bin/env python3
"""Writes acct-bits.csv: deltas of shuffled bits, computed with 60 digits and without the accountant's formulas.

Of the other bits m have the chance P of a one and the rest Q = 1 - P; coins are fair.  For every m that is listed the
law of their sum is a convolution, and delta is the best of all tests "more than j ones".  Up to 300 bits every m is
listed.  Above, the last few of them: what a data set attains, which is at most the answer and hardly below it."""
from decimal import Decimal, getcontext
import sys

getcontext().prec = 60
ONE = Decimal(1)
# The last coefficients B_2k/(2k(2k-1)) of Stirling's series matter only for small arguments, which are shifted.
STIRLING = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400),
            (43867, 244188), (-174611, 125400), (77683, 5796), (-236364091, 1506960), (657931, 300)]
PI = Decimal('3.14159265358979323846264338327950288419716939937510582097494459230781640628620899')


def log_factorial(n):
    x, shift = Decimal(n) + 1, Decimal(0)
    while x < 200:
        shift -= x.ln()
        x += 1
    s = (x - Decimal('0.5')) * x.ln() - x + (2 * PI).ln() / 2
    power = x
    for a, b in STIRLING:
        s += Decimal(a) / Decimal(b) / power
        power *= x * x
    return s + shift


def binomial(n, p, q, first, last):
    """Chances of first..last ones."""
    first = max(first, 0)
    at = (log_factorial(n) - log_factorial(first) - log_factorial(n - first) + first * p.ln() +
          (n - first) * q.ln()).exp()
    out = []
    for j in range(first, min(last, n) + 1):
        out.append(at)
        at = at * (n - j) / (j + 1) * p / q
    return first, out


def bit(law, p):
    """One more bit of chance p."""
    out = [x * (1 - p) for x in law] + [Decimal(0)]
    for i, x in enumerate(law):
        out[i + 1] += x * p
    return out


def best(first, law, p, q, e):
    """Over j: P(Y1 > j) - e P(Y0 > j), where law begins at the first of all ones that matter."""
    above, found = Decimal(0), Decimal(0)
    for f in reversed(law):
        found = max(found, (p - e * q) * f + (1 - e) * above)
        above += f
    return found


def chances(eps0):
    e0 = Decimal(eps0).exp()
    return e0 / (1 + e0), 1 / (1 + e0)


def small(n, coins, eps0, eps):
    p, q = chances(eps0)
    e = Decimal(eps).exp()
    found = Decimal(0)
    for m in range(n):
        law = [ONE]
        for k in range(n - 1 + coins):
            law = bit(law, p if k < m else q if k < n - 1 else Decimal('0.5'))
        found = max(found, best(0, law, p, q, e))
    return found


def large(n, eps0, eps, last):
    p, q = chances(eps0)
    e = Decimal(eps).exp()
    mean, sd = int(n * p), int((n * p * q).sqrt()) + 1
    # Below the plain mean no test is best; far above it nothing is left.
    first, law = binomial(n - 1 - last, p, q, mean - 2 * last - 20, mean + 14 * sd + 200)
    found = Decimal(0)
    for m in range(n - 1 - last, n):
        here = law
        for k in range(last):
            here = bit(here, p if n - 1 - last + k < m else q)
        # The first entries miss what lies below the window.
        found = max(found, best(first, here[last + 5:], p, q, e))
    return found


SMALL = [(n, coins, eps0, x) for n, coins in ((2, 0), (7, 2), (40, 0), (60, 20), (110, 0)) for eps0 in ('0.1', '1', '3', '9')
         for x in ('0', '0.3', '0.8')]
# Here the best m is in the middle, which the accountant's certificate covers without looking at it.
SMALL += [(150, 0, '0.5', '0'), (140, 0, '0.5', '0'), (200, 0, '1', '0')]
LARGE = [(10**4, '1', ('0.01', '0.04', '0.07')), (10**4, '3', ('0.05', '0.17', '0.3')), (10**5, '2', ('0.01', '0.03')),
         (10**5, '5', ('0.05', '0.15')), (10**6, '1', ('0.003', '0.006')), (10**7, '3', ('0.002', '0.005')),
         (10**8, '0.5', ('0.00002', '0.0001'))]


def main():
    with open(sys.argv[1], 'w') as out:
        out.write('n,coins,eps0,eps,delta\n')
        for n, coins, eps0, part in SMALL:
            eps = str(Decimal(eps0) * Decimal(part))
            out.write('%d,%d,%s,%s,%.25e\n' % (n, coins, eps0, eps, small(n, coins, eps0, eps)))
        for n, eps0, list_of_eps in LARGE:
            for eps in list_of_eps:
                out.write('%d,0,%s,%s,%.25e\n' % (n, eps0, eps, large(n, eps0, eps, 25 if n < 10**5 else 6)))


if __name__ == '__main__':
    main()
