/* cl_mqtt_conf.h - reads the group `mqtt` of the client's configuration. */
#pragma once

#include "cf_conf.h"
#include "cl_map.h"
#include "cl_mqtt_message.h"
#include "mq_broker.h"

#define CL_MQTT_TOPICS_MAX  64u /* filters of one source */
#define CL_MQTT_SOURCES_MAX 64u
/* Filters of all sources together: their subscriptions are sent at once, and have to fit into the bytes
 * that may wait for a broker (MQ_OUT_MAX). */
#define CL_MQTT_ALL_TOPICS_MAX 512u

/* Topics whose messages are read in the same way. */
struct cl_mqtt_source {
	struct cf_strings topics;
	char *device, *payload, *field, *group;
	struct cl_map map;
	struct cl_mqtt_form form; /* parsed by cl_mqtt_conf_check from the texts above */
};

/* The keys of the group as the file has them. */
struct cl_mqtt_conf {
	struct cl_mqtt_source only; /* the keys of the only source, if the group itself has them */
	struct cf_list sources;
	bool retained;
	/* if the file lacks max_age or device_kib, cl_mqtt_conf_check sets them */
	int64_t max_age_ms, gather_ms;
	bool hold;
	int64_t save_ms;
	char *devices;
	struct mq_broker broker;
	int64_t qos;
	bool clean_session; /* has no effect: see cl_mqtt_conf_notes */
	bool plaintext_to_remote;
	int64_t readings, device_kib;
};
/* The rows that read the group into a struct cl_mqtt_conf. */
extern const struct cf_row cl_mqtt_rows[];

/* The sources, in the order of the file.  If there are none the client does not use MQTT. */
struct cl_mqtt_sources {
	const struct cl_mqtt_source *item;
	size_t n;
};
struct cl_mqtt_sources cl_mqtt_conf_sources(const struct cl_mqtt_conf *conf);
/* The source that reads messages of this topic: the first one with a matching filter.  NULL if no filter
 * matches. */
const struct cl_mqtt_source *cl_mqtt_conf_source(const struct cl_mqtt_conf *conf, const char *topic);

/* Check what depends on several keys or on files, but for the list of devices: for example that the password
 * and the certificates can be read.  Every fault is printed to `faults` as path:line: text; the first is put
 * into *first unless that holds one. */
void cl_mqtt_conf_check(
	struct cl_mqtt_conf *conf, const struct cf_file *file, FILE *faults, struct cm_err *first);
/* Report in the same way that there is no list of devices. */
void cl_mqtt_conf_check_list(
	const struct cl_mqtt_conf *conf, const struct cf_file *file, FILE *faults, struct cm_err *first);
/* Print a line for each setting that has no effect, or that lets one device's messages displace those of
 * others at a broker with default settings. */
void cl_mqtt_conf_notes(const struct cl_mqtt_conf *conf, FILE *out);
