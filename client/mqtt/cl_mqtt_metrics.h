/* cl_mqtt_metrics.h - writes Prometheus metrics of the readings by MQTT: counts only, never a topic, device
 * or value. */
#pragma once

#include "cl_mqtt_input.h"
#include "nt_http.h"

struct cl_mqtt_now {
	struct cl_mqtt_counts counts;
	bool up;              /* the broker has accepted every subscription */
	uint64_t connections; /* number of successful connections so far */
};
/* Append the metrics to a reply.  readings: include those that reveal what was published.  Returns non-zero
 * if out of memory; the reply is unchanged then. */
int cl_mqtt_metrics_append(const struct cl_mqtt_now *now, bool readings, struct nt_http_reply *out);
