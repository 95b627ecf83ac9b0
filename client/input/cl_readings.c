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

#include "cm_buf.h"

struct cl_reader {
	struct cl_reader_conf conf;
	const struct cl_format_row *format;
	struct cl_parser parser;
	struct cm_buf line;
	bool cut; /* the line is too long, and `line` holds its first bytes */
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

const char cl_too_long[] = "a line longer than 4194304 bytes";
_Static_assert(CL_RECORD_MAX == 4194304u, "cl_too_long says it");

enum cm_rc cl_parser_row(struct cl_parser *p, const char *device, const char *why, struct cm_err *err)
{
	struct cl_row row = { .device = device, .text = p->text, .line = p->line, .why = why };
	char number[24];

	if (!p->conf->device_field) {
		(void)snprintf(number, sizeof number, "%" PRIu64, p->rows);
		row.device = number;
	} else if (!device) {
		row.why = why ? why : "it cannot be told which device this is";
	} else if (*device == '\0') {
		row.device = NULL;
		row.why = "the device field is empty";
	} else if (strlen(device) > CL_DEVICE_MAX) {
		row.device = NULL;
		row.why = "the device field is longer than 200 bytes";
	}
	return p->conf->on_row(p->conf->user, &row, err);
}

enum cm_rc cl_reader_new(const struct cl_reader_conf *conf, struct cl_reader **out, struct cm_err *err)
{
	struct cl_reader *r;
	enum cm_rc rc;

	if (conf->format != CL_FORMAT_CSV && conf->format != CL_FORMAT_NDJSON)
		return cm_fail(err, CM_EUSAGE, "%s: say --format csv or --format ndjson", conf->name);
	r = calloc(1, sizeof *r);
	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->conf = *conf;
	r->format = formats[conf->format];
	r->parser.conf = &r->conf;
	cm_buf_init(&r->line, CL_RECORD_MAX);
	r->line.secret = 1;
	r->parser.text = calloc(conf->fields, sizeof *r->parser.text);
	rc = r->parser.text ? r->format->open(&r->parser, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK) {
		free(r->parser.text);
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
	free(r->parser.text);
	cm_buf_fini(&r->line);
	free(r);
}

static enum cm_rc die(struct cl_reader *r, enum cm_rc rc, const struct cm_err *err)
{
	r->dead = true;
	r->why = *err;
	return rc;
}

/* Hand the collected line, or the beginning of a line that is too long, to the parser. */
static enum cm_rc take_line(struct cl_reader *r, struct cm_err *err)
{
	static const uint8_t bom[3] = { 0xef, 0xbb, 0xbf };
	uint8_t *line = r->line.data;
	size_t n = r->line.len;
	enum cm_rc rc;

	r->parser.line++;
	if (!r->cut) {
		n -= n > 0 && line[n - 1] == '\n';
		n -= n > 0 && line[n - 1] == '\r';
	}
	if (r->parser.line == 1 && n >= sizeof bom && memcmp(line, bom, sizeof bom) == 0) {
		line += sizeof bom;
		n -= sizeof bom;
	}
	for (size_t i = 0; i < r->conf.fields; i++)
		r->parser.text[i] = NULL;
	rc = r->format->take(&r->parser, line, n, r->cut, err);
	r->cut = false;
	r->line.len = 0;
	return rc;
}

/* Append to the current line; of a line that is too long only the beginning is kept. */
static enum cm_rc collect(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	size_t room = CL_RECORD_MAX - r->line.len;

	if (r->cut)
		return CM_OK;
	r->cut = n > room;
	return cm_buf_put(&r->line, bytes, n < room ? n : room) == CM_OK
		       ? CM_OK
		       : cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc cl_reader_feed(struct cl_reader *r, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	if (r->dead) {
		*err = r->why;
		return err->code;
	}
	while (n > 0) {
		const uint8_t *newline = memchr(bytes, '\n', n);
		size_t part = newline ? (size_t)(newline - bytes) + 1 : n;
		enum cm_rc rc = collect(r, bytes, part, err);

		if (rc == CM_OK && newline)
			rc = take_line(r, err);
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
	if (r->line.len > 0)
		rc = take_line(r, err);
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
		       ? CM_OK /* what else is wrong is said when it is read */
		       : cm_fail(err, CM_EDATA, "%s: not a regular file, and it is read more than once",
				 path);
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
	while (rc == CM_OK) {
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
	if (rc == CM_OK)
		rc = cl_reader_end(r, err);
	explicit_bzero(chunk, sizeof chunk);
	cl_reader_free(r);
	if (!is_stdin)
		(void)close(fd);
	return rc;
}
