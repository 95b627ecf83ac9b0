#!/usr/bin/env python3
"""programs.py - what a device costs whose value a program computes, a process each, beside maps in C: the same devices, one run.

    tests/bench/programs.py [--devices N] [--at-once N] [--seconds S] [--build DIR] [--dir DIR]

One client stands for N devices, whose readings are 1 and 0; the real shuffler and analyzer run the rounds.  `program` has a process
for each device, `shared` a process for many (isolate = false).  Exits 1 when more than one device of 100 has no answer.
"""
import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import time

import bench

ALLOWED_NONE = 0.01
LACKS = ", ".join(f'"{x}"' for x in ("machine", "process", "namespaces", "user", "landlock", "one-program", "access-times", "root"))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def maps_of(program, seconds):
    """name -> (keys of `compute`, numbers of an answer, arrays of the payload)."""
    labelled = {"columns": ["v", "w"], "label": "y", "classes": ["a", "b"]}
    named = {"map": "program", "columns": ["v", "w"], "seconds": seconds, "program": "sha256:" + digest(program)}
    # No process is started or ended for each.
    shared = {**named, "seconds": seconds / 4}
    zeroes = [[0.0] * 3] * 2
    return {"moments": ({"map": "moments", "columns": ["v", "w"], "part": "mean"}, 2, {"mean": [0.0] * 2, "scale": [1.0] * 2}),
            "linear-gradient": ({"map": "linear-gradient", **labelled}, 6, {"weights": zeroes}),
            "nearest-centroid": ({"map": "nearest-centroid", "columns": ["v", "w"]}, 6, {"centroids": [[0.0] * 2] * 2}),
            "program": (named, 2, {"note": [0.0]}), "shared": (shared, 2, {"note": [0.0]})}


def configure(cluster, maps, args, program):
    n = args.devices
    cluster.configure(min_batch=n, epsilon=1000.0, max_epsilon0="inf", devices=n)
    with open(cluster.path("readings.csv"), "w", encoding="utf-8") as f:
        f.write("device,v,w,y\n")
        f.writelines(f"d{i},1,0,a\n" for i in range(n))
    cluster.plan([{"query": name, "type": "vector", "protocol": "words", "dimension": d, "range": [-1.0, 1.0], "epsilon0": 16.0,
                   "slots": 1, "size": 1, "none": "even", "min_reports": n, "target": n, "window": "4h", "payload": "later",
                   "payload_max": 1000, "compute": compute} for name, (compute, d, _) in maps.items()], epsilon=99.0)
    with open(cluster.path("client.conf"), encoding="utf-8") as f:
        text = f.read()
    for isolate in ("true", "false"):
        cluster.write(f"client-{isolate}.conf", text + f'fetch = "300ms";\nprograms = {{ allow = ( {{ file = "{program}"; sha256 = '
                      f'"{digest(program)}"; }} ); isolate = {isolate}; accept_without = [ {LACKS} ]; at_once = {args.at_once}; }};\n')


def start_client(cluster, isolate):
    shutil.copy(cluster.path(f"client-{isolate}.conf"), cluster.path("client.conf"))
    return cluster.start("client", "run")


def run(cluster, client, number, pack, payload):
    """(seconds by the clock, of the client's processors, the part of the devices whose first number is 1)

    Who has no answer says 1 or -1 by chance.
    """
    with open(cluster.path("payload"), "wb") as f:
        f.write(pack(payload))
    before, start = bench.cpu_seconds(client.process.pid), time.monotonic()
    done = cluster.run("analyzer", "round", "run", number, "--payload", cluster.path("payload"), seconds=7200)
    if done.returncode != 0:
        raise SystemExit(f"round {number}: {done.stderr}{client.log()[-2000:]}")
    used = bench.cpu_seconds(client.process.pid) - before, time.monotonic() - start
    found = cluster.json("analyzer", "round", "show", number)["result"]
    # How often each number was said to be 1, and then how often it was told.
    ones, told = found["counts"][0], found["counts"][len(found["items"])]
    return *used, 2 * ones / told - 1


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--devices", type=int, default=60000)
    parse.add_argument("--at-once", type=int, default=64)
    parse.add_argument("--seconds", type=float, default=0.8, help="of a device, from the start of its process to its end")
    bench.add_folders(parse)
    args = parse.parse_args()

    c = bench.scenarios(args.build)
    import maps as m

    program = os.path.join(c.BUILD, "tests", "misbehaves") # answers with the features
    folder, few = tempfile.mkdtemp(prefix="tombola-programs-", dir=args.dir), []
    cluster = c.Cluster(folder)
    try:
        maps = maps_of(program, args.seconds)
        configure(cluster, maps, args, program)
        cluster.start("shuffler", "run")
        cluster.wait_listening()
        client = start_client(cluster, "true")
        print(f"{args.devices} devices, {args.at_once} at once, {args.seconds:g} s each; load {os.getloadavg()[0]:.1f}\n"
              f"{'map':<18}{'seconds':>9}{'CPU s':>9}{'us a device':>13}{'answered':>10}", flush=True)
        for n, (name, (_, _, payload)) in enumerate(maps.items(), 1):
            if name == "shared":
                client.stop()
                client = start_client(cluster, "false")
            used, seconds, ones = run(cluster, client, str(n), m.pack, payload)
            same = name in ("moments", "program", "shared") # the answer is the reading
            print(f"{name:<18}{seconds:>9.1f}{used:>9.2f}{1e6 * used / args.devices:>13.0f}{f'{ones:.4f}' if same else '':>10}",
                  flush=True)
            if same and ones < 1 - ALLOWED_NONE:
                few.append(name)
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
    for name in few:
        print(f"FAULT: {name}: too many devices without an answer", file=sys.stderr)
    return 1 if few else 0


if __name__ == "__main__":
    sys.exit(main())
