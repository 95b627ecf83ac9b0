#!/usr/bin/python3
"""deployments.py SOURCE - judge deploy/hosts and deploy/kubernetes: that each runs one party of the image, confined, with nothing
but mounts for its configuration and keys, one state, a check of its health, and limits."""
import os
import re
import sys

import yaml
from kubernetes.client import models  # made from Kubernetes's own schema; deploy/setup.sh test installs it

PARTIES = ("shuffler", "client", "analyzer")
USER, CONF, STATE = 10001, "/etc/tombola", "/var/lib/tombola"
SCALARS = {"str": str, "int": int, "bool": bool, "object": object}
COMPOSE = {"image", "command", "user", "read_only", "cap_drop", "security_opt", "init", "tmpfs", "environment", "ports", "volumes",
           "mem_limit", "cpus", "pids_limit", "stop_grace_period", "restart", "logging"}
src = sys.argv[1]
faults = []


def need(truth, text):
    if not truth:
        faults.append(text)


def documents(folder, party, ending):
    with open(os.path.join(src, "deploy", folder, f"{party}.{ending}"), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def known(where, what, keys):
    need(set(what) <= keys, f"{where}: unknown keys {sorted(set(what) - keys)}")


def fits(where, kind, value):
    """A manifest has the keys and types that Kubernetes knows, and all that it requires; others would be passed over or refused."""
    if inner := re.fullmatch(r"list\[(.*)\]", kind):
        need(isinstance(value, list), f"{where}: no list")
        for i, one in enumerate(value if isinstance(value, list) else []):
            fits(f"{where}[{i}]", inner[1], one)
    elif inner := re.fullmatch(r"dict\(str, (.*)\)", kind):
        need(isinstance(value, dict), f"{where}: no map")
        for key, one in (value.items() if isinstance(value, dict) else ()):
            fits(f"{where}.{key}", inner[1], one)
    elif kind in SCALARS:
        need(isinstance(value, SCALARS[kind]) and not (kind == "int" and isinstance(value, bool)), f"{where}: {value!r} is no {kind}")
    else:
        model = getattr(models, kind)
        keys = {name: attribute for attribute, name in model.attribute_map.items()}
        known(where, value, set(keys))
        have = {name: one for name, one in value.items() if name in keys}
        try:
            model(**{keys[name]: one for name, one in have.items()})
        except ValueError as e:
            need(False, f"{where}: {e}")
        for name, one in have.items():
            fits(f"{where}.{name}", model.openapi_types[keys[name]], one)


def check_host(party):
    (made,) = documents("hosts", party, "yml")
    where, s = f"hosts/{party}.yml", made["services"][party]
    known(where, s, COMPOSE)
    need(list(made["services"]) == [party] and list(made["volumes"]) == [f"{party}-state"], f"{where}: more than one party, or state")
    need(s["command"] == [f"tombola-{party}", "run"] and f"TOMBOLA_PARTY={party}" in s["environment"], f"{where}: another program")
    need(s["user"] == f"{USER}:{USER}" and s["read_only"] and s["cap_drop"] == ["ALL"]
         and "no-new-privileges:true" in s["security_opt"], f"{where}: not confined")
    need(all(s.get(key) for key in ("mem_limit", "cpus", "pids_limit")), f"{where}: without limits")
    mounts = [v.split(":") for v in s["volumes"]]
    need(["./etc", CONF, "ro"] in mounts, f"{where}: its configuration is not mounted read-only")
    need([m for m in mounts if m[2:] != ["ro"]] == [[f"{party}-state", STATE]], f"{where}: writes more than its state")
    need(all(p.startswith("127.0.0.1:") for p in s.get("ports", []) if party != "shuffler"), f"{where}: open to others")


def check_pod(where, party, pod):
    (c,) = pod["containers"]
    outer, inner = pod["securityContext"], c["securityContext"]
    need(outer["runAsNonRoot"] and outer["runAsUser"] == outer["runAsGroup"] == outer["fsGroup"] == USER
         and outer["seccompProfile"] == {"type": "RuntimeDefault"} and pod["automountServiceAccountToken"] is False
         and inner == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
         f"{where}: not confined")
    need(c["command"] == [f"tombola-{party}", "run"], f"{where}: another program")
    need(f"tombola-{party} check" in c["readinessProbe"]["exec"]["command"][-1], f"{where}: its health is not its own check")
    need(set(c["resources"]["limits"]) == {"cpu", "memory"}, f"{where}: without limits")
    volumes = {v["name"]: v for v in pod["volumes"]}
    mounts = {m["name"]: m for m in c["volumeMounts"]}
    need(set(mounts) == {*volumes, "state"}, f"{where}: mounts {sorted(mounts)} of volumes {sorted(volumes)}")
    need({n for n, m in mounts.items() if not m.get("readOnly")} == {"state", "tmp"}, f"{where}: writes more than its state")
    need(mounts["etc"]["mountPath"] == CONF and mounts["state"]["mountPath"] == STATE, f"{where}: other places")
    # A subPath is never updated: what certmonger or cert-manager renews would not arrive.
    need(not any("subPath" in m for m in mounts.values()), f"{where}: a subPath, which is not updated")
    paths = sorted(m["mountPath"] for m in mounts.values())
    need(not any(b.startswith(a + "/") for a in paths for b in paths), f"{where}: a mount below another, which is read-only")
    need(volumes["pki"]["secret"]["defaultMode"] == 0o400, f"{where}: keys that others may read")
    need(volumes["pki"]["secret"]["secretName"] == f"tombola-{party}-pki"
         and volumes["etc"]["configMap"]["name"] == f"tombola-{party}", f"{where}: another party's files")


def check_kubernetes(party):
    where = f"kubernetes/{party}.yaml"
    first, *rest = documents("kubernetes", party, "yaml")
    spec, labels = first["spec"], {"app": f"tombola-{party}"}
    for made in (first, *rest):
        fits(f"{where}: {made['kind']}", f"V1{made['kind']}", made)
    if faults:
        return
    need((first["apiVersion"], first["kind"]) == ("apps/v1", "StatefulSet"), f"{where}: {first['kind']}")
    need(spec["replicas"] == 1, f"{where}: a state has one process")
    need(first["metadata"]["name"] == spec["serviceName"] == labels["app"] and spec["selector"] == {"matchLabels": labels}
         and spec["template"]["metadata"]["labels"] == labels, f"{where}: names that do not fit")
    need([(c["metadata"]["name"], c["spec"]["accessModes"]) for c in spec["volumeClaimTemplates"]] == [("state", ["ReadWriteOnce"])],
         f"{where}: claims")
    check_pod(where, party, spec["template"]["spec"])
    need([s["kind"] for s in rest] == ["Service"], f"{where}: {[s['kind'] for s in rest]}")
    for s in rest:
        need(s["metadata"]["name"] == labels["app"] and s["spec"]["selector"] == labels, f"{where}: its Service is another's")
        need((party == "shuffler") == (s["spec"].get("type") == "LoadBalancer"), f"{where}: {party} is dialled from outside")


def check_image():
    with open(os.path.join(src, "deploy", "Dockerfile"), encoding="utf-8") as f:
        text = f.read().split("\nFROM ")[-1]
    need(f'VOLUME ["{STATE}"]' in text and "HEALTHCHECK" in text and '"tombola-$TOMBOLA_PARTY" check' in text,
         "Dockerfile: no volume or no health check")
    need("*.conf /etc" not in text and "COPY deploy/shuffler.conf" not in text, "Dockerfile: a configuration is baked in")


def check_signing():
    """Who starts an analyzer reads how its plan is signed."""
    for path in ("hosts/analyzer.yml", "kubernetes/analyzer.yaml"):
        with open(os.path.join(src, "deploy", path), encoding="utf-8") as f:
            need("tombola-analyzer plan sign" in f.read().split("\n\n")[0], f"{path}: its head does not say how the plan is signed")


check_signing()
for name in PARTIES:
    check_host(name)
    check_kubernetes(name)
check_image()
for text in faults:
    print(text)
sys.exit(bool(faults))
