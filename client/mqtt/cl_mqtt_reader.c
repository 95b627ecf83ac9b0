/* cl_mqtt_reader.c - finds the source of a message, and reads the message by the source's form and map. */
#include "cl_mqtt_reader.h"

#include <stdlib.h>

#include "cl_mqtt_mapped.h"
#include "cm_fault.h"

struct cl_mqtt_reader {
	const struct cl_mqtt_conf *conf;
	struct cl_mqtt_mapped **mapped; /* the map of each source; NULL for a source without one */
};

static bool open_maps(struct cl_mqtt_reader *r)
{
	const struct cl_mqtt_sources sources = cl_mqtt_conf_sources(r->conf);
	struct cm_err err;

	r->mapped = calloc(sources.n + 1, sizeof(void *));
	for (size_t i = 0; r->mapped && i < sources.n; i++)
		if (sources.item[i].map.list.n > 0 &&
			cl_mqtt_mapped_new(&sources.item[i].map, &r->mapped[i], &err) != CM_OK)
			return false;
	return r->mapped != NULL;
}

struct cl_mqtt_reader *cl_mqtt_reader_new(const struct cl_mqtt_conf *conf)
{
	struct cl_mqtt_reader *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->conf = conf;
	if (!open_maps(r)) {
		cl_mqtt_reader_free(r);
		return NULL;
	}
	return r;
}

void cl_mqtt_reader_free(struct cl_mqtt_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->mapped && i < cl_mqtt_conf_sources(r->conf).n; i++)
		cl_mqtt_mapped_free(r->mapped[i]);
	free(r->mapped);
	free(r);
}

enum cl_mqtt_fate cl_mqtt_reader_read(
	const struct cl_mqtt_reader *r, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out)
{
	const struct cl_mqtt_source *source = cl_mqtt_conf_source(r->conf, m->topic);
	struct cl_mqtt_mapped *mapped;
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_fini(out);
	/* A broker may send more than we subscribed to: messages for subscriptions of an earlier session,
	 * or for those that its operator makes for us. */
	if (!source && !CM_CHECKED("client.mqtt.unasked"))
		source = cl_mqtt_conf_sources(r->conf).item;
	if (!source)
		return CL_MQTT_UNASKED;
	if (CM_CHECKED("client.mqtt.retained") && m->retained && !r->conf->retained)
		return CL_MQTT_RETAINED;
	if (m->len > (size_t)r->conf->broker.payload_max)
		return CL_MQTT_TOO_LARGE;
	fate = cl_mqtt_message_read(&source->form, m, out);
	mapped = r->mapped[source - cl_mqtt_conf_sources(r->conf).item];
	if (fate == CL_MQTT_KEPT && mapped && cl_mqtt_mapped_line(mapped, &out->line) != CM_OK) {
		cl_mqtt_reading_fini(out);
		fate = CL_MQTT_MEMORY;
	}
	return fate;
}
