/* acct_named.h - the table of named randomizers: their parameters and blanket cells (doc/accounting.md,
 * "Cells of the protocols").  For acct_spec.c and for help texts; programs read rounds through acct_spec.h.
 *
 * A row's function is pure: it takes checked parameters and sets cells and facts.  The cells are the tightest
 * list proved for the randomizer's worst pair of inputs; every omega is within 128 ulp of its real value. */
#pragma once

#include <stdbool.h>

#include "acct_families.h"
#include "acct_spec.h"

#define ACCT_NAMED_PARAMS 9u

enum acct_param_kind {
	ACCT_REAL,        /* any number; the row's function checks it further */
	ACCT_BETWEEN,     /* least < x < most */
	ACCT_BETWEEN_INF, /* least < x < most, or inf */
	ACCT_WHOLE,       /* a whole number, least <= x <= most */
};

struct acct_param {
	const char *key; /* NULL ends the row */
	enum acct_param_kind kind;
	double least, most;
	bool optional;
	bool list; /* a list a/b/..: up to ACCT_MAX_CELLS numbers of this kind */
};

struct acct_arg {
	size_t size; /* number of values; 0: not given */
	double x[ACCT_MAX_CELLS];
};

/* Sets cells, dummies, levels, k, and eps0 where a parameter gives it. s has room for ACCT_SPEC_PARTS; in
 * each of them name, participants and the round's others (n - 1), count, defect and sampling are set already.
 * The function fills the first part, and as many as the round has different slots; the first part without
 * cells ends them.  On ACCT_EDOMAIN *why is a static sentence. */
typedef enum acct_rc acct_named_fn(const struct acct_arg *arg, struct acct_spec *s, const char **why);

struct acct_named {
	const char *name;
	const char *keys;    /* for help: "k=,eps0=[,dummies=0]", with the defaults */
	const char *summary; /* for help: one line of at most 64 characters */
	acct_named_fn *cells;
	bool n_optional; /* n= may be left out, as participants may give no blanket; the function demands n
			    where they do */
	struct acct_param param[ACCT_NAMED_PARAMS];
};

/* NULL if there is none. */
const struct acct_named *acct_named_find(const char *name);
/* Row i, the order of the manual; NULL past the last. */
const struct acct_named *acct_named_row(size_t i);

/* acct_named_noise.c */
acct_named_fn acct_named_laplace_noise, acct_named_metric, acct_named_metric_line, acct_named_metric_plane;

/* acct_named_planar.c */
acct_named_fn acct_named_planar;

/* acct_named_central.c */
acct_named_fn acct_named_gaussian, acct_named_central_laplace, acct_named_guarantee;

/* The families. */
acct_named_fn acct_named_pair, acct_named_generic, acct_named_listed;
acct_named_fn acct_named_rr, acct_named_grr, acct_named_levels, acct_named_bins, acct_named_mixbins,
	acct_named_words, acct_named_hashed, acct_named_hierarchy, acct_named_parallel;
acct_named_fn acct_named_rappor, acct_named_oue, acct_named_vrr, acct_named_duchi, acct_named_harmony,
	acct_named_balcer_cheu, acct_named_cheu;
acct_named_fn acct_named_prefixes, acct_named_digits, acct_named_ranges, acct_named_marginals,
	acct_named_coordinates, acct_named_topk, acct_named_gspa_classes, acct_named_gspa_pooled,
	acct_named_noise;
acct_named_fn acct_named_subset, acct_named_privset, acct_named_olh, acct_named_hadamard, acct_named_laplace,
	acct_named_staircase, acct_named_piecewise;

/* What they share: acct_named_cells.c. */

/* Adds omega to the cell with these u and v, a new one if there is none; nothing when omega is 0.
 * ACCT_ELIMIT: more than ACCT_MAX_CELLS. */
ACCT_CHECK enum acct_rc acct_named_add(struct acct_round *r, double omega, double u, double v);
/* The list of a randomizer whose laws are 1 or p times the blanket: a mass `apart` of the blanket is in (p,
 * 1), as much in (1, p), `both` in (p, p), `none` in (1, 1).  Empty cells are left out. */
void acct_named_two_level(struct acct_round *r, double p, double apart, double both, double none);

/* Below this eps0 all ratios are rounded to one, and reports are not said to be sets or words. */
#define ACCT_NAMED_LEAST 1e-6

/* Every two inputs have the list's cells, every three s->triple: the family of sets. */
void acct_named_sets(struct acct_spec *s);
/* Messages of a family that has a shape. */
void acct_named_shape(
	struct acct_spec *s, enum acct_families which, double first, double second, double third);
