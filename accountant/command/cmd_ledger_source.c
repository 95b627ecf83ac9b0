/* cmd_ledger_source.c - reads members of the objects of an exported ledger. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cmd_ledger_source.h"

int cmd_ledger_fault(const struct cmd_ledger *l, size_t line, const char *format, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return cmd_fail(CMD_DATA, "%s:%zu: %s", l->path, line, text);
}

const json_t *cmd_source_get(struct cmd_source *s, const char *key)
{
	const json_t *v = json_object_get(s->object, key);

	if (!v)
		CMD_SOURCE_FAULT(s, "%s is missing", key);
	return v;
}

double cmd_source_real(struct cmd_source *s, const char *key)
{
	const json_t *v = cmd_source_get(s, key);

	if (json_is_string(v) && strcmp(json_string_value(v), "inf") == 0)
		return INFINITY;
	if (!json_is_number(v))
		CMD_SOURCE_FAULT(s, "%s is not a number", key);
	return json_number_value(v);
}

/* A number in [least, most]. */
double cmd_source_real_within(struct cmd_source *s, const char *key, double least, double most)
{
	double x = cmd_source_real(s, key);

	if (!(x >= least && x <= most))
		CMD_SOURCE_FAULT(s, "%s is out of range", key);
	return x;
}

uint64_t cmd_source_count(struct cmd_source *s, const char *key)
{
	const json_t *v = cmd_source_get(s, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		CMD_SOURCE_FAULT(s, "%s is not a whole number", key);
	return json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v) : 0;
}

void cmd_source_text(struct cmd_source *s, const char *key, char out[CMD_LEDGER_NAME])
{
	const json_t *v = cmd_source_get(s, key);

	if (!json_is_string(v) || json_string_length(v) >= CMD_LEDGER_NAME)
		CMD_SOURCE_FAULT(s, "%s is not a short text", key);
	else
		(void)snprintf(out, CMD_LEDGER_NAME, "%s", json_string_value(v));
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

void cmd_source_hex(struct cmd_source *s, const char *key, char *out, size_t digits)
{
	const json_t *v = cmd_source_get(s, key);
	const char *t = json_is_string(v) ? json_string_value(v) : "";

	if (strlen(t) != digits || strspn(t, "0123456789abcdef") != digits)
		CMD_SOURCE_FAULT(s, "%s is not %zu hexadecimal digits", key, digits);
	else
		memcpy(out, t, digits + 1);
}

/* An unknown key could stand for a loss, so it is a fault. */
void cmd_source_only(struct cmd_source *s, const char *const *known, const char *where)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)s->object, key, v)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			CMD_SOURCE_FAULT(s, "%s: no such key '%.40s'", where, key);
	}
}
