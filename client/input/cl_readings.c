/* cl_readings.c - cuts the input into bounded lines and hands them to the format's parser. */
#include "cl_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cl_map.h"
#include "cl_objects.h"
#include "cm_buf.h"
#include "cm_clock.h"
#include "cm_fault.h"

/* The form of the input, as its first bytes show it. */
enum form { UNKNOWN, LINES, OBJECTS };

struct cl_reader {
	struct cl_reader_conf conf;
	const struct cl_format_row *format;
	struct cl_parser parser;
	struct cm_buf line;
	bool cut; /* the line is too long, and `line` holds its beginning */
	enum form form;
	struct cl_objects objects;
	bool dead;
	struct cm_err why;
};

static const struct cl_format_row *const formats[] = {
	[CL_FORMAT_CSV] = &cl_csv,
	[CL_FORMAT_NDJSON] = &cl_ndjson,
};

enum cl_format cl_format_parse(const char *name)
{
	if (strcmp(name, "csv") == 0)
		return CL_FORMAT_CSV;
	if (strcmp(name, "ndjson") == 0)
		return CL_FORMAT_NDJSON;
	if (strcmp(name, "npy") == 0)
		return CL_FORMAT_NPY;
	return CL_FORMAT_GUESS;
}

enum cl_format cl_format_of_path(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (!dot || strchr(dot, '/'))
		return CL_FORMAT_GUESS;
	if (strcasecmp(dot, ".csv") == 0)
		return CL_FORMAT_CSV;
	if (strcasecmp(dot, ".npy") == 0)
		return CL_FORMAT_NPY;
	if (strcasecmp(dot, ".ndjson") == 0 || strcasecmp(dot, ".jsonl") == 0 ||
		strcasecmp(dot, ".json") == 0)
		return CL_FORMAT_NDJSON;
	return CL_FORMAT_GUESS;
}

enum cm_rc cl_reader_new(const struct cl_reader_conf *conf, struct cl_reader **out, struct cm_err *err)
{
	struct cl_reader *r;
	size_t bytes = conf->bytes > 0 ? conf->bytes : CL_RECORD_MAX;
	enum cm_rc rc;

	if (conf->format != CL_FORMAT_CSV && conf->format != CL_FORMAT_NDJSON)
		return cm_fail(err, CM_EUSAGE, "%s: say --format csv or --format ndjson", conf->name);
	r = calloc(1, sizeof *r);
	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->conf = *conf;
	r->format = formats[conf->format];
	r->parser.conf = &r->conf;
	r->form = conf->format == CL_FORMAT_CSV || conf->each_line ? LINES : UNKNOWN;
	cm_buf_init(&r->line, bytes);
	r->line.secret = 1;
	(void)snprintf(r->parser.too_long, sizeof r->parser.too_long, "a line longer than %zu bytes", bytes);
	r->parser.text = calloc(conf->fields, sizeof *r->parser.text);
	r->parser.entry = calloc(conf->fields, sizeof(void *));
	rc = r->parser.text && r->parser.entry ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < conf->fields; i++)
		r->parser.entry[i] = cl_map_find(conf->map, conf->field[i]);
	if (rc == CM_OK && conf->bytes > 0 && conf->device_field)
		rc = cl_share_new(conf->bytes, &r->parser.share, err);
	if (rc == CM_OK)
		rc = r->format->open(&r->parser, err);
	if (rc != CM_OK) {
		cl_share_free(r->parser.share);
		free(r->parser.text);
		free(r->parser.entry);
		free(r);
		return rc;
	}
	*out = r;
	return CM_OK;
}

void cl_reader_free(struct cl_reader *r)
{
	if (!r)
		return;
	r->format->close(&r->parser);
	cl_share_free(r->parser.share);
	free(r->parser.text);
	free(r->parser.entry);
	cm_buf_fini(&r->line);
	free(r);
}

static enum cm_rc die(struct cl_reader *r, enum cm_rc rc, const struct cm_err *err)
{
	r->dead = true;
	r->why = *err;
	return rc;
}

static enum cm_rc take_record(
	struct cl_reader *r, const uint8_t *bytes, size_t n, uint64_t line, struct cm_err *err)
{
	enum cm_rc rc;

	r->parser.line = line;
	r->parser.left_out = NULL;
	r->parser.absent = false;
	for (size_t i = 0; i < r->conf.fields; i++)
		r->parser.text[i] = NULL;
	rc = r->format->take(&r->parser, bytes, n, r->cut, err);
	r->cut = false;
	r->line.len = 0;
	return rc;
}

/* Append to the current record.  Keep only the beginning of a record that is too long. */
static enum cm_rc collect(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	size_t room = r->line.max - r->line.len;

	if (r->cut)
		return CM_OK;
	r->cut = n > room;
	return cm_buf_put(&r->line, bytes, n < room ? n : room) == CM_OK
		       ? CM_OK
		       : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* ---- objects that end where their brackets do ---- */

static enum cm_rc no_objects(const struct cl_reader *r, const char *why, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "%s:%" PRIu64 ": no array of JSON objects: %s", r->conf.name,
		r->objects.ends + 1, why);
}

static enum cm_rc feed_objects(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	while (rc == CM_OK && n > 0) {
		enum cl_objects_said said;
		const uint8_t *part;
		size_t len, used = cl_objects_take(&r->objects, bytes, n, &part, &len, &said);

		if (said == CL_OBJECTS_FORM)
			return no_objects(r,
				r->objects.closed ? "more follows its end" : "its first item is none", err);
		rc = collect(r, part, len, err);
		if (rc == CM_OK && said == CL_OBJECTS_ONE)
			rc = take_record(r, r->line.data, r->line.len, r->objects.line, err);
		bytes += used;
		n -= used;
	}
	return rc;
}

/* ---- lines ---- */

/* Parse a line with its line end.  Only the last line of the input may lack one. */
static enum cm_rc take_line(struct cl_reader *r, const uint8_t *line, size_t n, struct cm_err *err)
{
	static const uint8_t bom[3] = { 0xef, 0xbb, 0xbf };

	if (!r->cut) {
		n -= n > 0 && line[n - 1] == '\n';
		n -= n > 0 && line[n - 1] == '\r';
	}
	if (r->parser.line == 0 && n >= sizeof bom && memcmp(line, bom, sizeof bom) == 0) {
		line += sizeof bom;
		n -= sizeof bom;
	}
	return take_record(r, line, n, r->parser.line + 1, err);
}

static enum cm_rc feed_line(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	enum cm_rc rc;

	/* Parse a whole line in place, without copying it. */
	if (r->line.len == 0 && !r->cut && bytes[n - 1] == '\n' && n <= r->line.max)
		return take_line(r, bytes, n, err);
	rc = collect(r, bytes, n, err);
	return rc == CM_OK && bytes[n - 1] == '\n' ? take_line(r, r->line.data, r->line.len, err) : rc;
}

/* Skip further rows of a device whose row was just left out; there may be a million of them.  Rows that
 * begin like that row, up to and including the byte after the name, belong to the same device and need no
 * parser.  Returns how many bytes were skipped. */
static enum cm_rc skip_alike(struct cl_reader *r, const uint8_t *line, const uint8_t *bytes, size_t n,
	size_t *skipped, struct cm_err *err)
{
	const uint8_t *end = r->parser.left_out, *newline;
	size_t same = end && end < bytes ? (size_t)(end - line) : 0;
	enum cm_rc rc = CM_OK;

	*skipped = 0;
	while (rc == CM_OK && same > 0 && n - *skipped > same && memcmp(bytes + *skipped, line, same) == 0 &&
		(newline = memchr(bytes + *skipped, '\n', n - *skipped)) != NULL) {
		*skipped = (size_t)(newline - bytes) + 1;
		r->parser.line++;
		rc = cl_parser_leave_out(&r->parser, err);
	}
	return rc;
}

/* ---- the form ---- */

/* Skip the bytes that may precede the first object.  Returns how many there are. */
static size_t skip_blank(struct cl_reader *r, const uint8_t *bytes, size_t n)
{
	static const uint8_t blank[] = { ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf };
	size_t at = 0;

	while (at < n && memchr(blank, bytes[at], sizeof blank))
		r->parser.line += bytes[at++] == '\n';
	return at;
}

/* Find out from the first bytes which form of JSON the input has: `[` begins an array of objects, `{` alone
 * on its line an object of several lines, and `{` with more behind it the first line of NDJSON. */
static enum cm_rc tell_form(
	struct cl_reader *r, const uint8_t *bytes, size_t n, size_t *used, struct cm_err *err)
{
	static const uint8_t white[] = { ' ', '\t', '\r', '\n' };

	*used = r->line.len == 0 ? skip_blank(r, bytes, n) : 0;
	if (*used == n)
		return CM_OK;
	bytes += *used;
	r->objects.ends = r->parser.line;
	if (r->line.len == 0 && *bytes == '[') {
		r->form = OBJECTS;
		return CM_OK;
	}
	if (r->line.len == 0 && *bytes != '{' && CM_CHECKED("client.form"))
		return cm_fail(err, CM_EDATA,
			"%s:%" PRIu64 ": no JSON: neither an object nor an array of objects begins here; "
			"what is the file's format?",
			r->conf.name, r->parser.line + 1);
	/* Keep the brace and the white space after it. */
	if (r->line.len > 0 && !memchr(white, *bytes, sizeof white)) {
		r->form = LINES;
		return CM_OK;
	}
	++*used;
	if (*bytes != '\n')
		return collect(r, bytes, 1, err);
	r->form = OBJECTS;
	r->line.len = 0;
	return feed_objects(r, (const uint8_t *)"{\n", 2, err);
}

enum cm_rc cl_reader_feed(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	if (r->dead) {
		*err = r->why;
		return err->code;
	}
	while (n > 0) {
		size_t part = n;
		enum cm_rc rc;

		if (r->form == UNKNOWN) {
			rc = tell_form(r, bytes, n, &part, err);
		} else if (r->form == OBJECTS) {
			rc = feed_objects(r, bytes, n, err);
		} else {
			const uint8_t *newline = memchr(bytes, '\n', n);

			size_t skipped;

			part = newline ? (size_t)(newline - bytes) + 1 : n;
			r->parser.left_out = NULL;
			rc = feed_line(r, bytes, part, err);
			if (rc == CM_OK && r->parser.left_out > bytes && r->parser.left_out < bytes + part) {
				rc = skip_alike(r, bytes, bytes + part, n - part, &skipped, err);
				part += skipped;
			}
		}
		if (rc != CM_OK)
			return die(r, rc, err);
		bytes += part;
		n -= part;
	}
	return CM_OK;
}

enum cm_rc cl_reader_end(struct cl_reader *r, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (r->dead) {
		*err = r->why;
		return err->code;
	}
	if (r->form == OBJECTS && cl_objects_end(&r->objects))
		rc = no_objects(r, cl_objects_end(&r->objects), err);
	else if (r->line.len > 0)
		rc = take_line(r, r->line.data, r->line.len, err);
	if (rc == CM_OK)
		rc = r->format->end(&r->parser, err);
	r->dead = true;
	if (rc == CM_OK)
		(void)cm_fail(&r->why, CM_EINTERNAL, "%s: reading has ended", r->conf.name);
	else
		r->why = *err;
	return rc;
}

enum cm_rc cl_readings_lasting(const char *path, struct cm_err *err)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)
		       ? CM_OK /* other faults are reported when the file is read */
		       : cm_fail(err, CM_EDATA, "%s: not a regular file, and it is read more than once",
				 path);
}

bool cl_readings_over(const struct cl_reader_conf *conf)
{
	return conf->until_ns > 0 && cm_clock_mono_ns() >= conf->until_ns;
}

enum cm_rc cl_readings_file(const char *path, const struct cl_reader_conf *conf, struct cm_err *err)
{
	struct cl_reader *r = NULL;
	uint8_t chunk[32768];
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	enum cm_rc rc;

	if (fd < 0)
		return cm_fail(err, CM_ENOINPUT, "%s: %s", path, strerror(errno));
	rc = cl_reader_new(conf, &r, err);
	while (rc == CM_OK && !cl_readings_over(conf)) {
		ssize_t n = read(fd, chunk, sizeof chunk);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = cm_fail(
				err, errno == EISDIR ? CM_EDATA : CM_EIO, "%s: %s", path, strerror(errno));
		else if (n > 0)
			rc = cl_reader_feed(r, chunk, (size_t)n, err);
		else
			break;
	}
	if (rc == CM_OK && !cl_readings_over(conf))
		rc = cl_reader_end(r, err);
	explicit_bzero(chunk, sizeof chunk);
	cl_reader_free(r);
	if (!is_stdin)
		(void)close(fd);
	return rc;
}
