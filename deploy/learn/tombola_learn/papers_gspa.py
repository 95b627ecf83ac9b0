"""GSPA's Algorithm 3, personalised private SGD, as it is printed: what it learns, and what its noise protects."""
import math

import numpy

__all__ = ["gspa"]

CLIENTS, CLIP, DELTA_LOCAL, STEP, EPOCHS, DELTA, HIDDEN = 100, 2.0, 1e-5, 0.05, 50, 1e-4, 100
# Guarantees of the clients, by name as in the paper's tables.
SETTINGS = {
    "Unif1 U(0.01, 1)": lambda r: r.uniform(0.01, 1, CLIENTS),
    "Unif2 U(0.01, 2)": lambda r: r.uniform(0.01, 2, CLIENTS),
    "Unif3 U(0.5, 1)": lambda r: r.uniform(0.5, 1, CLIENTS),
    "Constant 0.5": lambda r: numpy.full(CLIENTS, 0.5),
}


def of_gaussian(mu, delta):
    """Epsilon of mu-GDP at delta (Dong, Roth, Su 2022, corollary 1); for a mu above 30 by logarithms of the tails."""
    def log_tail(t):
        """log Phi(-t)."""
        if t < 35:
            return math.log(math.erfc(t / 2**0.5) / 2)
        return -t * t / 2 - math.log(t * (2 * math.pi)**0.5) + math.log1p(-1 / t**2)

    def log_delta(epsilon):
        # Phi(-a) - e^epsilon Phi(-b); a is below 35 wherever delta is near 1e-4.
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        first, second = log_tail(a) if a > -8 else 0.0, epsilon + log_tail(b)
        return first + math.log1p(-math.exp(min(second - first, -1e-300))) if second < first else -math.inf

    low, high = 0.0, mu * mu / 2 + 20 * mu + 20
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > math.log(delta) else (low, middle)
    return high


def trained(x, y, tx, ty, epsilons, drawn):
    """Accuracy after the last epoch; None for epsilons: no noise."""
    each = len(x) // CLIENTS
    w1, b1 = drawn.normal(0, (2 / x.shape[1])**0.5, (x.shape[1], HIDDEN)), numpy.zeros(HIDDEN)
    w2, b2 = drawn.normal(0, HIDDEN**-0.5, (HIDDEN, 10)), numpy.zeros(10)
    weights = [w1, b1, w2, b2]
    one = numpy.eye(10)
    for _ in range(EPOCHS):
        for client in drawn.permutation(CLIENTS):
            at = slice(client * each, (client + 1) * each)
            a, k = x[at], y[at]
            h = numpy.maximum(a @ weights[0] + weights[1], 0)
            z = h @ weights[2] + weights[3]
            p = numpy.exp(z - z.max(axis=1, keepdims=True))
            p = (p / p.sum(axis=1, keepdims=True) - one[k]) / each
            back = (p @ weights[2].T) * (h > 0)
            gradient = [a.T @ back, back.sum(axis=0), h.T @ p, p.sum(axis=0)]
            cut = min(1.0, CLIP / max(math.sqrt(sum((g**2).sum() for g in gradient)), 1e-12))
            sigma = 0.0 if epsilons is None else noise(each, epsilons[client])
            weights = [w - STEP * (cut * g + drawn.normal(0, sigma, g.shape)) for w, g in zip(weights, gradient)]
    h = numpy.maximum(tx @ weights[0] + weights[1], 0)
    return float(((h @ weights[2] + weights[3]).argmax(axis=1) == ty).mean())


def noise(each, epsilon):
    """The deviation of line 7, m being the rows of a client."""
    return 2 * CLIP / each * math.sqrt(2 * math.log(1.25 / DELTA_LOCAL)) / epsilon


def printed(epsilons):
    """sqrt(T) mu of the paper's Theorem 5, as an epsilon."""
    kept = (1 - DELTA_LOCAL) / (1 + numpy.exp(epsilons))
    return of_gaussian(math.sqrt(EPOCHS) * math.sqrt(2 / (kept.sum() - kept.max())), DELTA)


def gspa(rows, say):
    """Where a client's rows are all replaced, its clipped gradient moves by 2 C, and line 7 has 2 C / m: m times too little.  The models
    of all steps are seen, each made with the noise of one client, so no shuffling is credited."""
    (x, y), (p, _), (tx, ty) = rows
    centre = p.reshape(len(p), -1).mean(axis=0)
    axes = numpy.linalg.svd((p.reshape(len(p), -1) - centre) / 255, full_matrices=False)[2][:60].T
    x, tx = (((v.reshape(len(v), -1) - centre) / 255) @ axes for v in (x, tx))
    each = len(x) // CLIENTS
    said = f"{CLIENTS} clients of {each} rows, 60 axes, {HIDDEN} hidden units, step {STEP}"
    say(["GSPA", "Algorithm 3 without noise", said, EPOCHS, "none", "none", DELTA,
         trained(x, y, tx, ty, None, numpy.random.default_rng(2)), "simulated"])
    for name, of in SETTINGS.items():
        epsilons = of(numpy.random.default_rng(7))
        worst = math.sqrt(EPOCHS) * 2 * CLIP / noise(each, epsilons.max())
        say(["GSPA", f"Algorithm 3, {name}", said, EPOCHS, printed(epsilons), of_gaussian(worst, DELTA), DELTA,
             trained(x, y, tx, ty, epsilons, numpy.random.default_rng(2)), "simulated"])
