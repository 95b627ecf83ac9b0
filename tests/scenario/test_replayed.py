"""A dishonest shuffler releases every message a thousand times, more than the analyzer's memory tells apart: each counts once,
what lay beside memory is gone with the process, and a disk that fails there costs a start and nothing else."""
import os

import pytest

import wire
from cluster import EXIT
from faults import SAID, SHIM
from parties import Shuffler
from wire import pb

N, COPIES, BUCKETS = 40, 40000, 4  # opening_mib = 1 holds 4,000 hashes, and 2,000 messages whose key came before
FAULTS = ("eio", "enospc", "kill")


class Replaying(Shuffler):
    """Says that COPIES devices took part, and makes their messages of those of N."""

    def on_submit(self, link, m):
        super().on_submit(link, m)
        with self.lock:
            r = self.rounds[m.round_id]
            r["sealed"] = len(r["taken"]) >= N
            self.lock.notify_all()

    def manifest_messages(self, messages):
        messages *= COPIES // N
        self.buckets = [messages[i::BUCKETS] for i in range(BUCKETS)]
        return messages

    def said(self, m):
        m.participants = COPIES
        del m.buckets[:]
        m.buckets.extend(pb.Bucket(messages=len(b), root=wire.bucket_root(b)) for b in self.buckets)

    def on_await_manifest(self, link, m):
        """A start after a fault gets the same again."""
        if "manifest" in self.rounds[m.round_id]:
            link.send(manifest=self.rounds[m.round_id]["manifest"])
        else:
            super().on_await_manifest(link, m)

    def on_pull(self, link, m):
        part = self.buckets[m.bucket][m.offset:m.offset + 1000]
        link.send(segment=pb.Segment(round_id=m.round_id, bucket=m.bucket, offset=m.offset, sealed=b"".join(part)))


@pytest.fixture
def rounds(cluster):
    """Plays a round of the plan with the analyzer's storage failing at a call, 0: never."""
    cluster.configure(min_batch=2)
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write("opening_mib = 1;\n")
    cluster.plan([{"query": f"q{i}", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
                   "min_reports": N, "target": COPIES, "values": ["c0", "c1"], "window": "10m"}
                  for i in range(2 + len(FAULTS))], epsilon=40.0)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"dev{i},c{i % 2}\n" for i in range(N)))
    fake = Replaying(cluster)

    def play(number, kind="eio", at=0):
        cluster.write("calls", "")
        cluster.start("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
        run = cluster.run("analyzer", "round", "run", str(number), env={
            "LD_PRELOAD": SHIM, "TOMBOLA_FAULT_DIR": os.path.realpath(cluster.path("analyzer")),
            "TOMBOLA_FAULT_LOG": cluster.path("calls"), "TOMBOLA_FAULT_AT": str(at), "TOMBOLA_FAULT_KIND": kind,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
        with open(cluster.path("calls")) as f:
            return run, f.read().splitlines()

    yield play
    fake.close()


def counted_once(cluster, number):
    result = cluster.json("analyzer", "round", "show", str(number))["result"]
    assert result["participants"] == result["messages"] == COPIES, result
    assert (sum(result["counts"]), result["bad"], result["duplicates"]) == (N, 0, COPIES - N), result


def left_beside(cluster):
    return [name for name in os.listdir(cluster.path("analyzer")) if name.startswith("batch")]


def test_replays_beyond_memory_count_once_whatever_the_disk_does(cluster, rounds):
    run, _ = rounds(1)
    assert run.returncode == 0, run.stderr
    counted_once(cluster, 1)
    run, calls = rounds(2)
    assert run.returncode == 0, run.stderr
    counted_once(cluster, 2)
    beside = [i for i, call in enumerate(calls, 1) if call.startswith("pwrite ") and "/batch.tmp-" in call]
    assert len(beside) > 300 and all(calls[i - 1].endswith("(deleted)") for i in beside), calls
    assert left_beside(cluster) == []
    for number, kind in enumerate(FAULTS, 3):
        run, _ = rounds(number, kind, beside[len(beside) // 2])
        if kind == "kill":
            assert run.returncode == -9, run.stderr
        else:
            said = [line for line in run.stderr.splitlines() if "room that a large batch needs beside memory" in line]
            assert run.returncode == EXIT["io"] and len(said) == 1 and any(s in said[0] for s in SAID[kind]), run.stderr
        assert left_beside(cluster) == []
        assert cluster.json("analyzer", "round", "list")["rounds"][number - 1]["stage"] == "charged"
        # What a kill between two calls could leave.
        cluster.write("analyzer/batch.tmp-abcdef", "x")
        run = cluster.run("analyzer", "round", "run", str(number))
        assert run.returncode == 0, run.stderr
        counted_once(cluster, number)
        assert left_beside(cluster) == []
