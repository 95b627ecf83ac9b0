/* pl_compute.c - what a device computes before it answers, and the payload that this reads, of a round in a
 * plan file. */
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "pl_read.h"
#include "rd_text.h"

#define PROGRAM_PREFIX  "sha256:"
#define PAYLOAD_DEFAULT 1048576u

struct raw_compute {
	char *map, *program;
	struct cf_strings fields;
};

static const struct cf_row compute_rows[] = {
	{ .key = "map",
		.type = CF_STRING,
		.offset = offsetof(struct raw_compute, map),
		.required = true,
		.help = "its name" },
	{ .key = "fields",
		.type = CF_STRINGS,
		.offset = offsetof(struct raw_compute, fields),
		.required = true,
		.min = 1,
		.max = PR_COMPUTING_FIELDS,
		.help = "fields of a reading that it reads" },
	{ .key = "program",
		.type = CF_STRING,
		.offset = offsetof(struct raw_compute, program),
		.help = "map \"program\": \"sha256:...\", the hash of the program" },
	{ .key = NULL },
};

static void fault(struct pl_checker *c, const struct pl_round *r, const char *key, const char *text)
{
	char dotted[32];

	(void)snprintf(dotted, sizeof dotted, "compute.%s", key);
	pl_fault(c, pl_round_line(r, pl_round_says(r, dotted) ? dotted : "compute"), "'compute.%s' %s", key,
		text);
}

static void take_fields(struct pl_checker *c, const struct cf_strings *from, struct pl_round *r)
{
	struct qy_computing *out = &r->computing;

	for (size_t i = 0; i < from->n; i++) {
		size_t n = strlen(from->item[i]);

		if (n == 0 || n >= sizeof out->field[i] || !rd_is_printable(from->item[i])) {
			fault(c, r, "fields", "must be printable texts of 1 to 64 bytes");
			return;
		}
		memcpy(out->field[i], from->item[i], n + 1);
		for (size_t j = 0; j < i; j++)
			if (strcmp(out->field[i], out->field[j]) == 0) {
				fault(c, r, "fields", "has a field twice");
				return;
			}
	}
	out->fields = (uint32_t)from->n;
}

static void take_program(struct pl_checker *c, const char *program, struct pl_round *r)
{
	static const char expected[] = "must be \"sha256:\" and 64 hexadecimal digits";
	bool is_program = strcmp(r->computing.map, QY_MAP_PROGRAM) == 0;

	if (is_program != (program != NULL))
		fault(c, r, is_program ? "map" : "program",
			is_program ? "\"program\" needs 'program', the hash of it" : "is of map \"program\"");
	else if (program && (strncmp(program, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)) != 0 ||
				    cm_unhex(program + strlen(PROGRAM_PREFIX), r->computing.program,
					    sizeof r->computing.program) != CM_OK))
		fault(c, r, "program", expected);
}

static void read_map(struct pl_checker *c, struct pl_round *r)
{
	struct raw_compute raw = { 0 };
	struct cm_err e = { 0 };
	char at[48];

	(void)snprintf(at, sizeof at, "rounds.[%u].compute", r->item);
	if (cf_group_read(c->name, at, compute_rows, &raw, c->faults, &e) != CM_OK) {
		if (c->found++ == 0)
			*c->first = e;
	} else {
		size_t n = strlen(raw.map);

		if (n >= sizeof r->computing.map || !rd_is_name(raw.map))
			fault(c, r, "map", "must be a name of a-z, 0-9 and ._-");
		else
			memcpy(r->computing.map, raw.map, n + 1);
		take_fields(c, &raw.fields, r);
		take_program(c, raw.program, r);
	}
	cf_free(compute_rows, &raw);
}

void pl_compute_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct cm_err e = { 0 };

	if (raw->compute)
		read_map(c, r);
	if (c->found == 0 && rd_descriptor_fits(&r->query, &r->computing, &e) != CM_OK)
		pl_fault_of(c, r->line, &e);
	if (!raw->payload) {
		if (pl_round_says(r, "payload_max"))
			pl_fault(c, pl_round_line(r, "payload_max"),
				"'payload_max' is of a round with 'payload'");
		return;
	}
	if (strcmp(raw->payload, "later") != 0)
		pl_fault(c, pl_round_line(r, "payload"), "'payload' must be \"later\"");
	if (!raw->compute)
		pl_fault(c, pl_round_line(r, "payload"),
			"'payload' needs 'compute': nothing would read the payload");
	if (raw->every_ms > 0)
		pl_fault(c, pl_round_line(r, "payload"),
			"'payload' and 'every' exclude each other: the round waits for its payload; take "
			"'repeat'");
	r->payload_max = raw->payload_max > 0 ? (uint64_t)raw->payload_max : PAYLOAD_DEFAULT;
}
