/* cl_format.h - connects the reader, which cuts the input into lines, with the parsers of CSV and NDJSON.
 * Only cl_readings.c and the parsers include it. */
#pragma once

#include "cl_readings.h"
#include "cl_share.h"
#include "cm_buf.h"

struct cl_parser {
	const struct cl_reader_conf *conf;
	uint64_t line; /* number of the line being parsed, from 1 */
	/* data rows so far, including the current one; without a device field this number is the device */
	uint64_t rows;
	/* one text for each field, all NULL before each line; the parser sets those that it can read */
	const char **text;
	bool absent; /* the fields without a text are missing from the row, null, or invalid by the map */
	const struct cl_map_entry **entry; /* for each field: its entry in the map; NULL if it has none */
	void *state;
	struct cl_share *share; /* NULL if rows are not counted by device */
	char too_long[64];      /* the text that cl_row.why has for a line that was cut */
	/* The end of the device's name and of the separator after it, in the row that was just left out;
	 * NULL if the last row was not left out. */
	const uint8_t *left_out;
};

struct cl_format_row {
	enum cm_rc (*open)(struct cl_parser *p, struct cm_err *err);
	/* Parse one line without its line end, which has at most as many bytes as one device may have.
	 * cut: the line was longer, and these are its first bytes. */
	enum cm_rc (*take)(struct cl_parser *p, const uint8_t *line, size_t n, bool cut, struct cm_err *err);
	enum cm_rc (*end)(struct cl_parser *p, struct cm_err *err);
	void (*close)(struct cl_parser *p);
};

extern const struct cl_format_row cl_csv, cl_ndjson;

/* Deliver a row with the parser's texts.  why: what is wrong with the row, or NULL.  Without a device field
 * the device is the row number p->rows; otherwise it is `device`, which is NULL if it could not be read. */
CM_CHECK enum cm_rc cl_parser_row(
	struct cl_parser *p, const char *device, const char *why, struct cm_err *err);
/* Set p->text[i] to the reading that the field's entry in the map makes of `text`: the field's text as the
 * input has it, ended by NUL, which may be overwritten.  If it is no valid reading, bad says what is wrong
 * with it, p->text[i] stays NULL, and p->absent is cleared unless the map lists the value as invalid. */
CM_CHECK enum cm_rc cl_parser_text(
	struct cl_parser *p, size_t i, struct cm_buf *text, char *bad, size_t room, struct cm_err *err);
/* Ask whether the device with this name may have one more row, of n bytes, before the row's readings are
 * parsed.  CM_ELATER: it may not; on_row was called for a row that is left out, and p->left_out is set. */
CM_CHECK enum cm_rc cl_parser_share(
	struct cl_parser *p, const uint8_t *name, size_t len, size_t n, struct cm_err *err);
/* Deliver a row that is left out, without a device and without texts. */
CM_CHECK enum cm_rc cl_parser_leave_out(struct cl_parser *p, struct cm_err *err);
