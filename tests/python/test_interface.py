"""The module: faults, state, threads, loading."""

import doctest
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import SOURCE
from tombola_accountant import (AccountantError, ComposedDpEvent, ExplicitBracketInterval, IncrementalAccountant,
                                LimitError, NeighboringRelation, NoBracketIntervalFoundError, NoOpDpEvent, PLDAccountant,
                                PrecisionError, PrivacyFilter, RandomizedResponseDpEvent, SelfComposedDpEvent, ShuffledDpEvent,
                                UnsupportedEventError, calibrate_dp_mechanism, version)

ROUND = ShuffledDpEvent("grr:k=16,eps0=3,n=10000")


@pytest.mark.parametrize("text, sentence", [
    ("nothing:n=3", "no such protocol 'nothing'"),
    ("krr:k=16,eps0=3,n=10", "no such protocol 'krr'; did you mean grr?"),
    ("grr:k=16,eps=3,n=10", "no such key 'eps'; did you mean eps0=?"),
    ("grr:k=16,eps0=3", "n= is missing"),
    ("grr:k=16,eps0=3,n=0", "n=0 must be a whole number"),
    ("grr:k=16,eps0=nan,n=10", "eps0=nan is not a number"),
    ("grr:k=16,eps0=-1,n=10", "eps0=-1 must be above 0"),
    ("generic:eps0=1,n=10,n=10", "n= is given twice"),
    ("pair:p=3,beta=0.9,q=3,n=10", "beta"),
    ("grr:k=16,eps0=3,n=10\0", "NUL"),
])
def test_a_fault_is_told_in_the_librarys_words_and_adds_nothing(text, sentence):
    accountant = PLDAccountant().compose(ROUND)
    before = accountant.get_epsilon_bounds(1e-6)
    with pytest.raises(AccountantError) as fault:
        accountant.compose(ComposedDpEvent([ROUND, ShuffledDpEvent(text)]))
    assert sentence in str(fault.value)
    assert isinstance(fault.value, ValueError)
    assert accountant.get_epsilon_bounds(1e-6) == before
    assert not accountant.supports(ShuffledDpEvent(text)) and accountant.supports(ROUND)


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 2, float("nan"), float("inf")])
def test_delta_is_above_0_and_below_1(delta):
    for accountant in (PLDAccountant(), PLDAccountant().compose(ROUND)):
        with pytest.raises(AccountantError, match="delta must be above 0 and below 1"):
            accountant.get_epsilon(delta)


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf")])
def test_epsilon_is_finite_and_not_negative(epsilon):
    with pytest.raises(AccountantError, match="epsilon must be finite and not negative"):
        PLDAccountant().compose(ROUND).get_delta(epsilon)


def test_a_round_of_several_slots_is_one_event():
    slots = ShuffledDpEvent("marginals", k=[6, 4], eps0=2, n=10000)
    each = [ShuffledDpEvent("grr", k=k, eps0=2, n=10000) for k in (6, 4)]
    together = PLDAccountant().compose(slots, 3).get_epsilon_bounds(1e-6)
    assert together == pytest.approx(PLDAccountant().compose(ComposedDpEvent(each), 3).get_epsilon_bounds(1e-6), rel=1e-9)
    growing = IncrementalAccountant(1e-6)
    after = growing.epsilon_after(slots, 3)
    assert after == pytest.approx(growing.compose(slots, 3).get_epsilon(), rel=1e-3)
    assert after == pytest.approx(together[1], rel=1e-3)
    one, two = PrivacyFilter(2, 1e-6), PrivacyFilter(2, 1e-6)
    assert one.admit(slots) and all(two.admit(event) for event in each)
    assert one.spent == pytest.approx(two.spent)


def test_limits_are_errors_not_answers():
    with pytest.raises(PrecisionError):
        PLDAccountant().compose(ROUND).get_epsilon(1e-250)
    with pytest.raises(LimitError):
        PLDAccountant().compose(ROUND, 10**6).compose(ROUND)
    with pytest.raises(AccountantError):
        PLDAccountant().compose(SelfComposedDpEvent(ROUND, 10**12), 10**12)
    with pytest.raises(AccountantError):  # 2**64 + 1 must not become 1
        PLDAccountant().compose(ROUND, 2**64 + 1)


def test_what_cannot_be_composed_is_refused():
    with pytest.raises(UnsupportedEventError):
        PLDAccountant().compose(object())
    with pytest.raises(TypeError):
        PLDAccountant().compose(ROUND, 2.5)
    for count in (0, -1, False):
        with pytest.raises(ValueError, match="count must be at least 1"):
            PLDAccountant().compose(ROUND, count)
        with pytest.raises(ValueError, match="count must be at least 1"):
            PLDAccountant().would_exceed(ROUND, 1, 1e-6, count)
        for way in (PrivacyFilter(1, 1e-6).admit, PrivacyFilter(1, 1e-6).admits,
                    IncrementalAccountant(1e-6).epsilon_after, IncrementalAccountant(1e-6).compose):
            with pytest.raises(ValueError, match="count must be at least 1"):
                way(ROUND, count)
    assert PLDAccountant().compose(NoOpDpEvent()).get_epsilon(1e-6) == 0
    with pytest.raises(TypeError, match="k='16' is not a number"):
        ShuffledDpEvent("grr", k="16", eps0=1, n=5)
    with pytest.raises(TypeError, match=r"others_eps='0.2/0.1' is not a number; several are a list: others_eps=\[0.2, 0.1\]"):
        ShuffledDpEvent("grr", k=16, eps0=1, n=5, others_eps="0.2/0.1")
    with pytest.raises(TypeError, match="eps0=None is not a number"):
        ShuffledDpEvent("grr", k=16, eps0=[1, None], n=5)
    with pytest.raises(ValueError):
        SelfComposedDpEvent(ROUND, 0)
    for noise, buckets in ((0, 2), (1.5, 2), (float("nan"), 2), (0.5, 1)):
        with pytest.raises(ValueError):
            RandomizedResponseDpEvent(noise, buckets)
    for relation in (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_SPECIAL):
        with pytest.raises(ValueError, match="REPLACE_ONE"):
            PLDAccountant(relation)
    assert PLDAccountant().neighboring_relation is NeighboringRelation.REPLACE_ONE


def test_an_account_continues_from_its_state():
    accountant = PLDAccountant().compose(ROUND, 3).compose(ShuffledDpEvent("bins:k=4,dummies=900"))
    again = PLDAccountant()
    again.load_state_dict(json.loads(json.dumps(accountant.state_dict())))
    assert again.get_epsilon_bounds(1e-6) == accountant.get_epsilon_bounds(1e-6)
    assert PLDAccountant().compose(accountant.ledger).get_epsilon(1e-6) == accountant.get_epsilon(1e-6)
    with pytest.raises(ValueError):
        again.load_state_dict({"rounds": []})
    with pytest.raises(AccountantError):
        again.load_state_dict({**accountant.state_dict(), "rounds": [["grr:k=0", 1]]})
    assert again.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)


def test_a_refusal_is_known_beforehand():
    accountant = PLDAccountant().compose(ROUND, 3)
    four = PLDAccountant().compose(ROUND, 4).get_epsilon(1e-6)
    assert not accountant.would_exceed(ROUND, four, 1e-6)
    assert accountant.would_exceed(ROUND, four * (1 - 1e-9), 1e-6)
    assert accountant.would_exceed(ROUND, four, 1e-6, count=2)
    assert accountant.get_epsilon(1e-6) == PLDAccountant().compose(ROUND, 3).get_epsilon(1e-6)


def test_a_growing_account_agrees_with_the_whole():
    growing, whole = IncrementalAccountant(1e-6), PLDAccountant()
    for i in range(5):
        event = ShuffledDpEvent("generic", eps0=1 + i / 10, n=10000 + i)
        after = growing.epsilon_after(event, count=2)
        assert growing.compose(event, count=2) is growing
        whole.compose(event, count=2)
        lower, upper = growing.get_epsilon_bounds()
        exact = whole.get_epsilon_bounds(1e-6)
        assert lower <= exact[1] and exact[0] <= upper and upper - lower <= 1e-3 * upper
        assert exact[0] <= after <= exact[1] * (1 + 2e-3)
    assert growing.get_epsilon() == growing.get_epsilon_bounds()[1]
    assert growing.would_exceed(ROUND, growing.get_epsilon()) and not growing.would_exceed(ROUND, 100)


def test_a_growing_account_refuses_what_it_cannot_answer():
    with pytest.raises(AccountantError):
        IncrementalAccountant(0)
    growing = IncrementalAccountant(1e-6).compose(ROUND)
    before = growing.get_epsilon_bounds()
    for event, count, fault in ((ShuffledDpEvent("grr:k=0"), 1, AccountantError), (object(), 1, UnsupportedEventError),
                                (ROUND, -1, ValueError), (ROUND, 0, ValueError), (ROUND, 2**64 + 1, LimitError),
                                (ComposedDpEvent([ROUND, ShuffledDpEvent("x")]), 1, AccountantError)):
        with pytest.raises(fault):
            growing.compose(event, count)
        with pytest.raises(ValueError):
            growing.epsilon_after(event, count)
    assert growing.get_epsilon_bounds() == before
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: growing.compose(ROUND) if i % 2 else growing.epsilon_after(ROUND), range(40)))
    lower, upper = PLDAccountant().compose(ROUND, 21).get_epsilon_bounds(1e-6)
    assert growing.get_epsilon_bounds()[0] <= upper and lower <= growing.get_epsilon()


@pytest.mark.parametrize("kind", ["renyi", "gdp"])
def test_a_filter_stops_before_its_budget_is_gone(kind):
    budget = PrivacyFilter(1.0, 1e-6, kind)
    admitted, spent = PLDAccountant(), [0.0]
    rounds = [ShuffledDpEvent("grr", k=16, eps0=2 + i % 3, n=10000) for i in range(100)]
    for event in rounds:
        fits = budget.admits(event)
        assert budget.spent == spent[-1]
        assert budget.admit(event) is fits
        if not fits:
            assert budget.spent == spent[-1]
            break
        admitted.compose(event)
        assert budget.spent > spent[-1]
        spent.append(budget.spent)
    # had all been fixed in advance, they would have cost less than the filter allows: it holds for more
    assert len(spent) > 5 and spent[-1] <= 1
    assert 0.7 < admitted.get_epsilon(1e-6) <= 1.0


def test_a_filter_charges_nothing_it_did_not_admit():
    for kind, epsilon, delta in (("nothing", 1, 1e-6), ("renyi", 0, 1e-6), ("gdp", 1, 0), ("gdp", 1, 1),
                                 ("renyi", float("nan"), 1e-6)):
        with pytest.raises(AccountantError):
            PrivacyFilter(epsilon, delta, kind)
    budget = PrivacyFilter(1.0, 1e-6)
    with pytest.raises(AccountantError, match="k=0"):
        budget.admit(ShuffledDpEvent("grr:k=0,eps0=1,n=10"))
    with pytest.raises(UnsupportedEventError):
        budget.admit(ComposedDpEvent([ROUND, ROUND]))
    with pytest.raises(LimitError):
        budget.admit(ROUND, 2**64 + 1)
    assert not budget.admit(ShuffledDpEvent("bins:k=2,dummies=3"))  # an infinite loss has no price
    assert not budget.admit(ROUND, 1000)
    assert budget.spent == 0


def test_calibration_ends_on_the_safe_side():
    target, delta = 0.3, 1e-6

    def epsilon(**params):
        return PLDAccountant().compose(ShuffledDpEvent("generic", **params)).get_epsilon(delta)

    eps0 = calibrate_dp_mechanism(PLDAccountant, lambda e: ShuffledDpEvent("generic", eps0=e, n=10000), target, delta,
                                  ExplicitBracketInterval(0.1, 6.0), tol=1e-4)
    assert epsilon(eps0=eps0, n=10000) <= target < epsilon(eps0=eps0 + 1e-4, n=10000)
    people = calibrate_dp_mechanism(PLDAccountant, lambda n: ShuffledDpEvent("generic", eps0=3, n=n), target, delta,
                                    ExplicitBracketInterval(10, 10**6), discrete=True)
    assert epsilon(eps0=3, n=people) <= target < epsilon(eps0=3, n=people - 1)
    with pytest.raises(NoBracketIntervalFoundError):
        calibrate_dp_mechanism(PLDAccountant, lambda e: ShuffledDpEvent("generic", eps0=e, n=10000), target, delta,
                               ExplicitBracketInterval(0.1, 0.2))


def test_threads_agree():
    shared = PLDAccountant().compose(ROUND, 7).compose(ShuffledDpEvent("grr:k=3,eps0=1,n=500"), 2)
    expected = shared.get_epsilon_bounds(1e-7)

    def own(_):
        return PLDAccountant().compose(ROUND, 7).compose(
            ShuffledDpEvent("grr:k=3,eps0=1,n=500"), 2).get_epsilon_bounds(1e-7)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: shared.get_epsilon_bounds(1e-7), range(16))) == {expected}
        assert set(pool.map(own, range(16))) == {expected}


def test_composing_in_threads_loses_nothing():
    accountant = PLDAccountant()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: accountant.compose(ROUND).get_epsilon(1e-6) if i % 8 == 0 else
                      accountant.compose(ROUND), range(100)))
    assert accountant.get_epsilon(1e-6) == PLDAccountant().compose(ROUND, 100).get_epsilon(1e-6)


def python(code, **environment):
    return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(SOURCE / "accountant/python"), **environment})


def test_a_decimal_comma_changes_nothing():
    done = python("import locale, sys\n"
                  "for name in sorted(locale.locale_alias.values()):\n"
                  "    try: locale.setlocale(locale.LC_NUMERIC, name.split('.')[0] + '.UTF-8')\n"
                  "    except locale.Error: continue\n"
                  "    if locale.localeconv()['decimal_point'] == ',': break\n"
                  "else: sys.exit(77)\n"
                  "import tombola_accountant as t\n"
                  "print(t.PLDAccountant().compose(t.ShuffledDpEvent('rr:eps0=1.5,n=100')).get_epsilon(1e-3))")
    if done.returncode == 77:
        pytest.skip("no locale with a decimal comma is installed")
    expected = PLDAccountant().compose(ShuffledDpEvent("rr:eps0=1.5,n=100")).get_epsilon(1e-3)
    assert done.stdout == f"{expected}\n", done.stderr


def test_module_and_library_are_of_one_version():
    packaged = re.search(r'^version = "(.*)"$', (SOURCE / "accountant/python/pyproject.toml").read_text(), re.M)
    assert packaged.group(1) == version()


def test_numpy_is_not_needed():
    done = python("import sys\n"
                  "sys.modules['numpy'] = sys.modules['scipy'] = None\n"
                  "import tombola_accountant as t\n"
                  "print(t.PLDAccountant().compose(t.ShuffledDpEvent('rr:eps0=1,n=9')).get_epsilon(1e-3) > 0)")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("library", ["/no/such/library.so", "libc.so.6"])
def test_a_missing_library_is_named_with_the_cure(library):
    done = python("import tombola_accountant", TOMBOLA_ACCOUNTANT_LIBRARY=library)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: tombola_accountant needs the shared library libtombola-accountant.so.0")
    assert library in last and "TOMBOLA_ACCOUNTANT_LIBRARY" in last


def test_the_readme_says_what_happens():
    failed, tried = doctest.testfile(str(SOURCE / "accountant/python/README.md"), module_relative=False)
    assert tried >= 5 and failed == 0
