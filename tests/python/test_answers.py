"""Answers: the command's to the last digit, and the truth."""

import csv
import json
import math
import subprocess
from collections import Counter
from fractions import Fraction

import pytest

from conftest import BUILD, SOURCE
from tombola_accountant import (AccountantError, ComposedDpEvent, NoOpDpEvent, PLDAccountant, PrivacyAccountant,
                                RandomizedResponseDpEvent, RdpAccountant, SelfComposedDpEvent, ShuffledDpEvent,
                                Worth, methods)

ROUNDS = [
    ["generic:eps0=2,n=10000"],
    ["grr:k=16,eps0=3,n=10000,count=16"],
    ["grr:k=7,eps0=6,n=50000,count=2", "bins:k=7,dummies=50000,n=50000"],
    ["vrr:s=4,eps0=4,n=10000", "rappor:d=16,eps0=3,n=100000,count=5", "mixbins:k=4,eps0=1,n=100,dummies=30"],
    ["pair:p=inf,beta=0.4,q=5,q2=5,n=5000"],
    ["digits:base=4,digits=3,eps0=1,n=10000,dummies=500,count=2", "gspa-pooled:k=4,eps0=1/2,least=500/500,n=2000",
     "noise:epsilon=0.1,mean=400"],
]


def compose(rounds):
    accountant = PLDAccountant()
    for text in rounds:
        accountant.compose(ShuffledDpEvent(text))
    return accountant


def command(*arguments):
    done = subprocess.run([BUILD / "bin/tombola-accountant", *arguments, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_command_says_the_same_to_the_last_digit(rounds):
    listed = [argument for text in rounds for argument in ("--round", text)]
    accountant = compose(rounds)

    said = command("epsilon", "--delta", "1e-7", *listed)
    assert accountant.get_epsilon_bounds(1e-7) == (said["epsilon_lower"], said["epsilon_upper"])
    said = command("delta", "--epsilon", "0.25", *listed)
    assert accountant.get_delta_bounds(0.25) == (said["delta_lower"], said["delta_upper"])


WORTH = {"proved": Worth.PROVED, "approximate (not a guarantee)": Worth.APPROXIMATE,
         "paper value (not a guarantee)": Worth.PAPER_VALUE, "proved lower bound": Worth.LOWER}


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize("rounds", ROUNDS[:3])
def test_every_analysis_says_what_the_command_says(method, rounds):
    listed = [argument for text in rounds for argument in ("--round", text)]
    done = subprocess.run([BUILD / "bin/tombola-accountant", "epsilon", "--delta", "1e-6", "--method", method, "--json",
                           *listed], capture_output=True, text=True)
    if done.returncode:
        with pytest.raises(AccountantError) as fault:
            compose(rounds).epsilon_by(method, 1e-6)
        assert str(fault.value) in done.stderr
        return
    said = json.loads(done.stdout)
    answer = compose(rounds).epsilon_by(method, 1e-6)
    assert answer.upper == (math.inf if said["epsilon_upper"] is None else said["epsilon_upper"])
    assert answer.lower == said["epsilon_lower"]
    assert answer.worth is WORTH[said["worth"]]
    assert answer.note == said.get("note", "")


def test_guarantees_and_lower_bounds_surround_the_truth():
    accountant = compose(ROUNDS[1])
    answers = accountant.compare(1e-6)
    assert {"pld", "rdp", "basic"} <= set(answers)
    lower, upper = accountant.get_epsilon_bounds(1e-6)
    for method, answer in answers.items():
        if answer.worth is Worth.PROVED:
            assert answer.upper >= lower, method
        if answer.worth is Worth.LOWER:
            assert answer.lower <= upper, method
    with pytest.raises(AccountantError, match="delta must be"):
        accountant.compare(2)


def test_only_a_guarantee_is_an_epsilon():
    class Normal(PrivacyAccountant):
        _method = "clt"

    accountant = Normal().compose(ShuffledDpEvent("generic:eps0=2,n=10000"))
    assert accountant.epsilon_by("clt", 1e-6).worth is Worth.APPROXIMATE
    with pytest.raises(AccountantError, match="not a proved bound"):
        accountant.get_epsilon(1e-6)
    with pytest.raises(AccountantError, match="no such analysis"):
        accountant.epsilon_by("nothing", 1e-6)


def test_renyi_divergences_never_promise_more():
    for rounds in ROUNDS[:2]:
        tight, renyi = compose(rounds), RdpAccountant()
        for text in rounds:
            renyi.compose(ShuffledDpEvent(text))
        epsilon = renyi.get_epsilon(1e-6)
        assert tight.get_epsilon_bounds(1e-6)[0] <= epsilon <= 1.3 * tight.get_epsilon(1e-6)
        assert epsilon == tight.epsilon_by("rdp", 1e-6).upper
        with pytest.raises(AccountantError, match="does not answer"):
            renyi.get_delta(epsilon)


def test_reference_intervals_are_met():
    with open(SOURCE / "tests/data/vectors/proved.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 40
    for row in rows:
        lower, upper = compose(row["rounds_spec"].split()).get_epsilon_bounds(float(row["delta"]))
        # the file has ten digits: both intervals hold one number, so they overlap
        assert lower <= float(row["eps_upper"]) * (1 + 1e-8), row
        assert upper >= float(row["eps_lower"]) * (1 - 1e-8), row
        assert upper - lower <= 1e-3 * upper, row


def exact_delta(k, odds, times, ratio):
    """delta at e^epsilon = ratio of `times` k-ary responses whose odds are e^eps0 = odds: a sum over outcomes."""
    outcomes = Counter({(0, 0): Fraction(1)})
    z = odds + k - 1
    for _ in range(times):
        after = Counter()
        for (first, second), mass in outcomes.items():
            after[first + 1, second] += mass * odds / z
            after[first, second + 1] += mass / z
            after[first, second] += mass * (k - 2) / z
        outcomes = after
    return sum(max(mass * (1 - ratio / odds ** (a - b)), 0) for (a, b), mass in outcomes.items())


@pytest.mark.parametrize("shape", [
    lambda event, times: PLDAccountant().compose(event, times),
    lambda event, times: PLDAccountant().compose(SelfComposedDpEvent(event, times)),
    lambda event, times: PLDAccountant().compose(ComposedDpEvent([event] * times)),
    lambda event, times: PLDAccountant().compose(SelfComposedDpEvent(event, times // 2), 2),
    lambda event, times: [a := PLDAccountant(), [a.compose(event) for _ in range(times)]][0],
], ids=["count", "self-composed", "composed", "both", "one by one"])
def test_every_repetition_is_charged(shape):
    # dp_accounting 0.6.0 charges one of the ten
    k, odds, times = 4, Fraction(5), 10
    response = RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=k)
    assert float(Fraction(k) / (odds + k - 1)) == 0.5

    accountant = shape(response, times)

    for epsilon in (1.0, 5.0, 10.0, 15.0):
        truth = exact_delta(k, odds, times, Fraction(math.exp(epsilon)))
        lower, upper = accountant.get_delta_bounds(epsilon)
        assert lower <= truth * (1 + 1e-12) and upper >= truth * (1 - 1e-12)
        assert upper <= truth * 2 + 1e-9
    # two of ten losses cancelled: all that remain are 8 ln 5 and less, but with chance (5/8)^10 above 1e-6
    assert 15.9 < accountant.get_epsilon(1e-6) < 10 * math.log(5) + 1e-9


def test_ways_to_write_a_round_are_one_round():
    spelled = ShuffledDpEvent("grr:k=16,eps0=0.1,n=1000")
    assert ShuffledDpEvent("grr", k=16, eps0=0.1, n=1000) == spelled
    assert ShuffledDpEvent("grr:k=16", eps0=0.1, n=1000) == spelled
    listed = ShuffledDpEvent("cells", omega=[0.25, 0.25], u=(3, 1), v=[1, 3.0], n=10)
    assert listed.spec == "cells:omega=0.25/0.25,u=3/1,v=1/3.0,n=10"
    once = PLDAccountant().compose(spelled, 3).get_epsilon_bounds(1e-6)
    assert PLDAccountant().compose(ShuffledDpEvent("grr:k=16,eps0=0.1,n=1000,count=3")).get_epsilon_bounds(
        1e-6) == once


def test_a_response_is_never_taken_for_a_noisier_one():
    for eps0 in (1e-9, 0.1, 1.0, 3.0, 20.0):
        event = RandomizedResponseDpEvent.from_epsilon0(eps0, 16)
        taken = float(event.randomizer().split("eps0=")[1])
        assert eps0 <= taken <= eps0 * (1 + 1e-9) + 1e-13  # what a noise parameter near 1 can tell apart
        shuffled = PLDAccountant().compose(ShuffledDpEvent(event, n=1000)).get_epsilon(1e-6)
        plain = PLDAccountant().compose(ShuffledDpEvent("grr", k=16, eps0=eps0, n=1000)).get_epsilon(1e-6)
        assert plain * (1 - 1e-3) <= shuffled <= plain * (1 + 1e-3) + 1e-12


def test_nothing_composed_costs_nothing():
    accountant = PLDAccountant().compose(NoOpDpEvent()).compose(RandomizedResponseDpEvent(1, 5))
    with pytest.raises(ValueError):  # dp_accounting composes nothing here, and says nothing
        accountant.compose(ShuffledDpEvent("grr:k=3,eps0=1,n=10"), count=0)
    assert accountant.get_epsilon_bounds(1e-9) == (0, 0)
    assert accountant.get_delta_bounds(0) == (0, 0)


def test_a_hopeless_delta_is_infinity():
    # one honest participant, truthful: delta is 1/2 at every epsilon
    accountant = PLDAccountant().compose(ShuffledDpEvent("bins:k=2,dummies=1"))
    assert accountant.get_epsilon(1e-6) == math.inf
