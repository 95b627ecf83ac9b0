"""power.py - a folder as a power cut leaves it: what tests/faults/storage.c kept as durable, put in its place.

The shadow holds, by inode number, i<N>: a file's bytes as of its last sync; d<N>: a folder's "inode name" lines as of
its last sync; h<N>: another name of the file, so that no number is given twice.
"""
import os
import shutil

BLOCK = 4096


def begin(folder, shadow):
    """Count all that is in the folder now as durable."""
    shutil.rmtree(shadow, ignore_errors=True)
    os.makedirs(shadow)
    for at, folders, files in os.walk(folder):
        with open(os.path.join(shadow, f"d{os.stat(at).st_ino}"), "w") as names:
            for name in folders + files:
                names.write(f"{os.stat(os.path.join(at, name)).st_ino} {name}\n")
        for name in files:
            inode = os.stat(os.path.join(at, name)).st_ino
            shutil.copy(os.path.join(at, name), os.path.join(shadow, f"i{inode}"))
            os.link(os.path.join(at, name), os.path.join(shadow, f"h{inode}"))


def cut(folder, shadow, rng=None):
    """Leave in the folder what was synced; with rng, of what was not a random choice of blocks and names, too."""
    after = folder + ".cut"
    rebuild(folder, shadow, after, rng)
    shutil.rmtree(folder)
    os.rename(after, folder)
    begin(folder, shadow)


def rebuild(folder, shadow, to, rng):
    os.mkdir(to, 0o700)
    now = {e.name: e.inode() for e in os.scandir(folder)}
    names = durable_names(shadow, os.stat(folder).st_ino)
    for name in sorted(set(now) | set(names)):
        inode = names.get(name)
        if rng is not None and rng.random() < 0.5:
            inode = now.get(name)
        if inode is None:
            continue
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            rebuild(path, shadow, os.path.join(to, name), rng)
        else:
            file(path if now.get(name) == inode else None, os.path.join(shadow, f"i{inode}"),
                 os.path.join(to, name), rng)


def durable_names(shadow, inode):
    path = os.path.join(shadow, f"d{inode}")
    if not os.path.exists(path):
        return {}  # a folder that was never synced: its names are lost
    with open(path) as f:
        return {name: int(n) for n, name in (line.rstrip("\n").split(" ", 1) for line in f)}


def file(present, kept, to, rng):
    durable = read(kept) if os.path.exists(kept) else b""
    latest = read(present) if present is not None and rng is not None else durable
    n = len(durable) if rng is None else rng.choice([len(durable), len(latest)])
    blocks = []
    for at in range(0, n, BLOCK):
        source = durable if rng is None or rng.random() < 0.5 else latest
        blocks.append(source[at:at + BLOCK].ljust(min(BLOCK, n - at), b"\0")[:n - at])
    with open(to, "wb") as f:
        f.write(b"".join(blocks))
    os.chmod(to, 0o600)


def read(path):
    with open(path, "rb") as f:
        return f.read()
