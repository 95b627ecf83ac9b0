/* acct_named.h - the table of named randomizers: their parameters and blanket cells (doc/accounting.md,
 * "Cells of the protocols").  Used by acct_spec.c and by help texts; programs read rounds through
 * acct_spec.h.
 *
 * A row's function has no state: it takes checked parameters, and sets cells and facts.  The cells are the
 * tightest list proved for the randomizer's worst pair of inputs; every omega is within 128 ulp of its real
 * value. */
#pragma once

#include <stdbool.h>

#include "acct_families.h"
#include "acct_spec.h"

#define ACCT_NAMED_PARAMS 10u

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

/* Set cells, dummies, levels, k, and eps0 where a parameter gives it.  s has room for ACCT_SPEC_PARTS; in
 * each part name, participants, the round's others (n - 1), count, defect and sampling are set already.
 * The function fills the first part, and one more for each different slot of the round; the first part
 * without cells ends them.  On ACCT_EDOMAIN *why is a static sentence. */
typedef enum acct_rc acct_named_fn(const struct acct_arg *arg, struct acct_spec *s, const char **why);

struct acct_named {
	const char *name;
	const char *keys;    /* for help: "k=,eps0=[,dummies=0]", with the defaults */
	const char *summary; /* for help: one line of at most 64 characters */
	acct_named_fn *cells;
	/* The text may leave out n=, for rounds in which participants need not give a blanket.  Where they
	 * do, the function demands n. */
	bool n_optional;
	struct acct_param param[ACCT_NAMED_PARAMS];
};

/* The randomizer of this name, or NULL. */
const struct acct_named *acct_named_find(const char *name);
/* Row i, in the order of the manual; NULL past the last. */
const struct acct_named *acct_named_row(size_t i);

/* acct_named_noise.c */
acct_named_fn acct_named_laplace_noise, acct_named_metric, acct_named_metric_line, acct_named_metric_plane;

/* acct_named_planar.c */
acct_named_fn acct_named_planar;

/* acct_named_central.c */
acct_named_fn acct_named_gaussian, acct_named_central_laplace, acct_named_guarantee;

/* acct_named_symbols.c: cells that the text states, and any randomizer of a guarantee. */
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

/* acct_named_cells.c: what these functions share. */

/* Add omega to the cell with this u and v, or make a new cell; does nothing when omega is 0.  ACCT_ELIMIT:
 * more than ACCT_MAX_CELLS cells. */
ACCT_CHECK enum acct_rc acct_named_add(struct acct_round *r, double omega, double u, double v);
/* Add the cells of a randomizer whose laws are 1 or p times the blanket: a mass of the blanket of `apart`
 * in cell (p, 1), the same in (1, p), `both` in (p, p), `none` in (1, 1).  Empty cells are left out. */
void acct_named_two_level(struct acct_round *r, double p, double apart, double both, double none);

/* Below this eps0 all ratios round to 1, and the round does not claim to be one of sets or words. */
#define ACCT_NAMED_LEAST 1e-6

/* Declare the round to be of the family of sets: every two inputs have the list's cells, and every three
 * share s->triple. */
void acct_named_sets(struct acct_spec *s);
/* Declare the round to be of a family that has a shape. */
void acct_named_shape(
	struct acct_spec *s, enum acct_families which, double first, double second, double third);
