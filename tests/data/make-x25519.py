#!/usr/bin/env python3
"""Products of RFC 7748's pseudo-code in Python integers; prints x25519.txt.

The classes are those of Project Wycheproof's file on X25519: public keys of low order, not canonical, on the twist, of
edge values; private keys and products of edge values.
"""
import random

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493   # of the curve's prime subgroup, cofactor 8
TWIST = 2**253 - 55484635554744707071703875581767296995   # of the twist's, cofactor 4
LOW = [0, 1, 0xb8495f16056286fdb1329ceb8d09da6ac49ff1fae35616aeb8413b7c7aebe0,
       0x57119fd0dd4e22d8868e1c58c45c44045bef839c55b1d0b1248c50a3bc959c5f, P - 1, P, P + 1]


def clamp(k):
    return k & ~7 & (2**254 - 1) | 2**254


def ladder(k, u):
    """RFC 7748 section 5, for any k."""
    x1, x2, z2, x3, z3, swap = u % P, 1, 0, u % P, 1, 0
    for t in reversed(range(k.bit_length() + 1)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3, x2, z2 = (da + cb)**2 % P, x1 * (da - cb)**2 % P, aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, z2 = x3, z3
    return x2 * pow(z2, P - 2, P) % P


def on_curve(u):
    return pow(u**3 + 486662 * u**2 + u, (P - 1) // 2, P) in (0, 1)


def show(what, k, u):
    # Bit 255 of a point is ignored; the rest of it is taken as it is.
    product = ladder(clamp(k), u & (2**255 - 1))
    print(what, *(n.to_bytes(32, "little").hex() for n in (k, u, product)))


def main():
    r = random.Random(7748)
    print("# X25519, from RFC 7748's pseudo-code in Python integers (make-x25519.py).")
    print("# class secret point product; product zero: refused.")
    for u in LOW:
        for top in (0, 2**255):
            show("low_order", r.getrandbits(256), u | top)
    for u in range(P, 2**255):
        if u not in LOW:
            show("not_canonical", r.getrandbits(256), u)
            show("not_canonical", r.getrandbits(256), u | 2**255)
    edges = {2, 3, 4, 5, 9, 16, P - 2, P - 3, P - 9}
    for width in (25, 26, 32, 51, 52, 64):
        for i in range(1, 255 // width + 1):
            for n in (-1, 0, 1):
                edges.add(2**min(width * i, 254) + n)
                edges.add(P - 2**min(width * i, 254) + n)
        ones = sum(1 << i for i in range(255) if i // width % 2)
        edges |= {ones, 2**255 - 1 - ones}
    for u in sorted(edges):
        show("edge_point" if on_curve(u) else "edge_point_twist", r.getrandbits(256), u)
    for k in [0, 7, 8, 9, 2**254 - 1, 2**254, 2**255, 2**256 - 1, ORDER, 8 * ORDER, TWIST, 4 * TWIST,
              int("55" * 32, 16), int("aa" * 32, 16)] + [1 << i for i in range(0, 256, 13)]:
        show("edge_secret", k, 9)
        show("edge_secret", k, r.getrandbits(255))
    for product in sorted(edges):
        k = clamp(r.getrandbits(256))
        u = ladder(pow(k, -1, ORDER if on_curve(product) else TWIST), product)
        if ladder(k, u) == product:      # else it has a part of low order, which no product has
            show("edge_product", k, u)
    for _ in range(64):
        u = r.getrandbits(255)
        show("curve" if on_curve(u) else "twist", r.getrandbits(256), u)


if __name__ == "__main__":
    main()
