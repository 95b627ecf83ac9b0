/* an_extend.h - computes the candidates of a round that extends those of an earlier round: prefixes, longer
 * by some bits. */
#pragma once

#include <jansson.h>

#include "an_state.h"

/* The question of the next round. */
struct an_extension {
	struct qy_query query;         /* free with qy_query_fini */
	char nothing[PR_TEXT_MAX + 1]; /* why there is nothing to ask; "" if there is a question */
};

/* Compute the question of r, whose plan names an earlier round.  Takes that round's candidates whose
 * estimates differ significantly from zero, the `keep` most frequent of them, and appends every
 * continuation to each.  result: the earlier round's result; NULL if it has none.  If the earlier round has
 * ended without a result or without such candidates, there is nothing to ask, which is no fault.  CM_EDATA:
 * the result belongs to another round. */
CM_CHECK enum cm_rc an_extend(const struct an_state *s, const struct pl_round *r, const json_t *result,
	struct an_extension *out, struct cm_err *err);
