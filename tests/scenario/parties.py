"""parties.py - an analyzer and a shuffler in Python, honest by default, each step open to be made dishonest."""
import os
import random
import ssl
import socket
import threading
import time

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
        self.chain.add(kind=pb.RECORD_OPEN, time_ms=1, population="test", mode="plan", epsilon_limit=epsilon_limit,
                       delta=delta, unit="device", plan_hash=b"\0" * 32)
        self.link = None

    def dial(self):
        self.link = wire.Link.dial(self.cluster.port, self.cluster.tls("analyzer"))
        return self

    def descriptor(self, bins=4, epsilon0=1.0, min_batch=2, target=2, window_ms=60000, shuffler_dummies=0, **change):
        """A descriptor for a k-ary randomized response; keyword arguments replace fields.

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
            query=pb.Query(name="colour", kind=pb.QUERY_HISTOGRAM, field="colour",
                           categories=[f"c{i}" for i in range(bins)]),
            randomizer=pb.Randomizer(protocol="bins", bins=bins, keep_always=True, shuffler_dummies=shuffler_dummies)
            if shuffler_dummies else pb.Randomizer(protocol="grr", bins=bins, keep=keep),
            messages_per_client=1, record_length=16, min_batch=min_batch, target_batch=target,
            honest_fraction=1.0, opens_ms=now - 1000, deadline_ms=now + window_ms, hpke_suite=1,
            hpke_key=self.hpke.public_key().public_bytes(*raw),
            privacy=pb.PrivacyStatement(epsilon0=math.inf if shuffler_dummies else epsilon0, epsilon_round=epsilon0,
                                        epsilon_total=epsilon0,
                                        epsilon_limit=self.limit, delta=self.delta),
            unit="device", mode="plan", plan_hash=b"\0" * 32,
            ledger_seq=self.chain.seq, ledger_head=self.chain.head)
        for k, v in change.items():
            setattr(d, k, v)
        return d

    def reserve(self, d):
        """The descriptor's bytes, after their RESERVE record."""
        data = d.SerializeToString()
        self.chain.add(kind=pb.RECORD_RESERVE, time_ms=2, round_id=d.round_id, descriptor=data, plan_round=1,
                       epsilon_round=d.privacy.epsilon_round, epsilon_total=d.privacy.epsilon_total)
        return data

    def extend(self):
        """Bring the shuffler's witness to the end of our chain."""
        seen = self.link.ask("witness", get_witness=pb.GetWitness(population="test"))
        missing = self.chain.records[seen.ledger_seq:]
        if not missing:
            return seen
        return self.link.ask("witness", extend_ledger=pb.ExtendLedger(population="test", first=seen.ledger_seq + 1,
                                                                     records=missing))

    def announce(self, data, signature=None):
        return self.link.ask("announced", announce=pb.Announce(
            descriptor=data, signature=signature or wire.sign(self.key, "descriptor", data)))

    def open_round(self, **kw):
        """Reserve, extend, announce: what an honest analyzer does."""
        d = self.descriptor(**kw)
        data = self.reserve(d)
        self.extend()
        self.announce(data)
        self.sequence, self.previous = d.sequence, wire.sha256(data)
        return d, data

    def manifest(self, d, seconds=60):
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
        run = self.cluster.run("client", "send", readings, "--device-field", "device", "--strict", "--wait", "30s")
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


class Device:
    """Devices behind one client certificate, in Python, against a real shuffler."""

    def __init__(self, cluster, folder="client"):
        self.cluster = cluster
        self.link = wire.Link.dial(cluster.port, cluster.tls(folder))

    def round(self, after=0, wait_ms=5000):
        r = self.link.ask("round", get_round=pb.GetRound(population="test", after=after, wait_ms=wait_ms))
        return pb.Descriptor.FromString(r.descriptor), r.descriptor

    @staticmethod
    def seal(d, data, value):
        return wire.Hpke.seal(d.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), wire.record(value))

    def submit(self, d, submissions):
        """submissions: (pseudonym, sealed) pairs; returns the outcomes."""
        names = b"".join(p for p, _ in submissions)
        sealed = b"".join(s for _, s in submissions)
        r = self.link.ask("receipt", submit=pb.Submit(round_id=d.round_id, pseudonyms=names, sealed=sealed))
        key = wire.load_public_key(os.path.join(self.cluster.pki, "client", "shuffler-sign.pub"))
        wire.verify(key, "receipt", d.round_id + wire.sha256(names, sealed) + r.outcomes, r.signature)
        return list(r.outcomes)


class Shuffler:
    """The shuffler's half, for real clients and a real analyzer.  Subclasses override what they corrupt."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.key = cluster.signing_key("shuffler")
        self.lock = threading.Condition()
        self.chain_seq, self.chain_head = 0, b"\0" * 32
        self.rounds = {}      # round id -> dict
        self.order = []       # round ids as announced
        self.received = []    # every Submit as it came: (pseudonyms, sealed)
        self.tls = cluster.tls("shuffler", server=True)
        self.listener = socket.create_server(("127.0.0.1", cluster.port))
        self.stopped = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        if not self.stopped:
            self.stopped = True
            self.listener.shutdown(socket.SHUT_RDWR)  # or accept() would hold the port
            self.listener.close()

    def _accept(self):
        while not self.stopped:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw):
        try:
            link = wire.Link(self.tls.wrap_socket(raw, server_side=True), hello=False)
            link.expect("hello")
            link.send(hello=pb.Hello(major=1, minor=0, software="parties.py"))
            while True:
                frame = link.receive()
                kind = frame.WhichOneof("kind")
                getattr(self, "on_" + kind)(link, getattr(frame, kind))
        except (EOFError, OSError, ssl.SSLError, ValueError):
            raw.close()

    def error(self, link, code, text="", retry=0):
        link.send(error=pb.Error(code=code, text=text, retry_after_ms=retry))

    # -- clients ---------------------------------------------------------------------------------------------------

    def served(self, after):
        """(descriptor, signature) to serve, or None."""
        for rid in self.order:
            r = self.rounds[rid]
            if r["d"].sequence > after and not r["sealed"]:
                return r["data"], r["signature"]
        return None

    def on_get_round(self, link, m):
        end = time.monotonic() + m.wait_ms / 1000
        with self.lock:
            while not self.served(m.after) and time.monotonic() < end:
                self.lock.wait(0.1)
            r = self.served(m.after)
        if r is None:
            self.error(link, pb.ERROR_NOT_FOUND, "no round", 1000)
        else:
            link.send(round=pb.Round(descriptor=r[0], signature=r[1]))

    def outcomes(self, r, m):
        n = len(m.pseudonyms) // 32
        each = len(m.sealed) // n
        out = bytearray()
        for i in range(n):
            p, s = m.pseudonyms[32 * i:32 * i + 32], m.sealed[each * i:each * (i + 1)]
            if r["sealed"]:
                out.append(pb.OUTCOME_CLOSED)
            elif r["taken"].setdefault(p, s) == s:
                out.append(pb.OUTCOME_ACCEPTED)
            else:
                out.append(pb.OUTCOME_CONFLICT)
        return bytes(out)

    def receipt_key(self):
        return self.key

    def on_submit(self, link, m):
        with self.lock:
            self.received.append((m.pseudonyms, m.sealed))
            r = self.rounds[m.round_id]
            out = self.outcomes(r, m)
            if len(r["taken"]) >= r["d"].target_batch:
                r["sealed"] = True
            self.lock.notify_all()
        body = m.round_id + wire.sha256(m.pseudonyms, m.sealed) + out
        link.send(receipt=pb.Receipt(round_id=m.round_id, outcomes=out,
                                     signature=wire.sign(self.receipt_key(), "receipt", body)))

    # -- the analyzer ----------------------------------------------------------------------------------------------

    def on_get_witness(self, link, m):
        link.send(witness=pb.Witness(ledger_seq=self.chain_seq, ledger_head=self.chain_head if self.chain_seq else b""))

    def on_extend_ledger(self, link, m):
        for body in m.records:
            self.chain_seq += 1
            self.chain_head = wire.sha256(self.chain_head, body)
        self.on_get_witness(link, None)

    def on_announce(self, link, m):
        d = pb.Descriptor.FromString(m.descriptor)
        with self.lock:
            if d.round_id not in self.rounds:
                self.rounds[d.round_id] = {"d": d, "data": m.descriptor, "signature": m.signature, "taken": {},
                                           "sealed": False}
                self.order.append(d.round_id)
            self.lock.notify_all()
        link.send(announced=pb.Announced(round_id=d.round_id))

    def dummies(self, d, data):
        """The messages the descriptor prescribes: uniform bins, sealed as a client seals."""
        uniform = random.SystemRandom()
        return [Device.seal(d, data, uniform.randrange(d.randomizer.bins))
                for _ in range(d.randomizer.shuffler_dummies)]

    def evened(self, d, data, tagged):
        """The messages without their tags; as many of each as the descriptor prescribes, where it does."""
        r, chance = d.randomizer, random.SystemRandom()
        of = [[m[2:] for m in tagged if int.from_bytes(m[:2], "little") == tag] for tag in range(r.tags)]
        for tag in range(r.tags if r.tag_messages else 0):
            chance.shuffle(of[tag])
            del of[tag][r.tag_messages:]
            s, group = tag // r.slots[0].groups, tag % r.slots[0].groups
            while len(of[tag]) < r.tag_messages:
                of[tag].append(self.sealed_in(d, data, s, group * r.slots[0].bins + chance.randrange(r.slots[0].bins)))
        return [m for messages in of for m in messages]

    @staticmethod
    def sealed_in(d, data, slot, value):
        """A message of a slot."""
        return wire.Hpke.seal(d.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), wire.record(value, slot))

    def said(self, manifest):
        """The manifest, before it is signed."""

    def manifest_messages(self, messages):
        """What the manifest is made of."""
        return messages

    def released(self, messages):
        """What is handed out."""
        return messages

    def on_await_manifest(self, link, m):
        r = self.rounds[m.round_id]
        with self.lock:
            if not r["sealed"]:
                self.lock.wait(m.wait_ms / 1000)
            if not r["sealed"]:
                if time.time() * 1000 < r["d"].deadline_ms:
                    self.error(link, pb.ERROR_BUSY, "still open", 100)
                    return
                r["sealed"] = True
            size = r["d"].record_length + 48 + (2 if r["d"].randomizer.tags else 0)
            messages = [s[i:i + size] for s in r["taken"].values() for i in range(0, len(s), size)]
            if r["d"].randomizer.tags:
                messages = self.evened(r["d"], r["data"], messages)
            own = self.dummies(r["d"], r["data"])
            messages += own
            random.SystemRandom().shuffle(messages)
            said = self.manifest_messages(messages)
            r["out"] = self.released(messages)
            made = pb.Manifest(version=1, round_id=m.round_id, descriptor_hash=wire.sha256(r["data"]),
                               participants=len(r["taken"]), messages=len(said), dummies=len(own),
                               buckets=[pb.Bucket(messages=len(said), root=wire.bucket_root(said))])
            self.said(made)
            body = made.SerializeToString()
        link.send(manifest=pb.SignedManifest(manifest=body, signature=wire.sign(self.key, "manifest", body)))

    def on_release(self, link, m):
        link.send(released=pb.Released(round_id=pb.Charge.FromString(m.charge).round_id))

    def on_pull(self, link, m):
        out = self.rounds[m.round_id]["out"]
        part = out[m.offset:m.offset + 1000]
        link.send(segment=pb.Segment(round_id=m.round_id, bucket=m.bucket, offset=m.offset, sealed=b"".join(part)))

    def on_settle(self, link, m):
        link.send(settled=pb.Settled(round_id=m.round_id))
