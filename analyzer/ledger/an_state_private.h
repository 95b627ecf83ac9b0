/* an_state_private.h - functions shared by the files an_state*.c. */
#pragma once

#include "an_state.h"

/* Add a round of a plan that is not in the plan file; only its descriptor is known.  *out borrows d's
 * lists. */
CM_CHECK enum cm_rc an_state_add_other(struct an_state *s, const struct an_plan *p,
	const struct rd_descriptor *d, uint32_t number, struct an_round_state **out, struct cm_err *err);
