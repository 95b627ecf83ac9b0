#!/usr/bin/python3
"""rda2csv.py FILE.rda - one R data frame (XDR serialization) as CSV on stdout.

Understands what a data frame of factors, integers and reals needs, and refuses everything else by name.
Format: "R Internals", section 1.8, Serialization Formats.
"""
import bz2
import csv
import gzip
import lzma
import struct
import sys


class Reader:
    def __init__(self, data):
        self.data, self.at, self.refs = data, 0, []

    def take(self, fmt, size):
        end = self.at + size
        if end > len(self.data):
            raise ValueError(f"truncated at byte {self.at}")
        out = struct.unpack_from(fmt, self.data, self.at)
        self.at = end
        return out

    def int(self):
        return self.take(">i", 4)[0]

    def string(self, n):
        if n < 0:
            return None
        return self.take(f"{n}s", n)[0].decode("utf-8")

    def pairlist(self, flags):
        """A list of tag -> value, ending in R's nil."""
        out = {}
        while flags & 0xFF == 2:
            if flags & 0x200:
                self.item()
            tag = self.item() if flags & 0x400 else None
            out[tag] = self.item()
            flags = self.int()
        if flags & 0xFF != 254:
            raise ValueError(f"pairlist ends in object type {flags & 0xFF}")
        return out

    def item(self):
        flags = self.int()
        kind = flags & 0xFF
        if kind == 254:
            return None
        if kind == 255:
            return self.refs[(flags >> 8 or self.int()) - 1]
        if kind == 1:
            name = self.item()
            self.refs.append(name)
            return name
        if kind == 2:
            return self.pairlist(flags)
        if kind == 9:
            return self.string(self.int())
        if kind in (10, 13):
            n = self.int()
            value = list(self.take(f">{n}i", 4 * n))
        elif kind == 14:
            n = self.int()
            value = list(self.take(f">{n}d", 8 * n))
        elif kind in (16, 19):
            value = [self.item() for _ in range(self.int())]
        else:
            raise ValueError(f"object type {kind} at byte {self.at} is not part of a data frame")
        attributes = self.pairlist(self.int()) if flags & 0x200 else {}
        if "levels" in attributes:
            value = [attributes["levels"][i - 1] for i in value]
        return dict(zip(attributes["names"], value)) if kind == 19 else value


def load(path):
    raw = open(path, "rb").read()
    for magic, unpack in ((b"BZh", bz2.decompress), (b"\x1f\x8b", gzip.decompress), (b"\xfd7zXZ", lzma.decompress)):
        if raw.startswith(magic):
            raw = unpack(raw)
            break
    if not raw.startswith(b"RDX2\nX\n"):
        raise ValueError("not an XDR .rda file")
    reader = Reader(raw[7:])
    reader.take(">iii", 12)
    frames = reader.item()
    return next(iter(frames.values()))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: rda2csv.py FILE.rda")
    try:
        frame = load(sys.argv[1])
    except (OSError, ValueError, struct.error) as e:
        sys.exit(f"rda2csv.py: {sys.argv[1]}: {e}")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(frame)
    for row in zip(*frame.values()):
        out.writerow([f"{x:.10g}" if isinstance(x, float) else x for x in row])


if __name__ == "__main__":
    main()
