/* tool_demo_complaints.c - why a round came to nothing, in the words of the daemons that took no part. */
#include <stdio.h>
#include <string.h>

#include "cm_file.h"
#include "tool_demo_private.h"

#define LOG_MAX (64u << 20)

static enum cm_rc complaint(
	const struct demo *d, enum demo_party party, const char *msg, const char *reason, struct cm_err *err)
{
	if (d->json)
		return demo_emit("complaint",
			json_pack("{s:s, s:s, s:s}", "party", demo_party_name[party], "message", msg,
				"reason", reason),
			err);
	return printf("  %s: %s: %s\n", demo_party_name[party], msg, reason) > 0 && fflush(stdout) == 0
		       ? CM_OK
		       : cm_fail(err, CM_EIO, "cannot write an event");
}

/* A line of a daemon's log; `last` is the reason before, which is not said twice. */
static enum cm_rc hear(
	const struct demo *d, enum demo_party party, char *line, char last[256], struct cm_err *err)
{
	json_error_t why;
	json_t *o = json_loads(line, 0, &why);
	const char *level = json_string_value(json_object_get(o, "level"));
	const char *msg = json_string_value(json_object_get(o, "msg"));
	const char *reason = json_string_value(json_object_get(o, "reason"));
	enum cm_rc rc = CM_OK;

	if (level != NULL && (strcmp(level, "warn") == 0 || strcmp(level, "error") == 0) && msg != NULL &&
		reason != NULL && strncmp(last, reason, 255) != 0) {
		(void)snprintf(last, 256, "%s", reason);
		rc = complaint(d, party, msg, reason, err);
	}
	json_decref(o);
	return rc;
}

static enum cm_rc hear_all(struct demo *d, enum demo_party party, struct cm_err *err)
{
	char path[DEMO_PATH], name[32], last[256] = "", *end;
	struct cm_buf text;
	enum cm_rc rc;

	cm_buf_init(&text, LOG_MAX);
	(void)snprintf(name, sizeof name, "%s.log", demo_party_name[party]);
	rc = demo_path(d, name, path, err);
	if (rc == CM_OK)
		rc = cm_file_read(path, LOG_MAX, &text, err);
	while (rc == CM_OK && d->heard[party] < text.len &&
		(end = memchr(text.data + d->heard[party], '\n', text.len - d->heard[party])) != NULL) {
		char *line = (char *)text.data + d->heard[party];

		*end = '\0';
		d->heard[party] += (size_t)(end + 1 - line);
		rc = hear(d, party, line, last, err);
	}
	cm_buf_fini(&text);
	return rc;
}

enum cm_rc demo_complaints(struct demo *d, struct cm_err *err)
{
	enum cm_rc rc = hear_all(d, DEMO_CLIENT, err);

	return rc == CM_OK ? hear_all(d, DEMO_SHUFFLER, err) : rc;
}
