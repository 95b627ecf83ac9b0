#!/usr/bin/python3
"""ci.py SOURCE - judge the examples of deploy/ci without the service that runs them: their form, that what they call is
here, that they push nowhere and ask for no rights."""
import json
import os
import re
import subprocess
import sys

import yaml

src = sys.argv[1]
faults = []


def need(truth, text):
    if not truth:
        faults.append(text)


def text_of(*path):
    with open(os.path.join(src, *path), encoding="utf-8") as f:
        return f.read()


def presets(kind):
    return {p["name"]: p for p in json.loads(text_of("CMakePresets.json"))[kind]}


def check_commands(where, run):
    need(subprocess.run(["sh", "-n"], input=re.sub(r"\$\{\{.*?\}\}", "X", run), text=True, capture_output=True).returncode == 0,
         f"{where}: sh does not understand it: {run}")
    for path in re.findall(r"(?<![\w./-])(?:tombola/)?((?:deploy|tests|cmake)/[\w./-]*\w)", run):
        # Folders of whoever copies the example.
        need(path == "tests/pipeline" or os.path.exists(os.path.join(src, path)), f"{where}: no {path} here")
    for name in re.findall(r"cmake --preset (\w+)", run):
        need(name in presets("configurePresets"), f"{where}: no preset {name}")
    for name in re.findall(r"cmake --build --preset (\w+)", run):
        need(name in presets("buildPresets"), f"{where}: no build preset {name}")
    for name in re.findall(r"(?<!tombola/tests/)build/(\w+)", run):
        need(name in presets("configurePresets"), f"{where}: no preset makes build/{name}")
    if "buildx build" in run:
        need("rewrite-timestamp=true" in run and "--build-arg SOURCE_DATE_EPOCH=" in run,
             f"{where}: an image with the times of its build")
    for name, _ in re.findall(r"--build-arg (\w+)=(\S+)", run):
        need(re.search(rf"^ARG {name}\b", text_of("deploy", "Dockerfile"), re.M), f"{where}: the image takes no {name}")


def check(name):
    text = text_of("deploy", "ci", name)
    doc = yaml.safe_load(text)
    # YAML 1.1 takes `on` for a truth value.
    need(set(doc) == {"name", True, "permissions", "jobs"}, f"{name}: keys {sorted(map(str, doc))}")
    need(doc["permissions"] == {"contents": "read"}, f"{name}: asks for more than to read")
    need("secrets." not in text, f"{name}: names a secret")
    for job, what in doc["jobs"].items():
        need("permissions" not in what, f"{name}: {job} asks for rights of its own")
        for step in what["steps"]:
            need(("uses" in step) != ("run" in step), f"{name}: {job}: a step that neither uses nor runs, or both")
            need("uses" not in step or re.fullmatch(r"(actions|docker)/[\w-]+@v\d+", step["uses"]),
                 f"{name}: {job}: {step.get('uses')}: no action with a version")
            if "run" in step:
                need(not re.search(r"--push\b|docker push|type=registry", step["run"]), f"{name}: {job} pushes")
                check_commands(f"{name}: {job}", step["run"])
    return doc


kit = check("github-actions.yml")
image = check("image.yml")
debians = image["jobs"]["image"]["strategy"]["matrix"]["debian"]
need(debians == ["12", "13"], f"image.yml: builds for Debian {debians}, and the tree is for 12 and 13")
# The plugin has the options and the name that the example gives it.
plugin, run = text_of("tests", "kit", "tombola_testing.py"), kit["jobs"]["built"]["steps"][-1]
for option in re.findall(r" (--[a-z-]+) ", run["run"]):
    need(f'"{option}"' in plugin, f"github-actions.yml: the plugin has no option {option}")
need(run["env"]["PYTHONPATH"] == "tombola/tests/kit", "github-actions.yml: the plugin is elsewhere")
for fault in faults:
    print(f"ci: {fault}")
print("ci: no findings" if not faults else f"ci: {len(faults)} findings")
sys.exit(bool(faults))
