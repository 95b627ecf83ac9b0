"""The module as researchers expect it: arrays, repr, examples, type hints, pip install."""

import ast
import doctest
import importlib
import os
import subprocess
import sys
import types
from math import comb, exp, lgamma, log
from pathlib import Path

import pytest

from conftest import SOURCE
from tombola_accountant import (AccountantError, IncrementalAccountant, PLDAccountant, PrivacyFilter, RdpAccountant,
                                ShuffledDpEvent, personal_event)

PACKAGE = SOURCE / "accountant/python/tombola_accountant"
ROUND = ShuffledDpEvent("grr", k=16, eps0=3, n=10000)
MIGRATION = SOURCE.joinpath("doc", "migrate.md")


class Array:
    """Stands for numpy.ndarray: what the module uses of it."""

    def __init__(self, items, dtype=None):
        self.items = [dtype(item) for item in items] if dtype else list(items)

    def tolist(self):
        return self.items


@pytest.mark.parametrize("kind", [PLDAccountant, RdpAccountant])
def test_many_deltas_are_one_question(kind):
    accountant = kind().compose(ROUND, 8)
    deltas = [1e-3, 1e-9, 1e-6, 1e-6]
    lower, upper = accountant.get_epsilon_bounds(deltas)
    for delta, low, high in zip(deltas, lower, upper):
        one = accountant.get_epsilon_bounds(delta)
        assert low <= one[1] and one[0] <= high and high == pytest.approx(one[1], rel=1e-3)
    assert accountant.get_epsilon(tuple(deltas)) == upper and upper[2] == upper[3]
    assert accountant.get_epsilon([]) == []
    with pytest.raises(AccountantError, match="delta must be above 0"):
        accountant.get_epsilon([1e-6, 0])
    assert kind().get_epsilon([1e-6, 1e-3]) == [0, 0]


def test_many_epsilons_are_answered_in_order():
    accountant = PLDAccountant().compose(ROUND)
    assert accountant.get_delta([0.1, 1]) == [accountant.get_delta(0.1), accountant.get_delta(1)]


def test_an_array_comes_back_as_an_array(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", types.SimpleNamespace(ndarray=Array, array=Array))
    accountant = PLDAccountant().compose(ROUND, 2)
    out = accountant.get_epsilon(Array([1e-6, 1e-3]))
    assert isinstance(out, Array) and out.items == accountant.get_epsilon([1e-6, 1e-3])
    assert isinstance(accountant.get_delta(Array([1.0])), Array)
    with pytest.raises(ValueError, match="one dimension"):
        accountant.get_epsilon(Array([[1e-6]]))
    assert ShuffledDpEvent("marginals", k=Array([6, 4]), eps0=2, n=10) == ShuffledDpEvent("marginals", k=[6, 4], eps0=2, n=10)


def test_an_accountant_shows_what_it_holds():
    assert repr(PLDAccountant()) == "PLDAccountant()"
    assert repr(RdpAccountant().compose(ROUND, 2)) == "RdpAccountant(2 x grr:k=16,eps0=3,n=10000)"
    many = PLDAccountant()
    for n in range(10, 17):
        many.compose(ShuffledDpEvent("rr", eps0=1, n=n))
    assert repr(many).endswith("1 x rr:eps0=1,n=14, and 2 more)")
    assert repr(IncrementalAccountant(1e-6)) == "IncrementalAccountant(target_delta=1e-06)"
    assert repr(PrivacyFilter(1, 1e-6)) == "PrivacyFilter(epsilon=1.0, delta=1e-06, kind='renyi')"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_of_docstrings_happen(path):
    name = "tombola_accountant" + ("" if path.stem == "__init__" else "." + path.stem)
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0 or ">>>" not in path.read_text()


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_every_function_says_its_types(path):
    bare = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            each = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            each += [extra for extra in (node.args.vararg, node.args.kwarg) if extra]
            bare += [f"{node.name}({a.arg})" for a in each if a.annotation is None and a.arg not in ("self", "cls")]
            bare += [f"{node.name} ->"] if node.returns is None else []
    assert not bare


@pytest.mark.parametrize("path", sorted((SOURCE / "accountant/python/examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_run(path):
    done = subprocess.run([sys.executable, "-B", str(path)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(SOURCE / "accountant/python")})
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.count("\n") > 10


def test_pip_installs_the_tree_without_a_network(tmp_path):
    tree = tmp_path / "tree"
    subprocess.run(["cp", "-r", str(SOURCE / "accountant/python"), str(tree)], check=True)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps",
                           "--quiet", "--target", str(tmp_path / "site"), str(tree)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installed = tmp_path / "site/tombola_accountant"
    assert {path.name for path in installed.iterdir()} >= {path.name for path in PACKAGE.iterdir() if path.is_file()}
    done = subprocess.run([sys.executable, "-c", "import tombola_accountant as t; print(t.__file__); "
                           "print(t.PLDAccountant().compose(t.ShuffledDpEvent('rr:eps0=1,n=9')).get_epsilon(1e-3) > 0)"],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})
    assert done.stdout.split() == [str(Path(installed / "__init__.py")), "True"], done.stderr


def epsilon_of(event):
    return PLDAccountant().compose(event).get_epsilon(1e-6)


def test_personal_guarantees_of_any_number_are_one_round(tmp_path):
    many = [0.5 + 2.5 * i / 49999 for i in range(50000)]
    event = personal_event(many, k=8)
    mixed = epsilon_of(event)
    # no less than if all had the mean's class below, no more than if all had the largest
    assert epsilon_of(ShuffledDpEvent("grr", k=8, eps0=3, n=50000, others_eps=[0.5], others_n=[49999])) < mixed
    assert mixed < epsilon_of(ShuffledDpEvent("grr", k=8, eps0=3, n=50000))
    # 60 classes say nearly what 30 classes of the same people say, from above
    fine = [min(3.0, 0.5 + 2.5 * (i // 1000 + 1) / 50) for i in range(50000)]
    assert mixed <= epsilon_of(personal_event(fine, k=8)) * 1.02
    path = tmp_path / "epsilons.txt"
    path.write_text("# one a line\n\n" + "\n".join(repr(value) for value in many))
    assert personal_event(path, k=8) == event == personal_event(Array(many), k=8)


def test_a_personal_round_is_above_every_victims(tmp_path):
    people = [0.5] * 300 + [1.5] * 200 + [2.5] * 100
    bound = epsilon_of(personal_event(people, k=4))
    for victim in (0.5, 1.5, 2.5):
        others = {value: people.count(value) - (value == victim) for value in (0.5, 1.5, 2.5)}
        one = epsilon_of(ShuffledDpEvent("grr", k=4, eps0=victim, n=600, others_eps=list(others),
                                         others_n=list(others.values())))
        assert one <= bound * (1 + 1e-9)
    assert epsilon_of(personal_event([2.0] * 50, k=4)) == epsilon_of(ShuffledDpEvent("grr", k=4, eps0=2.0, n=50))


def test_a_personal_fault_is_placed(tmp_path):
    path = tmp_path / "epsilons.txt"
    path.write_text("1\n2\nx\n")
    with pytest.raises(ValueError, match="epsilons.txt:3: 'x' is not a number"):
        personal_event(path, k=4)
    with pytest.raises(ValueError, match=r"epsilons\[1\]=0.0 must be above 0"):
        personal_event([1, 0], k=4)
    with pytest.raises(ValueError, match="no participants"):
        personal_event([], k=4)
    with pytest.raises(TypeError):
        personal_event(3, k=4)


def test_the_tutorial_says_what_happens():
    failed, tried = doctest.testfile(str(SOURCE.joinpath("doc", "python.md")), module_relative=False)
    assert failed == 0 and tried >= 60


def test_the_tutorial_rounds_up():
    """What it prints is not below the lower end of what it asked, to one in the last digit."""
    page = SOURCE.joinpath("doc", "python.md").read_text(encoding="utf-8")
    for printed, event, count in (("0.1715", ROUND, 1), ("1.3959", ROUND, 50)):
        assert f"\n{printed}\n" in page
        lower, upper = PLDAccountant().compose(event, count).get_epsilon_bounds(1e-6)
        assert lower <= upper <= float(printed) < upper + 1.01e-4


def test_the_migration_guide_says_what_happens():
    failed, tried = doctest.testfile(str(MIGRATION), module_relative=False)
    assert failed == 0 and tried >= 10


def root_of(delta, at, most):
    """The least epsilon at which the decreasing function `delta` is at most `at`."""
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > at else (low, middle)
    return high


def binomial(n, k, chance):
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(chance) + (n - k) * log(1 - chance))


def responses_delta(eps, eps0, k, uses):
    """k-ary responses to one question, composed without a shuffler: answers that speak for x, for x', for neither."""
    whole, own = exp(eps0) + k - 1, exp(eps0)
    total = 0.0
    for a in range(uses + 1):
        for b in range(uses + 1 - a):
            ways = comb(uses, a) * comb(uses - a, b) * (k - 2.0) ** (uses - a - b)
            total += max(0.0, ways * (own ** a - exp(eps) * own ** b)) / whole ** uses
    return total


def pair_delta(eps, eps0, n):
    """The clones' pair of PrivacyAmplification where beta = (p - 1) / (p + 1): C of n - 1 others are clones, half of them
    and the victim's own message are counted."""
    keep, clone = exp(eps0) / (exp(eps0) + 1), 2 / (exp(eps0) + 1)
    mean, total = (n - 1) * clone, 0.0
    deviation = (mean * (1 - clone)) ** 0.5
    for c in range(int(mean - 7 * deviation), int(mean + 7 * deviation)):
        start, end = int(c / 2 - 4 * c ** 0.5), int(c / 2 + 4 * c ** 0.5)
        before, inner = binomial(c, start - 1, 0.5), 0.0
        for a in range(start, end):
            now = before * (c - a + 1) / a
            inner += max(0.0, keep * before + (1 - keep) * now - exp(eps) * ((1 - keep) * before + keep * now))
            before = now
        total += binomial(n - 1, c, clone) * inner
    return total


def test_the_numbers_of_the_page_on_migration_by_other_means():
    """What the page prints of ours, and what it says that the peers print, by their definitions alone."""
    page = MIGRATION.read_text(encoding="utf-8")
    said = {text: float(text) for text in ("0.978739", "1.609", "16.095", "16.09", "0.1182")}
    assert all(text in page for text in said)
    # dp_accounting: one use in closed form and by its outcomes; its noise parameter; ten uses.
    assert log(exp(1) - 0.01 * (exp(1) + 3)) == pytest.approx(said["0.978739"], abs=5e-7)
    assert root_of(lambda eps: responses_delta(eps, 1, 4, 1), 0.01, 1) == pytest.approx(said["0.978739"], abs=5e-7)
    eps0 = log((1 - 0.5 + 0.5 / 4) / (0.5 / 4))
    assert eps0 == pytest.approx(said["1.609"], abs=5e-4)
    ten = root_of(lambda eps: responses_delta(eps, eps0, 4, 10), 1e-6, 20)
    # Its grid of 1e-4 is rounded up in each of ten uses.
    assert round(ten, 2) == said["16.09"] and ten <= said["16.095"] <= ten + 10 * 1e-4
    # PrivacyAmplification: the pair, whose epsilon is printed rounded to four digits.
    assert pair_delta(said["0.1182"] + 5e-5, 4, 100000) < 1e-6 < pair_delta(said["0.1182"] - 5e-5, 4, 100000)
