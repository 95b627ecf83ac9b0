"""pinned.py - plans of several entries, shown to real clients by an analyzer and a shuffler in Python."""
import pytest

import wire
from cluster import EXIT
from parties import Shuffler
from test_attacks import Descriptors, colours
from wire import pb

DEVICES = 4


@pytest.fixture
def fake(cluster):
    cluster.configure(min_batch=2, max_epsilon0=5.0, epsilon=8.0)
    made = Shuffler(cluster)
    yield made
    made.close()


class Planned(Descriptors):
    """Makes plans of several entries, and rounds of them in any order."""

    def plan_of(self, n=3, epsilon=4.0, epsilon0=1.0, min_reports=10, **change):
        """A plan of n such rounds, which few clients leave void."""
        self.like = dict(epsilon0=epsilon0, min_reports=min_reports, target=min_reports)
        d = self.descriptor(**self.like)
        return self.plan([self.entry(d, i + 1) for i in range(n)], epsilon=epsilon, **change)

    def round(self, fake, plan, entry=1, attempt=1, void=b"", **change):
        d = self.descriptor(**{**self.like, **change})
        d.plan_hash, d.entry, d.attempt, d.void_manifest = wire.sha256(plan), entry, attempt, void
        return self.offer(fake, d=self.follow(d))[0]


def send(cluster, *args, mutant=""):
    return cluster.run("client", "send", colours(cluster, DEVICES), "--device-field", "device", "--wait", "3m", *args,
                       mutant=mutant)


def end(fake, d, is_void=True, key=None, of=None, **change):
    """The shuffler's manifest of a round, a lie where something is changed; its hash."""
    r = fake.rounds[d.round_id]
    other = fake.rounds[of.round_id] if of else r
    m = pb.Manifest(version=1, round_id=other["d"].round_id, descriptor_hash=wire.sha256(other["data"]),
                    participants=len(r["taken"]) if is_void else 10, void=is_void,
                    messages=0 if is_void else 10, tree=b"" if is_void else b"\1" * 32,
                    buckets=[] if is_void else [pb.Bucket(messages=10, root=b"\1" * 32)])
    for field, value in change.items():
        setattr(m, field, value)
    body = m.SerializeToString()
    r["sealed"] = True
    r["manifest"] = pb.SignedManifest(manifest=body, signature=wire.sign(key or fake.key, "manifest", body))
    return wire.sha256(body)


def answered(fake, d):
    return len(fake.rounds[d.round_id]["taken"])


def refused(run, code, words):
    assert run.returncode == EXIT[code], (run.returncode, run.stderr)
    assert words in run.stderr, run.stderr
