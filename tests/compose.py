"""compose.py SOURCE BUILD - judge a compose file on standard input, with the image and the files it names."""
import ipaddress
import os
import re
import subprocess
import sys
import tempfile

import yaml

PARTIES = ("client", "shuffler", "analyzer")
CLIENTS = ("client", "client-mqtt")  # one at a time: a device has one client
PROFILES = {"client": ["demo"], "client-mqtt": ["mqtt"], "mosquitto": ["mqtt"], "devices": ["mqtt"],
            "prometheus": ["metrics"], "learn": ["learn"]}
PORTS = {"analyzer": "127.0.0.1:9464:9464", "prometheus": "127.0.0.1:9090:9090"}
WATCHED = {"shuffler": 9465, "analyzer": 9464, "client": 9466, "client-mqtt": 9466}
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


def address(service, network):
    return ((service.get("networks") or {}).get(network) or {}).get("ipv4_address")


def ports(service):
    return [p.removesuffix("/tcp") if isinstance(p, str) else f"{p.get('host_ip', '')}:{p['published']}:{p['target']}"
            for p in service.get("ports", [])]


def check_confined(name, s):
    need(re.fullmatch(r"[1-9]\d*:[1-9]\d*", str(s.get("user", ""))), f"{name}: runs as root")
    need(s.get("read_only") is True, f"{name}: its root can be written")
    need(s.get("cap_drop") == ["ALL"], f"{name}: keeps capabilities")
    need("no-new-privileges:true" in s.get("security_opt", []), f"{name}: may gain privileges")
    need("net.ipv4.ip_forward=0" in s.get("sysctls", []) or (s.get("sysctls") or {}) == {"net.ipv4.ip_forward": "0"}
         or (s.get("sysctls") or {}) == {"net.ipv4.ip_forward": 0}, f"{name}: may forward between its networks")
    for key in ("privileged", "cap_add", "devices", "pid", "ipc"):
        need(not s.get(key), f"{name}: has {key}")
    need(ports(s) == ([PORTS[name]] if name in PORTS else []), f"{name}: publishes {ports(s)}")
    need(s.get("profiles", []) == PROFILES.get(name, []), f"{name}: profiles {s.get('profiles')}")


def check_party(name, s, compose):
    test = s.get("healthcheck", {}).get("test", [])
    need(test[:1] == ["CMD"] and "check" in test, f"{name}: no health check by its own check verb")
    party = "client" if name in CLIENTS else name
    need(s["command"][:3] == [f"tombola-{party}", "--config", f"{DEMO}{name}.conf"], f"{name}: command {s['command']}")
    need(test[1:4] == s["command"][:3], f"{name}: another configuration is checked than run")
    at = mounts(s)
    need(at.get(f"/pki/{party}") == (f"pki-{party}", True), f"{name}: its keys are not its own, read-only volume")
    need(set(at) == {f"/pki/{party}", "/var/lib/tombola"}, f"{name}: mounts {sorted(at)}")
    state, read_only = at.get("/var/lib/tombola", ("", True))
    need(state == f"{party}-state" and not read_only, f"{name}: no state volume of its own")
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
            need(folder == name.split("-")[0], f"{name}.conf: names the keys of {folder}")
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
    need("/setup.sh run " in docker[docker.rindex("FROM"):], "Dockerfile: the programs' libraries are not installed")
    wanted = set(subprocess.run([f"{src}/deploy/setup.sh", "run", "--names"], check=True, capture_output=True,
                                text=True).stdout.split())
    files = set()
    programs = [f"{folder}/{name}" for folder in (f"{build}/bin", f"{build}/libexec/tombola") for name in os.listdir(folder)]
    for path in sorted(programs):
        dynamic = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
        direct = set(re.findall(r"NEEDED.*\[(.+)\]", dynamic))
        found = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
        files |= {"*" + file.removeprefix("/usr") for soname, file in re.findall(r"(\S+) => (\S+)", found)
                  if soname in direct and not re.match(r"lib(asan|ubsan|tsan|gcc_s)\.", soname)}
    # One question of all: each reads the lists of all packages.
    owners = subprocess.run(["dpkg", "-S", *sorted(files)], capture_output=True, text=True).stdout
    needed = {line.split(":")[0] for line in owners.splitlines()}
    need(needed - {"libc6"} == wanted, f"setup.sh run: installs {sorted(wanted)}, needed are {sorted(needed - {'libc6'})}")


def check_population():
    for folder in ("deploy", "deploy/compose"):
        said = {}
        for name in ("client.conf", "client-policy.conf", "shuffler-policy.conf", "plan.conf"):
            path = f"{folder}/{name}"
            if os.path.exists(f"{src}/{path}"):
                said[path] = re.search(r'^population = "(.+?)"', text_of(path), re.M)[1]
        need(len(set(said.values())) == 1, f"the examples do not fit together: {said}")


def check_watched(services, nets):
    """Daemons speak to whoever watches on networks that no peer of theirs is on; Prometheus listens on none of them."""
    for name, port in WATCHED.items():
        s = services[name]
        conf = text_of(f"deploy/compose/{name}.conf")
        at = re.search(r'^http = "([\d.]+):(\d+)";', conf, re.M)
        mine = {address(s, n): n for n in networks(s) if address(s, n)}
        need(at and int(at[2]) == port and at[1] in mine and "http_anywhere = true" in conf,
             f"{name}.conf: health is not at an address of the service, port {port}")
        if not at or at[1] not in mine:
            continue
        network = mine[at[1]]
        others = {o for o in services if network in networks(services[o])} - {name}
        need(others <= {"prometheus"} | (set(CLIENTS) if name in CLIENTS else set()),
             f"{name}: {sorted(others)} can watch it")
        subnet = ipaddress.ip_network(nets[network]["ipam"]["config"][0]["subnet"])
        need(ipaddress.ip_address(at[1]) in subnet, f"{network}: {at[1]} is not in {subnet}")
        job = name.split("-")[0]
        need(f'"{job}:{port}"' in text_of("deploy/prometheus.yml"), f"prometheus.yml: does not ask {job}:{port}")
    mqtt = (services["client-mqtt"]["networks"]["watch-client"] or {})
    need("client" in mqtt.get("aliases", []), "client-mqtt: Prometheus does not know it as `client`")
    p = services["prometheus"]
    need(f"--web.listen-address={address(p, 'ui')}:9090" in p["command"], "prometheus: listens on more than `ui`")
    need(all(address(p, n) for n in networks(p)), "prometheus: takes the first address that is free, which may be a party's")
    need(not networks(p) & {"edge", "core", "site"}, "prometheus: is on a network of the parties")


def check_networks(services, nets):
    for client in CLIENTS + ("mosquitto", "devices"):
        need(not networks(services[client]) & networks(services["analyzer"]), f"{client} and analyzer share a network")
    for other in CLIENTS + ("analyzer",):
        need(networks(services["shuffler"]) & networks(services[other]), f"{other} cannot reach the shuffler")
    for name in ("mosquitto", "devices"):
        need(networks(services[name]) == {"site"}, f"{name}: is on more than `site`")
    for name, net in nets.items():
        net = net or {}
        masquerade = (net.get("driver_opts") or {}).get("com.docker.network.bridge.enable_ip_masquerade")
        need(net.get("internal") is True or (name == "ui" and masquerade == "false"), f"network {name} leads outside")
    public = {n for n in nets if (nets[n] or {}).get("internal") is not True}
    need({s for s in services if networks(services[s]) & public} == set(PORTS), "others than those published are on `ui`")


def check_tools(services):
    """The images that are not ours alone: the same user, with what the services call and mount."""
    for name, wanted in (("mosquitto", ("mosquitto.conf", "devices.sh")), ("prometheus", ("prometheus.yml", "alerts.yml")),
                         ("learn", ("fetch-data.sh", "rda2csv.py", "deploy/learn/tombola_learn "))):
        docker = text_of(services[name]["build"]["dockerfile"])
        need(f"USER {services[name]['user']}" in docker, f"{name}: another user than the image's")
        for file in wanted:
            need(file in docker, f"{name}: the image has no {file}")
        for target in mounts(services[name]):
            need(f"{target}\n" in docker or f"{target} " in docker, f"{name}: {target} is not made in the image")


def main():
    compose = yaml.safe_load(sys.stdin)
    services, nets = compose["services"], compose["networks"]
    need(set(services) == {"pki", *PARTIES, *PROFILES}, f"services {sorted(services)}")
    for name, s in services.items():
        check_confined(name, s)
    for name in PARTIES + ("client-mqtt",):
        check_party(name, services[name], compose)
        check_conf(name)
    check_networks(services, nets)
    check_watched(services, nets)
    check_tools(services)
    need(services["learn"].get("network_mode") == "none", "learn: has a network")
    need(set(mounts(services["learn"])) == {"/var/lib/tombola-learn"}, "learn: other volumes")
    need(text_of(".env").strip() == "COMPOSE_PROFILES=demo", ".env: `up` does not start the demo")
    need(services["pki"].get("network_mode") == "none", "pki: has a network")
    need(set(mounts(services["pki"])) == {"/pki/ca", *(f"/pki/{p}" for p in PARTIES)}, "pki: other volumes")
    need(len({s.get("user") for s in services.values()}) == 1, "services run as different users")
    check_image(services["pki"].get("user"))
    check_population()
    for fault in faults:
        print(f"compose.py: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
