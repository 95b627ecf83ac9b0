#!/usr/bin/env python3
"""release.py - how fast the shuffler seals and releases N reports of real clients, to an analyzer that opens nothing.

    tests/bench/release.py [--reports N] [--store sqlite|postgresql] [--build DIR] [--dir DIR] [--pause MS]

Says the seconds by the clock of seal and release, and the processor time, in us a message, of the shuffler's first thread, which
serves everybody and sends, of its other threads, which read and hash, and of the database server.  --pause: the analyzer waits so
long after each bucket, as one that opens.  What overlaps is what the clock shows less than the sum of all.
"""
import argparse
import sys
import time

import bench
import million


class Clock:
    """What has been used, by the clock and of each part."""

    def __init__(self, shuffler, server):
        self.shuffler, self.server = shuffler, server
        self.last = self.now()

    def now(self):
        first = bench.first_thread_seconds(self.shuffler)
        return {"seconds": time.monotonic(), "first thread": first,
                "other threads": bench.cpu_seconds(self.shuffler) - first,
                "database": bench.cpu_seconds(self.server) if self.server else 0.0, "this": time.process_time()}

    def lap(self, name, n):
        """Print what passed since the last one."""
        now = self.now()
        used = {k: v - self.last[k] for k, v in now.items()}
        self.last = now
        seconds = used.pop("seconds")
        print(f"{name:<10}{seconds:>9.2f} s by the clock, {1e6 * seconds / n:.2f} us a message; of processors, in us: "
              + ", ".join(f"{k} {1e6 * v / n:.2f}" for k, v in used.items())
              + f"; together {1e6 * sum(used.values()) / n:.2f}", flush=True)


def pull(analyzer, d, manifest, pause, pb):
    """All buckets, counted and dropped."""
    n = 0
    for b, bucket in enumerate(manifest.buckets):
        got = 0
        while got < bucket.messages:
            part = analyzer.link.ask("segment", pull=pb.Pull(round_id=d.round_id, bucket=b, offset=got)).sealed
            got += len(part) // 64
        n += got
        time.sleep(pause / 1000)
    return n


def play(cluster, args, server):
    from fake_analyzer import Analyzer
    from wire import pb
    million.prepare(cluster, args.reports, 0, server)
    shuffler = cluster.start("shuffler", "run").process.pid
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    d = analyzer.descriptor(bins=2, min_reports=args.reports, target=args.reports, window_ms=3000000)
    data = analyzer.reserve(d)
    analyzer.extend()
    analyzer.announce(data)
    client = cluster.start("client", "run")
    url = f"http://127.0.0.1:{cluster.http['shuffler']}/status"
    watch = million.Watch(args.reports, {}, url)
    while watch.stage() not in ("seal", "open"):
        assert client.alive(), client.log()[-2000:]
        time.sleep(million.POLL_SECONDS)
    analyzer.dial()  # the first link was idle
    clock = Clock(shuffler, server.process.pid if server else None)
    manifest, signed = analyzer.manifest(d, seconds=3000)
    clock.lap("seal", args.reports)
    charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge)
    clock.last = clock.now()
    assert pull(analyzer, d, manifest, args.pause, pb) == args.reports
    clock.lap("release", args.reports)
    analyzer.settle(d)
    clock.lap("erasure", args.reports)


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--reports", type=int, default=1000000)
    parse.add_argument("--store", choices=("sqlite", "postgresql"), default="postgresql")
    parse.add_argument("--pause", type=float, default=0, help="milliseconds after each bucket")
    bench.add_folders(parse)
    args = parse.parse_args()
    with million.deployment(bench.scenarios(args.build), args, "release") as (_, cluster, server):
        play(cluster, args, server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
