/* cl_devices.c - reads a file of device names into a list of pseudonyms. */
#include "cl_devices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_batch.h"
#include "cl_device.h"
#include "cl_readings.h"
#include "cm_buf.h"
#include "cm_file.h"
#include "cm_owned.h"

static const char bom[] = "\xef\xbb\xbf";

struct listed {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	uint32_t line; /* the line that names the device */
};

struct cl_devices {
	struct listed *device;
	size_t n, room;
};

void cl_devices_free(struct cl_devices *d)
{
	if (d)
		free(d->device);
	free(d);
}

size_t cl_devices_n(const struct cl_devices *d)
{
	return d ? d->n : 0;
}

const uint8_t *cl_devices_at(const struct cl_devices *d, size_t i)
{
	return d->device[i].pseudonym;
}

uint32_t cl_devices_line(const struct cl_devices *d, size_t i)
{
	return d->device[i].line;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

const char *cl_devices_fault(const char *name)
{
	if (is_space(name[0]) || is_space(name[strlen(name) - 1]))
		return "a device's name with white space at its ends";
	if (strchr(name, '\r'))
		return "a device's name with a CR, which ends no line here";
	if (strchr(name, '\n'))
		return "a device's name with a line end";
	if (strncmp(name, bom, strlen(bom)) == 0)
		return "a device's name with a byte order mark at its beginning";
	return NULL;
}

static enum cm_rc add(struct cl_devices *d, const char *path, uint32_t line, const char *name,
	const struct cr_key *secret, const char *population, struct cm_err *err)
{
	const char *why = cl_devices_fault(name);
	struct listed *list;

	if (why)
		return cm_fail(err, CM_EDATA, "%s:%u: %s: correct this line", path, line, why);
	if (d->n == CL_BATCH_MAX)
		return cm_fail(err, CM_EDATA, "%s:%u: more than %u devices", path, line, CL_BATCH_MAX);
	list = cm_grow(d->device, d->n, &d->room, sizeof *list);
	if (!list)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	d->device = list;
	cl_device_pseudonym(secret, population, name, d->device[d->n].pseudonym);
	d->device[d->n++].line = line;
	return CM_OK;
}

/* Read a line with fgets, and find whether it contains a NUL.  The last NUL in the buffer is the one that
 * fgets wrote. */
static bool next_line(char *line, size_t size, FILE *f, bool *nul)
{
	size_t end = size;

	memset(line, '\n', size);
	if (!fgets(line, (int)size, f))
		return false;
	while (line[end - 1] != '\0')
		end--;
	*nul = strlen(line) != end - 1;
	return true;
}

static enum cm_rc read_names(struct cl_devices *d, FILE *f, const char *path, const struct cr_key *secret,
	const char *population, struct cm_err *err)
{
	char line[CL_DEVICE_MAX + 8];
	bool nul = false;
	enum cm_rc rc = CM_OK;

	for (uint32_t at = 1; rc == CM_OK && next_line(line, sizeof line, f, &nul); at++) {
		char *name = at == 1 && strncmp(line, bom, strlen(bom)) == 0 ? line + strlen(bom) : line;
		size_t n = strlen(name);
		bool whole = n > 0 && name[n - 1] == '\n';

		if (nul || (!whole && !feof(f)))
			return cm_fail(err, CM_EDATA,
				"%s:%u: a device's name has a NUL byte or more than %u bytes", path, at,
				CL_DEVICE_MAX);
		n -= whole;
		n -= n > 0 && name[n - 1] == '\r';
		name[n] = '\0';
		if (n > CL_DEVICE_MAX)
			return cm_fail(err, CM_EDATA, "%s:%u: a device's name has more than %u bytes", path,
				at, CL_DEVICE_MAX);
		if (n > 0)
			rc = add(d, path, at, name, secret, population, err);
	}
	if (rc == CM_OK && ferror(f) != 0)
		rc = cm_fail(err, errno == EISDIR ? CM_EDATA : CM_EIO, "%s: %s", path, strerror(errno));
	if (rc == CM_OK && d->n == 0)
		rc = cm_fail(err, CM_EDATA, "%s: no device is listed", path);
	return rc;
}

static int by_pseudonym(const void *a, const void *b)
{
	const struct listed *one = *(const struct listed *const *)a,
			    *other = *(const struct listed *const *)b;
	int order = memcmp(one->pseudonym, other->pseudonym, PR_PSEUDONYM_LEN);

	return order != 0 ? order : one->line < other->line ? -1 : 1;
}

/* Refuse a list that names a device twice. */
static enum cm_rc check_distinct(const struct cl_devices *d, const char *path, struct cm_err *err)
{
	const struct listed **sorted = malloc(d->n * sizeof(const struct listed *));
	enum cm_rc rc = CM_OK;

	if (!sorted)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	for (size_t i = 0; i < d->n; i++)
		sorted[i] = &d->device[i];
	qsort(sorted, d->n, sizeof(const struct listed *), by_pseudonym);
	for (size_t i = 1; rc == CM_OK && i < d->n; i++)
		if (memcmp(sorted[i - 1]->pseudonym, sorted[i]->pseudonym, PR_PSEUDONYM_LEN) == 0)
			rc = cm_fail(err, CM_EDATA, "%s:%u: the device of line %u again: delete one", path,
				sorted[i]->line, sorted[i - 1]->line);
	free(sorted);
	return rc;
}

enum cm_rc cl_devices_read(FILE *f, const char *path, const struct cr_key *secret, const char *population,
	struct cl_devices **out, struct cm_err *err)
{
	struct cl_devices *d = calloc(1, sizeof *d);
	enum cm_rc rc = d ? read_names(d, f, path, secret, population, err)
			  : cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);

	if (rc == CM_OK)
		rc = check_distinct(d, path, err);
	if (rc != CM_OK) {
		cl_devices_free(d);
		return rc;
	}
	*out = d;
	return CM_OK;
}

enum cm_rc cl_devices_load(const char *path, const struct cr_key *secret, const char *population,
	struct cl_devices **out, struct cm_err *err)
{
	FILE *f = fopen(path, "re");
	enum cm_rc rc;

	if (!f)
		return cm_fail(err, cm_file_open_code(errno), "%s: %s", path, strerror(errno));
	rc = cm_owned_check(path, fileno(f), err);
	if (rc == CM_OK)
		rc = cl_devices_read(f, path, secret, population, out, err);
	(void)fclose(f);
	return rc;
}
