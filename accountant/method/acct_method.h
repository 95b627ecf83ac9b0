/* acct_method.h - the table of analyses by name, for `--method` and `compare`.
 *
 * A row answers "epsilon at delta" or "delta at epsilon" for a list of rounds, and says whether its answer is
 * a guarantee.  Some methods answer only one of the two. doc/accountant.md has the table, doc/analyses.md the
 * proofs.
 *
 * Errors: ACCT_EDOMAIN if the method does not apply to these rounds (*why is then a static sentence, or
 * NULL), and for a delta outside (0, 1), an epsilon outside [0, inf), or no rounds; other codes as
 * acct_epsilon.  On error *out is undefined.  Upper ends are rounded up, lower ends down.  Threads as in
 * acct.h.
 *
 * Cost: pld costs as much as acct_epsilon; rdp and gdp take 10 to 100 ms for each distinct round, the closed
 * forms microseconds. */
#pragma once

#include <stdbool.h>

#include "acct_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an answer may be used for (doc/analyses.md, "Methods"). */
enum acct_worth {
	ACCT_PROVED,      /* upper is a proved upper bound on the privacy loss */
	ACCT_APPROXIMATE, /* near the truth, on either side: not a guarantee */
	ACCT_PAPER_VALUE, /* what a paper prints, known to be too small in places: not a guarantee */
	ACCT_LOWER,       /* lower is a proved lower bound; upper says nothing */
};
/* "proved", "approximate (not a guarantee)", "paper value (not a guarantee)", "proved lower bound". */
const char *acct_worth_text(enum acct_worth worth);

struct acct_method_answer {
	/* if worth is ACCT_PROVED, an interval that contains the loss; otherwise the method's own value */
	struct acct_bound bound;
	/* what this answer is worth, which may be less than what the row says of its method */
	enum acct_worth worth;
	const char *note; /* one static sentence with the answer's assumptions; NULL: it has none */
};

struct acct_method {
	const char *name;    /* "pld", "rdp", "gdp", "girgis", ... */
	const char *summary; /* one line, with its source */
	enum acct_worth worth;
	/* the method uses only the rounds' cells, so it can also answer for the published reduction
	 * (--bound published) */
	bool cells;
	/* Answer for n rounds, which are borrowed for the call; why is not NULL.  A function that is NULL
	 * means that the method cannot answer this question. */
	enum acct_rc (*epsilon)(const struct acct_spec *rounds, size_t n, double delta,
		struct acct_method_answer *out, const char **why);
	enum acct_rc (*delta)(const struct acct_spec *rounds, size_t n, double epsilon,
		struct acct_method_answer *out, const char **why);
};

/* Compute the method's epsilon at each of deltas >= 1 values of delta, into out[deltas].  pld composes the
 * rounds once for all of them, so its intervals may differ from m->epsilon's.  On error out is undefined. */
ACCT_CHECK enum acct_rc acct_method_epsilons(const struct acct_method *m, const struct acct_spec *rounds,
	size_t n, const double *delta, size_t deltas, struct acct_method_answer *out, const char **why);

/* The method with this name; NULL: there is none. */
const struct acct_method *acct_method_find(const char *name);
/* Row i, the order of `compare`; NULL past the last. */
const struct acct_method *acct_method_row(size_t i);

#ifdef __cplusplus
}
#endif
