/* cmd_ledger_account.c - reads the privacy loss of the rounds of an exported ledger. */
#include <math.h>
#include <stdlib.h>

#include "acct_families.h"
#include "cmd_ledger_source.h"

static void cells(struct cmd_source *part, struct acct_round *r)
{
	static const char *const known[] = { "omega", "u", "v", NULL };
	const json_t *list = cmd_source_get(part, "cells");
	struct cmd_source s = *part;

	if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > ACCT_MAX_CELLS) {
		CMD_SOURCE_FAULT(part, "account: cells is not a list of 1 to %u", ACCT_MAX_CELLS);
		return;
	}
	r->cells = json_array_size(list);
	for (size_t i = 0; i < r->cells; i++) {
		s.object = json_array_get(list, i);
		cmd_source_only(&s, known, "account: cells");
		r->cell[i].omega = cmd_source_real(&s, "omega");
		r->cell[i].u = cmd_source_real(&s, "u");
		r->cell[i].v = cmd_source_real(&s, "v");
	}
	part->bad = s.bad;
}

/* The participants of levels are among the others. */
static void levels(struct cmd_source *part, struct acct_round *r)
{
	static const char *const known[] = { "share", "count", NULL };
	const json_t *list = json_object_get(part->object, "levels");
	struct cmd_source s = *part;

	if (!list)
		return;
	if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > ACCT_MAX_LEVELS) {
		CMD_SOURCE_FAULT(part, "account: levels is not a list of 1 to %u", ACCT_MAX_LEVELS);
		return;
	}
	r->levels = json_array_size(list);
	for (size_t i = 0; i < r->levels; i++) {
		s.object = json_array_get(list, i);
		cmd_source_only(&s, known, "account: levels");
		r->level[i].share = cmd_source_real(&s, "share");
		r->level[i].count = cmd_source_count(&s, "count");
		if (!s.bad && r->level[i].count > r->others)
			CMD_SOURCE_FAULT(&s, "account: levels are more than the others");
		r->others -= s.bad ? 0 : r->level[i].count;
	}
	part->bad = s.bad;
}

static void shape(struct cmd_source *part, double out[3])
{
	const json_t *list = cmd_source_get(part, "shape");

	if (json_array_size(list) != 3)
		CMD_SOURCE_FAULT(part, "account: shape is not an array of three numbers");
	for (size_t i = 0; !part->bad && i < 3; i++) {
		const json_t *v = json_array_get(list, i);

		if (json_is_number(v))
			out[i] = json_number_value(v);
		else
			CMD_SOURCE_FAULT(part, "account: shape is not an array of three numbers");
	}
}

/* What is known of the messages. */
static void messages(struct cmd_source *part, struct acct_round *r)
{
	double triple = 0, three[3] = { 0, 0, 0 };
	unsigned number = 0;
	const char *why = "";

	if (json_object_get(part->object, "messages"))
		number = (unsigned)fmin(11, (double)cmd_source_count(part, "messages"));
	if (number == ACCT_SETS || json_object_get(part->object, "triple"))
		triple = cmd_source_real(part, "triple");
	if (number > ACCT_LADDER || json_object_get(part->object, "shape"))
		shape(part, three);
	if (!part->bad && acct_family_read(r, number, triple, three, &why))
		CMD_SOURCE_FAULT(part, "account: %s", why);
}

/* A fault unless the round's text means the same as its numbers. */
static void compare_spec(struct cmd_source *s, const struct acct_round *r)
{
	const json_t *v = cmd_source_get(s, "spec");
	struct acct_spec spec;
	char why[256] = "";

	if (!json_is_string(v))
		CMD_SOURCE_FAULT(s, "account: spec is not a text");
	else if (acct_spec_parse(json_string_value(v), &spec, why, sizeof why))
		CMD_SOURCE_FAULT(s, "account: spec: %s", why);
	else if (!acct_round_equal(&spec.round, r) || spec.round.count != r->count)
		CMD_SOURCE_FAULT(s, "account: cells and spec do not say the same");
}

static void part(struct cmd_source *record, const json_t *object, struct acct_round *r)
{
	static const char *const first[] = { "cells", "n", "dummies", "count", "spec", NULL };
	static const char *const known[] = { "cells", "n", "dummies", "levels", "defect", "sampling",
		"messages", "triple", "shape", "count", "spec", NULL };
	struct cmd_source s = *record;
	const char *why = "";

	s.object = object;
	*r = (struct acct_round){ 0 };
	if (!json_is_object(object)) {
		CMD_SOURCE_FAULT(record, "account: a part is not an object");
		return;
	}
	cmd_source_only(&s, s.first ? first : known, "account");
	r->count = cmd_source_count(&s, "count");
	if (!s.bad && s.first && r->count != 1)
		CMD_SOURCE_FAULT(&s, "account: count is not 1");
	r->others = cmd_source_count(&s, "n");
	if (!s.bad && r->others-- == 0)
		CMD_SOURCE_FAULT(&s, "account: n is 0");
	r->dummies = cmd_source_count(&s, "dummies");
	cells(&s, r);
	levels(&s, r);
	if (json_object_get(object, "defect"))
		r->defect = cmd_source_real(&s, "defect");
	if (json_object_get(object, "sampling"))
		r->sampling = cmd_source_real(&s, "sampling");
	messages(&s, r);
	if (!s.bad && acct_round_check(r, &why))
		CMD_SOURCE_FAULT(&s, "account: %s", why);
	if (!s.bad)
		compare_spec(&s, r);
	record->bad = s.bad;
}

void cmd_source_account(struct cmd_source *record, struct cmd_record *r)
{
	static const char *const known[] = { "parts", NULL };
	struct cmd_ledger *l = record->ledger;
	struct cmd_source s = *record;
	const json_t *list;

	s.object = cmd_source_get(record, "account");
	if (!json_is_object(s.object)) {
		CMD_SOURCE_FAULT(record, "account is not an object");
		return;
	}
	r->part = l->part;
	r->parts = 1;
	if (s.first) {
		part(record, s.object, &l->part[0]);
		return;
	}
	cmd_source_only(&s, known, "account");
	list = cmd_source_get(&s, "parts");
	r->parts = json_array_size(list);
	if (!json_is_array(list) || r->parts < 1 || r->parts > CMD_LEDGER_PARTS)
		CMD_SOURCE_FAULT(&s, "account: parts is not a list of 1 to %u", CMD_LEDGER_PARTS);
	for (size_t i = 0; i < r->parts && !s.bad; i++)
		part(&s, json_array_get(list, i), &l->part[i]);
	record->bad = s.bad;
}

/* Adds counts from a file without overflow. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	return a > 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* A chance stored as an integer divided by 2^64, lowest byte first; 0 where the member is absent.  Rounded
 * up. */
static double chance(struct cmd_source *s)
{
	char hex[17] = "";
	double sum = 0;

	if (!json_object_get(s->object, "dummy_chance_le64"))
		return 0;
	cmd_source_hex(s, "dummy_chance_le64", hex, 16);
	for (size_t at = 16; at > 0 && !s->bad; at -= 2) {
		const char byte[3] = { hex[at - 2], hex[at - 1], '\0' };

		sum = sum * 256 + (double)strtoul(byte, NULL, 16);
	}
	return ldexp(sum * (1 + 1e-12), -64);
}

/* Blanket messages, as the descriptor has them. */
void cmd_source_dummies(struct cmd_source *record, struct cmd_record *r)
{
	const json_t *slots = json_object_get(record->object, "slots");
	struct cmd_source s = *record;

	r->dummies_each = r->dummies_batch = cmd_source_count(&s, "dummies_per_client");
	r->dummy_chance = chance(&s);
	if (json_object_get(s.object, "shuffler_dummies"))
		r->dummies_added = cmd_source_count(&s, "shuffler_dummies");
	if (json_object_get(s.object, "tag_messages")) {
		r->tag_messages = cmd_source_count(&s, "tag_messages");
		r->dummies_added =
			sum(r->dummies_added, product(cmd_source_count(&s, "tags"), r->tag_messages));
	}
	if (slots && !json_is_array(slots))
		CMD_SOURCE_FAULT(&s, "slots is not a list");
	for (size_t i = 0; i < json_array_size(slots); i++) {
		s.object = json_array_get(slots, i);
		uint64_t each = cmd_source_count(&s, "dummies"), slots_like = cmd_source_count(&s, "count");

		if (slots_like == 0)
			CMD_SOURCE_FAULT(&s, "slots: count is 0");
		r->dummies_each = sum(r->dummies_each, product(each, slots_like));
		r->dummy_chance = fmax(r->dummy_chance, chance(&s));
		if (each > r->dummies_batch)
			r->dummies_batch = each;
	}
	record->bad = s.bad;
}
