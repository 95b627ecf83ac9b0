"""Every key that config-sample shows is known, and every misspelling of one is refused with its file and line."""
import re

import pytest

import cluster as c
import test_help as h

# name of the file: the program that shows it, what config-sample takes, how the file is checked.
FILES = {"client.conf": ("tombola-client", ()), "client-policy.conf": ("tombola-client", ("policy",)),
         "shuffler.conf": ("tombola-shuffler", ()), "shuffler-policy.conf": ("tombola-shuffler", ("policy",)),
         "analyzer.conf": ("tombola-analyzer", ()), "plan.conf": ("tombola-analyzer", ("plan",))}
SETTING = re.compile(r"^(\t*)([a-z_0-9]+) = (.*?)(;?)$")


def sample(name):
    """(lines with every key set to something, [(index of line, key, is it a group or a list of them)])."""
    program, args = FILES[name]
    run = h.say(program, "config-sample", *args)
    assert run.returncode == 0, run.stderr
    lines, keys, opened = [], [], []
    for line in run.stdout.splitlines():
        # A list that is commented out as a whole, and a key that has no default.
        line = re.sub(r"^#(?=\t)", "", line)
        line = re.sub(r"^(\t*)# (?=[a-z_0-9]+ = .*;$)", r"\1", line)
        found = SETTING.match(line)
        if found:
            tabs, key, value, end = found.groups()
            keys.append((len(lines), key, value in "{("))
            line = f"{tabs}{key} = {'1' if value == '...' else value}{end}"
            opened += [len(lines)] * (value == "(")
        elif line.strip() == ");":
            # Of some lists one group is too few to be looked into.
            begin = opened.pop()
            if opened:
                lines += [",", *lines[begin + 1:]]
        lines.append(line)
    assert len(keys) > 4, run.stdout
    return lines, keys


def faults(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    if name == "plan.conf":
        run = h.say("tombola", "plan", "check", str(path))
    elif "policy" in name:
        whole = tmp_path / "whole.conf"
        whole.write_text('policy = "%s";\n' % name)
        run = h.say(FILES[name][0], "--config", str(whole), "check-config")
    else:
        run = h.say(FILES[name][0], "--config", str(path), "check-config")
    return path, run.returncode, (run.stdout + run.stderr).splitlines()


@pytest.mark.parametrize("name", FILES)
def test_every_key_is_known(tmp_path, name):
    lines, _ = sample(name)
    path, _, said = faults(tmp_path, name, lines)
    bad = [x for x in said if x.startswith(str(path)) and re.search("unknown key|syntax|duplicate|missing required", x)]
    assert not bad, "\n".join(bad)


def at(key, where):
    return {"first": 0, "middle": len(key) // 2, "last": len(key) - 1}[where]


SPOIL = {"dropped": lambda k, i: k[:i] + k[i + 1:],
         "doubled": lambda k, i: k[:i] + k[i] + k[i:],
         "extra": lambda k, i: k[:i + 1] + "q" + k[i + 1:],
         "transposed": lambda k, i: k[:i] + k[i + 1:i + 2] + k[i] + k[i + 2:],
         "capital": lambda k, i: k[:i] + k[i].upper() + k[i + 1:]}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", SPOIL)
def test_every_misspelling_is_refused_with_file_and_line(tmp_path, name, how):
    lines, keys = sample(name)
    known = {k for _, k, _ in keys}
    tried = set()
    for where in ("first", "middle", "last"):
        # What is inside a group that is not known is not looked at, so groups have a turn of their own.
        for groups in (False, True):
            bad, expected = list(lines), []
            for number, key, group in keys:
                wrong = SPOIL[how](key, at(key, where))
                if group != groups or wrong in known or not re.match(r"[A-Za-z]", wrong):
                    continue
                if groups and lines[number].startswith("\t"):
                    continue
                bad[number] = bad[number].replace(f"{key} =", f"{wrong} =", 1)
                expected.append((number + 1, wrong))
                tried.add(key)
            if not expected:
                continue
            path, code, said = faults(tmp_path, name, bad)
            assert code == c.EXIT["config"]
            text = "\n".join(said)
            for number, wrong in expected:
                assert f"{path}:{number}: unknown key '{wrong}'" in text, text
    # Keys of one letter or two of a kind aside, every one had its turn.
    missed = {k for _, k, group in keys if not group} - tried
    assert len(missed) <= len(known) // 10, missed
