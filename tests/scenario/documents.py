"""What documents show between fences: commands after "$ ", and what they print.  `cat FILE` of a file that is not there
shows the file that the reader is to write."""
import os
import re
import shlex
import signal
import subprocess
import threading

import wire
from cluster import PATIENCE, program


def read(path):
    with open(os.path.join(wire.ROOT, path), encoding="utf-8") as f:
        return f.read()


class Block:
    """What stands between two fences: its line, its language ("": commands), its text, and the comment before it, if that says who
    runs it or why nobody does: "run by FILE", "not run: REASON"."""

    def __init__(self, line, language, text, mark):
        self.line, self.language, self.text, self.mark = line, language, text, mark

    def examples(self):
        """(command, what it prints), in order; what commands without "$ " print is not shown: None."""
        if not re.search(r"^\$ ", self.text, re.M):
            yield self.text, None
        for example in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
            command, _, printed = example.replace("\\\n", " ").partition("\n")
            yield command, printed


def blocks(text):
    """Every fenced block, in order."""
    fence = r"(?:^ *<!-- ((?:not run: |run by )[^>]*) -->\n)?^( *)```(\w*)\n(.*?)^ *```$"
    for m in re.finditer(fence, text, re.M | re.S):
        indented = re.sub(f"^{m[2]}", "", m[4], flags=re.M)
        yield Block(text.count("\n", 0, m.end(2)) + 1, m[3], indented, m[1])


def examples(text):
    """(command, what it prints) of every command after "$ ", in order."""
    for block in blocks(text):
        yield from (e for e in block.examples() if e[1] is not None)


def differs(shown, printed, same=str.__eq__):
    """The first shown line that was not printed, or None.  "..." stands for any lines, at the end of a line for its rest."""
    lines, skip = printed.rstrip().splitlines(), False
    for line in shown.rstrip().splitlines():
        if line == "...":
            skip = True
            continue
        while True:
            if not lines:
                return line
            real = lines.pop(0)
            if same(line, real) or line.endswith("...") and real.startswith(line[:-3]):
                break
            if not skip:
                return line
        skip = False
    return None if skip or not lines else f"nothing after it, and not {lines[0]}"


def estimate(line):
    """(what it is of, value, half of the interval) of a line of a table of estimates, else None."""
    m = re.match(r" *(\S+).* ([\d,.]+) +\+-([\d.]+)$", line)
    return m and (m[1], float(m[2].replace(",", "")), float(m[3]))


class Reader:
    """Somebody who types a document's commands into one shell, in a folder of their own."""

    def __init__(self, folder, path=(), env=None, alter=lambda name, text: text):
        """`alter` may change a file that is written: ports that other tests use."""
        self.folder, self.alter = str(folder), alter
        path = ":".join([os.path.dirname(program("tombola")), *path, os.environ["PATH"]])
        self.shell = subprocess.Popen(["bash"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, start_new_session=True, env={**os.environ, **(env or {}), "PATH": path})

    def close(self):
        """Ends the shell and all that it started."""
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.communicate()

    def types(self, command, shown=""):
        """(exit status, what is printed) of a command; a file that it shows is written first."""
        words = shlex.split(command)
        if words[0] == "cat" and len(words) == 2 and not os.path.exists(os.path.join(self.folder, words[1])):
            with open(os.path.join(self.folder, words[1]), "w", encoding="utf-8") as f:
                f.write(self.alter(words[1], shown))
            return 0, shown
        self.shell.stdin.write(f"{command}\nprintf '\\nended %d\\n' $?\n")
        self.shell.stdin.flush()
        late, printed = threading.Timer(PATIENCE, os.killpg, (self.shell.pid, signal.SIGKILL)), []
        late.start()
        for line in self.shell.stdout:
            ended = re.fullmatch(r"ended (\d+)\n", line)
            if ended:
                late.cancel()
                return int(ended[1]), "".join(printed).removesuffix("\n")
            printed.append(line)
        raise AssertionError(f"the shell ended, or was ended after {PATIENCE} s: {command}\n{''.join(printed)}")
