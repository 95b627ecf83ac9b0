"""containers.py - the services of docker-compose.yml without an engine: each in namespaces of its own, with the files of its image,
its volumes, user and networks, started in the order and under the conditions that Compose goes by."""
import ipaddress
import os
import re
import shutil
import subprocess
import time

import yaml

import cluster as c
import postgresql
import wire

BOUND = ("bin", "sbin", "lib", "lib64")  # of the machine's /usr, in the place of the image's
SHARED = ("postgresql", "zoneinfo")
MADE = ("/var/lib/tombola", "/var/lib/database", "/pki", "/etc", "/tmp", "/build", "/proc", "/dev", "/usr/share/tombola/demo")


def source(path):
    with open(os.path.join(wire.ROOT, path), encoding="utf-8") as f:
        return f.read()


def shared(folder):
    """What deploy/Dockerfile puts into the image for the demo, by its own lines; without the packages' data."""
    docker = source("deploy/Dockerfile").replace("\\\n", " ")
    line, = [x for x in docker.splitlines() if x.startswith("RUN mkdir -p /out/usr/share/tombola/demo")]
    line = line.removeprefix("RUN ").replace("/src/deploy/demo/fetch-data.sh", "false").replace("/src/", wire.ROOT + "/")
    subprocess.run(["sh", "-c", line.replace("/out/", folder + "/")], check=True)
    return os.path.join(folder, "usr/share/tombola")


class Network:
    """A bridge in a namespace of all of them; addresses that the file does not give are given in turn."""

    def __init__(self, number, said):
        self.bridge = f"net{number}"
        subnet = said["ipam"]["config"][0]["subnet"] if said and "ipam" in said else f"10.64.{210 + number}.0/24"
        self.subnet = ipaddress.ip_network(subnet)
        self.free = list(self.subnet.hosts())[::-1]
        self.names = []  # (address, name)


class Service:
    """A container; it lives from start() to stop(), and its volumes outlive it."""

    def __init__(self, compose, name, said):
        self.compose, self.name, self.said = compose, name, said
        self.root, self.daemon, self.life = os.path.join(compose.dir, name), None, None
        self.at = {}  # network -> address
        for network, more in self.networks().items():
            net = compose.networks[network]
            address = (more or {}).get("ipv4_address") or next(
                str(a) for a in net.free if str(a) not in compose.fixed and not any(str(a) == x for x, _ in net.names))
            self.at[network] = address
            net.names += [(address, n) for n in [name, *(more or {}).get("aliases", [])]]

    def networks(self):
        said = self.said.get("networks") or {}
        return said if isinstance(said, dict) else {n: None for n in said}

    def live(self):
        """Namespaces, files and links, without a program yet."""
        binds = [f"mount --rbind /usr/{d} {self.root}/usr/{d}" for d in BOUND] + [
            f"mount --rbind {c.BUILD} {self.root}/build", f"mount -t proc proc {self.root}/proc", f"mount --rbind /dev {self.root}/dev",
            f"mount -t tmpfs -o mode=1777,size=64m none {self.root}/tmp", f"mount --rbind {self.compose.shared} {self.root}/usr/share/tombola",
            *(f"mount --rbind /usr/share/{d} {self.root}/usr/share/{d}" for d in SHARED)]
        for d in (*MADE, *(f"/usr/{d}" for d in BOUND), *(f"/usr/share/{d}" for d in SHARED), "/usr/share/tombola", "/etc/tombola"):
            os.makedirs(self.root + d, exist_ok=True)
        for d in BOUND:
            if not os.path.lexists(f"{self.root}/{d}"):
                os.symlink(f"usr/{d}", f"{self.root}/{d}")
        self.etc()
        for v in self.said.get("volumes", []):
            volume, target, *mode = v.split(":")
            os.makedirs(self.root + target, exist_ok=True)
            binds.append(f"mount --bind {self.compose.volume(volume)} {self.root}{target}")
            if mode == ["ro"]:
                binds.append(f"mount -o remount,bind,ro {self.root}{target}")
        self.life = subprocess.Popen(["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "--propagation", "private", "sh", "-c",
                                      " && ".join(binds + ["ip link set lo up", "echo ready", "exec sleep infinity"])],
                                     stdout=subprocess.PIPE, text=True)
        assert self.life.stdout.readline() == "ready\n", self.name
        self.pid = subprocess.run(["pgrep", "-P", str(self.life.pid)], capture_output=True, text=True, check=True).stdout.strip()
        for i, (network, address) in enumerate(self.at.items()):
            self.compose.plug(self, i, self.compose.networks[network], address)

    def etc(self):
        for name, text in (("passwd", "root:x:0:0::/:/bin/sh\ntombola:x:10001:10001::/nonexistent:/usr/sbin/nologin\n"),
                           ("group", "root:x:0:\ntombola:x:10001:\n"), ("nsswitch.conf", "hosts: files\n")):
            with open(f"{self.root}/etc/{name}", "w", encoding="utf-8") as f:
                f.write(text)
        for name in ("ld.so.cache", "ssl/openssl.cnf"):
            os.makedirs(os.path.dirname(f"{self.root}/etc/{name}"), exist_ok=True)
            shutil.copy(f"/etc/{name}", f"{self.root}/etc/{name}")
        for name in ("postgresql.conf", "pg_hba.conf", "pg_ident.conf"):
            shutil.copy(os.path.join(wire.ROOT, "deploy/compose", name), f"{self.root}/etc/tombola")
        self.knows()

    def knows(self):
        """Names of its networks, as Compose answers them; a service that is gone has none."""
        lines = ["127.0.0.1 localhost"]
        for network in self.at:
            lines += [f"{a} {n}" for a, n in self.compose.networks[network].names]
        with open(f"{self.root}/etc/hosts", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")

    def inside(self, command):
        """The same rights as under Compose: the service's user, no capability, none to gain."""
        user, group = self.said["user"].split(":")
        return ["nsenter", "-t", self.pid, "-n", "-m", "-p", "chroot", self.root, "setpriv", "--reuid", user, "--regid", group,
                "--clear-groups", "--no-new-privs", "--inh-caps", "-all", "--bounding-set", "-all", "env", "-i", "LANG=C.UTF-8",
                f"PATH=/build/bin:{postgresql.programs()}:/usr/sbin:/usr/bin:/sbin:/bin", *command]

    def exec(self, *command):
        return subprocess.run(self.inside(command), capture_output=True, text=True)

    def start(self, command=None):
        if not self.life:
            self.live()
        self.daemon = c.Daemon(self.inside(command or self.said["command"]), os.path.join(self.compose.dir, f"{self.name}.log"))

    def healthy(self):
        test = self.said["healthcheck"]["test"]
        assert test[0] == "CMD"
        return self.exec(*test[1:]).returncode == 0

    def tend(self):
        """restart: on-failure."""
        if self.daemon and not self.daemon.alive() and self.daemon.process.returncode and self.said.get("restart") == "on-failure":
            time.sleep(0.3)
            self.daemon.start()

    def log(self):
        return self.daemon.log()

    def stop(self):
        """The host is gone, at once."""
        self.daemon = None
        if self.life:
            self.life.kill()
            self.life.wait()
            self.life.stdout.close()
            self.life = None


class Compose:
    """The services of some profiles."""

    def __init__(self, folder, *profiles):
        said = yaml.safe_load(source("docker-compose.yml"))
        self.dir = str(folder)
        self.shared = shared(os.path.join(self.dir, "image"))
        for name in os.listdir(os.path.join(wire.ROOT, "deploy/compose")):
            if name.endswith(".sh"):
                shutil.copy(os.path.join(wire.ROOT, "deploy/compose", name), self.shared)
        self.volumes = []
        self.networks = {n: Network(i, more) for i, (n, more) in enumerate(said["networks"].items())}
        chosen = {n: s for n, s in said["services"].items() if not s.get("profiles") or set(s["profiles"]) & set(profiles)}
        self.fixed = {(more or {}).get("ipv4_address") for s in chosen.values() if isinstance(s.get("networks"), dict)
                      for more in s["networks"].values()}
        self.switch = subprocess.Popen(["unshare", "-n", "sh", "-c", " && ".join(
            [f"ip link add {n.bridge} type bridge && ip link set {n.bridge} up" for n in self.networks.values()] +
            ["echo ready", "exec sleep infinity"])], stdout=subprocess.PIPE, text=True)
        assert self.switch.stdout.readline() == "ready\n"
        self.services = {n: Service(self, n, s) for n, s in chosen.items()}

    def volume(self, name):
        """Its folder.  Docker gives a new one the owner of the image's folder, which the images make for their user."""
        path = os.path.join(self.dir, "volumes", name)
        if name not in self.volumes:
            os.makedirs(path, mode=0o700)
            os.chown(path, 10001, 10001)
            self.volumes.append(name)
        return path

    def lose(self, name):
        """`docker volume rm`."""
        shutil.rmtree(self.volume(name))
        self.volumes.remove(name)

    def plug(self, service, number, network, address):
        """A cable from the service's eth<number> to the network's bridge."""
        far = re.sub(r"\W", "", service.name)[:11] + f"-{number}"
        for where, command in ((service.life.pid, f"ip link add eth{number} type veth peer name {far} netns {self.switch.pid} && ip addr add "
                                f"{address}/{network.subnet.prefixlen} dev eth{number} && ip link set eth{number} up"),
                               (self.switch.pid, f"ip link set {far} master {network.bridge} && ip link set {far} up")):
            subprocess.run(["nsenter", "-t", str(where), "-n", "sh", "-c", command], check=True)

    def up(self, *names):
        """Start them in the order of depends_on, each when its conditions hold."""
        for name in names or self.services:
            self.up_one(name)

    def up_one(self, name):
        service = self.services[name]
        if service.daemon:
            return
        for other, how in (service.said.get("depends_on") or {}).items():
            self.up_one(other)
            self.hold(self.services[other], how["condition"])
        service.start()

    def hold(self, service, condition):
        if condition == "service_completed_successfully":
            assert service.daemon.wait() == 0, service.log()
            return
        assert condition == "service_healthy", condition

        def healthy():
            self.tend()
            return service.healthy()
        try:
            c.wait_for(f"{service.name} to be healthy", healthy)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{service.log()[-3000:]}") from e

    def tend(self):
        for service in self.services.values():
            service.tend()

    def close(self):
        for service in self.services.values():
            service.stop()
        self.switch.kill()
        self.switch.wait()
        self.switch.stdout.close()
