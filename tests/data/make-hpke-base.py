#!/usr/bin/env python3
"""HPKE base mode (RFC 9180) by hand on the package cryptography; prints hpke-base.txt.

Checks itself against appendix A.1.1 and A.2.1 of the RFC first.
"""
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

KEM_SUITE = b"KEM" + struct.pack(">H", 0x0020)  # DHKEM(X25519, HKDF-SHA256)
AES_128_GCM, CHACHA = 1, 3
KEY_LEN = {AES_128_GCM: 16, CHACHA: 32}
CIPHER = {AES_128_GCM: AESGCM, CHACHA: ChaCha20Poly1305}


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def labeled_extract(salt, suite, label, ikm):
    return hmac_sha256(salt or bytes(32), b"HPKE-v1" + suite + label + ikm)


def labeled_expand(prk, suite, label, info, length):
    text = struct.pack(">H", length) + b"HPKE-v1" + suite + label + info
    out = block = b""
    for i in range(1, -(-length // 32) + 1):
        block = hmac_sha256(prk, block + text + bytes([i]))
        out += block
    return out[:length]


def public_key(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def seal(aead, ephemeral, recipient, info, aad, plain):
    """enc || ciphertext || tag, with the ephemeral secret key that is given."""
    enc = public_key(ephemeral)
    dh = X25519PrivateKey.from_private_bytes(ephemeral).exchange(X25519PublicKey.from_public_bytes(recipient))
    shared = labeled_expand(labeled_extract(b"", KEM_SUITE, b"eae_prk", dh), KEM_SUITE, b"shared_secret",
                            enc + recipient, 32)
    suite = b"HPKE" + struct.pack(">HHH", 0x0020, 0x0001, aead)
    context = b"\0" + labeled_extract(b"", suite, b"psk_id_hash", b"") + labeled_extract(b"", suite, b"info_hash", info)
    secret = labeled_extract(shared, suite, b"secret", b"")
    key = labeled_expand(secret, suite, b"key", context, KEY_LEN[aead])
    nonce = labeled_expand(secret, suite, b"base_nonce", context, 12)
    return enc + CIPHER[aead](key).encrypt(nonce, plain, aad)


# aead, secret and public key of the recipient, ephemeral secret key, sealed
RFC = [
    (AES_128_GCM,
     "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
     "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
     "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
     "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
     "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"),
    (CHACHA,
     "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
     "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a",
     "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600",
     "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
     "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28"),
]
RFC_INFO = b"Ode on a Grecian Urn"
RFC_AAD = b"Count-0"
RFC_PLAIN = b"Beauty is truth, truth beauty"


def drawn(tag, n):
    """n bytes that are the same in every run."""
    return hashlib.shake_128(tag.encode()).digest(n)


def text(data):
    return data.hex() or "-"


def main():
    for aead, secret, public, ephemeral, sealed in RFC:
        assert public_key(bytes.fromhex(secret)) == bytes.fromhex(public)
        assert seal(aead, bytes.fromhex(ephemeral), bytes.fromhex(public), RFC_INFO, RFC_AAD,
                    RFC_PLAIN) == bytes.fromhex(sealed), aead
    print("# HPKE base mode, one message, from an independent implementation (Python, package cryptography).")
    print("# suite skR pkR skE info aad plain sealed; hex, - for empty.")
    for i in range(24):
        aead = (AES_128_GCM, CHACHA)[i % 2]
        secret, ephemeral = drawn(f"r{i}", 32), drawn(f"e{i}", 32)
        info = drawn(f"i{i}", [0, 1, 32, 77, 200, 500][i // 2 % 6])
        aad = drawn(f"a{i}", [0, 7, 64, 13][i // 3 % 4])
        plain = drawn(f"p{i}", [0, 1, 16, 31, 64, 300, 100, 15][i // 2 % 8])
        public = public_key(secret)
        print(aead, *map(text, (secret, public, ephemeral, info, aad, plain,
                                seal(aead, ephemeral, public, info, aad, plain))))


if __name__ == "__main__":
    main()
