/* cl_mqtt_names.h - collects the names of the devices whose messages come, for a list of devices that a
 * person edits.  No I/O.
 *
 * A broker may be hostile, so memory is bounded, to about 30 MiB: at most CL_MQTT_NAMES_MAX names are kept,
 * and counts and texts of a few faults and fields. */
#pragma once

#include "cl_mqtt_message.h"

#define CL_MQTT_NAMES_MAX        100000u
#define CL_MQTT_NAMES_FIELDS_MAX 64u
#define CL_MQTT_NAMES_FAULTS_MAX 20u

struct cl_mqtt_conf;
struct cl_mqtt_names;
/* conf is borrowed; cl_mqtt_conf_check must have accepted it.  NULL: out of memory. */
struct cl_mqtt_names *cl_mqtt_names_new(const struct cl_mqtt_conf *conf);
/* Accepts NULL. */
void cl_mqtt_names_free(struct cl_mqtt_names *n);
/* Read a message as a round would, and keep the name of its device. */
void cl_mqtt_names_take(struct cl_mqtt_names *n, const struct cl_mqtt_message *m);

struct cl_mqtt_names_counts {
	size_t names;                 /* devices */
	uint64_t messages;            /* all that came */
	uint64_t fate[CL_MQTT_FATES]; /* by enum cl_mqtt_fate; KEPT: those that name a device of the list */
	uint64_t over; /* messages of devices beyond CL_MQTT_NAMES_MAX, or for which there was no memory */
	uint64_t unlistable; /* messages of devices whose name a list cannot hold */
};
struct cl_mqtt_names_counts cl_mqtt_names_counts(const struct cl_mqtt_names *n);
/* Call fn for each name, in the order of their bytes. */
void cl_mqtt_names_each(const struct cl_mqtt_names *n, void (*fn)(void *user, const char *name), void *user);

/* A field that messages had, and how many of the devices have had it. */
struct cl_mqtt_names_field {
	char *name; /* as cl_mqtt_fields_name writes it, with quotes */
	size_t devices;
};
/* The i-th field, in the order in which they came; NULL after the last.  Fields beyond
 * CL_MQTT_NAMES_FIELDS_MAX are not counted. */
const struct cl_mqtt_names_field *cl_mqtt_names_field(const struct cl_mqtt_names *n, size_t i);

/* A device's name that a list cannot hold, or a topic whose message names no device. */
struct cl_mqtt_names_fault {
	char *name;
	const char *why; /* a constant */
};
/* The i-th of the first CL_MQTT_NAMES_FAULTS_MAX different ones; NULL after the last.  The name may hold
 * characters that are not safe to print. */
const struct cl_mqtt_names_fault *cl_mqtt_names_fault(const struct cl_mqtt_names *n, size_t i);
