"""parties.py - an analyzer and a shuffler in Python, honest by default, each step open to be made dishonest."""
import os
import random
import ssl
import socket
import threading
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

    def descriptor(self, bins=4, epsilon0=1.0, min_batch=2, target=2, window_ms=60000, shuffler_dummies=0, none=None,
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
            messages_per_client=1, record_length=16, min_batch=min_batch, target_batch=target,
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
        return pb.Entry(number=number, query=d.query, randomizer=d.randomizer, min_batch=d.min_batch,
                        target_batch=d.target_batch, epsilon0=d.privacy.epsilon0,
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


class Device:
    """Devices behind one client certificate, in Python, against a real shuffler."""

    def __init__(self, cluster, folder="client"):
        self.cluster = cluster
        self.link = wire.Link.dial(cluster.port, cluster.tls(folder))

    def round(self, after=0, wait_ms=5000, seconds=180):
        """The round after that one.  Unless wait_ms is 0 it is waited for, as long as it may take on a machine that others use."""
        end = time.monotonic() + (seconds if wait_ms else 0)
        while True:
            try:
                r = self.link.ask("round", get_round=pb.GetRound(population="test", after=after, wait_ms=wait_ms))
                return pb.Descriptor.FromString(r.descriptor), r.descriptor
            except wire.Refused as e:
                if e.code != pb.ERROR_NOT_FOUND or time.monotonic() > end:
                    raise

    def standing(self):
        """The last round of our certificate as the shuffler signs it: sequence, hash of the descriptor."""
        s = self.link.ask("standing", get_standing=pb.GetStanding())
        with open(os.path.join(self.cluster.pki, "client", "client.crt"), "rb") as f:
            mine = wire.key_hash(ssl.PEM_cert_to_DER_cert(f.read().decode()))
        key = wire.load_public_key(os.path.join(self.cluster.pki, "client", "shuffler-sign.pub"))
        wire.verify(key, "standing", wire.standing_bytes(mine, s.sequence, s.descriptor_hash), s.signature)
        return s.sequence, s.descriptor_hash

    @staticmethod
    def seal(d, data, value):
        return wire.Hpke.seal(d.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), wire.record(value))

    def submit(self, d, submissions):
        """submissions: (pseudonym, sealed) pairs; returns the outcomes."""
        names = b"".join(p for p, _ in submissions)
        sealed = b"".join(s for _, s in submissions)
        submit = pb.Submit(round_id=d.round_id, pseudonyms=names, sealed=sealed, salts=os.urandom(len(names)))
        r = self.link.ask("receipt", submit=submit)
        key = wire.load_public_key(os.path.join(self.cluster.pki, "client", "shuffler-sign.pub"))
        wire.verify(key, "receipt", wire.receipt_body(submit, r.outcomes, d), r.signature)
        return list(r.outcomes)

    def manifest(self, d):
        return self.link.ask("manifest", get_manifest=pb.GetManifest(round_id=d.round_id))

    def prove(self, d, hashes):
        """The entries for some hashes."""
        time.sleep(0.11)  # the pause that a connection has to make
        padded = b"".join(hashes) + os.urandom(32 * (32 - len(hashes)))
        entries = self.link.ask("proof", get_proof=pb.GetProof(round_id=d.round_id, hashes=padded)).entries
        size = len(entries) // 32
        return [entries[size * i:size * (i + 1)] for i in range(len(hashes))]


class Shuffler:
    """The shuffler's half, for real clients and a real analyzer.  Subclasses override what they corrupt."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.key = cluster.signing_key("shuffler")
        self.lock = threading.Condition()
        self.chain_seq, self.chain_head = 0, b"\0" * 32
        self.rounds = {}      # round id -> dict
        self.plans = {}       # by hash: (bytes, signature)
        self.payloads = {}    # by hash: the bytes that were put
        self.standings = {}   # by the hash of a certificate's key: (sequence, descriptor hash)
        self.order = []       # round ids as announced
        self.received = []    # every Submit as it came: (pseudonyms, sealed)
        self.asked = []       # kinds of the frames that came, in order
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
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            link = wire.Link(self.tls.wrap_socket(raw, server_side=True), hello=False)
            link.expect("hello")
            link.send(hello=pb.Hello(major=1, minor=0, software="parties.py"))
            while True:
                frame = link.receive()
                kind = frame.WhichOneof("kind")
                self.asked.append(kind)
                getattr(self, "on_" + kind)(link, getattr(frame, kind))
        except (EOFError, OSError, ssl.SSLError, ValueError):
            raw.close()

    def error_of(self, link, code, round_id, retry=0):
        link.send(error=pb.Error(code=code, text="", retry_after_ms=retry, round_id=round_id))

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

    def on_get_plan(self, link, m):
        if m.plan_hash not in self.plans:
            self.error(link, pb.ERROR_NOT_FOUND, "no such plan")
        else:
            plan, signature = self.plans[m.plan_hash]
            link.send(plan=pb.SignedPlan(plan=plan, signature=signature))

    def on_get_payload(self, link, m):
        data = self.payloads[self.rounds[m.round_id]["d"].payload_hash]
        link.send(payload=pb.Payload(round_id=m.round_id, offset=m.offset, data=bytes(data[m.offset:m.offset + m.length])))

    def on_get_manifest(self, link, m):
        r = self.rounds.get(m.round_id)
        if not r or "manifest" not in r:
            self.error_of(link, pb.ERROR_BUSY if r else pb.ERROR_NOT_FOUND, m.round_id, 100 if r else 0)
        else:
            link.send(manifest=r["manifest"])

    def standing_key(self):
        return self.key

    def on_get_standing(self, link, m):
        peer = wire.key_hash(link.sock.getpeercert(binary_form=True))
        sequence, digest = self.standings.get(peer, (0, b""))
        link.send(standing=pb.Standing(sequence=sequence, descriptor_hash=digest, signature=wire.sign(
            self.standing_key(), "standing", wire.standing_bytes(peer, sequence, digest))))

    def on_submit(self, link, m):
        with self.lock:
            self.received.append((m.pseudonyms, m.sealed))
            r = self.rounds[m.round_id]
            out = self.outcomes(r, m)
            if pb.OUTCOME_ACCEPTED in out:
                self.standings[wire.key_hash(link.sock.getpeercert(binary_form=True))] = \
                    (r["d"].sequence, wire.sha256(r["data"]))
            if len(r["taken"]) >= r["d"].target_batch:
                r["sealed"] = True
            self.lock.notify_all()
        body = wire.receipt_body(m, out, r["d"])
        link.send(receipt=pb.Receipt(round_id=m.round_id, outcomes=out,
                                     signature=wire.sign(self.receipt_key(), "receipt", body)))

    def proof_leaves(self, r):
        """What proofs are made of."""
        return r["leaves"]

    def on_get_proof(self, link, m):
        r = self.rounds.get(m.round_id, {})
        if "manifest" not in r:
            self.error_of(link, pb.ERROR_NOT_FOUND, m.round_id)
            return
        leaves = self.proof_leaves(r)
        wanted = [m.hashes[i:i + 32] for i in range(0, len(m.hashes), 32)]
        link.send(proof=pb.Proof(round_id=m.round_id, entries=b"".join(leaves.entry(h) for h in wanted)))

    # -- the analyzer ----------------------------------------------------------------------------------------------

    def on_get_policy(self, link, m):
        """Whatever is asked is allowed."""
        link.send(policy=pb.Policy(population=m.population, max_epsilon=1000, delta=0.01, min_batch=1,
                                   max_epsilon0=float("inf"), honest_fraction=1, max_plan_entries=1000, max_tries=100,
                                   max_target=100000000,
                                   max_shuffler_dummies=100000000, max_window_ms=366 * 86400000, accept_adaptive=True,
                                   max_payload=16 << 20))

    def on_get_witness(self, link, m):
        link.send(witness=pb.Witness(ledger_seq=self.chain_seq, ledger_head=self.chain_head if self.chain_seq else b""))

    def know_plans(self, records):
        for record in map(pb.Record.FromString, records):
            if record.kind == pb.RECORD_PLAN:
                self.plans[wire.sha256(record.plan)] = record.plan, record.signature

    def on_extend_ledger(self, link, m):
        self.know_plans(m.records)
        for body in m.records:
            self.chain_seq += 1
            self.chain_head = wire.sha256(self.chain_head, body)
        self.on_get_witness(link, None)

    def on_put_payload(self, link, m):
        held = self.payloads.setdefault(m.hash, bytearray())
        if m.offset == len(held):
            held.extend(m.data)
        link.send(payload_held=pb.PayloadHeld(hash=m.hash, held=len(held)))

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
        return [Device.seal(d, data, uniform.randrange(params.read(d.randomizer).bins))
                for _ in range(d.randomizer.shuffler.dummies)]

    def evened(self, d, data, tagged):
        """The messages without their tags; as many of each as the descriptor prescribes, where it does."""
        r, chance = d.randomizer.shuffler, random.SystemRandom()
        of = [[m[2:] for m in tagged if int.from_bytes(m[:2], "little") == tag] for tag in range(r.tags)]
        for tag in range(r.tags if r.tag_messages else 0):
            chance.shuffle(of[tag])
            del of[tag][r.tag_messages:]
            of_slot = params.read(d.randomizer).slots[0]
            s, group = tag // of_slot.groups, tag % of_slot.groups
            while len(of[tag]) < r.tag_messages:
                of[tag].append(self.sealed_in(d, data, s, group * of_slot.bins + chance.randrange(of_slot.bins)))
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
            size = r["d"].record_length + 48 + (2 if r["d"].randomizer.shuffler.tags else 0)
            messages = [s[i:i + size] for s in r["taken"].values() for i in range(0, len(s), size)]
            if r["d"].randomizer.shuffler.tags:
                messages = self.evened(r["d"], r["data"], messages)
            own = self.dummies(r["d"], r["data"])
            messages += own
            random.SystemRandom().shuffle(messages)
            said = self.manifest_messages(messages)
            r["out"] = self.released(messages)
            made = pb.Manifest(version=1, round_id=m.round_id, descriptor_hash=wire.sha256(r["data"]),
                               participants=len(r["taken"]), messages=len(said), dummies=len(own),
                               buckets=[pb.Bucket(messages=len(said), root=wire.bucket_root(said))])
            r["leaves"] = wire.Leaves(said)
            made.tree = r["leaves"].root
            self.said(made)
            if made.void:
                made.tree = b""
            body = made.SerializeToString()
            r["manifest"] = pb.SignedManifest(manifest=body, signature=wire.sign(self.key, "manifest", body))
        link.send(manifest=r["manifest"])

    def on_release(self, link, m):
        link.send(released=pb.Released(round_id=pb.Charge.FromString(m.charge).round_id))

    def on_pull(self, link, m):
        out = self.rounds[m.round_id]["out"]
        part = out[m.offset:m.offset + 1000]
        link.send(segment=pb.Segment(round_id=m.round_id, bucket=m.bucket, offset=m.offset, sealed=b"".join(part)))

    def on_settle(self, link, m):
        link.send(settled=pb.Settled(round_id=m.round_id))
