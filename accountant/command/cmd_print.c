/* cmd_print.c - prints faults, numbers and JSON (cmd.h). */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_text.h"
#include "cmd.h"

#define DIGITS 6

enum cm_rc cmd_fail(enum cm_rc code, const char *format, ...)
{
	char text[1024], shown[1024];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	cm_text_copy(shown, sizeof shown, text);
	(void)fprintf(stderr, "tombola-accountant: %s\n", shown);
	return code;
}

double cmd_now(void)
{
	return 1e-9 * (double)cm_clock_mono_ns();
}

enum cm_rc cmd_create(const char *path, FILE **to)
{
	*to = path ? fopen(path, "w") : stdout;
	return *to ? CM_OK : cmd_fail(CM_ECREATE, "%s: %s", path, strerror(errno));
}

enum cm_rc cmd_close(const char *path, FILE *to)
{
	bool bad = path && ferror(to);

	bad = (path && fclose(to) != 0) || bad;
	return bad ? cmd_fail(CM_EIO, "%s: cannot be written", path) : CM_OK;
}

const char *cmd_near(double x, char out[CMD_NUMBER_ROOM])
{
	(void)snprintf(out, CMD_NUMBER_ROOM, "%.*g", DIGITS, x);
	return out;
}

/* Print the nearest number of six digits that is at least x (sign 1) or at most x (sign -1): the nearest of
 * all, moved by half a unit in the last digit until it is. */
static const char *outwards(double x, double sign, char out[CMD_NUMBER_ROOM])
{
	double unit = x > 0 && isfinite(x) ? pow(10, floor(log10(x)) - (DIGITS - 1)) : 0;

	cmd_near(x, out);
	for (int i = 1; unit > 0 && sign * (strtod(out, NULL) - x) < 0 && i < 8; i++)
		cmd_near(x + sign * unit * i / 2, out);
	return out;
}

const char *cmd_up(double x, char out[CMD_NUMBER_ROOM])
{
	return outwards(x, 1, out);
}

const char *cmd_down(double x, char out[CMD_NUMBER_ROOM])
{
	return outwards(x, -1, out);
}

static void member(struct cmd_json *j, const char *key)
{
	if (j->comma)
		fputc(',', j->to);
	j->comma = true;
	if (key)
		fprintf(j->to, "\"%s\":", key);
}

struct cmd_json cmd_json_begin(FILE *to)
{
	struct cmd_json j = { .to = to };

	cmd_json_open(&j, NULL, '{');
	cmd_json_text(&j, "schema", "tombola.accountant/1");
	return j;
}

void cmd_json_number(struct cmd_json *j, const char *key, double x)
{
	member(j, key);
	if (isfinite(x))
		fprintf(j->to, "%.17g", x);
	else
		fputs("null", j->to);
}

void cmd_json_count(struct cmd_json *j, const char *key, uint64_t n)
{
	member(j, key);
	fprintf(j->to, "%llu", (unsigned long long)n);
}

void cmd_json_text(struct cmd_json *j, const char *key, const char *text)
{
	member(j, key);
	if (!text) {
		fputs("null", j->to);
		return;
	}
	fputc('"', j->to);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '"' || *c == '\\')
			fprintf(j->to, "\\%c", *c);
		else if (*c < 0x20 || *c > 0x7e)
			fprintf(j->to, "\\u%04x", *c);
		else
			fputc(*c, j->to);
	fputc('"', j->to);
}

void cmd_json_bool(struct cmd_json *j, const char *key, bool b)
{
	member(j, key);
	fputs(b ? "true" : "false", j->to);
}

void cmd_json_open(struct cmd_json *j, const char *key, char bracket)
{
	member(j, key);
	fputc(bracket, j->to);
	j->comma = false;
}

void cmd_json_close(struct cmd_json *j, char bracket)
{
	fputc(bracket, j->to);
	j->comma = true;
}

void cmd_json_bound(struct cmd_json *j, const char *quantity, struct acct_bound b)
{
	char key[32];

	(void)snprintf(key, sizeof key, "%s_lower", quantity);
	cmd_json_number(j, key, b.lower);
	(void)snprintf(key, sizeof key, "%s_upper", quantity);
	cmd_json_number(j, key, b.upper);
}

static const char *reduction(bool published)
{
	return published ? "published" : "proved";
}

void cmd_json_method(
	struct cmd_json *j, const struct acct_method *m, bool published, const struct acct_method_answer *a)
{
	cmd_json_text(j, "method", m->name);
	cmd_json_text(j, "bound", reduction(published));
	cmd_json_text(j, "worth", acct_worth_text(a->worth));
	if (a->note)
		cmd_json_text(j, "note", a->note);
}

void cmd_say_bound(const char *quantity, const struct acct_method_answer *a)
{
	char low[CMD_NUMBER_ROOM], high[CMD_NUMBER_ROOM];
	struct acct_bound b = a->bound;

	if (a->worth == ACCT_PROVED && isinf(b.upper))
		printf("no finite %s is proved (at least %s)", quantity, cmd_down(b.lower, low));
	else if (a->worth == ACCT_LOWER)
		printf("%s at least %s", quantity, cmd_down(b.lower, low));
	else if (a->worth == ACCT_PROVED && b.lower > 0)
		printf("%s at most %s (at least %s)", quantity, cmd_up(b.upper, high),
			cmd_down(b.lower, low));
	else if (a->worth == ACCT_PROVED)
		printf("%s at most %s", quantity, cmd_up(b.upper, high));
	else if (b.lower < b.upper && b.lower > 0)
		printf("%s %s to %s", quantity, cmd_down(b.lower, low), cmd_up(b.upper, high));
	else
		printf("%s %s", quantity, cmd_near(b.upper, high));
}

void cmd_say_worth(const struct acct_method *m, bool published, const struct acct_method_answer *a)
{
	printf("%s: method %s", acct_worth_text(a->worth), m->name);
	if (published)
		printf(", published reduction");
	if (a->note)
		printf("; %s", a->note);
	putchar('\n');
}
