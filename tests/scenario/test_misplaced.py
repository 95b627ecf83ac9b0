"""What stands where something else belongs: another party's state, a file for a folder, a pipe for a file, a line end in a name."""
import os

import pytest

import cluster as c
from cluster import EXIT
from test_input import WORK, after_a_round, edit, says, work, world  # noqa: F401: fixtures


@pytest.mark.parametrize("party", WORK)
@pytest.mark.parametrize("other", WORK)
def test_two_parties_never_share_a_state_folder(world, party, other):
    """Not even one after the other."""
    if party == other:
        return
    edit(world, f"{party}.conf", f'state_dir = "{party}"', f'state_dir = "{other}"')
    says(work(world, party), "config", world.path(other), "each party needs its own state_dir")
    run = world.run(party, "check-config")
    assert run.returncode == EXIT["config"] and run.stderr.count("its own state_dir") == 1, run.stderr


@pytest.mark.parametrize("party", WORK)
def test_a_state_folder_that_is_a_file(world, party):
    edit(world, f"{party}.conf", f'state_dir = "{party}"', 'state_dir = "readings.csv"')
    run = world.run(party, "check-config")
    assert run.returncode and "readings.csv: exists and is not a folder" in run.stderr, run


def test_a_name_with_a_line_end_makes_one_line(world):
    edit(world, "client.conf", 'population = "test"', 'population = "te\\nst"')
    run = work(world, "client")
    assert run.returncode == EXIT["config"] and ":3: text that can be shown expected" in run.stderr and "'population'" in run.stderr, run.stderr
    assert all(line.startswith(world.dir) for line in run.stderr.splitlines()), run.stderr


@pytest.mark.parametrize("name", ["devices.txt", "pki/client/client.crt", "pki/client/services-ca.crt"])
def test_a_pipe_in_a_files_place_is_refused_and_not_waited_for(world, name):
    edit(world, "client.conf", 'device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    world.write("devices.txt", "dev1\n")
    os.unlink(world.path(name))
    os.mkfifo(world.path(name))
    for args in (("check-config",), ("run", "--rounds", "1")):
        run = world.run("client", *args, seconds=c.PATIENCE)
        assert run.returncode == EXIT["config"] and f"{world.path(name)}: not a regular file" in run.stderr, run.stderr


def test_a_folder_as_the_file_of_readings_is_a_finding(world):
    edit(world, "client.conf", 'device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    world.write("devices.txt", "dev1\n")
    os.unlink(world.path("readings.csv"))
    os.mkdir(world.path("readings.csv"))
    run = world.run("client", "check-config")
    assert run.returncode and f"{world.path('readings.csv')}: is a folder" in run.stderr, run
