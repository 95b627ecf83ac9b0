/* tool_demo_complaints.c (tool_demo_private.h) - reports why a round failed, from the logs of the daemons
 * that took no part. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cm_file.h"
#include "tool_demo_private.h"

#define LOG_MAX (64u << 20)

static enum cm_rc complaint(const struct demo *d, enum tool_demo_party party, const char *msg,
	const char *reason, struct cm_err *err)
{
	if (d->json)
		return tool_demo_emit("complaint",
			json_pack("{s:s, s:s, s:s}", "party", tool_demo_party_name[party], "message", msg,
				"reason", reason),
			err);
	return printf("  %s: %s: %s\n", tool_demo_party_name[party], msg, reason) > 0 && fflush(stdout) == 0
		       ? CM_OK
		       : cm_fail(err, CM_EIO, "cannot write an event");
}

/* Whether a log line is about a round.  Such a line is reported at once; other lines may be about a
 * connection that comes back. */
static bool is_of_round(const char *msg)
{
	return strncmp(msg, "round ", 6) == 0;
}

/* Keep the reason why the client takes no part.  A refusal is final.  If a round was passed over, the code
 * is the exit code of its cause: waiting may help after EX_TEMPFAIL only, because nobody writes to the
 * demo's readings. */
static void note_given_up(struct demo *d, const char *msg, const char *reason, json_int_t code)
{
	/* A client of one class may refuse what the clients of other classes answer. */
	bool refused = d->clients == 1 && strcmp(msg, "round refused") == 0;

	if ((!refused && strcmp(msg, "round passed over") != 0) || d->given_up.code != CM_OK)
		return;
	if (refused)
		(void)cm_fail(&d->given_up, CM_EPERM, "the client takes no part: %.280s", reason);
	for (int c = CM_EOTHER; !refused && c <= CM_ECONFIG; c++)
		if (c != CM_ELATER && cm_exit_code((enum cm_rc)c) == code)
			(void)cm_fail(
				&d->given_up, (enum cm_rc)c, "the client takes no part: %.280s", reason);
}

/* Handles a line of a daemon's log; `last` is the reason reported before, which is not repeated. */
static enum cm_rc hear(struct demo *d, enum tool_demo_party party, char *line, bool rounds_only,
	char last[256], struct cm_err *err)
{
	json_error_t why;
	json_t *o = json_loads(line, 0, &why);
	const char *level = json_string_value(json_object_get(o, "level"));
	const char *msg = json_string_value(json_object_get(o, "msg"));
	const char *reason = json_string_value(json_object_get(o, "reason"));
	enum cm_rc rc = CM_OK;

	if (level && (strcmp(level, "warn") == 0 || strcmp(level, "error") == 0) && msg && reason &&
		(!rounds_only || is_of_round(msg)) && strncmp(last, reason, 255) != 0) {
		(void)snprintf(last, 256, "%s", reason);
		rc = complaint(d, party, msg, reason, err);
		if (party >= DEMO_CLIENT)
			note_given_up(d, msg, reason, json_integer_value(json_object_get(o, "code")));
	}
	json_decref(o);
	return rc;
}

/* Reads the log from where the last reading of the same kind ended; lines that the other kind has reported
 * are left out. */
static enum cm_rc hear_all(struct demo *d, enum tool_demo_party party, bool rounds_only, struct cm_err *err)
{
	size_t *heard = rounds_only ? &d->heard_of_rounds[party] : &d->heard[party];
	char path[DEMO_PATH], name[32], *end;
	struct cm_buf text;
	struct stat st;
	enum cm_rc rc;

	(void)snprintf(name, sizeof name, "%s.log", tool_demo_party_name[party]);
	rc = tool_demo_path(d, name, path, err);
	if (rc != CM_OK || (stat(path, &st) == 0 && (size_t)st.st_size <= *heard))
		return rc; /* nothing new was logged */
	cm_buf_init(&text, LOG_MAX);
	if (rc == CM_OK)
		rc = cm_file_read(path, LOG_MAX, &text, err);
	while (rc == CM_OK && *heard < text.len &&
		(end = memchr(text.data + *heard, '\n', text.len - *heard))) {
		char *line = (char *)text.data + *heard;

		*end = '\0';
		*heard += (size_t)(end + 1 - line);
		rc = hear(d, party, line, rounds_only, d->last[party], err);
	}
	cm_buf_fini(&text);
	return rc;
}

enum cm_rc tool_demo_complaints(struct demo *d, bool rounds_only, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (unsigned k = 0; rc == CM_OK && k < d->clients; k++)
		if (d->pid[DEMO_CLIENT + k] != 0)
			rc = hear_all(d, (enum tool_demo_party)(DEMO_CLIENT + k), rounds_only, err);
	return rc == CM_OK ? hear_all(d, DEMO_SHUFFLER, rounds_only, err) : rc;
}
