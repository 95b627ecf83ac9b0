/* acct_method.h - the analyses by name, one row each: what `--method` and `compare` offer.
 *
 * A row answers "epsilon at delta" or "delta at epsilon" for a list of rounds, and says what its answer is
 * worth. Methods differ in what they can be asked: ACCT_EDOMAIN with *why when one does not apply to these
 * rounds. */
#pragma once

#include <stdbool.h>

#include "acct_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an answer may be used for (doc/accounting.md, "Methods"). */
enum acct_worth {
	ACCT_PROVED,      /* upper is a proved upper bound on the privacy loss */
	ACCT_APPROXIMATE, /* near the truth, on either side: not a guarantee */
	ACCT_PAPER_VALUE, /* what a paper prints, known to be too small in places: not a guarantee */
	ACCT_LOWER,       /* lower is a proved lower bound; nothing is said above */
};
/* "proved", "approximate (not a guarantee)", "paper value (not a guarantee)", "proved lower bound". */
const char *acct_worth_text(enum acct_worth worth);

struct acct_method_answer {
	struct acct_bound bound; /* of a guarantee: [lower, upper]; else of the method's own value */
	enum acct_worth worth;   /* may be worse than the row's for these rounds */
	const char *note;        /* one static sentence on what the answer assumes; NULL for none */
};

struct acct_method {
	const char *name;    /* "pld", "rdp", "gdp", "girgis", ... */
	const char *summary; /* one line, with its source */
	enum acct_worth worth;
	bool cells; /* computed from the rounds' cells, so that it has an answer to --bound published */
	/* n rounds, borrowed.  NULL: the method has no such answer. */
	enum acct_rc (*epsilon)(const struct acct_spec *rounds, size_t n, double delta,
		struct acct_method_answer *out, const char **why);
	enum acct_rc (*delta)(const struct acct_spec *rounds, size_t n, double epsilon,
		struct acct_method_answer *out, const char **why);
};

/* NULL if there is none. */
const struct acct_method *acct_method_find(const char *name);
/* Row i, the order of `compare`; NULL past the last. */
const struct acct_method *acct_method_row(size_t i);

#ifdef __cplusplus
}
#endif
