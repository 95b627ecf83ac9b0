/* fuzz_rows.h - feeds readings twice, whole and in pieces, and again with other bytes in one line, and
 * compares what came out: the cut changes nothing, and a line nothing but its own row. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cl_map.h"
#include "cl_readings.h"
#include "cl_texts.h"

#define FUZZ_FIELDS 2u

/* A running digest of rows and complaints. */
struct fuzz_said {
	uint64_t digest, rows;
	size_t fields;
	uint64_t not_of; /* the line whose rows do not count; 0: all count */
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
	if (row->line == s->not_of)
		return CM_OK;
	fuzz_mix(user, row->device ? row->device : "?", row->line);
	for (size_t i = 0; i < s->fields; i++)
		fuzz_mix(s, row->text[i] ? row->text[i] : "?", row->line);
	fuzz_mix(s, row->why ? row->why : "", row->line);
	return CM_OK;
}

/* A map, in some inputs, by their size. */
static inline const struct cl_map *fuzz_map(enum cl_format format, size_t shape)
{
	static char v[] = "v", w[] = "w", path[] = "v.a[1]", unit[] = "C", none[] = "n/a";
	static struct cf_word invalid[] = { { NULL, 1 }, { none, 0 } };
	static struct cl_map_entry json[] = { { v, NULL, path, 0.1, 32, unit, { invalid, 2 } },
		{ w, NULL, v, 1, 0, NULL, { invalid, 2 } } };
	static struct cl_map_entry csv[] = { { v, NULL, w, 0.1, 32, unit, { invalid, 2 } } };
	static const struct cl_map maps[] = { { { json, NULL, 2 } }, { { csv, NULL, 1 } } };

	return shape / 3 % 2 == 0 ? NULL : &maps[format == CL_FORMAT_CSV];
}

static inline enum cm_rc fuzz_read(enum cl_format format, const uint8_t *data, size_t size, size_t piece,
	size_t shape, struct fuzz_said *said)
{
	/* A second field, and arrays, in every other input. */
	static const char *const field[FUZZ_FIELDS] = { "v", "w" };
	static const char *const word[] = { "1", "2.5" };
	static char comment[] = "#";
	const bool other = shape / 6 % 2 != 0;
	struct cl_texts *texts = NULL;
	struct cm_err err;
	enum cm_rc rc = cl_texts_new(word, sizeof word / sizeof *word, &texts, &err);
	const struct cl_texts *const known[FUZZ_FIELDS] = { texts, NULL };
	const struct cl_reader_conf conf = { .format = format,
		.name = "f",
		.device_field = "d",
		.field = field,
		.fields = 1 + shape % 2,
		.arrays = (enum cl_arrays)(shape % 3),
		.map = fuzz_map(format, shape),
		.csv = { other ? ';' : ',', other, other ? comment : NULL },
		.on_row = fuzz_row,
		.user = said,
		.known = known };
	struct cl_reader *r;

	if (rc == CM_OK)
		rc = cl_reader_new(&conf, &r, &err);

	said->fields = conf.fields;
	if (rc != CM_OK)
		abort();
	for (size_t at = 0; rc == CM_OK && at < size; at += piece)
		rc = cl_reader_feed(r, data + at, size - at < piece ? size - at : piece, &err);
	if (rc == CM_OK)
		rc = cl_reader_end(r, &err);
	cl_reader_free(r);
	cl_texts_free(texts);
	return rc;
}

/* What a device may do to the line that holds its reading. */
static const struct {
	const char *text;
	size_t n;
} fuzz_evil[] = { { "a,\"", 3 }, { "\"", 1 }, { "\"a\",\"b\"\"", 9 }, { "{\"d\":\"a\",\"v\":{", 14 },
	{ "\\", 1 }, { "a\0,b", 4 }, { "a,1\rb,2\r", 8 }, { "{\"v\":\"\\", 7 }, { "[[[[{\"", 6 },
	{ "\xff\xfe,\"\"", 5 }, { "x", 1 } };

/* The input with line `which` (from 0, of those behind `head`) as it is, or made of other bytes. */
static inline enum cm_rc fuzz_with(enum cl_format format, const char *head, const uint8_t *data, size_t size,
	size_t which, bool evil, struct fuzz_said *said)
{
	const char *other = evil ? fuzz_evil[size % (sizeof fuzz_evil / sizeof *fuzz_evil)].text : NULL;
	size_t other_n = evil ? fuzz_evil[size % (sizeof fuzz_evil / sizeof *fuzz_evil)].n : 0;
	uint8_t *text = malloc(strlen(head) + size + 16);
	size_t used = strlen(head), line = 0;
	enum cm_rc rc;

	if (!text)
		abort();
	memcpy(text, head, used);
	for (size_t at = 0; at < size; line++) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;

		if (line == which && evil)
			memcpy(text + used, other, other_n);
		else
			memcpy(text + used, data + at, n);
		used += line == which && evil ? other_n : n;
		at += n;
		if (at < size)
			text[used++] = data[at++];
	}
	rc = fuzz_read(format, text, used, used + 1, size, said);
	free(text);
	return rc;
}

static inline int fuzz_rows(enum cl_format format, const uint8_t *data, size_t size)
{
	/* The first line tells the form. */
	const char *head = format != CL_FORMAT_CSV ? "{\"d\":\"h\"}\n"
			   : size / 6 % 2 == 0     ? "d,v,w\n"
						   : "d;v;w\n";
	struct fuzz_said whole = { 0 }, cut = { 0 };
	size_t piece = size > 0 ? 1u + data[0] % 31u : 1, which = size > 1 ? data[1] % 4u : 0;

	if (fuzz_read(format, data, size, size + 1, size, &whole) !=
			fuzz_read(format, data, size, piece, size, &cut) ||
		whole.digest != cut.digest || whole.rows != cut.rows)
		abort();
	whole = (struct fuzz_said){ .not_of = which + 2 };
	cut = whole;
	if (fuzz_with(format, head, data, size, which, false, &whole) != CM_OK ||
		fuzz_with(format, head, data, size, which, true, &cut) != CM_OK ||
		whole.digest != cut.digest || whole.rows != cut.rows)
		abort();
	return 0;
}
