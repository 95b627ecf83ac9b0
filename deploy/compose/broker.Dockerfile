# The broker of the profile `mqtt`, and what publishes to it.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends mosquitto mosquitto-clients mawk \
	&& rm -rf /var/lib/apt/lists/*
COPY deploy/compose/mosquitto.conf /etc/tombola/mosquitto.conf
COPY deploy/compose/devices.sh /usr/share/tombola/devices.sh
USER 10001:10001
