/* cmd_ledger.c - parses lines of an exported ledger into records. */
#include "cmd_ledger_source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cmd_ledger_open(const char *path, struct cmd_ledger **out)
{
	struct cmd_ledger *l = malloc(sizeof *l); /* not zeroed: it holds a line of up to a megabyte */
	bool standard = strcmp(path, "-") == 0;
	struct stat st;

	if (!l)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	l->line = 0;
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
			return cmd_ledger_fault(
				l, l->line, "the line is longer than %u bytes", CMD_LEDGER_LINE);
		l->text[n++] = (char)c;
	}
	*len = n;
	if (ferror(l->file))
		return cmd_fail(CMD_WRITE, "%s: cannot be read", l->path);
	if (c == EOF && n > 0)
		return cmd_ledger_fault(l, l->line, "the line is not ended: the file was cut off");
	return c == EOF ? 0 : 1;
}

static void charge(struct cmd_source *s, struct cmd_record *r)
{
	cmd_source_text(s, "query", r->query);
	r->epsilon_round = cmd_source_real_within(s, "epsilon_round", 0, INFINITY);
	r->epsilon_total = cmd_source_real_within(s, "epsilon_total", 0, INFINITY);
	if (r->kind == CMD_REFUSED)
		return;
	r->min_reports = cmd_source_count(s, "min_reports");
	r->colluders = cmd_source_count(s, "colluders");
	cmd_source_dummies(s, r);
	r->honest_fraction = cmd_source_real_within(s, "honest_fraction", 0, 1);
	if (json_object_get(s->object, "share"))
		r->share = cmd_source_real_within(s, "share", 0, INFINITY);
	cmd_source_account(s, r);
}

static void budget(struct cmd_source *s, struct cmd_record *r)
{
	r->limit = cmd_source_real_within(s, "epsilon_limit", 0, 1e300);
	r->delta = cmd_source_real_within(s, "delta", 0, 1);
	if (!s->bad && !(r->delta > 0 && r->delta < 1))
		CMD_SOURCE_FAULT(s, "delta is out of range");
}

static void opening(struct cmd_source *s, struct cmd_record *r)
{
	cmd_source_text(s, "population", r->population);
	cmd_source_text(s, "unit", r->unit);
	if (!r->slices)
		cmd_source_text(s, "mode", r->mode);
	budget(s, r);
}

static void plan(struct cmd_source *s, struct cmd_record *r)
{
	cmd_source_text(s, "name", r->name);
	cmd_source_text(s, "mode", r->mode);
	r->number = cmd_source_count(s, "number");
	r->tries = cmd_source_count(s, "tries");
	budget(s, r);
}

static bool zero(const char *hex)
{
	return strspn(hex, "0") == strlen(hex);
}

/* As the analyzer begins the reason of a round that the shuffler refused to announce (an_state.h). */
static bool is_refusal(const char *reason)
{
	static const char refused[] = "refused by the shuffler";

	return reason && strncmp(reason, refused, sizeof refused - 1) == 0;
}

static void body(struct cmd_source *s, struct cmd_record *r)
{
	char manifest[CMD_LEDGER_HASH + 1] = "";

	if (r->kind == CMD_OPENED) {
		opening(s, r);
		return;
	}
	if (r->slices && (r->kind == CMD_PLANNED || r->kind == CMD_ENTRY || r->kind == CMD_RESERVED ||
				 r->kind == CMD_REFUSED))
		cmd_source_hex(s, "plan_hash", r->plan, CMD_LEDGER_HASH);
	if (r->kind == CMD_PLANNED) {
		plan(s, r);
		return;
	}
	if (r->kind != CMD_ENTRY)
		cmd_source_hex(s, "round_id", r->id, CMD_LEDGER_ID);
	if (r->kind == CMD_RESERVED || r->kind == CMD_REFUSED || r->kind == CMD_ENTRY)
		r->number = cmd_source_count(s, "round");
	if (json_object_get(s->object, "attempt"))
		r->attempt = cmd_source_count(s, "attempt");
	if (r->kind == CMD_CHARGED || r->kind == CMD_VOID) {
		r->participants = cmd_source_count(s, "participants");
		cmd_source_hex(s, "manifest_hash", manifest, CMD_LEDGER_HASH);
		r->manifest = !zero(manifest);
		r->unasked =
			!r->manifest && is_refusal(json_string_value(json_object_get(s->object, "reason")));
	}
	if (r->kind != CMD_SETTLED && r->kind != CMD_VOID)
		charge(s, r);
}

static void record(struct cmd_source *s, struct cmd_record *r)
{
	static const char *const kinds[] = { "open", "reserve", "charge", "settle", "void", "refuse", "plan",
		"entry" };
	char schema[CMD_LEDGER_NAME] = "", kind[CMD_LEDGER_NAME] = "";
	size_t k = 0, known;

	cmd_source_text(s, "schema", schema);
	s->first = strcmp(schema, "tombola.ledger/1") == 0;
	r->slices = strcmp(schema, "tombola.ledger/3") == 0;
	known = sizeof kinds / sizeof *kinds - (r->slices ? 0 : 2);
	if (!s->bad && !s->first && !r->slices && strcmp(schema, "tombola.ledger/2") != 0)
		CMD_SOURCE_FAULT(s, "schema is '%.40s', not tombola.ledger/1, /2 or /3", schema);
	cmd_source_text(s, "kind", kind);
	while (k < known && strcmp(kind, kinds[k]) != 0)
		k++;
	if (!s->bad && k == known)
		CMD_SOURCE_FAULT(s, "no such kind of record: '%.40s'", kind);
	r->kind = (enum cmd_record_kind)k;
	r->seq = cmd_source_count(s, "seq");
	cmd_source_hex(s, "head", r->head, CMD_LEDGER_HASH);
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
	struct cmd_source s = { .ledger = l, .object = o };
	if (!json_is_object(o))
		CMD_SOURCE_FAULT(&s, "not an object");
	else
		record(&s, r);
	json_decref(o);
	return s.bad ? CMD_DATA : 1;
}
