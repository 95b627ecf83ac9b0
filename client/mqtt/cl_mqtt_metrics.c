/* cl_mqtt_metrics.c - fills in the metrics of the MQTT input for each request. */
#include "cl_mqtt_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "cm_metrics.h"

/* The rows from MESSAGES on are shown only if the configuration allows it. */
enum { CONNECTED, CONNECTIONS, MESSAGES, FORGOTTEN, DEVICES, READINGS, BYTES, ROWS };

static const char *const forgotten[] = { "replaced", "expired", NULL };

static const struct cm_metric_row rows[ROWS] = {
	[CONNECTED] = CM_GAUGE(
		"tombola_client_mqtt_connected", "1 while the MQTT broker has accepted every subscription."),
	[CONNECTIONS] = CM_COUNTER(
		"tombola_client_mqtt_connections_total", "Successful connections to the MQTT broker."),
	[MESSAGES] = { "tombola_client_mqtt_messages_total", CM_METRIC_COUNTER,
		"MQTT messages by fate: kept, or why they were dropped.", "fate", cl_mqtt_fates, NULL },
	[FORGOTTEN] = { "tombola_client_mqtt_forgotten_total", CM_METRIC_COUNTER,
		"Readings wiped from memory: replaced by newer ones of their device, or too old.", "why",
		forgotten, NULL },
	[DEVICES] = CM_GAUGE("tombola_client_mqtt_devices", "Devices with a reading in memory."),
	[READINGS] = CM_GAUGE("tombola_client_mqtt_readings", "Readings in memory."),
	[BYTES] = CM_GAUGE("tombola_client_mqtt_memory_bytes", "Memory they take."),
};

static void fill(struct cm_metrics *m, const struct cl_mqtt_now *now, bool readings)
{
	const struct cl_held_counts *held = &now->counts.held;

	cm_metrics_set(m, CONNECTED, 0, now->up ? 1 : 0);
	cm_metrics_set(m, CONNECTIONS, 0, (double)now->connections);
	if (!readings)
		return;
	for (size_t i = 0; i < CL_MQTT_FATES; i++)
		cm_metrics_set(m, MESSAGES, i, (double)now->counts.fate[i]);
	cm_metrics_set(m, FORGOTTEN, 0, (double)held->replaced);
	cm_metrics_set(m, FORGOTTEN, 1, (double)held->expired);
	cm_metrics_set(m, DEVICES, 0, (double)held->devices);
	cm_metrics_set(m, READINGS, 0, (double)held->readings);
	cm_metrics_set(m, BYTES, 0, (double)held->bytes);
}

int cl_mqtt_metrics_append(const struct cl_mqtt_now *now, bool readings, struct nt_http_reply *out)
{
	struct cm_metrics *m = cm_metrics_new(rows, readings ? ROWS : MESSAGES);
	struct cm_buf text;
	char *body = NULL;

	cm_buf_init(&text, CM_METRICS_MAX);
	if (m) {
		fill(m, now, readings);
		if (cm_metrics_print(m, &text) == CM_OK)
			body = realloc(out->body, out->len + text.len + 1);
	}
	if (body) {
		memcpy(body + out->len, text.data, text.len);
		out->body = body;
		out->len += text.len;
		body[out->len] = '\0';
	}
	cm_buf_fini(&text);
	cm_metrics_free(m);
	return body ? 0 : -1;
}
