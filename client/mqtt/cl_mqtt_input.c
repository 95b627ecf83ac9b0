/* cl_mqtt_input.c - takes messages in and feeds readings to a round. */
#include "cl_mqtt_input.h"

#include <stdlib.h>
#include <string.h>

#include "cl_device.h"
#include "cl_mqtt_fields.h"
#include "cl_mqtt_reader.h"

#define FIELDS_MAX 64u /* most fields of one device, with `hold` */

struct cl_mqtt_input {
	const struct cl_mqtt_conf *conf;
	const struct cr_key *secret;
	const char *population;
	struct cl_held *held;
	struct cl_held_view *view; /* the readings of the current draw */
	struct cl_mqtt_reader *reader;
	uint64_t fate[CL_MQTT_FATES];
};

struct cl_mqtt_input *cl_mqtt_input_new(
	const struct cl_mqtt_conf *conf, const struct cr_key *secret, const char *population)
{
	const struct cl_held_limits limits = { .readings = conf->hold ? FIELDS_MAX : (uint64_t)conf->readings,
		.device_bytes = (uint64_t)conf->device_kib << 10,
		.max_age_ms = conf->max_age_ms,
		.hold = conf->hold };
	struct cl_mqtt_input *in = calloc(1, sizeof *in);

	if (!in)
		return NULL;
	in->conf = conf;
	in->secret = secret;
	in->population = population;
	in->held = cl_held_new(&limits);
	in->reader = cl_mqtt_reader_new(conf);
	if (!in->held || !in->reader) {
		cl_mqtt_input_free(in);
		return NULL;
	}
	return in;
}

void cl_mqtt_input_free(struct cl_mqtt_input *in)
{
	if (!in)
		return;
	cl_mqtt_input_drawn(in);
	cl_mqtt_reader_free(in->reader);
	cl_held_free(in->held);
	free(in);
}

enum cm_rc cl_mqtt_input_list(struct cl_mqtt_input *in, const struct cl_devices *devices, struct cm_err *err)
{
	return cl_held_list(in->held, devices, err);
}

/* What is needed to hold the fields of a message. */
struct taking {
	struct cl_mqtt_input *in;
	const char *device;
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	int64_t now_ms;
	enum cl_mqtt_fate fate;
};

static enum cl_mqtt_fate add(struct taking *t, const uint8_t *line, size_t len, size_t key)
{
	static const enum cl_mqtt_fate fate[] = { [CL_HELD_OK] = CL_MQTT_KEPT,
		[CL_HELD_UNLISTED] = CL_MQTT_UNLISTED,
		[CL_HELD_MEMORY] = CL_MQTT_MEMORY };
	const struct cl_held_item item = { t->device, line, len, key };

	return fate[cl_held_add(t->in->held, t->pseudonym, &item, t->now_ms)];
}

static void on_field(void *user, const uint8_t *line, size_t len, size_t key)
{
	struct taking *t = user;
	enum cl_mqtt_fate fate = add(t, line, len, key);

	if (fate != CL_MQTT_KEPT)
		t->fate = fate;
}

static enum cl_mqtt_fate hold(struct cl_mqtt_input *in, const struct cl_mqtt_reading *r, int64_t now_ms)
{
	struct taking t = { .in = in, .device = r->device, .now_ms = now_ms, .fate = CL_MQTT_KEPT };

	cl_device_pseudonym(in->secret, in->population, r->device, t.pseudonym);
	if (!in->conf->hold)
		return add(&t, r->line.data, r->line.len, 0);
	if (!cl_held_lists(in->held, t.pseudonym))
		return CL_MQTT_UNLISTED;
	return cl_mqtt_fields_split(&r->line, on_field, &t) == CM_OK ? t.fate : CL_MQTT_MEMORY;
}

enum cl_mqtt_fate cl_mqtt_input_take(
	struct cl_mqtt_input *in, const struct cl_mqtt_message *m, int64_t now_ms)
{
	struct cl_mqtt_reading reading;
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_init(&reading);
	fate = cl_mqtt_reader_read(in->reader, m, &reading);
	if (fate == CL_MQTT_KEPT)
		fate = hold(in, &reading, now_ms);
	cl_mqtt_reading_fini(&reading);
	in->fate[fate]++;
	return fate;
}

void cl_mqtt_input_expire(struct cl_mqtt_input *in, int64_t now_ms)
{
	cl_held_expire(in->held, now_ms);
}

enum cm_rc cl_mqtt_input_draw(struct cl_mqtt_input *in, const char *query, const struct cl_held_round *round,
	int64_t now_ms, struct cm_err *err)
{
	cl_mqtt_input_drawn(in);
	in->view = cl_held_take(in->held, query, round, now_ms);
	return in->view ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

void cl_mqtt_input_drawn(struct cl_mqtt_input *in)
{
	cl_held_release(in->held, in->view);
	in->view = NULL;
}

struct cl_held *cl_mqtt_input_held(struct cl_mqtt_input *in)
{
	return in->held;
}

/* ---- feeding a round ---- */

struct feeding {
	const struct cl_reader_conf *to;
	const char *device; /* the device of the current reading */
};

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	const struct feeding *f = user;
	struct cl_row whose = *row;

	whose.device = f->device;
	/* The reader's line number would reveal the order of arrival. */
	whose.line = 0;
	return f->to->on_row(f->to->user, &whose, err);
}

static enum cm_rc feed_text(struct cl_reader *reader, const char *text, struct cm_err *err)
{
	return cl_reader_feed(reader, (const uint8_t *)text, strlen(text), err);
}

/* Feed one line, which is a reading or all fields of a device, and move *i behind it. */
static enum cm_rc feed_one(struct cl_reader *reader, const struct cl_held_view *view, size_t n, size_t *i,
	struct feeding *feeding, struct cm_err *err)
{
	struct cl_held_item item = cl_held_view_at(view, *i);
	bool fields = item.key > 0, more;
	enum cm_rc rc = fields ? feed_text(reader, "{", err) : CM_OK;

	feeding->device = item.device;
	do {
		if (rc == CM_OK)
			rc = cl_reader_feed(reader, item.line, item.len, err);
		more = fields && ++*i < n;
		if (more)
			item = cl_held_view_at(view, *i);
		more = more && strcmp(item.device, feeding->device) == 0;
		if (rc == CM_OK && more)
			rc = feed_text(reader, ",", err);
	} while (rc == CM_OK && more);
	*i += !fields;
	return rc == CM_OK ? feed_text(reader, fields ? "}\n" : "\n", err) : rc;
}

enum cm_rc cl_mqtt_input_feed(void *user, const struct cl_reader_conf *conf, struct cm_err *err)
{
	const struct cl_mqtt_input *in = user;
	size_t n = in->view ? cl_held_view_n(in->view) : 0;
	struct feeding feeding = { .to = conf };
	struct cl_reader_conf lines = *conf;
	struct cl_reader *reader = NULL;
	enum cm_rc rc;

	lines.format = CL_FORMAT_NDJSON;
	lines.device_field = NULL;
	/* What a device may have is limited where its readings are held, so there is no second limit
	 * here. */
	lines.bytes = 0;
	lines.each_line = true;
	lines.on_row = on_row;
	lines.user = &feeding;
	rc = cl_reader_new(&lines, &reader, err);
	for (size_t i = 0; rc == CM_OK && i < n && !cl_readings_over(conf);)
		rc = feed_one(reader, in->view, n, &i, &feeding, err);
	if (rc == CM_OK)
		rc = cl_reader_end(reader, err);
	cl_reader_free(reader);
	return rc;
}

void cl_mqtt_input_counts(const struct cl_mqtt_input *in, struct cl_mqtt_counts *out)
{
	memcpy(out->fate, in->fate, sizeof out->fate);
	cl_held_counts(in->held, &out->held);
}
