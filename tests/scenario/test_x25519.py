"""The ways to compute X25519, mixed: what one seals the other opens, and each party says which it uses."""
import os
import subprocess

import pytest

import cluster as c
from chance import within
from test_blanket import ADDED, bins, configure
from test_rounds import readings

VARIABLE = "TOMBOLA_X25519"
DAEMONS = ("client", "shuffler", "analyzer")
LIBRARY = {kind: {"LD_LIBRARY_PATH": os.path.join(c.BUILD, "tests", f"lib25519-{kind}")} for kind in ("quick", "wrong")}


def version(party, way, env=None):
    return subprocess.run([c.program(f"tombola-{party}"), "--version", "--verbose"], capture_output=True, text=True,
                          env={**os.environ, VARIABLE: way, **(env or {})})


def here(way):
    return version("client", way).returncode == 0


SAYS = {"avx512": "eight at a time (AVX-512 IFMA)", "avx2": "four at a time (AVX2)", "openssl": "one at a time (OpenSSL)"}


def test_each_program_says_its_way_and_refuses_one_that_is_not_there():
    ours = [way for way in ("avx512", "avx2") if here(way)]
    for party in DAEMONS:
        for way, words in SAYS.items():
            run = version(party, way)
            if way == "openssl" or way in ours:
                assert words in run.stdout
            else:
                assert run.returncode == c.EXIT["usage"] and VARIABLE in run.stderr
        if ours:
            assert SAYS[ours[0]] in version(party, "").stdout
        else:
            assert SAYS["openssl"] in version(party, "", LIBRARY["wrong"]).stdout
            assert "four at a time (lib25519)" in version(party, "", LIBRARY["quick"]).stdout
        assert "four at a time (lib25519)" in version(party, "lib25519", LIBRARY["quick"]).stdout


def test_a_library_that_computes_wrongly_is_refused_by_name():
    for party in DAEMONS:
        run = version(party, "lib25519", LIBRARY["wrong"])
        assert run.returncode == c.EXIT["usage"] and "lib25519 where that library is installed" in run.stderr


def env(way):
    return {VARIABLE: way, **LIBRARY["quick"]}


@pytest.mark.parametrize("seals,opens", [("openssl", "avx512"), ("avx512", "openssl"), ("lib25519", "openssl"),
                                         ("openssl", "lib25519"), ("avx2", "openssl"), ("openssl", "avx2")])
def test_what_one_way_seals_the_other_opens(cluster, seals, opens):
    for way in ("avx512", "avx2"):
        if way in (seals, opens) and not here(way):  # then both are one way; test_x25519_emulated has the lanes
            seals = opens = "openssl"
    n = 500
    configure(cluster, n)
    truth, _ = readings(cluster, n)
    cluster.plan([bins(n)], epsilon=10.0)
    shuffler = cluster.start("shuffler", "run", env=env(seals))
    cluster.wait_listening()
    client = cluster.start("client", "-v", "run", env=env(seals))
    run = cluster.run("analyzer", "run", "--once", env=env(opens))
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["bad"] == 0 and result["participants"] == n
    assert sum(result["counts"]) == result["messages"] >= n + ADDED
    for item in result["items"]:
        assert within(item, truth[item["label"]], step=1.3), (item, truth)
    assert f'"x25519":"{opens}"' in run.stderr.replace(" ", "")
    assert f'"x25519":"{seals}"' in shuffler.log().replace(" ", "")
    assert "X25519: " in client.log()
