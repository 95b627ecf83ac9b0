"""parties.py - devices and a shuffler in Python, honest by default, each step open to be made dishonest; the analyzer is in
fake_analyzer.py."""
import os
import random
import socket
import ssl
import threading
import time

import params
import wire
from fake_analyzer import Analyzer  # noqa: F401
from wire import pb


class Device:
    """Devices behind one client certificate, in Python, against a real shuffler."""

    def __init__(self, cluster, folder="client"):
        self.cluster, self.folder = cluster, folder
        self.again()

    def again(self):
        self.link = wire.Link.dial(self.cluster.door(self.folder), self.cluster.tls(self.folder))

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
        r = self.receipt(submit)
        key = wire.load_public_key(os.path.join(self.cluster.pki, "client", "shuffler-sign.pub"))
        wire.verify(key, "receipt", wire.receipt_body(submit, r.outcomes, d), r.signature)
        return list(r.outcomes)

    def receipt(self, submit):
        """An intake may ask to come again, as it does while the head has not answered whose the certificate is."""
        end = time.monotonic() + 180
        while True:
            try:
                return self.link.ask("receipt", submit=submit)
            except wire.Refused as e:
                if e.code != pb.ERROR_BUSY or not self.cluster.spread or time.monotonic() > end:
                    raise
                time.sleep(0.2)
                self.again()

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
        cluster.without_intakes()
        self.key = cluster.signing_key("shuffler")
        self.lock = threading.Condition()
        self.chain_seq, self.chain_head = 0, b"\0" * 32
        self.rounds = {}      # round id -> dict
        self.plans = {}       # by hash: (bytes, signature)
        self.payloads = {}    # by hash: the bytes that were put
        self.standings = {}   # by the hash of a certificate's key: (sequence, descriptor hash, MAC)
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
        sequence, digest, mac = self.standings.get(peer, (0, b"", b""))
        link.send(standing=pb.Standing(sequence=sequence, descriptor_hash=digest, mac=mac, signature=wire.sign(
            self.standing_key(), "standing", wire.standing_bytes(peer, sequence, digest))))

    def on_submit(self, link, m):
        with self.lock:
            self.received.append((m.pseudonyms, m.sealed))
            r = self.rounds[m.round_id]
            out = self.outcomes(r, m)
            if pb.OUTCOME_ACCEPTED in out:
                self.standings[wire.key_hash(link.sock.getpeercert(binary_form=True))] = \
                    (r["d"].sequence, wire.sha256(r["data"]), m.mac)
            if len(r["taken"]) >= r["d"].target:
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
