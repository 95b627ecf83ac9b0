/* cl_mqtt_conf.h - the group `mqtt` of the client's configuration. */
#pragma once

#include "cf_conf.h"
#include "cl_map.h"
#include "cl_mqtt_message.h"
#include "mq_broker.h"

#define CL_MQTT_TOPICS_MAX  64u /* of one source */
#define CL_MQTT_SOURCES_MAX 64u
/* Of all sources: their subscriptions are sent at once, and fit into what waits for a broker (MQ_OUT_MAX). */
#define CL_MQTT_ALL_TOPICS_MAX 512u

/* Messages that are read alike. */
struct cl_mqtt_source {
	struct cf_strings topics;
	char *device, *payload, *field, *group;
	struct cl_map map;
	struct cl_mqtt_form form; /* parsed from these by cl_mqtt_conf_check */
};

/* The keys as in the file. */
struct cl_mqtt_conf {
	struct cl_mqtt_source only; /* the keys of a source in the group itself, where there is but one */
	struct cf_list sources;
	bool retained;
	int64_t max_age_ms, gather_ms; /* max_age, and device_kib below, by cl_mqtt_conf_check where absent */
	bool hold;
	int64_t save_ms;
	char *devices;
	struct mq_broker broker;
	int64_t qos;
	bool clean_session; /* has no effect: see cl_mqtt_conf_notes */
	bool plaintext_to_remote;
	int64_t readings, device_kib;
};
/* Rows of the group, for a struct cl_mqtt_conf. */
extern const struct cf_row cl_mqtt_rows[];

/* The sources, in the order of the file.  Without any the client does not use MQTT. */
struct cl_mqtt_sources {
	const struct cl_mqtt_source *item;
	size_t n;
};
struct cl_mqtt_sources cl_mqtt_conf_sources(const struct cl_mqtt_conf *conf);
/* The first source one of whose filters matches the topic: it reads the message.  NULL: none does. */
const struct cl_mqtt_source *cl_mqtt_conf_source(const struct cl_mqtt_conf *conf, const char *topic);

/* Check what depends on several keys or on files: that the password and the certificates can be read.  Every
 * fault is printed to `faults` as path:line: text; the first is put into *first unless that holds one. */
void cl_mqtt_conf_check(
	struct cl_mqtt_conf *conf, const struct cf_file *file, FILE *faults, struct cm_err *first);
/* Print a line for each setting that has no effect, or that lets one device's messages displace those of
 * others at a broker with default settings. */
void cl_mqtt_conf_notes(const struct cl_mqtt_conf *conf, FILE *out);
