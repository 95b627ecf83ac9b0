"""tombola_testing - the real daemons in tests of yours: the pytest fixture `tombola`.

    def test_more_red_than_green(tombola):
        outcome = tombola.run(PLAN, [{"device": f"d{i}", "colour": "red"} for i in range(600)], device_field="device")
        assert outcome.value("colour", "red") > 500

Plan and readings go in, results and events come out; doc/testing-kit.md has all of it.  The programs are those of, in this
order: --tombola-build DIR or the variable TOMBOLA_BUILD (a build folder), the package tombola-testing, PATH.  In a test
build, as that package's is, estimates follow from a seed and are the same every time.  Needs Python 3.9, nothing else.
"""
import csv
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys

try:
    import pytest
except ImportError:  # the classes serve other frameworks too
    pytest = None

__all__ = ["Failed", "Outcome", "Tombola"]

INSTALLED = "/usr/lib/tombola-testing/bin"
SCHEMA = "tombola.demo/1"


class Failed(AssertionError):
    """A run that ended otherwise than it was expected to; the message has its last words."""


def programs(build=None):
    """The folder of the programs."""
    build = build or os.environ.get("TOMBOLA_BUILD")
    on_path = shutil.which("tombola")
    for folder in ([os.path.join(build, "bin")] if build else [INSTALLED, on_path and os.path.dirname(on_path)]):
        if folder and os.access(os.path.join(folder, "tombola"), os.X_OK):
            return os.path.abspath(folder)
    raise FileNotFoundError(f"no program tombola in {build}/bin" if build else
                            "no program tombola: install tombola-testing, or name a build folder in TOMBOLA_BUILD")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Outcome:
    """What a run said.

    exit         exit code of `tombola demo`
    events       every event, a dict each, in their order
    results      query name -> list of results of its rounds (what `tombola-analyzer estimate QUERY --json` prints)
    complaints   events of what client or shuffler complained of
    findings     what the client said of the readings before anything was asked: dicts with round, query, wrong, text, advice
    faults       what the proxy did, None without it
    """

    def __init__(self, code, events, said, faults=None):
        self.exit, self.events, self.said, self.faults = code, events, said, faults
        self.results = {}
        for e in self.of("result"):
            self.results.setdefault(e["query"], []).append(e["result"])
        self.complaints = self.of("complaint")
        self.findings = [f for e in self.of("started") for f in e["findings"]]

    def of(self, name):
        """The events of this name."""
        return [e for e in self.events if e["event"] == name]

    def result(self, query):
        """The result of the query's last round that has one."""
        if query not in self.results:
            raise Failed(f"no result of '{query}'; there are {sorted(self.results) or 'none'}\n{self.words()}")
        return self.results[query][-1]

    def item(self, query, label):
        """One item of a result, by the label that tables show: a category, `median`, a coordinate's number; `mean` or `sum` for
        the only item of those.  A dict with the numbers value, lower, upper and variance; value is NaN where nothing is known
        of the item but the interval that it could have."""
        result = self.result(query)
        items = {i["label"]: i for i in result["items"]}
        if result["type"] in ("mean", "sum") and len(items) == 1:
            items = {result["type"]: result["items"][0], **items}
        if label not in items:
            raise Failed(f"no item '{label}' in the result of '{query}'; there are {sorted(items)}")
        item = items[label]
        # JSON has no word for what is not finite: results say it as a text.
        return {**item, **{k: float(item[k]) for k in ("value", "lower", "upper", "variance")}}

    def value(self, query, label):
        return self.item(query, label)["value"]

    def within(self, query, label, truth):
        """Is the truth in the item's interval?  No, where nothing is known of the item: that interval holds every truth."""
        item = self.item(query, label)
        return not math.isnan(item["value"]) and item["lower"] <= truth <= item["upper"]

    @property
    def epsilon(self):
        """What was charged in all."""
        return max((e["epsilon_total"] for e in self.of("charged")), default=0.0)

    def words(self):
        found = [f"round {f['round']} ({f['query']}): {f['text']}; {f['advice']}" for f in self.findings if f["wrong"]]
        reasons = [f"{e['event']} round {e.get('round', '-')}: {e.get('reason') or e.get('error')}" for e in self.events
                   if e.get("reason") or e.get("error")]
        return "\n".join([*found, *reasons, self.said.strip()])


class Tombola:
    """Runs plans in a folder; the fixture `tombola` is one of these in the test's tmp_path."""

    def __init__(self, folder, build=None):
        self.folder, self.bin, self.runs = str(folder), programs(build), 0
        with open(os.path.join(self.bin, "tombola-client"), "rb") as f:
            #: Are these the programs of a test build, which take a seed?
            self.seeded = b"TOMBOLA_TEST_SEED" in f.read()

    def program(self, name):
        """The path of tombola, tombola-client, tombola-shuffler or tombola-analyzer."""
        return os.path.join(self.bin, name)

    def _file(self, name, text):
        path = os.path.join(self.folder, f"run-{self.runs}-{name}")
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text) if isinstance(text, str) else text(f)
        return path

    def _plan(self, plan):
        return self._file("plan.conf", plan) if isinstance(plan, str) and "\n" in plan else os.fspath(plan)

    def _readings(self, readings):
        """A path as it is; dicts become NDJSON, so that a reading may lack a field; lists a CSV file with a head."""
        if isinstance(readings, (str, os.PathLike)):
            return os.fspath(readings)
        rows = list(readings)
        if all(isinstance(r, dict) for r in rows):
            return self._file("readings.ndjson", "".join(json.dumps(r) + "\n" for r in rows))
        return self._file("readings.csv", lambda f: csv.writer(f, lineterminator="\n").writerows(rows))

    def run(self, plan, readings=None, *, device_field=None, devices=None, seed="same", faults=None, timeout=120, expect=0,
            keep=None, recurrences=None):
        """Run a plan through client, shuffler and analyzer on 127.0.0.1, and wait for its end.

        plan          text of a plan, or the path of one
        readings      a path (CSV or NDJSON), or rows: dicts, or lists of which the first is the head; None: made up
        device_field  field with the name of a reading's device; None: each row is a device
        devices       how many devices are made up, where readings is None
        seed          a number; "same": 1 in a test build, none in an ordinary one, which takes none; None: none
        faults        options of tombola-faults, as ["--reset", "after:4000", "--times", "2"]: it stands before the shuffler
        timeout       seconds for all of it
        expect        exit code that it must end with, else Failed is raised; None: any.  65: something is wrong with the readings
        keep          a new folder for keys, logs, databases; None: they are removed
        recurrences   ask so many of a round that recurs, one after the other; None: those that are due now
        """
        self.runs += 1
        args = [self.program("tombola"), "demo", "--json", "--plan", self._plan(plan), "--timeout", f"{timeout}s"]
        if seed == "same":
            seed = 1 if self.seeded else None
        given = {"--readings": None if readings is None else self._readings(readings), "--device-field": device_field,
                 "--devices": devices, "--seed": seed, "--dir": keep, "--recurrences": recurrences}
        args += [str(a) for pair in given.items() if pair[1] is not None for a in pair]
        if faults is None:
            outcome = self._demo(args, timeout)
        else:
            outcome = self._through(args, timeout, faults)
        if expect is not None and outcome.exit != expect:
            raise Failed(f"the plan ended with {outcome.exit}, not with {expect}\n{outcome.words()}")
        return outcome

    def _demo(self, args, timeout):
        run = subprocess.run(args, capture_output=True, text=True, timeout=timeout + 60, check=False,
                             env={**os.environ, "TMPDIR": self.folder})
        events = [json.loads(line) for line in run.stdout.splitlines()]
        if any(e["schema"] != SCHEMA for e in events):
            raise Failed(f"these programs speak another schema than {SCHEMA}: {events[0]['schema']}")
        return Outcome(run.returncode, events, run.stderr)

    def _through(self, args, timeout, faults):
        listen, to = free_port(), free_port()
        proxy = subprocess.Popen([faults_program(), "--listen", f"127.0.0.1:{listen}", "--to", f"127.0.0.1:{to}",
                                  *map(str, faults)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            outcome = self._demo([*args, "--port", str(to), "--client-dials", f"127.0.0.1:{listen}"], timeout)
        finally:
            proxy.send_signal(signal.SIGTERM)
            said, error = proxy.communicate(timeout=60)
        if proxy.returncode != 0:
            raise Failed(f"tombola-faults ended with {proxy.returncode}: {error.strip()}")
        outcome.faults = json.loads(said)
        return outcome


def faults_program():
    """tombola-faults of the package, or beside this file in the tree."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tombola-faults")
    found = beside if os.access(beside, os.X_OK) else shutil.which("tombola-faults")
    if found is None:
        raise FileNotFoundError("no program tombola-faults: install tombola-testing")
    return found


if pytest is not None:
    def pytest_addoption(parser):
        parser.getgroup("tombola").addoption("--tombola-build", metavar="DIR",
                                             help="build folder whose programs the fixture `tombola` runs")

    @pytest.fixture
    def tombola(request, tmp_path):
        """Runs plans through the real daemons; see tombola_testing.Tombola."""
        try:
            return Tombola(tmp_path, request.config.getoption("--tombola-build"))
        except FileNotFoundError as e:
            pytest.fail(str(e), pytrace=False)  # not skipped: a test that never runs shows nothing
            return None

if __name__ == "__main__":
    sys.exit("tombola_testing is a plugin of pytest: pytest -p tombola_testing")
