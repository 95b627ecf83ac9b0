"""The ledger's file, damaged on disk: what the programs say of it, and that they do not go on."""
import random

import faults
from cluster import EXIT

FLIPS, CUTS = 12, 12


def settled(tmp_path):
    stage = faults.Stage(str(tmp_path / "stage"), "plain")
    stage.play("analyzer", "kill", 0)
    return stage.cluster


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def test_no_flipped_bit_and_no_cut_but_of_the_last_record_starts_an_analyzer(tmp_path):
    """Every bit and every length: tests/unit/test_an_ledger.c.  Here the programs, whatever record is hit."""
    cluster = settled(tmp_path)
    path = cluster.path("analyzer", "ledger")
    whole, rng = read(path), random.Random(20261122)
    records = 6  # open, plan and its entry, reserve, charge, settle
    for bit in rng.sample(range(8 * len(whole)), FLIPS):
        bent = bytearray(whole)
        bent[bit // 8] ^= 1 << bit % 8
        write(path, bent)
        for verb in (("ledger", "verify"), ("run", "--once")):
            run = cluster.run("analyzer", *verb)
            assert run.returncode == EXIT["data"], (bit, verb, run)
            assert len(run.stderr.strip().splitlines()) == 1 and path in run.stderr and "byte" in run.stderr, run
        assert read(path) == bent, "a damaged ledger was written to"
    counts = set()
    for n in sorted(rng.sample(range(8, len(whole)), CUTS)):
        write(path, whole[:n])
        run = cluster.run("analyzer", "ledger", "export")
        assert run.returncode == 0, run
        counts.add(len(run.stdout.splitlines()))
    assert max(counts) < records
