"""fake_analyzer.py - an analyzer in Python, honest by default, each step open to be made dishonest."""
import os
import time

import params
import wire
from wire import pb


class Analyzer:
    """Speaks the analyzer's half to a real shuffler."""

    def __init__(self, cluster, epsilon_limit=10.0, delta=1e-6):
        self.cluster = cluster
        self.key = cluster.signing_key("analyzer")
        self.chain = wire.Chain()
        self.sequence, self.previous = 0, b""
        self.limit, self.delta = epsilon_limit, delta
        self.chain.add(kind=pb.RECORD_OPEN, time_ms=1, population="test", epsilon_limit=epsilon_limit, delta=delta,
                       unit="device")
        self.plans, self.plan_previous = 0, b""
        self.link = None

    def dial(self):
        self.link = wire.Link.dial(self.cluster.port, self.cluster.tls("analyzer"))
        return self

    def descriptor(self, bins=4, epsilon0=1.0, min_reports=2, target=2, window_ms=60000, shuffler_dummies=0, none=None,
                   field="colour", **change):
        """A descriptor for a k-ary randomized response; keyword arguments replace fields.

        A device without a reading has the category of index `none`, or an even one.

        With shuffler_dummies the values are sent as they are, and nothing else hides them.
        """
        import math
        keep = int(math.exp(epsilon0) / (math.exp(epsilon0) + bins - 1) * (1 - 1e-12) * 2**64)
        self.hpke = wire.X25519PrivateKey.generate()
        raw = (wire.serialization.Encoding.Raw, wire.serialization.PublicFormat.Raw)
        now = int(time.time() * 1000)
        d = pb.Descriptor(
            version=1, population="test", round_id=os.urandom(16), sequence=self.sequence + 1,
            previous=self.previous,
            query=pb.Query(name="colour", kind=pb.QUERY_HISTOGRAM, field=field,
                           categories=[f"c{i}" for i in range(bins)],
                           **({} if none is None else {"none": 2, "none_category": none})),
            randomizer=params.message(params.of("bins", bins=bins, keep_always=True), dummies=shuffler_dummies)
            if shuffler_dummies else params.message(params.of("grr", bins=bins, keep=keep)),
            messages_per_client=1, record_length=16, min_reports=min_reports, target=target,
            honest_fraction=1.0, opens_ms=now - 1000, deadline_ms=now + window_ms, hpke_suite=1,
            hpke_key=self.hpke.public_key().public_bytes(*raw),
            privacy=pb.PrivacyStatement(epsilon0=math.inf if shuffler_dummies else epsilon0, epsilon_round=epsilon0,
                                        epsilon_total=epsilon0,
                                        epsilon_limit=self.limit, delta=self.delta),
            unit="device", mode="plan",
            ledger_seq=self.chain.seq, ledger_head=self.chain.head)
        for k, v in change.items():
            setattr(d, k, v)
        return d

    @staticmethod
    def entry(d, number=1):
        """What a plan fixes of this descriptor's round."""
        return pb.Entry(number=number, query=d.query, randomizer=d.randomizer, min_reports=d.min_reports,
                        target=d.target, epsilon0=d.privacy.epsilon0,
                        epsilon_round=d.privacy.epsilon_round, epsilon_total=d.privacy.epsilon_total,
                        payload_max=d.payload_max, computing=d.computing if d.HasField("computing") else None)

    def put(self, data, part=1 << 18):
        """A payload, in parts; what the shuffler holds of it."""
        digest, held = wire.sha256(data), 0
        while held < len(data):
            held = self.link.ask("payload_held", put_payload=pb.PutPayload(
                hash=digest, size=len(data), offset=held, data=data[held:held + part])).held
        return held

    def plan(self, entries, epsilon=None, delta=None, signature=None, **change):
        """A plan of these entries, and its PLAN record; the bytes.  delta: a hundredth of the population's."""
        p = pb.Plan(version=1, population="test", name="test", mode="plan", unit="device", number=self.plans + 1,
                    previous=self.plan_previous, epsilon=epsilon or self.limit, delta=delta or self.delta / 100,
                    honest_fraction=1.0, tries=3, file_hash=os.urandom(32), entries=entries)
        for k, v in change.items():
            setattr(p, k, v)
        data = p.SerializeToString()
        self.chain.add(kind=pb.RECORD_PLAN, time_ms=2, plan=data,
                       signature=signature or wire.sign(self.key, "plan", data))
        self.plans, self.plan_previous = self.plans + 1, wire.sha256(data)
        return data

    def slice_of(self, d):
        """Enough for this round: what it guarantees alone, or four where that is nothing."""
        return 2 * d.privacy.epsilon0 if d.privacy.epsilon0 < 100 else 4.0

    def planned(self, d):
        """A plan of its own for this descriptor, which then follows the ledger as it is."""
        d.honest_fraction = d.honest_fraction or 1.0
        data = self.plan([self.entry(d)], epsilon=self.slice_of(d), honest_fraction=d.honest_fraction,
                         colluders=d.colluders)
        d.plan_hash, d.entry, d.attempt = wire.sha256(data), 1, 1
        return self.follow(d)

    def follow(self, d):
        d.sequence, d.previous = self.sequence + 1, self.previous
        d.ledger_seq, d.ledger_head = self.chain.seq, self.chain.head
        return d

    def reserve(self, d):
        """The descriptor's bytes, after their RESERVE record; with a plan of its own if it names none."""
        if not d.plan_hash:
            d = self.planned(d)
        data = d.SerializeToString()
        self.chain.add(kind=pb.RECORD_RESERVE, time_ms=2, round_id=d.round_id, descriptor=data, plan_round=1,
                       plan_hash=d.plan_hash, epsilon_round=d.privacy.epsilon_round,
                       epsilon_total=d.privacy.epsilon_total)
        self.sequence, self.previous = d.sequence, wire.sha256(data)
        return data

    def show(self, first, records, head):
        """Records as they are, signed."""
        last = first + len(records) - 1
        return self.link.ask("witness", extend_ledger=pb.ExtendLedger(
            population="test", first=first, records=records,
            signature=wire.sign(self.key, "ledger", wire.head_bytes("test", last, head))))

    def extend(self):
        """Bring the shuffler's witness to the end of our chain."""
        seen = self.link.ask("witness", get_witness=pb.GetWitness(population="test"))
        while seen.ledger_seq < self.chain.seq:
            n, room = seen.ledger_seq, 1000000
            while n < self.chain.seq and n - seen.ledger_seq < 256 and len(self.chain.records[n]) + 8 <= room:
                room -= len(self.chain.records[n]) + 8
                n += 1
            seen = self.show(seen.ledger_seq + 1, self.chain.records[seen.ledger_seq:n], self.chain.heads[n])
        return seen

    def announce(self, data, signature=None, seconds=180):
        """Again while the shuffler composes."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.link.ask("announced", announce=pb.Announce(
                    descriptor=data, signature=signature or wire.sign(self.key, "descriptor", data)))
            except wire.Refused as e:
                if "composed" not in e.text or e.code != pb.ERROR_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def open_round(self, **kw):
        """Reserve, extend, announce: what an honest analyzer does."""
        d = self.descriptor(**kw)
        data = self.reserve(d)
        self.extend()
        self.announce(data)
        return d, data

    def try_entry(self, d, plan, entry=1, attempt=1, void_manifest=b""):
        """A try of an entry of a plan that was made before: reserve, extend, announce."""
        d.plan_hash, d.entry, d.attempt, d.void_manifest = wire.sha256(plan), entry, attempt, void_manifest
        data = self.reserve(self.follow(d))
        self.extend()
        self.announce(data)
        return d, data

    def void(self, d, reason="few"):
        self.chain.add(kind=pb.RECORD_VOID, time_ms=4, round_id=d.round_id, reason=reason)
        return self.extend()

    def manifest(self, d, seconds=180):
        end = time.monotonic() + seconds
        while True:
            try:
                m = self.link.ask("manifest", await_manifest=pb.AwaitManifest(round_id=d.round_id, wait_ms=1000))
                return pb.Manifest.FromString(m.manifest), m
            except wire.Refused as e:
                if e.code != pb.ERROR_BUSY or time.monotonic() > end:
                    raise

    def charge(self, d, data, manifest_bytes, **change):
        self.chain.add(kind=pb.RECORD_CHARGE, time_ms=3, round_id=d.round_id,
                       manifest_hash=wire.sha256(manifest_bytes),
                       participants=pb.Manifest.FromString(manifest_bytes).participants,
                       epsilon_round=d.privacy.epsilon_round, epsilon_total=d.privacy.epsilon_total)
        c = pb.Charge(version=1, round_id=d.round_id, descriptor_hash=wire.sha256(data),
                      manifest_hash=wire.sha256(manifest_bytes), ledger_seq=self.chain.seq,
                      ledger_head=self.chain.head)
        for k, v in change.items():
            setattr(c, k, v)
        return c.SerializeToString()

    def release(self, charge, signature=None):
        return self.link.ask("released", release=pb.Release(
            charge=charge, signature=signature or wire.sign(self.key, "charge", charge)))

    def pull(self, d, manifest, length=64):
        """All sealed messages in the order of the release."""
        out = []
        for b, bucket in enumerate(manifest.buckets):
            got = 0
            while got < bucket.messages:
                s = self.link.ask("segment", pull=pb.Pull(round_id=d.round_id, bucket=b, offset=got))
                part = [s.sealed[i:i + length] for i in range(0, len(s.sealed), length)]
                assert part, "an empty segment of a bucket that has messages"
                got += len(part)
                out += part
        return out

    def opened_of_clients(self, d, readings, length=16):
        """The round of d from its reservation to its release: the records, opened, that a real client sends of a file of
        readings."""
        data = self.reserve(d)
        self.extend()
        self.announce(data)
        run = self.cluster.run("client", "send", readings, "--device-field", "device", "--wait", "3m")
        assert run.returncode == 0, run.stderr
        manifest, signed = self.manifest(d)
        charge = self.charge(d, data, signed.manifest)
        self.extend()
        self.release(charge)
        return [wire.Hpke.open(self.hpke, wire.hpke_info(data), wire.hpke_aad(data), s)
                for s in self.pull(d, manifest, length=length + 48)]

    def settle(self, d):
        return self.link.ask("settled", settle=pb.Settle(round_id=d.round_id))

    def value(self, data, sealed):
        plain = wire.Hpke.open(self.hpke, wire.hpke_info(data), wire.hpke_aad(data), sealed)
        return int.from_bytes(plain[8:16], "little")
