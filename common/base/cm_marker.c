/* cm_marker.c - reads and writes the file that says that a party has been in service. */
#include "cm_marker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_clock.h"
#include "cm_file.h"

#define NOTE     "in-service"
#define NOTE_MAX ((size_t)1 << 20)
#define STAMP    20u /* bytes of a time such as "2026-11-21T02:30:17Z", without NUL */

static const char lost[] = " lost, its loss accepted\n";

/* Append the file's contents to b; if there is no file, returns CM_OK with *there false. */
static enum cm_rc load(const char *path, bool *there, struct cm_buf *b, struct cm_err *err)
{
	enum cm_rc rc = cm_file_read(path, NOTE_MAX, b, err);
	struct stat st;

	*there = rc == CM_OK;
	/* Anything else with that name, such as a folder, counts as existing, too. */
	return rc == CM_ENOINPUT && stat(path, &st) != 0 && errno == ENOENT ? CM_OK : rc;
}

static void parse(const struct cm_buf *b, struct cm_marker *out)
{
	const char *at = (const char *)b->data, *end;

	if (b->len == 0)
		return;
	end = at + b->len;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = line_end ? (size_t)(line_end - at) + 1 : (size_t)(end - at);

		if (len == STAMP + sizeof lost - 1 && memcmp(at + STAMP, lost, sizeof lost - 1) == 0) {
			out->losses++;
			memcpy(out->last, at, STAMP);
		}
		at += len;
	}
}

/* Add a line; if `again` is false, only when the file does not exist. */
static enum cm_rc add(const char *dir, const char *what, bool again, struct cm_err *err)
{
	char *path = cm_file_join(dir, NOTE), line[64], when[32];
	struct cm_buf b;
	bool there = false;
	enum cm_rc rc = path ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	cm_buf_init(&b, NOTE_MAX);
	if (rc == CM_OK)
		rc = load(path, &there, &b, err);
	if (rc == CM_OK && (again || !there)) {
		cm_clock_text(cm_clock_wall_ms(), when);
		(void)snprintf(line, sizeof line, "%.*s%s", (int)STAMP, when, what);
		rc = cm_buf_put(&b, line, strlen(line)) == CM_OK
			     ? cm_file_write(path, b.data, b.len, 0600, err)
			     : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	cm_buf_fini(&b);
	free(path);
	return rc;
}

enum cm_rc cm_marker_read(const char *dir, struct cm_marker *out, struct cm_err *err)
{
	char *path = cm_file_join(dir, NOTE);
	struct cm_buf b;
	enum cm_rc rc;

	*out = (struct cm_marker){ .there = false };
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	cm_buf_init(&b, NOTE_MAX);
	rc = load(path, &out->there, &b, err);
	if (rc == CM_OK)
		parse(&b, out);
	cm_buf_fini(&b);
	free(path);
	return rc;
}

enum cm_rc cm_marker_make(const char *dir, struct cm_err *err)
{
	return add(dir, " in service\n", false, err);
}

enum cm_rc cm_marker_add_loss(const char *dir, struct cm_err *err)
{
	return add(dir, lost, true, err);
}
