"""Every removable check has a test that notices its removal: mutants.txt is complete, and what it claims is tried."""
import os
import re
import signal
import subprocess

import pytest

import cluster as c
import wire

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ("accountant", "analyzer", "client", "common", "deploy", "proto", "shuffler")


def listed():
    """name -> tests, as mutants.txt has it."""
    out = {}
    with open(os.path.join(HERE, "mutants.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, *tests = line.split()
                assert name not in out and tests, line
                out[name] = tests
    return out


def used():
    """The names in the sources."""
    out = set()
    for folder in SOURCES:
        for at, _, names in os.walk(os.path.join(wire.ROOT, folder)):
            for name in names:
                if name.endswith((".c", ".h")) and name != "cm_fault.h":
                    with open(os.path.join(at, name)) as f:
                        text = f.read()
                    found = re.findall(r'\bCM_CHECKED\("([^"]*)"\)', text)
                    assert len(found) == len(re.findall(r"\bCM_CHECKED\(", text)), f"{name}: a name that is no literal"
                    out.update(found)
    return out


def test_the_list_is_of_the_checks_in_the_sources():
    assert sorted(listed()) == sorted(used())


def test_the_scenarios_it_names_exist_and_remove_that_check():
    for name, tests in listed().items():
        for module, function in (t.split("::") for t in tests if "::" in t):
            with open(os.path.join(HERE, module)) as f:
                text = f.read()
            assert re.search(rf"^def {function}\(", text, re.M), (name, module, function)
            assert re.search(rf"[\"',]{re.escape(name)}[\"',]", text), f"{module} does not remove {name}"


def unit_pairs():
    """Check and unit test program, or `program:test` where the one test saves the time of those before it."""
    return [(name, t) for name, tests in listed().items() for t in tests if "::" not in t]


# What a server of PostgreSQL answers, and what a daemon does in its loop: scenarios have these, and unit tests have not.
OF_SCENARIOS = {"analyzer.replan.left", "analyzer.replan.signs", "analyzer.signed", "client.conflict", "client.key.stored",
                "client.key.waits", "client.policy.waits", "client.rehearse", "client.rehearse.cut", "client.shown",
                "shuffler.epoch", "shuffler.keeps"}


def test_every_check_has_a_unit_test():
    assert {name for name, _ in unit_pairs()} == set(listed()) - OF_SCENARIOS
    assert all("::" in test for name in OF_SCENARIOS for test in listed()[name])


def needless():
    """Checks of what a newer library does by itself: libuv 1.45 and later accept one connection an event."""
    libuv = subprocess.run(["pkg-config", "--modversion", "libuv"], check=True, capture_output=True, text=True).stdout
    return {"net.turn"} if tuple(map(int, libuv.split(".")[:2])) >= (1, 45) else set()


# That the same program passes with all checks in place is ctest's to say.
@pytest.mark.parametrize("name,test", unit_pairs())
def test_without_the_check_the_unit_test_fails(name, test):
    program, _, only = test.partition(":")
    run = subprocess.run([os.path.join(c.BUILD, "tests", program)], capture_output=True, text=True,
                         errors="replace", timeout=240, cwd=os.path.join(c.BUILD, "tests"),
                         env={**os.environ, "TOMBOLA_MUTANT": name, "CMOCKA_TEST_ABORT": "1",
                              "TOMBOLA_TEST_GUARD_MS": "5000", "TOMBOLA_TEST": only or "*"})
    if name in needless():
        assert run.returncode == 0, run.stderr[-500:]
        return
    # The first failed test ends it, with cmocka's words: not a program that fell over.
    assert run.returncode == -signal.SIGABRT, (run.returncode, run.stderr[-500:])
    assert re.search(r"\[   LINE   \] --- .*: error: Failure!", run.stdout + run.stderr), run.stderr[-500:]
