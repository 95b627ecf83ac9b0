/* cl_readings.h - parses readings from CSV or JSON: bytes in, rows out.  A row is a device and the texts of
 * the wanted fields.
 *
 * Push parsers without I/O, so a file, a pipe and a fuzzer feed them alike.  In CSV and in NDJSON a record is
 * one line, so the bytes of one line never change how another is parsed.  CSV (libcsv, strict) starts with a
 * header line, and a quoted field ends at its line's end at the latest.  NDJSON has one object a line.  A
 * file that begins with `[`, or with a line that is `{` alone, has objects that end where their brackets do
 * (cl_objects.h).  Of an object only the wanted members are decoded (cl_json.h).  A row that cannot be parsed
 * has no texts, but its device if that is readable.  With a map (cl_map.h) a field has the value that stands
 * at its path, or in the column of that name, and its text is the reading that the map makes of it.
 *
 * Errors are limited to faults that depend on no reading: those of the input's form, which its first bytes or
 * its header show, and of reading it.  Of one device at most CL_SHARE_ROWS rows and conf->bytes bytes are
 * parsed; what is left out is told to on_row as a row without a device.  Memory: a few times conf->bytes, and
 * 16 to 32 bytes for each name in the device field. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

/* Most bytes of one record: room for 131072 numbers of 31 bytes. */
#define CL_RECORD_MAX 4194304u
/* Bytes that one device may have, and those for each number of its value on top, CL_RECORD_MAX at most. */
#define CL_BYTES        262144u
#define CL_NUMBER_BYTES 32u
#define CL_COLUMNS_MAX  16384u
#define CL_ARRAY_MAX    131072u /* numbers of a JSON array */
#define CL_DEVICE_MAX   200u    /* bytes of a device's name */

enum cl_format {
	CL_FORMAT_GUESS = 0, /* choose by the file's extension */
	CL_FORMAT_CSV,
	CL_FORMAT_NDJSON, /* or an array of objects */
	CL_FORMAT_NPY,    /* not for cl_reader: cl_npy.h */
};
/* "csv", "ndjson", "npy"; CL_FORMAT_GUESS for anything else. */
enum cl_format cl_format_parse(const char *name);
/* The format by extension: .csv; .ndjson, .jsonl, .json; .npy.  CL_FORMAT_GUESS for any other. */
enum cl_format cl_format_of_path(const char *path);

/* One line.  Strings are NUL-terminated and borrowed for the call. */
struct cl_row {
	/* The device field, or the row's number (from 1) if there is no such field.  NULL: the device could
	 * not be read. */
	const char *device;
	/* One text for each of the reader's fields; NULL if the row has no usable one. */
	const char *const *text;
	uint64_t line; /* number of the line in the input, from 1 */
	/* The features as numbers instead of the first field's text, if conf->numbers; NULL: none. */
	const float *number;
	size_t numbers;
	bool by_number;  /* the device is the one at place `line` of the list of devices */
	const char *why; /* what is wrong with the row, without any of its bytes; NULL: nothing */
	bool absent;     /* it is that wanted fields are not there, null, or invalid by the map */
};

/* Which arrays a JSON field may be. */
enum cl_arrays {
	CL_ARRAYS_NONE = 0,
	CL_ARRAYS_NUMBERS, /* its text is the numbers with a space between two */
	CL_ARRAYS_SETS,    /* of texts, numbers and booleans: these with QY_SET_SEPARATOR between two, which
			    * none of them may have */
};

/* How a CSV file is written. */
struct cl_csv_form {
	char delimiter; /* between columns: ',', ';', '|' or a tab; 0: ',' */
	/* A number's comma is its decimal point.  Of a query of numbers a text with a point is no reading
	 * then, since it cannot be told whether that groups thousands, and commas separate no numbers of an
	 * array.  Of other queries a text is read so if it is a number with one comma, and is not a category
	 * as it stands.  Only with another delimiter than ','. */
	bool decimal_comma;
	char *comment; /* a line that begins with this is skipped, before the header, too; NULL: none is */
};
/* CM_ECONFIG: what two keys say together, or one, cannot be meant; *which: the key. */
CM_CHECK enum cm_rc cl_csv_form_check(const struct cl_csv_form *form, const char **which, struct cm_err *err);

struct cl_map;
struct cl_texts;
struct cl_reader_conf {
	enum cl_format format;    /* not CL_FORMAT_GUESS */
	const char *name;         /* of the input, for errors; borrowed for the reader's life, as the fields
				   * are */
	const char *device_field; /* NULL: the row number stands for the device */
	const char *const *field; /* distinct names; the array and its texts are borrowed, too */
	size_t fields;            /* number of fields, 1 or more */
	enum cl_arrays arrays;
	const struct cl_map *map; /* where fields stand, and how a value is a reading; NULL: under their own
				   * names, as they are; borrowed */
	struct cl_csv_form csv;
	/* Called for each row.  Any result but CM_OK ends the reading with that code. */
	enum cm_rc (*on_row)(void *user, const struct cl_row *row, struct cm_err *err);
	void *user;
	bool numbers;   /* on_row takes an array as numbers */
	size_t texts;   /* the last so many fields are texts or categories, and no numbers */
	bool each_line; /* every line is an object of NDJSON: the form is not guessed from the first bytes */
	/* Most bytes of one record and, if there is a device field, of all records of one device.  0: one
	 * record has at most CL_RECORD_MAX, and a device any number of them. */
	size_t bytes;
	/* For each field the texts that the query knows.  A JSON number whose text is not among them gets the
	 * text of cl_json_shortest.  NULL: every text is known. */
	const struct cl_texts *const *known;
	int64_t until_ns; /* time of cm_clock_mono_ns at which reading ends, leaving out the rest; 0: never */
};
/* Has the time conf->until_ns come?  Whoever feeds a reader asks every few milliseconds. */
bool cl_readings_over(const struct cl_reader_conf *conf);

struct cl_reader;
/* CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_reader_new(
	const struct cl_reader_conf *conf, struct cl_reader **out, struct cm_err *err);
void cl_reader_free(struct cl_reader *r);
/* Parse n more bytes.  The rows do not depend on how the input is cut into calls.  After an error every later
 * call returns the same error. */
CM_CHECK enum cm_rc cl_reader_feed(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err);
/* End the input; its last line needs no newline.  CM_EDATA: CSV without a header. */
CM_CHECK enum cm_rc cl_reader_end(struct cl_reader *r, struct cm_err *err);

/* A file that is read more than once, as in every round: a pipe or a device might never end, or never begin.
 * CM_EDATA: it is one. */
CM_CHECK enum cm_rc cl_readings_lasting(const char *path, struct cm_err *err);
/* Feed a file to its end, or stdin if path is "-".  CM_ENOINPUT, CM_EIO. */
CM_CHECK enum cm_rc cl_readings_file(const char *path, const struct cl_reader_conf *conf, struct cm_err *err);
