/* cmd_ledger.c - lines of an exported ledger to records. */
#include "cmd_ledger.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A record's cells are at most ACCT_MAX_CELLS times three numbers, twice: far below. */
#define MOST_LINE 65536u

struct cmd_ledger {
	const char *path;
	FILE *file;
	size_t line;
	char text[MOST_LINE];
};

/* The object being read; the first fault is said and remembered. */
struct source {
	const struct cmd_ledger *ledger;
	const json_t *object;
	bool bad;
};

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

#define FAULT(s, ...)                                                                        \
	do {                                                                                 \
		if (!(s)->bad)                                                               \
			(void)cmd_ledger_fault((s)->ledger, (s)->ledger->line, __VA_ARGS__); \
		(s)->bad = true;                                                             \
	} while (0)

int cmd_ledger_open(const char *path, struct cmd_ledger **out)
{
	struct cmd_ledger *l = calloc(1, sizeof *l);
	bool standard = strcmp(path, "-") == 0;
	struct stat st;

	if (!l)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	l->path = standard ? "standard input" : path;
	l->file = standard ? stdin : fopen(path, "r");
	if (l->file && !standard && fstat(fileno(l->file), &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)fclose(l->file);
		l->file = NULL;
		errno = EISDIR;
	}
	if (!l->file) {
		int code = cmd_fail(CMD_NO_INPUT, "%s: %s", path, strerror(errno));

		free(l);
		return code;
	}
	*out = l;
	return 0;
}

void cmd_ledger_close(struct cmd_ledger *l)
{
	if (!l)
		return;
	if (l->file != stdin)
		(void)fclose(l->file);
	free(l);
}

/* 1: a line, its length in *len; 0: the end; else an exit code. */
static int next_line(struct cmd_ledger *l, size_t *len)
{
	size_t n = 0;
	int c;

	l->line++;
	while ((c = getc(l->file)) != EOF && c != '\n') {
		if (n == sizeof l->text)
			return cmd_ledger_fault(l, l->line, "the line is longer than %u bytes", MOST_LINE);
		l->text[n++] = (char)c;
	}
	*len = n;
	if (ferror(l->file))
		return cmd_fail(CMD_WRITE, "%s: cannot be read", l->path);
	if (c == EOF && n > 0)
		return cmd_ledger_fault(l, l->line, "the line is not ended: the file was cut off");
	return c == EOF ? 0 : 1;
}

static const json_t *get(struct source *s, const char *key)
{
	const json_t *v = json_object_get(s->object, key);

	if (!v)
		FAULT(s, "%s is missing", key);
	return v;
}

static double real(struct source *s, const char *key)
{
	const json_t *v = get(s, key);

	if (json_is_string(v) && strcmp(json_string_value(v), "inf") == 0)
		return INFINITY;
	if (!json_is_number(v))
		FAULT(s, "%s is not a number", key);
	return json_number_value(v);
}

/* A number in [least, most]. */
static double real_within(struct source *s, const char *key, double least, double most)
{
	double x = real(s, key);

	if (!(x >= least && x <= most))
		FAULT(s, "%s is out of range", key);
	return x;
}

static uint64_t count(struct source *s, const char *key)
{
	const json_t *v = get(s, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		FAULT(s, "%s is not a whole number", key);
	return json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v) : 0;
}

static void text(struct source *s, const char *key, char out[CMD_LEDGER_NAME])
{
	const json_t *v = get(s, key);

	if (!json_is_string(v) || json_string_length(v) >= CMD_LEDGER_NAME)
		FAULT(s, "%s is not a short text", key);
	else
		(void)snprintf(out, CMD_LEDGER_NAME, "%s", json_string_value(v));
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static void hex(struct source *s, const char *key, char *out, size_t digits)
{
	const json_t *v = get(s, key);
	const char *t = json_is_string(v) ? json_string_value(v) : "";

	if (strlen(t) != digits || strspn(t, "0123456789abcdef") != digits)
		FAULT(s, "%s is not %zu hexadecimal digits", key, digits);
	else
		memcpy(out, t, digits + 1);
}

/* A key that is not understood could stand for a loss: none is passed over. */
static void only(struct source *s, const char *const *known, const char *where)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)s->object, key, v)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			FAULT(s, "%s: no such key '%.40s'", where, key);
	}
}

static void cells(struct source *account, struct acct_round *r)
{
	static const char *const known[] = { "omega", "u", "v", NULL };
	const json_t *list = get(account, "cells");
	struct source s = *account;

	if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > ACCT_MAX_CELLS) {
		FAULT(account, "account: cells is not a list of 1 to %u", ACCT_MAX_CELLS);
		return;
	}
	r->cells = json_array_size(list);
	for (size_t i = 0; i < r->cells; i++) {
		s.object = json_array_get(list, i);
		only(&s, known, "account: cells");
		r->cell[i].omega = real(&s, "omega");
		r->cell[i].u = real(&s, "u");
		r->cell[i].v = real(&s, "v");
	}
	account->bad = s.bad;
}

/* The round's text must say what its cells say. */
static void compare_spec(struct source *s, const struct acct_round *r)
{
	const json_t *v = get(s, "spec");
	struct acct_spec spec;
	char why[256] = "";

	if (!json_is_string(v))
		FAULT(s, "account: spec is not a text");
	else if (acct_spec_parse(json_string_value(v), &spec, why, sizeof why))
		FAULT(s, "account: spec: %s", why);
	else if (!acct_round_equal(&spec.round, r))
		FAULT(s, "account: cells and spec do not say the same");
}

static void account(struct source *record, struct cmd_record *r)
{
	static const char *const known[] = { "cells", "n", "dummies", "count", "spec", NULL };
	struct source s = { .ledger = record->ledger, .object = get(record, "account"), .bad = record->bad };
	const char *why = "";

	if (!json_is_object(s.object)) {
		FAULT(record, "account is not an object");
		return;
	}
	only(&s, known, "account");
	r->round.count = count(&s, "count");
	if (!s.bad && r->round.count != 1)
		FAULT(&s, "account: count is not 1");
	r->round.others = count(&s, "n");
	if (!s.bad && r->round.others-- == 0)
		FAULT(&s, "account: n is 0");
	r->round.dummies = count(&s, "dummies");
	cells(&s, &r->round);
	if (!s.bad && acct_round_check(&r->round, &why))
		FAULT(&s, "account: %s", why);
	if (!s.bad)
		compare_spec(&s, &r->round);
	record->bad = s.bad;
}

static void charge(struct source *s, struct cmd_record *r)
{
	text(s, "query", r->query);
	r->epsilon_round = real_within(s, "epsilon_round", 0, INFINITY);
	r->epsilon_total = real_within(s, "epsilon_total", 0, INFINITY);
	if (r->kind == CMD_REFUSED)
		return;
	r->min_reports = count(s, "min_reports");
	r->colluders = count(s, "colluders");
	r->dummies_each = count(s, "dummies_per_client");
	if (json_object_get(s->object, "shuffler_dummies"))
		r->dummies_added = count(s, "shuffler_dummies");
	r->honest_fraction = real_within(s, "honest_fraction", 0, 1);
	if (json_object_get(s->object, "share"))
		r->share = real_within(s, "share", 0, INFINITY);
	account(s, r);
}

static void body(struct source *s, struct cmd_record *r)
{
	if (r->kind == CMD_OPENED) {
		text(s, "population", r->population);
		text(s, "unit", r->unit);
		text(s, "mode", r->mode);
		r->limit = real_within(s, "epsilon_limit", 0, 1e300);
		r->delta = real_within(s, "delta", 0, 1);
		if (!s->bad && !(r->delta > 0 && r->delta < 1))
			FAULT(s, "delta is out of range");
		return;
	}
	hex(s, "round_id", r->id, CMD_LEDGER_ID);
	if (r->kind == CMD_RESERVED || r->kind == CMD_REFUSED)
		r->number = count(s, "round");
	if (r->kind == CMD_CHARGED || r->kind == CMD_VOID)
		r->participants = count(s, "participants");
	if (r->kind == CMD_RESERVED || r->kind == CMD_CHARGED || r->kind == CMD_REFUSED)
		charge(s, r);
}

static void record(struct source *s, struct cmd_record *r)
{
	static const char *const kinds[] = { "open", "reserve", "charge", "settle", "void", "refuse" };
	char schema[CMD_LEDGER_NAME] = "", kind[CMD_LEDGER_NAME] = "";
	size_t k = 0;

	text(s, "schema", schema);
	if (!s->bad && strcmp(schema, "tombola.ledger/1") != 0)
		FAULT(s, "schema is '%.40s', not tombola.ledger/1", schema);
	text(s, "kind", kind);
	while (k < sizeof kinds / sizeof *kinds && strcmp(kind, kinds[k]) != 0)
		k++;
	if (!s->bad && k == sizeof kinds / sizeof *kinds)
		FAULT(s, "no such kind of record: '%.40s'", kind);
	r->kind = (enum cmd_record_kind)k;
	r->seq = count(s, "seq");
	hex(s, "head", r->head, CMD_LEDGER_HASH);
	if (!s->bad)
		body(s, r);
}

int cmd_ledger_next(struct cmd_ledger *l, struct cmd_record *r)
{
	json_error_t e;
	json_t *o;
	size_t len = 0;
	int more = next_line(l, &len);

	if (more != 1)
		return more;
	*r = (struct cmd_record){ .line = l->line, .share = NAN };
	o = json_loadb(l->text, len, JSON_REJECT_DUPLICATES, &e);
	if (!o)
		return cmd_ledger_fault(l, l->line, "%s", e.text);
	struct source s = { .ledger = l, .object = o };
	if (!json_is_object(o))
		FAULT(&s, "not an object");
	else
		record(&s, r);
	json_decref(o);
	return s.bad ? CMD_DATA : 1;
}
