"""results.py - a deployment whose rounds are settled one at a time, and readers of what `results` hands on."""
import csv
import io
import json
import re

N = 40
# What CSV, the line protocol, topics and templates treat in their own way.
# The last two: no cut may part a character, and a spreadsheet may run none.
LABELS = ["plain", 'with "quotes", and comma', "a = b", "back\\", "é{{ 1 }}/#", "é" * 62, "=1+1", "'=1"]
ROUNDS = [
    {"query": "labels", "type": "histogram", "protocol": "grr", "field": "label", "epsilon0": 2.0, "min_reports": N,
     "target": N, "values": LABELS, "window": "1h"},
    {"query": "celsius", "type": "mean", "protocol": "levels", "field": "celsius", "epsilon0": 2.0, "min_reports": N,
     "target": N, "range": [0.0, 40.0], "window": "1h"},
    {"query": "labels.2", "type": "histogram", "protocol": "grr", "field": "label", "epsilon0": 2.0, "min_reports": N,
     "target": N, "values": LABELS, "window": "1h"},
]


class Settling:
    """Shuffler and client stay up; settle(n) runs the analyzer for one round."""

    def __init__(self, cluster, analyzer=""):
        self.cluster = cluster
        cluster.configure(min_batch=N, devices=N)
        with open(cluster.path("analyzer.conf"), "a") as f:
            f.write(analyzer)
        out = io.StringIO()
        rows = csv.writer(out)
        rows.writerow(("device", "label", "celsius"))
        rows.writerows((f"d{i}", LABELS[i % len(LABELS)], 20 + i % 7) for i in range(N))
        cluster.write("readings.csv", out.getvalue())
        cluster.plan(ROUNDS, epsilon=8.0)
        cluster.start("shuffler", "run")
        cluster.wait_listening()
        cluster.start("client", "run")

    def settle(self, *numbers):
        for n in numbers:
            run = self.cluster.run("analyzer", "round", "run", str(n))
            assert run.returncode == 0, run.stderr

    def export(self, *args):
        run = self.cluster.run("analyzer", "results", "export", *args)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def rows(self, *args):
        return [json.loads(line) for line in self.export(*args).splitlines()]

    def document(self, query):
        return self.cluster.json("analyzer", "estimate", query)


def influx(line):
    """A strict reader of one line of the line protocol: measurement, tags, fields, nanoseconds."""
    part = r'(?:\\[,= ]|[^,= \n\\]|\\(?![,= ]))+'
    value = r'(?:"(?:\\.|[^"\\])*"|-?\d+i|true|false|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)'
    m = re.fullmatch(rf"(\w+)((?:,{part}={part})*) ({part}={value}(?:,{part}={value})*) (\d+)", line)
    assert m, line

    def plain(text):
        return re.sub(r"\\([,= ])", r"\1", text)

    def read(text):
        if text[0] == '"':
            return re.sub(r'\\(["\\])', r"\1", text[1:-1])
        if text in ("true", "false"):
            return text == "true"
        return int(text[:-1]) if text[-1] == "i" else float(text)
    tags = {plain(k): plain(v) for k, v in re.findall(rf",({part})=({part})", m[2])}
    fields = {k: read(v) for k, v in re.findall(rf"({part})=({value})", m[3])}
    return m[1], tags, fields, int(m[4])
