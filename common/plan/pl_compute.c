/* pl_compute.c - reads what a device of a round computes before it answers: the map, its parameters, the
 * fields that it reads, and the payload. */
#include "pl_compute.h"

#include <string.h>

#include "cm_buf.h"
#include "cm_text.h"
#include "co_compute.h"

#define PAYLOAD_DEFAULT 1048576u
#define PROGRAM_PREFIX  "sha256:"

struct raw_compute {
	char *map, *features, *label, *part, *program;
	int64_t count;
	struct cf_strings columns, classes;
	double clip, seconds;
};

#define AT(field) offsetof(struct raw_compute, field)

static const struct cf_row compute_rows[] = {
	CF_REQUIRED("map", CF_STRING, AT(map), "its name"),
	CF_OPTIONAL(
		"features", CF_STRING, AT(features), "field of a reading that has all features, an array"),
	CF_OPTIONAL("feature_count", CF_INT(1, CO_FEATURES_MAX), AT(count),
		"with 'features': how many there are"),
	CF_OPTIONAL("columns", CF_STRINGS(1, PR_COMPUTING_FIELDS - 1), AT(columns),
		"instead of 'features': a field for each"),
	CF_OPTIONAL("label", CF_STRING, AT(label), "field that has the class"),
	CF_OPTIONAL(
		"classes", CF_STRINGS(2, CO_CLASSES_MAX), AT(classes), "of a vector: the texts of the label"),
	CF_OPTIONAL("clip", CF_DOUBLE(CO_BOUND_MIN, CO_BOUND_MAX), AT(clip),
		"of a vector: the length that it is cut to; the range's by default"),
	CF_OPTIONAL("part", CF_STRING, AT(part), "moments: \"all\" or the \"mean\""),
	CF_OPTIONAL("program", CF_STRING, AT(program), "program: \"sha256:...\", its hash"),
	CF_OPTIONAL("seconds", CF_DOUBLE(0.05, CO_SECONDS_MAX), AT(seconds),
		"program: the time of one device, of which the program has three quarters"),
	CF_END,
};

static void fault(struct pl_checker *c, const struct pl_round *r, const char *key, const char *text)
{
	char dotted[32];

	(void)snprintf(dotted, sizeof dotted, "compute.%s", key);
	pl_refuse(c, r, pl_round_says(c, r, dotted) ? dotted : "compute", "'compute.%s' %s", key, text);
}

static void add_field(struct pl_checker *c, struct pl_round *r, const char *key, const char *text)
{
	struct qy_computing *out = &r->computing;
	size_t n = strlen(text);

	if (n == 0 || n >= sizeof out->field[0] || !cm_text_is_printable(text))
		fault(c, r, key, "must be printable, of 1 to 64 bytes");
	else if (out->fields < PR_COMPUTING_FIELDS)
		memcpy(out->field[out->fields++], text, n + 1);
}

static void take_fields(
	struct pl_checker *c, const struct raw_compute *raw, struct co_parameters *p, struct pl_round *r)
{
	bool columns = raw->columns.n > 0;

	p->array = !columns;
	p->features = (uint32_t)(columns ? (int64_t)raw->columns.n : raw->count);
	p->label = raw->label != NULL;
	if ((raw->features != NULL) == columns)
		fault(c, r, columns ? "columns" : "features", "or the other: one of both names the features");
	else if ((raw->features != NULL) != (raw->count > 0))
		fault(c, r, "feature_count", "is said if, and only if, 'features' is");
	if (raw->features && !columns)
		add_field(c, r, "features", raw->features);
	for (size_t i = 0; i < raw->columns.n; i++)
		add_field(c, r, "columns", raw->columns.item[i]);
	if (raw->label)
		add_field(c, r, "label", raw->label);
}

static void take_program(
	struct pl_checker *c, const struct raw_compute *raw, struct co_parameters *p, struct pl_round *r)
{
	bool is_program = (p->map->keys & CO_KEY_PROGRAM) != 0;

	if (is_program != (raw->program != NULL) || is_program != (raw->seconds > 0))
		fault(c, r,
			is_program     ? "map"
			: raw->program ? "program"
				       : "seconds",
			is_program ? "\"program\" needs 'program', its hash, and 'seconds'"
				   : "is of map \"program\"");
	else if (raw->program && (strncmp(raw->program, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)) != 0 ||
					 cm_unhex(raw->program + strlen(PROGRAM_PREFIX), r->computing.program,
						 sizeof r->computing.program) != CM_OK))
		fault(c, r, "program", "must be \"sha256:\" and 64 hexadecimal digits");
	p->seconds = raw->seconds;
}

/* Are the class names "0", "1", ..., which take no bytes? */
static bool are_numbers(const struct cf_strings *classes)
{
	char number[24];

	for (size_t i = 0; i < classes->n; i++) {
		(void)snprintf(number, sizeof number, "%zu", i);
		if (strcmp(classes->item[i], number) != 0)
			return false;
	}
	return true;
}

static void take_map(struct pl_checker *c, const struct raw_compute *raw, struct pl_round *r)
{
	const char *const *name = (const char *const *)raw->classes.item;
	struct co_parameters p = { .map = co_map_find(raw->map), .classes = (uint32_t)raw->classes.n };
	struct cm_err e = { 0 };
	size_t before = c->found;

	if (!p.map) {
		fault(c, r, "map", "is no map that a device knows");
		return;
	}
	if (raw->part && strcmp(raw->part, "mean") == 0)
		p.part = CO_PART_MEAN;
	else if (raw->part && strcmp(raw->part, "all") != 0)
		fault(c, r, "part", "must be \"all\" or \"mean\"");
	p.clip = raw->clip > 0 || p.map->kind != QY_VECTOR ? raw->clip : r->query.high;
	take_fields(c, raw, &p, r);
	take_program(c, raw, &p, r);
	if (c->found > before)
		return;
	if (co_parameters_write(&p, are_numbers(&raw->classes) ? NULL : name, &r->computing, &e) != CM_OK ||
		co_check(&r->computing, &r->query, &e) != CM_OK)
		pl_refuse(c, r, "compute", "'compute': %s", e.msg);
	else if (p.map->payload == CO_PAYLOAD_ALWAYS && !pl_round_says(c, r, "payload"))
		pl_refuse(c, r, "compute", "'compute': map \"%s\" needs payload = \"later\"", p.map->name);
}

static void take_group(struct pl_checker *c, struct pl_round *r)
{
	struct raw_compute raw = { 0 };
	struct cm_err e = { 0 };
	char at[48];

	(void)snprintf(at, sizeof at, "rounds.[%u].compute", r->item);
	if (cf_group_read(c->file, at, compute_rows, &raw, c->faults, &e) == CM_OK)
		take_map(c, &raw, r);
	else if (c->found++ == 0)
		*c->first = e;
	cf_free(compute_rows, &raw);
}

void pl_compute_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct cm_err e = { 0 };

	if (raw->compute)
		take_group(c, r);
	if (c->found == 0 && rd_descriptor_fits(&r->query, &r->computing, &e) != CM_OK)
		pl_fault_of(c, r->line, &e);
	if (!raw->payload) {
		if (pl_round_says(c, r, "payload_max"))
			pl_refuse(c, r, "payload_max", "'payload_max' is of a round with 'payload'");
		return;
	}
	if (strcmp(raw->payload, "later") != 0)
		pl_refuse(c, r, "payload", "'payload' must be \"later\"");
	if (!raw->compute)
		pl_refuse(c, r, "payload", "'payload' needs 'compute': nothing would read the payload");
	if (raw->every_ms > 0)
		pl_refuse(c, r, "payload",
			"'payload' and 'every' exclude each other: the round waits for its payload; take "
			"'repeat'");
	r->payload_max = raw->payload_max > 0 ? (uint64_t)raw->payload_max : PAYLOAD_DEFAULT;
}
