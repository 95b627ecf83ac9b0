"""hpke_check.py PEER GOLDEN_DIR - reports sealed by C are opened by python3-cryptography, and the other way round.

HPKE (RFC 9180) base mode is written out here from the RFC; the binding to the descriptor from doc/wire.md.  PEER is
the built tests/wire/hpke_peer.
"""

import hashlib
import hmac
import json
import os
import pathlib
import subprocess
import sys

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

AEADS = {1: (16, AESGCM), 3: (32, ChaCha20Poly1305)}


def raw(key):
    if isinstance(key, X25519PrivateKey):
        return key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def extract(salt, ikm):
    return hmac.new(salt or bytes(32), ikm, hashlib.sha256).digest()


def expand(prk, info, n):
    out, block = b"", b""
    while len(out) < n:
        block = hmac.new(prk, block + info + bytes([len(out) // 32 + 1]), hashlib.sha256).digest()
        out += block
    return out[:n]


def labeled_extract(suite_id, salt, label, ikm):
    return extract(salt, b"HPKE-v1" + suite_id + label + ikm)


def labeled_expand(suite_id, prk, label, info, n):
    return expand(prk, n.to_bytes(2, "big") + b"HPKE-v1" + suite_id + label + info, n)


def context(suite, dh, enc, recipient, info):
    """AEAD and nonce of the first message (RFC 9180 sections 4.1 and 5.1)."""
    kem = b"KEM" + (0x20).to_bytes(2, "big")
    prk = labeled_extract(kem, b"", b"eae_prk", dh)
    shared = labeled_expand(kem, prk, b"shared_secret", enc + recipient, 32)
    hpke = b"HPKE" + b"".join(i.to_bytes(2, "big") for i in (0x20, 1, suite))
    schedule = (b"\0" + labeled_extract(hpke, b"", b"psk_id_hash", b"")
                + labeled_extract(hpke, b"", b"info_hash", info))
    secret = labeled_extract(hpke, shared, b"secret", b"")
    key_len, aead = AEADS[suite]
    return (aead(labeled_expand(hpke, secret, b"key", schedule, key_len)),
            labeled_expand(hpke, secret, b"base_nonce", schedule, 12))


def binding(descriptor):
    """info and aad of doc/wire.md."""
    digest = hashlib.sha256(descriptor).digest()
    return b"tombola/1 report" + b"\0" + digest, digest


def seal(suite, descriptor, public, plain):
    info, aad = binding(descriptor)
    ephemeral = X25519PrivateKey.generate()
    enc = raw(ephemeral.public_key())
    dh = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    aead, nonce = context(suite, dh, enc, public, info)
    return enc + aead.encrypt(nonce, plain, aad)


def open_report(suite, descriptor, secret, sealed):
    info, aad = binding(descriptor)
    dh = secret.exchange(X25519PublicKey.from_public_bytes(sealed[:32]))
    aead, nonce = context(suite, dh, sealed[:32], raw(secret.public_key()), info)
    return aead.decrypt(nonce, sealed[32:], aad)


def peer(program, verb, suite, descriptor, key, data):
    run = subprocess.run([program, verb, str(suite), descriptor.hex(), key.hex(), data.hex()],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return run.returncode, bytes.fromhex(run.stdout.decode().strip())


def main():
    program, golden = sys.argv[1], pathlib.Path(sys.argv[2])
    checks = 0
    for path in sorted(golden.glob("descriptor_*.json")):
        descriptor = bytes.fromhex(json.loads(path.read_text(encoding="utf-8"))["bytes"])
        changed = descriptor[:-1] + bytes([descriptor[-1] ^ 1])
        for suite in AEADS:
            for length in (1, 16, 255, 4096 - 48):
                secret = X25519PrivateKey.generate()
                public, plain = raw(secret.public_key()), os.urandom(length)

                code, sealed = peer(program, "seal", suite, descriptor, public, plain)
                assert code == 0 and len(sealed) == length + 48, "C seals"
                assert open_report(suite, descriptor, secret, sealed) == plain, "Python opens what C sealed"

                sealed = seal(suite, descriptor, public, plain)
                assert peer(program, "open", suite, descriptor, raw(secret), sealed) == (0, plain), "C opens"
                assert peer(program, "open", suite, changed, raw(secret), sealed)[0] == 65, "another descriptor"
                other = 4 - suite
                assert peer(program, "open", other, descriptor, raw(secret), sealed)[0] == 65, "another suite"
                checks += 5
    assert checks > 0
    print(f"{checks} checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
