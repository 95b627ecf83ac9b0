/* pt_loss.h - what a round costs: rounds of the accountant, which compose. */
#pragma once

#include <stdbool.h>

#include "acct.h"
#include "cm_rc.h"

#define PT_PARTS_MAX 16u /* different ones; equal ones are one part with a count */

struct pt_loss {
	struct acct_round part[PT_PARTS_MAX];
	size_t parts; /* 1..PT_PARTS_MAX */
	/* The local guarantee of the whole round, which no batch is needed for; 0: none, or it is not known
	 * (messages with tags, a loss read from a ledger). */
	double pure;
};

struct pt_randomizer;
/* By the row's cells() or loss(), for `participants` honest clients.  CM_EPROTO if out of the accountant's
 * range. */
CM_CHECK enum cm_rc pt_loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err);
