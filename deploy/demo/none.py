#!/usr/bin/python3
"""none.py PLAN TOMBOLA - what it costs the rounds of a plan to count devices without a reading apart (none = "symbol"),
beside letting them draw a value (none = "even")."""
import json
import math
import re
import subprocess
import sys
import tempfile


def cost(tombola, text):
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        run = subprocess.run([tombola, "plan", "cost", "--json", f.name], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["rounds"]


def upper(epsilon):
    """An upper bound to four digits, as the programs show it."""
    return math.ceil(epsilon * 1e4) / 1e4


def main():
    path, tombola = sys.argv[1:3]
    with open(path) as f:
        bare = re.sub(r' *\bnone *= *"[^"]*" *;', "", f.read())
    symbol = cost(tombola, bare)
    even = cost(tombola, re.sub(r"(\{ *query *=)", r'{ none = "even"; query =', bare))
    print(f"{'':<13} {'epsilon':>14}  {'':<8} {'error':>12}")
    print(f"{'query':<13} {'even':>14}  {'symbol':<8} {'even':>12}  symbol")
    for e, s in zip(even, symbol, strict=True):
        if s["fits"]:
            print(f"{e['query']:<13} {upper(e['epsilon_round']):>14.4f}  {upper(s['epsilon_round']):<8.4f} "
                  f"{e['expected_error']:>12.3g}  {s['expected_error']:.3g}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, subprocess.CalledProcessError) as e:
        sys.exit(f"none.py: {e}")
