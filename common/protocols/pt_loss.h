/* pt_loss.h - the loss of a round, as rounds of the accountant that compose. */
#pragma once

#include <stdbool.h>

#include "acct.h"
#include "cm_rc.h"

#define PT_PARTS_MAX 16u /* most different parts; equal parts are one with a count */

struct pt_loss {
	struct acct_round part[PT_PARTS_MAX];
	size_t parts; /* number of parts, 1..PT_PARTS_MAX */
	/* The local guarantee of the whole round in nats, which holds without any other participants; 0:
	 * there is none, or it is not known (for messages with tags, and for a loss read from a ledger). */
	double pure;
};

struct pt_randomizer;
/* Compute the loss with the row's cells() or loss(), for `participants` honest clients.  CM_EPROTO: out of
 * the accountant's range. */
CM_CHECK enum cm_rc pt_loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err);
