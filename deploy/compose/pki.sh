#!/bin/sh
# pki.sh - make the demo's certificates once, each party's files into its own volume.
set -eu
[ ! -e /pki/ca/ca-services ] || exit 0
umask 077
tombola pki init /tmp/pki --hosts shuffler,localhost,127.0.0.1 --devices 100000
for party in client shuffler analyzer; do
	cp /tmp/pki/$party/* /pki/$party/
done
cp -r /tmp/pki/ca-clients /tmp/pki/ca-services /pki/ca/
