"""peers.py - the accountant beside other ways to the same numbers, in one run on one machine.

    /usr/bin/python3 tests/bench/peers.py [--build build/release] [--long]      needs python3-numpy, python3-scipy

The peers' packages are not installed here: each is written again from its paper, as its authors' script goes about it
("script": Python loops over scalar calls) and, to be fair to the method, with arrays ("arrays").  What their authors
report of their own scripts stands in doc/performance.md.  Every job runs in a process of its own; times are CPU
seconds without start-up and imports, ours the median of seven, theirs of three (one if above 10 s).  "Over the truth"
is measured against our certified interval of the *same pair of laws*: the method's error, not the reduction's.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()


# -- one round, two counts: Wang et al., VLDB 2024, Theorem 4.8 --------------------------------------------------------

def ratio_delta(eps, p, beta, q, n, tail, span):
    """delta of the published pair: an expectation over the clones c of three binomial tails of A ~ Bin(c, 1/2)."""
    import numpy as np
    alpha = beta / (p - 1)
    r = p * alpha / q
    e = math.exp(eps)

    def least(m):  # the optimal test accepts counts of the first symbol from here on, m special messages in all
        rest = (1 - alpha - p * alpha) * (n - m) * r / (1 - 2 * r) / alpha
        return np.ceil(((e - 1) * rest + m * (p * e - 1)) / ((p - 1) * (1 + e)))

    def inside(c):
        one, none = least(c + 1.0), least(1.0 * c)
        up, same, out = tail(one - 1, c), tail(one, c), tail(none, c)
        rest = 1 - alpha - p * alpha
        return p * alpha * up + alpha * same + rest * out - e * (alpha * up + p * alpha * same + rest * out)

    return span(inside, n - 1, 2 * r)


def tail_scalar(k, c):
    """P(A >= k), one call each."""
    import numpy as np
    from scipy import stats
    return np.array([1 - stats.binom.cdf(int(k_) - 1, int(c_), 0.5) for k_, c_ in zip(k, c)])


def tail_array(k, c):
    from scipy import stats
    return stats.binom.sf(k - 1, c, 0.5)


def span_chunks(tolerance):
    """Outwards from the median in chunks of 32 until one adds less than the tolerance: what scipy's expect does."""
    import numpy as np
    from scipy import stats

    def span(inside, trials, chance):
        middle, total = int(stats.binom.median(trials, chance)), 0.0
        for step in (1, -1):
            at = middle if step > 0 else middle - 1
            while 0 <= at <= trials:
                c = np.arange(at, min(max(at + 32 * step, -1), trials + 1), step)
                add = float(np.sum(inside(c) * stats.binom.pmf(c, trials, chance)))
                total += add
                at += 32 * step
                if abs(add) < tolerance:
                    break
        return total
    return span


def span_window(mass):
    """All c within the Bernstein radius of `mass`."""
    import numpy as np
    from scipy import stats

    def span(inside, trials, chance):
        log = math.log(2 / mass)
        half = math.sqrt(2 * log * trials * chance * (1 - chance)) + 2 * log / 3 + 3
        c = np.arange(max(0, math.floor(trials * chance - half)), min(trials, math.ceil(trials * chance + half)) + 1)
        return float(np.sum(inside(c) * stats.binom.pmf(c, trials, chance)))
    return span


def ratio_epsilon(p, beta, q, n, delta, arrays, iterations=20):
    """Bisection from log p; the slack n * tolerance is the authors' allowance for what the chunks leave out."""
    tolerance = max(1e-19, min(1e-14, delta / n / 10))
    slack = 1e-6 * delta if arrays else n * tolerance
    tail, span = (tail_array, span_window(slack)) if arrays else (tail_scalar, span_chunks(tolerance))
    low, high = 0.0, math.log(p)
    for _ in range(iterations):
        middle = (low + high) / 2
        if ratio_delta(middle, p, beta, q, n, tail, span) + slack > delta:
            low = middle
        else:
            high = middle
    return high


# -- clones: Feldman, McMillan, Talwar 2021, Appendix E, and 2023 ------------------------------------------------------

def clones_epsilon(eps0, n, delta, chance, iterations=10, step=100):
    """c ~ Bin(n-1, chance) clones in steps of 100, each charged its worse end; both directions; one call each."""
    from scipy import stats
    alpha = 1 / (1 + math.exp(-eps0))

    def one(c, eps, forwards):
        e = math.exp(eps)
        cut = (c + 1) * (alpha * e - (1 - alpha)) / ((2 * alpha - 1) * (1 + e))
        if forwards:  # counts of the first symbol from the cut on
            k = math.ceil(cut)
            same, up = 1 - stats.binom.cdf(k - 1, c, 0.5), 1 - stats.binom.cdf(k - 2, c, 0.5)
        else:  # the mirrored test
            k = math.floor(c + 1 - cut)
            same, up = stats.binom.cdf(k, c, 0.5), stats.binom.cdf(k - 1, c, 0.5)
        first, second = alpha * up + (1 - alpha) * same, (1 - alpha) * up + alpha * same
        return first - e * second if forwards else second - e * first

    def at(eps):
        sums, used, k = [0.0, 0.0], 0.0, 0
        middle = int((n - 1) * chance)
        while True:
            for low in ({middle + k * step, middle - (k + 1) * step} if k else {middle, middle - step}):
                low, high = max(low, 0), min(low + step - 1, n - 1)
                if low > high:
                    continue
                mass = stats.binom.cdf(high, n - 1, chance) - stats.binom.cdf(low - 1, n - 1, chance)
                for way in (0, 1):
                    sums[way] += mass * max(one(low, eps, not way), one(high, eps, not way))
                used += mass
            k += 1
            if max(sums) > delta:
                return delta * 2
            if 1 - used < min(sums) or k * step > n:
                return max(sums) + max(0.0, 1 - used)

    a = 8 * math.sqrt(math.exp(eps0) * math.log(4 / delta) / n)
    valid = eps0 < math.log(n / (16 * math.log(4 / delta)))
    low, high = 0.0, math.log(1 + (a + 8 * math.exp(eps0) / n) * math.tanh(eps0 / 2)) if valid else eps0
    for _ in range(iterations):
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle) < delta else (middle, high)
    return high


# -- compositions: the FFT accountant of Koskela, Heikkila, Honkela 2023 as the numerical-composition paper uses it ----

def fft_losses(p, beta, q, n, arrays):
    """(loss, mass) of the published pair by Hoeffding radii of e^-60; a double loop, or rows as arrays."""
    import numpy as np
    from scipy.special import gammaln
    alpha = beta / (p - 1)
    r = p * alpha / q
    rest = 1 - alpha - p * alpha
    half = math.sqrt(60 / (2 * (n - 1)))
    first, last = max(0, math.floor((n - 1) * (2 * r - half))), min(n - 1, math.ceil((n - 1) * (2 * r + half)))
    losses, masses = [], []
    for i in range(first, last + 1):
        arm = i * math.sqrt(60 / (2 * (i + 1)))
        j0, j1 = max(0, math.floor(i / 2 - arm)), min(i, math.ceil(i / 2 + arm))
        for j in ([np.arange(j0, j1 + 1)] if arrays else range(j0, j1 + 1)):
            a, b = j + 1, i - j
            left = rest * (n - a - b) * r / (1 - 2 * r) / alpha
            log_base = (gammaln(n) - gammaln(n - i) - gammaln(j + 1) - gammaln(i - j + 1) + i * math.log(2 * r)
                        + (n - 1 - i) * math.log(1 - 2 * r) - i * math.log(2))
            losses.append(np.log((p * a + b + left) / (a + p * b + left)))
            masses.append(np.exp(log_base + np.log((p * a + b + left) * alpha / a)))
    join = np.concatenate if arrays else np.array
    return join(losses), join(masses)


def fft_epsilon(p, beta, q, n, count, deltas, arrays, points=10**7, reach=20.0):
    """epsilon at each delta of `count` rounds; losses rounded up to a grid of `points` on [-reach, reach]."""
    import numpy as np
    loss, mass = fft_losses(p, beta, q, n, arrays)
    step = 2 * reach / points
    grid = np.linspace(-reach, reach - step, points)
    law = np.zeros(points)
    where = np.ceil((loss + reach) / step).astype(int)
    if arrays:
        np.add.at(law, where, mass)
    else:
        for k in range(len(where)):
            law[where[k]] += mass[k]
    law = np.real(np.fft.fftshift(np.fft.ifft(np.fft.fft(np.fft.fftshift(law)) ** count)))

    def delta_at(eps):
        start = math.ceil((reach + eps) / step)
        return float(np.sum((1 - np.exp(eps - grid[start:])) * law[start:]))

    found = []
    for delta in deltas:
        low, high = 0.0, reach / 2
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
        found.append(high)
    return found


# -- one round, the blanket's variable by FFT: Su, Cheng, Wang 2025 ----------------------------------------------------

def blanket_epsilon(eps0, k, n, delta):
    """delta = E(G_1 + ... + G_n)+ / n for k-ary response; G rounded up to multiples of (e^eps0 - 1)/1200."""
    import numpy as np
    p, step = math.exp(eps0), (math.exp(eps0) - 1) / 1200
    blanket = 1 / (p + k - 1)

    def at(eps):
        e = math.exp(eps)
        law = {}
        for value, mass in ((p - e, blanket), (1 - p * e, blanket), (1 - e, (k - 2) * blanket), (0, 1 - k * blanket)):
            cell = math.ceil(value / step)
            law[cell] = law.get(cell, 0) + mass
        first, last = min(law), max(law)
        grid = np.zeros(1 << (n * (last - first)).bit_length())
        for cell, mass in law.items():
            grid[cell - first] = mass
        total = np.fft.ifft(np.fft.fft(grid) ** n).real[-first * n:n * (last - first) + 1]
        return float(np.sum(np.linspace(0, n * last * step, len(total)) * np.maximum(total, 0))) / n

    low, high = 1e-6, eps0
    if eps0 < math.log(n / (16 * math.log(4 / delta))):
        high = math.log(1 + 8 * math.sqrt(p * math.log(4 / delta) / n) + 8 * p / n)
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) > delta else (low, middle)
    return high


# -- jobs --------------------------------------------------------------------------------------------------------------

E = math.exp


def strong(eps0):
    return E(eps0), (E(eps0) - 1) / (E(eps0) + 1), E(eps0)


def jobs(long):
    """(what, peer, function, [(delta, our rounds)])."""
    def one_round(n, arrays):
        return lambda: [ratio_epsilon(*strong(2.0), n, 0.01 / n, arrays)]

    for n in (10**4, 10**6, 10**8):
        text = [(0.01 / n, f"generic:eps0=2,n={n}")]
        if n < 10**8 or long:
            yield f"one round, n = {n:.0e}", "variation ratio, script", one_round(n, False), text
        yield f"one round, n = {n:.0e}", "variation ratio, arrays", one_round(n, True), text
    p = E(5.0)
    yield ("one round, 16-ary response, n = 1e+03", "variation ratio, arrays",
           lambda: [ratio_epsilon(p, (p - 1) / (p + 15), p, 1000, 1e-8, True)], [(1e-8, "grr:k=16,eps0=5,n=1000")])
    o = E(4.0)
    weak = f"pair:p={o!r},beta={(o - 1) / (o + 1)!r},q={2 * o * o / (o + 1)!r},n=100000"
    yield ("one round, clones 2021, n = 1e+05", "clones, script",
           lambda: [clones_epsilon(4.0, 10**5, 1e-6, E(-4.0))], [(1e-6, weak)])
    yield ("one round, clones 2023, n = 1e+05", "clones, script",
           lambda: [clones_epsilon(4.0, 10**5, 1e-6, 2 / (E(4.0) + 1))], [(1e-6, "generic:eps0=4,n=100000")])
    for n in (10**3, 10**4):
        if n < 10**4 or long:
            yield (f"one round, 16-ary response, n = {n:.0e}", "blanket FFT, arrays",
                   lambda n=n: [blanket_epsilon(3.0, 16, n, 1e-6)], [(1e-6, f"grr:k=16,eps0=3,n={n}")])
    for n in (10**4, 10**5):
        text = [(d, f"generic:eps0=2,n={n},count=256") for d in (1e-6, 1e-16)]

        def fold(arrays, n=n):
            return lambda: fft_epsilon(*strong(2.0), n, 256, [1e-6, 1e-16], arrays)
        if n < 10**5 or long:
            yield f"256 rounds, n = {n:.0e}", "FFT, script", fold(False), text
        yield f"256 rounds, n = {n:.0e}", "FFT, arrays", fold(True), text


def run_job(number, long):
    """In a process of its own: one warm-up of the imports, then the job."""
    import numpy  # noqa: F401
    from scipy import special, stats  # noqa: F401
    stats.binom.cdf(1, 2, 0.5)
    function = list(jobs(long))[number][2]
    start = time.process_time()
    values = function()
    seconds = time.process_time() - start
    print(json.dumps({"values": values, "seconds": seconds,
                      "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def theirs(number, long):
    runs = []
    while len(runs) < 3 and not (runs and runs[0]["seconds"] > 10):
        done = subprocess.run([sys.executable, HERE, "--job", str(number)] + ["--long"] * long, check=True,
                              capture_output=True, text=True)
        runs.append(json.loads(done.stdout))
    return runs[0]["values"], statistics.median(run["seconds"] for run in runs), max(run["kib"] for run in runs)


def ours(build, delta, text):
    done = subprocess.run([build / "bench/bench_accountant", repr(delta), text], check=True, capture_output=True,
                          text=True)
    lower, upper, seconds, kib = done.stdout.split()
    return float(lower), float(upper), float(seconds), int(kib)


def verdict(value, lower, upper):
    if value < lower:
        return f"too small by {1 - value / lower:.1e}"
    return f"+{max(value / lower - 1, 0):.1e}"


def times(ratio):
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", type=Path, default=HERE.parents[2] / "build/release")
    options.add_argument("--long", action="store_true", help="also the jobs that take minutes")
    options.add_argument("--job", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.job is not None:
        run_job(given.job, given.long)
        return
    print("| job | delta | peer | s | MiB | over the truth | ours: s | MiB | width | times faster |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    peak = 0
    for number, (what, peer, _, questions) in enumerate(jobs(given.long)):
        values, seconds, kib = theirs(number, given.long)
        for value, (delta, text) in zip(values, questions):
            lower, upper, our_seconds, our_kib = ours(given.build, delta, text)
            peak = max(peak, our_kib)
            print(f"| {what} | {delta:.0e} | {peer} | {seconds:.3g} | {kib / 1024:.0f} | "
                  f"{verdict(value, lower, upper)} | {our_seconds:.2g} | {our_kib / 1024:.1f} | "
                  f"{1 - lower / upper:.1e} | {times(seconds / our_seconds)} |", flush=True)
    print(f"\nour largest process: {peak / 1024:.1f} MiB")
    if peak > 64 * 1024:
        sys.exit("more than 64 MiB")


if __name__ == "__main__":
    main()
