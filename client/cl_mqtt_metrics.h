/* cl_mqtt_metrics.h - what Prometheus hears of the readings by MQTT: counts, never a topic, device or value.
 */
#pragma once

#include "cl_mqtt_input.h"
#include "cm_http.h"

struct cl_mqtt_now {
	struct cl_mqtt_counts counts;
	bool up;              /* the broker is connected, every subscription stands */
	uint64_t connections; /* so far */
};
/* Append every metric to a reply of metrics.  Not 0: out of memory, the reply is as it was. */
int cl_mqtt_metrics_append(const struct cl_mqtt_now *now, struct cm_http_reply *out);
