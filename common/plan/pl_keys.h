/* pl_keys.h - private to common/plan: the keys of a plan file as they are read. */
#pragma once

#include "cf_conf.h"
#include "pl_plan.h"

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
	struct cf_list columns; /* items: struct pl_raw_column */
	struct cf_list axes;    /* items: struct pl_raw_axis */
	struct cf_list classes; /* items: struct pl_raw_class */
	struct cf_table marginals;
	struct cf_doubles probabilities;
	int64_t min_reports, target, levels, shuffler_dummies, size, slots, window_ms, max_bytes;
	int64_t every_ms, count, repeat, payload_max;
	char *start, *payload;
	bool compute; /* the file has a group `compute` for the round */
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
