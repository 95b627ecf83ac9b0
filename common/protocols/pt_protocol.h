/* pt_protocol.h - the analysis half of the table of protocols: what a plan, the accountant and the analyzer
 * need.
 *
 * A row says how a plan's request becomes exact parameters, which blanket cells follow (accountant), how
 * messages become counts and counts an estimate (analyzer).  How a value becomes messages is the other half,
 * pt_device.h.  No switch on protocols stands anywhere else.  Rows are pure.  Sources:
 * doc/protocols/README.md. */
#pragma once

#include "es_histogram.h"
#include "pt_device.h"
#include "pt_loss.h"
#include "pt_request.h"

/* What of a request "auto" varies when it considers a row (pl_choose.h). */
enum pt_automatic {
	PT_AUTO = 1, /* epsilon0 */
	PT_AUTO_DUMMIES = 2,
	PT_AUTO_LEVELS = 4,
	PT_AUTO_SIZES = 8,
	PT_AUTO_SLOTS = 16, /* with sizes of words */
};

/* The keys of a plan file that a row takes beside epsilon0, dummies, blanket and shuffler_dummies. */
enum pt_key {
	PT_KEY_LEVELS = 1,
	PT_KEY_SIZE = 2,
	PT_KEY_SLOTS = 4,
	PT_KEY_CLASSES = 8,
	PT_KEY_PADDED = 16,
};

struct pt_number_law;

/* Functions that get a row get this one. */
struct pt_protocol {
	const struct pt_device *device; /* the other half */
	unsigned keys;                  /* enum pt_key, or-ed */
	unsigned automatic;             /* enum pt_automatic, or-ed; 0: "auto" never chooses this row */
	unsigned unnamed; /* the enum qy_kind, or-ed, of plans that take this row where they name none; others
			     take the first that answers */

	/* Plan to exact parameters; thresholds are rounded towards more noise.  CM_ECONFIG names the
	 * parameter. */
	enum cm_rc (*derive)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
	uint32_t (*tallies)(const struct pt_randomizer *p); /* counts of a round, 1..PR_TALLIES_MAX */
	/* Blanket cells for `participants` honest clients.  CM_EPROTO if out of the accountant's range. */
	enum cm_rc (*cells)(const struct pt_randomizer *p, uint64_t participants, struct acct_round *out,
		struct cm_err *err);
	/* The same of a row whose rounds are several of the accountant's, and which has no cells().  Of a row
	 * with tags: tag_messages is 0 for a client that does not count on the shuffler, and tag_least has
	 * the honest participants of each class. */
	enum cm_rc (*loss)(const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out,
		struct cm_err *err);
	/* Add one opened record to counts[tallies()], at most 1 to each; at most O(bins) work.  CM_EDATA if
	 * it is none of this round's: nothing is added then. */
	enum cm_rc (*tally)(
		const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
	/* counts[tallies()] of the tallied records of `reports` participants. */
	enum cm_rc (*estimate)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
		struct es_estimate *out, struct cm_err *err);
	/* Root mean square error to expect of an answer, by its exact variance: es_expect.h. */
	double (*expected_error)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_randomizer *p, uint64_t participants);
	/* What the answer estimates where that is something else than what was asked, in a clause; "" where
	 * it is not.  NULL: the row has no such round, but that numbers are cut to the query's range, and
	 * what `bias` of an item says. */
	void (*estimand)(const struct qy_query *q, const struct pt_randomizer *p, char *out, size_t size);
	/* What a reader of the answer must know: what the row's paper says of such a round, beside what
	 * holds, or whose counts they are; in a sentence or two, "" where nothing can be said.  NULL: there
	 * is nothing to say. */
	void (*statement)(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
		double delta, char *out, size_t size);

	/* What rows of one family have of their own, for the functions that they share: how a message
	 * supports an item (pt_single_analysis.h, pt_multi_analysis.h), but for the number of dummies; and
	 * the law of one symbol of a number (pt_number_analysis.h). */
	struct es_support (*support)(const struct pt_randomizer *p);
	const struct pt_number_law *number;
};

/* How they take part in rounds of this row where nobody said it: by the symbol if the row has it, else by the
 * middle of the range, or evenly where there is no range.  row NULL: of any row that "auto" may choose. */
void pt_none_default(const struct pt_protocol *row, struct qy_query *q);

/* NULL if there is none. */
const struct pt_protocol *pt_find(const char *name);
/* Row i, NULL past the last. */
const struct pt_protocol *pt_row(size_t i);
/* The row of this device half. */
const struct pt_protocol *pt_protocol_of(const struct pt_device *device);

/* The columns of a row, called. */
CM_CHECK enum cm_rc pt_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
uint32_t pt_tallies(const struct pt_randomizer *p);
CM_CHECK enum cm_rc pt_answer(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, struct es_estimate *out, struct cm_err *err);
double pt_expected_error(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants);
