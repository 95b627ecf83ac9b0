"""Whatever stack a host gives: programs start and whole rounds go through with a megabyte for each thread, and where the stack has no
limit, which makes the C library give threads two megabytes.  The compiler refuses a frame above 64 KiB (cmake/TombolaBuild.cmake)."""
import json
import os
import re
import resource
import subprocess

import pytest

import cluster as c

MEGABYTE = 1 << 20
PROGRAMS = ("tombola", "tombola-accountant", "tombola-analyzer", "tombola-client", "tombola-shuffler")


@pytest.mark.skipif(c.sanitized(), reason="of what is installed")
@pytest.mark.parametrize("program", PROGRAMS)
def test_threads_have_little_memory_of_their_own(program):
    shown = subprocess.run(["readelf", "-lW", os.path.join(c.BUILD, "bin", program)], capture_output=True, text=True, check=True,
                           env={**os.environ, "LC_ALL": "C"}).stdout
    sizes = [int(size, 16) for size in re.findall(r"^ +TLS +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x(\w+)", shown, re.M)]
    assert "LOAD" in shown and sum(sizes) <= 65536, shown


@pytest.mark.skipif(c.sanitized(), reason="sanitizers need more")
@pytest.mark.parametrize("most", [resource.RLIM_INFINITY, MEGABYTE], ids=["unlimited", "1024"])
def test_the_demo_runs_with_any_stack(tmp_path, most):
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY and most == resource.RLIM_INFINITY:
        pytest.skip("this machine limits the stack of every process")
    done = subprocess.run([os.path.join(c.BUILD, "bin", "tombola"), "demo", "--json", "--dir", str(tmp_path / "demo")], capture_output=True,
                          text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (most, hard)))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["settled"] == 2, done.stdout
