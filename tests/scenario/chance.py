"""chance.py - how far from the truth chance takes an estimate, so that no test fails by chance.

A gate runs some thousands of such comparisons; each fails by chance with probability ALARM at most, so one gate in 10^8 does."""
import math

ALARM = 1e-12


def margin(variance, step):
    """A sum of independent terms of this variance in all, none of which is further than `step` from its own mean, is further
    than this from its mean with probability ALARM at most: Bernstein's inequality.  7.5 deviations where step is small."""
    log = math.log(2 / ALARM)
    return step * log / 3 + math.sqrt((step * log / 3) ** 2 + 2 * log * variance)


def near(value, truth, variance, step=None, messages=100):
    """Is the estimate as near to the truth as chance leaves it?

    step: by how much one message moves it.  Unless it is given, the estimate sums so many messages at least, each of which
    moves it about as much as the others."""
    return abs(value - truth) < margin(variance, math.sqrt(variance / messages) if step is None else step)


def within(item, truth, step=None, messages=100):
    """near() for an item of a result.  A count: step is one over the difference of the probabilities with which a message
    names the category when it is the device's and when it is not; at most 4 in these tests."""
    return near(item["value"], truth, item["variance"], step, messages)


def most(intervals, missed):
    """Of so many intervals, each of which misses the truth with probability `missed`, more miss it with probability ALARM at
    most: the binomial tail, summed from its far end."""
    tail, k = 0.0, intervals
    while k > 0:
        tail += math.comb(intervals, k) * missed**k * (1 - missed) ** (intervals - k)
        if tail > ALARM:
            return k
        k -= 1
    return 0
