/* pl_read.h - private to common/plan: the keys of a plan file as read, and the functions that check them. */
#pragma once

#include "cf_conf.h"
#include "pl_plan.h"
#include "pl_wish.h"

/* The values as in the file: pl_plan_keys says which key sets which field, with units and ranges. */
struct pl_raw_column {
	char *field;
	struct cf_strings values;
};
struct pl_raw_axis {
	char *field;
	double range[2];
	int64_t cells;
};
struct pl_raw_class {
	double epsilon0;
	int64_t least;
};
struct pl_raw_round {
	char *query, *type, *protocol, *field, *blanket, *after, *shuffler_noise;
	double epsilon0, epsilon, dummies;
	int64_t padded, dimension, leaves, fanout, bits, keep;
	struct cf_strings fields;
	struct cf_list columns; /* struct pl_raw_column */
	struct cf_list axes;    /* struct pl_raw_axis */
	struct cf_list classes; /* struct pl_raw_class */
	struct cf_table marginals;
	struct cf_doubles probabilities;
	int64_t min_reports, target, levels, shuffler_dummies, size, slots, window_ms, max_bytes;
	int64_t every_ms, count, repeat, payload_max;
	char *start, *payload;
	bool compute; /* there is such a group */
	struct cf_strings values;
	double range[2];
	struct cf_word none;
};

struct pl_raw_plan {
	char *name, *population, *unit, *mode, *filter;
	double epsilon, delta, honest_fraction;
	int64_t colluders, tries;
	struct cf_list rounds;
};

extern const struct cf_row pl_plan_keys[];

/* Receives the faults while one plan is checked. */
struct pl_checker {
	struct cf_file *file;
	const char *name;
	const char *kept; /* the file of what "auto" chose; NULL: none */
	/* Of a plan that is to be optimised: its rounds with a wish get no randomizer, and nothing is chosen
	 * or composed.  NULL: every round must have its numbers. */
	const struct pl_wishes *open;
	FILE *faults;
	struct cm_err *first;
	size_t found;
};

void pl_fault(struct pl_checker *c, int line, const char *fmt, ...) CM_PRINTF(3, 4);
/* The same for a fault that a callee found; out of memory stays CM_EINTERNAL, for it is no fault of the
 * plan. */
void pl_fault_of(struct pl_checker *c, int line, const struct cm_err *e);
/* Copy a name, which becomes part of file names, tables and signed documents. */
void pl_take_name(struct pl_checker *c, int line, const char *key, const char *text, char *out, size_t room);

/* Read the plan, whose text is read with a 1 in place of every wish, for pl_optimise. */
CM_CHECK enum cm_rc pl_plan_parse_open(const uint8_t *bytes, size_t n, const char *name,
	const struct pl_wishes *open, FILE *faults, struct pl_plan *out, struct cm_err *err);

/* Line on which a key of this round is written; the line of the round if the key is absent. */
int pl_round_line(const struct pl_checker *c, const struct pl_round *r, const char *key);
/* Does the file give this key for the round? */
bool pl_round_says(const struct pl_checker *c, const struct pl_round *r, const char *key);
/* Read the query by the round's type; `row` is its protocol (NULL: "auto" chooses).  Moves texts and numbers
 * out of *raw.  The caller has read all rounds of `plan` before it. */
void pl_query_take(struct pl_checker *c, const struct pl_plan *plan, const struct pt_protocol *row,
	struct pl_raw_round *raw, struct pl_round *r);
/* Number of rounds that the raw one stands for. */
size_t pl_raw_count(const struct pl_raw_round *raw);
/* `every`, `count`, `start` and `repeat` of a round. */
void pl_recur_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r);
/* Write the other recurrences of *first behind it in the array. */
void pl_recur_repeat(struct pl_round *first);
/* `compute`, `payload` and `payload_max` of a round. */
void pl_compute_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r);
/* The group `compute` of a round whose query has been read. */
void pl_map_take(struct pl_checker *c, struct pl_round *r);
/* Read one round, all but what "auto" chooses. */
void pl_round_take(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r);
