#!/usr/bin/env python3
"""million.py - N reports through the real daemons: rates, CPU and memory of every stage, beside what the machine can do.

    tests/bench/million.py [--reports N] [--store sqlite|postgresql] [--intakes K] [--build DIR] [--dir DIR] [--json]

One client process stands for N devices (a CSV of two colours), one shuffler, one analyzer, loopback sockets, durable
state.  With --store postgresql the shuffler's store is a server of its own, in the same folder.  With --intakes there are K
intakes before it, and K clients of N / K devices, each of which uses an intake of its own.

Exits 1 when a daemon ever held more memory than it may (128 MiB, and of each report what it must remember; 256 MiB is always
allowed), or when not every report was counted once.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import bench

MIB_LIMIT = 256  # whatever a daemon remembers of a report
MIB_BASE = 128
# Bytes of a report: a tag and its digest at 3/4 load.
REMEMBERS = {"shuffler": 43, "intake": 43, "analyzer": 0}
OPENING_MIB = 256  # the analyzer's, by default, whatever the number of reports
# What a server for such a round is set to; all else is what the shuffler demands.
SERVER = {"shared_buffers": "128MB", "max_wal_size": "2GB", "maintenance_work_mem": "64MB"}
POLL_SECONDS = 0.05
STAGES = {"prepare": "client reads and randomizes; first batch sealed, sent and durable",
          "intake": "client seals, persists and uploads; shuffler takes in",
          "seal": "shuffler reads its buckets back and signs the manifest",
          "open": "charge, release, analyzer opens and counts, ledger settled"}


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) / 1024


def limit_mib(party, reports):
    return max(MIB_LIMIT, MIB_BASE + (OPENING_MIB if party == "analyzer" else REMEMBERS[party] * reports / 2**20))


def x25519_rate(seconds):
    """Raw X25519 operations per second of one core."""
    out = subprocess.run(["openssl", "speed", "-seconds", str(seconds), "ecdhx25519"], capture_output=True, text=True,
                         check=True).stdout
    return float(out.split()[-1])


def fsync_latency(folder, times=200):
    """Median and 99th percentile of one 4 KiB append made durable, in milliseconds."""
    path, took = os.path.join(folder, "fsync-probe"), []
    with open(path, "wb", buffering=0) as f:
        for _ in range(times):
            f.write(b"\0" * 4096)
            start = time.monotonic()
            os.fdatasync(f.fileno())
            took.append((time.monotonic() - start) * 1000)
    os.unlink(path)
    return statistics.median(took), statistics.quantiles(took, n=100)[98]


class Watch(threading.Thread):
    """Sees the round move through its stages, and what every party's processes had used by then."""

    def __init__(self, reports, pids, status_url):
        super().__init__(daemon=True)
        self.reports, self.pids, self.url = reports, pids, status_url
        self.marks, self.first, self.slowest, self.peak, self.done = [], [], {}, {p: 0.0 for p in pids}, False

    def mark(self, name):
        self.marks.append((name, time.monotonic(), {p: sum(map(bench.cpu_seconds, pids)) for p, pids in self.pids.items()}))
        self.first.append({p: bench.first_thread_seconds(self.pids[p][0]) for p in ("shuffler", "analyzer") if p in self.pids})

    def stage(self):
        """The stage the shuffler is in by its own word, or None before the round."""
        with urllib.request.urlopen(self.url, timeout=60) as answer:
            rounds = json.load(answer)["rounds"]
        if not rounds:
            return None
        r = rounds[0]
        if r["state"] in ("OPEN", "COLLECTING"):
            return "prepare" if r["participants"] == 0 else "intake" if r["participants"] < self.reports else "seal"
        return "open"

    def run(self):
        order, at = list(STAGES), -1
        while not self.done:
            start = time.monotonic()
            try:
                stage = self.stage()
            except OSError:
                stage = None
            took = time.monotonic() - start
            if stage and order.index(stage) > at:
                for name in order[at + 1:order.index(stage) + 1]:
                    self.mark(name)
                at = order.index(stage)
            if at >= 0:
                name = order[at]
                self.slowest[name] = max(self.slowest.get(name, 0), took)
            self.sample_memory()
            time.sleep(POLL_SECONDS)

    def sample_memory(self):
        for p, pids in self.pids.items():
            for pid in (i for of in pids for i in bench.below(of)):
                try:
                    self.peak[p] = max(self.peak[p], peak_mib(pid))
                except (OSError, TypeError):
                    pass  # it has ended


class Missing(Exception):
    """The run did not do what it must."""


def start(cluster, spread, server):
    """Everything; the processes of each party."""
    pids = {"postgresql": [server.process.pid]} if server else {}
    shuffler = spread.head() if spread else cluster.start("shuffler", "run")
    pids["shuffler"] = [shuffler.process.pid]
    cluster.wait_listening()
    if spread:
        spread.start()
        pids["intake"] = [d.process.pid for d in spread.daemons]
    pids["analyzer"] = [cluster.start("analyzer", "run").process.pid]
    clients = [spread.start_client(name) for name in spread.clients] if spread else [cluster.start("client", "run")]
    pids["client"] = [d.process.pid for d in clients]
    return pids


def run_round(cluster, reports, seconds, spread=None, server=None):
    """The round from start to settled: (watch, result of the analyzer)."""
    pids = start(cluster, spread, server)
    analyzer = next(d for d in cluster.daemons if "tombola-analyzer" in d.args[0])
    watch = Watch(reports, pids, f"http://127.0.0.1:{cluster.http['shuffler']}/status")
    watch.start()
    end = time.monotonic() + seconds
    while '"round done"' not in analyzer.log():
        for d in cluster.daemons:
            if not d.alive():
                raise Missing(f"{d.args[0]} ended:\n{d.log()[-2000:]}")
        if time.monotonic() > end:
            raise Missing(f"not done within {seconds} s:\n" + "".join(d.log()[-1500:] for d in cluster.daemons))
        time.sleep(POLL_SECONDS)
    watch.mark("end")
    watch.done = True
    watch.join()
    watch.sample_memory()
    for d in reversed(cluster.daemons):
        d.stop()
    return watch, cluster.json("analyzer", "round", "show", "1")["result"]


def check(watch, result, reports):
    """Every fault as a line."""
    faults = [f"{p}: {watch.peak[p]:.0f} MiB resident, the limit is {limit_mib(p, reports):.0f}" for p in REMEMBERS
              if p in watch.peak and not 0 < watch.peak[p] < limit_mib(p, reports)]
    if not sum(result["counts"]) == result["participants"] == result["reports"] == reports:
        faults.append(f"{sum(result['counts'])} counted of {result['participants']} participants, sent {reports}")
    if result["duplicates"] or result["bad"]:
        faults.append(f"{result['duplicates']} duplicates, {result['bad']} bad")
    return faults


def stages(watch, reports):
    """One row per stage: wall, rate, CPU seconds and microseconds per report of each process."""
    rows = []
    for (name, start, before), (_, end, after) in zip(watch.marks, watch.marks[1:]):
        cpu = {p: after[p] - before[p] for p in after}
        rows.append({"stage": name, "seconds": end - start, "reports_per_second": reports / max(end - start, 1e-9),
                     "cpu_seconds": cpu, "cpu_us_per_report": {p: 1e6 * c / reports for p, c in cpu.items()},
                     "slowest_status_seconds": watch.slowest.get(name, 0.0)})
    return rows


def show(out):
    parties = [p for p in ("client", "intake", "shuffler", "postgresql", "analyzer") if p in out["peak_mib"]]
    print(f"\n{'stage':<9}{'seconds':>9}{'reports/s':>11}" + "".join(f"{p + ' CPU s (us)':>25}" for p in parties)
          + f"{'status ms':>11}")
    for r in out["stages"]:
        cells = "".join(f"{r['cpu_seconds'][p]:>15.2f} {'(%.2f)' % r['cpu_us_per_report'][p]:>9}" for p in parties)
        print(f"{r['stage']:<9}{r['seconds']:>9.2f}{r['reports_per_second']:>11.0f}{cells}"
              f"{1000 * r['slowest_status_seconds']:>11.0f}")
    whole = {p: sum(r["cpu_seconds"][p] for r in out["stages"]) for p in parties}
    print(f"{'all':<9}{sum(r['seconds'] for r in out['stages']):>9.2f}{'':>11}"
          + "".join(f"{whole[p]:>15.2f} {'(%.2f)' % (1e6 * whole[p] / out['reports']):>9}" for p in parties))
    for name, what in STAGES.items():
        print(f"  {name}: {what}")
    print("  status ms: the longest the shuffler took to answer /status during the stage")
    print("first threads in `open`, us a report: " + ", ".join(f"{p} {us:.2f}" for p, us in out["open_first_thread_us"].items()))
    print("\npeak resident MiB of a process: " + ", ".join(f"{p} {out['peak_mib'][p]:.0f}" for p in parties) + " (limits: "
          + ", ".join(f"{p} {limit_mib(p, out['reports']):.0f}" for p in REMEMBERS) + ")")
    print(f"raw X25519: {out['x25519_per_second']:.0f}/s a core, {out['cores']} cores; the analyzer opened "
          f"{out['open_per_second']:.0f} reports/s: {out['open_of_ceiling']:.2f} of that ceiling in time, "
          f"{out['open_cpu_of_ceiling']:.2f} in CPU")
    print(f"durable 4 KiB append: median {out['fsync_ms'][0]:.2f} ms, 99th percentile {out['fsync_ms'][1]:.2f} ms")


def write_readings(path, first, n):
    with open(path, "w", encoding="ascii") as f:
        f.write("device,colour\n")
        f.writelines(f"d{i},c{i % 2}\n" for i in range(first, first + n))


def prepare(cluster, reports, intakes, server):
    """The deployment's configurations and readings; its intakes, if there are any."""
    if server and not intakes:
        cluster.use(server)
    each = reports // max(1, intakes)
    cluster.two_colours(each, min_reports=reports, target=reports)
    for name in ("shuffler-policy.conf", "client-policy.conf"):
        with open(cluster.path(name), encoding="ascii") as f:
            text = f.read().replace(f"min_batch = {each};", f"min_batch = {reports};")
        cluster.write(name, text + (f"max_target = {reports};\n" if name.startswith("shuffler") else ""))
    if not intakes:
        return None
    import spread
    made = spread.Spread(cluster, intakes, server)
    made.clients = ["client"] + [made.second_client(each, f"client{i + 1}") for i in range(1, intakes)]
    for i, name in enumerate(made.clients):
        made.clients_dial(i, conf=f"{name}.conf")
        write_readings(cluster.path(f"{name}.csv" if i else "readings.csv"), i * each, each)
    return made


def options():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--reports", type=int, default=1000000)
    parse.add_argument("--store", choices=("sqlite", "postgresql"), default=os.environ.get("TOMBOLA_STORE", "sqlite"))
    parse.add_argument("--intakes", type=int, default=0, help="before the shuffler, which is their head (with postgresql)")
    bench.add_folders(parse)
    parse.add_argument("--seconds", type=int, default=1800, help="give up after")
    parse.add_argument("--json", action="store_true")
    args = parse.parse_args()
    if args.intakes and (args.store != "postgresql" or args.reports % args.intakes):
        parse.error("intakes need --store postgresql, and reports that they can share equally")
    return args


@contextlib.contextmanager
def deployment(c, args, name):
    """A folder, a cluster in it, and the server that is the shuffler's with PostgreSQL, else None.  c: the module cluster of the
    scenarios."""
    os.environ.pop("TOMBOLA_STORE", None)  # of the tests: here the server is ours
    folder = tempfile.mkdtemp(prefix=f"tombola-{name}-", dir=args.dir)
    cluster = server = None
    try:
        cluster = c.Cluster(folder)
        if args.store == "postgresql":
            import postgresql
            os.chmod(folder, 0o711)  # the server runs as a user of its own
            server = postgresql.Server(base=folder, **SERVER)
        yield folder, cluster, server
    finally:
        if cluster:
            cluster.close()
        if server:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


def measure(c, args):
    """One round; what show() prints, and its faults.  c: the module cluster of the scenarios."""
    with deployment(c, args, "million") as (folder, cluster, server):
        rates = [x25519_rate(2)]
        fsync = fsync_latency(folder)
        spread = prepare(cluster, args.reports, args.intakes, server)
        watch, result = run_round(cluster, args.reports, args.seconds, spread, server)
        rates.append(x25519_rate(2))

    rows = stages(watch, args.reports)
    opened, cores = rows[-1], len(os.sched_getaffinity(0))
    rate = max(rates)
    first = {p: 1e6 * (watch.first[-1][p] - watch.first[-2][p]) / args.reports for p in watch.first[-1]}
    out = {"schema": "tombola.bench-million/1", "reports": args.reports, "store": args.store, "intakes": args.intakes,
           "stages": rows, "peak_mib": watch.peak, "open_first_thread_us": first,
           "x25519_per_second": rate, "cores": cores, "fsync_ms": fsync,
           "open_per_second": opened["reports_per_second"],
           "open_of_ceiling": opened["reports_per_second"] / (rate * cores),
           "open_cpu_of_ceiling": args.reports / max(opened["cpu_seconds"]["analyzer"], 1e-9) / rate}
    return out, check(watch, result, args.reports)


def main():
    args = options()
    try:
        out, faults = measure(bench.scenarios(args.build), args)
    except Missing as e:
        print(e, file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(out, indent=2))
    else:
        show(out)
    for f in faults:
        print(f"FAULT: {f}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
