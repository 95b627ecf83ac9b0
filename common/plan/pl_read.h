/* pl_read.h - inside of pl_plan.h: a plan file as its keys say it, and what its parts are read with. */
#pragma once

#include "cm_conf.h"
#include "pl_plan.h"

/* As in the file: pl_plan_keys says which key goes where, units and ranges. */
struct pl_raw_column {
	char *field;
	struct cm_conf_strings values;
};
struct pl_raw_class {
	double epsilon0;
	int64_t least;
};
struct pl_raw_round {
	char *query, *type, *protocol, *field, *blanket, *after, *shuffler_noise;
	double epsilon0, epsilon, dummies;
	int64_t padded, dimension, leaves, fanout, bits, keep;
	struct cm_conf_strings fields;
	struct cm_conf_list columns; /* struct pl_raw_column */
	struct cm_conf_list classes; /* struct pl_raw_class */
	struct cm_conf_table marginals;
	struct cm_conf_doubles probabilities;
	int64_t min_reports, target, levels, shuffler_dummies, size, slots, window_ms, max_bytes;
	struct cm_conf_strings values;
	double range[2];
};

struct pl_raw_plan {
	char *name, *population, *unit, *mode, *filter;
	double epsilon, delta, honest_fraction;
	int64_t colluders;
	struct cm_conf_list rounds;
};

extern const struct cm_conf_row pl_plan_keys[];

/* Where faults go while one plan is checked. */
struct pl_checker {
	const char *name;
	FILE *faults;
	struct cm_err *first;
	size_t found;
};

void pl_fault(struct pl_checker *c, int line, const char *fmt, ...) CM_PRINTF(3, 4);
/* The same for what a callee found; out of memory is no fault of the plan's and stays CM_EINTERNAL. */
void pl_fault_of(struct pl_checker *c, int line, const struct cm_err *e);
/* Copy a name, which becomes part of file names, tables and signed documents. */
void pl_take_name(struct pl_checker *c, int line, const char *key, const char *text, char *out, size_t room);

/* Where a key of this round is written; the round itself if it is not. */
int pl_round_line(const struct pl_round *r, const char *key);
/* Is it written at all? */
bool pl_round_says(const struct pl_round *r, const char *key);
/* A text of 1 to room - 1 bytes; `key` is the round's. */
void pl_take_text(struct pl_checker *c, const struct pl_round *r, const char *key, const char *text,
	char *out, size_t room);
/* What is asked, by the round's type.  Texts and numbers are moved out of *raw.  Rounds before it in `plan`
 * have been taken. */
void pl_query_take(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r);
/* One round, but for what "auto" chooses. */
void pl_round_take(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r);
