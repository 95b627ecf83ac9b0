/* cmd_ledger.c - parses lines of an exported ledger into records. */
#include "cmd_ledger.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acct_families.h"
#include "cm_oom.h"
#include "cm_text.h"

/* longest line: a part of a record has at most ACCT_MAX_CELLS times three numbers for cells, and as many
 * for levels, some 16 KB */
#define LINE_ROOM (1u << 20)

struct cmd_ledger {
	const char *path;
	FILE *file;
	size_t line;
	bool starved; /* memory ran out while the last record was read */
	char text[LINE_ROOM];
	struct acct_round part[CMD_LEDGER_PARTS]; /* the parts of the record that was read last */
};

/* The object that is being read.  The first error is printed and remembered. */
struct source {
	struct cmd_ledger *ledger;
	const json_t *object;
	bool first; /* true: the ledger has schema tombola.ledger/1 */
	bool bad;
};

#define SOURCE_FAULT(s, ...)                                                                 \
	do {                                                                                 \
		if (!(s)->bad)                                                               \
			(void)cmd_ledger_fault((s)->ledger, (s)->ledger->line, __VA_ARGS__); \
		(s)->bad = true;                                                             \
	} while (0)

enum cm_rc cmd_ledger_fault(const struct cmd_ledger *l, size_t line, const char *format, ...)
{
	char text[300], shown[300];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	cm_text_copy(shown, sizeof shown, text);
	return cmd_fail(CM_EDATA, "%s:%zu: %s", l->path, line, shown);
}

static const json_t *member(struct source *s, const char *key)
{
	const json_t *v = json_object_get(s->object, key);

	if (!v)
		SOURCE_FAULT(s, "%s is missing", key);
	return v;
}

static double get_real(struct source *s, const char *key)
{
	const json_t *v = member(s, key);

	if (json_is_string(v) && strcmp(json_string_value(v), "inf") == 0)
		return INFINITY;
	if (!json_is_number(v))
		SOURCE_FAULT(s, "%s is not a number", key);
	return json_number_value(v);
}

/* Read a number in [least, most]. */
static double get_real_within(struct source *s, const char *key, double least, double most)
{
	double x = get_real(s, key);

	if (!(x >= least && x <= most))
		SOURCE_FAULT(s, "%s is out of range", key);
	return x;
}

static uint64_t get_count(struct source *s, const char *key)
{
	const json_t *v = member(s, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		SOURCE_FAULT(s, "%s is not a whole number", key);
	return json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v) : 0;
}

static void get_text(struct source *s, const char *key, char out[CMD_LEDGER_NAME])
{
	const json_t *v = member(s, key);

	if (!json_is_string(v) || json_string_length(v) >= CMD_LEDGER_NAME)
		SOURCE_FAULT(s, "%s is not a short text", key);
	else
		cm_text_copy(out, CMD_LEDGER_NAME, json_string_value(v));
}

static void get_hex(struct source *s, const char *key, char *out, size_t digits)
{
	const json_t *v = member(s, key);
	const char *t = json_is_string(v) ? json_string_value(v) : "";

	if (strlen(t) != digits || strspn(t, "0123456789abcdef") != digits)
		SOURCE_FAULT(s, "%s is not %zu hexadecimal digits", key, digits);
	else
		memcpy(out, t, digits + 1);
}

/* Refuse members that are not known: one could stand for a loss. */
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
			SOURCE_FAULT(s, "%s: no such key '%.40s'", where, key);
	}
}

static void cells(struct source *part, struct acct_round *r)
{
	static const char *const known[] = { "omega", "u", "v", NULL };
	const json_t *list = member(part, "cells");
	struct source s = *part;

	if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > ACCT_MAX_CELLS) {
		SOURCE_FAULT(part, "account: cells is not a list of 1 to %u", ACCT_MAX_CELLS);
		return;
	}
	r->cells = json_array_size(list);
	for (size_t i = 0; i < r->cells; i++) {
		s.object = json_array_get(list, i);
		only(&s, known, "account: cells");
		r->cell[i].omega = get_real(&s, "omega");
		r->cell[i].u = get_real(&s, "u");
		r->cell[i].v = get_real(&s, "v");
	}
	part->bad = s.bad;
}

/* Read a round's levels, or its classes; share: the key of a level's share, or of a class's guarantee. */
static void list_of(struct source *part, const char *what, const char *share, struct acct_round *r)
{
	const char *const known[] = { share, "count", NULL };
	const json_t *list = member(part, what);
	struct source s = *part;

	if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > ACCT_MAX_LEVELS) {
		SOURCE_FAULT(part, "account: %s is not a list of 1 to %u", what, ACCT_MAX_LEVELS);
		return;
	}
	r->levels = json_array_size(list);
	for (size_t i = 0; i < r->levels; i++) {
		s.object = json_array_get(list, i);
		only(&s, known, "account: levels");
		r->level[i].share = get_real(&s, share);
		r->level[i].count = get_count(&s, "count");
	}
	part->bad = s.bad;
}

/* Read the levels of a round.  The file counts their participants among its `others`, so they are
 * subtracted from r->others. */
static void levels(struct source *part, struct acct_round *r)
{
	if (!json_object_get(part->object, "levels"))
		return;
	list_of(part, "levels", "share", r);
	for (size_t i = 0; i < r->levels && !part->bad; i++) {
		if (r->level[i].count > r->others)
			SOURCE_FAULT(part, "account: levels are more than the others");
		r->others -= part->bad ? 0 : r->level[i].count;
	}
}

static void shape(struct source *part, double out[3])
{
	const json_t *list = member(part, "shape");

	if (json_array_size(list) != 3)
		SOURCE_FAULT(part, "account: shape is not an array of three numbers");
	for (size_t i = 0; !part->bad && i < 3; i++) {
		const json_t *v = json_array_get(list, i);

		if (json_is_number(v))
			out[i] = json_number_value(v);
		else
			SOURCE_FAULT(part, "account: shape is not an array of three numbers");
	}
}

/* Does the library refuse the round?  If memory ran out that is no error of the file, and is noted in
 * `starved`. */
static bool refuses(struct source *s, enum acct_rc rc)
{
	s->ledger->starved = s->ledger->starved || rc == ACCT_ENOMEM;
	s->bad = s->bad || rc == ACCT_ENOMEM;
	return rc != ACCT_OK;
}

/* Read what is known of the round's messages: an enum acct_messages, or a family. */
static void messages(struct source *part, struct acct_round *r)
{
	double triple = 0, three[3] = { 0, 0, 0 };
	unsigned number = 0;
	const char *why = "";

	if (json_object_get(part->object, "messages"))
		number = (unsigned)fmin(11, (double)get_count(part, "messages"));
	if (number == ACCT_SETS || json_object_get(part->object, "triple"))
		triple = get_real(part, "triple");
	if (number > ACCT_LADDER || json_object_get(part->object, "shape"))
		shape(part, three);
	if (!part->bad && refuses(part, acct_family_read(r, number, triple, three, &why)))
		SOURCE_FAULT(part, "account: %s", why);
}

/* Refuse a round whose text does not mean the same as its numbers. */
static void compare_spec(struct source *s, const struct acct_round *r)
{
	const json_t *v = member(s, "spec");
	struct acct_spec spec;
	char why[256] = "";

	if (!json_is_string(v))
		SOURCE_FAULT(s, "account: spec is not a text");
	else if (refuses(s, acct_spec_parse(json_string_value(v), &spec, why, sizeof why)))
		SOURCE_FAULT(s, "account: spec: %s", why);
	else if (!acct_round_equal(&spec.round, r) || spec.round.count != r->count)
		SOURCE_FAULT(s, "account: cells and spec do not say the same");
}

/* Read the numbers of a round of cells. */
static void numbers(struct source *s, struct acct_round *r)
{
	r->others = get_count(s, "n");
	if (!s->bad && r->others-- == 0)
		SOURCE_FAULT(s, "account: n is 0");
	r->dummies = get_count(s, "dummies");
	cells(s, r);
	levels(s, r);
	if (json_object_get(s->object, "sampling"))
		r->sampling = get_real(s, "sampling");
	messages(s, r);
}

/* Read the numbers of a round whose classes are batches of their own. */
static void classes(struct source *s, struct acct_round *r)
{
	r->event = ACCT_CLASSES_APART;
	r->shape[0] = get_real(s, "symbols");
	list_of(s, "classes", "epsilon0", r);
}

static void part(struct source *record, const json_t *object, struct acct_round *r)
{
	static const char *const apart[] = { "classes", "symbols", "defect", "count", "spec", NULL };
	static const char *const first[] = { "cells", "n", "dummies", "count", "spec", NULL };
	static const char *const known[] = { "cells", "n", "dummies", "levels", "defect", "sampling",
		"messages", "triple", "shape", "count", "spec", NULL };
	struct source s = *record;
	const char *why = "";

	s.object = object;
	*r = (struct acct_round){ 0 };
	if (!json_is_object(object)) {
		SOURCE_FAULT(record, "account: a part is not an object");
		return;
	}
	bool of_classes = !s.first && json_object_get(object, "classes");

	only(&s, s.first ? first : of_classes ? apart : known, "account");
	r->count = get_count(&s, "count");
	if (!s.bad && s.first && r->count != 1)
		SOURCE_FAULT(&s, "account: count is not 1");
	(of_classes ? classes : numbers)(&s, r);
	if (json_object_get(object, "defect"))
		r->defect = get_real(&s, "defect");
	if (!s.bad && refuses(&s, acct_round_check(r, &why)))
		SOURCE_FAULT(&s, "account: %s", why);
	if (!s.bad)
		compare_spec(&s, r);
	record->bad = s.bad;
}

static void account(struct source *record, struct cmd_record *r)
{
	static const char *const known[] = { "parts", NULL };
	struct cmd_ledger *l = record->ledger;
	struct source s = *record;
	const json_t *list;

	s.object = member(record, "account");
	if (!json_is_object(s.object)) {
		SOURCE_FAULT(record, "account is not an object");
		return;
	}
	r->part = l->part;
	r->parts = 1;
	if (s.first) {
		part(record, s.object, &l->part[0]);
		return;
	}
	only(&s, known, "account");
	list = member(&s, "parts");
	r->parts = json_array_size(list);
	if (!json_is_array(list) || r->parts < 1 || r->parts > CMD_LEDGER_PARTS)
		SOURCE_FAULT(&s, "account: parts is not a list of 1 to %u", CMD_LEDGER_PARTS);
	for (size_t i = 0; i < r->parts && !s.bad; i++)
		part(&s, json_array_get(list, i), &l->part[i]);
	record->bad = s.bad;
}

/* Add two counts from a file; UINT64_MAX if the sum is larger. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	return a > 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* Read a chance, which is stored as an integer divided by 2^64, in bytes from the lowest; an absent member
 * means 0.  Rounded up. */
static double chance(struct source *s)
{
	char hex[17] = "";
	double sum = 0;

	if (!json_object_get(s->object, "dummy_chance_le64"))
		return 0;
	get_hex(s, "dummy_chance_le64", hex, 16);
	for (size_t at = 16; at > 0 && !s->bad; at -= 2) {
		const char byte[3] = { hex[at - 2], hex[at - 1], '\0' };

		sum = sum * 256 + (double)strtoul(byte, NULL, 16);
	}
	return ldexp(sum * (1 + 1e-12), -64);
}

/* Read the numbers of dummies, as the round's descriptor states them. */
static void dummies(struct source *record, struct cmd_record *r)
{
	const json_t *slots = json_object_get(record->object, "slots");
	struct source s = *record;

	r->dummies_each = r->dummies_batch = get_count(&s, "dummies_per_client");
	r->dummy_chance = chance(&s);
	if (json_object_get(s.object, "shuffler_dummies"))
		r->dummies_added = get_count(&s, "shuffler_dummies");
	if (json_object_get(s.object, "tag_messages")) {
		r->tag_messages = get_count(&s, "tag_messages");
		r->dummies_added = sum(r->dummies_added, product(get_count(&s, "tags"), r->tag_messages));
	}
	if (slots && !json_is_array(slots))
		SOURCE_FAULT(&s, "slots is not a list");
	for (size_t i = 0; i < json_array_size(slots); i++) {
		s.object = json_array_get(slots, i);
		uint64_t each = get_count(&s, "dummies"), slots_like = get_count(&s, "count");

		if (slots_like == 0)
			SOURCE_FAULT(&s, "slots: count is 0");
		r->dummies_each = sum(r->dummies_each, product(each, slots_like));
		r->dummy_chance = fmax(r->dummy_chance, chance(&s));
		if (each > r->dummies_batch)
			r->dummies_batch = each;
	}
	record->bad = s.bad;
}

enum cm_rc cmd_ledger_open(const char *path, struct cmd_ledger **out)
{
	/* malloc does not zero it: it has room for a line of a megabyte, which would take time */
	struct cmd_ledger *l = malloc(sizeof *l);
	bool standard = strcmp(path, "-") == 0;
	struct stat st;

	if (!l)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	l->line = 0;
	l->starved = false;
	l->path = standard ? "standard input" : path;
	l->file = standard ? stdin : fopen(path, "r");
	if (l->file && !standard && fstat(fileno(l->file), &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)fclose(l->file);
		l->file = NULL;
		errno = EISDIR;
	}
	if (!l->file) {
		enum cm_rc code = cmd_fail(CM_ENOINPUT, "%s: %s", path, strerror(errno));

		free(l);
		return code;
	}
	*out = l;
	return CM_OK;
}

void cmd_ledger_close(struct cmd_ledger *l)
{
	if (!l)
		return;
	if (l->file != stdin)
		(void)fclose(l->file);
	free(l);
}

/* Read a line.  *more: there was one, and *len is its length; false: the end of the file. */
static enum cm_rc next_line(struct cmd_ledger *l, size_t *len, bool *more)
{
	size_t n = 0;
	int c;

	l->line++;
	while ((c = getc(l->file)) != EOF && c != '\n') {
		if (n == sizeof l->text)
			return cmd_ledger_fault(l, l->line, "the line is longer than %u bytes", LINE_ROOM);
		l->text[n++] = (char)c;
	}
	*len = n;
	*more = false;
	if (ferror(l->file))
		return cmd_fail(CM_EIO, "%s: cannot be read", l->path);
	if (c == EOF && n > 0)
		return cmd_ledger_fault(l, l->line, "the line is not ended: the file was cut off");
	*more = c != EOF;
	return CM_OK;
}

static void charge(struct source *s, struct cmd_record *r)
{
	get_text(s, "query", r->query);
	r->epsilon_round = get_real_within(s, "epsilon_round", 0, INFINITY);
	r->epsilon_total = get_real_within(s, "epsilon_total", 0, INFINITY);
	if (r->kind == CMD_REFUSED)
		return;
	r->min_reports = get_count(s, "min_reports");
	r->colluders = get_count(s, "colluders");
	dummies(s, r);
	r->honest_fraction = get_real_within(s, "honest_fraction", 0, 1);
	if (json_object_get(s->object, "share"))
		r->share = get_real_within(s, "share", 0, INFINITY);
	account(s, r);
}

static void budget(struct source *s, struct cmd_record *r)
{
	r->limit = get_real_within(s, "epsilon_limit", 0, 1e300);
	r->delta = get_real_within(s, "delta", 0, 1);
	if (!s->bad && !(r->delta > 0 && r->delta < 1))
		SOURCE_FAULT(s, "delta is out of range");
}

static void opening(struct source *s, struct cmd_record *r)
{
	get_text(s, "population", r->population);
	get_text(s, "unit", r->unit);
	if (!r->slices)
		get_text(s, "mode", r->mode);
	budget(s, r);
}

static void plan(struct source *s, struct cmd_record *r)
{
	get_text(s, "name", r->name);
	get_text(s, "mode", r->mode);
	r->number = get_count(s, "number");
	r->tries = get_count(s, "tries");
	budget(s, r);
}

static bool zero(const char *hex)
{
	return strspn(hex, "0") == strlen(hex);
}

/* Did the shuffler refuse to announce the round?  The analyzer begins the reason of such a round with these
 * words (an_state.h). */
static bool is_refusal(const char *reason)
{
	static const char refused[] = "refused by the shuffler";

	return reason && strncmp(reason, refused, sizeof refused - 1) == 0;
}

static void body(struct source *s, struct cmd_record *r)
{
	char manifest[CMD_LEDGER_HASH + 1] = "";

	if (r->kind == CMD_OPENED) {
		opening(s, r);
		return;
	}
	if (r->slices && (r->kind == CMD_PLANNED || r->kind == CMD_ENTRY || r->kind == CMD_RESERVED ||
				 r->kind == CMD_REFUSED))
		get_hex(s, "plan_hash", r->plan, CMD_LEDGER_HASH);
	if (r->kind == CMD_PLANNED) {
		plan(s, r);
		return;
	}
	if (r->kind != CMD_ENTRY)
		get_hex(s, "round_id", r->id, CMD_LEDGER_ID);
	if (r->kind == CMD_RESERVED || r->kind == CMD_REFUSED || r->kind == CMD_ENTRY)
		r->number = get_count(s, "round");
	if (json_object_get(s->object, "attempt"))
		r->attempt = get_count(s, "attempt");
	if (r->kind == CMD_CHARGED || r->kind == CMD_VOID) {
		r->participants = get_count(s, "participants");
		get_hex(s, "manifest_hash", manifest, CMD_LEDGER_HASH);
		r->manifest = !zero(manifest);
		r->unasked =
			!r->manifest && is_refusal(json_string_value(json_object_get(s->object, "reason")));
	}
	if (r->kind != CMD_SETTLED && r->kind != CMD_VOID)
		charge(s, r);
}

static void record(struct source *s, struct cmd_record *r)
{
	static const char *const kinds[] = { "open", "reserve", "charge", "settle", "void", "refuse", "plan",
		"entry" };
	char schema[CMD_LEDGER_NAME] = "", kind[CMD_LEDGER_NAME] = "";
	size_t k = 0, known;

	get_text(s, "schema", schema);
	s->first = strcmp(schema, "tombola.ledger/1") == 0;
	r->slices = strcmp(schema, "tombola.ledger/3") == 0;
	known = sizeof kinds / sizeof *kinds - (r->slices ? 0 : 2);
	if (!s->bad && !s->first && !r->slices && strcmp(schema, "tombola.ledger/2") != 0)
		SOURCE_FAULT(s, "schema is '%.40s', not tombola.ledger/1, /2 or /3", schema);
	get_text(s, "kind", kind);
	while (k < known && strcmp(kind, kinds[k]) != 0)
		k++;
	if (!s->bad && k == known)
		SOURCE_FAULT(s, "no such kind of record: '%.40s'", kind);
	r->kind = (enum cmd_record_kind)k;
	r->seq = get_count(s, "seq");
	get_hex(s, "head", r->head, CMD_LEDGER_HASH);
	if (!s->bad)
		body(s, r);
}

enum cm_rc cmd_ledger_next(struct cmd_ledger *l, struct cmd_record *r, bool *more)
{
	json_error_t e;
	json_t *o;
	size_t len = 0;
	enum cm_rc rc = next_line(l, &len, more);

	if (rc || !*more)
		return rc;
	*r = (struct cmd_record){ .line = l->line, .share = NAN };
	(void)cm_oom_happened();
	o = json_loadb(l->text, len, JSON_REJECT_DUPLICATES, &e);
	/* jansson leaves out bytes when memory runs out, and these may have been part of a loss */
	if (cm_oom_happened()) {
		json_decref(o);
		return cmd_fail(CM_EINTERNAL, "out of memory");
	}
	if (!o)
		return cmd_ledger_fault(l, l->line, "%s", e.text);
	struct source s = { .ledger = l, .object = o };
	if (!json_is_object(o))
		SOURCE_FAULT(&s, "not an object");
	else
		record(&s, r);
	json_decref(o);
	if (l->starved)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	return s.bad ? CM_EDATA : CM_OK;
}
