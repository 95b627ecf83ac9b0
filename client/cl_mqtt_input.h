/* cl_mqtt_input.h - the client's readings by MQTT: takes messages, holds what a round may ask for, and feeds
 * a round.  No I/O: the broker is cl_mqtt_link's. */
#pragma once

#include "cl_mqtt_conf.h"
#include "cl_mqtt_held.h"
#include "cm_secret.h"

struct cl_mqtt_input;
/* All borrowed for the input's life; conf after cl_mqtt_conf_check.  NULL out of memory. */
struct cl_mqtt_input *cl_mqtt_input_new(
	const struct cl_mqtt_conf *conf, const struct cm_key *secret, const char *population);
/* Wipes what is held. */
void cl_mqtt_input_free(struct cl_mqtt_input *in);

/* One message as it came, at now_ms of the monotonic clock (as everywhere here).  What became of it is also
 * counted. */
enum cl_mqtt_fate cl_mqtt_input_take(
	struct cl_mqtt_input *in, const struct cl_mqtt_message *m, int64_t now_ms);
/* Forget what is too old; call it every second or so. */
void cl_mqtt_input_expire(struct cl_mqtt_input *in, int64_t now_ms);

/* Is there a reading that counts (cl_mqtt_held.h) in the round `sequence` of this query? */
bool cl_mqtt_input_any(const struct cl_mqtt_input *in, const char *query, uint64_t sequence, int64_t now_ms);
/* Take all that count, for cl_mqtt_input_feed on any thread until cl_mqtt_input_drawn.  CM_EINTERNAL out of
 * memory. */
CM_CHECK enum cm_rc cl_mqtt_input_draw(
	struct cl_mqtt_input *in, const char *query, uint64_t sequence, int64_t now_ms, struct cm_err *err);
/* A cl_input's feed; user is the cl_mqtt_input. */
CM_CHECK enum cm_rc cl_mqtt_input_feed(void *user, const struct cl_reader_conf *conf, struct cm_err *err);
void cl_mqtt_input_drawn(struct cl_mqtt_input *in);

struct cl_mqtt_counts {
	uint64_t fate[CL_MQTT_FATES]; /* messages since the start, by what became of them */
	struct cl_held_counts held;
};
void cl_mqtt_input_counts(const struct cl_mqtt_input *in, struct cl_mqtt_counts *out);
