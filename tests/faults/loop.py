#!/usr/bin/python3
"""loop.py [BUILD] [--rounds plain,tags] [--victims analyzer] [--every 1]

A power cut on a real file system: the state folder of one daemon lies on ext4 on a loop device.  At a chosen change of
its storage the daemon dies, the device's image is copied as it is - what was not written to the device by then is lost -,
the copy is mounted in its place (which replays ext4's journal), and the daemon goes on from it.  What must hold then is
Stage's of tests/scenario/faults.py.  Needs root and loop devices: exit 77 without.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MIB = 48


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    p.add_argument("build", nargs="?", default=os.path.join(ROOT, "build", "release"))
    p.add_argument("--rounds", default="plain")
    p.add_argument("--victims", default="shuffler,client,analyzer")
    p.add_argument("--every", type=int, default=1, help="every so-manieth call only")
    return p.parse_args()


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout.strip()


def make_image(path):
    with open(path, "wb") as f:
        f.truncate(MIB << 20)
    run("mkfs.ext4", "-q", path)


def loop_stage(faults):
    class LoopStage(faults.Stage):
        """The victim's folder is a mount point."""

        def __init__(self, folder, kind):
            super().__init__(folder, kind)
            self.empty, self.image = os.path.join(folder, "empty.img"), os.path.join(folder, "now.img")
            self.mounted = None
            make_image(self.empty)

        def play(self, victim, kind, at):
            self.party = victim
            try:
                return super().play(victim, kind, at)
            finally:
                self.unmount()

        def clean(self):
            self.cluster.close()
            self.unmount()
            super().clean()
            shutil.copyfile(self.empty, self.image)
            self.mount()
            os.rmdir(os.path.join(self.mounted, "lost+found"))
            os.chmod(self.mounted, 0o700)
            run("sync", "-f", self.mounted)

        def mount(self):
            folder = self.cluster.path(self.party)
            run("mount", "-o", "loop", self.image, folder)
            self.mounted = folder

        def unmount(self):
            for tries in range(50):
                if self.mounted is None:
                    return
                try:
                    run("umount", self.mounted)  # and its loop device with it
                    self.mounted = None
                except OSError:
                    if tries == 49:
                        raise
                    time.sleep(0.1)

        def fault(self, party, kind, at):
            return super().fault(party, "kill", at)

        def written(self):
            device = os.path.basename(run("findmnt", "-n", "-o", "SOURCE", self.mounted))
            with open(f"/sys/block/{device}/stat") as f:
                stat = f.read().split()
            return stat[4:7], stat[8]  # writes, and what is under way

        def lose_power(self, rng=None):
            copy = self.image + ".copy"
            for _ in range(50):  # a copy that took a moment of the device, not two
                before = self.written()
                shutil.copyfile(self.image, copy)
                if self.written() == before and before[1] == "0":
                    break
            else:
                raise AssertionError("the device is never at rest")
            self.unmount()
            os.replace(copy, self.image)
            self.mount()

    return LoopStage


def main():
    args = arguments()
    if os.geteuid() != 0:
        print("loop.py: SKIPPED, nothing was tested: mounting needs root", file=sys.stderr)
        return 77
    os.environ["TOMBOLA_BUILD"] = os.path.abspath(args.build)
    sys.path.insert(0, os.path.join(ROOT, "tests", "scenario"))
    import faults

    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        probe = os.path.join(folder, "probe")
        os.mkdir(probe)
        make_image(probe + ".img")
        run("mount", "-o", "loop", probe + ".img", probe)
        run("umount", probe)
    except OSError as e:
        shutil.rmtree(folder)
        print(f"loop.py: SKIPPED, nothing was tested: no loop devices here: {e}", file=sys.stderr)
        return 77
    bad = runs = 0
    print(f"{'round':8} {'daemon':9} {'calls':>6} {'met':>6} {'bad':>5} {'seconds':>8}", flush=True)
    for kind in args.rounds.split(","):
        for victim in args.victims.split(","):
            stage = loop_stage(faults)(os.path.join(folder, f"{kind}-{victim}"), kind)
            calls, met, seconds, failures = faults.each(stage, victim, "cut", every=args.every)
            print(f"{kind:8} {victim:9} {calls:6} {met:6} {len(failures):5} {seconds:8.1f}", flush=True)
            print("\n".join(failures), end="\n" if failures else "", flush=True)
            bad, runs = bad + len(failures), runs + met
    if not [line for line in open("/proc/mounts") if folder in line]:
        shutil.rmtree(folder)
    print(f"{runs} power cuts, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
