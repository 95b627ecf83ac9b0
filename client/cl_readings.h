/* cl_readings.h - readings from CSV or NDJSON: bytes in, rows (device, texts of the fields asked for) out.
 *
 * Push parsers without I/O, so a file, a pipe and a fuzzer feed them alike.  CSV is RFC 4180 with a header
 * line, read strictly (libcsv); NDJSON is one object per line (jansson, duplicate keys refused).  A row that
 * cannot be read is reported with its line and skipped; what makes every later row unreadable (no such
 * column, a quote that never ends) is an error.  Memory: what one line or record
 * needs, CL_RECORD_MAX bytes at most, a few times over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

/* Bytes of one line, or of one CSV record over several lines: 131072 numbers of 31 bytes. */
#define CL_RECORD_MAX  4194304u
#define CL_COLUMNS_MAX 16384u
#define CL_ARRAY_MAX   131072u /* numbers of a JSON array */
#define CL_DEVICE_MAX  200u    /* bytes of a device's name */

enum cl_format {
	CL_FORMAT_GUESS = 0, /* by the file's extension */
	CL_FORMAT_CSV,
	CL_FORMAT_NDJSON,
};
/* "csv", "ndjson"; CL_FORMAT_GUESS for anything else. */
enum cl_format cl_format_parse(const char *name);
/* By extension: .csv; .ndjson, .jsonl, .json.  CL_FORMAT_GUESS if it tells nothing. */
enum cl_format cl_format_of_path(const char *path);

/* One reading.  Strings are NUL-terminated and borrowed for the call. */
struct cl_row {
	const char *device;      /* the device field, or the row's number (from 1) without one */
	const char *const *text; /* one for each of the reader's fields */
	uint64_t line;           /* where the row starts, from 1 */
};

struct cl_reader_conf {
	enum cl_format format; /* not CL_FORMAT_GUESS */
	const char *name;      /* of the input, for errors; borrowed for the reader's life, like the fields */
	const char *device_field; /* NULL: rows are numbered */
	const char *const *field; /* distinct; the array and its texts are borrowed, too */
	size_t fields;            /* 1 or more */
	bool arrays; /* a JSON field may be an array of numbers: its text is them, a space between two */
	/* A row.  Anything but CM_OK ends the reading with that code. */
	enum cm_rc (*on_row)(void *user, const struct cl_row *row, struct cm_err *err);
	/* A row that cannot be read; why: what is wrong, without any value of the row.  CM_OK skips it. */
	enum cm_rc (*on_bad)(void *user, uint64_t line, const char *why, struct cm_err *err);
	void *user;
};

struct cl_reader;
/* CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc cl_reader_new(
	const struct cl_reader_conf *conf, struct cl_reader **out, struct cm_err *err);
void cl_reader_free(struct cl_reader *r);
/* Any cut of the input gives the same rows.  After an error the reader is dead: every later call returns it.
 */
CM_CHECK enum cm_rc cl_reader_feed(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err);
/* The input is over: the last line needs no newline.  CM_EDATA: empty, or inside a quote. */
CM_CHECK enum cm_rc cl_reader_end(struct cl_reader *r, struct cm_err *err);

/* Feed a file, or stdin when path is "-", to the end.  CM_ENOINPUT, CM_EIO. */
CM_CHECK enum cm_rc cl_readings_file(const char *path, const struct cl_reader_conf *conf, struct cm_err *err);
