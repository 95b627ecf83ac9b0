#!/usr/bin/env python3
"""Writes acct-analyses.csv: values of the accountant's classical analyses from their definitions, in 50 digits.

Divergences come from sums over all outcomes, closed forms from their formulas as printed, the best conversion from
the pairs of two outcomes that attain it.  Needs python3-mpmath.  Columns: what, parameters, value."""
import itertools
from mpmath import mp, mpf, exp, log, sinh, gamma, binomial, findroot, floor, log1p, expm1, inf

mp.dps = 50


def multinomial(counts):
    out, total = mpf(1), 0
    for c in counts:
        total += c
        out *= binomial(total, c)
    return out


def counts(total, cells):
    if cells == 1:
        yield (total,)
        return
    for k in range(total + 1):
        for rest in counts(total - k, cells - 1):
            yield (k,) + rest


def outcomes(cells, others, dummies):
    """(P, Q) masses: the sum over blanket counts of Mult(M; omega/W) (W/M) sum N u, sum N v."""
    w = sum(c[0] for c in cells)
    for b in range(others + 1):
        rest = mpf(1) - w
        chance = binomial(others, b) * w ** b * (rest ** (others - b) if others > b else 1)
        if chance == 0:
            continue
        m = 1 + b + dummies
        for n in counts(m, len(cells)):
            base = chance * multinomial(n)
            for c, k in zip(cells, n):
                base *= (c[0] / w) ** k
            yield (base * w / m * sum(k * c[1] for c, k in zip(cells, n)),
                   base * w / m * sum(k * c[2] for c, k in zip(cells, n)))


def renyi(pairs, alpha):
    both = []
    for way in (0, 1):
        s = mpf(0)
        for pq in pairs:
            p, q = pq[way], pq[1 - way]
            if p > 0:
                s += p ** alpha * q ** (1 - alpha)
        both.append(log(s) / (alpha - 1))
    return max(both)


def generic(e0):
    p = exp(mpf(e0))
    return [(1 / (p + 1), p, mpf(1)), (1 / (p + 1), mpf(1), p)]


def krr(k, e0):
    p = exp(mpf(e0))
    z = p + k - 1
    return [(1 / z, p, mpf(1)), (1 / z, mpf(1), p), ((k - 2) / z, mpf(1), mpf(1))]


def equal_inputs(e0):
    """Binary randomized response of others that all hold one input: not symmetric."""
    p = exp(mpf(e0))
    return [(1 / (p + 1), p, mpf(1)), (p / (p + 1), 1 / p, mpf(1))]


def special(e0, n, l):
    p = exp(mpf(e0))
    c = 1 / (p + 1)
    return sum(binomial(n, k) * c ** k * (1 - c) ** (n - k) * (mpf(k) / n * p + (1 - mpf(k) / n) / p) ** l
               for k in range(n + 1))


def lb_large(e0, n, l):
    """The same moment from the binomial's central moments: E (1+gz)^l, l small."""
    p = exp(mpf(e0))
    c = 1 / (p + 1)
    g = (p - 1 / p) / n
    # central moments by the recurrence mu_{r+1} = c(1-c)(d mu_r/dc + n r mu_{r-1}), as polynomials in c
    mu = [[mpf(1)], [mpf(0)]]
    for r in range(1, l):
        a = [i * mu[r][i] for i in range(1, len(mu[r]))] or [mpf(0)]
        b = [n * r * x for x in mu[r - 1]]
        d = [(a[i] if i < len(a) else 0) + (b[i] if i < len(b) else 0) for i in range(max(len(a), len(b)))]
        out = [mpf(0)] * (len(d) + 2)
        for i, x in enumerate(d):
            out[i + 1] += x
            out[i + 2] -= x
        mu.append(out)
    return sum(binomial(l, i) * g ** i * sum(x * c ** j for j, x in enumerate(mu[i])) for i in range(l + 1))


def ub1(e0, n, l, refined=False):
    e = exp(mpf(e0))
    nb = floor((n - 1) / (2 * e)) + 1
    s = 1 + binomial(l, 2) * (e - 1) ** 2 / (nb * e)
    s += sum(binomial(l, i) * i * gamma(mpf(i) / 2) * ((e ** 2 - 1) ** 2 / (2 * e ** 2 * nb)) ** (mpf(i) / 2)
             for i in range(3, l + 1))
    s += (e ** l - (1 if refined else 0)) * exp(-(n - 1) / (8 * e))
    return log(s) / (l - 1)


def sub21(e0, k, g, l):
    e, g = exp(mpf(e0)), mpf(g)
    kb = floor((k - 1) / (2 * e)) + 1
    s = 1 + 4 * binomial(l, 2) * g ** 2 * (e - 1) ** 2 / (kb * e)
    s += sum(binomial(l, j) * g ** j * j * gamma(mpf(j) / 2) * (2 * (e ** 2 - 1) ** 2 / (kb * e ** 2)) ** (mpf(j) / 2)
             for j in range(3, l + 1))
    z = g * (e ** 2 - 1) / (2 * e)
    s += ((1 + z) ** l - 1 - l * z) * exp(-(k - 1) / (8 * e))
    return log(s) / (l - 1)


def poisson(e0, n, g, l):
    g = mpf(g)
    s = (1 - g) ** (l - 1) * (1 + (l - 1) * g) + binomial(l, 2) * g ** 2 * (1 - g) ** (l - 2) * exp(ub1(e0, n, 2))
    s += 3 * sum(binomial(l, j) * (1 - g) ** (l - j) * g ** j * exp((j - 1) * ub1(e0, n, j)) for j in range(3, l + 1))
    return log(s) / (l - 1)


def wor(e0, n, g, l):
    g, far = mpf(g), expm1(mpf(e0))
    e2 = exp(ub1(e0, n, 2))
    s = 1 + g ** 2 * binomial(l, 2) * min(4 * (e2 - 1), e2 * min(2, far ** 2))
    s += sum(g ** j * binomial(l, j) * exp((j - 1) * ub1(e0, n, j)) * min(2, far ** j) for j in range(3, l + 1))
    return log(s) / (l - 1)


def best_epsilon(alpha, rho, delta):
    """The largest epsilon of a pair of two outcomes (p, q) with divergence rho and p - e^epsilon q = delta."""
    m, delta = exp((alpha - 1) * mpf(rho)), mpf(delta)

    def eps(logit):
        q = 1 / (1 + exp(-logit))

        def moment(p):
            return p ** alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha) - m
        low, high = q, mpf(1)
        if moment(high) <= 0:
            p = high
        else:
            for _ in range(170):
                mid = (low + high) / 2
                low, high = (mid, high) if moment(mid) < 0 else (low, mid)
            p = low
        return log((p - delta) / q) if p > delta else -inf

    grid = [mpf(x) / 4 for x in range(-640, 20)]
    x = max(grid, key=eps)
    low, high = x - mpf(1) / 4, x + mpf(1) / 4
    for _ in range(110):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (a, high) if eps(a) < eps(b) else (low, b)
    return max(mpf(0), eps((low + high) / 2))


def rows():
    for name, cells, e0s in (("generic", generic, ("0.1", "1", "4")), ("equal", equal_inputs, ("0.5", "2")),
                             ("krr5", lambda e: krr(5, e), ("0.5", "3"))):
        for e0 in e0s:
            for others, dummies in ((0, 0), (1, 0), (9, 0), (30, 0), (6, 4)):
                if len(cells(e0)) > 2 and others > 9:
                    others = 14
                pairs = list(outcomes(cells(e0), others, dummies))
                for alpha in ("1.001", "1.5", "2", "7.3", "64", "900"):
                    yield ("renyi", f"cells={name};eps0={e0};others={others};dummies={dummies};order={alpha}",
                           renyi(pairs, mpf(alpha)))
    for e0, others, alpha in (("4", 120, "300"), ("2", 120, "2000"), ("6", 90, "60")):
        yield ("renyi", f"cells=generic;eps0={e0};others={others};dummies=0;order={alpha}",
               renyi(list(outcomes(generic(e0), others, 0)), mpf(alpha)))
    for e0, n, l in (("0.1", 100, 2), ("1", 50, 3), ("3", 400, 12), ("0.5", 1000, 200), ("2", 1, 5)):
        yield "lb", f"eps0={e0};n={n};order={l}", log(special(e0, n, l)) / (l - 1)
    for e0, n, l in (("0.1", 10 ** 4, 2), ("0.1", 10 ** 4, 10), ("1", 10 ** 5, 10), ("3", 10 ** 6, 5), ("0.5", 10 ** 6, 3),
                     ("0.5", 10 ** 9, 4)):
        yield "lb", f"eps0={e0};n={n};order={l}", log(lb_large(e0, n, l)) / (l - 1)
    for e0, n, l in (("0.5", 60, 4), ("2", 80, 3), ("1", 40, 30), ("1", 1, 4)):
        c = exp(-mpf(e0))
        s = sum(binomial(n - 1, m) * c ** m * (1 - c) ** (n - 1 - m) * special(e0, m + 1, l) for m in range(n))
        yield "special", f"eps0={e0};n={n};order={l}", log(s) / (l - 1)
    for e0, n, l in (("0.01", 100, 2), ("0.5", 1000, 40), ("3", 10 ** 6, 700), ("1", 10 ** 9, 20000), ("9", 10, 3)):
        yield "ub1", f"eps0={e0};n={n};order={l}", ub1(e0, n, l)
        yield "ub1_refined", f"eps0={e0};n={n};order={l}", ub1(e0, n, l, True)
    for e0, k, g, l in (("3", 1000, "0.01", 20), ("0.5", 10 ** 5, "0.3", 300), ("1", 10, "1", 2)):
        yield "sub21", f"eps0={e0};n={k};sampled={g};order={l}", sub21(e0, k, g, l)
    for e0, n, g, l in (("3", 1000, "0.001", 12), ("0.5", 10 ** 4, "0.1", 64), ("1", 100, "0.5", 3), ("0.3", 50, "1", 5)):
        yield "poisson", f"eps0={e0};n={n};sampled={g};order={l}", poisson(e0, n, g, l)
        yield "wor", f"eps0={e0};n={n};sampled={g};order={l}", wor(e0, n, g, l)
    for alpha, rho, delta in (("8", "0.1", "1e-5"), ("1.5", "0.02", "1e-3"), ("50", "0.01", "1e-8"), ("3", "1", "1e-6"),
                              ("2", "3", "0.2"), ("1.05", "0.5", "1e-4")):
        yield "convert", f"order={alpha};rdp={rho};delta={delta}", best_epsilon(mpf(alpha), rho, delta)
    for n, p, k in ((10, "0.3", 3), (10 ** 6, "0.37", 371234), (10 ** 12, "0.7", 7 * 10 ** 11 + 3 * 10 ** 6), (1000, "1e-6", 9),
                    (17, "0.999", 0), (40, "0.5", 40)):
        q = mpf(p)
        yield "binomial", f"n={n};p={p};k={k}", (mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
                                                 + k * log(q) + (n - k) * log(1 - q))


if __name__ == "__main__":
    with open("acct-analyses.csv", "w") as out:
        out.write("what,params,value\n")
        for what, params, value in rows():
            out.write(f"{what},{params},{mp.nstr(value, 17)}\n")
