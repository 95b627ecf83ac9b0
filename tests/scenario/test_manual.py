"""The man pages and the programs say the same: every verb, option, exit code and key, in both directions."""
import os
import re
import shutil
import subprocess

import pytest

import test_help as h
import wire

MAN = os.path.join(wire.ROOT, "deploy", "man")
PAGES = sorted(os.listdir(MAN))
PAGE_OF = {"tombola": ["tombola.1", "tombola-pki.1"], "tombola-accountant": ["tombola-accountant.1"],
           **{f"tombola-{p}": [f"tombola-{p}.8"] for p in ("client", "shuffler", "analyzer")}}
# What config-sample shows, and where it is explained: program, argument, page, section, word before a key of a list.
FILES = [("tombola-client", (), "tombola.conf.5", "CLIENT.CONF"),
         ("tombola-client", ("policy",), "tombola.conf.5", "CLIENT-POLICY.CONF"),
         ("tombola-shuffler", (), "tombola.conf.5", "SHUFFLER.CONF"),
         ("tombola-shuffler", ("policy",), "tombola.conf.5", "SHUFFLER-POLICY.CONF"),
         ("tombola-shuffler", ("intake",), "tombola.conf.5", "INTAKE.CONF"),
         ("tombola-analyzer", (), "tombola.conf.5", "ANALYZER.CONF"),
         ("tombola-analyzer", ("plan",), "tombola.plan.5", "KEYS")]


def page(name):
    with open(os.path.join(MAN, name), encoding="utf-8") as f:
        return "".join(line for line in f if not line.startswith('.\\"'))


def plain(text):
    """Words of mdoc without its macros, as far as they are looked for here."""
    text = re.sub(r"^\.(?:[A-Z][a-z]\s?)", "", text, flags=re.M)
    return re.sub(r"\s+", " ", text.replace("\\(dq", '"').replace("\\&", "").replace("\\e", "\\"))


def section(text, name):
    found = re.search(rf"^\.Sh {re.escape(name)}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)
    assert found, f"no section {name}"
    return found[1]


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc: apt-get install mandoc")
@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_no_fault(name):
    run = subprocess.run(["mandoc", "-Tlint", "-W", "warning", os.path.join(MAN, name)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    # And says what it is about as its file does.
    stem, number = name.rsplit(".", 1)
    assert f".Dt {stem.upper()} {number}\n" in page(name) and f".Nm {stem}\n" in page(name)


def test_pages_refer_to_pages_that_exist():
    system = {"systemctl.1", "systemd.exec.5"}
    for name in PAGES:
        for stem, number in re.findall(r"\.?\bXr (\S+) (\d)", page(name)):
            assert f"{stem}.{number}" in PAGES or f"{stem}.{number}" in system, f"{name}: {stem}({number})"


@pytest.mark.parametrize("program", h.PROGRAMS)
def test_every_verb_and_option_is_explained_and_no_other(program):
    text = "".join(page(name) for name in PAGE_OF[program])
    items = {re.split(r" (?:[A-Z][a-z]|\()\b", i)[0].strip() for i in re.findall(r"^\.It Ic (.*)$", text, re.M)}
    said = {" ".join(v) for v in h.verbs(program)}
    assert items == said, f"verbs explained in {PAGE_OF[program]} but not there, and the reverse: " \
        f"{items - said}, {said - items}"
    options = set()
    for verb in said:
        # Lines that say an option; examples and prose may name others'.
        lines = [line for line in h.say(program, *verb.split(), "--help").stdout.splitlines()
                 if re.match(r" +(?:-\w, )?--", line) or re.match(r" +-o, ", line)]
        options |= h.options(re.sub(r"  [a-z].*", "", "\n".join(lines)))
    explained = {"-" + o for o in re.findall(r"\bFl (-[a-z-]+)", text)}
    assert options <= explained, f"{PAGE_OF[program]}: add '.It Fl {'; '.join(o[1:] for o in options - explained)}'"
    assert explained <= options | ({"--round"} if program == "tombola-accountant" else set()), explained - options


@pytest.mark.parametrize("name", PAGES)
def test_exit_codes_are_those_there_are(name):
    if name.endswith(".7"):
        return
    codes = {int(x) for x in re.findall(r"^\.It (\d+)$", section(page(name), "EXIT STATUS"), re.M)}
    if name == "tombola-faults.1":  # Python's own
        assert codes == {0, 1, 2}
        return
    if name.endswith(".5"):
        assert not codes and re.search(r"\b78\b", section(page(name), "EXIT STATUS"))
        return
    program = {"tombola-pki": "tombola"}.get(name.rsplit(".", 1)[0], name.rsplit(".", 1)[0])
    text = h.say(program, "--help").stdout
    said = {int(x) for x in re.findall(r"\b(\d{1,2})\b(?=,? )", text[text.index("Exit"):])}
    if name == "tombola-pki.1":
        assert codes and codes <= said
    else:
        assert codes >= said and codes <= said | {0, 74}, (codes, said)


def test_the_page_of_the_proxy_has_its_options():
    run = subprocess.run([os.path.join(wire.ROOT, "tests", "kit", "tombola-faults"), "--help"], capture_output=True, text=True)
    options = set(re.findall(r"--[a-z]+", run.stdout)) - {"--help"}
    for part in ("SYNOPSIS", "DESCRIPTION"):
        assert {f"-{x}" for x in re.findall(r"\bFl (-[a-z]+)", section(page("tombola-faults.1"), part))} == options


def keys(program, args):
    """Of config-sample: dotted key -> (value or None, range or None)."""
    text = h.say(program, "config-sample", *args).stdout
    path, out, about = [], {}, ""
    for line in text.splitlines():
        inside = line.startswith("#\t")  # of a list that is commented out as a whole
        line = line[inside:]
        found = h.SETTING.match(line)
        if found:
            _, key, value = found.groups()
            unset = inside or line.lstrip().startswith("# ")
            limits = re.search(r" \(([^()]+ to [^()]+)\)(?:; required)?$", about)
            out[".".join([*path, key])] = (None if unset or value in "{(" else value, limits and limits[1],
                                           about.endswith("; required"))
            if value in ("{", "("):
                path.append(key)
        elif line.strip().startswith("#"):
            about = line.strip()
        elif line.strip() in ("};", ");"):
            path.pop()
    assert len(out) > 5 and not path
    return out


@pytest.mark.parametrize("program,args,name,where", FILES, ids=[f[3].lower() for f in FILES])
def test_every_key_is_explained_with_its_range_and_default_and_no_other(program, args, name, where):
    text = section(page(name), where)
    items = dict(re.findall(r"^\.It Ic (\S+)\n(.*?)(?=^\.It |^\.El)", text, re.M | re.S))
    said = keys(program, args)
    place, origin = f"deploy/man/{name}, section {where}", f"`{' '.join([program, 'config-sample', *args])}`"
    faults = [f"{place}: '.It Ic {k}' is missing ({origin} shows it)" for k in said if k not in items]
    faults += [f"{place}: '{k}' is explained, but {origin} has no such key" for k in items if k not in said]
    for key, (value, limits, required) in said.items():
        body = plain(items.get(key, ""))
        if key not in items:
            continue
        if limits and limits not in body:
            faults.append(f"{place}: '{key}' does not say its range, {limits}")
        if value is not None and value != '""' and f"Default: {value}." not in body:
            faults.append(f"{place}: '{key}' does not say 'Default: {value}.'")
        if required and "equired" not in body:
            faults.append(f"{place}: '{key}' does not say that it is required")
    assert not faults, "\n" + "\n".join(faults)
