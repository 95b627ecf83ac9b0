"""wire.py - a second implementation of doc/wire.md, in Python: TLS, frames, documents, HPKE, the ledger chain.

It shares nothing with the C code but tombola.proto.  The scenarios use it to play dishonest or broken parties
against the real daemons.
"""
import contextlib
import functools
import hashlib
import hmac
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _load_proto():
    """Generate tombola_pb2 beside the other temporary files and import it."""
    out = tempfile.mkdtemp(prefix="tombola-pb2-")
    subprocess.run(["protoc", f"--proto_path={ROOT}/proto", f"--python_out={out}", f"{ROOT}/proto/tombola.proto"],
                   check=True)
    sys.path.insert(0, out)
    import tombola_pb2
    return tombola_pb2


pb = _load_proto()

FRAME_MAX = 1 << 20
PURPOSE = {"descriptor": "tombola descriptor", "manifest": "tombola manifest", "charge": "tombola charge",
           "receipt": "tombola receipt", "plan": "tombola plan", "ledger": "tombola ledger",
           "standing": "tombola standing", "rehearsal": "tombola rehearsal"}


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def sign(key, purpose, data):
    return key.sign(PURPOSE[purpose].encode() + b"\0" + data)


def verify(key, purpose, data, signature):
    key.verify(signature, PURPOSE[purpose].encode() + b"\0" + data)


def load_signing_key(path):
    with open(path, "rb") as f:
        return serialization.load_pem_private_key(f.read(), None)


def load_public_key(path):
    with open(path, "rb") as f:
        return serialization.load_pem_public_key(f.read())


def raw_public(private):
    return private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


recipient = functools.lru_cache(maxsize=16)(raw_public)  # deriving it takes as long as the rest of a message


class Hpke:
    """RFC 9180 base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM; single shot."""

    KEM = b"KEM" + struct.pack(">H", 0x20)
    SUITE = b"HPKE" + struct.pack(">HHH", 0x20, 1, 1)

    @staticmethod
    def _extract(suite, salt, label, ikm):
        return hmac.new(salt or b"\0" * 32, b"HPKE-v1" + suite + label + ikm, hashlib.sha256).digest()

    @staticmethod
    def _expand(suite, prk, label, info, n):
        info = struct.pack(">H", n) + b"HPKE-v1" + suite + label + info
        out, block, i = b"", b"", 1
        while len(out) < n:
            block = hmac.new(prk, block + info + bytes([i]), hashlib.sha256).digest()
            out, i = out + block, i + 1
        return out[:n]

    @classmethod
    @functools.cache
    def _context(cls, info):
        return b"\0" + cls._extract(cls.SUITE, b"", b"psk_id_hash", b"") + cls._extract(cls.SUITE, b"", b"info_hash", info)

    @classmethod
    def _key(cls, dh, enc, public, info):
        prk = cls._extract(cls.KEM, b"", b"eae_prk", dh)
        secret = cls._expand(cls.KEM, prk, b"shared_secret", enc + public, 32)
        context = cls._context(info)
        secret = cls._extract(cls.SUITE, secret, b"secret", b"")
        return cls._expand(cls.SUITE, secret, b"key", context, 16), \
            cls._expand(cls.SUITE, secret, b"base_nonce", context, 12)

    @classmethod
    def seal(cls, public, info, aad, plain):
        eph = X25519PrivateKey.generate()
        enc = raw_public(eph)
        dh = eph.exchange(X25519PublicKey.from_public_bytes(public))
        key, nonce = cls._key(dh, enc, public, info)
        return enc + AESGCM(key).encrypt(nonce, plain, aad)

    @classmethod
    def open(cls, private, info, aad, sealed):
        enc = sealed[:32]
        dh = private.exchange(X25519PublicKey.from_public_bytes(enc))
        key, nonce = cls._key(dh, enc, recipient(private), info)
        return AESGCM(key).decrypt(nonce, sealed[32:], aad)


def hpke_info(descriptor):
    return b"tombola/1 report\0" + sha256(descriptor)


def hpke_aad(descriptor):
    return sha256(descriptor)


def record(value, slot=0):
    """The 16-byte plaintext of one report."""
    return struct.pack("<BBHIQ", 1, 0, slot, 0, value)


def bucket_root(messages):
    return sha256(*sorted(sha256(m) for m in messages))


# ---- Merkle trees, receipts and evidence: by the recursive definitions of RFC 6962 -----------------------------------

def tree_leaf(data):
    return sha256(b"\0", data)


def _split(n):
    """The largest power of two below n."""
    return 1 << (n - 1).bit_length() - 1


def tree_root(leaves):
    """MTH of leaf hashes."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256()
    k = _split(len(leaves))
    return sha256(b"\1", tree_root(leaves[:k]), tree_root(leaves[k:]))


def tree_path(i, leaves):
    """PATH of leaf i, from the leaf up."""
    if len(leaves) < 2:
        return []
    k = _split(len(leaves))
    return tree_path(i, leaves[:k]) + [tree_root(leaves[k:])] if i < k else \
        tree_path(i - k, leaves[k:]) + [tree_root(leaves[:k])]


class Leaves:
    """The sorted hashes of a round's messages, their tree, and the entries of its proofs."""

    def __init__(self, messages):
        self.hashes = sorted(sha256(m) for m in messages)
        self.leaves = [tree_leaf(h) for h in self.hashes]
        self.root = tree_root(self.leaves)
        self.depth = (len(self.hashes) - 1).bit_length() if self.hashes else 0

    def shown(self, i):
        path = b"".join(tree_path(i, self.leaves))
        return self.hashes[i] + path + b"\0" * (32 * self.depth - len(path))

    def entry(self, wanted):
        nothing = b"\0" * 32 * (1 + self.depth)
        place = sum(h < wanted for h in self.hashes)
        if place < len(self.hashes) and self.hashes[place] == wanted:
            return b"\1" + struct.pack("<Q", place) + self.shown(place) + nothing
        return b"\2" + struct.pack("<Q", place) + (self.shown(place - 1) if place else nothing) + \
            (self.shown(place) if place < len(self.hashes) else nothing)


class Receipt:
    """What a shuffler signs of a Submit."""

    def __init__(self, submit, outcomes, messages, tag=0):
        n = len(submit.pseudonyms) // 32
        size = len(submit.sealed) // n
        self.round_id, self.n, self.each, self.leaves = submit.round_id, n, [], []
        for i in range(n):
            p, salt = submit.pseudonyms[32 * i:32 * i + 32], submit.salts[32 * i:32 * i + 32]
            own = submit.sealed[size * i:size * (i + 1)]
            parts = [own[k:k + size // messages] for k in range(0, size, size // messages)]
            blinds = [sha256(b"\2", salt, struct.pack("<I", k), m[:tag]) for k, m in enumerate(parts)]
            hashes = [sha256(m[tag:]) for m in parts]
            device = [tree_leaf(b + h) for b, h in zip(blinds, hashes)]
            name = sha256(b"\2", salt, b"\xff" * 4, p)
            self.each.append((name, blinds, hashes, device))
            self.leaves.append(tree_leaf(name + tree_root(device) + bytes([outcomes[i]])))

    def body(self):
        return self.round_id + tree_root(self.leaves) + struct.pack("<Q", self.n)

    def opening(self, i, k, signature):
        name, blinds, hashes, device = self.each[i]
        return pb.Opening(devices=self.n, device=i, name=name, frame_path=b"".join(tree_path(i, self.leaves)),
                          signature=signature, message=k, blind=blinds[k], hash=hashes[k],
                          device_path=b"".join(tree_path(k, device)))


def receipt_body(submit, outcomes, d):
    return Receipt(submit, outcomes, d.messages_per_client, 2 if d.randomizer.shuffler.tags else 0).body()


class Chain:
    """The ledger's hash chain, extended record by record."""

    def __init__(self):
        self.seq, self.head, self.records = 0, b"\0" * 32, []
        self.heads = [self.head]  # after so many records

    def add(self, **fields):
        self.seq += 1
        body = pb.Record(seq=self.seq, **fields).SerializeToString()
        self.head = sha256(self.head, body)
        self.records.append(body)
        self.heads.append(self.head)
        return body


def head_bytes(population, seq, head):
    """What the analyzer signs over a position of its ledger."""
    return population.encode() + b"\0" + struct.pack(">Q", seq) + head


def standing_bytes(key_hash, sequence, descriptor_hash):
    return key_hash + struct.pack(">Q", sequence) + (descriptor_hash or b"\0" * 32)


def key_hash(certificate):
    """Of a peer: SHA-256 of the public key in its DER certificate."""
    der = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return sha256(x509.load_der_x509_certificate(certificate).public_key().public_bytes(*der))


class Refused(Exception):
    """The peer answered with Error."""

    def __init__(self, error):
        super().__init__(f"{pb.ErrorCode.Name(error.code)}: {error.text}")
        self.code, self.text = error.code, error.text


class Socket(ssl.SSLSocket):
    """A TLS socket whose failures stay its own.

    OpenSSL keeps a failure in a queue of the thread.  Python 3.13 leaves it there, and the next call on *any other* connection
    reports it; making an SSL object empties the queue.
    """

    @contextlib.contextmanager
    def _alone(self):
        try:
            yield
        except OSError:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="nobody")
            raise

    def send(self, data, flags=0):
        with self._alone():
            return super().send(data, flags)

    def recv(self, buflen=1024, flags=0):
        with self._alone():
            return super().recv(buflen, flags)

    def do_handshake(self, block=False):
        with self._alone():
            super().do_handshake(block)

    def unwrap(self):
        with self._alone():
            return super().unwrap()


def tls_context(server, cert, key, ca, version=ssl.TLSVersion.TLSv1_3, alpn="tombola/1"):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    ctx.sslsocket_class = Socket
    ctx.minimum_version = min(version, ssl.TLSVersion.TLSv1_2)
    ctx.maximum_version = version
    if cert:
        ctx.load_cert_chain(cert, key)
    if isinstance(ca, str):
        ca = [ca]
    for path in ca:
        ctx.load_verify_locations(path)
    if server:
        ctx.verify_mode = ssl.CERT_REQUIRED
    else:
        ctx.check_hostname = False
    if alpn:
        ctx.set_alpn_protocols([alpn])
    return ctx


class Link:
    """Frames over a TLS socket; Hello is exchanged on construction."""

    def __init__(self, sock, hello=True):
        self.sock = sock
        if hello:
            self.send(hello=pb.Hello(major=1, minor=0, software="wire.py"))
            self.expect("hello")

    @classmethod
    def dial(cls, port, ctx, host="127.0.0.1", timeout=180, hello=True):
        raw = socket.create_connection((host, port), timeout)
        raw.settimeout(timeout)
        return cls(ctx.wrap_socket(raw, server_hostname="localhost"), hello)

    def send(self, **kind):
        body = pb.Frame(**kind).SerializeToString()
        self.sock.sendall(struct.pack(">I", len(body)) + body)

    def read(self, n):
        out = b""
        while len(out) < n:
            part = self.sock.recv(n - len(out))
            if not part:
                raise EOFError("the peer closed the connection")
            out += part
        return out

    def receive(self):
        n = struct.unpack(">I", self.read(4))[0]
        if n > FRAME_MAX:
            raise ValueError(f"frame of {n} bytes")
        return pb.Frame.FromString(self.read(n))

    def expect(self, kind):
        frame = self.receive()
        got = frame.WhichOneof("kind")
        if got == "error":
            raise Refused(frame.error)
        if got != kind:
            raise AssertionError(f"expected {kind}, got {got}")
        return getattr(frame, kind)

    def ask(self, answer, **kind):
        self.send(**kind)
        return self.expect(answer)

    def close(self):
        try:
            self.sock.unwrap()
        except (OSError, ValueError):
            pass
        self.sock.close()
