/* pt_single.h - what the rows that send one wide message and no dummies have in common.
 *
 * A report supports each item with chance P if its sender holds it and Q < P if not.  The local guarantee is
 * finite; the cells are the level cells of the output law (doc/protocols.md, "One wide message"). */
#pragma once

#include "pt_expect.h"

#define PT_SINGLE_COLUMNS .kinds = PT_HISTOGRAM, .messages = pt_single_messages

uint32_t pt_single_messages(const struct pt_params *p); /* 1 */
/* Number of categories. */
uint32_t pt_single_items(const struct pt_params *p);

/* Protocol and bins of *out, nothing else set.  CM_ECONFIG unless q is a histogram, epsilon0 in (0, 16] and
 * no dummies are asked for. */
CM_CHECK enum cm_rc pt_single_derive(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err);
/* CM_EPROTO unless a histogram's, this protocol's, one bin per category, without dummies, and with a keep
 * probability. */
CM_CHECK enum cm_rc pt_single_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);
/* pt_single_derive's and a peer's parameters alike: is epsilon0 within PT_EPSILON0_MIN..MAX?
 * `code` otherwise. */
CM_CHECK enum cm_rc pt_single_guarantee(
	const struct pt_params *p, long double ratio, enum cm_rc code, struct cm_err *err);

/* omega = inf over all inputs of the output law, by what the victim's two inputs give there: `ratio` omega
 * under one and omega under the other (its mass, once for each order), omega under both, ratio omega under
 * both. */
struct pt_blanket {
	long double one, neither, both; /* each correct to 2^-60 of itself; 0: no such cell */
	long double ratio;              /* above 1 */
};
/* Cells of `participants` honest clients, omega rounded down and ratios up. */
CM_CHECK enum cm_rc pt_single_cells(const struct pt_params *p, uint64_t participants,
	const struct pt_blanket *b, struct acct_round *out, struct cm_err *err);

/* As pt_protocol.estimate for counts that are supports: each at most `reports`, else CM_EDATA. */
CM_CHECK enum cm_rc pt_single_estimate(const struct pt_query *q, const struct pt_params *p,
	const struct pt_support *s, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err);

/* estimate and expected_error of a row whose support() follows from its parameters, and whose counts are
 * supports. */
#define PT_SINGLE_ESTIMATE(support)                                                                    \
	static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p,                \
		const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err) \
	{                                                                                              \
		struct pt_support s = support(p);                                                      \
                                                                                                       \
		return pt_single_estimate(q, p, &s, counts, reports, out, err);                        \
	}
#define PT_SINGLE_EXPECTED_ERROR(support)                                                   \
	static double expected_error(                                                       \
		const struct pt_query *q, const struct pt_params *p, uint64_t participants) \
	{                                                                                   \
		struct pt_support s = support(p);                                           \
                                                                                            \
		(void)q;                                                                    \
		return pt_support_expected_error(&s, participants, p->bins);                \
	}
