"""Every removable check has a test that notices its removal: mutants.txt is complete, and what it claims is tried."""
import concurrent.futures
import fcntl
import os
import pickle
import re
import subprocess

import pytest

import cluster as c
import wire

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ("accountant", "analyzer", "client", "common", "deploy", "proto", "shuffler")
AT_ONCE = 4  # most of them wait


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


def unit(test, mutant=""):
    """How the unit test program ends with the check removed."""
    return subprocess.run([os.path.join(c.BUILD, "tests", test)], capture_output=True, text=True, timeout=240,
                          cwd=os.path.join(c.BUILD, "tests"), env={**os.environ, "TOMBOLA_MUTANT": mutant})


def unit_pairs():
    return [(name, t) for name, tests in listed().items() for t in tests if "::" not in t]


def test_every_check_has_a_unit_test():
    assert {name for name, _ in unit_pairs()} == set(listed())


def run_all():
    """All of them, a few at a time; each program is also run with nothing removed."""
    pairs = unit_pairs()
    missing = [t for _, t in pairs if not os.access(os.path.join(c.BUILD, "tests", t), os.X_OK)]
    assert not missing, f"not built in {c.BUILD}: {missing}"
    jobs = pairs + [("", t) for t in sorted({t for _, t in pairs})]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(jobs, pool.map(lambda job: unit(job[1], job[0]), jobs)))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Once for all of pytest's workers."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    kept = shared / "mutants.pickle"
    with open(shared / "mutants.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(run_all()))
    return pickle.loads(kept.read_bytes())


@pytest.mark.parametrize("test", sorted({t for _, t in unit_pairs()}))
def test_with_all_checks_in_place_the_unit_test_passes(outcomes, test):
    run = outcomes["", test]
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]


@pytest.mark.parametrize("name,test", unit_pairs())
def test_without_the_check_the_unit_test_fails(outcomes, name, test):
    run = outcomes[name, test]
    # Failed tests, not a program that fell over.
    assert 0 < run.returncode < 100 and "[  FAILED  ]" in run.stdout + run.stderr, (run.returncode, run.stderr[-500:])
