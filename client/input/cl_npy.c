/* cl_npy.c - reads NumPy arrays as readings. */
#include "cl_npy.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cr_secret.h"

#define MAGIC      "\x93NUMPY"
#define MAGIC_LEN  6u
#define HEADER_MAX 32768u
#define NUMBER_MAX 24u    /* bytes of a number's text and a space */
#define HELD_BYTES 65536u /* how many bytes of rows are read at a time */

struct cl_npy {
	int fd;
	char kind; /* the kind of number: 'f', 'i' or 'u' */
	unsigned size;
	uint64_t rows;
	size_t width;
	off_t from;    /* position of the first number in the file */
	uint8_t *held; /* room for `most` rows; the rows from `first` on were read, `rows_held` of them */
	const uint8_t *bytes; /* the current row, within `held` */
	uint64_t most, first, rows_held;
	float *row;
	char label[NUMBER_MAX];
};

static enum cm_rc bad(const char *path, const char *why, struct cm_err *err)
{
	size_t len = strlen(path);

	return cm_fail(err, CM_EDATA, "%s: %s", len > 200 ? path + len - 200 : path, why);
}

/* Read exactly n bytes at `at`.  false: the file has fewer, or they cannot be read. */
static bool read_at(int fd, void *out, size_t n, off_t at)
{
	uint8_t *to = out;

	while (n > 0) {
		ssize_t got = pread(fd, to, n, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

/* The text after 'key': in the header, which is a Python dictionary. */
static const char *value_of(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	return at ? at + strlen(key) + strspn(at + strlen(key), " ") : NULL;
}

static bool read_type(struct cl_npy *f, const char *descr)
{
	if (strnlen(descr, 5) < 5 || descr[0] != '\'' || (descr[1] != '<' && descr[1] != '|') ||
		descr[3] < '1' || descr[3] > '8' || descr[4] != '\'')
		return false;
	f->kind = descr[2];
	f->size = (unsigned)(descr[3] - '0');
	/* A type of single bytes has no byte order. */
	if (descr[1] == '|' && f->size > 1)
		return false;
	if (f->kind == 'f')
		return f->size == 4 || f->size == 8;
	return (f->kind == 'i' || f->kind == 'u') &&
	       (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

static bool read_shape(struct cl_npy *f, const char *shape, unsigned dims)
{
	char *end;
	unsigned long long rows, width = 1;

	if (*shape != '(' || shape[1] < '0' || shape[1] > '9')
		return false;
	rows = strtoull(shape + 1, &end, 10);
	if (*end++ != ',')
		return false;
	end += strspn(end, " ");
	if (dims == 2) {
		if (*end < '0' || *end > '9')
			return false;
		width = strtoull(end, &end, 10);
	}
	f->rows = rows;
	f->width = (size_t)width;
	return *end == ')' && rows <= INT64_MAX / 8 && width >= 1 && width <= CL_ARRAY_MAX;
}

static const char *read_header(struct cl_npy *f, const char *header, unsigned dims)
{
	const char *descr = value_of(header, "'descr':"), *order = value_of(header, "'fortran_order':"),
		   *shape = value_of(header, "'shape':");

	if (!descr || !order || !shape)
		return "no NumPy array";
	if (!read_type(f, descr))
		return "its numbers must be <f4 or <f8, or integers as labels";
	if (dims == 2 && f->kind != 'f')
		return "its numbers must be <f4 or <f8";
	if (strncmp(order, "False", 5) != 0)
		return "it must be in C order, a row after the other";
	if (!read_shape(f, shape, dims))
		return dims == 2 ? "it must have two dimensions, rows and up to 131072 columns"
				 : "labels must have one dimension";
	return NULL;
}

static const char *open_header(struct cl_npy *f, unsigned dims)
{
	uint8_t head[12];
	char header[HEADER_MAX + 1];
	struct stat st;
	const char *why;
	size_t at, n;

	if (!read_at(f->fd, head, sizeof head, 0) || memcmp(head, MAGIC, MAGIC_LEN) != 0 || head[6] < 1 ||
		head[6] > 3)
		return "no NumPy array";
	at = head[6] == 1 ? 10 : 12;
	n = head[6] == 1 ? cm_get_le16(head + 8) : cm_get_le32(head + 8);
	if (n > HEADER_MAX || !read_at(f->fd, header, n, (off_t)at))
		return "no NumPy array";
	header[n] = '\0';
	why = read_header(f, header, dims);
	if (why)
		return why;
	f->from = (off_t)(at + n);
	if (fstat(f->fd, &st) != 0 || st.st_size < f->from ||
		(uint64_t)(st.st_size - f->from) / (f->width * f->size) < f->rows)
		return "the file is shorter than its header says";
	return NULL;
}

enum cm_rc cl_npy_open(const char *path, unsigned dims, struct cl_npy **out, struct cm_err *err)
{
	struct cl_npy *f = calloc(1, sizeof *f);
	const char *why;

	if (!f)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0) {
		enum cm_rc rc = cm_fail(err, CM_ENOINPUT, "%s: %s", path, strerror(errno));

		free(f);
		return rc;
	}
	why = open_header(f, dims);
	if (!why) {
		f->most = f->width * f->size < HELD_BYTES ? HELD_BYTES / (f->width * f->size) : 1;
		f->held = malloc((size_t)f->most * f->width * f->size);
		f->row = malloc(f->width * sizeof *f->row);
	}
	if (why || !f->held || !f->row) {
		cl_npy_close(f);
		return why ? bad(path, why, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	*out = f;
	return CM_OK;
}

void cl_npy_close(struct cl_npy *f)
{
	if (!f)
		return;
	if (f->held)
		cr_wipe(f->held, (size_t)f->most * f->width * f->size);
	if (f->row)
		cr_wipe(f->row, f->width * sizeof *f->row);
	cr_wipe(f->label, sizeof f->label);
	free(f->held);
	free(f->row);
	(void)close(f->fd);
	free(f);
}

/* Read this row together with the rows after it; if they cannot be read, read this row alone. */
static bool read_row(struct cl_npy *f, uint64_t i)
{
	size_t n = f->width * f->size;

	if (i >= f->rows)
		return false;
	if (i < f->first || i - f->first >= f->rows_held) {
		uint64_t some = f->rows - i < f->most ? f->rows - i : f->most;
		off_t at = f->from + (off_t)(i * n);

		f->first = i;
		f->rows_held = read_at(f->fd, f->held, (size_t)some * n, at) ? some
			       : read_at(f->fd, f->held, n, at)              ? 1
									     : 0;
	}
	f->bytes = f->held + (size_t)(i - f->first) * n;
	return f->rows_held > 0;
}

static double real(const struct cl_npy *f, size_t k)
{
	uint32_t half = cm_get_le32(f->bytes + k * f->size);
	float single;
	double x;
	uint64_t bits;

	if (f->size == 4) {
		memcpy(&single, &half, sizeof single);
		return (double)single;
	}
	bits = cm_get_le64(f->bytes + k * f->size);
	memcpy(&x, &bits, sizeof x);
	return x;
}

const float *cl_npy_row(struct cl_npy *f, uint64_t i)
{
	if (!read_row(f, i))
		return NULL;
	for (size_t k = 0; k < f->width; k++) {
		double x = real(f, k);

		if (!(fabs(x) <= (double)FLT_MAX))
			return NULL;
		f->row[k] = (float)x;
	}
	return f->row;
}

const char *cl_npy_label(struct cl_npy *f, uint64_t i)
{
	uint64_t bits = 0;

	if (!read_row(f, i))
		return NULL;
	if (f->kind == 'f') {
		double x = real(f, 0);

		if (!(x >= 0 && x < 0x1p53) || x != floor(x)) /* only integers are labels */
			return NULL;
		bits = (uint64_t)x;
	} else {
		for (unsigned k = f->size; k-- > 0;)
			bits = bits << 8 | f->bytes[k];
		if (f->kind == 'i' && f->bytes[f->size - 1] >= 0x80)
			return NULL; /* a label is a class, which is never negative */
	}
	(void)snprintf(f->label, sizeof f->label, "%" PRIu64, bits);
	return f->label;
}

/* ---- rows ---- */

/* Write the numbers to `out` as a field's text: nine digits restore a float32 exactly. */
static enum cm_rc numbers_text(const float *x, size_t n, struct cm_buf *out)
{
	char number[NUMBER_MAX];

	out->len = 0;
	for (size_t i = 0; i < n; i++) {
		int len = snprintf(number, sizeof number, "%.9g ", (double)x[i]);

		if (cm_buf_put(out, number, (size_t)len) != CM_OK)
			return CM_EINTERNAL;
	}
	return cm_buf_put(out, "", 1);
}

static enum cm_rc give(struct cl_npy *f, struct cl_npy *labels, uint64_t i, const struct cl_reader_conf *conf,
	const char **text, struct cm_buf *words, struct cm_err *err)
{
	struct cl_row row = { .text = text, .line = i + 1, .numbers = f->width, .by_number = true };
	const float *x = cl_npy_row(f, i);
	char device[NUMBER_MAX];
	enum cm_rc rc = CM_OK;

	(void)snprintf(device, sizeof device, "%" PRIu64, i + 1);
	row.device = device;
	for (size_t k = 0; k < conf->fields; k++)
		text[k] = NULL;
	if (labels)
		text[conf->fields - 1] = cl_npy_label(labels, i);
	if (!x)
		row.why = "a row that cannot be read, or has a number that is not finite";
	else if (conf->numbers)
		row.number = x;
	else {
		rc = numbers_text(x, f->width, words);
		text[0] = (const char *)words->data;
	}
	return rc == CM_OK ? conf->on_row(conf->user, &row, err)
			   : cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc cl_npy_file(
	const char *path, const char *labels, const struct cl_reader_conf *conf, struct cm_err *err)
{
	const char **text = calloc(conf->fields, sizeof *text);
	struct cl_npy *f = NULL, *y = NULL;
	struct cm_buf words;
	enum cm_rc rc = text ? cl_npy_open(path, 2, &f, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	cm_buf_init(&words, (size_t)CL_ARRAY_MAX * NUMBER_MAX);
	words.secret = 1;
	if (rc == CM_OK && labels)
		rc = cl_npy_open(labels, 1, &y, err);
	if (rc == CM_OK && y && y->rows != f->rows)
		rc = bad(labels, "it has another number of rows than the features", err);
	for (uint64_t i = 0; rc == CM_OK && i < f->rows && !cl_readings_over(conf); i++)
		rc = give(f, y, i, conf, text, &words, err);
	cm_buf_fini(&words);
	cl_npy_close(y);
	cl_npy_close(f);
	free(text);
	return rc;
}
