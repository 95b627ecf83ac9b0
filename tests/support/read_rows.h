/* read_rows.h - reads text as a file of readings, cut in several ways, and says what came of it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_json.h"
#include "cl_map.h"
#include "cl_readings.h"
#include "cl_texts.h"

/* Everything the reader said: "device=text@line;" for rows, "!line device why;" for bad ones, whose device is
 * "?" when it cannot be told. */
struct said {
	char text[4096];
	size_t rows; /* good ones */
	int strict;
};

static const char *const wanted[] = { "v", "w", "u" };
static size_t fields = 1; /* of them */
static enum cl_arrays arrays;
static size_t share;                 /* bytes of a device; 0: any */
static const struct cl_texts *known; /* of a single field */
static const struct cl_map *map;
static struct cl_csv_form csv_form;
static size_t text_fields; /* the last of the fields that are texts */

static void say(struct said *s, const char *what)
{
	if (strlen(s->text) + strlen(what) < sizeof s->text)
		(void)strcat(s->text, what);
}

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	struct said *s = user;
	char line[512];

	if (row->why) {
		(void)snprintf(line, sizeof line, "!%u %s %s;", (unsigned)row->line,
			row->device ? row->device : "?", row->why);
		say(s, line);
		return s->strict ? cm_fail(err, CM_EDATA, "f:%u: %s", (unsigned)row->line, row->why) : CM_OK;
	}
	s->rows++;
	(void)snprintf(line, sizeof line, "%.100s=%.100s", row->device, row->text[0]);
	say(s, line);
	for (size_t i = 1; i < fields; i++) {
		(void)snprintf(line, sizeof line, "|%.100s", row->text[i]);
		say(s, line);
	}
	(void)snprintf(line, sizeof line, "@%u;", (unsigned)row->line);
	say(s, line);
	return CM_OK;
}

static enum cm_rc read_cut(enum cl_format format, const char *device, const void *bytes, size_t n,
	size_t piece, struct said *s, struct cm_err *err)
{
	const struct cl_reader_conf conf = { .format = format,
		.name = "f",
		.device_field = device,
		.field = wanted,
		.fields = fields,
		.arrays = arrays,
		.map = map,
		.csv = csv_form,
		.texts = text_fields,
		.on_row = on_row,
		.user = s,
		.bytes = share,
		.known = known ? &known : NULL };
	struct cl_reader *r;
	enum cm_rc rc;

	assert_int_equal(cl_reader_new(&conf, &r, err), CM_OK);
	rc = CM_OK;
	for (size_t at = 0; rc == CM_OK && at < n; at += piece)
		rc = cl_reader_feed(r, (const uint8_t *)bytes + at, n - at < piece ? n - at : piece, err);
	if (rc == CM_OK)
		rc = cl_reader_end(r, err);
	cl_reader_free(r);
	return rc;
}

/* Whole, byte by byte and in sevens, or in greater pieces when it is long: the same rows and the same
 * result. */
static enum cm_rc read_all(enum cl_format format, const char *device, const void *bytes, size_t n,
	struct said *s, struct cm_err *err)
{
	const size_t piece[] = { SIZE_MAX, n > 100000 ? 4093 : 1, n > 100000 ? 65537 : 7 };
	struct said first = { .strict = s->strict };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; i < 3; i++) {
		struct said now = { .strict = s->strict };
		enum cm_rc got =
			read_cut(format, device, bytes, n, piece[i] < n ? piece[i] : n + 1, &now, err);

		if (i == 0) {
			first = now;
			rc = got;
		}
		assert_int_equal(got, rc);
		assert_string_equal(now.text, first.text);
	}
	*s = first;
	return rc;
}

static void expect_from(enum cl_format format, const char *device, const char *input, size_t n, enum cm_rc rc,
	const char *said, const char *message)
{
	struct said s = { .text = "" };
	struct cm_err err = { .msg = "" };

	assert_int_equal(read_all(format, device, input, n, &s, &err), rc);
	if (said)
		assert_string_equal(s.text, said);
	if (message)
		assert_string_equal(err.msg, message);
}

#define CSV(device, input, rc, said, message) \
	expect_from(CL_FORMAT_CSV, device, input, sizeof(input) - 1, rc, said, message)
#define NDJSON(device, input, rc, said, message) \
	expect_from(CL_FORMAT_NDJSON, device, input, sizeof(input) - 1, rc, said, message)
