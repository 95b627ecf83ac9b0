#!/bin/sh
# fetch-data.sh OUT.csv - the Shuttle telemetry (58,000 rows) from Debian's r-cran-mlbench; exit 69 when offline.
set -eu

out=${1:?usage: fetch-data.sh OUT.csv}
sum=4be20f78a5b4807b9d4d03c874acd0315cdbdf8c3aee356042180f9a136c2742
here=$(cd "$(dirname "$0")" && pwd)

checked() {
	echo "$sum  $1" | sha256sum --check --status
}

[ -f "$out" ] && checked "$out" && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# Only unpacked: installing the package would add all of R.
(cd "$work" && timeout 60 apt-get download r-cran-mlbench) >"$work/log" 2>&1 || {
	echo "fetch-data.sh: r-cran-mlbench cannot be downloaded: $(grep -m1 '^E:' "$work/log" || echo no reason given)" >&2
	exit 69
}
dpkg -x "$work"/r-cran-mlbench_*.deb "$work"
python3 "$here/rda2csv.py" "$work/usr/lib/R/site-library/mlbench/data/Shuttle.rda" >"$work/shuttle.csv"
checked "$work/shuttle.csv" || {
	echo "fetch-data.sh: shuttle.csv is not the file this demo was made for (sha256 differs)" >&2
	exit 65
}
mv "$work/shuttle.csv" "$out"
