/* fuzz_rows.h - feeds readings twice, whole and in pieces, and compares what came out. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cl_readings.h"

#define FUZZ_FIELDS 2u

/* A running digest of rows and complaints. */
struct fuzz_said {
	uint64_t digest, rows;
	size_t fields;
};

static inline void fuzz_mix(struct fuzz_said *s, const char *text, uint64_t line)
{
	for (; *text != '\0'; text++)
		s->digest = (s->digest ^ (uint8_t)*text) * 1099511628211u;
	s->digest = (s->digest ^ line) * 1099511628211u;
	s->rows++;
}

static inline enum cm_rc fuzz_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	struct fuzz_said *s = user;

	(void)err;
	fuzz_mix(user, row->device, row->line);
	for (size_t i = 0; i < s->fields; i++)
		fuzz_mix(s, row->text[i], row->line);
	return CM_OK;
}

static inline enum cm_rc fuzz_bad(void *user, uint64_t line, const char *why, struct cm_err *err)
{
	(void)err;
	fuzz_mix(user, why, line);
	return CM_OK;
}

static inline enum cm_rc fuzz_read(
	enum cl_format format, const uint8_t *data, size_t size, size_t piece, struct fuzz_said *said)
{
	/* A second field, and arrays, in every other input. */
	static const char *const field[FUZZ_FIELDS] = { "v", "w" };
	const struct cl_reader_conf conf = { format, "f", "d", field, 1 + size % 2, size % 3 == 0, fuzz_row,
		fuzz_bad, said };
	struct cl_reader *r;
	struct cm_err err;
	enum cm_rc rc = cl_reader_new(&conf, &r, &err);

	said->fields = conf.fields;
	if (rc != CM_OK)
		abort();
	for (size_t at = 0; rc == CM_OK && at < size; at += piece)
		rc = cl_reader_feed(r, data + at, size - at < piece ? size - at : piece, &err);
	if (rc == CM_OK)
		rc = cl_reader_end(r, &err);
	cl_reader_free(r);
	return rc;
}

static inline int fuzz_rows(enum cl_format format, const uint8_t *data, size_t size)
{
	struct fuzz_said whole = { 0 }, cut = { 0 };
	size_t piece = size > 0 ? 1u + data[0] % 31u : 1;

	if (fuzz_read(format, data, size, size + 1, &whole) != fuzz_read(format, data, size, piece, &cut) ||
		whole.digest != cut.digest || whole.rows != cut.rows)
		abort();
	return 0;
}
