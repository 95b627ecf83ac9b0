/* pt_multi.h - what the rows that send one wide message among wide dummies have in common.
 *
 * A client sends its message and `dummies` blanket ones, the shuffler may add more.  A message supports an
 * item with chance P if its sender holds it, Q < P if not, and with a chance of its own if it is a dummy. */
#pragma once

#include "pt_histogram.h"

#define PT_MULTI_COLUMNS .kinds = PT_HISTOGRAM, .messages = pt_mixbins_messages, .tallies = pt_multi_tallies

/* Protocol, bins and dummies of *out, nothing else set.  CM_ECONFIG unless q is a histogram and there are
 * dummies. */
CM_CHECK enum cm_rc pt_multi_derive(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err);
/* CM_EPROTO unless a histogram's, this protocol's, one bin per category, with dummies. */
CM_CHECK enum cm_rc pt_multi_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);
/* The same for rows without a local guarantee, which send the true value: keep_always, and `size` faces of a
 * dummy, chosen for 62 dummies a face (epsilon 1 at delta 1e-8) when the plan does not say.  instead: the row
 * to name to who asks for a local guarantee. */
CM_CHECK enum cm_rc pt_multi_derive_true(const char *name, const char *instead, const struct pt_query *q,
	const struct pt_request *r, struct pt_params *out, struct cm_err *err);
CM_CHECK enum cm_rc pt_multi_check_true(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);
double pt_multi_no_guarantee(const struct pt_params *p); /* INFINITY */
/* Supports of the items; with dummy_chance, also the messages that are not NULL. */
uint32_t pt_multi_tallies(const struct pt_params *p);

/* Dummies that are certain among the messages of `participants` honest clients and the shuffler.  CM_EPROTO
 * if out of the accountant's range. */
CM_CHECK enum cm_rc pt_multi_blanket(
	const struct pt_params *p, uint64_t participants, uint64_t *dummies, struct cm_err *err);

/* As pt_protocol.estimate for counts that are supports: each at most the number of messages, of which a
 * client sends `messages`, else CM_EDATA.  The dummies of s are filled in here. */
CM_CHECK enum cm_rc pt_multi_estimate(const struct pt_query *q, const struct pt_params *p,
	struct pt_support s, uint32_t messages, const uint64_t *counts, uint64_t reports,
	struct pt_estimate *out, struct cm_err *err);
/* As pt_protocol.expected_error; the dummies are filled in here. */
double pt_multi_expected_error(const struct pt_params *p, struct pt_support s, uint64_t participants);

/* estimate and expected_error of a row whose support() and messages() follow from its parameters, and whose
 * counts are supports. */
#define PT_MULTI_ESTIMATE(support, messages)                                                           \
	static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p,                \
		const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err) \
	{                                                                                              \
		return pt_multi_estimate(q, p, support(p), messages(p), counts, reports, out, err);    \
	}                                                                                              \
                                                                                                       \
	static double expected_error(                                                                  \
		const struct pt_query *q, const struct pt_params *p, uint64_t participants)            \
	{                                                                                              \
		(void)q;                                                                               \
		return pt_multi_expected_error(p, support(p), participants);                           \
	}
