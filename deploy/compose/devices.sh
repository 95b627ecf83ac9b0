#!/bin/sh
# devices.sh BROKER - be 58,000 devices that publish one reading each, with the fields that the demo's plans ask for.
set -eu
awk 'BEGIN {
	split("Rad.Flow Rad.Flow Rad.Flow Rad.Flow Rad.Flow Rad.Flow Rad.Flow High High Bypass", state, " ")
	split("sun sun rain rain fog drizzle snow", sky, " ")
	for (i = 0; i < 58000; i++)
		printf "{\"id\":\"d%d\",\"Class\":\"%s\",\"V3\":%d,\"V7\":%d,\"V9\":%d,\"weather\":\"%s\",\"temp_max\":%d,\"temp_min\":%d,\"wind\":%.1f}\n",
			i, state[i % 10 + 1], 70 + i % 31, 20 + i % 41, i % 29, sky[i % 7 + 1], 10 + i % 20, i % 15, i % 50 / 10
}' | mosquitto_pub -h "${1:?usage: devices.sh BROKER}" -q 1 -t demo/readings -l
