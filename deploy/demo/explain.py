#!/usr/bin/python3
"""explain.py twenty|odds DIR BIN - for people who see the demo: what twenty devices hold and send, and what epsilon means.  DIR is
the demo's folder, BIN that of the programs."""
import json
import math
import re
import subprocess
import sys

SHOWN = 20
WEAKER = 3  # the second column is of an epsilon0 so many times smaller, whose noise can be seen


def ask(program, *args):
    return json.loads(subprocess.run([program, *args, "--json"], check=True, capture_output=True, text=True).stdout)


def first_question(plan, weaker):
    """The plan with its first question alone, and its epsilon0; `weaker` divides that."""
    number = re.search(r"epsilon0 = ([\d.]+);", plan)
    epsilon0 = float(number[1]) / weaker
    head, rounds = (plan[:number.start()] + f"epsilon0 = {epsilon0:g};" + plan[number.end():]).split("rounds = (", 1)
    return f"{head}rounds = ({rounds[:rounds.index('}') + 1]});\n", epsilon0


def draw(folder, programs, weaker):
    with open(f"{folder}/plan.conf") as f:
        plan, epsilon0 = first_question(f.read(), weaker)
    with open(f"{folder}/twenty.conf", "w") as f:
        f.write(plan)
    one, = ask(f"{programs}/tombola-client", "--config", f"{folder}/client.conf", "encode", "--dry-run", "--plan",
               f"{folder}/twenty.conf", "--show", str(SHOWN))["rounds"]
    values = re.search(r"values = \[(.*?)\]", plan, re.S)[1].count(",") + 1
    return one["query"], one["shown"], epsilon0, math.exp(epsilon0) / (math.exp(epsilon0) + values)


def twenty(folder, programs):
    query, strong, epsilon0, keeps = draw(folder, programs, 1)
    _, weak, smaller, keeps_weak = draw(folder, programs, WEAKER)
    mark = [" *" if e["holds"] != e["sends"] else "" for e in strong + weak]
    print(f"{'':15}  sends, if asked with")
    print(f"{query + ': holds':15}  {f'epsilon0 {epsilon0:g}':15}  epsilon0 {smaller:g}")
    for i, (a, b) in enumerate(zip(strong, weak, strict=True)):
        print(f"{a['holds']:15}  {a['sends'] + mark[i]:15}  {b['sends']}{mark[SHOWN + i]}")
    print(f"* changed on purpose: {sum(map(bool, mark[:SHOWN]))} and {sum(map(bool, mark[SHOWN:]))} of {SHOWN}.  A device sends what "
          f"it holds with probability {100 * keeps:.1f} % at")
    print(f"epsilon0 {epsilon0:g}, which was asked: there the shuffling hides it.  At {smaller:g} it is {100 * keeps_weak:.1f} %, and a "
          "message hides it by itself, too.")


def odds(folder, programs):
    rounds = ask(f"{programs}/tombola-analyzer", "--config", f"{folder}/analyzer.conf", "round", "list")["rounds"]
    settled = [r for r in rounds if r["stage"] == "settled"]
    print("Who would bet 1 to 1 that a device holds one value and not another may bet, after all that the analyzer saw, at most")
    for what, epsilon in (("round 1 alone", settled[0]["epsilon_round"]), (f"all {len(settled)} rounds", settled[-1]["epsilon_total"])):
        print(f"  {what + ':':15} {math.exp(epsilon):.2f} to 1 (e^{epsilon:.4f}), so that 50 % become {100 / (1 + math.exp(-epsilon)):.0f} %")
    print("This holds whatever else is known of that device, or of all others, but for one case in a million (delta).")


def main():
    {"twenty": twenty, "odds": odds}[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, subprocess.CalledProcessError) as e:
        sys.exit(f"explain.py: {e}")
