/* pl_round.h - private to common/plan: one round of a plan file. */
#pragma once

#include "pl_fault.h"
#include "pl_keys.h"

/* Read one round, except for what "auto" chooses. */
void pl_round_take(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r);
