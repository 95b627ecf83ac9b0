/* pt_protocol.h - the analysis half of the table of protocols: what plans, the accountant and the analyzer
 * need.
 *
 * A row derives exact parameters from a plan's request, gives the accountant the blanket cells of a round,
 * counts messages, and computes an estimate from the counts.  The other half, pt_device.h, makes messages
 * from a value.  No other code depends on which protocol a round has.  Rows have no state.  Sources:
 * doc/protocols/README.md. */
#pragma once

#include "es_histogram.h"
#include "pt_device.h"
#include "pt_loss.h"
#include "pt_request.h"

/* The parts of a request that "auto" varies when it considers a row (pl_choose.h). */
enum pt_automatic {
	PT_AUTO = 1, /* "auto" varies epsilon0 */
	PT_AUTO_DUMMIES = 2,
	PT_AUTO_LEVELS = 4,
	PT_AUTO_SIZES = 8,
	PT_AUTO_SLOTS = 16, /* and also the number of slots, with each size of a word */
};

/* The keys of a plan file that a row takes, besides epsilon0, dummies, blanket and shuffler_dummies. */
enum pt_key {
	PT_KEY_LEVELS = 1,
	PT_KEY_SIZE = 2,
	PT_KEY_SLOTS = 4,
	PT_KEY_CLASSES = 8,
	PT_KEY_PADDED = 16,
};

struct pt_number_law;
struct pt_crowd;

/* A row.  Functions that take `row` get the row that they belong to. */
struct pt_protocol {
	const struct pt_device *device; /* the row's other half */
	unsigned keys;                  /* the keys that the row takes: values of enum pt_key, or-ed */
	/* what "auto" varies: values of enum pt_automatic, or-ed; 0: "auto" never chooses this row */
	unsigned automatic;
	/* Kinds of query (enum qy_kind), or-ed, for which this row is the default of a plan that names no
	 * protocol.  For other kinds the first row that answers them is the default. */
	unsigned unnamed;

	/* Derive exact parameters from a plan's request.  Thresholds are rounded towards more noise.
	 * CM_ECONFIG names the parameter at fault. */
	enum cm_rc (*derive)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
	uint32_t (*tallies)(
		const struct pt_randomizer *p); /* number of a round's counts, 1..PR_TALLIES_MAX */
	/* Fill the round's blanket cells for `participants` honest clients.  CM_EPROTO: out of the
	 * accountant's range. */
	enum cm_rc (*cells)(const struct pt_randomizer *p, uint64_t participants, struct acct_round *out,
		struct cm_err *err);
	/* The same for a row whose round is several rounds of the accountant; such a row has no cells().
	 * In a row with tags, tag_messages is 0 for a client that does not count on the shuffler, and
	 * tag_least has the honest participants of each class. */
	enum cm_rc (*loss)(const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out,
		struct cm_err *err);
	/* Add one opened record to counts[tallies()], at most 1 to each count, in O(bins).  CM_EDATA: no
	 * client of this round sends such a record; nothing is added. */
	enum cm_rc (*tally)(
		const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
	/* Estimate the answer from the counts[tallies()] of `reports` participants. */
	enum cm_rc (*estimate)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
		struct es_estimate *out, struct cm_err *err);
	/* What the answer of the honest devices is, where at least one device may have lied: pt_honest, which
	 * calls this, says what it sets. */
	enum cm_rc (*influence)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
		struct es_honest *out, struct cm_err *err);
	/* The least number of devices that certainly lied, by the totals of the counts.  NULL: totals tell of
	 * nobody in this row. */
	uint64_t (*seen)(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices);
	/* The expected root mean square error of the answer, from its exact variance (es_expect.h). */
	double (*expected_error)(const struct pt_protocol *row, const struct qy_query *q,
		const struct pt_randomizer *p, uint64_t participants);
	/* Write a clause that says what the answer estimates, if that is not what was asked; else "".
	 * NULL: every answer of this row estimates what was asked, up to two things: numbers are cut to the
	 * query's range, and an item's `bias` states a bias. */
	void (*estimand)(const struct qy_query *q, const struct pt_randomizer *p, char *out, size_t size);
	/* Write one or two sentences that a reader of the answer must know, such as the loss that the row's
	 * paper claims beside the loss that holds, or which participants were counted; "" if there is
	 * nothing to say.  NULL: there never is. */
	void (*statement)(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
		double delta, char *out, size_t size);

	/* Functions that differ from row to row within a family, called by the functions that the family
	 * shares.  support: how a message supports an item, without the number of dummies
	 * (pt_single_analysis.h, pt_multi_analysis.h).  number: the law of the symbol that is sent for a
	 * number (pt_number_analysis.h). */
	struct es_support (*support)(const struct pt_randomizer *p);
	const struct pt_number_law *number;
};

/* Set how devices without a reading take part if the plan does not say it: by the symbol of none if the row
 * has it, else with the middle of the range, or with a uniform value if there is no range.  row NULL: in a
 * way that fits every row that "auto" may choose. */
void pt_none_default(const struct pt_protocol *row, struct qy_query *q);

/* The row with this name; NULL: there is none. */
const struct pt_protocol *pt_find(const char *name);
/* Row i, NULL past the last. */
const struct pt_protocol *pt_row(size_t i);
/* The row that has this device half. */
const struct pt_protocol *pt_protocol_of(const struct pt_device *device);

/* Call the functions of a row. */
CM_CHECK enum cm_rc pt_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
uint32_t pt_tallies(const struct pt_randomizer *p);
CM_CHECK enum cm_rc pt_answer(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, struct es_estimate *out, struct cm_err *err);
double pt_expected_error(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants);
