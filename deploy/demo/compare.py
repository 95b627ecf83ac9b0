#!/usr/bin/python3
"""compare.py DIR ANALYZER - the demo's estimates beside the truth, which only a demo can know."""
import csv
import json
import subprocess
import sys


def number(x, digits):
    return f"{x:,.{digits}f}"


def main():
    folder, analyzer = sys.argv[1:3]

    def ask(*verb):
        run = subprocess.run([analyzer, "--config", f"{folder}/analyzer.conf", *verb, "--json"], check=True,
                             capture_output=True, text=True)
        return json.loads(run.stdout)

    with open(f"{folder}/readings.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    print(f"{'query':<13} {'item':<11} {'estimate':>10}  {'95% interval':<19} {'true (demo only)':>16}")
    for r in ask("round", "list")["rounds"]:
        if r["stage"] != "settled":
            continue
        result = ask("round", "show", str(r["round"]))["result"]
        values = [row[result["field"]] for row in rows]
        quiet = []
        for item in result["items"]:
            if result["type"] == "mean":
                label, truth, digits = "mean", sum(map(float, values)) / len(values), 2
                low, high = item["lower"], item["upper"]
            else:
                label, truth, digits = item["label"], values.count(item["label"]), 0
                low, high = item["joint_lower"], item["joint_upper"]
            if item["below_noise"] and result["type"] != "mean":
                quiet.append(f"{label} (true {number(truth, 0)})")
                continue
            interval = f"{number(low, digits)} .. {number(high, digits)}"
            print(f"{r['query']:<13} {label:<11} {number(item['value'], digits):>10}  {interval:<19} "
                  f"{number(truth, digits):>16}")
        for item in result["no_reading"]:
            if item["below_noise"]:
                quiet.append("no reading (true 0)")
                continue
            interval = f"{number(item['joint_lower'], 0)} .. {number(item['joint_upper'], 0)}"
            print(f"{r['query']:<13} {'no reading':<11} {number(item['value'], 0):>10}  {interval:<19} {0:>16}")
        if quiet:
            print(f"{r['query']:<13} below the noise floor of {number(result['noise_floor'], 0)}: {', '.join(quiet)}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, subprocess.CalledProcessError) as e:
        sys.exit(f"compare.py: {e}")
