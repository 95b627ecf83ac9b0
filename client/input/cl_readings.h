/* cl_readings.h - parses readings from CSV or JSON: bytes in, rows out.  A row is a device and the texts of
 * the wanted fields.
 *
 * The parsers are fed with bytes and do no I/O, so a file, a pipe and a fuzzer use them alike.  In CSV and
 * in NDJSON a record is one line, so the bytes of one line never change how another is parsed.  CSV
 * (libcsv, strict) starts with a header line, and a quoted field ends at its line's end at the latest.
 * NDJSON has one object a line.  A file that begins with `[`, or with a line that is `{` alone, has objects
 * that end where their brackets do (cl_objects.h).  Only the wanted members of an object are decoded
 * (cl_json.h).  A row that cannot be parsed has no texts, but it has its device if that is readable.  With
 * a map (cl_map.h) a field has the value at its path, or in the column of that name, and its text is the
 * reading that the map makes of it.
 *
 * Errors never depend on a reading: they are faults of the input's form, which its first bytes or its
 * header show, and faults of reading the file.  For each device at most CL_SHARE_ROWS rows and conf->bytes
 * bytes are parsed; for each further row on_row is called without a device.  Memory: a few times
 * conf->bytes, and 16 to 32 bytes for each name in the device field. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

/* Most bytes of one record: room for 131072 numbers of 31 bytes. */
#define CL_RECORD_MAX 4194304u
/* Bytes that the rows of one device may have: CL_BYTES, and CL_NUMBER_BYTES for each number of its value,
 * but at most CL_RECORD_MAX. */
#define CL_BYTES        262144u
#define CL_NUMBER_BYTES 32u
#define CL_COLUMNS_MAX  16384u
#define CL_ARRAY_MAX    131072u /* most numbers of a JSON array */
#define CL_DEVICE_MAX   200u    /* bytes of a device's name */

enum cl_format {
	CL_FORMAT_GUESS = 0, /* to be chosen by the file's extension */
	CL_FORMAT_CSV,
	CL_FORMAT_NDJSON, /* NDJSON, or JSON objects that are not one a line */
	CL_FORMAT_NPY,    /* read by cl_npy.h, not by cl_reader */
};
/* The format of this name, "csv", "ndjson" or "npy"; CL_FORMAT_GUESS for any other. */
enum cl_format cl_format_parse(const char *name);
/* The format by extension: .csv; .ndjson, .jsonl, .json; .npy.  CL_FORMAT_GUESS for any other. */
enum cl_format cl_format_of_path(const char *path);

/* One line.  Strings are NUL-terminated and borrowed for the call. */
struct cl_row {
	/* The text of the device field, or the row's number (from 1) if there is no such field.  NULL if
	 * the device could not be read. */
	const char *device;
	/* One text for each of the reader's fields; NULL if the row has no usable one. */
	const char *const *text;
	uint64_t line; /* number of the line in the input, from 1 */
	/* If conf->numbers, the features as numbers in place of the first field's text; NULL if there are
	 * none. */
	const float *number;
	size_t numbers;
	bool by_number;  /* the device is number `line` of the list of devices, counted from 1 */
	const char *why; /* what is wrong with the row, without any of its bytes; NULL if nothing is */
	bool absent;     /* what is wrong is that wanted fields are missing, null, or invalid by the map */
};

/* Which arrays a JSON field may hold. */
enum cl_arrays {
	CL_ARRAYS_NONE = 0,
	CL_ARRAYS_NUMBERS, /* arrays of numbers; the field's text has a space between two of them */
	/* arrays of texts, numbers and booleans; the field's text has QY_SET_SEPARATOR between two of them,
	 * and none of them may contain it */
	CL_ARRAYS_SETS,
};

/* How a CSV file is written. */
struct cl_csv_form {
	char delimiter; /* what separates columns: ',', ';', ' ' or a tab; 0 means ',' */
	/* Numbers are written with a decimal comma.  For a query of numbers a text with a point is then no
	 * valid reading, since the point might separate thousands, and commas do not separate the numbers
	 * of an array.  For other queries a text becomes such a number only if it is a number with one
	 * comma and is not itself a category.  Allowed only if the delimiter is not ','. */
	bool decimal_comma;
	/* a line that begins with this text is skipped, also before the header; NULL if no line is */
	char *comment;
};
/* CM_ECONFIG: one of the keys, or two of them together, make no sense; *which names the key. */
CM_CHECK enum cm_rc cl_csv_form_check(const struct cl_csv_form *form, const char **which, struct cm_err *err);

struct cl_map;
struct cl_texts;
struct cl_reader_conf {
	enum cl_format format; /* any format except CL_FORMAT_GUESS */
	/* the name of the input in errors; borrowed for the reader's life, like the fields */
	const char *name;
	const char *device_field; /* NULL: the row number is the device */
	const char *const *field; /* distinct names; the array and its texts are borrowed */
	size_t fields;            /* number of fields, at least 1 */
	enum cl_arrays arrays;
	/* where fields are found, and which readings their values become; borrowed.  NULL: each field has
	 * its own name and value */
	const struct cl_map *map;
	struct cl_csv_form csv;
	/* Called for each row.  Any result other than CM_OK ends the reading with that code. */
	enum cm_rc (*on_row)(void *user, const struct cl_row *row, struct cm_err *err);
	void *user;
	bool numbers;   /* on_row wants arrays as numbers */
	size_t texts;   /* how many fields are texts or categories; they are the last ones */
	bool each_line; /* every line is one object; the form is not guessed from the first bytes */
	/* Most bytes of one record and, if there is a device field, of all records of one device.  0: one
	 * record has at most CL_RECORD_MAX bytes, and the records of a device are not limited. */
	size_t bytes;
	/* For each field the texts that the query knows.  A JSON number whose text is not among them gets the
	 * text of cl_json_shortest.  NULL: every text is known. */
	const struct cl_texts *const *known;
	/* time of cm_clock_mono_ns at which reading ends, leaving out the rest; 0: it never ends early */
	int64_t until_ns;
};
/* Whether the time conf->until_ns has come.  The code that feeds a reader asks this every few
 * milliseconds. */
bool cl_readings_over(const struct cl_reader_conf *conf);

struct cl_reader;
/* CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_reader_new(
	const struct cl_reader_conf *conf, struct cl_reader **out, struct cm_err *err);
void cl_reader_free(struct cl_reader *r);
/* Parse n more bytes.  The rows do not depend on how the input is cut into calls.  After an error every later
 * call returns the same error. */
CM_CHECK enum cm_rc cl_reader_feed(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err);
/* End the input; its last line needs no newline.  CM_EDATA: the input is CSV without a header. */
CM_CHECK enum cm_rc cl_reader_end(struct cl_reader *r, struct cm_err *err);

/* Refuse a file that cannot be read again in every round: a pipe or a device might never end, or never
 * begin.  CM_EDATA: it is such a file. */
CM_CHECK enum cm_rc cl_readings_lasting(const char *path, struct cm_err *err);
/* Feed a file to its end, or stdin if path is "-".  CM_ENOINPUT, CM_EIO. */
CM_CHECK enum cm_rc cl_readings_file(const char *path, const struct cl_reader_conf *conf, struct cm_err *err);
