"""compose.py SOURCE BUILD - judge a compose file on standard input, with the image and the files it names."""
import os
import re
import subprocess
import sys
import tempfile

import yaml

PARTIES = ("client", "shuffler", "analyzer")
DEMO = "/usr/share/tombola/demo/"
src, build = sys.argv[1:3]
faults = []


def need(truth, text):
    if not truth:
        faults.append(text)


def text_of(path):
    with open(os.path.join(src, path), encoding="utf-8") as f:
        return f.read()


def mounts(service):
    """Mount point -> (volume, read-only)."""
    out = {}
    for v in service.get("volumes", []):
        if isinstance(v, dict):  # how newer versions write it
            out[v["target"]] = (v["source"], v.get("read_only", False))
            continue
        name, target, *mode = v.split(":")
        out[target] = (name, "ro" in mode)
    return out


def networks(service):
    return set(service.get("networks") or [])


def check_confined(name, s):
    need(re.fullmatch(r"[1-9]\d*:[1-9]\d*", str(s.get("user", ""))), f"{name}: runs as root")
    need(s.get("read_only") is True, f"{name}: its root can be written")
    need(s.get("cap_drop") == ["ALL"], f"{name}: keeps capabilities")
    need("no-new-privileges:true" in s.get("security_opt", []), f"{name}: may gain privileges")
    for key in ("ports", "privileged", "cap_add", "devices", "pid", "ipc"):
        need(not s.get(key), f"{name}: has {key}")


def check_party(name, s, compose):
    test = s.get("healthcheck", {}).get("test", [])
    need(test[:1] == ["CMD"] and "check" in test, f"{name}: no health check by its own check verb")
    need(s["command"][:3] == [f"tombola-{name}", "--config", f"{DEMO}{name}.conf"], f"{name}: command {s['command']}")
    need(test[1:4] == s["command"][:3], f"{name}: another configuration is checked than run")
    at = mounts(s)
    need(at.get(f"/pki/{name}") == (f"pki-{name}", True), f"{name}: its keys are not its own, read-only volume")
    need(set(at) == {f"/pki/{name}", "/var/lib/tombola"}, f"{name}: mounts {sorted(at)}")
    state, read_only = at.get("/var/lib/tombola", ("", True))
    need(state == f"{name}-state" and not read_only, f"{name}: no state volume of its own")
    for v, _ in at.values():
        need(v in compose["volumes"], f"{name}: volume {v} is not declared")
    nets = networks(s)
    need(nets and nets <= set(compose["networks"]), f"{name}: networks {sorted(nets)}")


def check_conf(name):
    """Files and addresses that a configuration names exist in the image, the volumes or the compose file."""
    conf = text_of(f"deploy/compose/{name}.conf")
    need('state_dir = "/var/lib/tombola"' in conf, f"{name}.conf: state_dir is not the volume")
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([f"{build}/bin/tombola", "pki", "init", f"{made}/pki"], check=True, capture_output=True)
        for folder, file in re.findall(r'"/pki/([^/"]+)/([^"]+)"', conf):
            need(folder == name, f"{name}.conf: names the keys of {folder}")
            need(os.path.exists(f"{made}/pki/{folder}/{file}"), f"{name}.conf: pki init makes no {folder}/{file}")
    for file in re.findall(r'(?:policy|plan|path) = "([^"]+)"', conf):
        need(os.path.exists(f"{src}/deploy/compose/{file}") or f"{DEMO}{file}" in text_of("deploy/Dockerfile"),
             f"{name}.conf: the image has no {file}")
    if name != "shuffler":
        need('shuffler = "shuffler:7443"' in conf, f"{name}.conf: dials another name than the service's")


def check_image(user):
    docker = text_of("deploy/Dockerfile")
    uid = str(user).split(":", maxsplit=1)[0]
    need(f"USER {user}" in docker and f"useradd -u {uid} " in docker, "Dockerfile: another user than the services'")
    made = re.search(r"for d in ([^;]+);", docker)[1].split()
    for target in ["/var/lib/tombola", "/pki/ca"] + [f"/pki/{p}" for p in PARTIES]:
        need(target in made, f"Dockerfile: {target} is not made, its volume would be root's")
    for folder in re.search(r"foreach\(part ([^)]+)\)", text_of("CMakeLists.txt"))[1].split():
        need(re.search(rf"^COPY {folder} ", docker, re.M), f"Dockerfile: {folder} is not copied")
    need("--hosts shuffler," in text_of("deploy/compose/pki.sh"), "pki.sh: no certificate for the name `shuffler`")
    check_packages(docker)


def check_packages(docker):
    """The image's packages are exactly those that own a library some program needs by itself."""
    wanted = set(re.search(r"install -y --no-install-recommends (.+?)&&", docker[docker.rindex("FROM"):], re.S)[1]
                 .replace("\\", " ").split())
    needed = set()
    for program in sorted(os.listdir(f"{build}/bin")):
        path = f"{build}/bin/{program}"
        dynamic = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
        direct = set(re.findall(r"NEEDED.*\[(.+)\]", dynamic))
        found = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
        for soname, file in re.findall(r"(\S+) => (\S+)", found):
            if soname in direct and not re.match(r"lib(asan|ubsan|tsan|gcc_s)\.", soname):
                owner = subprocess.run(["dpkg", "-S", "*" + file.removeprefix("/usr")],
                                       capture_output=True, text=True).stdout
                needed.update(line.split(":")[0] for line in owner.splitlines())
    need(needed - {"libc6"} == wanted, f"Dockerfile: installs {sorted(wanted)}, needed are {sorted(needed - {'libc6'})}")


def check_population():
    for folder in ("deploy", "deploy/compose"):
        said = {}
        for name in ("client.conf", "client-policy.conf", "shuffler-policy.conf", "plan.conf"):
            path = f"{folder}/{name}"
            if os.path.exists(f"{src}/{path}"):
                said[path] = re.search(r'^population = "(.+?)"', text_of(path), re.M)[1]
        need(len(set(said.values())) == 1, f"the examples do not fit together: {said}")


def main():
    compose = yaml.safe_load(sys.stdin)
    services = compose["services"]
    need(set(services) == {"pki", *PARTIES}, f"services {sorted(services)}")
    for name, s in services.items():
        check_confined(name, s)
    for name in PARTIES:
        check_party(name, services[name], compose)
        check_conf(name)
    need(not networks(services["client"]) & networks(services["analyzer"]), "client and analyzer share a network")
    for other in ("client", "analyzer"):
        need(networks(services["shuffler"]) & networks(services[other]), f"{other} cannot reach the shuffler")
    for name, net in compose["networks"].items():
        need((net or {}).get("internal") is True, f"network {name} leads outside")
    need(services["pki"].get("network_mode") == "none", "pki: has a network")
    need(set(mounts(services["pki"])) == {"/pki/ca", *(f"/pki/{p}" for p in PARTIES)}, "pki: other volumes")
    need(len({s.get("user") for s in services.values()}) == 1, "services run as different users")
    check_image(services["pki"].get("user"))
    check_population()
    for fault in faults:
        print(f"compose.py: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
