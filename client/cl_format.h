/* cl_format.h - what a format's parser offers the reader, which hands it whole lines.  Private to the
 * readings. */
#pragma once

#include "cl_readings.h"

struct cl_parser {
	const struct cl_reader_conf *conf;
	uint64_t line; /* of the bytes being parsed, from 1 */
	uint64_t rows; /* data rows so far, bad ones included: they number devices */
	void *state;
};

struct cl_format_row {
	enum cm_rc (*open)(struct cl_parser *p, struct cm_err *err);
	/* One physical line with its newline, if it has one; at most CL_RECORD_MAX bytes. */
	enum cm_rc (*take)(struct cl_parser *p, uint8_t *line, size_t n, struct cm_err *err);
	/* A line longer than that was dropped. */
	enum cm_rc (*too_long)(struct cl_parser *p, struct cm_err *err);
	enum cm_rc (*end)(struct cl_parser *p, struct cm_err *err);
	void (*close)(struct cl_parser *p);
};

extern const struct cl_format_row cl_csv, cl_ndjson;

/* "name:line: why" as the caller's on_bad says it. */
CM_CHECK enum cm_rc cl_parser_bad(struct cl_parser *p, uint64_t line, const char *why, struct cm_err *err);
/* Deliver a row; device NULL: number it by p->rows. */
CM_CHECK enum cm_rc cl_parser_row(
	struct cl_parser *p, uint64_t line, const char *device, const char *const *text, struct cm_err *err);
#define CL_TOO_LONG_TEXT 64
/* "a line longer than CL_RECORD_MAX bytes". */
const char *cl_too_long(char out[CL_TOO_LONG_TEXT]);
