"""The module as researchers expect it: arrays, repr, examples, type hints, pip install."""

import ast
import doctest
import importlib
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from conftest import SOURCE
from tombola_accountant import (AccountantError, IncrementalAccountant, PLDAccountant, PrivacyFilter, RdpAccountant,
                                ShuffledDpEvent)

PACKAGE = SOURCE / "accountant/python/tombola_accountant"
ROUND = ShuffledDpEvent("grr", k=16, eps0=3, n=10000)


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
