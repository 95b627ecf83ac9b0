/* pl_fault.c - reports what is wrong with a plan file, and on which line. */
#include "pl_fault.h"

#include <stdarg.h>
#include <string.h>

#include "rd_text.h"

static void report(struct pl_checker *c, int line, const char *fmt, va_list ap)
{
	char text[240];

	(void)vsnprintf(text, sizeof text, fmt, ap);
	if (c->faults)
		(void)fprintf(c->faults, "%s:%d: %s\n", c->name, line, text);
	if (c->found++ == 0)
		(void)cm_fail(c->first, CM_ECONFIG, "%s:%d: %s", c->name, line, text);
	c->first->said = c->faults;
}

void pl_fault(struct pl_checker *c, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(c, line, fmt, ap);
	va_end(ap);
}

void pl_fault_of(struct pl_checker *c, int line, const struct cm_err *e)
{
	pl_fault(c, line, "%s", e->msg);
	if (e->code == CM_EINTERNAL)
		c->first->code = CM_EINTERNAL;
}

int pl_round_line(const struct pl_checker *c, const struct pl_round *r, const char *key)
{
	char dotted[64];
	int line;

	(void)snprintf(dotted, sizeof dotted, "rounds.[%u].%s", r->item, key);
	line = cf_line(c->file, dotted);
	return line > 0 ? line : r->line;
}

bool pl_round_says(const struct pl_checker *c, const struct pl_round *r, const char *key)
{
	char dotted[64];

	(void)snprintf(dotted, sizeof dotted, "rounds.[%u].%s", r->item, key);
	return cf_line(c->file, dotted) > 0;
}

void pl_refuse(struct pl_checker *c, const struct pl_round *r, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(c, pl_round_line(c, r, key), fmt, ap);
	va_end(ap);
}

void pl_take_name(struct pl_checker *c, int line, const char *key, const char *text, char *out, size_t room)
{
	size_t n = strlen(text);

	if (n >= room || !rd_is_name(text))
		pl_fault(c, line, "'%s' must be 1 to %zu of a-z, 0-9 and ._-, not starting with . or -", key,
			room - 1);
	else
		memcpy(out, text, n + 1);
}
