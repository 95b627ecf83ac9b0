/* pt_loss.h - what a round costs: rounds of the accountant, which compose. */
#pragma once

#include <stdbool.h>

#include "acct.h"
#include "cm_rc.h"

#define PT_PARTS_MAX 16u /* different ones; equal ones are one part with a count */

struct pt_loss {
	struct acct_round part[PT_PARTS_MAX];
	size_t parts; /* 1..PT_PARTS_MAX */
};

struct pt_protocol;
struct pt_params;
/* By the row's cells() or loss(), for `participants` honest clients.  CM_EPROTO if out of the accountant's
 * range. */
CM_CHECK enum cm_rc pt_loss(const struct pt_protocol *row, const struct pt_params *p, uint64_t participants,
	struct pt_loss *out, struct cm_err *err);

/* Does the round's guarantee rest on messages that the shuffler is to add? */
bool pt_rests_on_shuffler(const struct pt_params *p);
/* Would the guarantee be less if it added none? */
bool pt_needs_shuffler(const struct pt_protocol *row, const struct pt_params *p);
/* The most that it may have to add. */
uint64_t pt_shuffler_most(const struct pt_params *p);
/* The round when it adds none: what cells() and loss() are then given. */
void pt_without_shuffler(struct pt_params *p);
