#!/usr/bin/python3
"""soak.py [BUILD] [--minutes 60] [--devices 2000]

Round after round through the real daemons for so long, the client behind a network that delays and resets: afterwards memory,
file descriptors and threads of each daemon are what they were after the first quarter, and every report and charge is
there once.  A line a minute; exit 1 when anything is not as it must be.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KIT = os.path.join(ROOT, "tests", "kit", "tombola-faults")
FAULTS = ("--delay", "60", "--jitter", "50", "--reset", "after:30000")
GROWTH_MIB, GROWTH_OPEN = 3, 3
ROUNDS = 1000  # as many as a plan can have


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    p.add_argument("build", nargs="?", default=os.path.join(ROOT, "build", "release"))
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--devices", type=int, default=2000)
    return p.parse_args()


def size(pid):
    """MiB resident, descriptors, threads."""
    with open(f"/proc/{pid}/status") as f:
        status = dict(line.split(":", 1) for line in f)
    return int(status["VmRSS"].split()[0]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])


def prepare(cluster, proxied, n):
    cluster.configure(min_batch=n, devices=n, epsilon=100.0)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i % 3}\n" for i in range(n)))
    cluster.plan([{"query": f"q{i}", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 0.05,
                   "min_reports": n, "target": n, "values": ["c0", "c1", "c2"], "window": "1h"} for i in range(ROUNDS)],
                 epsilon=100.0)
    with open(cluster.path("client.conf")) as f:
        conf = f.read()
    cluster.write("client.conf", conf.replace(f'shuffler = "127.0.0.1:{cluster.port}"', f'shuffler = "127.0.0.1:{proxied}"'))


def settled(cluster):
    rounds = cluster.json("analyzer", "round", "list")["rounds"]
    return [r for r in rounds if r["stage"] == "settled"]


def play(cluster, daemons, minutes):
    """What each daemon's size was, minute by minute."""
    began, sizes = time.monotonic(), []
    while (spent := time.monotonic() - began) < 60 * minutes and daemons["analyzer"].alive():
        time.sleep(min(60, 15 * minutes))
        sizes.append({p: size(d.process.pid) for p, d in daemons.items() if d.alive()})
        print(f"{spent / 60:5.1f} min {len(settled(cluster)):5} rounds  " +
              "  ".join(f"{p} {s[0]:.1f} MiB {s[1]} open {s[2]} threads" for p, s in sizes[-1].items()), flush=True)
    return sizes


def faults_of(cluster, program, sizes, n):
    """What is not as it must be, in words."""
    bad = []
    early = sizes[len(sizes) // 4]
    for party, (mib, opened, threads) in sizes[-1].items():
        if mib > early[party][0] + GROWTH_MIB or opened > early[party][1] + GROWTH_OPEN or threads > early[party][2]:
            bad.append(f"the {party} grew from {early[party]} to {sizes[-1][party]} (MiB, descriptors, threads)")
    bad += [f"round {r['round']}: {r['reports']} reports" for r in settled(cluster) if r["reports"] != n]
    export = cluster.run("analyzer", "ledger", "export").stdout
    audit = subprocess.run([program("tombola-accountant"), "audit", "-"], input=export, capture_output=True, text=True)
    if audit.returncode != 0:
        bad.append(f"audit: {audit.stderr}")
    charges = sum(json.loads(line)["kind"] == "charge" for line in export.splitlines())
    if charges < len(settled(cluster)):
        bad.append(f"{charges} charges for {len(settled(cluster))} results")
    return bad


def main():
    args = arguments()
    os.environ["TOMBOLA_BUILD"] = os.path.abspath(args.build)
    sys.path.insert(0, os.path.join(ROOT, "tests", "scenario"))
    import cluster as c

    folder = tempfile.mkdtemp()
    cluster = c.Cluster(folder)
    proxied = c.free_port()
    prepare(cluster, proxied, args.devices)
    proxy = subprocess.Popen([KIT, "--listen", f"127.0.0.1:{proxied}", "--to", f"127.0.0.1:{cluster.port}", *FAULTS],
                             stdout=subprocess.PIPE, text=True)
    try:
        daemons = {"shuffler": cluster.start("shuffler", "run")}
        cluster.wait_listening()
        daemons |= {"client": cluster.start("client", "run"), "analyzer": cluster.start("analyzer", "run", "--once")}
        sizes = play(cluster, daemons, args.minutes)
        if daemons["analyzer"].alive():
            daemons["analyzer"].kill(signal.SIGTERM)  # which says, by its code, that rounds are left
        for party in ("client", "shuffler"):
            daemons[party].stop()
        bad = faults_of(cluster, c.program, sizes, args.devices)
        print(f"{len(settled(cluster))} rounds of {args.devices} devices; " + ("; ".join(bad) or "nothing grew, nothing is lost"))
    finally:
        cluster.close()
        proxy.terminate()
        print("the network:", proxy.communicate()[0].strip())
        shutil.rmtree(folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
