/* pl_compute.h - private to common/plan: reads what a device of a round computes before it answers. */
#pragma once

#include "pl_fault.h"
#include "pl_keys.h"

/* Read `compute`, `payload` and `payload_max` of a round. */
void pl_compute_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r);
