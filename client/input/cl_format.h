/* cl_format.h - interface between the reader, which cuts the input into lines, and the parsers of CSV and
 * NDJSON.  Private to cl_readings.c and the parsers. */
#pragma once

#include "cl_readings.h"
#include "cl_share.h"
#include "cm_buf.h"

struct cl_parser {
	const struct cl_reader_conf *conf;
	uint64_t line;     /* number of the line being parsed, from 1 */
	uint64_t rows;     /* data rows so far, including the current one; the number stands for a device
			    * without a name */
	const char **text; /* one text per field, all NULL before each line; the parser sets those it can
			    * read */
	bool absent;       /* the fields without a text are not in the row, null, or invalid by the map */
	const struct cl_map_entry **entry; /* by field: its entry in the map; NULL: none */
	void *state;
	struct cl_share *share; /* NULL: rows are not counted by device */
	char too_long[64];      /* the `why` of a line that was cut */
	/* Where the device's name and the separator behind it end, in the row that was just left out; NULL:
	 * the last row was not left out. */
	const uint8_t *left_out;
};

struct cl_format_row {
	enum cm_rc (*open)(struct cl_parser *p, struct cm_err *err);
	/* Parse one line without its line end, of at most as many bytes as one device may have.  cut: the
	 * line was longer, and these are its first bytes. */
	enum cm_rc (*take)(struct cl_parser *p, const uint8_t *line, size_t n, bool cut, struct cm_err *err);
	enum cm_rc (*end)(struct cl_parser *p, struct cm_err *err);
	void (*close)(struct cl_parser *p);
};

extern const struct cl_format_row cl_csv, cl_ndjson;

/* Deliver a row with the parser's texts.  why: what is wrong with the row, or NULL.  Without a device field
 * the device is the row number p->rows; otherwise it is `device`, which is NULL if it could not be read. */
CM_CHECK enum cm_rc cl_parser_row(
	struct cl_parser *p, const char *device, const char *why, struct cm_err *err);
/* Set p->text[i] from a field's text as the input has it, which ends with NUL and may be overwritten: by the
 * field's entry in the map.  bad: what is wrong with it, if it is no reading; p->text[i]
 * stays NULL then, and p->absent is cleared unless the map says that the value is none. */
CM_CHECK enum cm_rc cl_parser_text(
	struct cl_parser *p, size_t i, struct cm_buf *text, char *bad, size_t room, struct cm_err *err);
/* Ask whether the device with this name may have one more row, of n bytes, before the row's readings are
 * parsed.  CM_ELATER: it may not; on_row was told, and p->left_out is set. */
CM_CHECK enum cm_rc cl_parser_share(
	struct cl_parser *p, const uint8_t *name, size_t len, size_t n, struct cm_err *err);
/* Deliver a row that is left out, without a device and without texts. */
CM_CHECK enum cm_rc cl_parser_leave_out(struct cl_parser *p, struct cm_err *err);
