"""Pictures without a library: a training's curve and bars as SVG, arrays as PNG."""
import html
import math
import struct
import zlib

import numpy

__all__ = ["curve", "png", "tiles"]

COLOURS = ("#1b6ca8", "#2a9d5c", "#b5651d", "#7d4f9e")


def _line(points, colour, dashed=False):
    at = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'


def curve(steps, width=640, height=360):
    """SVG of a checkpoint's steps: each score from 0 to 1 or to its largest, and the share of the budget that is answered."""
    left, right, top, bottom = 46, 20, 40, 40
    wide, high, n = width - left - right, height - top - bottom, max(len(steps), 1)

    def at(i, v):
        return left + wide * (i + 1) / n, top + high * (1 - v)

    scores = [{k: v for k, v in s.get("score", {}).items() if math.isfinite(v)} for s in steps]
    names = list(dict.fromkeys(k for score in scores for k in score))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for k in range(6):
        y = top + high * (1 - k / 5)
        out.append(f'<path d="M{left} {y:.1f}H{width - right}" stroke="#ddd"/><text x="{left - 8}" y="{y + 4:.1f}" '
                   f'text-anchor="end" fill="#555">{k / 5:.1f}</text>')
    for i in range(0, n, max(1, n // 10)):
        out.append(f'<text x="{at(i, 0)[0]:.1f}" y="{height - bottom + 18}" text-anchor="middle" fill="#555">{i + 1}</text>')
    out.append(f'<text x="{left + wide / 2}" y="{height - 6}" text-anchor="middle" fill="#555">round</text>')
    spent = [(i, min(1, s["epsilon"] / s["limit"])) for i, s in enumerate(steps) if s.get("limit")]
    out.append(_line([at(i, v) for i, v in spent], "#999", dashed=True))
    words = [("budget answered" + (f", of epsilon {steps[spent[-1][0]]['limit']:g}" if spent else ""), "#777")]
    for name, colour in zip(names, COLOURS):
        values = [(i, score[name]) for i, score in enumerate(scores) if name in score]
        most = max(1.0, max(v for _, v in values))
        out.append(_line([at(i, max(v, 0) / most) for i, v in values], colour))
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'
                for x, y in (at(i, max(v, 0) / most) for i, v in values)]
        words.append((f"{name} {values[-1][1]:.4f}" + (f" (scale: {most:.3g})" if most > 1 else ""), colour))
    for k, (text, colour) in enumerate(words):
        out.append(f'<text x="{left + k * wide / len(words):.1f}" y="22" fill="{colour}">{html.escape(text)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def png(grey):
    """PNG of an array [height, width] in [0, 1]."""
    pixels = (numpy.clip(grey, 0, 1) * 255).round().astype(numpy.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def tiles(images, across, zoom=1):
    """PNG of images [n, h, w], each from its own least to its own largest value, in rows of `across`."""
    n, h, w = images.shape
    down = -(-n // across)
    sheet = numpy.ones((down * (h * zoom + 2), across * (w * zoom + 2)))
    for i, image in enumerate(images):
        low, high = image.min(), image.max()
        y, x = (i // across) * (h * zoom + 2), (i % across) * (w * zoom + 2)
        big = numpy.kron((image - low) / max(high - low, 1e-12), numpy.ones((zoom, zoom)))
        sheet[y:y + h * zoom, x:x + w * zoom] = big
    return png(sheet)
