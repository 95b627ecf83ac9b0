"""hosts.py - three machines in one: network and mount namespaces with their own /etc, /var/lib and /usr/local, and the commands
of a guide run on them as they stand."""
import os
import re
import shutil
import subprocess

import cluster as c

# `sudo [-u USER] COMMAND` for a machine whose only person is root.
SUDO = """#!/bin/sh
if [ "$1" = -u ]; then
	user=$2
	shift 2
	exec setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps -all --bounding-set -all "$@"
fi
exec "$@"
"""


def may():
    """Why this machine lets nobody make namespaces; nothing when it does."""
    if os.geteuid() != 0:
        return "namespaces with users of their own need root"
    for tool in ("unshare", "nsenter", "setpriv", "useradd", "ip"):
        if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"no program '{tool}'"
    made = subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, text=True)
    return made.stderr.strip() if made.returncode != 0 else ""


class Host:
    """One machine; it lives until close()."""

    def __init__(self, folder, name, prefix):
        self.name, self.dir = name, os.path.join(folder, name)
        self.daemons = []
        for part in ("lib", "local"):
            os.makedirs(os.path.join(self.dir, part))
        subprocess.run(["cp", "-a", "/etc", os.path.join(self.dir, "etc")], check=True)
        subprocess.run(["cp", "-a", prefix + "/.", os.path.join(self.dir, "local")], check=True)
        sudo = os.path.join(self.dir, "local", "bin", "sudo")
        with open(sudo, "w") as f:
            f.write(SUDO)
        os.chmod(sudo, 0o755)
        binds = " && ".join(f"mount --bind '{self.dir}/{mine}' {theirs}"
                            for mine, theirs in (("etc", "/etc"), ("lib", "/var/lib"), ("local", "/usr/local")))
        self.life = subprocess.Popen(["unshare", "-n", "-m", "--propagation", "private", "sh", "-c",
                                      f"{binds} && ip link set lo up && echo ready && exec sleep infinity"],
                                     stdout=subprocess.PIPE, text=True)
        assert self.life.stdout.readline() == "ready\n"

    def inside(self, command, cwd="/"):
        return ["nsenter", "-t", str(self.life.pid), "-n", "-m", "env", f"--chdir={cwd}",
                "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", command]

    def try_(self, command, cwd="/"):
        return subprocess.run(self.inside(command, cwd), capture_output=True, text=True)

    def run(self, command, cwd="/"):
        """It succeeds; what it prints."""
        done = self.try_(command, cwd)
        assert done.returncode == 0, f"{self.name}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, command):
        """A daemon in the foreground, as in a terminal of its own."""
        self.daemons.append(c.Daemon(self.inside("exec " + command), os.path.join(self.dir, f"log{len(self.daemons)}")))
        return self.daemons[-1]

    def etc(self, name):
        return os.path.join(self.dir, "etc", name)

    def edit(self, name, **keys):
        """Set keys of a configuration in /etc/tombola, each wherever it stands; text is quoted."""
        path = self.etc(os.path.join("tombola", name))
        with open(path) as f:
            text = f.read()
        for key, value in keys.items():
            value = f'"{value}"' if isinstance(value, str) else str(value)
            text, n = re.subn(rf"^(\s*{key} = )(\"[^\"]*\"|[^\s;,#]+)", lambda m: m.group(1) + value, text, flags=re.M)
            assert n > 0, f"{name} has no '{key}'"
        with open(path, "w") as f:
            f.write(text)

    def knows(self, address, name):
        with open(self.etc("hosts"), "a") as f:
            f.write(f"{address} {name}\n")

    def close(self):
        for d in self.daemons:
            if d.alive():
                d.kill()
        self.life.kill()
        self.life.wait()
        self.life.stdout.close()


def cable(one, its, other, theirs):
    """A link between two hosts, with an address at each end."""
    far = f"to-{one.name}"
    one.run(f"ip link add to-{other.name} type veth peer name {far} netns {other.life.pid} && "
            f"ip addr add {its}/24 dev to-{other.name} && ip link set to-{other.name} up")
    other.run(f"ip addr add {theirs}/24 dev {far} && ip link set {far} up")


def guide(path, heading):
    """The commands of a section of a document, a list: the lines of its code blocks without comments, and tables' rows apart."""
    with open(path) as f:
        section = re.split(r"^## ", f.read(), flags=re.M)
    section = next(s for s in section if s.startswith(heading))
    blocks = re.findall(r"^```\n(.*?)^```", section, flags=re.M | re.S)
    return [re.sub(r"\s+#.*", "", line) for b in blocks for line in b.splitlines() if line.strip()]
