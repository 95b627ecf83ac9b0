# Prometheus of the profile `metrics`, with the rules.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends prometheus \
	&& rm -rf /var/lib/apt/lists/* && install -d -o 10001 -g 10001 -m 0700 /var/lib/prometheus
COPY deploy/prometheus.yml deploy/alerts.yml /etc/tombola/
USER 10001:10001
