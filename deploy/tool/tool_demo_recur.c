/* tool_demo_recur.c (tool_demo_private.h) - turns rounds of a plan that recur at times into rounds that
 * repeat without times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool_demo_private.h"

/* Skip a string, a comment or one byte. */
static const char *skip(const char *at, const char *end)
{
	const char *stop;

	if (*at == '"') {
		for (at++; at < end && *at != '"'; at++)
			at += *at == '\\' && at + 1 < end;
		return at < end ? at + 1 : at;
	}
	if (*at == '#' || (*at == '/' && at + 1 < end && at[1] == '/')) {
		stop = memchr(at, '\n', (size_t)(end - at));
		return stop ? stop : end;
	}
	if (*at == '/' && at + 1 < end && at[1] == '*') {
		for (at += 2; at + 1 < end && !(at[0] == '*' && at[1] == '/'); at++)
			;
		return at + 2 < end ? at + 2 : end;
	}
	return at + 1;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_of(const char *set, char c)
{
	return c != '\0' && strchr(set, c);
}

/* Change the setting whose name is from `key` to `at`.  Returns where the rest of the text begins, or key
 * if it is no setting to change.  *number: the setting's new value; 0 if the setting is removed. */
static const char *setting(const char *key, const char *at, const char *end, uint64_t most, uint64_t *number)
{
	const size_t len = (size_t)(at - key);
	const bool times = len == 5 && (memcmp(key, "every", 5) == 0 || memcmp(key, "start", 5) == 0),
		   count = (len == 5 && memcmp(key, "count", 5) == 0) ||
			   (len == 6 && memcmp(key, "repeat", 6) == 0);
	const char *value = at, *stop;

	while (value < end && is_of(" \t\r\n=:", *value))
		value++;
	if ((!times && !count) || value == at || value == end)
		return key;
	for (stop = value; stop < end && !is_of(";,}\r\n", *stop);)
		stop = skip(stop, end);
	*number = count ? strtoull(value, NULL, 10) : 0;
	*number = *number > most ? most : *number;
	return times && stop < end && (*stop == ';' || *stop == ',') ? stop + 1 : stop;
}

/* Append the line ends between both places, so that what follows stays on its line. */
static enum cm_rc keep_lines(struct cm_buf *out, const char *from, const char *to)
{
	enum cm_rc rc = CM_OK;

	for (; rc == CM_OK && from < to; from++)
		if (*from == '\n')
			rc = cm_buf_put(out, from, 1);
	return rc;
}

/* Append the word from `key` to `at` in a round, changed if it is a setting to change.  *next: where the
 * rest of the text begins. */
static enum cm_rc take_word(const char *key, const char *at, const char *end, uint64_t most,
	struct cm_buf *out, const char **next)
{
	uint64_t number = 0;
	char text[40];
	enum cm_rc rc;

	*next = setting(key, at, end, most, &number);
	if (*next == key) {
		*next = at;
		return cm_buf_put(out, key, (size_t)(at - key));
	}
	(void)snprintf(text, sizeof text, "repeat = %llu", (unsigned long long)number);
	rc = number > 0 ? cm_buf_put(out, text, strlen(text)) : CM_OK;
	return rc == CM_OK ? keep_lines(out, key, *next) : rc;
}

enum cm_rc tool_demo_recur(const char *text, size_t n, uint64_t most, struct cm_buf *out, struct cm_err *err)
{
	const char *at = text, *end = text + n, *key;
	bool rounds = false;
	unsigned depth = 0;
	enum cm_rc rc = CM_OK;

	while (rc == CM_OK && at < end) {
		key = at;
		if (!is_word(*at)) {
			depth += is_of("({[", *at);
			depth -= depth > 0 && is_of(")}]", *at);
			at = skip(at, end);
			rc = cm_buf_put(out, key, (size_t)(at - key));
			continue;
		}
		while (at < end && is_word(*at))
			at++;
		if (rounds && depth == 2) {
			rc = take_word(key, at, end, most, out, &at);
			continue;
		}
		if (depth == 0)
			rounds = at - key == 6 && memcmp(key, "rounds", 6) == 0;
		rc = cm_buf_put(out, key, (size_t)(at - key));
	}
	return rc == CM_OK ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}
