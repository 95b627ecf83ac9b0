#!/bin/sh
# pki.sh - make the demo's certificates once, each party's files into its own volume.
set -eu
[ ! -e /pki/ca/ca-services ] || exit 0
umask 077
tombola pki init /tmp/pki --hosts shuffler,head,localhost,127.0.0.1 --devices 100000
tombola pki issue /tmp/pki client2 --role client --devices 100000
for intake in intake1 intake2; do
	tombola pki issue /tmp/pki $intake --role intake --hosts $intake
done
for party in client client2 shuffler analyzer intake1 intake2; do
	cp /tmp/pki/$party/* /pki/$party/
done
cp -r /tmp/pki/ca-clients /tmp/pki/ca-services /pki/ca/
