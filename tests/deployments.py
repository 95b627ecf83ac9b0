#!/usr/bin/python3
"""deployments.py SOURCE - judge deploy/hosts and deploy/kubernetes: that each runs one party of the image, confined, with nothing
but mounts for its configuration and keys, one state, a check of its health, and limits."""
import os
import sys

import yaml

PARTIES = ("shuffler", "client", "analyzer")
USER, CONF, STATE = 10001, "/etc/tombola", "/var/lib/tombola"
# Keys that a manifest of these kinds may have, at each level that we use; a misspelt one would be passed over or refused.
POD = {"automountServiceAccountToken", "enableServiceLinks", "terminationGracePeriodSeconds", "securityContext", "containers", "volumes"}
CONTAINER = {"name", "image", "command", "securityContext", "ports", "readinessProbe", "livenessProbe", "resources", "volumeMounts"}
PROBE = {"exec", "tcpSocket", "periodSeconds", "timeoutSeconds", "failureThreshold"}
SET = {"serviceName", "replicas", "selector", "template", "volumeClaimTemplates"}
SERVICE = {"type", "selector", "ports", "clusterIP"}
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
    known(where, pod, POD)
    (c,) = pod["containers"]
    known(where, c, CONTAINER)
    for probe in ("readinessProbe", "livenessProbe"):
        known(f"{where}: {probe}", c.get(probe, {}), PROBE)
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
    known(where, spec, SET)
    need((first["apiVersion"], first["kind"]) == ("apps/v1", "StatefulSet"), f"{where}: {first['kind']}")
    need(spec["replicas"] == 1, f"{where}: a state has one process")
    need(first["metadata"]["name"] == spec["serviceName"] == labels["app"] and spec["selector"] == {"matchLabels": labels}
         and spec["template"]["metadata"]["labels"] == labels, f"{where}: names that do not fit")
    need([(c["metadata"]["name"], c["spec"]["accessModes"]) for c in spec["volumeClaimTemplates"]] == [("state", ["ReadWriteOnce"])],
         f"{where}: claims")
    check_pod(where, party, spec["template"]["spec"])
    need([s["kind"] for s in rest] == ["Service"], f"{where}: {[s['kind'] for s in rest]}")
    for s in rest:
        known(where, s["spec"], SERVICE)
        need(s["metadata"]["name"] == labels["app"] and s["spec"]["selector"] == labels, f"{where}: its Service is another's")
        need((party == "shuffler") == (s["spec"].get("type") == "LoadBalancer"), f"{where}: {party} is dialled from outside")


def check_image():
    with open(os.path.join(src, "deploy", "Dockerfile"), encoding="utf-8") as f:
        text = f.read().split("\nFROM ")[-1]
    need(f'VOLUME ["{STATE}"]' in text and "HEALTHCHECK" in text and '"tombola-$TOMBOLA_PARTY" check' in text,
         "Dockerfile: no volume or no health check")
    need("*.conf /etc" not in text and "COPY deploy/shuffler.conf" not in text, "Dockerfile: a configuration is baked in")


for name in PARTIES:
    check_host(name)
    check_kubernetes(name)
check_image()
for text in faults:
    print(text)
sys.exit(bool(faults))
