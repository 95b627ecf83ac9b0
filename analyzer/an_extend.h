/* an_extend.h - the candidates of a round that extends those of an earlier one: prefixes, longer by some
 * bits.
 */
#pragma once

#include <jansson.h>

#include "an_state.h"

/* What the next round asks. */
struct an_extension {
	struct pt_query query;         /* free with pt_query_fini */
	char nothing[PR_TEXT_MAX + 1]; /* why there is nothing to ask; "" if there is */
};

/* Of r, whose plan names a round before it: that round's candidates that its result tells apart from nothing,
 * the `keep` most frequent of them, each with every continuation.  result: of the round before; NULL if it
 * has none.  An ended round without a result, or with one that finds nobody, leaves nothing to ask, which is
 * no fault.  CM_EDATA: the result is not that round's.  Pure. */
CM_CHECK enum cm_rc an_extend(const struct an_state *s, const struct pl_round *r, const json_t *result,
	struct an_extension *out, struct cm_err *err);
