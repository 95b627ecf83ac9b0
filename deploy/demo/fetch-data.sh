#!/bin/sh
# fetch-data.sh shuttle|digits OUT.csv - real data out of a Debian package; exit 69 when offline.
#   shuttle: 58,000 rows of telemetry of a space shuttle's radiators: UCI's Statlog (Shuttle), from Debian's package
#            r-cran-mlbench (packaging under the GPL, version 2; see its file `copyright`)
#   digits: 1,797 handwritten digits of 8 by 8 pixels, UCI's Optical Recognition of Handwritten Digits (E. Alpaydin,
#           C. Kaynak; CC BY 4.0), from Debian's package python3-sklearn
#   The package is unpacked, not installed, and its SHA-256 is checked.
set -eu

usage() {
	echo 'usage: fetch-data.sh shuttle|digits OUT.csv' >&2
	exit 64
}

[ $# -eq 2 ] || usage
out=$2
here=$(cd "$(dirname "$0")" && pwd)
case $1 in
shuttle)
	package=r-cran-mlbench
	sum=4be20f78a5b4807b9d4d03c874acd0315cdbdf8c3aee356042180f9a136c2742
	;;
digits)
	package=python3-sklearn
	sum=ba6ee5aa91a99912e5e4e601339a3d45bb1c136a5df153daf68d7a8e45a04ce5
	;;
*) usage ;;
esac

# convert DATA UNPACKED: the data set as CSV on stdout.
convert() {
	case $1 in
	shuttle) python3 "$here/rda2csv.py" "$2/usr/lib/R/site-library/mlbench/data/Shuttle.rda" ;;
	digits)
		seq -f 'p%.0f' -s , 0 63 | sed 's/$/,digit/'
		gzip -cd "$2/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
		;;
	esac
}

checked() {
	echo "$sum  $1" | sha256sum --check --status
}

[ -f "$out" ] && checked "$out" && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# Only unpacked: installing the packages would add all of R, or of NumPy.
(cd "$work" && timeout 60 apt-get download "$package") >"$work/log" 2>&1 || {
	why=$?
	[ $why -ne 124 ] || echo 'E: no answer in 60 seconds' >>"$work/log"
	echo "fetch-data.sh: $package cannot be downloaded: $(grep -m1 '^E:' "$work/log" || echo "apt-get ended with $why")" >&2
	exit 69
}
dpkg -x "$work/$package"_*.deb "$work/unpacked"
convert "$1" "$work/unpacked" >"$work/data.csv"
checked "$work/data.csv" || {
	echo "fetch-data.sh: the $1 data of $package is not what this script was made for (sha256 differs)" >&2
	exit 65
}
mv "$work/data.csv" "$out"
