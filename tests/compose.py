"""compose.py SOURCE BUILD - judge a compose file on standard input, with the image and the files it names."""
import ipaddress
import os
import re
import subprocess
import sys
import tempfile

import yaml

# Service: its program, its configuration, the volume of its keys, that of its state.
PARTIES = {"client": ("client", "client", "pki-client", "client-state"),
           "client-mqtt": ("client", "client-mqtt", "pki-client", "client-state"),
           "shuffler": ("shuffler", "shuffler", "pki-shuffler", "shuffler-state"),
           "analyzer": ("analyzer", "analyzer", "pki-analyzer", "analyzer-state"),
           "client1": ("client", "client1", "pki-client", "client1-state"),
           "client2": ("client", "client2", "pki-client2", "client2-state"),
           "head": ("shuffler", "head", "pki-shuffler", "head-state"),
           "intake1": ("shuffler", "intake1", "pki-intake1", None),
           "intake2": ("shuffler", "intake2", "pki-intake2", None),
           "analyzer-postgresql": ("analyzer", "analyzer", "pki-analyzer", "analyzer-postgresql-state")}
CLIENTS = {s for s, what in PARTIES.items() if what[0] == "client"}
INTAKES, SERVERS = {"intake1", "intake2"}, {"database", "standby"}
FOLDERS = ("client", "client2", "shuffler", "analyzer", "intake1", "intake2")  # of keys that the service pki makes
USERS = {"head", *INTAKES, *SERVERS}  # who has a certificate of the database's
DEMOS = ["demo", "mqtt"]
PROFILES = {"shuffler": DEMOS, "analyzer": DEMOS, "client": ["demo"], "client-mqtt": ["mqtt"], "mosquitto": ["mqtt"],
            "devices": ["mqtt"], "prometheus": ["metrics"], "learn": ["learn"],
            **dict.fromkeys({"database-pki", *USERS, "analyzer-postgresql", "client1", "client2"}, ["postgresql"])}
PORTS = {"analyzer": "127.0.0.1:9464:9464", "analyzer-postgresql": "127.0.0.1:9464:9464", "prometheus": "127.0.0.1:9090:9090"}
# Service: the port of its health, and the name that Prometheus asks.
WATCHED = {"shuffler": (9465, "shuffler"), "head": (9465, "shuffler"), "analyzer": (9464, "analyzer"),
           "analyzer-postgresql": (9464, "analyzer"), "client": (9466, "client"), "client-mqtt": (9466, "client"),
           "client1": (9466, "client"), "client2": (9466, None), "intake1": (9468, "intake1"), "intake2": (9468, "intake2")}
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
    program, conf, keys, state = PARTIES[name]
    command = [f"tombola-{program}", "--config", f"{DEMO}{conf}.conf"]
    need(s["command"] == command + ["intake" if name in INTAKES else "run"], f"{name}: command {s['command']}")
    test = s.get("healthcheck", {}).get("test", [])
    if name in INTAKES:
        need(test == ["CMD", f"{DEMO}ready.sh", address(s, "watch-intake"), str(WATCHED[name][0])], f"{name}: health check {test}")
    else:
        need(test[:1] == ["CMD"] and "check" in test, f"{name}: no health check by its own check verb")
        need(test[1:4] == command, f"{name}: another configuration is checked than run")
    folder = keys.removeprefix("pki-")
    want = {f"/pki/{folder}": (keys, True)}
    if state:
        want["/var/lib/tombola"] = (state, False)
    if name in USERS:
        want["/pki/database"] = (f"{name}-database", True)
    need(mounts(s) == want, f"{name}: mounts {mounts(s)}")
    nets = networks(s)
    need(nets and nets <= set(compose["networks"]), f"{name}: networks {sorted(nets)}")


def check_volumes(services, volumes):
    """Each is declared, and one service has it to write: the one that makes it, or whose state it is."""
    writers = {}
    for name, s in services.items():
        for volume, read_only in mounts(s).values():
            need(volume in volumes, f"{name}: volume {volume} is not declared")
            if not read_only:
                writers.setdefault(volume, set()).add(name)
    need(set(writers) == set(volumes), f"volumes that nobody writes: {sorted(set(volumes) - set(writers))}")
    for volume, names in writers.items():
        need(len(names) == 1 or names <= {"client", "client-mqtt"}, f"volume {volume}: {sorted(names)} write it")


def check_order(services):
    """Who is waited for is in every profile of who waits, can be healthy, and does not wait for it in turn."""
    def before(name, seen=()):
        need(name not in seen, f"{name}: waits for itself: {seen}")
        for other in [] if name in seen else services[name].get("depends_on") or {}:
            before(other, (*seen, name))

    for name, s in services.items():
        before(name)
        for other, how in (s.get("depends_on") or {}).items():
            its = services[other].get("profiles", [])
            need(not its or set(s.get("profiles", [])) <= set(its), f"{name}: depends on {other}, which another profile has")
            need(how["condition"] in ("service_healthy", "service_completed_successfully"), f"{name}: {other}: {how}")
            need((how["condition"] == "service_healthy") == ("healthcheck" in services[other]), f"{name}: {other}: {how}")


def made_keys(folder):
    """What the service pki makes, by its own script."""
    script = re.sub(r"(/tmp)?/pki\b", lambda m: folder + ("/made" if m[1] else "/pki"), text_of("deploy/compose/pki.sh"))
    for part in ("ca", *FOLDERS):
        os.makedirs(f"{folder}/pki/{part}")
    subprocess.run(["sh", "-c", script], check=True, capture_output=True,
                   env={**os.environ, "PATH": f"{build}/bin:{os.environ['PATH']}"})


def check_confs():
    """The programs accept each configuration, with the keys that pki.sh makes and what the image has beside it."""
    docker = text_of("deploy/Dockerfile")
    with tempfile.TemporaryDirectory() as made:
        made_keys(made)
        os.mkdir(f"{made}/state", 0o700)
        for file in re.findall(f"/out{DEMO}([\\w.-]+)", docker) + re.findall(r">(readings-\d.csv)", docker):
            with open(f"{made}/{file}", "w", encoding="utf-8") as f:
                f.write(text_of("deploy/demo/weather-plan.conf") if file == "plan.conf" else "d0\n")
        for file in os.listdir(f"{src}/deploy/compose"):
            if file.endswith(".conf") and "\n" in text_of(f"deploy/compose/{file}"):
                text = text_of(f"deploy/compose/{file}").replace('"/var/lib/tombola"', f'"{made}/state"')
                # No name is asked for: nobody is there, and the programs say so.
                text = text.replace('"/pki/', f'"{made}/pki/').replace("host=database,standby", "host=127.0.0.1 port=1")
                with open(f"{made}/{file}", "w", encoding="utf-8") as f:
                    f.write(text)
        for name, (program, conf, keys, _) in PARTIES.items():
            text = text_of(f"deploy/compose/{conf}.conf")
            need(set(re.findall(r'"/pki/([^/"]+)/', text)) == {keys.removeprefix("pki-")}, f"{conf}.conf: names others' keys")
            need(name in INTAKES or 'state_dir = "/var/lib/tombola"' in text, f"{conf}.conf: state_dir is not the volume")
            accepted(name, f"tombola-{program}", f"{made}/{conf}.conf")
    for name in CLIENTS | {"analyzer"}:
        dials = '[ "intake1:7443", "intake2:7443" ]', '[ "intake2:7443", "intake1:7443" ]', '"shuffler:7443"'
        need(re.search(r"^shuffler = (.+);$", text_of(f"deploy/compose/{name}.conf"), re.M)[1] in
             (dials[:2] if name in ("client1", "client2") else dials[2:]), f"{name}.conf: dials another name than the service's")
    for name in INTAKES:
        need('head = "head:7443"' in text_of(f"deploy/compose/{name}.conf"), f"{name}.conf: its head is another service")


def accepted(name, program, path):
    """check-config has no fault; an intake, which asks its database too, gets as far as that."""
    if name not in INTAKES:
        run = subprocess.run([f"{build}/bin/{program}", "--config", path, "check-config"], capture_output=True, text=True)
        need(run.returncode == 0, f"{name}: {run.stderr}")
        return
    with subprocess.Popen([f"{build}/bin/{program}", "--config", path, "intake"], stderr=subprocess.PIPE, text=True) as run:
        said = run.stderr.readline()
        need("waiting for the database" in said, f"{name}: {said}")
        run.kill()


def check_database(services):
    """The servers and their users: TLS with certificates alone, a synchronous standby, no password anywhere."""
    settings = dict(re.findall(r"^(\w+) = '?([^'#\n]*[^'#\s])", text_of("deploy/compose/postgresql.conf"), re.M))
    need(settings["ssl"] == "on" and settings["ssl_min_protocol_version"] == "TLSv1.3", "postgresql.conf: without TLS 1.3")
    need(settings["synchronous_standby_names"] == "FIRST 1 (database, standby)", "postgresql.conf: no synchronous standby")
    need(not {"fsync", "full_page_writes", "synchronous_commit"} & set(settings), "postgresql.conf: commits that a crash undoes")
    rules = [line.split() for line in text_of("deploy/compose/pg_hba.conf").splitlines() if line and not line.startswith("#")]
    need(rules[0] == ["local", "all", "postgres", "peer", "map=owner"], f"pg_hba.conf: {rules[0]}")
    need(all(r[0] == "hostssl" and r[3:] == ["samenet", "cert"] and "all" not in r for r in rules[1:]), f"pg_hba.conf: {rules[1:]}")
    made = text_of("deploy/compose/database-pki.sh")
    # A rule of `+ROLE` is of its members: each intake's own.
    own = {name: f"tombola-{name.replace('intake', 'intake-')}" for name in INTAKES} | {"head": "tombola-shuffler"}
    for role in {r[2] for r in rules[1:] if r[2][0] != "+"} | set(own.values()):
        need(f" {role} clientAuth" in made and f'CREATE ROLE "{role}"' in text_of("deploy/compose/database.sh").replace(
            "ROLE replicator", 'ROLE "replicator"'), f"pg_hba.conf: role {role} has no certificate or is not made")
    for name in ("head", *INTAKES):
        text = text_of(f"deploy/compose/{name}.conf")
        need(f"user={own[name]} " in text, f"{name}.conf: another's role")
        need("password" not in text and "sslmode" not in text, f"{name}.conf: a password, or less than verify-full")
        need("synchronous_standbys = 1;" in text, f"{name}.conf: does not demand the standby")
    for name in SERVERS:
        s = services[name]
        need(networks(s) == {"store"}, f"{name}: is on more than `store`")
        need(mounts(s) == {"/pki/database": (f"{name}-pki", True), "/var/lib/database": (f"{name}-state", False)}, f"{name}: {mounts(s)}")
        need(s.get("stop_signal") == "SIGINT", f"{name}: would wait for its sessions when it is stopped")
        need(s["command"][0] == "/usr/share/tombola/database.sh" and s["command"][-1] == name, f"{name}: {s['command']}")
    s = services["database-pki"]
    need(s.get("network_mode") == "none", "database-pki: has a network")
    need({v for v, _ in mounts(s).values()} == {"database-pki", "standby-pki"} | {f"{n}-database" for n in USERS - SERVERS},
         f"database-pki: mounts {mounts(s)}")


def check_image(user):
    docker = text_of("deploy/Dockerfile")
    uid = str(user).split(":", maxsplit=1)[0]
    need(f"USER {user}" in docker and f"useradd -u {uid} " in docker, "Dockerfile: another user than the services'")
    made = re.search(r"for d in ([^;]+);", docker)[1].split()
    for target in ["/var/lib/tombola", "/pki/ca", "/pki/database"] + [f"/pki/{p}" for p in FOLDERS]:
        need(target in made, f"Dockerfile: {target} is not made, its volume would be root's")
    for folder in re.search(r"foreach\(part ([^)]+)\)", text_of("CMakeLists.txt"))[1].split():
        need(re.search(rf"^COPY {folder} ", docker, re.M), f"Dockerfile: {folder} is not copied")
    need("--hosts shuffler,head," in text_of("deploy/compose/pki.sh"), "pki.sh: no certificate for `shuffler` and `head`")
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
    asked = text_of("deploy/prometheus.yml")
    for name, (port, known) in WATCHED.items():
        s = services[name]
        conf = text_of(f"deploy/compose/{PARTIES[name][1]}.conf")
        at = re.search(r'^http = "([\d.]+):(\d+)";', conf, re.M)
        mine = {address(s, n): n for n in networks(s) if address(s, n)}
        need(at and int(at[2]) == port and at[1] in mine and "http_anywhere = true" in conf,
             f"{name}.conf: health is not at an address of the service, port {port}")
        if not at or at[1] not in mine:
            continue
        network = mine[at[1]]
        others = {o for o in services if network in networks(services[o]) and PARTIES.get(o, ("",))[0] != PARTIES[name][0]}
        need(others <= {"prometheus"}, f"{name}: {sorted(others)} can watch it")
        subnet = ipaddress.ip_network(nets[network]["ipam"]["config"][0]["subnet"])
        need(ipaddress.ip_address(at[1]) in subnet, f"{network}: {at[1]} is not in {subnet}")
        aliases = ((s.get("networks") or {}).get(network) or {}).get("aliases", [])
        need(known in (None, name, *aliases), f"{name}: Prometheus does not know it as `{known}`")
        need(not known or f'"{known}:{port}"' in asked or (known in asked and f"port: {port}" in asked),
             f"prometheus.yml: does not ask {known}:{port}")
    p = services["prometheus"]
    need(f"--web.listen-address={address(p, 'ui')}:9090" in p["command"], "prometheus: listens on more than `ui`")
    need(all(address(p, n) for n in networks(p)), "prometheus: takes the first address that is free, which may be a party's")
    need(not networks(p) & {"edge", "core", "site", "store"}, "prometheus: is on a network of the parties")


def check_networks(services, nets):
    def joined(a, b):
        return networks(services[a]) & networks(services[b])

    for client in CLIENTS | {"mosquitto", "devices"}:
        for other in {"analyzer", "analyzer-postgresql", "head", *SERVERS}:
            need(not joined(client, other), f"{client} and {other} share a network")
    for one, others in (("shuffler", ("client", "client-mqtt", "analyzer")), ("head", ("analyzer-postgresql", *INTAKES, *SERVERS)),
                        ("intake1", ("client1", "client2", *SERVERS)), ("intake2", ("client1", "client2", *SERVERS))):
        for other in others:
            need(joined(one, other), f"{other} cannot reach {one}")
    for name in SERVERS | INTAKES:
        need(not joined(name, "analyzer-postgresql"), f"{name} and the analyzer share a network")
    need("shuffler" in services["head"]["networks"]["core"].get("aliases", []), "head: the analyzer does not know it as `shuffler`")
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
                         ("database", ("postgresql.conf", "pg_hba.conf", "pg_ident.conf", "database.sh")),
                         ("database-pki", ("database-pki.sh",)),
                         ("learn", ("fetch-data.sh", "rda2csv.py", "deploy/learn/tombola_learn "))):
        docker = text_of(services[name]["build"]["dockerfile"])
        need(f"USER {services[name]['user']}" in docker, f"{name}: another user than the image's")
        for file in wanted:
            need(file in docker, f"{name}: the image has no {file}")
        for target in mounts(services[name]):
            need(re.search(rf"{target}[\s;]", docker), f"{name}: {target} is not made in the image")


def main():
    compose = yaml.safe_load(sys.stdin)
    services, nets = compose["services"], compose["networks"]
    need(set(services) == {"pki", *PROFILES}, f"services {sorted(services)}")
    for name, s in services.items():
        check_confined(name, s)
    for name in PARTIES:
        check_party(name, services[name], compose)
    check_confs()
    check_volumes(services, set(compose["volumes"]))
    check_order(services)
    check_database(services)
    check_networks(services, nets)
    check_watched(services, nets)
    check_tools(services)
    need(services["learn"].get("network_mode") == "none", "learn: has a network")
    need(set(mounts(services["learn"])) == {"/var/lib/tombola-learn"}, "learn: other volumes")
    need(text_of(".env").strip() == "COMPOSE_PROFILES=demo", ".env: `up` does not start the demo")
    need(services["pki"].get("network_mode") == "none", "pki: has a network")
    need(set(mounts(services["pki"])) == {"/pki/ca", *(f"/pki/{p}" for p in FOLDERS)}, "pki: other volumes")
    need(len({s.get("user") for s in services.values()}) == 1, "services run as different users")
    check_image(services["pki"].get("user"))
    check_population()
    for fault in faults:
        print(f"compose.py: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
