#!/usr/bin/env python3
"""make-acct-edges.py - the exact values in tests/unit/test_acct_edges.c: sums over every outcome in 60 digits (mpmath)."""
from mpmath import binomial, exp, factorial, mp, mpf, nstr

mp.dps = 60


def outcomes(cells, left, j=0, mass=mpf(1), u=mpf(0), v=mpf(0)):
    """(mass, sum N u, sum N v) of every way to put `left` messages into the cells j, j+1, ..."""
    omega, cu, cv = cells[j]
    if j + 1 == len(cells):
        yield mass * omega**left / factorial(left), u + left * cu, v + left * cv
        return
    for k in range(left + 1):
        yield from outcomes(cells, left - k, j + 1, mass * omega**k / factorial(k), u + k * cu, v + k * cv)


def delta(cells, others, dummies, epsilon):
    """The larger of both directions; cells are doubles, read exactly, their means normalised."""
    cells = [tuple(map(mpf, c)) for c in cells]
    w = sum(c[0] for c in cells)
    mu, mv = sum(c[0] * c[1] for c in cells), sum(c[0] * c[2] for c in cells)
    cells = [(c[0] / w, c[1] / mu, c[2] / mv) for c in cells]
    e, total = exp(mpf(epsilon)), [mpf(0), mpf(0)]
    for b in range(others + 1):
        m = 1 + b + dummies
        chance = binomial(others, b) * w**b * (1 - w) ** (others - b) * w * factorial(m) / m
        for mass, u, v in outcomes(cells, m):
            total[0] += chance * mass * max(0, u - e * v)
            total[1] += chance * mass * max(0, v - e * u)
    return max(total)


def hidden(short, part):
    """Two cells of size `part` that one input never reaches, one large cell, `short` of all missing."""
    rest = 1 - short - 2 * part
    return [(part, 0.5 / part, 0.0), (part, 0.0, 0.5 / part), (rest, 0.5 / rest, 0.5 / rest)]


def infinite(cells, others, dummies):
    """P(every blanket message in a cell with v = 0), as its definition says."""
    cells = [tuple(map(mpf, c)) for c in cells]
    w, mu = sum(c[0] for c in cells), sum(c[0] * c[1] for c in cells)
    w0 = sum(c[0] for c in cells if c[2] == 0)
    victim = sum(c[0] * c[1] for c in cells if c[2] == 0) / mu
    return victim * (1 - w + w0) ** others * (w0 / w) ** dummies


def lopsided(n, epsilon):
    """k-ary response, k = 4096, p = 2981: a report of the victim's symbol outweighs thousands of others."""
    p, k, e = mpf(2981), 4096, exp(mpf(epsilon))
    z = p + k - 1
    r, rest = 1 / z, (k - 2) / z
    total = mpf(0)
    for a in range(0, 9):  # beyond: below 1e-20 of the sum
        for b in range(0, 3):
            for c in range(n - a - b + 1):
                x = a * (p - e) + b * (1 - p * e) + c * (1 - e)
                if x > 0:
                    d = n - a - b - c
                    ways = factorial(n) / (factorial(a) * factorial(b) * factorial(c) * factorial(d))
                    total += ways * r ** (a + b) * rest**c * (1 - 2 * r - rest) ** d * x
    return total / n


def show(name, value):
    print(name, nstr(value, 20))


if __name__ == "__main__":
    near_all = [
        (0.0009514711352945061, 0.6666146255646663, 3.2803474290115426),
        (0.999048526694115, 1.0003175072586625, 0.9978282507948227),
        (2.165157778235789e-09, 1.6499091878939585, 0.11880174730285897),
    ]
    show("near all", delta(near_all, 1, 7, 2.5544391701925493))
    show("hidden 1e-15", delta(hidden(1.3e-14, 1e-15), 1, 0, 40.0))
    show("hidden 1e-16", delta(hidden(1.3e-14, 1e-16), 1, 0, 40.0))
    tiny = [(1e-10, 1.0, 1e-300), (1 - 1e-10, 1.0, 1 / (1 - 1e-10))]
    show("underflow", delta(tiny, 1, 0, 685.0))
    bins = [(1e-12, 1e12, 0.0), (1e-12, 0.0, 1e12), (1 - 2e-12, 0.0, 0.0)]
    show("infinite, others", infinite(bins, 10**12, 0))
    show("infinite, mixed", infinite(bins, 5 * 10**11, 4 * 10**11))
    for n, epsilon in ((200, 3.5), (200, 4.0), (1000, 2.5)):
        show(f"lopsided {n} {epsilon}", lopsided(n, epsilon))
