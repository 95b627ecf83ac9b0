/* pl_query.h - private to common/plan: the query of a round in a plan file. */
#pragma once

#include "pl_fault.h"
#include "pl_keys.h"

/* Read the query by the round's type; `row` is its protocol (NULL: "auto" chooses).  Moves texts and numbers
 * out of *raw.  The caller has read all rounds of `plan` before it. */
void pl_query_take(struct pl_checker *c, const struct pl_plan *plan, const struct pt_protocol *row,
	struct pl_raw_round *raw, struct pl_round *r);
