/* cl_mqtt_input.h - accepts messages by MQTT, holds the readings, and feeds them to a round.  No I/O:
 * cl_mqtt_link.h talks to the broker. */
#pragma once

#include "cl_mqtt_conf.h"
#include "cl_mqtt_held.h"
#include "cr_secret.h"

struct cl_mqtt_input;
/* Create it without devices.  All arguments are borrowed for its life; cl_mqtt_conf_check must have
 * accepted conf.  NULL: out of memory. */
struct cl_mqtt_input *cl_mqtt_input_new(
	const struct cl_mqtt_conf *conf, const struct cr_key *secret, const char *population);
/* Free it and wipe the readings. */
void cl_mqtt_input_free(struct cl_mqtt_input *in);

/* Replace the list of devices, as cl_held_list does. */
CM_CHECK enum cm_rc cl_mqtt_input_list(
	struct cl_mqtt_input *in, const struct cl_devices *devices, struct cm_err *err);

/* Process one message received at now_ms.  Every function here takes the time of cm_clock_boot_ms, because
 * a reading ages while the host sleeps.  Returns what happened to the message and counts that. */
enum cl_mqtt_fate cl_mqtt_input_take(
	struct cl_mqtt_input *in, const struct cl_mqtt_message *m, int64_t now_ms);
/* Drop readings that are too old; call about every second. */
void cl_mqtt_input_expire(struct cl_mqtt_input *in, int64_t now_ms);

/* Take the readings for this round.  Any thread may then call cl_mqtt_input_feed until cl_mqtt_input_drawn.
 * CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_mqtt_input_draw(struct cl_mqtt_input *in, const char *query,
	const struct cl_held_round *round, int64_t now_ms, struct cm_err *err);
/* Use it as the `feed` of a struct cl_input; user is the struct cl_mqtt_input. */
CM_CHECK enum cm_rc cl_mqtt_input_feed(void *user, const struct cl_reader_conf *conf, struct cm_err *err);
void cl_mqtt_input_drawn(struct cl_mqtt_input *in);
/* The held readings, so that the caller can keep them over restarts (cl_mqtt_saved.h); borrowed. */
struct cl_held *cl_mqtt_input_held(struct cl_mqtt_input *in);

struct cl_mqtt_counts {
	uint64_t fate[CL_MQTT_FATES]; /* messages since the start, by enum cl_mqtt_fate */
	struct cl_held_counts held;
};
void cl_mqtt_input_counts(const struct cl_mqtt_input *in, struct cl_mqtt_counts *out);
