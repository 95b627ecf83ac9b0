"""One device's rows, by the hundred thousand and by the million: nobody sees them, in no frame, page or moment."""
import contextlib
import subprocess
import sys
import urllib.error
import urllib.request
from time import monotonic, sleep

import pytest

import cluster as c
from houses import page
from test_kit import seeded_build
from test_views import CHANGED, pseudonym_of_the_changed, ran, row, set_out, write
from views import SEED

pytestmark = pytest.mark.quiet

STEP = 1.0    # `prepare`: half of it is for reading, on a busy machine, too
EARLY = 0.01  # by so much a clock of milliseconds may differ


def lines(ext, rows):
    return b"\n".join([row(ext, CHANGED, "c2")] * rows)


@contextlib.contextmanager
def load(processes):
    """So many others want the processor all the time."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def first_frame(worlds, ext, changed, mutant=""):
    """Seconds from when the round went out until the first report came, and the messages by pseudonym."""
    write(worlds, ext, changed)
    watcher = worlds.begin()
    client = worlds.cluster.start("client", "run", mutant=mutant, env={"TOMBOLA_TEST_SEED": SEED})
    try:
        c.wait_for("the round", lambda: '"round done"' in client.log() or not client.alive(), 120)
        assert client.alive()
        sealed = {}
        for pseudonyms, messages in watcher.received:
            each = len(messages) // (len(pseudonyms) // 32)
            for i in range(len(pseudonyms) // 32):
                sealed[pseudonyms[32 * i:32 * i + 32]] = messages[each * i:each * (i + 1)]
        (wait,) = watcher.waits.values()
        return wait, sealed
    finally:
        client.kill()
        watcher.close()


def steps(wait):
    return int(wait / STEP + EARLY)


# To parse so many takes longer than all of `prepare`.
@pytest.mark.parametrize("ext,rows,others", [
    ("csv", 1_500_000, 0), ("ndjson", 400_000, 0),
    *[pytest.param(ext, rows, others, marks=pytest.mark.heavy)
      for ext, rows in (("csv", 4_000_000), ("ndjson", 1_000_000)) for others in (0, 8)]])
def test_however_many_rows_a_device_has_the_first_frame_leaves_at_the_same_time(tmp_path, ext, rows, others):
    worlds = set_out(tmp_path, ext, listed=True, prepare=STEP)
    with load(others):
        # A machine that is busy may seal late, whatever was read: rows that matter would make every try late.
        for _ in range(5):
            one, sealed = first_frame(worlds, ext, lines(ext, 1))
            many, after = first_frame(worlds, ext, lines(ext, rows))
            if steps(one) == steps(many) == 1:
                break
    assert steps(one) == steps(many) == 1, (one, many)
    # Who takes part, and in which order where draws come from a seed; what the others say is compared below, where a busy machine
    # has the time to read it.
    order = list if seeded_build() else sorted
    assert len(sealed) == 6 and order(sealed) == order(after)
    worlds.cluster.close()


def test_without_the_bound_of_a_devices_rows_the_moment_shows(tmp_path):
    worlds = set_out(tmp_path, "csv", listed=True, prepare=STEP)
    wait, _ = first_frame(worlds, "csv", lines("csv", 300_000), mutant="client.share,client.until")
    assert steps(wait) > 1, wait
    worlds.cluster.close()


@pytest.mark.parametrize("mutant", ["", "client.shown"])
def test_the_page_of_metrics_changes_when_sending_begins(tmp_path, mutant):
    """Phase and stores: not when all is sealed, which is half a step earlier."""
    worlds = set_out(tmp_path, "csv", listed=True, prepare=STEP)
    write(worlds, "csv", lines("csv", 1))
    watcher = worlds.begin()
    client = worlds.cluster.start("client", "run", mutant=mutant)
    page, seen = f"http://127.0.0.1:{worlds.cluster.http['client']}/metrics", {}
    until = monotonic() + 60
    while len(seen) < 2 and monotonic() < until:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            text = urllib.request.urlopen(page, timeout=60).read().decode()
            at = monotonic()
            if 'phase="asking"} 1' not in text and 'phase="preparing"} 1' not in text:
                seen.setdefault("phase", at)
            if "tombola_client_store_duration_seconds_count 0" not in text:
                seen.setdefault("stores", at)
        sleep(0.005)
    client.kill()
    watcher.close()
    (served,) = watcher.served_at.values()
    early = {what for what, at in seen.items() if at - served < STEP - EARLY}
    assert early == ({"phase"} if mutant else set()), (served, seen)
    worlds.cluster.close()


def page_over_time(worlds, changed, mutant=""):
    """All that the client's page of metrics said between the round's coming and the moment of sending, and what it said in the end."""
    write(worlds, "csv", changed)
    watcher = worlds.begin()
    client = worlds.cluster.start("client", "run", mutant=mutant, env={"TOMBOLA_TEST_SEED": SEED})
    said, done = [], False
    try:
        while not done:
            assert client.alive(), client.log()
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                text = page(worlds.cluster, "client")
                said.append((monotonic(), text))
                done = 'tombola_client_rounds_total{outcome="done"} 1' in text
            sleep(0.005)
    finally:
        client.kill()
        watcher.close()
    (served,) = watcher.served_at.values()
    first = next(i for i, (_, text) in enumerate(said) if 'tombola_client_phase{phase="preparing"} 1' in text)
    before = [text for at, text in said[first:] if at - served < STEP - EARLY]
    return [text for i, text in enumerate(before) if text not in before[:i]], said[-1][1]


@pytest.mark.parametrize("mutant", ["", "client.shown"])
def test_at_no_time_the_page_of_metrics_depends_on_a_devices_rows(tmp_path, mutant):
    """It says one thing until sending begins, and in the end the same."""
    worlds = set_out(tmp_path, "csv", listed=True, prepare=STEP)
    for _ in range(5):  # a busy machine may begin to prepare when that time is over, or lose its connection and ask anew
        one, many = (page_over_time(worlds, lines("csv", rows), mutant) for rows in (1, 300_000))
        if one[0] and many[0] and not any('tombola_client_phase{phase="asking"} 1' in text for text in one[0] + many[0]):
            break
    assert one == many
    assert (len(one[0]) == 1) != bool(mutant), one[0]
    worlds.cluster.close()


def test_rows_that_are_left_out_cost_nobody_else_a_reading(tmp_path):
    """The others' messages are those of a file in which the device has one row, wherever its many stand."""
    worlds = set_out(tmp_path, "ndjson", listed=True)
    before = ran(worlds, "ndjson", lines("ndjson", 1))
    after = ran(worlds, "ndjson", lines("ndjson", 20_000))
    assert before.shuffler == after.shuffler and list(before.sealed) == list(after.sealed)
    assert len(pseudonym_of_the_changed(before, after)) <= 1
    worlds.cluster.close()
