#!/usr/bin/python3
"""draw.py - draws each NAME.txt of this folder into NAME.svg.  With --check it says which are not current, and exits 1.

A picture is lines of text.  `#` begins a comment.  Coordinates are pixels.

    title WORDS                       what the picture shows, for those who cannot see it
    size WIDTH HEIGHT                 of a sequence the height is found
    box ID X Y W H [STYLE] | HEAD | LINE | LINE
    text X Y [STYLE] | WORDS          STYLE of a text: left, middle (the default), small
    arrow FROM TO [STYLE] | WORDS     FROM, TO: ID.SIDE, ID.SIDE+PIXELS, or X,Y; SIDE is left, right, top or bottom
    line FROM TO [STYLE] | WORDS      STYLE of a box, an arrow or a line: plain, strong, faint; dashed of a line

    lane ID X HEAD                    a party of a sequence
    send ID ID WORDS                  a message between two lanes
    note ID WORDS                     what a party does by itself; `durable` as first word marks what is on disk
"""
import os
import sys
from html import escape

HERE = os.path.dirname(os.path.abspath(__file__))

STYLE = """text{font:14px system-ui,sans-serif;fill:#24292f}.head{font-weight:600}.small{font-size:12px;fill:#57606a}
rect{fill:#ddf4ff;stroke:#0969da;stroke-width:1.2}rect.strong{fill:#dafbe1;stroke:#1a7f37}rect.faint{fill:none;stroke:#8c959f}
rect.note{fill:#f6f8fa;stroke:#8c959f}path{fill:none;stroke:#57606a;stroke-width:1.4}
path.strong{stroke:#1a7f37}path.faint{stroke:#afb8c1}path.dashed{stroke:#cf222e;stroke-dasharray:6 5}.tip{fill:#57606a;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9da7b3}rect{fill:#0c2d4d;stroke:#4493f8}
rect.strong{fill:#0f3320;stroke:#3fb950}rect.faint{fill:none;stroke:#7d8590}rect.note{fill:#161b22;stroke:#7d8590}path{stroke:#9da7b3}
path.strong{stroke:#3fb950}path.faint{stroke:#484f58}path.dashed{stroke:#ff7b72}.tip{fill:#9da7b3}}"""


class Picture:
    def __init__(self):
        self.title, self.width, self.height = "", 0, 0
        self.boxes, self.lanes, self.shapes, self.y = {}, {}, [], 64

    # ---- shapes ----

    def words(self, x, y, words, anchor="middle", kind=""):
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        kind = f' class="{kind}"' if kind else ""
        self.shapes.append(f'<text x="{x:g}" y="{y:g}"{at}{kind}>{escape(words, quote=False)}</text>')

    def path(self, points, kind, tip):
        kind = f' class="{kind}"' if kind else ""
        self.shapes.append(f'<path d="M{" L".join(f"{x:g} {y:g}" for x, y in points)}"{kind}'
                           f'{" marker-end=" + chr(34) + "url(#tip)" + chr(34) if tip else ""}/>')

    def rect(self, x, y, w, h, kind):
        kind = f' class="{kind}"' if kind and kind != "plain" else ""
        self.shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="5"{kind}/>')

    def point(self, where):
        if "," in where:
            return tuple(float(v) for v in where.split(","))
        name, side = where.split(".")
        side, _, off = side.partition("+")
        x, y, w, h = self.boxes[name]
        across = {"left": (x, y), "right": (x + w, y), "top": (x, y), "bottom": (x, y + h)}[side]
        mid = (h if side in ("left", "right") else w) / 2 if not off else float(off)
        return (across[0], across[1] + mid) if side in ("left", "right") else (across[0] + mid, across[1])

    # ---- commands ----

    def do_title(self, args, _):
        self.title = " ".join(args)

    def do_size(self, args, _):
        self.width, self.height = (float(v) for v in args)

    def do_box(self, args, parts):
        name, x, y, w, h = args[0], *(float(v) for v in args[1:5])
        self.boxes[name] = (x, y, w, h)
        self.rect(x, y, w, h, args[5] if len(args) > 5 else "")
        top = y + 22 if len(parts) > 1 else y + h / 2 + 5
        for i, part in enumerate(parts):
            self.words(x + w / 2, top + i * 17 + (4 if i else 0), part, kind="small" if i else "head")

    def do_text(self, args, parts):
        self.words(float(args[0]), float(args[1]), parts[0], "start" if "left" in args else "middle",
                   "small" if "small" in args else "")

    def do_arrow(self, args, parts, tip=True):
        (x1, y1), (x2, y2) = self.point(args[0]), self.point(args[1])
        self.path([(x1, y1), (x2, y2)], args[2] if len(args) > 2 else "", tip)
        for i, part in enumerate(parts):
            if x1 == x2:
                self.words(x1 + 8, (y1 + y2) / 2 + 4 + 15 * i, part, "start", "small")
            else:
                self.words((x1 + x2) / 2, (y1 + y2) / 2 - 7 - 15 * (len(parts) - 1 - i), part, kind="small")

    def do_line(self, args, parts):
        self.do_arrow(args, parts, tip=False)

    def do_lane(self, args, _):
        x, head = float(args[1]), " ".join(args[2:])
        self.lanes[args[0]] = x
        self.rect(x - 80, 14, 160, 30, "")
        self.words(x, 34, head, kind="head")

    def do_send(self, args, _):
        x1, x2 = self.lanes[args[0]], self.lanes[args[1]]
        self.words((x1 + x2) / 2, self.y + 12, " ".join(args[2:]), kind="small")
        inner = 4 if x2 > x1 else -4
        self.path([(x1, self.y + 20), (x2 - inner, self.y + 20)], "", True)
        self.y += 36

    def do_note(self, args, _):
        durable = args[1] == "durable"
        words = "on disk: " + " ".join(args[2:]) if durable else " ".join(args[1:])
        width = 24 + 6.4 * len(words) + 2.5 * sum(c.isupper() for c in words)
        self.rect(self.lanes[args[0]] - width / 2, self.y, width, 24, "strong" if durable else "note")
        self.words(self.lanes[args[0]], self.y + 16, words, kind="small")
        self.y += 32

    # ---- the whole ----

    def read(self, path):
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.split("#", 1)[0].strip()
                if not line:
                    continue
                command, *parts = (p.strip() for p in line.split(" | "))
                verb, *args = command.split()
                try:
                    getattr(self, "do_" + verb)(args, parts)
                except (AttributeError, KeyError, IndexError, ValueError) as e:
                    sys.exit(f"{path}:{number}: {verb}: {e}")
        return self

    def svg(self):
        height = self.height
        lanes = []
        if self.lanes:
            height = self.y + 10
            lanes = [f'<path class="faint" d="M{x:g} 44 L{x:g} {height - 8:g}"/>' for x in self.lanes.values()]
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {height:g}" '
            f'width="{self.width:g}" height="{height:g}" role="img">',
            f"<title>{escape(self.title)}</title>", f"<style>{STYLE}</style>",
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker>',
            *lanes, *self.shapes, "</svg>", ""])


def main(check):
    stale = []
    for name in sorted(n[:-4] for n in os.listdir(HERE) if n.endswith(".txt")):
        svg = Picture().read(os.path.join(HERE, name + ".txt")).svg()
        path = os.path.join(HERE, name + ".svg")
        current = os.path.exists(path) and open(path, encoding="utf-8").read() == svg
        if check and not current:
            stale.append(name)
        elif not current:
            with open(path, "w", encoding="utf-8") as f:
                f.write(svg)
    for name in stale:
        print(f"doc/pictures/{name}.svg is not what {name}.txt says: run doc/pictures/draw.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
