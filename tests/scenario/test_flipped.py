"""Bits of the shuffler's files, flipped while it is down, after reports were acknowledged: it says so in one line and goes
no further (exit 65), at its start or when it counts, or what it releases is what was sent.

TOMBOLA_FLIPS sets how many bits are flipped of each kind of place (default 1; doc/testing.md has the figures of more)."""
import copy
import os
import random
import re
import shutil
import signal
import sqlite3
import struct

import pytest

from cluster import EXIT, wait_for
from parties import Analyzer, Device
from test_shuffler import submissions
from wire import pb, Refused

FLIPS = int(os.environ.get("TOMBOLA_FLIPS", "1"))
N = 30
STAGES = ("collecting", "sealed", "releasing")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def btree(data):
    """The places of SQLite's own numbers: header of the file, of each page that has one, and pointers to cells."""
    size = struct.unpack(">H", data[16:18])[0]
    head, pages, pointers = list(range(100)), [], []
    for page in range(0, len(data), size):
        at = page + (100 if page == 0 else 0)
        if data[at] in (2, 5, 10, 13):
            length = 12 if data[at] in (2, 5) else 8
            cells = struct.unpack(">H", data[at + 3:at + 5])[0]
            pages += range(at, at + length)
            pointers += range(at + length, at + length + 2 * cells)
            for i in range(cells):  # and what each cell begins with: lengths, types, small numbers
                cell = page + struct.unpack(">H", data[at + length + 2 * i:][:2])[0]
                pointers += range(cell, min(cell + 40, page + size))
    return {"the file's header": head, "page headers": pages, "cells": pointers}


def values(path, data):
    """The bytes of each column of each table, where they are long enough to be found."""
    places, db = {}, sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    for table, in db.execute("SELECT name FROM sqlite_schema WHERE type='table'").fetchall():
        rows = db.execute(f"SELECT * FROM {table}")
        for row in rows.fetchall():
            for column, value in zip(rows.description, row):
                at = data.find(value[:64]) if isinstance(value, bytes) and len(value) > 8 else -1
                if at >= 0:
                    places.setdefault(f"{table}.{column[0]}", []).extend(range(at, at + min(64, len(value))))
    db.close()
    return places


def all_places(folder):
    """(file, kind of place) -> offsets."""
    out = {}
    for name in ["state.db"] + [f"{sub}/{f}" for sub in ("rounds", "keys") for f in os.listdir(os.path.join(folder, sub))]:
        path = os.path.join(folder, name)
        data = read(path)
        if name.startswith("keys/"):
            out[name, "key"] = list(range(len(data)))
            continue
        for kind, places in {**btree(data), **values(path, data)}.items():
            out[name, kind] = places
    return out


class Play:
    """A round at one stage, which is played on again and again from a copy of the shuffler's files."""

    def __init__(self, cluster, stage):
        cluster.configure(devices=100)
        self.cluster, self.stage, self.folder = cluster, stage, cluster.path("shuffler")
        self.start()
        self.analyzer = Analyzer(cluster).dial()
        self.d, self.data = self.analyzer.open_round(target=N + 1, min_reports=N + 1, window_ms=3600000)
        self.sent = submissions(self.d, self.data, [i % 4 for i in range(N + 1)])
        device = Device(cluster)
        for part in (self.sent[:10], self.sent[10:N]):  # two commits
            assert set(device.submit(self.d, part)) == {pb.OUTCOME_ACCEPTED}
        self.charged = None
        if stage != "collecting":
            assert device.submit(self.d, self.sent[N:]) == [pb.OUTCOME_ACCEPTED]
            self.manifest, self.signed = self.analyzer.manifest(self.d)
        if stage == "releasing":
            self.charged = self.analyzer.charge(self.d, self.data, self.signed.manifest)
            self.analyzer.extend()
            self.analyzer.release(self.charged)
        self.end()
        self.kept, self.chain = cluster.path("kept"), copy.deepcopy(self.analyzer.chain)
        shutil.copytree(self.folder, self.kept)
        # After an orderly stop all is in the files themselves.
        assert not [f for _, _, files in os.walk(self.kept) for f in files if f.endswith("-wal")]

    def start(self):
        log = self.cluster.path("shuffler.log")
        self.begins = os.path.getsize(log) if os.path.exists(log) else 0
        self.daemon = self.cluster.start("shuffler", "run")
        wait_for("the shuffler to listen or to end", lambda: not self.daemon.alive() or
                 '"shuffler ready"' in self.said())

    def said(self):
        with open(self.daemon.log_path, errors="replace") as f:
            f.seek(self.begins)
            return f.read()

    def end(self):
        self.daemon.stop()

    def on(self):
        """The rest of the round; what was pulled."""
        a = self.analyzer
        a.chain = copy.deepcopy(self.chain)
        a.dial()
        if self.stage == "collecting":
            assert Device(self.cluster).submit(self.d, self.sent[N:]) == [pb.OUTCOME_ACCEPTED]
        manifest, signed = a.manifest(self.d, 10)
        assert manifest.participants == manifest.messages == N + 1 and not manifest.void, manifest
        charge = self.charged or a.charge(self.d, self.data, signed.manifest)
        a.extend()
        a.release(charge)
        return a.pull(self.d, manifest)

    def flip(self, name, offset, bit):
        """What came of it: "refused", "noticed" or "harmless"; AssertionError when it is none of them."""
        where = f"{self.stage}: {name}, bit {bit} of byte {offset}"
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)
        path = os.path.join(self.folder, name)
        data = bytearray(read(path))
        data[offset] ^= 1 << bit
        with open(path, "wb") as f:
            f.write(data)
        os.truncate(self.daemon.log_path, 0)
        self.start()
        at_start = not self.daemon.alive()
        try:
            pulled = None if at_start else self.on()
        except (OSError, EOFError, Refused):
            pulled = None
        if pulled is not None:
            assert sorted(pulled) == sorted(s for _, s in self.sent), f"{where}: another batch was released"
            self.end()
            return "harmless"
        # A block of a round that is being released ends nothing: the round is named, and all others go on.
        named = '"msg":"a round that is being released is damaged; all others go on","round":1'
        wait_for(f"{where}: the shuffler to end by itself, or to name the round",
                 lambda: not self.daemon.alive() or named in self.said())
        goes_on = self.daemon.alive()
        if goes_on:
            assert "`tombola-shuffler round give-up 1`" in self.said(), self.said()
            self.end()
        lines = [x for x in self.said().splitlines() if '"level":"error"' in x or x.startswith("tombola-shuffler: ")]
        assert goes_on or self.daemon.process.returncode == EXIT["data"], f"{where}: {self.daemon.process.returncode}\n{self.said()}"
        assert len(lines) == 1, f"{where}: no one clear line: {self.said()}"
        for folder in ("rounds", "keys"):
            assert sorted(os.listdir(os.path.join(self.kept, folder))) == sorted(
                x for x in os.listdir(os.path.join(self.folder, folder)) if not re.search("-(wal|shm)$", x)), \
                f"{where}: acknowledged reports were removed\n{self.said()}"
        return "refused" if at_start else "noticed"


@pytest.mark.files("u/sh_postgresql damages rows and blocks")
@pytest.mark.parametrize("stage", STAGES)
def test_a_flipped_bit_is_said_and_changes_no_batch(cluster, stage, capsys):
    play, rng = Play(cluster, stage), random.Random(f"{stage} {FLIPS}")
    came, bad = {}, []
    for (name, kind), offsets in sorted(all_places(play.kept).items()):
        kind = f"{name.split('/')[0]}, {kind}"
        for place in rng.sample(range(8 * len(offsets)), min(8 * len(offsets), FLIPS)):
            try:
                result = play.flip(name, offsets[place // 8], place % 8)
            except AssertionError as e:
                result = "bad"
                bad.append(f"{kind}: {e}")
                play.daemon.kill(signal.SIGKILL) if play.daemon.alive() else None
            came.setdefault(kind, {}).setdefault(result, 0)
            came[kind][result] += 1
    if FLIPS > 1:
        with capsys.disabled():
            print("\n" + "\n".join(f"{stage}: {kind}: {results}" for kind, results in sorted(came.items())))
    assert not bad, "\n".join(bad)
    for kind in ("state.db, round.descriptor", "state.db, round.sum", "state.db, record.body", "rounds, tags.body"):
        assert set(came[kind]) == {"refused"}, (kind, came)
